// The cases that ./gemm check puts to a kernel: right kernels pass all, each mutant fails at the
// rung of its mistake, with the message that names it.
#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "common/check/dtype.hpp"
#include "common/check/variant.hpp"
#include "common/program/lessons.hpp"
#include "runner/programs/cases.hpp"
#include "tests/check/mutants.hpp"
#include "tests/check/short_types.hpp"
#include "tests/cpu/trace/kernels.hpp"
#include "tests/kernels/kernels.hpp"
#include "tests/support.hpp"

namespace {

constexpr auto kAllOff = [] {
    decltype(gemm::Shape::offsets) all{};
    all.fill(1);
    return all;
}();

using gemm::CaseResult;
using gemm::CheckCase;
using gemm::Lesson;
using gemm::Tile;

std::vector<CaseResult> run_cases(const Lesson& lesson) {
    test::device();
    return gemm::run_cases(lesson, test::seed());
}

std::string text(const CaseResult& r) {
    return r.problem.id + " at " + r.problem.shape.text() + ": " + r.error +
           (r.verdict ? r.verdict->failure : "") + "\n" + r.findings.dump(1);
}

/// The case at which the kernel falls off; it must be one of `id`.
CaseResult falls_at(const Lesson& lesson, const std::string& id) {
    const std::vector<CaseResult> results = run_cases(lesson);
    for (std::size_t i = 0; i + 1 < results.size(); ++i) REQUIRE(results[i].passed());
    CaseResult last = results.back();
    INFO(lesson.name << " should fall at " << id << "\n" << text(last));
    REQUIRE_FALSE(last.passed());
    REQUIRE(last.problem.id == id);
    return last;
}

constexpr Tile kTriedTiles[] = {{32, 32, 32}, {32, 32, 1}, {128, 64, 8},       {1, 1, 1},
                                {1, 2, 3},    {2, 1, 2},   {1024, 1024, 1024}, {5, 7, 9}};

/// Of a lesson with that tile and that type alone.
std::vector<CheckCase> cases_of(const Tile& tile, std::uint64_t seed, gemm::DType type = gemm::DType::fp32) {
    const gemm::Offer offer{.variant = gemm::of_type(type), .configuration = {.tile = tile}};
    test::device();
    Lesson lesson;
    lesson.variants = {&offer, 1};
    return gemm::check_cases(lesson, seed);
}

/// Lesson 03's kernel with something else about it.
Lesson altered(const char* name) {
    Lesson lesson = test::lesson("03_smem");
    lesson.name = name;
    return lesson;
}

void launch_03(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    test::lesson("03_smem").launch(p, plan, stream);
}

}  // namespace

TEST_CASE("cases: a kernel of BF16 or FP16 passes, and its mutants do not") {
    for (const gemm::DType dtype : {gemm::DType::bf16, gemm::DType::fp16}) {
        const std::vector<CaseResult> results =
            run_cases(gemm::with_variant(short_types::right, gemm::of_type(dtype)));
        INFO(text(results.back()));
        for (const CaseResult& r : results) {
            REQUIRE(r.passed());
            REQUIRE((r.problem.shape.variant == gemm::of_type(dtype)) == (r.problem.id != "types"));
        }
    }
    falls_at(short_types::taken_for_bf16, "one_tile");
    REQUIRE(falls_at(short_types::cut_off, "one_tile").verdict->wrong > 0);
    REQUIRE_FALSE(run_cases(short_types::bf16_sum).back().passed());
}

TEST_CASE("cases: types of two bytes meet rows at every alignment that matters to them") {
    for (const Tile tile : {Tile{32, 32, 32}, Tile{128, 128, 32}, Tile{16, 16, 1}}) {
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            const std::vector<CheckCase> cases = cases_of(tile, seed, gemm::DType::bf16);
            std::set<std::int64_t> pitches;  // modulo 8: 16 bytes
            for (const CheckCase& c : cases) {
                const gemm::Shape& s = c.shape;
                INFO(c.what << " at " << s.text());
                REQUIRE(s.variant == gemm::of_type(gemm::DType::bf16));
                if (c.id == "pitches") REQUIRE(((s.lda - s.K) % 8 == 0 && (s.ldb - s.N) % 8 == 0));
                if (c.id != "fours") continue;
                REQUIRE((s.M % 8 == 0 && s.N % 8 == 0 && s.K % 8 == 0));
                if (tile.BM > 8) REQUIRE((s.M % tile.BM != 0 && s.N % tile.BN != 0));
                pitches.insert({s.lda % 8, s.ldb % 8, s.ldc % 8});
            }
            REQUIRE(pitches == std::set<std::int64_t>{0, 1, 3, 4, 5});
            REQUIRE(cases.size() == cases_of(tile, seed).size() + 1);
        }
    }
}

TEST_CASE("cases: a lesson passes in a second or two") {
    // Three, also where whole families run: test_exercises.py has every solution pass, which is the same
    // kernel.
    std::vector<const Lesson*> lessons = test::drawn_lessons(3);
    const auto first = static_cast<std::ptrdiff_t>(test::seed() % lessons.size());
    if (lessons.size() > 3) std::rotate(lessons.begin(), lessons.begin() + first, lessons.end());
    lessons.resize(std::min<std::size_t>(lessons.size(), 3));
    for (const Lesson* lesson : lessons) {
        const std::clock_t start = std::clock();  // the processor's time, however busy it is
        const std::vector<CaseResult> results = run_cases(*lesson);
        const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        INFO(lesson->name << "\n" << text(results.back()) << "\n" << seconds << " s");
        for (const CaseResult& r : results) REQUIRE(r.passed());
        REQUIRE(results.size() == gemm::check_cases(*lesson, test::seed()).size());
#ifndef __SANITIZE_ADDRESS__
        // 13e, with eight heights of C tile, takes 7; beside other work 15a took 16.
        REQUIRE(seconds < 30);
#endif
    }
}

TEST_CASE("cases: each case has its difficulty and none of those to come") {
    for (const Tile tile : kTriedTiles) {
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
            INFO(tile.BM << "×" << tile.BN << "×" << tile.BK << ", seed " << seed);
            const std::vector<CheckCase> cases = cases_of(tile, seed);
            std::vector<std::string> ids;
            for (const CheckCase& c : cases) {
                const gemm::Shape& s = c.shape;
                INFO(c.id << " at " << s.text());
                if (ids.empty() || ids.back() != c.id) ids.push_back(c.id);
                REQUIRE_FALSE(c.what.empty());
                REQUIRE((c.earlier == gemm::Earlier::other_numbers) == (c.id == "again"));
                REQUIRE((c.earlier != gemm::Earlier::nothing) <= (c.id == "again" || c.id == "elsewhere"));
                REQUIRE(c.blocks.empty() == (c.id != "many_blocks"));
                REQUIRE((s.stored == gemm::Stored::whole) == (c.id != "far" && c.id != "many_blocks"));
                if (c.id == "alignment") {  // one thing, and nothing else
                    const auto off = [](std::int64_t n) { return n % 4 != 0; };
                    const std::array<std::int64_t, 8> things{s.N,   s.K,          s.lda,        s.ldb,
                                                             s.ldc, s.offsets[0], s.offsets[1], s.offsets[2]};
                    REQUIRE(std::count_if(things.begin(), things.end(), off) == 1);
                }
                REQUIRE(c.specials == (c.what == "NaN, infinity and 0 in A and B"));
                REQUIRE(c.untraced == (c.id == "order"));
                REQUIRE((s.offsets == decltype(s.offsets){} || c.id == "alignment" || c.id == "elsewhere" ||
                         c.id == "products"));
                if (c.id == "numbers" || c.id == "order" || c.id == "alignment" || c.id == "products" ||
                    c.id == "far" || c.id == "many_blocks" || c.id == "long_k")
                    continue;
                // Tracing it takes milliseconds, whatever the tile.
                REQUIRE(s.M <= 512);
                REQUIRE(s.N <= 512);
                REQUIRE(s.K <= 545);
                REQUIRE((s.K > 512) == (c.what == "K beyond 512"));
                const bool with_alpha = c.id == "alpha" || c.id == "alpha_alone" || c.id == "alpha_zero";
                const bool with_beta = c.id == "beta" || c.id == "alpha" || c.id == "alpha_zero" ||
                                       c.id == "k_zero" || c.id == "again" ||
                                       (c.id == "elsewhere" && c.earlier != gemm::Earlier::tight);
                REQUIRE((s.alpha != 1.0f) == with_alpha);
                REQUIRE((s.beta != 0.0f) == with_beta);
                REQUIRE(c.nan_inputs == (c.id == "alpha_zero"));
                REQUIRE((s.alpha == 0.0f) == (c.id == "alpha_zero"));
                REQUIRE(s.alpha != s.beta);
                REQUIRE(s.beta != 1.0f);
                const bool fours = c.id == "fours";
                if (fours) REQUIRE((s.M % 4 == 0 && s.N % 4 == 0 && s.K % 4 == 0));
                if (fours && tile.BM > 4) REQUIRE(s.M % tile.BM != 0);
                const bool unaligned = c.what == "rows that do not begin at multiples of 16 bytes";
                if (unaligned) REQUIRE((s.lda % 4 != 0 && s.ldb % 4 != 0 && s.ldc % 4 != 0));
                const bool padded = c.id == "pitches" || c.id == "edges" || c.id == "k_tail" || unaligned ||
                                    c.earlier == gemm::Earlier::tight;
                REQUIRE((s.lda > std::max<std::int64_t>(s.K, 1)) == padded);
                REQUIRE((s.ldb > std::max<std::int64_t>(s.N, 1)) == padded);
                REQUIRE((s.ldc > std::max<std::int64_t>(s.N, 1)) == padded);
                if (padded) REQUIRE(s.ldb != s.ldc);
                if (c.id == "one_tile") REQUIRE((s.M == s.N && s.N == s.K));
                const bool aligned =
                    c.id == "one_tile" || c.id == "tiles" || c.id == "pitches" || c.id == "k_tail";
                if (c.id == "pitches") REQUIRE((s.lda - s.K) % 4 == 0);
                // A guard that is missing must reach farther than one that is off by one.
                if (c.id == "edges" && tile.BM > 2) REQUIRE((s.M + 1) % tile.BM != 0);
                if (c.id == "edges" && tile.BN > 2) REQUIRE((s.N + 1) % tile.BN != 0);
                if (c.id == "k_tail" && tile.BK > 2) REQUIRE((s.K + 1) % tile.BK != 0);
                if (aligned && tile.BM == 32) REQUIRE((s.M % tile.BM == 0 && s.N % tile.BN == 0));
                if (!aligned && !fours && c.id != "small" && c.id != "empty" && c.id != "again" &&
                    c.id != "elsewhere") {
                    REQUIRE((s.M % 2 != 0 && s.N % 2 != 0));
                    if (tile.BM > 1) REQUIRE(s.M % tile.BM != 0);
                    if (tile.BN > 1) REQUIRE(s.N % tile.BN != 0);
                }
                if ((c.id == "tiles" || c.id == "edges") && tile.BK < 1024) REQUIRE(s.K % tile.BK == 0);
                if (c.id == "k_tail" || c.id == "odd") {
                    REQUIRE(s.K % 2 != 0);
                    if (tile.BK > 1) REQUIRE(s.K % tile.BK != 0);
                }
            }
            std::vector<std::string> expected{"one_tile",   "tiles",      "pitches", "edges",       "k_tail",
                                              "fours",      "odd",        "beta",    "alpha_alone", "alpha",
                                              "alpha_zero", "k_zero",     "small",   "empty",       "again",
                                              "elsewhere",  "products",   "numbers", "alignment",   "order",
                                              "far",        "many_blocks"};
            if (tile.BK == 1) expected.emplace_back("long_k");
            REQUIRE(ids == expected);
            const std::vector<CheckCase> same = cases_of(tile, seed);
            for (std::size_t i = 0; i < cases.size(); ++i) {
                REQUIRE(cases[i].shape.text() == same[i].shape.text());
            }
        }
    }
    std::set<std::string> shapes;  // of the same case under different seeds
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        shapes.insert(cases_of({32, 32, 32}, seed)[7].shape.text());
    }
    REQUIRE(shapes.size() > 20);
}

TEST_CASE("cases: every two of alpha, beta, K and alignment meet, and with every store all scalars") {
    for (const gemm::DType type : {gemm::DType::fp32, gemm::DType::bf16}) {
        const std::int64_t vector = type == gemm::DType::fp32 ? 4 : 8;
        for (const Tile tile : kTriedTiles) {
            for (std::uint64_t seed = 0; seed < 50; ++seed) {
                std::set<std::array<int, 3>> scalars;         // alpha, beta, 16 bytes at once
                std::set<std::array<int, 2>> by_k, by_place;  // a scalar, and that
                std::set<std::size_t> alone;  // N, K and pitches that alone forbid 16 bytes at once
                for (const CheckCase& c : cases_of(tile, seed, type)) {
                    if (c.id != "products") continue;
                    const gemm::Shape& s = c.shape;
                    INFO(c.what << " at " << s.text());
                    const auto level = [](float x) {
                        return x == 0.0f ? 0 : x == 1.0f ? 1 : x == -1.0f ? 2 : 3;
                    };
                    const auto aligned = [&](std::int64_t n) { return n % vector == 0; };
                    const bool off = s.offsets != decltype(s.offsets){};
                    const bool pitches = aligned(s.lda) && aligned(s.ldb) && aligned(s.ldc);
                    const bool fast = aligned(s.N) && aligned(s.K) && pitches && !off;
                    const bool sizes = aligned(s.N) && aligned(s.K);
                    const int place = off      ? (s.offsets == kAllOff ? 3 : 2)
                                      : fast   ? (s.ldc > s.N ? 4 : 5)
                                      : !sizes ? 0
                                               : 1;
                    const std::array<std::int64_t, 5> lengths{s.N, s.K, s.lda, s.ldb, s.ldc};
                    std::vector<std::size_t> odd;
                    for (std::size_t i = 0; i < lengths.size(); ++i) {
                        if (!aligned(lengths[i])) odd.push_back(i);
                    }
                    const bool looked_at = s.alpha != 0.0f && (s.K > 0 || odd == std::vector<std::size_t>{4});
                    if (odd.size() == 1 && looked_at) alone.insert(odd[0]);
                    const int alpha = level(s.alpha), beta = level(s.beta);
                    REQUIRE(c.nan_inputs == (alpha == 0));
                    if (alpha == 3) REQUIRE(gemm::rounded_to(gemm::DType::fp16, s.alpha) != s.alpha);
                    if (beta == 3) REQUIRE(gemm::rounded_to(gemm::DType::bf16, s.beta) != s.beta);
                    scalars.insert({alpha, beta, fast});
                    const int k = (s.K == 0 ? 0 : 1) + (fast ? 2 : 0);
                    by_k.insert({alpha, k});
                    by_k.insert({4 + beta, k});
                    by_place.insert({alpha, place});
                    by_place.insert({4 + beta, place});
                    by_place.insert({8 + (s.K == 0), place});
                    REQUIRE(s.M * s.N * std::max<std::int64_t>(s.K, 1) < 1 << 20);
                }
                REQUIRE(alone.size() == 5);
                REQUIRE(scalars.size() == 32);
                REQUIRE(by_k.size() == 32);
                std::map<int, int> places;
                for (const auto& [scalar, place] : by_place) ++places[place];
                for (const auto& [place, count] : places) {
                    INFO(place);
                    REQUIRE(count == 10);
                }
                REQUIRE(places.size() == 6);
            }
        }
    }
}

TEST_CASE("cases: each mutant fails where its mistake first matters") {
    struct Expected {
        const Lesson& mutant;
        const char *id, *pattern;  // of values, "" for none
        const char* finding = "";
        bool in_one_tile = false;  // whether that is there with one tile along K, too
    };
    for (const Expected& e : std::vector<Expected>{
             {mutant_no_k_tail::lesson, "k_tail", "k_tail"},
             {mutant_no_beta::lesson, "beta", "beta_c_missing"},
             {mutant_nothing_written::lesson, "one_tile", "never_written"},
             {mutant_beta_times_nan::lesson, "one_tile", "nan_with_beta_zero", "forbidden_read"},
             {mutant_no_pitch::lesson, "pitches", ""},
             {mutant_guard_off_by_one::lesson, "edges", "", "out_of_bounds"},
             {mutant_no_first_barrier::lesson, "one_tile", "", "uninitialised_read"},
             {mutant_no_first_barrier::lesson, "one_tile", "", "race", true},
             {mutant_no_second_barrier::lesson, "tiles", "", "race", false}}) {
        const CaseResult r = falls_at(e.mutant, e.id);
        INFO(text(r));
        if (*e.pattern != '\0')
            CHECK(gemm::name_of(r.verdict.value().patterns.at(0).id) == std::string(e.pattern));
        CHECK(r.findings.size() <= 5);
        if (*e.finding == '\0') continue;
        const auto found = std::find_if(r.findings.begin(), r.findings.end(),
                                        [&](const gemm::Json& f) { return f.at("id") == e.finding; });
        REQUIRE(found != r.findings.end());
        CHECK(found->at("file") == "tests/check/mutants.cu");
        if (std::string(e.finding) == "race") CHECK(found->at("in_one_tile") == e.in_one_tile);
    }
}

TEST_CASE("cases: kernels of variants that no lesson takes pass, and each of their mistakes falls") {
    for (const Lesson* const kernel : slow::kKernels) {
        const std::vector<CaseResult> results = run_cases(*kernel);
        INFO(text(results.back()));
        REQUIRE(results.back().passed());
    }
    // Where it is the same for every seed.
    const std::map<std::string, std::set<std::string>> rungs{
        {"one_tile",
         {"unsigned_inputs", "sum_of_16_bits", "reads_c", "taken_for_e5m2", "bias_of_eight", "b_as_kxn",
          "no_bias", "bias_after_gelu", "bias_by_row", "residual_before_gelu", "relu", "unsigned_numbers",
          "zero_point_of_eight", "halves_swapped", "no_scale"}},
        {"beta", {"result_in_fp32"}},
        {"k_tail",
         {"no_tail_of_four", "padded_to_four", "padded_to_16", "one_scale_for_all", "groups_of_256"}},
        {"numbers", {"nan_is_480"}},
        {"pitches", {"residual_by_ldd", "d_by_ldc", "rows_packed", "tight_rows"}},
        {"alpha_zero", {"nothing_without_k"}},
        {"batch", {"first_alone", "first_group_alone", "up_to_an_empty_group", "sizes_of_first_group"}}};
    for (const auto& mistakes : slow::all_mistakes()) {
        for (const Lesson& mistake : mistakes) {
            INFO(mistake.name);
            const CaseResult last = run_cases(mistake).back();
            REQUIRE_FALSE(last.passed());
            for (const auto& [rung, names] : rungs)
                if (names.count(mistake.name) > 0) CHECK(last.problem.id == rung);
        }
    }
    const CaseResult reads = run_cases(slow::int8_mistakes().back()).back();
    CHECK(reads.verdict.value().passed);  // 0 times whatever it read
    CHECK(reads.findings.at(0).at("id") == "forbidden_read");
}

TEST_CASE("cases: the JSON of a case") {
    const CaseResult r = falls_at(mutant_guard_off_by_one::lesson, "edges");
    const gemm::Json json = gemm::case_json(r);
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    REQUIRE(keys == std::vector<std::string>{"id",       "what",    "m",     "n",        "k",
                                             "lda",      "ldb",     "ldc",   "operands", "alpha",
                                             "beta",     "variant", "batch", "groups",   "seed",
                                             "schedule", "passed",  "error", "verdict",  "findings"});
    REQUIRE(json.at("passed") == false);
    REQUIRE(json.at("seed") == test::seed());
    REQUIRE(json.at("verdict").at("passed") == false);
    for (const char* key : {"id", "text", "access", "array", "row", "column", "offset", "beyond", "block",
                            "thread", "file", "line", "other", "count"}) {
        REQUIRE(json.at("findings").at(0).contains(key));
    }
}

TEST_CASE("cases: reads of A and B with alpha = 0") {
    Lesson lesson = altered("reads_anyway");
    lesson.launch = [](const gemm::Problem& p, const void* plan, cudaStream_t stream) {
        gemm::Problem other = p;
        // 0 · NaN is NaN: what a kernel computes that does not look at alpha before it reads.
        if (p.alpha == 0.0f) other.alpha = 1.0f;
        launch_03(other, plan, stream);
    };
    REQUIRE(falls_at(lesson, "alpha_zero").verdict.value().patterns.at(0).id ==
            gemm::PatternId::nan_with_alpha_zero);
}

TEST_CASE("cases: a launch that is refused is an error of its case") {
    Lesson lesson = altered("empty_grid");
    lesson.launch = [](const gemm::Problem& p, const void* plan, cudaStream_t stream) {
        if (p.M == 0) (void)cudaSetDevice(1'000'000);  // leaves an error behind, as an empty grid does
        launch_03(p, plan, stream);
    };
    const CaseResult r = falls_at(lesson, "empty");
    REQUIRE_FALSE(r.error.empty());
    REQUIRE_FALSE(r.verdict.has_value());
    REQUIRE(gemm::case_json(r).at("verdict").is_null());
    REQUIRE(run_cases(test::lesson("03_smem")).back().passed());  // which the next one does not inherit
}

TEST_CASE("cases: a C that launch() copies from elsewhere") {
    Lesson lesson = altered("by_copies");
    static bool half = false;
    lesson.launch = [](const gemm::Problem& p, const void* plan, cudaStream_t stream) {
        gemm::Problem other = p;
        const std::size_t row = p.N * sizeof(float);
        void* sums = nullptr;
        CUDA_CHECK(cudaMalloc(&sums, p.M * row));
        CUDA_CHECK(cudaMemcpy2D(sums, row, p.C, p.ldc * sizeof(float), row, p.M, cudaMemcpyDeviceToDevice));
        other.C = sums;
        other.ldc = p.N;
        launch_03(other, plan, stream);
        other = p;
        other.M = half ? p.M / 2 : 0;
        launch_03(other, plan, stream);
        CUDA_CHECK(cudaMemcpy2D(static_cast<float*>(p.C) + other.M * p.ldc, p.ldc * sizeof(float),
                                static_cast<float*>(sums) + other.M * p.N, row, row, p.M - other.M,
                                cudaMemcpyDeviceToDevice));
        CUDA_CHECK(cudaFree(sums));
    };
    std::vector<std::string> said;
    for (const bool by_halves : {false, true}) {
        half = by_halves;
        const CaseResult r = falls_at(lesson, "one_tile");
        REQUIRE(r.verdict.value().passed);
        REQUIRE(r.findings.size() == 1);
        REQUIRE(r.findings[0].at("id") == "no_kernel");
        said.push_back(r.findings[0].at("text"));
    }
    test::require_approved("no_kernel", said);
    CheckCase goal{"goal", "the goal", {}, false};
    goal.shape.M = goal.shape.N = goal.shape.K = 32;
    goal.shape = goal.shape.resolved();
    REQUIRE_FALSE(gemm::trace_case(lesson, goal, 1, 90).result.passed());
    const gemm::TracedCase right = gemm::trace_case(test::lesson("03_smem"), goal, 1, 90);
    REQUIRE(right.result.passed());
    REQUIRE(right.json.at("verdict").at("passed") == true);
}

TEST_CASE("cases: device memory is out of the host's reach in launch() and prepare()") {
    Lesson lesson = altered("reaches");
    const auto found = [&] {
        const CaseResult r = falls_at(lesson, "one_tile");
        return r.ended_by(gemm::FaultId::host_access) && r.findings.empty();
    };
    static float kept = 0.0f;
    lesson.launch = [](const gemm::Problem& p, const void* plan, cudaStream_t stream) {
        if (p.M > 0 && p.K > 0) kept = *static_cast<const float*>(p.A);
        launch_03(p, plan, stream);
    };
    CHECK(found());
    lesson.launch = [](const gemm::Problem& p, const void* plan, cudaStream_t stream) {
        // Into a buffer of its own: after that a kernel could bring it to C.
        float* own = nullptr;
        CUDA_CHECK(cudaMalloc(&own, 4));
        *own = 1.0f;
        launch_03(p, plan, stream);
    };
    CHECK(found());
    lesson.launch = [](const gemm::Problem& p, const void* plan, cudaStream_t stream) {
        launch_03(p, plan, stream);
        if (p.M > 0 && p.N > 0) CUDA_CHECK(cudaMemcpy(&kept, p.C, 4, cudaMemcpyDeviceToHost));
    };
    CHECK(found());
    lesson = altered("reaches");
    lesson.prepare = [](const gemm::Problem& p) -> gemm::Plan {
        if (p.M > 0 && p.N > 0) *static_cast<float*>(p.C) = 0.0f;
        return nullptr;
    };
    CHECK(found());
    REQUIRE(run_cases(test::lesson("03_smem")).back().passed());  // it is within reach again, and copies are
}

TEST_CASE("cases: whatever the lesson's code throws is an error of its case") {
    Lesson lesson = altered("thrower");
    lesson.launch = [](const gemm::Problem&, const void*, cudaStream_t) { throw 42; };
    const auto threw = [&](const char* from, const char* what) {
        const CaseResult result = falls_at(lesson, "one_tile");
        INFO(result.error);
        CHECK(result.ended_by(gemm::FaultId::threw));
        CHECK(result.error.starts_with(from));
        CHECK(result.error.ends_with(what));
    };
    threw("launch() of thrower ", "exception.");
    lesson.launch = [](const gemm::Problem&, const void*, cudaStream_t) { throw std::bad_alloc(); };
    threw("launch() of thrower ", ": std::bad_alloc.");
    lesson = altered("thrower");
    lesson.prepare = [](const gemm::Problem&) -> gemm::Plan { throw 42; };
    threw("prepare() of thrower ", "exception.");
    lesson.prepare = [](const gemm::Problem&) -> gemm::Plan { throw gemm::Error("No plan."); };
    REQUIRE(falls_at(lesson, "one_tile").error == "No plan.");
    const CheckCase goal{"goal", "the goal", gemm::Shape{8, 8, 8}.resolved(), false};
    const gemm::TracedCase unplanned = gemm::trace_case(lesson, goal, 1, 90);
    REQUIRE(unplanned.result.error == "No plan.");
    REQUIRE(unplanned.json.is_null());
}

TEST_CASE("cases: the thread that is named is the one that stored the element") {
    using Owner = gemm::Owner (*)(const gemm::Problem&, std::int64_t, std::int64_t);
    // Row, column, and block, warp and thread where they are known.
    const auto first = [](const Lesson& lesson, const char* id) {
        const gemm::WrongElement wrong = falls_at(lesson, id).verdict.value().first.value();
        std::vector<std::int64_t> at{wrong.row, wrong.column};
        if (wrong.owner) {
            at.insert(at.end(),
                      {wrong.owner->block.x, wrong.warp, wrong.owner->thread.x, wrong.owner->thread.y});
        }
        return at;
    };
    const std::vector<std::int64_t> right{1, 0, 0, 1, 0, 1}, unknown{1, 0};
    // Its first wrong element is in row 1: row 0 begins where it should. Told wrong owners, the report does
    // not change.
    for (const Owner owner :
         {mutant_no_pitch::lesson.owner, Owner{[](const gemm::Problem&p, std::int64_t row, std::int64_t col) {
              gemm::Owner o = mutant_no_pitch::lesson.owner(p, row, col);
              std::swap(o.thread.x, o.thread.y);
              return o;
          }},
          Owner{[](const gemm::Problem&p, std::int64_t row, std::int64_t col) {
              gemm::Owner o = mutant_no_pitch::lesson.owner(p, row, col);
              ++o.block.x;
              return o;
          }}}) {
        Lesson other = mutant_no_pitch::lesson;
        other.owner = owner;
        REQUIRE(first(other, "pitches") == right);
    }
    // The same without one. Launched with other blocks than the lesson says, no thread is named; nor one that
    // no block has.
    Lesson other = mutant_no_pitch::lesson;
    other.owner = nullptr;
    REQUIRE(first(other, "pitches") == right);
    other = mutant_no_pitch::lesson;
    gemm::Offer offer = other.offer();
    offer.configuration.block = dim3(16, 64);
    other.variants = {&offer, 1};
    REQUIRE(first(other, "pitches") == unknown);
    other = mutant_nothing_written::lesson;
    other.owner = [](const gemm::Problem&, std::int64_t, std::int64_t) {
        return gemm::Owner{{0, 0, 0}, {0, 32, 0}};
    };
    REQUIRE(first(other, "one_tile") == std::vector<std::int64_t>{0, 0});
    // Where nobody stores anything, nothing tells whether owner() fits the kernel.
    REQUIRE(first(mutant_nothing_written::lesson, "one_tile") == std::vector<std::int64_t>{0, 0});

    // In a grid of two dimensions, of which the lesson says that it has one: y counts the problems.
    const auto all = slow::strided_mistakes();
    const auto in_y = std::find_if(all.begin(), all.end(), [](const Lesson& mistake) {
        return std::string(mistake.name) == "b_of_first_in_two_dimensions";
    });
    REQUIRE(in_y != all.end());
    const gemm::WrongElement wrong = falls_at(*in_y, "batch").verdict.value().first.value();
    REQUIRE(wrong.problem == 1);
    const gemm::Owner owner = wrong.owner.value();
    CHECK(std::array{owner.block.x, owner.block.y, owner.block.z} == std::array{0u, 1u, 0u});
}

TEST_CASE("cases: nonsense in the descriptor is refused in a sentence") {
    std::vector<std::string> said;
    const auto refused = [&](const auto& spoil) {
        Lesson lesson = altered("nonsense");
        spoil(lesson);
        said.push_back(test::error_of([&] { gemm::require_sound(lesson); }));
    };
    const auto refused_with = [&](const auto& spoil) {
        gemm::Offer offer = test::lesson("03_smem").offer();
        spoil(offer.configuration);
        refused([&](Lesson& lesson) { lesson.variants = {&offer, 1}; });
    };
    for (const Tile tile : {Tile{0, 32, 32}, Tile{32, -1, 32}, Tile{32, 32, 1025}}) {
        refused_with([&](gemm::Configuration& c) { c.tile = tile; });
    }
    refused([](Lesson& lesson) { lesson.launch = nullptr; });
    refused_with([](gemm::Configuration& c) { c.block = dim3(32, 0); });
    test::require_approved("nonsense", said);
    for (const Lesson* right : gemm::all_lessons()) gemm::require_sound(*right);
}
