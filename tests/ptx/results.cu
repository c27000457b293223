#include "tests/ptx/results.hpp"

#include "common/ptx/barrier.hpp"
#include "common/ptx/stmatrix.hpp"

namespace kernels {
namespace {

__global__ void stmatrix_kernel(StMatrix kind, const std::uint32_t* registers, const int* rows,
                                std::uint16_t* tile) {
    __shared__ __align__(16) std::uint16_t shared[32][8];
    const int lane = threadIdx.x;
    for (int i = 0; i < 8; ++i) shared[lane][i] = tile[8 * lane + i];
    __syncthreads();
    void* row = rows[lane] < 0 ? nullptr : shared[rows[lane]];
    const std::uint32_t* mine = registers + 4 * lane;
    const std::uint32_t one[1] = {mine[0]}, two[2] = {mine[0], mine[1]},
                        four[4] = {mine[0], mine[1], mine[2], mine[3]};
    switch (kind) {
        case StMatrix::x1:
            gemm::ptx::stmatrix(row, one);  // LINE stmatrix-x1
            break;
        case StMatrix::x2:
            gemm::ptx::stmatrix(row, two);
            break;
        case StMatrix::x4:
            gemm::ptx::stmatrix(row, four);  // LINE stmatrix-x4
            break;
        case StMatrix::x1_trans:
            gemm::ptx::stmatrix_trans(row, one);
            break;
        case StMatrix::x2_trans:
            gemm::ptx::stmatrix_trans(row, two);
            break;
        case StMatrix::x4_trans:
            gemm::ptx::stmatrix_trans(row, four);
            break;
    }
    __syncthreads();
    for (int i = 0; i < 8; ++i) tile[8 * lane + i] = shared[lane][i];
}

constexpr int GROUP = 128, GROUPS = 3;

__global__ void meet_kernel(Meeting kind, int rounds, float* out) {
    __shared__ float box[GROUPS][GROUP];
    const int t = threadIdx.x, group = t / GROUP, own = t % GROUP;
    const unsigned id = kind == Meeting::number_zero ? 0 : group + 1;
    const unsigned threads = kind == Meeting::no_whole_warps                  ? 100
                             : kind == Meeting::other_number && own / 32 == 3 ? 64
                                                                              : GROUP;
    float sum = 0.0f;
    for (int round = 0; round < rounds; ++round) {
        if (kind == Meeting::a_warp_is_away && group == 1 && own >= 96) break;
        box[group][own] = static_cast<float>(t * (round + 1));  // LINE meet-write
        if (kind != Meeting::second_alone) gemm::ptx::barrier_sync(id, threads);
        sum += box[group][GROUP - 1 - own];  // LINE meet-read
        if (kind != Meeting::first_alone) gemm::ptx::barrier_sync(id, threads);
    }
    out[t] = sum;
}

}  // namespace

void stmatrix(StMatrix kind, const std::uint32_t* registers, const int* rows, std::uint16_t* tile) {
    stmatrix_kernel<<<1, 32>>>(kind, registers, rows, tile);
}

void meet(Meeting kind, int rounds, float* out) {
    meet_kernel<<<1, GROUPS * GROUP>>>(kind, rounds, out);
}

}  // namespace kernels
