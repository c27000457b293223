// The worker threads, and one launch that they share: who takes which block, who watches that they go on.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/cluster.hpp"
#include "common/cpu/execution/crash.hpp"
#include "common/cpu/execution/scheduler.hpp"

namespace cpu_device {

using Clock = std::chrono::steady_clock;

/// One launch, shared by the workers that take blocks from it.
struct Job {
    Job(const Grid& g, const RunOptions& o) : grid(g), options(o) {}

    const Grid& grid;
    const RunOptions& options;
    std::uint64_t blocks = 0;  // clusters, where there are any
    std::uint64_t chunk = 1;
    std::atomic<std::uint64_t> next{0}, done{0};
    std::atomic<bool> stop{false};
    std::mutex mutex;
    std::uint64_t failed_block = UINT64_MAX;
    BlockFailure failure{};

    /// The lowest block's is the launch's.
    void fail(std::uint64_t block, BlockFailure why);
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
    bool in_kernel() const { return cluster_.in_kernel(); }
    /// Leaves the kernel for good. `why` (null: it hangs) stays valid.
    void stop(const char* why);
    /// The same on the signal stack.
    [[noreturn]] void crashed(int signal, const siginfo_t& info) {
        escape_.leave(cluster_.running(), signal, info);
    }

  private:
    void main();
    void run_job(Job& job);
    void take_blocks(Job& job);
    void run_block(std::uint64_t index);
    void clean_up();

    // Hand-over between the launching thread and this one.
    mutable std::mutex mutex_;
    std::condition_variable wake_, finished_;
    Job* job_ = nullptr;
    bool quit_ = false;

    std::uint64_t index_ = 0;  // of the block that runs
    Cluster cluster_{registers, pulse};
    Escape escape_;

    std::thread thread_;  // last: starts when everything else is there
};

/// The worker whose OS thread this is; null elsewhere.
Worker* this_worker();
void set_this_worker(Worker* worker);

}  // namespace cpu_device
