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

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::fp32),
                                 .kernel = reinterpret_cast<const void*>(&nothing),
                                 .architectures = {.from = min_sm},
                                 .configuration = {.tile = {32, 32, 1}, .block = dim3(32)}}};

extern const gemm::Lesson lesson{
    .name = "modern_lesson", .variants = variants, .launch = launch, .owner = owner};

}  // namespace test_modern
