"""`./gemm timeline`: what one block's warps do and what they wait for, on the CPU device and on a GPU, one above the other."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TypedDict

from runner.core import compiling, doctor, gpu, lesson, process
from runner.core.compiling import Source
from runner.core.git import commit_for
from runner.core.process import say, say_all
from runner.core.results import ROOT, UserError, folder_of, gpu_slug, kernel_hash, writable_folder, write_atomically
from runner.measure import autotune, stamping
from runner.measure.stamping import Stamped

SCHEMA = 1  # of what gemm_timeline writes, and of what is recorded
SHAPE = (2048, 4096, 512)  # M, N, K: on 132 SMs two tiles of C for each block of a persistent kernel, and the seam between them
EVERY = 4  # warps: of so many, a warpgroup, the first one's stamps are kept


class StampedWarp(TypedDict):
    """A warp's stamps, in its order."""

    warp: int
    lost: int  # stamps that found no room
    stamps: list[list[int]]  # site, clocks before and after from the block's first one on, detail


class RecordedBlock(TypedDict):
    """What the first block of a lesson did on a GPU."""

    variant: str
    m: int
    n: int
    k: int
    seed: int
    kernel_hash: str
    warps_of_block: int
    sites: list[list]  # what is called there, line of kernel.cu, first argument: see runner/measure/stamping.py
    warps: list[StampedWarp]


class RecordedTimelines(TypedDict):
    schema: int
    gpu: str
    commit: str | None
    date: str
    lessons: dict[str, RecordedBlock]


# On a GPU


def _linked(tools: Mapping, name: str, source: Source, made: Path, folder: Path) -> Path:
    """gemm_timeline with this one kernel."""
    listed, program = folder / f"{source.namespace}_list.cpp", folder / f"{source.namespace}_timeline"
    listed.write_text(compiling.lessons_of([source]), encoding="utf-8")
    command = [*tools["link_before"], listed, made, "-o", program, *tools["link_after"]]
    done = process.stream(command, f"Linking {name}", process.unseen, {"TMPDIR": str(folder)})
    if done.status:
        compiling.blame_the_machine("The linker", done.status, done.lines)
        say_all(done.lines)
        raise UserError(f"The linker could not make the program with {name}'s stamps; its message is above.")
    return program


def _sources(names: Sequence[str]) -> dict[str, tuple[Source, Stamped]]:
    found = {}
    for name in names:
        kernel = ROOT / folder_of(name) / "kernel.cu"
        try:
            made = stamping.stamped(kernel.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UserError(f"{folder_of(name)}/kernel.cu cannot be recorded: {error}.") from error
        number = name.partition("_")[0]
        found[name] = (Source(made.text, f"{folder_of(name)}/kernel.cu", f"lesson_{number}", name, name), made)
    return found


def programs(device: doctor.Device, names: Sequence[str], folder: Path) -> dict[str, tuple[Path, Stamped]]:
    """gemm_timeline of each lesson, in `folder`."""
    wanted = _sources(names)
    tools = compiling.toolchain(device, "timeline")
    compiled, objects, failed = autotune.compile_all(tools, [source for source, _ in wanted.values()], folder)
    if failed:
        name, why = next(iter(failed.items()))
        raise UserError(f"The copy of {name} with stamps {why}.")
    made = dict(zip((source.title for source in compiled), objects, strict=True))
    return {name: (_linked(tools, name, source, made[name], folder), stamps) for name, (source, stamps) in wanted.items()}


def block_of(name: str, found: Mapping, made: Stamped) -> RecordedBlock:
    """What is kept of what gemm_timeline wrote. A UserError where it is of another version."""
    if found.get("schema") != SCHEMA:
        raise UserError(f"gemm_timeline wrote schema {found.get('schema')!r}, not {SCHEMA}; remove the folder build and go on.")
    warps: list[StampedWarp] = [
        {"warp": number, "lost": warp["wanted"] - len(warp["stamps"]), "stamps": warp["stamps"]}
        for number, warp in enumerate(found["warps"])
        if number % EVERY == 0
    ]
    return {
        "variant": found["variant"],
        "m": found["m"],
        "n": found["n"],
        "k": found["k"],
        "seed": found["seed"],
        "kernel_hash": kernel_hash(ROOT / folder_of(name) / "kernel.cu"),
        "warps_of_block": len(found["warps"]),
        "sites": [[site.what, site.line, site.argument] for site in made.sites],
        "warps": warps,
    }


def on_gpu(device: doctor.Device, names: Sequence[str], shape: tuple[int, int, int], commit: str | None) -> RecordedTimelines:
    """Compiles a copy of each lesson's kernel with stamps, runs it, and reads what its first block wrote down."""
    lessons: dict[str, RecordedBlock] = {}
    sizes = [f"--{key}={value}" for key, value in zip("mnk", shape, strict=True)]
    with compiling.scratch() as folder:
        for name, (program, made) in programs(device, names, folder).items():
            output = folder / f"{name}.json"
            with gpu.alone(device):
                done = process.stream([program, *sizes, "--output", output], f"Recording {name}", process.unseen)
            process.require(done, "gemm_timeline", (0,))
            lessons[name] = block_of(name, json.loads(output.read_text(encoding="utf-8")), made)
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"schema": SCHEMA, "gpu": device.gpus[0], "commit": commit, "date": date, "lessons": lessons}


def as_text(recorded: RecordedTimelines) -> str:
    """As JSON, a line a stamp."""
    text = json.dumps(recorded, indent=1, ensure_ascii=False)
    item = r'(?:"[^"\n]*"|-?\d+)'
    return re.sub(rf"\[\s+({item}(?:,\s+{item})*)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text) + "\n"


def _record(names: Sequence[str], shape: tuple[int, int, int], keep: bool) -> tuple[RecordedTimelines, Path]:
    """Records on the GPU that is here and writes it down: with `keep` among what is published."""
    device = doctor.choose()
    if device.kind != "cuda":
        raise UserError(f"timeline --record needs an NVIDIA GPU and CUDA's nvcc, but the device here is the CPU: {device.why}.")
    commit = commit_for(keep, "recorded")
    folder = ROOT / "plots" / "results" if keep else ROOT / "out"
    writable_folder(folder)
    recorded = on_gpu(device, names, shape, commit)
    file = folder / f"{gpu_slug(recorded['gpu'])}-timeline.json"
    write_atomically(file, as_text(recorded))
    for name, block in recorded["lessons"].items():
        if lost := sum(warp["lost"] for warp in block["warps"]):
            say(f"{name}: {lost} stamps found no room; choose smaller sizes.")
    return recorded, file


def timeline(name: str | None, sizes: Mapping[str, str | None], record: bool, as_json: bool) -> int:
    """Exit status 0."""
    given = {key: int(lesson.whole(f"--{key}", text, 1)) for key, text in sizes.items() if text is not None}
    if record:
        if name is not None:
            raise UserError("--record records every lesson that waits at mbarriers; leave the lesson out.")
        m, n, k = SHAPE
        shape = (given.get("m", m), given.get("n", n), given.get("k", k))
        recorded, file = _record(stamping.eligible(), shape, True)
        if as_json:
            print(as_text(recorded), end="")
        sys.stdout.flush()
        say(f"Written: {file.relative_to(ROOT)}.")
        return 0
    raise UserError("timeline takes one LESSON, such as ./gemm timeline 12, or --record.")
