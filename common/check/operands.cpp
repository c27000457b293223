#include "common/check/operands.hpp"

#include <algorithm>
#include <cstddef>

#include "common/check/dtype.hpp"

namespace gemm {
namespace {

constexpr std::array<const char*, kOperandIds.size()> kStrideNames{
    "stride_a", "stride_b", "stride_c", nullptr, nullptr, nullptr, "stride_d"};

}  // namespace

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
    if (v.batch != Batch::one) {
        for (Operand& o : all) {
            o.stride = *stride_in(p, o.id);
            o.stride_name = kStrideNames[place_of(o.id)];
        }
    }
    return all;
}

std::vector<Problem> members(const Problem& p) {
    if (p.variant.batch == Batch::one) return {p};
    Problem first = p;
    first.variant.batch = Batch::one;
    first.batch = 1;
    first.stride_a = first.stride_b = first.stride_c = first.stride_d = 0;
    const std::vector<Operand> all = operands(p);
    std::vector<Problem> found;
    for (std::int64_t i = 0; i < p.batch; ++i) {
        std::vector<void*> data;
        for (const Operand& o : all) {
            const std::size_t behind = bytes_of(o.type, static_cast<std::size_t>(i * o.stride));
            data.push_back(o.data == nullptr ? nullptr : static_cast<std::byte*>(o.data) + behind);
        }
        found.push_back(over(first, data));
    }
    return found;
}

double flop_of(const Problem& p) {
    return 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.M) * static_cast<double>(p.N) *
           static_cast<double>(p.K);
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
