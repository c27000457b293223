// Inline PTX around a product: each instruction is asserted to give what the PTX ISA says.
#include <cstdint>

__device__ __forceinline__ unsigned bits(float x) {
    return __float_as_uint(x);
}

__device__ void integers() {
    unsigned x, y;
    unsigned long long wide;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(wide) : "r"(0x80000000u), "r"(6));
    assert(wide == 0x300000000ull);
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(wide) : "r"(-3), "r"(5), "l"(20ll));
    assert(wide == 5);
    asm("bfe.u32 %0, %1, 4, 8;" : "=r"(x) : "r"(0x12345678));
    assert(x == 0x67);
    asm("bfi.b32 %0, %1, %2, 8, 4;" : "=r"(x) : "r"(0xab), "r"(0x12345678));
    assert(x == 0x12345b78);
    asm("popc.b32 %0, %1;" : "=r"(x) : "r"(0xf0f));
    asm("clz.b32 %0, %1;" : "=r"(y) : "r"(1));
    assert(x == 8 && y == 31);
    asm("brev.b32 %0, %1;" : "=r"(x) : "r"(1));
    assert(x == 0x80000000u);
    asm("{ rem.s32 %0, %2, 5; div.s32 %1, %2, 5; }" : "=r"(x), "=r"(y) : "r"(-13));
    assert(static_cast<int>(x) == -3 && static_cast<int>(y) == -2);
    asm("abs.s32 %0, %1;" : "=r"(x) : "r"(-13));
    assert(x == 13);
}

__device__ void floats() {
    float x;
    double d;
    unsigned pair, half, less;
    asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(d) : "d"(0.5), "d"(3.0), "d"(1.0));
    assert(d == 2.5);
    asm("{ .reg .pred p; setp.lt.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }" : "=r"(less) : "f"(1.0f), "f"(2.0f));
    assert(less == 1);
    asm("{ .reg .pred p; setp.gt.f32 p, %1, %2; not.pred p, p; selp.u32 %0, 1, 0, p; }"
        : "=r"(less)
        : "f"(2.0f), "f"(1.0f));
    assert(less == 0);
    asm("sqrt.rn.f32 %0, %1;" : "=f"(x) : "f"(9.0f));
    assert(x == 3.0f);
    asm("cvt.rni.s32.f32 %0, %1;" : "=r"(less) : "f"(-2.5f));
    assert(static_cast<int>(less) == -2);
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(pair) : "r"(0x3f804000), "r"(0x40003f80), "r"(0x3f803f80));
    assert(pair == 0x40404040);  // 3, 3
    asm("max.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(0x3c004000), "r"(0x40003c00));
    assert(pair == 0x40004000);  // 2, 2
    asm("{ .reg .b16 h; cvt.rn.bf16.f32 h, %1; cvt.u32.u16 %0, h; }" : "=r"(half) : "f"(1.5f));
    assert(half == 0x3fc0);
}

__device__ void lanes() {
    unsigned lane, got;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("shfl.sync.bfly.b32 %0, %1, 3, 0x1f, 0xffffffff;" : "=r"(got) : "r"(lane));
    assert(got == (lane ^ 3));
    asm("shfl.sync.idx.b32 %0, %1, 1, 0x181f, 0xffffffff;" : "=r"(got) : "r"(lane));  // of each eight
    assert(got == lane / 8 * 8 + 1);
    asm("{ .reg .pred p; setp.lt.u32 p, %1, 4; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
        : "=r"(got)
        : "r"(lane));
    assert(got == 15);
    asm("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(got) : "r"(lane));
    assert(got == 31);
    unsigned elected = 0;
    asm volatile("{ .reg .b32 %rx; .reg .pred %px; elect.sync %rx|%px, %1; @%px mov.s32 %0, 1; }"
                 : "+r"(elected)
                 : "r"(0xffffffffu));
    assert(__popc(__ballot_sync(0xffffffffu, elected)) == 1);
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(got));
    assert(__popc(got) == lane + 1);
    __shared__ unsigned count;
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(&count));
    if (threadIdx.x == 0) asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(address), "r"(0) : "memory");
    __syncthreads();
    asm volatile("atom.shared.add.u32 %0, [%1], 2;" : "=r"(got) : "r"(address) : "memory");
    assert(got < 2 * blockDim.x);
    __syncthreads();
    assert(count == 2 * blockDim.x);
}

__global__ void all_of_them(int N, int K, const float* A, const float* B, float* C) {
    integers();
    floats();
    lanes();
    float* const c = C + blockIdx.x * N + threadIdx.x;
    *c = 0.0f;
    for (int k = 0; k < K; ++k)
        asm volatile("red.global.add.f32 [%0], %1;" ::"l"(c),
                     "f"(A[blockIdx.x * K + k] * B[k * N + threadIdx.x])
                     : "memory");
}

/// The second half of the warps brings the rows of A in turn; the first says when it has used them, and does
/// not wait for what comes then.
__global__ void arrivals(int N, int K, const float* A, const float* B, float* C) {
    __shared__ float row[2][64];
    const int lane = threadIdx.x % 64;
    float sum = 0.0f;
    if (threadIdx.x >= 64) {
        for (int k = 0, stage = 0; k < K; k += 64, stage ^= 1) {
            if (k >= 128) asm volatile("bar.sync %0, 128;" ::"r"(3 + stage) : "memory");
            row[stage][lane] = A[blockIdx.x * K + k + lane];
            asm volatile("bar.arrive %0, 128;" ::"r"(1 + stage) : "memory");
        }
        return;
    }
    for (int k = 0, stage = 0; k < K; k += 64, stage ^= 1) {
        asm volatile("bar.sync %0, 128;" ::"r"(1 + stage) : "memory");
        for (int i = 0; i < 64; ++i) sum += row[stage][i] * B[(k + i) * N + lane];
        if (k + 128 < K) asm volatile("bar.arrive %0, 128;" ::"r"(3 + stage) : "memory");
    }
    C[blockIdx.x * N + lane] = sum;
}
