// The worker threads, and one launch that they share: who takes which block, who watches that they go on.
//
// A worker runs one cluster of blocks after the other, in the same stacks and tables. Where one waits for
// others (Cluster::Outcome::waits), it stays, with fibers and shared memory of its own, and the worker begins
// the next one beside it, or goes on with one that waited for what is there now: until as many are resident
// as the device has room for. A cluster that has begun goes on sooner or later; one that has not gets its
// turn when there is room, or another one ends. That is what a GPU promises, and no more.
//
// A launch whose kernel is known to wait (common/ptx/flags.hpp says so, or it has done so before) runs on one
// worker, where the seed alone decides the order. Of others, that spin by CUDA's own atomic functions, the
// first launch may have blocks that wait on several workers. Those hang when all workers have looked at what
// the last of them did, and found nothing (Side).
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/cluster.hpp"
#include "common/cpu/execution/crash.hpp"
#include "common/cpu/execution/scheduler.hpp"

namespace cpu_device {

using Clock = std::chrono::steady_clock;

class Worker;

/// What workers with clusters that wait tell each other.
struct Side {
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t changes = 0;   // that somebody may have waited for
    std::uint64_t resident = 0;  // clusters
    int busy = 0;                // workers that may still change something
    struct Quiet {
        Worker* worker;
        std::uint64_t seen;  // changes: nothing has come of them for who waits there
    };
    std::vector<Quiet> quiet;  // workers of which all clusters wait
};

/// One launch, shared by the workers that take blocks from it.
struct Job {
    Job(const Grid& g, const RunOptions& o) : grid(g), options(o) {}

    const Grid& grid;
    const RunOptions& options;
    std::uint64_t blocks = 0;  // clusters, where there are any
    std::uint64_t chunk = 1;
    std::atomic<std::uint64_t> next{0}, done{0};
    std::atomic<bool> stop{false};
    bool ordered = false;                   // one worker, and the seed decides
    bool few = false;                       // then clusters that are not wanted begin once one waits
    std::set<std::uint64_t> begun;          // before that, by their places in the order
    std::uint64_t step = 1, offset = 0;     // of the order in which clusters begin
    std::uint64_t room = 1;                 // clusters that are resident at once
    bool stacks = false;                    // which stacks limit
    std::atomic<bool> side_by_side{false};  // one has waited
    Side side;
    std::mutex mutex;
    std::uint64_t failed_block = UINT64_MAX;
    BlockFailure failure{};

    /// The cluster that begins as the i-th.
    std::uint64_t in_order(std::uint64_t i) const {
        __extension__ using Wide = unsigned __int128;
        return step == 1 && offset == 0 ? i : static_cast<std::uint64_t>((Wide{i} * step + offset) % blocks);
    }
    /// The lowest block's is the launch's.
    void fail(std::uint64_t block, BlockFailure why);
};

/// How often nothing has come of letting all look again, in a launch that seems to hang.
struct Patience {
    std::uint64_t changes = 0;  // up to then, by others
    int nothing = 0, little = 0;
};

/// Runs blocks on one OS thread.
class Worker {
  public:
    Worker() : thread_([this] { main(); }) {}
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker();

    // ---- for the launching thread ----
    void start(Job& job);
    bool idle() const;
    /// Blocks until the job is done or the time is over; true when done.
    bool wait(Clock::time_point until);
    /// Seconds that its OS thread has computed.
    double computed();
    /// Makes the CUDA thread that runs now fail as hanging. A traced one is asked first: it stops between two
    /// basic blocks, where it holds no lock (the tracer's, printf's).
    void interrupt();
    Pulse pulse;

    // ---- for the kernel that runs, on this OS thread ----
    Registers registers;
    bool in_kernel() const { return registers.block != nullptr && registers.block->in_kernel(); }
    /// Leaves the kernel for good. `why` (null: it hangs) stays valid.
    void stop(const char* why);
    /// The same on the signal stack.
    [[noreturn]] void crashed(int signal, const siginfo_t& info, const void* instruction) {
        escape_.leave(*registers.block, signal, info, instruction);
    }

  private:
    void main();
    void run_job(Job& job);
    void take_blocks(Job& job);
    bool run_block(std::uint64_t index);
    void clean_up();
    // Clusters that wait (side_by_side.cpp).
    void live_side_by_side(Job& job);
    bool begin_beside(Job& job);
    void go_on(Job& job, std::size_t number);
    void step_aside();
    bool wait_for_others(Job& job, std::uint64_t seen);
    void hang(Job& job);
    void run_on(Job& job);
    bool look_again(Job& job);

    // Hand-over between the launching thread and this one.
    mutable std::mutex mutex_;
    std::condition_variable wake_, finished_;
    Job* job_ = nullptr;
    bool quit_ = false;

    std::uint64_t index_ = 0;                  // of the cluster that runs
    std::deque<Cluster> clusters_;             // the first one's stacks have guards
    std::uint64_t taken_ = 0, taken_end_ = 0;  // clusters that this worker will begin beside others
    std::size_t prepared_ = 0;                 // of them, for this launch
    std::vector<std::size_t> waiting_, free_;  // numbers of those that wait, and of those that have ended
    std::vector<std::size_t> ready_;           // of those that wait, who may go on
    std::size_t number_ = 0;                   // of the cluster that runs
    bool inside_ = false;                      // it is where the kernel has it
    std::vector<std::uint64_t> seen_;          // changes: that each of them has looked at
    Dice dice_;
    Patience patience_;
    Escape escape_;

    std::thread thread_;  // last: starts when everything else is there
};

/// The worker whose OS thread this is; null elsewhere.
Worker* this_worker();
void set_this_worker(Worker* worker);

}  // namespace cpu_device
