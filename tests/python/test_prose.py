"""A lesson's two pages, README.md and EVIDENCE.md: their length, the figures in their sentences, and their
English. Each check is shown to find what it is for; then it reads the pages of this checkout."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from plots_synthetic import STEPS, TWELVE, checkout, mixed_results, profile, tuned_results

from plots import figures, prose, tables
from plots.__main__ import main
from plots.data import TUNED
from plots.publish import RESULTS
from runner.core.results import ROOT, UserError, folder_of, lessons

PAGES = [page for _, page in prose.pages(ROOT)]
SHORTEST, LONGEST, OF_EVIDENCE = 1000, 1800, 1500  # words of running text
LONGER = {"01_naive": 2500, "10a_swizzle": 2500, "11a_one_stage": 2500}

# What sounds translated or like a protocol, and what to write instead. Each is a hint: a page may have a few.
HABITS = {
    r"\bbehind (?:the|its|their|this|that|a) (?:barrier|products?|loop|copies|wait|loads?)\b": "after; behind only for place",
    r"\bclocks\b|\b(?:a|per|each|every|in \d+) clock\b(?! (?:rate|frequency))": "cycle; clock rate for MHz",
    r"\bstands?\b(?! (?:for|out))|\bstood\b": "is, comes, appears",
    r"\blies?\b(?! (?:at|to))|\blay\b": "is; lies only for addresses",
    r"\bnobody (?:multiplies|waits|needs|reads|writes|asks)\b": "say what idles",
    r"\b(?:brings|brought) (?:nothing|a little|little|more|it)\b": "makes no difference, gains",
    r"\bto be had\b|\bha(?:s|ve) to do with\b|\bis to say\b|\bhold(?:s)? back\b": "is available, is about, limits",
    r"\basks? (?:for|of)\b": "requests, issues, needs",
    r"\bgo(?:es)? by\b|\breckon(?:s|ed)?\b|\bmeanwhile\b|\bthe (?:latter|former)\b": "plainer words",
    r"(?<=[.!?] )Of (?:a|an|the|each|these|those|A|B|C)\b|^Of (?:a|an|the|each|these|those|A|B|C)\b": "begin with the subject",
    r"\b(?:profile|table|count) does not say\b": "leave it out, or to EVIDENCE.md",
}
PER_WORDS = 1.5 / 1000  # of them; manuals of the field that were well edited have 0 to 0.4


def length_problems(lesson: str, page: Path) -> list[str]:
    words = prose.words(page)
    low, high = (0, OF_EVIDENCE) if page.name == prose.EVIDENCE else (SHORTEST, LONGER.get(lesson, LONGEST))
    return [] if low <= words <= high else [f"{page}: {words} words of running text, not {low} to {high}"]


def habits(page: Path) -> list[str]:
    return [
        f"{page}:{paragraph.line + paragraph.text.count(chr(10), 0, match.start())}: {match[0]!r}: {instead}"
        for paragraph in prose.paragraphs(page)
        for pattern, instead in HABITS.items()
        for match in re.finditer(pattern, paragraph.text.replace("\n", " "))
    ]


def voice_problems(page: Path) -> list[str]:
    found = habits(page)
    allowed = max(2, int(PER_WORDS * sum(len(paragraph.text.split()) for paragraph in prose.paragraphs(page))))
    return found if len(found) > allowed else []


# This checkout.


@pytest.mark.parametrize("lesson", lessons(ROOT))
def test_pages_are_as_long_as_they_should_be_and_sound_like_english(lesson: str) -> None:
    of_lesson = [page for name, page in prose.pages(ROOT) if name == lesson]
    problems = [problem for page in of_lesson for problem in (*length_problems(lesson, page), *voice_problems(page))]
    assert not problems, "\n".join(problems)


def test_sentences_say_what_is_recorded() -> None:
    problems = figures.problems(ROOT)
    assert not problems, "\n".join(problems)


def scale(root: Path, factor: float) -> None:
    """Makes each lesson that many times slower, in everything that was recorded, and renews the tables."""
    for name in (RESULTS, TUNED):
        recorded = json.loads((root / name).read_text(encoding="utf-8"))
        variants = [run for found in recorded["lessons"].values() for row in found.get("rows", []) for run in row["runs"]]
        for run in [*recorded.get("runs", []), *variants]:
            for key in {"ms_median", "ms_p10", "ms_p90"} & run.keys():
                run[key] *= factor
            for key in {"ratio", "tflops"} & run.keys():
                run[key] /= factor
        (root / name).write_text(json.dumps(recorded), encoding="utf-8")
    tables.update(root, "table", "tuned")


def test_a_recording_within_the_noise_leaves_these_pages_true_and_another_names_each_ratio(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "plots" / "results", tmp_path / "plots" / "results")
    shutil.copy(ROOT / "CMakeLists.txt", tmp_path)
    for lesson in lessons(ROOT):
        (tmp_path / folder_of(lesson, ROOT)).mkdir(parents=True)
    for page in PAGES:
        shutil.copy(page, tmp_path / page.relative_to(ROOT))
    scale(tmp_path, 1.02)
    problems = figures.problems(tmp_path)
    assert not problems, "\n".join(problems)
    scale(tmp_path, 1.1 / 1.02)
    named = {problem.partition(": ")[0] for problem in figures.problems(tmp_path)}
    stating = {
        f"{page.relative_to(ROOT)}:{paragraph.line + paragraph.text.count(chr(10), 0, match.start())}"
        for page in PAGES
        for paragraph in prose.paragraphs(page)
        for match in re.finditer(r"(?<!within )\d\.\d+ of (?:the speed of )?cuBLAS", paragraph.text.replace("\n", " "))
        if paragraph.section != "Predict" and not re.search(r"would|could|at most", paragraph.text[: match.start()])
    }
    assert stating - named == set()


# Invented pages.


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Lessons of which 03_smem (9.00 TFLOP/s, 0.176 of cuBLAS; 02 has 6.20 and 0.121) and 09c_ring have both pages."""
    root = checkout(tmp_path, results=mixed_results(sizes=(1024, 4096)), steps=STEPS)
    (root / TUNED).write_text(json.dumps(tuned_results()), encoding="utf-8")
    (root / "plots" / "results" / "h200-profile.json").write_text(
        json.dumps({**profile(), "lessons": {"09c_ring": {"instructions": 8e7, "issue slots used": 25.0}}}), encoding="utf-8"
    )
    tuned = "<!-- tuned:03_smem -->\n<!-- /tuned -->\n"
    for folder, name in ((TWELVE[2], TWELVE[2]), (STEPS["09c_ring"], "09c_ring")):
        (root / folder / "README.md").write_text(f"# x\n\n<!-- table:step:{name} -->\n<!-- /table -->\n", encoding="utf-8")
        (root / folder / "EVIDENCE.md").write_text(f"# y\n\n{tuned if name == TWELVE[2] else ''}", encoding="utf-8")
    scale(root, 1)
    return root


def say(root: Path, sentence: str, section: str = "Measure", lesson: str = TWELVE[2]) -> list[str]:
    """The problems of a page with the sentence in a section, without their places."""
    page = root / folder_of(lesson, root) / "README.md"
    before = page.read_text(encoding="utf-8")
    page.write_text(f"{before}\n## {section}\n\n{sentence}\n", encoding="utf-8")
    found = figures.problems(root)
    page.write_text(before, encoding="utf-8")
    return [problem.partition(": ")[2] for problem in found]


RATIOS = [
    "It reaches 0.18 of cuBLAS.",
    "**1.5 times faster, 0.18 of cuBLAS's speed** (4096×4096×4096, FP32).",
    "That is 0.18 of the speed of\ncuBLAS, or 18 % of cuBLAS.",
    "From 0.12 to 0.18 of cuBLAS, where [lesson 02](../02/README.md) had the smaller.",
    "Lesson 02 runs at 0.12 of cuBLAS, and 09c at 0.53 of cuBLAS.",
    "Lesson 02 is slow, but this one reaches 0.18 of cuBLAS.",
    "At 1024 it reaches 0.18 of cuBLAS, and 0.18 times cuBLAS's speed at 1024³.",
    "Its ratio to cuBLAS is 0.18.",
    "It is 1.5 times as fast as lesson 02, 0.18 of cuBLAS.",
    "It is at 0.17 of cuBLAS.",
    "With the idea alone it has 0.70 of cuBLAS.",  # of the table of variants
]


@pytest.mark.parametrize("sentence", RATIOS)
def test_a_ratio_is_held(root: Path, sentence: str) -> None:
    assert say(root, sentence) == []
    scale(root, 1.02)
    assert say(root, sentence) == []
    scale(root, 1.1 / 1.02)
    assert len(say(root, sentence)) >= 1


@pytest.mark.parametrize(
    "sentence",
    [
        "It is 1.5 times faster than lesson 02.",
        "It is 1.5 times\nas fast, and cuBLAS 5.7 times as fast as this.",
        "Lesson 01 is 18 times slower.",
        "That is 9 TFLOP/s, of a peak of 66.9 TFLOP/s, and takes 15 ms where cuBLAS is 5.7 times faster.",
        "The variant is 1.2 times faster: 42 TFLOP/s.",
        "An HMMA starts every 9.5 cycles.",
        "It could be 3.3 times faster, at most 31 TFLOP/s; 4 times as fast at best. It would be at 0.99 of cuBLAS.",
        "It comes within 3 % of cuBLAS, is busy 62.5 % of the time, or 53 %, and takes 600 W.",
        "Every thread reads 2.25 times the bytes, 1,024 of them, in 241 instructions.",
        "The code has `0.999 of cuBLAS`.",
        "*A caption: 0.99 of cuBLAS.*",
        "    0.99 of cuBLAS",
    ],
)
def test_what_is_recorded_computed_or_no_figure_is_left_alone(root: Path, sentence: str) -> None:
    assert say(root, sentence) == []


@pytest.mark.parametrize(
    ("sentence", "count"),
    [
        ("It is 1.7 times faster.", 1),
        ("It makes 12 TFLOP/s.", 1),
        ("An HMMA starts every 12.3 cycles.", 1),
        ("It reaches 0.70 of cuBLAS.", 1),  # of a variant, of which the sentence says nothing
        ("Lesson 02 reaches 0.18 of cuBLAS.", 1),  # this one does
        ("It reaches 0.15 of cuBLAS at 1024.", 1),
        ("At 999×999×999 it reaches 0.18 of cuBLAS.", 1),
        ("It reaches 0.2 of cuBLAS.", 1),
        ("It reaches 0.176 of cuBLAS, 17.6 % of cuBLAS.", 3),  # a per cent is also one by itself
        ("It is 1.45 times faster, at 9.00 TFLOP/s, 14.9 ms, 597 W and 74.0 % of the slots.", 5),
    ],
)
def test_a_wrong_or_exact_figure_is_found(root: Path, sentence: str, count: int) -> None:
    assert len(say(root, sentence)) == count


def test_predict_computes_and_where_we_are_has_bounds(root: Path) -> None:
    assert say(root, "1.23 times faster, 0.999 of cuBLAS.", "Predict") == []
    assert say(root, "Full units would make it 3.3 times faster.", "Where we are") == []
    assert len(say(root, "It reaches 0.99 of cuBLAS.", "Where we are")) == 1


def test_a_problem_names_file_line_figure_and_what_is_recorded(root: Path) -> None:
    page = root / STEPS["09c_ring"] / "EVIDENCE.md"
    page.write_text("# y\n\nA first line,\nand 0.61 of cuBLAS.\n", encoding="utf-8")
    assert figures.problems(root) == ["09_tensorcore/c_ring/EVIDENCE.md:4: '0.61 of cuBLAS': recorded is 0.53"]


def test_the_command_names_what_is_no_longer_true(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("plots.__main__.described", dict)
    monkeypatch.setattr("plots.__main__.publish", lambda *_: [])
    for stale in ([], ["a:1: '0.61 of cuBLAS': recorded is 0.53"]):
        monkeypatch.setattr(figures, "problems", lambda _, stale=stale: stale)
        assert main() == bool(stale)
        assert capsys.readouterr().err.splitlines() == stale


def test_running_text_is_counted_without_code_tables_captions_and_folds(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(
        "# A heading\n<!-- idea: a comment\nof two lines -->\n\nOne two **three** `code of four`\n[five six](x.md#y).\n\n"
        '- seven\n- eight\n\n| no | no |\n| -- | -- |\n\n    no no\n\n```cuda\nno no\n```\n\n<img alt="no">\n\n*No caption.*\n\n'
        "<!-- profile:05:issue slots, FMA -->\n| no |\n\nNo caption.\n<!-- /profile -->\n\n"
        "<details><summary>No</summary>\n\nNo, but it is read.\n\n</details>\n\nNine.\n",
        encoding="utf-8",
    )
    assert prose.words(page) == 9  # code is a word
    assert [paragraph.folded for paragraph in prose.paragraphs(page)] == [False, False, False, True, False]
    assert [line for paragraph in prose.paragraphs(page) for line, _ in paragraph.sentences()][:2] == [5, 8]


def test_a_page_that_is_too_long_or_too_short_is_found(tmp_path: Path) -> None:
    for name, words, count in (
        ("README.md", SHORTEST - 1, 1), ("README.md", SHORTEST, 0), ("README.md", LONGEST, 0), ("README.md", LONGEST + 1, 1),
        ("EVIDENCE.md", 1, 0), ("EVIDENCE.md", OF_EVIDENCE + 1, 1),
    ):  # fmt: skip
        (tmp_path / name).write_text("word " * words, encoding="utf-8")
        assert len(length_problems("05_2d_blocktile", tmp_path / name)) == count, (name, words)
    assert length_problems("01_naive", tmp_path / "README.md") == []


def test_habits_are_found_and_a_page_may_have_two(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    fine = "The house behind the hill stands for a clock rate of 1980 MHz, lies at 0x10, and lies to nobody. It asks why."
    page.write_text(fine, encoding="utf-8")
    assert habits(page) == []
    bad = ["It waits behind the\nbarrier.", "It takes 5 clocks.", "Of A a warp reads 4 rows.", "The code stands here.",
           "Still nobody multiplies.", "It brings nothing.", "It has to do with A.", "A line asks for a tile."]  # fmt: skip
    for sentence in bad:
        page.write_text(f"A word. {sentence}\n", encoding="utf-8")
        assert len(habits(page)) == 1, sentence
    for count in (2, 3):
        page.write_text("\n\n".join(bad[:count]), encoding="utf-8")
        assert bool(voice_problems(page)) == (count == 3)


# Some rows of a table.


def test_an_excerpt_has_the_rows_that_are_named_and_the_caption() -> None:
    whole = tables.render_profile("02_coalesced", profile(), TWELVE).splitlines()
    of = lambda names: tables.render_profile(f"02_coalesced:{names}", profile(), TWELVE).splitlines()  # noqa: E731
    rows = {line.split("|")[1].strip(): line for line in whole if line.startswith("| ")}
    assert of("FMA pipe, issue slots used") == [*whole[:2], rows["issue slots used"], rows["FMA pipe"], *whole[-2:]]
    assert of("stalls, largest reason,load/store")[2:-2] == [
        rows["load/store pipe (L1, shared memory)"], rows["stalls, largest reason"],
    ]  # fmt: skip
    assert [line.split("|")[1].strip()[:6] for line in of("stalls")[2:-2]] == ["stalls", "stalls"]
    with pytest.raises(UserError, match="'registers'; .*: issue slots used; FMA pipe; load/store"):
        of("FMA pipe,registers")


def test_an_excerpt_of_counts_is_by_access_or_line_and_of_variants_by_name(tmp_path: Path) -> None:
    line = {"file": "03_smem/kernel.cu", "op": "load", "space": "global", "width": 4, "diverged": False, "requests": 8,
            "sectors": 32, "ideal_sectors": 32, "code": "f(x | y);"}  # fmt: skip
    lines = [{**line, "array": array, "line": number} for array, number in (("A", 34), ("B", 34), ("A", 56))]
    totals = {"shared_bytes": 0, "shared_bytes_per_flop": 0, "global_bytes": 1, "flop_per_byte": 1}
    counts = {"m": 1, "n": 1, "k": 1, "lessons": {"03_smem": {"lines": lines, "totals": totals, "barriers_per_thread": 0}}}
    root = checkout(tmp_path)

    def of(names: str) -> list[str]:
        return tables.render_counts(f"03_smem:{names}", counts, root).splitlines()[2:-2]

    assert [row.split("|")[1].strip() for row in of("A, load")] == ["34", "56"]
    assert [row.split("|")[1].strip() for row in of("34")] == ["34", ""]
    assert of("B, load") == [of("34")[0].replace("A, load", "B, load")]  # which the whole table shows below the other
    with pytest.raises(UserError, match="'3'; .*: A, load; B, load"):
        of("3")
    tuned = tables.render_tuned("03_smem:nothing,03_smem", tuned_results()).splitlines()
    assert [row.split("|")[1].strip() for row in tuned[2:-2]] == ["nothing", "**03_smem**"]
    assert tuned[-1] == tables.render_tuned("03_smem", tuned_results()).splitlines()[-1]


def test_excerpts_and_both_kinds_of_steps_are_renewed_where_they_stand(root: Path) -> None:
    page, evidence = root / TWELVE[2] / "README.md", root / TWELVE[2] / "EVIDENCE.md"
    excerpt = "<!-- tuned:03_smem:the idea alone -->\noutdated\n<!-- /tuned -->\n"
    page.write_text(f"<!-- table:step:03_smem -->\n<!-- /table -->\n\n{excerpt}", encoding="utf-8")
    evidence.write_text("<!-- table:step_full:03_smem -->\n<!-- /table -->\n", encoding="utf-8")
    first = root / TWELVE[1] / "README.md"
    first.write_text("<!-- table:step:02_coalesced -->\n<!-- /table -->\n", encoding="utf-8")
    scale(root, 1)
    text = page.read_text(encoding="utf-8")
    assert "| the idea alone |" in text and "| nothing |" not in text and "power (W)" not in text and "outdated" not in text
    assert all("power (W)" in one.read_text(encoding="utf-8") for one in (evidence, first))
