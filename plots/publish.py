"""Everything that is drawn and committed: the lessons' pictures, and the charts and tables of the recorded results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from plots import atlas, data, ladders, own_kernel, pictures, progression, roofline, sweep, tables, variants
from plots.data import RESULTS
from runner.core.atlas import VARIANTS
from runner.core.descriptors import Descriptor
from runner.core.process import say
from runner.core.results import ROOT, lessons


def update(root: Path = ROOT) -> list[Path]:
    """Redraws what several recorded files make together: the roofline, once all three exist, and the Markdown tables.
    Returns the files written. Where one of the three has to be recorded again before there is a roofline, says so and leaves it
    as it is: what was recorded just now is in all the others. Throws UserError."""
    if not (root / RESULTS).exists():
        return []
    results, profile, ceilings = data.published(root), data.profile(root), data.ceilings(root)
    written: list[Path] = []
    if profile and ceilings:
        try:
            written += roofline.draw(results, profile, ceilings, root / "plots" / "roofline", lessons(root))
            if without := roofline.left_out(results, profile, lessons(root)):
                say(without)
        except roofline.Outdated as error:
            say(f"The roofline stays as it was: {error}")
    return written + tables.update(root, "table", "profile", "stalls", "tuned", "shapes", "energy", "atlas", "ways")


def publish(root: Path, described: Mapping[str, Descriptor]) -> list[Path]:
    """Redraws pictures, charts and Markdown tables of the checkout at `root`, whose lessons say of themselves what is
    `described`; returns the files written.

    While RESULTS does not exist, charts and tables stay as they are. Throws UserError.
    """
    written = pictures.draw_all(root, described, root / "plots" / "pictures")
    if example := data.own_kernel(root):
        written += own_kernel.draw(example, root, root / "plots" / own_kernel.NAME)
    written += tables.update(root, "timeline", "outline", "counts")
    if (root / RESULTS).exists():
        results, order = data.published(root), lessons(root)
        for ladder in data.ladders(results, order):
            if data.timed(results, ladder.variant):
                written += progression.draw(results, root / "plots" / ladder.progression, ladder.lessons, ladder.variant)
                written += sweep.draw(results, root / "plots" / ladder.sweep, ladder.lessons, ladder.variant)
        written += ladders.draw(results, root / "plots" / ladders.NAME, order)
        if data.several(results, order):
            written += variants.draw(results, root / "plots" / data.VARIANTS, order)
        for variant in VARIANTS:
            if found := data.atlas(root, variant):
                written += atlas.draw(found, root / "plots" / atlas.name(variant))
        written += update(root)
    return list(dict.fromkeys(written))
