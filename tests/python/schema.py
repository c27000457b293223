"""Holds data against the TypedDicts that describe it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict


def misfits(value: Any, kind: Any, where: str = "") -> Iterator[str]:
    """Where a value, as it came from JSON, is not what the type says: fields that are missing or unknown, and other types."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        found = [list(misfits(value, one, where)) for one in arguments]
        yield from () if [] in found else max(found, key=len)  # what looks most like it has the most to say
    elif is_typeddict(kind) and isinstance(value, dict):
        hints = get_type_hints(kind)
        yield from (f"{where}.{name} is missing" for name in sorted(kind.__required_keys__ - value.keys()))
        yield from (f"{where}.{name} is not in {kind.__name__}" for name in sorted(value.keys() - hints.keys()))
        for name in value.keys() & hints.keys():
            yield from misfits(value[name], hints[name], f"{where}.{name}")
    elif origin is tuple and isinstance(value, list) and len(value) == len(arguments):
        for index, (one, its) in enumerate(zip(value, arguments, strict=True)):
            yield from misfits(one, its, f"{where}[{index}]")
    elif origin is list and isinstance(value, list):
        for index, one in enumerate(value):
            yield from misfits(one, arguments[0], f"{where}[{index}]")
    elif origin in (dict, Mapping) and isinstance(value, dict):
        for name, one in value.items():
            yield from misfits(one, arguments[1], f"{where}.{name}")
    elif origin is Literal or origin or is_typeddict(kind):
        if value not in arguments:
            yield f"{where} is {value!r}, not {kind}"
    elif not isinstance(value, (int, float) if kind is float else kind) or (kind is int and isinstance(value, bool)):
        yield f"{where} is {value!r}, not {kind.__name__}"
