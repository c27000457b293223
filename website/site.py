"""`./gemm site`: the lessons as a site in out/site, which a browser reads from there, with no server and no network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from runner.core import build, doctor, process
from runner.core.descriptors import all_described
from runner.core.process import say
from runner.core.results import ROOT, UserError, lessons, write_atomically

FOLDER = ROOT / "out" / "site"
_EXPLORERS = ROOT / "build" / "site" / "explore"  # not out/explore, where a learner's own lie


def _explored(names: Sequence[str]) -> Path:
    """Every lesson's explorer, at the shape that ./gemm explore chooses; the folder that they are in."""
    from website import explore

    _EXPLORERS.mkdir(parents=True, exist_ok=True)
    for done, name in enumerate(names, start=1):
        say(f"Explorer {done} of {len(names)}: {name}.")  # no bar: the tracer shows its own
        payload, _ = explore.traced(explore.Asked(name, None, {}, None, None))
        write_atomically(_EXPLORERS / f"{name}.html", explore.page(payload))
    return _EXPLORERS


def site(explorers: bool, as_json: bool) -> int:
    """Exit status 0, or 1 where the texts do not fit together: a broken link, a missing picture."""
    python = doctor.provide_site()
    device = doctor.Device("cpu", None, (), "the lessons' own words are the same on every device")
    tracers = [f"{name}_inspect" for name in lessons()] if explorers else []
    folder = build.build(device, doctor.provide(device), ["gemm_lessons_json", *tracers])
    names = list(all_described(folder))
    command: list[str | Path] = [python, "-m", "website.builder", folder / "lessons.json", FOLDER]
    if explorers:
        command.append(_explored(names))
    done = process.stream(command, "Pages", process.PROGRESS)
    if done.status not in (0, 1) or (done.status and not done.lines):
        process.say_all(done.lines)
        raise UserError("The site could not be built; the lines above say where its builder ended.", 1)
    if done.status:
        process.say_all(done.lines[:-1])
        raise UserError(done.lines[-1], 1)
    pages = len(list(FOLDER.rglob("*.html")))
    if as_json:
        print(json.dumps({"schema": 1, "site": str(FOLDER / "index.html"), "pages": pages}))
    else:
        process.say_all(done.lines)
        print(f"{pages} pages. Open {(FOLDER / 'index.html').relative_to(ROOT)} in a browser.")
    return 0
