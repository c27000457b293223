"""The constants of lesson 13e that ./gemm autotune tries, what each of its ideas is worth, and which policy fits which shape."""

from runner.measure.tuning import Compared, Tuning

_CHOICE = "        if (time(number) < 0.99 * time(best)) best = number;\n"


def _always(number: int) -> dict[str, str]:
    """The edit with which the launch has no choice."""
    return {_CHOICE: f"        if (number == {number} || time(best) < 0.0) best = number;\n"}


_AT_ONCE = {
    "        pending = true;\n": (
        "#pragma unroll\n        for (int box = 0; box < P::BOXES; ++box) {\n"
        "            store_box<P>(out + slot * P::OUT_BOX, true, map_c, packed, box, at);\n            slot ^= 1;\n        }\n"
    ),
}

TUNE = Tuning(
    lines=("constexpr unsigned GROUP = {GROUP};",),
    sweep=({"GROUP": 8}, {"GROUP": 16}),
    compare={
        "256 rows": Compared(edits={_CHOICE: "        if (time(best) < 0.0) best = number;\n"}),
        "224 rows": Compared(edits=_always(1)),
        "192 rows": Compared(edits=_always(2)),
        "160 rows": Compared(edits=_always(3)),
        "144 rows": Compared(edits=_always(4)),
        "128 rows": Compared(edits=_always(5)),
        "112 rows": Compared(edits=_always(6)),
        "64 rows": Compared(edits=_always(7)),
        "results leave before the next tile": Compared(edits=_AT_ONCE),
    },
    sizes="1024,1536,2048,3072,4096,8192,8192x8192x512,16384x4096x4096",
    by_shape=("256 rows", "224 rows", "192 rows", "160 rows", "144 rows", "128 rows", "112 rows", "64 rows"),
)
