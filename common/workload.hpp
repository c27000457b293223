// The matrices of one problem, on the host and on the device, and where a size is refused.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/buffer.hpp"
#include "common/dtype.hpp"
#include "common/gemm.hpp"

namespace gemm {

/// What a problem looks like, without its matrices. A pitch of 0 stands for the tight one.
struct Shape {
    std::int64_t M = 0, N = 0, K = 0;
    std::int64_t lda = 0, ldb = 0, ldc = 0;
    float alpha = 1.0f, beta = 0.0f;
    Variant variant = {};

    // Rows and columns of A and B as they lie in memory.
    std::int64_t a_rows() const { return variant.a_transposed() ? K : M; }
    std::int64_t a_cols() const { return variant.a_transposed() ? M : K; }
    std::int64_t b_rows() const { return variant.b_transposed() ? N : K; }
    std::int64_t b_cols() const { return variant.b_transposed() ? K : N; }

    /// Tight pitches filled in. Throws Error when a size is negative, a pitch too small, or an element count
    /// or a byte count leaves 63 bits.
    Shape resolved() const;
    /// "1000×77×513" (M×N×K), with the pitches, scalars and variant that are not the default ones.
    std::string text() const;
};

/// Host copies, row-major with the shape's pitches, as the matrices lie in memory: rounded to their types.
/// Padding of A and B holds kGuardBits; C holds the values before the kernel runs: C0, or kPoisonBits where
/// beta == 0 and in the padding.
struct HostMatrices {
    std::vector<float> A, B, C;
};

/// A seed nobody chose: different in every run.
std::uint64_t fresh_seed();

/// One problem with normally distributed inputs (mean 0, variance 1; the same for a seed on every machine).
class Workload {
  public:
    /// `edit` may change the host matrices before they are rounded and uploaded (tests put NaN and Inf
    /// there). Throws Error when the matrices do not fit into device or host memory, saying how much is
    /// needed and there.
    Workload(const Shape& shape, std::uint64_t seed, const std::function<void(HostMatrices&)>& edit = {});

    const Shape& shape() const { return shape_; }
    std::uint64_t seed() const { return seed_; }
    const HostMatrices& host() const { return host_; }

    /// The problem over the device buffers.
    Problem problem() const;

    /// Writes the initial C (poison included) to the device again. Call before every launch that is verified.
    void reset_c();
    /// C from the device, pitch ldc; what was never written holds kPoisonBits.
    std::vector<float> download_c() const;
    /// The matrices on the device as bytes, guard bands included, and the way back for C: for a kernel that
    /// runs in another process.
    struct Images {
        Image A, B, C;
    };
    Images images() const { return {a_.image(), b_.image(), c_.image()}; }
    void set_c_image(const std::vector<std::byte>& bytes) { c_.set_image(bytes); }

    /// Which guard band a kernel wrote into, as a sentence; empty if none.
    std::string breach() const;

  private:
    Shape shape_;
    std::uint64_t seed_;
    HostMatrices host_;
    Buffer a_, b_, c_;
};

}  // namespace gemm
