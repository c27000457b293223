"""./gemm check's own parts: what it says of compilers, programs, goals and times, with JSON and tools that are made up."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from approvals import hold
from conftest import script

from runner.core import compiling, process
from runner.core.compiling import NotCompiled, Source
from runner.core.results import ROOT, UserError
from runner.learn import check, diagnosis, progress
from runner.learn.check import Ended
from runner.learn.diagnosis import diagnose
from runner.learn.exercise import Task

TASK = Task("03_smem", "exercise")
OWN = (32, 32, 32)  # lesson 03's tiles
SOURCE = Source("int main;", "exercises/03_smem/exercise.cu", "exercise_03", "exercise 03")


# Compilers and linkers


def tools(folder: Path, compiler: str = "exit 0", linker: str = "exit 0") -> dict:
    """Shell scripts for the two, on the device that needs no translation."""
    made = {"device": "cuda", "architectures": {"": []}, "link_after": []}
    for key, body in (("kernel", compiler), ("link_before", linker)):
        made[key] = [str(script(folder / key, body))]
    return made


@pytest.mark.parametrize(
    ("compiler", "linker", "words"),
    [
        ("echo 'exercise.cu:1: fatal error: error writing to x.s: No space left on device'; exit 1", "", "No space left"),
        ("echo '{standard input}: Fatal error: x.o: Disk quota exceeded'; exit 1", "", "Disk quota"),
        ("echo 'g++: fatal error: Killed signal terminated program cc1plus'; exit 1", "", "Killed signal"),
        ("echo 'Cannot create temporary file in /nowhere/: No such file or directory'; exit 1", "", "temporary file"),
        ("kill -9 $$", "", "The compiler was ended by SIGKILL"),
        ("", "echo '/usr/bin/ld: cannot open output file check: Permission denied'; exit 1", "cannot open output file"),
        ("", "echo '/usr/bin/ld: final link failed: No space left on device'; exit 1", "final link failed"),
        ("", "echo '/usr/bin/ld: cannot find -lboost_context'; exit 1", "The linker could not make the program"),
        ("", "exit 3", "status 3 and said nothing"),
    ],
)
def test_what_the_machine_is_at_fault_for_is_no_wrong_kernel(compiler: str, linker: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=re.escape(words)) as refused:
        compiling.compile_program(tools(tmp_path, compiler, linker), [SOURCE], tmp_path)
    assert refused.value.status == 2
    assert str(refused.value).endswith(".") and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("compiler", "linker", "words"),
    [
        ("echo 'exercise.cu:3:1: error: expected ;'; exit 1", "", "expected ;"),
        ("echo 'exercise.cu:3:2: error: #error no space left on device'; exit 1", "", "#error"),
        ("", "echo 'exercise.cu:5: undefined reference to `helper()'; exit 1", "helper()"),
        (
            "",
            "echo '/usr/bin/ld: /tmp/a.o: in function `f'; echo '/usr/bin/ld: /tmp/a.o: multiple definition of `main'; exit 1",
            "`main",
        ),
        ("", "echo 'list.cpp:1: undefined reference to `exercise_03::lesson'; exit 1", "it does not define exercise_03::lesson"),
    ],
)
def test_what_the_code_is_at_fault_for(compiler: str, linker: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(NotCompiled) as wrong:
        compiling.compile_program(tools(tmp_path, compiler, linker), [SOURCE], tmp_path)
    shown = compiling.first_error(wrong.value.lines)
    assert any(words in line for line in shown)
    assert not any(str(tmp_path) in line or line.startswith("/usr/bin/ld") for line in shown)


def test_the_source_that_does_not_compile_is_named(tmp_path: Path) -> None:
    other = Source("int other;", "exercises/02_coalesced/exercise.cu", "exercise_02", "exercise 02")
    with pytest.raises(NotCompiled) as wrong:
        compiling.compile_program(tools(tmp_path, 'case "$*" in *exercise_02.cu) exit 1;; esac'), [SOURCE, other], tmp_path)
    assert wrong.value.source == other


def test_any_file_name_is_a_name_in_messages(tmp_path: Path) -> None:
    source = Source("int a;", 'my "x\\y file.cu', "exercise_03")
    compiling.compile_program(tools(tmp_path), [source], tmp_path)
    assert (tmp_path / "exercise_03.cu").read_text().splitlines()[0] == '#line 1 "my \\"x\\\\y file.cu"'


def test_a_folder_for_temporary_files_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling.tempfile, "tempdir", "/nowhere")
    with pytest.raises(UserError, match="set TMPDIR"), compiling.scratch():
        pass


# Running


def program(folder: Path, body: str) -> Path:
    """A gemm_check that is a script: fd and output are its variables."""
    head = (
        "import os, sys\n"
        "output = sys.argv[sys.argv.index('--output') + 1]\n"
        "fd = int(next(a for a in sys.argv if a.startswith('--progress-fd=')).split('=')[1])\n"
    )
    return script(folder / "program", f"#!{sys.executable}\n{head}{body}\n")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("sys.exit(0)", "ended with status 0"),
        ("sys.exit(2)", "ended with status 2"),
        ("os.write(fd, b'progress 1 9 K = 0\\n'); os.abort()", "was ended by SIGABRT during: K = 0"),
        ("os.kill(os.getpid(), 11)", "was ended by SIGSEGV"),
        ("open(output, 'w').write('{'); sys.exit(1)", "ended with status 1"),
    ],
)
def test_a_program_that_ends_without_a_word_was_ended_by_the_learners_code(body: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(Ended) as ended:
        check.run_program(program(tmp_path, body), "exercise 03", [], tmp_path)
    assert words in ended.value.evidence[0]


def test_what_gemm_check_refuses_is_said(tmp_path: Path) -> None:
    refusing = program(tmp_path, "print('gemm_check: no such device.', file=sys.stderr); sys.exit(2)")
    with pytest.raises(UserError, match="^no such device.$"):
        check.run_program(refusing, "exercise 03", [], tmp_path)


def test_what_a_kernel_prints_is_shown_in_part_and_is_no_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "\n".join((
        "print('progress 7 8 of its own', flush=True)",
        "for i in range(100000): print('row', i)",
        "open(output, 'w').write('{\"passed\": true}')",
    ))  # fmt: skip
    assert check.run_program(program(tmp_path, body), "exercise 03", [], tmp_path) == {"passed": True}
    # Without what is said of work that takes long, as anything does on a busy machine.
    said = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("Checking ")]
    assert said[:2] == ["progress 7 8 of its own", "row 0"]
    assert said[20].startswith("… and 99 981 more ")
    assert len(said) == 21


def test_an_output_without_end_is_not_collected(tmp_path: Path) -> None:
    body = "import sys\nfor i in range(3000): print(i)\nsys.stdout.write('x' * (1 << 20) + '\\nlast')\nsys.exit(4)"
    done = process.stream([sys.executable, "-c", body], "x", process.unseen)
    assert done.status == 4
    assert (done.lines[0], done.lines[-1]) == ("0", "last")
    assert len(done.lines) <= 200
    assert sum(map(len, done.lines)) <= 1 << 16
    assert done.left_out == 3000 + 32 + 1 - len(done.lines)  # a line is read in pieces of 32 KiB
    whole = process.stream([sys.executable, "-c", body], "x", process.unseen, whole=True)
    assert len(whole.lines) == 3033 and whole.left_out == 0


# Goals


def counted(lines: list[dict], tile: tuple[int, int, int] = OWN) -> dict:
    """A trace at 128×128×128 of a kernel that has such tiles."""
    blocks, rounds = 128 // tile[0] * 128 // tile[1], 128 // tile[2]
    return {"m": 128, "n": 128, "k": 128, "blocks": blocks, "barriers_per_thread": 2 * rounds, "lines": lines, "totals": {}}


def access(array: str, op: str, space: str, a_request: float, requests: int = 1000, width: int = 4) -> dict:
    key = "wavefronts" if space == "shared" else "sectors"
    found = {"sectors": 0, "wavefronts": 0, "ideal_wavefronts": requests if space == "shared" else 0, "bytes": 0}
    found |= {"file": "x.cu", "line": 1, "array": array, "op": op, "space": space, "requests": requests, "width": width}
    return {**found, key: a_request * requests}


def test_a_measure_without_a_line_is_a_goal_that_is_missed() -> None:
    held = check.held_against_goals(TASK, counted([]), OWN, OWN)
    assert [goal["reached"] for goal in held] == [False] * 3
    assert not any(goal["place"] for goal in held)


@pytest.mark.parametrize("tile", [(32, 32, 32), (16, 16, 16), (16, 64, 16), (128, 128, 8), (64, 64, 4)])
def test_the_bytes_are_held_against_the_tiles_that_the_kernel_declares(tile: tuple[int, int, int]) -> None:
    BM, BN, BK = tile
    a, b = 128 // BN * 128 * 128 * 4 // 32, 128 // BM * 128 * 128 * 4 // 32  # sectors
    a = a * 8 // BK if BK < 8 else a  # half of each is used
    lines = [
        access("A", "load", "global", 4, a // 4),
        access("B", "load", "global", 4, b // 4),
        access("As", "load", "shared", 1),
    ]
    held = check.held_against_goals(TASK, counted(lines, tile), tile, OWN)
    assert [goal["reached"] for goal in held] == [True] * 3
    assert held[1]["value"] == held[1]["bound"] == 32 * (a + b)
    assert bool(held[1]["note"]) == (tile[:2] != (32, 32))
    lines[0]["sectors"] += 4
    assert not check.held_against_goals(TASK, counted(lines, tile), tile, OWN)[1]["reached"]


@pytest.mark.parametrize("declared", [(8, 8, 32), (32, 32, 1), (4, 4, 4)])
def test_a_tile_that_is_declared_and_not_used_buys_nothing(declared: tuple[int, int, int]) -> None:
    lines = [access("A", "load", "global", 8, 8192), access("As", "load", "shared", 1)]
    held = check.held_against_goals(TASK, counted(lines), declared, OWN)[1]
    assert (held["bound"], held["reached"]) == (524288, False)
    assert held["note"]


def test_goals_in_words() -> None:
    def told(lines: list[dict], tile: tuple[int, int, int] = OWN) -> str:
        goals = check.held_against_goals(TASK, counted(lines), tile, OWN)
        return "".join(f"{check.goal_text(goal)}\n{goal['note']}\n" for goal in goals)

    missed = [access("A", "load", "global", 32), access("As", "load", "shared", 2)]
    wide = [access("A", "load", "global", 16, width=16)]  # 16 bytes a thread: 4 sectors of each 4
    hold("check", {
        "goals that are missed": told(missed), "goals without an access": told([]), "goals of wide loads": told(wide),
        "goals with a tile that is not used": told(missed, (8, 8, 32)),
    })  # fmt: skip


# Times


def timed(name: str, ms: float | None, failure: str = "") -> dict:
    return {"name": name, "passed": ms is not None, "failure": failure, **({"ms_median": ms} if ms else {})}


TIMES: dict[str, tuple[list[dict], dict[str, str], tuple[float | None, float | None]]] = {
    "of all three": ([timed("exercise 03", 2), timed("exercise 02", 5), timed("03_smem", 1)], {}, (2.5, 0.5)),
    "without the exercise before": ([timed("exercise 03", 2), timed("03_smem", 1)], {}, (None, 0.5)),
    "where the one before does not compile": (
        [timed("exercise 03", 2), timed("03_smem", 4)],
        {"exercise 02": "nvcc does not compile exercises/02_coalesced/exercise.cu"},
        (None, 2),
    ),
    "where the one before is wrong": (
        [timed("exercise 03", 2), timed("exercise 02", None, "It is wrong at 1×1×1: 1 of 1.\n  first"), timed("03_smem", 1)],
        {},
        (None, 0.5),
    ),
    "without the lesson": ([timed("exercise 03", 2), timed("exercise 02", 5)], {}, (2.5, None)),
}


@pytest.mark.parametrize("which", TIMES)
def test_speeds_are_matched_by_name(which: str) -> None:
    times, untimed, over = TIMES[which]
    speed = check._speed(times, "exercise 03", "exercise 02", "03_smem", untimed)
    assert (speed["over_before"], speed["over_lesson"]) == over
    assert len(speed["reasons"]) == over.count(None)
    hold("check", {f"times {which}": check.told(check.Report(TASK, "x.cu", "", stage="", speed=speed, gpu="a GPU"), 0)})


# Telling


def test_a_report_is_no_pass_until_it_says_so() -> None:
    assert not check.Report(TASK, "x.cu", "").passed


def test_warnings_are_told_of_what_passes() -> None:
    report = check.Report(TASK, "x.cu", "", seed=1, stage="", warnings=["x.cu:1:1: warning: a", "b", "c"])
    hold("check", {"two of three warnings": check.told(report, 0)})


def test_shapes() -> None:
    def operands(*offsets: int) -> list[dict]:
        sizes = (("A", "lda", 71, 67), ("B", "ldb", 96, 96), ("C", "ldc", 96, 96))
        return [
            {"name": name, "pitch_name": pitch_name, "pitch": pitch, "tight": tight, "offset": offset, "stride": 0}
            for (name, pitch_name, pitch, tight), offset in zip(sizes, offsets, strict=True)
        ]

    case = {"m": 64, "n": 96, "k": 67, "alpha": 1, "beta": -0.5, "operands": operands(0, 0, 0), "groups": []}
    off = {**case, "alpha": 1.0044, "beta": 0, "operands": operands(1, 0, 1)}
    nan = {**case, "beta": None}  # as JSON has it
    strides = [{**one, "stride": stride} for one, stride in zip(operands(0, 0, 0), (4544, 9216, 6150), strict=True)]
    batch = {**case, "beta": 0, "batch": 3, "operands": strides}
    grouped = {**case, "beta": 0, "batch": 3, "groups": [[64, 96, 67], [0, 96, 67], [1, 1, 1]]}
    hold("check", {"shapes": "".join(f"{check.shape_text(some)}\n" for some in (case, off, nan, batch, grouped))})


def test_a_byte_order_mark_and_line_ends() -> None:
    assert check.source_text(b"\xef\xbb\xbfint a;\r\nint b;\r") == "int a;\nint b;\n"


@pytest.mark.parametrize(
    ("file", "words"),
    [("", "--file needs the name of a file"), ("/dev/null", "not an ordinary file"), (".", "not an ordinary file"),
     ("nothing.cu", "nothing.cu is not there"), ("pipe", "not an ordinary file")],
)  # fmt: skip
def test_files_that_are_refused(file: str, words: str, tmp_path: Path) -> None:
    if file == "pipe":
        file = str(tmp_path / file)
        os.mkfifo(file)
    with pytest.raises(UserError, match=re.escape(words)) as refused:
        check.check("03", False, file, None, False)
    assert refused.value.status == 2


def passing(monkeypatch: pytest.MonkeyPatch) -> None:
    def examine(task: Task, name: str, text: str, seed: int | None, schedule: int) -> check.Report:
        return check.Report(task, name, text, seed=3, stage="")

    monkeypatch.setattr(check, "examine", examine)


@pytest.mark.parametrize("as_json", [False, True])
def test_the_verdict_comes_before_progress_that_cannot_be_kept(
    as_json: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def damaged(*_: object, **__: object) -> None:
        raise UserError(".progress.json is not valid JSON; mend it or move it away.")

    passing(monkeypatch)
    monkeypatch.setattr(progress, "passed", damaged)
    monkeypatch.setattr(progress, "load", damaged)
    mine = tmp_path / "exercise.cu"
    mine.write_text("int a;\n")
    monkeypatch.setattr(Task, "file", mine)  # the checkout's own exercises/ are a learner's
    with pytest.raises(UserError, match="not valid JSON"):
        check.check("03", False, None, None, as_json)
    told = capsys.readouterr().out
    assert json.loads(told)["passed"] if as_json else "PASSED: exercise 03" in told


def test_what_passes_is_remembered_with_its_bytes_and_what_comes_next_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    remembered = []
    passing(monkeypatch)

    def passed(task: Task, text: str, speed: object) -> list[object]:
        remembered.append((task.key, progress.digest(text)))
        return []

    monkeypatch.setattr(progress, "passed", passed)
    monkeypatch.setattr(progress, "load", lambda root=ROOT: progress.State({"tasks": {}, "quizzes": {}}))
    with_mark = tmp_path / "with_mark.cu"
    with_mark.write_bytes(b"\xef\xbb\xbfint a;\r\n")
    monkeypatch.setattr(Task, "file", with_mark)
    assert check.check("01", False, None, None, False) == 0
    assert remembered == [("01_naive/exercise", progress.digest(progress.text_of(with_mark)))]
    assert capsys.readouterr().out.endswith("\nNext: ./gemm watch 02\n")


# Diagnoses


def ids_of_cpp(which: str) -> list[str]:
    """The ids of one list of common/facts.hpp: FAULTS, FAILURES, PATTERNS, FINDINGS."""
    text = (ROOT / "common" / "facts.hpp").read_text(encoding="utf-8").replace("\\\n", " ")
    listed = re.search(rf"^#define GEMM_{which}\(X\)(.*)$", text, re.MULTILINE)
    assert listed
    return re.findall(r"\bX\((\w+)\)", listed[1])


def test_every_id_has_its_words_and_there_is_no_other() -> None:
    tables = diagnosis.TABLES
    assert sorted(tables["faults"]) == sorted(ids_of_cpp("FAULTS"))
    assert sorted(tables["findings"]) == sorted(ids_of_cpp("FINDINGS"))
    patterns = ids_of_cpp("PATTERNS")
    assert sorted(tables["patterns"]) == sorted(patterns)
    assert patterns[patterns.index("everywhere") :] == sorted(diagnosis._PLACES, key=patterns.index)
    assert set(patterns) > diagnosis._NAN | diagnosis._TRANSPOSED
    assert ids_of_cpp("FAILURES") == ["elements", "precision", "padding", "outside"]  # no table has them
    cases = (ROOT / "runner" / "programs" / "cases.cpp").read_text(encoding="utf-8")
    assert set(re.findall(r'\b(?:add|odd)\("(\w+)"', cases)) == set(tables["cases"])
    assert all(
        diagnosis.diagnosis_of(id).mistake.endswith(".") for id in diagnosis._WORDS
    )  # also those that have another's words
    assert len(diagnosis._WORDS) == sum(words is not None for table in tables.values() for words in table.values())


def failed(id: str = "tiles", findings: tuple[Mapping, ...] = (), error: str = "", patterns: str = "",
           first: tuple[int, int] = (0, 0), wrong: int = 0, got: float | str = 1.5, **sizes: float) -> dict:  # fmt: skip
    """A case as gemm_check writes it. error, patterns: ids; wrong: how many elements are."""
    case: dict = {"id": id, "what": "x", "m": 64, "n": 96, "k": 96, "alpha": 1, "beta": 0, "variant": "fp32",
            "findings": list(findings), "operands": [{"name": name} for name in "ABC"], **sizes}  # fmt: skip
    element = {"row": first[0], "column": first[1], "block": None, "warp": None, "thread": None, "got": got, "expected": 3.0,
               "bound": 1.0}  # fmt: skip
    verdict = {"failure": "elements", "wrong": wrong, "first": element, "text": "It is wrong.",
               "patterns": [{"id": id, "text": f"the words of {id}"} for id in patterns.split()]}  # fmt: skip
    return {**case, "error": {"id": error, "text": "It fails."} if error else None, "verdict": verdict if wrong else None}


def found(id: str, count: int = 1, **more: object) -> dict:
    text = "thread (0,0,0) reads A[1][1] at x.cu:1"
    return {"id": id, "text": text, "access": "read", "other": None, "file": "x.cu", "line": 1, "count": count, "beyond": 0,
            "array": "A", **more}  # fmt: skip


OUT, WRITES = "out_of_bounds", {"access": "write", "other": {"access": "write"}}


def test_a_whole_tile_that_is_wrong_has_no_edge_to_blame() -> None:
    def mistake(row: int, column: int) -> str:
        return diagnose(failed("edges", first=(row, column), wrong=9), lambda file, line: "code", (32, 32, 32)).mistake

    assert mistake(31, 31) != mistake(32, 0) == mistake(0, 32)


@pytest.mark.parametrize(
    ("case", "id"),
    [
        (failed(first=(0, 64), patterns="never_written", wrong=64 * 32), "held_against_m"),
        (failed(first=(64, 0), patterns="zero", wrong=32 * 64, m=96, n=64), "held_against_n"),
        (failed("one_tile", first=(0, 1), patterns="never_written", wrong=32 * 31, m=32, n=32), "diagonal"),
        (failed("edges", first=(0, 32), patterns="never_written last_column_of_tiles", m=25, n=33, wrong=25),
         "last_column_of_tiles"),
        (failed("edges", first=(32, 0), patterns="never_written last_row_of_tiles", m=33, n=41, wrong=41),
         "last_row_of_tiles"),
        (failed("edges", first=(1, 32), patterns="never_written last_column_of_tiles", m=25, n=33, wrong=24), "never_written"),
        (failed(first=(0, 32), patterns="never_written", wrong=9), "whole_tiles"),
        (failed("k_tail", wrong=1, k=515), "with_k_beyond_512"),
        (failed("alpha_alone", patterns="sum_is_zero everywhere", wrong=9, alpha=-0.5), "with_alpha_alone"),
        (failed("far", (found(OUT, beyond=1, **WRITES),)), "one_past_the_edge"),
        (failed("far", (found(OUT, beyond=10**6, **WRITES),)), "with_far"),
        (failed("products", wrong=1, k=515), "with_products"),
        (failed("again", wrong=1), "with_again"),
        (failed("far", error="wild_pointer"), "with_far"),
        (failed("far", (found(OUT),)), "with_far"),
        (failed("many_blocks", error="launch_refused"), "with_many_blocks"),
        (failed(patterns="few_digits everywhere", wrong=1, variant="bf16"), "few_digits"),
        (failed("k_tail", wrong=1, k=255), "with_k_tail"),
        (failed("k_zero", (found(OUT),), k=0), "with_k_zero"),
        (failed("k_zero", error="endless_loop", k=0), "with_k_zero"),
        (failed("edges", (found(OUT, beyond=32),)), "far_outside"),
        (failed("edges", (found(OUT, beyond=31),)), "past_the_edge"),
        (failed("edges", (found(OUT, beyond=1, access="write"),)), "one_past_the_edge"),
        (failed("one_tile", (found(OUT, beyond=1),)), "one_past_the_edge"),
        (failed("one_tile", (found(OUT, beyond=4),)), "wrong_place"),
        (failed("one_tile", (found(OUT, beyond=4),), patterns="a_transposed", wrong=1), "a_transposed"),
        (failed("pitches", (found(OUT, beyond=4),)), "pitch"),
        (failed("alpha_zero", (found("forbidden_read", array="B"),), alpha=0, beta=1), "inputs_read_with_alpha_zero"),
        (failed("products", (found("forbidden_read", array="C"),), alpha=0), "forbidden_read"),
        (failed("one_tile", (found("no_kernel"),)), "no_kernel"),
        (failed("one_tile", (found("write_to_input"),)), "write_to_input"),
        (failed("one_tile", (found("no_dynamic_shared_memory"),)), "no_dynamic_shared_memory"),
        (failed("one_tile", (found("uninitialised_read"), found("race", other={"access": "write"}))), "race"),
        (failed("one_tile", (found("race", **WRITES),)), "race_of_writes"),
        (failed(error="out_of_memory"), "out_of_memory"),
        (failed(error="division_by_zero"), "division_by_zero"),
        (failed("edges", (found(OUT),), error="null_pointer"), "out_of_bounds"),
        (failed("edges", (found(OUT),), error="divergent_barrier"), "divergent_barrier"),
        (failed(patterns="inputs_in_bf16 everywhere", wrong=1), "inputs_in_bf16"),
        (failed("tiles", patterns="nan_with_beta_zero everywhere", wrong=1), "nan"),
    ],
)  # fmt: skip
def test_diagnoses(case: dict, id: str) -> None:
    assert diagnose(case, lambda file, line: "code", (32, 32, 32)).id == id


def test_diagnoses_in_words() -> None:
    """What words leave open, and the evidence."""

    def told(case: dict) -> str:
        found = diagnose(case, lambda file, line: "code", (32, 32, 32))
        return "\n".join((found.mistake, found.advice, *found.evidence)) + "\n"

    of_place = failed(patterns="beta_c_missing one_row every_nth_column", wrong=3, got="nothing")
    of_place["verdict"]["first"].update(block=[1, 0, 0], warp=2, thread=[3, 4, 5], expected=1 / 3)
    outside = failed(wrong=1)
    outside["verdict"] |= {"failure": "outside", "first": None, "text": "A write outside C.\n  More."}
    cases = {
        "a race, and what it made wrong": failed("edges", (found("race", 449),), first=(0, 1), wrong=1, got="nan"),
        "an endless loop over 300 steps": failed(error="endless_loop", k=300),
        "patterns and a place": of_place,
        "a write outside": outside,
        "columns held against M": failed(first=(0, 64), patterns="never_written", wrong=64 * 32),
        "rows past the edge": failed("edges", (found(OUT, beyond=31),)),
        "one past the edge, along K": failed("k_tail", (found(OUT, beyond=1),)),
        "a short type": failed(patterns="few_digits everywhere", wrong=1, variant="bf16"),
        "a D without a value": {**failed(patterns="never_written", wrong=1), "operands": [{"name": name} for name in "ABCD"]},
        "a C that is an input": {
            **failed("one_tile", (found("write_to_input", array="C", access="write"),)),
            "operands": [{"name": name} for name in "ABCD"],
        },
        "nothing known": {**failed(), "findings": []},
    }
    hold("check", {f"diagnosis of {name}": told(case) for name, case in cases.items()})


def test_a_variable_without_a_value_is_what_the_compiler_says_first() -> None:
    warning = "x.cu:3:9: warning: 'acc' may be used uninitialized [-Wmaybe-uninitialized]"
    report = check.Report(TASK, "x.cu", "", warnings=["x.cu:1:1: warning: other [-Wother]", warning], cases=[failed(wrong=1)])
    led = check._explained(report, diagnose(report.cases[-1], lambda file, line: ""))
    assert (led.id, led.evidence[0]) == ("no_value", warning)
    assert report.warnings == ["x.cu:1:1: warning: other [-Wother]"]
    report.cases = [failed(error="endless_loop")]
    report.warnings = [warning]
    assert check._explained(report, diagnose(report.cases[-1], lambda file, line: "")).id == "endless_loop"
