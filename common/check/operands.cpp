#include "common/check/operands.hpp"

#include <algorithm>
#include <cstddef>

#include "common/check/dtype.hpp"

namespace gemm {
namespace {

constexpr std::array<const char*, kOperandIds.size()> kStrideNames{
    "stride_a", "stride_b", "stride_c", nullptr, nullptr, nullptr, "stride_d"};
constexpr std::int64_t kGroupBytes = 256;  // to a multiple of which a group's matrix is rounded up

/// Puts the address of a matrix into a problem or a group. Whether a batch may have such a matrix.
template <class Addresses>
bool put_address(Addresses& p, OperandId id, void* at) {
    if (id == OperandId::A) {
        p.A = at;
    } else if (id == OperandId::B) {
        p.B = at;
    } else if (id == OperandId::C) {
        p.C = at;
    } else if (id == OperandId::D) {
        p.D = at;
    } else {
        return false;
    }
    return true;
}

void* behind(void* data, DType type, std::int64_t elements) {
    const std::size_t bytes = bytes_of(type, static_cast<std::size_t>(elements));
    return data == nullptr ? nullptr : static_cast<std::byte*>(data) + bytes;
}

/// The sum of of(M, N, K) over all problems.
template <class Of>
double over_problems(const Problem& p, const Of& of) {
    const auto one = [&](const auto& sizes) {
        return of(static_cast<double>(sizes.M), static_cast<double>(sizes.N), static_cast<double>(sizes.K));
    };
    if (p.variant.batch != Batch::grouped) return static_cast<double>(p.batch) * one(p);
    double sum = 0;
    for (const Group& g : p.groups) sum += one(g);
    return sum;
}

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
    if (v.batch == Batch::strided) {
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
    first.groups.clear();
    std::vector<Problem> found;
    for (const Group& g : p.groups) {
        Problem& one = found.emplace_back(first);
        one.M = g.M, one.N = g.N, one.K = g.K;
        one.A = g.A, one.B = g.B, one.C = g.C, one.D = g.D;
        one.lda = g.lda, one.ldb = g.ldb, one.ldc = g.ldc, one.ldd = g.ldd;
    }
    if (p.variant.batch == Batch::grouped) return found;
    const std::vector<Operand> all = operands(p);
    for (std::int64_t i = 0; i < p.batch; ++i) {
        std::vector<void*> data;
        for (const Operand& o : all) data.push_back(behind(o.data, o.type, i * o.stride));
        found.push_back(over(first, data));
    }
    return found;
}

std::vector<std::int64_t> begins(const Problem& p, OperandId id) {
    const auto matrix = [&](const Problem& of) {
        const std::vector<Operand> all = operands(of);
        return *std::find_if(all.begin(), all.end(), [&](const Operand& o) { return o.id == id; });
    };
    std::vector<std::int64_t> found;
    std::int64_t end = 0;
    if (p.variant.batch == Batch::grouped) {
        std::int64_t next = 0;
        for (const Problem& one : members(p)) {
            const Operand o = matrix(one);
            const std::int64_t whole = kGroupBytes * 8 / info(o.type).bits;
            found.push_back(next);
            end = next + o.size();
            next += ceil_div(std::max<std::int64_t>(o.size(), 1), whole) * whole;
        }
    } else {
        const Operand o = matrix(p);
        for (std::int64_t i = 0; i < p.batch; ++i) found.push_back(i * o.stride);
        if (p.batch > 0) end = found.back() + o.size();
    }
    found.push_back(end);
    return found;
}

double flop_of(const Problem& p) {
    return over_problems(p, [](double M, double N, double K) { return 2.0 * M * N * K; });
}

double elements_of(const Problem& p) {
    return over_problems(p, [](double M, double N, double) { return M * N; });
}

const Operand& result_of(const std::vector<Operand>& all) {
    return *std::find_if(all.begin(), all.end(), [](const Operand& o) { return o.role != Role::in; });
}

Problem over(Problem p, std::span<void* const> data) {
    std::size_t next = 0;
    for (const Operand& o : operands(p)) {
        void* const at = data[next++];
        if (put_address(p, o.id, at)) {
            const std::vector<std::int64_t> places =
                p.groups.empty() ? std::vector<std::int64_t>{} : begins(p, o.id);
            for (std::size_t i = 0; i < p.groups.size(); ++i)
                put_address(p.groups[i], o.id, behind(at, o.type, places[i]));
        } else if (o.id == OperandId::scales) {
            p.scales = at;
        } else if (o.id == OperandId::bias) {
            p.bias = at;
        } else {
            p.residual = at;
        }
    }
    return p;
}

}  // namespace gemm
