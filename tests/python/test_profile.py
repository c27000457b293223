"""./gemm profile: the figures that ncu counts, in a table and a file, with a fake ncu."""

from __future__ import annotations

import json

import pytest
from approvals import Approve, refusals
from conftest import Checkout
from test_inspect_ncu import BEFORE, HEADER, NCU, csv

from runner.measure.profile import FIGURES

WGMMA = "warps stalled: wgmma (gmma)"


@pytest.fixture
def gpu(checkout: Checkout) -> Checkout:
    """A checkout with a GPU and an ncu that gives every figure its place in the list, and a half."""
    checkout.gpu()
    checkout.tool("ncu", NCU)
    for name in ("01_naive", "02_coalesced"):
        checkout.program(name, "exit 0\n")
    values = {figure.metric: f"{place}.5" for place, figure in enumerate(FIGURES)}
    (checkout.fakes / "ncu.csv").write_text(f"{BEFORE}{HEADER}\n{csv(values, 'lesson_01::sgemm(long)')}")
    return checkout


def test_every_lesson_is_profiled(gpu: Checkout, approve: Approve) -> None:
    done = gpu.run("profile", status=0)
    approve(done.stdout + done.stderr)
    results = json.loads((gpu.root / "out" / "h200-profile.json").read_text())
    assert list(results["lessons"]) == ["01_naive", "02_coalesced"]
    assert list(results["lessons"]["01_naive"].values()) == [place + 0.5 for place in range(len(FIGURES))]
    assert results["kernel_hashes"].keys() == results["lessons"].keys()
    assert results["commit"] is None  # this checkout is in no repository
    calls = (gpu.fakes / "ncu").read_text()
    assert "--kernel-name-base demangled --kernel-name regex:lesson_02::" in calls
    assert "--m=4096 --n=4096 --k=4096" in calls


@pytest.mark.parametrize("refuses", [False, True])
def test_a_gpu_without_wgmma_leaves_its_stalls_out(refuses: bool, gpu: Checkout) -> None:
    """ncu gives n/a, or ends with an error, whereupon it is asked for the others alone."""
    values = {figure.metric: "n/a" if figure.name == WGMMA else "1.5" for figure in FIGURES}
    (gpu.fakes / "ncu.csv").write_text(f"{BEFORE}{HEADER}\n{csv(values, 'lesson_01::sgemm(long)')}")
    if refuses:
        said = "==ERROR== Failed to find metric smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio"
        refusal = f'case "$(tail -n 1 "$FAKES/ncu")" in *stalled_gmma*) echo "{said}" >"$log"; exit 1 ;; esac'
        gpu.tool("ncu", NCU.replace("cat ", f"{refusal}\ncat "))
    gpu.run("profile", "01", status=0)
    assert (gpu.fakes / "ncu").read_text().count("\n") == 1 + refuses
    found = json.loads((gpu.root / "out" / "h200-profile.json").read_text())["lessons"]["01_naive"]
    assert found.keys() == {figure.name for figure in FIGURES} - {WGMMA}


def test_one_lesson_as_json(gpu: Checkout) -> None:
    done = gpu.run("profile", "02", "--json", status=0)
    assert list(json.loads(done.stdout)["lessons"]) == ["02_coalesced"]


def test_recorded_on_the_published_gpu(gpu: Checkout) -> None:
    commit = gpu.commit()
    gpu.run("profile", "--record", status=0)
    assert json.loads((gpu.root / "plots" / "results" / "h200-profile.json").read_text())["commit"] == commit
    assert (gpu.root / "README.md").read_text() == "tables"


def test_what_cannot_be_profiled_is_one_sentence(gpu: Checkout, approve: Approve) -> None:
    gpu.env["GIT_CEILING_DIRECTORIES"] = str(gpu.root.parent)
    said = [refusals(gpu, ["profile --record", "profile 01 --record"])]
    gpu.env["GEMM_DEVICE"] = "cpu"
    said.append(refusals(gpu, ["profile"]))
    gpu.env["GEMM_DEVICE"] = "cuda"
    (gpu.fakes / "ncu.csv").write_text(f"{HEADER}\n{csv({FIGURES[0].metric: 'n/a'})}")
    approve("\n".join([*said, gpu.fails("profile", "01", words=())]))


def test_figures_have_names_of_their_own() -> None:
    assert len({figure.name for figure in FIGURES}) == len({figure.metric for figure in FIGURES}) == len(FIGURES)
