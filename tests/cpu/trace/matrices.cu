// ldmatrix and wmma, right and wrong.
#include <mma.h>

#include "common/parts/swizzle.hpp"
#include "common/ptx/cp_async.hpp"
#include "common/ptx/fragments.hpp"
#include "common/ptx/ldmatrix.hpp"
#include "tests/cpu/trace/kernels.hpp"

namespace traced {
namespace {

using gemm::ptx::cp_async;
using gemm::ptx::ldmatrix;
using gemm::ptx::ldmatrix_trans;
using gemm::ptx::Position;

/// The sum of a lane's elements, so that a test sees what it got.
template <int COUNT>
__device__ float sum(const std::uint32_t (&registers)[COUNT]) {
    float total = 0.0f;
    for (const std::uint32_t pair : registers) {
        total += __bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(pair & 0xffff)));
        total += __bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(pair >> 16)));
    }
    return total;
}

template <class Layout>
__global__ void tile_kernel(const __nv_bfloat16* in, float* out) {
    __shared__ __align__(1024) __nv_bfloat16 tile[16 * 64];
    const int lane = threadIdx.x;
    for (int i = 8 * lane; i < 16 * 64; i += 8 * 32) {
        cp_async<16>(&tile[Layout::apply(i)], &in[i]);  // LINE tile-copy
    }
    gemm::ptx::cp_async_commit();
    gemm::ptx::cp_async_wait<0>();
    __syncthreads();
    const Position at = gemm::ptx::ldmatrix_row(lane);
    float total = 0.0f;
    for (int k = 0; k < 64; k += 16) {
        std::uint32_t a[4], b[4], two[2], one[1];
        // Those in which not all lanes read come first: the others must still be one request each.
        ldmatrix(one, &tile[Layout::apply(64 * (lane % 8) + k)]);           // LINE tile-x1
        ldmatrix(two, &tile[Layout::apply(64 * at.row + k)]);               // LINE tile-x2
        ldmatrix(a, &tile[Layout::apply(64 * at.row + k + at.col)]);        // LINE tile-x4
        ldmatrix_trans(b, &tile[Layout::apply(64 * at.row + k + at.col)]);  // LINE tile-x4-trans
        total += sum(a) + sum(b) + sum(two) + sum(one);
    }
    out[lane] = total;
}

__global__ void mistake_kernel(Matrices kind, const __nv_bfloat16* in, float* out) {
    __shared__ __align__(16) __nv_bfloat16 tile[64 * 8];  // 64 rows of 8
    const int t = threadIdx.x, lane = t % 32;
    __nv_bfloat16* const mine = &tile[8 * t];
    const __nv_bfloat16* const other = &tile[8 * (63 - t)];  // of the other warp
    std::uint32_t four[4] = {};
    const auto store = [&] {
        for (int i = 0; i < 8; ++i) mine[i] = in[8 * t + i];  // LINE store
    };
    switch (kind) {
        case Matrices::right:
            store();
            __syncthreads();
            ldmatrix(four, other);  // LINE right
            break;
        case Matrices::own_warp:
            store();
            __syncwarp();
            ldmatrix(four, &tile[8 * (t - lane + 31 - lane)]);  // LINE own_warp
            break;
        case Matrices::no_syncwarp:
            store();
            ldmatrix(four, &tile[8 * (t - lane + 31 - lane)]);  // LINE no_syncwarp
            break;
        case Matrices::stored_after:
            store();
            __syncwarp();
            ldmatrix(four, &tile[8 * (t - lane + 31 - lane)]);  // LINE stored_after-read
            mine[0] = mine[1];                                  // LINE stored_after
            break;
        case Matrices::no_barrier:
            store();
            __syncwarp();
            if (t >= 32) ldmatrix(four, other);  // LINE no_barrier
            break;
        case Matrices::overwritten:
            store();
            __syncthreads();
            if (t < 32) ldmatrix(four, other);  // LINE overwritten
            if (t >= 32) mine[0] = mine[1];     // LINE overwritten-store
            break;
        case Matrices::in_flight:
            cp_async<16>(mine, &in[8 * t]);  // LINE in_flight-copy
            gemm::ptx::cp_async_commit();
            __syncthreads();
            ldmatrix(four, other);  // LINE in_flight
            break;
        case Matrices::unwritten:
            if (t < 32) store();
            __syncthreads();
            if (t < 32) ldmatrix(four, other);  // LINE unwritten
            break;
        case Matrices::over_the_end:
            store();
            __syncthreads();
            if (t >= 32) ldmatrix(four, mine + 8);  // LINE over_the_end
            break;
    }
    out[t] = sum(four);
}

__global__ void wmma_tile_kernel(const __nv_bfloat16* in, float* out) {
    namespace wmma = nvcuda::wmma;
    __shared__ __align__(32) __nv_bfloat16 tile[16 * 64];
    for (int i = threadIdx.x; i < 16 * 64; i += 32) tile[i] = in[i];
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    wmma::load_matrix_sync(a, tile, 64);     // LINE wmma-a
    wmma::load_matrix_sync(b, in + 16, 64);  // LINE wmma-b
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);  // LINE wmma-store
}

__global__ void pairs_kernel(const float* in, __nv_bfloat16* out) {
    __shared__ __nv_bfloat16 tile[64];
    const int t = threadIdx.x;
    tile[t] = __float2bfloat16(in[t]);  // LINE pairs-shared
    __syncthreads();
    if (t >= 32) return;
    const float low = __bfloat162float(tile[2 * t]), high = tile[2 * t + 1];       // LINE pairs-in
    reinterpret_cast<__nv_bfloat162*>(out)[t] = __floats2bfloat162_rn(low, high);  // LINE pairs-out
}

}  // namespace

void matrix_tile(bool swizzled, const std::uint16_t* in, float* out) {
    const auto* values = reinterpret_cast<const __nv_bfloat16*>(in);
    if (swizzled) {
        tile_kernel<gemm::Swizzle<3, 3, 3>><<<1, 32>>>(values, out);
    } else {
        tile_kernel<gemm::Swizzle<0, 3, 3>><<<1, 32>>>(values, out);
    }
}
void matrices(Matrices kind, const std::uint16_t* in, float* out) {
    mistake_kernel<<<1, 64>>>(kind, reinterpret_cast<const __nv_bfloat16*>(in), out);
}
void wmma_tile(const std::uint16_t* in, float* out) {
    wmma_tile_kernel<<<1, 32>>>(reinterpret_cast<const __nv_bfloat16*>(in), out);
}
void pairs(const float* in, std::uint16_t* out) {
    pairs_kernel<<<1, 64>>>(in, reinterpret_cast<__nv_bfloat16*>(out));
}

}  // namespace traced
