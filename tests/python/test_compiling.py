"""What kernels begin with, made ready for compilers: it changes how long they take, and nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import drawn, some, toolchain

from runner.core import compiling, process
from runner.core.compiling import NotCompiled, Source
from runner.core.results import lessons
from runner.learn.exercise import Task

INCLUDE = '#include "common/gemm.hpp"\n'


@pytest.mark.parametrize(
    ("text", "ready"),
    [
        (INCLUDE, True),
        (f"// a\n/* b\n * c **/\n\n#  include <mma.h>\n#include \"common/element.hpp\"\n{INCLUDE}int a;\n", True),
        ("", False),
        ('#include "common/element.hpp"\n', False),
        (f"// a \\\n{INCLUDE}", False),  # which is a comment then
        (f"/* {INCLUDE}", False),
        (f"/*/ {INCLUDE}", False),
        (f"#define M 1\n{INCLUDE}", False),
        (f"#if 0\n{INCLUDE}#endif\n", False),
        (f'#include "mine.hpp"\n{INCLUDE}', False),
        (f'#include "common/../mine.hpp" // a\n{INCLUDE}', False),
        (f"int a;\n{INCLUDE}", False),
        (f'R"(\n{INCLUDE})"\n', False),
        ("/**/" * 100_000, False),
        ("/*" * 100_000, False),
    ],
)  # fmt: skip
def test_which_kernels_begin_as_they_must(text: str, ready: bool) -> None:
    assert compiling.begins_as_prepared(text) == ready


def test_all_lessons_do() -> None:
    assert all(compiling.begins_as_prepared(Task(lesson, "exercise").kernel()) for lesson in lessons())


def source_of(lesson: str, *edit: str) -> Source:
    task = Task(lesson, "exercise")
    text = task.solution().replace(*edit) if edit else task.solution()
    return Source(text, "mine.cu", task.namespace, task.title, lesson)


def code(made: Path) -> list[str]:
    """An object's instructions, and what they refer to, function by function."""
    command = ["objdump", "-dr", "--no-show-raw-insn", made]
    done = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return sorted(done.split("\n\nDisassembly of section ")[1:])


@pytest.mark.parametrize("lesson", some(lessons(), 1, 6))
def test_the_same_code_comes_of_it(lesson: str, tmp_path: Path) -> None:
    objects = []
    for prepared in (True, False):
        (tmp_path / str(prepared)).mkdir()
        command, made = compiling.compile_command(toolchain(), source_of(lesson), tmp_path / str(prepared), prepared)
        done = process.stream([*command, "-H"], "Compiling", process.unseen)  # which headers are read, "!": one made ready
        assert done.status == 0
        assert any(line.startswith("! ") for line in done.lines) == prepared
        objects.append(code(made))
    assert objects[0]
    assert objects[0] == objects[1]


@pytest.mark.parametrize(
    "edit",
    drawn(
        [
            ("float acc = 0.0f;", "float acc = 0.0;\n    nowhere(acc)"),
            ("float acc = 0.0f;", "float acc = 0.0f\n"),
            ("namespace exercise_01 {", '#include "common/nowhere.hpp"\nnamespace exercise_01 {'),
            ("gemm::Problem& p", "gemm::Problems& p"),
        ],
        1,
    ),
)
def test_a_compiler_says_the_same_of_what_is_wrong(edit: tuple[str, str], tmp_path: Path) -> None:
    said = []
    tools = toolchain()
    for having in (tools, {key: value for key, value in tools.items() if key != "prepared"}):
        with pytest.raises(NotCompiled) as wrong:
            compiling.compile_program(having, [source_of("01_naive", *edit)], tmp_path)
        said.append(wrong.value.lines)
    assert said[0] == said[1]
    assert compiling.first_error(said[0])[0].startswith("mine.cu:")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["mine.cu: Assembler messages:", "mine.cu:6: Warning: no DWARF", "mine.cu:9: Error: file not found: /x"],
         ("mine.cu:9: Error: file not found: /x",)),
        (["ld: DWARF error: mangled line", "ld: final link failed: bad value", "ld: DWARF error: again"],
         ("ld: final link failed: bad value",)),
        (["ld: DWARF error: mangled line"], ("ld: DWARF error: mangled line",)),
    ],
)  # fmt: skip
def test_the_error_is_told_and_not_what_stands_around_it(lines: list[str], told: tuple[str, ...]) -> None:
    assert compiling.first_error(lines) == told


def test_a_compiler_warns_of_the_same(tmp_path: Path) -> None:
    said = []
    for prepared in (True, False):
        source = source_of("01_naive", "float acc = 0.0f;", "float acc;\n    if (K < -1U) { }\n    int narrow = K / 2.5;")
        command, _ = compiling.compile_command(toolchain(), source, tmp_path, prepared)
        said.append(process.stream([*command, "-Wconversion"], "Compiling", process.unseen).lines)
    assert said[0] == said[1]
    assert any("[-Wfloat-conversion]" in line for line in said[0])
