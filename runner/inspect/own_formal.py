"""What a kernel of somebody's does that CUDA's manuals leave undefined and a GPU of today lets pass: told apart from mistakes by
running it once as unkindly as CUDA allows, and once more as kindly as GPUs are."""

from __future__ import annotations

import math
from collections.abc import Callable

from runner.inspect.inspection import Request
from runner.inspect.trace_types import Finding, Trace, Undefined

_WARP = 32
# What is found where a lane comes before the others of its warp to what they are to write.
_OF_LANES = ("race", "uninitialised_read", "copy_in_flight")
_IN_STEP = (
    "The result is right if the lanes of a warp execute the code in step, as they do on today's GPUs; "
    "only __syncwarp() guarantees that"
)


def few_digits(found: Trace, request: Request) -> bool:
    """Whether the result is off by no more than FP16 sums or TF32 products make of it."""
    verdict = found["verdict"]
    if verdict is None or verdict["passed"] or verdict["failure"] == "padding" or found["error"]:
        return False
    first = verdict["first"]
    if first is not None and not isinstance(first.get("got"), (int, float)):
        return False
    # Inputs of variance 1: an element of A·B is of the size of sqrt(K). A sum in FP16 rounds at each of K steps.
    spread = math.sqrt(max(request.k, 1))
    return 0 < verdict["rms_error"] <= spread * 2**-11 * max(1.0, spread / 2)


def as_kind_as_gpus(traced_with: Callable[..., Trace], request: Request, dynamic: bool) -> tuple[Trace, tuple[str, ...]]:
    """The trace that counts, and the options that it was made with. `traced_with` runs the kernel with more options; dynamic:
    whether it has dynamic shared memory. What is undefined is added to the trace's."""
    how: tuple[str, ...] = ("--least-aligned",) if dynamic else ()
    found = traced_with(*how)
    undefined: list[Undefined] = []
    if dynamic and not _right(found, request):
        aligned = traced_with()
        if _outcome(aligned) != _outcome(found):
            undefined.append({"id": "dynamic_alignment", "text": _least_aligned(found), "count": 1})
        found, how = aligned, ()
    if lanes := _between_lanes(found):
        in_step = traced_with(*how, "--in-step")
        if _right(in_step, request):
            undefined += [_of_one_warp(finding) for finding in lanes]
            found, how = in_step, (*how, "--in-step")
    found["undefined"] = [*undefined, *found.get("undefined", ())]
    return found, how


def _right(found: Trace, request: Request) -> bool:
    """Whether the result is right and nothing is wrong with the way to it, but that C is read where beta is 0, which may put
    NaN into the result."""
    ids = {finding["id"] for finding in found["findings"]}
    if found["error"] or found.get("overruns") or ids - {"forbidden_read"}:
        return False
    verdict = found["verdict"]
    return verdict is None or verdict["passed"] or few_digits(found, request) or "forbidden_read" in ids


def _outcome(found: Trace) -> tuple[object, ...]:
    error, verdict = found["error"], found["verdict"]
    places = {(f["id"], f["file"], f["line"]) for f in found["findings"]}
    return error and error["id"], verdict and verdict["passed"], places


def _least_aligned(found: Trace) -> str:
    problems = [one["text"].rstrip(".") for one in (found["error"], *found["findings"]) if one]
    problem = problems[0] if problems else "its result is wrong"
    return (
        "Dynamic shared memory may begin at any multiple of 16, or of what its declaration says (__align__, alignas), but this "
        f"kernel needs a larger alignment. Without it: {problem}"
    )


def _between_lanes(found: Trace) -> list[Finding]:
    """What was found, if nothing was but what lanes of one warp may do to each other."""
    findings = [finding for finding in found["findings"] if finding["id"] != "forbidden_read"]
    may = not found["error"] and not found.get("overruns") and found["verdict"] is not None
    return findings if may and all(_may_be_of_lanes(finding, found["block_dim"]) for finding in findings) else []


def _may_be_of_lanes(finding: Finding, block: list[int]) -> bool:
    if finding["id"] not in _OF_LANES:
        return False
    other = finding["other"]
    threads = [thread for thread in (finding["thread"], other and other["thread"]) if thread]
    return len({_linear(thread, block) // _WARP for thread in threads}) == 1


def _linear(thread: list[int], block: list[int]) -> int:
    x, y, z = thread
    return x + block[0] * (y + block[1] * z)


def _of_one_warp(finding: Finding) -> Undefined:
    return {"id": finding["id"], "text": f"{finding['text']}. {_IN_STEP}", "count": finding["count"]}
