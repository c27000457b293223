"""The constants of lesson 13d that ./gemm autotune tries, what each of its ideas is worth, and which policy fits which shape."""

from runner.measure.tuning import Compared, Tuning


def _always(policy: str) -> dict[str, str]:
    """The edit with which the launch has no choice."""
    return {"    return fastest.second;\n": f"    return fastest.first < 0.0 ? fastest.second : Choice::{policy};\n"}


_ALONE = {**_always("together"), "Policy<64, 256, false, 2,": "Policy<64, 256, false, 1,"}
_DESCRIPTORS = {
    "gemm::ptx::moved(as, i * WGMMA_M * SPAN + 2 * k)": (
        "gemm::ptx::encode({.start = base + stage * P::STAGE + y * SPAN + i * WGMMA_M * SPAN + 2 * k,\n"
        "                   .stride = 8 * SPAN, .swizzle = WgmmaSwizzle::bytes128})"
    ),
    "gemm::ptx::moved(bs, k * SPAN)": (
        "gemm::ptx::encode({.start = base + stage * P::STAGE + P::BS + k * SPAN, .leading = BK * SPAN,\n"
        "                   .stride = 8 * SPAN, .swizzle = WgmmaSwizzle::bytes128})"
    ),
    "        const std::uint64_t as = gemm::ptx::moved(a0, stage * P::STAGE);\n": "",
    "        const std::uint64_t bs = gemm::ptx::moved(b0, stage * P::STAGE);\n": "        (void)a0, (void)b0;\n",
}

TUNE = Tuning(
    lines=("constexpr unsigned GROUP = {GROUP};",),
    sweep=({"GROUP": 8}, {"GROUP": 16}),
    compare={
        "together": Compared(edits=_always("together")),
        "in turns": Compared(edits=_always("turns")),
        "in turns, 128×192": Compared(edits=_always("wide_turns")),
        "in turns, 64×128": Compared(edits=_always("small_turns")),
        "results by threads": Compared(edits={"plan->boxes = stores_boxes(p);": "plan->boxes = false;"}),
        "descriptors computed in every step": Compared(edits=_DESCRIPTORS),
        "together without clusters": Compared(edits=_ALONE),
        "in turns, in clusters of one block": Compared(edits={**_always("turns"), "&cluster, P::CLUSTER > 1}": "&cluster, 1}"}),
    },
    sizes="1024,2048,3072,4096,8192,8192x8192x512,16384x4096x4096",
    by_shape=("together", "in turns", "in turns, 128×192", "in turns, 64×128"),
)
