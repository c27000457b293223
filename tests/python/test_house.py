"""Who imports or includes whom: dependencies point one way, also those that an import inside a function would hide."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from conftest import put

from runner.core.results import ROOT

# A room, and what it may import beside itself. DESIGN: core <- inspect <- {learn, measure}; learn <- grading.
ROOMS = {
    "runner.core": set(),
    "plots": {"runner.core"},
    "runner.inspect": {"runner.core"},
    "runner.learn": {"runner.core", "runner.inspect"},
    "runner.measure": {"runner.core", "runner.inspect"},
    "runner.grading": {"runner.core", "runner.learn"},
    "website": {"runner.core", "runner.inspect", "runner.learn", "plots"},
    # A lesson's exercise.py, tune.py and picture.py say things in the words that these rooms define.
    "lessons": {"runner.core", "runner.inspect", "runner.learn", "runner.measure", "plots"},
    "runner": {"runner.core", "runner.inspect", "runner.learn", "runner.measure", "runner.grading", "plots", "website"},
}

# The same of C++: what a file of a room includes beside its own room, by quoted names. CUDA's own headers, and what stands for
# them in common/cpu/include, are everybody's. The formulas of fragments and descriptors are what the wrappers of common/ptx and
# the CPU device behind them share.
_FORMULAS = re.compile(r"common/ptx/(fragments|wgmma_descriptor|for_lesson_17/wgmma_inputs)\.hpp$")
_ANY_KERNEL = {"common", "formulas", "common/ptx", "common/tma", "common/parts"}
CPP_ROOMS = {
    "common": set(),  # the contract, elements, errors, ids
    "formulas": set(),
    "common/cpu/ptx": {"common", "formulas"},
    "common/cpu/include": {"common/cpu/ptx", "formulas"},
    "common/ptx": {"common", "common/cpu/ptx", "formulas"},
    "common/tma": {"common", "common/ptx"},
    "common/parts": {"common", "common/ptx", "common/tma", "formulas"},
    "common/cpu/execution": {"common", "common/cpu/ptx", "formulas"},
    "common/cpu/trace": {"common", "common/cpu/ptx", "common/cpu/execution", "formulas"},
    "common/check": {"common", "common/cpu/execution"},
    "common/blas": {"common", "common/check"},
    "common/measure": {"common", "common/check", "common/cpu/execution"},
    "common/program": {"common", "common/check", "common/measure"},
    "runner/programs": _ANY_KERNEL
    | {"common/check", "common/measure", "common/program", "common/cpu/ptx", "common/cpu/execution", "common/cpu/trace"},
    "kernel": _ANY_KERNEL,
    "program": _ANY_KERNEL | {"common/measure", "common/program"},  # main.cpp, and what else is a program beside a lesson
}


def room(module: str) -> str | None:
    """The room of a dotted name; None outside the project."""
    parts = module.split(".")
    if parts[0] in ("plots", "website"):
        return parts[0]
    if parts[0] != "runner":
        return None
    name = ".".join(parts[:2])
    return name if name in ROOMS else "runner"


@cache
def parsed(file: Path) -> list[ast.AST]:
    """The nodes of a file's tree."""
    return list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


def imports(file: Path) -> Iterator[str]:
    """Dotted names of everything that the code imports, wherever it does so."""
    for node in parsed(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources(root: Path) -> Iterator[tuple[Path, str]]:
    """Every Python file of the project's own with its room."""
    for file in sorted(root.glob("runner/**/*.py")):
        yield file, room(".".join(file.relative_to(root).with_suffix("").parts)) or ""
    for name in ("plots", "website"):
        for file in sorted(root.glob(f"{name}/**/*.py")):
            yield file, name
    for file in sorted(root.glob("[0-9]*/**/*.py")):
        yield file, "lessons"


def wrong(root: Path) -> list[str]:
    """Imports against the direction, each as a line."""
    found = []
    for file, mine in sources(root):
        for name in imports(file):
            theirs = room(name)
            if theirs and theirs != mine and theirs not in ROOMS[mine]:
                found.append(f"{file.relative_to(root)} ({mine}) imports {name} ({theirs})")
    return found


def test_imports_between_rooms_point_one_way() -> None:
    assert wrong(ROOT) == []


def circles(edges: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Those that reach each other: each circle once."""
    reached = {name: set(needs) for name, needs in edges.items()}
    for through in edges:  # Warshall's closure
        for needs in reached.values():
            if through in needs:
                needs |= reached[through]
    found: list[set[str]] = []
    for name in sorted(reached):
        circle = {other for other in reached[name] if name in reached.get(other, ())}
        if len(circle) > 1 and circle not in found:
            found.append(circle)
    return found


def python_edges(root: Path) -> dict[str, set[str]]:
    """Folders and what their files import of others; the same of the modules of website/. The files in runner/ itself are no
    folder's: they are the commands, which put together what the folders have."""
    modules = {".".join(file.relative_to(root).with_suffix("").parts): file for file in root.glob("website/**/*.py")}
    edges: dict[str, set[str]] = {}
    for file, mine in sources(root):
        folder, module = mine.partition(".")[0], ".".join(file.relative_to(root).with_suffix("").parts)
        for name in imports(file):
            theirs = (room(name) or "").partition(".")[0]
            if theirs and theirs != folder and mine != "runner":
                edges.setdefault(folder, set()).add(theirs)
            other = name if name in modules else name.rpartition(".")[0]
            if module in modules and other in modules and other != module:
                edges.setdefault(module, set()).add(other)
    return edges


def cpp_room(file: str) -> str:
    """The room of a C++ file, named from the repository's root."""
    if _FORMULAS.search(file):
        return "formulas"
    if file[0].isdigit():
        return "program" if file.endswith(".cpp") or re.search(r"/(?!kernel)\w+\.cu$", file) else "kernel"
    folder = file.rpartition("/")[0]
    while folder not in CPP_ROOMS and "/" in folder:
        folder = folder.rpartition("/")[0]
    return folder


def includes(root: Path) -> dict[str, set[str]]:
    """The project's own files that each C++ file of the project includes."""
    found = {}
    for top in ("common", "runner/programs", "[0-9]*"):
        for file in sorted(file for file in root.glob(f"{top}/**/*") if file.suffix in (".cpp", ".hpp", ".h", ".cu")):
            names = re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read_text(encoding="utf-8"), re.M)
            near = {name: (file.parent / name).relative_to(root) for name in names if (file.parent / name).is_file()}
            found[str(file.relative_to(root))] = {
                str(near.get(name, name)) for name in names if name not in near or ".." not in name
            }
    return found


def wrong_includes(root: Path) -> list[str]:
    """Includes against the direction, each as a line."""
    found = []
    for file, names in includes(root).items():
        mine = cpp_room(file)
        for name in sorted(names):
            if name[0].isdigit() and name.rpartition("/")[0] == file.rpartition("/")[0]:
                continue  # a lesson's own header
            theirs = cpp_room(name)
            if theirs != mine and theirs not in CPP_ROOMS[mine] or theirs == mine == "kernel":
                found.append(f"{file} ({mine}) includes {name} ({theirs or 'nobody knows what'})")
    return found


def test_includes_between_rooms_point_one_way() -> None:
    assert wrong_includes(ROOT) == []


def test_nvcc_never_reads_cli11() -> None:
    """nvcc 13 rejects it (error 2361-D) where it lies in no system folder."""
    edges = includes(ROOT)
    reads = re.compile(r"^\s*#\s*include\s*[<\"]CLI/", re.MULTILINE)
    hosts = {file for file in edges if reads.search((ROOT / file).read_text(encoding="utf-8"))}
    reached = {file for file in edges if file.endswith(".cu")}
    left = list(reached)
    while left:
        more = edges.get(left.pop(), set()) - reached
        reached |= more
        left += more
    assert hosts and not hosts & reached


def test_no_circles() -> None:
    """Not among what rooms may import or include, nor among what folders, website's modules and C++ files do."""
    assert circles(ROOMS) == []
    assert circles(CPP_ROOMS) == []
    # (The toolkit's <cuda_runtime.h> ends with <device_atomic_functions.h>, and so does what stands for it.)
    assert circles({file: names for file, names in includes(ROOT).items() if cpp_room(file) != "common/cpu/include"}) == []
    assert circles(python_edges(ROOT)) == []


# Who reads kernels is one of these; what else is known of their text is data (common/check/edits.toml, mistakes.toml, tune.py).
READS_KERNELS = {
    "runner/core/kernel_hash.py",  # which C++ names what
    "runner/inspect/own_source.py",  # the signature of a kernel that is nobody's lesson
    "runner/measure/stamping.py",  # which calls of common/ptx/ are stamped
}
_OF_CUDA = re.compile(
    r"__(?:global|device|shared|launch_bounds|sync)|threadIdx|block(?:Idx|Dim)|gemm::ptx|wmma|cp_async|ld(?:\[abc\]|[abc]\b)|B[MNK]\b"
)
_OF_A_PATTERN = re.compile(r"\\[bwsdB({[]|\(\?|\[\^|[+*]\?")


def patterns_of_kernels(root: Path) -> set[str]:
    """Files of the runner that have a regular expression of CUDA's or the kernels' words."""
    return {
        str(file.relative_to(root))
        for file in root.glob("runner/**/*.py")
        for node in parsed(file)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if _OF_CUDA.search(node.value) and _OF_A_PATTERN.search(node.value)
    }


def test_the_runner_knows_no_kernels_text() -> None:
    assert patterns_of_kernels(ROOT) == READS_KERNELS


@pytest.mark.parametrize(
    ("file", "text", "bad"),
    [
        ("runner/core/a.py", "def f():\n    from runner.learn import check\n", True),
        ("runner/core/a.py", "import runner.inspect.counts\n", True),
        ("runner/inspect/a.py", "from runner.measure.chart import x\n", True),
        ("runner/learn/a.py", "from runner.core import process\nfrom runner.inspect import counts\n", False),
        ("plots/a.py", "if True:\n    from runner.measure import chart\n", True),
        ("03_smem/exercise.py", "from runner.grading import grade\n", True),
        ("09_tensorcore/a_wmma/exercise.py", "from runner.learn import quiz\n", False),
        ("common/cpu/ptx/a.cpp", '#include "common/cpu/execution/scheduler.hpp"\n', True),
        ("common/cpu/execution/a.cpp", '#include "common/check/verify.hpp"\n', True),
        ("common/measure/a.cpp", '#  include "common/program/options.hpp"\n', True),
        ("common/check/a.cpp", '#include "common/facts.hpp"\n', False),
        ("common/check/a.cpp", '#include "01_naive/kernel.cu"\n', True),
        ("common/program/a.cpp", '#include "runner/programs/cases.hpp"\n', True),
        ("03_smem/kernel.cu", '#include "common/check/verify.hpp"\n', True),
        ("03_smem/kernel.cu", '#include "02_coalesced/kernel.cu"\n', True),
        ("03_smem/main.cpp", '#include "common/program/harness.hpp"\n', False),
        ("09_tensorcore/c_ring/kernel.cu", '#include "common/ptx/fragments.hpp"\n', False),
        ("runner/a.py", 're.sub(r"\\bthreadIdx\\.x", "0", text)', True),
        ("runner/a.py", 'WAITS = (r"__sync(?:threads|warp)", "x")', True),
        ("runner/a.py", 're.search(r"ld[abc]\\b", text)', True),
        ("runner/a.py", 'say("Wrong without __syncthreads().")', False),
        ("runner/a.py", 're.search(r"\\bseed (\\d+)", text)', False),
    ],
)
def test_what_is_against_the_direction_is_found(tmp_path: Path, file: str, text: str, bad: bool) -> None:
    put(tmp_path, {file: text})
    assert bool([*wrong(tmp_path), *wrong_includes(tmp_path), *patterns_of_kernels(tmp_path)]) == bad


def test_a_circle_is_found(tmp_path: Path) -> None:
    put(tmp_path, {
        "runner/measure/a.py": "from plots import b\n",
        "plots/b.py": "from runner.core import c\n",
        "website/d.py": "from website import e\n",
        "website/e.py": "from website.d import x\n",
        "website/f.py": "from website import e\n",
    })  # fmt: skip
    assert circles(python_edges(tmp_path)) == [{"plots", "runner"}, {"website.d", "website.e"}]
