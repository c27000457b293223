// 20 layout algebra — lesson 09b's kernel without its index formulas: which element a thread copies, reads or
// sums, and where it is in shared memory, are functions written shape:stride. One operation, composition,
// makes all of them while the kernel is compiled.
//
// Changed since 09b: what was a formula in the middle of the kernel is a layout above it (and C is stored by
// common/parts). It should take as long: the same accesses, and no more arithmetic for their addresses.

#include "common/gemm.hpp"
#include "common/parts/pairs.hpp"
#include "common/ptx/ldmatrix.hpp"
#include "common/ptx/mma.hpp"

#include "20_layout_algebra/layout.hpp"

namespace lesson_20 {

using layout::Int, layout::Layout, layout::Static, layout::Tensor;
using layout::leaf, layout::make_layout, layout::mode, layout::size, layout::tuple;

constexpr int BM = 128, BN = 128, BK = 32;        // C tile: rows and columns; k-tile: steps along K
constexpr int WM = 64, WN = 64;                   // warp tile: rows and columns of C
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // what one instruction multiplies
constexpr int WARPS_M = BM / WM, WARPS_N = BN / WN, THREADS = 32 * WARPS_M * WARPS_N;
constexpr int TILES_M = WM / MMA_M, TILES_N = WN / MMA_N;  // of mma.sync in the warp tile
constexpr int A_TIMES = BM * BK / (8 * THREADS), B_TIMES = BK * BN / (8 * THREADS);  // a thread loads eight
static_assert(BM % WM == 0 && BN % WN == 0 && WM % MMA_M == 0 && WN % 16 == 0 && BK % MMA_K == 0, "tiles");
static_assert(BM * BK % (8 * THREADS) == 0 && BK * BN % (8 * THREADS) == 0, "all load equally many");

// ---- The algebra. layout.hpp has it for every layout; here it is for those that divide evenly, as tiles do.

/// A(b(i)) as a layout, for b = extent:step. An index i·step is written in A's digits; b leaves out those
/// that its step passes, and uses up those above them one after the other.
constexpr Layout compose_one(const Layout& a, Int extent, Int step) {
    if (step == 0) return leaf(extent, 0);
    Layout out;
    // gap: composition
    for (int i = 0; i < a.shape.leaves; ++i) {
        const Int digit = a.shape.value[i];  // it counts to here
        if (step >= digit) {
            step /= digit;  // b never moves this digit: it steps in the next
        } else if (extent > 1) {
            const Int used = digit / step < extent ? digit / step : extent;
            append(out, leaf(used, step * a.stride.value[i]));
            extent /= used;
            step = 1;  // what is left of b goes on in the next digit
        }
    }
    // end gap
    return closed(out, leaf(1, 0));
}
/// The same for each mode of b, which may be nested.
constexpr Layout compose(const Layout& a, const Layout& b) {
    if (!is_tuple(b.shape)) return compose_one(a, b.shape.value[0], b.stride.value[0]);
    Layout out;
    for (int i = 0; i < rank(b); ++i) append(out, compose(a, mode(b, i)));
    wrap(out);
    return out;
}

/// What a tile b of 0 … limit - 1 leaves: where its copies begin. b's strides ascend.
constexpr Layout complement_in(const Layout& b, Int limit) {
    Layout rest;
    Int covered = 1;  // b and what is in rest fill so many offsets
    // gap: complement
    for (int i = 0; i < b.shape.leaves; ++i) {
        append(rest, leaf(b.stride.value[i] / covered, covered));  // up to where this mode steps
        covered = b.shape.value[i] * b.stride.value[i];
    }
    append(rest, leaf(limit / covered, covered));  // and from its end on
    // end gap
    return coalesce(closed(rest, leaf(1, 0)));
}

/// (in a tile, from tile to tile) of a mode of which the first `extent` elements are a tile.
constexpr Layout divide(const Layout& a, Int extent) {
    const Layout tile = leaf(extent, 1);
    return compose(a, make_layout(tile, complement_in(tile, size(a))));
}
/// The same of rows and columns: ((row, column) in a tile, (row, column) of tiles). CuTe: zipped_divide.
constexpr Layout tiled(const Layout& a, Int rows, Int cols) {
    const Layout y = divide(mode(a, 0), rows), x = divide(mode(a, 1), cols);
    return make_layout(make_layout(mode(y, 0), mode(x, 0)), make_layout(mode(y, 1), mode(x, 1)));
}

// ---- What mma.sync and ldmatrix say (PTX ISA). Elements of a tile are counted down its columns: in one of
// 16 rows, row + 16·column.

// Lane to the first of its sums in a tile of 16×8; what the lanes leave of the tile, 4:8, are the other sums;
// and the order in which a lane has them: e steps along the row first. Together (lane, e).
constexpr Layout LANES(tuple(4, 8), tuple(32, 1)), OTHERS = complement_in(Layout(tuple(8, 4), tuple(1, 32)),
                                                                          16 * 8);
constexpr Layout SUMS = make_layout(LANES, compose(OTHERS, Layout(tuple(2, 2), tuple(2, 1))));
// Lane to the row of a 16×16 tile whose address it gives.
constexpr Layout ROWS(tuple(16, 2), tuple(1, 8 * 16));

// ---- Who does what: a layout from (thread, …) to the number of an element of the block's tile.

constexpr Layout A_TILE(tuple(BM, BK)), B_TILE(tuple(BK, BN)), C_TILE(tuple(BM, BN));

// (thread, i): the first of the eight neighbors in a row that it copies the i-th time. Counted along the
// rows, thread t takes number t, t + THREADS, … of the eights.
constexpr Layout A_EIGHTS(tuple(THREADS, A_TIMES), tuple(8, 8 * THREADS));
constexpr Layout B_EIGHTS(tuple(THREADS, B_TIMES), tuple(8, 8 * THREADS));
constexpr Layout A_COPY = compose(make_layout(mode(A_TILE, 1), mode(A_TILE, 0)), A_EIGHTS);
constexpr Layout B_COPY = compose(make_layout(mode(B_TILE, 1), mode(B_TILE, 0)), B_EIGHTS);

// (thread, i or j, k): the row that it gives to ldmatrix, for a warp's fragment i of A, or fragments j of B,
// at k-step k. A thread is (lane, warp along N, warp along M); warps beside each other read the same of A.
constexpr Layout A_16 = tiled(A_TILE, 16, 16), B_16 = tiled(B_TILE, 16, 16);
constexpr Layout A_WARPS = divide(mode(A_16, 1, 0), TILES_M), B_WARPS = divide(mode(B_16, 1, 1), WN / 16);
constexpr Layout A_READ =
    make_layout(make_layout(compose(mode(A_16, 0), ROWS), leaf(WARPS_N, 0), mode(A_WARPS, 1)),
                mode(A_WARPS, 0), mode(A_16, 1, 1));
constexpr Layout B_READ =
    make_layout(make_layout(compose(mode(B_16, 0), ROWS), mode(B_WARPS, 1), leaf(WARPS_M, 0)),
                mode(B_WARPS, 0), mode(B_16, 1, 0));

// (thread, e, i, j): the element of C that is acc[i][j][e].
constexpr Layout C_WARPS = tiled(C_TILE, WM, WN), C_MMAS = tiled(mode(C_WARPS, 0), MMA_M, MMA_N);
constexpr Layout C_LANES = compose(mode(C_MMAS, 0), SUMS);
constexpr Layout C_SUMS = make_layout(make_layout(mode(C_LANES, 0), mode(C_WARPS, 1, 1), mode(C_WARPS, 1, 0)),
                                      mode(C_LANES, 1), mode(C_MMAS, 1, 0), mode(C_MMAS, 1, 1));

// ---- Where that is. In shared memory: rows side by side, and a swizzle after it, as in 09b. In global
// memory, whose pitches are not constants: the row and the column, which are compositions as well, with
// layouts that forget the other one.

constexpr Layout A_ROW_MAJOR(tuple(BM, BK), tuple(BK, 1)), B_ROW_MAJOR(tuple(BK, BN), tuple(BN, 1));
constexpr Layout A_STORE = compose(A_ROW_MAJOR, A_COPY), A_FRAGS = compose(A_ROW_MAJOR, A_READ);
constexpr Layout B_STORE = compose(B_ROW_MAJOR, B_COPY), B_FRAGS = compose(B_ROW_MAJOR, B_READ);
constexpr Layout A_ROW = compose(Layout(tuple(BM, BK), tuple(1, 0)), A_COPY);
constexpr Layout A_STEP = compose(Layout(tuple(BM, BK), tuple(0, 1)), A_COPY);
constexpr Layout B_STEP = compose(Layout(tuple(BK, BN), tuple(1, 0)), B_COPY);
constexpr Layout B_COL = compose(Layout(tuple(BK, BN), tuple(0, 1)), B_COPY);
constexpr Layout C_ROW = compose(Layout(tuple(BM, BN), tuple(1, 0)), C_SUMS);
constexpr Layout C_COL = compose(Layout(tuple(BM, BN), tuple(0, 1)), C_SUMS);

template <const Layout& OF>
using InAs = Static<OF, 2, 3, 3>;
template <const Layout& OF>
using InBs = Static<OF, 3, 3, 4>;
static_assert(BK == 32 && BN == 128, "the swizzles are for rows of 2^5 and 2^7 elements");

/// Eight elements of a row from `p` on, of which only the first `left` are there: zeros for the others.
template <bool ALIGNED, class T>
__device__ __forceinline__ uint4 load8(const T* p, std::int64_t left) {
    uint4 eight = make_uint4(0, 0, 0, 0);
    if (ALIGNED) {
        if (left > 0) eight = *reinterpret_cast<const uint4*>(p);
    } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            if (i < left) reinterpret_cast<T*>(&eight)[i] = p[i];
        }
    }
    return eight;
}

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major. ALIGNED: rows of A and B begin
// at multiples of 16 bytes, rows of C at multiples of 4, and K and N are multiples of 8. So eight elements
// of A or B, or two of C, are there together or not at all.
template <class T, bool ALIGNED>
__global__ void __launch_bounds__(THREADS, 2)
    hgemm_layouts(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const T* A, std::int64_t lda,
                  const T* B, std::int64_t ldb, float beta, T* C, std::int64_t ldc) {
    __shared__ __align__(128) T As[2][BM * BK];  // two k-tiles of A, swizzled
    __shared__ __align__(128) T Bs[2][BK * BN];  // two k-tiles of B, swizzled

    const std::int64_t tiles_n = (N + BN - 1) / BN;
    const std::int64_t row0 = blockIdx.x / tiles_n * BM, col0 = blockIdx.x % tiles_n * BN;
    const int t = threadIdx.x;
    // What the thread loads: eight elements of a row of A and of a row of B, from here on.
    const int a_row = Static<A_ROW>{}(t, 0), a_k = Static<A_STEP>{}(t, 0);
    const int b_k = Static<B_STEP>{}(t, 0), b_col = Static<B_COL>{}(t, 0);
    const T* a = A + (row0 + a_row) * lda + a_k;
    const T* b = B + b_k * ldb + col0 + b_col;

    uint4 a_next[A_TIMES], b_next[B_TIMES];  // of the next k-tile, on its way
    const auto load = [&](int steps) {
#pragma unroll
        for (int i = 0; i < A_TIMES; ++i) {  // `down` and `right` of its first
            const int down = Static<A_ROW>{}(0, i), right = Static<A_STEP>{}(0, i);
            a_next[i] =
                load8<ALIGNED>(a + down * lda + right, row0 + a_row + down < M ? steps - a_k - right : 0);
        }
#pragma unroll
        for (int i = 0; i < B_TIMES; ++i) {
            const int down = Static<B_STEP>{}(0, i), right = Static<B_COL>{}(0, i);
            b_next[i] =
                load8<ALIGNED>(b + down * ldb + right, b_k + down < steps ? N - (col0 + b_col) - right : 0);
        }
        a += steps;
        b += steps * ldb;
    };
    const auto store = [&](int stage) {
        const Tensor<T, InAs<A_STORE>> as{As[stage]};  // (thread, i)
        const Tensor<T, InBs<B_STORE>> bs{Bs[stage]};
#pragma unroll
        for (int i = 0; i < A_TIMES; ++i) *reinterpret_cast<uint4*>(&as(t, i)) = a_next[i];
#pragma unroll
        for (int i = 0; i < B_TIMES; ++i) *reinterpret_cast<uint4*>(&bs(t, i)) = b_next[i];
    };

    float acc[TILES_M][TILES_N][4] = {};
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    std::int64_t tiles = (k_end + BK - 1) / BK;
    // The partial k-tile comes first, so that the others need no guard along K.
    if (tiles > 0) {
        load(static_cast<int>((k_end - 1) % BK) + 1);
        store(0);
    }
    __syncthreads();  // the first tiles are complete before anyone reads them
    for (int stage = 0; tiles > 0; --tiles, stage ^= 1) {
        if (tiles > 1) load(BK);
        const Tensor<T, InAs<A_FRAGS>> as{As[stage]};  // (thread, i, k)
        const Tensor<T, InBs<B_FRAGS>> bs{Bs[stage]};  // (thread, j, k)
#pragma unroll
        for (int k = 0; k < BK / MMA_K; ++k) {
            std::uint32_t a_frag[TILES_M][4], b_frag[TILES_N / 2][2][2];
#pragma unroll
            for (int i = 0; i < TILES_M; ++i) gemm::ptx::ldmatrix(a_frag[i], &as(t, i, k));
#pragma unroll
            for (int j = 0; j < TILES_N / 2; ++j) {  // one ldmatrix brings the fragments of 16 columns
                gemm::ptx::ldmatrix_trans(b_frag[j], &bs(t, j, k));
            }
#pragma unroll
            for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
                for (int j = 0; j < TILES_N; ++j) {
                    gemm::ptx::mma_m16n8k16<T>(acc[i][j], a_frag[i], b_frag[j / 2][j % 2]);
                }
            }
        }
        if (tiles > 1) store(stage ^ 1);
        __syncthreads();  // the next tiles are complete, and everyone has read these
    }

#pragma unroll
    for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
        for (int j = 0; j < TILES_N; ++j) {
#pragma unroll
            for (int e = 0; e < 4; e += 2) {
                const std::int64_t row = row0 + Static<C_ROW>{}(t, e, i, j);
                const std::int64_t col = col0 + Static<C_COL>{}(t, e, i, j);
                if (row >= M || col >= N) continue;
                gemm::store2(&C[row * ldc + col], ALIGNED ? 2 : N - col, ALIGNED, alpha * acc[i][j][e],
                             alpha * acc[i][j][e + 1], beta);
            }
        }
    }
}

const gemm::Tile tile{BM, BN, BK};

template <class T>
void launch_type(const gemm::Problem& p, cudaStream_t stream) {
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const bool aligned = (address(p.A) | address(p.B)) % 16 == 0 && (p.K | p.N | p.lda | p.ldb) % 8 == 0 &&
                         address(p.C) % 4 == 0 && p.ldc % 2 == 0;
    const auto kernel = aligned ? hgemm_layouts<T, true> : hgemm_layouts<T, false>;
    kernel<<<gemm::grid_of_tiles(p, tile), THREADS, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const T*>(p.A), p.lda, static_cast<const T*>(p.B), p.ldb, p.beta,
        static_cast<T*>(p.C), p.ldc);
}

void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    p.variant.C == gemm::DType::bf16 ? launch_type<__nv_bfloat16>(p, stream) : launch_type<__half>(p, stream);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, BN);
    const int y = static_cast<int>(row % BM), x = static_cast<int>(col % BN);
    const int warp = y / WM * WARPS_N + x / WN, lane = y % 8 * 4 + x % 8 / 2;
    return {{static_cast<unsigned>(row / BM * tiles_n + col / BN), 0, 0},
            {static_cast<unsigned>(warp * 32 + lane), 0, 0}};
}

const gemm::Constant constants[] = {
    {"WM", WM}, {"WN", WN}, {"MMA_M", MMA_M}, {"MMA_N", MMA_N}, {"MMA_K", MMA_K}};
const gemm::Configuration configuration{.tile = tile, .constants = constants, .block = dim3(THREADS)};

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::bf16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_layouts<__nv_bfloat16, true>),
                                 .architectures = {.from = 80},
                                 .configuration = configuration},
                                {.variant = gemm::of_type(gemm::DType::fp16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_layouts<__half, true>),
                                 .architectures = {.from = 80},
                                 .configuration = configuration}};

extern const gemm::Lesson lesson{.name = "20_layout_algebra",
                                 .part = 3,
                                 .ladder = "layouts",
                                 .variants = variants,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_20
