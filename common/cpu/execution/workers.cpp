// Runs a grid: blocks on OS threads, and a block's CUDA threads as fibers on one of them (block.hpp). A
// worker runs one block at a time, and a block never changes OS thread, so that addresses of thread-local
// memory may be kept.
#include "common/cpu/execution/workers.hpp"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <vector>

#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"

namespace cpu_device {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr std::size_t kMostWorkers = 16;  // two mappings a stack: more would pass the kernel's limit
constexpr int kMostStacks = 8 * 1024;     // of clusters

Observer* the_observer = nullptr;

/// One of the cluster's blocks is.
bool is_wanted(const Job& job, std::uint64_t cluster) {
    if (!job.options.filter) return true;
    if (job.grid.cluster_blocks() == 1) return job.options.filter(cluster);
    const std::vector<std::uint64_t> blocks = Cluster::blocks_of(job.grid, cluster);
    return std::any_of(blocks.begin(), blocks.end(), job.options.filter);
}

}  // namespace

Observer* observer() {
    return the_observer;
}
void set_observer(Observer* o) {
    the_observer = o;
}
void stop_observing() {
    if (the_observer != nullptr) the_observer->fails();
}

void Job::fail(std::uint64_t block, BlockFailure why) {
    const std::scoped_lock lock(mutex);
    stop = true;
    if (block < failed_block) {
        failed_block = block;
        failure = std::move(why);
    }
}

Worker::~Worker() {
    {
        const std::scoped_lock lock(mutex_);
        quit_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void Worker::start(Job& job) {
    {
        const std::scoped_lock lock(mutex_);
        job_ = &job;
    }
    wake_.notify_one();
}

bool Worker::idle() const {
    const std::scoped_lock lock(mutex_);
    return job_ == nullptr;
}

bool Worker::wait(Clock::time_point until) {
    std::unique_lock lock(mutex_);
    return finished_.wait_until(lock, until, [&] { return job_ == nullptr; });
}

double Worker::computed() {
    clockid_t clock{};
    timespec time{};
    if (pthread_getcpuclockid(thread_.native_handle(), &clock) != 0 || clock_gettime(clock, &time) != 0)
        throw std::runtime_error("This system does not tell a thread's computing time.");
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void Worker::interrupt() {
    if (observer() == nullptr || pulse.interrupted.exchange(true)) {
        pthread_kill(thread_.native_handle(), kStopSignal);
    }
}

void Worker::stop(const char* why) {
    if (!in_kernel()) return;
    escape_.stopped = why;
    (void)raise(kStopSignal);
}

void Worker::main() {
    set_this_worker(this);
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
        try {
            run_job(*job);
        } catch (const std::exception& e) {
            job->fail(index_, {gemm::FaultId::other, e.what()});
        }
        {
            const std::scoped_lock lock(mutex_);
            job_ = nullptr;
        }
        finished_.notify_all();
    }
    cluster_.forget_fibers();
    alternative.ss_flags = SS_DISABLE;
    sigaltstack(&alternative, nullptr);
}

void Worker::run_job(Job& job) {
    cluster_.prepare(job.grid, job.options.hang_seconds, job.options.seed);
    // A crash comes back here from the signal handler; everything used after it lives in members.
    if (sigsetjmp(escape_.back, 1) == 0) {
        take_blocks(job);
    } else {
        Block& block = cluster_.running();
        const BlockFailure why = escape_.why(block);
        job_->fail(index_, {why.id, block.abandon() + why.message});
        clean_up();
    }
}

void Worker::take_blocks(Job& job) {
    while (!job.stop) {
        const std::uint64_t first = job.next.fetch_add(job.chunk);
        if (first >= job.blocks) break;
        const std::uint64_t last = std::min(first + job.chunk, job.blocks);
        std::uint64_t told = first;  // blocks that are done, and that others have been told of
        for (index_ = first; index_ < last && !job.stop; ++index_) {
            // (Of the others there may be a million.)
            if (!is_wanted(job, index_)) continue;
            try {
                run_block(index_);
            } catch (const BlockFailure& failure) {
                job.fail(index_, failure);
                clean_up();
            }
            job.done.fetch_add(index_ + 1 - told, std::memory_order_relaxed);
            told = index_ + 1;
        }
        job.done.fetch_add(last - told, std::memory_order_relaxed);
    }
}

void Worker::run_block(std::uint64_t index) {
    escape_.stopped = nullptr;
    cluster_.begin(index);
    cluster_.run();
    if (Observer* o = observer()) o->blocks_end();
}

/// After a block that failed.
void Worker::clean_up() {
    cluster_.forget_fibers();
    if (Observer* o = observer()) o->blocks_end();
}

namespace {

/// What the launching thread saw of a worker. Times are the worker's own, in seconds: on a busy machine a
/// thread that does not get a turn does not hang.
struct Watched {
    std::uint64_t beat = UINT64_MAX, returned = UINT64_MAX;
    double beat_since = 0, returned_since = 0;

    void look(Worker& worker, double hang_seconds) {
        if (worker.idle()) return;
        const double now = worker.computed();
        if (const std::uint64_t new_beat = worker.pulse.heartbeat.load(std::memory_order_relaxed);
            new_beat != beat) {
            beat = new_beat;
            beat_since = now;
        } else if (now - beat_since > hang_seconds) {
            worker.interrupt();
            // A loop without a basic block that the tracer sees needs a second time.
            beat_since += 1;
        }
        if (const std::uint64_t new_returned = worker.pulse.returned.load(std::memory_order_relaxed);
            new_returned != returned) {
            returned = new_returned;
            returned_since = now;
        } else if (now - returned_since > kBarrierPatience * hang_seconds) {
            worker.pulse.give_up = true;
        }
    }
};

/// Makes stacks of threads that start from here on larger by the program's thread-local memory, which glibc
/// takes out of them: the __shared__ arrays of many traced lessons in one program alone fill 8 MiB.
bool leave_room_for_shared_arrays() {
    pthread_attr_t usual;
    std::size_t bytes = 0;
    if (pthread_getattr_default_np(&usual) != 0) return false;  // then a thread that has no room says so
    const bool left = pthread_attr_getstacksize(&usual, &bytes) == 0 &&
                      pthread_attr_setstacksize(&usual, bytes + thread_local_bytes()) == 0 &&
                      pthread_setattr_default_np(&usual) == 0;
    pthread_attr_destroy(&usual);
    return left;
}
// Before main(): the reference is computed by threads, too, and mostly before the first launch.
[[maybe_unused]] const bool room_left = leave_room_for_shared_arrays();

/// The worker threads of the process, started by the first launch.
class Workers {
  public:
    void run(Job& job) {
        const std::scoped_lock one_launch_at_a_time(mutex_);
        const auto room = static_cast<std::uint64_t>(
            job.grid.cluster_blocks() > 1 ? kMostStacks / (job.grid.cluster_blocks() * job.grid.threads())
                                          : kMostWorkers);
        const std::size_t wanted = static_cast<std::size_t>(
            std::min<std::uint64_t>({kMostWorkers, std::max(1u, std::thread::hardware_concurrency()),
                                     job.blocks, std::max<std::uint64_t>(1, room)}));
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
        std::vector<Watched> watched(count);
        for (std::size_t i = 0; i < count;) {
            if (workers_[i]->wait(Clock::now() + std::chrono::milliseconds(500))) {
                ++i;
                continue;
            }
            if (job.options.progress && Clock::now() - started > Seconds(2)) {
                job.options.progress(job.done.load(), job.blocks);
            }
            for (std::size_t w = i; w < count; ++w) watched[w].look(*workers_[w], job.options.hang_seconds);
        }
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

void run_grid(const Grid& grid, const RunOptions& options) {
    // Never destroyed: exit() in a kernel would make a worker wait for itself.
    static Workers& workers = *new Workers;
    Job job(grid, options);
    const std::uint64_t blocks = static_cast<std::uint64_t>(grid.grid.x) * grid.grid.y * grid.grid.z;
    job.blocks = blocks / static_cast<std::uint64_t>(grid.cluster_blocks());
    if (Observer* o = observer()) o->launch_begins(grid, blocks);
    workers.run(job);
    if (job.failed_block != UINT64_MAX)
        throw gemm::Fault(job.failure.id, job.failure.message, job.failure.autopsy);
}

}  // namespace cpu_device
