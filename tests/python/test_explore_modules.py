"""The explorer's modules without a browser: tests/explorer/*.test.js under node, of pages that are written for them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import PATIENCE, drawn
from explorer_pages import OVERRUN, RACE, made, node, real

from runner.core.results import ROOT, lessons

FOLDER = ROOT / "tests" / "explorer"


def passes(file: str, pages: Path, page: str = "") -> None:
    environment = {**os.environ, "GEMM_PAGES": str(pages), "GEMM_PAGE": page}
    command = [node(), "--test", FOLDER / file]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the data of pages."""
    folder = tmp_path_factory.mktemp("pages")
    found = {
        "made": made(),
        "findings": made(findings=[RACE, OVERRUN]),
        **{name: real(name) for name in ("03_smem", "11a_one_stage")},
    }
    for name, payload in found.items():
        (folder / f"{name}.json").write_text(json.dumps(payload), encoding="utf-8")
    return folder


@pytest.mark.parametrize("file", sorted({path.name for path in FOLDER.glob("*.test.js")} - {"lesson.test.js"}))
def test_modules(pages: Path, file: str) -> None:
    passes(file, pages)


@pytest.mark.parametrize("lesson", drawn(lessons(), 2))
def test_every_lessons_page(tmp_path: Path, lesson: str) -> None:
    (tmp_path / f"{lesson}.json").write_text(json.dumps(real(lesson)), encoding="utf-8")
    passes("lesson.test.js", tmp_path, lesson)
