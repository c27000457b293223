"""./gemm check's own parts: what it says of compilers, programs, goals and times, with JSON and tools that are made up."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import Course

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
        file = folder / key
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
        made[key] = [str(file)]
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
    file = folder / "program"
    head = (
        "import os, sys\n"
        "output = sys.argv[sys.argv.index('--output') + 1]\n"
        "fd = int(next(a for a in sys.argv if a.startswith('--progress-fd=')).split('=')[1])\n"
    )
    file.write_text(f"#!{sys.executable}\n{head}{body}\n")
    file.chmod(0o755)
    return file


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
    assert said[20] == "… and 99 981 more lines that the kernel printed"
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
    assert check.goal_text(held[2]) == "Shared memory has no bank conflicts: the kernel has no such access"
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
    same = tile[:2] == (32, 32)
    note = f"Your tiles of {BM}×{BN}×{BK} need {check.grouped(32 * (a + b))} bytes; the lesson's of 32×32×32 need 524 288."
    assert held[1]["note"] == ("" if same else note)
    lines[0]["sectors"] += 4
    assert not check.held_against_goals(TASK, counted(lines, tile), tile, OWN)[1]["reached"]


@pytest.mark.parametrize("declared", [(8, 8, 32), (32, 32, 1), (4, 4, 4)])
def test_a_tile_that_is_declared_and_not_used_buys_nothing(declared: tuple[int, int, int]) -> None:
    lines = [access("A", "load", "global", 8, 8192), access("As", "load", "shared", 1)]
    held = check.held_against_goals(TASK, counted(lines), declared, OWN)[1]
    assert (held["bound"], held["reached"]) == (524288, False)
    assert "the launch was none of such: it is held against 32×32×32" in held["note"]


def test_goals_in_words() -> None:
    lines = [access("A", "load", "global", 32), access("As", "load", "shared", 2)]
    told = [check.goal_text(goal) for goal in check.held_against_goals(TASK, counted(lines), OWN, OWN)]
    assert told[0] == "A warp's load takes at most 4 sectors: it takes 32"
    assert told[1].endswith(": 1 024 000 bytes, at most 524 288")
    assert told[2] == "Shared memory has no bank conflicts: 1 000 wavefronts beyond the ideal"
    lines = [access("A", "load", "global", 16, width=16)]  # 16 bytes a thread: 4 sectors of each 4
    assert check.goal_text(check.held_against_goals(TASK, counted(lines), OWN, OWN)[0]).endswith("at most 4 sectors: 4")


# Times


def timed(name: str, ms: float | None, failure: str = "") -> dict:
    return {"name": name, "passed": ms is not None, "failure": failure, **({"ms_median": ms} if ms else {})}


@pytest.mark.parametrize(
    ("times", "untimed", "over", "reasons"),
    [
        ([timed("exercise 03", 2), timed("exercise 02", 5), timed("03_smem", 1)], {}, (2.5, 0.5), []),
        ([timed("exercise 03", 2), timed("03_smem", 1)], {}, (None, 0.5), ["exercise 02 was not timed: it does not run here."]),
        (
            [timed("exercise 03", 2), timed("03_smem", 4)],
            {"exercise 02": "nvcc does not compile exercises/02_coalesced/exercise.cu"},
            (None, 2),
            ["exercise 02 was not timed: nvcc does not compile exercises/02_coalesced/exercise.cu."],
        ),
        (
            [timed("exercise 03", 2), timed("exercise 02", None, "It is wrong at 1×1×1: 1 of 1.\n  first"), timed("03_smem", 1)],
            {},
            (None, 0.5),
            ["exercise 02 was not timed: It is wrong at 1×1×1: 1 of 1."],
        ),
        ([timed("exercise 03", 2), timed("exercise 02", 5)], {}, (2.5, None), ["03_smem was not timed: it does not run here."]),
    ],
)
def test_speeds_are_matched_by_name(
    times: list[dict], untimed: dict[str, str], over: tuple[float | None, float | None], reasons: list[str]
) -> None:
    speed = check._speed(times, "exercise 03", "exercise 02", "03_smem", untimed)
    assert (speed["over_before"], speed["over_lesson"], speed["reasons"]) == (*over, reasons)
    report = check.Report(TASK, "x.cu", "", stage="", speed=speed, gpu="a GPU")
    told = check.told(report, 0)
    assert all(reason in told for reason in reasons)
    assert (f"{over[0]:.2f} times as fast as your exercise 02" in told) if over[0] else "your exercise 02" not in told


# Telling


def test_a_report_is_no_pass_until_it_says_so() -> None:
    assert not check.Report(TASK, "x.cu", "").passed


def test_warnings_are_told_of_what_passes() -> None:
    report = check.Report(TASK, "x.cu", "", seed=1, stage="", warnings=["x.cu:1:1: warning: a", "b", "c"])
    told = check.told(report, 0)
    assert told.count("The compiler warns: ") == 2
    assert told.splitlines()[-1].startswith("PASSED: exercise 03, seed 1 ")


def test_shapes() -> None:
    case = {"m": 64, "n": 96, "k": 67, "lda": 71, "ldb": 96, "ldc": 96, "alpha": 1, "beta": -0.5, "offsets": [0, 0, 0]}
    assert check.shape_text(case) == "M×N×K = 64×96×67, lda = 71, beta = -0.5"
    off = check.shape_text({**case, "alpha": 1.0044, "beta": 0, "offsets": [1, 0, 1]})
    assert off == "M×N×K = 64×96×67, lda = 71, alpha = 1.0044, A, C one element behind a multiple of 16 bytes"


def test_a_byte_order_mark_and_line_ends() -> None:
    assert check.source_text(b"\xef\xbb\xbfint a;\r\nint b;\r") == "int a;\nint b;\n"


@pytest.mark.parametrize(
    ("file", "words"),
    [("", "--file needs the name of a file"), ("/dev/null", "no ordinary file"), (".", "no ordinary file"),
     ("nothing.cu", "nothing.cu is not there")],
)  # fmt: skip
def test_files_that_are_refused(file: str, words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)) as refused:
        check.check("03", False, file, None, False)
    assert refused.value.status == 2


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cu")
    with pytest.raises(UserError, match="no ordinary file"):
        check.check("03", False, str(tmp_path / "pipe.cu"), None, False)


def passing(monkeypatch: pytest.MonkeyPatch) -> None:
    def examine(task: Task, name: str, text: str, seed: int | None) -> check.Report:
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
    assert list(diagnosis._FAULTS) == ids_of_cpp("FAULTS")
    assert sorted(diagnosis._FINDINGS) == sorted(ids_of_cpp("FINDINGS"))
    patterns = ids_of_cpp("PATTERNS")
    assert sorted(diagnosis._PATTERNS) == sorted(patterns)
    assert patterns[patterns.index("everywhere") :] == sorted(diagnosis._PLACES, key=patterns.index)
    assert set(patterns) > diagnosis._NAN | diagnosis._TRANSPOSED
    assert ids_of_cpp("FAILURES") == ["elements", "precision", "padding", "outside"]  # no table has them
    cases = (ROOT / "runner" / "programs" / "cases.cpp").read_text(encoding="utf-8")
    assert set(re.findall(r'\b(?:add|odd)\("(\w+)"', cases)) == set(diagnosis._CASES)


def failed(id: str = "tiles", findings: tuple[Mapping, ...] = (), error: str = "", patterns: str = "",
           first: tuple[int, int] = (0, 0), wrong: int = 0, got: float | str = 1.5, **sizes: float) -> dict:  # fmt: skip
    """A case as gemm_check writes it. error, patterns: ids; wrong: how many elements are."""
    case = {"id": id, "what": "x", "m": 64, "n": 96, "k": 96, "alpha": 1, "beta": 0, "variant": "fp32",
            "findings": list(findings), **sizes}  # fmt: skip
    element = {"row": first[0], "column": first[1], "block": None, "warp": None, "thread": None, "got": got, "expected": 3.0,
               "bound": 1.0}  # fmt: skip
    verdict = {"failure": "elements", "wrong": wrong, "first": element, "text": "It is wrong.",
               "patterns": [{"id": id, "text": f"the words of {id}"} for id in patterns.split()]}  # fmt: skip
    return {**case, "error": {"id": error, "text": "It fails."} if error else None, "verdict": verdict if wrong else None}


def found(id: str, count: int = 1, **more: object) -> dict:
    text = "thread (0,0,0) reads A[1][1] at x.cu:1"
    return {
        "id": id,
        "text": text,
        "access": "read",
        "other": None,
        "file": "x.cu",
        "line": 1,
        "count": count,
        "beyond": 0,
        **more,
    }


OUT, WRITES = "out_of_bounds", {"access": "write", "other": {"access": "write"}}


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (failed(first=(0, 64), patterns="never_written", wrong=64 * 32), "from column 64 on, and M is 64"),
        (failed(first=(64, 0), patterns="zero", wrong=32 * 64, m=96, n=64), "from row 64 on, and N is 64"),
        (failed("one_tile", first=(0, 1), patterns="never_written", wrong=32 * 31, m=32, n=32), "Only the diagonal"),
        (failed("edges", first=(0, 32), patterns="never_written last_column_of_tiles", m=25, n=33, wrong=25),
         "The last column of tiles is never written."),
        (failed("edges", first=(32, 0), patterns="never_written last_row_of_tiles", m=33, n=41, wrong=41),
         "The last row of tiles is never written."),
        (failed(first=(0, 32), patterns="never_written", wrong=9), "Whole tiles"),
        (failed("k_tail", wrong=1, k=515), "not beyond 512"),
        (failed("products", wrong=1, k=515), "and not these together"),
        (failed("again", wrong=1), "A second launch"),
        (failed("far", error="wild_pointer"), "Offsets beyond 2^31"),
        (failed("far", (found(OUT),)), "Offsets beyond 2^31"),
        (failed("many_blocks", error="launch_refused"), "More than 65535 blocks"),
        (failed(patterns="few_digits everywhere", wrong=1, variant="bf16"), "less precise than a sum in FP32 that is rounded"),
        (failed("k_tail", wrong=1, k=255), "The end of K is not handled."),
        (failed("k_zero", (found(OUT),), k=0), "K = 0 is not handled."),
        (failed("k_zero", error="endless_loop", k=0), "K = 0 is not handled."),
        (failed("edges", (found(OUT, beyond=32),)), "far outside of its matrix"),
        (failed("edges", (found(OUT, beyond=31),)), "past the edge of the matrix, by up to 31 rows or columns: a guard"),
        (failed("edges", (found(OUT, beyond=1, access="write"),)), "writes one past the edge"),
        (failed("one_tile", (found(OUT, beyond=1),)), "reads one past the edge"),
        (failed("one_tile", (found(OUT, beyond=4),)), "every size is a multiple of the block tile"),
        (failed("one_tile", (found(OUT, beyond=4),), patterns="a_transposed", wrong=1), "A is read with row and column swapped."),
        (failed("pitches", (found(OUT, beyond=4),)), "A row pitch"),
        (failed("alpha_zero", (found("forbidden_read", array="B"),), alpha=0, beta=1), "A or B is read although alpha is 0."),
        (failed("products", (found("forbidden_read", array="C"),), alpha=0), "C is read although beta is 0."),
        (failed("one_tile", (found("no_kernel"),)), "no kernel has computed it"),
        (failed("one_tile", (found("write_to_input"),)), "writes to A or B"),
        (failed("one_tile", (found("no_dynamic_shared_memory"),)), "too little dynamic shared memory"),
        (failed("one_tile", (found("uninitialised_read"), found("race", other={"access": "write"}))), "A barrier is missing."),
        (failed("one_tile", (found("race", **WRITES),)), "Two threads write the same place"),
        (failed(error="out_of_memory"), "memory that is not there"),
        (failed(error="division_by_zero"), "divided by zero"),
        (failed("edges", (found(OUT),), error="null_pointer"), "leaves its matrices"),
        (failed("edges", (found(OUT),), error="divergent_barrier"), "Not all threads of the block"),
        (failed(patterns="inputs_in_bf16 everywhere", wrong=1), "less precise than FP32"),
        (failed("tiles", patterns="nan_with_beta_zero everywhere", wrong=1), "NaN gets into the result."),
    ],
)  # fmt: skip
def test_diagnoses(case: dict, words: str) -> None:
    assert words in diagnose(case, lambda file, line: "code", (32, 32, 32)).mistake


def test_evidence() -> None:
    case = failed("edges", (found("race", 449),), first=(0, 1), wrong=1, got="nan")
    told = diagnose(case, lambda file, line: "code", (32, 32, 32)).evidence
    assert told[0] == "thread (0,0,0) reads A[1][1] at x.cu:1; the first of 449"
    assert told[1:3] == ("line 1: code", "first wrong: row 0, column 1")
    assert told[3] == "got NaN, expected 3 ± 1"
    case = failed(error="endless_loop", k=300)
    assert diagnose(case, lambda file, line: "").advice.endswith("8 bits count to 255, and 16 to 65535.")
    case = failed(patterns="beta_c_missing one_row every_nth_column", wrong=3, got="nothing")
    case["verdict"]["first"].update(block=[1, 0, 0], warp=2, thread=[3, 4, 5], expected=1 / 3)
    assert diagnose(case, lambda file, line: "").evidence == (
        "first wrong: row 0, column 0 (block (1,0,0), warp 2, thread (3,4,5))",
        "got nothing: never written, expected 0.333333333 ± 1",
        "pattern: the words of beta_c_missing; the words of one_row, the words of every_nth_column",
    )
    case = failed(wrong=1)
    case["verdict"] |= {"failure": "outside", "first": None, "text": "A write outside C.\n  More."}
    assert diagnose(case, lambda file, line: "").evidence == ("A write outside C.",)


def test_a_variable_without_a_value_is_what_the_compiler_says_first() -> None:
    warning = "x.cu:3:9: warning: 'acc' may be used uninitialized [-Wmaybe-uninitialized]"
    report = check.Report(TASK, "x.cu", "", warnings=["x.cu:1:1: warning: other [-Wother]", warning], cases=[failed(wrong=1)])
    led = check._explained(report, diagnose(report.cases[-1], lambda file, line: ""))
    assert (led.mistake, led.evidence[0]) == ("A variable is used that was never given a value.", warning)
    assert report.warnings == ["x.cu:1:1: warning: other [-Wother]"]
    report.cases = [failed(error="endless_loop")]
    report.warnings = [warning]
    assert "A loop does not end." in check._explained(report, diagnose(report.cases[-1], lambda file, line: "")).mistake


# The whole command


def test_a_damaged_progress_file_does_not_lose_the_verdict(course: Course) -> None:
    file, kept = course.root / "exercises" / "01_naive" / "exercise.cu", course.root / ".progress.json"
    before = file.read_bytes()
    try:
        file.write_bytes(b"\xef\xbb\xbf" + Task("01_naive", "exercise").solution().replace("\n", "\r\n").encode())
        kept.write_text("{")
        done = course.run("check", "01")
        assert (done.returncode, "PASSED: exercise 01" in done.stdout) == (2, True)
        assert "not valid JSON" in done.stderr
        kept.unlink()
        done = course.run("check", "01")
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("\nNext: ./gemm watch 02\n")
        assert progress.state_of(Task("01_naive", "exercise", course.root)) == "passed"
    finally:
        file.write_bytes(before)
        kept.unlink(missing_ok=True)
