// Warpgroup and thread level: from wgmma's sums to C. A consumer's results are rounded and packed into half
// as many registers; from there they leave by TMA, a box at a time, during the products of the next C tile.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/element.hpp"
#include "common/parts/arguments.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/pairs.hpp"
#include "common/parts/scheduler.hpp"
#include "common/ptx/barrier.hpp"
#include "common/ptx/stmatrix.hpp"
#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"

namespace gemm::wgmma {

/// Whether output(sum, …) is the sum. Then nothing is left to do between two C tiles.
__device__ __forceinline__ bool keeps_sums(const LinearCombination& output) {
    return output.alpha == 1.0f;
}

/// DIRECT: TMA may not write C, or C is read. S: a Shape.
template <class T, class S, bool DIRECT, class Output>
struct Epilogue {
    static_assert(ElementwiseOutput<Output>);
    using Sums = float[S::BM / 2];  // of a thread: a piece of Cᵀ, 64×BM

    /// An element of C.
    struct Place {
        int row, col;
    };

    const Arguments<T>& out;
    const Output& output;
    const CUtensorMap& map_c;  // C in boxes of BOX_ROWS×BOX, swizzled by 128 bytes, where `boxes`
    bool boxes;                // TMA may write C
    int consumer;
    char *slots, *bs;                 // the consumer's boxes, and its Bs in stage 0
    std::uint32_t packed[S::BM / 4];  // results of the C tile before, two rows each, that begin at `at`
    Place at = {};
    bool pending = false;  // whether there are any
    unsigned slot = 0;

    __device__ __forceinline__ Epilogue(const Arguments<T>& arguments, const Output& function,
                                        const CUtensorMap& map, bool by_boxes, char* shared, int number)
        : out(arguments),
          output(function),
          map_c(map),
          boxes(by_boxes),
          consumer(number),
          slots(shared + S::OUT + number * S::OUT_BOXES * S::OUT_BOX),
          bs(shared + S::BS + number * S::BK * S::SPAN) {}

    /// Takes the sums of the work's C tile, which are complete. Those before them have left.
    __device__ __forceinline__ void take(Sums& sums, const Work& work) {
        const Place here{static_cast<int>(work.tile.m) * S::BM,
                         static_cast<int>(work.tile.n) * S::BN + consumer * S::WGMMA_M};
        if (!output.reads_c() && !keeps_sums(output)) {  // for each sum, while the tensor cores may idle
#pragma unroll
            for (int e = 0; e < S::BM / 2; ++e) {
                const Place in = place_of(e, here);
                sums[e] = output(sums[e], in.row, in.col);
            }
        }
        if constexpr (DIRECT) {
            reach_c(sums, here);
            if (!boxes) return;
        }
#pragma unroll
        for (int j = 0; j < S::BM / 4; ++j) packed[j] = pack2<T>(sums[2 * j], sums[2 * j + 1]);
        at = here;
        pending = true;
    }

    /// Box number `box` of the previous C tile leaves, if there is one.
    __device__ __forceinline__ void leave(int box) {
        if (pending) {
            store_box(slots + slot * S::OUT_BOX, true, box);
            slot ^= 1;
        }
    }

    /// After the last C tile: its boxes leave. The stages are empty, so each box finds a place of its own,
    /// where a stage's Bs was.
    __device__ __forceinline__ void finish() {
#pragma unroll
        for (int box = 0; box < S::BOXES; ++box) {
            if (pending) store_box(bs + box * S::STAGE, false, box);
        }
        // Shared memory lives as long as the block.
        if (threadIdx.x % S::WARPGROUP == 0) ptx::bulk_wait_read<0>();
    }

  private:
    /// A box of packed results on its way to C, by `to`: T [BOX_ROWS][BOX], swizzled as map_c says. again:
    /// the next box takes the place of the box before.
    __device__ __forceinline__ void store_box(char* to, bool again, int box) const {
        const unsigned t = threadIdx.x % S::WARPGROUP, warp = t / 32, lane = t % 32;
        // A warp has 16 columns of the box, so two units of 16 bytes of each row. stmatrix transposes four
        // matrices, 8 rows of the box by one unit each: the first two are side by side, the others below
        // them.
        const unsigned y = lane / 16 * 8 + lane % 8, unit = warp * 2 + lane / 8 % 2;
#pragma unroll
        for (int r = 0; r < S::BOX_ROWS; r += 16) {
            const std::uint32_t* const two_by_two = &packed[(box * S::BOX_ROWS + r) / 4];
            char* const place = to + (r + y) * S::SPAN + (unit ^ y % 8) * 16;
            if (r + 16 <= S::BOX_ROWS) {
                ptx::stmatrix_trans<4>(place, {two_by_two[0], two_by_two[1], two_by_two[2], two_by_two[3]});
            } else {
                ptx::stmatrix_trans<2>(place, {two_by_two[0], two_by_two[1]});
            }
        }
        ptx::fence_proxy_async();                       // each thread, for what it has written
        if (again && t == 0) ptx::bulk_wait_read<0>();  // the box before has been read
        ptx::barrier_sync(1 + threadIdx.x / S::WARPGROUP, S::WARPGROUP);
        if (t == 0) {
            ptx::tma_store(map_c, {at.col, at.row + box * S::BOX_ROWS}, to);
            ptx::bulk_commit();
        }
    }

    /// Where the thread's sum number e belongs in C.
    __device__ __forceinline__ static Place place_of(int e, Place first) {
        const ptx::WgmmaPlace in = ptx::wgmma_sum(threadIdx.x % S::WARPGROUP, e);  // of Cᵀ
        return {first.row + static_cast<int>(in.column), first.col + static_cast<int>(in.row)};
    }

    /// What TMA cannot do, by the threads that have the sums: sums = output(sums, C), and C = sums where TMA
    /// may not write it. Box by box, so that the loads of one are on their way together.
    __device__ __forceinline__ void reach_c(Sums& sums, Place here) const {
        constexpr int EACH = S::BOX_ROWS / 2;  // of a thread in a box
        // From a thread's first sum to each of its others is as far as it is in thread 0, so the compiler
        // knows the distances.
        const Place first = place_of(0, here);
        T* const c = &out.C[first.row * out.ldc + first.col];
        // How far C goes from there, in 32 bits, which need fewer registers.
        const int rows = out.M - first.row < S::BM ? static_cast<int>(out.M - first.row) : S::BM,
                  cols = out.N - first.col < S::WGMMA_M ? static_cast<int>(out.N - first.col) : S::WGMMA_M;
        const auto inside = [&](unsigned row, unsigned col) {
            return static_cast<int>(row) < rows && static_cast<int>(col) < cols;
        };
#pragma unroll
        for (int e0 = 0; e0 < S::BM / 2; e0 += EACH) {
            if (output.reads_c()) {
                T old[EACH];
#pragma unroll
                for (int i = 0; i < EACH; ++i) {
                    const ptx::WgmmaPlace to = ptx::wgmma_sum(0, e0 + i);  // of Cᵀ
                    old[i] = inside(to.column, to.row) ? c[to.column * out.ldc + to.row] : T{};
                }
#pragma unroll
                for (int i = 0; i < EACH; ++i) {
                    const ptx::WgmmaPlace to = ptx::wgmma_sum(0, e0 + i);
                    sums[e0 + i] =
                        output(sums[e0 + i], to_float(old[i]), first.row + to.column, first.col + to.row);
                }
            }
#pragma unroll
            for (int e = e0; e < e0 + EACH && !boxes; ++e) {
                const ptx::WgmmaPlace to = ptx::wgmma_sum(0, e);  // of Cᵀ
                if (inside(to.column, to.row)) c[to.column * out.ldc + to.row] = from_float<T>(sums[e]);
            }
        }
    }
};

/// The thread that has (row, col) of the C tile, for owner().
inline unsigned thread_of(unsigned row, unsigned col) {
    return col / 16 * 32 + col % 8 * 4 + row % 8 / 2;
}

}  // namespace gemm::wgmma
