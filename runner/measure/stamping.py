"""A kernel with stamps: a copy of kernel.cu that writes down, on the GPU, when each warp of its first block does what.

The lesson's own file knows nothing of it, and neither do the headers of common/ptx, so that what is timed is as it was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from runner.core.results import ROOT, folder_of, lessons

# Wrappers of common/ptx that runner/programs/stamps.hpp has a stamp for.
STAMPED = (
    "mbarrier_wait",
    "mbarrier_wait_cluster",
    "mbarrier_arrive_expect_tx",
    "mbarrier_arrive",
    "mbarrier_arrive_at",
    "mbarrier_arrive_relaxed_at",
    "wgmma_fence",
    "wgmma_commit",
    "wgmma_wait",
    "bulk_commit",
    "bulk_wait",
    "bulk_wait_read",
    "cluster_sync",
    "cluster_sync_relaxed",
)
_HEADER = '#include "runner/programs/stamps.hpp"\n'
_SKIPPED = r'//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
_CALL = re.compile(rf"{_SKIPPED}|gemm::ptx::(?P<wrapper>{'|'.join(STAMPED)})\b(?=[<(])|(?P<sync>__syncthreads)(?=\()", re.DOTALL)
_KERNEL = re.compile(rf"{_SKIPPED}|(?P<kernel>__global__)\b", re.DOTALL)
_BLOCK = " const gemm::timeline::Block gemm_timeline_block;"


@dataclass(frozen=True)
class Site:
    """A place that is stamped: what is called there, in which line of kernel.cu, with which first argument."""

    what: str  # mbarrier_wait, syncthreads; begins and returns of a warp
    line: int
    argument: str = ""  # as it stands there: full[n % STAGES]


@dataclass(frozen=True)
class Stamped:
    text: str
    sites: tuple[Site, ...]


def _closing(text: str, at: int) -> int:
    """Where the bracket at `at` is closed; -1 where it is not."""
    depth = 0
    for place in range(at, len(text)):
        depth += text[place] in "(<[{" and text[place] == text[at]
        depth -= text[place] == {"(": ")", "<": ">", "[": "]", "{": "}"}[text[at]]
        if depth == 0:
            return place
    return -1


def _first_argument(text: str, at: int) -> str:
    """Of the call whose name ends at `at`, behind template arguments."""
    opening = text.index("(", _closing(text, at) if text[at] == "<" else at)
    inside = text[opening + 1 : _closing(text, opening)]
    depth, parts = 0, [""]
    for letter in inside:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            break
        parts[0] += letter
    return " ".join(parts[0].split())


def stamped(kernel: str) -> Stamped:
    """The copy of a kernel.cu. Raises ValueError where it has no kernel, or nothing to stamp."""
    sites = [Site("begins", 0), Site("returns", 0)]

    def call(found: re.Match) -> str:
        name = found["wrapper"] or (found["sync"] and "syncthreads")
        if not name:
            return found[0]
        sites.append(Site(name, kernel.count("\n", 0, found.start()) + 1, _first_argument(kernel, found.end())))
        return f"gemm::timeline::At<{len(sites) - 1}>::{name}"

    text = _CALL.sub(call, kernel)
    if len(sites) == 2:
        raise ValueError("there is nothing to stamp")
    bodies = []
    for found in _KERNEL.finditer(text):
        if found["kernel"]:
            at = found.end()  # behind what stands before the parameters: __launch_bounds__(…) and the like
            while True:
                opening = text.index("(", at)
                at = _closing(text, opening) + 1
                if text[at:].lstrip().startswith("{"):
                    break
            bodies.append(text.index("{", at) + 1)
    if not bodies:
        raise ValueError("there is no kernel")
    for at in reversed(bodies):
        text = text[:at] + _BLOCK + text[at:]
    return Stamped(_HEADER + "#line 1\n" + text, tuple(sites))


@cache
def eligible() -> list[str]:
    """The lessons whose kernels wait at mbarriers, in course order."""
    texts = {name: (ROOT / folder_of(name) / "kernel.cu").read_text(encoding="utf-8") for name in lessons()}
    return [name for name, text in texts.items() if re.search(r"\bgemm::ptx::mbarrier_wait", text)]
