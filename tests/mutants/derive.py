#!/usr/bin/env python3
"""Mutants of the lessons' own kernels: one planted mistake each, by replacing a piece of kernel.cu.

usage: derive.py --list                 the names, separated by semicolons (for CMake)
       derive.py --sources              the lessons' kernel.cu, likewise
       derive.py FOLDER                 writes the mutants, each as NAME.cu in namespace mutant_NAME
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from runner.core.results import folder_of  # noqa: E402

ALL = -1
_SMALL_10A = ("Tiles<128, 256, 64, 64, 8, 16>", "Tiles<64, 64, 32, 32, 4, 8>", 0)  # no mistake: compiled in half the time
_ASK_10A = "if (t == 0 && tile + STAGES < tiles) ask(used, tile + STAGES);"
_SMALL_10B = [("launch_tiles<Large>", "launch_tiles<Small>", 0), ("sgemm_tma<Large", "sgemm_tma<Small", 0)]  # the same
_ASK_10B = "if (t == 0 && tile + STAGES < tiles) ask(stage, tile + STAGES);"
_BF16 = ("<__half>", "<__nv_bfloat16>", ALL)  # no mistake where it runs in BF16: compiled in half the time
_BF16_11B = [_BF16, ("using T = decltype(zero);", "(void)zero; using T = __nv_bfloat16;", 0)]  # the same, from 11b on
_12 = "12_warp_specialized"
_13A = "13a_persistent"
_GIVE_BACK_12 = "gemm::ptx::mbarrier_arrive(empty[(n - 1) % STAGES]);"
_AGAIN_13A = "n = 0; for (int step = 0; step < steps; ++step, ++n) {"
_ZEROS_11A = """parity ^= 1;
for (int i = t; i < BM * BK; i += THREADS) {
    if (k0 + i % BK >= k_end) reinterpret_cast<T*>(shared)[i] = gemm::from_float<T>(0.0f);
}
__syncthreads();"""
_13C = "13c_ping_pong"
_TURN_13C = "if (turns) gemm::ptx::mbarrier_wait(barriers.turn[consumer], (j / CONSUMERS + consumer + 1) % 2);"
_PASS_13C = "if (P::TURNS && threadIdx.x % WARPGROUP == 0) {"
_EARLY_13C = _PASS_13C + " gemm::ptx::mbarrier_arrive(barriers.turn[1 - threadIdx.x / WARPGROUP]); }"
_REUSE_13C = "if (lane == 0) gemm::ptx::bulk_wait_read<OUT_BOXES - 1>();"


def _policy_13c(name: str) -> list[tuple[str, str, int]]:
    """No mistake where it runs in BF16: one policy for every problem, compiled in a sixth of the time."""
    return [
        ("if (choice == Choice::together) return what(Together{});", "static_cast<void>(choice);", 0),
        ("if (choice == Choice::turns) return what(Turns{});", "", 0),
        ("return choice == Choice::wide_turns ? what(WideTurns{}) : what(SmallTurns{});", f"return what({name}{{}});", 0),
        ("<__nv_bfloat16, Turns>", f"<__nv_bfloat16, {name}>", 0),
        ("<__half, Turns>", f"<__nv_bfloat16, {name}>", 0),
        ("launch_policy<decltype(zero), ", "(void)zero; launch_policy<__nv_bfloat16, ", 0),
    ]


_TURNS_13C, _TOGETHER_13C = _policy_13c("SmallTurns"), _policy_13c("Together")
# Name: lesson, and what is replaced in its kernel without comments: a piece, what stands there instead, and which of its
# occurrences is meant, from 0.
MUTANTS: dict[str, tuple[str, list[tuple[str, str, int]]]] = {
    "no_barrier_05": ("05_2d_blocktile", [("__syncthreads();", "", 0)]),
    "stale_tail_05": (  # what lies past K keeps the value of the tile before instead of 0
        "05_2d_blocktile",
        [
            ("? a[i * lda] : 0.0f", "? a[i * lda] : As[a_row + i][a_k]", 0),
            ("? b[i * ldb] : 0.0f", "? b[i * ldb] : Bs[b_k + i][b_col]", 0),
        ],
    ),
    "transposed_05": (  # hidden by a symmetric A, and by nothing else
        "05_2d_blocktile",
        [
            ("A + (row0 + a_row) * lda + a_k;", "A + a_k * lda + row0 + a_row;", 0),
            ("a += BK,", "a += BK * lda,", 0),
            ("? a[i * lda] : 0.0f", "? a[i] : 0.0f", 0),
        ],
    ),
    "unaligned_06a": ("06a_float4", [("(p.K | p.N | p.lda | p.ldb | p.ldc) % 4 == 0", "(p.K | p.N) % 4 == 0", 0)]),
    "no_barrier_07": ("07_double_buffer", [("__syncthreads();", "", 1)]),
    "stage_kept_07": ("07_double_buffer", [("stage ^= 1;", "", 0)]),
    "wait_too_short_08a": ("08a_ring", [("cp_async_wait<STAGES - 2>", "cp_async_wait<STAGES - 1>", ALL)]),
    "no_zeros_08b": ("08b_read_ahead", [("a_k < steps && ", "", 0), ("b_k + i < steps && ", "", 0)]),
    "pitch_09a": ("09a_wmma", [("[k], BK + PAD);", "[k], BK);", 0)]),
    "wrong_tile_09a": (  # fragment (i, j) goes where (j, i) belongs
        "09a_wmma",
        [("row0 + y + i * F", "row0 + y + j * F", 0), ("col0 + x + j * F", "col0 + x + i * F", 0)],
    ),
    "row_off_09b": ("09b_mma_sync", [("i * MMA_M + in.row", "i * MMA_M + in.row + 1", 0)]),
    "cols_off_09b": ("09b_mma_sync", [("acc[i][j][e], alpha * acc[i][j][e + 1]", "acc[i][j][e + 1], alpha * acc[i][j][e]", 0)]),
    "a_rows_off_09b": ("09b_mma_sync", [("i * MMA_M + at.row", "i * MMA_M + (at.row + 1) % MMA_M", 0)]),
    "not_transposed_09b": (
        "09b_mma_sync",
        [("ldmatrix_trans(b_frag[j]", "ldmatrix(reinterpret_cast<std::uint32_t(&)[4]>(b_frag[j])", 0)],
    ),
    "k_halves_09b": ("09b_mma_sync", [("k + at.col", "k + 8 - at.col", 0)]),  # of A, and not of B
    "swizzled_store_09b": (
        "09b_mma_sync",
        [("a_at(y + i * MMA_M + at.row, k + at.col)", "(y + i * MMA_M + at.row) * BK + k + at.col", 0)],
    ),
    "swizzled_load_09b": ("09b_mma_sync", [("b_at(b_k + i, b_col)", "(b_k + i) * BN + b_col", 0)]),
    "unaligned_09b": ("09b_mma_sync", [(" && p.ldc % 2 == 0", "", 0)]),
    "swizzled_store_09c": (
        "09c_ring",
        [("a_at(y + i * MMA_M + at.row, k + at.col)", "2 * ((y + i * MMA_M + at.row) * BK + k + at.col)", 0)],
    ),
    "swizzled_load_09c": ("09c_ring", [("b_at(b.row, b.col + i)", "2 * (b.row * BN + b.col + i)", 0)]),
    "wait_too_short_09c": ("09c_ring", [("cp_async_wait<STAGES - 2>", "cp_async_wait<STAGES - 1>", ALL)]),
    "no_barrier_09c": ("09c_ring", [("__syncthreads();", "", 0)]),
    "k_steps_09d": ("09d_read_ahead", [("a[step] + stage", "a[BK / MMA_K - 1 - step] + stage", 0)]),  # of A, and not of B
    "no_barrier_09d": ("09d_read_ahead", [("__syncthreads();", "", 1)]),
    "no_warp_barrier_09e": ("09e_whole_rows", [("__syncwarp();", "", 1)]),
    "one_group_09f": (
        "09f_persistent",
        [
            ("Depth<64>", "Depth<32>", ALL),  # no mistake: for GPUs with little shared memory, and compiled in half the time
            ("group * GROUP + in_group % group_m", "in_group % group_m", 0),
        ],
    ),
    "parity_10a": ("10a_swizzle", [_SMALL_10A, ("if (stage == 0) parity ^= 1;", "", 0)]),
    "few_bytes_10a": ("10a_swizzle", [_SMALL_10A, ("(full[stage], T::STAGE);", "(full[stage], T::BS);", 0)]),
    "many_bytes_10a": ("10a_swizzle", [_SMALL_10A, ("(full[stage], T::STAGE);", "(full[stage], T::STAGE + 16);", 0)]),
    "released_early_10a": ("10a_swizzle", [_SMALL_10A, (_ASK_10A, "", 0), ("if (more)", _ASK_10A + " if (more)", 0)]),
    "no_barrier_10a": ("10a_swizzle", [_SMALL_10A, ("__syncthreads();", "", 1)]),
    "box_10a": ("10a_swizzle", [_SMALL_10A, ("large ? Large::BM : Small::BM,", "Small::BM + 1,", 0)]),
    "swizzle_10a": ("10a_swizzle", [_SMALL_10A, ("(as ^ k / 4 * 16)", "(as / 128 * 128 + k / 4 * 16)", 0)]),  # in the map alone
    "one_waits_10b": (
        "10b_transposed",
        [*_SMALL_10B, ("gemm::ptx::mbarrier_wait(full[next]", "if (t == 0) gemm::ptx::mbarrier_wait(full[next]", 0)],
    ),
    "released_early_10b": (
        "10b_transposed",
        [*_SMALL_10B, (_ASK_10B, "", 0), ("if (first_k == BK) {", "if (first_k == BK) { " + _ASK_10B, 0)],
    ),
    "first_barrier_10b": ("10b_transposed", [*_SMALL_10B, ("__syncthreads();", "", 1)]),  # At is read while others fill it
    "one_at_10b": ("10b_transposed", [*_SMALL_10B, ("part_write + T::AT_SIZE;", "part_write;", 0)]),  # and that is the one read
    "parity_11a": ("11a_one_stage", [_BF16, ("parity ^= 1;", "", 0)]),
    "few_bytes_11a": ("11a_one_stage", [_BF16, ("(full, SHARED);", "(full, BS);", 0)]),
    "many_bytes_11a": ("11a_one_stage", [_BF16, ("(full, SHARED);", "(full, SHARED + 16);", 0)]),
    "not_begun_11a": ("11a_one_stage", [_BF16, ("__syncthreads();", "", 0)]),
    "init_fence_11a": ("11a_one_stage", [_BF16, ("gemm::ptx::fence_mbarrier_init();", "", 0)]),
    "fence_11a": ("11a_one_stage", [_BF16, ("gemm::ptx::wgmma_fence(acc);", "", 0)]),
    "wait_11a": ("11a_one_stage", [_BF16, ("gemm::ptx::wgmma_wait<0>(acc);", "", 0)]),
    "proxy_fence_11a": ("11a_one_stage", [_BF16, ("parity ^= 1;", _ZEROS_11A, 0)]),  # zeros behind K, by the threads
    "swizzle_11a": ("11a_one_stage", [_BF16, ("WgmmaSwizzle::bytes128", "WgmmaSwizzle::none", 0)]),  # of A, in the map alone
    "strides_11a": (
        "11a_one_stage",
        [_BF16, (".leading = BK * SPAN,", ".leading = 8 * SPAN,", 0), (".stride = 8 * SPAN,", ".stride = BK * SPAN,", 1)],
    ),
    "past_atom_11a": ("11a_one_stage", [_BF16, ("row * SPAN + 2 * k,", "row * SPAN + 4 * k,", 0)]),
    "high_box_11a": ("11a_one_stage", [_BF16, ("p.variant.A, BM);", "p.variant.A, BM + 1);", 0)]),
    "wide_box_11a": ("11a_one_stage", [_BF16, (".box = {BOX,", ".box = {BOX + 1,", 0)]),
    "parity_11b": ("11b_ring", [*_BF16_11B, ("n / STAGES % 2", "0", 0)]),
    "few_bytes_11b": ("11b_ring", [*_BF16_11B, ("(arrived, STAGE);", "(arrived, BS);", 0)]),
    "many_bytes_11b": ("11b_ring", [*_BF16_11B, ("(arrived, STAGE);", "(arrived, STAGE + 16);", 0)]),
    "not_begun_11b": ("11b_ring", [*_BF16_11B, ("__syncthreads();", "", 0)]),
    "init_fence_11b": ("11b_ring", [*_BF16_11B, ("gemm::ptx::fence_mbarrier_init();", "", 0)]),
    "released_early_11b": (  # a stage is filled while its own products are computed
        "11b_ring",
        [
            *_BF16_11B,
            ("n < STAGES - 1 && n < tiles", "n < STAGES && n < tiles", 0),
            ("n + STAGES - 1 < tiles) load(n + STAGES - 1)", "n + STAGES < tiles) load(n + STAGES)", 0),
        ],
    ),
    "no_barrier_11b": ("11b_ring", [*_BF16_11B, ("__syncthreads();", "", 1)]),
    "fence_11b": ("11b_ring", [*_BF16_11B, ("gemm::ptx::wgmma_fence(acc);", "", 0), ("gemm::ptx::wgmma_fence();", "", 0)]),
    "wait_too_short_11b": ("11b_ring", [*_BF16_11B, ("wgmma_wait<1>();", "wgmma_wait<2>();", 0)]),
    "wait_11b": ("11b_ring", [*_BF16_11B, ("gemm::ptx::wgmma_wait<0>(acc);", "", 0)]),
    "swizzle_11b": ("11b_ring", [*_BF16_11B, ("WgmmaSwizzle::bytes128", "WgmmaSwizzle::none", 0)]),  # of A, in the map alone
    "strides_11b": (
        "11b_ring",
        [*_BF16_11B, (".leading = BK * SPAN,", ".leading = 8 * SPAN,", 0), (".stride = 8 * SPAN,", ".stride = BK * SPAN,", 1)],
    ),
    "past_atom_11b": ("11b_ring", [*_BF16_11B, ("y * SPAN + 2 * k,", "y * SPAN + 4 * k,", 0)]),
    "high_box_11b": ("11b_ring", [*_BF16_11B, ("*plan, p, BM, BK);", "*plan, p, BM + 1, BK);", 0)]),
    "released_early_12": (  # the batch that reads the stage is still under way
        _12,
        [*_BF16_11B, ("gemm::ptx::wgmma_wait<1>();", "", 0), (_GIVE_BACK_12, _GIVE_BACK_12 + " gemm::ptx::wgmma_wait<1>();", 0)],
    ),
    "released_newest_12": (
        _12,
        [*_BF16_11B, ("n > 0 && ", "", 0), ("empty[(n - 1) % STAGES]", "empty[n % STAGES]", 0)],
    ),
    "no_empty_wait_12": (
        _12,
        [*_BF16_11B, ("gemm::ptx::mbarrier_wait(empty[n % STAGES], n / STAGES % 2 ^ 1);", "(void)empty;", 0)],
    ),
    "few_arrivals_12": (_12, [*_BF16_11B, ("(barrier, CONSUMERS);", "(barrier, 1);", 0)]),
    "many_arrivals_12": (_12, [*_BF16_11B, ("(barrier, CONSUMERS);", "(barrier, CONSUMERS + 1);", 0)]),
    "one_releases_12": (  # for both, who do not wait for each other
        _12,
        [*_BF16_11B, ("(barrier, CONSUMERS);", "(barrier, 1);", 0), ("n > 0 && t % WARPGROUP == 0", "n > 0 && t == 0", 0)],
    ),
    "parity_12": (_12, [*_BF16_11B, ("n / STAGES % 2 ^ 1", "n / STAGES % 2", 0)]),
    "late_parity_12": (_12, [*_BF16_11B, ("n / STAGES % 2 ^ 1", "1", 0)]),
    "full_parity_12": (_12, [*_BF16_11B, ("n / STAGES % 2);", "0);", 0)]),
    "all_produce_12": (_12, [*_BF16_11B, ("if (t == CONSUMERS * WARPGROUP) produce", "produce", 0)]),
    "registers_12": (
        _12,
        [*_BF16_11B, ("more_registers<CONSUMER_REGISTERS>", "more_registers<CONSUMER_REGISTERS + 8>", 0)],
    ),
    "last_kept_13a": (_13A, [("if (steps > 0) give_back(n - 1);", "", 0)]),  # the last stage of a tile of C
    "last_early_13a": (
        _13A,
        [
            ("if (steps > 0) give_back(n - 1);", "", 0),
            ("gemm::ptx::wgmma_wait<0>(acc);", "if (steps > 0) give_back(n - 1); gemm::ptx::wgmma_wait<0>(acc);", 0),
        ],
    ),
    "begun_again_13a": (_13A, [("n += steps;", "", 0)]),  # the consumers' counter, in each tile of C
    "asked_again_13a": (_13A, [("for (int step = 0; step < steps; ++step, ++n) {", _AGAIN_13A, 0)]),  # the producer's
    "row_by_row_13a": (_13A, [("using Order = Grouped<16>;", "using Order = RowByRow;", 0)]),  # no mistake
    "hilbert_13a": (_13A, [("using Order = Grouped<16>;", "using Order = Hilbert<4>;", 0)]),  # the same
    "no_turn_13c": (_13C, [*_TURNS_13C, (_TURN_13C, "", 0)]),
    "turn_parity_13c": (_13C, [*_TURNS_13C, ("(j / CONSUMERS + consumer + 1) % 2", "(consumer + 1) % 2", 0)]),
    "passed_early_13c": (  # before the products, not behind them
        _13C,
        [
            *_TURNS_13C,
            (_PASS_13C, "if (false) {", 0),
            ("gemm::ptx::wgmma_fence(acc);", _EARLY_13C + " gemm::ptx::wgmma_fence(acc);", 0),
        ],
    ),
    "ring_parity_13c": (_13C, [*_TURNS_13C, ("parity = n / P::STAGES % 2", "parity = 0", 0)]),  # begun again in each tile of C
    "no_wait_read_13c": (_13C, [*_TURNS_13C, (_REUSE_13C, "", 0)]),
    "short_wait_read_13c": (_13C, [*_TURNS_13C, ("bulk_wait_read<OUT_BOXES - 1>", "bulk_wait_read<OUT_BOXES>", 0)]),
    "no_fence_13c": (_13C, [*_TURNS_13C, ("gemm::ptx::fence_proxy_async();", "", 0)]),
    "not_read_13c": (_13C, [*_TURNS_13C, ("if (t % 32 == 0) gemm::ptx::bulk_wait_read<0>();", "", 0)]),  # when the block ends
    "few_arrivals_13c": (_13C, [*_TOGETHER_13C, ("(barrier, P::CLUSTER * P::READERS);", "(barrier, P::READERS);", 0)]),
    "left_early_13c": (_13C, [*_TOGETHER_13C, ("leave<P>();", "", 1)]),  # by the consumers of a block
    "together_13c": (_13C, _TOGETHER_13C),  # no mistake
    "turns_13c": (_13C, _policy_13c("Turns")),  # the same
    "wide_turns_13c": (_13C, _policy_13c("WideTurns")),  # the same
    "small_turns_13c": (_13C, _TURNS_13C),  # the same
}


def derive(name: str) -> str:
    """Raises SystemExit where a piece is not in the kernel, or several times where one is meant."""
    lesson, changes = MUTANTS[name]
    text = re.sub(r"//[^\n]*", "", (ROOT / folder_of(lesson) / "kernel.cu").read_text(encoding="utf-8"))
    for right, wrong, which in changes:
        pieces = text.split(right)
        if len(pieces) < which + 2 or len(pieces) == 1:
            raise SystemExit(f"derive.py: {lesson}/kernel.cu has {len(pieces) - 1} times what {name} replaces: {right!r}")
        first = len(pieces) if which == ALL else which + 1
        text = (wrong if which == ALL else right).join(pieces[:first])
        if which != ALL:
            text += wrong + right.join(pieces[first:])
    number = lesson.partition("_")[0]
    return text.replace(f"lesson_{number}", f"mutant_{name}").replace(f'"{lesson}"', f'"{name}"')


def main(arguments: list[str]) -> int:
    if arguments == ["--list"]:
        print(";".join(MUTANTS), end="")
    elif arguments == ["--sources"]:
        print(";".join(sorted({str(ROOT / folder_of(lesson) / "kernel.cu") for lesson, _ in MUTANTS.values()})), end="")
    elif len(arguments) == 1:
        folder = Path(arguments[0])
        folder.mkdir(parents=True, exist_ok=True)
        for name in MUTANTS:
            file, text = folder / f"{name}.cu", derive(name)
            if not file.exists() or file.read_text(encoding="utf-8") != text:  # what stays need not be compiled again
                file.write_text(text, encoding="utf-8")
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
