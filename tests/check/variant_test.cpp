// Variants: their text, and a kernel that takes some which no lesson takes yet, all the way that a lesson
// goes.
#include "common/check/variant.hpp"

#include <array>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include "common/check/dtype.hpp"
#include "common/error.hpp"
#include "common/program/report.hpp"
#include "tests/check/variants.hpp"
#include "tests/kernels/kernels.hpp"
#include "tests/support.hpp"

namespace {

using gemm::DType;
using gemm::Layout;
using gemm::Lesson;
using gemm::Shape;
using gemm::Variant;
using gemm::Verdict;

Variant named(const std::string& text) {
    const std::optional<Variant> variant = gemm::variant_named(text);
    REQUIRE(variant);
    return *variant;
}

/// A mutant with that variant, at a shape at which what it takes for rows and columns stays inside.
Verdict verdict_of(const Lesson& lesson, const std::string& variant, std::int64_t m, std::int64_t n,
                   std::int64_t k) {
    const Lesson chosen = gemm::with_variant(lesson, named(variant));
    const Shape s = test::shape_for(chosen, m, n, k, true, 1.5f, -0.5f);
    const Verdict right =
        test::run(gemm::with_variant(test_variants::right, chosen.variant()), s, test::seed());
    INFO(s.text() << "\n" << right.failure);
    REQUIRE(right.passed);
    return test::run(chosen, s, test::seed());
}

}  // namespace

TEST_CASE("variant: every variant has one text, and comes back from it") {
    std::set<std::string> texts;
    for (const DType a : {DType::fp32, DType::bf16, DType::fp16}) {
        for (const DType b : {DType::fp32, DType::bf16, DType::fp16}) {
            for (const DType c : {DType::fp32, DType::bf16, DType::fp16}) {
                for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
                    const Variant v{a, b, c, layout};
                    INFO(gemm::text(v));
                    CHECK(texts.insert(gemm::text(v)).second);
                    CHECK(gemm::variant_named(gemm::text(v)) == v);
                }
            }
        }
    }
    CHECK(gemm::text(Variant{}) == "fp32");
    CHECK(gemm::text(gemm::of_type(DType::bf16, Layout::nt)) == "bf16.nt");
    CHECK(gemm::text(Variant{DType::bf16, DType::bf16, DType::fp32, Layout::tt}) == "bf16_fp32.tt");
    CHECK(gemm::text(Variant{DType::fp32, DType::bf16, DType::bf16, Layout::nn}) == "fp32_bf16_bf16");
    using gemm::Activation;
    const Variant gelu{.A = DType::bf16, .B = DType::bf16, .C = DType::bf16, .activation = Activation::gelu};
    Variant all = gelu;
    all.layout = Layout::nt;
    all.bias = all.residual = true;
    all.D = DType::fp16;
    for (const auto& [v, name] :
         {std::pair<Variant, std::string>{gelu, "bf16+gelu"},
          {all, "bf16.nt+bias+gelu+residual+to_fp16"},
          {{.A = DType::bf16, .B = DType::int4, .C = DType::bf16, .group = 128}, "int4g128.bf16"},
          {{.A = DType::fp16, .B = DType::int8, .C = DType::fp32, .layout = Layout::nt, .group = 64},
           "int8g64.fp16_fp32.nt"},
          {{.A = DType::bf16, .B = DType::bf16, .C = DType::bf16, .batch = gemm::Batch::strided},
           "bf16.strided"},
          {{.A = DType::fp16, .B = DType::fp16, .C = DType::fp32, .batch = gemm::Batch::grouped},
           "fp16_fp32.grouped"},
          {{.A = DType::bf16,
          .B = DType::bf16,
          .C = DType::bf16,
          .layout = Layout::nt,
          .batch = gemm::Batch::strided,
          .D = DType::fp32},
           "bf16.nt.strided+to_fp32"}}) {
        CHECK(gemm::text(v) == name);
        CHECK(gemm::variant_named(name) == v);
    }
    std::istringstream texts_of_none(
        "int4g128 int4g0.bf16 int4g.bf16 int4g0128.bf16 int4g128.bf16.nn int4g128.fp32 "
        "bf16g128.bf16 int4g128.bf16_bf16 int4g128.nt bf16+ +bias bf16+bias+bias "
        "bf16+gelu+bias bf16+bias.nt bf16+silu bf16+to_ bf16+to_int8 "
        "bf16+to_fp16+to_fp16 int8_int32+bias int8_int32+to_fp32 e4m3_bf16+to_e4m3 FP32 "
        "tf32 bf16. .nt bf16.nn bf16.nt.nt bf16.strided.nt bf16.strided.strided "
        "bf16.strided.grouped bf16.grouped+bias bf16.strided+bias int4g128.bf16.strided "
        "bf16.xt bf16_bf16 bf16_bf16_fp32 fp32_fp32_fp32 bf16_ _bf16 "
        "fp32_bf16_fp16_fp32");
    for (std::string wrong; texts_of_none >> wrong;) {
        INFO(wrong);
        CHECK_FALSE(gemm::variant_named(wrong));
    }
    for (const char* const wrong : {"", "bf16 "}) CHECK_FALSE(gemm::variant_named(wrong));
}

TEST_CASE("variant: the options name one, --dtype in short") {
    CHECK_FALSE(gemm::variant_option("", ""));
    CHECK(gemm::variant_option("bf16.nt", "") == named("bf16.nt"));
    CHECK(gemm::variant_option("", "bf16") == named("bf16"));
}

TEST_CASE("variant: pitches are those of matrices as they lie in memory") {
    Shape s;
    s.M = 3, s.N = 4, s.K = 5;
    s.variant = named("fp32.tt");
    CHECK(s.resolved().lda == 3);
    CHECK(s.resolved().ldb == 5);
    CHECK(s.resolved().ldc == 4);
    CHECK(s.resolved().text() == "3×4×5 fp32.tt");
}

TEST_CASE("variant: types and layouts that no lesson takes yet go the way of every lesson") {
    if (test::device().sm < 80) return test::skip("BF16 needs sm_80");
    for (const gemm::Offer& offer : test_variants::right.variants) {
        const Lesson lesson = gemm::with_variant(test_variants::right, offer.variant);
        for (const auto& [m, n, k] :
             {std::array{33, 17, 65}, {1, 1, 1}, {5, 0, 3}, {40, 9, 0}, {16, 70, 300}}) {
            for (const bool padded : {false, true}) {
                for (const auto& [alpha, beta] :
                     {std::pair{1.0f, 0.0f}, {1.5f, -0.5f}, {0.0f, 1.0f}, {-1.0f, 1.0f}}) {
                    const Shape s = test::shape_for(lesson, m, n, k, padded, alpha, beta);
                    const Verdict v = test::run(lesson, s, test::seed());
                    INFO(s.text() << "\n" << v.failure);
                    REQUIRE(v.passed);
                    REQUIRE(v.checked == s.M * s.N);
                }
            }
        }
    }
}

TEST_CASE("variant mutant: an operand that is stored transposed is read as if it were not") {
    if (test::device().sm < 80) return test::skip("BF16 needs sm_80");
    using enum gemm::PatternId;
    for (const auto& [variant, pattern] :
         {std::pair<std::string, gemm::PatternId>{"fp32.nt", b_not_transposed},
          {"bf16.nt", b_not_transposed},
          {"fp32.tn", a_not_transposed},
          {"fp32.tt", a_and_b_other_way}}) {
        const Verdict v = verdict_of(test_variants::ignores_layout, variant, 48, 48, 48);
        INFO(v.failure);
        REQUIRE_FALSE(v.passed);
        CHECK(v.patterns.at(0).id == pattern);
        for (const std::string& named : {std::string("48×48×48 lda=51 "), " " + variant}) {
            test::require_contains(v.failure, named);
        }
    }
    // Not square: what is read lies inside, and there is no name for it.
    REQUIRE_FALSE(verdict_of(test_variants::ignores_layout, "bf16.nt", 32, 64, 17).passed);
    REQUIRE_FALSE(verdict_of(test_variants::ignores_layout, "fp32.tn", 17, 32, 64).passed);
}

TEST_CASE("variant mutant: the other operand is taken for the transposed one") {
    if (test::device().sm < 80) return test::skip("BF16 needs sm_80");
    for (const std::string variant : {"fp32.nt", "fp32.tn", "bf16.nt", "bf16_fp32.tn"}) {
        REQUIRE_FALSE(verdict_of(test_variants::swaps_layout, variant, 48, 48, 48).passed);
    }
}

TEST_CASE("variant mutant: wrong conversions are found in every type") {
    if (test::device().sm < 80) return test::skip("BF16 needs sm_80");
    for (const std::string variant : {"bf16_fp32", "bf16_fp32.tn"}) {
        INFO(variant);
        // Rounding C to the type of A and B would be right where C has that type.
        REQUIRE_FALSE(verdict_of(test_variants::rounds_c, variant, 48, 40, 64).passed);
        REQUIRE_FALSE(verdict_of(test_variants::wrong_conversion, variant, 48, 40, 64).passed);
    }
}

TEST_CASE("variant: the JSON of a descriptor says what a build and a chart need") {
    const gemm::Json json = gemm::lesson_json(test::lesson("09f_persistent"));
    CHECK(json.at("name") == "09f_persistent");
    CHECK(json.at("number") == "09f");
    CHECK(json.at("ladder") == "tensorcore");
    CHECK(json.at("part") == 2);
    CHECK(json.at("tile") == gemm::Json{{"BM", 256}, {"BN", 128}, {"BK", 64}});
    CHECK(json.at("constants").at("STAGES") == 3);
    CHECK(gemm::lesson_json(test::lesson("01_naive")).at("constants") == gemm::Json::object());
    CHECK(json.at("variants").at(0) == gemm::Json{{"text", "bf16"},
                                                  {"architectures", {{"from", 80}}},
                                                  {"element_bytes", {{"A", 2}, {"B", 2}, {"C", 2}}}});
    CHECK(gemm::lesson_json(slow::int8).at("variants").at(0).at("element_bytes") ==
          gemm::Json{{"A", 1}, {"B", 1}, {"C", 4}});
    gemm::Offer offer = test::lesson("01_naive").offer();
    offer.architectures = {.exactly = "90a"};
    Lesson hopper = test::lesson("01_naive");
    hopper.variants = {&offer, 1};
    CHECK(gemm::lesson_json(hopper).at("variants").at(0).at("architectures") ==
          gemm::Json{{"exactly", "90a"}});
}
