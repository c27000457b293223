"""Points, levels and achievements: when each is earned and when not, what is remembered, and what the commands say of them."""

from __future__ import annotations

import json
import multiprocessing
import shutil
from datetime import datetime
from pathlib import Path

import pytest
from approvals import hold
from conftest import Checkout, describe, results
from course_synthetic import LESSONS, QUESTIONS, make_course

from runner.core.descriptors import known
from runner.core.results import ROOT, UserError, lessons
from runner.learn import achievements, check, course, exercise, progress
from runner.learn.exercise import Hunt, Task

NOON = datetime(2026, 11, 20, 12, 0, 5)
TEN_TO_THREE = datetime(2026, 11, 20, 14, 50)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_course(tmp_path)
    return tmp_path


@pytest.fixture
def taught(checkout: Checkout) -> Checkout:
    make_course(checkout.root)
    return checkout


def task(root: Path, name: str) -> Task:
    """`02` is its exercise, `02 hunt` its bug hunt."""
    lesson = next(lesson for lesson in LESSONS if lesson.startswith(name[:2]))
    return Task(lesson, "hunt" if name.endswith("hunt") else "exercise", root)


Deed = tuple[str, ...]


def do(root: Path, deed: Deed, when: datetime | None = None) -> set[str]:
    """One of ("pass", task, text, times as fast), ("hint", task), ("quiz", lesson, right, of). The ids that it has earned."""
    kind, name, *more = deed
    if kind == "hint":
        progress.hint_shown(task(root, name), 1)
        return set()
    if kind == "quiz":
        right, of = map(int, more or (QUESTIONS, QUESTIONS))
        return {a["id"] for a in progress.quiz_taken(task(root, name).lesson, right, of, 1, when, root).earned}
    speed = progress.Speed(float(more[1]), "a GPU") if more[1:] else None
    return {a["id"] for a in progress.passed(task(root, name), more[0] if more else "int a;\n", when, speed)}


def standing(root: Path) -> achievements.Standing:
    return achievements.standing(progress.load(root).raw, root)


def earned(root: Path) -> set[str]:
    return achievements.earned(standing(root))


# What does not earn an achievement, in turn, and what then does.
EARNING: dict[str, tuple[list[Deed], Deed]] = {
    "first_kernel": ([("hint", "01"), ("pass", "02 hunt"), ("quiz", "01")], ("pass", "02")),
    "unaided": ([("hint", "01"), ("pass", "01"), ("pass", "01", "int b;"), ("pass", "02 hunt")], ("pass", "02")),
    "perfect_quiz": ([("quiz", "01", "1", "2"), ("quiz", "02", "0", "0"), ("pass", "01")], ("quiz", "01")),
    "whole_lesson": (
        [("quiz", "01"), ("pass", "02"), ("pass", "02 hunt"), ("quiz", "02", "1", "2"), ("quiz", "03")],
        ("quiz", "02"),
    ),
    "right_again": (
        [("pass", "01"), ("pass", "01", "int  a; // said\n\n"), ("pass", "02", "int b;"), ("pass", "02 hunt"),
         ("pass", "02 hunt", "int b;")],
        ("pass", "01", "int b;"),
    ),
    "first_race": ([("pass", "03"), ("pass", "02 hunt"), ("pass", "04 hunt")], ("pass", "03 hunt")),
    "tensor_cores": ([("pass", "01"), ("pass", "02"), ("pass", "03 hunt")], ("pass", "03")),
    "hopper": ([("pass", "01"), ("pass", "03"), ("pass", "04 hunt")], ("pass", "04")),
    "faster": (
        [("pass", "01"), ("pass", "01", "int a;", "1.049"), ("pass", "02 hunt", "int a;", "1.5")],
        ("pass", "01", "int a;", "1.05"),
    ),
    "whole_part": ([("pass", "01"), ("pass", "02"), ("pass", "03"), ("pass", "03 hunt"), ("pass", "04")], ("pass", "02 hunt")),
    "all_hunts": ([("pass", "02 hunt"), ("pass", "03 hunt"), ("pass", "04"), ("quiz", "04")], ("pass", "04 hunt")),
    "all_quizzes": ([("quiz", "01"), ("quiz", "02"), ("quiz", "03"), ("quiz", "04", "1", "2")], ("quiz", "04")),
}  # fmt: skip


@pytest.mark.parametrize("which", EARNING)
def test_it_is_earned_then_and_not_before(root: Path, which: str) -> None:
    before, last = EARNING[which]
    for deed in before:
        assert which not in do(root, deed)
        assert which not in earned(root), deed
    assert which in do(root, last, NOON)
    assert which in earned(root)
    assert progress.load(root).raw["achievements"][which] == "2026-11-20T12:00:05"
    assert do(root, last, TEN_TO_THREE) == set()  # once
    assert progress.load(root).raw["achievements"][which] == "2026-11-20T12:00:05"
    assert progress.load(root).raw["standing"] == standing(root)  # for the page


def test_there_is_a_case_for_each() -> None:
    assert list(achievements.ACHIEVEMENTS) == list(EARNING)
    assert len(EARNING) == 12
    assert all(len(title) <= 20 and len(how) <= 46 and how.endswith(".") for title, how in achievements.ACHIEVEMENTS.values())


def test_hints_after_a_task_has_passed_take_nothing_away(root: Path) -> None:
    do(root, ("pass", "01"))
    do(root, ("hint", "01"))
    entry = progress.load(root).raw["tasks"]["01_naive/exercise"]
    assert (entry["hints"], entry["helped"]) == (1, 0)
    assert "unaided" in earned(root)
    do(root, ("pass", "01", "int b;"))
    assert progress.load(root).raw["tasks"]["01_naive/exercise"]["helped"] == 0


def test_the_best_speed_is_kept(root: Path) -> None:
    for over in ("0.9", "1.2", "1.1"):
        do(root, ("pass", "01", "int a;", over))
    entry = progress.load(root).raw["tasks"]["01_naive/exercise"]
    assert (entry["over_lesson"], entry["gpu"], entry["versions"]) == (1.2, "a GPU", 1)


def test_points_and_levels(root: Path) -> None:
    assert (standing(root)["points"], standing(root)["of"]) == (0, 4 * 10 + 3 * 10 + 4 * QUESTIONS)
    do(root, ("pass", "01"))
    for level in (1, 2, 3):
        progress.hint_shown(task(root, "02"), level)
    assert standing(root)["points"] == 10  # hints cost nothing before a task passes
    do(root, ("pass", "02"))
    do(root, ("pass", "02 hunt"))
    do(root, ("quiz", "02", "1", "2"))
    do(root, ("quiz", "02", "0", "2"))  # the best counts
    assert [row["points"] for row in standing(root)["lessons"]] == [10, 4 + 10 + 1, 0, 0]
    assert [row["of"] for row in standing(root)["lessons"]] == [12, 22, 22, 22]
    assert (standing(root)["level"], standing(root)["name"], standing(root)["next"]) == (
        1,
        "thread",
        {"name": "warp", "points": 32},
    )
    do(root, ("pass", "03"))
    assert (standing(root)["points"], standing(root)["level"], standing(root)["name"]) == (35, 2, "warp")
    do(root, ("quiz", "03", "9", "9"))  # of more questions than there are now
    assert standing(root)["points"] == 35 + QUESTIONS


def done() -> dict:
    """A .progress.json of somebody who has done all that there is."""
    entry = {"passed": "2026-11-20T12:00:05", "sha256": "0", "helped": 0, "hints": 3, "versions": 2, "over_lesson": 1.06}
    quizzes = {name: len(exercise.content(name).quiz) for name in lessons()}
    return {
        "schema": 1,
        "tasks": {task.key: entry for task in exercise.tasks()},
        "quizzes": {name: {"right": questions, "of": questions} for name, questions in quizzes.items()},
    }


def test_everything_can_be_earned_in_this_course() -> None:
    everything = achievements.standing(done())
    thresholds = list(achievements.LEVELS.values())
    assert thresholds == sorted(set(thresholds)) and thresholds[0] == 0
    assert everything["points"] == everything["of"] >= thresholds[-1]
    assert everything["next"] is None
    assert [row["lesson"] for row in everything["lessons"]] == lessons()
    assert all(a["earned"] for a in everything["achievements"])
    assert not achievements.earned(achievements.standing({"tasks": {}, "quizzes": {}}))
    races = {task.number for task in exercise.tasks() if isinstance(task.spec, Hunt) and task.spec.race}
    assert {"07", "09e"} <= races
    assert "03" not in races  # reads past an edge


# What lessons are about


def test_what_is_known_of_a_lesson_without_a_build(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text("gemm_lesson(01_a)\ngemm_lesson(02_b)\ngemm_lesson(03_c)\n")
    assert known(tmp_path) == {}
    published = tmp_path / "plots" / "results" / "h200.json"
    published.parent.mkdir(parents=True)
    for name, part, variant in (("01_a", 1, {"from": 80}), ("02_b", 2, {"exactly": "90a"})):
        describe(tmp_path / "made", name, part=part, variants=[{"text": "bf16", "architectures": variant}])
    described = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "made" / "lessons").iterdir()}
    described["02_b"].pop("folder")  # as in the published results
    published.write_text(json.dumps({**results(), "lessons": {**described, "03_c": {"part": 3}}}))
    found = known(tmp_path)
    assert {name: (one.part, one.least_sm) for name, one in found.items()} == {"01_a": (1, 80), "02_b": (2, 90)}
    describe(tmp_path / "build" / "cpu", "02_b", part=7)  # this checkout's own is newer
    assert known(tmp_path)["02_b"].part == 7
    published.write_text("{")
    assert list(known(tmp_path)) == ["02_b"]


def test_a_lesson_of_no_known_part_may_belong_to_any(root: Path) -> None:
    (root / "build" / "cpu" / "lessons" / "03_tensor.json").unlink()
    for name in ("01", "02", "02 hunt"):
        do(root, ("pass", name))
    assert "whole_part" not in earned(root)
    do(root, ("pass", "03"))
    assert "tensor_cores" not in earned(root)
    assert "whole_part" in do(root, ("pass", "03 hunt"))


# The file


def test_what_an_older_version_wrote_counts_and_is_not_announced(root: Path) -> None:
    entry = {"passed": "2026-11-01T09:00:00", "sha256": progress.digest("int a;\n")}
    raw = {"schema": 1, "tasks": {"01_naive/exercise": entry, "02_coalesced/exercise": {**entry, "hints": 2}}, "quizzes": {}}
    (root / progress.NAME).write_text(json.dumps(raw))
    assert earned(root) == {"first_kernel", "unaided"}
    assert [row["points"] for row in standing(root)["lessons"]] == [10, 6, 0, 0]
    assert achievements.earned(progress.standing(root)) == {"first_kernel", "unaided"}
    assert progress.load(root).raw == {**raw, "standing": standing(root)}  # ./gemm progress has written it
    do(root, ("hint", "01"))
    assert "unaided" in earned(root)
    assert do(root, ("quiz", "01"), NOON) == {"perfect_quiz", "whole_lesson"}
    noted = progress.load(root).raw["achievements"]
    assert noted == {"first_kernel": None, "unaided": None, "perfect_quiz": NOON.isoformat(), "whole_lesson": NOON.isoformat()}
    assert do(root, ("pass", "01", "int b;")) == set()  # nobody knows what passed before
    assert do(root, ("pass", "01", "int c;")) == {"right_again"}


def test_what_was_earned_stays_when_the_course_grows(root: Path) -> None:
    for name in ("02 hunt", "03 hunt", "04 hunt"):
        do(root, ("pass", name), NOON)
    with (root / "CMakeLists.txt").open("a") as lists:
        lists.write("gemm_lesson(05_more)\n")
    shutil.copytree(root / "04_hopper", root / "05_more")
    (root / "05_more" / "kernel.cu").write_text("")
    found = next(a for a in standing(root)["achievements"] if a["id"] == "all_hunts")
    assert (found["earned"], found["date"], found["done"], found["of"]) == (True, NOON.isoformat(), 3, 4)


def test_unknown_keys_are_kept(root: Path) -> None:
    raw = {
        "schema": 1,
        "tasks": {"01_naive/exercise": {"hints": 1, "mood": "good"}, "99_gone/hunt": {"passed": "2026-11-01T09:00:00"}},
        "quizzes": {"99_gone": {"right": 1, "of": 5}},
        "achievements": {"walked_the_dog": "2026-11-01T09:00:00"},
        "later": ["\ud800", 1.5],
    }
    (root / progress.NAME).write_text(json.dumps(raw))
    do(root, ("pass", "01"), NOON)
    found = json.loads((root / progress.NAME).read_text())
    assert found["later"] == raw["later"]
    assert found["tasks"]["01_naive/exercise"]["mood"] == "good"
    assert found["tasks"]["99_gone/hunt"] == raw["tasks"]["99_gone/hunt"]  # type: ignore[index]
    assert found["quizzes"] == raw["quizzes"]
    assert found["achievements"] == {"walked_the_dog": "2026-11-01T09:00:00", "first_kernel": NOON.isoformat()}


def test_what_passes_is_remembered_where_another_lesson_is_damaged(root: Path) -> None:
    (root / "04_hopper" / "exercise.py").unlink()
    assert progress.passed(task(root, "01"), "int a;") == []
    assert progress.load(root).passed(task(root, "01"))


def _pass(root: Path, lesson: str) -> None:
    task = Task(lesson, "exercise", root)
    new = progress.passed(task, lesson)
    for level in (1, 2, 3):
        progress.hint_shown(task, level)
    (root / f"{lesson}.new").write_text(" ".join(a["id"] for a in new))


def test_of_many_that_write_at_once_nothing_is_lost_and_each_is_told_once(root: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_pass, args=(root, lesson)) for lesson in LESSONS]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    told = sorted(name for lesson in LESSONS for name in (root / f"{lesson}.new").read_text().split())
    assert told == ["first_kernel", "hopper", "tensor_cores", "unaided"]
    state = progress.load(root)
    assert sorted(state.raw["achievements"]) == told
    for lesson in LESSONS:
        task = Task(lesson, "exercise", root)
        assert (state.hints(task), state.sha256(task)) == (3, progress.digest(lesson))


# Off


def test_off_they_are_neither_told_nor_written_down(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(achievements.OFF, "0")
    assert do(root, ("pass", "01")) == do(root, ("quiz", "01")) == set()
    raw = progress.load(root).raw
    assert not raw.keys() & {"achievements", "standing"}
    assert raw["tasks"]["01_naive/exercise"]["versions"] == 1  # what happened is remembered
    monkeypatch.setenv(achievements.OFF, "1")
    assert do(root, ("pass", "01")) == set()  # nothing new
    assert progress.load(root).raw["achievements"] == dict.fromkeys(("first_kernel", "unaided", "perfect_quiz", "whole_lesson"))


# The commands


def test_progress_shows_them(taught: Checkout) -> None:
    do(taught.root, ("pass", "01"), NOON)
    do(taught.root, ("quiz", "01"), NOON)
    hold("progress", {"with achievements": taught.run("progress").stdout})
    found = json.loads(taught.run("progress", "--json").stdout)
    assert found["points"] == {"points": 12, "of": 78}
    assert found["level"] == {"level": 1, "name": "thread", "next": {"name": "warp", "points": 32}}
    assert found["lessons"][0]["points"] == {"points": 12, "of": 12}
    first = {"id": "first_kernel", "title": "Right at every shape", "how": "A kernel of yours is right at every shape."}
    assert found["achievements"][0] == {**first, "earned": True, "date": NOON.isoformat(), "done": 1, "of": 1}


@pytest.mark.parametrize("by", ["option", "environment"])
def test_progress_without_them(taught: Checkout, by: str) -> None:
    do(taught.root, ("pass", "01"), NOON)
    options = ["--no-achievements"] if by == "option" else []
    taught.env.update({} if options else {achievements.OFF: "0"})
    done = taught.run("progress", *options)
    assert (done.returncode, done.stderr) == (0, "")
    hold("progress", {"without achievements": done.stdout})
    found = json.loads(taught.run("progress", "--json", *options).stdout)
    assert not found.keys() & {"points", "level", "achievements"}
    assert "points" not in found["lessons"][0]


@pytest.mark.parametrize("standing", ["not begun", "begun", "passed", "changed since it passed"])
def test_progress_fits_80_columns(standing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    raw = done() if standing != "begun" else {"schema": 1, "tasks": {}, "quizzes": {}}
    monkeypatch.setattr(progress, "load", lambda root=ROOT: progress.State(raw))
    monkeypatch.setattr(progress, "standing", lambda: achievements.standing(raw))
    monkeypatch.setattr(progress, "state_of", lambda task, state=None: standing)
    assert course.show_progress(True, False) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert "12_warp_specialized" in shown
    assert "\x1b" not in shown


def test_a_quiz_says_once_what_it_has_earned(taught: Checkout) -> None:
    says = achievements.told([{"title": "Without a miss"}])  # type: ignore[typeddict-item]
    for typed, told in (("1\n3\n", False), ("1\n2\n", True), ("1\n2\n", False)):
        assert (says in taught.run("quiz", "01", typed=typed).stdout) == told
    (taught.root / progress.NAME).unlink()
    taught.env[achievements.OFF] = "0"
    assert says not in taught.run("quiz", "01", typed="1\n2\n").stdout
    (taught.root / progress.NAME).unlink()
    taught.env[achievements.OFF] = ""
    json.loads(taught.run("quiz", "01", "--json", typed="1\n2\n").stdout)  # one object and nothing else


def checked(monkeypatch: pytest.MonkeyPatch, root: Path, passes: bool, over_lesson: float | None = None) -> None:
    """./gemm check comes to this verdict, of tasks in `root`."""

    def examine(task: Task, name: str, text: str, seed: int | None, schedule: int) -> check.Report:
        report = check.Report(task, name, text, seed=3, stage="" if passes else "run", gpu="a GPU")
        if over_lesson is not None:
            report.speed = {"over_before": None, "over_lesson": over_lesson, "shape": "2048", "before": "", "reasons": []}
        return report

    monkeypatch.setattr(check, "examine", examine)
    monkeypatch.setattr(check.lesson, "find", lambda name: LESSONS[int(name) - 1])
    monkeypatch.setattr(exercise, "task", lambda lesson, hunt: Task(lesson, "hunt" if hunt else "exercise", root))
    monkeypatch.setattr(check, "_after", lambda task: "Next: another")


def test_a_check_says_once_what_it_has_earned(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(name: str, passes: bool, over_lesson: float | None = None, file: str | None = None) -> str:
        checked(monkeypatch, root, passes, over_lesson)
        assert check.check(name, False, file, None, False) == (0 if passes else 1)
        return capsys.readouterr().out

    assert "Earned" not in said("1", False)
    assert not (root / progress.NAME).exists()
    earned = "Earned: Right at every shape, By yourself. "
    assert [line[: len(earned)] for line in said("1", True).splitlines()[-2:]] == [earned, "Next: another"]
    assert "\nEarned: Faster. " in said("1", True, 1.2)
    assert "Earned" not in said("1", True, 1.2)
    assert "Earned" not in said("1", True, file=str(root / "01_naive" / "kernel.cu"))  # another file: nothing is remembered
    assert progress.load(root).raw["tasks"]["01_naive/exercise"]["versions"] == 1
    assert check.check("3", False, None, None, True) == 0
    assert json.loads(capsys.readouterr().out)["passed"]
    monkeypatch.setenv(achievements.OFF, "0")
    assert "Earned" not in said("4", True)


def test_what_a_course_with_a_missing_exercise_comes_to_is_refused(root: Path) -> None:
    (root / "03_tensor" / "exercise.py").unlink()
    with pytest.raises(UserError, match="03_tensor/exercise.py"):
        standing(root)
