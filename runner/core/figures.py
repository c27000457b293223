"""How figures are written, on terminals, in tables and in pictures."""

from __future__ import annotations


def grouped(value: int) -> str:
    """1048576 -> `1 048 576`."""
    return f"{value:,}".replace(",", " ")


def size(count: float) -> str:
    """Bytes to three digits: 512 B, 16.4 kB, 1.05 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} B" if unit == "B" else f"{count:#.3g} {unit}".replace(". ", " ")


def rate(value: float | None) -> str:
    """To three digits, without zeros at the end: 32, 4.25, 0.0606."""
    return "–" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"
