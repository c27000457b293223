"""./gemm test: which tests it asks for, with which seed, and what it says of their times; and samples of families."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import conftest
import pytest
from conftest import Checkout, drawn, seed
from test_runner_cli import suite

from runner import suite as tested
from runner.core import doctor, process
from runner.core.results import UserError, lessons

TOLD = """
import os
def test_told():
    with open(os.environ["FAKES"] + "/told", "a") as file:
        print("pytest", *(os.environ[f"GEMM_TEST_{name}"] for name in ("ALL", "SEED", "FIRST")), file=file)
"""
SLOW = '<testcase name="slow" classname="slow" time="71.5" status="run"/>'


@pytest.fixture
def tested_checkout(checkout: Checkout) -> Checkout:
    suite(checkout, TOLD, SLOW, end='echo "ctest $GEMM_TEST_ALL $GEMM_TEST_SEED $GEMM_TEST_FIRST" >>"$FAKES/told"')
    return checkout


def told(checkout: Checkout) -> list[str]:
    return (checkout.fakes / "told").read_text().splitlines()


@pytest.mark.parametrize(
    ("options", "env", "everything", "number"),
    drawn(
        [
            (("--seed", "12"), {}, "0", "12"),
            (("--all", "--seed", "0"), {"GEMM_TEST_SEED": "5"}, "1", "0"),
            ((), {"GEMM_TEST_SEED": "5", "GEMM_TEST_ALL": "1"}, "1", "5"),
        ],
        1,
    ),
)
def test_both_kinds_are_told_what_to_run(
    tested_checkout: Checkout, options: Sequence[str], env: dict[str, str], everything: str, number: str
) -> None:
    tested_checkout.env.update(env)
    done = tested_checkout.run("test", *options, status=0)
    assert told(tested_checkout) == [f"{kind} {everything} {number} " for kind in ("ctest", "pytest")]
    again = f"Seed {number}: repeat with ./gemm test{' --all' * int(everything)} --seed {number}"
    assert again in done.stderr.splitlines()
    lines = done.stdout.splitlines()
    assert lines[0] == "The slowest 10, in seconds:"
    assert lines[1] == "   71.5  ctest  slow"
    assert sum("pytest  test_x.py::test_told" in line for line in lines) == 1
    assert lines[-5].startswith("Took: build ") and ", ctest " in lines[-5] and ", pytest " in lines[-5]
    assert lines[-4:] == [again, "ctest: 3 passed, 0 failed, 1 skipped", "pytest: 1 passed, 0 failed, 0 skipped",
                          "4 passed, 0 failed"]  # fmt: skip


def test_a_seed_is_drawn_and_shown(tested_checkout: Checkout) -> None:
    found = [json.loads(tested_checkout.run("test", "--json").stdout) for _ in range(2)]
    assert told(tested_checkout)[::2] == [f"ctest 0 {run['seed']} " for run in found]
    assert found[0]["seed"] != found[1]["seed"]
    assert (found[0]["all"], found[0]["passed"], found[0]["ctest"]["skipped"]) == (False, 4, 1)
    assert all(found[0][part]["seconds"] >= 0 for part in ("build", "ctest", "pytest"))


@pytest.mark.parametrize("committed", [False, True])
def test_what_has_changed_is_drawn_first(tested_checkout: Checkout, committed: bool) -> None:
    tested_checkout.commit()
    (tested_checkout.root / "02_coalesced" / "kernel.cu").write_text("// other\n")
    if committed:
        tested_checkout.commit()
    run = json.loads(tested_checkout.run("test", "--seed", "5", "--json").stdout)
    assert run["first"] == ["02_coalesced", "02_coalesced/kernel.cu"]
    assert told(tested_checkout) == [f"{kind} 0 5 02_coalesced,02_coalesced/kernel.cu" for kind in ("ctest", "pytest")]


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        (["05_2d_blocktile/kernel.cu", "README.md"], {"05_2d_blocktile"}),
        (["09_tensorcore/c_ring/mistakes.toml", "03_smem/picture.py"], {"03_smem", "09c_ring"}),
        (["common/gemm.hpp"], set()),
        (["plots/style.py", "tests/python/test_suite.py"], set()),
        ([], set()),
    ],
)
def test_which_lessons_a_change_is_about(changed: list[str], found: set[str]) -> None:
    assert set(tested.lessons_of(changed)) == found
    assert set(tested.first_of(changed)) >= found | {name for name in changed if "/test_" in name}


def test_a_header_is_about_the_lessons_that_read_it() -> None:
    assert {"13b_multicast", "13d_ping_pong"} <= set(tested.lessons_of(["common/ptx/cluster.hpp"])) < set(lessons())
    assert tested.lessons_of(["common/tma/operands.cpp"])  # beside a header


@pytest.mark.parametrize(
    ("options", "env", "words"),
    [
        (("--seed", "x"), {}, ("--seed must be a whole number", "'x'")),
        (("--seed", "-1"), {}, ("--seed must be a whole number",)),
        ((), {"GEMM_TEST_SEED": "1e3"}, ("GEMM_TEST_SEED must be a whole number",)),
        ((), {"GEMM_TEST_ALL": "yes"}, ("GEMM_TEST_ALL must be 0 or 1, not 'yes'",)),
        (("--some",), {}, ("--some", "./gemm --help")),
    ],
)
def test_what_is_refused_is_refused_before_anything_is_built(
    checkout: Checkout, options: Sequence[str], env: dict[str, str], words: tuple[str, ...]
) -> None:
    checkout.env.update(env)
    checkout.fails("test", *options, words=words)
    assert not (checkout.fakes / "configured").exists()


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("tests/python/test_x.py::test_a[0-1] PASSED       [ 33%]", (33, 100, "tests/python/test_x.py::test_a[0-1]")),
        ("[gw12] [  4%] PASSED tests/python/test_x.py::test_a[0 1]", (4, 100, "tests/python/test_x.py::test_a[0 1]")),
        ("E       assert 1 == 2", None),
    ],
)
def test_progress_is_read_on_one_core_and_on_many(line: str, step: tuple[int, int, str] | None) -> None:
    assert tested._pytest(line) == step


@pytest.mark.parametrize(("has", "found"), [(("pytest", "xdist"), True), (("pytest",), False), ((), None)])
def test_without_xdist_tests_run_one_after_another(
    has: tuple[str, ...],
    found: bool | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def quiet(command: process.Command) -> tuple[int, str]:
        return int(any(name not in (*doctor.PACKAGES, *has) for name in command[3:])), ""

    monkeypatch.setattr(process, "quiet", quiet)
    monkeypatch.setattr(doctor, "VENV", tmp_path)
    monkeypatch.setenv("GEMM_NO_INSTALL", "1")
    if found is None:
        with pytest.raises(UserError, match="pytest .* type: .*pytest-xdist.*[.]$"):
            doctor.provide_pytest()
    else:
        assert doctor.provide_pytest() == (Path(sys.executable), found)
        said = "The Python tests run one after another, since pytest-xdist is missing; type: "
        assert capsys.readouterr().err.startswith("" if found else said)


def test_a_sample_is_the_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMM_TEST_SEED", "7")
    monkeypatch.setenv("GEMM_TEST_FIRST", "")
    monkeypatch.delenv("GEMM_TEST_ALL", raising=False)
    family = list(range(100))
    sample = drawn(family, 10)
    assert seed() == 7
    assert drawn(family, 10) == sample == sorted(set(sample))
    assert len(sample) == 10
    assert drawn(family, 100) == drawn(family, 200) == family
    monkeypatch.setenv("GEMM_TEST_SEED", "8")
    assert drawn(family, 10) != sample
    monkeypatch.setenv("GEMM_TEST_FIRST", "42,7_")
    assert 42 in drawn(family, 1) and {"7_a", "7_b"} < set(drawn(["1", "2", "3", "7_a", "4", "7_b"], 3))
    monkeypatch.setenv("GEMM_TEST_ALL", "1")
    assert drawn(family, 10) == family
    monkeypatch.setenv("GEMM_TEST_LESSON", "05_x")  # ./gemm test --lesson
    assert drawn([("04_w", 1), ("05_x", 1), ("05_x", 2)], 1) == [("05_x", 1), ("05_x", 2)]
    monkeypatch.setenv("GEMM_TEST_ALL", "0")
    assert drawn([("04_w", 1), ("05_x", 1), ("05_x", 2)], 1) in ([("05_x", 1)], [("05_x", 2)])


def test_of_a_family_so_many_tests_run_as_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Item:
        nodeid: str
        marks: dict[str, tuple]

        def get_closest_marker(self, name: str) -> SimpleNamespace | None:
            return SimpleNamespace(args=self.marks[name]) if name in self.marks else None

    def chosen(whole: str, seed: str) -> list[str]:
        monkeypatch.setenv("GEMM_TEST_ALL", whole)
        monkeypatch.setenv("GEMM_TEST_SEED", seed)
        slow = [Item(f"x.py::test_{test}[{case}]", {"family": ("slow", 2)}) for test in "abcdef" for case in "01"]
        items: list[Any] = [Item("x.py::test_z", {}), *slow, Item("x.py::test_first", {"long": ()})]
        every, left_out = list(items), []
        hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
        conftest.pytest_collection_modifyitems(cast(pytest.Config, SimpleNamespace(hook=hook)), items)
        assert sorted(items + left_out, key=id) == sorted(every, key=id)
        return [item.nodeid.removeprefix("x.py::test_") for item in items]

    first = chosen("0", "1")
    assert (first[:2], len(first)) == (["first", "z"], 2 + 2 * 2)
    assert [name[0] for name in first[2::2]] == [name[0] for name in first[3::2]]  # each with all its cases
    assert chosen("0", "1") == first
    assert len({tuple(chosen("0", str(number))) for number in range(20)}) > 5
    assert len(chosen("1", "1")) == 2 + 12
