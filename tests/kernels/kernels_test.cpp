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

#ifdef GEMM_CPU_DEVICE
constexpr bool kOnCpu = true;
#else
constexpr bool kOnCpu = false;
#endif

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
                    REQUIRE(static_cast<double>(v.checked) == gemm::elements_of(s.problem()));
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
    const std::array kernels{&slow::int8,      &slow::fp8,     &slow::fused,
                             &slow::quantized, &slow::strided, &slow::grouped};
    const auto all = slow::all_mistakes();
    REQUIRE(all.size() == kernels.size());
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        std::size_t caught = 0;
        for (const Lesson& mistake : all[i]) {
            // (Which only a trace can tell: "their programs" has it.)
            const bool traced = std::string(mistake.name) == "reads_c";
            // A GPU's check has no case whose addresses are so far apart.
            const bool far = !kOnCpu && std::string(mistake.name) == "stride_of_32_bits";
            const bool falls = !falls_at(mistake).empty();
            INFO(mistake.name);
            CHECK(falls == (!traced && !far));
            caught += falls || far ? 1 : 0;
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
        std::span<const Lesson> among;
        std::string mistake;
        std::int64_t problem;  // the first that is wrong
        std::vector<gemm::PatternId> patterns;
    };
    const auto strided = slow::strided_mistakes(), grouped = slow::grouped_mistakes();
    for (const Expected& e : {Expected{strided, "first_alone", 1, {never_written, later_problems}},
                              {strided, "last_missing", 2, {never_written, one_problem}},
                              {strided, "inputs_of_first", 1, {another_problem, later_problems}},
                              {strided, "c_packed", 1, {}},
                              {grouped, "first_group_alone", 1, {never_written, later_problems}},
                              {grouped, "up_to_an_empty_group", 3, {never_written, one_problem}},
                              {grouped, "one_element_left_out", 3, {never_written, one_problem}},
                              {grouped, "weights_of_first_group", 1, {}}}) {
        const auto mistake = std::find_if(e.among.begin(), e.among.end(),
                                          [&](const Lesson& lesson) { return lesson.name == e.mistake; });
        REQUIRE(mistake != e.among.end());
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
    for (const Lesson* const kernel : {&slow::strided, &slow::grouped}) {
        const Shape s = test::shape_for(*kernel, 20, 17, 9, true, 1.0f, 0.0f);
        gemm::Workload w(s, test::seed());
        const gemm::Verifier verifier(w);
        gemm::run_once(gemm::with_variant(*kernel, s.variant), w);
        gemm::Elements c = w.download_c();
        REQUIRE(verifier.check(c, kernel).passed);
        // Behind the last row of the second problem, and in front of the third.
        const std::vector<std::int64_t> begins = gemm::begins(s.problem(), gemm::OperandId::C);
        const Shape second = s.members().at(1);
        for (const std::int64_t at : {begins[1] + second.M * second.ldc, begins[2] - 1}) {
            gemm::Elements touched = c;
            touched[static_cast<std::size_t>(at)] = 0.0;
            const Verdict v = verifier.check(touched, kernel);
            INFO(v.failure);
            REQUIRE(v.what == gemm::FailureId::padding);
            CHECK(v.first.value().problem == 1);
            CHECK(v.first->row == second.M);
        }
        for (const Shape& one : s.members()) CHECK(one.variant.batch == gemm::Batch::one);
        // A batch has as many problems as it says, each of numbers of its own.
        REQUIRE(w.members().size() == static_cast<std::size_t>(gemm::usual_batch(s.variant)));
        CHECK(w.members()[0].host().A.part(0, 9) != w.members()[1].host().A.part(0, 9));
    }
    CHECK(gemm::flop_of(test::shape_for(slow::strided, 20, 17, 9, true, 1.0f, 0.0f).problem()) ==
          3 * 2.0 * 20 * 17 * 9);
}

TEST_CASE("kernels: groups have sizes, pitches and addresses of their own") {
    Shape s;
    s.variant = slow::grouped.variant();
    s.groups = {{.M = 3, .N = 40, .K = 5},
                {.M = 20, .N = 1, .K = 9, .lda = 11},
                {.M = 0, .N = 7, .K = 7},
                {.M = 1, .N = 1, .K = 1}};
    const Shape r = s.resolved();
    CHECK(std::array{r.M, r.N, r.K, r.batch, r.lda} == std::array<std::int64_t, 5>{20, 40, 9, 4, 11});
    CHECK(std::array{r.groups[0].lda, r.groups[1].lda, r.groups[2].lda, r.groups[3].ldb} ==
          std::array<std::int64_t, 4>{5, 11, 7, 1});
    CHECK(r.resolved().text() == r.text());
    test::require_contains(r.text(), "3×40×5, 20×1×9, 0×7×7, 1×1×1 lda=11 bf16.grouped");
    CHECK(gemm::flop_of(r.problem()) == 2.0 * (3 * 40 * 5 + 20 * 9 + 1));
    CHECK(gemm::elements_of(r.problem()) == 3 * 40 + 20 + 1);
    s.ldc = 41;  // for all that do not say another
    for (const gemm::Group& g : s.resolved().groups) CHECK(g.ldc == 41);

    // Each matrix but the last has 256 bytes for itself, at least: none begins where another one does.
    CHECK(gemm::begins(r.problem(), gemm::OperandId::C) == std::vector<std::int64_t>{0, 128, 256, 384, 385});
    const gemm::Workload w(r, test::seed());
    const gemm::Problem p = w.problem();
    const auto address = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
    for (std::size_t i = 0; i < p.groups.size(); ++i) {
        CHECK(address(p.groups[i].A) % 256 == address(p.A) % 256);
        CHECK(gemm::members(p).at(i).B == p.groups[i].B);
        if (i > 0) CHECK(address(p.groups[i].C) > address(p.groups[i - 1].C));
    }

    // Of groups that nobody names, and what is refused.
    Shape usual;
    usual.M = 7, usual.N = 4, usual.K = 1, usual.batch = 5;
    usual.variant = s.variant;
    test::require_contains(usual.resolved().text(), "7×4×1, 4×2×1, 0×4×1, 1×1×1, 7×4×1 bf16.grouped");
    const auto refused = [](Shape shape) { CHECK_THROWS_AS(shape.resolved(), gemm::Error); };
    s.ldc = 39;
    refused(s);
    s.ldc = 0, s.groups[1].ldb = -1;
    refused(s);
    s.groups[1].ldb = 0, s.groups[0].K = -1;
    refused(s);
    s.groups[0].K = 5, s.stride_a = 1000;
    refused(s);
    s.stride_a = 0, s.variant.batch = gemm::Batch::strided;
    refused(s);
    usual.batch = std::int64_t{1} << 40;
    refused(usual);
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
                                        {"strided", "bf16.strided+to_fp32"},
                                        {"grouped", "bf16.grouped"},
                                        {"grouped", "bf16.grouped+to_fp32"}}) {
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
    const std::string grouped = "slow_grouped --verify-only --json --groups ";
    const test::Result three = test::run_program(grouped + "1x1x1,0x5x3,20x33x17 --lda 18 --beta 2");
    INFO(three.out << three.err);
    CHECK(Json::parse(three.out).at("groups") == Json{{1, 1, 1}, {0, 5, 3}, {20, 33, 17}});
    CHECK(Json::parse(three.out).at("lda") == 18);
    CHECK(test::run_program("slow_grouped" + small + " --batch 0").status == 0);
    for (const char* const wrong : {"1x1", "1x1x1,", "1x1x-1", "axbxc", "1x1x1 --m 20", "1x1x1 --batch 1",
                                    "1x1x3 --lda 2", "1x1x1 --stride-a 8"}) {
        const test::Result r = test::run_program(grouped + wrong);
        INFO(wrong << ": " << r.err);
        CHECK(r.status == 2);
    }
    const test::Result none = test::run_program("slow_strided --verify-only --groups 1x1x1");
    CHECK(none.status == 2);
    CHECK(test::run_program("slow_fp8" + small + " --variant e4m3_bf16").status ==
          2);  // it takes no other layout

    const test::Result bench = test::run_program(
        "slow_bench --verify-only --lessons "
        "slow_int8,slow_fp8,slow_fused,slow_quantized,slow_strided,slow_grouped,no_tail_of_four "
        "--sizes 33x31x65");
    INFO(bench.out << bench.err);
    const Json json = Json::parse(bench.out);
    std::vector<std::string> variants;
    for (const Json& run : json.at("runs")) {
        variants.push_back(run.at("variant"));
        const std::string variant = run.at("variant");
        CHECK(run.value("batch", 1) == gemm::usual_batch(gemm::variant_named(variant).value()));
        CHECK(run.contains("groups") == (variant == "bf16.grouped"));
    }
    std::sort(variants.begin(), variants.end());
    CHECK(variants == std::vector<std::string>{"bf16+bias+gelu+residual+to_fp32", "bf16.grouped",
                                               "bf16.strided", "e4m3_bf16.nt", "int4g128.bf16",
                                               "int8_int32"});
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

    for (const std::string kernel :
         {"slow_int8", "slow_fp8", "slow_fused", "slow_quantized", "slow_strided", "slow_grouped"})
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
    test::require_contains(r.err, "it multiplies FP8 only where B, and not A, is stored transposed");
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
                                      {"strided", {2, 2, 2}},
                                      {"grouped", {2, 2, 2}}}) {
        const test::Result seen = test::run_program("slow_inspect --lesson slow_" + name +
                                                    " --m 20 --n 33 --k 17 --alpha 3 --beta 2 --history 1");
        INFO(seen.out.substr(0, 2000) << seen.err);
        REQUIRE(seen.status == 0);
        const Json trace = Json::parse(seen.out);
        CHECK(trace.at("findings").empty());
        CHECK(trace.at("verdict").at("passed") == true);
        CHECK(trace.at("batch") == (name == "strided" ? 3 : name == "grouped" ? 4 : 1));
        const double products = name == "strided"   ? 3 * 20 * 33 * 17
                                : name == "grouped" ? 20 * 33 * 17 + 10 * 17 * 9 + 1
                                                    : 20 * 33 * 17;
        CHECK(trace.at("totals").at("flop") == 2 * products);
        Json found = Json::array();
        for (const Json& array : trace.at("history").at(0).at("arrays"))
            if (!array.at("rows").is_null()) found.push_back(array.at("element_bytes"));  // a matrix
        CHECK(found == bytes);

        const test::Result checked = test::run_program("slow_" + name + "_check --goal 32x32x32 --seed 5");
        INFO(checked.out.substr(0, 2000) << checked.err);
        CHECK(checked.status == 0);
        const Json report = Json::parse(checked.out);
        CHECK(report.at("passed") == true);
        // What is counted has as many problems as usual.
        CHECK(report.at("trace").at("batch") == trace.at("batch"));

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
