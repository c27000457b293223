// The mutants, each in the namespace of its file's name.
#pragma once

#include "common/gemm.hpp"

// clang-format off
namespace mutant_no_first_barrier  { extern const gemm::Lesson lesson; }
namespace mutant_no_second_barrier { extern const gemm::Lesson lesson; }
namespace mutant_no_k_tail         { extern const gemm::Lesson lesson; }
namespace mutant_guard_off_by_one  { extern const gemm::Lesson lesson; }
namespace mutant_nothing_written   { extern const gemm::Lesson lesson; }
namespace mutant_no_beta           { extern const gemm::Lesson lesson; }
namespace mutant_beta_times_nan    { extern const gemm::Lesson lesson; }
namespace mutant_tf32_inputs       { extern const gemm::Lesson lesson; }
namespace mutant_no_pitch          { extern const gemm::Lesson lesson; }
// clang-format on
