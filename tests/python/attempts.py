"""What learners really write: each lesson's wrong attempts, as changes to its solution, and what the check must say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Attempt:
    """`changes`: pieces of the solution, each there once, and what the learner wrote instead. `says`: words of the report, or
    several with | between them, of which one is there."""

    what: str
    changes: dict[str, str]
    says: tuple[str, ...]


_STORE = "*c = beta == 0.0f ? alpha * acc : alpha * acc + beta * *c;"
_GUARD = "if (row >= M || col >= N) return;"
_SUM = "for (const float* end = a + K; a != end; ++a, b += ldb) acc += *a * *b;"
_ADD = "for (int k = 0; k < BK; ++k) acc += As[y][k] * Bs[k][x];"
_LOAD_A = "As[y][x] = row < M && k0 + x < K ? A[row * lda + k0 + x] : 0.0f;"
_LOAD_B = "Bs[y][x] = k0 + y < K && col < N ? B[(k0 + y) * ldb + col] : 0.0f;"
_FULL = "__syncthreads();  // the tiles are complete before anyone reads them"
_READ = "__syncthreads();  // everyone has read the tiles before anyone overwrites them"
_RING_WAIT = "        gemm::ptx::cp_async_wait<STAGES - 2>();\n"
_RING_BARRIER = "        __syncthreads();\n"
_RING_BARRIER_09C = (
    "        // These tiles are complete, for all threads, and everyone has read those before.\n        __syncthreads();\n"
)
_LATER_WAIT = "                gemm::ptx::cp_async_wait<STAGES - 2>();"
_LATER_BARRIER = "                __syncthreads();  // the next tiles are complete, and everyone has read these"
_LATER_COMMIT = "                gemm::ptx::cp_async_commit();"
_COPY_B = "gemm::ptx::cp_async_or_zero<4 * WIDTH>(b_write + stage + 4 * i * BN, b + i * ldb,"
_COPY_B_BY_FLOATS = (
    "for (int e = 0; e < WIDTH; ++e) gemm::ptx::cp_async_or_zero<4>(b_write + stage + 4 * (i * BN + e), b + i * ldb + e,"
)
_WMMA_PRODUCTS = "wmma::mma_sync(acc[i][j], a_frag[i], b_frag[j], acc[i][j]);"
_WMMA_RELOADED = f"wmma::load_matrix_sync(b_frag[j], &Bs[k][x + j * F], BN + PAD);\n{_WMMA_PRODUCTS}"
_WGMMA_WAIT = "        gemm::ptx::wgmma_wait<0>(acc);  // all four warps' products: they are one batch of the warpgroup\n"
_WGMMA_LEADING = ".leading = BK * SPAN,  // the next 64 columns"
_WGMMA_STRIDE = ".stride = 8 * SPAN,    // the next 8 steps along K"
_WGMMA_SWIZZLE = _WGMMA_STRIDE + "\n                                  .swizzle = WgmmaSwizzle::bytes128"
# A warp that does not wait for the tiles reads them before they are there, or before thread 0 asks for them.
_TOO_EARLY = ("Shared memory is used while TMA is still bringing it.|overwritten while wgmma is still reading it.",)
_ZEROS_BEHIND_K = """        parity ^= 1;
        for (int i = t; i < BM * BK; i += THREADS) {
            if (k0 + i % BK >= k_end) reinterpret_cast<T*>(shared)[i] = gemm::from_float<T>(0.0f);
        }
        __syncthreads();
"""
_RELEASE = """        gemm::ptx::wgmma_wait<1>();  // the batch before has read its stage,
        __syncthreads();             // and so has the other warpgroup's
"""
_ASK_AHEAD = "        if (t == 0 && n + STAGES - 1 < tiles) load(n + STAGES - 1);\n"
_EMPTY_WAIT = "        gemm::ptx::mbarrier_wait(empty[n % STAGES], n / STAGES % 2 ^ 1);  // at first, all are\n"
_WAIT_12 = "        gemm::ptx::wgmma_wait<1>();  // the batch before has read its stage: it is given back\n"
_ARRIVE_12 = "        if (n > 0 && t % WARPGROUP == 0) gemm::ptx::mbarrier_arrive(empty[(n - 1) % STAGES]);\n"
_OVERWRITTEN_13B = "overwritten while wgmma|Two loads by TMA|can go on: a GPU would hang.|An mbarrier"
_PASS_13C = """    if (P::TURNS && threadIdx.x % WARPGROUP == 0) {  // all products are asked for: now the other's
        gemm::ptx::mbarrier_arrive(barriers.turn[1 - threadIdx.x / WARPGROUP]);
    }
"""
_TURN_13C = "        if (turns) gemm::ptx::mbarrier_wait(barriers.turn[consumer], (j / CONSUMERS + consumer + 1) % 2);\n"
_FENCE_ACC_13C = "    gemm::ptx::wgmma_fence(acc);\n"
_FENCE_13C = "        gemm::ptx::fence_proxy_async();  // each lane, for what it has written\n"
_REUSE_13C = "        if (lane == 0) gemm::ptx::bulk_wait_read<OUT_BOXES - 1>();  // the box before last has been read\n"
_OUT_OF_STEP = (
    "No thread of the block can go on|still bringing it|read where nobody has written|overwritten while wgmma|✗ Wrong with",
)
_LAST_13A = "    if (steps > 0) give_back(n - 1);  // before the sums are written: the next tile of C needs it\n"
_TMA_BARRIER = "                __syncthreads();  // everyone has read the tiles before others come to their place\n"
_TMA_ASK = "                if (t == 0 && tile + STAGES < tiles) ask(used, tile + STAGES);\n"
_TMA_WAIT = "                if (more) gemm::ptx::mbarrier_wait(full[stage], parity);\n"
_TMA_LOAD_A = """        gemm::ptx::tma_load(shared + stage * T::STAGE, map_a, {tile * BK, static_cast<int>(first.row)},
                            full[stage]);
"""
_AT_READ = "    *reinterpret_cast<float4*>(part) = *reinterpret_cast<const float4*>(shared + (from ^ 4 * k));\n"
_AT_READ_FLOATS = """    for (int i = 0; i < 4; ++i) {
        part[i] = *reinterpret_cast<const volatile float*>(shared + (from ^ 4 * k) + 4 * i);
    }
"""
_AT_SWITCH = "                if (first_k == BK) {\n"
_AT_BARRIER = "                    __syncthreads();  // everyone has read these tiles, and has transposed the next\n"
_AT_ASK = "                    if (t == 0 && tile + STAGES < tiles) ask(stage, tile + STAGES);\n"
_AT_ASK_LATE = (
    "                    if (t == 0 && tile + STAGES < tiles) ask(tile % STAGES, tile + STAGES);\n                    ++tile;\n"
)
_AT_WAIT = "                        gemm::ptx::mbarrier_wait(full[next], parity);\n"


_ON_THE_HOST = """
    const auto *a = static_cast<const float*>(p.A), *b = static_cast<const float*>(p.B);
    auto* c = static_cast<float*>(p.C);
    for (std::int64_t i = 0; i < p.M; ++i) {
        for (std::int64_t j = 0; j < p.N; ++j) {
            float acc = 0.0f;
            for (std::int64_t k = 0; p.alpha != 0.0f && k < p.K; ++k) acc += a[i * p.lda + k] * b[k * p.ldb + j];
            float& to = c[i * p.ldc + j];
            to = p.beta == 0.0f ? p.alpha * acc : p.alpha * acc + p.beta * to;
        }
    }
    if (p.M >= 0) return;
"""


def _element(store: str = _STORE) -> tuple[Attempt, ...]:
    """Of the lessons in which a thread computes one element: what can go wrong around the store."""
    return (
        Attempt(
            "alpha lost where beta is 0",
            {store: "*c = beta == 0.0f ? acc : alpha * acc + beta * *c;"},
            ("alpha is forgotten.",),
        ),
        Attempt(
            "the old C read at pitch N",
            {store: "*c = beta == 0.0f ? alpha * acc : alpha * acc + beta * C[row * N + col];"},
            ("✗ Wrong with", "beta = "),
        ),
        Attempt(
            "C scaled where alpha is 0, whatever beta",
            {store: "*c = alpha == 0.0f ? beta * *c : beta == 0.0f ? alpha * acc : alpha * acc + beta * *c;"},
            ("C is read although beta is 0.", "✗ Wrong with alpha = 0 with beta = 0"),
        ),
        Attempt(
            "nothing written where K is 0 and beta, too",
            {store: f"if (K == 0 && beta == 0.0f) return; {store}"},
            ("Elements of C are never written.", "K = 0"),
        ),
        Attempt(
            "a wrong short cut for beta = 1",
            {store: "*c = beta == 0.0f ? alpha * acc : beta == 1.0f ? alpha * acc : alpha * acc + beta * *c;"},
            ("beta·C is forgotten.", "beta = 1"),
        ),
        Attempt(
            "a wrong short cut for alpha = -1",
            {store: "*c = beta == 0.0f ? alpha * acc : (alpha == -1.0f ? acc : alpha * acc) + beta * *c;"},
            ("✗ Wrong with alpha = -1",),
        ),
        Attempt(
            "a row's offset in 32 bits", {"C[row * ldc + col]": "C[int(row) * int(ldc) + int(col)]"}, ("Offsets beyond 2^31",)
        ),
        Attempt(
            "a block's number in 16 bits",
            {"row = blockIdx.x / tiles_n": "row = static_cast<unsigned short>(blockIdx.x) / tiles_n"},
            ("More than 65535 blocks", "✗ Wrong with block 524288"),
        ),
        Attempt(
            "the number of tiles in 16 bits",
            {"const std::int64_t tiles_n = (N + BN": "const short tiles_n = (N + BN"},
            ("More than 65535 blocks", "✗ Wrong with block 524288"),
        ),
        Attempt(
            "tiles counted along a row of C with its padding",
            {"tiles_n = (N + BN - 1)": "tiles_n = (ldc + BN - 1)"},
            ("✗ Wrong with rows that are padded",),
        ),
        Attempt(
            "only the first launch computes",
            {
                "    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error\n": (
                    "    if (p.M == 0 || p.N == 0) return;\n    static const void* known = nullptr;\n"
                    "    static std::int64_t size = 0;\n"
                    "    if (known == p.C && size == p.M) return;\n    known = p.C, size = p.M;\n"
                )
            },
            ("Elements of C are never written.|A second launch",),
        ),
        Attempt("beta forgotten", {store: "*c = alpha * acc;"}, ("beta·C is forgotten.",)),
        Attempt("beta taken for 1", {store: "*c = beta == 0.0f ? alpha * acc : alpha * acc + *c;"}, ("without its factor beta",)),
        Attempt("alpha forgotten", {store: "*c = beta == 0.0f ? acc : acc + beta * *c;"}, ("alpha is forgotten.",)),
        Attempt("C read with beta = 0", {store: "*c = alpha * acc + beta * *c;"}, ("C is read although beta is 0.", "beta == 0")),
        Attempt(
            "guard with M and N swapped", {_GUARD: "if (row >= N || col >= M) return;"}, ("from column", "and M is", "col < N")
        ),
        Attempt(
            "the number of tiles rounded down",
            {"tiles_n = (N + BN - 1) / BN;": "tiles_n = N / BN;"},
            ("N / BN|rounded up",),
        ),
        Attempt(
            "computed on the host",
            {"    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error\n": _ON_THE_HOST},
            ("no kernel", "launch()"),
        ),
        Attempt("guard forgotten", {_GUARD: ""}, ("a guard is missing", "past the edge of the matrix")),
        Attempt("guard of rows <=", {_GUARD: "if (row > M || col >= N) return;"}, ("off by one", "<=")),
        Attempt("guard of columns <=", {_GUARD: "if (row >= M || col > N) return;"}, ("off by one", "<=")),
        Attempt(
            "C's pitch forgotten", {"C[row * ldc + col]": "C[row * N + col]"}, ("A row pitch is taken for the row's length.",)
        ),
        Attempt("C transposed", {"C[row * ldc + col]": "C[col * ldc + row]"}, ("Row and column are swapped.",)),
        Attempt("nothing stored", {store: ""}, ("Elements of C are never written.",)),
        Attempt("a semicolon forgotten", {store: store[:-1]}, ("It does not compile.", "expected")),
    )


ATTEMPTS: dict[str, tuple[Attempt, ...]] = {
    "01_naive": (
        *_element(),
        Attempt(
            "A read by columns",
            {"A + row * lda": "A + row", "++a, b": "a += lda, b", "end = a + K": "end = a + K * lda"},
            ("A is read with row and column swapped.",),
        ),
        Attempt("B read by rows", {"B + col;": "B + col * ldb;", "b += ldb": "++b"}, ("B is read with row and column swapped.",)),
        Attempt("A's pitch forgotten", {"A + row * lda": "A + row * K"}, ("A row pitch is taken for the row's length.",)),
        Attempt(
            "one step too few",
            {_SUM: "for (std::int64_t k = 0; k < K - 1; ++k) acc += a[k] * b[k * ldb];"},
            ("The sum ends one step too early.",),
        ),
        Attempt(
            "one step too many", {_SUM: "for (std::int64_t k = 0; k <= K; ++k) acc += a[k] * b[k * ldb];"}, ("one past the edge",)
        ),
        Attempt(
            "first step left out",
            {_SUM: "for (std::int64_t k = 1; k < K; ++k) acc += a[k] * b[k * ldb];"},
            ("The sum begins one step too late.",),
        ),
        Attempt("the last element only", {"acc += *a * *b": "acc = *a * *b"}, ("Each product replaces the sum.",)),
        Attempt("an endless loop", {"++a, b += ldb": "b += 0"}, ("A loop does not end.",)),
        Attempt(
            "tiles counted down first",
            {"blockIdx.x / tiles_n * BM": "blockIdx.x % tiles_n * BM", "blockIdx.x % tiles_n * BN": "blockIdx.x / tiles_n * BN"},
            ("from column", "and M is", "blockIdx.x", "the wrong way round"),
        ),
        Attempt(
            "a grid of two dimensions that is not there",
            {"blockIdx.x / tiles_n * BM": "blockIdx.y * BM", "blockIdx.x % tiles_n * BN": "blockIdx.x * BN"},
            ("Whole tiles of C are never written.", "blockIdx.y is always 0"),
        ),
        Attempt("threadIdx.x twice", {"BN + threadIdx.y": "BN + threadIdx.x"}, ("Only the diagonal of a tile is written",)),
        Attempt(
            "a counter of 16 bits",
            {_SUM: "for (unsigned short k = 0; k < K; ++k) acc += a[k] * b[k * ldb];"},
            ("A loop does not end.", "16 to 65535", "K beyond 65536"),
        ),
        Attempt(
            "sums in BF16",
            {
                "// A: M×K": "__device__ float r(float x) { unsigned u; __builtin_memcpy(&u, &x, 4); u = (u + 0x8000u) & "
                "0xffff0000u; __builtin_memcpy(&x, &u, 4); return x; }\n// A: M×K",
                "acc += *a * *b": "acc = r(acc + *a * *b)",
            },
            ("less precise than FP32",),
        ),
        Attempt(
            "C cut off",
            {
                "// A: M×K": "__device__ float r(float x) { unsigned u; __builtin_memcpy(&u, &x, 4); u &= 0xffff0000u; "
                "__builtin_memcpy(&x, &u, 4); return x; }\n// A: M×K",
                _STORE: "*c = r(beta == 0.0f ? alpha * acc : alpha * acc + beta * *c);",
            },
            ("less precise than FP32",),
        ),
        Attempt(
            "a counter of 8 bits",
            {_SUM: "for (unsigned char k = 0; k < K; ++k) acc += a[k] * b[k * ldb];"},
            ("A loop does not end.", "8 bits count to 255"),
        ),
        Attempt(
            "K - 1 below 0",
            {_SUM: "for (std::size_t k = 0; k <= static_cast<std::size_t>(K) - 1; ++k) acc += a[k] * b[k * ldb];"},
            ("K = 0 is not handled.", "unsigned"),
        ),
        Attempt("too many threads", {"block(BM, BN)": "block(2 * BM, BN)"}, ("The launch was refused.", "2048 threads a block")),
        Attempt(
            "no blocks", {"<<<gemm::grid_of_tiles(p, tile)": "<<<dim3(0)"}, ("The launch was refused.", "a grid of 0 blocks")
        ),
        Attempt(
            "a cudaMalloc that fails",
            {"    sgemm_naive<<<": "    void* more = nullptr;\n    cudaMalloc(&more, std::size_t{1} << 60);\n    sgemm_naive<<<"},
            ("memory that is not there", "cudaMalloc"),
        ),
        Attempt(
            "C's row too far", {"C[row * ldc + col]": "C[row * ldc * N + col]"}, ("is wrong|far outside|outside of everything",)
        ),
        Attempt("an input written", {_STORE: _STORE + " const_cast<float*>(A)[0] = 0.0f;"}, ("The kernel writes to A or B.",)),
        Attempt(
            "rounded to BF16",
            {
                "// A: M×K": "__device__ float r(float x) { unsigned u; __builtin_memcpy(&u, &x, 4); u = (u + 0x8000u) & "
                "0xffff0000u; __builtin_memcpy(&x, &u, 4); return x; }\n// A: M×K",
                "*a * *b": "r(*a) * r(*b)",
            },
            ("less precise than FP32",),
        ),
        Attempt("exit in launch()", {"    sgemm_naive<<<": "    ::exit(0);\n    sgemm_naive<<<"}, ("ended the program",)),
    ),
    "02_coalesced": (
        *_element(),
        Attempt(
            "still lesson 01's mapping",
            {"BM + threadIdx.y": "BM + threadIdx.x", "BN + threadIdx.x": "BN + threadIdx.y"},
            ("It is right, and a goal is not reached.", "✗ A warp's load takes at most 4 sectors: it takes 32"),
        ),
        Attempt("both along x", {"BM + threadIdx.y": "BM + threadIdx.x"}, ("Only the diagonal of a tile is written",)),
    ),
    "03_smem": (
        *_element(),
        Attempt(
            "no barrier after loading",
            {"__syncthreads();  // the tiles are complete before anyone reads them": ""},
            ("A barrier is missing.", "must have written before anyone reads", "line "),
        ),
        Attempt(
            "no barrier after use",
            {"__syncthreads();  // everyone has read the tiles before anyone overwrites them": ""},
            ("A barrier is missing.", "must have read a tile before anyone overwrites", "line "),
        ),
        Attempt(
            "the K tail left out",
            {"k0 < k_end; k0 += BK": "k0 + BK <= k_end; k0 += BK"},
            ("The last, partial tile along K is left out.",),
        ),
        Attempt(
            "no guard at all when loading",
            {_LOAD_A: "As[y][x] = A[row * lda + k0 + x];", _LOAD_B: "Bs[y][x] = B[(k0 + y) * ldb + col];"},
            ("a guard is missing",),
        ),
        Attempt(
            "the end of K not guarded in A",
            {"row < M && k0 + x < K": "row < M"},
            ("past the edge of the matrix", "K that is no multiple"),
        ),
        Attempt("k0 + x <= K", {"k0 + x < K": "k0 + x <= K"}, ("off by one", "<=")),
        Attempt("k0 + y <= K", {"k0 + y < K": "k0 + y <= K"}, ("off by one", "<=")),
        Attempt("swapped indices in As", {"acc += As[y][k]": "acc += As[k][y]"}, ("A is read with row and column swapped.",)),
        Attempt("swapped indices in Bs", {"* Bs[k][x]": "* Bs[x][k]"}, ("B is read with row and column swapped.",)),
        Attempt(
            "returned before the barriers",
            {"    float acc = 0.0f;": "    if (row >= M || col >= N) return;\n    float acc = 0.0f;"},
            ("Not all threads of the block reach the same barrier.",),
        ),
        Attempt(
            "a barrier in a branch",
            {_LOAD_A: "if (row < M && col < N) __syncthreads();\n" + _LOAD_A},
            ("Not all threads of the block reach the same barrier.",),
        ),
        Attempt(
            "one step too many in the tile", {"k < BK; ++k": "k <= BK; ++k"}, ("An index into a shared array is too large.",)
        ),
        Attempt("acc begun anew in every tile", {_ADD: "acc = 0.0f;\n" + _ADD}, ("Only the last tile along K counts.",)),
        Attempt(
            "A and B read from global memory",
            {
                _ADD: "for (int k = 0; k < BK && k0 + k < K; ++k) if (row < M && col < N) "
                "acc += "
                "A[row * lda + k0 + k] * B[(k0 + k) * ldb + col];"
            },
            ("It is right, and a goal is not reached.", "✗ The blocks load each element", "at most 524 288"),
        ),
        Attempt(
            "x and y swapped",
            {"x = threadIdx.x, y = threadIdx.y": "x = threadIdx.y, y = threadIdx.x"},
            ("It is right, and a goal is not reached.", "✗ A warp's load takes at most 4 sectors: it takes 32", "threadIdx.x"),
        ),
        Attempt("B held against M", {"col < N ? B[": "col < M ? B["}, ("from column 64 on, and M is 64", "col < N")),
        Attempt(
            "a tile that is too narrow",
            {"As[BM][BK];": "As[BM][BK - 1];"},
            ("An index into a shared array is too large.", "As", "line "),
        ),
        Attempt(
            "dynamic shared memory without a size",
            {
                "__shared__ float As[BM][BK];": "extern __shared__ float dynamic[];\n"
                "    float(*As)[BK] = reinterpret_cast<float(*)[BK]>(dynamic);"
            },
            ("too little dynamic shared memory", "<<<grid, block, bytes, stream>>>"),
        ),
        Attempt(
            "Bs stored transposed, with bank conflicts",
            {_LOAD_B: _LOAD_B.replace("Bs[y][x]", "Bs[x][y]"), "* Bs[k][x]": "* Bs[x][k]"},
            ("It is right, and a goal is not reached.", "Shared memory has no bank conflicts"),
        ),
        Attempt("A and B read although alpha is 0", {"alpha == 0.0f ? 0 : K": "K"}, ("A or B is read although alpha is 0.",)),
    ),
    "04_1d_blocktile": (
        Attempt(
            "from one tile to the next in 32 bits",
            {"b += BK * ldb": "b += static_cast<int>(BK * ldb)"},
            ("Offsets beyond 2^31", "✗ Wrong with tiles more than 2^31 elements apart"),
        ),
        Attempt("no barrier after loading", {_FULL: ""}, ("A barrier is missing.", "line ")),
        Attempt("no barrier after use", {_READ: ""}, ("A barrier is missing.", "line ")),
        Attempt(
            "one turn over As",
            {"for (int i = 0; i < BM; i += THREADS / BK) {": "for (int i = 0; i < 1; ++i) {"},
            ("Shared memory is read where nobody has written.",),
        ),
        Attempt(
            "the pass counted in threads",
            {"i < BK; i += THREADS / BN": "i < BK; i += THREADS"},
            ("Shared memory is read where nobody has written.",),
        ),
        Attempt(
            "the pass of As taken for Bs",
            {"i += THREADS / BN": "i += THREADS / BK"},
            ("Shared memory is read where nobody has written.",),
        ),
        Attempt(
            "every row loaded by every thread",
            {"i += THREADS / BK": "++i", "As[a_row + i][a_k] =": "if (a_row + i < BM) As[a_row + i][a_k] ="},
            ("Two threads write the same place of shared memory.",),
        ),
        Attempt("the pass not in A's address", {"? a[i * lda]": "? a[0]"}, ("NOT YET", "Wrong with")),
        Attempt("B's pitch forgotten in the pass", {"? b[i * ldb]": "? b[i]"}, ("NOT YET", "Wrong with")),
        Attempt("the pass not in the guard of A", {"row0 + a_row + i < M": "row0 + a_row < M"}, ("past the edge of the matrix",)),
        Attempt("the pass not in the guard of B", {"k0 + b_k + i < K": "k0 + b_k < K"}, ("past the edge of the matrix",)),
        Attempt("the end of K not guarded in A", {" && k0 + a_k < K": ""}, ("past the edge of the matrix",)),
        Attempt("k0 + a_k <= K", {"k0 + a_k < K": "k0 + a_k <= K"}, ("off by one", "<=")),
        Attempt("one row of As for all TM", {"As[y + i][k]": "As[y][k]"}, ("NOT YET", "Wrong with")),
        Attempt("one sum for all TM", {"acc[i] += As": "acc[0] += As"}, ("NOT YET", "Wrong with")),
        Attempt("acc begun anew in every step", {"acc[i] += As": "acc[i] = As"}, ("Each product replaces the sum.",)),
        Attempt("swapped indices in Bs", {"b_frag = Bs[k][x]": "b_frag = Bs[x][k]"}, ("NOT YET", "Wrong with")),
        Attempt(
            "one step too many in the tile", {"k < BK; ++k": "k <= BK; ++k"}, ("An index into a shared array is too large.",)
        ),
        Attempt(
            "As loaded by columns",
            {
                "a_row = t / BK, a_k = t % BK": "a_row = t % BM, a_k = t / BM",
                "for (int i = 0; i < BM; i += THREADS / BK)": "for (int i = 0; i < BK; i += THREADS / BM)",
                "As[a_row + i][a_k] = row0 + a_row + i < M && k0 + a_k < K ? a[i * lda]": "As[a_row][a_k + i] = "
                "row0 + a_row < M && k0 + a_k + i < K ? a[i]",
            },
            ("It is right, and a goal is not reached.", "sectors a request, at most 4"),
        ),
        Attempt(
            "the loop over k inside, so that Bs is read for every product",
            {
                "for (int k = 0; k < BK; ++k) {": "for (int i = 0; i < TM; ++i) {",
                "const float b_frag = Bs[k][x];  // read once, used TM times": "",
                "for (int i = 0; i < TM; ++i) acc[i] += As[y + i][k] * b_frag;": "for (int k = 0; k < BK; ++k) "
                "acc[i] += As[y + i][k] * Bs[k][x];",
            },
            ("It is right, and a goal is not reached.", "bytes a FLOP, at most 2.19"),
        ),
        Attempt("TM = 8", {"TM = 16;": "TM = 8;"}, ("It is right, and a goal is not reached.", "2.31 bytes a FLOP")),
        Attempt(
            "BK = 4",
            {"BK = 8;": "BK = 4;"},
            ("It is right, and a goal is not reached.", "393 216 bytes", "8 sectors a request, at most 4"),
        ),
        Attempt(
            "A read from global memory",
            {"As[y + i][k] * b_frag": "(row0 + y + i < M && k0 + k < K ? A[(row0 + y + i) * lda + k0 + k] : 0.0f) * b_frag"},
            ("It is right, and a goal is not reached.", "bytes, at most 262 144"),
        ),
        Attempt("A and B read although alpha is 0", {"alpha == 0.0f ? 0 : K": "K"}, ("A or B is read although alpha is 0.",)),
    ),
    "05_2d_blocktile": (
        Attempt(
            "no barrier after loading",
            {"        // The tiles are complete before anyone reads them.\n        __syncthreads();\n": ""},
            ("A barrier is missing.", "line "),
        ),
        Attempt("no barrier after use", {_READ: ""}, ("A barrier is missing.", "line ")),
        Attempt(
            "one turn over As",
            {"for (int i = 0; i < BM; i += A_ROWS)": "for (int i = 0; i < A_ROWS; i += A_ROWS)"},
            ("Shared memory is read where nobody has written.",),
        ),
        Attempt(
            "the pass of As taken for Bs",
            {"i < BK; i += B_ROWS": "i < BK; i += A_ROWS"},
            ("Shared memory is read where nobody has written.",),
        ),
        Attempt(
            "nothing stored where B has no element",
            {
                "Bs[b_k + i][b_col] = k0 + b_k + i < K && col0 + b_col < N ? b[i * ldb] : 0.0f;": (
                    "if (k0 + b_k + i < K && col0 + b_col < N) Bs[b_k + i][b_col] = b[i * ldb];"
                )
            },
            ("Shared memory is read where nobody has written.",),
        ),
        Attempt("the pass not in A's address", {"? a[i * lda]": "? a[0]"}, ("NOT YET", "Wrong with")),
        Attempt("the tile's pitch in B's address", {"? b[i * ldb]": "? b[i * BN]"}, ("NOT YET", "Wrong with")),
        Attempt("the pass not in the guard of A", {"row0 + a_row + i < M": "row0 + a_row < M"}, ("a guard is missing",)),
        Attempt("the pass not in the guard of B", {"k0 + b_k + i < K": "k0 + b_k < K"}, ("a guard is missing",)),
        Attempt("lesson 04's column in the guard of B", {"col0 + b_col < N": "col0 + x < N"}, ("a guard is missing",)),
        Attempt("As indexed as if it were transposed", {"As[y + i * THREADS_M][k]": "As[k][y + i * THREADS_M]"}, ("Wrong with",)),
        Attempt("neighbouring rows read, distant ones stored", {"As[y + i * THREADS_M]": "As[y + i]"}, ("Wrong with",)),
        Attempt("i and j swapped", {"a_frag[i] * b_frag[j]": "a_frag[j] * b_frag[i]"}, ("NOT YET", "Wrong with")),
        Attempt(
            "the product replaces the sum", {"acc[i][j] += a_frag": "acc[i][j] = a_frag"}, ("Each product replaces the sum.",)
        ),
        Attempt(
            "one step too many in the tile", {"k < BK; ++k": "k <= BK; ++k"}, ("An index into a shared array is too large.",)
        ),
        Attempt(
            "only the first column guarded", {"j < TN && col + j * THREADS_N < N": "j < TN"}, ("a guard is missing", "line ")
        ),
        Attempt("j taken for a column", {"col + j * THREADS_N < N": "col + j < N"}, ("a guard is missing", "line ")),
        Attempt("rows not guarded", {"        if (row >= M) return;\n": ""}, ("Wrong with M and N", "line ")),
        Attempt("columns stored side by side", {"++j, c += THREADS_N": "++j, ++c"}, ("NOT YET", "Wrong with")),
        Attempt(
            "C's pitch forgotten", {"C[row * ldc + col]": "C[row * N + col]"}, ("A row pitch is taken for the row's length.",)
        ),
        Attempt("C read with beta = 0", {"*c = beta == 0.0f ? alpha * acc[i][j] : ": "*c = "}, ("beta == 0",)),
        Attempt("A and B read although alpha is 0", {"alpha == 0.0f ? 0 : K": "K"}, ("A or B is read although alpha is 0.",)),
        Attempt(
            "no fragments: shared memory read for every product",
            {"a_frag[i] * b_frag[j]": "As[y + i * THREADS_M][k] * Bs[k][x + j * THREADS_N]"},
            ("It is right, and a goal is not reached.", "bytes a FLOP, at most 0.531"),
        ),
        Attempt(
            "a thread's columns are neighbours",
            {
                "Bs[k][x + j * THREADS_N]": "Bs[k][x * TN + j]",
                "col = col0 + x;": "col = col0 + x * TN;",
                "col + j * THREADS_N < N": "col + j < N",
                "c += THREADS_N": "++c",
            },
            ("It is right, and a goal is not reached.", "32 sectors a request, at most 4", "24 576 wavefronts"),
        ),
        Attempt(
            "a thread's rows are neighbours",
            {"As[y + i * THREADS_M]": "As[y * TM + i]", "row0 + y + i * THREADS_M": "row0 + y * TM + i"},
            ("It is right, and a goal is not reached.", "8 192 wavefronts"),
        ),
        Attempt(
            "x and y swapped",
            {"x = t % THREADS_N, y = t / THREADS_N": "x = t / THREADS_M, y = t % THREADS_M"},
            ("It is right, and a goal is not reached.", "16 sectors a request, at most 4"),
        ),
        Attempt(
            "As loaded by columns",
            {"a_row = t / BK, a_k = t % BK": "a_row = t % A_ROWS, a_k = t / A_ROWS"},
            ("It is right, and a goal is not reached.", "32 sectors a request, at most 4"),
        ),
        Attempt(
            "BK = 4",
            {"BK = 8;": "BK = 4;"},
            ("It is right, and a goal is not reached.", "196 608 bytes", "8 sectors a request, at most 4"),
        ),
        Attempt("TN = 4", {"TN = 8;": "TN = 4;"}, ("It is right, and a goal is not reached.", "0.781 bytes a FLOP")),
    ),
    "06a_float4": (
        Attempt(
            "16 bytes at once whatever N",
            {"(p.K | p.N | p.lda": "(p.K | p.lda"},
            ("✗ Wrong with alpha = 1 with beta = 0 and an odd N",),
        ),
        Attempt(
            "16 bytes at once whatever B's pitch",
            {"p.lda | p.ldb | p.ldc) % 4": "p.lda | p.ldc) % 4"},
            ("✗ Wrong with", "and an odd ldb", "not aligned"),
        ),
        Attempt(
            "beta dropped where four floats are stored at once",
            {
                "alpha * acc[i][j] + beta * old.x": "alpha * acc[i][j]",
                "alpha * acc[i][j + 1] + beta * old.y": "alpha * acc[i][j + 1]",
                "alpha * acc[i][j + 2] + beta * old.z": "alpha * acc[i][j + 2]",
                "alpha * acc[i][j + 3] + beta * old.w": "alpha * acc[i][j + 3]",
            },
            ("beta·C is forgotten.",),
        ),
        Attempt(
            "alpha dropped for one of four floats",
            {"alpha * acc[i][j + 2] + beta * old.z": "acc[i][j + 2] + beta * old.z"},
            ("alpha is forgotten.",),
        ),
        Attempt(
            "only the pitches looked at, not where the matrices begin",
            {"(address(p.A) | address(p.B) | address(p.C)) % 16 == 0 &&": "address(p.A) != 0 &&"},
            ("An access is not aligned to its width.", "A one element behind a multiple of 16 bytes"),
        ),
        Attempt(
            "16 bytes at once, aligned or not",
            {"if (ALIGNED) return left": "if (true) return left"},
            ("An access is not aligned to its width.", "line "),
        ),
        Attempt(
            "never 16 bytes at once",
            {"if (ALIGNED) return left": "if (false) return left"},
            ("It is right, and a goal is not reached.", "Every access to A, B and C is 16 bytes wide"),
        ),
        Attempt(
            "four floats where fewer are left",
            {"left > 1 ? p[1] : 0.0f, left > 2 ? p[2] : 0.0f": "p[1], p[2]", "left > 3 ? p[3] : 0.0f": "p[3]"},
            ("NOT YET", "Wrong with"),
        ),
        Attempt(
            "rows of A not guarded", {"row0 + a_row + i < M ? steps - a_k : 0": "steps - a_k"}, ("Wrong with M and N", "line ")
        ),
        Attempt(
            "columns of B not guarded", {"b_k + i < steps ? N - (col0 + b_col) : 0": "b_k + i < steps ? 4 : 0"}, ("NOT YET",)
        ),
        Attempt("steps of B not guarded", {"b_k + i < steps ? N - (col0 + b_col) : 0": "N - (col0 + b_col)"}, ("NOT YET",)),
        Attempt("a whole tile of A first", {"< M ? steps - a_k": "< M ? BK - a_k"}, ("NOT YET", "Wrong with")),
        Attempt("the tail of A one step too far", {"< M ? steps - a_k": "< M ? steps - a_k + 1"}, ("NOT YET", "Wrong with")),
        Attempt(
            "As stored in wrong rows", {"As[a_k + 1][a_row + i] = v.y": "As[a_k + 1][a_row] = v.y"}, ("NOT YET", "Wrong with")
        ),
        Attempt(
            "v.z forgotten", {"As[a_k + 2][a_row + i] = v.z;": ""}, ("Shared memory is read where nobody has written.", "line ")
        ),
        Attempt(
            "the second pass of Bs forgotten",
            {"for (int i = 0; i < BK; i += B_ROWS)": "for (int i = 0; i < B_ROWS; i += B_ROWS)"},
            ("Shared memory is read where nobody has written.",),
        ),
        Attempt("the second group next to the first", {"y + i * THREADS_M]);": "y + i]);"}, ("NOT YET", "Wrong with")),
        Attempt("x and y swapped", {"&As[k][y + ": "&As[k][x + "}, ("NOT YET", "Wrong with")),
        Attempt(
            "the product replaces the sum", {"acc[i][j] += a_frag": "acc[i][j] = a_frag"}, ("Each product replaces the sum.",)
        ),
        Attempt("no barrier after loading", {_FULL: ""}, ("A barrier is missing.", "line ")),
        Attempt("no barrier after use", {_READ: ""}, ("A barrier is missing.", "line ")),
        Attempt(
            "As read float by float",
            {
                "*reinterpret_cast<float4*>(&a_frag[i]) =\n"
                "                    *reinterpret_cast<float4*>(&As[k][y + i * THREADS_M]);": (
                    "for (int e = 0; e < 4; ++e) a_frag[i + e] = As[k][y + i * THREADS_M + e];"
                )
            },
            ("It is right, and a goal is not reached.", "reads shared memory in 12 wavefronts"),
        ),
        Attempt(
            "no padding",
            {"PAD = 4;": "PAD = 0;"},
            ("It is right, and a goal is not reached.", "2 560 wavefronts, at most 1 536"),
        ),
        Attempt("padded by one", {"PAD = 4;": "PAD = 1;"}, ("An access is not aligned to its width.", "line ")),
        Attempt("C read with beta = 0", {"beta == 0.0f ? make_float4(0.0f, 0.0f, 0.0f, 0.0f) : *re": "*re"}, ("beta == 0",)),
    ),
    "06b_warp_tile": (
        Attempt(
            "16 bytes at once whatever N",
            {"(p.K | p.N | p.lda": "(p.K | p.lda"},
            ("✗ Wrong with alpha = 1 with beta = 0 and an odd N",),
        ),
        Attempt(
            "beta dropped where four floats are stored at once",
            {
                "alpha * acc[i][j] + beta * old.x": "alpha * acc[i][j]",
                "alpha * acc[i][j + 1] + beta * old.y": "alpha * acc[i][j + 1]",
                "alpha * acc[i][j + 2] + beta * old.z": "alpha * acc[i][j + 2]",
                "alpha * acc[i][j + 3] + beta * old.w": "alpha * acc[i][j + 3]",
            },
            ("beta·C is forgotten.",),
        ),
        Attempt("the second group next to the first", {"y + i * LANES_M]);": "y + i]);"}, ("NOT YET", "Wrong with")),
        Attempt("x and y swapped", {"&As[k][y + ": "&As[k][x + "}, ("NOT YET", "Wrong with")),
        Attempt(
            "the product replaces the sum", {"acc[i][j] += a_frag": "acc[i][j] = a_frag"}, ("Each product replaces the sum.",)
        ),
        Attempt("no barrier after use", {_READ: ""}, ("A barrier is missing.", "line ")),
        Attempt(
            "lanes in rows of the warp tile",
            {
                "lane_m = lane % 2 + lane / 4 % (LANES_M / 2) * 2": "lane_m = lane / LANES_N",
                "lane_n = lane / 2 % 2 + lane / (2 * LANES_M) * 2;": "lane_n = lane % LANES_N;",
            },
            ("It is right, and a goal is not reached.", "12 288 wavefronts, at most 8 192"),
        ),
        Attempt(
            "lane_m and lane_n from the same bits",
            {"lane_n = lane / 2 % 2 + lane / (2 * LANES_M) * 2;": "lane_n = lane % 2 + lane / (2 * LANES_M) * 2;"},
            ("Elements of C are never written.",),
        ),
        Attempt(
            "As read float by float",
            {
                "*reinterpret_cast<float4*>(&a_frag[i]) = *reinterpret_cast<float4*>(&As[k][y + i * LANES_M]);": (
                    "for (int e = 0; e < 4; ++e) a_frag[i + e] = As[k][y + i * LANES_M + e];"
                )
            },
            ("It is right, and a goal is not reached.", "reads shared memory in 8 wavefronts"),
        ),
        Attempt(
            "each warp at the place of warp 0",
            {"warp / WARPS_N * WM + lane_m * 4, x = warp % WARPS_N * WN + lane_n * 4": "lane_m * 4, x = lane_n * 4"},
            ("Elements of C are never written.",),
        ),
        Attempt(
            "lanes that lie side by side",
            {"y = warp / WARPS_N * WM + lane_m * 4": "y = warp / WARPS_N * WM + lane_m * TM"},
            ("An index into a shared array is too large.", "line "),
        ),
    ),
    "07_double_buffer": (
        Attempt(
            "no barrier before the loop",
            {"__syncthreads();  // the first tiles are complete before anyone reads them": ""},
            ("A barrier is missing.", "line "),
        ),
        Attempt(
            "no barrier at the end of a round",
            {"__syncthreads();  // the next tiles are complete, and everyone has read these": ""},
            ("A barrier is missing.", "line "),
        ),
        Attempt(
            "stored behind the barrier",
            {
                "store(stage ^ 1);\n        __syncthreads();  // the next tiles are complete, and everyone has read these\n": (
                    "__syncthreads();\n        store(stage ^ 1);\n"
                )
            },
            ("A barrier is missing.", "line "),
        ),
        Attempt("stored into the stage that is read", {"store(stage ^ 1);": "store(stage);"}, ("A barrier is missing.", "line ")),
        Attempt("the first tile never stored", {"store(0);": ""}, ("Shared memory is read where nobody has written.",)),
        Attempt("stored into stage 1 first", {"store(0);": "store(1);"}, ("Shared memory is read where nobody has written.",)),
        Attempt("the stage never changed", {"        stage ^= 1;\n": ""}, ("✗ Wrong with a square matrix of one block tile",)),
        Attempt("one step too many in the tile", {"k < BK; ++k": "k <= BK; ++k"}, ("✗ Wrong with", "line ")),
        Attempt(
            "the other stage read, too",
            {"As[stage], Bs[stage], k": "As[stage], Bs[stage ^ 1], k"},
            ("A barrier is missing.", "line "),
        ),
        Attempt("A and B read although alpha is 0", {"alpha == 0.0f ? 0 : K": "K"}, ("A or B is read although alpha is 0.",)),
        Attempt(
            "the partial tile taken for a full one",
            {"load(k_end == 0 ? 0 : static_cast<int>((k_end - 1) % BK) + 1);": "load(k_end == 0 ? 0 : BK);"},
            ("✗ Wrong with K that is no multiple of BK",),
        ),
        Attempt(
            "loaded in the last round, too", {"load(left > 1 ? BK : 0);": "load(BK);"}, ("behind the last one along K", "line ")
        ),
        Attempt("nothing loaded in the loop", {"load(left > 1 ? BK : 0);": ""}, ("✗ Wrong with",)),
        Attempt("a round left out", {"; left > 0; --left": "; left > 1; --left"}, ("✗ Wrong with",)),
        Attempt(
            "two barriers, as in lesson 06",
            {"        store(stage ^ 1);": "        __syncthreads();\n        store(stage ^ 1);"},
            ("It is right, and a goal is not reached.", "one barrier a tile"),
        ),
        Attempt(
            "fragments read one by one",
            {
                "for (int i = 0; i < TM; i += 4) {\n"
                "        *reinterpret_cast<float4*>(&a_frag[i]) = *reinterpret_cast<const float4*>(&As[k][y + i * LANES_M]);\n": (
                    "for (int i = 0; i < TM; ++i) {\n        a_frag[i] = As[k][y + i / 4 * 4 * LANES_M + i % 4];\n"
                )
            },
            ("It is right, and a goal is not reached.", "reads of shared memory"),
        ),
    ),
    "08a_ring": (
        Attempt(
            "copies never waited for",
            {_RING_WAIT: ""},
            ("A cp.async copy is used before anyone has waited for it.", "Wait for its group"),
        ),
        Attempt(
            "a wait that leaves one group too many under way",
            {_RING_WAIT: _RING_WAIT.replace("- 2", "- 1")},
            ("A cp.async copy is used before anyone has waited for it.", "line "),
        ),
        Attempt(
            "one group for all of the first tiles",
            {"        gemm::ptx::cp_async_commit();  // one group per tile, be it empty\n": ""},
            ("A cp.async copy is used before anyone has waited for it.",),
        ),
        Attempt(
            "a commit only where there is something to copy",
            {_LATER_COMMIT: _LATER_COMMIT.replace("gemm", "if (copying.value) gemm")},
            ("A cp.async copy is used before anyone has waited for it.",),
        ),
        Attempt(
            "no barrier after the wait in the loop",
            {_RING_BARRIER: ""},
            ("A barrier is missing.",),
        ),
        Attempt(
            "the barrier before the wait",
            {_RING_WAIT: "", _RING_BARRIER: f"{_RING_BARRIER}{_RING_WAIT}"},
            ("Wait for its group, then a barrier, then read.",),
        ),
        Attempt(
            "copied into the stage in use",
            {"if (copying.value) copy(ahead, BK);": "if (copying.value) copy(stage, BK);"},
            ("line ",),
        ),
        Attempt(
            "the stage never moves on",
            {"        stage = stage == LAST ? 0 : stage + STAGE;\n": ""},
            ("first wrong: ",),
        ),
        Attempt(
            "the ring one stage too long",
            {"stage = stage == LAST ? 0 : stage + STAGE": "stage = stage > LAST ? 0 : stage + STAGE"},
            ("hared memory",),
        ),
        Attempt(
            "of the first tiles one alone copied",
            {"        if (s < tiles) copy(s * STAGE, BK);\n": ""},
            ("Shared memory is read where nobody has written. Which thread should have loaded", "before the loop begins"),
        ),
        Attempt(
            "the first tiles copied although K has fewer",
            {"        if (s < tiles) copy(s * STAGE, BK);": "        copy(s * STAGE, BK);"},
            ("behind the last one along K|outside B of ",),
        ),
        Attempt(
            "the edge of N not guarded",
            {"b_k + i < steps && col0 + b_col < N": "b_k + i < steps"},
            ("a guard is missing",),
        ),
        Attempt(
            "the end of K not guarded",
            {"b_k + i < steps && col0 + b_col < N": "col0 + b_col < N"},
            ("past the edge of the matrix|leaves its matrices", "line 1"),
        ),
        Attempt(
            "16 bytes whatever the alignment",
            {"cp_async_or_zero<4 * WIDTH>": "cp_async_or_zero<16>"},
            ("16 bytes",),
        ),
        Attempt(
            "B copied by single floats",
            {_COPY_B: _COPY_B_BY_FLOATS},
            ("It is right, and a goal is not reached.", "A copy of B moves 16 bytes"),
        ),
    ),
    "08b_read_ahead": (
        Attempt(
            "the second group of block tiles forgotten",
            {"return {(group * GROUP + in_group % group_m) * T::BM": "return {in_group % group_m * T::BM"},
            ("✗ Wrong with Small's second group|✗ Wrong with Large",),
        ),
        Attempt(
            "beta dropped in Large",
            {"if (row >= M) return;": "if (row >= M) return;\n        if (T::BM == 128) beta = 0.0f;"},
            ("✗ Wrong with Large",),
        ),
        Attempt(
            "a wait that leaves one group too many under way",
            {_LATER_WAIT: _LATER_WAIT.replace("- 2", "- 1")},
            ("A cp.async copy is used before anyone has waited for it.", "line "),
        ),
        Attempt(
            "no barrier after the wait in the loop",
            {_LATER_BARRIER: ""},
            ("Wait for its group, then a barrier, then read.",),
        ),
        Attempt(
            "the barrier before the wait",
            {f"{_LATER_WAIT}\n{_LATER_BARRIER}": f"{_LATER_BARRIER}\n{_LATER_WAIT}"},
            ("Wait for its group, then a barrier, then read.",),
        ),
        Attempt(
            "no barrier before the loop",
            {"    __syncthreads();  // the first tiles are complete before anyone reads them\n": ""},
            ("A barrier is missing.",),
        ),
        Attempt(
            "the stage never moves on",
            {"                stage = stage == LAST ? 0 : stage + STAGE;\n": ""},
            ("first wrong: ",),
        ),
        Attempt(
            "the ring one stage too long",
            {"stage = stage == LAST ? 0 : stage + STAGE": "stage = stage > LAST ? 0 : stage + STAGE"},
            ("hared memory",),
        ),
        Attempt(
            "one set of values for two steps",
            {"read<T>(a_frag[(k + 1) % 2], b_frag[(k + 1) % 2],": "read<T>(a_frag[k % 2], b_frag[k % 2],"},
            ("first wrong: ",),
        ),
        Attempt(
            "the last step reads past its tile",
            {"(k + 1) % BK);": "k + 1);"},
            ("first wrong: |hared memory",),
        ),
        Attempt(
            "the next tile read a step before it is waited for",
            {"if (k == BK - 1) {": "if (k == 0) {"},
            ("first wrong: |line ",),
        ),
    ),
    "09a_wmma": (
        Attempt(
            "16 bytes at once whatever A's pitch",
            {"p.N | p.lda | p.ldb) % 8": "p.N | p.ldb) % 8"},
            ("✗ Wrong with", "and an odd lda", "not aligned"),
        ),
        Attempt(
            "both types taken for BF16",
            {"p.variant.C == gemm::DType::bf16 ? launch": "p.M >= 0 ? launch"},
            ("One of the types is handled|fp16", "✗ Wrong with fp16"),
        ),
        Attempt(
            "alpha rounded to the elements' type",
            {"alpha * out[warp]": "gemm::to_float(gemm::from_float<T>(alpha)) * out[warp]"},
            ("less precise than a sum in FP32|less precise", "✗ Wrong with alpha = "),
        ),
        Attempt(
            "a fragment of B taken for column-major",
            {"F, F, F, T, wmma::row_major> b_frag[": "F, F, F, T, wmma::col_major> b_frag["},
            ("✗ Wrong with a square matrix of one block tile",),
        ),
        Attempt("the pitch of As without its padding", {"[k], BK + PAD);": "[k], BK);"}, ("✗ Wrong with a square matrix",)),
        Attempt("padded by 8 bytes, not 16", {"PAD = 8;": "PAD = 4;"}, ("no multiple of 16|not aligned", "line ")),
        Attempt(
            "no padding", {"PAD = 8;": "PAD = 0;"}, ("It is right, and a goal is not reached.", "wavefronts beyond the ideal")
        ),
        Attempt("a quarter of the tile's steps", {"k < BK; k += F": "k < F; k += F"}, ("✗ Wrong with a square matrix",)),
        Attempt(
            "the warp's place in the tile forgotten", {"&As[y + i * F][k]": "&As[i * F][k]"}, ("✗ Wrong with a square matrix",)
        ),
        Attempt(
            "fragments of B loaded for each row",
            {_WMMA_PRODUCTS: _WMMA_RELOADED},
            ("It is right, and a goal is not reached.", "A warp reads each fragment of A and B once"),
        ),
        Attempt("stored column by column", {"wmma::mem_row_major": "wmma::mem_col_major"}, ("✗ Wrong with a square matrix",)),
        Attempt(
            "read by other lanes at once",
            {"__syncwarp();  // the fragment is complete before any lane reads it": ""},
            ("A barrier is missing.", "line "),
        ),
        Attempt(
            "overwritten while other lanes read",
            {"__syncwarp();  // every lane has read it before the next overwrites it": ""},
            ("A barrier is missing.", "line "),
        ),
        Attempt(
            "one fragment of shared memory for all warps",
            {"store_matrix_sync(&out[warp][0][0]": "store_matrix_sync(&out[0][0][0]", "out[warp][e / F]": "out[0][e / F]"},
            ("Two threads write the same place of shared memory.", "line "),
        ),
        Attempt(
            "lanes that return at the edge",
            {"if (row >= M || col >= N) continue;": "if (row >= M || col >= N) return;"},
            ("needs all 32 threads of the warp|A barrier is missing", "store_matrix_sync"),
        ),
        Attempt(
            "no guard at C's edge",
            {"if (row >= M || col >= N) continue;": ""},
            ("a guard is missing|behind the end of a row",),
        ),
        Attempt(
            "steps behind the tile's end loaded",
            {"< M ? steps - a_k : 0": "< M ? BK - a_k : 0"},
            ("✗ Wrong with|behind the last one along K",),
        ),
        Attempt("16 bytes whatever the alignment", {"    if (ALIGNED) {\n": "    if (true) {\n"}, ("not aligned",)),
        Attempt("C read with beta = 0", {"beta == 0.0f ? sum : sum +": "sum +"}, ("C is read although beta is 0.", "beta == 0")),
        Attempt(
            "every element loaded by itself",
            {"    if (ALIGNED) {\n": "    if (false) {\n"},
            ("It is right, and a goal is not reached.", "Every load of A and B is 16 bytes wide"),
        ),
    ),
    "09b_mma_sync": (
        Attempt(
            "beta dropped where two are stored at once",
            {"    if (beta != 0.0f) {": "    if (!ALIGNED && beta != 0.0f) {"},
            ("beta·C is forgotten.",),
        ),
        Attempt(
            "C's own place not looked at",
            {"address(p.C) % 4 == 0 && p.ldc % 2 == 0": "p.ldc % 2 == 0"},
            ("An access is not aligned to its width.", "C one element behind"),
        ),
        Attempt(
            "B's fragments not transposed",
            {"gemm::ptx::ldmatrix_trans(b_frag[j],": "gemm::ptx::ldmatrix(reinterpret_cast<std::uint32_t(&)[4]>(b_frag[j]),"},
            ("✗ Wrong with a square matrix of one block tile",),
        ),
        Attempt(
            "A's fragments transposed, too",
            {"gemm::ptx::ldmatrix(a_frag[i],": "gemm::ptx::ldmatrix_trans(a_frag[i],"},
            ("✗ Wrong with a square matrix of one block tile",),
        ),
        Attempt(
            "the two fragments of B mixed",
            {"b_frag[j / 2][j % 2]": "b_frag[j / 2][1 - j % 2]"},
            ("✗ Wrong with a square matrix of one block tile",),
        ),
        Attempt(
            "one fragment of B an ldmatrix",
            {
                "gemm::ptx::ldmatrix_trans(b_frag[j], &Bs[stage][b_at(k + at.row, x + j * 16 + at.col)]);": (
                    "gemm::ptx::ldmatrix_trans(b_frag[j][0], &Bs[stage][b_at(k + at.row, x + j * 16)]);\n"
                    "                gemm::ptx::ldmatrix_trans(b_frag[j][1], &Bs[stage][b_at(k + at.row, x + j * 16 + 8)]);"
                ),
            },
            ("It is right, and a goal is not reached.", "reads its fragments in 8 ldmatrix"),
        ),
        Attempt(
            "all lanes give addresses of the first eight columns",
            {"x + j * 16 + at.col": "x + j * 16"},
            ("✗ Wrong with a square matrix of one block tile",),
        ),
        Attempt(
            "the same step along K for both instructions",
            {"y + i * MMA_M + at.row, k + at.col": "y + i * MMA_M + at.row, at.col"},
            ("✗ Wrong with a square matrix of one block tile",),
        ),
        Attempt(
            "read where the swizzle has not put it",
            {"&Bs[stage][b_at(k + at.row, x + j * 16 + at.col)]": "&Bs[stage][(k + at.row) * BN + x + j * 16 + at.col]"},
            ("✗ Wrong with a square matrix of one block tile",),
        ),
        Attempt(
            "no swizzle",
            {
                "gemm::Swizzle<2, 3, 3>::apply(row * BK + k)": "row * BK + k",
                "gemm::Swizzle<3, 3, 4>::apply(k * BN + col)": "k * BN + col",
            },
            ("It is right, and a goal is not reached.", "5 120 wavefronts beyond the ideal"),
        ),
        Attempt(
            "the swizzle of bytes applied to elements",
            {"gemm::Swizzle<3, 3, 4>": "gemm::Swizzle<3, 4, 4>"},
            ("It is right, and a goal is not reached.", "wavefronts beyond the ideal"),
        ),
        Attempt(
            "a swizzle that tears 16 bytes apart",
            {"gemm::Swizzle<2, 3, 3>": "gemm::Swizzle<2, 2, 4>"},
            ("16 bytes|16-byte", "line "),
        ),
        Attempt(
            "four sums of a lane taken for neighbours",
            {"in = gemm::ptx::fragment_c(lane, e);": "in{lane / 2, lane % 2 * 4 + e};"},
            ("✗ Wrong with a square matrix of one block tile",),
        ),
        Attempt(
            "tiles of C eight rows apart",
            {"row = row0 + y + i * MMA_M + in.row": "row = row0 + y + i * MMA_N + in.row"},
            ("✗ Wrong with a square matrix of one block tile", "first wrong: row 8, column 0"),
        ),
        Attempt(
            "no guard around the store",
            {"                if (row >= M) continue;\n": ""},
            ("line ", "leaves its matrices|past the edge"),
        ),
        Attempt(
            "N taken for what is left of a row",
            {"N - col, alpha": "N, alpha"},
            ("line ", "leaves its matrices|past the edge"),
        ),
        Attempt(
            "alpha forgotten for the second of a pair",
            {"alpha * acc[i][j][e + 1]": "acc[i][j][e + 1]"},
            ("alpha", "✗ Wrong with"),
        ),
        Attempt(
            "beta forgotten",
            {" beta);\n            }": " 0.0f);\n            }"},
            ("beta", "✗ Wrong with"),
        ),
        Attempt(
            "a barrier before each step's products",
            {"std::uint32_t a_frag[TILES_M][4]": "__syncthreads();\n            std::uint32_t a_frag[TILES_M][4]"},
            ("It is right, and a goal is not reached.", "one barrier a tile, and one before the first"),
        ),
        Attempt(
            "the stage that is being filled read",
            {"&As[stage][a_at(y +": "&As[stage ^ 1][a_at(y +", "&Bs[stage][b_at(k + at.row": "&Bs[stage ^ 1][b_at(k + at.row"},
            ("✗ Wrong with a square matrix of one block tile", "with no barrier in between"),
        ),
        Attempt(
            "always the first stage",
            {"&As[stage][a_at(y +": "&As[0][a_at(y +", "&Bs[stage][b_at(k + at.row": "&Bs[0][b_at(k + at.row"},
            ("✗ Wrong with",),
        ),
    ),
    "09c_ring": (
        Attempt("beta forgotten", {" beta);\n            }": " 0.0f);\n            }"}, ("beta", "✗ Wrong with")),
        Attempt(
            "a wait that leaves one group too many under way",
            {_RING_WAIT: _RING_WAIT.replace("- 2", "- 1")},
            ("A cp.async copy is used before anyone has waited for it.", "line "),
        ),
        Attempt("no barrier after the wait", {_RING_BARRIER_09C: ""}, ("A barrier is missing.",)),
        Attempt(
            "the barrier before the wait",
            {_RING_WAIT + _RING_BARRIER_09C: _RING_BARRIER_09C + _RING_WAIT},
            ("Wait for its group, then a barrier, then read.",),
        ),
        Attempt(
            "the stage never goes back to 0",
            {"stage = stage == LAST ? 0 : stage + STAGE;": "stage += STAGE;"},
            ("An index into a shared array is too large.", "ldmatrix"),
        ),
        Attempt(
            "the first tiles copied although K has fewer",
            {"        if (s < tiles) copy(s * STAGE, BK);": "        copy(s * STAGE, BK);"},
            ("behind the last one along K",),
        ),
        Attempt(
            "groups only for tiles that exist",
            {
                "if (tiles > STAGES - 1) copy(ahead, BK);": (
                    "if (tiles > STAGES - 1) copy(ahead, BK), gemm::ptx::cp_async_commit();"
                ),
                "\n                gemm::ptx::cp_async_commit();": "",
            },
            ("A cp.async copy is used before anyone has waited for it.",),
        ),
        Attempt(
            "only the first 64 columns copied",
            {"for (int i = 0; i < COLS; i += RUN) {": "for (int i = 0; i < RUN; i += RUN) {"},
            ("Shared memory is read where nobody has written.", "ldmatrix_trans"),
        ),
        Attempt("the edge of M not guarded", {"r < there ? left : 0": "left"}, ("past the edge of the matrix",)),
        Attempt("the edge of N not guarded", {"steps, N - col0);": "steps, BN);"}, ("past the edge of the matrix",)),
        Attempt(
            "N taken for what is left of a row",
            {"steps, N - col0);": "steps, N);"},
            ("past the edge of the matrix|outside B", "line "),
        ),
        Attempt(
            "rows of the matrix as far apart as those of the tile",
            {"from + r * pitch + i": "from + r * COLS + i"},
            ("✗ Wrong with|past the edge of the matrix|outside A",),
        ),
        Attempt(
            "rows of the tile in elements instead of bytes",
            {"stage + 2 * r * COLS, from": "stage + r * COLS, from"},
            ("A cp.async copy is used before anyone has waited for it.|Shared memory is read where nobody has written.",),
        ),
        Attempt(
            "B copied to where it would lie without the swizzle",
            {"(BS + b_at(b.row, b.col + i))": "BS + 2 * (b.row * BN + b.col + i)"},
            ("The result is wrong even where one block tile fits exactly.",),
        ),
        Attempt(
            "no swizzle for B at all",
            {"gemm::Swizzle<3, 4, 4>::apply(2 * (k * BN + col))": "2 * (k * BN + col)"},
            ("It is right, and a goal is not reached.", "without bank conflicts"),
        ),
        Attempt(
            "16 bytes as two copies of 8",
            {
                "gemm::ptx::cp_async_or_zero<16>(to, from, left > 0);": (
                    "for (int e : {0, 4}) gemm::ptx::cp_async_or_zero<8>(to + 2 * e, from + e, left > 0);"
                ),
            },
            ("It is right, and a goal is not reached.", "A and B are copied 16 bytes at a time"),
        ),
    ),
    "09d_read_ahead": (
        Attempt("beta forgotten", {" beta);\n            }": " 0.0f);\n            }"}, ("beta", "✗ Wrong with")),
        Attempt(
            "a wait that leaves one group too many under way",
            {_LATER_WAIT: _LATER_WAIT.replace("- 2", "- 1")},
            ("A cp.async copy is used before anyone has waited for it.", "line "),
        ),
        Attempt("no barrier after the wait", {_LATER_BARRIER: ""}, ("Wait for its group, then a barrier, then read.",)),
        Attempt(
            "the barrier before the wait",
            {f"{_LATER_WAIT}\n{_LATER_BARRIER}": f"{_LATER_BARRIER}\n{_LATER_WAIT}"},
            ("Wait for its group, then a barrier, then read.",),
        ),
        Attempt(
            "the stage never goes back to 0",
            {"stage = stage == LAST ? 0 : stage + STAGE;": "stage += STAGE;"},
            ("An index into a shared array is too large.", "ldmatrix"),
        ),
        Attempt(
            "B's fragments not transposed",
            {"gemm::ptx::ldmatrix_trans(to.b[j],": ("gemm::ptx::ldmatrix(reinterpret_cast<std::uint32_t(&)[4]>(to.b[j]),")},
            ("The result is wrong even where one block tile fits exactly.",),
        ),
        Attempt(
            "a step in elements instead of bytes",
            {"2 * step * MMA_K * BN": "step * MMA_K * BN"},
            ("The result is wrong even where one block tile fits exactly.",),
        ),
        Attempt(
            "fragments read twice",
            {
                "multiply<T>(acc, f": "fragments.read(frag[step % 2], stage, step), multiply<T>(acc, f",
            },
            ("✗ Wrong with|reads of shared memory",),
        ),
        Attempt(
            "the next step's fragments into the set in use",
            {"fragments.read(frag[(step + 1) % 2], stage,": "fragments.read(frag[step % 2], stage,"},
            ("The result is wrong even where one block tile fits exactly.|✗ Wrong with",),
        ),
        Attempt(
            "this step's fragments again",
            {"stage, (step + 1) % (BK / MMA_K));": "stage, step);"},
            ("The result is wrong even where one block tile fits exactly.|✗ Wrong with",),
        ),
        Attempt(
            "each fragment of A with the fragment of B that lies 8 columns further",
            {"with.b[j / 2][j % 2]": "with.b[j / 2][1 - j % 2]"},
            ("The result is wrong even where one block tile fits exactly.",),
        ),
        Attempt(
            "the first fragments past the last tile",
            {"if (copying.value || step < BK / MMA_K - 1 || tiles > 1) {": "{"},
            ("✗ Wrong with|Shared memory is read where nobody has written.|reads of shared memory",),
        ),
    ),
    "09e_whole_rows": (
        Attempt(
            "beta dropped where eight are stored at once",
            {"if (beta != 0.0f && row < M": "if (!ALIGNED && beta != 0.0f && row < M"},
            ("beta·C is forgotten.",),
        ),
        Attempt(
            "rows of results without their pitch",
            {"r * OUT_PITCH": "r * 2 * WN"},
            ("The result is wrong even where one block tile fits exactly.",),
        ),
        Attempt(
            "16 bytes whatever the alignment",
            {"            if (ALIGNED) {\n": "            if (col + 8 <= N) {\n"},
            ("An access is not aligned to its width.|leaves its matrices|past the edge",),
        ),
        Attempt(
            "C stored by single elements",
            {"            if (ALIGNED) {\n": "            if (ALIGNED && false) {\n"},
            ("It is right, and a goal is not reached.", "Every access to A, B and C is 16 bytes wide"),
        ),
        Attempt(
            "the whole block waits for a warp's rows",
            {"        // The rows are complete": "        __syncthreads();\n        // The rows are complete"},
            ("It is right, and a goal is not reached.", "__syncwarp() is enough"),
        ),
        Attempt(
            "the sum rounded before beta's part is added",
            {
                "float sum = alpha * acc[i][j][e + h];": "float sum = gemm::to_float(gemm::from_float<T>(alpha * acc[i][j][e + "
                "h]));"
            },
            ("✗ Wrong with|error",),
        ),
        Attempt(
            "the old C read past its edge",
            {"if (beta != 0.0f && row < M && col + h < N) {": "if (beta != 0.0f) {"},
            ("past the edge|leaves its matrices|outside C",),
        ),
        Attempt("alpha forgotten", {"float sum = alpha * acc[i][j][e + h];": "float sum = acc[i][j][e + h];"}, ("alpha",)),
        Attempt(
            "pairs stored to rows without padding",
            {"out + in.row * OUT_PITCH + 2 * (j": "out + in.row * 2 * WN + 2 * (j"},
            ("Shared memory is read where nobody|✗ Wrong with",),
        ),
        Attempt(
            "rows without padding",
            {"constexpr int OUT_PITCH = 2 * WN + 16;": "constexpr int OUT_PITCH = 2 * WN;"},
            ("It is right, and a goal is not reached.", "without bank conflicts"),
        ),
        Attempt(
            "no wait for the lanes of the warp",
            {"        __syncwarp();\n        // The rows": "        // The rows"},
            ("barrier|Shared memory is read where nobody",),
        ),
    ),
    "09f_persistent": (
        Attempt(
            "the second group of block tiles forgotten",
            {"row0 = std::int64_t{group * GROUP + in_group % group_m} * BM": "row0 = std::int64_t{in_group % group_m} * BM"},
            ("✗ Wrong with the second group of block tiles",),
        ),
        Attempt(
            "a block stops after its first tile",
            {"const bool more = c_tile <": "const bool more = c_tile < 0 *"},
            ("never written",),
        ),
        Attempt(
            "one tile too many",
            {"const bool more = c_tile < tiles_m * tiles_n;": "const bool more = c_tile <= tiles_m * tiles_n;"},
            ("It is right, and a goal is not reached.", "Each tile of C loads its elements"),
        ),
        Attempt(
            "the next tile's copies forgotten", {"locate(c_tile);\n            fill();": "locate(c_tile);"}, ("✗ Wrong with",)
        ),
        Attempt(
            "results stored where the next tile is being copied to",
            {"shared + D::OUT + warp": "shared + warp"},
            ("✗ Wrong with", "shared memory"),
        ),
        Attempt(
            "the place of the next tile taken for this one's",
            {
                "        const std::int64_t y0 = row0 + y, x0 = col0 + x;\n": "",
                "        store_tile<T": "        const std::int64_t y0 = row0 + y, x0 = col0 + x;\n        store_tile<T",
            },
            ("✗ Wrong with",),
        ),
        Attempt(
            "the first tiles copied although K has fewer",
            {"            if (s < tiles) copy(s * STAGE, BK);": "            copy(s * STAGE, BK);"},
            ("behind the last one along K|✗ Wrong with|past the edge",),
        ),
        Attempt(
            "the next tile copied from where the last one ended",
            {
                "        a.from = A + (row0 + a.row) * lda + a.col;\n": "        if (a.from == nullptr) a.from = A + (row0 + "
                "a.row) * lda + a.col;\n"
            },
            ("✗ Wrong with|past the edge of the matrix|outside A",),
        ),
    ),
    "10a_swizzle": (
        Attempt(
            "A read as if nothing were swizzled",
            {"shared + (as ^ k / 4 * 16);": "shared + (as / 128 * 128 + k / 4 * 16);"},
            ("The result is wrong even where one block tile fits exactly.",),
        ),
        Attempt(
            "added instead of XORed",
            {"(as ^ k / 4 * 16)": "(as + k / 4 * 16)"},
            ("The result is wrong even where one block tile fits exactly.",),
        ),
        Attempt(
            "no swizzle, neither in the map nor in the reads",
            {
                "BK, CU_TENSOR_MAP_SWIZZLE_128B": "BK, CU_TENSOR_MAP_SWIZZLE_NONE",
                "4 * y * BK + y % 8 * 16,": "4 * y * BK,",
                "(as ^ k / 4 * 16)": "(as + k / 4 * 16)",
            },
            ("It is right, and a goal is not reached.", "without bank conflicts"),
        ),
        Attempt(
            "the swizzle of 64 bytes",
            {"BK, CU_TENSOR_MAP_SWIZZLE_128B": "BK, CU_TENSOR_MAP_SWIZZLE_64B"},
            ("refuses the tensor map", "64"),
        ),
        Attempt(
            "steps within 16 bytes forgotten",
            {"i * T::LANES_M * BK + k % 4)": "i * T::LANES_M * BK)"},
            ("The result is wrong even where one block tile fits exactly.",),
        ),
        Attempt(
            "the bytes of A alone expected",
            {"(full[stage], T::STAGE);": "(full[stage], T::BS);"},
            ("An mbarrier's phase is complete before all bytes have come.",),
        ),
        Attempt(
            "more bytes expected than come",
            {"(full[stage], T::STAGE);": "(full[stage], T::STAGE + 16);"},
            ("No thread of the block can go on: a GPU would hang.", "mbarrier"),
        ),
        Attempt(
            "no bytes expected",
            {"mbarrier_arrive_expect_tx(full[stage], T::STAGE);": "mbarrier_arrive(full[stage]);"},
            ("An mbarrier's phase is complete before all bytes have come.|still bringing it",),
        ),
        Attempt(
            "every thread asks",
            {"if (t == 0 && tile + STAGES < tiles)": "if (tile + STAGES < tiles)"},
            ("An mbarrier|bring the same place|bytes have come",),
        ),
        Attempt(
            "a box of A forgotten",
            {_TMA_LOAD_A: ""},
            ("No thread of the block can go on: a GPU would hang.", "bytes missing"),
        ),
        Attempt(
            "coordinates of A in the order of rows and columns",
            {"map_a, {tile * BK, static_cast<int>(first.row)}": "map_a, {static_cast<int>(first.row), tile * BK}"},
            ("✗ Wrong with",),
        ),
        Attempt(
            "both boxes to the beginning of the stage",
            {"shared + stage * T::STAGE + T::BS, map_b": "shared + stage * T::STAGE, map_b"},
            ("Two loads by TMA bring the same place of shared memory.",),
        ),
        Attempt(
            "a box one row too high",
            {"large ? Large::BM : Small::BM, BK,": "(large ? Large::BM : Small::BM) + 1, BK,"},
            ("Two loads by TMA bring the same place of shared memory.|bytes have come",),
        ),
        Attempt(
            "a box one column too wide",
            {"BK, large ? Large::BN : Small::BN,": "BK, (large ? Large::BN : Small::BN) + 1,"},
            ("refuses the tensor map", "16"),
        ),
        Attempt(
            "the parity never changes",
            {"if (stage == 0) parity ^= 1;": ""},
            ("Shared memory is used while TMA is still bringing it.",),
        ),
        Attempt(
            "the parity changes with every tile",
            {"if (stage == 0) parity ^= 1;": "parity ^= 1;"},
            ("Shared memory is used while TMA is still bringing it.|No thread of the block can go on",),
        ),
        Attempt(
            "nobody waits for the next tile",
            {_TMA_WAIT: ""},
            ("Shared memory is used while TMA is still bringing it.",),
        ),
        Attempt(
            "only thread 0 waits, behind the barrier",
            {_TMA_WAIT: "", _TMA_BARRIER: _TMA_BARRIER + _TMA_WAIT.replace("more", "more && t == 0")},
            ("Shared memory is used while TMA is still bringing it.",),
        ),
        Attempt(
            "no barrier: other warps are still reading",
            {_TMA_BARRIER: ""},
            ("A load by TMA overwrites what a thread has yet to use.|Shared memory is used while TMA is still bringing it.",),
        ),
        Attempt(
            "asked for a round too early",
            {_TMA_ASK: _TMA_ASK.replace("ask(used,", "ask(stage,")},
            ("Two loads by TMA|overwrites what a thread has yet to use|still bringing it",),
        ),
        Attempt(
            "a tile left out",
            {_TMA_ASK: _TMA_ASK.replace("ask(used, tile + STAGES)", "ask(used, tile + STAGES - 1)")},
            ("✗ Wrong with",),
        ),
        Attempt(
            "the first tiles asked for although K has fewer",
            {"stage < STAGES && stage < tiles;": "stage < STAGES;"},
            ("The block ends before a copy by TMA does.|behind the last one",),
        ),
        Attempt(
            "waiting for a tile behind the last",
            {_TMA_WAIT: _TMA_WAIT.replace("if (more) ", "")},
            ("No thread of the block can go on: a GPU would hang.",),
        ),
        Attempt(
            "a warp of arrivals counted",
            {"mbarrier_init(full[stage], 1);": "mbarrier_init(full[stage], 32);"},
            ("No thread of the block can go on: a GPU would hang.", "arrivals missing"),
        ),
        Attempt(
            "B not copied where TMA refuses it",
            {"    copy_if_refused(maps.b, p.B, p.ldb, stream);\n": ""},
            ("✗ Wrong with",),
        ),
        Attempt(
            "beta dropped in Large",
            {"if (row >= M) return;": "if (row >= M) return;\n        if (T::BN == 256) beta = 0.0f;"},
            ("✗ Wrong with Large",),
        ),
        Attempt(
            "a barrier in every step",
            {"            if (k == BK - 1) {\n": "            __syncthreads();\n            if (k == BK - 1) {\n"},
            ("It is right, and a goal is not reached.", "A thread meets one barrier"),
        ),
    ),
    "10b_transposed": (
        Attempt(
            "A read as if nothing were swizzled",
            {"(chunk ^ part_row % 8) * 16": "chunk * 16"},
            ("The result is wrong even where one block tile fits exactly.",),
        ),
        Attempt(
            "added instead of XORed",
            {"shared + (from ^ 4 * k)": "shared + (from + 4 * k)"},
            ("The result is wrong even where one block tile fits exactly.|Shared memory is read where nobody",),
        ),
        Attempt("four steps in the reverse order", {"= part[k];": "= part[3 - k];"}, ("The result is wrong even where",)),
        Attempt("the first step written four times", {"= part[k];": "= part[0];"}, ("The result is wrong even where",)),
        Attempt(
            "At filled along its rows",
            {"(to + 4 * k * T::BM)": "(to + 4 * k)"},
            ("✗ Wrong with|Two threads write the same place",),
        ),
        Attempt(
            "At filled where it is read",
            {"char* to = part_write + T::AT_SIZE;": "char* to = part_write;"},
            ("A barrier is missing.",),
        ),
        Attempt(
            "the two At do not change roles",
            {"other = -other;": ""},
            ("✗ Wrong with|A barrier is missing.|beyond the end",),
        ),
        Attempt(
            "this tile transposed instead of the next",
            {"from = part_read + next * STAGE;\n                }": "from = part_read + stage * STAGE;\n                }"},
            ("✗ Wrong with",),
        ),
        Attempt(
            "no barrier before the loop",
            {"    __syncthreads();  // the first At is complete\n": ""},
            ("A barrier is missing.|where nobody has written",),
        ),
        Attempt("no barrier between tiles", {_AT_BARRIER: ""}, ("A barrier is missing.|overwrites what a thread",)),
        Attempt(
            "asked for before the barrier",
            {_AT_BARRIER + _AT_ASK: _AT_ASK + _AT_BARRIER},
            ("A load by TMA overwrites what a thread has yet to use.|Shared memory is used while TMA is still bringing it.",),
        ),
        Attempt(
            "asked for where the next tiles lie",
            {"                    stage = next;\n": "", _AT_ASK: "                    stage = next;\n" + _AT_ASK},
            ("Two loads by TMA|overwrites what a thread has yet to use|still bringing it",),
        ),
        Attempt("a tile left out", {_AT_ASK: _AT_ASK.replace("+ STAGES);", "+ STAGES - 1);")}, ("✗ Wrong with",)),
        Attempt("always the same stage", {"                    stage = next;\n": ""}, ("✗ Wrong with|by TMA|still bringing it",)),
        Attempt("nobody waits for the next tile", {_AT_WAIT: ""}, ("Shared memory is used while TMA is still bringing it.",)),
        Attempt(
            "one thread waits, behind the barrier",
            {_AT_WAIT: _AT_WAIT.replace("gemm", "if (t == 0) gemm", 1)},
            ("Shared memory is used while TMA is still bringing it.",),
        ),
        Attempt(
            "the parity never changes",
            {"if (next == 0) parity ^= 1;": ""},
            ("Shared memory is used while TMA is still bringing it.",),
        ),
        Attempt(
            "waiting for a tile behind the last",
            {"if (tile + 2 < tiles)": "if (tile + 1 < tiles)"},
            ("No thread of the block can go on: a GPU would hang.",),
        ),
        Attempt(
            "Large's fifth row of a thread off by one",
            {"i / 4 * 4 * T::LANES_M + i % 4;": "i / 4 * (4 * T::LANES_M + 1) + i % 4;"},
            ("✗ Wrong with Large",),
        ),
        Attempt(
            "rows in pairs to a warp: two steps of a row in one bank",
            {"part_row = t % T::BM, chunk = t / T::BM;": "part_row = t / 2, chunk = t % 2;"},
            ("It is right, and a goal is not reached.", "without bank conflicts"),
        ),
        Attempt(
            "four reads of a float",
            {_AT_READ: _AT_READ_FLOATS},
            ("It is right, and a goal is not reached.",),
        ),
        Attempt(
            "a barrier in every round",
            {_AT_SWITCH: "                __syncthreads();\n" + _AT_SWITCH},
            ("It is right, and a goal is not reached.", "A thread meets one barrier"),
        ),
    ),
    "11a_one_stage": (
        Attempt(
            "no fence before the products",
            {"        gemm::ptx::wgmma_fence(acc);\n": ""},
            ("wgmma is used in a way that a GPU leaves undefined.", "has no wgmma.fence before it"),
        ),
        Attempt(
            "the batch never closed",
            {"        gemm::ptx::wgmma_commit();\n": ""},
            ("Shared memory is overwritten while wgmma is still reading it.|leaves undefined", "line |nobody has waited"),
        ),
        Attempt(
            "nobody waits for the batch",
            {_WGMMA_WAIT: ""},
            (
                "Shared memory is overwritten while wgmma is still reading it.|leaves undefined",
                "wgmma.wait_group|nobody has waited",
            ),
        ),
        Attempt(
            "always the same parity",
            {"        parity ^= 1;\n": ""},
            _TOO_EARLY,
        ),
        Attempt("parities that begin with 1", {"unsigned parity = 0;": "unsigned parity = 1;"}, _TOO_EARLY),
        Attempt(
            "the bytes of A alone expected",
            {"_tx(full, SHARED);": "_tx(full, BS);"},
            ("An mbarrier's phase is complete before all bytes have come.",),
        ),
        Attempt(
            "more bytes expected than come",
            {"_tx(full, SHARED);": "_tx(full, SHARED + 2 * BN);"},
            ("No thread of the block can go on: a GPU would hang.", "mbarrier"),
        ),
        Attempt(
            "a lane of every warp asks",
            {
                "        if (t == 0) {\n            gemm::ptx::mbarrier_arrive": (
                    "        if (t % 32 == 0) {\n            gemm::ptx::mbarrier_arrive"
                )
            },
            ("An mbarrier|bring the same place|bytes have come",),
        ),
        Attempt(
            "both boxes of B to the same place",
            {"shared + BS + j * BK * 2": "shared + BS"},
            ("Two loads by TMA bring the same place of shared memory.",),
        ),
        Attempt(
            "a box one row too high",
            {"p.variant.A, BM);": "p.variant.A, BM + 1);"},
            ("Two loads by TMA bring the same place of shared memory.|bytes have come",),
        ),
        Attempt(
            "a box one column too wide",
            {".box = {BOX,": ".box = {BOX + 1,"},
            ("refuses the tensor map", "128"),
        ),
        Attempt(
            "LBO and SBO exchanged",
            {_WGMMA_LEADING: ".leading = 8 * SPAN,", _WGMMA_STRIDE: ".stride = BK * SPAN,"},
            ("The result is wrong even where one block tile fits exactly.|where no array of the block has them",),
        ),
        Attempt(
            "the swizzle in the tensor map and not in the descriptor",
            {_WGMMA_SWIZZLE: _WGMMA_SWIZZLE.replace("bytes128", "none")},
            ("The result is wrong even where one block tile fits exactly.|where no array of the block has them",),
        ),
        Attempt(
            "a step along K eight rows further down in As",
            {"row * SPAN + 2 * k,": "row * SPAN + k / WGMMA_K * 8 * SPAN,"},
            ("The result is wrong even where one block tile fits exactly.",),
        ),
        Attempt(
            "a step along K of B in bytes of a row",
            {"bs + k * SPAN,": "bs + 2 * k,"},
            ("The result is wrong even where one block tile fits exactly.",),
        ),
        Attempt(
            "B taken as if its columns lay side by side",
            {"Major::k, Major::row>": "Major::k, Major::k>"},
            ("The result is wrong even where one block tile fits exactly.|where no array of the block has them",),
        ),
        Attempt(
            "zeros behind K by the threads, and no fence.proxy.async",
            {"        parity ^= 1;\n": _ZEROS_BEHIND_K},
            ("wgmma need not see what a thread has written to shared memory.", "fence.proxy.async"),
        ),
        Attempt(
            "B not copied where TMA refuses it",
            {"    copy_if_refused<T>(operands.b, p.B, p.ldb, stream);\n": ""},
            ("✗ Wrong with",),
        ),
        Attempt(
            "the second group of block tiles forgotten",
            {"(group * GROUP + in_group % group_m)": "(in_group % group_m)"},
            ("✗ Wrong with the second group of block tiles",),
        ),
        Attempt(
            "no guard around the store",
            {"            if (row >= M) continue;\n": ""},
            ("line ", "leaves its matrices|past the edge"),
        ),
        Attempt("beta forgotten", {"alpha * acc[i][e + 1], beta);": "alpha * acc[i][e + 1], 0.0f);"}, ("beta", "✗ Wrong with")),
        Attempt(
            "pairs stored whatever the address",
            {"(reinterpret_cast<std::uintptr_t>(C) % 4 | ldc % 2) == 0": "ldc % 2 == 0"},
            ("An access is not aligned to its width.", "C one element behind|C that begins an element behind"),
        ),
        Attempt(
            "a barrier in every round",
            {"        parity ^= 1;\n": "        parity ^= 1;\n        __syncthreads();\n"},
            ("It is right, and a goal is not reached.", "A thread meets one barrier"),
        ),
    ),
    "11b_ring": (
        Attempt(
            "one fence for all rounds",
            {"        gemm::ptx::wgmma_fence();\n": "", "    gemm::ptx::wgmma_fence(acc);\n": ""},
            ("wgmma is used in a way that a GPU leaves undefined.", "has no wgmma.fence before it"),
        ),
        Attempt(
            "the last batch not waited for",
            {"    gemm::ptx::wgmma_wait<0>(acc);\n": ""},
            ("wgmma is used in a way that a GPU leaves undefined.", "nobody has waited for the wgmma.mma_async"),
        ),
        Attempt(
            "a stage released before its products are done",
            {_RELEASE + _ASK_AHEAD: "        __syncthreads();\n" + _ASK_AHEAD + "        gemm::ptx::wgmma_wait<1>();\n"},
            ("Shared memory is overwritten while wgmma is still reading it.",),
        ),
        Attempt(
            "a wait that leaves two batches under way",
            {"wgmma_wait<1>();": "wgmma_wait<2>();"},
            ("Shared memory is overwritten while wgmma is still reading it.",),
        ),
        Attempt(
            "no barrier: the other warpgroup is not waited for",
            {"        __syncthreads();             // and so has the other warpgroup's\n": ""},
            ("Shared memory is overwritten while wgmma is still reading it.",),
        ),
        Attempt(
            "a stage filled a round too early",
            {"n < STAGES - 1 && n < tiles": "n < STAGES && n < tiles", _ASK_AHEAD: _ASK_AHEAD.replace("STAGES - 1", "STAGES")},
            ("Shared memory is overwritten while wgmma is still reading it.|Two loads by TMA",),
        ),
        Attempt(
            "the parity of the tile, not of its stage's phase",
            {"n / STAGES % 2": "n % 2"},
            ("Shared memory is used while TMA is still bringing it.|No thread of the block can go on",),
        ),
        Attempt(
            "always parity 0",
            {"n / STAGES % 2": "0"},
            ("Shared memory is used while TMA is still bringing it.",),
        ),
        Attempt(
            "one mbarrier for all stages",
            {"full[n % STAGES];": "full[0];", "full[n % STAGES], n / STAGES % 2": "full[0], n % 2"},
            ("An mbarrier|bytes have come|still bringing it",),
        ),
        Attempt(
            "the first tiles asked for although K has fewer",
            {"n < STAGES - 1 && n < tiles": "n < STAGES - 1"},
            ("The block ends before a copy by TMA does.", "behind|waited"),
        ),
        Attempt(
            "tile n + STAGES asked for, and tile STAGES - 1 never",
            {_ASK_AHEAD: _ASK_AHEAD.replace("STAGES - 1", "STAGES")},
            ("No thread of the block can go on: a GPU would hang.",),
        ),
        Attempt(
            "the bytes of A alone expected",
            {"_tx(arrived, STAGE);": "_tx(arrived, BS);"},
            ("An mbarrier's phase is complete before all bytes have come.",),
        ),
        Attempt(
            "both warpgroups multiply the same rows",
            {"y = t / WARPGROUP * WGMMA_M;": "y = 0;"},
            ("✗ Wrong with",),
        ),
        Attempt(
            "the second group of block tiles forgotten",
            {"(group * GROUP + in_group % group_m)": "(in_group % group_m)"},
            ("✗ Wrong with the second group of block tiles",),
        ),
        Attempt("beta forgotten", {"alpha * acc[e + 1], beta);": "alpha * acc[e + 1], 0.0f);"}, ("beta", "✗ Wrong with")),
        Attempt(
            "single elements stored",
            {"if (pairs && left > 1) {": "if (pairs && left > 2000000000) {"},
            ("It is right, and a goal is not reached.", "two elements of a thread at a time"),
        ),
    ),
    "12_warp_specialized": (
        Attempt(
            "a stage given back before its products are done",
            {_WAIT_12 + _ARRIVE_12: _ARRIVE_12 + _WAIT_12},
            ("Shared memory is overwritten while wgmma is still reading it.",),
        ),
        Attempt(
            "this round's stage given back",
            {"if (n > 0 && t %": "if (t %", "empty[(n - 1) % STAGES]": "empty[n % STAGES]"},
            ("Shared memory is overwritten while wgmma is still reading it.",),
        ),
        Attempt(
            "no wait for an empty stage",
            {_EMPTY_WAIT: ""},
            ("An mbarrier is used in a way that a GPU leaves undefined.", "still waits for bytes"),
        ),
        Attempt(
            "the parity of a full mbarrier for an empty one",
            {"n / STAGES % 2 ^ 1": "n / STAGES % 2"},
            ("No thread of the block can go on: a GPU would hang.",),
        ),
        Attempt(
            "every stage taken for empty",
            {"n / STAGES % 2 ^ 1": "1"},
            ("An mbarrier is used in a way that a GPU leaves undefined.", "still waits for bytes"),
        ),
        Attempt(
            "one arrival for two consumers",
            {"mbarrier_init(barrier, CONSUMERS);": "mbarrier_init(barrier, 1);"},
            ("Shared memory is overwritten while wgmma is still reading it.|Two loads by TMA|No thread of the block can go on",),
        ),
        Attempt(
            "an arrival of every thread expected, and given by one",
            {"mbarrier_init(barrier, CONSUMERS);": "mbarrier_init(barrier, CONSUMERS * WARPGROUP);"},
            ("No thread of the block can go on: a GPU would hang.",),
        ),
        Attempt(
            "the second consumer gives nothing back",
            {"n > 0 && t % WARPGROUP == 0": "n > 0 && t == 0"},
            ("No thread of the block can go on: a GPU would hang.",),
        ),
        Attempt(
            "an arrival of all 128 expected of the producer",
            {
                "for (Mbarrier& barrier : full) gemm::ptx::mbarrier_init(barrier, 1);": (
                    "for (Mbarrier& barrier : full) gemm::ptx::mbarrier_init(barrier, WARPGROUP);"
                )
            },
            ("No thread of the block can go on: a GPU would hang.",),
        ),
        Attempt(
            "the tiles not waited for",
            {"        gemm::ptx::mbarrier_wait(full[n % STAGES], n / STAGES % 2);  // the tiles are there\n": ""},
            ("Shared memory is used while TMA is still bringing it.|read where nobody has written",),
        ),
        Attempt(
            "the whole producer warpgroup asks",
            {"if (t == CONSUMERS * WARPGROUP) produce": "produce"},
            ("An mbarrier|Two loads by TMA|still bringing it",),
        ),
        Attempt(
            "more registers than there are",
            {"more_registers<CONSUMER_REGISTERS>": "more_registers<240>"},
            ("registers",),
        ),
        Attempt(
            "both consumers multiply the same rows",
            {"y = warpgroup * WGMMA_M;": "y = 0;"},
            ("✗ Wrong with",),
        ),
        Attempt(
            "16 bytes stored whatever the address",
            {"(address % 16 | ldc % 8) == 0": "true"},
            ("An access is not aligned to its width.",),
        ),
        Attempt(
            "the sums exchanged once instead of twice",
            {"step < 4; step *= 2": "step < 2; step *= 2"},
            ("✗ Wrong with",),
        ),
        Attempt("beta forgotten", {"alpha * acc[e + 1], beta);": "alpha * acc[e + 1], 0.0f);"}, ("beta", "✗ Wrong with")),
    ),
    "13a_persistent": (
        Attempt(
            "the last stage of a tile of C kept",
            {_LAST_13A: ""},
            ("No thread of the block can go on: a GPU would hang.",),
        ),
        Attempt(
            "the ring begun again with each tile of C",
            {"        n += steps;  // the ring goes on where it is\n": ""},
            _OUT_OF_STEP,
        ),
        Attempt(
            "n counted on by one",
            {"n += steps;  // the ring": "n += 1;  // the ring"},
            _OUT_OF_STEP,
        ),
        Attempt(
            "the last group taken for a whole one",
            {"all.m - first < ROWS ? all.m - first : ROWS;": "ROWS;"},
            ("Elements of C are never written.|✗ Wrong with|twice",),
        ),
        Attempt(
            "every tile of C the first",
            {"at = {first + in_group % rows, in_group / rows};": "at = {0, 0}; (void)in_group; (void)rows;"},
            ("Elements of C are never written.|Two threads|✗ Wrong with|A barrier is missing",),
        ),
        Attempt(
            "rows and columns swapped",
            {"first + in_group % rows, in_group / rows}": "first + in_group / rows, in_group % rows}"},
            ("Elements of C are never written.|✗ Wrong with|A barrier is missing",),
        ),
    ),
    "13b_multicast": (
        Attempt(
            "the arrivals of one block",
            {"mbarrier_init(barrier, CLUSTER * CONSUMERS);": "mbarrier_init(barrier, CONSUMERS);"},
            (_OVERWRITTEN_13B,),
        ),
        Attempt(
            "the own block alone told",
            {"if (rank < CLUSTER) gemm::ptx": "if (rank == gemm::ptx::cluster_rank()) gemm::ptx"},
            ("No thread of the|can go on: a GPU would hang.",),
        ),
        Attempt(
            "the own half for the own block",
            {"                                              BOTH);": "                                              1 << rank);"},
            ("can go on: a GPU would hang.|still bringing it|read where nobody has written",),
        ),
        Attempt(
            "the same half by both",
            {"for (int j = rank * BOX; j < BN; j += CLUSTER * BOX) {": "for (int j = 0; j < BN; j += CLUSTER * BOX) {"},
            ("Two loads by TMA|read where nobody has written|An mbarrier|✗ Wrong with",),
        ),
        Attempt(
            "all of B by both, for both",
            {"for (int j = rank * BOX; j < BN; j += CLUSTER * BOX) {": "for (int j = 0; j < BN; j += BOX) {"},
            ("Two loads by TMA|An mbarrier|can go on: a GPU would hang.|more bytes",),
        ),
    ),
    "13c_ping_pong": (
        Attempt(
            "no wait for the turn",
            {_TURN_13C: ""},
            ("still bringing it|overwritten while wgmma",),
        ),
        Attempt(
            "each turn's parity that of the first",
            {"(j / CONSUMERS + consumer + 1) % 2": "(consumer + 1) % 2"},
            ("No thread of the|can go on: a GPU would hang.",),
        ),
        Attempt(
            "both consumers begin with the same parity",
            {"(j / CONSUMERS + consumer + 1) % 2": "(j / CONSUMERS) % 2"},
            ("No thread of the|can go on: a GPU would hang.",),
        ),
        Attempt(
            "the turn passed to oneself",
            {"barriers.turn[1 - threadIdx.x / WARPGROUP]": "barriers.turn[threadIdx.x / WARPGROUP]"},
            ("No thread of the|can go on: a GPU would hang.",),
        ),
        Attempt(
            "the turn passed by every thread",
            {"if (P::TURNS && threadIdx.x % WARPGROUP == 0) {": "if (P::TURNS) {"},
            ("An mbarrier|can go on: a GPU would hang.",),
        ),
        Attempt(
            "the turn passed before the products",
            {_PASS_13C: "", _FENCE_ACC_13C: _PASS_13C + _FENCE_ACC_13C},
            ("still bringing it|overwritten while wgmma|An mbarrier|can go on: a GPU would hang.",),
        ),
        Attempt(
            "no wait before a box is used again",
            {_REUSE_13C: ""},
            ("Shared memory is overwritten while TMA is still storing it.",),
        ),
        Attempt(
            "as many boxes waited for as there are",
            {"bulk_wait_read<OUT_BOXES - 1>": "bulk_wait_read<OUT_BOXES>"},
            ("Shared memory is overwritten while TMA is still storing it.",),
        ),
        Attempt(
            "the copies not closed to a group",
            {"            gemm::ptx::bulk_commit();\n": ""},
            ("Shared memory is overwritten while TMA is still storing it.|The block ends before a copy by TMA does.",),
        ),
        Attempt(
            "no fence for the copy engine",
            {_FENCE_13C: ""},
            ("fence.proxy.async",),
        ),
        Attempt(
            "the other lanes not waited for",
            {_FENCE_13C + "        __syncwarp();\n": _FENCE_13C},
            ("A barrier is missing|Two threads|race|at the same time|nobody has written",),
        ),
        Attempt(
            "every lane asks",
            {_FENCE_13C + "        __syncwarp();\n        if (lane == 0) {\n": _FENCE_13C + "        __syncwarp();\n        {\n"},
            ("twice|Two|overwritten while TMA|same",),
        ),
        Attempt(
            "every warp's rows the first one's",
            {"row0 + piece * WGMMA_M + t / 32 * WARP_ROWS}, to)": "row0 + piece * WGMMA_M}, to)"},
            ("Elements of C are never written.|✗ Wrong with",),
        ),
    ),
}


_LAUNCH_02 = """    sgemm_coalesced<<<gemm::grid_of_tiles(p, tile), block, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const float*>(p.A), p.lda, static_cast<const float*>(p.B), p.ldb,
        p.beta, static_cast<float*>(p.C), p.ldc);
"""
_TWO_LAUNCHES = """    for (const int part : {0, 1}) {
        gemm::Problem half = p;
        const std::int64_t first = part * (p.M / 2);
        half.M = part == 0 ? p.M / 2 : p.M - p.M / 2;
        if (half.M == 0) continue;
        sgemm_coalesced<<<gemm::grid_of_tiles(half, tile), block, 0, stream>>>(
            half.M, p.N, p.K, p.alpha, static_cast<const float*>(p.A) + first * p.lda, p.lda,
            static_cast<const float*>(p.B), p.ldb, p.beta, static_cast<float*>(p.C) + first * p.ldc, p.ldc);
    }
"""
_COUNTED = "    static std::int64_t launches = 0;\n    ++launches;\n" + _LAUNCH_02
_REVERSED = {
    "blockIdx.x / tiles_n": "(gridDim.x - 1 - blockIdx.x) / tiles_n",
    "blockIdx.x % tiles_n": "(gridDim.x - 1 - blockIdx.x) % tiles_n",
}

# Right, but not as the lesson does it: what is computed must not be refused. Lesson, what, changes to its solution.
UNUSUAL: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("01_naive", "other tiles", {"BM = 32;": "BM = 16;", "BN = 32;": "BN = 8;"}),
    ("02_coalesced", "two launches", {_LAUNCH_02: _TWO_LAUNCHES}),
    ("02_coalesced", "a static variable of the host's", {_LAUNCH_02: _COUNTED}),
    ("02_coalesced", "tiles counted from the last one", _REVERSED),
    (
        "03_smem",
        "no shared memory",
        {
            _ADD: "for (int k = 0; k < BK && k0 + k < K; ++k) if (row < M && col < N) "
            "acc += A[row * lda + k0 + k] * B[(k0 + k) * ldb + col];"
        },
    ),
    ("03_smem", "fused multiply-adds", {"acc += As[y][k] * Bs[k][x];": "acc = fmaf(As[y][k], Bs[k][x], acc);"}),
    ("03_smem", "beta handled first", {_STORE: "*c = (beta != 0.0f ? beta * *c : 0.0f) + alpha * acc;"}),
    ("06a_float4", "never 16 bytes at once", {"const bool aligned = (": "const bool aligned = false && ("}),
    ("08b_read_ahead", "Small for every size", {">= 100;": ">= 1000000000;"}),
    ("10a_swizzle", "Small for every size", {">= 100;": ">= 1000000000;"}),
    ("10a_swizzle", "one thread waits, and the barrier tells the others", {"if (more) gemm": "if (more && t == 0) gemm"}),
    ("10b_transposed", "Small for every size", {">= 100;": ">= 1000000000;"}),
    ("10b_transposed", "thread 0 asks behind its wait", {_AT_ASK: "", "                    ++tile;\n": _AT_ASK_LATE}),
    ("09b_mma_sync", "never 16 bytes at once", {"const bool aligned = (": "const bool aligned = false && ("}),
)
