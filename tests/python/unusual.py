"""Kernels that are right and unlike the lessons': what the check must not refuse. Each is a file of exercise 01. (Those that
change a few lines of a lesson: [right] of its mistakes.toml.)"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Unusual:
    """what: is unusual. code: the kernel and launch(), and the constants BM, BN and BK of its descriptor where they are not 16,
    16 and 1; gemm_kernel is one of its kernels."""

    what: str
    code: str

    def text(self) -> str:
        """The whole file."""
        sizes = "" if "constexpr int BM" in self.code else "constexpr int BM = 16, BN = 16, BK = 1;\n"
        prepare = ".prepare = prepare, " if "gemm::Plan prepare(" in self.code else ""
        return f"""{_HEAD}{sizes}{self.code}
const gemm::Offer variants[] = {{{{.variant = gemm::of_type(gemm::DType::fp32),
                                 .kernel = reinterpret_cast<const void*>(&gemm_kernel),
                                 .architectures = {{.from = 50}},
                                 .configuration = {{.tile = {{BM, BN, BK}}, .block = dim3(256)}}}}}};
extern const gemm::Lesson lesson{{.name = "exercise 01", .part = 1, .ladder = "fp32",
                                 .variants = variants, {prepare}.launch = launch}};
}}  // namespace exercise_01
"""


_HEAD = """#include <algorithm>
#include <memory>
#include <new>

#include "common/gemm.hpp"

namespace exercise_01 {

using Int = std::int64_t;
#define MATRICES Int M, Int N, Int K, float alpha, const float *A, Int lda, const float *B, Int ldb, float beta, float *C, Int ldc
#define OF(p)                                                                                                     \\
    p.M, p.N, p.K, p.alpha, static_cast<const float *>(p.A), p.lda, static_cast<const float *>(p.B), p.ldb, p.beta, \\
        static_cast<float *>(p.C), p.ldc

__device__ float sum_of(const float *a, const float *b, Int K, Int ldb) {
    float acc = 0.0f;
    for (Int k = 0; k < K; ++k) acc += a[k] * b[k * ldb];
    return acc;
}
__device__ void put(float *c, float alpha, float sum, float beta) {
    *c = beta == 0.0f ? alpha * sum : alpha * sum + beta * *c;
}
unsigned blocks_for(Int count, Int each) { return static_cast<unsigned>(gemm::ceil_div(count, each)); }

"""
_LAUNCH = """
void launch(const gemm::Problem &p, const void *, cudaStream_t stream) {{
    if (p.M == 0 || p.N == 0) return;
    gemm_kernel<<<{grid}, {block}, {shared}, stream>>>(OF(p));
}}
"""


def launched(grid: str, block: str, shared: str = "0") -> str:
    """A launch() of gemm_kernel alone."""
    return _LAUNCH.format(grid=grid, block=block, shared=shared)


_BY_TILES = "dim3(blocks_for(p.M, BM) * blocks_for(p.N, BN))"
_SPLIT = """
__global__ void scale(Int M, Int N, float beta, float *C, Int ldc) {
    const Int i = blockIdx.x * Int{256} + threadIdx.x;
    if (i >= M * N) return;
    float &c = C[i / N * ldc + i % N];
    c = beta == 0.0f ? 0.0f : beta * c;
}
__global__ void gemm_kernel(MATRICES, int parts) {
    const Int i = blockIdx.x / parts * Int{256} + threadIdx.x, part = blockIdx.x % parts;
    if (i >= M * N) return;
    const Int row = i / N, col = i % N, first = K * part / parts, last = K * (part + 1) / parts;
    atomicAdd(&C[row * ldc + col], alpha * sum_of(A + row * lda + first, B + first * ldb + col, last - first, ldb));
}
"""
_TILED = """constexpr int BM = {BM}, BN = {BN}, BK = {BK};
__global__ void gemm_kernel(MATRICES) {{
    {shared}
    const Int tiles_n = (N + BN - 1) / BN, row0 = blockIdx.x / tiles_n * BM, col0 = blockIdx.x % tiles_n * BN;
    const int t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    const Int row = row0 + threadIdx.y, col = col0 + threadIdx.x;
    float sum = 0.0f;
    for (Int k0 = 0; alpha != 0.0f && k0 < K; k0 += BK) {{
        for (int i = t; i < BM * BK; i += threads) {{
            const Int y = i / BK, x = i % BK;
            As[y * (BK + {pad}) + x] = row0 + y < M && k0 + x < K ? A[(row0 + y) * lda + k0 + x] : 0.0f;
        }}
        for (int i = t; i < BK * BN; i += threads) {{
            Bs[i] = k0 + i / BN < K && col0 + i % BN < N ? B[(k0 + i / BN) * ldb + col0 + i % BN] : 0.0f;
        }}
        __syncthreads();
        for (int k = 0; k < BK; ++k) sum += As[threadIdx.y * (BK + {pad}) + k] * Bs[k * BN + threadIdx.x];
        __syncthreads();
    }}
    if (row < M && col < N) put(&C[row * ldc + col], alpha, sum, beta);
}}
"""


def tiled(BM: int, BN: int, BK: int, shared: str, pad: int = 0, bytes_: str = "0") -> str:
    """Tiles that all threads of the block fill together."""
    return _TILED.format(BM=BM, BN=BN, BK=BK, shared=shared, pad=pad) + launched(_BY_TILES, "dim3(BN, BM)", bytes_)


_STATIC = "__shared__ float As[BM * (BK + 1)], Bs[BK * BN];"
_WARP = """__global__ void gemm_kernel(MATRICES) {{
    const Int i = (blockIdx.x * Int{{256}} + threadIdx.x) / 32, row = i / N, col = i % N;
    const int lane = threadIdx.x % 32;
    if (i >= M * N) return;
    float sum = 0.0f;
    for (Int k = lane; alpha != 0.0f && k < K; k += 32) sum += A[row * lda + k] * B[k * ldb + col];
    {reduce}
    if (lane == 0) put(&C[row * ldc + col], alpha, sum, beta);
}}
"""
_BY_WARPS = launched("dim3(blocks_for(p.M * p.N, 8))", "256")


def each(way: str, grid: str, block: str) -> str:
    """Every element by itself, on such a way to its row and col."""
    body = "put(&C[row * ldc + col], alpha, alpha == 0.0f ? 0.0f : sum_of(A + row * lda, B + col, K, ldb), beta);"
    return f"__global__ void gemm_kernel(MATRICES) {{\n    {way} {body}\n}}\n" + launched(grid, block)


_STRIDED = """for (Int i = blockIdx.x * Int{blockDim.x} + threadIdx.x; i < M * N; i += Int{gridDim.x} * blockDim.x)
        if (const Int row = i / N, col = i % N; true)"""
_SPLIT_LAUNCH = """
void launch(const gemm::Problem &p, const void *, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    {first}
    if (p.alpha != 0.0f) gemm_kernel<<<blocks_for(p.M * p.N, 256) * 3, 256, 0, stream>>>(OF(p), 3);
}
"""
_SCALE = "scale<<<blocks_for(p.M * p.N, 256), 256, 0, stream>>>(p.M, p.N, p.beta, static_cast<float *>(p.C), p.ldc);"

KERNELS: tuple[Unusual, ...] = (
    Unusual("a grid-stride loop over few blocks", each(_STRIDED, "64", "256")),
    Unusual("blocks of 1024 threads in one dimension", each(_STRIDED, "dim3(blocks_for(p.M * p.N, 1024))", "1024")),
    Unusual("blocks of 7 threads", each(_STRIDED, "dim3(std::min(1000u, blocks_for(p.M * p.N, 7)))", "7")),
    Unusual(
        "a thread a row",
        each(
            "if (const Int row = blockIdx.x * Int{64} + threadIdx.x; row < M) for (Int col = 0; col < N; ++col)",
            "dim3(blocks_for(p.M, 64))",
            "64",
        ),
    ),
    Unusual(
        "elements counted down the columns",
        each(
            "if (const Int i = blockIdx.x * Int{128} + threadIdx.x, row = i % M, col = i / M; col < N)",
            "dim3(blocks_for(p.M * p.N, 128))",
            "128",
        ),
    ),
    Unusual(
        "a grid of two dimensions that goes round",
        each(
            """for (Int row = blockIdx.y * Int{8} + threadIdx.y; row < M; row += Int{8} * gridDim.y)
        for (Int col = blockIdx.x * Int{32} + threadIdx.x; col < N; col += Int{32} * gridDim.x)""",
            "dim3(blocks_for(p.N, 32), std::min(65535u, blocks_for(p.M, 8)))",
            "dim3(32, 8)",
        ),
    ),
    Unusual(
        "a block of three dimensions, of which one divides K",
        """__global__ void gemm_kernel(MATRICES) {
    __shared__ float sums[4][8][8];
    const Int tiles_n = (N + 7) / 8;
    const Int row = blockIdx.x / tiles_n * 8 + threadIdx.y, col = blockIdx.x % tiles_n * 8 + threadIdx.x;
    const bool there = row < M && col < N && alpha != 0.0f;
    float sum = 0.0f;
    for (Int k = threadIdx.z; there && k < K; k += 4) sum += A[row * lda + k] * B[k * ldb + col];
    sums[threadIdx.z][threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.z != 0 || row >= M || col >= N) return;
    for (int z = 1; z < 4; ++z) sum += sums[z][threadIdx.y][threadIdx.x];
    put(&C[row * ldc + col], alpha, sum, beta);
}
"""
        + launched("dim3(blocks_for(p.M, 8) * blocks_for(p.N, 8))", "dim3(8, 8, 4)"),
    ),
    Unusual(
        "a warp an element, reduced by shuffles down",
        _WARP.format(reduce="for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);") + _BY_WARPS,
    ),
    Unusual(
        "a warp an element, reduced by shuffles across",
        _WARP.format(reduce="for (int d = 1; d < 32; d *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);") + _BY_WARPS,
    ),
    Unusual(
        "a block an element, reduced in shared memory",
        """constexpr int BM = 1, BN = 1, BK = 64;
__global__ void gemm_kernel(MATRICES) {
    __shared__ float sums[64];
    const Int row = blockIdx.x / N, col = blockIdx.x % N;
    float sum = 0.0f;
    for (Int k = threadIdx.x; alpha != 0.0f && k < K; k += 64) sum += A[row * lda + k] * B[k * ldb + col];
    sums[threadIdx.x] = sum;
    for (int half = 32; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) put(&C[row * ldc + col], alpha, sums[0], beta);
}
"""
        + launched("dim3(static_cast<unsigned>(p.M * p.N))", "64"),
    ),
    Unusual("split-K with atomicAdd behind a kernel that scales C", _SPLIT + _SPLIT_LAUNCH.replace("{first}", _SCALE)),
    Unusual(
        "split-K with atomicAdd behind cudaMemset2DAsync",
        _SPLIT
        + _SPLIT_LAUNCH.replace(
            "{first}",
            "if (p.beta == 0.0f) cudaMemset2DAsync(p.C, p.ldc * 4, 0, p.N * 4, p.M, stream);\n    else " + _SCALE,
        ),
    ),
    Unusual(
        "split-K into memory of its own, and a second kernel that adds",
        """struct Sums {
    float *parts = nullptr;
    ~Sums() { cudaFree(parts); }
};
__global__ void gemm_kernel(MATRICES, float *parts) {
    const Int i = blockIdx.x * Int{256} + threadIdx.x, part = i / (M * N), e = i % (M * N);
    if (part > 1) return;
    const Int row = e / N, col = e % N, first = K * part / 2, last = K * (part + 1) / 2;
    parts[i] = alpha == 0.0f ? 0.0f : sum_of(A + row * lda + first, B + first * ldb + col, last - first, ldb);
}
__global__ void add(Int M, Int N, float alpha, float beta, float *C, Int ldc, const float *parts) {
    const Int e = blockIdx.x * Int{256} + threadIdx.x;
    if (e < M * N) put(&C[e / N * ldc + e % N], alpha, parts[e] + parts[M * N + e], beta);
}
gemm::Plan prepare(const gemm::Problem &p) {
    const auto sums = std::make_shared<Sums>();
    if (cudaMalloc(&sums->parts, std::max<Int>(2 * p.M * p.N, 1) * sizeof(float)) != cudaSuccess) throw std::bad_alloc();
    return sums;
}
void launch(const gemm::Problem &p, const void *plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    float *const parts = static_cast<const Sums *>(plan)->parts;
    gemm_kernel<<<blocks_for(2 * p.M * p.N, 256), 256, 0, stream>>>(OF(p), parts);
    add<<<blocks_for(p.M * p.N, 256), 256, 0, stream>>>(p.M, p.N, p.alpha, p.beta, static_cast<float *>(p.C), p.ldc, parts);
}
""",
    ),
    Unusual(
        "blocks that draw their tiles from a variable of the device's",
        """__device__ unsigned long long drawn;
__global__ void begin() { drawn = 0; }
__global__ void gemm_kernel(MATRICES) {
    __shared__ Int tile;
    const Int tiles_n = (N + BN - 1) / BN, tiles = (M + BM - 1) / BM * tiles_n;
    for (;;) {
        if (threadIdx.x + threadIdx.y == 0) tile = static_cast<Int>(atomicAdd(&drawn, 1ull));
        __syncthreads();
        const Int mine = tile;
        __syncthreads();
        if (mine >= tiles) return;
        const Int row = mine / tiles_n * BM + threadIdx.y, col = mine % tiles_n * BN + threadIdx.x;
        if (row >= M || col >= N) continue;
        put(&C[row * ldc + col], alpha, alpha == 0.0f ? 0.0f : sum_of(A + row * lda, B + col, K, ldb), beta);
    }
}
void launch(const gemm::Problem &p, const void *, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    begin<<<1, 1, 0, stream>>>();
    gemm_kernel<<<std::min(8u, blocks_for(p.M, BM) * blocks_for(p.N, BN)), dim3(BN, BM), 0, stream>>>(OF(p));
}
""",
    ),
    Unusual(
        "dynamic shared memory for both tiles",
        tiled(
            16,
            16,
            16,
            "extern __shared__ float shared[]; float *const As = shared, *const Bs = shared + BM * BK;",
            0,
            "4 * (BM * BK + BK * BN)",
        ),
    ),
    Unusual("tiles filled in a loop of all threads, of odd sizes", tiled(12, 20, 7, _STATIC, 1)),
    Unusual("volatile shared memory", tiled(16, 16, 8, _STATIC.replace("__shared__ float", "__shared__ volatile float"), 1)),
    Unusual("a block of one warp", tiled(2, 16, 32, _STATIC, 1)),
    Unusual(
        "a thread with every fourth column, and pairs where they are aligned",
        """constexpr int BM = 8, BN = 64, BK = 1;
__global__ void gemm_kernel(MATRICES, bool pairs) {
    const Int tiles_n = (N + BN - 1) / BN;
    const Int row = blockIdx.x / tiles_n * BM + threadIdx.y, col = blockIdx.x % tiles_n * BN + 2 * threadIdx.x;
    if (row >= M || col >= N) return;
    float sums[2] = {};
    for (Int k = 0; alpha != 0.0f && k < K; ++k) {
        const float *const b = &B[k * ldb + col];
        const float2 two = pairs ? *reinterpret_cast<const float2 *>(b) : make_float2(b[0], col + 1 < N ? b[1] : 0.0f);
        sums[0] += A[row * lda + k] * two.x;
        sums[1] += A[row * lda + k] * two.y;
    }
    for (int e = 0; e < 2 && col + e < N; ++e) put(&C[row * ldc + col + e], alpha, sums[e], beta);
}
void launch(const gemm::Problem &p, const void *, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    const bool pairs = reinterpret_cast<std::uintptr_t>(p.B) % 8 == 0 && (p.N | p.ldb) % 2 == 0;
    gemm_kernel<<<dim3(blocks_for(p.M, BM) * blocks_for(p.N, BN)), dim3(BN / 2, BM), 0, stream>>>(OF(p), pairs);
}
""",
    ),
    Unusual(
        "a column of C a block, B's column kept in shared memory",
        """constexpr int BM = 64, BN = 1, BK = 32;
__global__ void gemm_kernel(MATRICES) {
    __shared__ float column[BK];
    const Int tiles_m = (M + BM - 1) / BM, row = blockIdx.x % tiles_m * BM + threadIdx.x, col = blockIdx.x / tiles_m;
    float sum = 0.0f;
    for (Int k0 = 0; alpha != 0.0f && k0 < K; k0 += BK) {
        if (threadIdx.x < BK && k0 + threadIdx.x < K) column[threadIdx.x] = B[(k0 + threadIdx.x) * ldb + col];
        __syncthreads();
        const Int steps = K - k0 < BK ? K - k0 : BK;
        for (Int k = 0; row < M && k < steps; ++k) sum += A[row * lda + k0 + k] * column[k];
        __syncthreads();
    }
    if (row < M) put(&C[row * ldc + col], alpha, sum, beta);
}
"""
        + launched(_BY_TILES, "BM"),
    ),
    Unusual(
        "one block alone",
        each(
            """for (Int row = threadIdx.y; row < M; row += blockDim.y)
        for (Int col = threadIdx.x; col < N; col += blockDim.x)""",
            "1",
            "dim3(4, 64)",
        ),
    ),
)
