"""What nvcc reads: a .cu file and the repository's headers that it includes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runner.core.results import ROOT

_INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
# nvcc 13 rejects CLI11 (error 2361-D) where it lies in no system folder.
_FORBIDDEN = "CLI/"


def includes(file: Path, root: Path) -> dict[str, Path]:
    """Every header that `file` includes, itself or through headers below `root`, and the file that does so."""
    found: dict[str, Path] = {}
    left = [file]
    while left:
        here = left.pop()
        for own, system in _INCLUDE.findall(here.read_text(encoding="utf-8")):
            name = own or system
            if name not in found:
                found[name] = here
                if (root / name).is_file():
                    left.append(root / name)
    return found


KERNELS = [
    str(path.relative_to(ROOT))
    for pattern in ("[0-9]*/*.cu", "[0-9]*/*/*.cu", "runner/*/*.cu", "tests/*/*.cu")
    for path in sorted(ROOT.glob(pattern))
]


@pytest.mark.parametrize("name", KERNELS)
def test_nvcc_never_reads_cli11(name: str) -> None:
    bad = {header: by.relative_to(ROOT) for header, by in includes(ROOT / name, ROOT).items() if header.startswith(_FORBIDDEN)}
    assert not bad


def test_headers_are_followed(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    for name, text in (
        ("common/a.hpp", '#pragma once\n#include "common/b.hpp"\n#include "common/a.hpp"\n'),
        ("common/b.hpp", "  #  include <CLI/CLI.hpp>\n"),
        ("x.cu", '#include "common/a.hpp"\n'),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert includes(tmp_path / "x.cu", tmp_path)["CLI/CLI.hpp"] == tmp_path / "common" / "b.hpp"
