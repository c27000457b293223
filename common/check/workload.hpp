// The matrices of one problem, on the host and on the device, and where a size is refused.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/check/buffer.hpp"
#include "common/check/elements.hpp"
#include "common/check/operands.hpp"
#include "common/error.hpp"
#include "common/gemm.hpp"

namespace gemm {

class DeviceInputs;

/// A problem does not fit into device or host memory.
struct TooLarge : Error {
    using Error::Error;
};

/// Which part of a problem's matrices is there, where it is too large for any memory: indices are tested, and
/// the rest of the addresses is never to be used. On a GPU, nothing but `whole`.
enum class Stored {
    whole,
    rows,        // all rows, and nothing between them: pitches may be huge
    in_rows,     // windows of rows, that begin at 0, `apart` and 2·apart; N is 1, the pitches tight
    in_columns,  // of columns, likewise; M and K are 1
    problems,    // of a batch: all of them, and nothing between them: strides may be huge
};

/// What a problem looks like, without its matrices. A pitch, or a stride, of 0 stands for the tight one.
struct Shape {
    std::int64_t M = 0, N = 0, K = 0;
    std::int64_t lda = 0, ldb = 0, ldc = 0, lds = 0, ldr = 0, ldd = 0;  // as in Problem
    float alpha = 1.0f, beta = 0.0f;
    Variant variant = {};
    /// Elements by which each matrix begins behind an aligned address, by its id.
    std::array<std::int64_t, kOperandIds.size()> offsets = {};
    Stored stored = Stored::whole;
    std::int64_t window = 0, apart = 0;  // of `stored`: windows of so many; M or N is 2·apart + window
    // Of a batch, as in Problem. Groups have no addresses, and a pitch of 0 stands for that of the shape,
    // where it has one, else for the tight one.
    std::int64_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0;
    std::vector<Group> groups = {};

    // Rows and columns of A and B as they lie in memory.
    std::int64_t a_rows() const { return variant.a_transposed() ? K : M; }
    std::int64_t a_cols() const { return variant.a_transposed() ? M : K; }
    std::int64_t b_rows() const { return variant.b_transposed() ? N : K; }
    std::int64_t b_cols() const { return variant.b_transposed() ? K : N; }

    // Where op(A)[row][k], op(B)[k][col] and C[row][col] are, counted in elements from the first.
    std::size_t a_at(std::int64_t row, std::int64_t k) const {
        return static_cast<std::size_t>(variant.a_transposed() ? k * lda + row : row * lda + k);
    }
    std::size_t b_at(std::int64_t k, std::int64_t col) const {
        return static_cast<std::size_t>(variant.b_transposed() ? col * ldb + k : k * ldb + col);
    }
    std::size_t c_at(std::int64_t row, std::int64_t col) const {
        return static_cast<std::size_t>(row * ldc + col);
    }
    // The same of the scale of op(B)[k][col], of the residual, and of the matrix that is written: C, or D
    // where the variant has one.
    std::size_t scale_at(std::int64_t k, std::int64_t col) const {
        return static_cast<std::size_t>(k / variant.group * lds + col);
    }
    std::size_t residual_at(std::int64_t row, std::int64_t col) const {
        return static_cast<std::size_t>(row * ldr + col);
    }
    std::int64_t result_pitch() const { return variant.D ? ldd : ldc; }
    std::size_t result_at(std::int64_t row, std::int64_t col) const {
        return static_cast<std::size_t>(row * result_pitch() + col);
    }

    /// The problem without its matrices.
    Problem problem() const {
        return {.M = M,
                .N = N,
                .K = K,
                .alpha = alpha,
                .A = nullptr,
                .lda = lda,
                .B = nullptr,
                .ldb = ldb,
                .beta = beta,
                .C = nullptr,
                .ldc = ldc,
                .variant = variant,
                .lds = lds,
                .ldr = ldr,
                .ldd = ldd,
                .batch = batch,
                .stride_a = stride_a,
                .stride_b = stride_b,
                .stride_c = stride_c,
                .stride_d = stride_d,
                .groups = groups};
    }

    /// The problems of a batch, each as one by itself; of one problem, that. Resolved.
    std::vector<Shape> members() const;
    /// How many elements hold a matrix of all problems, with what lies between them.
    std::int64_t extent(const Operand& of) const;
    /// Where each of their matrices begins, and, at the end, their extent: begins() of operands.hpp.
    std::vector<std::int64_t> begins(const Operand& of) const { return gemm::begins(problem(), of.id); }

    /// The same with pitches and offsets that end with whole bytes, where two elements share one.
    Shape in_whole_bytes() const;
    /// Tight pitches and strides filled in, and the groups of a grouped batch that has none: `batch` of them,
    /// in turn of M×N×K, of half of each, without rows, and of 1×1×1. Throws Error when a size is negative, a
    /// pitch or a stride too small, a scalar no whole number of 24 bits where C is of integers, or an element
    /// count or a byte count leaves 63 bits.
    Shape resolved() const;
    /// "1000×77×513" (M×N×K, or each group's), with the pitches, scalars and variant that are not the default
    /// ones.
    std::string text() const;
    /// What of it is stored, as a problem of its own.
    Shape kept() const;
};

/// Host copies, row-major with the shape's pitches; empty where the problem has no such matrix. Padding of
/// those that are only read holds their types' guards, and so does a C that is not read; the one that is
/// written is as before the kernel runs: C0, or its type's poison where nothing is read, and in the padding.
struct HostMatrices {
    Elements A, B, C, scales, bias, residual, D;

    const Elements& operator[](OperandId id) const { return this->*kMembers[place_of(id)]; }
    Elements& operator[](OperandId id) { return this->*kMembers[place_of(id)]; }
    /// The one that is written.
    const Elements& result(const Variant& v) const { return v.D ? D : C; }

  private:
    static constexpr std::array kMembers{&HostMatrices::A,      &HostMatrices::B,    &HostMatrices::C,
                                         &HostMatrices::scales, &HostMatrices::bias, &HostMatrices::residual,
                                         &HostMatrices::D};
};

/// What the result is full of before a kernel runs: its type's poison, or its guard in its place.
enum class Fill { poison, guard };
std::uint32_t bits_of(Fill fill, DType dtype);
/// With which of them a kernel runs before it is known what it never wrote: the first where a type's poison
/// tells, else both in turn.
std::span<const Fill> fills(DType dtype);

/// A seed nobody chose: different in every run.
std::uint64_t fresh_seed();

/// The matrices of one problem on the host: what its result follows from.
class HostProblem {
  public:
    HostProblem(const Shape& shape, std::uint64_t seed, std::shared_ptr<const HostMatrices> host)
        : shape_(shape), seed_(seed), host_(std::move(host)) {}

    const Shape& shape() const { return shape_; }
    std::uint64_t seed() const { return seed_; }
    const HostMatrices& host() const { return *host_; }
    const std::shared_ptr<const HostMatrices>& shared() const { return host_; }

  protected:
    Shape shape_;
    std::uint64_t seed_;
    std::shared_ptr<const HostMatrices> host_;
};

/// A problem, or a batch, with normally distributed inputs (mean 0, variance 1; the same for a seed on every
/// machine). shape() is what is stored, where that is not the whole problem: a problem of its own, which
/// results are held against. Of a batch, a matrix of host() has those of all problems one behind the other;
/// between them lies what lies in padding.
class Workload : public HostProblem {
  public:
    /// `edit` may change the host matrices of each problem, which has that shape, before they are uploaded
    /// (tests put NaN and Inf there). Throws TooLarge, saying how much is needed and there, when the matrices
    /// do not fit.
    using Edit = std::function<void(HostMatrices&, const Shape&)>;
    Workload(const Shape& shape, std::uint64_t seed, const Edit& edit = {});

    /// The same with inputs that the device draws, for what DeviceCheck takes: host() and members() are there
    /// after bring_to_host(), which draws them once more and throws TooLarge as above. What reset_c() writes
    /// comes from the device, too. The device memory that a DeviceWhole takes must be free.
    Workload(const Shape& shape, std::uint64_t seed, const DeviceInputs& inputs);
    void bring_to_host();
    /// What the numbers of a matrix are drawn from (normal_at()).
    std::uint64_t draws(OperandId id) const;

    /// The problems of a batch, each by itself; of one problem, that.
    const std::vector<HostProblem>& members() const { return members_; }

    /// The same matrices at other addresses of the device; the host's are shared. And the device memory that
    /// each takes.
    Workload duplicate() const;
    std::size_t device_bytes() const;

    Workload(Workload&&) = default;
    Workload& operator=(Workload&&) = default;

    /// The problem over the device buffers.
    Problem problem() const;
    /// The same pointers and sizes with the numbers of another seed.
    void refill(std::uint64_t seed);

    /// Writes the initial C, or D, to the device again, full of `fill` where it holds nothing. Call before
    /// every launch that is verified.
    void reset_c(Fill fill = Fill::poison);
    /// The result, C or D, from the device, with its pitch; what was never written holds what it was filled
    /// with.
    Elements download_c() const { return buffers_[result_].download(); }
    /// The matrices on the device as bytes, guard bands included, in the order of operands(), and the way
    /// back for the one that is written: for a kernel that runs in another process.
    std::vector<Image> images() const;
    void set_c_image(const std::vector<std::byte>& bytes) { buffers_[result_].set_image(bytes); }
    Image c_image() const { return buffers_[result_].image(); }

    /// Which guard band a kernel wrote into, as a sentence; empty if none.
    std::string breach() const;

  private:
    Workload(const Workload& other);
    void allocate();
    void fill(const Edit& edit);

    Shape asked_;
    std::vector<HostProblem> members_;
    std::vector<Buffer> buffers_;  // in the order of operands()
    std::size_t result_ = 0;       // of them, the one that is written
    bool on_device_ = false;       // what lies there does not come from the host
};

}  // namespace gemm
