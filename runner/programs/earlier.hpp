// What a kernel may be launched with before the launch that counts: whatever it keeps from there must not
// hurt.
#pragma once

#include <cstdint>

#include "common/check/dtype.hpp"
#include "common/gemm.hpp"

namespace gemm {

enum class Earlier : std::uint8_t {
    nothing,
    other_numbers,  // in the same matrices
    // At the same pointers, another problem:
    without_product,  // alpha is 0
    tight,            // rows follow each other without padding
    narrower,         // the same, and N and K are one less
};

/// Whether a plan for the one is none for the other.
constexpr bool needs_own_plan(Earlier what) {
    return what >= Earlier::without_product;
}

/// The problem of that launch, which stays within the matrices of `p`.
inline Problem earlier(Problem p, Earlier what) {
    if (what == Earlier::without_product) p.alpha = 0.0f;
    if (what == Earlier::narrower) {
        p.N -= 1;
        p.K -= 1;
    }
    if (what >= Earlier::tight) {
        p.lda = p.variant.a_transposed() ? p.M : p.K;
        p.ldb = in_whole_bytes(p.variant.B, p.variant.b_transposed() ? p.K : p.N);
        p.ldc = p.N;
        if (p.variant.group != 0) p.lds = p.N;
        if (p.variant.residual) p.ldr = p.N;
        if (p.variant.D) p.ldd = p.N;
    }
    return p;
}

}  // namespace gemm
