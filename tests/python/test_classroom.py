"""classroom/: the workflow's commands and Gradescope's scripts, run as they stand on submissions of all kinds."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from conftest import PATIENCE, REPOSITORY, Course, drawn, put, script

from runner.core.results import ROOT, UserError, lessons
from runner.grading import grade, gradebook, grading, sandbox, submissions
from runner.learn import exercise

# They change who may enter a copy of the course; and one after another they take long.
pytestmark = [pytest.mark.xdist_group("classroom"), pytest.mark.long]
GITHUB, GRADESCOPE = REPOSITORY / "classroom" / "github", REPOSITORY / "classroom" / "gradescope"


@cache
def a_sandbox_works() -> bool:
    if not shutil.which("bwrap"):
        return False  # and none is installed here
    try:
        sandbox.find(False, [])
    except UserError:
        return False
    return True


needs_sandbox = pytest.mark.skipif(
    not os.environ.get("CI") and not a_sandbox_works(), reason="bubblewrap can make no sandbox here; ./gemm grade says why"
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="Gradescope's scripts run as root")


def solution(lesson: str = "01_naive", hunt: bool = False) -> str:
    return exercise.task(lesson, hunt).solution()


def starter(lesson: str, hunt: bool = False) -> str:
    return exercise.task(lesson, hunt).starter()


def environment(course: Course, **more: str) -> dict[str, str]:
    """Of a shell in which ./gemm finds this interpreter, and which is on no runner of GitHub."""
    env = {key: value for key, value in course.env.items() if not key.startswith("GITHUB_")}
    return {**env, "PATH": f"{course.tools}:{Path(sys.executable).parent}:{env['PATH']}", **more}


# README


README = (REPOSITORY / "classroom" / "README.md").read_text(encoding="utf-8")


def test_the_readmes_limits_are_the_graders() -> None:
    limits = sandbox.Limits()
    said = (
        f"A run may take {limits.seconds:g} s (`--seconds`), {limits.memory >> 30} GiB of memory and "
        f"{limits.file >> 20} MiB of output; a file {grading.LARGEST >> 10} KiB, a zip {submissions._LARGEST_ZIP >> 20} MiB."
    )
    assert said in " ".join(README.split())
    assert f"computes nothing for {sandbox._IDLE} s" in " ".join(README.split())
    assert f"{grading._TIMES} times those that the lesson's own kernel needs" in " ".join(README.split())
    assert f"at least {grading._LEAST:g} s" in " ".join(README.split())
    assert f"at least {grading._LEAST_COMPILING:g} s, and at most 60 s" in " ".join(README.split())


def test_tasks_that_are_named_exist() -> None:
    texts = [
        README,
        (GITHUB / "grade.yml").read_text(),
        (GITHUB / "grade.sh").read_text(),
        (GRADESCOPE / "make_zip.sh").read_text(),
    ]
    named = [found for text in texts for found in re.findall(r"\b[0-9]{2}[a-z]?(?:,[0-9]{2}[a-z]?(?:-hunt)?)+", text)]
    assert len(named) > 5
    for tasks in named:
        assert len(grade._tasks(tasks)) == len(tasks.split(","))


def test_the_syllabus_has_every_lesson_task_and_quiz() -> None:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in README.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
    assert [name for row in rows[:-1] for name in row[4].split(", ")] == [gradebook.column(task) for task in exercise.tasks()]
    assert [number for row in rows for number in row[5].split(", ")] == ["–", *(name.partition("_")[0] for name in lessons())]


# GitHub


def test_the_readmes_line_fills_in_the_course(tmp_path: Path) -> None:
    [line] = re.findall(r"^    (sed .*) >grade\.yml$", README, re.MULTILINE)
    commit = "0123456789abcdef0123456789abcdef01234567"
    script(tmp_path / "git", f"echo {commit}")
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", line], cwd=REPOSITORY, env=env, check=True, capture_output=True, text=True)
    assert f"          repository: my-organization/gemm\n          ref: {commit}\n" in done.stdout
    assert "COURSE-" not in done.stdout
    assert len(done.stdout.splitlines()) == len((GITHUB / "grade.yml").read_text().splitlines())


def workflow() -> tuple[dict[str, str], list[str]]:
    """The environment and the commands of grade.yml, of which each `run:` is one line."""
    text = (GITHUB / "grade.yml").read_text(encoding="utf-8")
    block = re.search(r"^    env:\n((?:      \w+: .*\n)+)", text, re.MULTILINE)
    assert block
    runs = re.findall(r"^ +(?:- )?run: *(.*)$", text, re.MULTILINE)
    assert runs and all(run and run not in "|>" for run in runs)
    return dict(re.findall(r"(\w+): (.*)", block[1])), runs


def without_proof(course: Course) -> None:
    """The copy's ./gemm grade has been seen to work: from now on it grades nothing but what was handed in."""
    grader = course.root / "runner" / "grading" / "grade.py"
    text, again = grader.read_text(encoding="utf-8"), "\n\n_prove = lambda *_: None\n"
    if not text.endswith(again):
        grader.write_text(text + again, encoding="utf-8")


def run_workflow(course: Course, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """The workflow's commands as they stand, in a folder as its checkouts leave it. Tests have no sudo, and need none."""
    (folder / "course").symlink_to(course.root)
    env, runs = workflow()
    commands = "\n".join(re.sub(r"^sudo( --\S+)* ", "", run) for run in runs)
    return subprocess.run(
        ["bash", "-e", "-c", commands], cwd=folder, env=environment(course, **{**env, **more}), capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=PATIENCE,
    )  # fmt: skip


@needs_sandbox
def test_the_workflows_commands(course: Course, tmp_path: Path) -> None:
    put(
        tmp_path / "class" / "ada",
        {
            "01_naive/exercise.cu": solution("01_naive"),
            "02_coalesced/exercise.cu": solution("02_coalesced"),
            "03_smem/exercise.cu": solution("03_smem"),
            "03_smem/bug_hunt.cu": starter("03_smem", hunt=True),
            "classroom/github/grade.sh": "exit 0\n",  # whatever a learner does with the copy
        },
    )
    summary = tmp_path / "summary.md"
    summary.touch()
    done = run_workflow(course, tmp_path, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 1, done.stdout + done.stderr  # the bug hunt
    assert '::notice title=Autograding report::{"totalPoints": 3, "maxPoints": 4}' in done.stdout.splitlines()
    assert "| 03 | passed |\n| 03-hunt | not begun |\n" in summary.read_text()
    graded = tmp_path / "graded"
    assert sorted(path.name for path in graded.iterdir()) == ["grades.csv", "index.html", "results.json"]  # and no seeds
    assert "3 of 4 passed" in (graded / "index.html").read_text()
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in graded.iterdir())
    (tmp_path / "course").unlink()
    shutil.rmtree(tmp_path / "class" / "ada" / "03_smem")
    without_proof(course)
    done = run_workflow(course, tmp_path, TASKS="01,03", REQUIRED="01")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "::notice" not in done.stdout


@needs_sandbox
def test_what_cannot_be_graded_is_no_verdict(course: Course, tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    done = run_workflow(course, tmp_path)
    assert (done.returncode, list((tmp_path / "graded").iterdir())) == (2, [])
    assert "is empty" in done.stderr


def test_the_grader_is_the_courses_own() -> None:
    text = (GITHUB / "grade.yml").read_text(encoding="utf-8")
    steps = re.split(r"^      - ", text, flags=re.MULTILINE)[1:]
    checkouts = [step for step in steps if "actions/checkout" in step]
    assert all("persist-credentials: false" in step for step in checkouts)
    [course] = [step for step in checkouts if "path: course" in step]
    assert re.search(r"repository: COURSE-REPOSITORY\n +ref: COURSE-COMMIT\n", course)
    assert [run.split()[-3].partition("/")[0] for run in workflow()[1]] == ["course"]
    assert "cache" not in re.sub(r"#.*", "", text)
    assert re.search(r"^permissions:\n  contents: read\n\w", text, re.MULTILINE)


@pytest.fixture(scope="module")
def report() -> ModuleType:
    spec = importlib.util.spec_from_file_location("classroom_report", GITHUB / "report.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("required", "status"),
    [("", 1), ("01", 0), ("01, 09b", 0), ("01,03-hunt", 1), ("03", 1), ("01,05", 2), ("1", 2)],
)
def test_what_is_required(
    required: str, status: int, report: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = {
        "01_naive/exercise": "passed",
        "03_smem/exercise": "trouble",
        "03_smem/hunt": "failed",
        "09b_mma_sync/exercise": "passed",
    }
    grades = tmp_path / "grades.json"
    learner = {"learner": "ada", "results": {key: {"state": state} for key, state in states.items()}}
    grades.write_text(json.dumps({"learners": [learner]}))
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert report.main(str(grades), required) == status
    grades.write_text(json.dumps({"learners": [learner, learner]}))
    assert report.main(str(grades), required) == 2


def test_the_reports_words_are_the_graders(report: ModuleType) -> None:
    states = {grading.PASSED, grading.UNTOUCHED, grading.MISSING, grading.REFUSED}
    assert {state: gradebook._WORDS[state] for state in states} == report.WORDS
    assert [report.short(task.key) for task in exercise.tasks()] == [gradebook.column(task) for task in exercise.tasks()]


# Gradescope


def stand_in(folder: Path, gemm: str) -> Path:
    """Folders like Gradescope's, with a ./gemm that is this shell script."""
    for name in ("source/gemm", "submission", "results"):
        (folder / name).mkdir(parents=True)
    script(folder / "source" / "gemm" / "gemm", gemm)
    return folder


def run_script(name: str, autograder: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    env = {**(env or os.environ), "AUTOGRADER": str(autograder)}
    command = [GRADESCOPE / name]
    return subprocess.run(
        command, cwd=autograder, env=env, capture_output=True, errors="replace", stdin=subprocess.DEVNULL, timeout=PATIENCE
    )  # fmt: skip


def results(autograder: Path) -> dict:
    return json.loads((autograder / "results" / "results.json").read_bytes().decode())


@pytest.fixture(scope="module")
def autograder(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders like Gradescope's, over the course's real build, after setup.sh. Other users may come to the course's folder."""
    folder, source = tmp_path_factory.mktemp("autograder"), course.root.parent
    (folder / "source").symlink_to(source)
    (source / "tasks").write_text("01\n")
    above = [path for path in source.parents if path.is_relative_to(Path(tempfile.gettempdir())) and path.stat().st_uid == 0]
    modes = {path: path.stat().st_mode for path in above}
    for path in above:
        path.chmod(modes[path] | 0o011)
    try:
        done = run_script("setup.sh", folder, environment(course))
        assert done.returncode == 0, done.stdout + done.stderr
        without_proof(course)
        yield folder
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
        subprocess.run(["chmod", "-R", "go+rX", source], check=True)
        (source / "tasks").unlink()


@pytest.fixture
def graded(autograder: Path, course: Course) -> Callable[[dict[str, str]], dict]:
    """graded(files): what results.json says of a submission with these files."""

    def grade(files: dict[str, str]) -> dict:
        shutil.rmtree(autograder / "submission", ignore_errors=True)
        (autograder / "submission").mkdir()
        put(autograder / "submission", files)
        (autograder / "results" / "results.json").unlink(missing_ok=True)
        done = run_script("run_autograder", autograder, environment(course))
        assert done.returncode == 0, done.stdout + done.stderr
        return results(autograder)

    return grade


SUBMISSIONS = [
    pytest.param({"exercise_01.cu": solution()}, 1, "Judged from outside", id="right"),
    pytest.param({"my/gemm/01_naive/exercise.cu": solution()}, 1, "PASSED: exercise 01", id="right, a whole checkout"),
    pytest.param(
        {"exercise_01.cu": solution().replace("acc += *a * *b", "acc += *a + *b")}, 0, "NOT YET: exercise 01", id="wrong"
    ),
    pytest.param({"notes.txt": "later"}, 0, "was not handed in", id="missing"),
]


@needs_root
@pytest.mark.parametrize(("files", "score", "words"), drawn(SUBMISSIONS, 2))
def test_submissions(files: dict[str, str], score: int, words: str, graded: Callable[[dict[str, str]], dict]) -> None:
    [test] = graded(files)["tests"]
    assert (test["name"], test["score"], test["max_score"]) == ("exercise 01", score, 1)
    assert words in test["output"]


@needs_root
def test_the_course_cannot_be_read(autograder: Path, course: Course, graded: Callable[[dict[str, str]], dict]) -> None:
    """The same submission passes where the course can be read: it is not something else that stops it."""
    kernel = course.root / "01_naive" / "kernel.cu"
    begin = "void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {\n"
    look = f'    if (std::FILE* file = std::fopen("{kernel}", "r")) std::fclose(file);\n    else return;\n'
    assert begin in solution()
    spy = {"exercise_01.cu": "#include <cstdio>\n" + solution().replace(begin, begin + look)}
    subprocess.run(["chmod", "-R", "go+rX", course.root.parent], check=True)
    try:
        [test] = graded(spy)["tests"]
        assert test["score"] == 1, test["output"]
    finally:
        again = run_script("setup.sh", autograder, environment(course))
    assert again.returncode == 0, again.stderr
    assert [test["score"] for test in graded(spy)["tests"]] == [0]
    included = f'#include "{kernel}"\n' + solution()
    [test] = graded({"exercise_01.cu": included})["tests"]
    assert (test["score"], "Permission denied" in test["output"]) == (0, True), test["output"]


@needs_root
@pytest.mark.parametrize(
    ("gemm", "words"),
    [
        (
            "printf 'one\\ngemm: a \"quoted\" \\\\ back\\033[31m \\377 é.\\n' >&2; exit 2",
            'gemm: a "quoted" \\ back[31m  é. (status 2)',
        ),
        ("exit 0", "(status 0)"),
        ("kill -9 $PPID", "ended before it was done"),
        ("kill -TERM $PPID; sleep 1", "ended before it was done"),
    ],
    ids=["fails", "says nothing", "killed", "terminated"],
)
def test_a_grader_that_fails_leaves_results(gemm: str, words: str, tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "autograder", gemm)
    (folder / "results").chmod(0o777)
    run_script("run_autograder", folder, {**os.environ, "TMPDIR": str(tmp_path)})  # one that is killed leaves its scratch
    found = results(folder)
    assert (found["score"], found["visibility"]) == (0, "visible")
    assert "could not grade" in found["output"].splitlines()[0]
    assert words in found["output"]
    assert (folder / "results").stat().st_mode & 0o077 == 0


@needs_root
def test_a_submission_that_is_not_there_leaves_results(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "autograder", "exit 0")
    (folder / "submission").rmdir()
    run_script("run_autograder", folder)
    assert "cannot be read" in results(folder)["output"]


@needs_root
def test_how_the_grader_is_called(tmp_path: Path) -> None:
    """One at a time, without a sandbox, and with the seeds where only root may look."""
    folder = stand_in(tmp_path / "autograder", 'echo "$@" >"$AUTOGRADER/called"; stat -c %a "$2/.." >>"$AUTOGRADER/called"')
    (folder / "source" / "tasks").write_text("01,03-hunt\n")
    (folder / "submission" / "link").symlink_to("/etc/passwd")
    run_script("run_autograder", folder)
    called, mode = (folder / "called").read_text().splitlines()
    assert called.endswith("--unsandboxed --jobs 1 --tasks 01,03-hunt")
    assert mode == "700"
    (folder / "source" / "tasks").write_text("\n")
    run_script("run_autograder", folder)
    assert (folder / "called").read_text().splitlines()[0].endswith("--jobs 1")


@needs_root
def test_a_setup_that_fails_makes_no_image(tmp_path: Path) -> None:
    folder = stand_in(tmp_path / "autograder", "exit 2")
    assert run_script("setup.sh", folder).returncode != 0


def test_the_zip(tmp_path: Path) -> None:
    root = tmp_path / "gemm"
    shutil.copytree(ROOT / "classroom", root / "classroom")
    shutil.copy(ROOT / "gemm", root)
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "all"]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
    for tasks in ("01,02", ""):
        make = root / "classroom" / "gradescope" / "make_zip.sh"
        subprocess.run([make, *filter(None, [tasks])], cwd=tmp_path, check=True, capture_output=True)
        with zipfile.ZipFile(root / "out" / "autograder.zip") as made:
            assert {"setup.sh", "run_autograder", "tasks", "gemm/gemm", "gemm/classroom/README.md"} <= set(made.namelist())
            assert made.read("tasks").decode().strip() == tasks
            for name in ("run_autograder", "gemm/gemm"):
                assert made.getinfo(name).external_attr >> 16 & 0o111
