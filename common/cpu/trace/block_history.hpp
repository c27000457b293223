// What one block did, in the order in which the CPU device ran it: a report's `histories`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cpu_device::trace {

/// Of which blocks what they do is kept, in order.
struct Histories {
    /// How many: the first block; those that failed or in which something was found; others at even
    /// distances. A cluster's blocks count as one.
    std::size_t blocks = 0;
    std::set<std::uint64_t> among = {};  // that are traced; empty: all
    std::size_t most_events = 300'000;   // of a block; later ones are left out
};

struct BlockHistory {
    struct Array {
        std::string name;
        bool shared = false;
        std::uint64_t bytes = 0;
        std::int64_t rows = 0, cols = 0, pitch = 0;  // of a matrix, else element_bytes is 0
        int element_bytes = 0, in_byte = 1;          // as of Matrix
        std::optional<std::int64_t> problem = {};    // the same
        /// Of a shared array: bytes from where the block's shared memory begins, so that banks are as
        /// counted.
        std::uint64_t offset = 0;
        std::optional<unsigned> rank = {};  // of another block's in the cluster
    };
    struct Site {
        std::string file;
        int line = 0;
        std::string what;
        bool operator==(const Site&) const = default;
    };
    struct Access {
        std::uint32_t site = 0, array = 0;
        bool store = false, copy = false, matrix_rows = false;
        int width = 0;  // 0: boxes of the copy engine
    };
    struct Pattern {
        std::uint32_t lanes = 0;
        std::vector<std::int64_t> offsets;  // of each lane that takes part, from the first one's
        bool operator==(const Pattern&) const = default;
    };
    enum class What : std::uint8_t {
        request,
        barrier,
        met,
        commit,
        copied,
        begin,
        expect,
        arrive,
        wait,
        passed,
        phase,
        box,
        landed,
        wgmma,
        summed,
        mma,
        cluster_arrive,
        cluster_passed,
        cluster_met,
        returned
    };
    static constexpr std::uint32_t kNone = ~0u;
    /// `what` says which fields hold something.
    struct Event {
        What what = What::request;
        int warp = -1;                  // in its block
        std::uint32_t lanes = 0;        // of no request, whose pattern has them
        std::uint32_t site = kNone;     // of no request, whose access has it
        std::uint32_t access = kNone;   // of a request; else a copy or a multiplication
        std::uint32_t pattern = kNone;  // of a request; else an mbarrier or a warpgroup
        std::int64_t base = 0;          // of a request: where its first lane is, from the array's start
        std::uint64_t count = 0;        // of a request: sectors or wavefronts; else arrivals, bytes, groups
        std::int64_t phase = 0;         // of an mbarrier; or a batch
        std::uint32_t from = kNone;     // of a request: index into `sources`
        std::optional<unsigned> rank = {};  // of its warp's block, where that is another one's
        bool operator==(const Event&) const = default;
    };
    /// Where what a request stores came from: bytes of a matrix.
    struct Source {
        std::uint32_t array = 0, pattern = 0;
        std::int64_t base = 0;
    };
    struct Copy {
        std::uint32_t access = kNone, shared = kNone, array = kNone, barrier = kNone;
        std::uint64_t sectors = 0, offset = 0, bytes = 0;
        int thread = 0;
        std::int64_t row = 0, col = 0, rows = 0, cols = 0;
        int element_bytes = 0, swizzle = 0;  // bytes that the swizzle mode spans; 0: none
        unsigned rank = 0;                   // of the block that asked for it
    };
    /// What a multiplication reads of shared memory: 16 bytes from each of these places.
    struct Operand {
        std::uint32_t array = kNone, places = kNone;  // indices
        std::uint64_t offset = 0;                     // of the first place
    };
    struct Multiply {
        std::uint32_t site = 0;
        int warpgroup = 0, columns = 0, depth = 16;
        std::uint64_t batch = 0;
        bool a_in_registers = false, a_rows = false, b_rows = false;  // major: along rows, not along K
        std::uint64_t a = 0, b = 0;                                   // descriptors
        Operand a_place = {}, b_place = {};
    };
    struct Mbarrier {
        std::string name;
        std::uint32_t array = kNone;
        std::uint64_t offset = 0, arrivals = 0;
    };

    std::array<unsigned, 3> block{};
    std::uint64_t index = 0;
    unsigned rank = 0;
    std::uint64_t cluster = 0;  // the index of its first block
    int threads = 0;
    std::vector<Array> arrays;
    std::vector<Site> sites;
    std::vector<Access> accesses;
    std::vector<Pattern> patterns;
    std::vector<Event> events;
    std::vector<Source> sources;
    std::vector<Copy> copies;
    std::vector<Multiply> multiplies;
    std::vector<std::vector<std::int64_t>> places;  // from the first one's
    std::vector<Mbarrier> mbarriers;
    bool truncated = false;
};

}  // namespace cpu_device::trace
