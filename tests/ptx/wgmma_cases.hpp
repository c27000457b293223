// Random multiplications for wgmma, and what their sums must be, worked out from the layouts in shared memory
// as CUTLASS describes them (include/cute/atom/mma_traits_sm90_gmma.hpp): without what the CPU device does it
// with. Inputs are small whole numbers, so that every sum is exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/numbers.hpp"
#include "tests/ptx/wgmma.hpp"
#include "tests/random_cases.hpp"

namespace test {

/// What a mode's cases have in common.
struct WgmmaMode {
    std::string name;
    gemm::ptx::WgmmaSwizzle swizzle;  // of A and B
    bool registers;                   // A comes from them
    gemm::ptx::Major major_a, major_b;
    /// Patterns of the swizzle begin at multiples of 128 bytes, not of their size, and the descriptor's base
    /// offset says so. What a GPU does then nobody has seen yet.
    bool base_offset = false;
};

/// The modes, for what runs cases: sums, thread by thread.
std::vector<RandomMode> wgmma_random();

/// Which 2 bytes of shared memory hold element (row, k) of a matrix of 16-bit numbers.
std::size_t wgmma_place(const gemm::ptx::WgmmaFields& f, gemm::ptx::Major major, unsigned row, unsigned k);
/// Where a matrix of such a mode lies, from `start` on, a multiple of 1024, and how far the second step of 32
/// bytes along K is.
void draw_matrix(const WgmmaMode& mode, Numbers& numbers, gemm::ptx::Major major, unsigned start,
                 gemm::ptx::WgmmaFields& f, unsigned& step);

}  // namespace test
