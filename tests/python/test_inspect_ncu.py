"""./gemm inspect --against-ncu: reading what ncu prints, judging it, and the command, with a fake ncu."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from approvals import Approve, cells, refusals
from conftest import Checkout
from inspect_synthetic import hopper, line, naive, smem, tracer

from runner.core.results import ROOT, UserError, lessons
from runner.inspect import counters
from runner.inspect.counters import EXECUTED, METRICS, QUANTITIES

HEADER = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",'
    '"Section Name","Metric Name","Metric Unit","Metric Value"'
)
BEFORE = '==PROF== Connected to process 4711 (build/cuda/bin/01_naive)\n==PROF== Profiling "sgemm" - 0: 0%....50%....100%\n'


def csv(values: dict[str, str], kernel: str = "lesson_01::sgemm(long, long, float)", number: int = 0) -> str:
    start = f'"{number}","4711","01_naive","127.0.0.1","{kernel}","1","7","(32, 32, 1)","(16, 1, 1)","0","9.0"'
    return "".join(f'{start},"Command line profiler metrics","{metric}","","{value}"\n' for metric, value in values.items())


def counted(found: dict, loads: int | None = None, **changes: int) -> dict[str, int]:
    """The counts with which a GPU would agree; changes by the start of a quantity's name."""
    values = {}
    for q in QUANTITIES:
        whole = changes.get(q.name.replace(" ", "_"), q.traced(found))
        first, *more = q.metrics  # one more at most: it counts one of them, if there is any
        values.update({first: whole - min(whole, len(more)), **dict.fromkeys(more, min(whole, 1))})
    requests = {
        op: sum(line["requests"] for line in found["lines"] if (line["space"], line["op"]) == ("shared", op)) for op in EXECUTED
    }
    executed = {**requests, "load": requests["load"] if loads is None else loads}
    return {**values, **{EXECUTED[op]: executed[op] for op in EXECUTED}}


def as_ncu(values: dict[str, int]) -> dict[str, str]:
    return {metric: f"{value:,}" for metric, value in values.items()}


def test_what_ncu_prints_is_read() -> None:
    values = {metric: 1000 * place + 7 for place, metric in enumerate(METRICS)}
    text = f"01_naive is right.\n{BEFORE}{HEADER}\n{csv(as_ncu(values))}==PROF== Disconnected\n"
    assert counters.launches_of(text, METRICS) == [values]
    assert counters.launches_of("\ufeff" + text.replace("\n", "\r\n"), METRICS) == [values]


def test_launches_are_summed() -> None:
    """As the tracer counts: copies of A and B before the lesson's kernel belong to it."""
    copies = [
        csv(as_ncu(dict.fromkeys(METRICS, 1000 + number)), "void gemm::copy_rows<float>(long)", number) for number in (0, 1)
    ]
    text = f"{HEADER}\n{''.join(copies)}{csv(as_ncu(dict.fromkeys(METRICS, 7)), number=2)}"
    assert counters.summed(text) == dict.fromkeys(METRICS, 2008)


@pytest.mark.parametrize(
    ("kernel", "chosen"),
    [
        ("lesson_10a::sgemm(long)", True),
        ("void lesson_10a::sgemm_tma<lesson_10a::Tiles<64, 64>, true>(long)", True),
        ("void gemm::copy_rows<float>(long, const float *)", True),
        ("void cutlass::gemm::kernel<float>(long)", False),
        ("lesson_11a::gemm_wgmma(long)", False),
        ("sgemm_128x128(long)", False),
    ],
)
def test_whose_launches_count(kernel: str, chosen: bool) -> None:
    pattern = counters.every_launch("10a_swizzle")[-1].removeprefix("regex:")
    assert bool(re.search(pattern, kernel)) == chosen


def test_what_cannot_be_read_is_one_sentence(approve: Approve) -> None:
    said = []
    for text in (
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n",
        "==ERROR== Failed to find metric l1tex__x.\n",
        "==PROF== x\n==WARNING== No kernels were profiled.\n",
        "",
        '"ID","Kernel","Metric Name"\n',
        f"{HEADER}\n",
        f"{HEADER}\n{csv({METRICS[0]: '4'})}",
        f"{HEADER}\n{csv({METRICS[0]: 'n/a'})}",
        f"{HEADER}\n{csv({**dict.fromkeys(METRICS, '4'), METRICS[0]: '4.5'})}",
    ):
        with pytest.raises(UserError) as error:
            counters.summed(text)
        said.append(str(error.value))
    approve("\n".join(said))


def test_equal_counts() -> None:
    found = smem()
    rows = counters.compare(found, counted(found))
    assert {row["verdict"] for row in rows} == {"equal"}
    assert [(row["quantity"], row["traced"]) for row in rows] == [
        ("global load requests", 4096),
        ("global load sectors", 16384),
        ("global store requests", 512),
        ("global store sectors", 2048),
        ("shared load wavefronts", 131072),
        ("shared store wavefronts", 4096),
    ]


def verdicts(found: dict, counts: dict[str, int]) -> dict[str, tuple[str, str]]:
    rows = counters.compare(found, counts)
    return {row["quantity"]: (row["verdict"], row["note"]) for row in rows if row["verdict"] != "equal"}


def test_what_differs_differs() -> None:
    found = naive("01_naive")
    assert verdicts(found, counted(found, global_load_sectors=1)) == {"global load sectors": ("differs", "")}
    found["lines"][0]["diverged"] = True
    verdict, note = verdicts(found, counted(found, global_load_sectors=1))["global load sectors"]
    assert verdict == "differs"
    assert "nvcc joins them elsewhere" in note


def test_what_ncu_cannot_see_is_no_difference() -> None:
    found = hopper()
    rows = counters.compare(found, counted(found))
    assert [(row["quantity"], row["traced"], row["counted"]) for row in rows if row["verdict"] == "unseen"] == [
        ("TMA load boxes", 8, None),
        ("TMA load sectors", 2048, None),
        ("wgmma instructions", 32, None),
        ("wgmma bytes of shared memory", 196608, None),
    ]
    assert all(row["note"].endswith("and ncu's metrics count threads") for row in rows if row["verdict"] == "unseen")
    assert {row["quantity"]: row["traced"] for row in rows if row["verdict"] == "equal"}["global load sectors"] == 0


def test_stmatrix_is_no_store_that_ncu_counts() -> None:
    """Nor is it one that nvcc has fused with others; ldmatrix is counted."""
    found = smem()
    for op in ("store", "load"):
        found["lines"].append(line(40, "Cs", op, 64, 4, 4, shared=True, width=16, lesson="03_smem") | {"matrix": True})
    counts = counted(found)
    rows = {row["quantity"]: row for row in counters.compare(found, counts)}
    stored, loaded, unseen = (rows[name] for name in ("shared store wavefronts", "shared load wavefronts", "stmatrix wavefronts"))
    assert (stored["traced"], stored["verdict"]) == (2 * 2048, "equal")
    assert (loaded["traced"], loaded["verdict"]) == (2 * 65536 + 64 * 4, "equal")
    assert (unseen["traced"], unseen["counted"], unseen["verdict"]) == (64 * 4, None, "unseen")
    assert "stmatrix" in unseen["note"]
    fewer = counted(found, shared_store_wavefronts=1) | {EXECUTED["store"]: 2 * 2048}  # as many as there are but for stmatrix
    assert verdicts(found, fewer)["shared store wavefronts"] == ("differs", "")


def test_fused_loads_are_named(approve: Approve) -> None:
    found = smem()  # As: 65536 loads of 4 bytes become 16384 of 16
    said = []

    def fused(loads: int, wavefronts: int) -> str:
        ((quantity, (verdict, note)),) = verdicts(found, counted(found, loads=loads, shared_load_wavefronts=wavefronts)).items()
        assert quantity == "shared load wavefronts"
        said.append(f"{verdict}: {note}")
        return verdict

    assert fused(65536 + 16384, 81920) == "fused"
    found["lines"][4]["sample"]["offsets"] = [0] * 32  # a broadcast
    assert fused(65536 + 16384, 81920) == "fused"
    found["lines"][5].update(requests=32768)
    assert fused(32768 + 16384, 1) == "fused"
    assert fused(32768 + 16384, 999999) == "differs"  # wider reads do not need more
    assert fused(50000, 1) == "fused"
    approve("\n".join(said))


def test_no_fewer_instructions_explain_nothing() -> None:
    found = smem()
    assert verdicts(found, counted(found, shared_load_wavefronts=1)) == {"shared load wavefronts": ("differs", "")}
    more = verdicts(found, counted(found, shared_load_wavefronts=131073))  # however little it is
    assert more == {"shared load wavefronts": ("differs", "")}
    for entry in found["lines"][4:6]:
        entry["width"] = 16  # nothing wider exists
    assert verdicts(found, counted(found, loads=1, shared_load_wavefronts=1)) == {"shared load wavefronts": ("differs", "")}


NCU = """
case "$1" in --version) echo "NVIDIA (R) Nsight Compute"; echo "Version 2025.3.0.0 (build 1)"; exit 0 ;; esac
echo "$@" >>"$FAKES/ncu"
while [ $# -gt 0 ]; do [ "$1" = --log-file ] && log=$2; shift; done
cat "$FAKES/ncu.csv" >"$log"
"""


@pytest.fixture
def gpu(checkout: Checkout) -> Checkout:
    """A checkout with a GPU, an ncu that agrees, and one lesson."""
    checkout.gpu()
    checkout.tool("ncu", NCU)
    tracer(checkout, naive("01_naive"))
    (checkout.fakes / "ncu.csv").write_text(f"{BEFORE}{HEADER}\n{csv(as_ncu(counted(naive('01_naive'))))}")
    return checkout


def test_agreement(gpu: Checkout, approve: Approve) -> None:
    approve(cells(gpu.run("inspect", "01", "--against-ncu", "--json", "out/ncu.json", status=0).stdout))
    report = json.loads((gpu.root / "out" / "ncu.json").read_text())
    assert (report["schema"], report["gpu"]) == (2, "NVIDIA H200")
    assert {run["ncu"] for run in report["runs"]} == {"2025.3.0.0"}
    assert [(run["m"], run["n"], run["k"]) for run in report["runs"]] == list(counters.SHAPES)
    assert len(counters.SHAPES) >= 5
    call = (gpu.fakes / "ncu").read_text().splitlines()[2]
    for words in ("--clock-control none --csv ", "--kernel-name regex:(^| )(lesson_01|gemm):: /", "--m=127 --n=129 --k=65",
                  "build/cuda/bin/01_naive --verify-only", ",".join(METRICS)):  # fmt: skip
        assert words in call
    assert "--launch-count" not in call  # every launch of the one multiplication
    assert "--target gemm_inspect" in (gpu.fakes / "built").read_text()
    assert "--preset cuda" in (gpu.fakes / "configured").read_text()


def test_copies_before_the_kernel_are_part_of_it(gpu: Checkout) -> None:
    counts = counted(naive("01_naive"))
    copies = {metric: value // 3 for metric, value in counts.items()}
    rest = {metric: value - copies[metric] for metric, value in counts.items()}
    both = csv(as_ncu(copies), "void gemm::copy_rows<float>(long)") + csv(as_ncu(rest), number=1)
    (gpu.fakes / "ncu.csv").write_text(f"{HEADER}\n{both}")
    done = gpu.run("inspect", "01", "--against-ncu", "--json", status=0)
    assert {row["verdict"] for run in json.loads(done.stdout)["runs"] for row in run["rows"]} == {"equal"}


def test_disagreement_exits_1(gpu: Checkout) -> None:
    counts = counted(naive("01_naive"), global_store_sectors=1)
    (gpu.fakes / "ncu.csv").write_text(f"{HEADER}\n{csv(as_ncu(counts))}")
    done = gpu.run("inspect", "01", "--against-ncu", "--json", status=1)
    found = [row["verdict"] for run in json.loads(done.stdout)["runs"] for row in run["rows"]]
    assert (found.count("equal"), found.count("differs"), found[3]) == (30, 6, "differs")


def test_no_ncu_and_no_permission(gpu: Checkout, approve: Approve) -> None:
    (gpu.fakes / "bin" / "ncu").unlink()
    said = refusals(gpu, ["inspect --against-ncu"])
    gpu.tool("ncu", NCU)
    (gpu.fakes / "ncu.csv").write_text("==ERROR== ERR_NVGPUCTRPERM - no permission\n")
    approve(said + "\n" + gpu.fails("inspect", "01", "--against-ncu", words=()))


def test_a_file_keeps_what_it_has_of_other_lessons(gpu: Checkout) -> None:
    file, h200 = gpu.root / "out" / "ncu.json", {"schema": 1, "gpu": "NVIDIA H200", "commit": "abc", "ncu": "2025"}
    runs = [{"lesson": name, "m": 1, "rows": []} for name in ("01_naive", "02_coalesced", "13c_an_old_name")]
    assert counters.counted_before(file, "NVIDIA H200") == []
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({**h200, "runs": runs}), encoding="utf-8")
    assert counters.counted_before(file, "NVIDIA H200") == [{"commit": "abc", "ncu": "2025", **run} for run in runs[:2]]
    gpu.run("inspect", "01", "01", "--against-ncu", "--json", "out/ncu.json", status=0)
    counted = [run["lesson"] for run in json.loads(file.read_text(encoding="utf-8"))["runs"]]
    assert counted.count("01_naive") == len(counters.SHAPES)
    assert not {*counted} - set(lessons(gpu.root))
    for text, words in (
        (json.dumps({**h200, "gpu": "NVIDIA H100", "runs": runs}), "has counts of NVIDIA H100, and this is NVIDIA H200"),
        (json.dumps([1]), "is not what --against-ncu --json writes"),
        ("{", "is not what --against-ncu --json writes"),
    ):
        file.write_text(text, encoding="utf-8")
        gpu.fails("inspect", "01", "--against-ncu", "--json", "out/ncu.json", words=(words,))
        assert file.read_text(encoding="utf-8") == text


RECORDED = ROOT / "plots/results/h200-counters.json"

# The one count of the recorded comparison that is not the GPU's: a warp's copies of 16 bytes whose upper half is filled with
# zeros. It is not explained yet; the copies of 08a's other shapes agree.
DIFFERS = {
    RECORDED: [("08a_ring", (256, 64, 32), "shared store wavefronts", 1536, 1648)],
    # One of the two atomic operations of each of 15a's blocks is none of the stores that ncu counts: of 16 blocks, and of 40.
    # How often 15b's blocks look at a flag that is not raised yet is a matter of time.
    RECORDED.with_name("h100-80gb-hbm3-counters.json"): [
        ("15a_split_k", (128, 128, 128), "global store requests", 1172, 1156),
        ("15a_split_k", (128, 128, 128), "global store sectors", 6164, 6148),
        ("15a_split_k", (257, 63, 300), "global store requests", 3133, 3093),
        ("15a_split_k", (257, 63, 300), "global store sectors", 20429, 20389),
        ("15b_stream_k", (128, 128, 128), "global load requests", 1796, 1805),
        ("15b_stream_k", (128, 128, 128), "global load sectors", 10244, 10252),
    ],
}


@pytest.mark.parametrize("file", DIFFERS, ids=lambda file: file.stem)
def test_the_recorded_comparison_is_whole_and_agrees(file: Path) -> None:
    runs = json.loads(file.read_text(encoding="utf-8"))["runs"]
    # A lesson that has another name by now was recorded with an older kernel.
    recorded = [name for name in dict.fromkeys(run["lesson"] for run in runs) if name in lessons()]
    assert recorded == [name for name in lessons() if name in recorded]  # of the others: ./gemm doctor
    for name in recorded:
        assert len({(run["m"], run["n"], run["k"]) for run in runs if run["lesson"] == name}) >= 5, name
    rows = [row for run in runs for row in run["rows"]]
    assert {row["verdict"] for row in rows if row["quantity"].startswith("global")} <= {"equal", "differs"}
    assert {row["verdict"] for row in rows} <= {"equal", "fused", "unseen", "differs"}
    assert all(row["note"] for row in rows if row["verdict"] in ("fused", "unseen"))
    assert [
        (run["lesson"], (run["m"], run["n"], run["k"]), row["quantity"], row["traced"], row["counted"])
        for run in runs
        for row in run["rows"]
        if row["verdict"] == "differs"
    ] == DIFFERS[file]
