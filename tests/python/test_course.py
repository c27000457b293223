"""./gemm hint, reset and progress, and the file that remembers."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
from datetime import datetime
from pathlib import Path

import pytest
from approvals import hold
from conftest import REPOSITORY, Checkout
from course_synthetic import make_course
from exercise_synthetic import EXERCISE, KERNEL, with_exercises

from runner.core.results import UserError
from runner.learn import course, exercise, progress
from runner.learn.exercise import Task, _module, tasks

NOON = datetime(2026, 11, 20, 12, 0, 5)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A course without a runner."""
    (tmp_path / "CMakeLists.txt").write_text("gemm_lesson(01_naive)\ngemm_lesson(02_coalesced)\n")
    for lesson in ("01_naive", "02_coalesced"):
        (tmp_path / lesson).mkdir()
    with_exercises(tmp_path)
    return tmp_path


@pytest.fixture
def taught(checkout: Checkout) -> Checkout:
    """A checkout with exercises, all at their start."""
    with_exercises(checkout.root)
    for task in tasks(checkout.root):
        task.file.write_text(task.starter())
    return checkout


def said(checkout: Checkout, *arguments: str) -> str:
    done = checkout.run(*arguments, status=0)
    assert not done.stderr
    return done.stdout


def transcript(checkout: Checkout, *commands: str) -> str:
    """What they say, one after another."""
    return "".join(f"$ ./gemm {command}\n{said(checkout, *command.split())}" for command in commands)


# The state


def test_what_a_file_is(root: Path) -> None:
    task = Task("02_coalesced", "hunt", root)
    assert progress.state_of(task) == "not begun"  # there is no file
    task.file.write_text(task.starter())
    assert progress.state_of(task) == "not begun"
    task.file.write_bytes(task.starter().replace("\n", "\r\n").encode())
    assert progress.state_of(task) == "not begun"
    task.file.write_text("mine\n")
    assert progress.state_of(task) == "begun"
    progress.passed(task, "mine\n", NOON)
    assert progress.state_of(task) == "passed"
    task.file.write_bytes(b"mine\r\n")  # an editor's line ends
    assert progress.state_of(task) == "passed"
    task.file.write_bytes(b"mine \xff\n")
    assert progress.state_of(task) == "changed since it passed"
    progress.passed(task)
    assert progress.state_of(task) == "passed"
    task.file.write_text(task.starter())
    assert progress.state_of(task) == "not begun"
    assert progress.load(root).passed(task)
    assert not progress.load(root).passed(Task("02_coalesced", "exercise", root))


def test_what_the_file_holds(root: Path) -> None:
    task = Task("01_naive", "exercise", root)
    assert progress.load(root).hints(task) == 0
    assert not (root / progress.NAME).exists()  # reading writes nothing
    progress.passed(task, "text\n", NOON)
    progress.hint_shown(task, 2)
    progress.hint_shown(task, 1)
    assert progress.quiz_taken("01_naive", 4, 5, 7, NOON, root).best["right"] == 4
    best = {"right": 4, "of": 5, "date": "2026-11-20T12:00:05", "seed": 7}
    for right, of in ((3, 5), (4, 5), (0, 1), (0, 0)):
        assert progress.quiz_taken("01_naive", right, of, 8, root=root).best == best
    entry = {"passed": "2026-11-20T12:00:05", "sha256": hashlib.sha256(b"text\n").hexdigest(), "hints": 2, "helped": 0,
             "code": hashlib.sha256(b"text").hexdigest(), "versions": 1}  # fmt: skip
    earned = {"first_kernel": "2026-11-20T12:00:05", "unaided": "2026-11-20T12:00:05"}
    expected = {"schema": 1, "tasks": {"01_naive/exercise": entry}, "quizzes": {"01_naive": best}, "achievements": earned}
    assert json.loads((root / progress.NAME).read_text()) == {**expected, "standing": progress.standing(root)}
    assert progress.quiz_taken("01_naive", 1, 1, 9, NOON, root).best == {**best, "right": 1, "of": 1, "seed": 9}
    assert sorted(path.name for path in root.glob(".*")) == [progress.NAME, progress.NAME + ".lock"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b'{"schema": 2, "tasks": {}, "quizzes": {}}',
        b'{"tasks": {}, "quizzes": {}}',
        b'{"schema": 1}',
        b'{"schema": 1, "tasks": [], "quizzes": {}}',
        b'{"schema": 1, "tasks": {"a": 1}, "quizzes": {}}',
        b'{"schema": 1, "tasks": {"a": {"hints": "2"}}, "quizzes": {}}',
        b'{"schema": 1, "tasks": {"a": {"hints": true}}, "quizzes": {}}',
        b'{"schema": 1, "tasks": {"a": {"passed": 3}}, "quizzes": {}}',
        b'{"schema": 1, "tasks": {"a": {"versions": -1}}, "quizzes": {}}',
        b'{"schema": 1, "tasks": {"a": {"over_lesson": "1.1"}}, "quizzes": {}}',
        b'{"schema": 1, "tasks": {}, "quizzes": {"a": {"right": 1}}}',
        b'{"schema": 1, "tasks": {}, "quizzes": {}, "achievements": ["first_kernel"]}',
        b'{"schema": 1, "tasks": {}, "quizzes": {}, "achievements": {"first_kernel": 1}}',
    ],
)
def test_a_file_of_no_use_is_left_alone(root: Path, content: bytes) -> None:
    file, task = root / progress.NAME, Task("01_naive", "exercise", root)
    file.write_bytes(content)
    for use in (
        lambda: progress.load(root),
        lambda: progress.standing(root),
        lambda: progress.hint_shown(task, 1),
        lambda: progress.passed(task, "int a;"),
        lambda: progress.quiz_taken("01_naive", 5, 5, 1, root=root),
    ):
        with pytest.raises(UserError, match=re.escape(f"{file}")):
            use()
    assert file.read_bytes() == content


def test_commands_name_a_file_of_no_use(taught: Checkout) -> None:
    (taught.root / progress.NAME).write_bytes(b"garbage")
    for command in (("progress",), ("progress", "--json"), ("hint", "01")):
        taught.fails(*command, words=(progress.NAME, "move it away"))
    said(taught, "reset", "01")  # which needs no progress
    (taught.root / progress.NAME).unlink()
    (taught.root / progress.NAME).mkdir()
    taught.fails("progress", words=(progress.NAME, "Is a directory"))


def test_what_follows(root: Path) -> None:
    first, second, hunt = (
        Task("01_naive", "exercise", root),
        Task("02_coalesced", "exercise", root),
        Task("02_coalesced", "hunt", root),
    )

    def following(after: Task | None = None) -> Task | None:
        return progress.following(progress.load(root), after, root)

    assert [following(), following(first), following(second), following(hunt)] == [first, second, hunt, first]
    progress.passed(second, "")
    assert [following(first), following(second), following(hunt)] == [hunt, hunt, first]
    progress.passed(first, "")
    assert [following(), following(hunt)] == [hunt, None]
    progress.passed(hunt, "")
    assert following() is None


# Hints


def test_hints_come_one_at_a_time(taught: Checkout) -> None:
    first = transcript(
        taught, "hint 01", "hint 01_naive --level 1", "hint 1", "hint 01", "hint 01", "hint 01 --level 2", "hint 01",
        "hint 02 --hunt --level 2", "hint 02 --hunt", "hint 02",
    )  # fmt: skip
    (taught.root / "exercises" / "02_coalesced" / "exercise.cu").write_text("mine\n")
    said(taught, "reset", "02")
    again = transcript(taught, "hint 02")  # goes on
    taught.env["COLUMNS"] = "20"
    hold("course", {"hints": first + again, "a hint in 20 columns": transcript(taught, "hint 01")})


@pytest.mark.parametrize("level", ["0", "4", "-1", "one", "", "1.0"])
def test_levels_that_are_none(level: str) -> None:
    with pytest.raises(UserError, match=f"--level .* {level!r}"):
        course.hint("01", False, level)


@pytest.mark.parametrize("command", ["hint", "reset", "start"])
def test_tasks_that_are_none(taught: Checkout, command: str) -> None:
    taught.fails(command, "7", words=("There is no lesson '7'", "01_naive, 02_coalesced"))
    taught.fails(command, "01", "--hunt", words=("01_naive has no bug hunt",))
    taught.fails(command, words=("LESSON",))


# Start and reset


def test_start_writes_the_file_once(taught: Checkout) -> None:
    file = taught.root / "exercises" / "01_naive" / "exercise.cu"
    start = file.read_text()
    file.unlink()
    file.parent.rmdir()
    written = transcript(taught, "start 01")
    assert file.read_text() == start
    file.write_text("mine\n")
    there = transcript(taught, "start 1")
    assert file.read_text() == "mine\n"
    (taught.root / "exercises" / "02_coalesced" / "bug_hunt.cu").unlink()
    hold("course", {"start": written + there + transcript(taught, "start 02 --hunt")})


def test_a_lesson_that_had_another_name_is_found_by_it_with_what_was_done(taught: Checkout) -> None:
    lines = (taught.root / "CMakeLists.txt").read_text()
    (taught.root / "CMakeLists.txt").write_text(
        lines.replace("gemm_lesson(02_coalesced", "gemm_lesson(02_coalesced FORMERLY 03_whole")
    )
    now, former = taught.root / "exercises" / "02_coalesced", taught.root / "exercises" / "03_whole"
    now.rename(former)
    (taught.root / "02_coalesced" / "exercise.cu").write_text("mine\n")  # where submissions may have it
    entry = {"passed": "2026-11-20T14:03:00", "sha256": "0", "hints": 2, "helped": 2}
    quiz = {"right": 4, "of": 5, "date": "2026-11-20T14:10:00", "seed": 7}
    written = {"schema": 1, "tasks": {"03_whole/exercise": entry}, "quizzes": {"03_whole": quiz}}
    (taught.root / ".progress.json").write_text(json.dumps(written))
    state = progress.load(taught.root)
    assert state.passed(Task("02_coalesced", "exercise", taught.root)) == entry["passed"]
    assert state.quiz("02_coalesced") == quiz
    done = taught.run("start", "03_whole", status=0)
    assert "03_whole is called 02_coalesced now." in done.stderr
    for old in ("exercises/03_whole/exercise.cu", "02_coalesced/exercise.cu"):
        assert f"{old} is of an earlier version of this lesson" in done.stdout
    assert (now / "exercise.cu").is_file() and (former / "exercise.cu").is_file()
    progress.hint_shown(Task("02_coalesced", "exercise", taught.root), 3)  # what is written from then on has the name of now
    assert list(json.loads((taught.root / ".progress.json").read_text())["tasks"]) == ["02_coalesced/exercise"]


def test_a_whole_course_leaves_git_status_clean(taught: Checkout) -> None:
    shutil.rmtree(taught.root / "exercises")
    taught.commit()
    (taught.root / ".gitignore").write_text((REPOSITORY / ".gitignore").read_text())
    taught.git("commit", "-qam", "what is ignored")
    for arguments in (("start", "01"), ("start", "02", "--hunt"), ("hint", "01"), ("progress",)):
        said(taught, *arguments)
    (taught.root / "exercises" / "01_naive" / "exercise.cu").write_text("mine\n")
    said(taught, "reset", "01")
    progress.passed(Task("01_naive", "exercise", taught.root), "mine\n")
    assert taught.git("status", "--porcelain") == ""


def test_reset_keeps_every_version(taught: Checkout) -> None:
    folder = taught.root / "exercises" / "02_coalesced"
    file = folder / "bug_hunt.cu"
    start = file.read_text()
    told = transcript(taught, "reset 02 --hunt")
    (folder / "bug_hunt.2.cu").write_text("older\n")
    for number, content in ((1, b"first\r\n\xff"), (3, b""), (4, b"fourth\n")):
        file.write_bytes(content)
        told += transcript(taught, "reset 02 --hunt")
        assert (folder / f"bug_hunt.{number}.cu").read_bytes() == content
        assert file.read_text() == start
    assert (folder / "bug_hunt.2.cu").read_text() == "older\n"
    file.unlink()
    hold("course", {"reset": told + transcript(taught, "reset 02 --hunt")})
    assert file.read_text() == start
    names = ["bug_hunt.1.cu", "bug_hunt.2.cu", "bug_hunt.3.cu", "bug_hunt.4.cu", "bug_hunt.cu"]
    assert sorted(path.name for path in folder.glob("*bug_hunt*")) == names


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_reset_where_files_have_one_name_only(root: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def link(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", link)
    file = root / "exercises" / "01_naive" / "exercise.cu"
    file.write_text("mine\n")
    (root / "exercises" / "01_naive" / "exercise.1.cu").touch()
    assert course._keep(file) == root / "exercises" / "01_naive" / "exercise.2.cu"
    assert (root / "exercises" / "01_naive" / "exercise.2.cu").read_text() == "mine\n"
    assert (root / "exercises" / "01_naive" / "exercise.1.cu").read_text() == ""


def test_reset_that_cannot_write_changes_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = root / "exercises" / "01_naive" / "exercise.cu"
    file.write_text("mine\n")

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def full(path: Path, _: str) -> None:
        raise UserError(f"{path} cannot be written.")

    monkeypatch.setattr(course, "find", lambda name, hunt: Task("01_naive", "exercise", root))
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", refuse)
        with pytest.raises(UserError, match=os.strerror(errno.EROFS)):
            course.reset("01", False)
    monkeypatch.setattr(course, "write_atomically", full)
    with pytest.raises(UserError, match="cannot be written"):
        course.reset("01", False)
    assert [path.name for path in (root / "exercises" / "01_naive").glob("*exercise*.cu")] == ["exercise.cu"]
    assert file.read_text() == "mine\n"


def test_a_kernel_without_its_gaps_is_named(taught: Checkout) -> None:
    (taught.root / "01_naive" / "kernel.cu").write_text('// x\nnamespace lesson_01 {}  // "01_naive"\n')
    taught.fails("reset", "01", words=("exercise 01", "git checkout 01_naive/kernel.cu"))


def test_starters_and_start_name_the_explorer(taught: Checkout) -> None:
    first, _, hunt = tasks(taught.root)
    assert "./gemm explore 01 --mine" in first.starter()
    assert "./gemm explore 02 --hunt" in hunt.starter()
    assert "./gemm explore 02 --hunt" in said(taught, "start", "02", "--hunt")


# Progress


def test_progress(taught: Checkout) -> None:
    fresh = transcript(taught, "progress --no-achievements")
    first, second, hunt = tasks(taught.root)
    first.file.write_text("mine\n")
    progress.passed(first, "mine\n", NOON)
    second.file.write_text("mine\n")
    progress.passed(hunt, "mine\n", NOON)  # and reset since
    progress.quiz_taken("02_coalesced", 4, 5, 7, root=taught.root)
    begun = transcript(taught, "progress --no-achievements")
    found = json.loads(said(taught, "progress", "--json"))
    assert found["tasks"] == {"passed": 2, "of": 3}
    assert found["quizzes"] == {"taken": 1, "of": 2}
    assert found["next"] == "./gemm watch 02"
    assert found["lessons"][0] == {
        "lesson": "01_naive",
        "exercise": {"file": "exercises/01_naive/exercise.cu", "state": "passed", "passed": "2026-11-20T12:00:05", "hints": 0},
        "hunt": None,
        "quiz": None,
        "points": {"points": 10, "of": 11},
    }
    assert found["lessons"][1]["quiz"]["seed"] == 7
    first.file.write_text("more\n")
    progress.passed(second, "mine\n", NOON)
    passed = transcript(taught, "progress --no-achievements")
    progress.quiz_taken("01_naive", 0, 5, 7, root=taught.root)
    hold("course", {"progress": fresh + begun + passed + transcript(taught, "progress --no-achievements")})
    assert json.loads(said(taught, "progress", "--json"))["next"] is None


def test_a_bar_a_part_and_next_is_what_follows_the_last_pass(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_course(checkout.root)
    every = exercise.tasks(checkout.root)
    later = {task.key: task for task in every}["02_coalesced/hunt"]
    progress.passed(every[0], "a\n", NOON)
    progress.passed(later, "b\n", NOON)
    found = json.loads(said(checkout, "progress", "--json"))
    assert found["next"] == "./gemm watch 03"  # not 02, whose exercise was left out
    bars = said(checkout, "progress", "--no-achievements").splitlines()[:2]
    assert [bar.split("  ")[0] for bar in bars] == ["Part 1: FP32, any GPU", "Part 2: Tensor cores"]
    assert [(bar.count("█"), bar.count("░")) for bar in bars] == [(13, 7), (0, 20)]
    assert bars[0].endswith("2 of 3 tasks")


def test_a_step_of_a_folder_has_its_files_under_its_name(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text("gemm_lesson(09a_wmma 09_tensorcore/a_wmma)\n")
    folder = tmp_path / "09_tensorcore" / "a_wmma"
    folder.mkdir(parents=True)
    (folder / "kernel.cu").write_text(KERNEL.format(number="09a", lesson="09a_wmma"))
    hunt = 'Hunt("find it.", {"int right;": "int wrong;"}, HINTS, "out of bounds")'
    (folder / "exercise.py").write_text(EXERCISE.format(number="09a", hunt=hunt))
    first, second = tasks(tmp_path)
    mine = tmp_path / "exercises" / "09a_wmma"
    assert (first.file, second.file) == (mine / "exercise.cu", mine / "bug_hunt.cu")
    assert (first.former, second.former) == (folder / "exercise.cu", folder / "bug_hunt.cu")
    assert (first.number, first.namespace, first.title, first.key) == ("09a", "exercise_09a", "exercise 09a", "09a_wmma/exercise")
    assert second.argument == "09a --hunt"
    assert first.starter().startswith("// Exercise 09a wmma: write it.\n")
    assert "namespace exercise_09a {" in first.starter()
    assert '"exercise 09a"' in first.starter()
    assert "int wrong;" in second.starter()
    (folder / "exercise.py").unlink()
    _module.cache_clear()
    with pytest.raises(UserError, match="^09_tensorcore/a_wmma/exercise.py "):
        tasks(tmp_path)
