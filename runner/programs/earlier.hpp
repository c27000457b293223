// What a kernel may be launched with before the launch that counts: whatever it keeps from there must not hurt.
#pragma once

#include <cstdint>

#include "common/gemm.hpp"

namespace gemm {

enum class Earlier : std::uint8_t {
    nothing,
    other_numbers,  // in the same matrices
    narrower,       // at the same pointers: N and K are one less, and rows follow each other without padding
};

/// The problem of that launch, which stays within the matrices of `p`.
inline Problem earlier(Problem p, Earlier what) {
    if (what == Earlier::narrower) {
        p.N -= 1;
        p.K -= 1;
        p.lda = p.K;
        p.ldb = p.ldc = p.N;
    }
    return p;
}

}  // namespace gemm
