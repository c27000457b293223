#include "common/check/operands.hpp"

namespace gemm {

std::vector<Operand> operands(const Problem& p) {
    const Variant& v = p.variant;
    const bool ta = v.a_transposed(), tb = v.b_transposed();
    // (Those that a kernel reads are const to it alone.)
    void *const a = const_cast<void*>(p.A), *const b = const_cast<void*>(p.B);
    return {{"A", Role::in, v.A, ta ? p.K : p.M, ta ? p.M : p.K, p.lda, a, ta ? 1 : p.lda, 0},
            {"B", Role::in, v.B, tb ? p.N : p.K, tb ? p.K : p.N, p.ldb, b, 0, tb ? p.ldb : 1},
            {"C", Role::in_out, v.C, p.M, p.N, p.ldc, p.C, p.ldc, 1}};
}

Problem over(Problem p, std::span<void* const> data) {
    p.A = data[0];
    p.B = data[1];
    p.C = data[2];
    return p;
}

}  // namespace gemm
