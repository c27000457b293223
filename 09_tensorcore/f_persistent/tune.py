"""The constants of lesson 09f that ./gemm autotune tries, and what each of its ideas is worth."""

from runner.measure.tuning import Compared, Tuning

# As many blocks as C has tiles: the device counts as one with more SMs than that.
_BLOCK_A_TILE = {"return {properties.multiProcessorCount,": "return {1 << 30,"}

# Every device gets the kernel for those with little shared memory.
_SHALLOW = {
    "properties.sharedMemPerBlockOptin >= std::size_t{Depth<64>::SHARED}": "false",
    "hgemm_persistent<__nv_bfloat16, Depth<64>, true>": "hgemm_persistent<__nv_bfloat16, Depth<32>, true>",
    "hgemm_persistent<__half, Depth<64>, true>": "hgemm_persistent<__half, Depth<32>, true>",
    ".dynamic_shared_bytes = Depth<64>::SHARED": ".dynamic_shared_bytes = Depth<32>::SHARED",
}

# A request copies four rows of A, and not half of each of eight.
_WHOLE_ROWS = {"constexpr int A_RUN = ALIGNED ? BK / 2 : BK;": "constexpr int A_RUN = BK;"}

# The same, and each row's address is the one before it plus some rows. The compiler would keep all of the distances in registers;
# the empty asm, which might change the address, keeps it from that.
_COUNTED_UP = {
    **_WHOLE_ROWS,
    "            const int left = cols": "            const T* at = from + i;\n            const int left = cols",
    """                copy_run<ALIGNED>(to[i / RUN] + stage + 2 * r * COLS, from + r * pitch + i,
                                  r < there ? left : 0);
""": """                copy_run<ALIGNED>(to[i / RUN] + stage + 2 * r * COLS, at, r < there ? left : 0);
                at += AT_ONCE * pitch;
                asm volatile("" : "+l"(at));
""",
}

TUNE = Tuning(
    lines=("constexpr int STAGES = {STAGES};", "constexpr int GROUP = {GROUP};"),
    sweep=({"GROUP": 1}, {"GROUP": 4}, {"GROUP": 8}, {"STAGES": 4}),
    compare={
        "a block for each tile of C": Compared(edits=_BLOCK_A_TILE),
        "A copied by whole rows": Compared(edits=_WHOLE_ROWS),
        "A copied by whole rows, addresses counted up": Compared(edits=_COUNTED_UP),
        "32 steps along K, six stages": Compared({"STAGES": 6}, edits=_SHALLOW),
        "tiles of C row by row": Compared({"GROUP": 1}),
    },
)
