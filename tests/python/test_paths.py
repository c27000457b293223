"""The check's cases come to every path of a lesson: each basic block of launch() and of its kernels, in each instantiation,
runs at least once. Where tiles and types alone do not lead there, a Reach in the lesson's descriptor does."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import REPOSITORY, descriptors, drawn, part, seed, toolchain

from runner.core import compiling

LESSONS = re.findall(r"^gemm_lesson\((\w+)", (REPOSITORY / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)
# Their second group of C tiles is a Reach for its numbers: the code that computes them has no branch. What 14a's lead to is in
# its parts, which are headers, and only kernel.cu is counted here.
NO_BRANCH = (
    "11a_one_stage", "11b_ring", "11c_wide_stores", "12_warp_specialized", "13a_persistent", "13b_multicast", "13c_tma_stores",
    "14a_fma",
)  # fmt: skip
# No problem that is small enough to run here leads to these functions, and another test comes to them: those of 13d's shared
# tile, and of 128×128, in FP16. 13d's mistakes.toml has a kernel with each for every problem, which is right. 13e comes to each
# of its heights in BF16 and to two of them in FP16, too, whose text is the same: eight heights in both types are more than a
# check has time for; 14c is 13e's composition. Of few k-tiles no small problem has 256 rows, and only there is C not read: their
# mistakes.toml have a kernel with 256 rows for every problem, which is right. So has 15d's with slices of 16×256 and of 128×128,
# which no small problem has; and only with 32×64 does it come to each way of adding slices up, whose text is the same. 15a's and
# 15d's divide() and 15b's prepare_shape() come to an end of their own where the device has no room for a workspace:
# tests/parts/split_k_launches_test.cpp takes the room away. On no GPU is an SM too small for all of 15d's blocks. 15c comes to
# three of its sizes in BF16, whose text FP16 and the other sizes share: its mistakes.toml has a kernel with each of these for
# every problem, which is right. Of a size it comes to one number of slices: what adds them has one text for all. Else it calls
# 14c's, which has cases of its own.
_FEWER = r"__half.*Policy<({0}),|Policy<({0}),.*__half|{1}<"
_TALLEST = r"Policy<256, 4>, false|launch_policy<.*Policy<256, 4> >"
ELSEWHERE = {
    "15a_split_k": re.compile(r"divide<"),
    "15b_stream_k": re.compile(r"prepare_shape<"),
    "15c_wgmma": re.compile(r"__half|wgmma::Shape<|::add<|ShortShape<(64|96|128|144|160)"),
    "15d_choose": re.compile(
        r"divide\(|require_one\(|ThinShape<(16, 256|128, 128),"
        r"|Spread<(?!.*ThinShape<32, 64,).*>::(store|add|add_fours|come_last)\b"
    ),
    "13d_ping_pong": re.compile(_FEWER.format("64, 256|128, 128", "with_policy")),
    "13e_overlapped": re.compile(_FEWER.format("256|224|192|144|128|112", "with_one_of") + "|" + _TALLEST),
    "14c_wgmma": re.compile(
        (_FEWER.format("256|224|192|144|128|112", "with_one_of") + "|" + _TALLEST).replace("Policy<", "Shape<")
    ),
}
# Counters behind every branch. -O1: without it, what an exception would leave behind counts as blocks of their own.
COUNTED = ("-O1", "--coverage")


def gcov(compiler: str) -> str:
    """The one that reads what this g++ writes."""
    version = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True).stdout
    version = version.split(".")[0].strip()
    for name in (f"gcov-{version}", "gcov"):
        if found := shutil.which(name):
            said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
            if re.search(rf" {version}\.\d", said):
                return found
    if os.environ.get("CI"):
        pytest.fail(f"there is no gcov of g++ {version}, which belongs to it")
    pytest.skip(f"there is no gcov of g++ {version}")


class Counted:
    """A lesson that counts what of it runs."""

    def __init__(self, name: str, folder: Path) -> None:
        self._lesson, self._folder = descriptors()[name], folder
        tools = toolchain("paths")
        self._gcov = gcov(tools["kernel"][0])
        text = (REPOSITORY / self._lesson.folder / "kernel.cu").read_text(encoding="utf-8")
        self.reaching = ".reaching = " in text
        source = compiling.Source(text, "kernel.cu", f"lesson_{self._lesson.number}", name, name)
        tools = {**tools, "kernel": [*tools["kernel"], *COUNTED], "link_before": [*tools["link_before"], "--coverage"]}
        self._program, _ = compiling.compile_program(tools, [source], folder)

    def missed(self, *options: str) -> list[str]:
        """The functions of kernel.cu of which the cases leave something out; their lines that never run."""
        for counts in self._folder.glob("*.gcda"):
            counts.unlink()
        command = [self._program, "--seed", str(seed()), *options]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        command = [self._gcov, "--stdout", "--json-format", f"lesson_{self._lesson.number}.o"]
        told = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=True).stdout
        (kernel,) = (file for file in json.loads(told)["files"] if file["file"] == "kernel.cu")
        # owner() is for the words of an error, and there is none; tiling() for what is recorded, and so are other ways().
        unused = re.compile(r"::((owner|tiling)\w*|ways|prepare_way)[<(]")
        ours = [f for f in kernel["functions"] if not unused.search(f["demangled_name"])]
        if elsewhere := ELSEWHERE.get(self._lesson.name):
            ours = [f for f in ours if not elsewhere.search(f["demangled_name"])]
        assert sum(f["execution_count"] > 0 for f in ours) >= 2  # launch() and a kernel
        told = [self._told(f, kernel["lines"]) for f in ours if f["blocks_executed"] < f["blocks"]]
        return [text for text in told if text]

    @staticmethod
    def _told(function: dict, lines: list[dict]) -> str:
        """Empty where every line runs whole: blocks of no line are for exceptions, and free what an assignment replaces."""
        left_out = [
            str(line["line_number"])
            for line in lines
            if line.get("function_name") == function["name"] and (line["count"] == 0 or line["unexecuted_block"])
        ]
        of = f"{function['blocks_executed']} of {function['blocks']} blocks run"
        return f"{function['demangled_name']}: {of}; lines {', '.join(left_out)} do not" if left_out else ""


@pytest.mark.parametrize("name", drawn(part(LESSONS), 1))
def test_the_cases_run_every_block_of_a_lesson(name: str, tmp_path: Path) -> None:
    lesson = Counted(name, tmp_path)
    assert lesson.missed() == []
    # And this sees where one is missing: what a Reach leads to is left out without it.
    if lesson.reaching and name not in NO_BRANCH:
        assert lesson.missed("--without-reach")
