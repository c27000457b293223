"""./gemm hint, reset and progress, and the file that remembers."""

from __future__ import annotations

import errno
import hashlib
import json
import multiprocessing
import os
import re
import shutil
from datetime import datetime
from pathlib import Path

import pytest
from conftest import REPOSITORY, Checkout, drawn
from exercise_synthetic import EXERCISE, KERNEL, with_exercises

from runner.core.results import UserError
from runner.learn import course, progress
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
    for task in (Task("01_naive", "exercise"), Task("02_coalesced", "exercise"), Task("02_coalesced", "hunt")):
        there = Task(task.lesson, task.kind, checkout.root)
        there.file.write_text(there.starter())
    return checkout


def said(checkout: Checkout, *arguments: str) -> str:
    done = checkout.run(*arguments)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


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
    assert json.loads((root / progress.NAME).read_text()) == expected
    assert progress.quiz_taken("01_naive", 1, 1, 9, NOON, root).best == {**best, "right": 1, "of": 1, "seed": 9}
    assert sorted(path.name for path in root.glob(".*")) == [progress.NAME, progress.NAME + ".lock"]


def test_unknown_keys_are_kept(root: Path) -> None:
    raw = {"schema": 1, "tasks": {"09_x/exercise": {"a": 1}}, "quizzes": {}, "later": ["\ud800", 1.5]}
    (root / progress.NAME).write_text(json.dumps(raw))
    progress.hint_shown(Task("01_naive", "exercise", root), 1)
    raw["tasks"]["01_naive/exercise"] = {"hints": 1}
    assert json.loads((root / progress.NAME).read_text()) == raw


@pytest.mark.parametrize(
    "content",
    drawn(
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
        4,
    ),
)
def test_a_file_of_no_use_is_left_alone(taught: Checkout, content: bytes) -> None:
    file = taught.root / progress.NAME
    file.write_bytes(content)
    for command in (("progress",), ("progress", "--json"), ("hint", "01")):
        taught.fails(*command, words=(str(file), "move it away"))
    task = Task("01_naive", "exercise", taught.root)
    with pytest.raises(UserError, match="move it away"):
        progress.passed(task)
    with pytest.raises(UserError, match="move it away"):
        progress.quiz_taken("01_naive", 5, 5, 1, root=taught.root)
    assert file.read_bytes() == content
    said(taught, "reset", "01")  # which needs no progress


def test_a_folder_in_the_place_of_the_file(taught: Checkout) -> None:
    (taught.root / progress.NAME).mkdir()
    taught.fails("progress", words=(progress.NAME, "Is a directory"))


def _write(root: Path, number: int) -> None:
    task = Task(f"{number:02}_x", "exercise", root)
    for level in (1, 2, 3):
        progress.hint_shown(task, level)
    progress.passed(task, str(number))


def test_many_write_at_once(root: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(root, number)) for number in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    state = progress.load(root)
    for number in range(6):
        task = Task(f"{number:02}_x", "exercise", root)
        assert state.hints(task) == 3
        assert state.sha256(task) == progress.digest(str(number))


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
    assert said(taught, "hint", "01") == "Hint 1 of 3: Look at row 01.\n"
    assert said(taught, "hint", "01_naive", "--level", "1") == "Hint 1 of 3: Look at row 01.\n"
    assert said(taught, "hint", "1") == "Hint 2 of 3: Look at\n    C[row];\n"
    for _ in range(2):
        assert said(taught, "hint", "01") == "Hint 3 of 3: Write C[row].\nThis is the last hint.\n"
    assert said(taught, "hint", "01", "--level", "2").startswith("Hint 2 of 3: ")
    assert said(taught, "hint", "01").startswith("Hint 3 of 3: ")
    assert said(taught, "hint", "02", "--hunt", "--level", "2").startswith("Hint 2 of 3: ")
    assert said(taught, "hint", "02", "--hunt").startswith("Hint 3 of 3: ")
    assert said(taught, "hint", "02").startswith("Hint 1 of 3: ")  # its exercise is another task
    (taught.root / "exercises" / "02_coalesced" / "exercise.cu").write_text("mine\n")
    said(taught, "reset", "02")
    assert said(taught, "hint", "02").startswith("Hint 2 of 3: ")
    taught.env["COLUMNS"] = "20"
    assert said(taught, "hint", "01") == "Hint 3 of 3: Write\nC[row].\nThis is the last\nhint.\n"


@pytest.mark.parametrize("level", ["0", "4", "-1", "one", "", "1.0"])
def test_levels_that_are_none(taught: Checkout, level: str) -> None:
    taught.fails("hint", "01", "--level", level, words=("--level must be 1, 2 or 3", repr(level)))


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
    assert said(taught, "start", "01") == "Written: exercises/01_naive/exercise.cu, the start of exercise 01.\n"
    assert file.read_text() == start
    file.write_text("mine\n")
    there = "exercises/01_naive/exercise.cu is there already; ./gemm reset 01 begins it again.\n"
    assert said(taught, "start", "1") == there
    assert file.read_text() == "mine\n"
    (taught.root / "exercises" / "02_coalesced" / "bug_hunt.cu").unlink()
    assert "bug hunt 02" in said(taught, "start", "02", "--hunt")


def test_what_was_written_beside_the_kernel_is_carried_over(taught: Checkout) -> None:
    former = taught.root / "01_naive" / "exercise.cu"
    file = taught.root / "exercises" / "01_naive" / "exercise.cu"
    start = file.read_text()
    former.write_bytes(b"mine \xff\r\n")
    assert said(taught, "start", "01").startswith("exercises/01_naive/exercise.cu is there already")  # nothing is overwritten
    assert file.read_text() == start
    file.unlink()
    assert said(taught, "start", "01") == (
        "Your 01_naive/exercise.cu was copied to exercises/01_naive/exercise.cu: what you write has a folder of its own now. "
        "The old file stays as it is and is not read any more.\n"
    )
    assert file.read_bytes() == former.read_bytes() == b"mine \xff\r\n"
    file.unlink()
    former.write_text(start)  # nobody has written anything there
    assert said(taught, "start", "01").startswith("Written: ")


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
    assert said(taught, "reset", "02", "--hunt") == (
        "exercises/02_coalesced/bug_hunt.cu is the start already; there is nothing to reset.\n"
    )
    (folder / "bug_hunt.2.cu").write_text("older\n")
    for number, content in ((1, b"first\r\n\xff"), (3, b""), (4, b"fourth\n")):
        file.write_bytes(content)
        assert said(taught, "reset", "02", "--hunt") == (
            f"Your version is now exercises/02_coalesced/bug_hunt.{number}.cu; "
            "exercises/02_coalesced/bug_hunt.cu is the start again.\n"
        )
        assert (folder / f"bug_hunt.{number}.cu").read_bytes() == content
        assert file.read_text() == start
    assert (folder / "bug_hunt.2.cu").read_text() == "older\n"
    file.unlink()
    assert said(taught, "reset", "02", "--hunt") == "Written: exercises/02_coalesced/bug_hunt.cu, the start of bug hunt 02.\n"
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
        with pytest.raises(UserError, match="Read-only file system; nothing was changed"):
            course.reset("01", False)
    monkeypatch.setattr(course, "write_atomically", full)
    with pytest.raises(UserError, match="cannot be written"):
        course.reset("01", False)
    assert [path.name for path in (root / "exercises" / "01_naive").glob("*exercise*.cu")] == ["exercise.cu"]
    assert file.read_text() == "mine\n"


def test_a_kernel_without_its_gaps_is_named(taught: Checkout) -> None:
    (taught.root / "01_naive" / "kernel.cu").write_text('// x\nnamespace lesson_01 {}  // "01_naive"\n')
    taught.fails("reset", "01", words=("exercise 01", "git checkout 01_naive/kernel.cu"))


# Progress


def rows(shown: str) -> list[list[str]]:
    """Of the first table, less its points."""
    table = shown.split("\n\n")[0].splitlines()
    return [re.split(" {2,}", line.strip())[:4] for line in table[2:]]


def test_progress(taught: Checkout) -> None:
    fresh = said(taught, "progress")
    assert rows(fresh) == [["01_naive", "not begun", "–", "not taken"], ["02_coalesced", "not begun", "not begun", "not taken"]]
    assert fresh.splitlines()[-1] == "0 of 3 tasks passed, 0 of 2 quizzes taken. Next: ./gemm watch 01"
    first, second, hunt = (
        Task(lesson, kind, taught.root)
        for lesson, kind in (("01_naive", "exercise"), ("02_coalesced", "exercise"), ("02_coalesced", "hunt"))
    )
    first.file.write_text("mine\n")
    progress.passed(first, "mine\n", NOON)
    second.file.write_text("mine\n")
    progress.passed(hunt, "mine\n", NOON)  # and reset since
    progress.quiz_taken("02_coalesced", 4, 5, 7, root=taught.root)
    shown = said(taught, "progress")
    assert rows(shown) == [
        ["01_naive", "passed 2026-11-20", "–", "not taken"],
        ["02_coalesced", "begun", "passed, then reset", "4 of 5"],
    ]
    assert shown.splitlines()[-1] == "2 of 3 tasks passed, 1 of 2 quizzes taken. Next: ./gemm watch 02"
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
    progress.passed(second, "mine\n")
    shown = said(taught, "progress")
    assert rows(shown)[0][1] == "passed, then changed"
    assert shown.splitlines()[-1] == "3 of 3 tasks passed, 1 of 2 quizzes taken. Next: ./gemm quiz 01"
    progress.quiz_taken("01_naive", 0, 5, 7, root=taught.root)
    assert said(taught, "progress").splitlines()[-1] == "3 of 3 tasks passed, 2 of 2 quizzes taken. Everything is done."
    assert json.loads(said(taught, "progress", "--json"))["next"] is None


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
    with pytest.raises(UserError, match="^09_tensorcore/a_wmma/exercise.py is missing"):
        tasks(tmp_path)
