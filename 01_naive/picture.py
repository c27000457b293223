"""The picture of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots import sectors
from runner.core.descriptors import Descriptor


def picture(lesson: Descriptor) -> Figure:
    """What a warp reads at one step: in this kernel threadIdx.x runs along the rows of C."""
    return sectors.picture(lesson, x_is_row=True)
