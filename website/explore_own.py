"""`./gemm explore my.cu`: the explorer's page of a kernel that is no lesson's."""

from __future__ import annotations

from pathlib import Path

from runner.core import figures
from runner.core.machines import MACHINES
from runner.core.process import say
from runner.core.results import UserError, write_atomically
from runner.inspect.inspection import Request
from runner.inspect.own import Options, completed, multiples_of, traced_own
from runner.inspect.own_source import variant_of
from website import explore

_TILE = 32  # a side, where --multiples says none
_ELEMENT_BYTES: dict[str, float] = {"fp32": 4, "bf16": 2, "fp16": 2}  # of what `variant_of` takes


def _entry(file: Path, options: Options, variant: str, block: list[int]) -> explore.Lesson:
    """What lessons.json would say of it."""
    step = multiples_of(completed(file, options).multiples)
    tile = {f"B{key}": step[key] if step[key] > 1 else _TILE for key in "MNK"}
    a, b, c, _ = variant_of(variant)
    sizes = {"A": _ELEMENT_BYTES[a], "B": _ELEMENT_BYTES[b], "C": _ELEMENT_BYTES[c]}
    taken: explore.Variant = {"text": variant, "architectures": {"from": 50}, "element_bytes": sizes}
    return {
        "name": file.name, "number": "", "folder": "", "part": 0, "ladder": "", "tile": tile, "constants": {}, "block": block,
        "dynamic_shared_bytes": 0, "variants": [taken],
    }  # fmt: skip


def explore_own(file: Path, options: Options, request: Request, asked: bool, open_it: bool) -> int:
    """Traces the file's kernel and writes its page; exit status: 0 the kernel is right and nothing was found, 1 otherwise."""
    if request.m * request.n * request.k == 0:
        raise UserError(f"There is nothing to see at {request.shape}; choose sizes of 1 or more.")
    traced = traced_own(file, options, request, asked, explore._BLOCKS)
    found = traced.trace
    for sentence in (*traced.said, traced.verdict):
        print(sentence)
    payload: explore.Payload = {
        "schema": explore.SCHEMA,
        "lesson": file.name,
        "title": file.name,
        "mine": True,
        "checked": None,
        "trace": explore.fitted(found),
        "sources": explore._sources(found),
        "descriptor": _entry(file, options, found["variant"], found["block_dim"]),
        "recorded": None,
        "machines": MACHINES,
    }
    page = explore.OUT / f"{file.stem}_own.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(page, explore.page(payload))
    say(f"Written: {page} ({figures.size(page.stat().st_size)}).")
    explore.show(page.as_uri(), open_it)
    return int(not traced.right)
