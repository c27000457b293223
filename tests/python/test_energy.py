"""./gemm profile --energy: what a launch takes, shown, recorded and in tables, with a fake gemm_bench. Nothing was measured."""

from __future__ import annotations

import json

import pytest
from approvals import Approve, refusals
from conftest import Checkout, results, timed_entry
from plots_synthetic import energy
from schema import misfits

from plots import data, tables
from runner.core.kernel_hash import kernel_hash
from runner.core.results import UserError
from runner.measure.energy import RecordedEnergy

H200 = {"kind": "cuda", "name": "NVIDIA H200"}


def use(ms: float, joules: float | None = 0.1, megacycles: float | None = 0.2, power: float | None = 650.0) -> dict:
    def spread(value: float | None) -> dict | None:
        return value and {"median": value, "p10": 0.99 * value, "p90": 1.02 * value}

    return {"ms": spread(ms), "joules": spread(joules), "megacycles": spread(megacycles), "power_w": power}


def entry(lesson: str, size: int = 4096, **more: float | None) -> dict:
    return {**timed_entry(lesson, size), "energy": use(0.2, **more), "baseline_energy": use(0.1, **more)}


@pytest.fixture
def gpu(checkout: Checkout) -> Checkout:
    checkout.gpu()
    checkout.bench(results(entry("01_naive"), entry("02_coalesced"), **H200))
    return checkout


def test_lessons_take_turns(gpu: Checkout, approve: Approve) -> None:
    body = (
        (gpu.fakes / "programs" / "gemm_bench")
        .read_text()
        .replace("while [ $# ", 'echo "$@" >"$FAKES/arguments"\nwhile [ $# ', 1)
    )
    (gpu.fakes / "programs" / "gemm_bench").write_text(body)
    done = gpu.run("profile", "--energy", "02", "01", "2", status=0)
    approve(done.stdout + done.stderr)
    assert (gpu.fakes / "arguments").read_text().startswith("--energy --lessons 02_coalesced,01_naive --sizes 4096 --output ")
    written = json.loads((gpu.root / "out" / "h200-energy.json").read_text())
    assert written["kernel_hashes"]["01_naive"] == kernel_hash(gpu.root / "01_naive" / "kernel.cu")
    assert written.pop("commit") is None  # this checkout is in no repository
    assert written.pop("date")
    assert list(misfits(written, RecordedEnergy)) == []
    assert written["turns"][0]["lessons"]["02_coalesced"] == {**use(0.2), "ratio": 0.5}


def test_sizes_and_types_take_turns_by_themselves(gpu: Checkout) -> None:
    runs = [entry("01_naive"), {**entry("02_coalesced"), "variant": "bf16"}, entry("01_naive", 256)]
    gpu.bench(results(*runs, **H200))
    done = gpu.run("profile", "--energy", "01", "02", "--sizes", "4096,256", "--json", status=0)
    turns = json.loads(done.stdout)["turns"]
    assert [(t["variant"], t["m"], list(t["lessons"])) for t in turns] == [
        ("fp32", 4096, ["01_naive"]), ("bf16", 4096, ["02_coalesced"]), ("fp32", 256, ["01_naive"]),
    ]  # fmt: skip


def test_a_gpu_without_the_counter_has_no_joules(gpu: Checkout, approve: Approve) -> None:
    gpu.bench(results(entry("01_naive", joules=None, megacycles=None, power=None), **H200))
    done = gpu.run("profile", "--energy", "01", status=0)
    approve(done.stdout)
    written = json.loads((gpu.root / "out" / "h200-energy.json").read_text())
    assert written["turns"][0]["cublas"] == use(0.1, None, None, None)


def test_recorded_on_the_published_gpu(gpu: Checkout) -> None:
    commit = gpu.commit()
    gpu.run("profile", "--energy", "01", "02", "--record", status=0)
    assert json.loads((gpu.root / "plots" / "results" / "h200-energy.json").read_text())["commit"] == commit
    assert (gpu.root / "README.md").read_text() == "tables"


def test_a_wrong_lesson_has_no_energy_and_is_not_recorded(gpu: Checkout, approve: Approve) -> None:
    failed = {
        "lesson": "02_coalesced",
        "variant": "fp32",
        "m": 4096,
        "n": 4096,
        "k": 4096,
        "ran": True,
        "failure": "It is wrong.",
    }
    gpu.bench(results(entry("01_naive"), failed=[failed], **H200), status=1)
    gpu.commit()
    approve(gpu.run("profile", "--energy", "01", "02", "--record", status=1).stderr)
    assert not (gpu.root / "plots" / "results" / "h200-energy.json").exists()
    gpu.bench(results(failed=[failed], **H200), status=1)
    done = gpu.run("profile", "--energy", "02", status=1)
    assert done.stderr.endswith("It is wrong.\ngemm: No lesson was measured; the lines above say why.\n")


def test_what_cannot_be_measured_is_one_sentence(gpu: Checkout, approve: Approve) -> None:
    said = [refusals(gpu, ["profile --energy", "profile --sizes 256", "profile --energy 01 --sizes 3x3", "profile --energy 77"])]
    gpu.env["GIT_CEILING_DIRECTORIES"] = str(gpu.root.parent)
    said.append(refusals(gpu, ["profile --energy 01 --record"]))
    gpu.env["GEMM_DEVICE"] = "cpu"
    said.append(refusals(gpu, ["profile --energy 01"]))
    gpu.env["GEMM_DEVICE"] = "cuda"
    gpu.bench(results(timed_entry(), **H200))  # an older gemm_bench's
    approve("\n".join([*said, gpu.fails("profile", "--energy", "01", words=())]))


# The tables


def test_tables(approve: Approve) -> None:
    two = energy(sizes=(4096, 8192))
    shown = [tables.render_energy("02_coalesced", energy()), tables.render_energy("02_coalesced", two),
             tables.render_energy("02_coalesced:02_coalesced,cuBLAS", two)]  # fmt: skip
    without = energy()
    without["turns"][0]["cublas"] |= {"joules": None, "megacycles": None, "power_w": None}
    approve("\n".join([*shown, tables.render_energy("01_naive", without)]))


def test_before_it_is_recorded_there_is_a_sentence() -> None:
    for recorded in (energy(), {"turns": []}):
        assert "`./gemm profile 08a --energy --record`" in tables.render_energy("08a_ring", recorded)
        with pytest.raises(UserError, match="99_none"):
            tables.render_energy("99_none", recorded)


def test_what_is_published_fits() -> None:
    from conftest import REPOSITORY

    if found := data.energy(REPOSITORY):
        assert list(misfits({key: value for key, value in found.items() if key not in ("commit", "date")}, RecordedEnergy)) == []
