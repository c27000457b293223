#include "common/measure/timer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numeric>
#include <random>
#include <thread>

#include "common/error.hpp"
#include "common/measure/nvml.hpp"
#include "common/measure/stats.hpp"

namespace gemm {
namespace {

using Microseconds = std::chrono::duration<double, std::micro>;

constexpr Microseconds kBetweenReadings(5000);  // of clock and power, while a sample runs
constexpr int kEnergyRounds = 20;

/// A stream, and two events on it. The stream and the default one wait for each other: a kernel of one's own,
/// which knows no stream, is launched on the default one, and has to lie between the events, too.
class Stopwatch {
  public:
    Stopwatch() {
        try {
            CUDA_CHECK(cudaStreamCreate(&stream_));
            CUDA_CHECK(cudaEventCreate(&start_));
            CUDA_CHECK(cudaEventCreate(&stop_));
        } catch (...) {
            destroy();  // the destructor of an object that was not completed does not run
            throw;
        }
    }
    ~Stopwatch() { destroy(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

    cudaStream_t stream() const { return stream_; }
    void start() { CUDA_CHECK(cudaEventRecord(start_, stream_)); }
    void stop() { CUDA_CHECK(cudaEventRecord(stop_, stream_)); }
    /// Whether stop() has come to pass.
    bool stopped() {
        const cudaError_t status = cudaEventQuery(stop_);
        if (status == cudaErrorNotReady)
            (void)cudaGetLastError();  // no error, and not to be found as one later
        return status != cudaErrorNotReady;
    }
    /// Waits for stop() and returns the milliseconds since start().
    double wait() {
        CUDA_CHECK(cudaEventSynchronize(stop_));
        float ms = 0.0f;
        CUDA_CHECK(cudaEventElapsedTime(&ms, start_, stop_));
        return ms;
    }

  private:
    void destroy() {
        if (stop_ != nullptr) cudaEventDestroy(stop_);
        if (start_ != nullptr) cudaEventDestroy(start_);
        if (stream_ != nullptr) cudaStreamDestroy(stream_);
    }

    cudaStream_t stream_ = nullptr;
    cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

/// Runs samples. One rotation over the copies for all contenders: the copy that comes next is the one that
/// nobody has touched for longest.
class Sampler {
  public:
    /// sample_ms: how long samples are to be. Shorter ones are looked at more often, so that waiting for one
    /// does not take several times as long as it does.
    Sampler(const std::vector<Problem>& problems, double sample_ms)
        : problems_(problems), between_(std::min(kBetweenReadings, Microseconds(500.0 * sample_ms))) {}

    /// The copy that the last of `launches` launches from here will write.
    std::size_t last_copy(int launches) const {
        return (next_ + static_cast<std::size_t>(launches) - 1) % problems_.size();
    }

    void enqueue(const Contender& contender, int launches) {
        for (int i = 0; i < launches; ++i) {
            contender.launch(problems_[next_], next_, watch_.stream());
            next_ = (next_ + 1) % problems_.size();
        }
        CUDA_CHECK(cudaGetLastError());  // a launch that was refused
    }

    void enqueue_timed(const Contender& contender, int launches) {
        watch_.start();
        enqueue(contender, launches);
        watch_.stop();
    }

    /// Milliseconds of `launches` launches together, after `lead_in` that are not timed. while_busy runs on
    /// the host once everything is enqueued, and again every few milliseconds until the sample is over.
    template <typename WhileBusy>
    double sample(const Contender& contender, int lead_in, int launches, WhileBusy while_busy) {
        enqueue(contender, lead_in);
        enqueue_timed(contender, launches);
        for (while_busy(); !watch_.stopped(); while_busy()) std::this_thread::sleep_for(between_);
        return watch_.wait();
    }
    /// The same of a loop that is longer than the GPU's queue: while_busy also runs while it is enqueued,
    /// each time after `chunk` launches.
    template <typename WhileBusy>
    double loop(const Contender& contender, int launches, int chunk, WhileBusy while_busy) {
        watch_.start();
        for (int left = launches; left > 0; left -= chunk) {
            enqueue(contender, std::min(left, chunk));
            while_busy();
        }
        watch_.stop();
        for (; !watch_.stopped(); while_busy()) std::this_thread::sleep_for(kBetweenReadings);
        return watch_.wait();
    }
    double sample(const Contender& contender, int launches) {
        enqueue_timed(contender, launches);
        return watch_.wait();
    }

  private:
    const std::vector<Problem>& problems_;
    Microseconds between_;  // readings
    Stopwatch watch_;
    std::size_t next_ = 0;
};

/// Milliseconds per launch, roughly: enough to choose the number of launches per sample. Also the warm-up,
/// which loads the kernel's code and raises the clocks.
double estimate(Sampler& sampler, const Contender& contender) {
    constexpr double kEnoughMs = 5.0, kSlowMs = 200.0;
    constexpr int kMostLaunches = 20000;
    const double first = sampler.sample(contender, 1);
    if (first > kSlowMs)
        return first;  // loading the code is lost in it, and another launch would cost too much
    for (int launches = 1;;) {
        const double ms = sampler.sample(contender, launches);
        if (ms >= kEnoughMs || launches >= kMostLaunches) return ms / launches;
        const double wanted = ms > 0.0 ? std::ceil(1.2 * kEnoughMs / ms * launches) : kMostLaunches;
        launches = static_cast<int>(std::clamp<double>(wanted, 2.0 * launches, kMostLaunches));
    }
}

/// One loop of launches, and what the GPU said meanwhile. Milliseconds of all of them.
double sample_loop(Sampler& sampler, const Contender& contender, int launches, double launch_ms,
                   const Nvml& nvml, Draw& draw) {
    using Clock = std::chrono::steady_clock;
    using Milliseconds = std::chrono::duration<double, std::milli>;
    const double apart = Milliseconds(kBetweenReadings).count();
    const Clock::time_point begin = Clock::now();
    std::vector<Reading> readings;
    // The first launches are enqueued faster than they run.
    const auto read = [&] {
        const double ms = Milliseconds(Clock::now() - begin).count();
        if (!readings.empty() && ms < readings.back().ms + 0.4 * apart) return;
        readings.push_back({ms, nvml.energy_j(), nvml.sm_clock_mhz()});
    };
    const int chunk = std::clamp(static_cast<int>(apart / std::max(launch_ms, 1e-3)), 1, 512);
    const double ms = sampler.loop(contender, launches, chunk, read);
    draw = draw_of(readings);
    return ms;
}

/// Untimed launches in front of a sample. Without them the start event fires on an idle GPU and the way of
/// the first launch from host to device is timed too; a lead-in of a few microseconds hides it.
int lead_in(double ms_per_launch) {
    if (ms_per_launch < 0.05) return 8;
    return ms_per_launch < 20.0 ? 1 : 0;  // beyond that, the 10 µs are lost in the sample
}

}  // namespace

std::vector<Timing> time_interleaved(const std::vector<Contender>& contenders,
                                     const std::vector<Problem>& problems, const TimingOptions& options) {
    if (contenders.empty() || problems.empty()) throw Error("there is nothing to time");
    const std::size_t count = contenders.size();
    const Nvml nvml;
    Sampler sampler(problems, options.sample_ms);
    CUDA_CHECK(cudaDeviceSynchronize());  // the matrices are there

    std::vector<double> launch_ms(count), sample_ms(count);
    std::vector<int> launches(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (options.progress) options.progress(0, 1, contenders[i].name);
        launch_ms[i] = options.launch_ms > 0.0 ? options.launch_ms : estimate(sampler, contenders[i]);
        launches[i] = options.energy ? launches_per_loop(launch_ms[i])
                                     : launches_per_sample(launch_ms[i], options.sample_ms);
        sample_ms[i] = launch_ms[i] * launches[i];
    }
    const Schedule schedule = make_schedule(
        sample_ms, options.rounds == 0 && options.energy ? kEnergyRounds : options.rounds, options.budget);

    // The first estimates came from a GPU that was waking up.
    for (double warm = 0.0; warm < options.warm_ms;) {
        warm += std::max(1.0, sampler.sample(contenders[0], launches[0]));
    }

    const std::size_t rounds = static_cast<std::size_t>(schedule.rounds);
    std::vector<std::vector<double>> ms(count, std::vector<double>(rounds, 0.0));  // 0: did not take part
    std::vector<std::vector<double>> clock(count), power(count);
    std::vector<std::vector<Draw>> draws(count, std::vector<Draw>(options.energy ? rounds : 0));
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(options.seed);
    const int total = schedule.total();
    int done = 0;
    for (int round = 0; round < schedule.rounds; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        const bool last = round + 1 == schedule.rounds;  // everybody takes part in it
        for (const std::size_t i : order) {
            if (!schedule.takes_part(static_cast<int>(i), round)) continue;
            if (options.progress) options.progress(done, total, contenders[i].name);
            const int lead = options.energy ? 0 : lead_in(launch_ms[i]);  // lost in a second
            const std::size_t copy = sampler.last_copy(lead + launches[i]);
            if (last && options.before_last) {
                options.before_last(i, copy);
                CUDA_CHECK(cudaDeviceSynchronize());
            }
            double mhz = 0.0, watts = 0.0;
            double sample = 0.0;
            if (options.energy) {
                Draw& draw = draws[i][static_cast<std::size_t>(round)];
                sample = sample_loop(sampler, contenders[i], launches[i], launch_ms[i], nvml, draw);
                mhz = draw.mhz;
                watts = draw.watts;
            } else {  // the last readings of the sample: the first still see its neighbor
                sample = sampler.sample(contenders[i], lead, launches[i], [&] {
                    mhz = nvml.sm_clock_mhz();
                    watts = nvml.power_w();
                });
            }
            if (mhz > 0.0) clock[i].push_back(mhz);
            if (watts > 0.0) power[i].push_back(watts);
            ms[i][static_cast<std::size_t>(round)] = sample / launches[i];
            if (last && options.after_last) options.after_last(i, copy);
            ++done;
        }
    }
    if (options.progress) options.progress(total, total, "");

    std::vector<Timing> timings(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<double> taken;
        std::copy_if(ms[i].begin(), ms[i].end(), std::back_inserter(taken), [](double t) { return t > 0.0; });
        Timing& t = timings[i];
        t.name = contenders[i].name;
        t.rounds = static_cast<int>(taken.size());
        t.launches_per_sample = launches[i];
        t.ms_median = median(taken);
        t.ms_p10 = quantile(taken, 0.1);
        t.ms_p90 = quantile(taken, 0.9);
        t.ratio = median_ratio(ms[0], ms[i]);
        t.sm_clock_mhz = median(clock[i]);
        t.power_w = median(power[i]);
        if (options.energy) t.energy = energy_of(ms[i], draws[i]);
    }
    return timings;
}

}  // namespace gemm
