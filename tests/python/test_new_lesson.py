"""A lesson is a folder and a line: a throw-away one, added to a copy of this checkout, is built, tested, charted, drawn and
checked like the others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import PATIENCE, REPOSITORY, copy_of_checkout, descriptors, whole_families
from plots_synthetic import svg_texts

from plots import data, pictures, progression, tables
from runner.core import doctor
from runner.core.results import lessons, load
from runner.learn import exercise

NEW, LIKE = "98_again", "02_coalesced"


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
    assert f"{NEW}: what one warp needs" in svg_texts(pictures.draw(root, described, tmp_path / "picture")[1])

    results = load(root / "plots" / "results" / "h200.json")
    results["lessons"][NEW] = results["lessons"][LIKE]
    results["runs"] += [{**run, "lesson": NEW} for run in results["runs"] if run["lesson"] == LIKE]
    changed = tables.update_markdown(root, results)
    assert {root / "plots" / "README.md", root / NEW / "README.md"} <= set(changed)
    assert f"| **{NEW}** |" in (root / NEW / "README.md").read_text(encoding="utf-8")
    fp32 = data.ladders(results, lessons(root))[0]
    for table in (fp32.progression, fp32.sweep):
        text = tables.render(table, results, lessons(root))
        assert text in (root / "plots" / "README.md").read_text(encoding="utf-8")
        assert text.count(f"\n| {NEW} |") == text.count(f"\n| {LIKE} |") > 0
    texts = svg_texts(progression.draw(results, tmp_path / "chart", fp32.lessons, fp32.variant)[1])
    assert NEW in texts


if whole_families():  # it builds what all lessons share, and two of them: a minute

    def test_a_new_lesson_is_configured_and_its_tests_are_discovered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = add_lesson(tmp_path / "gemm")
        monkeypatch.setenv("GEMM_NO_INSTALL", "1")
        tools = doctor.provide(doctor.Device("cpu", None, (), "kernels are checked on the CPU"))
        command = [tools.cmake, "--preset", "cpu", "-G", tools.generator, f"-DCMAKE_CXX_COMPILER={tools.cxx}"]
        subprocess.run(command, cwd=root, check=True, capture_output=True, timeout=PATIENCE)
        build = root / "build" / "cpu"
        command = [tools.cmake, "--build", build, "--target", "help"]
        targets = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
        assert {NEW, f"{NEW}_json"} <= set(re.findall(r"[\w-]+", targets))
        for generated in ("gemm_lessons", "gemm_traced_lessons"):
            assert f"&lesson_{NEW[:2]}::lesson" in (build / "generated" / f"{generated}.cpp").read_text()

        made = [build / "build.ninja", build / "tests" / "CMakeFiles" / "gemm_tests.dir" / "build.make"]
        found = re.search(r"-DLESSONS=([\w;\\]+)", next(file for file in made if file.exists()).read_text())
        assert found
        program, cases = tmp_path / "cases", tmp_path / "cases.cmake"
        program.write_text('#!/bin/sh\n[ "$1" = "[lesson]~[long]~[alone]" ] && echo "right on edge shapes"\nexit 0\n')
        program.chmod(0o755)
        options = [f"-DPROGRAM={program}", "-DCATCH=3", f"-DLESSONS={found[1].replace(chr(92), '')}", f"-DOUTPUT={cases}"]
        subprocess.run([tools.cmake, *options, "-P", root / "tests" / "discover.cmake"], check=True, timeout=PATIENCE)
        assert f"add_test([==[{NEW}/right on edge shapes]==]" in cases.read_text()

    @pytest.mark.long
    def test_a_new_lesson_is_built_charted_drawn_and_checked(tmp_path: Path) -> None:
        root = add_lesson(tmp_path / "gemm", only="03_smem")  # which the tests' CMakeLists.txt names
        (root / "plots" / "results" / "h200.json").unlink()  # of the other lessons; tables of it are above
        presets = root / "CMakePresets.json"  # which compile sooner where nothing is optimised
        presets.write_text(presets.read_text(encoding="utf-8").replace('"Release"', '"None"'), encoding="utf-8")
        env = {**os.environ, "GEMM_DEVICE": "cpu", "GEMM_NO_INSTALL": "1", "PYTHONPATH": str(root)}

        def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", module, *arguments]
            return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=PATIENCE)

        done = run("runner", "chart", "--sizes", "64,33x17x9")
        assert done.returncode == 0, done.stderr
        assert re.search(rf"^\s*{NEW} +ok [\d.e-]+ +ok [\d.e-]+ *$", done.stdout, re.MULTILINE), done.stdout
        assert "2 lessons verified" in done.stderr
        assert NEW in svg_texts(root / "out" / "verification.svg")

        done = run("plots")
        assert done.returncode == 0, done.stderr
        assert f"plots/pictures/{NEW}.png" in done.stdout
        assert f"{NEW}: what one warp needs" in svg_texts(root / "plots" / "pictures" / f"{NEW}.svg")

        task = exercise.Task(NEW, "exercise", root)
        task.file.parent.mkdir(parents=True)
        for text, status, word in ((task.starter(), 1, "NOT YET"), (task.solution(), 0, "PASSED")):
            task.file.write_text(text, encoding="utf-8")
            done = run("runner", "check", NEW)
            assert done.returncode == status, done.stdout + done.stderr
            assert f"{word}: exercise {NEW[:2]}" in done.stdout
