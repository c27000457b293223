"""./gemm grade: a class of fifty, or a sample of it, which is interrupted; then its parts, each alone."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import grade_synthetic as synthetic
import psutil
import pytest
from conftest import PATIENCE, drawn, ordinary_python, put, script, seed, sentence, started, stop, toolchain, whole_families
from grade_synthetic import FILES, SOLUTIONS, TASKS, Learner, World
from unusual import KERNELS

from runner.core import compiling, doctor
from runner.core.results import ROOT, UserError
from runner.grading import grade as command
from runner.grading import gradebook, grading, sandbox, submissions
from runner.grading.cgroup import Outlived
from runner.grading.gradebook import Journal
from runner.grading.grading import Grader, Kit, Outcome
from runner.grading.sandbox import Limits, Sandbox
from runner.grading.submissions import Refused, Submission
from runner.learn import check, course
from runner.learn.exercise import Task

ENV = {
    **os.environ, "GEMM_DEVICE": "cpu", "GEMM_NO_INSTALL": "1", "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1",
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "GEMM_TEST_SECRET": "a learner must not see it",
}  # fmt: skip
FIRST_USER = 1_900_000_000  # of the users that submissions run as, under root
BOTH = list(TASKS.values())
# Each compiles a submission or several and runs it with the check's cases.
VERDICTS, DISTURBANCES = pytest.mark.family("verdicts", 2), pytest.mark.family("disturbances", 2)
# Who is in every sample of the class, since what is written about them is looked at.
ALWAYS = ("ada", "forges", "guesses", "=cmd|'calc'!A0", "<b onload=x>&\"'")


def grade(*arguments: str | Path, env: Mapping[str, str] = ENV) -> subprocess.CompletedProcess[str]:
    return started(["grade", *map(str, arguments)], ROOT, env)


# The class


@dataclass
class Classroom:
    """Submissions in a folder, and where grading them leaves its results."""

    folder: Path
    world: World
    everyone: list[Learner]
    listener: socket.socket
    temporary: Path
    out: Path

    def start(self) -> subprocess.Popen[str]:
        """The real ./gemm, as a user starts it."""
        options = ["--tasks", "01,03", "--seconds", str(synthetic.SECONDS), "--out", str(self.out)]
        return subprocess.Popen(
            [ROOT / "gemm", "grade", str(self.folder), *options], env={**ENV, "TMPDIR": str(self.temporary)}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def journal(self) -> list[dict]:
        """Its entries, without the head."""
        lines = self.world.journal.read_text().splitlines()
        return [entry for entry in map(json.loads, filter(None, lines)) if "secret" not in entry]

    def table(self) -> list[list[str]]:
        """What is expected of the CSV, less the shares and remarks that follow from it (test_no_cell_is_a_formula…)."""
        everyone = sorted(self.everyone, key=lambda learner: os.fsdecode(learner.name))
        points = [[int(state == "passed") for state in learner.states] for learner in everyone]
        names = [f"'{learner.shown}" if learner.shown.startswith("=") else learner.shown for learner in everyone]
        lines = [[name, *map(str, of), str(sum(of))] for name, of in zip(names, points, strict=True)]
        return [["learner", "01", "03", "passed"], *lines]

    def rows(self) -> list[list[str]]:
        """Of the CSV."""
        return [row[:4] for row in csv.reader(io.StringIO(self.out.read_bytes().decode(), newline=""))]

    def holds(self) -> bytes:
        """Checks what lies there after everything was graded. Returns the table."""
        raw = self.out.read_bytes()
        assert self.rows() == self.table()
        for line in (b"'=cmd|'calc'!A0,0,0,0,2,0.0,03: not handed in", b'"<b onload=x>&""\'",0,0,0,2,0.0,03: not handed in'):
            assert b"\r\n" + line + b"\r\n" in raw
        held = json.loads((self.out.with_suffix("") / "grades.json").read_text(encoding="utf-8"))
        results = {one["learner"]: one["results"] for one in held["learners"]}
        assert len(results) == len(self.everyone)
        for learner in self.everyone:
            for number, state in zip(TASKS, learner.states, strict=True):
                result = results[learner.shown][TASKS[number].key]
                assert result["state"] == state, (learner.shown, result)
                assert learner.words.get(number, "") in result["text"], (learner.shown, result)
                if learner.shown not in ("includes", "again"):  # who name places there themselves
                    assert str(ROOT) not in result["text"], result
                page = (self.out.with_suffix("") / gradebook.slug(learner.shown) / "index.html").read_text(encoding="utf-8")
                assert "<script" not in page and "<b onload" not in page
        # Those of ALWAYS. A forged report is believed until the judge has looked; a kernel with two faces, too.
        assert results["forges"][TASKS["03"].key]["judged"] is False
        assert results["guesses"][TASKS["01"].key]["judged"] is results["guesses"][TASKS["03"].key]["judged"] is False
        assert results["ada"][TASKS["03"].key]["judged"] is True
        return raw


def of_sandboxes() -> list[str]:
    """Commands of processes that submissions have left, whoever is their parent now."""
    found = _looking_like_it()
    end = time.monotonic() + 20
    while found and time.monotonic() < end:  # another grading on this machine has such processes, too, and orphans for a moment
        time.sleep(0.2)
        now = _looking_like_it()
        found = {pid: command for pid, command in found.items() if pid in now}
    return list(found.values())


def _looking_like_it() -> dict[int, str]:
    """By process number, without those of other gradings on this machine."""
    found = {}
    ours = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    for process in psutil.process_iter(["cmdline", "status", "uids"]):
        command, uids = " ".join(process.info["cmdline"] or []), process.info["uids"]
        like = (uids and uids.real >= FIRST_USER) or command.startswith(("sleep 1000", "/in/"))
        if not like or process.info["status"] in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            continue
        with suppress(psutil.Error):
            # What belongs to a program that runs beside us is not ours; an orphan may be.
            above = process.parents()
            others = [" ".join(parent.cmdline()) for parent in above if parent.pid not in ours]
            if os.getpid() in (parent.pid for parent in above) or not any("python" in name for name in others):
                found[process.pid] = f"{process.pid} {command}"
    return found


def state_of(room: Classroom) -> dict[str, object]:
    """Of the machine, what grading must not change."""
    # What is new there; somebody may be editing what git knows.
    listed = ["git", "ls-files", "--others", "--exclude-standard"]
    git = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    handed_in = [(str(path), s.st_mode, s.st_size, s.st_mtime_ns) for path in room.folder.rglob("*") if (s := path.lstat())]
    marked = [Path(place, room.world.marker) for place in ("/", "/tmp", "/dev/shm", Path.home(), ROOT, room.folder)]  # noqa: S108
    return {
        "processes": of_sandboxes(),
        "children": Path(f"/proc/self/task/{os.getpid()}/children").read_text(),
        "temporary files": sorted(map(str, room.temporary.iterdir())),
        "checkout": git,
        "submissions": sorted(handed_in),
        "mounts": Path("/proc/self/mountinfo").read_text(),
        "groups": [str(path) for path in Path("/sys/fs/cgroup").rglob("gemm-grade-*")],
        "outside": [str(path) for path in marked if path.exists()],
    }


def shared_memory() -> int:
    """MiB, files in memory among them."""
    words = Path("/proc/meminfo").read_text().split()
    return int(words[words.index("Shmem:") + 1]) >> 10


@pytest.fixture(scope="module")
def room(box: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Classroom]:
    base = tmp_path_factory.mktemp("class")
    out = base / "out" / "grades.csv"
    with socket.create_server(("127.0.0.1", 0)) as listener, compiling.scratch() as folder:
        listener.setblocking(False)
        tools = toolchain()
        program, _ = compiling.compile_program(
            tools, [compiling.Source(SOLUTIONS["03"], "x.cu", "exercise_03", "exercise 03")], folder
        )
        report = json.dumps(check.run_program(program, "exercise 03", ["--goal=128x128x128", "--seed=1"], folder))
        journal, port = out.with_suffix("") / "journal.jsonl", listener.getsockname()[1]
        world = World(base / "submissions", journal, port, "gemm-was-here", report)
        everyone = synthetic.learners(world)
        assert len(everyone) == 50
        others = drawn([learner for learner in everyone if learner.shown not in ALWAYS], 1)
        chosen = [learner for learner in everyone if learner.shown in ALWAYS or learner in others]
        made = Classroom(world.submissions, world, chosen, listener, base / "temporary", out)
        synthetic.hand_in(made.folder, made.everyone)
        made.temporary.mkdir()
        yield made


def ended(room: Classroom, process: subprocess.Popen[str]) -> None:
    """Waits for a grading that nothing interrupts, and checks everything that it leaves."""
    out, err = process.communicate(timeout=2 * PATIENCE)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert "ada" in out and "✓ passed" in out
    with pytest.raises(BlockingIOError):
        room.listener.accept()


@pytest.mark.long
def test_a_class_of_fifty_is_graded_as_expected_also_when_interrupted(room: Classroom) -> None:
    before, memory, total = state_of(room), shared_memory(), 2 * len(room.everyone)

    # Interrupted in the middle of something.
    process = room.start()
    while not room.world.journal.exists() or len(room.journal()) < 3 * total // 10:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    status, err = stop(process, signal.SIGINT)
    assert status == 128 + signal.SIGINT
    assert err.splitlines()[-1].startswith("Interrupted: ")
    assert state_of(room) == before
    assert not room.out.exists()
    assert 3 * total // 10 <= len(room.journal()) < total
    kept = room.world.journal.read_bytes()
    assert room.world.journal.stat().st_mode & 0o077 == 0
    room.world.journal.write_bytes(kept + b'\n{"learner": "ada", "ta')  # as a power cut leaves it

    # The same command goes on from there, and grades nothing twice.
    ended(room, room.start())
    whole = room.holds()
    assert state_of(room) == before
    end = time.monotonic() + PATIENCE
    while shared_memory() > memory + 150:  # of the whole machine, on which other tests run, too
        assert time.monotonic() < end
        time.sleep(0.2)
    after = room.world.journal.read_bytes()
    assert after.startswith(kept)
    lines = [json.loads(line) for line in after.splitlines() if line.endswith(b"}")][1:]
    assert len(lines) == len({(entry["learner"], entry["task"]) for entry in lines}) == total

    # And once more: everything is known, and nothing is compiled again.
    ended(room, room.start())
    assert room.holds() == whole
    assert room.world.journal.read_bytes() == after

    if not whole_families():
        return

    # Graded anew, where nothing is known, with other problems: the same rows. Of some, since one does not depend on another.
    some = random.Random(seed()).sample([one for one in room.everyone if one.shown != "ada"], 4)
    everyone = [one for one in room.everyone if one in some or one.shown == "ada"]
    second = replace(room, folder=room.folder.with_name("again"), everyone=everyone, out=room.out.with_name("again.csv"))
    synthetic.hand_in(second.folder, everyone)
    ended(second, second.start())
    first = room.rows()
    assert second.rows() == second.table() == [row for row in first if row in second.table()]
    head = second.out.with_suffix("").joinpath("journal.jsonl").read_text().splitlines()[0]
    assert json.loads(head)["secret"] != json.loads(after.splitlines()[0])["secret"]


# One file at a time


def kit_of_this_build(folder: Path, held_by: Sandbox) -> Kit:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compiling, "toolchain", lambda device, program, more=(): toolchain(program))
        return Kit(folder, held_by)


@pytest.fixture(scope="module")
def kit(box: Sandbox) -> Iterator[Kit]:
    with grading.workplace() as place:
        yield kit_of_this_build(place, box)


def graded(kit: Kit, number: str, source: str, own: float = 0) -> Outcome:
    """own: seconds that the lesson's own kernel is said to compute, where it is not to be asked."""
    grader, task = Grader(kit, "secret", Limits()), TASKS[number]
    with pytest.MonkeyPatch.context() as patched:
        if own:
            grader._own[(task.lesson,)] = dict.fromkeys(kit.links, own)
            patched.setattr(grading, "_LEAST", 0.0)
        return grader.grade(task, "ada", FILES[number], source.encode(), 0)


def test_the_kit_holds_no_lesson_and_no_reference(kit: Kit) -> None:
    names = {str(path.relative_to(kit.folder)) for path in kit.folder.rglob("*") if path.is_file()}
    assert "common/gemm.hpp" in names
    assert not [name for name in names if name.endswith((".cpp", ".cu", ".json", ".py")) or "lessons.a" in name]
    assert set(kit.binds.values()) == {Path("/course")}


@VERDICTS
def test_headers_that_are_ready_change_no_verdict(kit: Kit) -> None:
    wrong = SOLUTIONS["01"].replace("float acc = 0.0f;", "float acc = 0.0")
    told = graded(kit, "01", wrong).text
    while len(kit.commands(SOLUTIONS["01"], 0)) == 1:  # they are made ready when there is much to compile
        pass
    assert (kit.folder / "kernel.hpp.gch").exists()
    assert len(kit.commands(f"#define M 1\n{SOLUTIONS['01']}", 0)) == 1
    assert graded(kit, "01", SOLUTIONS["01"]).state == "passed"
    assert graded(kit, "01", wrong).text.splitlines()[:-1] == told.splitlines()[:-1]  # the last one has times
    # Their place is the one inside.
    assert str(kit.folder).encode() not in (kit.folder / "kernel.hpp.gch").read_bytes()


SAID = ("No space left on device", "Killed signal terminated program cc1plus", "virtual memory exhausted")
BITS = synthetic.edited("03", ("namespace exercise_03 {", "namespace exercise_03 {\nusing Bits = unsigned short;"))
NOTHING = re.sub(r"(gemm::Tile tile\{)[^}]*", r"\g<1>0, 0, 1", SOLUTIONS["01"])
FOUND = {  # task and source; passed or failed, whether judged from outside, and what is told
    "16 bits named": ("03", BITS, "passed", True, ""),
    "16 bits along K": ("03", BITS.replace("int64_t k_end", "uint16_t k_end"), "failed", False, "Wrong with K beyond 65536"),
    # Of these a check's cases have none.
    "one remainder of K": (
        "03", synthetic.in_launch("03", "if (p.K % 32 == 30 && p.K > 64) return;"),
        "failed", None, "Wrong with another number of k-tiles",
    ),
    "one number of rows": (
        "03", synthetic.in_launch("03", "if (p.M == 22) return;"),
        "failed", None, "Wrong with another remainder of M, N and K",
    ),
    "long rows of A": (
        "03", synthetic.in_launch("03", "if (p.K > 1024 && p.K < 5000) return;"),
        "failed", None, "Wrong with K beyond 1024",
    ),
    "a cut report": ("01", synthetic.with_head("01", synthetic.CUT), "failed", True, "left what is no report of the whole check"),
    "a loop on the host": ("01", synthetic.in_launch("01", synthetic.HOST_LOOP), "failed", None, "looks into device memory"),
    "a kernel that copies what the host has computed": (
        "01", synthetic.in_launch("01", synthetic.HOST_COPIED), "failed", None, "looks into device memory",
    ),
    "a tile of nothing": ("01", NOTHING, "failed", None, "must be from 1 to 1024"),
    # Not the machine's fault, which is what these words say elsewhere.
    "words of a machine": (
        "01", "".join(f'#pragma message "{word}"\n#warning {word}\n' for word in SAID) + f'#error "{SAID[0]}"\n{SOLUTIONS["01"]}',
        "failed", None, "It does not compile",
    ),
    # Where a case runs one block of many, what the other steps were to prepare for it is not there.
    **{kernel.what: ("01", kernel.text(), None, True, "") for kernel in KERNELS if kernel.what.startswith("split-K")},
}  # fmt: skip


@pytest.mark.parametrize("what", drawn(list(FOUND), 2))
def test_verdicts(what: str, kit: Kit) -> None:
    task, source, state, judged, told = FOUND[what]
    outcome = graded(kit, task, source)
    assert state in (None, outcome.state) and told in outcome.text
    assert judged is None or outcome.judged is judged, outcome.text


@VERDICTS
def test_a_right_file_passes_whatever_numbers_descriptors_have(kit: Kit) -> None:
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(120)]
    try:
        outcome = graded(kit, "01", SOLUTIONS["01"])
    finally:
        for descriptor in opened:
            os.close(descriptor)
    assert outcome.state == "passed", outcome.text
    assert outcome.judged is True


@DISTURBANCES
@pytest.mark.parametrize("what", drawn(list(synthetic.ENDLESS), 1))
def test_what_goes_on_for_ever_is_ended_and_does_not_fail_the_next_file(kit: Kit, what: str) -> None:
    outcome = graded(kit, "03", synthetic.ENDLESS[what], own=0.2)
    assert outcome.state == "failed"
    assert "it computed for more than 1 s" in outcome.text
    assert not of_sandboxes()
    assert graded(kit, "01", SOLUTIONS["01"]).state == "passed"


def test_a_loop_on_the_host_is_named_before_its_seconds_are_over(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "_PATIENCE", 1)
    loop = synthetic.in_launch("01", "if (p.K == 0) for (volatile int i = 0;; ++i) {}")
    outcome = graded(kit, "01", loop, own=0.3)
    assert "launch() of exercise 01 did not return within 1 s of computing" in outcome.text
    assert "K = 0" in outcome.text


@VERDICTS
def test_who_needs_more_than_the_least_has_ten_times_what_the_lessons_own_kernel_needs(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grading, "_LEAST", 0.2)  # a check takes more
    grader, task = Grader(kit, "secret", Limits()), TASKS["01"]
    assert grader.own(task, []) == {}
    assert grader.grade(task, "ada", FILES["01"], SOLUTIONS["01"].encode(), 0).state == "passed"
    own = grader.own(task, [])
    assert own["check"] > 0.2 and own["exam"] > 0


@pytest.mark.parametrize(
    "bomb",
    [
        # Each depth has twice as many types as the one before.
        "template <int N, int X> struct Two : Two<N - 1, 2 * X>, Two<N - 1, 2 * X + 1> {};\n"
        "template <int X> struct Two<0, X> {};\nTwo<24, 1> two;",
        '#include "/dev/zero"',
        # Each macro is ten of the one before; what is printed meanwhile is said by nobody but the code.
        '#pragma message "No space left on device"\n#warning Killed signal terminated program cc1plus\n#define M0 x,\n'
        + "".join(f"#define M{n + 1} {f'M{n} ' * 10}\n" for n in range(9))
        + "int bomb[] = {M9};",
    ],
    ids=["types", "a file without end", "macros"],
)
def test_what_does_not_compile_in_time_ends(kit: Kit, bomb: str) -> None:
    grader = Grader(kit, "secret", Limits(seconds=4))
    grader._compiling = Limits(seconds=4, memory=1 << 30)  # a minute and more, and 4 GiB, otherwise
    begin = time.monotonic()
    outcome = grader.grade(TASKS["01"], "ada", FILES["01"], f"{bomb}\n{SOLUTIONS['01']}".encode(), 0)
    assert outcome.state == "failed"
    assert outcome.text.splitlines()[2].startswith("It does not compile")
    assert time.monotonic() - begin < 60  # it takes longer, and more memory, where nothing ends it
    assert not of_sandboxes()


def test_what_is_hard_to_translate_ends(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "_TRANSLATING", 0.001)
    outcome = graded(kit, "01", SOLUTIONS["01"])
    assert outcome.state == "failed"
    assert "It does not compile: " in outcome.text and " 0.001 s." in outcome.text


def test_what_would_be_translated_into_too_much_ends(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    many = f"__global__ void __cluster_dims__({'1+' * 30_000}1) kk() {{}}\nvoid all() {{{'kk<<<1, 1>>>();' * 5000}}}\n"
    outcome = graded(kit, "01", many + SOLUTIONS["01"])
    assert outcome.state == "failed" and "__cluster_dims__ take more than 200 characters" in outcome.text
    monkeypatch.setattr(grading, "_TRANSLATED", 1000)
    assert "as C++ it is too long" in graded(kit, "01", SOLUTIONS["01"]).text


def test_what_the_machine_is_at_fault_for_is_no_wrong_kernel(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "sys", type("sys", (), {"executable": "/nowhere/python"}))
    with pytest.raises(UserError, match="/nowhere/python cannot be run"):
        graded(kit, "01", SOLUTIONS["01"])
    monkeypatch.setattr(grading, "sys", type("sys", (), {"executable": "/usr/bin/false"}))
    with pytest.raises(UserError, match="could not be done: status 1"):
        graded(kit, "01", SOLUTIONS["01"])


@pytest.mark.parametrize(("right", "wrong"), [("float acc = 0.0f;", "float acc = nothing;"), (">>>(", ">>>[")])
def test_errors_are_told_with_the_lines_of_the_file(kit: Kit, right: str, wrong: str) -> None:
    source = SOLUTIONS["01"].replace(right, wrong)
    line = next(n for n, text in enumerate(source.splitlines(), 1) if wrong in text)
    outcome = graded(kit, "01", source)
    assert f"01_naive/exercise.cu:{line}:" in outcome.text
    assert "/course" not in outcome.text and str(kit.folder) not in outcome.text


def test_what_is_told_is_text_of_a_length(kit: Kit) -> None:
    assert grading._writable("a\tb\nä\ud800\x1b\0") == "a\tb\nä���"
    assert len(grading._writable("x" * (1 << 20))) < (33 << 10)


def test_seeds_differ_by_learner_task_and_use_and_stay() -> None:
    seeds = [grading.seed_of(*what) for what in (("s", "a", "t", "exam"), ("s", "a", "t", "check"), ("s", "b", "t", "exam"),
                                                 ("t", "a", "t", "exam"), ("s", "at", "", "exam"))]  # fmt: skip
    assert len(set(seeds)) == len(seeds)
    assert grading.seed_of("s", "a", "t", "exam") == seeds[0]
    assert all(0 <= seed < 1 << 48 for seed in seeds)


@pytest.fixture
def bare() -> Iterator[Kit]:
    with grading.workplace() as place:
        yield kit_of_this_build(place, Sandbox(None))


@DISTURBANCES
def test_without_a_sandbox_limits_hold_and_nothing_is_left(bare: Kit) -> None:
    assert graded(bare, "01", SOLUTIONS["01"]).state == "passed"
    loop = graded(bare, "01", synthetic.early("01", "for (volatile int i = 0;; ++i) {}"), own=0.4)
    assert "it computed for more than 2 s" in loop.text
    assert not of_sandboxes()


@DISTURBANCES
def test_without_a_sandbox_root_finds_what_has_left_its_parents(bare: Kit) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root has a user for each run, by which its processes are known")
    outcome = graded(bare, "01", synthetic.early("01", synthetic._DAEMON))
    assert outcome.state == "passed", outcome.text
    assert not of_sandboxes()


# The sandbox


def ran(
    box: Sandbox, folder: Path, *command: str, limits: Limits | None = None, binds: Mapping[Path, Path] | None = None
) -> tuple[sandbox.Ended, str, str]:
    """How it ended, and what it wrote on both."""
    output, messages = folder / "output", folder / "messages"
    with output.open("wb") as out, messages.open("wb") as err:
        how = box.run(command, folder, binds or {}, out, err, limits or Limits())
    return how, output.read_text(errors="replace"), messages.read_text(errors="replace")


def python(code: str) -> tuple[str, str, str]:
    return "/usr/bin/python3", "-c", code


FOUR = "for i in 1 2 3 4; do python3 -c 'x = b\"x\" * (100 << 20); import time; time.sleep(600)' & done; wait"


@pytest.mark.parametrize(
    ("command", "limits", "broken"),
    [
        (("sleep", "60"), Limits(seconds=1), "it did not end within 1 s"),
        (("sh", "-c", "while :; do :; done"), Limits(computing=1), "it computed for more than 1 s"),
        (("sh", "-c", f"{4 * 'while :; do :; done & '}wait"), Limits(computing=1), "it computed for more than 1 s"),
        (("sh", "-c", "yes"), Limits(file=1 << 20), "it wrote more than 1 MiB"),
        (("sh", "-c", "yes >&2"), Limits(file=1 << 20), "it wrote more than 1 MiB"),
        (("sh", "-c", "yes >/tmp/x; test $(stat -c %s /tmp/x) = 1048576 && exit 7"), Limits(file=1 << 20), ""),
        (("sh", "-c", "for i in 1 2 3; do head -c 1000000 /dev/zero >/tmp/$i || exit 7; done"), Limits(folder=2 << 20), ""),
        (("sh", "-c", "head -c 2000000 /dev/zero >/dev/shm/x || exit 7"), Limits(), ""),
        (("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 600 & done"), Limits(processes=5), ""),
        # The memory of all processes is weighed together.
        (("sh", "-c", FOUR), Limits(memory=300 << 20), "it took more than 300 MiB of memory"),
    ],
)
def test_limits(box: Sandbox, tmp_path: Path, command: Sequence[str], limits: Limits, broken: str) -> None:
    how, _, _ = ran(box, tmp_path, *command, limits=limits)
    assert how.broken == broken
    assert how.status != 0
    assert how.seconds < 45  # of the 60 that there are without a limit
    assert not of_sandboxes()


def test_the_machine_is_out_of_sight(box: Sandbox, tmp_path: Path) -> None:
    code = """
import json, os
folders = [os.listdir("/"), os.listdir("/tmp"), os.getcwd()]
os.listdir("/etc")
assert all(os.stat(path).st_mode & 0o777 == 0o755 for path in ("/", "/etc", "/usr")), oct(os.stat("/etc").st_mode)
print(json.dumps([*folders, os.getuid(), sorted(set(os.environ) - {"PWD"}), os.uname()[1]]))
"""
    how, out, err = ran(box, tmp_path, *python(code))
    assert how.status == 0, err
    root, temporary, where, user, *others = json.loads(out)
    assert set(root) <= {"bin", "dev", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "tmp", "usr", "etc"}
    assert (temporary, where) == ([], "/tmp")
    assert user >= FIRST_USER if os.geteuid() == 0 else user == 65534
    assert others == [["HOME", "LC_ALL", "PATH", "TMPDIR"], "grading"]


def test_two_gradings_have_users_of_their_own(box: Sandbox, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives each run a user")
    users = {ran(one, tmp_path, "id", "-u")[1] for one in (box, sandbox.find(False, []), sandbox.find(False, []))}
    assert len(users) == 3


@pytest.mark.parametrize(("command", "status"), [("exit 3", 3), ("kill -SEGV $$", -11), ("kill -KILL $$", -9), ("true", 0)])
def test_how_it_ended(box: Sandbox, tmp_path: Path, command: str, status: int) -> None:
    how, _, _ = ran(box, tmp_path, "sh", "-c", command)
    assert (how.status, how.broken, how.late) == (status, "", "")
    assert bool(how.doubt) is (status == -signal.SIGKILL)  # no limit sends it


def test_a_sandbox_that_cannot_be_made_is_the_machines_fault(box: Sandbox, tmp_path: Path) -> None:
    how, _, _ = ran(box, tmp_path, "true", binds={tmp_path / "none": Path("/in/none")})
    assert how.status and "could not be made" in how.doubt


def test_without_libseccomp_it_refuses_and_says_what_to_do(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMM_NO_INSTALL", "1")
    monkeypatch.setattr(doctor, "_seccomp", lambda: "")
    for system, typed in ((True, "apt-get install -y python3-seccomp"), (False, "-m pip install pyseccomp==")):
        monkeypatch.setattr(doctor, "_of_system", lambda system=system: system)
        with pytest.raises(UserError, match=f"libseccomp .*{typed}"):
            sandbox.find(False, [])


def test_what_is_left_behind_has_ended(box: Sandbox, tmp_path: Path) -> None:
    for _ in range(5):
        how, _, _ = ran(box, tmp_path, "sh", "-c", "for i in 1 2 3; do setsid sleep 1000 & done; exit 0")
        assert how.status == 0
        assert not of_sandboxes()


def test_nothing_begins_after_a_stop(tmp_path: Path) -> None:
    stopped = Sandbox(None)
    stopped.stop()
    with pytest.raises(sandbox.Stopped):
        ran(stopped, tmp_path, "true")


def test_an_ordinary_user_has_a_sandbox(box: Sandbox, tmp_path: Path) -> None:
    """The other tests do it as the user who runs them, who is root in many containers."""
    become = ordinary_python()
    code = """
import os, sys, tempfile
from pathlib import Path
from runner.grading import sandbox
box = sandbox.find(False, [])
with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
    command = ["sh", "-c", "id -u; cat /etc/passwd; ls /home; sleep 1000 & exit 5"]
    how = box.run(command, Path("/"), {}, out, err, sandbox.Limits())
    out.seek(0)
    print(how.status, out.read().decode().split())
"""
    done = subprocess.run([*become, "-c", code], cwd=ROOT, env={**ENV, "HOME": "/", "TMPDIR": "/tmp"},  # noqa: S108
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.stdout == "5 ['65534']\n", done.stderr
    assert not of_sandboxes()


def test_a_run_that_waits_for_a_processor_has_more_time_and_in_the_end_a_doubt(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_waited", lambda processes: 0.0)
    how, _, _ = ran(box, tmp_path, "sleep", "60", limits=Limits(seconds=0.2))
    assert (how.late, how.doubt) == ("clock", "")
    monkeypatch.setattr(sandbox, "_waited", lambda processes: 1.0)
    how, _, _ = ran(box, tmp_path, "sleep", "0.6", limits=Limits(seconds=0.2))
    assert (how.status, how.broken, how.doubt) == (0, "", "")
    how, _, _ = ran(box, tmp_path, "sleep", "60", limits=Limits(seconds=0.2))
    assert (how.late, how.lost) == ("clock", False) and "too much to do" in how.doubt


def test_a_run_that_computes_nothing_is_ended_before_its_time(
    box: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "_IDLE", 1)
    how, _, _ = ran(box, tmp_path, "sleep", "60")
    assert (how.broken, how.late, how.doubt) == ("it computed nothing for 1 s", "clock", "") and how.seconds < 20
    code = "import time\nfor _ in range(8):\n    time.sleep(0.3)\n    sum(range(1_000_000))"
    how, _, _ = ran(box, tmp_path, *python(code))
    assert (how.status, how.broken) == (0, "")


def test_time_for_which_the_grader_is_stopped_does_not_count(box: Sandbox) -> None:
    """As by Ctrl-Z, while a run waits for somebody to take what it has said."""
    code = """
import sys, tempfile
from pathlib import Path
from runner.grading import sandbox
print("ready", flush=True)
with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
    command = ["sh", "-c", "head -c 20000000 /dev/zero; sleep 0.5"]
    print(sandbox.find(False, []).run(command, Path("/"), {}, out, err, sandbox.Limits(seconds=1.5)), flush=True)
"""
    grader = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=ENV, stdout=subprocess.PIPE, text=True)
    assert grader.stdout
    with grader.stdout:
        assert grader.stdout.readline() == "ready\n"
        end = time.monotonic() + PATIENCE
        while not any("head" in " ".join(one.info["cmdline"] or []) for one in psutil.process_iter(["cmdline"])):
            assert time.monotonic() < end and grader.poll() is None
        grader.send_signal(signal.SIGSTOP)
        time.sleep(3)
        grader.send_signal(signal.SIGCONT)
        assert grader.stdout.readline().startswith("Ended(status=0, broken=''")
    assert grader.wait(PATIENCE) == 0


def test_how_long_a_thread_has_waited_is_what_the_kernel_counts() -> None:
    """Two that compute where there is room for one."""
    code = "import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhile True: pass"
    both = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    try:
        end = time.monotonic() + PATIENCE
        while min(min(sandbox._waited([one.pid]), sandbox._computed([one.pid])) for one in both) < 0.2:
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        for one in both:
            one.kill()
            one.wait()


def test_a_stop_at_once_leaves_nothing(tmp_path: Path) -> None:
    """Also where bubblewrap has not said yet who is process 1; whatever numbers descriptors have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100 if hard >= 2048 else 0)]
    try:
        for delay in (0, 0.002, 0.01, 0.05):
            try:
                stopped = sandbox.find(False, [])
            except UserError as error:
                pytest.skip(str(error))
            threading.Timer(delay + 0.001, stopped.stop).start()
            with suppress(sandbox.Stopped):
                ran(stopped, tmp_path, "sh", "-c", "sleep 1000 & sleep 1000")
            stopped.close()
            assert not of_sandboxes()
    finally:
        for descriptor in opened:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_does_not_end_is_no_learners_matter(
    box: Sandbox, handed_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sandbox, "_ends", lambda *_: False)
        with pytest.raises(Outlived, match="does not end"):
            ran(box, tmp_path, "sleep", "1")  # long enough that bubblewrap says who is process 1
    grader, journal = Moody(Outlived()), Journal(tmp_path / "journal.jsonl")
    whole = command._Class(grader, journal, submissions.find(handed_in), [TASKS["01"]])  # type: ignore[arg-type]
    with pytest.raises(Outlived):
        list(whole.results(1))


def test_what_a_killed_grading_has_left_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = """
import os, signal
from runner.grading import grading
with grading.workplace() as place:
    (place / "kit" / "x").mkdir(parents=True)
    print(place, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    left = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**ENV, "TMPDIR": str(tmp_path)}, capture_output=True,
                          text=True, check=False).stdout.strip()  # fmt: skip
    assert Path(left, "kit", "x").exists()
    (tmp_path / f"{grading._PREFIX}link").symlink_to(ROOT)
    with grading.workplace() as other, grading.workplace() as place:
        assert other.exists() and place.exists() and not Path(left).exists()
    assert ROOT.exists() and [path.name for path in tmp_path.iterdir()] == [f"{grading._PREFIX}link"]


def test_the_folders_of_grader_and_class_are_private_wherever_they_are(
    kit: Kit, handed_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path] = []

    def find(unsandboxed: bool, private: Sequence[Path]) -> Sandbox:
        seen.extend(private)
        raise UserError("So far.")

    monkeypatch.setattr(sandbox, "find", find)
    with pytest.raises(UserError, match="So far"):
        command.grade(str(handed_in), str(tmp_path / "out" / "g.csv"), "01", None, None, False, False, False)
    assert {handed_in, tmp_path / "out", ROOT, Path(tempfile.gettempdir()), Path.home()} <= set(seen)
    made = " ".join(Sandbox(Path("/usr/bin/bwrap"), [Path("/usr/share/doc")])._mounts({}, Limits(), True))
    assert "--tmpfs /usr/share/doc" in made


def test_the_logins_keys_have_no_names_inside(box: Sandbox, tmp_path: Path) -> None:
    if not Path("/proc/keys").exists():
        pytest.skip("this kernel names no keys")
    code = "from runner.grading import calls\ncalls.leave_keyring()\nprint(open('/proc/self/status').read() and 'left')"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=ENV, capture_output=True, text=True, check=True).stdout
    _, out, _ = ran(box, tmp_path, "sh", "-c", "cat /proc/keys /proc/key-users; true")
    assert out == ""


# The exam


@dataclass
class Exam:
    """A paper, and what the right kernel answers."""

    judge: Path
    folder: Path
    paper: bytes
    answers: bytes

    def questions(self) -> Iterator[dict]:
        """Where each one's answer is, and its C."""
        (count,) = struct.unpack_from("<Q", self.paper)
        at, answer = 8, 0
        for index in range(count):
            form = "<14q2f64sB3xiiI5Q35Q"  # exam.hpp's Question
            M, N, K, lda, ldb, ldc, lds, ldr, ldd, batch, *rest = struct.unpack_from(form, self.paper, at)
            assert (batch, *rest[:4]) == (1, 0, 0, 0, 0)
            rest = rest[6:]
            (variant, earlier, sm, processors, block_count), matrices = rest[:5], rest[10:]
            assert (variant.rstrip(b"\0"), sm, processors, lds, ldr, ldd) == (b"fp32", 0, 0, 0, 0, 0)
            matrices, unused = matrices[:15], matrices[15:]
            assert not any(unused)
            sizes, starts, gaps = matrices[::5], matrices[1::5], matrices[4::5]
            at += struct.calcsize(form) + (1 + (earlier > 0)) * sum(sizes)
            whole = not block_count and not any(gaps)  # all of C lies in the answer, and all of it is computed
            C = {"M": M, "N": N, "ldc": ldc, "bytes": sizes[2], "start": starts[2], "whole": whole}
            yield {"index": index, "at": answer, **C}
            answer += 16 + sizes[2]
        assert at == len(self.paper)

    def marked(self, answers: bytes) -> dict:
        file, verdict = self.folder / "answers", self.folder / "verdict.json"
        file.write_bytes(answers)
        command = [self.judge, "--lesson", "01_naive", "--seed", "7", "--answers", file, "--output", verdict]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        found = json.loads(verdict.read_text(encoding="utf-8"))
        assert found["passed"] is (done.returncode == 0)
        assert [case["passed"] for case in found["cases"][:-1]] == [True] * (len(found["cases"]) - 1)
        return found


@pytest.fixture(scope="module")
def exam(tmp_path_factory: pytest.TempPathFactory) -> Exam:
    folder = tmp_path_factory.mktemp("exam")
    source = compiling.Source(SOLUTIONS["01"], FILES["01"], "exercise_01", "exercise 01")
    program, _ = compiling.compile_program(toolchain("exam"), [source], folder)
    judge = ROOT / "build" / "cpu" / "bin" / "gemm_judge"
    paper = folder / "paper"
    subprocess.run([judge, "--lesson", "01_naive", "--seed", "7", "--paper", paper], check=True)
    with (folder / "right").open("wb") as right:
        command = [program, "--paper", paper, "--answers-fd", str(right.fileno())]
        subprocess.run(command, check=True, pass_fds=[right.fileno()])
    return Exam(judge, folder, paper.read_bytes(), (folder / "right").read_bytes())


def test_right_answers_pass(exam: Exam) -> None:
    found = exam.marked(exam.answers)
    questions = list(exam.questions())
    assert found["passed"]
    assert found["total"] == len(found["cases"]) == len(questions) > 10
    assert len(exam.answers) == sum(16 + question["bytes"] for question in questions)
    assert exam.marked(exam.answers + b"and more")["passed"]  # nobody asked


def test_a_paper_is_the_same_for_a_seed_and_another_for_another(exam: Exam) -> None:
    again, other = exam.folder / "again", exam.folder / "other"
    for path, number in ((again, "7"), (other, "8")):
        subprocess.run([exam.judge, "--lesson", "01_naive", "--seed", number, "--paper", path], check=True)
    assert again.read_bytes() == exam.paper != other.read_bytes()


def changed(answers: bytes, at: int, new: bytes) -> bytes:
    return answers[:at] + new + answers[at + len(new) :]


@pytest.mark.parametrize("index", [0, 3])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a, q: a[: q["at"]], "ended before it had computed this"),
        (lambda a, q: a[: q["at"] + 9], "ended before it had computed this"),
        (lambda a, q: a[: q["at"] + 16], "ended before it had handed over its result"),
        (lambda a, q: a[: q["at"] + 16 + q["bytes"] - 1], "ended before it had handed over its result"),
        (lambda a, q: changed(a, q["at"], struct.pack("<QQ", q["index"] + 1, 0)), "is no answer"),
        (lambda a, q: changed(a, q["at"], struct.pack("<QQ", 2**64 - 1, 0)), "is no answer"),
        (lambda a, q: changed(a, q["at"], struct.pack("<QQ", q["index"], 4097)), "is no answer"),
        (lambda a, q: changed(a, q["at"], struct.pack("<QQ", q["index"], 2**63)), "is no answer"),
        (lambda a, q: a[: q["at"]] + struct.pack("<QQ", q["index"], 10) + b"short", "ended before it had said why"),
        (lambda a, q: a[: q["at"]] + struct.pack("<QQ", q["index"], 5) + b"a\xff\xfe\0b", "a"),
        (lambda a, q: bytes(len(a)), ""),
    ],
)
def test_what_is_no_answer_fails(exam: Exam, change: Callable[[bytes, dict], bytes], words: str, index: int) -> None:
    question = list(exam.questions())[index]
    case = exam.marked(change(exam.answers, question))["cases"][-1]
    assert not case["passed"]
    assert words in (case["error"]["text"] if case["error"] else "")
    assert case["error"] or case["verdict"]["failure"]


def test_every_wrong_byte_of_c_is_found(exam: Exam) -> None:
    questions = list(exam.questions())
    padded = next(q for q in questions if q["whole"] and q["ldc"] > q["N"] and q["M"] > 1)
    places = {
        "an element": padded["start"] + 4 * (padded["ldc"] + padded["N"] - 1) + 3,
        "the padding of a row": padded["start"] + 4 * padded["N"],
        "before the matrix": padded["start"] - 1,
        "behind the matrix": padded["bytes"] - 1,
        "the first byte of all": 0,
    }
    for place, offset in places.items():
        at = padded["at"] + 16 + offset
        found = exam.marked(changed(exam.answers, at, bytes([exam.answers[at] ^ 0xFF])))
        assert not found["passed"], place
        assert len(found["cases"]) == padded["index"] + 1, place
        assert found["cases"][-1]["verdict"]["failure"], place


def test_a_nan_and_an_infinity_are_wrong(exam: Exam) -> None:
    question = next(exam.questions())
    for value in (float("nan"), float("inf"), -0.5):
        at = question["at"] + 16 + question["start"]
        assert not exam.marked(changed(exam.answers, at, struct.pack("<f", value)))["passed"]


@pytest.mark.parametrize(
    "options",
    [
        ["--lesson", "99_none", "--seed", "7", "--paper", "p"],
        ["--lesson", "01_naive", "--seed", "7"],
        ["--lesson", "01_naive", "--seed", "x", "--paper", "p"],
        ["--lesson", "01_naive", "--seed", "7", "--answers", "/nowhere"],
    ],
)
def test_the_judge_refuses_in_a_sentence(exam: Exam, options: Sequence[str], tmp_path: Path) -> None:
    done = subprocess.run([exam.judge, *options], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert not list(tmp_path.iterdir())


# Submissions


def read(path: Path, number: str = "03") -> tuple[str, bytes] | None:
    return Submission("ada", path).read(TASKS[number])


DEEP = {f"{path}/03_smem/exercise.cu": path for path in ("z/y", "b", "a")} | {"03_smem/exercise.cu.txt": "text"}
STEPS = {"bug_hunt_03.cu": "hunt", "exercise_09a.cu": "step"}
ZIP = synthetic.zipped((FILES["03"], "x"))
INSIDE = "{} is a zip inside of it, and is not opened; unpack it"
OUTSIDE = (f"../{FILES['03']}", f"/{FILES['03']}", f"C:/{FILES['03']}", "a/../exercise_03.cu")


@pytest.mark.parametrize(
    ("handed_in", "task", "found"),
    [
        (DEEP, TASKS["03"], ("a/03_smem/exercise.cu", b"a")),  # the one nearest to the top
        ({**DEEP, "exercise_03.cu": "flat"}, TASKS["03"], ("exercise_03.cu", b"flat")),
        (DEEP, TASKS["01"], None),
        (STEPS, Task("03_smem", "hunt"), ("bug_hunt_03.cu", b"hunt")),
        (STEPS, Task("09a_wmma", "exercise"), ("exercise_09a.cu", b"step")),
        (STEPS, TASKS["03"], None),
        (synthetic.zipped((FILES["03"], "x"), how=zipfile.ZIP_STORED), TASKS["03"], (FILES["03"], b"x")),
        (synthetic.zipped((FILES["03"], "x"), how=zipfile.ZIP_BZIP2), TASKS["03"], "another method"),
        (synthetic.zipped((FILES["03"], "x"), how=zipfile.ZIP_LZMA), TASKS["03"], "another method"),
        (synthetic.zipped(("mine/Inner.ZIP", ZIP)), TASKS["03"], INSIDE.format("mine/Inner.ZIP")),
        ({"mine.zip": ZIP}, TASKS["03"], INSIDE.format("mine.zip")),
        ({"mine.zip": ZIP, "exercise_03.cu": "y"}, TASKS["03"], ("exercise_03.cu", b"y")),  # what can be read is graded
        *((synthetic.zipped((name, "x")), TASKS["03"], "outside of the zip") for name in OUTSIDE),
    ],
    ids=lambda value: "zip" if isinstance(value, bytes) else None,  # whose bytes have the time in them
)
def test_which_file_is_read(tmp_path: Path, handed_in: dict | bytes, task: Task, found: tuple[str, bytes] | str | None) -> None:
    path = tmp_path / "a.zip"
    if isinstance(handed_in, bytes):
        path.write_bytes(handed_in)
    else:
        put(path, handed_in)
    if isinstance(found, str):
        with pytest.raises(Refused, match=found):
            Submission("ada", path).read(task)
    else:
        assert Submission("ada", path).read(task) == found


def test_a_folder_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "_MOST", 10)
    for name in "abcd":
        (tmp_path / name).mkdir()
        for number in range(3):
            (tmp_path / name / str(number)).touch()
    with pytest.raises(Refused, match="more than 10 files"):
        read(tmp_path)


def test_a_link_put_there_meanwhile_is_not_followed(tmp_path: Path) -> None:
    put(tmp_path, {"secret/exercise.cu": "secret", "own/03_smem/exercise.cu": "mine"})
    held = submissions._Folder(tmp_path / "own")
    assert held.names == ["03_smem/exercise.cu"]
    (tmp_path / "own" / "03_smem" / "exercise.cu").unlink()
    (tmp_path / "own" / "03_smem").rmdir()
    (tmp_path / "own" / "03_smem").symlink_to(tmp_path / "secret")
    with pytest.raises(Refused, match="cannot be read"):
        held.read("03_smem/exercise.cu")


def test_damaged_zips_are_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    whole = synthetic.zipped((FILES["03"], SOLUTIONS["03"]), ("03_smem/ä.txt", "x"), ("more/" + FILES["01"], "y" * 1000))
    draw, path, outcomes = random.Random(5), tmp_path / "a.zip", set()
    for _ in range(1500):
        raw = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            raw[draw.choice((draw.randrange(len(raw)), -draw.randint(1, 300)))] = draw.randrange(256)
        path.write_bytes(raw[: draw.choice((len(raw), draw.randrange(len(raw))))])
        try:
            outcomes.add("read" if read(path) else "missing")
        except Refused as refused:
            assert str(refused).endswith(".")
            outcomes.add("refused")
    assert outcomes == {"read", "missing", "refused"}


def test_learners_have_names_of_their_own(tmp_path: Path) -> None:
    names = ["ada", "ada.zip", "bob.zip", "a\nb", "a\\nb", "eve.ZIP", "eve.zip", "ada (2)", ".hidden.zip"]
    for name in (*names, ".DS_Store", "._ada.zip"):
        (tmp_path / name).touch()
    for name in (".mia", "__MACOSX", ".git"):
        (tmp_path / name).mkdir()
    for number in (254, 255):
        (tmp_path / os.fsdecode(b"z" + bytes([number]))).touch()
    (tmp_path / "z\\xff").touch()
    found = {os.fsencode(one.path.name): one.learner for one in submissions.find(tmp_path)}
    assert found[b"ada"] == "ada" and found[b"ada.zip"] == "ada.zip" and found[b"bob.zip"] == "bob"
    assert found[b"a\\nb"] == "a\\nb" and found[b"a\nb"] == "a\\nb (2)"
    assert found[b"z\\xff"] == "z\\xff" and found[b"z\xff"] == "z\\xff (2)" and found[b"z\xfe"] == "z\\xfe"
    assert sorted((found[b"eve.ZIP"], found[b"eve.zip"])) == ["eve", "eve.zip"]
    assert found[b".hidden.zip"] == ".hidden" and found[b".mia"] == ".mia"
    assert len(set(found.values())) == len(found) == 13


def test_a_zip_of_long_names_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(synthetic.zipped((FILES["03"], "x"), *((f"{'x' * 30_000}{n}", "") for n in range(1000))))
    with pytest.raises(Refused, match="a name of more than 1024 characters"):
        read(path)


# What is written


def results(*states: str, text: str = "text") -> dict[str, dict]:
    return {task.key: {"state": state, "text": text, "judged": None} for task, state in zip(BOTH, states, strict=True)}


def test_no_cell_is_a_formula_and_every_cell_is_quoted_as_it_must_be() -> None:
    names = ["=1+1", "+1", "-1", "@x", "a,b", 'a"b', "plain"]
    text = gradebook.as_csv({name: results("passed", "failed") for name in names}, BOTH)
    assert text.splitlines()[1:] == [
        "'=1+1,1,0,1,2,50.0,", "'+1,1,0,1,2,50.0,", "'-1,1,0,1,2,50.0,", "'@x,1,0,1,2,50.0,", '"a,b",1,0,1,2,50.0,',
        '"a""b",1,0,1,2,50.0,', "plain,1,0,1,2,50.0,",
    ]  # fmt: skip
    trouble = gradebook.as_csv({"x": results("trouble", "trouble")}, BOTH)
    assert trouble.splitlines()[-1].startswith("x,0,0,0,2,0.0,all: not graded: ")


def test_pages_escape_what_learners_wrote() -> None:
    page = gradebook.page("<b>&", results("failed", "passed", text='<script>x</script>"&'), BOTH)
    assert "<script" not in page and "<b>" not in page
    assert "&lt;script&gt;x&lt;/script&gt;&quot;&amp;" in page and "<h1>&lt;b&gt;&amp;</h1>" in page
    assert "1 of 2 passed." in page


def test_every_learner_has_a_folder_that_is_nobody_elses() -> None:
    accented = gradebook.slug("Zoë")
    files = ["grades.json", "journal.jsonl", "..", "/"]
    names = ["-rf", "--", "-", "rf", "Zoë", accented, "ada", " ada", "Ada B", "Ada_B", "x" * 300, "x" * 60, "ä", "ö", *files]
    slugs = [gradebook.slug(name) for name in names]
    assert len(set(slugs)) == len(names)
    assert not {"grades.json", "journal.jsonl", "", ".", ".."} & set(slugs)
    assert all(set(slug) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") for slug in slugs)
    assert not [slug for slug in slugs if slug.startswith("-")]  # rm * in that folder
    assert gradebook.slug("ada") == "ada"


def test_gradescope_gets_its_object() -> None:
    made = gradebook.gradescope(results("passed", "missing", text="why"), BOTH)
    assert [test["score"] for test in made["tests"]] == [1, 0]
    assert [test["status"] for test in made["tests"]] == ["passed", "failed"]
    assert all(test["max_score"] == 1 and test["output"] == "why" and test["output_format"] == "text" for test in made["tests"])
    assert made["tests"][0]["name"] == "exercise 01"
    json.dumps(made)


def test_a_journal_survives_what_an_interruption_cuts_off(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal(path)
    assert not journal.head
    journal.begin({"schema": 1, "course": "c", "secret": "s"})
    entry = {"learner": "ada", "task": "t", "digest": "d", "state": "passed", "text": "", "judged": True, "seconds": 1.0}
    journal.add(entry)
    assert path.stat().st_mode & 0o777 == 0o600
    with path.open("ab") as file:
        file.write(b'\n{"learner": "bea", "task": "t"}\n[]\n7\n{"learner": "bob", "task"')
    Journal(path).add({**entry, "learner": "cid"})
    again = Journal(path)
    assert again.head["secret"] == "s"
    assert set(again.entries) == {("ada", "t"), ("cid", "t")}
    for cut in range(len(path.read_bytes())):
        (tmp_path / "cut").write_bytes(path.read_bytes()[:cut])
        assert set(Journal(tmp_path / "cut").entries) <= {("ada", "t"), ("cid", "t")}


# The command


@pytest.fixture
def handed_in(tmp_path: Path) -> Path:
    """A class of one, who has begun nothing: what needs no program to be graded."""
    put(tmp_path / "submissions" / "ada", {FILES["01"]: TASKS["01"].starter()})
    return tmp_path / "submissions"


def refuses(*arguments: str | Path, words: Sequence[str], env: Mapping[str, str] = ENV) -> None:
    sentence(grade(*arguments, env=env), words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tasks", "99"], ["99"]),
        (["--tasks", "01,"], []),
        (["--tasks", "03-bug"], ["--tasks", "03-bug"]),
        (["--tasks", "01-hunt"], ["01_naive", "hunt"]),
        (["--jobs", "0"], ["--jobs"]),
        (["--jobs", "many"], ["--jobs"]),
        (["--jobs", "2", "--unsandboxed"], ["sandbox", "--jobs"]),
        (["--seconds", "0"], ["--seconds"]),
        (["--seconds", "-3"], ["--seconds"]),
        (["--out", "grades"], ["--out", "grades.csv"]),
        (["--out", "/proc/none/grades.csv"], ["/proc/none"]),
        (["--out", "/dev/null/grades.csv"], ["/dev/null"]),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(handed_in: Path, options: Sequence[str], words: Sequence[str]) -> None:
    refuses(handed_in, *options, words=words)


def test_wrong_folders_are_refused_in_a_sentence(handed_in: Path, tmp_path: Path) -> None:
    out = ["--out", tmp_path / "g.csv"]
    refuses(tmp_path / "none", *out, words=[str(tmp_path / "none")])
    refuses(handed_in / "ada" / FILES["01"], *out, words=[FILES["01"]])
    (tmp_path / "empty").mkdir()
    refuses(tmp_path / "empty", *out, words=[str(tmp_path / "empty"), "zip"])
    refuses(handed_in, "--out", handed_in / "g.csv", words=["among the submissions"])
    refuses(handed_in, "--out", f"{handed_in}.csv", words=["among the submissions"])
    assert sorted(path.name for path in handed_in.iterdir()) == ["ada"]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("", ["bubblewrap is missing", "apt-get install -y bubblewrap", "--unsandboxed"]),
        ("echo 'bwrap: No permissions' >&2\nexit 1", ["(bwrap: No permissions)", "--unsandboxed"]),
    ],
)
def test_without_a_sandbox_it_refuses_and_says_what_to_do(
    program: str, words: list[str], handed_in: Path, tmp_path: Path
) -> None:
    """`program`: a shell's, in bubblewrap's place; none where it is empty."""
    if program and not doctor._seccomp():
        pytest.skip("libseccomp for Python is missing, which is asked for first")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("prlimit", "setpriv"):
        (folder / name).symlink_to(Path("/usr/bin") / name)
    if program:
        script(folder / "bwrap", program)
    refuses(handed_in, "--out", tmp_path / "g.csv", words=words, env={**ENV, "PATH": str(folder)})
    assert not (tmp_path / "g.csv").exists()


def test_unsandboxed_works_and_says_what_it_means(handed_in: Path, tmp_path: Path) -> None:
    done = grade(handed_in, "--out", tmp_path / "g.csv", "--tasks", "01", "--unsandboxed", "--json")
    assert done.returncode == 0, done.stderr
    assert "Without a sandbox " in done.stderr
    (one,) = json.loads(done.stdout)["learners"]
    assert one["results"][TASKS["01"].key]["state"] == "untouched"
    assert (tmp_path / "g.csv").read_text().splitlines()[1] == "ada,0,0,1,0.0,all: not begun"


@pytest.mark.parametrize("counted", [False, True])
def test_where_no_group_counts_it_says_what_is_not_limited(
    counted: bool, kit: Kit, handed_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Sandbox, "counted", counted)
    monkeypatch.setattr(kit.sandbox, "_stop", threading.Event())  # at the end the command stops the sandbox that others use
    monkeypatch.setattr(command, "Kit", lambda *_: kit)
    monkeypatch.setattr(command, "_prove", lambda *_: None)
    assert command.grade(str(handed_in), str(tmp_path / "g.csv"), "01", None, None, False, False, False) == 0
    said = capsys.readouterr().err
    assert ("no control group" in said) is not counted


def test_another_course_needs_again(box: Sandbox, handed_in: Path, tmp_path: Path) -> None:
    out = tmp_path / "g.csv"
    assert grade(handed_in, "--out", out, "--tasks", "01").returncode == 0
    journal = tmp_path / "g" / "journal.jsonl"
    before = journal.read_bytes()
    refuses(handed_in, "--out", out, "--tasks", "01,03", words=[str(tmp_path / "g"), "--again"])
    head, rest = before.split(b"\n", 1)
    journal.write_bytes(json.dumps({**json.loads(head), "basis": "another"}).encode() + b"\n" + rest)
    refuses(handed_in, "--out", out, "--tasks", "01", words=["--again"])
    done = grade(handed_in, "--out", out, "--tasks", "01", "--again")
    assert done.returncode == 0, done.stderr
    assert json.loads(journal.read_bytes().split(b"\n")[0])["secret"] != json.loads(head)["secret"]


def test_two_gradings_do_not_write_to_one_table(handed_in: Path, tmp_path: Path) -> None:
    with gradebook.alone(tmp_path / "g"):
        words = ["./gemm grade", str(tmp_path / "g")]
        refuses(handed_in, "--out", tmp_path / "g.csv", "--tasks", "01", words=words)


@DISTURBANCES
def test_nothing_is_graded_where_the_lessons_own_kernel_fails(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    command._prove(Grader(kit, "secret", Limits()), TASKS["01"])
    monkeypatch.setattr(kit, "kernel", [*kit.kernel, "-DNDEBUG", "-include", "/nowhere.hpp"])
    with pytest.raises(UserError, match=" of 01 .*nowhere.hpp"):
        command._prove(Grader(kit, "secret", Limits()), TASKS["01"])


@DISTURBANCES
def test_what_may_be_the_machines_doing_counts_when_it_is_known_not_to_be(kit: Kit) -> None:
    source = synthetic.early("01", "kill(getpid(), SIGKILL);")
    with pytest.raises(UserError, match="ended by SIGKILL"):
        graded(kit, "01", source)
    outcome = Grader(kit, "secret", Limits()).grade(TASKS["01"], "ada", FILES["01"], source.encode(), 0, final=True)
    assert outcome.state == "failed"
    assert "ended by SIGKILL" in outcome.text


class Moody:
    """A grader to which things happen: what grade() and prove() do, call after call; nothing, or nothing more: it passes."""

    def __init__(self, *moods: Exception | None) -> None:
        self.moods, self.calls = list(moods), list[tuple[str, bool]]()

    def prove(self, task: Task, slot: int) -> Outcome:
        return self.grade(task, "", "", b"", slot)

    def grade(self, task: Task, learner: str, name: str, raw: bytes, slot: int, final: bool = False) -> Outcome:
        self.calls.append((learner, final))
        if mood := self.moods.pop(0) if self.moods else None:
            raise mood
        return Outcome("passed", "It is right.\n", True)

    def stop(self) -> None:
        pass


MACHINE = UserError(f"{ROOT}/build/cpu/bin/gemm_judge cannot be run: out of something.")


@pytest.mark.parametrize(
    ("moods", "calls", "state"),
    [
        ([], [("ada", False)], "passed"),
        ([MACHINE], [("ada", False), ("", False), ("ada", True)], "passed"),
        ([MACHINE, MACHINE], [("ada", False), ("", False)], "trouble"),
        ([MACHINE, None, MACHINE], [("ada", False), ("", False), ("ada", True)], "trouble"),  # no run of its own, however often
        ([TypeError()], [("ada", False), ("", False), ("ada", True)], "passed"),
        ([TypeError(), None, TypeError()], [("ada", False), ("", False), ("ada", True)], "trouble"),
        ([OSError(28, "No space left on device", "/home/ada/x")], [("ada", False), ("", False), ("ada", True)], "passed"),
    ],
)
def test_doubts_are_settled_by_a_control_and_a_second_look(
    moods: list[Exception | None], calls: list[tuple[str, bool]], state: str, handed_in: Path, tmp_path: Path
) -> None:
    grader, journal = Moody(*moods), Journal(tmp_path / "journal.jsonl")
    whole = command._Class(grader, journal, submissions.find(handed_in), [TASKS["01"]])  # type: ignore[arg-type]
    [(_, _, _, outcome)] = whole.results(2)
    assert (grader.calls, outcome.state) == (calls, state)
    assert ("not to blame" in outcome.text) is (state == "trouble")
    assert ("out of something. " in outcome.text) is (state == "trouble" and moods[0] is MACHINE)
    assert ("flaw (TypeError in line " in outcome.text) is (state == "trouble" and moods[0] is not MACHINE)
    assert "/" not in outcome.text.replace(FILES["01"], "")


def test_no_text_says_where_things_are() -> None:
    told = grading.without_places(f"{ROOT}/x y/a.json, '/tmp/gemm-grade-x/b.o': /c and d/e at 3/4; /usr/bin/false.")
    assert str(ROOT) not in told and "/tmp" not in told and "/usr" not in told  # noqa: S108
    assert all(word in told for word in ("a.json", "b.o", "d/e", "3/4", "false."))


@VERDICTS
def test_another_text_gets_other_problems(kit: Kit) -> None:
    said = [graded(kit, "01", text).text for text in (SOLUTIONS["01"], SOLUTIONS["01"], SOLUTIONS["01"] + "// again\n")]
    first, same, other = (re.search(r"seed (\d+)", text)[1] for text in said)
    assert first == same != other


_NUMBERS = ("m", "n", "k", "lda", "ldb", "ldc", "batch", "alpha")
_CASE: dict[str, object] = {**dict.fromkeys(_NUMBERS, 1), "operands": [], "groups": []}


@pytest.mark.parametrize(
    "change",
    [
        lambda report: report["trace"]["lines"][0].update(sectors=["x"]),
        lambda report: report["trace"]["lines"][0].update(requests=10**30),
        lambda report: report["trace"]["totals"].update(global_bytes="many"),
        lambda report: report["trace"].update(barriers_per_thread=float("nan")),
        lambda report: report["tile"].update(BM=True),
        lambda report: report["cases"][0].update(m=[1] * 9),
        lambda report: report["cases"][0].update(operands=[{"pitch": 1, "tight": "1", "offset": 0, "stride": 0}]),
        lambda report: report["cases"][0].update(groups=[[1, 1, "1"]]),
        lambda report: report.update(trace=[]),
        lambda report: report.pop("cases"),
        lambda report: report.update(cases=[]),
    ],
)
def test_evidence_is_made_of_numbers(change: Callable[[dict], object]) -> None:
    line = dict.fromkeys(("line", "width", "requests", "threads", "bytes", "sectors", "ideal_sectors"), 1)
    counted = {
        "blocks": 1,
        "threads_per_block": 32,
        "barriers_per_thread": 0.5,
        "totals": {"global_bytes": 1, "flop_per_byte": None},
    }
    case = _CASE | {"beta": None}  # NaN
    trace = {"m": ["x"], "n": 10**9, "k": 1, "lines": [line], **counted}
    report = {"tile": {"BM": 32, "BN": 32, "BK": 1}, "cases": [case], "trace": trace}
    assert {grading.evidence(json.dumps(report).encode())["trace"][key] for key in "mnk"} == {grading.GOAL}
    change(report)
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        grading.evidence(json.dumps(report).encode())


def test_long_words_are_cut_before_they_are_laid_out() -> None:
    case = _CASE | {"beta": None, "error": {"text": "x" * (4 << 20)}}
    report = {"tile": {"BM": 32, "BN": 32, "BK": 1}, "cases": [case], "trace": None}
    cut = grading.evidence(json.dumps(report).encode())["cases"][0]["error"]["text"]
    assert len(cut) < 5000
    begin = time.monotonic()
    assert len(course.wrapped("x" * 400_000, 100)) == 4000
    assert time.monotonic() - begin < 5


def test_a_report_is_whole_or_void(exam: Exam) -> None:
    command = [exam.judge, "--lesson", "01_naive", "--seed", "7", "--tile", "32,32,1"]
    asked = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["cases"]
    assert len(asked) > 10
    cases = [{**case, "passed": True} for case in asked]
    failed = {**cases[3], "passed": False}
    goal = {**cases[0], "id": "goal", "passed": False}

    def whole(passed: bool, *cases: dict) -> bool:
        return grading.whole({"passed": passed, "cases": list(cases)}, asked)  # type: ignore[typeddict-item]

    assert whole(True, *cases)
    assert whole(False, *cases[:3], failed) and whole(False, *cases, goal)
    assert not whole(True, *cases[:-1]) and not whole(True, *cases, cases[0]) and not whole(True, *cases[1:], cases[0])
    assert not whole(True, *cases[:3], failed, *cases[4:])
    assert not whole(True, *cases[:-1], {**cases[-1], "k": cases[-1]["k"] + 1})
    assert not whole(False, failed) and not whole(False, goal) and not whole(False, *cases[:5], goal)


@VERDICTS
def test_a_file_that_changed_is_graded_anew(box: Sandbox, handed_in: Path, tmp_path: Path) -> None:
    out = ["--out", tmp_path / "g.csv", "--tasks", "01", "--jobs", "1"]
    assert grade(handed_in, *out).returncode == 0
    (handed_in / "ada" / FILES["01"]).write_text(SOLUTIONS["01"])
    done = grade(handed_in, *out)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "g.csv").read_text().splitlines()[1] == "ada,1,1,1,100.0,"
    assert ("no control group" in done.stderr) is not box.counted


@DISTURBANCES
def test_what_the_machine_was_in_the_way_of_is_tried_again(
    box: Sandbox, handed_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (handed_in / "ada" / FILES["01"]).write_text(SOLUTIONS["01"])

    def no_space(*_: object) -> Outcome:
        raise UserError("The disk is full.")

    def status() -> int:
        return command.grade(str(handed_in), str(tmp_path / "g.csv"), "01", "1", "20", False, False, False)

    with monkeypatch.context() as patched:
        patched.setattr(Grader, "grade", no_space)
        patched.setattr(Grader, "prove", no_space)
        patched.setattr(command, "_prove", lambda *_: None)
        assert status() == 1
    assert (tmp_path / "g.csv").read_text().splitlines()[1].startswith("ada,0,0,1,0.0,all: not graded: ")
    assert status() == 0
    assert (tmp_path / "g.csv").read_text().splitlines()[1] == "ada,1,1,1,100.0,"
