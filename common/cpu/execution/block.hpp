// A block that is resident on a worker: its CUDA threads as fibers, its shared memory, its barrier, its
// warps' collectives and its copies.
//
// A fiber runs CUDA threads one after the other as plain calls for as long as they don't wait. Only a thread
// that waits (barrier, warp collective) keeps its fiber; the rest goes on in another one from the pool. So a
// kernel without barriers costs a call per thread, and a barrier two switches. Fibers, stacks and tables stay
// from block to block: starting one resets a byte a thread, and fills shared memory.
//
// The order is unfriendly on purpose: a thread runs until it must wait, so what is missing a barrier meets
// data that its neighbors have not written yet, or have overwritten already.
//
// A Cluster calls advance() on each of its blocks until it is done. Static __shared__ arrays are thread_local
// variables, with one address an OS thread. The bytes of the kernel's own arrays (SharedArray) are swapped:
// where the scheduler goes on with another block than the last one, they are saved to the block that leaves
// and restored from the one that comes. That was chosen over an OS thread per block with hand-over: kernels
// of clusters keep their tiles in dynamic shared memory, which each block has for itself, so that a swap
// copies a few barriers, and a hand-over costs two switches of the operating system. Addresses that the
// kernel or the compiler holds stay right, and crashes and hangs stay those of one thread. A remote address
// (mapa) is one in the other block's saved bytes, and valid for as long as it can be used: whoever uses it
// runs, so the other does not.
#pragma once

#include <array>
#include <atomic>
#include <boost/context/fiber.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/autopsy.hpp"
#include "common/cpu/execution/bulk_copies.hpp"
#include "common/cpu/execution/copies.hpp"
#include "common/cpu/execution/mbarriers.hpp"
#include "common/cpu/execution/scheduler.hpp"
#include "common/cpu/execution/stack_switch.hpp"
#include "common/cpu/execution/stacks.hpp"
#include "common/cpu/execution/statics.hpp"
#include "common/cpu/execution/warpgroups.hpp"
#include "common/cpu/ptx/cluster.hpp"
#include "common/facts.hpp"

namespace cpu_device {

constexpr std::size_t kMostThreads = 1024;     // of a block
constexpr std::size_t kSharedPad = 64 * 1024;  // bytes before and behind dynamic shared memory
constexpr int kGarbage = 0xff;  // all of its bytes when a block starts: a NaN of every floating-point type
constexpr double kBarrierPatience =
    2;  // times as long as a thread alone may a block run without anyone returning

/// Where a kernel's mistake is put into words: nothing of that is an access of the kernel's.
void stop_observing();
/// Around the words about one that may be tolerated: if it is, what comes after them is the kernel's own
/// again.
class InWords {
  public:
    InWords() { stop_observing(); }
    ~InWords();
    InWords(const InWords&) = delete;
    InWords& operator=(const InWords&) = delete;
    bool goes_on(bool tolerated) { return goes_on_ = tolerated; }

  private:
    bool goes_on_ = false;
};

class Block;
class Cluster;

/// The block that runs on this OS thread. In a kernel.
Block& running_block();

/// An arrival at an mbarrier of another block of the cluster, while it is on its way there.
struct Arrival {
    const void* caller = nullptr;  // return address into the kernel
    Site site{};
    unsigned from = 0, rank = 0;  // the block whose thread has arrived, and the other one
    int thread = 0;
    void* address = nullptr;  // of the mbarrier, as the kernel has it in its own block
    unsigned count = 1;
    bool release = true;
};

/// What has come to pass on a worker that others may have waited for: one that spins while nothing does is
/// one that nobody helps.
struct Effects {
    std::uint64_t strong = 0;  // threads have returned, or written by atomic operations
    std::uint64_t weak = 0;    // barriers and phases are complete: a loop that spins may come to them, too
    bool signals = false;      // somebody has, or has ordered memory accesses for other blocks
};

/// What a running kernel reaches. One a worker: the compiler may keep addresses in it for as long as a kernel
/// runs.
struct Registers {
    uint3 thread_idx{}, block_idx{};
    dim3 block_dim{}, grid_dim{};
    ClusterPlace cluster_place{};
    int running_thread = 0;                                    // linear in its block
    Block* block = nullptr;                                    // whose thread that is
    Effects effects{};                                         // since the launch began
    std::unordered_map<const void*, std::uint64_t> writers{};  // of each flag, the block that was the last
};

/// Between a worker and who watches over it.
struct Pulse {
    std::atomic<std::uint64_t> heartbeat{0};  // changes whenever a CUDA thread starts, resumes or ends
    std::atomic<std::uint64_t> returned{0};   // CUDA threads
    std::atomic<bool> give_up{false};         // the block that runs shall fail as hanging, at the next switch
    std::atomic<bool> interrupted{false};     // and the CUDA thread that runs, between two basic blocks

    /// Of a counter that only the worker writes: without the price of an atomic operation.
    static void beat(std::atomic<std::uint64_t>& counter) {
        counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
};

/// Why a block failed. Thrown on the scheduler's stack, inside begin() and advance() only.
struct BlockFailure {
    gemm::FaultId id;
    std::string message;
    std::shared_ptr<const gemm::Autopsy> autopsy = {};  // of an mbarrier_hang
};

/// Thrown by __trap(), caught where its thread began.
struct Trapped {
    Site site;
};

std::string text(dim3 v);
std::string text(const Site& site);
std::string seconds(double s);
dim3 unflatten(std::uint64_t i, dim3 extent);

using gemm::FaultId;

/// What a flag in the device's memory is called, and who has written it.
using FlagNames = std::function<gemm::FlagHang::Flag(const void* address)>;

class Block {
  public:
    /// guarded: its stacks have guard pages, see StackPool.
    Block(Cluster& cluster, unsigned rank, Registers& registers, Pulse& pulse, bool guarded)
        : cluster_(cluster), rank_(rank), guarded_(guarded), registers_(registers), pulse_(pulse) {}
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    /// The blocks from here on are of this grid.
    void prepare(const Grid& grid, double hang_seconds, std::uint64_t seed);
    /// While its arrays are where the kernel has them, as all that follows.
    void begin(std::uint64_t index);
    enum class Progress { done, moved, stuck };
    /// Runs every thread that can run, once or until it waits: of the warp that is held back, or of the
    /// others.
    Progress advance(bool held);
    /// One of its warps runs when nobody else of the cluster can, until the block ends; nothing: none does.
    void hold_back(std::optional<int> warp) { held_ = warp; }
    int warps() const { return (count_ + kWarp - 1) / kWarp; }
    /// Where no block of the cluster moves: lets those that have made way go on, or brings bytes that
    /// somebody waits for. False where neither helps.
    bool unblock();
    /// And where no block can: why, if it is for lanes of a warp or a warpgroup that will not come.
    void deadlock() const;
    /// Its shared memory is another block's from here on.
    void give_up_memory();
    BlockView view() const;
    /// After a failure: whoever waits is unwound, and stacks that do not come back are replaced.
    void forget_fibers();
    /// Before it goes for good.
    void unwind();

    bool in_kernel() const { return running_ != nullptr; }
    /// For a crash, on the signal stack: no kernel runs any more, so that a second crash is not its own.
    void leave() { crashed_ = std::exchange(running_, nullptr); }
    /// What a message about the crash begins with. The fiber that has left will not be unwound: it holds the
    /// way back to the stack that calls this.
    std::string abandon();
    const StackPool& stacks() const { return *stacks_; }

    // ---- for its cluster ----
    Statics& statics() { return statics_; }
    const uint3& index() const { return index_; }
    int live_threads() const { return count_ - done_; }
    /// Number of its first thread among those of the cluster.
    int first_number() const { return static_cast<int>(rank_) * count_; }
    bool waits_at_mbarrier() const;
    bool has_returned(int thread) const { return state(thread) == State::done; }
    /// Its barriers and threads.
    void add_to(gemm::Autopsy& autopsy) const;
    /// Whether a thread spins on memory that others write; and whether one of these reads another value there
    /// now, or cannot be told what it looks at.
    bool spins() const { return polling_ > 0; }
    bool sees_change() const;
    bool looks_at_anything() const;
    /// Lets them look again: those who look at anything, or all.
    void look_again(bool all);
    /// Who spins on what, and where the others wait.
    void add_to(gemm::FlagHang& hang, const FlagNames& names) const;
    void begin_cluster_barrier();
    void pass_cluster_barrier();
    /// A thread that waits at the cluster's barrier, or (missing) one that has not come to it; -1 for none.
    int at_cluster_barrier(bool missing) const;
    std::string who(int thread) const;
    /// "kernel k, block (0,0,0), thread (1,0,0): ", and the same of a launch that ends there: nothing more is
    /// observed.
    std::string thread_place(int thread) const;
    std::string where(int thread) const;
    Site waits_at(int thread) const { return this->thread(thread).site; }
    double hang_seconds() const { return hang_seconds_; }
    /// Blocks of this launch tell each other something, as far as that can be seen.
    bool may_spin() const { return grid_->blocks_wait || registers_.effects.signals; }

    // ---- what its threads call ----
    int barrier(Site site, bool predicate);
    /// waits: or is only counted, and goes on.
    void named_barrier(unsigned id, unsigned threads, const Site& site, bool waits);
    unsigned active_mask(Site site);
    /// The running thread is about to access shared memory there, by an instruction of its own. Where the
    /// lanes of a warp are in step, it waits for its turn.
    void step(const void* caller, const void* address);
    void pause(const Site& site);
    // Flags that blocks wait for (block_flags.cpp).
    /// The running thread has read that value there, of so many bytes. Where it does so again and again, and
    /// nothing else comes of it, it waits until another value is there, or nobody can go on. patience: how
    /// often it has to; true: it has waited, and the value may be another one now.
    bool polled(const void* address, int bytes, std::uint64_t value, unsigned patience, const Site& site);
    /// Until all blocks of the grid have come; `caller`: the return address into the kernel.
    void grid_barrier(const void* caller, const Site& site);
    bool is_cooperative() const { return grid_->came_to_barrier != nullptr; }
    /// It has written by an atomic operation.
    void changed(const void* flag) {
        if (grid_->blocks_wait) registers_.writers[flag] = linear_index_;
        changed();
    }
    void changed() {
        ++registers_.effects.strong;
        registers_.effects.signals = true;
        if (polls_used_) forget_polls();
    }
    std::uint64_t collective(unsigned mask, Collective compute, std::uint64_t in, int argument, int width,
                             Site site, bool whole_warp);
    /// On behalf of an instruction of the whole warp the running thread accesses 16 bytes there, or takes
    /// part and accesses nothing. Throws gemm::Error where that may not be.
    void matrix_row(const void* caller, const void* address, bool accesses, bool writes, const Site& site);
    void* dynamic_shared() const { return dynamic_shared_; }
    Copies& copies() { return copies_; }
    // Beside them: mbarriers and the copy engine (block_async.cpp).
    void mbarrier_init(const void* caller, void* address, unsigned arrivals, const Site& site);
    void mbarrier_inval(void* address, const Site& site);
    void mbarrier_expect(const void* caller, void* address, unsigned bytes, const Site& site);
    /// Also makes it expect bytes, where there are any.
    unsigned mbarrier_parity(void* address, const Site& site);
    void mbarrier_arrive(const void* caller, void* address, unsigned count, unsigned bytes, const Site& site);
    bool mbarrier_is_complete(const void* caller, void* address, unsigned parity, bool cluster,
                              const Site& site);
    void fence_mbarrier_init();
    void fence_proxy_async();
    void tensor_copy(const void* caller, bool load, void* shared, const CUtensorMap& map, const int* at,
                     int rank, void* mbarrier, const Site& site);
    void bulk_copy(const void* caller, bool load, void* shared, void* global, unsigned bytes, void* mbarrier,
                   const Site& site);
    void bulk_commit();
    void bulk_wait(int pending, bool read);
    // Other blocks of the cluster (block_cluster.cpp).
    void cluster_arrive(bool release, const Site& site);
    void cluster_wait(const Site& site);
    void* at_rank(const void* shared, unsigned rank, const Site& site);
    void mbarrier_arrive_at(const void* caller, void* address, unsigned rank, unsigned count, bool release,
                            const Site& site);
    /// An arrival that was on its way, of a thread of this block.
    void deliver(const Arrival& arrival);
    /// The thread is what runs from here on.
    void enter(int thread);
    void tensor_multicast(const void* caller, void* shared, const CUtensorMap& map, const int* at, int rank,
                          void* mbarrier, std::uint16_t blocks, const Site& site);
    // And wgmma (block_warpgroup.cpp).
    unsigned shared_address(const void* shared);
    unsigned shared_number(const void* generic);
    void* shared_pointer(unsigned number);
    [[noreturn]] void unknown_instruction(const Site& site) const;
    void wgmma_fence(const Site& site);
    void wgmma(const void* caller, const WgmmaMultiply& call, const Site& site);
    void wgmma_commit(const Site& site);
    void wgmma_wait(int pending, const Site& site);
    void set_registers(int count, bool more, const Site& site);

  private:
    enum class State : std::uint8_t {
        not_started,
        ready,
        at_barrier,
        at_named,  // waits at a barrier of some threads
        at_collective,
        at_active_mask,
        at_mbarrier,
        at_warpgroup,  // waits for a batch that others have yet to commit
        at_cluster,    // waits at the cluster's barrier
        arrived,       // at an mbarrier: goes on with the other lanes of its warp
        yielded,       // could go on, when nobody else can
        in_step,       // is about to access shared memory: goes on with the lanes that are, too
        polling,       // spins: goes on when it would read something else
        done
    };
    struct Fiber {
        boost::context::fiber self, back;
        StackBounds stack{}, worker{};  // its own, and that of the thread which runs it
        int thread = 0;                 // the CUDA thread it runs or holds
    };
    /// A thread that waits, or has.
    struct Thread {
        Fiber* fiber = nullptr;
        Site site{};  // where it waits, or did last
        Site did{};   // the last instruction that it has been through, of those that go on beside threads
        unsigned mask = 0;
        Collective compute = nullptr;
        int argument = 0, width = 0;
        std::uint64_t in = 0, out = 0;
        bool whole_warp = false;     // the collective is an instruction that every lane must execute
        const void* next = nullptr;  // the instruction that it is in_step for
        const void* mbarrier = nullptr;
        unsigned parity = 0;
        bool woke = false;     // it has arrived, and others could go on
        bool refused = false;  // its last question about an mbarrier was answered with false
        bool began = false;    // an mbarrier
        unsigned named = 0;    // the barrier of some threads
        std::optional<std::uint64_t> cluster_phase{};  // has arrived in it, and not waited since
    };

    /// What a thread that may be spinning has read, and how often.
    struct Poll {
        const void* address = nullptr;
        std::uint64_t value = 0, weak = 0;  // weak: effects at the time
        int bytes = 0;
        bool global = true;
        unsigned at_once = 0, in_all = 0;  // times; the first: with no weak effect in between
    };
    struct Polls {
        std::array<Poll, 4> last{};
        std::size_t count = 0;  // beyond the array: more than it has room for, of which these are the last
        unsigned pauses = 0;    // that nothing came of
        bool anything = false;  // it waits for it is not known what

        void forget() {
            count = 0;
            pauses = 0;
            anything = false;
        }
    };

    bool sweep_warp(int first, int last);
    bool others_ready(int first, int last) const;
    [[gnu::always_inline]] inline void resume(int thread);  // by sweep_warp() alone, for each lane
    Fiber* fresh_fiber();
    void check_stack();
    void fiber_main(Fiber& fiber);
    void run_thread(int thread);
    void wait_as(State state);
    void suspend(Fiber& fiber);
    void release_barrier();
    [[noreturn]] void hanging() const;
    bool release_lanes(int first, int last);
    bool release_step(int first, int last);
    void wait_in_step(const void* caller);
    bool is_shared(const void* address, std::uintptr_t around) const;
    unsigned exited_lanes(int first) const;
    unsigned gathered(int first, int self) const;
    void meet(int first, unsigned lanes);
    bool same_collective(int a, int b) const;

    // ---- block_async.cpp ----
    void use_async();
    bool release_arrived(int first, int last);
    Mbarrier& mbarrier_at(void* address, const Site& site);
    void begin_late(const Site& site);
    void mbarrier_for_engine(void* address, const Site& site);
    void check_seen(const Mbarrier& barrier, const Site& site);
    void settle(Mbarrier& barrier);
    void arrive_at(const void* caller, Block& there, Mbarrier& barrier, unsigned count, unsigned bytes,
                   Observer::AtMbarrier how, const Site& site);
    std::string count_arrival(int thread, const void* caller, Block& there, Mbarrier& barrier, unsigned count,
                              unsigned bytes, Observer::AtMbarrier how) const;
    BulkCopy tensor_box(const void* caller, bool load, void* shared, const CUtensorMap& map, const int* at,
                        int rank, void* mbarrier, const Site& site);
    void check_copy(const BulkCopy& copy, const Site& site);
    void check_shared(const void* address, std::size_t bytes, std::size_t multiple, const char* what,
                      const Site& site, const std::string& why_so_many = {});
    void start_copy(BulkCopy copy, const Site& site);
    void check_nothing_left();
    // ---- block_flags.cpp ----
    void use_polls();
    void forget_polls();
    bool sees_change(int thread, bool others) const;
    void wake_polling();
    void wait_polling(const Site& site, bool anything);
    // ---- block_cluster.cpp ----
    Block& reach(unsigned rank, const Site& site);
    std::byte* of_block(Block& there, const void* shared) const;
    // ---- block_warpgroup.cpp ----
    Warpgroup& warpgroup(const Site& site);
    void compute(Warpgroup& group, std::uint64_t batches);
    void check_warpgroups();
    [[noreturn]] void warpgroup_deadlock(int thread) const;
    [[noreturn]] void wrong(FaultId id, const Site& site, const std::string& what) const;
    // ---- autopsy.cpp ----
    std::string name_of(const void* shared) const;
    std::vector<gemm::Autopsy::Group> groups() const;
    gemm::Autopsy::Barrier state_of(const Mbarrier& barrier) const;

    Thread& thread(int i) { return threads_[static_cast<std::size_t>(i)]; }
    const Thread& thread(int i) const { return threads_[static_cast<std::size_t>(i)]; }
    State& state(int i) { return states_[static_cast<std::size_t>(i)]; }
    State state(int i) const { return states_[static_cast<std::size_t>(i)]; }
    Thread& current() { return thread(running_->thread); }
    /// Of a thread, or the running one, among those of the cluster.
    std::size_t number(int thread) const { return static_cast<std::size_t>(first_number() + thread); }
    std::size_t number() const { return number(running_->thread); }

    Cluster& cluster_;
    const unsigned rank_;
    const bool guarded_;
    ClusterPlace place_;
    Statics statics_;
    Registers& registers_;
    Pulse& pulse_;

    // The launch.
    const Grid* grid_ = nullptr;
    double hang_seconds_ = 0;
    std::uint64_t seed_ = 0;
    int count_ = 0;               // threads of the block
    std::vector<uint3> indices_;  // threadIdx of each
    std::vector<std::byte> dynamic_storage_;
    void* dynamic_shared_ = nullptr;
    const std::byte* static_shared_ = nullptr;  // where the static arrays are, among other things
    std::size_t static_shared_bytes_ = 0;

    // The block.
    uint3 index_{};
    std::uint64_t linear_index_ = 0;
    /// A barrier of some threads: how many it waits for, and how many wait.
    struct Named {
        unsigned wanted = 0, came = 0;
        std::vector<int> passed{};  // of them, threads that do not wait
    };
    std::array<Named, 16> named_{};
    int done_ = 0, at_barrier_ = 0;   // threads
    int cursor_ = 0, sweep_end_ = 0;  // the sweep over a warp, which fibers advance too
    std::optional<int> held_{};       // the warp that is held back
    std::vector<State> states_;
    std::vector<Thread> threads_;
    /// Of each warp: lanes that wait at the same collective, and all that do. (Those of another one may wait,
    /// too, and are looked for when somebody comes to it.)
    std::vector<unsigned> gathered_;
    Copies copies_;
    bool async_ = false;  // a thread has used what follows
    Mbarriers mbarriers_;
    BulkCopies bulk_;
    std::vector<Warpgroup> warpgroups_;  // none where nothing has multiplied
    std::vector<int> register_counts_;   // of each thread, where one has asked for more or fewer
    Site more_registers_{};              // where one has asked for more
    Dice dice_;
    Dice sight_;          // who sees an mbarrier begun: its own, so that the rest goes as it would
    int woken_ = 0;       // threads, by the phase that was the last to complete
    int unanswered_ = 0;  // times that all who ask have been told "not yet", and nothing has happened since
    std::optional<BlockFailure> error_;  // set by a fiber, raised by the scheduler

    std::unique_ptr<StackPool> stacks_;  // one reservation that stays, but for a crash
    std::deque<Fiber> fibers_;           // addresses stay
    std::vector<Fiber*> idle_;
    Fiber* running_ = nullptr;
    Fiber* crashed_ = nullptr;
    std::vector<Polls> polls_;  // of each thread
    bool polls_used_ = false;   // one has read what may be a flag
    int polling_ = 0;           // threads
};

}  // namespace cpu_device
