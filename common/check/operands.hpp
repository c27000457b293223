// The matrices of a problem as a list: whoever checks or copies loops over it, and knows no letters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/gemm.hpp"

namespace gemm {

/// What a kernel does with a matrix.
enum class Role {
    in,      // reads it, unless alpha == 0
    in_out,  // writes it, and reads it before unless beta == 0
};

/// One matrix of a problem, row-major as it lies in memory.
struct Operand {
    const char* name;  // "A"
    Role role;
    DType type;
    std::int64_t rows, cols, pitch;  // in elements
    void* data;                      // null where the problem has no pointers
    // From one row of op(A), or of C, to the next, and from one column of op(B), or of C, in elements; 0 of a
    // matrix that has no such rows or columns.
    std::int64_t along_m, along_n;

    std::int64_t size() const { return rows * pitch; }
};

/// Those of a problem, in the order of its declaration: A, B and C.
std::vector<Operand> operands(const Problem& p);

/// The problem with its matrices at these addresses, in the order of operands().
Problem over(Problem p, std::span<void* const> data);

}  // namespace gemm
