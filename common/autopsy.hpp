// What is found where no thread of a block can go on and some wait at mbarriers: what each mbarrier waits
// for, who waits for it and where, what the threads did last, and the likeliest mistake. And the same where
// blocks wait for each other by flags. Facts alone: common/cpu/execution/autopsy.cpp and block_flags.cpp find
// them, cpu/execution/autopsy_words.cpp has the words.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gemm {

// The likeliest mistake.
#define GEMM_MISTAKES(X)                                                                   \
    X(bytes_missing)    /* expect_tx said more bytes than the copies of the phase bring */ \
    X(bytes_unexpected) /* and fewer */                                                    \
    X(passed_empty)     /* an mbarrier was passed in phase 0, and its stage released */    \
    X(parity_off)       /* who waits has missed a phase that was complete */               \
    X(arriver_returned) /* whose arrival is missing has returned */                        \
    X(arrivals_missing) /* some have arrived, and not as many as mbarrier_init() said */   \
    X(nobody_arrived)   /* a stage that is never filled or released, or a first wait for parity 0 */

#define GEMM_ID_(name) name,
#define GEMM_NAME_(name) #name,
enum class MistakeId { GEMM_MISTAKES(GEMM_ID_) };
inline const char* name_of(MistakeId id) {
    constexpr const char* names[] = {GEMM_MISTAKES(GEMM_NAME_)};
    return names[static_cast<std::size_t>(id)];
}
#undef GEMM_ID_
#undef GEMM_NAME_

struct Autopsy {
    /// An instruction of the kernel.
    struct Place {
        std::string what, file;
        int line = 0;
    };
    using Threads = std::vector<int>;  // linear in the block, ascending; in a cluster those of block 0 first

    struct Waiting {
        Threads threads = {};
        unsigned parity = 0;
        Place at;
    };
    /// The phase of an mbarrier that is open.
    struct Barrier {
        std::string name = {};                    // "full[1]"
        std::uint64_t phase = 0;                  // counted from 0; its parity is phase % 2
        std::uint32_t arrivals = 0, missing = 0;  // that it counts, and of them those that have not come
        Threads arrived = {};                     // in this phase
        Threads passed = {};             // that have gone past it in phase 0, when nothing was complete
        Threads absent = {};             // in the phase before, and not in this one
        std::uint64_t expected = 0;      // bytes, so far
        std::int64_t bytes_missing = 0;  // below 0: so many have come unexpected
        std::uint64_t under_way = 0;     // bytes that copies still bring
        std::vector<Waiting> waiting = {};
    };
    /// Threads that are at the same place, and came from the same place.
    struct Group {
        Threads threads = {};
        std::optional<Place> at;    // where they wait; none: they have returned
        bool at_mbarrier = false;   // that is one of `barriers`
        std::optional<Place> last;  // the last of these instructions that they have been through
    };
    struct Likely {
        MistakeId id{};
        std::vector<std::string> barriers = {};
        Threads threads = {};                  // who waits, or has returned
        std::uint64_t phase = 0, bytes = 0;    // of the mbarrier, too many or too few
        std::uint32_t arrivals = 0, came = 0;  // that it counts, and has
        std::vector<unsigned> parities = {};   // of nobody_arrived: that are open, by mbarrier
    };

    std::string kernel;
    std::array<unsigned, 3> block{};  // x, y, z; of a cluster the first
    unsigned cluster_blocks = 1;
    int threads = 0;                // of a block
    std::vector<Barrier> barriers;  // in the order of their mbarrier_init(), block by block
    std::vector<Group> groups;
    std::optional<Likely> likely;
};

/// What is found where no block can go on, and threads spin on flags in global memory: who spins on what, and
/// who might have written it and has not started.
struct FlagHang {
    struct Flag {
        std::string name;  // "ready[3]", "word 3 of an allocation of 64 bytes"
        std::uint64_t value = 0;
        std::string writer = {};  // "(3,0,0)": the block that has released it last; empty where none has
        bool released = true;     // it is a flag of load_acquire(), of which that is known
    };
    /// Threads that are at the same place.
    struct Group {
        Autopsy::Threads threads = {};
        bool spins = false;
        std::optional<Autopsy::Place> at = {};  // none: they have returned
        std::vector<Flag> flags = {};           // of those that spin; none: it is not known on what
    };
    struct Block {
        std::array<unsigned, 3> index{};
        std::vector<Group> groups = {};
    };

    std::string kernel;
    std::vector<Block> blocks;            // that are resident
    std::uint64_t grid = 0, started = 0;  // blocks
    std::string first_missing;            // "(4,0,0)": the first that has not started, where there is one
    // What the device has room for.
    std::uint64_t room = 0;                // blocks
    int multiprocessors = 0, of_each = 0;  // blocks
    bool stacks = false;                   // of that, there are stacks for `room` alone
};

}  // namespace gemm
