"""Which commit the sources here are, and what has changed."""

from __future__ import annotations

import re

from runner.core import process
from runner.core.results import UserError

# What --record writes itself is no source, so that recording twice works.
_SOURCES = [".", ":(exclude)plots/results", ":(exclude,glob)**/*.md", ":(exclude,glob)**/*.png", ":(exclude,glob)**/*.svg"]


def _git(*arguments: str) -> tuple[int, str]:
    status, output = process.quiet(["git", *arguments])
    return status, output.strip()


def commit_here() -> tuple[str | None, str]:
    """The commit whose sources these are, or None and why there is none, for a sentence."""
    status, commit = _git("rev-parse", "--show-prefix", "HEAD")  # a prefix: this is a folder of another repository
    if status or not re.fullmatch("[0-9a-f]{40,64}", commit):
        return None, f"git names no commit here ({commit.splitlines()[-1] if commit else 'it says nothing'}); commit first"
    status, changes = _git("status", "--porcelain", "--untracked-files=no", "--", *_SOURCES)
    if status or changes:
        first = changes.splitlines()[0].split(maxsplit=1)[-1] if changes else "git status fails"
        return None, f"tracked files have changes that no commit holds ({first}); commit or undo them first"
    return commit, ""


def changed_files() -> list[str]:
    """What is no longer as in the last commit, new files among it; where all is, what that commit changed. From ROOT."""
    asked = (("diff", "HEAD"), ("ls-files", "--others", "--exclude-standard")), (("diff", "HEAD^", "HEAD"),)
    for commands in asked:
        told = [_git(*command, *(["--name-only", "--relative"] if command[0] == "diff" else [])) for command in commands]
        if changed := [name for status, output in told if not status for name in output.splitlines()]:
            return changed
    return []


def commit_for(record: bool, done: str) -> str | None:
    """The commit to write down, None where there is none; with `record` that is a UserError. `done`: measured, profiled."""
    commit, why = commit_here()
    if record and not commit:
        raise UserError(f"--record writes down which commit was {done}, but {why}.")
    return commit
