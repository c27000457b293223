"""What people read is approved: a test holds it against the text in approved/, which GEMM_APPROVE=1 writes as it is now; git diff
shows what is new about it."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

if TYPE_CHECKING:
    from conftest import Checkout

FOLDER = Path(__file__).resolve().parent / "approved"
Approve = Callable[[str], None]
_PROGRESS = re.compile(r" … \d+ s$|: \d+ s$|: \d+/\d+( |$)")


def hold(name: str, now: Mapping[str, str]) -> None:
    """Texts by their titles, some of those in approved/NAME.txt. Spaces at the end of a line, and the last line's end, do not
    count."""
    file = FOLDER / f"{name}.txt"
    said = {title: "".join(f"{line.rstrip()}\n" for line in text.splitlines()) for title, text in now.items()}
    with FileLock(f"{tempfile.gettempdir()}/gemm-approved-{os.getuid()}.lock"):
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        before = dict(re.findall(r"^== (.*)\n((?:(?!== ).*\n)*)", text, re.MULTILINE))
        if os.environ.get("GEMM_APPROVE"):
            before |= said
            FOLDER.mkdir(exist_ok=True)
            file.write_text("".join(f"== {title}\n{before[title]}" for title in sorted(before)), encoding="utf-8")
    for title, text in said.items():
        if text != before.get(title):
            lines = difflib.unified_diff(before.get(title, "").splitlines(), text.splitlines(), "approved", "now", lineterm="")
            pytest.fail("\n".join([f"{title}, which GEMM_APPROVE=1 approves:", *lines]), pytrace=False)


@pytest.fixture
def approve(request: pytest.FixtureRequest, tmp_path: Path) -> Approve:
    """Holds a text of test_x.py's test, whose name is its title, in approved/x.txt. Neither does it count who it is, others than
    root need sudo, nor how busy the machine is, which shows as lines of progress."""

    def of_this_test(text: str) -> None:
        lines = text.replace(str(tmp_path), "<tmp>").replace("sudo apt", "apt").splitlines()
        shown = "\n".join(line for line in lines if not _PROGRESS.search(line))
        hold(request.path.stem.removeprefix("test_"), {request.node.name: shown})

    return of_this_test


def refusals(checkout: Checkout, commands: Iterable[str], status: int = 2) -> str:
    """What each command says that must fail with one sentence, before anything is built."""
    said = [f"$ ./gemm {command}\n{checkout.fails(*shlex.split(command), words=(), status=status)}" for command in commands]
    assert not (checkout.fakes / "configured").exists()
    return "\n".join(said)


def cells(text: str) -> str:
    """What a table of rich's has, however wide and in whatever box it is drawn."""
    lines = [line for line in text.splitlines() if not re.match("[┏┡└├+]", line)]
    return "\n".join(re.sub(r" *[│┃] *", " │ ", line).strip() if line[:1] in ("│", "┃") else line for line in lines) + "\n"
