"""The list of what only a run on a GPU covers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import REPOSITORY, toolchain

from runner.core import gpu_only

BUILD = REPOSITORY / "build" / "cpu"


def test_each_source_is_compiled_for_the_cpu_device_or_listed() -> None:
    toolchain()  # configures
    compiled = set()
    for command in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        file = Path(command["file"])
        together = re.findall(r'^#include "(/.+\.cpp)"', file.read_text(encoding="utf-8"), re.M) if "/Unity/" in str(file) else []
        translated = re.findall(r"/translated/[^/]+/(.+)\.cpp$", str(file))
        compiled |= {file, *map(Path, together), *(REPOSITORY / name for name in translated)}
    sources = {path for folder in ("common", "runner/programs") for path in (REPOSITORY / folder).rglob("*.c[pu]*")}
    listed = {REPOSITORY / name for name in gpu_only.files(BUILD)}
    assert listed == sources - compiled
    assert REPOSITORY / "common/measure/timer.cpp" in listed


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("#ifdef __CUDACC__\na\n\nb\n#else\nc\n#endif\nd", 2),
        ("#ifndef __CUDACC__\na\n#else\nb\n#endif", 1),
        ("#ifdef GEMM_TOO_OLD\na\n#elif defined(__CUDACC__)\nb\nc\n#else\nd\n#endif", 2),
        ("#ifdef GEMM_CPU_DEVICE\na\n#else\nb\n#  ifdef OTHER\nc\n#  else\nd\n#  endif\n#endif", 3),
        ("#ifndef GEMM_CPU_DEVICE\na\n#endif", 1),
        ("#ifdef OTHER\na\n#else\nb\n#endif", 0),
    ],
)
def test_lines_that_only_nvcc_sees(text: str, count: int) -> None:
    assert gpu_only.lines_left_out(text) == count


def test_the_paragraph_names_both(tmp_path: Path) -> None:
    assert gpu_only.told(tmp_path) == ""  # a build that runs on a GPU
    (tmp_path / "gpu_only.json").write_text('{"files": ["common/measure/timer.cpp"]}')
    told = gpu_only.told(tmp_path)
    assert "common/measure/timer.cpp" in told
    assert re.search(r"\d+ lines in common/ptx,", told)
