#include "common/check/operands.hpp"

#include <algorithm>
#include <cstddef>

namespace gemm {

std::vector<Operand> operands(const Problem& p) {
    const Variant& v = p.variant;
    const bool ta = v.a_transposed(), tb = v.b_transposed();
    const char *const factor = p.alpha == 0.0f ? "alpha = 0" : "", *const addend =
                                                                       p.beta == 0.0f ? "beta = 0" : "";
    // (Those that a kernel reads are const to it alone.)
    const auto address = [](const void* data) { return const_cast<void*>(data); };
    std::vector<Operand> all{{OperandId::A, "A", Role::in, v.A, ta ? p.K : p.M, ta ? p.M : p.K, p.lda,
                              address(p.A), ta ? 1 : p.lda, 0, ta ? "M" : "K", "lda", factor},
                             {OperandId::B, "B", Role::in, v.B, tb ? p.N : p.K, tb ? p.K : p.N, p.ldb,
                              address(p.B), 0, tb ? p.ldb : 1, tb ? "K" : "N", "ldb", factor},
                             {OperandId::C, "C", v.D ? Role::in : Role::in_out, v.C, p.M, p.N, p.ldc, p.C,
                              p.ldc, 1, "N", "ldc", addend}};
    if (v.group != 0) {
        all.push_back({OperandId::scales, "scales", Role::in, v.A, ceil_div(p.K, v.group), p.N, p.lds,
                       address(p.scales), 0, 1, "N", "lds", factor});
    }
    if (v.bias) {
        all.push_back({OperandId::bias, "bias", Role::in, v.C, 1, p.N, std::max<std::int64_t>(p.N, 1),
                       address(p.bias), 0, 1, "N", nullptr, ""});
    }
    if (v.residual) {
        all.push_back({OperandId::residual, "residual", Role::in, v.C, p.M, p.N, p.ldr, address(p.residual),
                       p.ldr, 1, "N", "ldr", ""});
    }
    if (v.D) {
        all.push_back(
            {OperandId::D, "D", Role::out, *v.D, p.M, p.N, p.ldd, p.D, p.ldd, 1, "N", "ldd", "the contract"});
    }
    return all;
}

const Operand& result_of(const std::vector<Operand>& all) {
    return *std::find_if(all.begin(), all.end(), [](const Operand& o) { return o.role != Role::in; });
}

Problem over(Problem p, std::span<void* const> data) {
    std::size_t next = 0;
    for (const Operand& o : operands(p)) {
        void* const at = data[next++];
        switch (o.id) {
            case OperandId::A:
                p.A = at;
                break;
            case OperandId::B:
                p.B = at;
                break;
            case OperandId::C:
                p.C = at;
                break;
            case OperandId::scales:
                p.scales = at;
                break;
            case OperandId::bias:
                p.bias = at;
                break;
            case OperandId::residual:
                p.residual = at;
                break;
            case OperandId::D:
                p.D = at;
                break;
        }
    }
    return p;
}

}  // namespace gemm
