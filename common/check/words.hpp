// What a verdict says, in words for people. Programs read its fields instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/check/verify.hpp"

namespace gemm {

/// One pattern, as a clause: "beta·C is missing: these elements hold alpha·A·B alone".
std::string pattern_text(const Pattern& pattern);

/// The whole report: empty for a verdict that passed, else several lines, the first one a sentence. name: of
/// the lesson, or what takes its place; seed: of the inputs, left out where there is none.
std::string failure_text(const Verdict& verdict, const std::string& name, const Shape& shape,
                         std::optional<std::uint64_t> seed);

}  // namespace gemm
