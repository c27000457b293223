// The slow kernels go the way of a lesson: verification, the cases of a check, and the programs.
#include "tests/kernels/kernels.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/check/dtype.hpp"
#include "common/check/reference.hpp"
#include "common/check/variant.hpp"
#include "common/error.hpp"
#include "runner/programs/cases.hpp"
#include "tests/process.hpp"
#include "tests/support.hpp"

namespace {

using gemm::CheckCase;
using gemm::DType;
using gemm::Lesson;
using gemm::Shape;
using gemm::Variant;
using gemm::Verdict;
using Json = nlohmann::json;

using slow::kKernels;

/// The name of the first case that it does not pass; empty where it passes all.
std::string falls_at(const Lesson& lesson) {
    for (const CheckCase& c : gemm::check_cases(lesson, test::seed())) {
        try {
            const Verdict v = gemm::judge_case(lesson, c, test::seed());
            INFO(lesson.name << " at " << c.shape.text() << ": " << v.failure);
            if (!v.passed) return c.id;
        } catch (const gemm::Error&) {  // an address that is nobody's
            return c.id;
        }
    }
    return {};
}

}  // namespace

TEST_CASE("kernels: what adds up the products of which types") {
    using enum gemm::Accumulator;
    const auto of = [](const char* text) { return gemm::accumulator(gemm::variant_named(text).value()); };
    for (const char* const fp32_sums : {"fp32", "fp32_bf16_fp32", "bf16_fp32_bf16", "fp32_tf32_fp32"})
        CHECK(of(fp32_sums) == fp32);
    for (const char* const cut_off : {"bf16", "fp16.tn", "bf16_fp32", "tf32_fp32", "e4m3_bf16_bf16"})
        CHECK(of(cut_off) == tensor_fp32);
    for (const char* const short_sums : {"e4m3_bf16.nt", "e4m3_e5m2_fp32", "e5m2_fp16"})
        CHECK(of(short_sums) == tensor_fp8);
    CHECK(of("int8_int32") == int32);
    for (const char* const nothing : {"int8", "int32", "int8_bf16", "int8_bf16_bf16", "bf16_int32", "tf32",
                                      "e4m3", "int4_bf16_bf16", "e2m1_bf16", "e8m0_fp32"}) {
        INFO(nothing);
        CHECK_FALSE(gemm::variant_named(nothing));
    }
}

TEST_CASE("kernels: bounds are the accumulator's") {
    const auto factor = [](const char* text, std::int64_t K) {
        return gemm::error_bound_factor(K, gemm::variant_named(text).value());
    };
    CHECK(factor("int8_int32", 4096) == 0.0);
    CHECK(factor("tf32_fp32", 4096) == factor("bf16", 4096));
    CHECK(factor("e4m3_bf16", 64) > 900 * factor("bf16", 64));  // 2¹⁰ times as much a term
    CHECK(factor("e4m3_bf16", 64) < 1100 * factor("bf16", 64));
    CHECK(factor("e4m3_bf16", 4096) == 1.0);
}

TEST_CASE("kernels: they are right, integers exactly") {
    for (const Lesson* const kernel : kKernels) {
        for (const auto& [m, n, k] :
             {std::array{33, 17, 65}, {1, 1, 1}, {5, 0, 3}, {40, 9, 0}, {16, 70, 300}, {17, 19, 2100}}) {
            for (const bool padded : {false, true}) {
                for (const auto& [alpha, beta] :
                     {std::pair{1.0f, 0.0f}, {3.0f, -2.0f}, {0.0f, 1.0f}, {-1.0f, 1.0f}}) {
                    const Shape s = test::shape_for(*kernel, m, n, k, padded, alpha, beta);
                    const Verdict v = test::run(*kernel, s, test::seed());
                    INFO(s.text() << "\n" << v.failure);
                    REQUIRE(v.passed);
                    REQUIRE(v.checked == s.batch * s.M * s.N);
                    if (s.variant.C == DType::int32) REQUIRE(v.rms_error == 0.0);
                }
            }
        }
        REQUIRE(falls_at(*kernel).empty());
    }
}

TEST_CASE("kernels mutant: each is caught by the values of a check's cases, as README.md has it") {
    std::ifstream file(GEMM_SOURCE_DIR "/tests/kernels/README.md");
    const std::string table{std::istreambuf_iterator<char>(file), {}};
    const std::array kernels{&slow::int8, &slow::fp8, &slow::fused, &slow::quantized, &slow::strided};
    const auto all = slow::all_mistakes();
    REQUIRE(all.size() == kernels.size());
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        std::size_t caught = 0;
        for (const Lesson& mistake : all[i]) {
            // (Which only a trace can tell: "their programs" has it.)
            const bool traced = std::string(mistake.name) == "reads_c";
            const bool falls = !falls_at(mistake).empty();
            INFO(mistake.name);
            CHECK(falls != traced);
            caught += falls ? 1 : 0;
        }
        REQUIRE(caught >= 4);
        const std::string name = std::string(kernels[i]->name).substr(5);
        test::require_contains(table, "| [" + name + "](" + name + ".cu) | " + gemm::offered(*kernels[i]) +
                                          " | " + std::to_string(caught) + " of " +
                                          std::to_string(all[i].size()) + " |");
    }
}

TEST_CASE("kernels mutant: what is wrong in a batch is said by problem") {
    using enum gemm::PatternId;
    struct Expected {
        std::string mistake;
        std::int64_t problem;  // the first that is wrong
        std::vector<gemm::PatternId> patterns;
    };
    for (const Expected& e : {Expected{"first_alone", 1, {never_written, later_problems}},
                              {"last_missing", 2, {never_written, one_problem}},
                              {"inputs_of_first", 1, {another_problem, later_problems}},
                              {"c_packed", 1, {}}}) {
        const auto all = slow::strided_mistakes();
        const auto mistake = std::find_if(all.begin(), all.end(),
                                          [&](const Lesson& lesson) { return lesson.name == e.mistake; });
        REQUIRE(mistake != all.end());
        const Verdict v =
            test::run(*mistake, test::shape_for(*mistake, 20, 17, 9, true, 1.5f, 0.0f), test::seed());
        INFO(v.failure);
        REQUIRE(v.what == gemm::FailureId::elements);
        REQUIRE(v.first.value().problem == e.problem);
        CHECK(v.first->owner.value().block.x == 4u * static_cast<unsigned>(e.problem));
        test::require_contains(v.failure,
                               "first wrong: problem " + std::to_string(e.problem) + ", row 0, column 0");
        for (std::size_t i = 0; i < e.patterns.size(); ++i) CHECK(v.patterns.at(i).id == e.patterns[i]);
    }
}

TEST_CASE("kernels mutant: D is named where it is wrong, for C is an input there") {
    for (const Lesson& mistake : slow::fused_mistakes()) {
        const Verdict v =
            test::run(mistake, test::shape_for(mistake, 20, 17, 9, true, 1.5f, 0.5f), test::seed());
        INFO(mistake.name << ": " << v.failure);
        if (v.what == gemm::FailureId::elements) test::require_contains(v.failure, " elements of D.\n");
        if (v.what == gemm::FailureId::padding) test::require_contains(v.failure, " the padding of D ");
    }
    const Lesson& mistake = slow::fused_mistakes().front();
    CHECK_FALSE(
        test::run(mistake, test::shape_for(mistake, 20, 17, 9, true, 1.5f, 0.5f), test::seed()).passed);
}

TEST_CASE("kernels: what lies between the problems of a batch is guarded") {
    const Shape s = test::shape_for(slow::strided, 20, 17, 9, true, 1.0f, 0.0f);
    gemm::Workload w(s, test::seed());
    const gemm::Verifier verifier(w);
    gemm::run_once(gemm::with_variant(slow::strided, s.variant), w);
    gemm::Elements c = w.download_c();
    REQUIRE(verifier.check(c, &slow::strided).passed);
    // Behind the last row of the second problem, and in front of the third.
    for (const std::int64_t at : {s.stride_c + s.M * s.ldc, 2 * s.stride_c - 1}) {
        gemm::Elements touched = c;
        touched[static_cast<std::size_t>(at)] = 0.0;
        const Verdict v = verifier.check(touched, &slow::strided);
        INFO(v.failure);
        REQUIRE(v.what == gemm::FailureId::padding);
        CHECK(v.first.value().problem == 1);
        CHECK(v.first->row == s.M);
    }
    for (const Shape& one : s.members()) CHECK(one.variant.batch == gemm::Batch::one);
    // A batch has as many problems as it says, each of numbers of its own.
    REQUIRE(w.members().size() == 3);
    CHECK(w.members()[0].host().A != w.members()[1].host().A);
    CHECK(gemm::flop_of(s.problem()) == 3 * 2.0 * 20 * 17 * 9);
}

TEST_CASE("kernels: scalars of integers are whole numbers") {
    for (const auto& [alpha, beta] :
         {std::pair{1.5f, 0.0f}, {1.0f, 0.25f}, {1e9f, 0.0f}, {1.0f, test::kNaN}}) {
        CHECK_THROWS_AS(test::shape_for(slow::int8, 3, 3, 3, false, alpha, beta), gemm::Error);
    }
    CHECK_NOTHROW(test::shape_for(slow::fp8, 3, 3, 3, false, 1.5f, 0.25f));
}

TEST_CASE("kernels: their programs, as a lesson's") {
    const std::string small = " --m 33 --n 31 --k 65 --verify-only --json";
    for (const auto& [name, variant] : {std::pair<std::string, std::string>{"int8", "int8_int32"},
                                        {"fp8", "e4m3_bf16.nt"},
                                        {"fused", "bf16+bias+gelu+residual+to_fp32"},
                                        {"quantized", "int4g128.bf16"},
                                        {"strided", "bf16.strided"},
                                        {"strided", "bf16.strided+to_fp32"}}) {
        const test::Result r =
            test::run_program("slow_" + name + small + " --variant " + variant + " --alpha 3 --beta -2");
        INFO(r.out << r.err);
        REQUIRE(r.status == 0);
        CHECK(Json::parse(r.out).at("variant") == variant);
    }
    CHECK(test::run_program("slow_int8" + small + " --alpha 1.5").status == 2);
    CHECK(test::run_program("slow_int8" + small + " --ldd 40").status == 2);  // it has no D
    CHECK(test::run_program("slow_fused" + small + " --ldd 30").status == 2);
    CHECK(test::run_program("slow_quantized" + small + " --ldb 33").status == 2);  // rows of whole bytes
    CHECK(test::run_program("slow_quantized" + small + " --ldb 36 --lds 37").status == 0);
    CHECK(test::run_program("slow_fused" + small + " --ldr 37 --ldd 50 --beta 2").status == 0);
    CHECK(test::run_program("slow_strided" + small + " --batch 2 --stride-a 2145 --stride-c 1100").status ==
          0);
    CHECK(test::run_program("slow_strided" + small + " --batch 0").status == 0);
    CHECK(test::run_program("slow_strided" + small + " --batch 2 --stride-a 2144").status == 2);  // too short
    CHECK(test::run_program("slow_strided" + small + " --batch 2 --stride-d 2000").status ==
          2);                                                                  // it has no D
    CHECK(test::run_program("slow_int8" + small + " --batch 2").status == 2);  // it takes no batch
    CHECK(test::run_program("slow_fp8" + small + " --variant e4m3_bf16").status ==
          2);  // it takes no other layout

    const test::Result bench = test::run_program(
        "slow_bench --verify-only --lessons "
        "slow_int8,slow_fp8,slow_fused,slow_quantized,slow_strided,no_tail_of_four "
        "--sizes 33x31x65");
    INFO(bench.out << bench.err);
    const Json json = Json::parse(bench.out);
    std::vector<std::string> variants;
    for (const Json& run : json.at("runs")) {
        variants.push_back(run.at("variant"));
        CHECK(run.contains("batch") == (run.at("lesson") == "slow_strided"));
    }
    std::sort(variants.begin(), variants.end());
    CHECK(variants == std::vector<std::string>{"bf16+bias+gelu+residual+to_fp32", "bf16.strided",
                                               "e4m3_bf16.nt", "int4g128.bf16", "int8_int32"});
    REQUIRE(json.at("failed").size() == 1);
    CHECK(json.at("failed").at(0).at("lesson") == "no_tail_of_four");

    const test::Result batch = test::run_program(
        "slow_bench --verify-only --lessons slow_strided --sizes 33x31x65 --variant-sizes 33x31x65 --batch "
        "2");
    INFO(batch.out << batch.err);
    REQUIRE(batch.status == 0);
    const Json of_batch = Json::parse(batch.out);
    std::vector<std::string> batches;
    for (const Json& run : of_batch.at("runs")) {
        CHECK(run.at("batch") == 2);
        batches.push_back(run.at("variant"));
    }
    CHECK(batches == std::vector<std::string>{"bf16.strided", "bf16.strided+to_fp32"});

    for (const std::string kernel : {"slow_int8", "slow_fp8", "slow_fused", "slow_quantized", "slow_strided"})
        CHECK(test::run_program("slow_fuzz --lesson " + kernel + " --cases 60").status == 0);
}

#ifndef GEMM_CPU_DEVICE
TEST_CASE("kernels: timed against what cuBLAS has of their variants") {
    const test::Result r = test::run_program(
        "slow_bench --lessons slow_int8,slow_fp8,slow_fused,slow_quantized,slow_strided --sizes 64,33x31x65 "
        "--rounds 1");
    INFO(r.out << r.err);
    REQUIRE(r.status == 0);
    const Json timed = Json::parse(r.out);
    std::vector<std::string> untimed;
    for (const Json& run : timed.at("runs")) {
        const std::string name = run.at("lesson").get<std::string>() + " " + run.at("m").dump();
        // INT8 is not timed where cuBLAS refuses pitches that are no multiples of 4: it says so, or it is.
        if (run.contains("baseline")) {
            CHECK(run.at("ratio") > 0.0);
        } else if (name != "slow_int8 33") {
            untimed.push_back(name);
        }
    }
    std::sort(untimed.begin(), untimed.end());
    CHECK(untimed == std::vector<std::string>{"slow_fp8 33", "slow_fused 33", "slow_fused 64",
                                              "slow_quantized 33", "slow_quantized 64"});
    test::require_contains(r.err, "cuBLAS has no product of int4g128.bf16, ");
    test::require_contains(r.err, "it multiplies FP8 where B alone is stored transposed");
}
#endif

#ifdef GEMM_CPU_DEVICE
TEST_CASE("kernels: inspected, checked and graded, as a lesson is") {
    const test::Folder folder;
    const test::Result reads = test::run_program("slow_inspect --lesson reads_c --m 20 --n 33 --k 17");
    INFO(reads.out.substr(0, 2000) << reads.err);
    CHECK(reads.status == 1);
    CHECK(Json::parse(reads.out).at("findings").at(0).at("id") == "forbidden_read");
    for (const auto& [name, bytes] : {std::pair<std::string, Json>{"int8", {1, 1, 4}},
                                      {"fp8", {1, 1, 2}},
                                      {"fused", {2, 2, 2, 2, 2, 4}},
                                      {"quantized", {2, 0.5, 2, 2}},
                                      {"strided", {2, 2, 2}}}) {
        const test::Result seen = test::run_program("slow_inspect --lesson slow_" + name +
                                                    " --m 20 --n 33 --k 17 --alpha 3 --beta 2 --history 1");
        INFO(seen.out.substr(0, 2000) << seen.err);
        REQUIRE(seen.status == 0);
        const Json trace = Json::parse(seen.out);
        CHECK(trace.at("findings").empty());
        CHECK(trace.at("verdict").at("passed") == true);
        const double problems = trace.at("batch");
        CHECK(problems == (name == "strided" ? 3 : 1));
        CHECK(trace.at("totals").at("flop") == problems * 2.0 * 20 * 33 * 17);
        Json found = Json::array();
        for (const Json& array : trace.at("history").at(0).at("arrays"))
            found.push_back(array.at("element_bytes"));
        CHECK(found == bytes);

        const test::Result checked = test::run_program("slow_" + name + "_check --goal 32x32x32 --seed 5");
        INFO(checked.out.substr(0, 2000) << checked.err);
        CHECK(checked.status == 0);
        CHECK(Json::parse(checked.out).at("passed") == true);

        const std::string paper = (folder.path / "paper").string(),
                          answers = (folder.path / "answers").string();
        const std::string judge = "slow_judge --seed 5 --lesson slow_" + name;
        REQUIRE(test::run_program(judge + " --paper " + paper).status == 0);
        REQUIRE(test::run_program("slow_" + name + "_exam --paper " + paper + " --answers-fd 3 3>" + answers)
                    .status == 0);
        const test::Result marked = test::run_program(judge + " --answers " + answers);
        INFO(marked.out.substr(0, 2000) << marked.err);
        CHECK(marked.status == 0);
        CHECK(Json::parse(marked.out).at("passed") == true);
    }
}
#endif
