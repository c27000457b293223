"""What the Markdown files say is so: tables and figures come from the recorded results, quotes from the kernels, pictures
from plots/pictures.py, and links lead somewhere. Each check is a function from a checkout to its problems, so that the
tests below can show that it finds some."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest
from conftest import descriptors, drawn, put
from plots_synthetic import STEPS, TWELVE, checkout, gpu_results, mixed_results, record, svg_texts, tuned_results

from plots import atlas, data, ladders, outline, own_kernel, pictures, progression, prose, sweep, tables, variants
from plots.data import RESULTS, TUNED
from plots.figures import PUBLISHED
from runner.core.atlas import VARIANTS
from runner.core.descriptors import Descriptor
from runner.core.kernel_hash import kernel_hash
from runner.core.results import ROOT, UserError, folder_of, lessons, load
from runner.learn.exercise import without_marks

pytestmark = pytest.mark.usefixtures("labels_alone")

FIGURE = re.compile(r"(\d+(?:\.\d+)?)\s*(TFLOP/s|%\s+of\s+cuBLAS)")
QUOTIENT = re.compile(r"(?<!· )(\d+\.\d\d+|\d\d+\.\d) / (\d+\.\d\d+|\d\d+\.\d) =")  # of two times, or of a rate and the peak
SECTIONS = ["In short", "Where we are", "Idea", "Picture", "The code", "Predict", "Measure", "What is left", "Exercises",
            "Read more"]  # fmt: skip
LONGEST = 110  # words of a paragraph or an item of a list; what is longer reads as a wall
GLOSSARY = "GLOSSARY.md"
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)|<(?:img|a)\b[^>]*?\b(?:src|href)=\"([^\"]+)\"|^\[[^\]]+\]:\s*(\S+)")


def markdown(root: Path) -> list[Path]:
    """Every Markdown file of a checkout that is not built, installed or hidden."""
    skipped = {"build", "out", "node_modules"}
    return [
        path
        for path in sorted(root.rglob("*.md"))
        if not any(part.startswith(".") or part in skipped for part in path.relative_to(root).parts[:-1])
    ]


def lines_outside_code(path: Path) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of the lines that are not in fenced code; inline code is blanked."""
    fence = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        mark = tables.FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence:
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        else:
            yield number, re.sub(r"`[^`]*`", "``", line)


def table_problems(root: Path, *kinds: str) -> list[str]:
    """Generated tables of all kinds, or of these, that are not what would be generated now."""
    problems = []
    for kind in kinds or tables.KINDS:
        render = tables.KINDS[kind](root)
        for path in tables.markdown_files(root, lessons(root)):
            lines = path.read_text(encoding="utf-8").splitlines()
            for name, start, end in tables.blocks(path, kind):
                where = f"{path.relative_to(root)}:{start + 1}: {kind} {name}"
                if render is None:
                    problems.append(f"{where} has nothing recorded to come from")
                elif lines[start + 1 : end] != render(name).splitlines():
                    problems.append(f"{where} is not what is recorded; run python -m plots")
    return problems


def stale(folder: str, file: str = RESULTS) -> str:
    return f"{folder}/kernel.cu, or a header that it includes, is not what {file} measured; measure again on that GPU"


def hash_problems(root: Path) -> list[str]:
    """Of RESULTS those that no results of another GPU make good."""
    elsewhere = {run["lesson"] for run in (data.second(root) or {"runs": []})["runs"]}
    timed = {(run["lesson"], run.get("kernel_hash")) for run in load(root / RESULTS)["runs"]}
    measured = {(RESULTS, lesson, digest) for lesson, digest in timed if lesson not in elsewhere}
    beside: list[tuple[str, Mapping | None]] = [(data.ATLAS.format(variant), data.atlas(root, variant)) for variant in VARIANTS]
    beside += [(TUNED, data.tuned(root)), (data.PROFILE, data.profile(root)), (data.ENERGY, data.energy(root))]
    for file, recorded in beside:
        measured |= {(file, *of_lesson) for of_lesson in (recorded or {"kernel_hashes": {}})["kernel_hashes"].items()}
    return [
        stale(folder_of(lesson, root), file)
        for file, lesson, digest in sorted(measured, key=str)
        if lesson not in lessons(root) or digest != kernel_hash(root / folder_of(lesson, root) / "kernel.cu")
    ]


def chart_problems(root: Path, scratch: Path) -> list[str]:
    """Labels, not bytes: another matplotlib places the same labels with other paths."""
    recorded, problems = data.published(root), []
    found = data.ladders(recorded, lessons(root))
    drawn = [(x, name, draw) for x in found for name, draw in ((x.progression, progression.draw), (x.sweep, sweep.draw))]
    known = {name for _, name, _ in drawn} | {"roofline", ladders.NAME, own_kernel.NAME}
    known |= {atlas.name(variant) for variant in VARIANTS if data.atlas(root, variant)}
    known |= {data.VARIANTS} if data.several(recorded, lessons(root)) else set()
    for committed in sorted((root / "plots").glob("*.svg")):
        if committed.stem not in known:
            problems.append(f"plots/{committed.name} shows what {RESULTS} does not have; remove it")
    charts = {name: draw(recorded, scratch / name, ladder.lessons, ladder.variant)[1] for ladder, name, draw in drawn}
    for variant in VARIANTS:
        if atlas_of := data.atlas(root, variant):
            charts[atlas.name(variant)] = atlas.draw(atlas_of, scratch / atlas.name(variant))[1]
    charts[ladders.NAME] = ladders.draw(recorded, scratch / ladders.NAME, lessons(root))[1]
    if data.VARIANTS in known:
        charts[data.VARIANTS] = variants.draw(recorded, scratch / data.VARIANTS, lessons(root))[1]
    sources = dict.fromkeys(charts, RESULTS)
    if example := data.own_kernel(root):
        charts[own_kernel.NAME] = own_kernel.draw(example, root, scratch / own_kernel.NAME)[1]
        sources[own_kernel.NAME] = data.OWN
    for name, fresh in charts.items():
        committed = root / "plots" / f"{name}.svg"
        if not committed.exists() or svg_texts(committed) != svg_texts(fresh):
            problems.append(f"plots/{name}.svg is not what {sources[name]} gives; run python -m plots")
    return problems


def picture_problems(root: Path, chosen: Sequence[str], described: Mapping[str, Descriptor], scratch: Path) -> list[str]:
    problems = []
    for lesson in chosen:
        for fresh in pictures.draw(root, described[lesson], scratch / lesson)[1::2]:
            committed = root / "plots" / "pictures" / fresh.name
            known = committed.exists() and committed.with_suffix(".png").exists()
            if not known or svg_texts(committed) != svg_texts(fresh):
                kernel = f"{folder_of(lesson, root)}/kernel.cu"
                problems.append(
                    f"{committed.relative_to(root)} is not what the descriptor in {kernel} gives; run python -m plots"
                )
    return problems


def quote_problems(root: Path) -> list[str]:
    """Every ```cuda block of a lesson's pages is a contiguous piece of its kernel.cu, or of a program beside it, however far it
    is indented; marks of the exercise's gaps don't count. Steps without a README of their own share that of the folder around
    theirs, and the course's README may quote any."""
    problems = []
    sources: dict[Path, list[str]] = {}  # the folders whose kernels a page may quote
    for folder in (folder_of(lesson, root) for lesson in lessons(root)):
        home = root / folder
        if not (home / "README.md").exists() and home.parent != root:
            home = home.parent
        if not (home / "README.md").exists():
            problems.append(f"{folder} has no README.md")
            continue
        for page in (home / "README.md", home / prose.EVIDENCE):
            if page.exists():
                sources.setdefault(page, []).append(folder)
    if (root / "README.md").exists():  # the course's own, which may quote any lesson
        sources[root / "README.md"] = [folder_of(lesson, root) for lesson in lessons(root)]
    for page, folders in sources.items():
        name, quotes = page.relative_to(root), 0
        files = [file for folder in folders for file in sorted((root / folder).glob("*.cu"))]
        kernels = [[line.rstrip() for line in without_marks(file.read_text(encoding="utf-8")).splitlines()] for file in files]
        of = " or ".join(str(file.relative_to(root)) for file in files) if page.parent != root else "any lesson's kernel"
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(r"^[ \t]*(```+)[ \t]*([^\n]*)\n(.*?)^[ \t]*\1[ \t]*$", text, re.MULTILINE | re.DOTALL):
            where = f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
            info = match[2].strip()
            if info != "cuda":
                if info.lower().startswith("cu"):
                    problems.append(f"{where}: write ```cuda, not ```{info}: other blocks are not compared with kernel.cu")
                continue
            quotes += 1
            quote = dedent("\n".join(line.rstrip() for line in match[3].splitlines())).strip("\n").split("\n")
            windows = (
                "\n".join(kernel[at : at + len(quote)]) for kernel in kernels for at in range(len(kernel) - len(quote) + 1)
            )
            if quote == [""] or not any(dedent(window) == "\n".join(quote) for window in windows):
                problems.append(f"{where}: this quote is not in {of}")
        if not quotes and page.name == "README.md" and page.parent != root:
            problems.append(f"{name} quotes nothing of kernel.cu (```cuda)")
    return problems


def anchors(path: Path) -> set[str]:
    """What a link to a heading of `path` may say after its #, as GitHub makes it from the heading."""
    lines = path.read_text(encoding="utf-8").splitlines()
    matches = (re.match(r"#{1,6}\s+(.*?)\s*#*$", lines[number - 1]) for number, _ in lines_outside_code(path))
    return {re.sub(r"[^\w\- ]", "", match[1].lower()).replace(" ", "-") for match in matches if match}


def link_problems(root: Path) -> list[str]:
    problems = []
    for path in markdown(root):
        for number, line in lines_outside_code(path):
            for match in LINK.finditer(line):
                target = next(group for group in match.groups() if group)
                if re.match(r"[a-z][a-z0-9+.-]*:", target):
                    continue
                name, _, anchor = target.partition("#")
                file = path.parent / name if name else path
                where = f"{path.relative_to(root)}:{number}"
                if not file.exists() or not file.resolve().is_relative_to(root.resolve()):
                    problems.append(f"{where}: {target} does not exist")
                elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                    problems.append(f"{where}: {target}: no such heading")
    return problems


def figure_problems(root: Path) -> list[str]:
    """TFLOP/s and per cent of cuBLAS in prose are recorded ones, rounded as printed, or published by others.

    Generated tables are compared as a whole, and what a section named Predict says is arithmetic: both are left out. Lessons'
    pages round: plots/figures.py reads them.
    """
    runs = [run for run in data.published(root)["runs"] if "ms_median" in run] if (root / RESULTS).exists() else []
    tried = (data.tuned(root) or {"lessons": {}})["lessons"].values()
    runs_of_variants = [run for found in tried for row in found["rows"] for run in row["runs"] if "ratio" in run]
    rates = [run["tflops"] for run in [*runs, *runs_of_variants]]
    rates += [2 * run["m"] * run["n"] * run["k"] / run["baseline_ms_median"] / 1e9 for run in runs]
    measured = data.ceilings(root)
    rates += [figure["value"] for figure in (measured or {"figures": {}})["figures"].values() if figure["unit"] == "TFLOP/s"]
    shares = [100 * run["ratio"] for run in [*runs, *runs_of_variants]]
    problems = []
    for path in (path for path in markdown(root) if not prose.of_lesson(path)):
        generated = [
            range(start, end + 1)
            for kind in ("table", "timeline", "tuned", "shapes")
            for _, start, end in tables.blocks(path, kind)
        ]
        predicting = False
        for number, line in lines_outside_code(path):
            if line.startswith("#"):
                predicting = "predict" in line.lower()
            if predicting or any(number - 1 in span for span in generated):
                continue
            for value, unit in FIGURE.findall(line):
                digits = len(value.partition(".")[2])
                known = rates if unit == "TFLOP/s" else shares
                close = any(abs(number_ - float(value)) <= 0.5001 * 10**-digits for number_ in known)
                if not close and f"{value} {unit}" not in PUBLISHED:
                    problems.append(f"{path.relative_to(root)}:{number}: {value} {unit} is neither recorded nor in PUBLISHED")
    return problems


def quotient_problems(root: Path) -> list[str]:
    """The times and rates that lessons' texts divide are what is recorded; plots/figures.py reads their sentences."""
    held = [data.published(root), data.second(root) or {"runs": []}]
    runs = [run for of in held for run in of["runs"] if "ratio" in run and run["m"] == run["n"] == run["k"] == 4096]
    recorded = [run[key] for run in runs for key in ("ms_median", "tflops")] + [66.9]  # the peak is in PUBLISHED
    problems = []
    for path in dict.fromkeys(page for _, page in prose.pages(root)):
        predicting = False
        for number, line in lines_outside_code(path):
            predicting = "predict" in line.lower() if line.startswith("#") else predicting
            for value in (value for match in QUOTIENT.finditer(line) for value in match.groups() if not predicting):
                digits = len(value.partition(".")[2])
                if not any(abs(known - float(value)) <= 0.5001 * 10**-digits for known in recorded):
                    problems.append(f"{path.relative_to(root)}:{number}: {value} of {line.strip()!r} is not what is recorded")
    return problems


def paragraphs(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number of the first line, and the lines, of each paragraph and of each item of a list: no code, tables or headings."""
    found: list[str] = []
    first = 0
    for number, line in [*lines_outside_code(path), (0, "")]:
        item = re.match(r"\s*(?:[-*+]|\d+\.)\s", line)
        beside = not line.strip() or re.match(r"#|\s*[|<]", line) or (not found and re.match(r" {4}|\t", line))
        if found and (item or beside or number != first + len(found)):
            yield first, found
            found = []
        if not beside:
            first = first if found else number
            found.append(line)


def wall_problems(path: Path) -> list[str]:
    """Paragraphs that are too long, and bold run-ins inside of one: GitHub joins them to the line before."""
    problems = []
    for number, lines in paragraphs(path):
        where, words = f"{path.parent.name}/{path.name}:{number}", sum(len(line.split()) for line in lines)
        if words > LONGEST:
            problems.append(f"{where}: a paragraph of {words} words; make it several of at most {LONGEST}")
        merged = [line for line in lines[1:] if re.match(r"\s*\*\*[^*]+[.:?]\*\*", line)]
        problems += [f"{where}: {line.strip()[:30]} … begins inside a paragraph; put a blank line in front" for line in merged]
    return problems


def section_problems(path: Path) -> list[str]:
    found = [line.removeprefix("## ").strip() for _, line in lines_outside_code(path) if line.startswith("## ")]
    wanted = [section for section in SECTIONS if section in found or section != "Picture"]
    return [] if found == wanted else [f"{path.parent.name}/{path.name}: sections are {found}, not {wanted}"]


def glossary_problems(root: Path) -> list[str]:
    """Terms stand in alphabetical order, each once and with one sentence, and are bold on the page that their link leads to."""
    rows = prose.tables_of(root / GLOSSARY)[0][1:]
    terms, problems = [term for term, _ in rows], []
    if terms != sorted(terms, key=str.casefold):
        problems.append(f"{GLOSSARY}: the terms are not in alphabetical order")
    problems += [f"{GLOSSARY}: {term} is there twice" for term, other in pairwise(terms) if term == other]
    for term, text in rows:
        link = re.fullmatch(r"[^.]+(?:\.\d[^.]*)* \(\[\w+\]\(([^#)]+)#[^)]+\)\)\.", text)
        if not link:
            problems.append(f"{GLOSSARY}: {term}: not one sentence with a link to a place at its end")
            continue
        bold = " ".join(re.findall(r"\*\*([^*]+)\*\*", (root / link[1]).read_text(encoding="utf-8"))).casefold()
        missing = [word for word in term.casefold().split(", ") if word not in " ".join(bold.split())]
        problems += [f"{GLOSSARY}: {word} is nowhere bold in {link[1]}" for word in missing]
    return problems


# This checkout.


def none(problems: list[str]) -> None:
    """Fails with every problem on a line of its own."""
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


needs_results = pytest.mark.skipif(not (ROOT / RESULTS).exists(), reason=f"no {RESULTS}: nothing has been recorded yet")


@pytest.mark.parametrize("kind", tables.KINDS)
def test_tables_are_what_is_recorded(kind: str) -> None:
    none(table_problems(ROOT, kind))


@needs_results
def test_recorded_kernels_are_these() -> None:
    none(hash_problems(ROOT))


@needs_results
def test_charts_are_the_recorded_results(tmp_path: Path) -> None:
    none(chart_problems(ROOT, tmp_path))


@pytest.mark.parametrize("lesson", drawn(pictures.lessons_with_pictures(ROOT), 4))
def test_pictures_are_what_is_drawn_now(lesson: str, tmp_path: Path) -> None:
    none(picture_problems(ROOT, [lesson], descriptors(), tmp_path))


def test_every_lesson_has_pictures_and_no_other_has() -> None:
    known = pictures.lessons_with_pictures(ROOT)
    files = [path.stem for path in (ROOT / "plots" / "pictures").glob("*.svg")]
    assert {name for name in known if name not in files} == set()
    assert [stem for stem in files if not any(stem == name or stem.startswith(f"{name}_") for name in known)] == []


def test_outlines_are_what_the_lessons_say(tmp_path: Path) -> None:
    shown = [name for page in ("README.md", "classroom/README.md") for name, *_ in tables.blocks(ROOT / page, "outline")]
    assert shown == list(outline.NAMES)
    root = checkout(tmp_path)
    for name in TWELVE[:3]:
        (root / name / "README.md").write_text(f"# {name[:2]} x: y\n<!-- idea: an idea -->\n", encoding="utf-8")
    (root / "README.md").write_text("<!-- outline:lessons -->\n<!-- /outline -->\n", encoding="utf-8")
    assert len(table_problems(root)) == 1
    assert tables.update(root, "outline") == [root / "README.md"]
    assert table_problems(root) == []
    (root / TWELVE[1] / "README.md").write_text("# 02 x: y\n", encoding="utf-8")
    with pytest.raises(UserError, match=f"{TWELVE[1]}/README.md"):
        table_problems(root)


def test_quotes_are_in_the_kernels() -> None:
    none(quote_problems(ROOT))


def test_links_and_images_exist() -> None:
    none(link_problems(ROOT))


def test_figures_in_prose_are_recorded_or_published() -> None:
    none(figure_problems(ROOT))


@needs_results
def test_what_texts_divide_is_recorded() -> None:
    none(quotient_problems(ROOT))


@pytest.mark.parametrize("lesson", lessons(ROOT))
def test_lessons_are_articles(lesson: str) -> None:
    assert (ROOT / folder_of(lesson, ROOT) / prose.EVIDENCE).exists()
    none(section_problems(ROOT / folder_of(lesson, ROOT) / "README.md"))


def test_no_page_has_a_wall_of_text_or_bold_words_that_merge() -> None:
    pages = [*tables.markdown_files(ROOT, lessons(ROOT)), *ROOT.glob("classroom/**/*.md")]
    none([problem for page in pages for problem in wall_problems(page)])


def test_commands_in_texts_compile_as_the_build_does() -> None:
    standard = re.search(r"CMAKE_CXX_STANDARD (\d+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert standard
    for page in tables.markdown_files(ROOT, lessons(ROOT)):
        named = re.findall(r"-std=c\+\+(\d+)", page.read_text(encoding="utf-8"))
        assert set(named) <= {standard[1]}, page


def test_the_glossary_leads_to_its_terms() -> None:
    none(glossary_problems(ROOT) + wall_problems(ROOT / GLOSSARY))


# Invented checkouts: each check finds what it is for, and nothing in a good one.


def good(tmp_path: Path) -> Path:
    results = gpu_results()
    root = checkout(tmp_path / "root", results=results)
    for name in TWELVE[:3]:
        quote, table = "```cuda\nint a = 1;\n\nint b = 2;\n```", f"<!-- table:step:{name} -->\n<!-- /table -->"
        (root / name / "README.md").write_text(f"# {name}\n\n{quote}\n\n{table}\n", encoding="utf-8")
    (root / "README.md").write_text(
        "# All\n\n## What `this` is\n\nReaches 6.2 TFLOP/s, 12 % of cuBLAS; the peak is 66.9 TFLOP/s.\n\n"
        "[one](01_naive/README.md) [here](#what-this-is) [out](https://example.com/) `[x](nowhere)`\n\n"
        "```\n[y](nowhere) 99 TFLOP/s\n```\n\n## Predict\n\nAt most 77 TFLOP/s.\n\n"
        "<!-- table:progression -->\n<!-- /table -->\n",
        encoding="utf-8",
    )
    tables.update(root, "table")
    return root


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return good(tmp_path)


def test_a_good_checkout_has_no_problem(root: Path) -> None:
    for check in (table_problems, hash_problems, quote_problems, link_problems, figure_problems):
        assert check(root) == [], check.__name__


def test_a_changed_table_is_found(root: Path) -> None:
    change(root / "README.md", "| 6.20 |", "| 6.21 |")
    assert [problem.partition(" is ")[0] for problem in table_problems(root)] == ["README.md:17: table progression"]


def test_changed_variants_profiles_and_kernels_are_found(root: Path) -> None:
    kernel, readme = root / TWELVE[2] / "kernel.cu", root / TWELVE[2] / "README.md"
    readme.write_text(f"# 03\n<!-- tuned:{TWELVE[2]} -->\n<!-- /tuned -->\n<!-- profile:02_coalesced -->\n<!-- /profile -->\n")
    where = [f"03_smem/README.md:{line}" for line in ("2: tuned 03_smem", "4: profile 02_coalesced")]
    assert sorted(table_problems(root)) == [f"{place} has nothing recorded to come from" for place in where]
    record(root)
    (root / TUNED).write_text(
        json.dumps({**tuned_results(), "kernel_hashes": {TWELVE[2]: kernel_hash(kernel)}}), encoding="utf-8"
    )
    tables.update(root, "tuned", "profile")
    assert table_problems(root) == []
    change(readme, "# 03", "# 03\n\nOne idea reaches 35.0 TFLOP/s, 70 % of cuBLAS; 33.3 TFLOP/s is of none.\n")
    assert len(figure_problems(root)) == 1
    change(readme, "| 42.5 |", "| 42.6 |")
    change(readme, "20.0 %", "21.0 %")
    change(kernel, "a = 1", "a = 3")
    assert [problem.partition(" is ")[0].partition(": ")[2] for problem in table_problems(root)] == [
        "profile 02_coalesced", "tuned 03_smem",
    ]  # fmt: skip
    assert hash_problems(root) == [stale("03_smem", file) for file in (TUNED, data.PROFILE, RESULTS)]


def test_a_changed_kernel_has_what_another_gpu_measured_since(root: Path) -> None:
    name, kernel, page = TWELVE[2], root / TWELVE[2] / "kernel.cu", root / TWELVE[2] / "README.md"
    page.write_text(f"# 03\n<!-- table:step:{name} -->\n<!-- /table -->\n", encoding="utf-8")
    change(kernel, "a = 1", "a = 3")
    assert hash_problems(root) == [stale("03_smem", RESULTS)]
    results = load(root / RESULTS)
    again = json.loads(json.dumps({**results, "device": {**results["device"], "name": "NVIDIA H100"}}))
    (root / data.SECOND).write_text(json.dumps(again), encoding="utf-8")
    assert hash_problems(root) == [stale("03_smem", RESULTS)]  # the other GPU measured the old kernel, too
    for run in again["runs"]:
        run["kernel_hash"] = kernel_hash(kernel) if run["lesson"] == name else run["kernel_hash"]
    (root / data.SECOND).write_text(json.dumps(again), encoding="utf-8")
    assert hash_problems(root) == []
    of_both = (
        {run["lesson"] for run in data.published(root)["runs"]},
        {run["lesson"] for run in (data.second(root) or {})["runs"]},
    )
    assert (of_both[1] - of_both[0], of_both[0] - of_both[1]) == ({name}, set())
    tables.update(root, "table")
    assert f"| **{name}** |" in page.read_text(encoding="utf-8") and "NVIDIA H100" in page.read_text(encoding="utf-8")
    assert f"| {name} |" not in (root / "README.md").read_text(encoding="utf-8")


def test_tables_without_results_are_found(root: Path) -> None:
    (root / RESULTS).unlink()
    assert len(table_problems(root)) == 4


def test_results_of_another_schema_are_refused(root: Path) -> None:
    change(root / RESULTS, '"schema": 2', '"schema": 3')
    with pytest.raises(UserError, match="schema 3"):
        table_problems(root)


def test_steps_of_one_folder_are_found(tmp_path: Path) -> None:
    results = mixed_results()
    (tmp_path / "root").mkdir()
    root = checkout(tmp_path / "root", results=results, steps=STEPS)
    for name in TWELVE[:3]:
        (root / name / "README.md").write_text("```cuda\nint a = 1;\n```\n", encoding="utf-8")
    shared, own = root / "09_tensorcore" / "README.md", root / "09_tensorcore" / "c_ring" / "README.md"
    table = "<!-- table:step:09b_mma_sync -->\n<!-- /table -->\n"
    shared.write_text(f"```cuda\nint b = 2;\n```\n{table}<!-- table:tensorcore -->\n<!-- /table -->\n", encoding="utf-8")
    own.write_text("```cuda\nint b = 2;\n```\n", encoding="utf-8")
    tables.update(root, "table")
    assert "| **09b_mma_sync** |" in shared.read_text(encoding="utf-8")
    for check in (table_problems, hash_problems, quote_problems):
        assert check(root) == [], check.__name__
    change(shared, "int b = 2;", "int b = 3;")
    steps = "09_tensorcore/a_wmma/kernel.cu or 09_tensorcore/b_mma_sync/kernel.cu"
    assert [problem.split(": ")[0] for problem in quote_problems(root)] == ["09_tensorcore/README.md:1"]
    assert quote_problems(root)[0].endswith(f" {steps}")
    change(root / "09_tensorcore" / "a_wmma" / "kernel.cu", "a = 1", "a = 3")
    assert hash_problems(root) == [stale("09_tensorcore/a_wmma")]
    shared.unlink()
    assert quote_problems(root)[0].split()[0] == "09_tensorcore/a_wmma"


def test_a_changed_kernel_is_found_but_not_a_changed_comment(root: Path) -> None:
    kernel = root / TWELVE[1] / "kernel.cu"
    change(kernel, "// 02_coalesced", "// coalesced, the second lesson")
    assert hash_problems(root) == []
    change(kernel, "a = 1", "a = 3")
    assert hash_problems(root) == [stale("02_coalesced")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int a = 1;", "int a = 2;"),
        ("int b", "int  b"),
        ("int a = 1;\n\n", "int a = 1;\n"),  # a line left out
        ("int b = 2;", "  int b = 2;"),  # indented otherwise than the line before it
        ("int a = 1;\n\nint b = 2;\n", ""),
        ("```cuda", "```cpp"),  # then no quote is left
        ("```cuda", "```cu"),
        ("```cuda", "```cuda title"),
    ],
)
def test_a_changed_quote_is_found(old: str, new: str, root: Path) -> None:
    change(root / TWELVE[2] / "README.md", old, new)
    assert quote_problems(root)


def test_a_lesson_without_text_is_found(root: Path) -> None:
    (root / TWELVE[0] / "README.md").unlink()
    assert quote_problems(root) == ["01_naive has no README.md"]


@pytest.mark.parametrize(
    "line",
    ["[a](missing.md)", "![a](plots/no.png)", '<img width="400" src="no.png">', "[a](#no-such)", "[a](01_naive/README.md#no)",
     "[a]: missing.md", "[a](../../outside)", "[![a](no.png)](01_naive/README.md)",
     "[![a](plots/results/h200.json)](no.md)"],
)  # fmt: skip
def test_a_dead_link_is_found(line: str, root: Path) -> None:
    change(root / "README.md", "## What", f"{line}\n\n## What")
    assert len(link_problems(root)) == 1


@pytest.mark.parametrize("figure", ["6.1 TFLOP/s", "13 % of cuBLAS", "12.0% of cuBLAS", "15 TFLOP/s"])
def test_an_unrecorded_figure_is_found(figure: str, root: Path) -> None:
    change(root / "README.md", "## What", f"It reaches {figure}.\n\n## What")
    assert len(figure_problems(root)) == 1


def test_a_stale_quotient_is_found(tmp_path: Path) -> None:
    (tmp_path / RESULTS).parent.mkdir(parents=True)
    for name in (RESULTS, "CMakeLists.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    page = tmp_path / "01_naive" / "README.md"
    put(page.parent, {"EVIDENCE.md": "# 01\n", page.name: "# 01\n\n9.2851 / 66.9 =\n\n## Predict\n\n9.2851 / 66.9 =\n"})
    assert [problem.partition(" of ")[0] for problem in quotient_problems(tmp_path)] == ["01_naive/README.md:3: 9.2851"]


def test_walls_and_merged_run_ins_are_found(tmp_path: Path) -> None:
    page, long = tmp_path / "README.md", " ".join(["word"] * LONGEST)
    fine = f"# A\n\n{long}\n\n**Why.** {long[:-10]}\n\n- {long[:-5]}\n- {long[:-5]}\n\n| {long} {long} |\n\n    {long} {long}\n"
    page.write_text(fine, encoding="utf-8")
    assert wall_problems(page) == []
    page.write_text(f"{long}\nword\n", encoding="utf-8")
    assert ["paragraph of 111 words" in problem for problem in wall_problems(page)] == [True]
    page.write_text("One sentence.\n**Why.** Another.\n- An item.\n  **How?** More.\n", encoding="utf-8")
    assert [problem.split(": ")[1][:8] for problem in wall_problems(page)] == ["**Why.**", "**How?**"]


def test_sections_out_of_order_are_found(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    for sections, count in ((SECTIONS, 0), ([s for s in SECTIONS if s != "Picture"], 0), (SECTIONS[1:], 1), (SECTIONS[::-1], 1)):
        page.write_text("".join(f"## {section}\n\n" for section in sections), encoding="utf-8")
        assert len(section_problems(page)) == count, sections


def test_wrong_entries_of_the_glossary_are_found(tmp_path: Path) -> None:
    (tmp_path / "01.md").write_text("# A\n\nA **warp** of **lanes**.\n", encoding="utf-8")
    head = "| term | what it means |\n| :-- | :-- |\n"
    for rows, said in (
        ("| lane | A place ([01](01.md#a)). |\n| warp | 32 threads ([01](01.md#a)). |\n", []),
        ("| warp | 32 threads ([01](01.md#a)). |\n| lane | A place ([01](01.md#a)). |\n", ["alphabetical"]),
        ("| lane | A place ([01](01.md#a)). |\n| lane | A thread ([01](01.md#a)). |\n", ["twice"]),
        ("| lane | A place. Of a thread ([01](01.md#a)). |\n| warp | 32 threads |\n", ["one sentence", "one sentence"]),
        ("| block | Threads ([01](01.md#a)). |\n", ["nowhere bold"]),
    ):
        (tmp_path / GLOSSARY).write_text(head + rows, encoding="utf-8")
        problems = glossary_problems(tmp_path)
        assert len(problems) == len(said) and all(word in problem for word, problem in zip(said, problems, strict=True))


def test_a_changed_chart_is_found(root: Path, tmp_path: Path) -> None:
    recorded = load(root / RESULTS)
    for draw, name in ((progression.draw, "progression"), (sweep.draw, "sweep")):
        draw(recorded, root / "plots" / name, lessons(root))
    ladders.draw(recorded, root / "plots" / ladders.NAME, lessons(root))
    assert chart_problems(root, tmp_path) == []
    (root / "plots" / "tensorcore.svg").touch()
    assert chart_problems(root, tmp_path) == [f"plots/tensorcore.svg shows what {RESULTS} does not have; remove it"]
    (root / "plots" / "tensorcore.svg").unlink()
    change(root / "plots" / "progression.svg", "6.20 ·", "6.30 ·")
    change(root / "plots" / "ladders.svg", "12.1 %", "12.2 %")
    (root / "plots" / "sweep.svg").unlink()
    assert len(chart_problems(root, tmp_path)) == 3


def test_a_stale_picture_is_found(tmp_path: Path) -> None:
    name, described = "03_smem", descriptors()
    (tmp_path / "CMakeLists.txt").write_text(f"gemm_lesson({name})\n", encoding="utf-8")
    (tmp_path / name).mkdir()
    shutil.copy(ROOT / name / pictures.FILE, tmp_path / name)
    pictures.draw_all(tmp_path, described, tmp_path / "plots" / "pictures")
    assert picture_problems(tmp_path, [name], described, tmp_path / "scratch") == []
    lesson = described[name]
    changed = {name: replace(lesson, constants={**lesson.constants, "BK": 16})}
    problems = picture_problems(tmp_path, [name], changed, tmp_path / "scratch")
    wrong = f"is not what the descriptor in {name}/kernel.cu gives; run python -m plots"
    assert problems == [f"plots/pictures/{stem}.svg {wrong}" for stem in (name, f"{name}_threads")]
