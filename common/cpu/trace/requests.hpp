// What a warp's lanes do between two pauses, put together to the requests that a GPU would issue, and
// counted.
//
// Threads of a warp run one after another, and nearly always do the same. So the way of the first is written
// down once, step by step; the others follow it, and of each only the addresses are kept. A lane that parts
// from the way gets a list of its own from there on, and divergence.hpp puts such a warp together.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/banks.hpp"
#include "common/cpu/trace/bounds.hpp"
#include "common/cpu/trace/divergence.hpp"

namespace cpu_device::trace {

struct SiteKey {
    std::uint32_t site;
    std::uint16_t array;
    std::uint8_t width, flags;
    bool operator==(const SiteKey&) const = default;
};
static_assert(sizeof(SiteKey) == 8);
struct HashSite {
    std::size_t operator()(const SiteKey& k) const {
        return std::bit_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15u >> 20;
    }
};

/// One request, for pictures.
struct Example {
    std::uint64_t block = ~std::uint64_t{0};
    std::uint64_t order = 0;  // among the block's
    int warp = 0;
    std::uint32_t lanes = 0;
    std::array<Address, kWarp> offsets{};  // from the start of the array, of the lanes that take part

    bool comes_before(const Example& other) const {
        return std::pair(block, order) < std::pair(other.block, other.order);
    }
};

/// Of all requests of one instruction to one array.
struct Counts {
    std::uint64_t requests = 0, threads = 0, units = 0, ideal = 0;  // units: sectors or wavefronts
    std::uint64_t box_bytes = 0;                                    // of the copy engine, which has no width
    bool diverged = false;
    Example example;  // the first of the lowest block

    void add(const Counts& other);
};
using CountsMap = std::unordered_map<SiteKey, Counts, HashSite>;

/// The same in the block that runs, with its last request, since the next is most often the same one shifted:
/// that costs as much as long as sectors or banks shift with it.
struct Counted {
    Counts counts;
    std::uint32_t mask = 0;                   // of the last request; 0: none
    Address first = 0;                        // address
    std::array<Address, kWarp> from_first{};  // the others'
    std::uint64_t units = 0, ideal = 0;
};

/// Of the block that a worker runs.
class Requests {
  public:
    explicit Requests(const Bounds& bounds) : bounds_(bounds) { at_.fill(kFirst); }
    void begin_block(const BlockView& view, std::size_t most_steps);

    /// What the program was about to do, as far as its hook knows.
    static std::uint64_t key(std::uint32_t site, int width, std::uint8_t flags) {
        return std::uint64_t{site} | static_cast<std::uint64_t>(width) << 32 | std::uint64_t{flags} << 40 |
               kIsStep;
    }
    /// One step of the way that the lanes go together.
    struct Step {
        std::uint64_t key = 0;
        // A lane's access follows without another look where it begins less than `span` behind `start` at a
        // multiple of `alignment` + 1: within the array, and nothing can be wrong with where it goes.
        Address start = 0, span = 0;
        std::uint32_t alignment = 0;
        std::uint32_t block = 0;        // of which `counted` is, counted by this worker
        Access access{};                // of the lane that came first
        std::uint32_t slot = 0;         // of its addresses
        std::uint32_t shared_word = 0;  // of shared memory: the array's first word
        Counted* counted = nullptr;     // null for what accesses nothing
    };
    static_assert(sizeof(Step) == 64);
    /// The step that lies before the lane, if it is that one; null where the access must be looked at.
    const Step* next(unsigned lane, std::uint64_t key, Address address) const {
        const Step& step = steps_[at_[lane]];
        return step.key == key && address - step.start < step.span && (address & step.alignment) == 0
                   ? &step
                   : nullptr;
    }
    /// The lane takes that step.
    void follow(unsigned lane, const Step& step, Address address) {
        addresses_[step.slot].of_lane[lane] = address;
        ++at_[lane];
    }
    /// The same where the step is a basic block's start: true where the lane took it.
    bool follow_block(unsigned lane, std::uint64_t key) {
        std::uint32_t& at = at_[lane];
        if (steps_[at].key != key) return false;
        ++at;
        return true;
    }
    /// Any other of the running thread's. first_word: the shared array's.
    void keep(int thread, std::uint64_t key, const Access& access, std::uint32_t first_word);

    /// A box of the copy engine: `bytes` of the tensor that `access` begins at, in so many sectors. It is a
    /// request of its own, of the thread that has asked for it.
    void box(Access access, int thread, std::uint64_t bytes, std::uint64_t sectors);

    /// Puts the lanes' accesses since the last time together to requests. running: the thread that ran last.
    void flush(int running);

    /// Adds them to those of the other blocks, and forgets them.
    void move_to(CountsMap& all);

  private:
    /// (A type of our own: what the kernels' own vectors are made of has hooks.)
    struct Addresses {
        std::array<Address, kWarp> of_lane;
    };
    static constexpr std::uint64_t kIsStep = std::uint64_t{1} << 63;
    // Steps are numbered from 1; a lane that has parted stays at 0, which is no step, and behind the last one
    // is none either.
    static constexpr std::uint32_t kParted = 0, kFirst = 1;

    void append(std::uint64_t key, const Access& access, std::uint32_t first_word);
    void part(std::size_t lane);
    void flush_in_step(std::uint32_t mask);
    void flush_parted();
    Counted& counted(const Access& access) {
        return counts_[{access.site, access.array, access.width, access.flags}];
    }
    void request(Counted& c, const Access& access, std::uint32_t mask, const Address* addresses, int count,
                 bool diverged);
    void price(Counted& c, const Access& access, std::uint32_t mask, const Address* addresses, int count);
    void forget_lanes();

    const Bounds& bounds_;
    std::uint64_t block_ = 0, examples_ = 0;
    std::uint32_t blocks_ = 0;  // that have begun
    std::size_t most_steps_ = 0;
    int warp_ = 0;  // that is being flushed

    std::vector<Step> steps_{kFirst + 1};
    std::uint32_t end_ = kFirst;        // number of the step behind the last
    std::uint32_t slots_ = 0;           // steps with addresses
    std::vector<Addresses> addresses_;  // slot by slot
    std::array<std::uint32_t, kWarp> at_{};
    std::uint32_t parted_ = 0;  // lanes
    Lanes own_;                 // what they did since
    std::array<std::uint32_t, kWarp> parted_at_{};
    Divergence divergence_;

    std::unordered_map<SiteKey, Counted, HashSite> counts_;
    CopyPasses copies_;
};

}  // namespace cpu_device::trace
