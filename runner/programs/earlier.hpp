// What a kernel may be launched with before the launch that counts: whatever it keeps from there must not
// hurt.
#pragma once

#include <algorithm>
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
    const Variant v = p.variant;
    const auto change = [&](auto& one) {
        if (what == Earlier::narrower) {
            one.N = std::max<std::int64_t>(one.N - 1, 0);
            one.K = std::max<std::int64_t>(one.K - 1, 0);
        }
        one.lda = v.a_transposed() ? one.M : one.K;
        one.ldb = in_whole_bytes(v.B, v.b_transposed() ? one.K : one.N);
        one.ldc = one.N;
        if (v.D) one.ldd = one.N;
    };
    if (what == Earlier::without_product) p.alpha = 0.0f;
    if (what < Earlier::tight) return p;
    change(p);
    for (Group& g : p.groups) change(g);
    if (v.group != 0) p.lds = p.N;
    if (v.residual) p.ldr = p.N;
    return p;
}

}  // namespace gemm
