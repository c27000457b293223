// The one contract between a lesson and everything else: the problem it is given, and how it describes
// itself. Included by kernel.cu, which nvcc and g++ compile as C++20.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gemm {

/// Type of an operand's elements as they lie in memory. Lessons offer the first three so far. What is known
/// of each is in common/check/dtype.hpp, and what adds up products of which types in
/// common/check/variant.hpp.
enum class DType { fp32, bf16, fp16, tf32, e4m3, e5m2, int8, int32, int4, e2m1, e8m0 };

/// How A and B lie in memory, A's letter first: n as M×K and K×N, t transposed, as K×M and N×K.
enum class Layout { nn, nt, tn, tt };

/// A function of each element by itself. GELU: x·Φ(x) in the form with tanh, ½·x·(1 + tanh(√(2/π)·(x +
/// 0.044715·x³))) (Hendrycks, Gimpel: "Gaussian Error Linear Units", arXiv:1606.08415, §2).
enum class Activation { none, gelu };

/// How many problems there are, and how they are found: one; a batch of one size, at equal distances; or a
/// batch in which each has its own sizes, pitches and addresses.
enum class Batch { one, strided, grouped };

/// What of a problem is neither size nor data. Its canonical text ("bf16", "bf16.nt", "bf16.strided",
/// "bf16+bias+gelu"), which options, results, charts and messages share, is made and read in
/// common/check/variant.hpp.
struct Variant {
    DType A = DType::fp32, B = DType::fp32, C = DType::fp32;
    Layout layout = Layout::nn;
    /// Where it is not 0, B's numbers are whole, and so many steps along K share a scale in each column: B's
    /// element is a number times its scale.
    int group = 0;
    Batch batch = Batch::one;
    // The epilogue, in the order in which it is computed. What it reads has C's type.
    bool bias = false;  // a number for each column is added
    Activation activation = Activation::none;
    bool residual = false;        // a matrix is added
    std::optional<DType> D = {};  // the result is a matrix D of this type, and C is read alone

    constexpr bool a_transposed() const { return layout == Layout::tn || layout == Layout::tt; }
    constexpr bool b_transposed() const { return layout == Layout::nt || layout == Layout::tt; }
    constexpr DType result() const { return D.value_or(C); }
    /// Whether the result is alpha·op(A)·op(B) + beta·C, in C, of A and B as they are.
    constexpr bool plain() const {
        return group == 0 && !bias && activation == Activation::none && !residual && !D;
    }
    constexpr bool operator==(const Variant&) const = default;
};

/// A, B and C of one type.
constexpr Variant of_type(DType type, Layout layout = Layout::nn) {
    return {type, type, type, layout};
}

/// A problem of a grouped batch. What it does not have is the same for all of them, as in Problem.
struct Group {
    std::int64_t M = 0, N = 0, K = 0;
    const void* A = nullptr;
    std::int64_t lda = 0;
    const void* B = nullptr;
    std::int64_t ldb = 0;
    void* C = nullptr;
    std::int64_t ldc = 0;
    void* D = nullptr;
    std::int64_t ldd = 0;
};

/// C = alpha·op(A)·op(B) + beta·C, with op(A) M×K, op(B) K×N and C M×N, all row-major in device memory; op
/// transposes where the variant's layout says so.
/// Row pitches are in elements: lda ≥ K (≥ M where A is transposed), ldb ≥ N (≥ K), ldc ≥ N; what lies
/// between two rows is padding and belongs to nobody. Where two elements share a byte, rows begin with a
/// whole one: their pitch is even. M, N, K are any values ≥ 0. K == 0 leaves beta·C; M ==
/// 0 or N == 0 leaves nothing to do. BLAS's rules for scalars: beta == 0 never reads C, alpha == 0 never
/// reads A or B (each may hold NaN). Where C is of integers, both are whole numbers.
/// With an epilogue: D = f(alpha·op(A)·op(B) + beta·C + bias) + residual. Without a D of its own, C is D.
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
    Variant variant = {};  // one that the lesson takes
    // What a variant adds; null and 0 where it does not. Pitches lds ≥ N, ldr ≥ N, ldd ≥ N.
    const void* scales = nullptr;  // ceil(K / group)×N, of A's type
    std::int64_t lds = 0;
    const void* bias = nullptr;      // N numbers
    const void* residual = nullptr;  // M×N
    std::int64_t ldr = 0;
    void* D = nullptr;  // M×N; only written
    std::int64_t ldd = 0;
    // Of a batch: `batch` ≥ 0 problems, all with these scalars. A strided one's have these sizes and pitches,
    // and so many elements lie between the beginnings of a problem's matrix and of the next one's: at least
    // rows · pitch.
    std::int64_t batch = 1;
    std::int64_t stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0;
    // Of a grouped batch: its problems, `batch` of them, in host memory. M, N, K and the pitches above are
    // then the largest of theirs, and A, B, C and D are where the first one's are.
    std::vector<Group> groups = {};
};

/// The part of the problem that one block works on at a time: BM×BN elements of C, BK steps along K per
/// iteration (1 where a lesson has no K tiles). The tests take their edge shapes from it.
struct Tile {
    int BM, BN, BK;
};

/// A number that shapes the kernel, by its name in kernel.cu: {"TM", 8}. Pictures and tables show it.
struct Constant {
    const char* name;
    int value;
};

/// Who computes an element of C: blockIdx and threadIdx. Error reports name it.
struct Owner {
    uint3 block, thread;
};

/// What a lesson builds once per problem, outside the timed part (a tensor map, say). Freed with the problem.
using Plan = std::shared_ptr<void>;

/// The GPUs that a kernel runs on. One of the two is given.
struct Architectures {
    int from = 0;                   // this compute capability, 10·major + minor, and later ones: 80
    const char* exactly = nullptr;  // this one alone, as nvcc names it: "90a"
};

/// How a kernel divides the work. Where that depends on the size, as for large matrices.
struct Configuration {
    Tile tile = {};
    std::span<const Constant> constants = {};  // beside the tile's
    dim3 block = {};                           // threads of a block, as launched
    std::size_t dynamic_shared_bytes = 0;      // per block, as launched
};

/// A variant that a lesson takes, and with what.
struct Offer {
    Variant variant = {};
    const void* kernel = nullptr;  // the __global__ function, for cudaFuncGetAttributes
    Architectures architectures = {};
    Configuration configuration = {};
};

/// How a kernel divides one problem, where a lesson decides that by its size.
struct Tiling {
    Tile tile = {};                // of C, and of K
    int slices = 1;                // of K (split-K): so many blocks work on one C tile
    unsigned blocks = 0;           // of the launch; fewer than C tiles · slices where they are persistent
    const void* kernel = nullptr;  // the __global__ function that is launched, or one like it
    dim3 block = {};               // its threads, as launched
    std::size_t dynamic_shared_bytes = 0;  // per block, as launched
};

/// One of the ways in which a lesson may divide a problem. `kernel` is a number that only the lesson reads.
struct Way {
    int kernel = 0, slices = 1;

    constexpr bool operator==(const Way&) const = default;
};

/// Of a lesson that chooses how to divide a problem, so that its choice can be held against the others.
/// Called only for problems with something to multiply.
struct Choosing {
    /// What `prepare` chooses; after it the others, those that the lesson takes for the fastest first.
    std::vector<Way> (*ways)(const Problem&) = nullptr;
    /// As Lesson::prepare, in that way. Throws Error where there is no room for its workspace.
    Plan (*prepare)(const Problem&, const Way&) = nullptr;
    Tiling (*tiling)(const Problem&, const Way&) = nullptr;
};

/// A problem that leads to a path of `launch`, or of the kernel, which sizes of a few tiles do not. The tests
/// run it with every pair of scalars that matters there.
struct Reach {
    const char* path;  // in a few words: "the second group of C tiles"
    std::int64_t M, N, K;
    int sm = 0;               // on a GPU of this compute capability, 10·major + minor; 0: on any
    bool every_type = false;  // with each of the variants, not the first alone
    int multiprocessors = 0;  // of a GPU with so many; 0: of whatever it has
    bool again = false;       // launched twice: the second is not to be misled by what the first has left
};

/// How a lesson describes itself. One constant per lesson, in its kernel.cu.
struct Lesson {
    const char* name = nullptr;            // as in CMakeLists.txt, "01_naive"
    int part = 1;                          // of the course
    const char* ladder = "";               // lessons of one ladder share a chart: "fp32", "tensorcore"
    std::span<const Offer> variants = {};  // that `launch` takes; the first is charted, and taken by default
    std::span<const Reach> reaching = {};  // what the tests would not come to otherwise

    /// Builds what `launch` needs beside the problem; null when there is nothing to build.
    Plan (*prepare)(const Problem&) = nullptr;

    /// The timed part: enqueues the kernel on `stream` and returns; never synchronises. `plan` is what
    /// prepare returned. Launch errors are left in cudaGetLastError() for the caller.
    void (*launch)(const Problem&, const void* plan, cudaStream_t stream) = nullptr;

    /// The block and the thread that write C[row][col], 0 ≤ row < M, 0 ≤ col < N.
    Owner (*owner)(const Problem&, std::int64_t row, std::int64_t col) = nullptr;
    /// The same of a problem of a batch, counted from 0.
    Owner (*owner_in_batch)(const Problem&, std::int64_t problem, std::int64_t row,
                            std::int64_t col) = nullptr;

    /// Into which C tiles, and how many slices of K, `launch` divides a problem with something to multiply,
    /// as long as there is room for a workspace. Null where a lesson does not say: as a rule that is
    /// `configuration()` and one slice for each (13e and 15b choose, too).
    Tiling (*tiling)(const Problem&) = nullptr;

    const Choosing* choosing = nullptr;  // where it chooses how to divide a problem, and says so
    std::optional<Way> way = {};         // in which it then divides every problem: set by who compares them

    std::size_t chosen = 0;  // of `variants`, which it runs with: set by with_variant(), not by a descriptor

    const Offer& offer() const { return variants[chosen]; }
    const Variant& variant() const { return offer().variant; }
    const Configuration& configuration() const { return offer().configuration; }
    const Tile& tile() const { return configuration().tile; }
    const dim3& block() const { return configuration().block; }
};

/// For Choosing::ways: the chosen one, then the others, each with the time that the lesson expects.
inline std::vector<Way> fastest_first(const Way& chosen, std::vector<std::pair<double, Way>> others) {
    std::stable_sort(others.begin(), others.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Way> ways = {chosen};
    for (const auto& [time, way] : others) ways.push_back(way);
    return ways;
}

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
