// The tracer and consumers that take turns, or share a tile, with results stored by TMA: any shape is right
// without findings, and mistakes are told.
#include <algorithm>
#include <string>
#include <vector>

#include "common/verify.hpp"
#include "runner/programs/traced.hpp"
#include "tests/kernels/ping_pong.hpp"
#include "tests/support.hpp"

namespace {

using gemm::Lesson;
using kernels::PingPongMistake;
using kernels::PingPongPolicy;

struct Told {
    std::string all;  // the error, the findings and the verdict
    bool right = false;
};

Told told(const Lesson& lesson, std::int64_t M, std::int64_t N, std::int64_t K, bool padded, float beta) {
    test::device();
    gemm::Shape shape = test::shape(M, N, K, padded);
    shape.variant = lesson.variant();
    shape.beta = beta;
    gemm::Workload w(shape.resolved(), test::seed());
    const gemm::Verifier verifier(w);
    const gemm::Problem p = w.problem();
    const gemm::Plan plan = lesson.prepare(p);
    const gemm::TracedLaunch launch = gemm::launch_traced(lesson, p, plan.get());
    Told t{launch.error + "\n", launch.error.empty() && launch.report.findings.empty()};
    for (const auto& f : launch.report.findings) {
        t.all += std::string(name_of(f.id)) + ": " + f.text + "\n";
    }
    t.all += std::string(name_of(launch.fault)) + "\n";
    if (!launch.error.empty()) return t;
    const gemm::Verdict verdict = verifier.check(w.download_c(), &lesson);
    t.all += verdict.failure;
    t.right = t.right && verdict.passed && w.breach().empty();
    return t;
}

}  // namespace

TEST_CASE("trace: ping-pong and cooperative consumers, with clusters and without, are right") {
    for (const PingPongPolicy policy :
         {PingPongPolicy::turns, PingPongPolicy::small, PingPongPolicy::together, PingPongPolicy::clusters,
          PingPongPolicy::clusters_together}) {
        const Lesson lesson = kernels::ping_pong(policy);
        const std::int64_t tall = 2 * lesson.tile.BM + 1, wide = 2 * lesson.tile.BN;
        for (const auto& [m, n, k, padded, beta] :
             {std::tuple{tall, wide + 8, std::int64_t{5 * 64 - 8}, false, 0.0f},
              std::tuple{tall, wide + 7, std::int64_t{137}, true, -0.5f}}) {
            const Told t = told(lesson, m, n, k, padded, beta);
            INFO(lesson.name << " at " << m << "×" << n << "×" << k << ": " << t.all);
            CHECK(t.right);
        }
    }
}

TEST_CASE("trace: mistakes of consumers that take turns and store by TMA") {
    for (const auto& [mistake, words] : {std::tuple{PingPongMistake::no_turn, "mbarrier"},
                                         std::tuple{PingPongMistake::no_wait_read, "store"},
                                         std::tuple{PingPongMistake::no_fence, "fence.proxy.async"}}) {
        const Lesson lesson = kernels::ping_pong_mistake(mistake);
        const Told t = told(lesson, 260, 264, 7 * 64, false, 0.0f);
        INFO(lesson.name << ": " << t.all);
        CHECK(!t.right);
        test::require_contains(t.all, words);
    }
}
