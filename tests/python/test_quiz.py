"""./gemm quiz: its formulas against the tracer, its questions over many seeds, how answers are read, and the command."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import termios
from collections.abc import Callable

import pytest
from approvals import hold
from conftest import PATIENCE, REPOSITORY, Checkout, gemm_inspect, pseudo_terminal

from runner.core.results import ROOT, folder_of, lessons
from runner.inspect import inspection
from runner.inspect.counts import Counts
from runner.learn import exercise, quiz
from runner.learn.quiz import Question, Quiz, Tracer, Unreadable, ceil_div, read_answer

LESSONS = ("01_naive", "02_coalesced", "03_smem")  # those that modelled() knows


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Counts]:
    """trace(lesson, m, n, k, beta=…): as a question traces, with the repository's own build."""
    folder = gemm_inspect().parent
    monkeypatch.setattr(inspection, "build_tracer", lambda: folder)
    return lambda lesson, *shape, **options: Quiz(lesson, "test", 1, Tracer(lesson)).trace(*shape, **options)


# Formulas against the tracer


def test_bytes_of_tiles_are_the_tracers(trace: Callable[..., Counts]) -> None:
    for m, n, k in ((32, 64, 96), (96, 32, 64)):
        assert trace("03_smem", m, n, k).global_load_bytes == quiz.tile_bytes(m, n, k, 32, 32)


def test_threads_own_what_the_question_says(trace: Callable[..., Counts]) -> None:
    owners = trace("01_naive", 40, 40, 1, blocks="1").found["owners"]
    assert owners["block"] == 0
    for row, col, thread in zip(owners["rows"], owners["cols"], owners["threads"], strict=True):
        assert (row, col) == (thread % 32, thread // 32)


def test_blocks_on_an_sm() -> None:
    """What lesson 03 says of 1024 threads with 32 registers and 8 KiB, and what rounds up."""
    h100, ada = (next(sm for sm in quiz.SMS if sm.capability == name) for name in ("9.0", "8.9"))
    assert quiz.blocks_by_limit(h100, 1024, 32, 8192) == {"block slots": 32, "threads": 2, "registers": 2, "shared memory": 25}
    assert min(quiz.blocks_by_limit(ada, 1024, 32, 8192).values()) == 1
    assert quiz.blocks_by_limit(h100, 128) == {"block slots": 32, "threads": 16}
    assert quiz.blocks_by_limit(h100, 256, 33)["registers"] == quiz.blocks_by_limit(h100, 256, 40)["registers"] == 6
    assert quiz.blocks_by_limit(h100, 128, 0, 1 << 10)["shared memory"] == 114


# Questions


def modelled(lesson: str, m: int, n: int, k: int, beta: float) -> Counts:
    """What the questions read of a trace, by pencil and paper. Sectors: where M and N are multiples of 32."""
    across, blocks = (m, n) if lesson == "01_naive" else (n, m), ceil_div(m, 32) * ceil_div(n, 32)
    warps = ceil_div(across[0], 32) * across[1]  # with an element of C
    steps = 32 * ceil_div(k, 32)
    of_a, of_b, of_c = {"01_naive": (32, 1, 32), "02_coalesced": (1, 4, 4), "03_smem": (4, 4, 4)}[lesson]

    def line(array: str, op: str, requests: int, threads: int, a_request: int, space: str = "global") -> dict:
        return {
            "array": array,
            "op": op,
            "space": space,
            "requests": requests,
            "threads": threads,
            "sectors": requests * a_request,
        }

    lines = [line("C", "store", warps, m * n, of_c)]
    if beta:
        lines.append(line("C", "load", warps, m * n, of_c))
    if lesson == "03_smem":
        lines.append(line("As", "load", blocks * 32 * steps, blocks * 1024 * steps, 0, "shared"))
    else:
        lines += [line("A", "load", warps * k, m * n * k, of_a), line("B", "load", warps * k, m * n * k, of_b)]
    moved = 32 * sum(entry["sectors"] for entry in lines)
    return Counts(
        {
            "blocks": blocks,
            "threads_per_block": 1024,
            "barriers_per_thread": steps / 16 if lesson == "03_smem" else 0.0,
            "totals": {"global_bytes": moved, "flop_per_byte": 2 * m * n * k / moved},
            "lines": lines,
        }
    )


class Model(Tracer):
    def __call__(self, m: int, n: int, k: int, blocks: str, options: tuple[str, ...]) -> Counts:
        assert m * n * k < 2_000_000
        assert blocks == "all"
        assert options[0] == "--alpha=1"
        return modelled(self.lesson, m, n, k, float(options[1].removeprefix("--beta=")))


def asked(lesson: str, seed: int, tracer: type[Tracer] = Model) -> list[Question]:
    return quiz.questions(lesson, exercise.content(lesson).quiz, seed, tracer(lesson))


def test_every_lesson_has_five_questions() -> None:
    for lesson in lessons():
        declared = exercise.content(lesson).quiz
        assert len({ask.__name__ for ask in declared}) == len(declared) == 5, lesson


@pytest.mark.parametrize("lesson", LESSONS)
def test_traced_answers_are_those_of_pencil_and_paper(lesson: str, trace: Callable[..., Counts]) -> None:
    for seed in (1, 2, 3, 2**64 - 1):
        for real, model in zip(asked(lesson, seed, Tracer), asked(lesson, seed), strict=True):
            assert (real.text, real.explanation) == (model.text, model.explanation)
            assert real.is_right(model.answer), real.text
            assert real.answer == pytest.approx(model.answer, rel=1e-12), real.text


@pytest.mark.parametrize("lesson", LESSONS)
def test_questions_of_200_seeds(lesson: str) -> None:
    different: list[set[str]] = [set() for _ in range(5)]
    choices = 0
    for seed in range(200):
        questions = asked(lesson, seed)
        choices = max(choices, sum(bool(q.choices) for q in questions))
        for q, texts in zip(questions, different, strict=True):
            texts.add(q.text)
            assert 0 <= q.answer < 1e15, q.text
            assert q.tolerance or q.answer == int(q.answer), q.text
            assert q.answer <= 100 or q.unit != "%", q.text
            assert q.is_right(read_answer(f"{q.answer!r} {q.unit}", q.unit)), q.text
            assert not q.is_right(1.021 * q.answer + 0.021), q.text
            shown = {quiz.number(q.answer), f"{q.answer:.3g}", f"{q.answer:.4g}"}
            assert any(re.search(rf"(?<![\d.]){re.escape(text)}(?![\d])", q.explanation) for text in shown), q.explanation
            assert q.text.rstrip().endswith((".", "?"))
            assert q.explanation.endswith(".")
            assert not re.search(r"[{}]|\bNone\b|  ", q.text + q.explanation), q.text
    assert choices <= 1
    assert min(map(len, different)) >= 12, [len(texts) for texts in different]


def test_the_constants_are_the_kernels() -> None:
    for lesson in lessons():
        kernel = (ROOT / folder_of(lesson) / "kernel.cu").read_text(encoding="utf-8")
        module = exercise._module(ROOT / folder_of(lesson) / "exercise.py")
        for name in ("BM", "BN", "BK"):
            if (value := getattr(module, f"_{name}", None)) is not None:
                assert re.search(rf"constexpr int [^;]*\b{name} = {value}[,;]", kernel), lesson


def test_which_thread_computes_an_element() -> None:
    """The kernel's own lines, run on what the question says."""
    for seed in range(50):
        q = asked("01_naive", seed)[0]
        N, ldc, x, y, block = (int(found) for found in re.findall(r"= (\d+)", q.text) + re.findall(r"block (\d+)", q.text))
        tiles_n = (N + 32 - 1) // 32
        row, col = block // tiles_n * 32 + x, block % tiles_n * 32 + y
        assert col < N
        assert q.answer == row * ldc + col


def first(q: Quiz) -> Question:
    return Question(f"{q.whole(1, 10**9)} {q.choose('abc')} {[q.whole(0, 8 - i) for i in range(9)]}?", 2, "", "It is 2.")


def second(q: Quiz) -> Question:
    return Question(f"{q.whole(1, 10**9)}?", 2, "", "It is 2.", choices=("one", "two"))


def test_draws_depend_on_seed_and_name_alone() -> None:
    alone, both = quiz.questions("01_naive", [second], 7), quiz.questions("01_naive", [first, second], 7)
    assert alone[0] == both[1]
    assert both[0].text == "717116961 c [6, 0, 5, 5, 3, 2, 1, 1, 0]?"  # on every machine and version of Python
    assert quiz.questions("01_naive", [first], 8)[0].text != both[0].text
    assert all(0 <= n <= 8 - i for i, n in enumerate(json.loads(both[0].text.split(maxsplit=2)[2][:-1])))
    drawn = [Quiz("x", "y", seed, Tracer("x")).whole(3, 5) for seed in range(60)]
    assert set(drawn) == {3, 4, 5}


def test_questions_that_cannot_be_answered_are_refused() -> None:
    for wrong in (
        {"answer": float("nan")},
        {"tolerance": 1.0},
        {"answer": 3, "choices": ("a", "b")},
        {"answer": 0.5, "choices": ("a",)},
    ):
        with pytest.raises(ValueError, match="no question"):
            Question(**{"text": "?", "answer": 1, "unit": "", "explanation": ".", **wrong})


def test_tolerance() -> None:
    exact, near = (Question("?", 10_737_418_240, "sectors", ".", tolerance) for tolerance in (0, 0.01))
    assert exact.is_right(10_737_418_240)
    assert not exact.is_right(10_737_418_241)
    assert near.is_right(1.08e10)
    assert not near.is_right(1.09e10)
    assert Question("?", 0, "", ".").is_right(0)
    assert not Question("?", 0, "", ".").is_right(1e-6)
    assert Question("?", 0.3, "", ".").is_right(0.1 + 0.2)


# Answers


READ: dict[str, dict[str, float]] = {
    "": {
        "-3.5": -3.5, "+.5": 0.5, "5.": 5, "007": 7, "16 384": 16384, "1 048 576": 2**20, "1_048_576": 2**20, "1,048,576": 2**20,
        "1\u202f048\u00a0576": 2**20, "1,048.5": 1048.5, "1e6": 1e6, "2.27E+12": 2.27e12, "1e-3": 1e-3, "2^34": 2**34,
        "2**34": 2**34, "2^3^2": 512, "-2^2": -4, "2^-1*3": 1.5, "--3": 3, "32*5": 160, "32·5": 160, "32 × 5 − 1": 159,
        "7-2-1": 4, "64/4*2": 32, "1/32": 1 / 32, "7 // 2": 3, "7 % 4": 3, "(1 + 2) * (3-1)": 6, "1 024 * 32": 32768,
        "8Ki": 8192, "12.5 %": 0.125, "(" * 80 + "1" + ")" * 80: 1,
    },
    "bytes": {
        "17.2 GB": 17.2e9, "17.2GB": 17.2e9, "17.2 G": 17.2e9, "1 TB": 1e12, "3 kB": 3000, "8 KiB": 8192, "8 kiB": 8192,
        "2*8 MiB": 2**24, "4 Mbytes": 4e6, "512 B": 512, "1 byte": 1,
    },
    "threads": {"64k": 64000, "64 k threads": 64000},
    "sectors": {"5": 5, "5 sectors": 5, "1 Sector": 1, "5 sectors per request": 5, "5 sectors/request": 5},
    "FLOP/B": {"0.4 FLOP/B": 0.4, "0.4 flops per byte": 0.4, "64/160 FLOP / byte": 0.4},
    "%": {"82.5 %": 82.5, "82.5%": 82.5, "82.5 percent": 82.5, "100*132/160": 82.5},
    "blocks": {"2 blocks.": 2},
}  # fmt: skip
# By why they are not read, and the unit that is asked for.
UNREADABLE: dict[tuple[str, str], tuple[str, ...]] = {
    ("number", ""): (
        "what?", "1 2", "1.234.567", "10_00", "1_048 576", "٣", "½", "0x10", "()", "(1", "1)", "2 *", "2 * * 3", "2(3)", "M*N",
        "__import__('os')", "1 if 1 else 2", "3; 4", "[1]", "1 = 1", "1 < 2", "True", "nan", "(" * 100 + "1",
    ),
    ("number", "bytes"): ("8 KiB + 1",),
    ("comma", ""): ("1,5", "0,400"),
    ("unit", ""): ("1e", "5j", "5 B"),
    ("unit", "bytes"): ("5 sectors", "5 m", "5 bits"),
    ("unit", "sectors"): ("5 GB",),
    ("unit", "blocks"): ("5 %",),
    ("thousand", ""): ("2*K", "64K"),
    ("thousand", "bytes"): ("5 KB",),
    ("zero", ""): ("1/0", "0^-1", "1 % 0"),
    ("real", ""): ("(-8)^0.5",),
    ("range", ""): ("9^9^9^9", "2^-999999999", "10^40", "1e400", "1e25*1e25", "9" * 199),
    ("length", ""): ("1" * 201,),
}  # fmt: skip


@pytest.mark.parametrize("unit", READ)
def test_answers(unit: str) -> None:
    assert {text: read_answer(text, unit) for text in READ[unit]} == pytest.approx(READ[unit], rel=1e-15)


@pytest.mark.parametrize(("id", "unit"), UNREADABLE)
def test_unreadable_answers(id: str, unit: str) -> None:
    for text in UNREADABLE[id, unit]:
        with pytest.raises(Unreadable) as refused:
            read_answer(text, unit)
        assert refused.value.id == id, text
        assert str(refused.value).endswith(".")


# The command


QUIZ = """
from runner.learn.quiz import Question, Quiz


def following(q: Quiz) -> Question:
    n = q.whole(2, 900)
    return Question(f"How many are {n} sectors and one?", n + 1, "sectors", f"{n} + 1 = {n + 1}.")


def share(q: Quiz) -> Question:
    return Question("What part of 160 threads are 132, of which a question may say so much that it takes more than a line of "
                    "any terminal?", 82.5, "%", "100 · 132/160 = 82.5.", 0.01)


def which(q: Quiz) -> Question:
    return Question("Which?", 2, "", "Because.", choices=("this", "that"))


EXERCISE = HUNT = None
QUIZ = (following, share, which)
"""


@pytest.fixture
def course(checkout: Checkout) -> Checkout:
    """A checkout whose lesson 01 has three questions that nothing is traced for, lesson 02 none."""
    (checkout.root / "01_naive" / "exercise.py").write_text(QUIZ)
    (checkout.root / "02_coalesced" / "exercise.py").write_text("EXERCISE = HUNT = None\n")
    return checkout


@pytest.fixture
def lessons_course(checkout: Checkout) -> Checkout:
    """A checkout with the lessons' questions, which its build traces with the repository's own gemm_inspect."""
    lists = "".join(f"gemm_lesson({name})\n" for name in LESSONS)
    (checkout.root / "CMakeLists.txt").write_text(f"project(x)\n{lists}")
    for name in LESSONS:
        shutil.copytree(REPOSITORY / name, checkout.root / name, dirs_exist_ok=True)
    checkout.program("gemm_inspect", f'exec {gemm_inspect()} "$@"\n')
    return checkout


def take(course: Checkout, *arguments: str, answers: str = "\n" * 5) -> subprocess.CompletedProcess[str]:
    return course.run("quiz", *arguments, typed=answers)


def key(course: Checkout, *arguments: str) -> dict:
    """What --answers --json prints."""
    done = take(course, *arguments, "--answers", "--json", answers="")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def recorded(course: Checkout, lesson: str = "01_naive") -> tuple[int, int, int] | None:
    path = course.root / ".progress.json"
    best = json.loads(path.read_text())["quizzes"].get(lesson) if path.exists() else None
    return best and (best["right"], best["of"], best["seed"])


@pytest.mark.parametrize("lesson", LESSONS)
def test_right_answers_of_traced_questions(lessons_course: Checkout, lesson: str) -> None:
    told = key(lessons_course, lesson[:2], "--seed", "7")
    assert (told["lesson"], told["seed"], len(told["questions"])) == (lesson, 7, 5)
    answers = "\n".join(str(q["answer"]) for q in told["questions"])  # the last line without its end
    done = take(lessons_course, lesson, "--seed", "7", answers=answers)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert recorded(lessons_course, lesson) == (5, 5, 7)


def test_a_quiz_in_words(course: Checkout) -> None:
    done = take(course, "01", "--seed", "7", answers="12 apples\n12\n\n3\n1.5\n2\n")
    assert (done.returncode, done.stderr) == (1, "")
    assert recorded(course) == (1, 3, 7)
    shown = take(course, "01", "--learner", "ada", "--answers", answers="")
    assert (shown.returncode, shown.stderr) == (0, "")
    hold("quiz", {"a quiz": done.stdout, "its key, of a learner": shown.stdout})
    assert not (course.fakes / "built").exists()  # nothing was traced


def test_the_best_is_remembered(course: Checkout) -> None:
    first = str(key(course, "01", "--seed", "7")["questions"][0]["answer"])
    assert recorded(course) is None
    assert take(course, "01", "--seed", "7", answers=f"{first}\n82.5\n1\n").returncode == 1
    assert take(course, "01", "--seed", "8").returncode == 1
    assert recorded(course) == (2, 3, 7)
    assert take(course, "01", "--seed", "7", answers=f"{first}\n82.5 %\n2\n").returncode == 0
    assert recorded(course) == (3, 3, 7)


def test_json(course: Checkout) -> None:
    done = take(course, "01", "--seed", "7", "--json", answers="rubbish\n1 000\n\n2")
    assert done.returncode == 1
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["Question 1"]
    result = json.loads(done.stdout)
    assert {name: value for name, value in result.items() if name != "questions"} == {
        "schema": 1, "lesson": "01_naive", "seed": 7, "learner": None, "right": 1, "of": 3}  # fmt: skip
    keys = {"text", "answer", "unit", "given", "right", "explanation"}
    assert all(q.keys() == keys for q in result["questions"])
    assert [(q["given"], q["right"]) for q in result["questions"]] == [("1 000", False), ("", False), ("2", True)]


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_the_end_of_the_input(course: Checkout, as_json: tuple[str, ...]) -> None:
    done = take(course, "01", "--seed", "7", *as_json, answers="1\n\n")
    assert done.returncode == 2
    assert done.stderr.startswith("gemm: ") and "3 of 3" in done.stderr and "./gemm quiz 01 --seed 7" in done.stderr
    assert bool(done.stdout) != bool(as_json)
    course.run("quiz", "01", status=2)
    assert recorded(course) is None


def test_ctrl_c_records_nothing(course: Checkout) -> None:
    process = course.start("quiz", "01", "--seed", "7", stdin=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    process.stdin.write("\n" * 2)
    process.stdin.flush()
    seen = ""
    while "3 of 3." not in seen or not seen.endswith("Answer ("):
        byte = process.stdout.read(1)
        assert byte, seen
        seen += byte
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (130, "Interrupted.\n")
    assert recorded(course) is None


def read_until(terminal: int, end: str) -> str:
    """What is written to a terminal until `end`, or until the other side is closed."""
    out = b""
    while not out.decode(errors="ignore").endswith(end) or not end:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # Linux: closed
            data = b""
        if not data:
            break
        out += data
    return out.decode()


def test_on_a_terminal(course: Checkout) -> None:
    ours, theirs = pseudo_terminal()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    process = course.start("quiz", "01", "--seed", "7", stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    out = read_until(ours, "Answer (in sectors, exactly): ")
    for typed, prompt in ((b"1,5\n", "exactly): "), (b"0\n", "in %, to 1 %): "), (b"\n", "1 to 2): "), (b"\x04", "")):
        os.write(ours, typed)
        out += read_until(ours, prompt)
    os.close(ours)
    assert process.wait(60) == 2
    assert "exactly): 1,5\r\n" in out and out.count("1,5") == 1  # the terminal has shown it
    prose = [line for line in out.split("\r\n") if not line.startswith("gemm: ")]
    assert len(prose) > 10 and max(map(len, prose)) <= 60
    assert recorded(course) is None


def test_json_on_a_terminal_shows_the_questions_on_stderr(course: Checkout) -> None:
    ours, theirs = pseudo_terminal()
    process = course.start("quiz", "01", "--seed", "7", "--json", stdin=theirs)
    os.write(ours, b"x\n" + b"\n" * 3)
    out, err = process.communicate(timeout=PATIENCE)
    os.close(theirs)
    os.close(ours)
    assert json.loads(out)["right"] == 0
    assert err.count("Answer (in sectors, exactly): ") == 2 and err.count("Answer (") == 4


def test_bytes_that_are_no_text(course: Checkout) -> None:
    process = course.start("quiz", "01", "--seed", "7", stdin=subprocess.PIPE)
    assert process.stdin
    process.stdin.buffer.write(b"\xff\xfe\n")  # type: ignore[attr-defined]
    out, err = process.communicate("\n" * 3, timeout=PATIENCE)
    assert (process.returncode, err) == (1, "")
    assert out.count("Answer (") == 4


def test_a_fresh_seed_is_drawn(course: Checkout) -> None:
    assert len({key(course, "01")["seed"] for _ in range(3)}) > 1


def test_a_learners_seed_is_the_same_everywhere_and_of_nobody_else(course: Checkout) -> None:
    # Computed once and written down: another number would be another quiz on another machine.
    assert quiz.seed_of("ada", "05_2d_blocktile") == quiz.seed_of(" Ada ", "05_2d_blocktile") == 761340094
    assert quiz.seed_of("Jose\u0301  Ruiz", "01_naive") == quiz.seed_of("josé ruiz", "01_naive")
    names = [f"learner {i}" for i in range(500)]
    seeds = {quiz.seed_of(name, lesson) for name in names for lesson in lessons()}
    assert len(seeds) == len(names) * len(lessons())
    assert all(seed < 10**9 for seed in seeds)
    ada, seed = key(course, "01", "--learner", "ada"), quiz.seed_of("ada", "01_naive")
    assert (ada["seed"], ada["learner"]) == (seed, "ada")
    assert key(course, "01", "--seed", str(seed))["questions"] == ada["questions"]
    assert key(course, "01", "--learner", "bob")["questions"] != ada["questions"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("99",), ("'99'", "01_naive, 02_coalesced")),
        (("01", "--seed", "x"), ("--seed",)),
        (("01", "--seed", "18446744073709551616"), ("--seed",)),
        (("01", "--seed", "7", "--learner", "ada"), ("--seed", "--learner")),
        (("01", "--learner", " "), ("--learner ada",)),
        (("01", "--learner", "a\x1b[2Jb"), ("--learner ada",)),
        (("02",), ("02_coalesced",)),
    ],
)
def test_what_is_refused(course: Checkout, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    course.fails("quiz", *arguments, words=words)


def test_a_lesson_that_is_damaged(lessons_course: Checkout) -> None:
    (lessons_course.root / "03_smem" / "exercise.py").unlink()
    lessons_course.fails("quiz", "03", words=("03_smem/exercise.py", "git checkout"))
    lessons_course.program("gemm_inspect", f'{lessons_course.fakes / "programs" / "real"} "$@"\nexit 1\n')
    shutil.copy(gemm_inspect(), lessons_course.fakes / "programs" / "real")
    lessons_course.fails("quiz", "01", words=("01_naive/kernel.cu", "./gemm inspect 01_naive"))


def test_unusable_progress_is_said_before_anything_is_asked(course: Checkout) -> None:
    (course.root / ".progress.json").write_text("{")
    course.fails("quiz", "01", words=(".progress.json",))
    assert (course.root / ".progress.json").read_text() == "{"
