// A lesson whose kernel never ends: it waits at an mbarrier that nobody arrives at.
#include "common/gemm.hpp"
#include "common/ptx/mbarrier.hpp"

namespace test_hung {

__global__ void hangs() {
    __shared__ gemm::ptx::Mbarrier never;
    if (threadIdx.x == 0) gemm::ptx::mbarrier_init(never, 1);
    __syncthreads();
    gemm::ptx::mbarrier_wait(never, 0);
}

void launch(const gemm::Problem&, const void*, cudaStream_t stream) {
    hangs<<<1, 32, 0, stream>>>();
}

gemm::Owner owner(const gemm::Problem&, std::int64_t, std::int64_t) {
    return {{0, 0, 0}, {0, 0, 0}};
}

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::fp32),
                                 .kernel = reinterpret_cast<const void*>(&hangs),
                                 .architectures = {.from = 90},
                                 .configuration = {.tile = {32, 32, 1}, .block = dim3(32)}}};

extern const gemm::Lesson lesson{
    .name = "hung_lesson", .variants = variants, .launch = launch, .owner = owner};

}  // namespace test_hung
