// Warpgroups that hand registers to each other.
#include "common/ptx/wgmma.hpp"
#include "tests/kernels/wgmma_gemm.hpp"

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

}  // namespace

void share_registers(RegisterMistake mistake) {
    share_registers_kernel<<<1, 384>>>(mistake);
}

}  // namespace kernels
