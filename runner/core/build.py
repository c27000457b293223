"""Configuring and building with CMake."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from runner.core import lock, process
from runner.core.doctor import CONFIGURED, Device, Tools
from runner.core.process import say, say_all
from runner.core.results import ROOT, UserError, write_atomically

_NINJA_OR_MAKE = process.matcher(r"^\[\s*(?P<done>\d+)(?:/(?P<total>\d+)|%)\]\s*(?P<what>.*)")


def _configure(device: Device, tools: Tools, folder: Path) -> None:
    command: list[str | Path] = [tools.cmake, "--preset", device.kind, "-G", tools.generator, f"-DCMAKE_CXX_COMPILER={tools.cxx}"]
    if device.kind == "cuda":
        command += ["-DCMAKE_CUDA_ARCHITECTURES=native", f"-DCMAKE_CUDA_COMPILER={device.nvcc}"]
    if os.environ.get("GEMM_WERROR") == "1":
        command.append("-DGEMM_WERROR=ON")
    # Configured already, in this place, for this GPU, with these tools? Then CMake sees to the rest by itself.
    environment = os.environ.get("CMAKE_PREFIX_PATH", "")
    signature = json.dumps([str(ROOT), [str(part) for part in command], device.gpus, environment])
    marker = folder / CONFIGURED
    made = (folder / "build.ninja").exists() or (folder / "Makefile").exists()
    if made and marker.exists() and marker.read_text(encoding="utf-8") == signature:
        return
    if not marker.exists():
        say(f"Building for {device.kind} for the first time, which takes a few minutes.")
    fresh = ["--fresh"] if (folder / "CMakeCache.txt").exists() else []
    done = process.stream([*command, *fresh], f"Configuring for {device.kind}", process.unseen)
    if done.status:
        say_all(done.lines)
        hint = f", or CMake could not fetch what apt-get install {' '.join(tools.missing)} brings" if tools.missing else ""
        raise UserError(f"CMake could not configure build/{device.kind}; its message is above{hint}.")
    write_atomically(marker, signature)


def build(device: Device, tools: Tools, targets: Sequence[str] = ()) -> Path:
    """Builds the targets (none: all) for the device and returns the build folder; waits while another ./gemm builds there."""
    folder = ROOT / "build" / device.kind
    # Beside the folder, which a person may remove.
    with lock.alone(folder.with_name(f"{device.kind}.lock"), f"Waiting for another ./gemm, which builds in build/{device.kind}."):
        _configure(device, tools, folder)
        _build(device, tools, folder, targets)
    return folder


def _build(device: Device, tools: Tools, folder: Path, targets: Sequence[str]) -> None:
    command: list[str | Path] = [tools.cmake, "--build", folder, "--parallel", str(process.cores())]
    if targets:
        command += ["--target", *targets]
    done = process.stream(command, f"Building for {device.kind}", _NINJA_OR_MAKE, {"NINJA_STATUS": "[%f/%t] "}, whole=True)
    if done.status:
        say_all(done.lines)
        what = process.crash(done.status)
        error = UserError(f"The build {f'was ended by {what}' if what else 'failed; the message is above'}.")
        error.lines = done.lines
        raise error
