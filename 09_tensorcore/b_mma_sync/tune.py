"""The constants of lesson 09b that ./gemm autotune tries, and what loading ahead, ldmatrix and the swizzle are worth."""

from runner.measure.tuning import Compared, Tuning

# The next tiles are loaded when these have been multiplied, right before they are stored.
_NOT_AHEAD = {
    "        if (tiles > 1) load(BK);\n#pragma unroll\n": "#pragma unroll\n",
    "        if (tiles > 1) store(stage ^ 1);\n": (
        "        if (tiles > 1) {\n            load(BK);\n            store(stage ^ 1);\n        }\n"
    ),
}

# A lane reads its own elements, 4 bytes at a time, and movmatrix transposes those of B: what nvcc makes of wmma in lesson 09a.
_AS_WMMA = {
    "                gemm::ptx::ldmatrix(a_frag[i], &As[stage][a_at(y + i * MMA_M + at.row, k + at.col)]);\n": """\
#pragma unroll
                for (int r = 0; r < 4; ++r) {
                    const int row = y + i * MMA_M + lane / 4 + r % 2 * 8, col = k + lane % 4 * 2 + r / 2 * 8;
                    a_frag[i][r] = *reinterpret_cast<const std::uint32_t*>(&As[stage][a_at(row, col)]);
                }
""",
    "                gemm::ptx::ldmatrix_trans(b_frag[j], &Bs[stage][b_at(k + at.row, x + j * 16 + at.col)]);\n": """\
#ifdef __CUDACC__
#pragma unroll
                for (int r = 0; r < 4; ++r) {
                    const int row = k + lane / 4 + r % 2 * 8, col = x + j * 16 + lane % 4 * 2 + r / 2 * 8;
                    const auto in_row = *reinterpret_cast<const std::uint32_t*>(&Bs[stage][b_at(row, col)]);
                    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
                                 : "=r"(b_frag[j][r / 2][r % 2])
                                 : "r"(in_row));
                }
#else  // the CPU device has no movmatrix
                gemm::ptx::ldmatrix_trans(b_frag[j], &Bs[stage][b_at(k + at.row, x + j * 16 + at.col)]);
#endif
""",
}

_NO_SWIZZLE = {
    "return gemm::Swizzle<2, 3, 3>::apply(row * BK + k);": "return row * BK + k;",
    "return gemm::Swizzle<3, 3, 4>::apply(k * BN + col);": "return k * BN + col;",
}

TUNE = Tuning(
    lines=("constexpr int BM = {BM}, BN = 128, BK = 32;", "__launch_bounds__(THREADS, {BLOCKS})"),
    sweep=({"BM": 64, "BLOCKS": 4}, {"BM": 128, "BLOCKS": 2}, {"BM": 256, "BLOCKS": 1}),
    compare={
        "tiles loaded when they are stored": Compared(edits=_NOT_AHEAD),
        "fragments read 4 bytes at a time, as by wmma": Compared(edits=_AS_WMMA),
        "both": Compared(edits=_NOT_AHEAD | _AS_WMMA),
        "tiles without a swizzle": Compared(edits=_NO_SWIZZLE),
    },
)
