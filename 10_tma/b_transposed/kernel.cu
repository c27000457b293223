// 10b transposed — A's next tile is transposed within shared memory during this tile's sums, so that a thread
// reads its values of A as lesson 08 does, four rows at once.
//
// Changed since 10a: two buffers At[BK][BM], one that is read and one that all threads fill from the next
// tile's As; lanes and sums lie as in 08b; the loop's body is a round of 8 steps of a tile's 32, which keeps
// its code small.

#include <cstdint>

#include "common/gemm.hpp"
#include "common/parts/store4.hpp"
#include "common/parts/tile_order.hpp"
#include "common/ptx/mbarrier.hpp"
#include "common/ptx/tma.hpp"
#include "common/tma/launch.hpp"
#include "common/tma/tensor_map.hpp"

namespace lesson_10b {

constexpr int BK = 32;          // steps along K of a tile: a row of As is 128 bytes, which the swizzle wants
constexpr int INNER = 8;        // of them in a round of the loop, whose code each launch fetches anew
constexpr int REGISTERS = 224;  // of a thread at most: nvcc takes fewer, but chooses better ones than without

/// The sizes of an instantiation.
template <int BM_, int BN_, int WM_, int WN_, int TM_, int TN_, int STAGES_>
struct Tiles {
    static constexpr int BM = BM_, BN = BN_;  // C tile: rows and columns of C
    static constexpr int WM = WM_, WN = WN_;  // warp tile: rows and columns of C
    static constexpr int TM = TM_, TN = TN_;  // thread tile: rows and columns of C
    static constexpr int STAGES = STAGES_;    // tiles of A and of B in shared memory, as TMA brings them
    static constexpr int LANES_M = WM / TM, LANES_N = WN / TN, WARPS_N = BN / WN;
    static constexpr int THREADS = 32 * (BM / WM) * WARPS_N;
    static constexpr int BS = 4 * BM * BK, STAGE = BS + 4 * BK * BN;  // bytes: where Bs begins, a stage
    static constexpr int AT = STAGES * STAGE,
                         BYTES = AT + 2 * 4 * BK * BM;  // where At begins; of shared memory
    static_assert(LANES_M * LANES_N == 32 && BM % WM == 0 && BN % WN == 0, "warps and lanes tile the block");
    static_assert(TM % 4 == 0 && TN % 4 == 0, "reads of four floats");
    static_assert(BM * INNER == 4 * THREADS && BM % 32 == 0, "a thread transposes four floats a round");
    static_assert(STAGE % 1024 == 0 && BM <= 256 && BN <= 256, "where the swizzle repeats; sides of a box");
};
using Large = Tiles<128, 256, 64, 64, 8, 16, 4>;
using Small = Tiles<64, 64, 32, 32, 4, 8, 3>;  // where Large has few blocks, or most of each is outside of C

/// Reads the thread's part of a tile's A in the 8 steps from k on: 16 bytes of a row, four steps.
__device__ __forceinline__ void read_part(float (&part)[4], const char* shared, int from, int k) {
    // gap: part
    // The swizzle puts 16 bytes number c of a row to place c ^ row % 8. `from` has row % 8 already, and which
    // of the two 16 bytes of eight steps the thread takes. Number k / 4 is 4·k bytes from the row's begin.
    *reinterpret_cast<float4*>(part) = *reinterpret_cast<const float4*>(shared + (from ^ 4 * k));
    // end gap
}

/// Writes it to At, where the four steps of the row are one below the other.
template <class T>
__device__ __forceinline__ void write_part(const float (&part)[4], float* to) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        // gap: column
        to[k * T::BM] = part[k];
        // end gap
    }
}

/// Reads a thread's values of step k, from where it reads in At and in Bs.
template <class T>
__device__ __forceinline__ void read(float (&a_frag)[T::TM], float (&b_frag)[T::TN], const float* at,
                                     const float* bs, int k) {
#pragma unroll
    for (int i = 0; i < T::TM; i += 4) {
        *reinterpret_cast<float4*>(&a_frag[i]) =
            *reinterpret_cast<const float4*>(&at[k * T::BM + i * T::LANES_M]);
    }
#pragma unroll
    for (int j = 0; j < T::TN; j += 4) {
        *reinterpret_cast<float4*>(&b_frag[j]) =
            *reinterpret_cast<const float4*>(&bs[k * T::BN + j * T::LANES_N]);
    }
}

/// acc += a_frag · b_frag, of step k: down a column and up the next, so that each sum shares a factor with
/// the one before, which stays in the operand cache.
template <int TM, int TN>
__device__ __forceinline__ void add_products(float (&acc)[TM][TN], const float (&a_frag)[TM],
                                             const float (&b_frag)[TN], int k) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
#pragma unroll
        for (int e = 0; e < TM; ++e) {
            const int i = (j + k) % 2 == 0 ? e : TM - 1 - e;
            acc[i][j] += a_frag[i] * b_frag[j];
        }
    }
}

/// C = alpha · acc + beta · C, where the thread's first element is (row0, col0).
template <class T, bool ALIGNED>
__device__ __forceinline__ void write_c(const float (&acc)[T::TM][T::TN], std::int64_t row0,
                                        std::int64_t col0, std::int64_t M, std::int64_t N, float alpha,
                                        float beta, float* C, std::int64_t ldc) {
#pragma unroll  // acc lies in registers, which take no index at run time
    for (int i = 0; i < T::TM; ++i) {
        const std::int64_t row = row0 + i / 4 * 4 * T::LANES_M + i % 4;
        if (row >= M) return;
#pragma unroll
        for (int j = 0; j < T::TN; j += 4) {
            const std::int64_t col = col0 + j * T::LANES_N;
            const float4 sums = make_float4(alpha * acc[i][j], alpha * acc[i][j + 1], alpha * acc[i][j + 2],
                                            alpha * acc[i][j + 3]);
            gemm::store4<ALIGNED>(&C[row * ldc + col], N - col, sums, beta);
        }
    }
}

// map_a: A, M×K, in boxes of BM×BK, swizzled.  map_b: B, K×N, in boxes of BK×BN.  C: M×N, pitch ldc.  All
// row-major. ALIGNED: every row of C begins at a multiple of 16 bytes, and N is a multiple of 4.
template <class T, bool ALIGNED>
__global__ void __maxnreg__(REGISTERS)
    sgemm_tma(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
              const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
              float beta, float* C, std::int64_t ldc) {
    constexpr int STAGES = T::STAGES, STAGE = T::STAGE;
    // A stage: float As[BM][BK], swizzled, Bs[BK][BN]. Behind the stages: float At[2][BK][BM].
    extern __shared__ __align__(1024) char shared[];
    __shared__ gemm::ptx::Mbarrier full[STAGES];  // whose phases end when a stage's tiles are there

    const gemm::Tiles c_tile = gemm::tile_at(blockIdx.x, gemm::tiles_of(M, N, T::BM, T::BN));
    const int row0 = static_cast<int>(c_tile.m) * T::BM, col0 = static_cast<int>(c_tile.n) * T::BN;
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    // Lanes lie in the warp tile so that of four neighbors two read the same 16 bytes of At, and two the
    // same of Bs: shared memory serves such a pair at once.
    const int lane_m = lane % 2 + lane / 4 % (T::LANES_M / 2) * 2,
              lane_n = lane / 2 % 2 + lane / (2 * T::LANES_M) * 2;
    // The thread's elements of C: groups of four rows from y + i·LANES_M and of four columns from x +
    // j·LANES_N on, i and j multiples of 4.
    const int y = warp / T::WARPS_N * T::WM + lane_m * 4, x = warp % T::WARPS_N * T::WN + lane_n * 4;
    auto* const At = reinterpret_cast<float(*)[BK][T::BM]>(shared + T::AT);
    const auto Bs = [&](int stage) {
        return reinterpret_cast<const float(*)[T::BN]>(shared + stage * STAGE + T::BS);
    };
    // What the thread transposes in a round: 16 bytes of a row. Eight neighbors read eight rows, which the
    // swizzle has spread over all banks, and a warp writes 32 floats side by side.
    const int part_row = t % T::BM, chunk = t / T::BM;
    const int part_read = 4 * BK * part_row + (chunk ^ part_row % 8) * 16;

    const int tiles = static_cast<int>((K + BK - 1) / BK);

    // The boxes of tile number `tile` shall come to a stage: one thread asks. Past the edges come zeros.
    const auto ask = [&](int stage, int tile) {
        gemm::ptx::mbarrier_arrive_expect_tx(full[stage], STAGE);
        gemm::ptx::tma_load(shared + stage * STAGE, map_a, {tile * BK, row0}, full[stage]);
        gemm::ptx::tma_load(shared + stage * STAGE + T::BS, map_b, {col0, tile * BK}, full[stage]);
    };
    if (t == 0) {
        for (int stage = 0; stage < STAGES; ++stage) gemm::ptx::mbarrier_init(full[stage], 1);
        gemm::ptx::fence_mbarrier_init();
        for (int stage = 0; stage < STAGES && stage < tiles; ++stage) ask(stage, stage);
    }
    __syncthreads();  // the mbarriers have begun before anyone waits at one

    float a_frag[2][T::TM], b_frag[2][T::TN];  // of this step along K and of the next
    float part[4];
    gemm::ptx::mbarrier_wait(full[0], 0);
    for (int k = 0; k < BK; k += INNER) {
        read_part(part, shared, part_read, k);
        write_part<T>(part, &At[0][k + 4 * chunk][part_row]);
    }
    __syncthreads();  // the first At is complete
    read<T>(a_frag[0], b_frag[0], &At[0][0][y], &Bs(0)[0][x], 0);
    if (tiles > 1) gemm::ptx::mbarrier_wait(full[1], 0);

    float acc[T::TM][T::TN] = {};
    int stage = 0, next = tiles > 1 ? 1 : 0;  // the tiles in use, and the next: at the end these once more
    unsigned parity = 0;                      // of the next
    int tile = 0, first_k = 0;                // the tile and its step with which the round begins
    const float *a = &At[0][0][y], *b = &Bs(0)[0][x];  // where the thread reads of the round's steps
    int from = part_read + next * STAGE;               // the thread's row of the next As
    float* to = &At[1][4 * chunk][part_row];           // and where its part of the round's steps goes
#pragma unroll 1
    while (tile < tiles) {
#pragma unroll
        for (int k = 0; k < INNER; ++k) {  // C_tile += A[:, k] · B[k, :]
            if (k == INNER - 1) {          // the last step reads values of the next round
                first_k += INNER;
                a += INNER * T::BM;
                b += INNER * T::BN;
                to += INNER * T::BM;
                if (first_k == BK) {
                    // gap: next
                    __syncthreads();  // everyone has read these tiles, and has transposed the next
                    if (t == 0 && tile + STAGES < tiles) ask(stage, tile + STAGES);
                    stage = next;
                    if (tile + 2 < tiles) {
                        next = next == STAGES - 1 ? 0 : next + 1;
                        if (next == 0) parity ^= 1;  // the ring begins again: its mbarriers' next phases
                        gemm::ptx::mbarrier_wait(full[next], parity);
                    }
                    // end gap
                    ++tile;
                    first_k = 0;
                    a = &At[tile % 2][0][y];
                    b = &Bs(stage)[0][x];
                    from = part_read + next * STAGE;
                    to = &At[(tile + 1) % 2][4 * chunk][part_row];
                }
            }
            if (k == 0) read_part(part, shared, from, first_k);
            if (k == 1) write_part<T>(part, to);
            read<T>(a_frag[(k + 1) % 2], b_frag[(k + 1) % 2], a, b, (k + 1) % INNER);
            add_products(acc, a_frag[k % 2], b_frag[k % 2], k);
        }
    }

    write_c<T, ALIGNED>(acc, row0 + y, col0 + x, M, N, alpha, beta, C, ldc);
}

const gemm::Tile tile{Large::BM, Large::BN, BK};

bool is_large(const gemm::Problem& p) {
    return p.M > Small::BM && p.N > Small::BN &&  // else most of a large tile would lie outside of C
           gemm::ceil_div(p.M, Large::BM) * gemm::ceil_div(p.N, Large::BN) >= 100;
}

/// The tensor map of a matrix, in boxes of rows×cols.
CUtensorMap map_of(const gemm::TmaMatrix& m, int rows, int cols, CUtensorMapSwizzle swizzle) {
    return gemm::tensor_map({.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                             .rank = 2,
                             .address = m.address,
                             .sizes = {static_cast<cuuint64_t>(m.cols), static_cast<cuuint64_t>(m.rows)},
                             .strides = {static_cast<cuuint64_t>(4 * m.pitch)},
                             .box = {static_cast<cuuint32_t>(cols), static_cast<cuuint32_t>(rows)},
                             .swizzle = swizzle});
}

gemm::Plan prepare(const gemm::Problem& p) {
    const auto maps = std::make_shared<gemm::TmaOperands>();
    if (p.M == 0 || p.N == 0 || p.K == 0 || p.alpha == 0.0f) return maps;  // nobody reads A or B
    maps->a = gemm::tma_matrix(p.A, p.M, p.K, p.lda, sizeof(float));
    maps->b = gemm::tma_matrix(p.B, p.K, p.N, p.ldb, sizeof(float));
    const bool large = is_large(p);
    maps->map_a = map_of(maps->a, large ? Large::BM : Small::BM, BK, CU_TENSOR_MAP_SWIZZLE_128B);
    maps->map_b = map_of(maps->b, BK, large ? Large::BN : Small::BN, CU_TENSOR_MAP_SWIZZLE_NONE);
    return maps;
}

template <class T>
void launch_tiles(const gemm::Problem& p, const gemm::TmaOperands& maps, cudaStream_t stream) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(p.C) % 16 == 0 && (p.N | p.ldc) % 4 == 0;
    const auto kernel = aligned ? sgemm_tma<T, true> : sgemm_tma<T, false>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::BYTES);  // beyond 48 KiB
    kernel<<<gemm::grid_of_tiles(p, {T::BM, T::BN, BK}), T::THREADS, T::BYTES, stream>>>(
        p.M, p.N, p.K, p.alpha, maps.map_a, maps.map_b, p.beta, static_cast<float*>(p.C), p.ldc);
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    if (p.K == 0 || p.alpha == 0.0f) return gemm::launch_scale<float>(p, stream);  // C = beta·C
    const auto& maps = *static_cast<const gemm::TmaOperands*>(plan);
    gemm::copy_refused<float>(maps.a, p.A, p.lda, stream);
    gemm::copy_refused<float>(maps.b, p.B, p.ldb, stream);
    is_large(p) ? launch_tiles<Large>(p, maps, stream) : launch_tiles<Small>(p, maps, stream);
}

template <class T>
gemm::Owner owner_in(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const unsigned block =
        gemm::number_of(gemm::tile_of(row, col, T::BM, T::BN), gemm::tiles_of(p.M, p.N, T::BM, T::BN));
    const int y = static_cast<int>(row % T::BM), x = static_cast<int>(col % T::BN);
    const int lane_m = y % T::WM / 4 % T::LANES_M, lane_n = x % T::WN / 4 % T::LANES_N;
    const int lane = lane_m % 2 + lane_n % 2 * 2 + lane_m / 2 * 4 + lane_n / 2 * 2 * T::LANES_M;
    return {{block, 0, 0}, {static_cast<unsigned>((y / T::WM * T::WARPS_N + x / T::WN) * 32 + lane), 0, 0}};
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    return is_large(p) ? owner_in<Large>(p, row, col) : owner_in<Small>(p, row, col);
}

const gemm::Constant constants[] = {
    {"WM", Large::WM}, {"WN", Large::WN}, {"TM", Large::TM}, {"TN", Large::TN}, {"STAGES", Large::STAGES}};
const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::fp32),
                                 .kernel = reinterpret_cast<const void*>(&sgemm_tma<Large, true>),
                                 .architectures = {.exactly = "90a"},
                                 .configuration = {.tile = tile,
                                                   .constants = constants,
                                                   .block = dim3(Large::THREADS),
                                                   .dynamic_shared_bytes = Large::BYTES}}};

const gemm::Reach reaching[] = {{.path = "Large, four floats at once", .M = 12677, .N = 68, .K = 132},
                                {.path = "Large, float by float", .M = 65, .N = 25347, .K = 133},
                                {.path = "Small's second group of C tiles", .M = 573, .N = 67, .K = 133}};

extern const gemm::Lesson lesson{.name = "10b_transposed",
                                 .part = 2,
                                 .ladder = "fp32",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = gemm::owner_or_scale<owner>};

}  // namespace lesson_10b
