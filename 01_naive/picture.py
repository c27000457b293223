"""The picture of this lesson, from the constants and the thread mapping in its kernel.cu."""

from plots.sectors import picture

__all__ = ["picture"]
