// The one contract between a lesson and everything else: the problem it is given, and how it describes
// itself. Included by kernel.cu, so it stays C++17.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gemm {

/// Type of A, B and C as they lie in memory. Accumulation is FP32 for every type there is. What is known of
/// each is in common/dtype.hpp.
enum class DType { fp32, bf16, fp16 };

/// C = alpha·A·B + beta·C, with A M×K, B K×N and C M×N, all row-major in device memory.
/// Row pitches are in elements: lda ≥ K, ldb ≥ N, ldc ≥ N; what lies between two rows is padding and belongs
/// to nobody. M, N, K are any values ≥ 0. K == 0 leaves beta·C; M == 0 or N == 0 leaves nothing to do. BLAS's
/// rules for scalars: beta == 0 never reads C, alpha == 0 never reads A or B (each may hold NaN).
struct Problem {
    std::int64_t M, N, K;
    float alpha;
    const void* A;
    std::int64_t lda;
    const void* B;
    std::int64_t ldb;
    float beta;
    void* C;
    std::int64_t ldc;
    DType dtype = DType::fp32;  // of A, B and C; one that the lesson offers
};

/// The part of the problem that one block works on at a time: BM×BN elements of C, BK steps along K per
/// iteration (1 where a lesson has no K tiles). The tests take their edge shapes from it.
struct Tile {
    int BM, BN, BK;
};

/// Who computes an element of C: blockIdx and threadIdx. Error reports name it.
struct Owner {
    uint3 block, thread;
};

/// What a lesson builds once per problem, outside the timed part (a tensor map, say). Freed with the problem.
using Plan = std::shared_ptr<void>;

/// A type that a lesson takes beside its first.
struct Offer {
    DType dtype = DType::fp32;
    int min_sm = 0;                // as Lesson::min_sm; 0: there is no such offer
    const void* kernel = nullptr;  // as Lesson::kernel
};

/// How a lesson describes itself. One constant per lesson, in its kernel.cu.
struct Lesson {
    const char* name;  // as in CMakeLists.txt, "01_naive"
    DType dtype;       // the one that is charted, and taken unless another is asked for
    int min_sm;        // lowest compute capability it runs on with that type, 10·major + minor
    Tile tile;
    dim3 block;                        // threads of a block, as launched
    std::size_t dynamic_shared_bytes;  // per block, as launched
    const void* kernel;                // the __global__ function, for cudaFuncGetAttributes

    /// Builds what `launch` needs beside the problem; null when there is nothing to build.
    Plan (*prepare)(const Problem&);

    /// The timed part: enqueues the kernel on `stream` and returns; never synchronises. `plan` is what
    /// prepare returned. Launch errors are left in cudaGetLastError() for the caller.
    void (*launch)(const Problem&, const void* plan, cudaStream_t stream);

    /// The block and the thread that write C[row][col], 0 ≤ row < M, 0 ≤ col < N.
    Owner (*owner)(const Problem&, std::int64_t row, std::int64_t col);

    Offer also[2] = {};  // other types that `launch` takes: Problem::dtype says which
};

/// Number of pieces of `size` that cover `total` (0 for 0). total ≥ 0, size > 0.
constexpr std::int64_t ceil_div(std::int64_t total, std::int64_t size) {
    return (total + size - 1) / size;
}

/// Grid of one block per tile of C, counted along x, row of tiles after row of tiles: gridDim.x reaches 2³¹ −
/// 1 while y and z stop at 65535, which a matrix of 2 200 000 columns would pass.
inline dim3 grid_of_tiles(const Problem& p, const Tile& tile) {
    return dim3(static_cast<unsigned>(ceil_div(p.M, tile.BM) * ceil_div(p.N, tile.BN)));
}

}  // namespace gemm
