"""`./gemm grade`: the submissions of a class, each task of each learner in a sandbox of its own."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import secrets
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path

from runner.core import lesson, process, tables
from runner.core.process import Interrupted, say
from runner.core.results import ROOT, UserError, writable_folder
from runner.grading import gradebook, grading, sandbox, submissions
from runner.grading.cgroup import Outlived
from runner.grading.gradebook import Journal, column
from runner.grading.grading import MISSING, NO_ROOM, PASSED, REFUSED, TROUBLE, Grader, Kit, Outcome, without_places
from runner.grading.sandbox import Limits
from runner.grading.submissions import Refused, Submission
from runner.learn import exercise

SCHEMA = 1
_NOT_COUNTED = (
    "This system hands over no control group, so the memory that processes have is limited, but not the kernel's for their sake "
    "(records of files, buffers of pipes)."
)
_NO_FAULT = "The file is not to blame: whoever grades can have it tried again."
_SHOWN = 40  # learners in the table on a terminal


def _tasks(text: str | None) -> list[exercise.Task]:
    """`01,03,03-hunt` → those tasks, in course order; None: all."""
    everything = exercise.tasks()
    if text is None:
        return everything
    wanted = set()
    for part in text.split(","):
        name, dash, hunt = part.strip().partition("-")
        if dash and hunt != "hunt":
            raise UserError(f"--tasks takes names such as 01,03,03-hunt, and not {part.strip()!r}.")
        wanted.add(exercise.task(lesson.find(name), bool(dash)).key)
    return [task for task in everything if task.key in wanted]


def _sources() -> list[Path]:
    """What grader and judge are made of, whatever the tasks: how things are built, headers, programs, the runner itself."""
    kinds = {".py", ".cpp", ".hpp", ".h", ".cu", ".cuh", ".cmake", ".txt"}
    inside = [path for folder in ("cmake", "common", "runner") for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    return [path for path in (ROOT / "CMakeLists.txt", ROOT / "CMakePresets.json") if path.exists()] + sorted(inside)


def _basis(tasks: Sequence[exercise.Task], limits: Limits, isolated: bool) -> str:
    """A digest of what verdicts depend on beside the submissions: the course, the grader, the tasks, the limits."""
    digest = hashlib.sha256(repr((limits, isolated)).encode())
    for task in tasks:
        digest.update(task.key.encode())
        digest.update(task.kernel().encode())
        digest.update((ROOT / task.folder / "exercise.py").read_bytes())
    for path in _sources():
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _prove(grader: Grader, task: exercise.Task) -> None:
    """Grades the lesson's own kernel. A UserError unless it passes: then nobody's verdict would mean anything."""
    outcome = grader.prove(task, 0)
    if outcome.state != PASSED:
        why = " ".join(line.strip() for line in outcome.text.splitlines()[1:6] if line.strip())
        raise UserError(
            f"Nothing more was graded, since even the lesson's own kernel of {column(task)} does not pass here: {why}"
        )


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


@dataclass(frozen=True)
class _Doubtful:
    """A file that failed, and maybe for this machine's sake."""

    learner: str
    task: exercise.Task
    name: str
    raw: bytes
    why: str


Result = tuple[str, exercise.Task, str, Outcome]  # learner, task, digest of what was graded, what came of it


class _Class:
    """All that is to be graded, by threads of which each has a slot of the sandbox to itself."""

    def __init__(self, grader: Grader, journal: Journal, handed_in: Sequence[Submission], tasks: Sequence[exercise.Task]) -> None:
        self._grader, self._journal = grader, journal
        self._waiting = [(submission, task) for submission in handed_in for task in tasks]
        self._slots, self._thread = itertools.count(), threading.local()
        self._in_trouble = False  # whether a control has failed
        self.total = len(self._waiting)

    def _known(self, learner: str, task: exercise.Task, digest: str) -> dict | None:
        """What the journal has of a file; None where it is to be graded."""
        known = self._journal.entries.get((learner, task.key))
        return known if known and known["digest"] == digest and known["state"] != TROUBLE else None

    def computes(self, again: bool) -> bool:
        """Whether any file is still to be compiled; `again`: whatever the journal knows."""
        for submission, task in self._waiting:
            with suppress(Refused):
                found = submission.read(task)
                if not found or grading.without_a_run(task, *found):
                    continue
                if again or not self._known(submission.learner, task, _digest(found[1])):
                    return True
        return False

    def _one(self, submission: Submission, task: exercise.Task) -> Result | _Doubtful:
        """What came of a file, or a doubt whether it came of the file."""
        try:
            found = submission.read(task)
        except Refused as refused:
            outcome = Outcome(REFUSED, f"{task.title}: {refused}\n")
            return submission.learner, task, _digest(f"refused: {refused}".encode()), outcome
        if found is None:
            outcome = Outcome(MISSING, f"{task.title}: {task.file.relative_to(ROOT)} was not handed in.\n")
            return submission.learner, task, "", outcome
        name, raw = found
        digest = _digest(raw)
        if known := self._known(submission.learner, task, digest):
            return submission.learner, task, digest, Outcome(known["state"], known["text"], known["judged"], known["seconds"])
        slot = self._thread.slot
        graded = self._graded(lambda: self._grader.grade(task, submission.learner, name, raw, slot))
        if isinstance(graded, Outcome):
            return submission.learner, task, digest, graded
        return _Doubtful(submission.learner, task, name, raw, graded)

    @staticmethod
    def _graded(grade: Callable[[], Outcome]) -> Outcome | str:
        """What came of it, or why there is no verdict."""
        try:
            return grade()
        except (sandbox.Stopped, Outlived):
            raise
        except UserError as error:
            return without_places(str(error))
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                return NO_ROOM
            return without_places(f"A file of the grader's, {error.filename}, could not be used ({error.strerror}).")
        except Exception as error:  # noqa: BLE001  (a flaw of the grader, which must not cost the others their verdicts)
            where = traceback.extract_tb(error.__traceback__)[-1]
            flaw = f"{type(error).__name__} in line {where.lineno} of {Path(where.filename).name}"
            return f"The grader has a flaw ({flaw}); please report it, with the file."

    def _again(self, one: _Doubtful) -> Outcome:
        """A second look, with nothing else running: where the lesson's own kernel passes, this machine is not at fault, and what
        ends the file's own programs again is their doing."""
        if not self._in_trouble:
            control = self._graded(lambda: self._grader.prove(one.task, 0))
            self._in_trouble = not isinstance(control, Outcome) or control.state != PASSED
        why = one.why
        if not self._in_trouble:
            graded = self._graded(lambda: self._grader.grade(one.task, one.learner, one.name, one.raw, 0, final=True))
            if isinstance(graded, Outcome):
                return graded
            why = f"{graded} (It was tried twice; in between, the lesson's own kernel passed.)"
        return Outcome(TROUBLE, f"{one.task.title} could not be graded: {why} {_NO_FAULT}\n")

    def _take_slot(self) -> None:
        self._thread.slot = next(self._slots)

    def results(self, jobs: int) -> Generator[Result, None, None]:
        """As they come, `jobs` at a time, doubtful ones at the end. When it is closed, everything has ended."""
        pool = ThreadPoolExecutor(jobs, initializer=self._take_slot)
        doubtful: list[_Doubtful] = []
        try:
            for future in as_completed([pool.submit(self._one, *waiting) for waiting in self._waiting]):
                if isinstance(result := future.result(), _Doubtful):
                    doubtful.append(result)
                else:
                    yield result
            for one in sorted(doubtful, key=lambda one: (one.learner, one.task.key)):
                yield one.learner, one.task, _digest(one.raw), self._again(one)
        finally:
            self._grader.stop()
            pool.shutdown(cancel_futures=True)


def _show(rows: gradebook.Rows, tasks: Sequence[exercise.Task]) -> None:
    """A row a learner, a column a lesson: the sign of its exercise and of its bug hunt."""
    signs = {"passed": "✓", "failed": "✗", "untouched": "·", "missing": "–", "refused": "!", "trouble": "?"}
    shown = list(rows.items())[:_SHOWN]
    of_lesson: dict[str, list[exercise.Task]] = {}
    for task in tasks:
        of_lesson.setdefault(task.number, []).append(task)
    columns = [
        (
            number if own[0].kind == "exercise" else column(own[0]),
            [" ".join(signs[results[task.key]["state"]] for task in own) for _, results in shown],
        )
        for number, own in of_lesson.items()
    ]
    passed = [sum(results[task.key]["state"] == PASSED for task in tasks) for _, results in shown]
    columns.append(("passed", [f"{count}/{len(tasks)}" for count in passed]))
    tables.show_pieces("learner", [learner for learner, _ in shown], columns)
    if more := len(rows) - _SHOWN:
        print(f"… and {more} more learners" if more > 0 else "", end="\n" if more > 0 else "")
    print("✓ passed, ✗ not passed, · not begun, – not handed in,\n! could not be read, ? this machine had trouble")
    if any(len(own) > 1 for own in of_lesson.values()):
        print("Two signs: the exercise, then the bug hunt.")


def grade(folder: str, out: str, tasks: str | None, jobs: str | None, seconds: str | None, unsandboxed: bool, again: bool,
          as_json: bool) -> int:  # fmt: skip
    """Exit status: 0 everything has a verdict, 1 something could not be graded for this machine's sake."""
    chosen = _tasks(tasks)
    if unsandboxed and jobs not in (None, "1"):
        raise UserError("Without a sandbox one is graded at a time, since they could see each other; leave --jobs out.")
    workers = 1 if unsandboxed else int(lesson.whole("--jobs", jobs, 1)) if jobs is not None else process.cores()
    limits = Limits(seconds=float(lesson.whole("--seconds", seconds, 1))) if seconds is not None else Limits()
    where, table = Path(folder).absolute(), Path(out).absolute()
    if table.suffix != ".csv":
        raise UserError(f"--out names a table, such as grades.csv, and not {out}.")
    if table.with_suffix("") == where or where in table.parents:
        raise UserError(f"{out} would be among the submissions; choose another place.")
    handed_in = submissions.find(where)
    writable_folder(table.parent)
    if table.is_dir():
        raise UserError(f"{out} is a folder; name a table.")
    with gradebook.alone(table.with_suffix("")):
        return _graded(where, table, chosen, handed_in, workers, limits, unsandboxed, again, as_json)


def _graded(
    where: Path,
    table: Path,
    chosen: Sequence[exercise.Task],
    handed_in: Sequence[Submission],
    workers: int,
    limits: Limits,
    unsandboxed: bool,
    again: bool,
    as_json: bool,
) -> int:
    """As grade(), whose options these are; nobody else writes to `table`."""
    if unsandboxed:
        who = "any user of this machine" if os.geteuid() == 0 else "you"
        say(f"Without a sandbox a submission can read what {who} can read; only limits on time, memory and output hold.")
    journal = Journal(table.with_suffix("") / "journal.jsonl")
    basis = _basis(chosen, limits, not unsandboxed)
    if not again and journal.head and (journal.head.get("basis"), journal.head.get("schema")) != (basis, SCHEMA):
        begun = "was begun with other tasks, other options or another version of the course"
        raise UserError(f"{table} {begun}; --again grades everything anew.")
    rows: dict[str, dict[str, Mapping]] = {submission.learner: {} for submission in handed_in}
    trouble, same = "", f"the same command{' without --again' if again else ''}"
    secret = journal.head["secret"] if journal.head and not again else secrets.token_hex(16)
    try:
        private = [ROOT, where, table.parent, Path(tempfile.gettempdir()), Path.home()]
        with closing(sandbox.find(unsandboxed, private)) as box, grading.workplace() as place:
            if not box.counted:
                say(_NOT_COUNTED)
            grader = Grader(Kit(place, box), secret, limits)
            whole = _Class(grader, journal, handed_in, chosen)
            if whole.computes(again):
                _prove(grader, chosen[0])
            if again or not journal.head:
                journal.begin({"schema": SCHEMA, "basis": basis, "secret": secret})
            with process.shown(f"Grading {len(handed_in)} submissions") as update, ExitStack() as stack:
                update((0, whole.total, ""))
                results = stack.enter_context(closing(whole.results(workers)))
                for count, (learner, task, digest, outcome) in enumerate(results, start=1):
                    entry = {
                        "learner": learner, "task": task.key, "digest": digest, "state": outcome.state, "text": outcome.text,
                        "judged": outcome.judged, "seconds": round(outcome.seconds, 2),
                    }  # fmt: skip
                    if journal.entries.get((learner, task.key)) != entry:
                        journal.add(entry)
                    rows[learner][task.key] = {key: entry[key] for key in ("state", "text", "judged")}
                    trouble = outcome.text if outcome.state == TROUBLE else trouble
                    update((count, whole.total, f"{learner}: {task.title}"))
    except Interrupted as stop:
        if journal.head.get("secret") != secret:
            raise Interrupted(stop.number, "nothing was graded") from None
        raise Interrupted(stop.number, f"what is graded is kept, and {same} goes on from there") from None
    written = gradebook.write(table, rows, chosen)
    if as_json:
        print(json.dumps(gradebook.as_json(rows, chosen), ensure_ascii=False))
    else:
        _show(rows, chosen)
    sys.stdout.flush()
    say(f"Written: {', '.join(str(path) for path in written)} (for each learner a page and Gradescope's results.json).")
    if trouble:
        say(f"Some could not be graded, and count as 0: {trouble.strip()} To try them again: {same}.")
    return 1 if trouble else 0
