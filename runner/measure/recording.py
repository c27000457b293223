"""Where what a command has measured goes: to out/, or with --record to plots/results, from committed sources alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path

from runner.core.git import commit_for, commit_here
from runner.core.kernel_hash import kernel_hash
from runner.core.process import say
from runner.core.results import PUBLISHED, ROOT, folder_of, writable_folder, write_atomically

_KEPT, _OUT = ROOT / "plots" / "results", ROOT / "out"


def hash_of(lesson: str) -> str:
    """Of the kernel that is measured."""
    return kernel_hash(ROOT / folder_of(lesson) / "kernel.cu")


def named(files: list[Path]) -> list[str]:
    """As a person in the checkout writes them."""
    return [str(file.relative_to(ROOT)) for file in files]


def as_text(results: Mapping) -> str:
    return json.dumps(results, indent=1, ensure_ascii=False) + "\n"


class Recording:
    """What one command measures. `file`: where it was written; `refused`: why not to plots/results, though that was asked for;
    `published`: whether it is now what README.md and the lessons show."""

    def __init__(self, record: bool, done: str) -> None:
        """Raises UserError now, not after minutes, where there is no commit to name or no room. `done`: measured, profiled."""
        self._record, self._before = record, commit_for(record, done)
        for folder in (_KEPT, _OUT) if record else (_OUT,):
            writable_folder(folder)
        self.file, self.refused, self.published = _OUT, "", False

    def write(self, slug: str, kind: str, results: dict, wrong: str = "", text: Callable[[Mapping], str] = as_text) -> None:
        """Adds commit and date. `slug`: the device's; `kind`: "-profile", say; `wrong`: why it is not worth recording."""
        commit, why = commit_here()
        results |= {"commit": commit, "date": datetime.now(timezone.utc).isoformat(timespec="seconds")}
        if self._record and commit != self._before:
            wrong = wrong or why or "another commit was checked out while measuring"
        self.refused = wrong if self._record else ""
        kept = self._record and not self.refused
        self.file, self.published = (_KEPT if kept else _OUT) / f"{slug}{kind}.json", kept and slug == PUBLISHED
        write_atomically(self.file, text(results))

    def tell(self, results: Mapping, as_json: bool, show: Callable[[], None], publish: Callable[[], list[Path]]) -> None:
        """Prints the results, as JSON or as `show` does, publishes them where they are the published ones, and says where all
        that is."""
        files = named([self.file, *(publish() if self.published else [])])
        if as_json:
            print(json.dumps({**results, "files": files}, ensure_ascii=False))
        else:
            show()
        sys.stdout.flush()
        if self.refused:
            say(f"Not recorded: {self.refused}.")
        say(f"Written: {', '.join(files)}.")
