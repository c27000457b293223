"""What people read is approved: a test holds it against the text in approved/, which GEMM_APPROVE=1 writes as it is now; git diff
shows what is new about it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock

if TYPE_CHECKING:
    from conftest import Checkout

FOLDER = Path(__file__).resolve().parent / "approved"
Approve = Callable[[str], None]
_PROGRESS = re.compile(r" … \d+ s$|: \d+ s$|: \d+/\d+( |$)")


def approved(file: Path) -> dict[str, str]:
    """By title, the texts of a file."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return dict(re.findall(r"^== (.*)\n((?:(?!== ).*\n)*)", text, re.MULTILINE))


@pytest.fixture
def approve(request: pytest.FixtureRequest, tmp_path: Path) -> Approve:
    """Of test_x.py's tests, whose names are the titles, in approved/x.txt. What does not count: spaces at the end of a line; who
    it is, others than root need sudo; and how busy the machine is, which shows as lines of progress."""
    file, title = FOLDER / f"{request.path.stem.removeprefix('test_')}.txt", request.node.name

    def hold(text: str) -> None:
        lines = text.replace(str(tmp_path), "<tmp>").replace("sudo apt", "apt").splitlines()
        now = "".join(f"{line.rstrip()}\n" for line in lines if not _PROGRESS.search(line))
        if os.environ.get("GEMM_APPROVE"):
            with FileLock(f"{tmp_path.parent.parent}/approved.lock"):
                texts = {**approved(file), title: now}
                file.write_text("".join(f"== {title}\n{texts[title]}" for title in sorted(texts)), encoding="utf-8")
        assert now == approved(file).get(title), "GEMM_APPROVE=1 approves it"

    return hold


def refusals(checkout: Checkout, commands: Iterable[str], status: int = 2) -> str:
    """What each command says that must fail with one sentence, before anything is built."""
    said = [f"$ ./gemm {command}\n{checkout.fails(*shlex.split(command), words=(), status=status)}" for command in commands]
    assert not (checkout.fakes / "configured").exists()
    return "\n".join(said)


def cells(text: str) -> str:
    """What a table of rich's has, however wide and in whatever box it is drawn."""
    lines = [line for line in text.splitlines() if not re.match("[┏┡└├+]", line)]
    return "\n".join(re.sub(r" *[│┃] *", " │ ", line).strip() if line[:1] in ("│", "┃") else line for line in lines) + "\n"
