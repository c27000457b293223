// Stand-ins for lessons to come, see standins.cu.
#pragma once

#include "common/gemm.hpp"

namespace standins {

extern const gemm::Lesson scalar, vectorized, double_buffer;

}  // namespace standins
