// Clusters of blocks that wait for each other, on one worker and on several (workers.hpp).
#include <algorithm>
#include <mutex>
#include <string>

#include "common/cpu/execution/autopsy.hpp"
#include "common/cpu/execution/device.hpp"
#include "common/cpu/execution/workers.hpp"

namespace cpu_device {
namespace {

// So often all look again before the launch is given up: where nothing at all comes of it; and where threads
// go through barriers, and nobody returns or writes by an atomic operation.
constexpr int kMostRounds = 1000, kMostRoundsOfLittle = 10'000;

/// What a flag is called: by the variable, or the allocation that it is in.
std::string flag_name(const Grid& grid, const void* address) {
    if (address == grid.came_to_barrier) return "the barrier of the grid";
    const auto* const at = static_cast<const std::byte*>(address);
    const auto of = [&](const std::byte* start) {
        return std::to_string(static_cast<std::size_t>(at - start) / 4);
    };
    for (const Variable& v : device_variables(grid.function)) {
        if (at >= v.start && at < v.start + v.bytes)
            return v.bytes <= 8 ? v.name : v.name + "[" + of(v.start) + "]";
    }
    for (const Allocation& a : allocations()) {
        if (at >= a.start && at < a.start + a.bytes)
            return "word " + of(a.start) + " of an allocation of " + std::to_string(a.bytes) + " bytes";
    }
    return "shared memory";
}

}  // namespace

/// The cluster that ran last waits, or has ended; from here on those of the launch that wait stay.
void Worker::live_side_by_side(Job& job) {
    if (!job.side_by_side.exchange(true)) job.side.changed.notify_all();
    if (!waiting_.empty()) {
        const std::scoped_lock lock(job.side.mutex);
        ++job.side.resident;
        ++job.side.changes;
    }
    step_aside();
    while (!job.stop) {
        std::uint64_t seen = 0;
        {
            const std::scoped_lock lock(job.side.mutex);
            seen = job.side.changes;
        }
        if (patience_.changes != seen) patience_ = {seen};
        ready_.clear();
        for (const std::size_t number : waiting_) {
            const Cluster& cluster = clusters_[number];
            if (cluster.sees_change() || (seen_[number] != seen && cluster.looks_at_anything()))
                ready_.push_back(number);
        }
        // With seed 0 those go on that began first, and others begin where none can.
        const bool dice = job.options.seed != 0;
        if (dice && dice_.below(ready_.size() + 1) == 0 && begin_beside(job)) continue;
        if (!ready_.empty()) {
            const std::size_t number = ready_[dice ? dice_.below(ready_.size()) : 0];
            seen_[number] = seen;
            clusters_[number].look_again(false);
            go_on(job, number);
            continue;
        }
        if (begin_beside(job)) continue;
        if (waiting_.empty() && taken_ == taken_end_ && job.next >= job.blocks) break;
        if (look_again(job)) continue;
        if (!wait_for_others(job, seen)) break;
    }
    if (job.stop) return clean_up();
    if (Observer* o = observer()) o->side_runs(0);
}

/// Another cluster, where there is one and room for it.
bool Worker::begin_beside(Job& job) {
    if (taken_ == taken_end_ && job.next >= job.blocks) return false;
    {
        const std::scoped_lock lock(job.side.mutex);
        if (job.side.resident >= job.room) return false;
        ++job.side.resident;
    }
    std::uint64_t taken = 0;
    do {
        taken = taken_ < taken_end_ ? taken_++ : job.next.fetch_add(1);
    } while (job.begun.count(taken) > 0);
    if (taken >= job.blocks) {
        const std::scoped_lock lock(job.side.mutex);
        --job.side.resident;
        return false;
    }
    if (free_.empty()) {
        if (clusters_.size() == prepared_) clusters_.emplace_back(registers, pulse, false);
        clusters_[prepared_].prepare(job.grid, job.options.hang_seconds, job.options.seed);
        free_.push_back(prepared_++);
        seen_.resize(prepared_);
    }
    number_ = free_.back();
    free_.pop_back();
    index_ = job.in_order(taken);
    waiting_.push_back(number_);
    if (Observer* o = observer()) o->side_runs(static_cast<unsigned>(number_));
    escape_.stopped = nullptr;
    clusters_[number_].begin(index_);
    inside_ = true;
    run_on(job);
    return true;
}

/// One that waited.
void Worker::go_on(Job& job, std::size_t number) {
    number_ = number;
    index_ = clusters_[number].index();
    if (Observer* o = observer()) o->side_runs(static_cast<unsigned>(number));
    escape_.stopped = nullptr;
    clusters_[number].come_back();
    inside_ = true;
    run_on(job);
}

/// The one that is where the kernel has it, until it waits, or to the end.
void Worker::run_on(Job& job) {
    const Effects before = registers.effects;
    try {
        if (clusters_[number_].run() == Cluster::Outcome::done) {
            if (Observer* o = observer()) o->blocks_end();
            waiting_.erase(std::find(waiting_.begin(), waiting_.end(), number_));
            free_.push_back(number_);
            job.done.fetch_add(1, std::memory_order_relaxed);
            const std::scoped_lock lock(job.side.mutex);
            --job.side.resident;
        }
    } catch (const BlockFailure& failure) {
        job.fail(index_, failure);
        return;
    }
    step_aside();
    const bool strong = registers.effects.strong != before.strong;
    if (!strong && registers.effects.weak == before.weak) return;
    // (Barriers alone are no reason for others to look.)
    if (strong) {
        {
            const std::scoped_lock lock(job.side.mutex);
            ++job.side.changes;
        }
        job.side.changed.notify_all();
    }
}

/// Makes room for another cluster where the kernel has it.
void Worker::step_aside() {
    if (inside_ && std::find(waiting_.begin(), waiting_.end(), number_) != waiting_.end())
        clusters_[number_].leave();
    inside_ = false;
}

/// Lets all go on that spin, as they do on a GPU, in case that something else comes of it this time. False
/// where that has been tried often enough.
bool Worker::look_again(Job& job) {
    if (waiting_.empty() || patience_.nothing >= kMostRounds || patience_.little >= kMostRoundsOfLittle)
        return false;
    const Effects before = registers.effects;
    const std::vector<std::size_t> all = waiting_;
    for (const std::size_t number : all) {
        if (job.stop) return true;
        clusters_[number].look_again(true);
        go_on(job, number);
    }
    if (registers.effects.strong != before.strong) return true;  // which begins anew
    if (registers.effects.weak != before.weak) {
        ++patience_.little;
        patience_.nothing = 0;
    } else {
        ++patience_.nothing;
    }
    return true;
}

/// Until others have changed something since; false where that will not be, or nobody is left to.
bool Worker::wait_for_others(Job& job, std::uint64_t seen) {
    Side& side = job.side;
    std::unique_lock lock(side.mutex);
    if (side.changes != seen) return true;
    --side.busy;
    side.quiet.push_back({this, seen});
    side.changed.notify_all();
    const auto hangs = [&] {
        return side.busy == 0 && std::all_of(side.quiet.begin(), side.quiet.end(),
                                             [&](const Side::Quiet& q) { return q.seen == side.changes; });
    };
    side.changed.wait(lock, [&] { return job.stop || side.changes != seen || hangs(); });
    if (!job.stop && side.changes == seen) hang(job);
    std::erase_if(side.quiet, [&](const Side::Quiet& q) { return q.worker == this; });
    ++side.busy;
    side.changed.notify_all();
    return true;
}

/// No worker's clusters go on: says why, for all of them.
void Worker::hang(Job& job) {
    stop_observing();
    gemm::FlagHang hang;
    hang.kernel = job.grid.kernel;
    const auto of_cluster = static_cast<std::uint64_t>(job.grid.cluster_blocks());
    hang.grid = job.blocks * of_cluster;
    hang.started = std::min(job.next.load(), job.blocks) * of_cluster;
    const auto block_name = [&](std::uint64_t block) {
        return cpu_device::text(unflatten(block, job.grid.grid));
    };
    const FlagNames names = [&](const void* address) {
        gemm::FlagHang::Flag flag{.name = flag_name(job.grid, address)};
        if (const auto known = registers.writers.find(address); known != registers.writers.end())
            flag.writer = block_name(known->second);
        return flag;
    };
    std::uint64_t lowest = UINT64_MAX;
    for (const Side::Quiet& quiet : job.side.quiet) {
        hang.started -= (quiet.worker->taken_end_ - quiet.worker->taken_) * of_cluster;
        for (const std::size_t number : quiet.worker->waiting_) {
            quiet.worker->clusters_[number].add_to(hang, names);
            lowest = std::min(lowest, quiet.worker->clusters_[number].index());
        }
    }
    const auto& grid = job.grid.grid;
    const auto linear = [&](const gemm::FlagHang::Block& b) {
        return (std::uint64_t{b.index[2]} * grid.y + b.index[1]) * grid.x + b.index[0];
    };
    std::sort(hang.blocks.begin(), hang.blocks.end(),
              [&](const auto& a, const auto& b) { return linear(a) < linear(b); });
    if (hang.started < hang.grid) {
        const std::uint64_t next = taken_ < taken_end_ ? taken_ : job.next.load();
        if (next < job.blocks)
            hang.first_missing = block_name(Cluster::blocks_of(job.grid, job.in_order(next)).front());
    }
    hang.multiprocessors = multiprocessors();
    hang.of_each = job.grid.resident;
    hang.room = job.room * of_cluster;
    hang.stacks = job.stacks;
    job.fail(lowest, {FaultId::flag_hang, text_of(hang)});
}

}  // namespace cpu_device
