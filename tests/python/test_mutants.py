"""./gemm test --mutants: edits that are drawn, judged as the check judges a learner's file, and counted."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from conftest import REPOSITORY, drawn, seed, toolchain

from runner import mutants, mutation
from runner.core.results import lessons
from runner.learn.exercise import Task, more_problems
from runner.mistakes import equivalents


def kernel(lesson: str) -> str:
    return Task(lesson, "exercise").kernel()


@pytest.mark.parametrize("lesson", lessons())
def test_a_seed_draws_the_same_mutants_again_and_each_is_one_edit_of_the_kernel(lesson: str) -> None:
    some = list(islice(mutants.drawn(lesson, seed()), 60))
    assert some == list(islice(mutants.drawn(lesson, seed()), 60))
    assert some != list(islice(mutants.drawn(lesson, seed() + 1), 60))
    text = kernel(lesson)
    assert len({made.text for made in some} | {text}) == 61
    assert len({made.kind for made in some}) >= 11  # of a composition, whose kernel is short; of most, 12 and more
    lines = text.splitlines()
    for made in some:
        assert made.before != made.after
        # Nothing beside the edited lines is another; no comment, no descriptor.
        changed = made.text.splitlines()
        first = next(i for i, pair in enumerate(zip(lines, changed, strict=False)) if pair[0] != pair[1])
        assert first == made.line - 1
        assert mutants.without_comments(text).splitlines()[first] != mutants.without_comments(made.text).splitlines()[first]
        assert made.text[made.text.index("Offer variants") :] == text[text.index("Offer variants") :]


def test_an_edit_stays_in_its_operand() -> None:
    text = (
        "namespace x {\nvoid f() {\n    c = row < M && k + (x - 1) < K ? a[i * lda + 2] : 0.0f;\n"
        "    if (row >= M || col >= N) return;\n    __syncthreads();\n}\n"
    )
    made = {mutants.mutant("01_naive", text, edit).after for edit in mutants.edits(text)}
    for line in (
        "c = row < M ? a[i * lda + 2] : 0.0f;",
        "c = k + (x - 1) < K ? a[i * lda + 2] : 0.0f;",
        "c = row < M && k < K ? a[i * lda + 2] : 0.0f;",
        "c = row < M && k + (x) < K ? a[i * lda + 2] : 0.0f;",
        "c = a[i * lda + 2];",
        "c = 0.0f;",
        "c = row < M && k + (x - 1) <= K ? a[i * lda + 2] : 0.0f;",
        "c = row < M && k + (x - 1) < K ? a[i + 2] : 0.0f;",
        "c = row < M && k + (x - 1) < K ? a[static_cast<int>(i * lda) + 2] : 0.0f;",
        "c = row < M && k + (x - 1) < K ? a[i * lda + 2] : 1.0f;",
        "if (row >= M) return;",
        "if (false) return;",
        "if (row >= M && col >= N) return;",
        "__syncwarp();",
        "",
    ):
        assert line in made, line


def test_what_is_known_to_be_right_is_not_drawn() -> None:
    everything = list(mutants.drawn("07_double_buffer", 1))
    assert len(everything) > 500
    assert not any("left >= 0; --left" in made.after for made in everything)
    text = kernel("07_double_buffer")
    known = [edit for edit in mutants.edits(text) if mutants.why_equivalent("07_double_buffer", text, edit)]
    assert len(known) > 5
    # Each rule is about something that is there.
    of_all = equivalents("01_naive")  # which has none of its own
    for lesson in lessons():
        for rule in equivalents(lesson):
            where = lessons() if rule in of_all else [lesson]
            assert any(re.search(rule["piece"], kernel(name)) for name in where), (lesson, rule)


def planted(*changes: tuple[str, str]) -> Iterator[mutants.Mutant]:
    text = kernel("01_naive")
    for right, wrong in changes:
        start = text.index(right)
        yield mutants.mutant("01_naive", text, mutants.Edit("planted", start, start + len(right), wrong))


def test_mutants_are_judged_and_what_is_none_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    made = planted(
        ("alpha * acc + beta", "alpha * acc + beta +"),  # does not compile
        ("alpha * acc + beta * *c;", "alpha * acc;"),
        ("const std::int64_t row =", "std::int64_t row ="),  # is the same
        ("    if (p.M == 0", "    if (p.M < 0) ::abort();\n    if (p.M == 0"),  # is right
    )
    monkeypatch.setattr(mutation, "drawn", lambda lesson, number: made)
    found = mutation.judge(toolchain(), 3, seed(), ["01_naive"])
    assert [(judged.by, judged.same) for judged in found] == [("", True), ("elements", False), ("", False)]
    assert [judged.case for judged in found] == ["", "beta that is not 0", ""]
    told = mutation.told(found[1:], 50.0)
    assert re.search(r"^01_naive +2 +1 +1$", told, re.MULTILINE)
    assert re.search(r"^01_naive/kernel.cu, .* \d+ \(planted\)", told, re.MULTILINE)
    assert "50.0 % of 2 " in told


@pytest.mark.parametrize("lesson", drawn(lessons()[:5], 1))
def test_of_mutants_that_are_drawn_one_at_least_is_found(lesson: str) -> None:
    found = mutation.judge(toolchain(), 3, seed(), [lesson])
    assert len(found) == 3
    assert any(judged.by for judged in found), mutation.told(found, 0.0)


NARROW = [
    ("01_naive", "end = a + K", "end = a + static_cast<unsigned short>(K)"),
    ("03_smem", "for (std::int64_t k0", "for (std::uint16_t k0"),  # does not end
    ("03_smem", "A[row * lda + k0 + x]", "A[row * lda + static_cast<short>(k0 + x)]"),
    ("05_2d_blocktile", "const std::int64_t k_end", "const char16_t k_end"),
    ("06a_float4", "std::int64_t k_left", "unsigned short k_left"),
    ("09b_mma_sync", "const std::int64_t k_end", "const std::uint16_t k_end"),
]


@pytest.mark.parametrize(("lesson", "right", "wrong"), drawn(NARROW, 1))
def test_16_bits_along_k_are_found(lesson: str, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = kernel(lesson)
    start = text.index(right)
    made = mutants.mutant(lesson, text, mutants.Edit("type", start, start + len(right), wrong))
    monkeypatch.setattr(mutation, "drawn", lambda *_: iter([made]))
    (judged,) = mutation.judge(toolchain(), 1, seed(), [lesson])
    assert judged.by in ("elements", "precision", "endless_loop", "out_of_bounds", "crash"), judged
    assert judged.case == "K beyond 65536"


def test_16_bits_along_k_are_drawn() -> None:
    for lesson, line in (
        ("03_smem", "short k0 = 0;"),
        ("06a_float4", "unsigned short k_left = "),
        ("08a_ring", "short k_end = "),
    ):
        assert any(line in made.after for made in mutants.drawn(lesson, seed())), lesson


@pytest.mark.parametrize(
    ("text", "named"),
    [
        *[(f"for ({name} k = 0;;)", True) for name in ("short", "unsigned short", "std::uint16_t", "int16_t", "char16_t")],
        ("static_cast<short>(k)", True),
        ("using Short = sho\\\nrt int;", True),
        ("struct { unsigned short a, b; };", True),
        ("shorter a; __half b; std::int64_t c; half short_of;", False),
        ("reinterpret_cast<const std::uint16_t*>(from)", False),
        ("unsigned short int const * data", False),
        ('// short\n/* short\nshort */ "short" "\\"short" \'"\' /* short', False),
        ("/*" * 100_000 + '"' * 100_000, False),
    ],
)  # fmt: skip
def test_who_is_asked_for_more_than_others(text: str, named: bool) -> None:
    assert more_problems(text) == ["--long-k"] * named


def test_no_lesson_is() -> None:
    assert not [lesson for lesson in lessons() if more_problems(kernel(lesson))]


def test_the_judge_asks_the_same_of_it(tmp_path: Path) -> None:
    toolchain("exam")
    judge, listed = REPOSITORY / "build" / "cpu" / "bin" / "gemm_judge", []
    for more in ([], ["--long-k"]):
        command = [judge, "--lesson", "03_smem", "--seed", "1", "--tile", "32,32,32", *more, "--output", tmp_path / "listed.json"]
        subprocess.run(command, check=True)
        listed.append(json.loads((tmp_path / "listed.json").read_text())["cases"])
    assert listed[1][:-1] == listed[0]
    assert listed[1][-1]["k"] > 65536


def test_the_score_is_what_was_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, three = islice(planted(*[("row >= M || ", "")] * 3), 3)
    found = [mutation.Judged(one, "out_of_bounds", "edges"), mutation.Judged(two, ""), mutation.Judged(three, "", "", True)]
    monkeypatch.setattr(mutation, "toolchain", lambda device: {})
    monkeypatch.setattr(mutation, "judge", lambda tools, count, number, names: found)
    assert mutation.score("3", "7", True) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["score"], told["same"], told["seed"]) == (50.0, 1, 7)
    assert [entry["by"] for entry in told["mutants"]] == ["out_of_bounds", ""]
    monkeypatch.setattr(mutation, "judge", lambda tools, count, number, names: found[:1] * 20 + found[1:])
    assert mutation.score("22", "7", False) == 0
    assert "95.2 % of 21 mutants are found." in capsys.readouterr().out
