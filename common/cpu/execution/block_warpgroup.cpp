// What the warpgroups of a block do: wgmma, and the registers that they hand to each other.
//
// Unfriendly on purpose, too: a batch is computed as soon as all have committed it, or as late as the first
// wait for it, when who has released its operands too early has had them overwritten.
#include <algorithm>
#include <string>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/device.hpp"
#include "common/cpu/execution/tolerance.hpp"

namespace cpu_device {
namespace {

constexpr int kRegisters = 64 * 1024;  // of a multiprocessor
constexpr int kMostRegisters = 256;    // of a thread

/// What a thread can have been given at most when the block began.
int registers_at_launch(int threads) {
    return std::min(kMostRegisters, kRegisters / threads / 8 * 8);
}

}  // namespace

unsigned Block::shared_address(const void* shared) {
    use_async();
    constexpr unsigned kWindow = 1u << 18;
    if (!bulk_.in_shared(shared, 1))
        throw BlockFailure{FaultId::wgmma_misused,
                           where(running_->thread) +
                               "a matrix descriptor begins at an address that is not in shared memory."};
    const unsigned address = bulk_.number_of(shared);
    if (address >= kWindow)
        throw BlockFailure{
            FaultId::wgmma_misused,
            where(running_->thread) +
                "the block's shared arrays reach past the 256 KiB that a descriptor can name."};
    return address;
}

unsigned Block::shared_number(const void* generic) {
    use_async();
    const std::optional<unsigned> number = bulk_.number_near(generic);
    if (!number)
        wrong(FaultId::other, {"__cvta_generic_to_shared()", "the kernel", 0},
              "gets an address that is not in shared memory");
    return *number;
}

void Block::unknown_instruction(const Site& site) const {
    wrong(FaultId::other, site, "is an instruction that the CPU device does not know");
}

void* Block::shared_pointer(unsigned number) {
    use_async();
    return bulk_.pointer_near(number);
}

Warpgroup& Block::warpgroup(const Site& site) {
    use_async();
    if (warpgroups_.empty()) {
        warpgroups_.resize(static_cast<std::size_t>((count_ + kWarpgroup - 1) / kWarpgroup));
        for (Warpgroup& group : warpgroups_) group.begin_block();
    }
    const int index = running_->thread / kWarpgroup;
    if ((index + 1) * kWarpgroup > count_)
        wrong(FaultId::wgmma_misused, site,
              "needs the 4 warps of a warpgroup, threads " + std::to_string(index * kWarpgroup) + " to " +
                  std::to_string((index + 1) * kWarpgroup - 1) + ", but the block has " +
                  std::to_string(count_));
    return warpgroups_[static_cast<std::size_t>(index)];
}

void Block::wgmma_fence(const Site& site) {
    warpgroup(site).fence(running_->thread % kWarpgroup);
}

void Block::wgmma(const void* caller, const WgmmaMultiply& call, const Site& site) {
    Warpgroup& group = warpgroup(site);
    const int thread = running_->thread % kWarpgroup;
    const std::string why = group.start(thread, call, site);
    if (!why.empty()) wrong(FaultId::wgmma_misused, site, why);
    current().did = site;
    Observer* const o = observer();
    if (o == nullptr || !group.leads(thread)) return;
    std::vector<const void*> places;
    for (const unsigned address : Warpgroup::addresses(call)) places.push_back(bulk_.of_number(address));
    o->wgmma_begins(caller, call, places, running_->thread / kWarpgroup, group.batch(thread));
}

void Block::wgmma_commit(const Site& site) {
    Warpgroup& group = warpgroup(site);
    if (!group.commit(running_->thread % kWarpgroup)) return;
    unanswered_ = 0;
    const int first = running_->thread / kWarpgroup * kWarpgroup;
    for (int i = first; i < first + kWarpgroup; ++i) {
        if (state(i) == State::at_warpgroup) state(i) = State::ready;
    }
    if (dice_.below(2) == 0) compute(group, group.committed());
}

void Block::wgmma_wait(int pending, const Site& site) {
    Warpgroup& group = warpgroup(site);
    const int thread = running_->thread % kWarpgroup;
    const std::uint64_t batches = group.awaited(thread, pending);
    while (!group.committed(batches)) {
        current().site = site;
        wait_as(State::at_warpgroup);
    }
    compute(group, batches);
    group.deliver(thread, batches);
    current().did = site;
    if (Observer* o = observer()) o->wgmma_waited(running_->thread / kWarpgroup, batches);
}

void Block::compute(Warpgroup& group, std::uint64_t batches) {
    Site site{};
    const Warpgroup::Fetch fetch = [this](unsigned address, std::uint8_t* sixteen) {
        return bulk_.fetch(address, sixteen, dice_)
                   ? std::string()
                   : "reads 16 bytes at shared address " + std::to_string(address) +
                         ", where no array of the block has them";
    };
    const std::string why = group.compute(batches, fetch, site);
    if (!why.empty()) wrong(FaultId::wgmma_misused, site, why);
}

/// No thread can go on, and this one waits for a batch.
void Block::warpgroup_deadlock(int thread) const {
    const int first = thread / kWarpgroup * kWarpgroup;
    const Warpgroup& group = warpgroups_[static_cast<std::size_t>(thread / kWarpgroup)];
    const int missing = first + std::max(0, group.first_without(group.committed() + 1));
    throw BlockFailure{
        FaultId::deadlock,
        where(thread) + "deadlock: it waits at " + text(this->thread(thread).site) + " for a batch that " +
            who(missing) + " of its warpgroup has not committed, which " +
            (state(missing) == State::done ? "has returned."
                                           : "waits at " + text(this->thread(missing).site) + ".")};
}

void Block::set_registers(int count, bool more, const Site& site) {
    (void)warpgroup(site);
    const int launched = registers_at_launch(count_);
    if (register_counts_.empty()) register_counts_.assign(static_cast<std::size_t>(count_), launched);
    int& mine = register_counts_[static_cast<std::size_t>(running_->thread)];
    // How many it has is what ptxas decides: for a kernel that is not this course's, the most is only a
    // guess.
    if (!tolerant() && (more ? count < mine : count > mine))
        wrong(FaultId::registers_missing, site,
              "requests " + std::to_string(count) + " registers per thread, but it has " +
                  std::to_string(mine) + ": that is not " + (more ? "more" : "fewer"));
    mine = count;
    if (more) more_registers_ = site;
}

/// All threads have returned.
void Block::check_warpgroups() {
    for (std::size_t i = 0; i < warpgroups_.size(); ++i) {
        if (const Site* site = warpgroups_[i].left_behind(); site != nullptr)
            throw BlockFailure{FaultId::wgmma_misused,
                               where(static_cast<int>(i) * kWarpgroup) +
                                   "the block has ended, but no thread has waited for the " + text(*site) +
                                   "."};
    }
    if (register_counts_.empty()) return;
    int sum = 0;
    std::string told;
    for (int first = 0; first < count_; first += kWarpgroup) {
        const int here = register_counts_[static_cast<std::size_t>(first)];
        for (int i = first; i < std::min(first + kWarpgroup, count_); ++i) {
            const int other = register_counts_[static_cast<std::size_t>(i)];
            sum += other;
            if (other == here) continue;
            throw BlockFailure{FaultId::registers_missing,
                               where(i) + "setmaxnreg has left it " + std::to_string(other) +
                                   " registers and the first thread of its warpgroup " +
                                   std::to_string(here) + ": all 128 execute it together."};
        }
        told += (told.empty() ? "" : " + ") + std::to_string(kWarpgroup) + "·" + std::to_string(here);
    }
    const int launched = count_ * registers_at_launch(count_);
    if (sum <= launched) return;
    throw BlockFailure{FaultId::registers_missing,
                       where(0) + text(more_registers_) + " requests more registers than there are: " + told +
                           " = " + std::to_string(sum) + ", but the block was launched with " +
                           std::to_string(count_) + "·" + std::to_string(registers_at_launch(count_)) +
                           " = " + std::to_string(launched) + " at most. A GPU would wait forever."};
}

}  // namespace cpu_device
