#include "tests/ptx/wgmma_gemm.hpp"

#include <cstddef>

#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"
#include "common/tma/tensor_map.hpp"

namespace kernels {
namespace {

using gemm::ptx::Major;
using gemm::ptx::Mbarrier;
using gemm::ptx::mbarrier_arrive;
using gemm::ptx::mbarrier_wait;
using gemm::ptx::WgmmaFields;
using gemm::ptx::WgmmaSwizzle;

constexpr int BM = 64, BN = 128, BK = 64, kStages = 2, kConsumers = 128;
constexpr int kAtom = 64;  // elements in the 128 bytes that swizzling spans
// Of a stage: A's 64 rows of 128 bytes, then B's columns 0 … 63 and 64 … 127, each 64 rows of 128 bytes.
constexpr unsigned kBytesA = BM * BK * 2, kBytesB = BK * BN * 2, kBytes = kBytesA + kBytesB;

struct Sizes {
    int M, N, K;
};

/// Where element (row, column) of a tile with 64 elements a row lies.
__device__ int swizzled(int row, int column) {
    return row * kAtom + ((column / 8) ^ (row % 8)) * 8 + column % 8;
}

template <WgmmaMistake MISTAKE>
__global__ void __launch_bounds__(kConsumers + 32)
    wgmma_gemm_kernel(Sizes s, const __grid_constant__ CUtensorMap map_a,
                      const __grid_constant__ CUtensorMap map_b, const std::uint16_t* A, float* C) {
    extern __shared__ __align__(1024) std::uint8_t memory[];
    __shared__ Mbarrier barriers[2 * kStages + 1];
    Mbarrier *const full = barriers, *const empty = full + kStages, &met = empty[kStages];
    constexpr bool kByThreads =
        MISTAKE == WgmmaMistake::a_by_threads || MISTAKE == WgmmaMistake::no_proxy_fence;
    constexpr bool kOverlapped =
        MISTAKE == WgmmaMistake::overlapped || MISTAKE == WgmmaMistake::wait_too_short;
    const int thread = threadIdx.x;
    if (thread == 0) {
        for (int stage = 0; stage < kStages; ++stage) {
            gemm::ptx::mbarrier_init(full[stage], 1);
            gemm::ptx::mbarrier_init(empty[stage], kConsumers);
        }
        gemm::ptx::mbarrier_init(met, kConsumers);
        gemm::ptx::fence_mbarrier_init();
    }
    __syncthreads();
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN, steps = (s.K + BK - 1) / BK;

    if (thread >= kConsumers) {
        if (thread > kConsumers) return;
        for (int i = 0; i < steps; ++i) {
            const int stage = i % kStages, k0 = i * BK;
            std::uint8_t* const a = memory + stage * kBytes;
            std::uint8_t* const b = a + kBytesA;
            mbarrier_wait(empty[stage], (i / kStages & 1) ^ 1);
            gemm::ptx::mbarrier_arrive_expect_tx(full[stage], kByThreads ? kBytesB : kBytes);
            if (!kByThreads) gemm::ptx::tma_load(a, map_a, {k0, m0}, full[stage]);
            gemm::ptx::tma_load(b, map_b, {n0, k0}, full[stage]);  // LINE load-b
            gemm::ptx::tma_load(b + kBytesB / 2, map_b, {n0 + kAtom, k0}, full[stage]);
        }
        return;
    }

    float sums[BN / 2] = {};
    for (int i = 0; i < steps; ++i) {
        const int stage = i % kStages;
        std::uint8_t* const tile = memory + stage * kBytes;
        mbarrier_wait(full[stage], i / kStages & 1);
        if (kByThreads) {
            auto* const a = reinterpret_cast<std::uint16_t*>(tile);
            for (int e = thread; e < BM * BK; e += kConsumers) {
                const int row = m0 + e / BK, k = i * BK + e % BK;
                const bool inside = row < s.M && k < s.K;
                const auto value = inside ? A[static_cast<std::size_t>(row) * s.K + k] : std::uint16_t{0};
                a[swizzled(e / BK, e % BK)] = value;  // LINE write-a
            }
            if (MISTAKE != WgmmaMistake::no_proxy_fence) gemm::ptx::fence_proxy_async();
            mbarrier_arrive(met);
            mbarrier_wait(met, i & 1);
        }
        const unsigned start = gemm::ptx::shared_address(tile);
        WgmmaFields a{.start = start, .stride = 1024, .swizzle = WgmmaSwizzle::bytes128};
        WgmmaFields b{.start = start + kBytesA,
                      .leading = kBytesB / 2,
                      .stride = 1024,
                      .swizzle = WgmmaSwizzle::bytes128};
        if (MISTAKE == WgmmaMistake::no_swizzle) a.swizzle = WgmmaSwizzle::none;
        if (MISTAKE == WgmmaMistake::strides_exchanged) b.leading = 1024, b.stride = kBytesB / 2;
        if (MISTAKE == WgmmaMistake::other_descriptor && thread == 77) b.start += 16;
        if (MISTAKE == WgmmaMistake::one_warp_less && thread >= 96) return;
        if (MISTAKE == WgmmaMistake::sums_touched && i > 0) sums[0] += 1;
        const bool fenced =
            MISTAKE == WgmmaMistake::sums_touched ? i == 0 : MISTAKE != WgmmaMistake::no_fence;
        if (fenced) gemm::ptx::wgmma_fence(sums);
        for (int k = 0; k < BK; k += 16) {
            const bool add = i + k > 0;
            const std::uint64_t of_a = encode(a), of_b = encode(b);
            gemm::ptx::wgmma<__nv_bfloat16, BN, Major::k, Major::row>(sums, of_a, of_b, add);  // LINE wgmma
            a.start += MISTAKE == WgmmaMistake::past_the_atom && k == 16 ? BM * 128 : 32;
            b.start += 16 * 128;
        }
        if (MISTAKE == WgmmaMistake::released_early) mbarrier_arrive(empty[stage]);
        if (MISTAKE != WgmmaMistake::no_commit) gemm::ptx::wgmma_commit();
        if constexpr (kOverlapped) {
            gemm::ptx::wgmma_wait<1>(sums);
            if (i > 0) mbarrier_arrive(empty[(i - 1) % kStages]);
            continue;
        }
        if (MISTAKE != WgmmaMistake::no_wait) gemm::ptx::wgmma_wait<0>(sums);
        if (MISTAKE != WgmmaMistake::released_early) mbarrier_arrive(empty[stage]);
    }
    if (MISTAKE == WgmmaMistake::overlapped) gemm::ptx::wgmma_wait<0>(sums);
    for (int i = 0; i < BN / 2; ++i) {
        const auto place = gemm::ptx::wgmma_sum(thread, i);
        const int row = m0 + static_cast<int>(place.row), column = n0 + static_cast<int>(place.column);
        if (row < s.M && column < s.N) C[static_cast<std::size_t>(row) * s.N + column] = sums[i];
    }
    if (MISTAKE == WgmmaMistake::no_wait || MISTAKE == WgmmaMistake::wait_too_short)
        gemm::ptx::wgmma_wait<0>();
}

CUtensorMap map_of(const std::uint16_t* matrix, int rows, int columns, int box_rows) {
    gemm::TensorMapFields f;
    f.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    f.address = matrix;
    f.sizes[0] = static_cast<cuuint64_t>(columns);
    f.sizes[1] = static_cast<cuuint64_t>(rows);
    f.strides[0] = static_cast<cuuint64_t>(columns) * 2;
    f.box[0] = kAtom;
    f.box[1] = static_cast<cuuint32_t>(box_rows);
    f.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    return gemm::tensor_map(f);
}

template <WgmmaMistake MISTAKE>
void launch(int M, int N, int K, const std::uint16_t* A, const std::uint16_t* B, float* C) {
    constexpr int kShared = kStages * static_cast<int>(kBytes);
    cudaFuncSetAttribute(wgmma_gemm_kernel<MISTAKE>, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
    const CUtensorMap a = map_of(A, M, K, BM), b = map_of(B, K, N, BK);
    wgmma_gemm_kernel<MISTAKE><<<dim3((N + BN - 1) / BN, (M + BM - 1) / BM), kConsumers + 32, kShared>>>(
        Sizes{M, N, K}, a, b, A, C);
}

}  // namespace

void wgmma_gemm(WgmmaMistake mistake, int M, int N, int K, const std::uint16_t* A, const std::uint16_t* B,
                float* C) {
    switch (mistake) {
#define CASE(name)           \
    case WgmmaMistake::name: \
        return launch<WgmmaMistake::name>(M, N, K, A, B, C);
        CASE(none)
        CASE(a_by_threads)
        CASE(overlapped)
#ifdef GEMM_CPU_DEVICE
        CASE(released_early)
        CASE(no_proxy_fence)
#endif
#if defined(GEMM_CPU_DEVICE) && !defined(GEMM_TRACED)
        CASE(no_fence)
        CASE(no_commit)
        CASE(no_wait)
        CASE(wait_too_short)
        CASE(no_swizzle)
        CASE(strides_exchanged)
        CASE(past_the_atom)
        CASE(other_descriptor)
        CASE(one_warp_less)
        CASE(sums_touched)
#else
        default:
            return;
#endif
#undef CASE
    }
}

}  // namespace kernels
