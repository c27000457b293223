// Runs a grid: blocks on OS threads, and a block's CUDA threads as fibers on one of them (block.hpp). A
// worker runs one block at a time, and a block never changes OS thread, so that addresses of thread-local
// memory may be kept.
#include "common/cpu/execution/workers.hpp"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"

namespace cpu_device {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr std::size_t kMostWorkers = 16;  // two mappings a stack: more would pass the kernel's limit
constexpr int kMostStacks = 8 * 1024;     // of clusters
constexpr std::size_t kMostKept = 8;      // clusters of a worker, from launch to launch
// Threads of blocks that are resident side by side. One that waits has touched two pages of its stack or
// three: some 1.5 GB for all of them.
constexpr std::uint64_t kMostResident = 136 * 1024;

Observer* the_observer = nullptr;

/// Kernels whose blocks have waited for each other.
class Waiters {
  public:
    static bool known(const void* kernel) {
        const std::scoped_lock lock(mutex);
        return kernels.contains(kernel);
    }
    static void add(const void* kernel) {
        const std::scoped_lock lock(mutex);
        kernels.insert(kernel);
    }

  private:
    static inline std::mutex mutex;
    static inline std::set<const void*> kernels;
};

/// Clusters begin in an order that the seed decides.
void set_order(Job& job, std::uint64_t seed) {
    Dice dice(~seed);
    job.offset = dice.below(job.blocks);
    do {
        job.step = 1 + dice.below(job.blocks);
    } while (std::gcd(job.step, job.blocks) != 1);
}

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
InWords::~InWords() {
    if (goes_on_ && the_observer != nullptr) the_observer->goes_on();
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
    for (Cluster& cluster : clusters_) cluster.forget_fibers();
    alternative.ss_flags = SS_DISABLE;
    sigaltstack(&alternative, nullptr);
}

void Worker::run_job(Job& job) {
    if (clusters_.empty()) clusters_.emplace_back(registers, pulse, true);
    clusters_.front().prepare(job.grid, job.options.hang_seconds, job.options.seed);
    prepared_ = 1;
    waiting_.clear();
    free_.clear();
    seen_.assign(1, 0);
    taken_ = taken_end_ = 0;
    number_ = 0;
    inside_ = true;
    registers.effects = {};
    registers.writers.clear();
    dice_ = Dice(job.options.seed);
    patience_ = {};
    // A crash comes back here from the signal handler; everything used after it lives in members.
    if (sigsetjmp(escape_.back, 1) == 0) {
        try {
            take_blocks(job);
        } catch (const std::exception& e) {  // no memory for another cluster
            job.fail(index_, {gemm::FaultId::other, e.what()});
            clean_up();
        }
    } else {
        Block& block = *registers.block;
        const BlockFailure why = escape_.why(block);
        job_->fail(index_, {why.id, block.abandon() + why.message});
        clean_up();
    }
    {
        const std::scoped_lock lock(job.side.mutex);
        --job.side.busy;
        ++job.side.changes;
    }
    job.side.changed.notify_all();
    while (clusters_.size() > kMostKept) {
        clusters_.back().unwind();
        clusters_.pop_back();
    }
}

void Worker::take_blocks(Job& job) {
    while (!job.stop) {
        const std::uint64_t first = job.next.fetch_add(job.chunk);
        if (first >= job.blocks) break;
        const std::uint64_t last = std::min(first + job.chunk, job.blocks);
        std::uint64_t told = first;  // blocks that are done, and that others have been told of
        for (std::uint64_t i = first; i < last && !job.stop; ++i) {
            index_ = job.in_order(i);
            // (Of the others there may be a million.)
            if (!is_wanted(job, index_)) continue;
            if (job.few) job.begun.insert(i);
            bool ends = true;
            try {
                ends = run_block(index_);
            } catch (const BlockFailure& failure) {
                job.fail(index_, failure);
                clean_up();
            }
            if (!ends || job.side_by_side.load(std::memory_order_relaxed)) {
                job.done.fetch_add(i - told + (ends ? 1 : 0), std::memory_order_relaxed);
                if (!ends) waiting_.push_back(0);
                if (ends) free_.push_back(0);
                taken_ = i + 1;
                taken_end_ = last;
                if (job.few) {  // who waits may wait for any: those that were left out begin, too
                    taken_ = taken_end_;
                    job.next = 0;
                }
                return live_side_by_side(job);
            }
            job.done.fetch_add(i + 1 - told, std::memory_order_relaxed);
            told = i + 1;
        }
        job.done.fetch_add(last - told, std::memory_order_relaxed);
    }
}

/// False where it waits for others.
bool Worker::run_block(std::uint64_t index) {
    escape_.stopped = nullptr;
    Cluster& cluster = clusters_.front();
    cluster.begin(index);
    if (cluster.run() == Cluster::Outcome::waits) return false;
    if (Observer* o = observer()) o->blocks_end();
    return true;
}

/// After a cluster that failed, or beside it.
void Worker::clean_up() {
    for (std::size_t number = 0; number < prepared_; ++number) clusters_[number].forget_fibers();
    Observer* const o = observer();
    if (o == nullptr) return;
    o->blocks_end();  // (of the others it is no use to know what they have done so far)
    for (const std::size_t number : waiting_) {
        if (number == number_) continue;
        o->side_runs(static_cast<unsigned>(number));
        o->blocks_end();
    }
    o->side_runs(0);
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
        const std::size_t wanted = job.ordered
                                       ? 1
                                       : static_cast<std::size_t>(std::min<std::uint64_t>(
                                             {kMostWorkers, std::max(1u, std::thread::hardware_concurrency()),
                                              job.blocks, std::max<std::uint64_t>(1, room)}));
        job.side.busy = static_cast<int>(wanted);
        while (workers_.size() < wanted) workers_.push_back(std::make_unique<Worker>());
        // Small enough to share the work evenly, large enough that taking a chunk costs nothing.
        job.chunk = job.ordered ? 1 : std::clamp<std::uint64_t>(job.blocks / (wanted * 16), 1, 64);

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
    const auto of_cluster = static_cast<std::uint64_t>(grid.cluster_blocks());
    const std::uint64_t fit = static_cast<std::uint64_t>(multiprocessors()) *
                              static_cast<std::uint64_t>(std::max(grid.resident, 1)) / of_cluster;
    const std::uint64_t stacks = kMostResident / (of_cluster * static_cast<std::uint64_t>(grid.threads()));
    job.stacks = stacks < fit;
    job.room = std::max<std::uint64_t>(1, std::min(fit, stacks));
    job.ordered = grid.blocks_wait || Waiters::known(grid.function);
    job.few = job.ordered && options.filter;
    // Whoever waits must not count on an order.
    if (job.ordered && options.seed != 0) set_order(job, options.seed);
    if (Observer* o = observer()) o->launch_begins(grid, blocks);
    workers.run(job);
    if (job.side_by_side) Waiters::add(grid.function);
    if (job.failed_block != UINT64_MAX)
        throw gemm::Fault(job.failure.id, job.failure.message, job.failure.autopsy);
}

}  // namespace cpu_device
