// Variants: their canonical text, which of them a lesson takes, and which GPUs it runs on with them.
#pragma once

#include <optional>
#include <string>

#include "common/gemm.hpp"

namespace gemm {

/// What adds the products of a variant up. Bounds and words depend on it.
enum class Accumulator {
    fp32,         // FP32 multiply-adds, rounded to nearest
    tensor_fp32,  // tensor cores: inputs of 16 bits or TF32, and sums in FP32 that may be cut off
    tensor_fp8,   // tensor cores: FP8, of whose sums fewer bits may be kept
    int32,        // whole numbers, exactly
};
/// What may have added up the products of such inputs, the least exact where several may have; nothing where
/// there is no product of these types.
std::optional<Accumulator> accumulator_of(const Variant& variant);
/// The same of a variant that has one. Throws Error, in one sentence, for another.
Accumulator accumulator(const Variant& variant);

/// "bf16": A, B and C of that type, nothing transposed. "bf16.nt": with B transposed. "bf16_fp32": A and B
/// BF16, C FP32; "fp32_bf16_fp32": a type each. "int4g128.bf16": B INT4 with a scale for each 128 steps along
/// K, the rest BF16. "bf16.strided", "bf16.nt.grouped": a batch. Behind that, in the order in which it is
/// computed, what is fused: "bf16+bias+gelu", "bf16+residual+to_fp32" (a D of FP32).
std::string text(const Variant& variant);
/// The variant of that text; nothing where it is not what text() makes of one, or nothing adds its products
/// up.
std::optional<Variant> variant_named(const std::string& text);
/// What --variant names or, in short, --dtype (one type for all); nothing where both are empty. Throws Error,
/// in one sentence, for what names nothing, and where both are given.
std::optional<Variant> variant_option(const std::string& variant, const std::string& dtype);

/// How many problems a batch has, where nobody says it; of one problem, 1. Of a grouped one so many that
/// Shape::resolved() comes to each kind of group.
inline std::int64_t usual_batch(const Variant& variant) {
    return variant.batch == Batch::one ? 1 : variant.batch == Batch::strided ? 3 : 4;
}

/// Whether the lesson takes the variant.
bool offers(const Lesson& lesson, const Variant& variant);
/// The variants that the lesson takes, the charted one first: "bf16, fp16".
std::string offered(const Lesson& lesson);
/// The lesson with that one chosen. Throws Error, in one sentence, where it does not take it.
Lesson with_variant(const Lesson& lesson, const Variant& variant);

/// Whether a GPU of compute capability `sm` (10·major + minor) is one of them.
bool runs_on(const Architectures& architectures, int sm);
/// "compute capability 8.0 or higher", "compute capability 9.0 (sm_90a), and no other".
std::string text(const Architectures& architectures);

}  // namespace gemm
