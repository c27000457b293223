// The matrices of a problem as a list: whoever checks or copies loops over it, and knows no letters.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/gemm.hpp"

namespace gemm {

/// What a kernel does with a matrix.
enum class Role {
    in,      // reads it
    in_out,  // writes it, and reads it before unless beta == 0
    out,     // writes it
};

/// Which one it is, of all that problems may have.
enum class OperandId { A, B, C, scales, bias, residual, D };
inline constexpr std::array kOperandIds{OperandId::A,    OperandId::B,        OperandId::C, OperandId::scales,
                                        OperandId::bias, OperandId::residual, OperandId::D};
/// Its place among them.
constexpr std::size_t place_of(OperandId id) {
    return static_cast<std::size_t>(id);
}

/// One matrix of a problem, row-major as it lies in memory.
struct Operand {
    OperandId id;
    const char* name;  // "A"
    Role role;
    DType type;
    std::int64_t rows, cols, pitch;  // in elements
    void* data;                      // null where the problem has no pointers
    // From one row of op(A), or of the result, to the next, and from one column of op(B), or of the result,
    // in elements; 0 of a matrix that has no such rows or columns.
    std::int64_t along_m, along_n;
    const char* width;       // what its columns are: "K"
    const char* pitch_name;  // "lda"; null of one that is a row of N elements
    const char* unread;      // why what it holds must not be read: "beta = 0"; "" where it may be
    // Of a strided batch: from this problem's to the next one's, in elements, and "stride_a".
    std::int64_t stride = 0;
    const char* stride_name = nullptr;

    std::int64_t size() const { return rows * pitch; }
};

/// Those of a problem, in the order of their ids; of a strided batch, those of its first, and of a grouped
/// one as large as the largest.
std::vector<Operand> operands(const Problem& p);
/// The problems of a batch, each as one by itself; of one problem, that.
std::vector<Problem> members(const Problem& p);
/// Where each of their matrices begins in a piece of memory for all of them, counted in elements from the
/// first, and, at the end, how many elements it has. Of a grouped batch each, also one without elements,
/// begins at a multiple of 256 bytes, where no other does, as what cudaMalloc returns.
std::vector<std::int64_t> begins(const Problem& p, OperandId id);
/// Floating-point operations of all its products: 2·M·N·K each, whatever is fused.
double flop_of(const Problem& p);
/// Elements of all its results.
double elements_of(const Problem& p);
/// The one among them that is written.
const Operand& result_of(const std::vector<Operand>& all);

/// The problem with its matrices, or those of a batch's first problem, at these addresses, in the order of
/// operands(); a batch's others are where begins() says.
Problem over(Problem p, std::span<void* const> data);

/// Where a problem, or a shape, keeps a matrix's pitch; null of one that has none.
template <class Pitches>
std::int64_t* pitch_in(Pitches& p, OperandId id) {
    switch (id) {
        case OperandId::A:
            return &p.lda;
        case OperandId::B:
            return &p.ldb;
        case OperandId::C:
            return &p.ldc;
        case OperandId::scales:
            return &p.lds;
        case OperandId::residual:
            return &p.ldr;
        case OperandId::D:
            return &p.ldd;
        case OperandId::bias:
            break;
    }
    return nullptr;
}

inline std::int64_t* pitch_in(Group& g, OperandId id) {
    switch (id) {
        case OperandId::A:
            return &g.lda;
        case OperandId::B:
            return &g.ldb;
        case OperandId::C:
            return &g.ldc;
        case OperandId::D:
            return &g.ldd;
        case OperandId::scales:
        case OperandId::bias:
        case OperandId::residual:
            break;
    }
    return nullptr;
}

/// The same of what lies between the matrices of a strided batch's problems; null of one that no batch has.
template <class Strides>
auto stride_in(Strides& p, OperandId id) -> decltype(&p.stride_a) {
    switch (id) {
        case OperandId::A:
            return &p.stride_a;
        case OperandId::B:
            return &p.stride_b;
        case OperandId::C:
            return &p.stride_c;
        case OperandId::D:
            return &p.stride_d;
        case OperandId::scales:
        case OperandId::bias:
        case OperandId::residual:
            break;
    }
    return nullptr;
}

}  // namespace gemm
