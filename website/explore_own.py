"""`./gemm explore my.cu`: the explorer's page of a kernel that is no lesson's."""

from __future__ import annotations

from pathlib import Path

from runner.core import figures
from runner.core.machines import MACHINES
from runner.core.process import say
from runner.core.results import UserError, write_atomically
from runner.inspect.inspection import Request
from runner.inspect.own import Options, completed, multiples_of, traced_own
from website import explore

_TILE = 32  # a side, where --multiples says none


def _entry(file: Path, options: Options, variant: str, block: list[int]) -> explore.Lesson:
    """What lessons.json would say of it."""
    step = multiples_of(completed(file, options).multiples)
    tile = {f"B{key}": step[key] if step[key] > 1 else _TILE for key in "MNK"}
    return {
        "name": file.name, "number": "", "folder": "", "part": 0, "ladder": "", "tile": tile, "constants": {}, "block": block,
        "dynamic_shared_bytes": 0, "variants": [{"text": variant, "architectures": {"from": 50}}],
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
