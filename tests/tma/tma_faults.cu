// Instructions that a GPU leaves undefined or faults at.
#include "common/ptx/tma.hpp"
#include "common/tma/tensor_map.hpp"
#include "tests/tma/tma_gemm.hpp"

namespace kernels {
namespace {

using gemm::ptx::Mbarrier;

constexpr int kSide = 32;

__global__ void tma_fault_kernel(TmaFault fault, const __grid_constant__ CUtensorMap map,
                                 const __grid_constant__ CUtensorMap short_rows, const float* host,
                                 float* out) {
    __shared__ __align__(1024) float tile[kSide * kSide];
    __shared__ Mbarrier barriers[2];
    Mbarrier& barrier = barriers[1];
    if (fault != TmaFault::not_begun)
        gemm::ptx::mbarrier_init(barrier, fault == TmaFault::no_arrivals ? 0 : 1);
    gemm::ptx::fence_mbarrier_init();
    switch (fault) {
        case TmaFault::not_begun:
            gemm::ptx::mbarrier_arrive(barrier);
            break;
        case TmaFault::overwritten:
            barrier.opaque = 0;
            gemm::ptx::mbarrier_arrive(barrier);
            break;
        case TmaFault::too_many_arrivals:
            gemm::ptx::mbarrier_arrive(barrier, 2);
            break;
        case TmaFault::misaligned_box:
            gemm::ptx::tma_load(tile + 4, map, {0, 0}, barrier);
            break;
        case TmaFault::misaligned_row:
            gemm::ptx::tma_load(tile, map, {-3, 0}, barrier);
            break;
        case TmaFault::misaligned_barrier:
            gemm::ptx::mbarrier_arrive(*reinterpret_cast<Mbarrier*>(tile + 1));
            break;
        case TmaFault::negative_store:
            gemm::ptx::tma_store(map, {0, -4}, tile);
            break;
        case TmaFault::short_rows:
            gemm::ptx::tma_load(tile, short_rows, {0, 0}, barrier);
            break;
        case TmaFault::past_the_end:
            gemm::ptx::tma_load(tile + kSide, map, {0, 0}, barrier);
            break;
        case TmaFault::not_encoded:
        case TmaFault::no_arrivals:
            gemm::ptx::tma_load(tile, CUtensorMap{}, {0, 0}, barrier);
            break;
        case TmaFault::wrong_rank:
            gemm::ptx::tma_load(tile, map, {0, 0, 0}, barrier);
            break;
        case TmaFault::host_memory:
            gemm::ptx::bulk_load(tile, host, 64, barrier);
            break;
        case TmaFault::load_left_behind:
            gemm::ptx::mbarrier_arrive_expect_tx(barrier, sizeof tile);
            gemm::ptx::tma_load(tile, map, {0, 0}, barrier);
            break;
        case TmaFault::try_once:
            gemm::ptx::mbarrier_arrive_expect_tx(barrier, sizeof tile);
            gemm::ptx::tma_load(tile, map, {0, 0}, barrier);
            gemm::ptx::mbarrier_try_wait(barrier, 0);
            *out = tile[0];
            gemm::ptx::mbarrier_wait(barrier, 0);
            break;
    }
}

}  // namespace

void tma_fault(TmaFault fault, const float* in, float* out) {
    gemm::TensorMapFields f;
    f.address = in;
    f.sizes[0] = f.sizes[1] = f.box[0] = f.box[1] = kSide;
    f.strides[0] = kSide * sizeof(float);
    gemm::TensorMapFields half = f;
    half.box[0] = kSide / 2;
    half.box[1] = 2 * kSide;
    half.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    alignas(16) static const float host[16] = {};
    tma_fault_kernel<<<1, 1>>>(fault, gemm::tensor_map(f), gemm::tensor_map(half), host, out);
}

}  // namespace kernels
