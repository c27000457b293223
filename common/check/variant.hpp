// Variants: their canonical text, which of them a lesson takes, and which GPUs it runs on with them.
#pragma once

#include <optional>
#include <string>

#include "common/gemm.hpp"

namespace gemm {

/// "bf16": A, B and C of that type, nothing transposed. "bf16.nt": with B transposed. "bf16_fp32": A and B
/// BF16, C FP32; "fp32_bf16_fp32": a type each.
std::string text(const Variant& variant);
/// The variant of that text; nothing where it is not what text() makes of one.
std::optional<Variant> variant_named(const std::string& text);
/// What --variant names or, in short, --dtype (one type for all); nothing where both are empty. Throws Error,
/// in one sentence, for what names nothing, and where both are given.
std::optional<Variant> variant_option(const std::string& variant, const std::string& dtype);

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
