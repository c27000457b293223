// Runs a grid: blocks on OS threads, one block at a time on each, and a block's CUDA threads as fibers on it.
//
// A fiber runs CUDA threads one after the other as plain calls for as long as they don't wait. Only a thread
// that waits (barrier, warp collective) keeps its fiber; the rest goes on in another one from the pool. So a
// kernel without barriers costs a call per thread, and a barrier two switches.
//
// The order is unfriendly on purpose: a thread runs until it must wait, so what is missing a barrier meets
// data that its neighbours have not written yet, or have overwritten already.
#include "common/cpu/execution/scheduler.hpp"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <boost/context/fiber.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/cpu/ptx/tensor.hpp"
#include "common/error.hpp"

namespace cpu_device {
namespace {

namespace context = boost::context;
using Seconds = std::chrono::duration<double>;
using Clock = std::chrono::steady_clock;

constexpr int kWarp = 32;
// What lies below each stack and must not be touched: whole pages of memory, and at least as much as a
// function may step over without touching it, which -fstack-clash-protection of g++ makes 4 KiB on x86-64 and
// 64 KiB on aarch64 (whose pages have 4, 16 or 64 KiB).
#ifdef __aarch64__
constexpr std::size_t kGuard = 64 * 1024;
#else
constexpr std::size_t kGuard = 4096;
#endif
constexpr std::size_t kStackBytes = 64 * 1024;
constexpr std::size_t kStackStride = kStackBytes + kGuard;
constexpr std::size_t kCacheLine = 64, kColours = 64;
constexpr std::size_t kDynamicPad = 64 * 1024;  // bytes before and behind dynamic shared memory
constexpr std::size_t kMostThreads = 1024;      // of a block
constexpr std::size_t kMostWorkers = 16;        // two mappings a stack: more would pass the kernel's limit
constexpr double kBarrierPatience =
    2;  // times as long as a thread alone may a block run without anyone returning
constexpr std::uintptr_t kNullPage = 4096;  // addresses that only a null pointer leads to
constexpr std::uintptr_t kBeyondMemory = std::uintptr_t{1} << 52;  // no program has an address from here on
constexpr int kGarbage = 0xff;  // all of its bytes when a block starts: a NaN of every floating-point type

class Worker;

// What a kernel's overflowing shared array can reach lies in pads, not in the pointer that the runtime lives
// by.
struct alignas(64) ThreadLocal {
    std::array<char, 65536> below;
    Worker* worker;
    std::array<char, 65536> above;
};
thread_local ThreadLocal local;

/// The stacks of a worker, in one reservation: a free list hands out the most recently used (its cache lines
/// are warm).
class StackPool {
  public:
    StackPool() {
        base_ = static_cast<char*>(mmap(nullptr, kMostThreads * kStackStride, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (base_ == MAP_FAILED) throw gemm::Error("No memory for the CPU device's thread stacks.");
        for (std::size_t i = kMostThreads; i-- > 0;) {
            char* guard = base_ + i * kStackStride;
            if (mprotect(guard, kGuard, PROT_NONE) != 0) {
                throw gemm::Error(
                    "The CPU device's stack guards cannot be set up: too many memory mappings.");
            }
            free_.push_back(guard);
        }
    }
    StackPool(const StackPool&) = delete;
    StackPool& operator=(const StackPool&) = delete;
    ~StackPool() { munmap(base_, kMostThreads * kStackStride); }

    context::stack_context allocate() {
        if (free_.empty()) throw std::bad_alloc();  // cannot be: one fiber per thread of a block
        char* const guard = free_.back();
        free_.pop_back();
        // Tops that lie whole pages apart share a few cache sets and evict each other; these start on
        // different lines.
        const std::size_t index = static_cast<std::size_t>(guard - base_) / kStackStride;
        const std::size_t colour = index * 5 % kColours * kCacheLine;
        context::stack_context stack;
        stack.size = kStackBytes - colour;
        stack.sp = guard + kStackStride - colour;
        return stack;
    }
    void deallocate(context::stack_context& stack) {
        const auto end = static_cast<std::size_t>(static_cast<char*>(stack.sp) - base_ - 1);
        free_.push_back(base_ + end / kStackStride * kStackStride);
    }
    const std::byte* begin() const { return reinterpret_cast<const std::byte*>(base_); }
    const std::byte* end() const { return begin() + kMostThreads * kStackStride; }
    bool is_guard(const void* address) const {
        const auto* a = static_cast<const char*>(address);
        return a >= base_ && a < base_ + kMostThreads * kStackStride &&
               static_cast<std::size_t>(a - base_) % kStackStride < kGuard;
    }

  private:
    char* base_;
    std::vector<char*> free_;
};

struct StackAllocator {  // Boost.Context copies its allocator
    StackPool* pool;
    context::stack_context allocate() { return pool->allocate(); }
    void deallocate(context::stack_context& stack) { pool->deallocate(stack); }
};

enum class State : std::uint8_t { not_started, ready, at_barrier, at_collective, at_active_mask, done };

Observer* observer = nullptr;

struct Fiber {
    context::fiber self, back;
    int thread = 0;  // the CUDA thread it runs or holds
};

/// A cp.async that nobody has waited for yet.
struct Copy {
    const void* caller;
    void* shared;
    const void* global;
    int bytes, valid;
};

struct Thread {
    State state = State::not_started;
    Fiber* fiber = nullptr;
    Site site{};
    unsigned mask = 0;
    Collective compute = nullptr;
    int argument = 0, width = 0;
    std::uint64_t in = 0, out = 0;
    bool whole_warp = false;  // the collective is an instruction that every lane must execute
};

bool same_place(const Site& a, const Site& b) {
    return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}
bool same_collective(const Thread& a, const Thread& b) {
    return a.mask == b.mask && a.compute == b.compute && same_place(a.site, b.site);
}

std::string text(dim3 v) {
    return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}
std::string text(const Site& site) {
    return std::string(site.what) + " at " + site.file + ":" + std::to_string(site.line);
}
std::string seconds(double s) {
    return std::to_string(static_cast<long>(s)) + (s == 1 ? " second" : " seconds");
}
dim3 unflatten(std::uint64_t i, dim3 extent) {
    return {static_cast<unsigned>(i % extent.x), static_cast<unsigned>(i / extent.x % extent.y),
            static_cast<unsigned>(i / extent.x / extent.y)};
}

/// One launch, shared by the workers that take blocks from it.
struct Job {
    Job(const Grid& g, const RunOptions& o) : grid(g), options(o) {}

    const Grid& grid;
    const RunOptions& options;
    std::uint64_t blocks = 0;
    std::uint64_t chunk = 1;
    std::atomic<std::uint64_t> next{0}, done{0};
    std::atomic<bool> stop{false};
    std::mutex mutex;
    std::uint64_t failed_block = UINT64_MAX;
    std::string failure;

    void fail(std::uint64_t block, std::string message) {
        const std::scoped_lock lock(mutex);
        stop = true;
        if (block < failed_block) {
            failed_block = block;
            failure = std::move(message);
        }
    }
};

/// Thrown by __trap(), caught where its thread began.
struct Trapped {
    Site site;
};

/// Thrown on the scheduler's stack, inside run_block only.
struct BlockFailure {
    std::string message;
};

/// Runs blocks on one OS thread.
class Worker {
  public:
    Worker() : thread_([this] { main(); }) {}
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker() {
        {
            const std::scoped_lock lock(mutex_);
            quit_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }

    void start(Job& job) {
        {
            const std::scoped_lock lock(mutex_);
            job_ = &job;
        }
        wake_.notify_one();
    }
    bool idle() const {
        const std::scoped_lock lock(mutex_);
        return job_ == nullptr;
    }
    /// Blocks until the job is done or the time is over; true when done.
    bool wait(Clock::time_point until) {
        std::unique_lock lock(mutex_);
        return finished_.wait_until(lock, until, [&] { return job_ == nullptr; });
    }
    /// Changes whenever a CUDA thread starts, resumes or ends.
    std::uint64_t heartbeat() const { return heartbeat_.load(std::memory_order_relaxed); }
    /// CUDA threads that have returned.
    std::uint64_t returned() const { return returned_.load(std::memory_order_relaxed); }
    /// Makes the block that runs now fail as hanging, at the next switch.
    void give_up() { give_up_ = true; }
    /// Makes the CUDA thread that runs now fail as hanging. A traced one is asked first: it stops between two
    /// basic blocks, where it holds no lock (the tracer's, printf's).
    void interrupt() {
        if (observer == nullptr || interrupted_.exchange(true)) {
            pthread_kill(thread_.native_handle(), SIGUSR2);
        }
    }
    void stop_if_interrupted() {
        if (interrupted_.load(std::memory_order_relaxed)) stop(nullptr);
    }
    /// In a kernel: leaves it for good. `why` (null: it hangs) stays valid.
    void stop(const char* why) {
        if (running_ == nullptr) return;
        stopped_ = why;
        (void)raise(SIGUSR2);
    }

    int running_thread = 0;  // linear in the block
    // What a running kernel reaches through local.worker.
    uint3 thread_idx{}, block_idx{};
    dim3 block_dim{}, grid_dim{};
    void* dynamic_shared = nullptr;

    int barrier(Site site, bool predicate) {
        Thread& t = current();
        t.site = site;
        t.in = predicate ? 1 : 0;
        wait_as(State::at_barrier);
        return static_cast<int>(t.out);
    }

    unsigned active_mask(Site site) {
        Thread& t = current();
        t.site = site;
        t.mask = 0;
        t.compute = nullptr;
        wait_as(State::at_active_mask);
        return static_cast<unsigned>(t.out);
    }

    std::uint64_t collective(unsigned mask, Collective compute, std::uint64_t in, int argument, int width,
                             Site site, bool whole_warp = false);
    void read_matrix_row(const void* caller, const void* address, void* to, const Site& site);

    void async_copy(const Copy& copy);
    void async_commit() { async_of(running_thread).groups.emplace_back(); }
    void async_wait(int pending);

    /// On the signal stack: leaves the crashed fiber for good.
    void crashed(int signal, const siginfo_t& info) {
        crash_signal_ = signal;
        crash_address_ = info.si_addr;
        // x86-64 does not tell an address that no memory can have; aarch64 does, but for its highest byte.
        crash_address_known_ =
            info.si_code != SI_KERNEL && reinterpret_cast<std::uintptr_t>(info.si_addr) < kBeyondMemory;
        crashed_ = running_;
        running_ = nullptr;  // a second crash, while this one is cleaned up, is not the kernel's
        siglongjmp(escape_, 1);
    }
    bool in_kernel() const { return running_ != nullptr; }

  private:
    void main();
    void run_job(Job& job);
    void run_block(std::uint64_t block);
    void run_warps();
    void run_thread(int thread);
    void resume(int thread);
    void fiber_main(Fiber& fiber);
    void wait_as(State state);
    Thread& current() { return threads_[static_cast<std::size_t>(running_->thread)]; }
    bool sweep_warp(int first, int last);
    bool release_lanes(int first, int last);
    unsigned exited_lanes(int first) const;
    void meet(int first, unsigned lanes);
    void release_barrier();
    [[noreturn]] void deadlock() const;
    [[noreturn]] void hanging() const;
    std::string who(int thread) const {
        return "thread " + text(unflatten(static_cast<std::uint64_t>(thread), block_dim));
    }
    std::string where(int thread) const {
        return std::string("kernel ") + job_now_->grid.kernel + ", block " +
               text({block_idx.x, block_idx.y, block_idx.z}) + ", " + who(thread) + ": ";
    }
    std::string crash_message() const;
    void forget_fibers();

    // Hand-over between the launching thread and this one.
    mutable std::mutex mutex_;
    std::condition_variable wake_, finished_;
    Job* job_ = nullptr;
    bool quit_ = false;
    std::atomic<std::uint64_t> heartbeat_{0}, returned_{0};
    std::atomic<bool> give_up_{false}, interrupted_{false};

    // The block that runs.
    Job* job_now_ = nullptr;
    std::uint64_t block_ = 0;
    int count_ = 0;                   // threads of the block
    int done_ = 0, at_barrier_ = 0;   // of these
    int cursor_ = 0, sweep_end_ = 0;  // the sweep over a warp, which fibers advance too
    std::vector<Thread> threads_;
    /// A thread's groups of copies, oldest first; the last one is open.
    struct Copies {
        std::deque<std::vector<Copy>> groups;
    };
    std::vector<Copies> copies_;  // of each thread; empty unless the block copies
    Copies& async_of(int thread) {
        if (copies_.empty()) copies_.resize(static_cast<std::size_t>(count_));
        Copies& copies = copies_[static_cast<std::size_t>(thread)];
        if (copies.groups.empty()) copies.groups.emplace_back();
        return copies;
    }
    std::optional<std::string> error_;  // set by a fiber, raised by the scheduler

    std::unique_ptr<StackPool> stacks_;
    std::deque<Fiber> fibers_;  // addresses stay
    std::vector<Fiber*> idle_;
    Fiber* running_ = nullptr;
    std::vector<std::byte> dynamic_storage_;
    const std::byte* static_shared_ = nullptr;  // where this thread's static arrays are, among other things
    std::size_t static_shared_bytes_ = 0;

    sigjmp_buf escape_;
    int crash_signal_ = 0;
    const char* stopped_ = nullptr;  // why, where it was not for hanging
    const void* crash_address_ = nullptr;
    bool crash_address_known_ = true;
    Fiber* crashed_ = nullptr;

    std::thread thread_;  // last: starts when everything else is there
};

constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGFPE, SIGTRAP, SIGILL, SIGUSR2};

void on_signal(int signal, siginfo_t* info, void*) {
    Worker* worker = local.worker;
    if (worker != nullptr && worker->in_kernel()) worker->crashed(signal, *info);
    if (worker != nullptr && signal != SIGUSR2) {
        constexpr char kText[] =
            "A kernel has overwritten memory of the program that runs it, which cannot go on.\n";
        (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
        struct sigaction on_abort {};
        sigaction(SIGABRT, nullptr, &on_abort);
        if (on_abort.sa_handler != SIG_DFL) (void)raise(SIGABRT);  // the program has something to do first
        _exit(2);
    }
    if (signal == SIGUSR2) return;  // came too late: the thread had returned
    struct sigaction fallback {};
    fallback.sa_handler = SIG_DFL;  // not a kernel's fault: let it happen again, for good
    sigaction(signal, &fallback, nullptr);
}

/// Ours while a grid runs, so that a test framework or a learner's program keeps its own handlers otherwise.
class CrashHandlers {
  public:
    CrashHandlers() {
        struct sigaction ours {};
        ours.sa_sigaction = on_signal;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&ours.sa_mask);
        for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &ours, &before_[i]);
    }
    ~CrashHandlers() {
        for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &before_[i], nullptr);
    }
    CrashHandlers(const CrashHandlers&) = delete;
    CrashHandlers& operator=(const CrashHandlers&) = delete;

  private:
    std::array<struct sigaction, kCrashes.size()> before_{};
};

void Worker::main() {
    local.worker = this;
    // A stack overflow leaves no stack to handle it on.
    std::vector<std::byte> signal_stack(64 * 1024);
    stack_t alternative{};
    alternative.ss_sp = signal_stack.data();
    alternative.ss_size = signal_stack.size();
    sigaltstack(&alternative, nullptr);

    for (;;) {
        Job* job = nullptr;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return quit_ || job_ != nullptr; });
            if (quit_) break;
            job = job_;
        }
        job_now_ = job;
        try {
            run_job(*job);
        } catch (const std::exception& e) {
            job->fail(block_, e.what());
        }
        {
            const std::scoped_lock lock(mutex_);
            job_ = nullptr;
        }
        finished_.notify_all();
    }
    forget_fibers();
    alternative.ss_flags = SS_DISABLE;
    sigaltstack(&alternative, nullptr);
}

void Worker::run_job(Job& job) {
    if (!stacks_) stacks_ = std::make_unique<StackPool>();
    block_dim = job.grid.block;
    grid_dim = job.grid.grid;
    count_ = static_cast<int>(block_dim.x * block_dim.y * block_dim.z);
    // Pads as around ThreadLocal: a kernel that leaves its shared memory must not break the heap.
    dynamic_storage_.resize(job.grid.dynamic_shared_bytes + 1024 + 2 * kDynamicPad);
    const auto start = reinterpret_cast<std::uintptr_t>(dynamic_storage_.data()) + kDynamicPad;
    dynamic_shared = reinterpret_cast<void*>((start + 1023) / 1024 * 1024);
    static_shared_ = thread_local_start();
    static_shared_bytes_ = thread_local_bytes();

    // A crash comes back here from the signal handler; everything used after it lives in members.
    if (sigsetjmp(escape_, 1) == 0) {
        while (!job.stop) {
            const std::uint64_t first = job.next.fetch_add(job.chunk);
            if (first >= job.blocks) break;
            const std::uint64_t last = std::min(first + job.chunk, job.blocks);
            for (block_ = first; block_ < last && !job.stop; ++block_) {
                if (!job.options.filter || job.options.filter(block_)) {
                    try {
                        run_block(block_);
                    } catch (const BlockFailure& failure) {
                        job.fail(block_, failure.message);
                        forget_fibers();
                        if (observer != nullptr) observer->block_ends();
                    }
                }
                job.done.fetch_add(1, std::memory_order_relaxed);
            }
        }
    } else {
        job_now_->fail(block_, crash_message());
        // The crashed fiber holds the way back to this stack, which is here already: destroying it would
        // unwind us.
        (void)new context::fiber(std::move(crashed_->back));
        forget_fibers();
        if (observer != nullptr) observer->block_ends();
    }
}

std::string Worker::crash_message() const {
    std::string what;
    char address[32];
    std::snprintf(address, sizeof address, "%p", crash_address_);
    if (crash_signal_ == SIGUSR2 && stopped_ != nullptr) {
        what = stopped_;
    } else if (crash_signal_ == SIGUSR2) {
        what = "neither returned nor reached a barrier for " + seconds(job_now_->options.hang_seconds) +
               ": probably an endless loop.";
    } else if (stacks_->is_guard(crash_address_)) {
        what = "its local variables take more than the " + std::to_string(kStackBytes / 1024) +
               " KiB of stack that the CPU device gives a thread.";
    } else if (crash_signal_ == SIGFPE || crash_signal_ == SIGTRAP) {  // see cmake/lesson.cmake
        what = "integer division by zero.";
    } else if (crash_signal_ == SIGILL) {
        what = "illegal instruction.";
    } else if (!crash_address_known_) {
        what = "access to an address that no memory can have (a wild pointer).";
    } else if (reinterpret_cast<std::uintptr_t>(crash_address_) < kNullPage) {
        what = "access through a null pointer.";
    } else if (is_device_memory(crash_address_)) {
        what = std::string("access to address ") + address + ", outside everything that cudaMalloc gave.";
    } else {
        what = std::string("access to address ") + address + ", which is not mapped.";
    }
    return where(crashed_->thread) + what;
}

void Worker::forget_fibers() {
    idle_.clear();
    fibers_.clear();  // unwinds the suspended ones
    stacks_.reset();  // a crashed fiber never gives its stack back
    stacks_ = std::make_unique<StackPool>();
}

void Worker::run_block(std::uint64_t block) {
    const Grid& grid = job_now_->grid;
    const dim3 index = unflatten(block, grid.grid);
    block_idx = {index.x, index.y, index.z};
    threads_.assign(static_cast<std::size_t>(count_), Thread{});
    copies_.clear();
    done_ = at_barrier_ = 0;
    error_.reset();
    interrupted_ = false;
    stopped_ = nullptr;

    // As on a GPU, shared memory starts with what was there before; a NaN shows whoever reads it unwritten.
    for (const SharedArray& array : *grid.shared) {
        std::memset(shared_array_address(array), kGarbage, array.bytes);
    }
    std::memset(dynamic_shared, kGarbage, grid.dynamic_shared_bytes);

    if (observer == nullptr) return run_warps();
    observer->block_begins({&grid, block, &running_thread, stacks_->begin(), stacks_->end(),
                            reinterpret_cast<const std::byte*>(this),
                            reinterpret_cast<const std::byte*>(this + 1),
                            static_cast<std::byte*>(dynamic_shared), &interrupted_});
    run_warps();
    observer->block_ends();
}

void Worker::run_warps() {
    give_up_ = false;
    while (done_ < count_) {
        if (give_up_) hanging();
        bool moved = false;
        for (int first = 0; first < count_; first += kWarp) {
            const int last = std::min(first + kWarp, count_);
            while (sweep_warp(first, last) || release_lanes(first, last)) moved = true;
            if (observer != nullptr) observer->warp_paused(first, last);
        }
        if (done_ == count_) break;
        if (at_barrier_ > 0 && at_barrier_ + done_ == count_) {
            release_barrier();
        } else if (!moved) {
            deadlock();
        }
    }
}

/// Runs every lane of a warp that can run; false when none could.
bool Worker::sweep_warp(int first, int last) {
    bool moved = false;
    sweep_end_ = last;
    for (cursor_ = first; cursor_ < last; ++cursor_) {
        const State state = threads_[static_cast<std::size_t>(cursor_)].state;
        if (state != State::not_started && state != State::ready) continue;
        moved = true;
        resume(cursor_);  // advances cursor_ over the threads that its fiber runs on the way
        if (error_) throw BlockFailure{*error_};
    }
    return moved;
}

void Worker::resume(int thread) {
    Thread& t = threads_[static_cast<std::size_t>(thread)];
    const dim3 index = unflatten(static_cast<std::uint64_t>(thread), block_dim);
    thread_idx = {index.x, index.y, index.z};
    heartbeat_.fetch_add(1, std::memory_order_relaxed);
    if (t.state == State::ready) {
        running_ = t.fiber;
    } else {
        if (idle_.empty()) {
            Fiber& fresh = fibers_.emplace_back();
            fresh.self = context::fiber(std::allocator_arg, StackAllocator{&*stacks_},
                                        [this, &fresh](context::fiber&& back) {
                                            fresh.back = std::move(back);
                                            fiber_main(fresh);
                                            return std::move(fresh.back);
                                        });
            idle_.push_back(&fresh);
        }
        running_ = idle_.back();
        idle_.pop_back();
        running_->thread = thread;
    }
    t.state = State::ready;
    running_thread = thread;
    Fiber* const fiber = running_;
    context::fiber suspended = std::move(fiber->self).resume();
    fiber->self = std::move(suspended);
    running_ = nullptr;
}

/// A fiber's life: runs CUDA threads, then rests in the pool until it gets another.
void Worker::fiber_main(Fiber& fiber) {
    for (;;) {
        run_thread(fiber.thread);
        // The sweep goes on here as long as the next lane has not started: no switch needed.
        const int next = cursor_ + 1;
        if (!error_ && next < sweep_end_ &&
            threads_[static_cast<std::size_t>(next)].state == State::not_started) {
            cursor_ = next;
            fiber.thread = running_thread = next;
            const dim3 index = unflatten(static_cast<std::uint64_t>(next), block_dim);
            thread_idx = {index.x, index.y, index.z};
            heartbeat_.fetch_add(1, std::memory_order_relaxed);
            continue;
        }
        idle_.push_back(&fiber);
        fiber.back = std::move(fiber.back).resume();
    }
}

void Worker::run_thread(int thread) {
    try {
        job_now_->grid.call(job_now_->grid.context);
    } catch (const context::detail::forced_unwind&) {
        throw;  // the fiber is being destroyed
    } catch (const Trapped& trapped) {
        error_ = where(thread) + text(trapped.site) + " ended the kernel.";
    } catch (const std::exception& e) {
        error_ = where(thread) + "an exception left the kernel: " + e.what();
        if (error_->back() != '.') *error_ += '.';
    } catch (...) {
        error_ = where(thread) + "an exception left the kernel.";
    }
    threads_[static_cast<std::size_t>(thread)].state = State::done;
    ++done_;
    returned_.fetch_add(1, std::memory_order_relaxed);
}

void Worker::wait_as(State state) {
    Fiber& fiber = *running_;
    Thread& t = current();
    t.state = state;
    t.fiber = &fiber;
    if (state == State::at_barrier) ++at_barrier_;
    fiber.back = std::move(fiber.back).resume();
}

/// Everyone who still lives waits at a barrier: let them go, if it is one barrier and everyone lives.
void Worker::release_barrier() {
    int waiting = 0;
    while (threads_[static_cast<std::size_t>(waiting)].state != State::at_barrier) ++waiting;
    const Site site = threads_[static_cast<std::size_t>(waiting)].site;
    std::uint64_t holds = 0;  // for how many threads the barrier's predicate does
    for (const Thread& t : threads_) holds += t.in;
    for (int i = 0; i < count_; ++i) {
        Thread& t = threads_[static_cast<std::size_t>(i)];
        if (t.state == State::done) {
            throw BlockFailure{where(i) + "divergent barrier: it returned without reaching the " +
                               text(site) + " where " + who(waiting) + " waits."};
        }
        if (!same_place(t.site, site)) {
            throw BlockFailure{where(i) + "divergent barrier: it waits at " + text(t.site) + ", while " +
                               who(waiting) + " waits at " + text(site) + "."};
        }
        t.state = State::ready;
        t.out = holds;
    }
    at_barrier_ = 0;
    if (observer != nullptr) observer->barrier_met();
}

void Worker::hanging() const {
    int i = 0;
    while (i + 1 < count_ && threads_[static_cast<std::size_t>(i)].state == State::done) ++i;
    throw BlockFailure{where(i) + "no thread of its block has returned for " +
                       seconds(kBarrierPatience * job_now_->options.hang_seconds) +
                       ", and it has just met the others at the " +
                       text(threads_[static_cast<std::size_t>(i)].site) + ": probably an endless loop."};
}

void Worker::deadlock() const {
    // Somebody waits for lanes that will not come.
    for (int i = 0; i < count_; ++i) {
        const Thread& t = threads_[static_cast<std::size_t>(i)];
        if (t.state != State::at_collective) continue;
        const int first = i / kWarp * kWarp;
        for (int lane = 0; lane < kWarp && first + lane < count_; ++lane) {
            const int other = first + lane;
            const Thread& o = threads_[static_cast<std::size_t>(other)];
            if ((t.mask >> lane & 1u) == 0 || o.state == State::done ||
                (o.state == State::at_collective && o.site.line == t.site.line && o.compute == t.compute))
                continue;
            throw BlockFailure{where(i) + "deadlock: it waits at " + text(t.site) + " for " + who(other) +
                               ", which waits at " + text(o.site) + "."};
        }
        throw BlockFailure{where(i) + "deadlock: the lanes that meet at " + text(t.site) +
                           " name different masks."};
    }
    throw BlockFailure{where(0) + "deadlock."};
}

std::uint64_t Worker::collective(unsigned mask, Collective compute, std::uint64_t in, int argument, int width,
                                 Site site, bool whole_warp) {
    const int self = running_->thread;
    const int first = self / kWarp * kWarp;
    const int lanes = std::min(kWarp, count_ - first);
    const unsigned exist = lanes == kWarp ? ~0u : (1u << lanes) - 1;
    mask &= exist;  // lanes that the block does not have are not waited for
    if ((mask >> (self - first) & 1u) == 0) {
        throw gemm::Error(text(site) + " is called by a lane that its mask leaves out.");
    }
    if (whole_warp && lanes < kWarp) {
        throw gemm::Error(text(site) + " needs all 32 threads of a warp, and this one has " +
                          std::to_string(lanes) + ".");
    }
    Thread& t = current();
    t.site = site;
    t.mask = mask;
    t.compute = compute;
    t.in = in;
    t.argument = argument;
    t.width = width;
    t.whole_warp = whole_warp;

    // The last to arrive does the work for all.
    unsigned here = 1u << (self - first);
    for (int lane = 0; lane < lanes; ++lane) {
        const Thread& o = threads_[static_cast<std::size_t>(first + lane)];
        if (o.state == State::at_collective && same_collective(o, t)) here |= 1u << lane;
    }
    if (here != (whole_warp ? mask : mask & ~exited_lanes(first))) {
        wait_as(State::at_collective);
        return t.out;
    }
    meet(first, here);
    t.state = State::ready;
    return t.out;
}

/// Bits of the warp's lanes that have returned. Nobody waits for them: only the non-exited threads that a
/// mask names must come (CUDA C++ Programming Guide, "Warp Shuffle Functions", "Synchronization Functions").
unsigned Worker::exited_lanes(int first) const {
    unsigned exited = 0;
    for (int lane = 0; lane < kWarp && first + lane < count_; ++lane) {
        if (threads_[static_cast<std::size_t>(first + lane)].state == State::done) exited |= 1u << lane;
    }
    return exited;
}

/// The lanes, all at one collective, have met: computes what it gives each of them.
void Worker::meet(int first, unsigned lanes) {
    std::array<std::uint64_t, kWarp> inputs{}, outputs{};
    std::array<int, kWarp> arguments{};
    const Thread* any = nullptr;
    for (int lane = 0; lane < kWarp; ++lane) {
        if ((lanes >> lane & 1u) == 0) continue;
        any = &threads_[static_cast<std::size_t>(first + lane)];
        inputs[static_cast<std::size_t>(lane)] = any->in;
        arguments[static_cast<std::size_t>(lane)] = any->argument;
    }
    if (observer != nullptr && !any->whole_warp) observer->warp_met(first, lanes);
    if (any->compute != nullptr)
        any->compute(lanes, inputs.data(), arguments.data(), any->width, outputs.data());
    for (int lane = 0; lane < kWarp; ++lane) {
        if ((lanes >> lane & 1u) == 0) continue;
        Thread& t = threads_[static_cast<std::size_t>(first + lane)];
        t.out = outputs[static_cast<std::size_t>(lane)];
        t.in = 0;
        t.state = State::ready;
    }
}

/// Of a warp in which nobody can run: lets those go whose partners have all come or returned since, and those
/// that ask who is active, each with the lanes that ask at the same place. False where there are none.
bool Worker::release_lanes(int first, int last) {
    const unsigned exited = exited_lanes(first);
    for (int i = first; i < last; ++i) {
        const Thread& t = threads_[static_cast<std::size_t>(i)];
        if (t.state != State::at_collective && t.state != State::at_active_mask) continue;
        unsigned here = 0;
        for (int o = first; o < last; ++o) {
            const Thread& other = threads_[static_cast<std::size_t>(o)];
            if (other.state == t.state && same_collective(other, t)) here |= 1u << (o - first);
        }
        if (t.state == State::at_collective) {
            if (t.whole_warp && exited != 0) {
                throw BlockFailure{where(i) + text(t.site) + " needs all 32 threads of the warp, and " +
                                   who(first + std::countr_zero(exited)) + " has returned."};
            }
            if (here != (t.mask & ~exited)) continue;
            meet(first, here);
            return true;
        }
        for (int o = first; o < last; ++o) {
            if ((here >> (o - first) & 1u) == 0) continue;
            threads_[static_cast<std::size_t>(o)].out = here;
            threads_[static_cast<std::size_t>(o)].state = State::ready;
        }
        return true;
    }
    return false;
}

void Worker::read_matrix_row(const void* caller, const void* address, void* to, const Site& site) {
    if (to == nullptr) {
        if (observer != nullptr) observer->warp_reads(caller, nullptr, 0);
        return;
    }
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (at % 16 != 0) {
        throw gemm::Error(text(site) + " reads 16 bytes at an address that is no multiple of 16.");
    }
    // What misses an array by less is for the tracer to report.
    const auto near = [&](const void* start, std::size_t bytes) {
        const auto first = reinterpret_cast<std::uintptr_t>(start);
        return at + kDynamicPad >= first && at < first + bytes + kDynamicPad;
    };
    if (is_device_memory(address) || (!near(static_shared_, static_shared_bytes_) &&
                                      !near(dynamic_shared, job_now_->grid.dynamic_shared_bytes))) {
        throw gemm::Error(text(site) + " reads at an address that is not in shared memory.");
    }
    if (observer != nullptr) observer->warp_reads(caller, address, 16);
    std::memcpy(to, address, 16);
}

void Worker::async_copy(const Copy& copy) {
    const auto to = reinterpret_cast<std::uintptr_t>(copy.shared),
               from = reinterpret_cast<std::uintptr_t>(copy.global);
    const auto width = static_cast<std::uintptr_t>(copy.bytes);
    if (to % width != 0 || from % width != 0) {
        throw gemm::Error("cp.async of " + std::to_string(copy.bytes) + " bytes " +
                          (to % width != 0 ? "to" : "from") + " an address that is no multiple of them.");
    }
    if (copy.valid < 0 || copy.valid > copy.bytes) {
        throw gemm::Error("cp.async of " + std::to_string(copy.bytes) + " bytes, " +
                          std::to_string(copy.valid) + " of them valid.");
    }
    if (observer != nullptr) {
        observer->copy_begins(copy.caller, copy.shared, copy.global, copy.bytes, copy.valid);
    }
    std::memset(copy.shared, kGarbage, static_cast<std::size_t>(copy.bytes));
    async_of(running_thread).groups.back().push_back(copy);
}

void Worker::async_wait(int pending) {
    auto& groups = async_of(running_thread).groups;
    // The open group is not waited for: it has not been committed.
    while (static_cast<int>(groups.size()) - 1 > pending) {
        for (const Copy& copy : groups.front()) {
            if (copy.valid > 0) std::memcpy(copy.shared, copy.global, static_cast<std::size_t>(copy.valid));
            std::memset(static_cast<std::byte*>(copy.shared) + copy.valid, 0,
                        static_cast<std::size_t>(copy.bytes - copy.valid));
            if (observer != nullptr) observer->copy_ends(copy.caller, copy.shared, copy.bytes);
        }
        groups.pop_front();
    }
}

/// The worker threads of the process, started by the first launch.
class Workers {
  public:
    void run(Job& job) {
        const std::scoped_lock one_launch_at_a_time(mutex_);
        const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(
            {kMostWorkers, std::max(1u, std::thread::hardware_concurrency()), job.blocks}));
        while (workers_.size() < wanted) workers_.push_back(std::make_unique<Worker>());
        // Small enough to share the work evenly, large enough that taking a chunk costs nothing.
        job.chunk = std::clamp<std::uint64_t>(job.blocks / (wanted * 16), 1, 64);

        const CrashHandlers handlers;
        for (std::size_t i = 0; i < wanted; ++i) workers_[i]->start(job);
        wait(job, wanted);
    }

  private:
    void wait(Job& job, std::size_t count) {
        const auto started = Clock::now();
        std::vector<std::uint64_t> beats(count, UINT64_MAX), returns(count, UINT64_MAX);
        std::vector<Clock::time_point> since(count, started), returned_since(count, started);
        for (std::size_t i = 0; i < count;) {
            const auto now = Clock::now();
            if (workers_[i]->wait(now + std::chrono::milliseconds(500))) {
                ++i;
                continue;
            }
            if (job.options.progress && Clock::now() - started > Seconds(2)) {
                job.options.progress(job.done.load(), job.blocks);
            }
            for (std::size_t w = i; w < count; ++w) {
                if (workers_[w]->idle()) continue;
                if (const std::uint64_t beat = workers_[w]->heartbeat(); beat != beats[w]) {
                    beats[w] = beat;
                    since[w] = Clock::now();
                } else if (Clock::now() - since[w] > Seconds(job.options.hang_seconds)) {
                    workers_[w]->interrupt();
                    // A loop without a basic block that the tracer sees needs a second time.
                    since[w] += std::chrono::seconds(1);
                }
                if (const std::uint64_t returned = workers_[w]->returned(); returned != returns[w]) {
                    returns[w] = returned;
                    returned_since[w] = Clock::now();
                } else if (Clock::now() - returned_since[w] >
                           Seconds(kBarrierPatience * job.options.hang_seconds)) {
                    workers_[w]->give_up();
                }
            }
        }
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

void set_observer(Observer* o) {
    observer = o;
}

void run_grid(const Grid& grid, const RunOptions& options) {
    // Never destroyed: exit() in a kernel would make a worker wait for itself.
    static Workers& workers = *new Workers;
    Job job(grid, options);
    job.blocks = static_cast<std::uint64_t>(grid.grid.x) * grid.grid.y * grid.grid.z;
    if (observer != nullptr) observer->launch_begins(grid, job.blocks);
    workers.run(job);
    if (job.failed_block != UINT64_MAX) throw gemm::Error(job.failure);
}

const uint3& thread_idx() {
    return local.worker->thread_idx;
}
const uint3& block_idx() {
    return local.worker->block_idx;
}
const dim3& block_dim() {
    return local.worker->block_dim;
}
const dim3& grid_dim() {
    return local.worker->grid_dim;
}
void* dynamic_shared() {
    return local.worker->dynamic_shared;
}
int barrier(Site site, bool predicate) {
    return local.worker->barrier(site, predicate);
}
unsigned active_mask(Site site) {
    return local.worker->active_mask(site);
}
void trap(Site site) {
    throw Trapped{site};
}
void stop_kernel(const char* why) {
    if (local.worker != nullptr) local.worker->stop(why);
}
void stop_if_interrupted() {
    if (local.worker != nullptr) local.worker->stop_if_interrupted();
}

namespace {
/// Atomic for the threads of all blocks, on every address that a kernel may have.
template <class T>
T add_atomically(T* address, T value, const void* caller) {
    if (observer != nullptr) observer->atomic(caller, address, sizeof(T));
    return std::atomic_ref<T>(*address).fetch_add(value, std::memory_order_relaxed);
}
}  // namespace
void fence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
}
int atomic_add(int* address, int value) {
    // Overflow wraps round, as on a GPU; fetch_add has no undefined results.
    return add_atomically(address, value, __builtin_return_address(0));
}
unsigned atomic_add(unsigned* address, unsigned value) {
    return add_atomically(address, value, __builtin_return_address(0));
}
unsigned long long atomic_add(unsigned long long* address, unsigned long long value) {
    return add_atomically(address, value, __builtin_return_address(0));
}
float atomic_add(float* address, float value) {
    return add_atomically(address, value, __builtin_return_address(0));
}
double atomic_add(double* address, double value) {
    return add_atomically(address, value, __builtin_return_address(0));
}
void async_copy(void* shared, const void* global, int bytes, int valid) {
    local.worker->async_copy({__builtin_return_address(0), shared, global, bytes, valid});
}
void async_commit() {
    local.worker->async_commit();
}
void async_wait(int pending_groups) {
    local.worker->async_wait(pending_groups);
}
std::uint64_t collective(unsigned mask, Collective compute, std::uint64_t in, int argument, int width,
                         Site site) {
    return local.worker->collective(mask, compute, in, argument, width, site);
}

void warp_instruction(Collective compute, void* operands, Site site) {
    local.worker->collective(~0u, compute, reinterpret_cast<std::uint64_t>(operands), 0, kWarp, site, true);
}
int lane() {
    return local.worker->running_thread % kWarp;
}
void read_matrix_row(const void* caller, const void* address, void* to, const Site& site) {
    local.worker->read_matrix_row(caller, address, to, site);
}

// CUDA C++ Programming Guide, "Warp shuffle functions": the warp is cut into segments of `width` lanes; a
// lane whose source lies outside its segment (or takes no part, where CUDA leaves the value undefined) gets
// its own value.
namespace {
template <class Source>
void shuffle_lanes(unsigned lanes, const std::uint64_t* in, const int* argument, std::uint64_t* out,
                   Source source) {
    for (int lane = 0; lane < kWarp; ++lane) {
        const int from = source(lane, argument[lane]);
        out[lane] = from >= 0 && from < kWarp && (lanes >> from & 1u) ? in[from] : in[lane];
    }
}
}  // namespace
void shuffle_index(unsigned lanes, const std::uint64_t* in, const int* argument, int width,
                   std::uint64_t* out) {
    shuffle_lanes(lanes, in, argument, out,
                  [&](int lane, int a) { return lane / width * width + (a & (width - 1)); });
}
void shuffle_up(unsigned lanes, const std::uint64_t* in, const int* argument, int width, std::uint64_t* out) {
    shuffle_lanes(lanes, in, argument, out,
                  [&](int lane, int a) { return lane % width >= a ? lane - a : lane; });
}
void shuffle_down(unsigned lanes, const std::uint64_t* in, const int* argument, int width,
                  std::uint64_t* out) {
    shuffle_lanes(lanes, in, argument, out,
                  [&](int lane, int a) { return lane % width + a < width ? lane + a : lane; });
}
void shuffle_xor(unsigned lanes, const std::uint64_t* in, const int* argument, int width,
                 std::uint64_t* out) {
    shuffle_lanes(lanes, in, argument, out, [&](int lane, int a) {
        // A segment may read from earlier ones, not from later ones.
        const int from = lane ^ a;
        return from / width <= lane / width ? from : lane;
    });
}
void ballot(unsigned lanes, const std::uint64_t* in, const int*, int, std::uint64_t* out) {
    std::uint64_t votes = 0;
    for (int lane = 0; lane < kWarp; ++lane) {
        if ((lanes >> lane & 1u) && in[lane] != 0) votes |= std::uint64_t{1} << lane;
    }
    std::fill(out, out + kWarp, votes);
}

}  // namespace cpu_device
