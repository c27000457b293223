// What a block's threads do with the other blocks of its cluster.
#include <string>
#include <utility>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/cluster.hpp"
#include "common/cpu/execution/tolerance.hpp"

namespace cpu_device {

using AtCluster = Observer::AtCluster;
using AtMbarrier = Observer::AtMbarrier;

// ---- its barrier ----

void Block::begin_cluster_barrier() {
    for (Thread& t : threads_) t.cluster_phase.reset();
}

void Block::cluster_arrive(bool release, const Site& site) {
    cluster_.use_barrier();
    Thread& t = current();
    if (t.cluster_phase)
        wrong(FaultId::cluster_misused, site,
              "arrives a second time without having waited since (barrier.cluster.wait)");
    if (release) cluster_.deliver_late_of(rank_, running_->thread);
    t.cluster_phase = cluster_.phase();
    t.site = site;
    if (Observer* o = observer())
        o->at_cluster_barrier(release ? AtCluster::arrives : AtCluster::arrives_relaxed);
    cluster_.arrive();
}

void Block::cluster_wait(const Site& site) {
    cluster_.use_barrier();
    Thread& t = current();
    if (!t.cluster_phase)
        wrong(FaultId::cluster_misused, site, "waits without having arrived (barrier.cluster.arrive)");
    t.site = site;
    while (cluster_.phase() == *t.cluster_phase) wait_as(State::at_cluster);
    t.cluster_phase.reset();
    if (Observer* o = observer()) o->at_cluster_barrier(AtCluster::waited);
}

void Block::pass_cluster_barrier() {
    for (int i = 0; i < count_; ++i) {
        if (state(i) == State::at_cluster) state(i) = State::ready;
    }
}

int Block::at_cluster_barrier(bool missing) const {
    for (int i = 0; i < count_; ++i) {
        const bool waits = state(i) == State::at_cluster;
        if (missing ? state(i) != State::done && !waits && !thread(i).cluster_phase : waits) return i;
    }
    return -1;
}

// ---- its shared memory ----

/// A block of the cluster that a thread of this one reaches into.
Block& Block::reach(unsigned rank, const Site& site) {
    if (rank >= cluster_.size())
        wrong(FaultId::cluster_misused, site,
              "names block " + std::to_string(rank) + " of a cluster that has " +
                  std::to_string(cluster_.size()));
    if (cluster_.has_left(rank))
        wrong(FaultId::cluster_misused, site,
              "reaches into block " + std::to_string(rank) +
                  " of its cluster, which has returned: its shared memory is another's (a cluster_sync() at "
                  "the "
                  "end of the kernel keeps it there)");
    return cluster_.block(rank);
}

/// Where the other block has, while it is live, what this block has there.
std::byte* Block::of_block(Block& there, const void* shared) const {
    auto* const at = static_cast<std::byte*>(const_cast<void*>(shared));
    auto* const mine = static_cast<std::byte*>(dynamic_shared_);
    const bool dynamic = at >= mine && at < mine + grid_->dynamic_shared_bytes;
    return dynamic ? static_cast<std::byte*>(there.dynamic_shared_) + (at - mine) : at;
}

void* Block::at_rank(const void* shared, unsigned rank, const Site& site) {
    use_async();
    if (!bulk_.in_shared(shared, 1))
        wrong(FaultId::cluster_misused, site, "gets an address that is not in shared memory");
    Block& there = reach(rank, site);
    if (rank == rank_) return const_cast<void*>(shared);
    std::byte* const home = there.statics_.home(shared);
    return home != nullptr ? home : of_block(there, shared);
}

void Block::mbarrier_arrive_at(const void* caller, void* address, unsigned rank, unsigned count, bool release,
                               const Site& site) {
    use_async();
    check_shared(address, sizeof(std::uint64_t), sizeof(std::uint64_t), "an mbarrier", site);
    if (rank < cluster_.size() && cluster_.has_left(rank)) {
        InWords words;
        if (words.goes_on(tolerates(FaultId::cluster_misused, text(site),
                                    thread_place(running_->thread) + text(site) + " reaches block " +
                                        std::to_string(rank) + " of its cluster, which has returned.")))
            return;
    }
    (void)reach(rank, site);
    const Arrival arrival{caller, site, rank_, rank, running_->thread, address, count, release};
    current().did = current().site = site;
    current().woke = false;
    if (rank == rank_ || !cluster_.keeps(arrival)) deliver(arrival);
    wait_as(State::arrived);
}

void Block::deliver(const Arrival& arrival) {
    const auto fails = [&](FaultId id, const std::string& why) {
        return BlockFailure{id, thread_place(arrival.thread) + text(arrival.site) + " " + why + "."};
    };
    const std::string of_rank = " of block " + std::to_string(arrival.rank);
    if (cluster_.has_left(arrival.rank)) {
        InWords words;
        const BlockFailure failure =
            fails(FaultId::cluster_misused,
                  "reaches block " + std::to_string(arrival.rank) +
                      " of its cluster when that has returned: an arrival takes its time, and the block has "
                      "to wait for it");
        if (words.goes_on(tolerates(failure.id, text(arrival.site), failure.message))) return;
        throw failure;
    }
    Block& there = cluster_.block(arrival.rank);
    const Reaching reaching(cluster_, arrival.rank);
    there.use_async();
    Mbarrier* barrier = nullptr;
    std::string why = there.mbarriers_.find(of_block(there, arrival.address), barrier);
    if (!why.empty()) why += ", at " + name_of(arrival.address) + of_rank;
    if (why.empty()) {
        why = count_arrival(arrival.thread, arrival.caller, there, *barrier, arrival.count, 0,
                            arrival.release ? AtMbarrier::arrives : AtMbarrier::arrives_relaxed);
    }
    if (!why.empty()) {
        stop_observing();
        throw fails(FaultId::mbarrier_misused, why);
    }
    thread(arrival.thread).woke = there.woken_ > 0;
}

void Block::tensor_multicast(const void* caller, void* shared, const CUtensorMap& map, const int* at,
                             int rank, void* mbarrier, std::uint16_t blocks, const Site& site) {
    use_async();
    check_shared(mbarrier, sizeof(std::uint64_t), sizeof(std::uint64_t), "an mbarrier", site);
    if (blocks == 0) wrong(FaultId::cluster_misused, site, "names no block of the cluster");
    const BulkCopy copy = tensor_box(caller, true, shared, map, at, rank, mbarrier, site);
    check_copy(copy, site);
    bool again = false;
    for (unsigned to = 0; to < 16; ++to) {
        if ((blocks >> to & 1u) == 0) continue;
        Block& there = reach(to, site);
        const Reaching reaching(cluster_, to);
        there.use_async();
        BulkCopy part = copy;
        part.mbarrier = of_block(there, mbarrier);
        for (Chunk& c : part.chunks) c.shared = of_block(there, c.shared);
        Mbarrier* barrier = nullptr;
        if (const std::string why = there.mbarriers_.find(part.mbarrier, barrier); !why.empty())
            wrong(FaultId::mbarrier_misused, site,
                  why + ", at " + name_of(mbarrier) + " of block " + std::to_string(to));
        check_seen(*barrier, site);
        if (Observer* o = observer()) o->bulk_copy_begins(part, again);
        there.bulk_.start_load(std::move(part), there.dice_);
        again = true;
    }
    current().did = site;
}

}  // namespace cpu_device
