// 09f persistent — deeper k-tiles: 64 elements of K where shared memory has room, so half as many barriers.
// The blocks are persistent: one per SM computes C tile after C tile, and the copies for the next one start
// before this one's results are stored. By itself that makes no difference here; lesson 13 builds on it.
// Changed since 09e: Depth; the loop over C tiles, taken in groups; results have a place of their own.
// Should be at most 1.06 times as fast: warps wait less at barriers, and for the first k-tiles of a C tile.

#include <algorithm>
#include <type_traits>

#include "common/element.hpp"
#include "common/error.hpp"
#include "common/gemm.hpp"
#include "common/parts/swizzle.hpp"
#include "common/ptx/cp_async.hpp"
#include "common/ptx/fragments.hpp"
#include "common/ptx/ldmatrix.hpp"
#include "common/ptx/mma.hpp"

namespace lesson_09f {

constexpr int BM = 256, BN = 128;                 // C tile: rows and columns of C
constexpr int WM = 64, WN = 64;                   // warp tile: rows and columns of C
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // what one instruction multiplies
constexpr int STAGES = 3;                         // k-tiles of A and of B in shared memory
constexpr int GROUP = 8;                          // rows of C tiles that are counted together
constexpr int WARPS_N = BN / WN, THREADS = 32 * (BM / WM) * WARPS_N;
constexpr int TILES_M = WM / MMA_M, TILES_N = WN / MMA_N;  // of mma.sync in the warp tile
constexpr int OUT_PITCH = 2 * WN + 16;  // bytes: 16 rows of a warp's results, in different banks

/// What depends on the depth of a k-tile: with BK = 64 the stages take 144 KiB, with 32 half as much, for
/// GPUs whose blocks may have only 99.
template <int BK_>
struct Depth {
    static constexpr int BK = BK_;
    static constexpr int BS = 2 * BM * BK, STAGE = BS + 2 * BK * BN;  // bytes: where Bs begins, a stage
    static constexpr int OUT = STAGES * STAGE, SHARED = OUT + THREADS / 32 * MMA_M * OUT_PITCH;
};

// Where an element of a k-tile goes, in bytes: eight neighbors stay together, and which of the row's first
// eight places they take depends on the row. So eight rows of a fragment are in different banks.
template <int BK>
__device__ __forceinline__ int a_at(int row, int k) {
    constexpr int BITS = BK == 64 ? 3 : 2;  // a row of As has 2^BITS chunks
    return gemm::Swizzle<BITS, 4, 3>::apply(2 * (row * BK + k));
}
__device__ __forceinline__ int b_at(int k, int col) {
    return gemm::Swizzle<3, 4, 4>::apply(2 * (k * BN + col));
}

/// Copies WIDTH neighbors of a row, of which the first `left` exist, and zeros for the others.
template <bool ALIGNED, class T>
__device__ __forceinline__ void copy_run(char* to, const T* from, int left) {
    if constexpr (ALIGNED) {
        gemm::ptx::cp_async_or_zero<16>(to, from, left > 0);
    } else {
        const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
        const std::uint32_t low = left > 0 ? bits[0] : 0, high = left > 1 ? bits[1] : 0;
        *reinterpret_cast<std::uint32_t*>(to) = low | high << 16;
    }
}

/// A thread's part of copying a k-tile of A or of B, ROWS×COLS elements: WIDTH neighbors at a time. The
/// threads of a row copy RUN elements of it together.
template <class T, bool ALIGNED, int ROWS, int COLS, int RUN>
struct Share {
    static constexpr int WIDTH = ALIGNED ? 8 : 2, AT_ONCE = THREADS * WIDTH / RUN;  // rows at a time
    static_assert(ROWS % AT_ONCE == 0 && AT_ONCE % 8 == 0, "swizzles repeat");
    const int t = threadIdx.x, row = t * WIDTH / RUN, col = t * WIDTH % RUN;
    char* to[COLS / RUN];     // in stage 0
    const T* from = nullptr;  // in the k-tile that is copied next

    /// Copies the k-tile, of which the first `rows` rows and `cols` columns exist.
    __device__ __forceinline__ void copy(int stage, std::int64_t pitch, std::int64_t rows,
                                         std::int64_t cols) {
        // How many rows exist from the thread's first one on, and below, how many columns: counted once, so
        // that a row takes one comparison.
        const int there = rows - row < ROWS ? static_cast<int>(rows - row) : ROWS;
#pragma unroll
        for (int i = 0; i < COLS; i += RUN) {
            const int left = cols - col - i < WIDTH ? static_cast<int>(cols - col - i) : WIDTH;
#pragma unroll(ALIGNED ? ROWS : 4)
            for (int r = 0; r < ROWS; r += AT_ONCE) {
                copy_run<ALIGNED>(to[i / RUN] + stage + 2 * r * COLS, from + r * pitch + i,
                                  r < there ? left : 0);
            }
        }
    }
};

/// What a warp multiplies in a k-step.
struct Fragments {
    std::uint32_t a[TILES_M][4], b[TILES_N / 2][2][2];
};

/// The addresses that a lane gives to ldmatrix, in stage 0: one for each place in a row at which its
/// fragments begin. Every other address is at a constant distance from one of these.
template <int BK>
struct Reader {
    const char *a[BK / MMA_K], *b[TILES_N / 2];

    /// For the warp tile at (y, x) of the C tile. `bs`: bytes, where Bs begins in a stage.
    __device__ __forceinline__ Reader(const char* shared, int bs, int y, int x) {
        const gemm::ptx::Position at = gemm::ptx::ldmatrix_row(threadIdx.x % 32);
#pragma unroll
        for (int k = 0; k < BK; k += MMA_K) a[k / MMA_K] = shared + a_at<BK>(y + at.row, k + at.col);
#pragma unroll
        for (int j = 0; j < TILES_N / 2; ++j) b[j] = shared + (bs + b_at(at.row, x + j * 16 + at.col));
    }
    __device__ __forceinline__ void read(Fragments& to, int stage, int step) const {
#pragma unroll
        for (int i = 0; i < TILES_M; ++i) {
            gemm::ptx::ldmatrix(to.a[i], a[step] + stage + 2 * i * MMA_M * BK);
        }
#pragma unroll
        for (int j = 0; j < TILES_N / 2; ++j) {
            gemm::ptx::ldmatrix_trans(to.b[j], b[j] + stage + 2 * step * MMA_K * BN);
        }
    }
};

/// Adds a warp's products of a k-step. Down one column and up the next: two neighbors share a fragment.
template <class T>
__device__ __forceinline__ void multiply(float (&acc)[TILES_M][TILES_N][4], const Fragments& with) {
#pragma unroll
    for (int j = 0; j < TILES_N; ++j) {
#pragma unroll
        for (int e = 0; e < TILES_M; ++e) {
            const int i = j % 2 == 0 ? e : TILES_M - 1 - e;
            gemm::ptx::mma_m16n8k16<T>(acc[i][j], with.a[i], with.b[j / 2][j % 2]);
        }
    }
}

/// Stores a warp tile to C, 16 rows at a time through `out` in shared memory, where fragments become rows.
/// Its upper left corner is (y0, x0) of C.
template <class T, bool ALIGNED>
__device__ __forceinline__ void store_tile(const float (&acc)[TILES_M][TILES_N][4], std::int64_t y0,
                                           std::int64_t x0, std::int64_t M, std::int64_t N, float alpha,
                                           float beta, T* C, std::int64_t ldc, char* out) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < TILES_M; ++i) {
        __syncwarp();  // every lane has stored the 16 rows before
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
        // The rows are complete: each lane takes 16 bytes, neighbors side by side.
#pragma unroll
        for (int c = lane; c < MMA_M * WN / 8; c += 32) {
            const int r = c / (WN / 8), at_col = c % (WN / 8) * 8;
            const std::int64_t row = y0 + i * MMA_M + r, col = x0 + at_col;
            if (row >= M || col >= N) continue;
            const uint4 eight = *reinterpret_cast<const uint4*>(out + r * OUT_PITCH + 2 * at_col);
            if (ALIGNED) {
                *reinterpret_cast<uint4*>(&C[row * ldc + col]) = eight;
            } else {
#pragma unroll  // `eight` is in registers, which take no index at run time
                for (int e = 0; e < 8; ++e) {
                    if (col + e < N) C[row * ldc + col + e] = reinterpret_cast<const T*>(&eight)[e];
                }
            }
        }
    }
}

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major. ALIGNED: every row begins at a
// multiple of 16 bytes, and K and N are multiples of 8, so eight elements exist together or not at all.
template <class T, class D, bool ALIGNED>
__global__ void __launch_bounds__(THREADS, 1)
    hgemm_persistent(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const T* A,
                     std::int64_t lda, const T* B, std::int64_t ldb, float beta, T* C, std::int64_t ldc) {
    constexpr int BK = D::BK, BS = D::BS, STAGE = D::STAGE;
    extern __shared__ __align__(128) char shared[];  // stages: T As[BM][BK], Bs[BK][BN]; then results
    const int warp = threadIdx.x / 32;
    const int y = warp / WARPS_N * WM, x = warp % WARPS_N * WN;  // of the warp tile in the C tile
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;            // BLAS: alpha == 0 must not read A or B

    // C tiles are counted down the GROUP rows of a group, then along it: neighbors share rows and columns.
    const auto tiles_m = static_cast<unsigned>((M + BM - 1) / BM);
    const auto tiles_n = static_cast<unsigned>((N + BN - 1) / BN);
    std::int64_t row0, col0;
    const auto locate = [&](unsigned c_tile) {
        // gap: order
        const unsigned group = c_tile / (GROUP * tiles_n), in_group = c_tile % (GROUP * tiles_n);
        const unsigned group_m = tiles_m - group * GROUP < GROUP ? tiles_m - group * GROUP : GROUP;
        row0 = std::int64_t{group * GROUP + in_group % group_m} * BM;
        col0 = std::int64_t{in_group / group_m} * BN;
        // end gap
    };

    constexpr int A_RUN = ALIGNED ? BK / 2 : BK;
    Share<T, ALIGNED, BM, BK, A_RUN> a;
    Share<T, ALIGNED, BK, BN, 64> b;
    for (int i = 0; i < BK; i += A_RUN) a.to[i / A_RUN] = shared + a_at<BK>(a.row, (a.col + i) % BK);
    for (int i = 0; i < BN; i += 64) b.to[i / 64] = shared + (BS + b_at(b.row, b.col)) + 2 * i;
    const auto copy = [&](int stage, int steps) {
        a.copy(stage, lda, M - row0, steps);
        b.copy(stage, ldb, steps, N - col0);
        a.from += steps;
        b.from += steps * ldb;
    };
    const Reader<BK> fragments(shared, BS, y, x);
    Fragments frag[2];  // of this k-step and of the next

    // The first k-tiles of a C tile. The partial one comes first, so that the others need no guard along K.
    const auto fill = [&] {
        a.from = A + (row0 + a.row) * lda + a.col;
        b.from = B + b.row * ldb + col0 + b.col;
        const std::int64_t tiles = (k_end + BK - 1) / BK;
        // gap: fill
        if (tiles > 0) copy(0, static_cast<int>((k_end - 1) % BK) + 1);
        gemm::ptx::cp_async_commit();
        for (int s = 1; s < STAGES - 1; ++s) {
            if (s < tiles) copy(s * STAGE, BK);
            gemm::ptx::cp_async_commit();  // one group per tile, be it empty
        }
        // end gap
    };

    unsigned c_tile = blockIdx.x;
    locate(c_tile);
    fill();
#pragma unroll 1
    for (;;) {
        std::int64_t tiles = (k_end + BK - 1) / BK;
        gemm::ptx::cp_async_wait<STAGES - 2>();
        __syncthreads();  // the first tiles are complete before anyone reads them
        constexpr int LAST = (STAGES - 1) * STAGE;
        float acc[TILES_M][TILES_N][4] = {};
        int stage = 0, ahead = LAST;  // the k-tile in use, and where one is copied to
        if (tiles > 0) fragments.read(frag[0], stage, 0);
        const auto use_tiles = [&](auto copying) {
#pragma unroll
            for (int step = 0; step < BK / MMA_K; ++step) {
                if (step == BK / MMA_K - 1) {
                    gemm::ptx::cp_async_wait<STAGES - 2>();
                    __syncthreads();  // the next tiles are complete, and everyone has read these
                    stage = stage == LAST ? 0 : stage + STAGE;
                }
                if (copying.value || step < BK / MMA_K - 1 || tiles > 1) {
                    fragments.read(frag[(step + 1) % 2], stage, (step + 1) % (BK / MMA_K));
                }
                if (step == 0) {
                    if (copying.value) copy(ahead, BK);
                    gemm::ptx::cp_async_commit();
                    ahead = ahead == LAST ? 0 : ahead + STAGE;
                }
                multiply<T>(acc, frag[step % 2]);
            }
        };
        for (; tiles > STAGES - 1; --tiles) use_tiles(std::true_type());
        for (; tiles > 0; --tiles) use_tiles(std::false_type());  // everything is copied

        // Start the copies for the next C tile. (After the last barrier, no warp reads the stages any more.)
        const std::int64_t y0 = row0 + y, x0 = col0 + x;
        // gap: next
        c_tile += gridDim.x;
        const bool more = c_tile < tiles_m * tiles_n;
        if (more) {
            locate(c_tile);
            fill();
        }
        // end gap
        store_tile<T, ALIGNED>(acc, y0, x0, M, N, alpha, beta, C, ldc,
                               shared + D::OUT + warp * MMA_M * OUT_PITCH);
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
    const auto kernel = aligned ? hgemm_persistent<T, D, true> : hgemm_persistent<T, D, false>;
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
    // The lane that stores eight neighbors to C.
    const int y = static_cast<int>(row % BM), x = static_cast<int>(col % BN);
    const int warp = y / WM * WARPS_N + x / WN, lane = (y % MMA_M * (WN / 8) + x % WN / 8) % 32;
    return {{static_cast<unsigned>(c_tile % blocks), 0, 0}, {static_cast<unsigned>(warp * 32 + lane), 0, 0}};
}

const gemm::Constant constants[] = {{"WM", WM},       {"WN", WN},       {"MMA_M", MMA_M},
                                    {"MMA_N", MMA_N}, {"MMA_K", MMA_K}, {"STAGES", STAGES}};
const gemm::Configuration configuration{
    .tile = tile, .constants = constants, .block = dim3(THREADS), .dynamic_shared_bytes = Depth<64>::SHARED};

const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::bf16),
     .kernel = reinterpret_cast<const void*>(&hgemm_persistent<__nv_bfloat16, Depth<64>, true>),
     .architectures = {.from = 80},
     .configuration = configuration},
    {.variant = gemm::of_type(gemm::DType::fp16),
     .kernel = reinterpret_cast<const void*>(&hgemm_persistent<__half, Depth<64>, true>),
     .architectures = {.from = 80},
     .configuration = configuration}};

const gemm::Reach reaching[] = {
    {.path = "the second group of block tiles", .M = 2301, .N = 8, .K = 8},
    {.path = "32 steps along K, 16 bytes at once", .M = 40, .N = 72, .K = 136, .sm = 86, .every_type = true},
    {.path = "32 steps along K, two by two", .M = 41, .N = 71, .K = 135, .sm = 86, .every_type = true}};

extern const gemm::Lesson lesson{.name = "09f_persistent",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_09f
