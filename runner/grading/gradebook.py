"""What grading leaves: a journal while it runs, then a table for the course's records and a page for each learner."""

from __future__ import annotations

import csv
import fcntl
import hashlib
import html
import io
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from runner.core.results import UserError, writable_folder, write_atomically
from runner.grading.grading import FAILED, MISSING, PASSED, REFUSED, TROUBLE, UNTOUCHED
from runner.learn.exercise import Task

SCHEMA = 1
_WORDS = {
    PASSED: "passed",
    FAILED: "not passed",
    UNTOUCHED: "not begun",
    MISSING: "not handed in",
    REFUSED: "could not be read",
    TROUBLE: "not graded: this machine had trouble",
}
_OWN = ("grades.json", "journal.jsonl")  # what lies beside the learners' folders
Rows = Mapping[str, Mapping[str, Mapping]]  # by learner and task: state, text


_ENTRY = {"learner", "task", "digest", "state", "text", "judged", "seconds"}  # what the journal keeps of a file


def column(task: Task) -> str:
    """What a task is called in tables and options: `03`, `03-hunt`."""
    return task.number + ("-hunt" if task.kind == "hunt" else "")


class Journal:
    """A line for each file that was graded, written as soon as it was: what an interruption leaves is not done again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.head: dict = {}
        self.entries: dict[tuple[str, str], dict] = {}
        with suppress(FileNotFoundError):
            for line in path.read_bytes().split(b"\n"):
                try:
                    entry = json.loads(line)
                    if "secret" in entry:
                        self.head = entry
                    elif entry.keys() >= _ENTRY and entry["state"] in _WORDS:
                        self.entries[entry["learner"], entry["task"]] = entry
                except (ValueError, TypeError, AttributeError):
                    continue  # the line at which it was interrupted

    def begin(self, head: Mapping) -> None:
        """A new one. Only its owner may read it: it holds the seeds that learners must not know."""
        self.head, self.entries = dict(head), {}
        write_atomically(self._path, json.dumps(self.head) + "\n", 0o600)

    def add(self, entry: Mapping) -> None:
        """Written before it returns. Raises UserError."""
        self.entries[entry["learner"], entry["task"]] = dict(entry)
        try:
            with self._path.open("ab") as file:
                # After a line that an interruption cut off.
                file.write(b"\n" + json.dumps(entry).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise UserError(f"{self._path} cannot be written: {error.strerror}; free space and go on.") from error


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Holds the folder, which is made where there is none, for this process. A UserError where another has it."""
    writable_folder(folder)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)  # filelock knows files alone, and one would stay among the pages
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"Another ./gemm grade is writing to {folder}; wait for it, or choose another --out.") from error
        except OSError as error:
            raise UserError(f"{folder} cannot be locked: {error.strerror}; choose another --out.") from error
        yield
    finally:
        os.close(descriptor)


def slug(learner: str) -> str:
    """A folder's name for the learner: plain letters, and unique, also beside the other files of the folder."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", learner).strip("._")[:60].lstrip("-")  # no program's option where names are listed
    if plain == learner and plain not in _OWN and not re.search(r"-[0-9a-f]{8}$", plain):
        return plain
    return f"{plain}-{hashlib.sha256(learner.encode()).hexdigest()[:8]}".lstrip("-")


def _guarded(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def as_csv(rows: Rows, tasks: Sequence[Task]) -> str:
    """A row a learner: 1 for each task that passed, 0 for each that did not, their sum, and the share in per cent."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["learner", *map(column, tasks), "passed", "of", "percent", "remarks"])
    for learner, results in rows.items():
        points = [int(results[task.key]["state"] == PASSED) for task in tasks]
        other = [f"{column(t)}: {_WORDS[s]}" for t in tasks if (s := results[t.key]["state"]) not in (PASSED, FAILED)]
        if len(other) == len(tasks) and len({remark.partition(": ")[2] for remark in other}) == 1:
            other = [f"all: {other[0].partition(': ')[2]}"]
        share = f"{100 * sum(points) / len(points):.1f}"
        writer.writerow([_guarded(learner), *points, sum(points), len(points), share, "; ".join(other)])
    return out.getvalue()


def as_json(rows: Rows, tasks: Sequence[Task]) -> dict:
    """Everything but times."""
    return {
        "schema": SCHEMA,
        "tasks": [task.key for task in tasks],
        "learners": [
            {
                "learner": learner,
                "passed": sum(results[task.key]["state"] == PASSED for task in tasks),
                "of": len(tasks),
                "results": {task.key: dict(results[task.key]) for task in tasks},
            }
            for learner, results in rows.items()
        ],
    }


def gradescope(results: Mapping[str, Mapping], tasks: Sequence[Task]) -> dict:
    """Gradescope's results.json: https://gradescope-autograders.readthedocs.io/en/latest/specs/."""
    return {
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": task.title,
                "score": int(results[task.key]["state"] == PASSED),
                "max_score": 1,
                "status": "passed" if results[task.key]["state"] == PASSED else "failed",
                "output": results[task.key]["text"],
                "output_format": "text",
            }
            for task in tasks
        ],
    }


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a }}
table {{ border-collapse: collapse }} td, th {{ padding: .2rem 1rem .2rem 0; text-align: left }}
pre {{ background: #f4f4f4; padding: .8rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 14px }}
.passed {{ color: #0a6b2d }} .failed {{ color: #a3200d }}
</style>
<h1>{title}</h1>
<p>{sum}</p>
<table>
{table}
</table>
{details}
</html>
"""


def page(learner: str, results: Mapping[str, Mapping], tasks: Sequence[Task]) -> str:
    """For the learner: what passed, and what to do about what did not."""
    table, details = [], []
    for task in tasks:
        result = results[task.key]
        kind = result["state"] if result["state"] in (PASSED, FAILED) else "other"
        word = html.escape(_WORDS[result["state"]])
        table.append(f'<tr><td><a href="#{column(task)}">{html.escape(task.title)}</a></td><td class="{kind}">{word}</td></tr>')
        text = html.escape(result["text"].rstrip("\n"))
        details.append(f'<h2 id="{column(task)}">{html.escape(task.title)}</h2>\n<pre>{text}</pre>')
    passed = sum(results[task.key]["state"] == PASSED for task in tasks)
    return _PAGE.format(
        title=html.escape(learner),
        sum=f"{passed} of {len(tasks)} passed.",
        table="\n".join(table),
        details="\n".join(details),
    )


def write(out: Path, rows: Rows, tasks: Sequence[Task]) -> list[Path]:
    """The table `out`, and beside it a folder of its name with grades.json and a folder a learner. Raises UserError."""
    folder = out.with_suffix("")
    write_atomically(out, as_csv(rows, tasks))
    write_atomically(folder / "grades.json", json.dumps(as_json(rows, tasks), indent=1, ensure_ascii=False) + "\n")
    for learner, results in rows.items():
        own = folder / slug(learner)
        write_atomically(own / "index.html", page(learner, results, tasks))
        write_atomically(own / "results.json", json.dumps(gradescope(results, tasks), indent=1, ensure_ascii=False) + "\n")
    return [out, folder]
