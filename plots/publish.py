"""Everything that is drawn and committed: the lessons' pictures, and the charts and tables of the recorded results."""

from __future__ import annotations

from pathlib import Path

from plots import pictures, progression, sweep, tables
from runner.results import ROOT, lessons, load

RESULTS = "plots/results/h200.json"  # the one source of published numbers


def publish(root: Path = ROOT) -> list[Path]:
    """Redraws pictures, charts and Markdown tables of the checkout at `root`; returns the files written.

    While RESULTS does not exist, charts and tables stay as they are. Throws UserError.
    """
    written = pictures.draw_all(root, root / "plots" / "pictures")
    if (root / RESULTS).exists():
        results, order = load(root / RESULTS), lessons(root)
        written += progression.draw(results, root / "plots" / "progression", order)
        written += sweep.draw(results, root / "plots" / "sweep", order)
        written += tables.update_markdown(root, results)
    return written
