// Warpgroups that hand registers to each other, and multiplications that there are none of.
#include "common/ptx/for_lesson_17/wgmma_types.hpp"
#include "common/ptx/wgmma.hpp"
#include "tests/ptx/wgmma_gemm.hpp"

namespace kernels {
namespace {

__global__ void __launch_bounds__(384) share_registers_kernel(RegisterMistake mistake) {
    const unsigned group = threadIdx.x / 128;
    if (group > 0) {
        gemm::ptx::more_registers<240>();
    } else if (mistake == RegisterMistake::too_many) {
        gemm::ptx::fewer_registers<40>();
    } else if (mistake == RegisterMistake::not_fewer) {
        gemm::ptx::fewer_registers<240>();
    } else if (mistake != RegisterMistake::not_all || threadIdx.x != 5) {
        gemm::ptx::fewer_registers<24>();
    }
}

__global__ void tf32_along_rows_kernel(bool of_a) {
    using gemm::ptx::Major;
    using gemm::ptx::WgmmaInput;
    float sums[4] = {};
    gemm::ptx::wgmma_fence(sums);
    // (No function of common/ptx can say it.)
    ::cpu_device::wgmma({.input_a = WgmmaInput::tf32,
                         .input_b = WgmmaInput::tf32,
                         .sums = sums,
                         .count = 4,
                         .major_a = of_a ? Major::row : Major::k,
                         .major_b = of_a ? Major::k : Major::row,
                         .add = false},
                        {"wgmma.mma_async", __FILE__, __LINE__});
}

}  // namespace

void share_registers(RegisterMistake mistake) {
    share_registers_kernel<<<1, 384>>>(mistake);
}

void tf32_along_rows(bool of_a) {
    tf32_along_rows_kernel<<<1, 128>>>(of_a);
}

}  // namespace kernels
