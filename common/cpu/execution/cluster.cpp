#include "common/cpu/execution/cluster.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace cpu_device {

void Cluster::prepare(const Grid& grid, double hang_seconds, std::uint64_t seed) {
    grid_ = &grid;
    seed_ = seed;
    statics_ready_ = grid.cluster_blocks() > 1;
    size_ = static_cast<unsigned>(grid.cluster_blocks());
    threads_ = grid.threads();
    while (blocks_.size() < size_)
        blocks_.emplace_back(*this, static_cast<unsigned>(blocks_.size()), registers_, pulse_, guarded_);
    for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank].prepare(grid, hang_seconds, seed);
}

std::vector<std::uint64_t> Cluster::blocks_of(const Grid& grid, std::uint64_t index) {
    const dim3 g = grid.grid, c = grid.cluster;
    const dim3 at = unflatten(index, {g.x / c.x, g.y / c.y, g.z / c.z});
    std::vector<std::uint64_t> blocks;
    for (unsigned z = at.z * c.z; z < (at.z + 1) * c.z; ++z) {
        for (unsigned y = at.y * c.y; y < (at.y + 1) * c.y; ++y) {
            for (unsigned x = at.x * c.x; x < (at.x + 1) * c.x; ++x)
                blocks.push_back((std::uint64_t{z} * g.y + y) * g.x + x);
        }
    }
    return blocks;
}

void Cluster::begin(std::uint64_t index) {
    index_ = index;
    left_.assign(size_, false);
    barrier_used_ = false;
    late_.clear();
    dice_ = Dice(seed_ * 0x9e3779b97f4a7c15u + index + 1);
    if (size_ == 1) {
        blocks_[0].begin(index);
    } else {
        const std::vector<std::uint64_t> blocks = blocks_of(*grid_, index);
        for (unsigned rank = size_; rank-- > 0;) {
            live_ = rank;  // whatever lies there
            blocks_[rank].begin(blocks[rank]);
            blocks_[rank].statics().save();
        }
    }
    holds_ = (seed_ & 1) != 0;
    delays_ = (seed_ & 2) != 0;
    Dice held(~(seed_ * 0x9e3779b97f4a7c15u + index));
    held_ = static_cast<unsigned>(held.below(size_));
    for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank].hold_back({});
    if (holds_) {
        Block& block = blocks_[held_];
        block.hold_back(static_cast<int>(held.below(static_cast<std::size_t>(block.warps()))));
    }
    registers_.block = &blocks_[0];
    if (Observer* o = observer()) {
        std::vector<BlockView> views;
        for (unsigned rank = 0; rank < size_; ++rank) views.push_back(blocks_[rank].view());
        o->blocks_begin(views);
    }
}

void Cluster::make_live(unsigned rank) {
    if (size_ == 1 || rank == live_) return;
    blocks_[live_].statics().save();
    blocks_[rank].statics().restore();
    live_ = rank;
    if (Observer* o = observer()) o->block_live(rank);
}

/// From here on it is this block whose threads run.
void Cluster::enter(unsigned rank) {
    if (size_ == 1) return;
    make_live(rank);
    registers_.block = &blocks_[rank];
    if (Observer* o = observer()) o->block_runs(rank);
}

bool Cluster::advance(unsigned rank, bool held) {
    enter(rank);
    const Block::Progress progress = blocks_[rank].advance(held);
    if (progress == Block::Progress::done) {
        left_[rank] = true;
        if (size_ > 1) {
            if (Observer* o = observer()) o->block_left(rank);
            blocks_[rank].give_up_memory();
        }
    }
    settle();
    return progress != Block::Progress::stuck;
}

Cluster::Outcome Cluster::run() {
    while (others_go_on() || deliver_late() || held_goes_on()) {
        if (std::find(left_.begin(), left_.end(), false) != left_.end()) continue;
        while (deliver_late()) {  // they come to blocks that have left
        }
        return Outcome::done;
    }
    for (unsigned rank = 0; rank < size_; ++rank) {
        if (!left_[rank] && blocks_[rank].spins()) return Outcome::waits;
    }
    deadlock();
}

void Cluster::leave() {
    Block& live = blocks_[size_ > 1 ? live_ : 0];
    if (!std::exchange(statics_ready_, true)) live.statics().prepare(*grid_->shared);
    live.statics().save();
}
void Cluster::come_back() {
    const unsigned rank = size_ > 1 ? live_ : 0;
    blocks_[rank].statics().restore();
    registers_.block = &blocks_[rank];
}

bool Cluster::sees_change() const {
    for (unsigned rank = 0; rank < size_; ++rank) {
        if (!left_[rank] && blocks_[rank].sees_change()) return true;
    }
    return false;
}
bool Cluster::looks_at_anything() const {
    for (unsigned rank = 0; rank < size_; ++rank) {
        if (!left_[rank] && blocks_[rank].looks_at_anything()) return true;
    }
    return false;
}
void Cluster::look_again(bool all) {
    for (unsigned rank = 0; rank < size_; ++rank) {
        if (!left_[rank]) blocks_[rank].look_again(all);
    }
}
void Cluster::add_to(gemm::FlagHang& hang, const FlagNames& names) const {
    for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank].add_to(hang, names);
}

/// All but the warp that is held back: once, block after block, or where none can, bytes come.
bool Cluster::others_go_on() {
    const unsigned turn = size_ > 1 ? static_cast<unsigned>(dice_.below(size_)) : 0;
    bool moved = false;
    for (unsigned i = 0; i < size_; ++i) {
        const unsigned rank = (i + turn) % size_;
        if (!left_[rank] && advance(rank)) moved = true;
    }
    for (unsigned i = 0; i < size_ && !moved; ++i) {
        const unsigned rank = (i + turn) % size_;
        if (left_[rank]) continue;
        enter(rank);
        moved = blocks_[rank].unblock();
    }
    return moved;
}

/// The warp that is held back.
bool Cluster::held_goes_on() {
    return holds_ && !left_[held_] && (advance(held_, true) || blocks_[held_].unblock());
}

bool Cluster::keeps(const Arrival& arrival) {
    if (!delays_ || dice_.below(2) == 0) return false;
    late_.push_back(arrival);
    return true;
}

void Cluster::deliver_late_of(unsigned rank, int thread) {
    const auto ours = std::stable_partition(late_.begin(), late_.end(), [&](const Arrival& arrival) {
        return arrival.from != rank || arrival.thread != thread;
    });
    const std::vector<Arrival> now(ours, late_.end());
    late_.erase(ours, late_.end());
    for (const Arrival& arrival : now) blocks_[rank].deliver(arrival);
}

/// One of the arrivals that are on their way; false where there are none.
bool Cluster::deliver_late() {
    if (late_.empty()) return false;
    const auto next = late_.begin() + static_cast<std::ptrdiff_t>(dice_.below(late_.size()));
    const Arrival arrival = *next;
    late_.erase(next);
    enter(arrival.from);
    blocks_[arrival.from].enter(arrival.thread);  // whose arrival it is, for who watches
    blocks_[arrival.from].deliver(arrival);
    return true;
}

void Cluster::forget_fibers() {
    for (Block& block : blocks_) block.forget_fibers();
}
void Cluster::unwind() {
    for (Block& block : blocks_) block.unwind();
}

// ---- the barrier ----

void Cluster::use_barrier() {
    if (barrier_used_) return;
    barrier_used_ = true;
    phase_ = 0;
    arrived_ = 0;
    for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank].begin_cluster_barrier();
}

void Cluster::arrive() {
    ++arrived_;
    settle();
}

/// Where all have arrived that have not returned, it is passed.
void Cluster::settle() {
    if (!barrier_used_ || arrived_ == 0) return;
    int live = 0;
    for (unsigned rank = 0; rank < size_; ++rank) live += blocks_[rank].live_threads();
    if (arrived_ < live) return;
    ++phase_;
    arrived_ = 0;
    if (Observer* o = observer()) o->at_cluster_barrier(Observer::AtCluster::completes);
    for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank].pass_cluster_barrier();
}

// ---- nobody can go on ----

void Cluster::deadlock() const {
    for (unsigned rank = 0; rank < size_; ++rank) {
        if (!left_[rank] && blocks_[rank].waits_at_mbarrier()) autopsy();
    }
    for (unsigned rank = 0; rank < size_; ++rank) {
        if (!left_[rank]) blocks_[rank].deadlock();
    }
    barrier_deadlock();
    throw BlockFailure{FaultId::deadlock, registers_.block->where(0) + "deadlock."};
}

/// Some wait at the cluster's barrier for others that will not come.
void Cluster::barrier_deadlock() const {
    for (unsigned rank = 0; rank < size_; ++rank) {
        const Block& block = blocks_[rank];
        const int waiting = block.at_cluster_barrier(false);
        if (left_[rank] || waiting < 0) continue;
        for (unsigned other = 0; other < size_; ++other) {
            const Block& o = blocks_[other];
            const int missing = o.at_cluster_barrier(true);
            if (left_[other] || missing < 0) continue;
            throw BlockFailure{
                FaultId::deadlock,
                block.where(waiting) + "deadlock: it waits at " + text(block.waits_at(waiting)) + " for " +
                    o.who(missing) +
                    (size_ > 1 ? " of block " + std::to_string(other) + " of the cluster" : "") +
                    ", which waits at " + text(o.waits_at(missing)) + "."};
        }
    }
}

}  // namespace cpu_device
