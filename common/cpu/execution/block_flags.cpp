// Flags in global memory, by which blocks wait for each other (workers.cpp runs them side by side).
//
// A thread that reads the same value at the same place again and again, and nothing comes of it, spins: it
// waits, and goes on when another value is there. That it would go on then is a guess that costs nothing
// where it is wrong: before the launch is given up as hanging it looks again, as often as kMostRounds says.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/cluster.hpp"
#include "common/cpu/execution/device.hpp"

namespace cpu_device {
namespace {

// Between two effects of its own a thread may read a value so many times as often as at once.
constexpr unsigned kInAll = 8;
constexpr std::size_t kMostFlags = 256;  // that a thread reads one after another before it spins over them

template <class T>
std::uint64_t read(const void* address) {
    return __atomic_load_n(static_cast<const T*>(address), __ATOMIC_RELAXED);
}
std::uint64_t read(const void* address, int bytes) {
    if (bytes == 8) return read<std::uint64_t>(address);
    return bytes == 2 ? read<std::uint16_t>(address) : read<std::uint32_t>(address);
}

}  // namespace

void Block::use_polls() {
    if (polls_used_) return;
    polls_used_ = true;
    polls_.resize(static_cast<std::size_t>(count_));
    for (Polls& p : polls_) p.forget();
}

void Block::forget_polls() {
    polls_[static_cast<std::size_t>(running_->thread)].forget();
}

bool Block::polled(const void* address, int bytes, std::uint64_t value, unsigned patience, const Site& site) {
    use_polls();
    Polls& p = polls_[static_cast<std::size_t>(running_->thread)];
    const std::uint64_t weak = registers_.effects.weak;
    const auto end = p.last.begin() + static_cast<std::ptrdiff_t>(std::min(p.count, p.last.size()));
    const auto known =
        std::find_if(p.last.begin(), end, [&](const Poll& poll) { return poll.address == address; });
    if (known == end) {
        p.last[p.count++ % p.last.size()] = {address, value, weak, bytes,
                                             is_device_memory(address) || address == grid_->came_to_barrier};
        if (p.count < kMostFlags) return false;
        wait_polling(site, true);
        return true;
    }
    Poll& poll = *known;
    if (poll.value != value) {
        poll = {address, value, weak, bytes, poll.global};
        ++registers_.effects.strong;
        return false;
    }
    if (poll.weak != weak) poll.at_once = 0;
    poll.weak = weak;
    if (++poll.in_all < kInAll * patience && ++poll.at_once < patience) return false;
    wait_polling(site, p.count > p.last.size());
    return true;
}

/// anything: it is not known what would let it go on.
void Block::wait_polling(const Site& site, bool anything) {
    polls_[static_cast<std::size_t>(running_->thread)].anything = anything;
    current().site = site;
    ++polling_;
    wait_as(State::polling);
    forget_polls();
}

/// others: by another block, so that shared memory, which is not there while another block runs, is no
/// matter.
bool Block::sees_change(int i, bool others) const {
    const Polls& p = polls_[static_cast<std::size_t>(i)];
    const auto end = p.last.begin() + static_cast<std::ptrdiff_t>(std::min(p.count, p.last.size()));
    return std::any_of(p.last.begin(), end, [&](const Poll& poll) {
        return (!others || poll.global) && read(poll.address, poll.bytes) != poll.value;
    });
}

bool Block::sees_change() const {
    for (int i = 0; i < count_ && polling_ > 0; ++i) {
        if (state(i) == State::polling && sees_change(i, true)) return true;
    }
    return false;
}

bool Block::looks_at_anything() const {
    for (int i = 0; i < count_ && polling_ > 0; ++i) {
        if (state(i) == State::polling && polls_[static_cast<std::size_t>(i)].anything) return true;
    }
    return false;
}

void Block::wake_polling() {
    for (int i = 0; i < count_; ++i) {
        if (state(i) != State::polling || !sees_change(i, false)) continue;
        state(i) = State::ready;
        --polling_;
    }
}

void Block::look_again(bool all) {
    for (int i = 0; i < count_ && polling_ > 0; ++i) {
        if (state(i) != State::polling || (!all && !polls_[static_cast<std::size_t>(i)].anything)) continue;
        state(i) = State::ready;
        --polling_;
    }
}

void Block::grid_barrier(const void* caller, const Site& site) {
    std::uint32_t* const came = grid_->came_to_barrier;
    if (came == nullptr)
        wrong(gemm::FaultId::trap, site,
              "waits for all blocks of the grid, in a launch that is not cooperative: a GPU ends the kernel "
              "there. cudaLaunchCooperativeKernel(), or a launch attribute, makes one that is");
    Observer* const o = observer();
    barrier(site, false);
    if (running_->thread == 0) {
        if (o != nullptr) o->flag(Observer::AtFlag::arrives, caller, came);
        changed(came);
        const auto blocks = static_cast<std::uint32_t>(grid_->grid.x * grid_->grid.y * grid_->grid.z);
        const std::uint32_t wanted = (*came / blocks + 1) * blocks;
        for (++*came; *came < wanted;) polled(came, sizeof *came, *came, 1, site);
        if (o != nullptr) o->flag(Observer::AtFlag::leaves, caller, came);
    }
    barrier(site, false);
}

void Block::add_to(gemm::FlagHang& hang, const FlagNames& names) const {
    using gemm::FlagHang;
    gemm::FlagHang::Block told{.index = {index_.x, index_.y, index_.z}};
    std::map<std::tuple<bool, std::string, int, std::string>, FlagHang::Group> groups;
    for (int i = 0; i < count_; ++i) {
        FlagHang::Group group;
        std::string flags;
        group.spins = state(i) == State::polling;
        const Site& site = thread(i).site;
        if (state(i) != State::done && site.what != nullptr) group.at = {site.what, site.file, site.line};
        if (group.spins && !polls_[static_cast<std::size_t>(i)].anything) {
            const Polls& p = polls_[static_cast<std::size_t>(i)];
            const bool acquires = std::string(site.what) == "ld.acquire";
            for (std::size_t k = 0; k < p.count; ++k) {
                const Poll& poll = p.last[k];
                group.flags.push_back(names(poll.address));
                group.flags.back().value = poll.value;
                group.flags.back().released = acquires;
                flags += group.flags.back().name + " ";
            }
        }
        const bool at = group.at.has_value();
        auto& known =
            groups.try_emplace({group.spins, at ? group.at->what : "", at ? group.at->line : 0, flags}, group)
                .first->second;
        known.threads.push_back(i);
    }
    for (auto& [key, group] : groups) told.groups.push_back(std::move(group));
    std::sort(told.groups.begin(), told.groups.end(), [](const auto& a, const auto& b) {
        return std::pair(!a.spins, a.threads) < std::pair(!b.spins, b.threads);
    });
    hang.blocks.push_back(std::move(told));
}

}  // namespace cpu_device
