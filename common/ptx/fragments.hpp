// Which element of a matrix which lane of a warp holds in which register: what ldmatrix delivers and mma.sync
// takes (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and "Warp-level matrix load
// instruction: ldmatrix"). One definition for kernels, tests and pictures.
//
// A register of 32 bits holds two elements of 16: `half` is 0 for the one in the lower bits, 1 for the other.
#pragma once

#include <cuda_runtime.h>

namespace gemm::ptx {

struct Position {
    int row, col;
};

/// A, 16×16: registers 0 … 3.
__host__ __device__ constexpr Position fragment_a(int lane, int reg, int half) {
    return {lane / 4 + reg % 2 * 8, lane % 4 * 2 + half + reg / 2 * 8};
}

/// B, 16×8: registers 0 and 1.
__host__ __device__ constexpr Position fragment_b(int lane, int reg, int half) {
    return {lane % 4 * 2 + half + reg * 8, lane / 4};
}

/// C and D, 16×8: floats 0 … 3.
__host__ __device__ constexpr Position fragment_c(int lane, int index) {
    return {lane / 4 + index / 2 * 8, lane % 4 * 2 + index % 2};
}

/// What a lane gets of each 8×8 matrix that ldmatrix reads, or ldmatrix_trans.
__host__ __device__ constexpr Position ldmatrix_element(int lane, int half) {
    return {lane / 4, lane % 4 * 2 + half};
}
__host__ __device__ constexpr Position ldmatrix_trans_element(int lane, int half) {
    return {lane % 4 * 2 + half, lane / 4};
}

/// Where the row starts whose address a lane gives so that four 8×8 matrices come from a 16×16 tile,
/// row-major in shared memory. Of a tile of A (M×K), ldmatrix then delivers its fragment; of a tile of B
/// (K×N), ldmatrix_trans the fragments of its columns 0 … 7 and 8 … 15, two registers each.
__host__ __device__ constexpr Position ldmatrix_row(int lane) {
    return {lane % 16, lane / 16 * 8};
}

}  // namespace gemm::ptx
