// 16-bit types and what a warp does with them on tensor cores, on a GPU and on the CPU device alike.
#include <mma.h>

#include "common/parts/swizzle.hpp"
#include "common/ptx/cp_async.hpp"
#include "common/ptx/fragments.hpp"
#include "common/ptx/ldmatrix.hpp"
#include "common/ptx/mma.hpp"
#include "tests/cpu/execution/kernels.hpp"

namespace kernels {
namespace {

using gemm::ptx::Position;

// ---- what differs between the two types ----

template <class T>
struct Type;
template <>
struct Type<__half> {
    using Pair = __half2;
    static __device__ __half from(float value) { return __float2half(value); }
    static __device__ float value(__half x) { return __half2float(x); }
    static __device__ __half of_bits(std::uint16_t bits) { return __ushort_as_half(bits); }
    static __device__ std::uint16_t bits(__half x) { return __half_as_ushort(x); }
    static __device__ Pair pair(float x, float y) { return __floats2half2_rn(x, y); }
};
template <>
struct Type<__nv_bfloat16> {
    using Pair = __nv_bfloat162;
    static __device__ __nv_bfloat16 from(float value) { return __float2bfloat16(value); }
    static __device__ float value(__nv_bfloat16 x) { return __bfloat162float(x); }
    static __device__ __nv_bfloat16 of_bits(std::uint16_t bits) { return __ushort_as_bfloat16(bits); }
    static __device__ std::uint16_t bits(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
    static __device__ Pair pair(float x, float y) { return __floats2bfloat162_rn(x, y); }
};

template <class T>
__global__ void encode_kernel(int n, const float* in, std::uint16_t* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = Type<T>::bits(Type<T>::from(in[i]));
}

template <class T>
__global__ void decode_kernel(int n, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = Type<T>::value(Type<T>::of_bits(static_cast<std::uint16_t>(i)));
}

template <class T>
__global__ void encode_pairs_kernel(int n, const float* in, typename Type<T>::Pair* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = Type<T>::pair(in[2 * i], in[2 * i + 1]);
}

template <class T>
__global__ void add_narrow_kernel(T* one, typename Type<T>::Pair* pair) {
    atomicAdd(one, Type<T>::from(1.0f));
    atomicAdd(pair, Type<T>::pair(1.0f, 0.5f));
}

// ---- ldmatrix and mma ----

__global__ void ldmatrix_kernel(LdMatrix kind, const std::uint16_t* tile, const int* rows,
                                std::uint32_t* out) {
    __shared__ __align__(16) std::uint16_t shared[32][8];
    const int lane = threadIdx.x;
    for (int i = 0; i < 8; ++i) shared[lane][i] = tile[8 * lane + i];
    __syncthreads();
    const void* row = rows[lane] < 0 ? nullptr : shared[rows[lane]];
    std::uint32_t one[1], two[2], four[4], pairs[2][2];
    std::uint32_t* mine = out + 4 * lane;
    switch (kind) {
        case LdMatrix::x1:
        case LdMatrix::x1_trans:
            if (kind == LdMatrix::x1) {
                gemm::ptx::ldmatrix(one, row);
            } else {
                gemm::ptx::ldmatrix_trans(one, row);
            }
            mine[0] = one[0];
            break;
        case LdMatrix::x2:
        case LdMatrix::x2_trans:
            if (kind == LdMatrix::x2) {
                gemm::ptx::ldmatrix(two, row);
            } else {
                gemm::ptx::ldmatrix_trans(two, row);
            }
            for (int r = 0; r < 2; ++r) mine[r] = two[r];
            break;
        case LdMatrix::x4:
        case LdMatrix::x4_trans:
            if (kind == LdMatrix::x4) {
                gemm::ptx::ldmatrix(four, row);
            } else {
                gemm::ptx::ldmatrix_trans(four, row);
            }
            for (int r = 0; r < 4; ++r) mine[r] = four[r];
            break;
        case LdMatrix::x4_trans_pairs:
            gemm::ptx::ldmatrix_trans(pairs, row);
            for (int r = 0; r < 4; ++r) mine[r] = pairs[r / 2][r % 2];
            break;
    }
}

template <class T>
__global__ void mma_kernel(const std::uint16_t* A, const std::uint16_t* B, float* C) {
    const int lane = threadIdx.x;
    std::uint32_t a[4] = {}, b[2] = {};
    float acc[4];
    for (int half = 0; half < 2; ++half) {
        for (int r = 0; r < 4; ++r) {
            const Position p = gemm::ptx::fragment_a(lane, r, half);
            a[r] |= static_cast<std::uint32_t>(A[16 * p.row + p.col]) << (16 * half);
        }
        for (int r = 0; r < 2; ++r) {
            const Position p = gemm::ptx::fragment_b(lane, r, half);
            b[r] |= static_cast<std::uint32_t>(B[8 * p.row + p.col]) << (16 * half);
        }
    }
    for (int i = 0; i < 4; ++i) {
        const Position p = gemm::ptx::fragment_c(lane, i);
        acc[i] = C[8 * p.row + p.col];
    }
    gemm::ptx::mma_m16n8k16<T>(acc, a, b);
    for (int i = 0; i < 4; ++i) {
        const Position p = gemm::ptx::fragment_c(lane, i);
        C[8 * p.row + p.col] = acc[i];
    }
}

template <class T>
__global__ void warp_tile_kernel(const T* A, const T* B, float* C) {
    using Swizzle = gemm::Swizzle<3, 3, 3>;  // units of 8 elements in rows of 64
    __shared__ __align__(1024) T As[16 * 64], Bs[64 * 64];
    const int lane = threadIdx.x;
    for (int i = 8 * lane; i < 16 * 64; i += 8 * 32) gemm::ptx::cp_async<16>(&As[Swizzle::apply(i)], &A[i]);
    for (int i = 8 * lane; i < 64 * 64; i += 8 * 32) gemm::ptx::cp_async<16>(&Bs[Swizzle::apply(i)], &B[i]);
    gemm::ptx::cp_async_commit();
    gemm::ptx::cp_async_wait<0>();
    __syncthreads();

    const Position at = gemm::ptx::ldmatrix_row(lane);
    float acc[8][4] = {};
    for (int k = 0; k < 64; k += 16) {
        std::uint32_t a_frag[4], b_frag[4][2][2];
        gemm::ptx::ldmatrix(a_frag, &As[Swizzle::apply(64 * at.row + k + at.col)]);
        for (int j = 0; j < 4; ++j) {
            gemm::ptx::ldmatrix_trans(b_frag[j], &Bs[Swizzle::apply(64 * (k + at.row) + 16 * j + at.col)]);
        }
        for (int j = 0; j < 8; ++j) gemm::ptx::mma_m16n8k16<T>(acc[j], a_frag, b_frag[j / 2][j % 2]);
    }
    for (int j = 0; j < 8; ++j) {
        for (int i = 0; i < 4; ++i) {
            const Position p = gemm::ptx::fragment_c(lane, i);
            C[64 * p.row + 8 * j + p.col] = acc[j][i];
        }
    }
}

// ---- wmma ----

namespace wmma = nvcuda::wmma;

template <class T, class LayoutA, class LayoutB>
__global__ void wmma_kernel(bool shared, bool c_col, const T* A, const T* B, float* C) {
    __shared__ __align__(32) T As[16 * 24], Bs[16 * 32];
    __shared__ __align__(32) float Cs[16 * 20];
    for (int i = threadIdx.x; i < 16 * 24; i += 32) As[i] = A[i];
    for (int i = threadIdx.x; i < 16 * 32; i += 32) Bs[i] = B[i];
    for (int i = threadIdx.x; i < 16 * 20; i += 32) Cs[i] = C[i];
    __syncthreads();

    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, LayoutA> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, LayoutB> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c, sum;
    const wmma::layout_t layout = c_col ? wmma::mem_col_major : wmma::mem_row_major;
    wmma::load_matrix_sync(a, shared ? As : A, 24);
    wmma::load_matrix_sync(b, shared ? Bs : B, 32);
    wmma::load_matrix_sync(c, shared ? Cs : C, 20, layout);
    for (int i = 0; i < a.num_elements; ++i) a.x[i] = Type<T>::from(2.0f * Type<T>::value(a.x[i]));
    wmma::fill_fragment(sum, 0.0f);
    wmma::mma_sync(sum, a, b, sum);
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] += c.x[i];
    wmma::store_matrix_sync(shared ? Cs : C, sum, 20, layout);
    __syncthreads();
    for (int i = threadIdx.x; shared && i < 16 * 20; i += 32) C[i] = Cs[i];
}

template <class T>
void launch_wmma(bool shared, bool a_col, bool b_col, bool c_col, const std::uint16_t* A,
                 const std::uint16_t* B, float* C) {
    using wmma::col_major, wmma::row_major;
    const auto kernel =
        a_col ? (b_col ? wmma_kernel<T, col_major, col_major> : wmma_kernel<T, col_major, row_major>)
              : (b_col ? wmma_kernel<T, row_major, col_major> : wmma_kernel<T, row_major, row_major>);
    kernel<<<1, 32>>>(shared, c_col, reinterpret_cast<const T*>(A), reinterpret_cast<const T*>(B), C);
}

}  // namespace

void encode(Narrow type, int n, const float* in, std::uint16_t* out) {
    if (type == Narrow::half) {
        encode_kernel<__half><<<(n + 255) / 256, 256>>>(n, in, out);
    } else {
        encode_kernel<__nv_bfloat16><<<(n + 255) / 256, 256>>>(n, in, out);
    }
}

void decode(Narrow type, int n, float* out) {
    if (type == Narrow::half) {
        decode_kernel<__half><<<(n + 255) / 256, 256>>>(n, out);
    } else {
        decode_kernel<__nv_bfloat16><<<(n + 255) / 256, 256>>>(n, out);
    }
}

void add_narrow(Narrow type, std::uint16_t* out) {
    if (type == Narrow::half) {
        add_narrow_kernel<__half>
            <<<1, 64>>>(reinterpret_cast<__half*>(out), reinterpret_cast<__half2*>(out + 2));
    } else {
        add_narrow_kernel<__nv_bfloat16>
            <<<1, 64>>>(reinterpret_cast<__nv_bfloat16*>(out), reinterpret_cast<__nv_bfloat162*>(out + 2));
    }
}

void encode_pairs(Narrow type, int n, const float* in, std::uint16_t* out) {
    if (type == Narrow::half) {
        encode_pairs_kernel<__half><<<(n + 255) / 256, 256>>>(n, in, reinterpret_cast<__half2*>(out));
    } else {
        encode_pairs_kernel<__nv_bfloat16>
            <<<(n + 255) / 256, 256>>>(n, in, reinterpret_cast<__nv_bfloat162*>(out));
    }
}

void ldmatrix(LdMatrix kind, const std::uint16_t* tile, const int* rows, std::uint32_t* out) {
    ldmatrix_kernel<<<1, 32>>>(kind, tile, rows, out);
}

void mma(Narrow type, const std::uint16_t* A, const std::uint16_t* B, float* C) {
    if (type == Narrow::half) {
        mma_kernel<__half><<<1, 32>>>(A, B, C);
    } else {
        mma_kernel<__nv_bfloat16><<<1, 32>>>(A, B, C);
    }
}

void warp_tile(Narrow type, const std::uint16_t* A, const std::uint16_t* B, float* C) {
    if (type == Narrow::half) {
        warp_tile_kernel<__half>
            <<<1, 32>>>(reinterpret_cast<const __half*>(A), reinterpret_cast<const __half*>(B), C);
    } else {
        warp_tile_kernel<__nv_bfloat16><<<1, 32>>>(reinterpret_cast<const __nv_bfloat16*>(A),
                                                   reinterpret_cast<const __nv_bfloat16*>(B), C);
    }
}

void wmma(Narrow type, bool shared, bool a_col, bool b_col, bool c_col, const std::uint16_t* A,
          const std::uint16_t* B, float* C) {
    if (type == Narrow::half) {
        launch_wmma<__half>(shared, a_col, b_col, c_col, A, B, C);
    } else {
        launch_wmma<__nv_bfloat16>(shared, a_col, b_col, c_col, A, B, C);
    }
}

}  // namespace kernels
