"""What the commands draw. plots/ knows what is recorded and nothing of the commands, and these know nothing of plots/: here the
one is handed to the other. matplotlib takes a second to read, so that each function imports what it needs when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.core.atlas import RecordedAtlas
from runner.core.lanes import Timeline
from runner.core.process import say
from runner.core.reports import Results
from runner.core.results import PUBLISHED, ROOT, folder_of, key_of, lessons
from runner.inspect.trace_types import Box, Descriptor, Line, Trace


def publish() -> list[Path]:
    """Draws again what several recorded files make together, and the Markdown files' tables."""
    from plots import publish

    return publish.update(ROOT)


def charts(results: Results, published: bool) -> list[Path]:
    """The charts of what was measured just now, in out/; of `published` results in plots/, with the tables."""
    if results["device"]["kind"] == "cpu":
        return _of_cpu(results, ROOT / "out")
    return _of_gpu(results, ROOT / "plots" if published else ROOT / "out") + (publish() if published else [])


def _of_gpu(results: Results, target: Path) -> list[Path]:
    from plots import data, progression, sweep, variants

    timed = [(run, square) for run in results["runs"] if "ms_median" in run and (square := key_of(run).square) is not None]
    files: list[Path] = []
    for ladder in data.ladders(results, lessons()):
        squares = {square for run, square in timed if run["variant"] == ladder.variant and run["lesson"] in ladder.lessons}
        what = ladder.lessons, ladder.variant
        files += progression.draw(results, target / ladder.progression, *what) if 4096 in squares else []
        files += sweep.draw(results, target / ladder.sweep, *what) if len(squares) > 1 else []
    files += variants.draw(results, target / data.VARIANTS) if data.several(results) else []
    if all(square != 4096 for _, square in timed):
        say("No progression chart: it shows 4096×4096×4096, which was not timed.")
    return files


def _of_cpu(results: Results, folder: Path) -> list[Path]:
    """The chart of this machine's verification, and the recorded charts, drawn again."""
    from plots import data, verification

    files = list(verification.draw(results, folder / "verification")) if results["runs"] else []
    recorded = ROOT / "plots" / "results" / f"{PUBLISHED}.json"
    if recorded.exists():
        published = data.published(ROOT)
        files += _of_gpu(published, folder)
        say(
            f"The progression and sweep charts show recorded results: {published['device']['name']}, "
            f"{published.get('date') or 'no date'}, commit {str(published.get('commit') or 'unknown')[:10]}."
        )
    return files


def atlas(results: RecordedAtlas, published: bool) -> list[Path]:
    """The picture of one type's atlas, in out/; of a `published` one in plots/, with the tables."""
    from plots import atlas as picture

    files = picture.draw(results, (ROOT / "plots" if published else ROOT / "out") / picture.name(results["variant"]))
    return files + (publish() if published else [])


def ways() -> list[Path]:
    """The tables of how well lessons choose."""
    from plots import tables

    return tables.update(ROOT, "ways")


def timelines() -> list[Path]:
    """The tables of what was recorded of blocks."""
    from plots import tables

    return tables.update(ROOT, "timeline")


def timeline(title: str, on_cpu: Timeline, on_gpu: tuple[str, Timeline] | None, stem: Path) -> list[Path]:
    """A block over time."""
    from plots import timeline as pictures

    return pictures.draw(title, on_cpu, on_gpu, stem)


def accesses(found: Trace, chosen: Sequence[Line], folder: Path) -> list[Path]:
    """A picture for each of the accesses, and of who waits for whom where the block hangs."""
    from plots import access, autopsy

    files = access.draw(found, chosen, folder)
    if found["error"] and "autopsy" in found["error"]:
        files += autopsy.draw(found["lesson"], found["error"]["autopsy"], folder)
    return files


def published_accesses(found: Trace) -> list[Path]:
    """The pictures of accesses that a lesson's pages show."""
    from plots import access

    return access.publish(found, ROOT / folder_of(found["lesson"]), ROOT / "plots" / "pictures")


def own_kernel(found: Mapping) -> list[Path]:
    """The picture of what was found in the example of a kernel that is no lesson's."""
    from plots import own_kernel as picture

    return picture.draw(found, ROOT, ROOT / "plots" / picture.NAME)


def counts() -> list[Path]:
    """The tables of counts."""
    from plots import tables

    return tables.update(ROOT, "counts")


def descriptor(entry: Descriptor | Box, stem: Path) -> None:
    """What a matrix descriptor or a tensor map names."""
    from plots import descriptor as picture

    picture.draw(entry, stem)
