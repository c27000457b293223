// What common/ptx/ldmatrix.hpp, stmatrix.hpp, mma.hpp and <mma.h> call on the CPU device. Every function is
// an instruction of the whole warp: its 32 lanes meet at `site`, and the last to come does the work.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "common/ptx/fragments.hpp"

namespace cpu_device {

/// The type of A and B.
enum class Input { half, bfloat16 };

/// ldmatrix of `count` matrices, as described in common/ptx/ldmatrix.hpp. A lane's row is read when the lane
/// comes: what another lane has yet to write, because no barrier made it come first, is missing.
void load_matrices(std::uint32_t* registers, int count, bool transposed, const void* row, Site site);

/// stmatrix of `count` matrices, as described in common/ptx/stmatrix.hpp. A lane's row is written when the
/// lane goes on, after all have met.
void store_matrices(void* row, const std::uint32_t* registers, int count, bool transposed, Site site);

/// acc += A·B by m16n8k16 fragments, as described in common/ptx/mma.hpp. Each sum is computed in double, in
/// which all products are exact, and rounded to float once: closer to the true sum than any tensor core is
/// known to be, and the same in whatever order the addends are taken.
void multiply_fragments(float* acc, const std::uint32_t* a, const std::uint32_t* b, Input input, Site site);

// wmma, 16×16×16. A lane's share of A or B is 4 pairs of neighbors in the matrix's rows, or in its columns
// where it is column-major: pair r is what fragment_a() says of register r.

/// The running thread's lane.
int lane();
/// Where element `index` of a lane's 8 of C is: what two fragments of m16n8k16 hold, for columns 0 … 7 and
/// for the others.
__forceinline__ gemm::ptx::Position wmma_sum(int lane, int index) {
    const gemm::ptx::Position p = gemm::ptx::fragment_c(lane, index % 4);
    return {p.row, p.col + index / 4 * 8};
}

/// Throws gemm::Error unless wmma may load from or store to `start` with rows `pitch` elements apart (CUDA
/// C++ Programming Guide, "Warp Matrix Functions": a multiple of 32 bytes, and of 16).
void check_wmma_memory(const void* start, unsigned pitch, std::size_t element_bytes, Site site);
/// Where lanes meet when they have loaded or stored; throws gemm::Error unless all name the same place.
void wmma_moved(const void* start, unsigned pitch, Site site);

/// A lane's share of A or B, and how the matrix lies in memory.
struct WmmaInput {
    const void* elements;  // the first 8 of them
    bool column_major;
};
/// d = a·b + c, 8 floats of a lane each; d may be c.
void wmma_multiply(float* d, WmmaInput a, WmmaInput b, const float* c, Input input, Site site);

/// Where element `index` of a lane is in a matrix of wmma's other shapes, as its line and its place there:
/// pairs of neighbors, lane by lane. `length`: of a line, which is a row, or a column where it is
/// column-major.
__forceinline__ gemm::ptx::Position wmma_element(int lane, int index, int length) {
    const int pair = index / 2 * 32 + lane;
    return {pair / (length / 2), pair % (length / 2) * 2 + index % 2};
}

/// A lane's share of C += A·B of any shape up to 32 in each direction: its elements, and where they are.
struct Share {
    static constexpr int kMost = 16;
    struct Matrix {
        int count = 0;
        double value[kMost];
        gemm::ptx::Position at[kMost];

        void add(double element, gemm::ptx::Position where) {
            value[count] = element;
            at[count++] = where;
        }
    };
    int m, n, k;
    Matrix a{}, b{}, c{};
};
/// Leaves the sums in share.c, each computed in double.
void multiply_shares(Share& share, Site site);

/// What a tensor core reads of a float as TF32: the low 13 bits are ignored.
__forceinline__ double tf32_value(float value) {
    return static_cast<double>(
        __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, value) & 0xffffe000u));
}

}  // namespace cpu_device
