// Which lessons a program of one's own gets: those whose lines in CMakeLists.txt say INSTALLED. CMake writes
// the list.
#pragma once

#include <span>

#include "common/gemm.hpp"

namespace gemm {

/// In course order: of those that take the same variant, a later one is faster where it runs.
std::span<const Lesson* const> installed_lessons();

/// The last of them that takes the variant and runs on compute capability `sm` (10·major + minor); null where
/// none does.
const Lesson* installed_lesson(const Variant& variant, int sm);

}  // namespace gemm
