"""The types of the pages' data in TypeScript, for tsc and editors: `python3 -m website.types` writes build/types.d.ts.

They are made from website.explore.Payload, website.atlas.AtlasPage and the TypedDicts that these consist of; what C++ writes is
runner.inspect.trace_types.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from runner.core.results import ROOT
from website.atlas import AtlasPage
from website.explore import Payload

FILE = ROOT / "build" / "types.d.ts"
_PLAIN: dict[Any, str] = {object: "unknown", int: "number", float: "number", str: "string", bool: "boolean", NoneType: "null"}
_GENERIC: dict[Any, str] = {list: "Array", dict: "Record", Mapping: "Record"}
_CLASS = re.compile(r"^class (\w+)\(.*\):\n((?:(?:    .*)?\n)*)", re.MULTILINE)
_NOTE = re.compile(r"^    (\w+): [^#\n]*# (.*)$", re.MULTILINE)  # what stands behind a field
_SHARED = {"Block": "payload", "Data": "payload", "State": "state"}  # what most of the explorer's modules have to do with


def written(kind: Any, found: list[Any]) -> str:
    """A type in TypeScript; a TypedDict that it names joins `found`."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if is_typeddict(kind):
        if kind not in found:
            found.append(kind)
        return str(kind.__name__)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " | ".join(map(json.dumps, arguments))
    inner = [written(one, found) for one in arguments]
    if origin in (Union, UnionType):
        return " | ".join(inner)
    return f"[{', '.join(inner)}]" if origin is tuple else f"{_GENERIC[origin]}<{', '.join(inner)}>"


def interface(kind: Any, found: list[Any]) -> str:
    """A TypedDict in TypeScript. Fields that may be missing are another class's, whose name has no _ in front."""
    classes = dict(_CLASS.findall(inspect.getsource(sys.modules[kind.__module__])))
    notes = dict(_NOTE.findall("".join(classes.get(name, "") for name in (f"_{kind.__name__}", kind.__name__))))
    fields = [
        (f"    /** {notes[name]} */\n" if name in notes else "")
        + f"    {name}{'' if name in kind.__required_keys__ else '?'}: {written(hint, found)};\n"
        for name, hint in get_type_hints(kind).items()
    ]
    return f"  /** {kind.__doc__ or kind.__name__} */\n  interface {kind.__name__} {{\n{''.join(fields)}  }}\n"


def declarations() -> str:
    """All types that a page's data have, in a namespace, and _SHARED: they are there without an import."""
    found: list[Any] = [Payload, AtlasPage]
    shared = "".join(f'type {name} = import("explorer/{module}").{name};\n' for name, module in _SHARED.items())
    data = "".join(interface(kind, found) for kind in found)  # `found` grows on the way
    return f"declare namespace gemm {{\n{data}}}\n{shared}"


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(declarations(), encoding="utf-8")
