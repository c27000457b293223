// The exam: problems that gemm_judge sets, and what a program with a learner's kernel makes of them. The two
// share this format and no process: whatever the kernel does to its own, the matrices that it hands over are
// all that counts.
#pragma once

#include <cstdint>

namespace gemm::exam {

// Paper: the number of problems (std::uint64_t), then each: a Question, and the bytes of A, B and C as they
// lie in memory, guard bands included. Little-endian, as everything that CUDA runs on.
//
// Answers, in the same order: an Answer, then the bytes of C afterwards, guard bands included; or, where
// there is no result, `error` bytes that say why, and nothing behind them.

/// One of A, B and C.
struct Matrix {
    std::uint64_t bytes;  // of the whole allocation, guard bands included
    std::uint64_t start;  // offset of the first element in it; a multiple of 256, as cudaMalloc's pointers
};

struct Question {
    std::int64_t M, N, K, lda, ldb, ldc;  // as in gemm::Problem
    float alpha, beta;
    // gemm::Variant: the types of A, B and C, and the layout.
    std::uint8_t types[3], layout;
    std::uint32_t unused;  // 0
    Matrix A, B, C;
};

struct Answer {
    std::uint64_t index;  // of the question, from 0
    std::uint64_t error;  // length of the text; 0: C follows
};

constexpr std::uint64_t kLongestError = 4096;

}  // namespace gemm::exam
