// 09c pipelined — the tensor cores are kept fed: tiles are copied ahead by cp.async, fragments are read a
// step ahead, and the blocks stay, so that the next tile of C begins to load while this one is written.
//
// Changed since 09b: STAGES stages filled by cp.async; two sets of fragments; a block tile of 256×128; one
// block an SM that takes tile after tile of C, in groups that share tiles of A and B in L2; C goes through
// shared memory and is stored 16 bytes at a time.

#include <algorithm>
#include <type_traits>

#include "common/element.hpp"
#include "common/error.hpp"
#include "common/gemm.hpp"
#include "common/ptx/cp_async.hpp"
#include "common/ptx/fragments.hpp"
#include "common/ptx/ldmatrix.hpp"
#include "common/ptx/mma.hpp"
#include "common/swizzle.hpp"

namespace lesson_09c {

constexpr int BM = 256, BN = 128;                 // block tile: rows and columns of C
constexpr int WM = 64, WN = 64;                   // warp tile: rows and columns of C
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // what one instruction multiplies
constexpr int STAGES = 3;                         // tiles of A and of B in shared memory
constexpr int GROUP = 8;                          // rows of block tiles that are counted together
constexpr int WARPS_N = BN / WN, THREADS = 32 * (BM / WM) * WARPS_N;
constexpr int TILES_M = WM / MMA_M, TILES_N = WN / MMA_N;  // of mma.sync in the warp tile
constexpr int OUT_PITCH = 2 * WN + 16;  // bytes: 16 rows of a warp's results, in different banks

/// What depends on the steps of a tile along K: with 64 the stages take 144 KiB, with 32 half of it, for GPUs
/// whose blocks have only 99.
template <int BK_>
struct Depth {
    static constexpr int BK = BK_;
    static constexpr int BS = 2 * BM * BK, STAGE = BS + 2 * BK * BN;  // bytes: where Bs begins, a stage
    static constexpr int OUT = STAGES * STAGE, SHARED = OUT + THREADS / 32 * MMA_M * OUT_PITCH;

    /// Where (row, col) of a stage's tiles lies, in bytes. Eight neighbours stay together, and their place in
    /// the row depends on the row: eight rows of a fragment lie in different banks.
    static constexpr int A_BITS = BK == 64 ? 3 : 2;  // as many as a row of As has units
    __device__ static int a_at(int row, int k) {
        return gemm::Swizzle<A_BITS, 4, 3>::apply(2 * (row * BK + k));
    }
    __device__ static int b_at(int k, int col) {
        return BS + gemm::Swizzle<3, 4, 4>::apply(2 * (k * BN + col));
    }
};

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major. ALIGNED: every row begins at a
// multiple of 16 bytes, and K and N are multiples of 8, so that eight elements are there or none.
template <class T, class D, bool ALIGNED>
__global__ void __launch_bounds__(THREADS, 1)
    hgemm_pipelined(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const T* A, std::int64_t lda,
                    const T* B, std::int64_t ldb, float beta, T* C, std::int64_t ldc) {
    constexpr int BK = D::BK;
    extern __shared__ __align__(128) char shared[];  // stages: T As[BM][BK], Bs[BK][BN]; then results
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int y = warp / WARPS_N * WM, x = warp % WARPS_N * WN;  // of the warp tile in the block tile
    // What the thread copies: WIDTH elements at a time; of a row of A once or twice, of a row of B every 64.
    constexpr int WIDTH = ALIGNED ? 8 : 2, A_RUN = ALIGNED ? BK / 2 : BK;
    constexpr int A_ROWS = THREADS * WIDTH / A_RUN, B_ROWS = THREADS * WIDTH / 64;  // at a time
    static_assert(BM % A_ROWS == 0 && BK % B_ROWS == 0 && A_ROWS % 8 == 0 && B_ROWS % 8 == 0,
                  "swizzles repeat");
    const int a_row = t * WIDTH / A_RUN, a_k = t * WIDTH % A_RUN, b_k = t * WIDTH / 64,
              b_col = t * WIDTH % 64;
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B

    // Tiles of C are counted down a group of GROUP rows of tiles, then along it: those that are computed at
    // the same time cover a rectangle, and need few rows of A and columns of B.
    const auto tiles_m = static_cast<unsigned>((M + BM - 1) / BM);
    const auto tiles_n = static_cast<unsigned>((N + BN - 1) / BN);
    std::int64_t row0, col0;
    const auto locate = [&](unsigned c_tile) {
        const unsigned group = c_tile / (GROUP * tiles_n), in_group = c_tile % (GROUP * tiles_n);
        const unsigned group_m = tiles_m - group * GROUP < GROUP ? tiles_m - group * GROUP : GROUP;
        row0 = std::int64_t{group * GROUP + in_group % group_m} * BM;
        col0 = std::int64_t{in_group / group_m} * BN;
    };

    const T *a = nullptr, *b = nullptr;  // what the thread copies next
    // WIDTH elements of a row from place `at` on; zeros for those that are not there: in no row, or behind
    // `end`.
    const auto copy_run = [&](char* to, const T* from, bool row_there, int at, std::int64_t end) {
        if constexpr (ALIGNED) {
            gemm::ptx::cp_async_or_zero<16>(to, from, row_there && at < end);
        } else {
            const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
            const std::uint32_t low = row_there && at < end ? bits[0] : 0;
            const std::uint32_t high = row_there && at + 1 < end ? bits[1] : 0;
            *reinterpret_cast<std::uint32_t*>(to) = low | high << 16;
        }
    };
    char* const a_write[2] = {shared + D::a_at(a_row, a_k), shared + D::a_at(a_row, (a_k + A_RUN) % BK)};
    char* const b_write = shared + D::b_at(b_k, b_col);
    const auto copy = [&](int stage, int steps) {
#pragma unroll(ALIGNED ? BM : 8)
        for (int r = 0; r < BM; r += A_ROWS) {
#pragma unroll
            for (int i = 0; i < BK / A_RUN; ++i) {
                copy_run(a_write[i] + stage + 2 * r * BK, a + r * lda + i * A_RUN, row0 + a_row + r < M,
                         a_k + i * A_RUN, steps);
            }
        }
        // gap: tile_b
#pragma unroll(ALIGNED ? BK : 4)
        for (int r = 0; r < BK; r += B_ROWS) {
#pragma unroll
            for (int i = 0; i < BN; i += 64) {
                copy_run(b_write + stage + 2 * (r * BN + i), b + r * ldb + i, b_k + r < steps, b_col + i,
                         N - col0);
            }
        }
        // end gap
        a += steps;
        b += steps * ldb;
    };
    // The first tiles of a tile of C. The partial one comes first, so that the others need no guard along K.
    const auto fill = [&] {
        a = A + (row0 + a_row) * lda + a_k;
        b = B + b_k * ldb + col0 + b_col;
        const std::int64_t tiles = (k_end + BK - 1) / BK;
        if (tiles > 0) copy(0, static_cast<int>((k_end - 1) % BK) + 1);
        gemm::ptx::cp_async_commit();
        for (int s = 1; s < STAGES - 1; ++s) {
            if (s < tiles) copy(s * D::STAGE, BK);
            gemm::ptx::cp_async_commit();  // one group per tile, be it empty
        }
    };

    // Where this lane's rows of the fragments begin in stage 0; what is added to them are constants.
    const gemm::ptx::Position at = gemm::ptx::ldmatrix_row(lane);
    const char *a_read[BK / MMA_K], *b_read[TILES_N / 2];
#pragma unroll
    for (int k = 0; k < BK; k += MMA_K) a_read[k / MMA_K] = shared + D::a_at(y + at.row, k + at.col);
#pragma unroll
    for (int j = 0; j < TILES_N / 2; ++j) b_read[j] = shared + D::b_at(at.row, x + j * 16 + at.col);
    std::uint32_t a_frag[2][TILES_M][4], b_frag[2][TILES_N / 2][2][2];  // of this step and of the next
    const auto read = [&](int which, int stage, int step) {
#pragma unroll
        for (int i = 0; i < TILES_M; ++i) {
            gemm::ptx::ldmatrix(a_frag[which][i], a_read[step] + stage + 2 * i * MMA_M * BK);
        }
        // gap: read_b
#pragma unroll
        for (int j = 0; j < TILES_N / 2; ++j) {
            gemm::ptx::ldmatrix_trans(b_frag[which][j], b_read[j] + stage + 2 * step * MMA_K * BN);
        }
        // end gap
    };

    constexpr int LAST = (STAGES - 1) * D::STAGE;
    unsigned c_tile = blockIdx.x;
    locate(c_tile);
    fill();
#pragma unroll 1
    for (;;) {
        std::int64_t tiles = (k_end + BK - 1) / BK;
        float acc[TILES_M][TILES_N][4] = {};
        gemm::ptx::cp_async_wait<STAGES - 2>();
        __syncthreads();              // the first tiles are complete before anyone reads them
        int stage = 0, ahead = LAST;  // the tiles in use, and those that are copied meanwhile
        if (tiles > 0) read(0, stage, 0);
        const auto use_tiles = [&](auto copying) {
#pragma unroll
            for (int step = 0; step < BK / MMA_K; ++step) {
                if (step == BK / MMA_K - 1) {
                    // gap: arrived
                    gemm::ptx::cp_async_wait<STAGES - 2>();
                    __syncthreads();  // the next tiles are complete, and everyone has read these
                    stage = stage == LAST ? 0 : stage + D::STAGE;
                    // end gap
                }
                if (copying.value || step < BK / MMA_K - 1 || tiles > 1) {
                    read((step + 1) % 2, stage, (step + 1) % (BK / MMA_K));
                }
                if (step == 0) {
                    if (copying.value) copy(ahead, BK);
                    gemm::ptx::cp_async_commit();
                    ahead = ahead == LAST ? 0 : ahead + D::STAGE;
                }
                // Down a column and up the next: two neighbours share a fragment.
#pragma unroll
                for (int j = 0; j < TILES_N; ++j) {
#pragma unroll
                    for (int e = 0; e < TILES_M; ++e) {
                        const int i = j % 2 == 0 ? e : TILES_M - 1 - e;
                        gemm::ptx::mma_m16n8k16<T>(acc[i][j], a_frag[step % 2][i],
                                                   b_frag[step % 2][j / 2][j % 2]);
                    }
                }
            }
        };
        for (; tiles > STAGES - 1; --tiles) use_tiles(std::true_type());
        for (; tiles > 0; --tiles) use_tiles(std::false_type());  // everything is copied

        // The next tile of C begins to load. (Behind the last barrier nobody reads the stages any more.)
        const std::int64_t y0 = row0 + y, x0 = col0 + x;
        c_tile += gridDim.x;
        const bool more = c_tile < tiles_m * tiles_n;
        if (more) {
            locate(c_tile);
            fill();
        }
        // 16 rows of the warp tile at a time through shared memory, from fragments to rows.
        char* const out = shared + D::OUT + threadIdx.x / 32 * MMA_M * OUT_PITCH;
#pragma unroll
        for (int i = 0; i < TILES_M; ++i) {
            __syncwarp();  // every lane has stored the rows before
#pragma unroll
            for (int j = 0; j < TILES_N; ++j) {
#pragma unroll
                for (int e = 0; e < 4; e += 2) {
                    const gemm::ptx::Position in = gemm::ptx::fragment_c(lane, e);
                    const std::int64_t row = y0 + i * MMA_M + in.row, col = x0 + j * MMA_N + in.col;
                    __align__(4) T pair[2];
                    for (int h = 0; h < 2; ++h) {
                        float sum = alpha * acc[i][j][e + h];
                        if (beta != 0.0f && row < M && col + h < N) {  // BLAS: beta == 0 must not read C
                            sum += beta * gemm::to_float(C[row * ldc + col + h]);
                        }
                        pair[h] = gemm::from_float<T>(sum);
                    }
                    *reinterpret_cast<std::uint32_t*>(out + in.row * OUT_PITCH + 2 * (j * MMA_N + in.col)) =
                        *reinterpret_cast<const std::uint32_t*>(pair);
                }
            }
            __syncwarp();
            // gap: rows
            // The rows are complete: 16 bytes a lane, neighbours side by side.
#pragma unroll
            for (int c = lane; c < MMA_M * WN / 8; c += 32) {
                const int r = c / (WN / 8), at_col = c % (WN / 8) * 8;
                const std::int64_t row = y0 + i * MMA_M + r, col = x0 + at_col;
                if (row >= M || col >= N) continue;
                const uint4 eight = *reinterpret_cast<const uint4*>(out + r * OUT_PITCH + 2 * at_col);
                if (ALIGNED) {
                    *reinterpret_cast<uint4*>(&C[row * ldc + col]) = eight;
                } else {
#pragma unroll  // eight lies in registers, which take no index at run time
                    for (int e = 0; e < 8; ++e) {
                        if (col + e < N) C[row * ldc + col + e] = reinterpret_cast<const T*>(&eight)[e];
                    }
                }
            }
            // end gap
        }
        if (!more) return;
    }
}

const gemm::Tile tile{BM, BN, 64};

/// What a launch needs of the device: how many SMs it has, and whether its blocks have room for BK = 64.
struct Here {
    int multiprocessors;
    bool deep;
};

Here here() {
    int device = 0;
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    return {properties.multiProcessorCount,
            properties.sharedMemPerBlockOptin >= std::size_t{Depth<64>::SHARED}};
}

gemm::Plan prepare(const gemm::Problem& /*p*/) {
    return std::make_shared<Here>(here());
}

template <class T, class D>
void launch_depth(const gemm::Problem& p, int multiprocessors, cudaStream_t stream) {
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const bool aligned = (address(p.A) | address(p.B) | address(p.C)) % 16 == 0 &&
                         (p.K | p.N | p.lda | p.ldb | p.ldc) % 8 == 0;
    const auto kernel = aligned ? hgemm_pipelined<T, D, true> : hgemm_pipelined<T, D, false>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, D::SHARED);
    const unsigned blocks =
        std::min(gemm::grid_of_tiles(p, {BM, BN, D::BK}).x, static_cast<unsigned>(multiprocessors));
    kernel<<<blocks, THREADS, D::SHARED, stream>>>(p.M, p.N, p.K, p.alpha, static_cast<const T*>(p.A), p.lda,
                                                   static_cast<const T*>(p.B), p.ldb, p.beta,
                                                   static_cast<T*>(p.C), p.ldc);
}

template <class T>
void launch_type(const gemm::Problem& p, const Here& device, cudaStream_t stream) {
    device.deep ? launch_depth<T, Depth<64>>(p, device.multiprocessors, stream)
                : launch_depth<T, Depth<32>>(p, device.multiprocessors, stream);
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Here& device = *static_cast<const Here*>(plan);
    p.variant.C == gemm::DType::bf16 ? launch_type<__nv_bfloat16>(p, device, stream)
                                     : launch_type<__half>(p, device, stream);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_m = gemm::ceil_div(p.M, BM), tiles_n = gemm::ceil_div(p.N, BN);
    const std::int64_t group = row / BM / GROUP,
                       group_m = std::min<std::int64_t>(tiles_m - group * GROUP, GROUP);
    const std::int64_t c_tile = group * GROUP * tiles_n + col / BN * group_m + row / BM % GROUP;
    const auto blocks = static_cast<std::int64_t>(
        std::min(gemm::grid_of_tiles(p, tile).x, static_cast<unsigned>(here().multiprocessors)));
    // The lane that stores eight neighbours to C.
    const int y = static_cast<int>(row % BM), x = static_cast<int>(col % BN);
    const int warp = y / WM * WARPS_N + x / WN, lane = (y % MMA_M * (WN / 8) + x % WN / 8) % 32;
    return {{static_cast<unsigned>(c_tile % blocks), 0, 0}, {static_cast<unsigned>(warp * 32 + lane), 0, 0}};
}

const gemm::Constant constants[] = {{"WM", WM},       {"WN", WN},       {"MMA_M", MMA_M},
                                    {"MMA_N", MMA_N}, {"MMA_K", MMA_K}, {"STAGES", STAGES}};
const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::bf16),
     .kernel = reinterpret_cast<const void*>(&hgemm_pipelined<__nv_bfloat16, Depth<64>, true>),
     .architectures = {.from = 80}},
    {.variant = gemm::of_type(gemm::DType::fp16),
     .kernel = reinterpret_cast<const void*>(&hgemm_pipelined<__half, Depth<64>, true>),
     .architectures = {.from = 80}}};

const gemm::Reach reaching[] = {
    {.path = "the second group of block tiles", .M = 2301, .N = 8, .K = 8},
    {.path = "32 steps along K, 16 bytes at once", .M = 40, .N = 72, .K = 136, .sm = 86, .every_type = true},
    {.path = "32 steps along K, two by two", .M = 41, .N = 71, .K = 135, .sm = 86, .every_type = true}};

extern const gemm::Lesson lesson{.name = "09c_pipelined",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .tile = tile,
                                 .constants = constants,
                                 .block = dim3(THREADS),
                                 .dynamic_shared_bytes = Depth<64>::SHARED,
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_09c
