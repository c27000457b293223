"""`./gemm test --mutants N`: a score of the check: how many of N mutants of the lessons' kernels it finds wrong.

A mutant is compiled as `check` compiles a learner's file and is run with the same cases. Found or not is a matter of what it
computes and touches: the goals, which are about speed, are not looked at.
"""

from __future__ import annotations

import json
import secrets
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from runner.core import doctor, lesson, process
from runner.core.compiling import NotCompiled, Source, compile_command, list_of, scratch, toolchain
from runner.core.process import say
from runner.core.results import UserError, folder_of, lessons
from runner.learn.exercise import Task, more_problems
from runner.mutants import Mutant, drawn

LEAST = 95  # per cent of the mutants that must be found
_NOT_COMPILED = 64  # status of a job whose mutant is none
_LONGEST = 300  # seconds that one may take: the check itself ends what does not end, but for what breaks the check
_MOST_DRAWS = 4  # times as many as are asked for, before there are said to be none left
# Without what tracing asks of the compiler: a mutant of which it makes the same program is none.
_PLAIN = ("-O2", "-g0", "-fno-sanitize=all", "-fno-sanitize-coverage=trace-pc", "-S")


@dataclass(frozen=True)
class Judged:
    """What became of a mutant. by: what found it: an id of an error, of a finding or of a failure; empty where nothing did."""

    mutant: Mutant
    by: str
    case: str = ""  # of the check: which difficulty it was wrong with
    same: bool = False  # not found, and the compiler makes the same program of it as of the solution


def _found_by(status: int, output: Path) -> tuple[str, str]:
    """What found it, and with what; ("", "") where every case passed."""
    try:
        checked = json.loads(output.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return process.crash(128 - status) or f"status {status}", ""
    if checked["passed"]:
        return "", ""
    case = checked["cases"][-1]
    if case["error"]:
        return case["error"]["id"], case["what"]
    return (case["findings"][0]["id"] if case["findings"] else case["verdict"]["failure"]), case["what"]


def _source(name: str, text: str) -> Source:
    return Source(text, f"{folder_of(name)}/kernel.cu", f"lesson_{name.partition('_')[0]}", name, name)


def _job(tools: Mapping, mutant: Mutant, folder: Path, options: Sequence[str]) -> process.Command | None:
    """A shell's command that compiles, links, checks and clears up in `folder`; None where the translator refuses the mutant."""
    folder.mkdir()
    source = _source(mutant.lesson, mutant.text)
    try:
        compiling, made = compile_command(tools, source, folder, prepared=True)
    except NotCompiled:
        return None
    listed, program = folder / "list.cpp", folder / "check"
    listed.write_text(list_of([source]), encoding="utf-8")
    linking = [*tools["link_before"], listed, made, "-o", program, *tools["link_after"]]
    running = ["timeout", _LONGEST, program, *options, *more_problems(mutant.text), "--output", folder / "check.json"]
    compile_it, link_it, run_it = (shlex.join(str(part) for part in parts) for parts in (compiling, linking, running))
    clear = shlex.join(["rm", "-f", str(program), str(made)])
    script = f"{compile_it} && {link_it} || {{ {clear}; exit {_NOT_COMPILED}; }}; {run_it}; status=$?; {clear}; exit $status"
    return ["env", f"TMPDIR={folder}", "sh", "-c", script]


def _assembly(tools: Mapping, sources: Sequence[Source], folder: Path) -> list[str]:
    """What the compiler makes of each."""
    jobs: list[tuple[str, process.Command]] = []
    files: list[Path] = []
    for number, source in enumerate(sources):
        (folder / str(number)).mkdir(parents=True)
        command, made = compile_command(tools, source, folder / str(number))
        files.append(made)
        place = command.index("-o")
        jobs.append((source.title, [*command[:place], *_PLAIN, *command[place:]]))
    process.together(jobs, "Comparing survivors with the lessons")
    return [file.read_text(encoding="utf-8") for file in files]


def _told_apart(tools: Mapping, survivors: Sequence[Judged], folder: Path) -> Iterator[Judged]:
    """The survivors, with what the compiler thinks of them."""
    names = list(dict.fromkeys(judged.mutant.lesson for judged in survivors))
    originals = [_source(name, Task(name, "exercise").kernel()) for name in names]
    mutated = [_source(judged.mutant.lesson, judged.mutant.text) for judged in survivors]
    made = _assembly(tools, [*originals, *mutated], folder)
    known = dict(zip(names, made, strict=False))
    for judged, text in zip(survivors, made[len(originals) :], strict=True):
        yield Judged(judged.mutant, "", "", text == known[judged.mutant.lesson])


def judge(tools: Mapping, count: int, seed: int, names: Sequence[str]) -> list[Judged]:
    """`count` mutants that compile, spread over the lessons."""
    draws = {name: drawn(name, seed) for name in names}
    wanted = {name: count // len(names) + (place < count % len(names)) for place, name in enumerate(names)}
    options = [f"--seed={seed}"]
    found: list[Judged] = []
    with scratch() as folder:
        number, rounds = 0, 0
        while any(wanted.values()):
            rounds += 1
            if rounds > _MOST_DRAWS:
                raise UserError(f"There are fewer than {count} mutants; choose a smaller number.")
            jobs: list[tuple[Mutant, process.Command, Path]] = []
            for name in names:
                while wanted[name]:
                    made = next(draws[name], None)
                    if made is None:
                        raise UserError(f"There are fewer mutants of {name} than you chose; choose a smaller number.")
                    number += 1
                    if command := _job(tools, made, folder / str(number), options):
                        jobs.append((made, command, folder / str(number) / "check.json"))
                        wanted[name] -= 1
            jobs.sort(key=lambda job: -len(job[0].text))  # what takes longest comes first
            done = process.together([(made.lesson, command) for made, command, _ in jobs], "Mutants")
            for (made, _, output), ended in zip(jobs, done, strict=True):
                if ended.status == _NOT_COMPILED:
                    wanted[made.lesson] += 1
                else:
                    found.append(Judged(made, *_found_by(ended.status, output)))
        survivors = [judged for judged in found if not judged.by]
        others = [judged for judged in found if judged.by]
        apart = list(_told_apart(tools, survivors, folder / "survivors")) if survivors else []
    return sorted([*others, *apart], key=lambda judged: (judged.mutant.lesson, judged.mutant.line, judged.mutant.after))


def _table(found: Sequence[Judged]) -> list[str]:
    lines = [f"{'lesson':<18}{'mutants':>9}{'found':>8}{'survived':>10}"]
    rows = [(name, [judged for judged in found if judged.mutant.lesson == name]) for name in lessons()]
    for name, those in [*rows, ("all", list(found))]:
        if those:
            killed = sum(bool(judged.by) for judged in those)
            lines.append(f"{name:<18}{len(those):>9}{killed:>8}{len(those) - killed:>10}")
    return lines


def told(found: Sequence[Judged], reached: float) -> str:
    lines = _table(found)
    by = Counter(judged.by for judged in found if judged.by)
    lines += ["", "Found by " + ", ".join(f"{name} {count}" for name, count in by.most_common()) + "."]
    for judged in found:
        if not judged.by:
            made = judged.mutant
            lines += ["", f"{folder_of(made.lesson)}/kernel.cu, line {made.line} ({made.kind}), is not found:"]
            lines += [f"  - {made.before}", f"  + {made.after}"]
    lines += ["", f"{reached:.1f} % of {len(found)} mutants are found."]
    return "\n".join(lines) + "\n"


def score(number: str, seed: str | None, as_json: bool) -> int:
    """Exit status: 0 where enough of them are found."""
    count = int(lesson.whole("--mutants", number))
    drawn_seed = int(lesson.whole("--seed", seed)) if seed is not None else secrets.randbelow(10**9)
    if count < 1:
        raise UserError("--mutants needs at least 1.")
    tools = toolchain(doctor.Device("cpu", None, (), "kernels are checked on the CPU"))
    again = f"Seed {drawn_seed}: repeat with ./gemm test --mutants {count} --seed {drawn_seed}"
    say(again)
    every = judge(tools, count, drawn_seed, lessons())
    found = [judged for judged in every if not judged.same]
    reached = 100 * sum(bool(judged.by) for judged in found) / len(found) if found else 0.0
    if as_json:
        listed = [{**asdict(judged.mutant), "text": None, "by": judged.by, "case": judged.case} for judged in found]
        print(json.dumps({"seed": drawn_seed, "score": reached, "same": len(every) - len(found), "mutants": listed}))
    else:
        sys.stdout.write(told(found, reached))
        if same := len(every) - len(found):
            print(f"The compiler made of {same} more the same program as of the lesson: they are no mutants.")
        print(again)
    sys.stdout.flush()
    return 0 if reached >= LEAST else 1
