// What a warp's lanes do between two pauses, put together to the requests that a GPU would issue, and
// counted.
//
// Threads of a warp run one after another, and nearly always do the same. So the way of the first is written
// down once, step by step; the others follow it, and of each only the addresses are kept. A lane that parts
// from the way begins another there, which those behind it may follow; where there are many already, it gets
// a list of its own. divergence.hpp puts such a warp together.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/cpu/ptx/tensor_map.hpp"
#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/banks.hpp"
#include "common/cpu/trace/bounds.hpp"
#include "common/cpu/trace/divergence.hpp"
#include "common/cpu/trace/races.hpp"

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
    std::shared_ptr<const TensorMap> map;  // of a box of the copy engine, where it has one

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

class History;

/// Of the block that a worker runs.
class Requests {
  public:
    explicit Requests(const Bounds& bounds);
    void begin_blocks(const BlockView& first, std::size_t most_steps);
    void block_runs(std::uint64_t block) { block_ = block; }
    /// Told of every request; null: nobody.
    void keep_history(History* history) { history_ = history; }

    /// What the program was about to do, as far as its hook knows: an access, which has a width, or to enter
    /// a basic block. (A type of our own: what the kernels' own vectors are made of has hooks.)
    struct Key {
        std::uint64_t bits = 0;  // the hook's return address; from bit 48 the width, from 53 the hook's flags

        static Key access(const void* caller, int width, std::uint8_t flags) {
            return {address_of(caller) | static_cast<std::uint64_t>(width) << 48 |
                    std::uint64_t{flags} << 53};
        }
        static Key block(const void* caller) { return {address_of(caller)}; }
        /// Of a thread that takes part in an instruction and accesses nothing.
        static Key nothing(const void* caller) { return access(caller, 0, kNothing); }

        bool is_access() const { return (bits >> 48 & 31) != 0; }
        bool atomic() const { return (bits >> 53 & kAtomic) != 0; }
        const void* caller() const {
            return reinterpret_cast<const void*>(bits & ((std::uint64_t{1} << 48) - 1));
        }
        bool operator==(const Key&) const = default;
    };
    /// One access of a way that lanes go together.
    struct alignas(64) Step {
        // A lane's access follows without another look where it begins less than `span` behind `start` at a
        // multiple of its width: within the array, and nothing can be wrong with where it goes.
        Address start = 0, span = 0;
        Races::Instruction instruction{};  // of shared memory
        Access access{};                   // of the lane that came first
        Counted* counted = nullptr;
        std::uint32_t block = 0;  // of which `counted` is, counted by this worker
        std::array<Address, kWarp> of_lane{};
    };
    /// Where the running thread is in the way, for the hooks. Whoever asks has made sure that there is one.
    /// (`thread` stands between the others so that g++ does not make one of the steps along both: that takes
    /// longer than the two.)
    struct Here {
        const Key* key = nullptr;  // null: no thread runs whose accesses are recorded
        int thread = 0;
        Step* step = nullptr;

        /// Whether that access lies before it, and nothing can be wrong with where it goes.
        bool leads_to(Key k, Address address, int width) const {
            return *key == k && address - step->start < step->span &&
                   (address & (static_cast<Address>(width) - 1)) == 0;
        }
        /// Takes the access that lies before it.
        void follow(Address address) {
            step->of_lane[static_cast<unsigned>(thread) % kWarp] = address;
            ++step;
            ++key;
        }
        /// The same where a basic block's start lies before it: true where it took that.
        bool enters(Key k) {
            if (!(*key == k)) return false;
            ++key;
            return true;
        }
    };

    /// To be put back when the hooks have changed it.
    Here& here() { return here_; }
    /// From here on another thread runs.
    void run(int thread);
    /// Whether one does, and how many accesses it has behind it since its warp's last flush.
    bool runs() const { return here_.key != nullptr; }
    std::uint32_t accesses() const;
    /// What the running thread does, where its hook could not take it along the way.
    void keep(Key key, const Access& access, const Races::Instruction& instruction);

    /// A box of the copy engine: `bytes` of the tensor that `access` begins at, in so many sectors. It is a
    /// request of its own, of the thread that has asked for it. map: of rank 0 where there is none.
    void box(Access access, int thread, std::uint64_t bytes, std::uint64_t sectors, const TensorMap& map);

    /// Puts the lanes' accesses since the last time together to requests. running: the thread that ran last.
    /// None runs any more.
    void flush(int running);

    /// Adds them to those of the other blocks, and forgets them.
    void move_to(CountsMap& all);

  private:
    // A way's keys are numbered from 1; a lane with a list of its own stays at 0, which is none, and behind
    // the last one is none either. Accesses are numbered from 0.
    static constexpr std::uint32_t kParted = 0, kFirst = 1;
    static constexpr std::uint32_t kMostWays = 8;
    struct Place {
        std::uint32_t way = 0, key = kFirst, step = 0;
        bool operator==(const Place&) const = default;
    };
    struct Way {
        Place from{};                // that it parts from: a place of a way before it
        std::uint32_t before = 0;    // keys that lead there
        std::vector<Key> keys{2};    // its accesses and basic blocks
        std::uint32_t end = kFirst;  // number of the key behind the last
        std::vector<Step> steps{1};  // its accesses
        std::uint32_t accesses = 0;

        void begin(const Place& from, std::uint32_t before);
    };

    Place place() const;
    void go_to(const Place& place);
    void leave();
    bool here_lies(Key key, const Access& access) const;
    void append(Key key, const Access& access, const Races::Instruction& instruction);
    void part(Key key, const Access& access);
    void flush_in_step(std::uint32_t mask);
    void flush_parted();
    void list(std::size_t lane);
    Counted& counted(const Access& access) {
        return counts_[{access.site, access.array, access.width, access.flags}];
    }
    void request(Counted& c, const Access& access, std::uint32_t mask, const Address* addresses, int count,
                 bool diverged);
    void price(Counted& c, const Access& access, std::uint32_t mask, const Address* addresses, int count);
    void forget_lanes();

    const Bounds& bounds_;
    History* history_ = nullptr;
    std::uint64_t block_ = 0, examples_ = 0;
    std::uint32_t blocks_ = 0;  // that have begun
    std::size_t most_steps_ = 0;
    int warp_ = 0;  // that is being flushed

    std::array<Way, kMostWays> ways_;
    std::uint32_t ways_taken_ = 1;  // of them; the first is that of the first lane
    std::array<Place, kWarp> at_;   // of the lanes that do not run
    Here here_;
    std::uint32_t way_ = 0;     // that here_ is on
    std::uint32_t parted_ = 0;  // lanes with lists of their own
    Lanes own_;                 // what those did since
    std::array<Place, kWarp> parted_at_{};
    Lanes lanes_;  // of a warp that parted, as it is flushed
    Divergence divergence_;

    std::unordered_map<SiteKey, Counted, HashSite> counts_;
    CopyPasses copies_;
};

}  // namespace cpu_device::trace
