"""A lesson is a folder and a line: a throw-away one, added to a copy of this checkout, is built, tested, charted, drawn and
checked like the others."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import PATIENCE, REPOSITORY, alone, copy_of_checkout, descriptors, toolchain, whole_families
from plots_synthetic import svg_texts

from plots import data, pictures, progression, tables
from runner.core import recorded
from runner.core.results import lessons, load
from runner.learn import exercise

NEW, LIKE = "98_again", "03_smem"


def add_lesson(root: Path, only: str = "") -> Path:
    """A copy of this checkout with a lesson more, which is LIKE under another name. `only`: the one other lesson that it has."""
    copy_of_checkout(root)
    (root / NEW).mkdir()
    for file in (REPOSITORY / LIKE).iterdir():
        if file.is_file():
            text = file.read_text(encoding="utf-8").replace(LIKE, NEW).replace(f"lesson_{LIKE[:2]}", f"lesson_{NEW[:2]}")
            (root / NEW / file.name).write_text(text, encoding="utf-8")
    listing = root / "CMakeLists.txt"
    lines = listing.read_text(encoding="utf-8").splitlines()
    last = max(place for place, line in enumerate(lines) if line.startswith("gemm_lesson("))
    lines.insert(last + 1, f"gemm_lesson({NEW})")
    if only:
        lines = [line for line in lines if not line.startswith("gemm_lesson(") or only in line or NEW in line]
    listing.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


def test_a_new_lesson_is_in_every_list(tmp_path: Path) -> None:
    root = add_lesson(tmp_path)
    assert lessons(root) == [*lessons(), NEW]
    assert [task.key for task in exercise.tasks(root)][-1].startswith(NEW)
    assert f'"exercise {NEW[:2]}"' in exercise.Task(NEW, "exercise", root).starter()

    described = replace(descriptors()[LIKE], name=NEW, folder=NEW)
    assert pictures.lessons_with_pictures(root)[-1] == NEW
    assert any(text.startswith(f"{NEW}: ") for text in svg_texts(pictures.draw(root, described, tmp_path / "picture")[1]))

    assert tables.update(root, "outline") == [root / "README.md", root / "classroom" / "README.md"]
    assert f"({NEW}/README.md)" in (root / "README.md").read_text(encoding="utf-8")
    assert any(re.search(rf"chart: (?:\w+, )*{NEW}\.", sentence) for sentence in recorded.missing(root))
    results = load(root / data.RESULTS)
    tables.update(root, "table")
    assert f"*{NEW} is not recorded yet" in (root / NEW / "README.md").read_text(encoding="utf-8")
    results["lessons"][NEW] = results["lessons"][LIKE]
    results["runs"] += [{**run, "lesson": NEW} for run in results["runs"] if run["lesson"] == LIKE]
    (root / data.RESULTS).write_text(json.dumps(results), encoding="utf-8")
    changed = tables.update(root, "table")
    assert {root / "plots" / "README.md", root / NEW / "README.md"} <= set(changed)
    assert f"| **{NEW}** |" in (root / NEW / "README.md").read_text(encoding="utf-8")
    results = data.published(root)
    fp32 = data.ladders(results, lessons(root))[0]
    for table in (fp32.progression, fp32.sweep):
        text = tables.render(table, results, lessons(root))
        assert text in (root / "plots" / "README.md").read_text(encoding="utf-8")
        assert text.count(f"\n| {NEW} |") == text.count(f"\n| {LIKE} |") > 0
    texts = svg_texts(progression.draw(results, tmp_path / "chart", fp32.lessons, fp32.variant)[1])
    assert NEW in texts


def with_this_build(root: Path) -> list[str]:
    """Gives the copy this checkout's build. Returns what a command begins with that sees the copy in this place, where the
    build's paths are right: then little is compiled. Nothing where no such view can be had: then all is."""
    own = Path(sys.prefix)
    venv = ["--bind", str(own), str(own)] if REPOSITORY in own.parents else []  # which the copy has not
    view = ["bwrap", "--dev-bind", "/", "/", "--bind", str(root), str(REPOSITORY), *venv, "--chdir", str(REPOSITORY)]
    if not shutil.which("bwrap") or subprocess.run([*view, "true"], capture_output=True).returncode:
        return []
    toolchain()
    with alone("build"):
        shutil.copytree(REPOSITORY / "build" / "cpu", root / "build" / "cpu", symlinks=True)
    (root / "CMakeLists.txt").touch()  # which is another one than this build's
    return view


if whole_families():  # it builds two lessons, and links what all share with them: half a minute

    @pytest.mark.long
    def test_a_new_lesson_is_built_tested_charted_drawn_and_checked(tmp_path: Path) -> None:
        root = add_lesson(tmp_path / "gemm", only=LIKE)
        (root / "plots" / "results" / "h200.json").unlink()  # of the other lessons; tables of it are above
        view = with_this_build(root)
        env = {**os.environ, "GEMM_DEVICE": "cpu", "GEMM_NO_INSTALL": "1", "GEMM_TEST_ALL": "0"}
        env["PYTHONPATH"] = str(REPOSITORY if view else root)

        def run(module: str, *arguments: str) -> str:
            command = [*view, sys.executable, "-m", module, *arguments]
            done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=PATIENCE)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        assert f"plots/pictures/{NEW}.png" in run("plots")
        assert any(text.startswith(f"{NEW}: ") for text in svg_texts(root / "plots" / "pictures" / f"{NEW}.svg"))
        run("runner", "inspect", "--record")
        told = json.loads(run("runner", "test", "--lesson", NEW, "--json"))
        assert told["failed"] == 0 and told["ctest"]["passed"] >= 2 and told["pytest"]["passed"] >= 10, told
        charted = json.loads(run("runner", "chart", "--sizes", "64,33x17x9", "--json"))
        assert {run["lesson"] for run in charted["runs"]} == {LIKE, NEW}
        assert NEW in svg_texts(root / "out" / "verification.svg")
