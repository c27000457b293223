// Lessons for GPUs that are newer than the one at hand. They are never launched.
#include "common/gemm.hpp"

namespace test_modern {

__global__ void nothing() {}

void launch(const gemm::Problem&, const void*, cudaStream_t) {
    nothing<<<1, 32>>>();
}

gemm::Owner owner(const gemm::Problem&, std::int64_t, std::int64_t) {
    return {{0, 0, 0}, {0, 0, 0}};
}

#ifdef GEMM_CPU_DEVICE
constexpr int min_sm = 80;  // the test asks for the limits of sm_75
#else
constexpr int min_sm = 990;  // no GPU has it
#endif

extern const gemm::Lesson lesson{"modern_lesson",
                                 gemm::DType::fp32,
                                 min_sm,
                                 {32, 32, 1},
                                 dim3(32),
                                 0,
                                 reinterpret_cast<const void*>(&nothing),
                                 nullptr,
                                 launch,
                                 owner};

}  // namespace test_modern
