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
#include <vector>

#include "common/cpu/execution/scheduler.hpp"
#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/block_history.hpp"
#include "common/cpu/trace/bounds.hpp"

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
    void warp_returned(int warp);

    /// Hands them over, and forgets them.
    std::vector<BlockHistory> take();

  private:
    /// What has been told and not taken its place. Lanes that did the same are together.
    struct Note {
        Event event;
        unsigned rank;           // of the block whose history it belongs to
        std::uint32_t accesses;  // of each of its lanes before it
        bool placed;
    };
    struct HashPattern {
        std::size_t operator()(const BlockHistory::Pattern& p) const;
    };
    /// Of a block.
    struct Kept {
        BlockHistory history;
        std::map<std::tuple<const void*, int, const void*>, std::uint32_t> sites;
        std::unordered_map<std::uint64_t, std::uint32_t> accesses;
        std::unordered_map<BlockHistory::Pattern, std::uint32_t, HashPattern> patterns;
        std::vector<bool> returned;  // warps
    };

    void put(Kept& kept, const Event& event);
    void tell(const Who& who, Event event, unsigned rank);
    void place_notes(std::uint32_t lanes);
    std::uint32_t array_of(BlockHistory& history, bool shared, const Array& a) const;
    std::uint32_t site_of(Kept& kept, const Site& site);
    std::uint32_t access_of(Kept& kept, const Access& access);
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
