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
            "the end of K not guarded in A", {"row < M && k0 + x < K": "row < M"}, ("a guard is missing", "K that is no multiple")
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
                "acc += A[row * lda + k0 + k] * B[(k0 + k) * ldb + col];"
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
}
