"""classroom/colab.ipynb: it is kept without outputs, and every cell of it runs without a GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE, Course, whole_families

from runner.core.results import ROOT

NOTEBOOK = ROOT / "classroom" / "colab.ipynb"
_MISSING = "Python lacks what runs notebooks; type: .venv/bin/pip install -r requirements-notebook.txt"


def cells(kind: str) -> list[dict]:
    return [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def test_it_is_kept_without_outputs() -> None:
    assert [cell["source"] for cell in cells("code") if cell["outputs"] or cell["execution_count"] is not None] == []


def test_its_code_is_python() -> None:
    for cell in cells("code"):
        compile("".join(cell["source"]), str(NOTEBOOK), "exec")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """What the cells before the first command define, in a folder without the course, and without IPython."""
    display = types.ModuleType("IPython.display")
    for name in ("HTML", "Image", "display"):
        setattr(display, name, lambda *_, **__: None)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec("".join(cells("code")[0]["source"]), found)
    return found


def test_a_course_without_an_address_is_asked_for_and_not_fetched(names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: fetched.append(command))
    with pytest.raises(SystemExit, match="COURSE"):
        exec("".join(cells("code")[1]["source"]), names)
    assert not fetched
    names["COURSE"] = "https://example.org/course"
    (Path.cwd() / "gemm-course").mkdir()  # as git would
    exec("".join(cells("code")[1]["source"]), names)


def test_a_cell_writes_a_kernel_and_explores_it(names: dict[str, Any]) -> None:
    (last,) = ["".join(cell["source"]) for cell in cells("code") if "__global__" in "".join(cell["source"])]
    asked: list[tuple[str, ...]] = []
    Path("out").mkdir()
    exec(last, {**names, "Path": Path, "explore": lambda *words, fine: asked.append(words)})
    ((file, option, call),) = asked
    assert option == "--call" and call.startswith("mine<<<")
    assert "void mine(" in Path(file).read_text()


@pytest.mark.long
@pytest.mark.skipif(not whole_families(), reason="it verifies every lesson: ./gemm test --all")
def test_every_cell_runs_without_a_gpu(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        import nbformat
        from nbclient import NotebookClient
    except ImportError:
        if os.environ.get("GEMM_BROWSER") == "required":
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    for name, value in course.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{course.tools}:{Path(sys.executable).parent}:{os.environ['PATH']}")  # ./gemm takes this python3
    notebook = nbformat.read(course.root / "classroom" / "colab.ipynb", as_version=4)
    client = NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3")
    client.execute(cwd=str(course.root / "classroom"))
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    said = "".join(output.text for output in outputs if output.output_type == "stream")
    shown = [kind for output in outputs if output.output_type == "display_data" for kind in output.data]
    assert "image/png" in shown  # the chart
    assert any("srcdoc=" in output.data["text/html"] for output in outputs if "text/html" in output.get("data", {}))
    assert "exercises/03_smem/exercise.cu" in said
    assert (course.root / "out" / "explore" / "mine_own.html").is_file()
    assert (course.root / "out" / "explore" / "03_smem.html").is_file()  # the checkout that it lies in was used
    shutil.rmtree(course.root / "out")
