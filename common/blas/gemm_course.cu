// BLAS's GEMM over the contract of common/gemm.hpp, whatever lesson is behind it.
//
// A column-major matrix is its transpose in row-major order. So C = op(A)·op(B) is what the row-major problem
// Cᵀ = op(B)ᵀ·op(A)ᵀ leaves: M = n, N = m, and B comes first. Where nothing is transposed, every matrix is
// taken as it lies. The lessons that there are take no other layout, so that a transposed operand is copied
// first; lesson 17 will have kernels that read it as it is.
#include "common/blas/gemm_course.hpp"

#include <string>
#include <type_traits>

#include "common/blas/installed.hpp"
#include "common/check/variant.hpp"
#include "common/gemm.hpp"

namespace gemm {
namespace {

constexpr int kTile = 32, kRows = 8;  // what a block transposes, and how many of its rows at a time

/// to[col][row] = from[row][col] for rows×cols elements of `from`. A block has a tile, counted along x as
/// grid_of_tiles() does; in shared memory a row has one element more, so that the 32 of a column lie in 32
/// banks.
template <class T>
__global__ void __launch_bounds__(kTile* kRows)
    transpose(std::int64_t rows, std::int64_t cols, const T* __restrict__ from, std::int64_t from_pitch,
              T* __restrict__ to, std::int64_t to_pitch) {
    __shared__ T tile[kTile][kTile + 1];
    const std::int64_t across = (cols + kTile - 1) / kTile;
    const std::int64_t row0 = blockIdx.x / across * kTile, col0 = blockIdx.x % across * kTile;
    const int x = threadIdx.x;
    for (int y = threadIdx.y; y < kTile; y += kRows) {
        if (row0 + y < rows && col0 + x < cols) tile[y][x] = from[(row0 + y) * from_pitch + col0 + x];
    }
    __syncthreads();
    for (int y = threadIdx.y; y < kTile; y += kRows) {
        if (col0 + y < cols && row0 + x < rows) to[(col0 + y) * to_pitch + row0 + x] = tile[x][y];
    }
}

/// An operand as a row-major problem takes it: the caller's matrix, or a copy that lives as long as this.
template <class T>
class Operand {
  public:
    /// rows×cols, neither of them 0; stored so, `pitch` elements from row to row, or transposed.
    Operand(const T* matrix, std::int64_t pitch, bool transposed, std::int64_t rows, std::int64_t cols,
            cudaStream_t stream)
        : matrix_(matrix), pitch_(pitch), stream_(stream) {
        if (!transposed) return;
        constexpr std::int64_t kWidth = 16 / sizeof(T);  // rows begin where a kernel can read 16 bytes
        pitch_ = ceil_div(cols, kWidth) * kWidth;
        CUDA_CHECK(cudaMallocAsync(&copy_, static_cast<std::size_t>(rows * pitch_) * sizeof(T), stream));
        matrix_ = copy_;
        using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t, T>;
        const auto blocks = static_cast<unsigned>(ceil_div(rows, kTile) * ceil_div(cols, kTile));
        transpose<Bits><<<blocks, dim3(kTile, kRows), 0, stream>>>(
            cols, rows, reinterpret_cast<const Bits*>(matrix), pitch, reinterpret_cast<Bits*>(copy_), pitch_);
    }
    ~Operand() {
        if (copy_ != nullptr) cudaFreeAsync(copy_, stream_);
    }
    Operand(const Operand&) = delete;
    Operand& operator=(const Operand&) = delete;

    const T* matrix() const { return matrix_; }
    std::int64_t pitch() const { return pitch_; }

  private:
    const T* matrix_;
    std::int64_t pitch_;
    cudaStream_t stream_;
    T* copy_ = nullptr;
};

/// What is asked of each parameter, in BLAS's order.
constexpr struct {
    const char *name, *rule;
} kParameters[] = {{"transa", "must be N, T or C"},
                   {"transb", "must be N, T or C"},
                   {"m", "must be at least 0"},
                   {"n", "must be at least 0"},
                   {"k", "must be at least 0"},
                   {"alpha", "may be anything"},
                   {"A", "must not be null where it is read"},
                   {"lda", "must be at least 1 and the rows of A, m, or k where A is transposed"},
                   {"B", "must not be null where it is read"},
                   {"ldb", "must be at least 1 and the rows of B, k, or n where B is transposed"},
                   {"beta", "may be anything"},
                   {"C", "must not be null unless m or n is 0"},
                   {"ldc", "must be at least 1 and the rows of C, m"}};

/// Whether BLAS's letter asks for the transposed matrix; neither, where it is no letter of BLAS's.
struct Letter {
    explicit Letter(char c)
        : as_is(c == 'N' || c == 'n'), transposed(c == 'T' || c == 't' || c == 'C' || c == 'c') {}
    bool as_is, transposed;
    bool right() const { return as_is || transposed; }
};

template <class T>
void multiply(const char* function, DType type, char transa, char transb, std::int64_t m, std::int64_t n,
              std::int64_t k, float alpha, const T* A, std::int64_t lda, const T* B, std::int64_t ldb,
              float beta, T* C, std::int64_t ldc, cudaStream_t stream) {
    const Letter a_is(transa), b_is(transb);
    const bool reads = m > 0 && n > 0 && k > 0 && alpha != 0.0f;
    const auto require = [&](int parameter, bool right) {
        if (!right) throw ParameterError(function, parameter);
    };
    const auto pitch_of = [](std::int64_t rows) { return rows > 1 ? rows : 1; };
    require(1, a_is.right());
    require(2, b_is.right());
    require(3, m >= 0);
    require(4, n >= 0);
    require(5, k >= 0);
    require(7, A != nullptr || !reads);
    require(8, lda >= pitch_of(a_is.transposed ? k : m));
    require(9, B != nullptr || !reads);
    require(10, ldb >= pitch_of(b_is.transposed ? n : k));
    require(12, C != nullptr || m == 0 || n == 0);
    require(13, ldc >= pitch_of(m));
    if (m == 0 || n == 0 || (!reads && beta == 1.0f)) return;

    int device = 0, major = 0, minor = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    const Variant variant = of_type(type);
    const Lesson* const lesson = installed_lesson(variant, 10 * major + minor);
    if (lesson == nullptr) {
        throw Error(std::string(function) + "(): no lesson that is installed takes " + text(variant) +
                    " on compute capability " + std::to_string(major) + "." + std::to_string(minor) + ".");
    }

    const auto run = [&](const T* first, std::int64_t first_pitch, const T* second,
                         std::int64_t second_pitch) {
        const Problem p{.M = n,
                        .N = m,
                        .K = reads ? k : 0,  // with K == 0, C is scaled
                        .alpha = alpha,
                        .A = first,
                        .lda = first_pitch,
                        .B = second,
                        .ldb = second_pitch,
                        .beta = beta,
                        .C = C,
                        .ldc = ldc,
                        .variant = variant};
        // What a plan says of the problem has reached the kernel when launch() returns; memory that it owns
        // is freed by cudaFree(), which waits (CUDA Programming Guide, "Stream-Ordered Memory Allocator").
        const Plan plan = lesson->prepare != nullptr ? lesson->prepare(p) : nullptr;
        lesson->launch(p, plan.get(), stream);
        CUDA_CHECK(cudaGetLastError());
    };
    if (!reads) return run(nullptr, 1, nullptr, pitch_of(m));
    const Operand<T> second(A, lda, a_is.transposed, k, m, stream);
    const Operand<T> first(B, ldb, b_is.transposed, n, k, stream);
    CUDA_CHECK(cudaGetLastError());  // of what copies them
    run(first.matrix(), first.pitch(), second.matrix(), second.pitch());
}

}  // namespace

ParameterError::ParameterError(const char* function, int parameter)
    : Error(std::string(function) + "(): parameter " + std::to_string(parameter) + ", " +
            kParameters[parameter - 1].name + ", " + kParameters[parameter - 1].rule + "."),
      parameter(parameter) {}

const Lesson* installed_lesson(const Variant& variant, int sm) {
    const Lesson* found = nullptr;
    for (const Lesson* lesson : installed_lessons()) {
        for (const Offer& offer : lesson->variants) {
            if (offer.variant == variant && runs_on(offer.architectures, sm)) found = lesson;
        }
    }
    return found;
}

void sgemm(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
           const float* A, std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
           std::int64_t ldc, cudaStream_t stream) {
    multiply("sgemm", DType::fp32, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, stream);
}

void hgemm(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
           const __half* A, std::int64_t lda, const __half* B, std::int64_t ldb, float beta, __half* C,
           std::int64_t ldc, cudaStream_t stream) {
    multiply("hgemm", DType::fp16, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, stream);
}

void bgemm(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
           const __nv_bfloat16* A, std::int64_t lda, const __nv_bfloat16* B, std::int64_t ldb, float beta,
           __nv_bfloat16* C, std::int64_t ldc, cudaStream_t stream) {
    multiply("bgemm", DType::bf16, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, stream);
}

}  // namespace gemm
