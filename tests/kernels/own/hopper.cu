// TMA, mbarriers, wgmma and setmaxnreg as inline PTX: a producer warpgroup, and one that multiplies. B is N
// rows of K.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cassert>
#include <cstdint>

using bf16 = __nv_bfloat16;
constexpr int BM = 128, BN = 64, BK = 64, STAGES = 2;

struct Tiles {
    alignas(1024) bf16 A[STAGES][BM * BK];
    alignas(1024) bf16 B[STAGES][BN * BK];
    alignas(8) uint64_t full[STAGES], empty[STAGES];
};

__device__ uint32_t number_of(const void* shared) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}
__device__ void init(uint64_t* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(number_of(barrier)), "r"(arrivals));
}
__device__ void expect(uint64_t* barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(number_of(barrier)),
                 "r"(bytes)
                 : "memory");
}
__device__ void arrive(uint64_t* barrier) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];\n" ::"r"(number_of(barrier))
                 : "memory");
}
__device__ void wait(uint64_t* barrier, uint32_t parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "AGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra READY;\n"
        "bra AGAIN;\n"
        "READY:\n"
        "}\n" ::"r"(number_of(barrier)),
        "r"(parity)
        : "memory");
}
__device__ void load(bf16* to, const CUtensorMap* map, uint64_t* barrier, int k, int row) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, "
        "%4}], [%2];\n" ::"r"(number_of(to)),
        "l"(map), "r"(number_of(barrier)), "r"(k), "r"(row)
        : "memory");
}
// A tile of rows of 128 bytes, swizzled over 128: groups of 8 rows are 1024 bytes apart.
__device__ uint64_t descriptor(const bf16* tile) {
    const auto field = [](uint64_t bytes) { return (bytes & 0x3ffff) >> 4; };
    return field(number_of(tile)) | field(16) << 16 | field(1024) << 32 | uint64_t{1} << 62;
}
__device__ void multiply(float (&d)[32], uint64_t a, uint64_t b, int add) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, p, 1, 1, 0, 0;\n"
        "}\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "l"(a), "l"(b), "r"(add));
}

__global__ void __launch_bounds__(384) pipelined(int K, int ldc, const __grid_constant__ CUtensorMap map_a,
                                                 const __grid_constant__ CUtensorMap map_b, float* C) {
    extern __shared__ __align__(1024) uint8_t memory[];
    Tiles& s = *reinterpret_cast<Tiles*>(memory);
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN, group = threadIdx.x / 128,
              t = threadIdx.x % 128;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) init(&s.full[i], 1), init(&s.empty[i], 256);
        asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    }
    __syncthreads();
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(40));
        for (int k0 = 0, i = 0; t == 0 && k0 < K; k0 += BK, ++i) {
            const int stage = i % STAGES, round = i / STAGES;
            if (round > 0) wait(&s.empty[stage], (round - 1) % 2);
            expect(&s.full[stage], sizeof s.A[0] + sizeof s.B[0]);
            load(s.A[stage], &map_a, &s.full[stage], k0, row0);
            load(s.B[stage], &map_b, &s.full[stage], k0, col0);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(232));
        float d[32] = {};
        for (int k0 = 0, i = 0; k0 < K; k0 += BK, ++i) {
            const int stage = i % STAGES;
            wait(&s.full[stage], i / STAGES % 2);
            asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
            for (int k = 0; k < BK; k += 16)
                multiply(d, descriptor(s.A[stage] + (group - 1) * 64 * BK + k), descriptor(s.B[stage] + k),
                         i + k > 0);
            asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
            asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
            arrive(&s.empty[stage]);
        }
        const int row = row0 + (group - 1) * 64 + t / 32 * 16 + t % 32 / 4, col = col0 + t % 4 * 2;
        for (int j = 0; j < 32; ++j) C[(row + j / 2 % 2 * 8) * ldc + col + j / 4 * 8 + j % 2] = d[j];
    }
}

CUtensorMap map_of(bf16* matrix, uint64_t rows, uint64_t k, uint64_t pitch, uint32_t box_rows) {
    CUtensorMap map;
    const uint64_t sizes[] = {k, rows}, strides[] = {pitch * sizeof(bf16)};
    const uint32_t box[] = {BK, box_rows}, steps[] = {1, 1};
    const CUresult status =
        cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, matrix, sizes, strides, box, steps,
                               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    assert(status == CUDA_SUCCESS);
    return map;
}

void multiply(int M, int N, int K, bf16* A, int lda, bf16* B, int ldb, float* C, int ldc) {
    cudaFuncSetAttribute(pipelined, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Tiles));
    pipelined<<<dim3(N / BN, M / BM), 384, sizeof(Tiles)>>>(K, ldc, map_of(A, M, K, lda, BM),
                                                            map_of(B, N, K, ldb, BN), C);
}
