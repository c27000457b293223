"""The program that the README shows, outside of this repository: with what is installed, and with add_subdirectory()."""

from __future__ import annotations

import re
import statistics
import subprocess
from pathlib import Path

import pytest
from conftest import PATIENCE, REPOSITORY, alone, put, toolchain, whole_families

from plots import data
from runner.core.results import ROOT, lessons

HEAD = "cmake_minimum_required(VERSION 3.24)\nproject(own LANGUAGES CXX)\n"
FOUND = "find_package(gemm_course REQUIRED)\n"


def shown(language: str) -> str:
    """What the README has in that language below its heading."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## In a program of your own\n")[2].partition("\n## ")[0]
    (code,) = re.findall(rf"^```{language}\n(.*?)^```$", section, re.M | re.S)
    return code


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_and_run(source: Path, build: Path, lists: str, *options: str) -> str:
    """What the program says."""
    put(source, {"main.cpp": shown("cpp"), "CMakeLists.txt": HEAD + lists})
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", *options)
    run("cmake", "--build", build, "--target", "own")
    return run(build / "own")


@pytest.mark.long
def test_with_what_is_installed(tmp_path: Path) -> None:
    toolchain("check", "gemm_course")
    prefix = tmp_path / "prefix"
    with alone("build"):
        run("cmake", "--install", REPOSITORY / "build" / "cpu", "--prefix", prefix, "--component", "gemm_course")
    installed = [path for path in prefix.rglob("*") if path.is_file()]
    assert all("gemm_course" in path.relative_to(prefix).as_posix() for path in installed)  # nothing that is called as CUDA's
    assert not [path for path in installed if path.suffix in (".cmake", ".hpp") and str(REPOSITORY) in path.read_text()]
    assert shown("cmake").startswith(FOUND)
    assert build_and_run(tmp_path, tmp_path / "build", shown("cmake"), f"-DCMAKE_PREFIX_PATH={prefix}") == "11 13\n14 16\n"


if whole_families():  # it compiles the CPU device and the lessons that are installed: 20 seconds of computing the first time

    @pytest.mark.long
    def test_with_add_subdirectory() -> None:
        build = REPOSITORY / "build" / "subdirectory"  # which is kept, as the other builds are
        lists = shown("cmake").replace(FOUND, f"add_subdirectory({REPOSITORY} gemm)\n")
        with alone("subdirectory"):
            said = build_and_run(build / "own", build / "build", lists, "-DGEMM_DEVICE=cpu")
        assert said == "11 13\n14 16\n"
        assert not (build / "build" / "gemm" / "lessons.json").exists()  # it wants the library alone


def test_no_lesson_is_faster_than_what_is_installed() -> None:
    """On the GPU whose results are published, over all its square sizes: the last lesson that says INSTALLED of those with the
    variant. At a single size another one may be faster, but not by much, as 15b is at 3072³."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    installed = [name for name in lessons() if re.search(rf"^gemm_lesson\({name}\b[^)]* INSTALLED\b", text, re.M)]
    runs = [run for run in data.published(ROOT)["runs"] if run["m"] == run["n"] == run["k"] and "tflops" in run]
    for variant in ("fp32", "bf16"):
        speeds: dict[str, dict[int, float]] = {}
        for run in runs:
            if run["variant"] == variant:
                speeds.setdefault(run["lesson"], {})[run["m"]] = run["tflops"]
        taken = [name for name in installed if name in speeds][-1]
        means = {
            name: statistics.geometric_mean(speed[size] for size in speeds[taken])
            for name, speed in speeds.items()
            if speed.keys() >= speeds[taken].keys()
        }
        assert len(means) > 5
        assert means[taken] >= 0.98 * max(means.values()), f"{taken} is not the fastest: which lines say INSTALLED?"
        for size, speed in speeds[taken].items():
            fastest = max(of[size] for of in speeds.values() if size in of)
            assert speed >= 0.93 * fastest, f"{taken} is slow at {size}³: which lines say INSTALLED?"
