// Keeps what the blocks that a worker runs do, in order.
//
// A warp's accesses become requests when all its threads wait (Requests::flush); what else they do is told at
// once. So the latter is noted with how many accesses its thread had behind it, and takes its place among the
// requests as they come.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/cpu/execution/scheduler.hpp"
#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/block_history.hpp"
#include "common/cpu/trace/bounds.hpp"
#include "common/cpu/trace/origins.hpp"

namespace cpu_device::trace {

class History {
  public:
    using Event = BlockHistory::Event;
    using What = BlockHistory::What;
    /// The thread that something is told of.
    struct Who {
        int thread = 0;              // linear in the block that runs
        std::uint32_t accesses = 0;  // behind it since its warp's last flush
        bool runs = false;           // else it is told between two warps
    };

    explicit History(const Bounds& bounds) : bounds_(bounds) {}
    /// Of a cluster, by rank. At most so many events are kept of each.
    void begin_blocks(const std::vector<BlockView>& views, std::size_t most_events);
    void block_runs(unsigned rank) { running_ = rank; }
    void block_live(unsigned rank) { live_ = rank; }

    /// A request of the warp that is being flushed, one address for each lane that takes part.
    void request(int warp, const Access& access, std::uint32_t lanes, const Address* addresses,
                 std::uint64_t units);
    /// These were all of them.
    void flushed();

    void barrier_reached(const Who& who, const Site& site);
    void barrier_met();
    void at_cluster_barrier(const Who& who, Observer::AtCluster what);
    void warp_returned(int warp);
    void warp_executes(const Who& who, const Site& site);
    void copies_committed(const Who& who);
    void copies_waited(const Who& who, int groups);
    void at_mbarrier(const Who& who, Observer::AtMbarrier what, std::uint32_t site, const void* mbarrier,
                     std::uint64_t count);
    /// A copy of the copy engine begins. access: its first of the tensor; null where there is none, or where
    /// it has been told for another block.
    void box(const Who& who, const BulkCopy& copy, const Access* access, std::uint64_t sectors);
    void landed(const BulkCopy& copy);
    /// The thread has waited for its stores of all groups before that one.
    void stores_read(const Who& who, std::uint64_t group);
    /// A wgmma, and the same for its batches before that one. places: 16 bytes each, A's before B's.
    void multiplies(const Who& who, std::uint32_t site, const WgmmaMultiply& call,
                    const std::vector<const void*>& places, int warpgroup, std::uint64_t batch);
    void summed(const Who& who, int warpgroup, std::uint64_t batch);

    /// Hands them over, and forgets them.
    std::vector<BlockHistory> take();

  private:
    /// What has been told and not taken its place. Lanes that did the same are together.
    struct Note {
        Event event;
        unsigned rank;           // of the block whose history it belongs to
        std::uint32_t accesses;  // of each of its lanes before it
        bool placed;
        std::uint32_t lanes;  // whose way it is noted in
    };
    struct HashPattern {
        std::size_t operator()(const BlockHistory::Pattern& p) const;
    };
    /// Of the copy engine.
    struct Store {
        int thread;
        std::uint64_t group;
        std::uint32_t copy;
    };
    /// Of a block.
    struct Kept {
        BlockHistory history;
        std::map<std::tuple<const void*, int, const void*>, std::uint32_t> sites;
        std::unordered_map<std::uint64_t, std::uint32_t> accesses;
        std::unordered_map<BlockHistory::Pattern, std::uint32_t, HashPattern> patterns;
        std::vector<bool> returned;    // warps
        std::vector<Origins> origins;  // of each warp
        std::unordered_map<const void*, std::uint32_t> mbarriers;
        std::vector<std::int64_t> phases;  // that are open, of mbarriers
        /// Of each thread that waits, where.
        std::unordered_map<int, std::pair<std::uint32_t, std::int64_t>> waits;
        std::unordered_map<const void*, std::uint32_t> loads;  // by where they begin in shared memory
        std::vector<Store> stores;
    };

    void put(Kept& kept, const Event& event);
    void tell(const Who& who, Event event, unsigned rank);
    void tell_once(const Who& who, Event event, unsigned rank);
    void place_notes(std::uint32_t lanes);
    std::uint32_t array_of(BlockHistory& history, bool shared, const Array& a) const;
    std::uint32_t site_of(Kept& kept, const Site& site);
    std::uint32_t site_of(Kept& kept, std::uint32_t site, const char* what);
    std::uint32_t mbarrier_of(Kept& kept, const void* mbarrier);
    /// Where that is in the live block's shared memory: an array, and an offset in it.
    std::pair<std::uint32_t, std::uint64_t> shared_place(BlockHistory& history, const void* address) const;
    std::uint32_t access_of(Kept& kept, const Access& access);
    std::uint32_t source_of(Kept& kept, int warp, const Access& access, std::uint32_t lanes,
                            const Address* addresses);
    std::uint32_t pattern_of(Kept& kept, std::uint32_t lanes, const Address* addresses);

    const Bounds& bounds_;
    std::size_t most_events_ = 0;
    std::vector<Kept> kept_;  // by rank
    unsigned running_ = 0, live_ = 0;

    // Since the last flush.
    std::vector<Note> notes_;
    std::size_t first_ = 0;                     // of them that has not taken its place
    std::array<std::uint32_t, kWarp> told_{};   // notes of each lane end here
    std::array<std::uint32_t, kWarp> count_{};  // requests of each lane
    BlockHistory::Pattern pattern_;             // that is looked for
};

}  // namespace cpu_device::trace
