#include "common/measure/measure.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/measure/launch_watch.hpp"
#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#else
#include "common/check/device_check.hpp"
#include "common/measure/baseline.hpp"
#endif

namespace gemm {
namespace {

constexpr int kTimingSteps = 20;  // of the progress: timing takes most of the time

/// Verification before anything is timed, with what a kernel may throw turned into an outcome.
Outcome verified(const Lesson& lesson, Workload& w, const Check& check, const MeasureOptions& options) {
    Outcome outcome;
    const LaunchWatch watch(lesson.name, options.patience, options.hangs);
    try {
        outcome.verdict = verify(lesson, w, check);
    } catch (const Error& error) {
        outcome.fault = fault_of(error);
        outcome.error = error.what();
        // A refused launch is forgotten by asking for it; after a wild access every further call fails.
        (void)cudaGetLastError();
        outcome.device_lost = cudaDeviceSynchronize() != cudaSuccess;
    }
    return outcome;
}

}  // namespace

bool timeable(const Shape& shape) {
    return flop_of(shape.problem()) > 0.0 && shape.alpha == 1.0f && shape.beta == 0.0f;
}

int patience_of(const Shape& shape) {
    if (!kDeviceTimes) return 0;
    const double products = flop_of(shape.problem()) / 2.0, elements = elements_of(shape.problem());
    return static_cast<int>(std::min(1e6, 30 + products / 5e10 + elements / 1e7));
}

int Measurer::steps(std::size_t lessons, const Shape& shape, bool timing) {
    const int verification = 1 + static_cast<int>(lessons);
    return kDeviceTimes && timing && timeable(shape) ? verification + kTimingSteps : verification;
}

#ifndef GEMM_CPU_DEVICE
/// Times the lessons that are right; `done` steps are behind them.
std::vector<TimedLesson> Measurer::time(const std::vector<const Lesson*>& right, Workload& w,
                                        const Check& check, const MeasureOptions& options, int done) {
    SpeedOptions speed;
    speed.rounds = options.rounds;
    speed.energy = options.energy;
    speed.brief = options.brief;
    LaunchWatch watch("", options.patience, options.hangs);
    speed.progress = [&](int samples, int of, const std::string& next) {
        const bool lesson = std::any_of(right.begin(), right.end(), [&](auto* l) { return next == l->name; });
        watch.turn(lesson ? next : "");
        if (options.progress && !next.empty()) {
            options.progress(done + kTimingSteps * samples / of, next + " " + w.shape().text() + " timing");
        }
    };
    return time_lessons(right, w, check, device_, *baseline_, speed);
}
#endif

std::vector<Outcome> Measurer::measure(const std::vector<const Lesson*>& lessons, const Shape& shape,
                                       std::uint64_t seed, const MeasureOptions& options) {
    const bool timed = kDeviceTimes && options.timing && timeable(shape);
    int done = 0;
    const auto progress = [&](const std::string& next) {
        if (options.progress) options.progress(done, next);
    };

    progress(shape.text() + " inputs and reference");
    std::optional<Workload> w;
    std::optional<Verifier> verifier;
    WholeMatrix whole;
    const WholeMatrix* held_against = nullptr;
    Check check;
#ifdef GEMM_CPU_DEVICE
    const auto draw = [&] { w.emplace(shape, seed); };
    draw();
#else
    const bool knows_whole = Baseline::knows_whole(shape.variant);
    const bool on_device = options.brief && knows_whole && DeviceCheck::takes(shape.resolved());
    const bool by_whole = knows_whole && Verifier::wants_whole(shape.resolved());
    if (baseline_ == nullptr && (timed || on_device || by_whole)) baseline_ = std::make_shared<Baseline>();
    std::optional<DeviceCheck> device_check;
    const auto draw = [&] {
        if (!on_device) {
            w.emplace(shape, seed);
            return;
        }
        device_check.reset();  // its memory is needed again
        if (inputs_ == nullptr) inputs_ = std::make_shared<DeviceInputs>();
        w.emplace(shape, seed, *inputs_);
        device_check.emplace(*w, baseline_->whole_on_device(*w));
    };
    draw();
    if (on_device) {
        check = [&](const Workload& left, const Lesson* lesson, Fill) {
            return (*device_check)(left, lesson);
        };
    } else if (by_whole) {
        whole = baseline_->whole(*w);
        held_against = &whole;
    }
#endif
    if (!check) {
        verifier.emplace(*w, held_against);
        check = check_by(*verifier);
    }
    ++done;

    std::vector<Outcome> outcomes;
    std::vector<const Lesson*> right;
    std::vector<std::size_t> places;  // of `right` in outcomes
    for (const Lesson* lesson : lessons) {
        const std::string step = std::string(lesson->name) + " " + shape.text() + " verifying";
        progress(step);
#ifdef GEMM_CPU_DEVICE
        cpu_device::set_progress([&](std::uint64_t blocks, std::uint64_t of) {
            progress(step + ", " + std::to_string(100 * blocks / of) + " % of the blocks");
        });
#endif
        outcomes.push_back(verified(*lesson, *w, check, options));
#ifdef GEMM_CPU_DEVICE
        cpu_device::set_progress({});
#endif
        ++done;
        Outcome& outcome = outcomes.back();
        if (outcome.device_lost) return outcomes;
        if (outcome.passed()) {
            right.push_back(lesson);
            places.push_back(outcomes.size() - 1);
            continue;
        }
        if (timed && outcome.error.empty()) {
            outcome.verdict.failure = "Wrong before timing: " + outcome.verdict.failure;
        }
        // It may have written anywhere: the next one gets the same matrices in memory that it has not
        // touched. So do later problems, by what inputs are drawn from.
        inputs_ = nullptr;
        if (lesson != lessons.back() || (timed && !right.empty())) draw();
    }

#ifndef GEMM_CPU_DEVICE
    if (timed && !right.empty()) {
        std::vector<TimedLesson> results;
        try {
            results = time(right, *w, check, options, done);
        } catch (const NoBaseline& none) {
            for (const std::size_t place : places) outcomes[place].untimed = none.what();
        }
        for (std::size_t i = 0; i < results.size(); ++i) {
            Outcome& outcome = outcomes[places[i]];
            outcome.speed = results[i].speed;
            if (results[i].after.passed) continue;
            outcome.verdict = results[i].after;
            outcome.verdict.failure = "Wrong after timing: " + outcome.verdict.failure;
        }
    }
#endif
    return outcomes;
}

}  // namespace gemm
