#include "common/measure/speed.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "common/check/calls.hpp"
#include "common/check/dtype.hpp"
#include "common/check/operands.hpp"
#include "common/check/variant.hpp"
#include "common/error.hpp"
#include "common/measure/baseline.hpp"
#include "common/measure/stats.hpp"

namespace gemm {
namespace {

constexpr int kMostCopies = 256;

/// Bytes that one launch touches.
std::int64_t bytes_touched(const Problem& p) {
    std::size_t bytes = 0;
    for (const Problem& one : members(p)) {
        for (const Operand& o : operands(one)) {
            const bool moves = o.role != Role::in || o.unread[0] == '\0';
            if (moves) bytes += bytes_of(o.type, static_cast<std::size_t>(o.rows * o.cols));
        }
    }
    return static_cast<std::int64_t>(bytes);
}

/// The copies beside the workload itself: as many as it takes, or as many as half the free memory holds.
std::vector<Workload> make_copies(const Workload& w, const Device& device) {
    const int wanted = copies_for_cold_cache(bytes_touched(w.problem()), device.l2_bytes, kMostCopies) - 1;
    std::size_t free = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    const std::size_t count = std::min(static_cast<std::size_t>(wanted), free / 2 / w.device_bytes());
    std::vector<Workload> copies;
    copies.reserve(count);
    for (std::size_t i = 0; i < count; ++i) copies.push_back(w.duplicate());
    return copies;
}

}  // namespace

std::vector<TimedLesson> time_lessons(const std::vector<const Lesson*>& lessons, Workload& w,
                                      const Check& check, const Device& device, Baseline& baseline,
                                      const SpeedOptions& options) {
    w.reset_c();
    std::vector<Workload> copies = make_copies(w, device);
    std::vector<Problem> problems = {w.problem()};
    for (const Workload& copy : copies) problems.push_back(copy.problem());
    const bool cold =
        static_cast<std::int64_t>(problems.size()) * bytes_touched(problems[0]) > 3 * device.l2_bytes &&
        device.l2_bytes > 0;

    baseline.choose(problems, w.seed(), options.brief, [&](const std::string& next) {
        if (options.progress) options.progress(0, 1, next);
    });
    const std::string against = baseline.name(problems[0]);
    std::vector<Contender> contenders = {
        {against,
         [&baseline](const Problem& p, std::size_t, cudaStream_t stream) { baseline.launch(p, stream); }}};
    for (const Lesson* lesson : lessons) {
        // What prepare builds belongs to one problem, so there is one for each copy.
        auto plans = std::make_shared<std::vector<Plan>>(problems.size());
        std::transform(problems.begin(), problems.end(), plans->begin(),
                       [&](const Problem& p) { return prepared(*lesson, p); });
        contenders.push_back(
            {lesson->name, [lesson, plans](const Problem& p, std::size_t copy, cudaStream_t stream) {
                 lesson->launch(p, (*plans)[copy].get(), stream);
             }});
    }

    std::vector<TimedLesson> results(lessons.size());
    TimingOptions timing;
    timing.rounds = options.rounds;
    timing.energy = options.energy;
    if (options.brief) {
        timing.sample_ms = kBriefSampleMs;
        timing.budget = kBriefBudget;
        timing.warm_ms =
            kBriefWarmMs;  // choosing cuBLAS's kernel has done most of that, where it had a choice
    }
    timing.seed = w.seed();
    timing.progress = options.progress;
    // Poison again, so that what is found afterwards was written by launches that were timed.
    const auto of_copy = [&](std::size_t copy) -> Workload& { return copy == 0 ? w : copies[copy - 1]; };
    timing.before_last = [&](std::size_t, std::size_t copy) { of_copy(copy).reset_c(); };
    timing.after_last = [&](std::size_t contender, std::size_t copy) {
        const Lesson* const lesson = contender == 0 ? nullptr : lessons[contender - 1];
        const Workload& left = of_copy(copy);
        Verdict verdict = check(left, lesson, Fill::poison);
        // Not cuBLAS's to answer for: a broken guard band shows at the lesson that is checked next.
        if (lesson != nullptr) fail_outside(verdict, left.breach(), lesson->name, left);
        if (lesson != nullptr) {
            results[contender - 1].after = std::move(verdict);
        } else if (!verdict.passed) {
            throw Error(against + " gave a wrong result at " + w.shape().text() +
                        ", so there is nothing to hold a lesson against" +
                        (accumulator(w.shape().variant) == Accumulator::fp32
                             ? " (is NVIDIA_TF32_OVERRIDE set?)"
                             : "") +
                        ": " + verdict.failure);
        }
    };
    const std::vector<Timing> timings = time_interleaved(contenders, problems, timing);

    const std::string kernel = baseline.kernel_name(problems[0]);
    const double flops = flop_of(problems[0]);
    for (std::size_t i = 0; i < lessons.size(); ++i) {
        if (!results[i].after.passed) continue;  // no figure after an error
        const Timing& t = timings[i + 1];
        results[i].speed = Speed{t, flops / (t.ms_median * 1e9), against, kernel, timings[0], cold};
    }
    return results;
}

}  // namespace gemm
