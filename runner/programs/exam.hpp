// The exam: problems that gemm_judge sets, and what a program with a learner's kernel makes of them. The two
// share this format and no process: whatever the kernel does to its own, the matrices that it hands over are
// all that counts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gemm::exam {

// Paper: the number of problems (std::uint64_t), then each: a Question, `batch` times Sizes where that is a
// grouped batch, and the bytes of its matrices as they lie in memory, guard bands included; where something
// comes earlier, other bytes of them all behind those. Little-endian, as everything that CUDA runs on.
//
// Answers, in the same order: an Answer, then the bytes of the matrix that is written afterwards, guard bands
// included; or, where there is no result, `error` bytes that say why, and nothing behind them.

constexpr std::size_t kMostBlocks = 4, kMostOperands = 7, kLongestVariant = 64;

/// One of the operands.
struct Matrix {
    std::uint64_t bytes;  // of the whole allocation, guard bands included
    std::uint64_t start;  // offset of the first element in it
    // Behind each of the rows but the last, `gap` bytes of the allocation are left out of the paper and of
    // the answer; rows are of `row` bytes.
    std::uint64_t rows, row, gap;
};

struct Question {
    std::int64_t M, N, K, lda, ldb, ldc, lds, ldr, ldd;          // as in gemm::Problem
    std::int64_t batch, stride_a, stride_b, stride_c, stride_d;  // the same
    float alpha, beta;
    char variant[kLongestVariant];  // its canonical text, and zeros
    // gemm::Earlier: where it is not 0, that is computed with the first bytes, then the problem with the
    // others at the same pointers, which the answer is of.
    std::uint8_t earlier;
    std::uint8_t unused[3];  // 0
    std::int32_t sm;         // the compute capability whose limits hold, 10·major + minor; 0: the usual one
    std::int32_t multiprocessors;  // of the device; 0: as usual
    std::uint32_t block_count;     // how many of `blocks` run and no others; 0: all do
    std::uint64_t blocks[kMostBlocks];
    std::uint64_t schedule;          // the seed of what a GPU leaves open
    Matrix matrices[kMostOperands];  // in the order of operands(), then zeros
};

/// Of a gemm::Group, what is not an address.
struct Sizes {
    std::int64_t M, N, K, lda, ldb, ldc, ldd;
};

struct Answer {
    std::uint64_t index;  // of the question, from 0
    std::uint64_t error;  // length of the text; 0: C follows
};

constexpr std::uint64_t kLongestError = 4096;

}  // namespace gemm::exam
