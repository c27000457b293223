// What the mutants share: copies of lesson 03 (or 02), each with one mistake, which the verifier must find.
#pragma once

#include "common/gemm.hpp"

namespace mutant {

constexpr int BM = 32, BN = 32, BK = 32;
const gemm::Tile tile{BM, BN, BK};
const dim3 block(BN, BM);

inline gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, BN);
    return {{static_cast<unsigned>(row / BM * tiles_n + col / BN), 0, 0},
            {static_cast<unsigned>(col % BN), static_cast<unsigned>(row % BM), 0}};
}

}  // namespace mutant
