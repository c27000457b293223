"""The constants of lesson 13c that ./gemm autotune tries, what each of its ideas is worth, and which policy fits which shape."""

from runner.measure.tuning import Compared, Tuning

_CHOICE = "    if (together <= std::min(turns, small)) return Choice::together;\n"
_TOGETHER = {_CHOICE: "    if (together >= 0.0) return Choice::together;\n"}
_TURNS = {_CHOICE: "    if (together >= 0.0) return Choice::turns;\n"}
_ALONE = {**_TOGETHER, "Policy<64, 256, false, 2, 100>": "Policy<64, 256, false, 1, 100>"}
_DESCRIPTORS = {
    "moved(as, i * WGMMA_M * SPAN + 2 * k)": (
        "gemm::ptx::encode({.start = base + stage * P::STAGE + y * SPAN + i * WGMMA_M * SPAN + 2 * k,\n"
        "                   .stride = 8 * SPAN, .swizzle = WgmmaSwizzle::bytes128})"
    ),
    "moved(bs, k * SPAN)": (
        "gemm::ptx::encode({.start = base + stage * P::STAGE + P::BS + k * SPAN, .leading = BK * SPAN,\n"
        "                   .stride = 8 * SPAN, .swizzle = WgmmaSwizzle::bytes128})"
    ),
    "        const std::uint64_t as = moved(a0, stage * P::STAGE);\n": "",
    "        const std::uint64_t bs = moved(b0, stage * P::STAGE);\n": "        (void)a0, (void)b0;\n",
}

TUNE = Tuning(
    lines=("constexpr unsigned GROUP = {GROUP};",),
    sweep=({"GROUP": 8}, {"GROUP": 16}, {"GROUP": 32}),
    compare={
        "together": Compared(edits=_TOGETHER),
        "in turns": Compared(edits=_TURNS),
        "in turns, 64×128": Compared(edits={_CHOICE: "    if (together >= 0.0) return Choice::small_turns;\n"}),
        "results pair by pair": Compared(edits={"plan->boxes = stores_boxes(p);": "plan->boxes = false;"}),
        "descriptors computed in every step": Compared(edits=_DESCRIPTORS),
        "together without clusters": Compared(edits=_ALONE),
        "in turns, in clusters of one block": Compared(edits={**_TURNS, "&cluster, P::CLUSTER > 1}": "&cluster, 1}"}),
    },
    sizes="1024,2048,3072,4096,8192,8192x8192x512,16384x4096x4096",
    by_shape=("together", "in turns", "in turns, 64×128"),
)
