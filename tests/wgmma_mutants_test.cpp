// The mutants of 11, 12 and 13 that derive.py makes, traced: a mistake with TMA, mbarriers, wgmma or their
// descriptors each, and what is told of it.
#include <algorithm>
#include <string>
#include <vector>

#include "common/check/verify.hpp"
#include "runner/programs/traced.hpp"
#include "tests/mutants/mutants.hpp"
#include "tests/support.hpp"

namespace {

using gemm::Lesson;

/// What a traced launch of a lesson came to.
struct Told {
    gemm::TracedLaunch launch;
    gemm::Verdict verdict;
};

/// Throws what prepare() throws.
Told told(const Lesson& lesson, std::int64_t K, std::int64_t M = 72, std::int64_t N = 136,
          bool padded = false, float beta = 0.0f) {
    test::device();
    gemm::Shape shape = test::shape(M, N, K, padded);
    shape.variant = lesson.variant();
    shape.beta = beta;
    gemm::Workload w(shape.resolved(), test::seed());
    const gemm::Verifier verifier(w);
    const gemm::Problem p = w.problem();
    const gemm::Plan plan = lesson.prepare(p);
    Told t{gemm::launch_traced(lesson, p, plan.get()), {}};
    if (t.launch.error.empty()) t.verdict = verifier.check(w.download_c(), &lesson);
    return t;
}

/// A mistake: the id of the finding or of the fault by which it is known, or "" where only the result tells,
/// and what the sentence about it says.
struct Mistake {
    const Lesson& mutant;
    const char* id;
    const char* words;
};

std::string all_of(const Told& t) {
    std::string all = t.launch.error + "\n";
    for (const auto& f : t.launch.report.findings) all += std::string(name_of(f.id)) + ": " + f.text + "\n";
    return all + t.verdict.failure;
}

void require_told(const std::string& of, const std::vector<Mistake>& mistakes, std::int64_t K,
                  std::int64_t M = 72, std::int64_t N = 136) {
    const Told right = told(test::lesson(of), K, M, N);
    INFO(of << ": " << all_of(right));
    REQUIRE(right.launch.error.empty());
    REQUIRE(right.launch.report.findings.empty());
    REQUIRE(right.verdict.passed);
    for (const Mistake& m : test::drawn(mistakes, 4)) {
        const Told t = told(m.mutant, K, M, N);
        INFO(m.mutant.name << ": " << all_of(t));
        const auto& found = t.launch.report.findings;
        const auto finding = std::find_if(found.begin(), found.end(),
                                          [&](const auto& f) { return name_of(f.id) == std::string(m.id); });
        if (*m.id == '\0') {
            REQUIRE(t.launch.error.empty());
            REQUIRE(found.empty());
            REQUIRE(t.verdict.wrong > M * N / 2);
        } else if (finding != found.end()) {
            test::require_contains(finding->text, m.words);
        } else {
            REQUIRE(name_of(t.launch.fault) == std::string(m.id));
            test::require_contains(t.launch.error, m.words);
        }
    }
}

}  // namespace

TEST_CASE("trace: mistakes with one stage in mutants of 11a") {
    require_told(
        "11a_one_stage",
        {{mutant_parity_11a::lesson, "load_in_flight", "it has not waited for the mbarrier's phase"},
         {mutant_few_bytes_11a::lesson, "phase_too_early", "it was told to expect 16384 bytes in this phase"},
         {mutant_many_bytes_11a::lesson, "mbarrier_hang", "full was told to expect 16 bytes more"},
         {mutant_not_begun_11a::lesson, "mbarrier_not_begun", "uses the mbarrier full at "},
         {mutant_init_fence_11a::lesson, "mbarrier_unfenced", "with no fence.mbarrier_init in between"},
         {mutant_fence_11a::lesson, "wgmma_misused", "has no wgmma.fence before it"},
         {mutant_wait_11a::lesson, "wgmma_in_flight", "it has not waited for it (wgmma.wait_group)"},
         {mutant_proxy_fence_11a::lesson, "wgmma_unfenced", "with no fence.proxy.async in between"},
         {mutant_swizzle_11a::lesson, "", ""},
         {mutant_strides_11a::lesson, "", ""},
         {mutant_past_atom_11a::lesson, "", ""},
         {mutant_high_box_11a::lesson, "phase_too_early", "is complete while 128 bytes are still to come"}},
        200);
}

TEST_CASE("trace: a box one column too wide in a mutant of 11a") {
    std::string refused;
    try {
        (void)told(mutant_wide_box_11a::lesson, 64);
    } catch (const gemm::Error& error) {
        refused = error.what();
    }
    test::require_contains(refused, "refuses the tensor map");
}

TEST_CASE("trace: mistakes with a ring of stages in mutants of 11b") {
    require_told(
        "11b_ring",
        {{mutant_parity_11b::lesson, "load_in_flight", "it has not waited for the mbarrier's phase"},
         {mutant_few_bytes_11b::lesson, "phase_too_early", "it was told to expect 16384 bytes in this phase"},
         {mutant_many_bytes_11b::lesson, "mbarrier_hang", "full[0] was told to expect 16 bytes more"},
         {mutant_not_begun_11b::lesson, "mbarrier_not_begun", "uses the mbarrier full[0] at "},
         {mutant_init_fence_11b::lesson, "mbarrier_unfenced", "with no fence.mbarrier_init in between"},
         {mutant_released_early_11b::lesson, "wgmma_in_flight",
          "it has not waited for it (wgmma.wait_group)"},
         {mutant_no_barrier_11b::lesson, "wgmma_in_flight", "it has not waited for it (wgmma.wait_group)"},
         {mutant_fence_11b::lesson, "wgmma_misused", "has no wgmma.fence before it"},
         {mutant_wait_too_short_11b::lesson, "wgmma_in_flight",
          "it has not waited for it (wgmma.wait_group)"},
         {mutant_wait_11b::lesson, "wgmma_misused", "nobody has waited for the wgmma.mma_async"},
         {mutant_swizzle_11b::lesson, "", ""},
         {mutant_strides_11b::lesson, "", ""},
         {mutant_past_atom_11b::lesson, "", ""},
         {mutant_high_box_11b::lesson, "phase_too_early", "is complete while 128 bytes are still to come"}},
        7 * 64 - 8);
}

TEST_CASE("trace: mistakes between a producer and its consumers in mutants of 12") {
    require_told(
        "12_warp_specialized",
        {{mutant_released_early_12::lesson, "wgmma_in_flight", "it has not waited for it (wgmma.wait_group)"},
         {mutant_released_newest_12::lesson, "wgmma_in_flight",
          "it has not waited for it (wgmma.wait_group)"},
         {mutant_no_empty_wait_12::lesson, "mbarrier_misused",
          "has room for 0 more, at full[0]: its phase 0 still waits for bytes"},
         {mutant_few_arrivals_12::lesson, "mbarrier_hang",
          "is complete, and thread 256, which waits for the one after it, has not seen it"},
         {mutant_many_arrivals_12::lesson, "mbarrier_hang", "empty[0] counts 3 arrivals a phase, and 2 came"},
         {mutant_one_releases_12::lesson, "wgmma_in_flight", "it has not waited for it (wgmma.wait_group)"},
         {mutant_parity_12::lesson, "mbarrier_hang",
          "one that shall not wait the first time is for parity 1"},
         {mutant_late_parity_12::lesson, "mbarrier_misused",
          "has room for 0 more, at full[0]: its phase 0 still waits for bytes"},
         {mutant_full_parity_12::lesson, "load_in_flight", "it has not waited for the mbarrier's phase"},
         {mutant_all_produce_12::lesson, "mbarrier_misused",
          "has room for 0 more, at full[0]: its phase 0 still waits for bytes"},
         {mutant_registers_12::lesson, "registers_missing", "128·240 + 128·240 + 128·40 = 66560"}},
        11 * 64 - 8);
}

TEST_CASE("trace: mistakes from one tile of C to the next in mutants of 13a") {
    require_told("13a_persistent",
                 {{mutant_last_kept_13a::lesson, "mbarrier_hang", "empty["},
                  {mutant_last_early_13a::lesson, "wgmma_in_flight",
                   "may still be reading it when thread (256,0,0) writes it"},
                  {mutant_begun_again_13a::lesson, "mbarrier_hang", "threads 0–255 wait for parity 0"},
                  {mutant_asked_again_13a::lesson, "mbarrier_hang", ""}},
                 5 * 64, 300, 520);
}

TEST_CASE("trace: mistakes with turns, and with results that leave by TMA, in mutants of 13c") {
    require_told(
        "13c_ping_pong",
        {{mutant_no_turn_13c::lesson, "load_in_flight", "it has not waited for the mbarrier's phase"},
         {mutant_turn_parity_13c::lesson, "mbarrier_hang", "barriers["},
         {mutant_passed_early_13c::lesson, "load_in_flight", "it has not waited for the mbarrier's phase"},
         {mutant_ring_parity_13c::lesson, "load_in_flight", "it has not waited for the mbarrier's phase"},
         {mutant_no_wait_read_13c::lesson, "store_in_flight", "may still be reading it when"},
         {mutant_short_wait_read_13c::lesson, "store_in_flight", "may still be reading it when"},
         {mutant_no_fence_13c::lesson, "no_proxy_fence", "with no fence.proxy.async in between"},
         {mutant_not_read_13c::lesson, "copy_left_behind",
          "nobody has waited for the store that it started"}},
        11 * 64 - 8, 260, 264);
}

TEST_CASE("trace: mistakes between the blocks of a cluster in mutants of 13c") {
    require_told("13c_ping_pong",
                 {{mutant_few_arrivals_13c::lesson, "loads_overlap", "starts another one to the same place"},
                  {mutant_left_early_13c::lesson, "block_left", "that block may have returned by then"}},
                 11 * 64 - 8, 260, 520);
}

TEST_CASE("lesson 13a computes each tile of C once in other orders, too") {
    for (const Lesson* order : {&mutant_row_by_row_13a::lesson, &mutant_hilbert_13a::lesson}) {
        const Told t = told(*order, 8, 4 * 128 + 8, 9 * 256 - 8);
        INFO(order->name << ": " << all_of(t));
        REQUIRE(t.launch.error.empty());
        REQUIRE(t.launch.report.findings.empty());
        REQUIRE(t.verdict.passed);
    }
}

TEST_CASE("lesson 13c is right with each of its policies, whichever the launch would choose") {
    for (const Lesson* policy : {&mutant_together_13c::lesson, &mutant_turns_13c::lesson,
                                 &mutant_wide_turns_13c::lesson, &mutant_small_turns_13c::lesson}) {
        for (const bool by_tma : {true, false}) {
            const Told t =
                by_tma ? told(*policy, 5 * 64 - 8, 257, 520) : told(*policy, 137, 257, 519, true, -0.5f);
            INFO(policy->name << (by_tma ? ", by TMA: " : ", pair by pair: ") << all_of(t));
            REQUIRE(t.launch.error.empty());
            REQUIRE(t.launch.report.findings.empty());
            REQUIRE(t.verdict.passed);
        }
    }
}
