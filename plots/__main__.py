"""python -m plots: redraws what is committed (pictures, charts, tables) from the lessons' descriptors, which
it builds, and the recorded results. Then it names the sentences that no longer say what is recorded; exit status 1 where there
are some."""

from __future__ import annotations

import sys

from plots import figures
from plots.data import RESULTS
from plots.publish import publish
from runner.core import doctor
from runner.core.build import build
from runner.core.descriptors import Descriptor, all_described
from runner.core.results import ROOT, UserError


def described() -> dict[str, Descriptor]:
    """What the lessons of this checkout say of themselves, as they are now."""
    device = doctor.choose()
    return all_described(build(device, doctor.provide(device), ["gemm_lessons_json"]))


def main() -> int:
    try:
        for path in publish(ROOT, described()):
            print(path.relative_to(ROOT))
    except UserError as error:
        print(f"plots: {error}", file=sys.stderr)
        return error.status
    if not (ROOT / RESULTS).exists():
        print(f"There is no {RESULTS}: charts and tables stay as they are; ./gemm chart --record writes it on a GPU.")
    stale = figures.problems(ROOT)
    for problem in stale:
        print(problem, file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
