"""./gemm chart: what is written, when, and what an interrupt, a crash or a dirty tree leaves behind."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
from approvals import Approve, refusals
from conftest import BENCH, PATIENCE, Checkout, alive, pseudo_terminal, put, results, run_entry, stop, timed_entry, wait_for

from runner.core.kernel_hash import kernel_hash
from runner.core.results import ROOT
from runner.measure import chart
from runner.measure.chart import SIZES

H200 = {"kind": "cuda", "name": "NVIDIA H200"}


def files(root: Path) -> set[str]:
    """Everything in the checkout but what the build and git made."""
    paths = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {str(path) for path in paths if path.parts[0] not in ("build", ".git")}


def test_cpu_chart_verifies_and_writes(checkout: Checkout, approve: Approve) -> None:
    checkout.bench(results(run_entry(), run_entry("02_coalesced")))
    done = checkout.run("chart", status=0)
    approve(done.stdout + done.stderr)
    written = json.loads((checkout.root / "out" / "cpu.json").read_text())
    assert written["runs"][0]["kernel_hash"] == kernel_hash(checkout.root / "01_naive" / "kernel.cu")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", written["date"])
    assert (checkout.root / "out" / "verification.png").exists()
    assert not (checkout.root / "out" / "progression.png").exists()


def test_cpu_chart_draws_the_recorded_results_with_their_origin(checkout: Checkout, approve: Approve) -> None:
    checkout.bench(results(run_entry()))
    recorded = results(
        timed_entry(), timed_entry(size=256), **H200, commit="c0ffee" * 6 + "beef", date="2025-01-02T03:04:05+00:00"
    )
    (checkout.root / "plots" / "results" / "h200.json").write_text(json.dumps(recorded))
    approve(checkout.run("chart", status=0).stderr)
    assert {"out/progression.png", "out/sweep.png", "out/verification.png"} <= files(checkout.root)


def test_recorded_results_of_another_schema(checkout: Checkout, approve: Approve) -> None:
    checkout.bench(results(run_entry()))
    (checkout.root / "plots" / "results" / "h200.json").write_text(json.dumps({**results(), "schema": 7}))
    approve(checkout.run("chart", status=2).stderr)


def test_json_is_one_object_on_stdout(checkout: Checkout) -> None:
    checkout.bench(results(run_entry()))
    report = json.loads(checkout.run("chart", "--json").stdout)
    assert report["files"] == ["out/cpu.json", "out/verification.png"]
    assert report["runs"][0]["lesson"] == "01_naive"


def test_sizes_reach_the_bench(checkout: Checkout) -> None:
    (checkout.fakes / "bench.json").write_text(json.dumps(results(run_entry())))
    checkout.program("gemm_bench", f'echo "$@" >"$FAKES/arguments"\n{BENCH}cat "$FAKES/bench.json" >"$output"\n')
    checkout.run("chart", "--sizes", "512,1x02x3", status=0)
    assert (checkout.fakes / "arguments").read_text().startswith("--sizes 512,1x2x3 --output ")


def test_a_gpu_has_a_size_for_fast_lessons_too(checkout: Checkout) -> None:
    checkout.gpu()
    (checkout.fakes / "bench.json").write_text(json.dumps(results(timed_entry(), **H200)))
    checkout.program("gemm_bench", f'echo "$@" >"$FAKES/arguments"\n{BENCH}cat "$FAKES/bench.json" >"$output"\n')
    checkout.run("chart", status=0)
    assert (
        f"--sizes {SIZES['cuda']} --variant-sizes 4096 --large-sizes 16384 --output "
        in (checkout.fakes / "arguments").read_text()
    )
    checkout.run("chart", "--sizes", "16384", status=0)  # of whoever names it, every lesson
    assert (checkout.fakes / "arguments").read_text().startswith("--sizes 16384 --output ")


def test_a_variant_and_a_batch_reach_the_bench(checkout: Checkout) -> None:
    batch = timed_entry(size=256, variant="bf16.strided", batch=64)
    (checkout.fakes / "bench.json").write_text(json.dumps(results(batch, **H200)))
    checkout.program("gemm_bench", f'echo "$@" >"$FAKES/arguments"\n{BENCH}cat "$FAKES/bench.json" >"$output"\n')
    done = checkout.run("chart", "--sizes", "256", "--variant", "bf16.strided", "--batch", "064", status=0)
    assert (checkout.fakes / "arguments").read_text().startswith("--sizes 256 --variant=bf16.strided --batch=64 --output ")
    assert "64 · 256³" in done.stdout
    for refused in (("--batch", "x"), ("--batch", "-1"), ("--variant", "BF16"), ("--variant", "bf16 ")):
        checkout.fails("chart", *refused, words=(refused[0],))


def test_the_winner_of_cublas_is_named_for_each_size(checkout: Checkout) -> None:
    checkout.gpu()
    other = {"baseline": "cublasLt heuristic 3, CUBLAS_COMPUTE_32F"}
    checkout.bench(results(timed_entry(size=512), timed_entry(size=256, **other), timed_entry(size=1024, **other), **H200))
    said = checkout.run("chart", "--sizes", "256,512,1024", status=0).stdout.splitlines()
    assert said[-2:] == ["cuBLAS is cublasGemmEx at 512³.", f"cuBLAS is {other['baseline']} at 256³, 1024³."]


def test_a_lesson_that_cannot_be_run_is_reported_and_exits_1(checkout: Checkout, approve: Approve) -> None:
    failed = {**wrong("02_coalesced", 31, 33, 7), "ran": False, "failure": "A block may have 1024 threads."}
    checkout.bench(results(run_entry(), failed=[failed]), status=1)
    done = checkout.run("chart", status=1)
    approve(done.stdout + done.stderr)


def wrong(lesson: str, m: int, n: int, k: int) -> dict:
    """As gemm_bench writes it."""
    report = f"{lesson} is wrong at {m}×{n}×{k} (seed 7): 4 of {m * n} elements.\n  first wrong: row 0, column 1"
    return {"lesson": lesson, "variant": "fp32", "m": m, "n": n, "k": k, "ran": True, "failure": report}


def test_every_lesson_wrong_somewhere(checkout: Checkout, approve: Approve) -> None:
    failed = [wrong(name, *shape) for shape in ((256, 256, 256), (1, 1, 1)) for name in ("01_naive", "02_coalesced")]
    checkout.bench(results(run_entry(size=512), failed=[*failed, wrong("01_naive", 31, 33, 7)]), status=1)
    done = checkout.run("chart", "--sizes", "256,1x1x1,31x33x7,512", status=1)
    approve(done.stdout + done.stderr)


def test_results_survive_a_reader_who_leaves(checkout: Checkout) -> None:
    checkout.bench(results(run_entry()))
    with open("/dev/full", "w") as full:  # noqa: PTH123
        process = checkout.start("chart", stdout=full)
        said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 2
    assert re.match("gemm: Standard output .*: No space left on device;", said.splitlines()[-1])
    assert (checkout.root / "out" / "cpu.json").exists()


def test_skipped_lessons_are_named_and_where_nothing_ran_it_is_an_error(checkout: Checkout, approve: Approve) -> None:
    skipped = [{"lesson": "02_coalesced", "reason": "needs compute capability 9.0, found 7.5"}]
    said = []
    for runs, status in ([run_entry()], 0), ([], 2):
        checkout.bench(results(*runs, skipped=skipped))
        said.append(checkout.run("chart", status=status).stderr)
    approve("\n".join(said))


def test_a_bench_that_fails_is_one_sentence(checkout: Checkout, approve: Approve) -> None:
    endless = "02_coalesced did not end within 41 s: an endless loop, or threads that wait for each other."
    said = []
    for body in (
        'echo "progress 1 2 01_naive 256×256×256" >&2\nkill -SEGV $$\n',
        f'echo "progress 1 9 02_coalesced 512×512×512 verifying" >&2\necho "{endless}" >&2\nexit 2\n',
        "kill -KILL $$\n",
        'echo "The sizes need 900 GiB, the device has 1 GiB." >&2\nexit 2\n',
    ):
        checkout.program("gemm_bench", body)
        said.append(checkout.fails("chart", words=()))
    checkout.bench({})
    for content in ('{"schema": 1', '{"schema": 3}'):  # of another version
        (checkout.fakes / "bench.json").write_text(content)
        said.append(re.sub("/.*/gemm-[^/]*", "<folder>", checkout.fails("chart", words=())))
    approve("\n".join(said))
    assert not list((checkout.root / "out").iterdir())


def test_a_file_in_the_way_of_the_folder_is_noticed_before_measuring(checkout: Checkout, approve: Approve) -> None:
    (checkout.root / "out").touch()
    approve(refusals(checkout, ["chart"]))


def test_gpu_chart_goes_to_the_ignored_folder(checkout: Checkout, approve: Approve) -> None:
    checkout.gpu()
    checkout.bench(results(timed_entry(), timed_entry(size=256), **H200))
    done = checkout.run("chart", status=0)
    assert {"out/h200.json", "out/progression.png", "out/sweep.png"} <= files(checkout.root)
    assert "plots/results/h200.json" not in files(checkout.root)
    approve(done.stdout + done.stderr)


def test_gpu_chart_of_two_types(checkout: Checkout, approve: Approve) -> None:
    with (checkout.root / "CMakeLists.txt").open("a") as file:
        file.write("gemm_lesson(09a_wmma 09_tensorcore/a_wmma)\n")
    kernel = checkout.root / "09_tensorcore" / "a_wmma" / "kernel.cu"
    put(kernel.parent, {kernel.name: "int a_step;\n"})
    bf16 = {**timed_entry("09a_wmma"), "variant": "bf16", "ms_median": 0.4, "baseline_ms_median": 0.2}
    checkout.gpu()
    checkout.bench(results(timed_entry(), bf16, timed_entry(size=256), {**bf16, "m": 256, "n": 256, "k": 256}, **H200))
    done = checkout.run("chart", status=0)
    drawn = {f"out/{name}.png" for name in ("progression", "sweep", "tensorcore", "tensorcore_sweep")}
    assert drawn <= files(checkout.root)
    approve(done.stdout)
    written = json.loads((checkout.root / "out" / "h200.json").read_text())
    assert written["runs"][1]["kernel_hash"] == kernel_hash(kernel)


def test_gpu_chart_without_4096_has_no_progression(checkout: Checkout, approve: Approve) -> None:
    checkout.gpu()
    checkout.bench(results(timed_entry(size=256), **H200))
    done = checkout.run("chart", "--sizes", "256", status=0)
    assert not {"out/progression.png", "out/sweep.png"} & files(checkout.root)  # nor a sweep, which needs two sizes
    approve(done.stderr)


def test_record_on_h200_publishes(checkout: Checkout) -> None:
    checkout.gpu()
    checkout.bench(results(timed_entry(), timed_entry(size=256), **H200))
    commit = checkout.commit()
    for _ in range(2):  # what the first recording wrote is no change of a source
        checkout.run("chart", "--record", status=0)
    recorded = json.loads((checkout.root / "plots" / "results" / "h200.json").read_text())
    assert recorded["commit"] == commit
    assert recorded["runs"][0]["kernel_hash"] == kernel_hash(checkout.root / "01_naive" / "kernel.cu")
    assert {"plots/progression.png", "plots/sweep.png"} <= files(checkout.root)
    assert (checkout.root / "README.md").read_text() == "tables"


def test_record_on_another_gpu_publishes_no_chart(checkout: Checkout) -> None:
    checkout.gpu("NVIDIA GeForce RTX 4090")
    checkout.bench(results(timed_entry(), kind="cuda", name="NVIDIA GeForce RTX 4090"))
    checkout.commit()
    checkout.run("chart", "--record", status=0)
    assert {"plots/results/geforce-rtx-4090.json", "out/progression.png"} <= files(checkout.root)
    assert "plots/progression.png" not in files(checkout.root)
    assert not (checkout.root / "README.md").exists()


def test_what_cannot_be_recorded_is_refused_before_anything_is_built(checkout: Checkout, approve: Approve) -> None:
    said = [refusals(checkout, ["chart --record"])]
    checkout.gpu()
    checkout.env["GIT_CEILING_DIRECTORIES"] = str(checkout.root.parent)
    said.append(refusals(checkout, ["chart --record --sizes 256", "chart --record"]))  # there is no commit
    checkout.commit()
    (checkout.root / "01_naive" / "kernel.cu").write_text("int changed;\n")
    approve("\n".join([*said, refusals(checkout, ["chart --record"])]))


@pytest.mark.parametrize("why", ["wrong", "changed"])
def test_what_is_wrong_or_changes_meanwhile_is_not_recorded(checkout: Checkout, why: str, approve: Approve) -> None:
    checkout.gpu()
    failed = {"lesson": "02_coalesced", "variant": "fp32", "m": 1, "n": 1, "k": 1, "ran": True, "failure": "1 of 1 is wrong"}
    checkout.bench(
        results(timed_entry(), timed_entry(size=256), failed=[failed] if why == "wrong" else [], **H200),
        status=int(why == "wrong"),
    )
    checkout.commit()
    if why == "changed":
        bench = checkout.fakes / "programs" / "gemm_bench"
        bench.write_text(bench.read_text().replace("exit 0", "echo x >>01_naive/kernel.cu; exit 0"))
    approve(checkout.run("chart", "--record", status=1).stderr)
    assert "plots/results/h200.json" not in files(checkout.root)


SLOW = (
    'echo $$ >"$FAKES/pid"\necho "progress 1 2 01_naive" >&2\nwhile [ $# -gt 0 ]; do [ "$1" = --output ] && o=$2; shift; done\n'
)


def slow_bench(checkout: Checkout, tail: str = "sleep 600") -> None:
    """A bench that writes half a file and goes on for long."""
    temporary = checkout.fakes / "tmp"
    temporary.mkdir()
    checkout.env["TMPDIR"] = str(temporary)
    checkout.program("gemm_bench", SLOW + f'echo "{{" >"$o.tmp"\nsleep 600 &\necho $! >"$FAKES/grandchild"\n{tail}\n')


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_interrupt_leaves_nothing_behind(checkout: Checkout, number: signal.Signals, status: int) -> None:
    checkout.gpu()
    slow_bench(checkout)
    checkout.commit()
    old = checkout.root / "plots" / "results" / "h200.json"
    old.write_text("old")
    before = files(checkout.root)
    process = checkout.start("chart", "--record")
    pid, grandchild = int(wait_for(checkout.fakes / "pid")), int(wait_for(checkout.fakes / "grandchild"))
    returned, said = stop(process, number)
    assert returned == status, said
    assert said.splitlines()[-1] == "Interrupted: nothing was recorded."
    assert files(checkout.root) == before
    assert old.read_text() == "old"
    assert not list((checkout.fakes / "tmp").iterdir())
    assert not alive(pid)
    assert not alive(grandchild)


def test_interrupt_ends_a_child_that_ignores_sigterm(checkout: Checkout) -> None:
    slow_bench(checkout, "trap '' TERM\necho on >\"$FAKES/deaf\"\nwhile :; do sleep 1; done")
    process = checkout.start("chart")
    wait_for(checkout.fakes / "deaf")
    pid = int(wait_for(checkout.fakes / "pid"))
    assert stop(process, signal.SIGINT)[0] == 130
    assert not alive(pid)


def test_interrupt_restores_the_terminal(checkout: Checkout) -> None:
    slow_bench(checkout)
    checkout.env["TERM"] = "xterm-256color"
    master, slave = pseudo_terminal()
    process = checkout.start("chart", stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    wait_for(checkout.fakes / "pid")
    process.send_signal(signal.SIGINT)
    seen = b""
    try:
        while data := os.read(master, 4096):
            seen += data
    except OSError:  # EIO: the other end is closed
        pass
    os.close(master)
    assert process.wait(timeout=PATIENCE) == 130
    assert b"\x1b[?25l" in seen, "the bar hides the cursor"
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l")
    assert b"Interrupted: nothing was recorded." in seen


def test_interrupt_while_drawing_says_that_results_are_there(checkout: Checkout) -> None:
    checkout.bench(results(run_entry()))
    slow = (
        "def draw(results, out_stem):\n    (out_stem.parent / 'drawing').write_text('x\\n')\n    __import__('time').sleep(600)\n"
    )
    (checkout.root / "plots" / "verification.py").write_text(slow)
    process = checkout.start("chart")
    wait_for(checkout.root / "out" / "drawing")
    status, said = stop(process, signal.SIGINT)
    assert status == 130
    assert said.splitlines()[-1].startswith("Interrupted: ") and " out/cpu.json; " in said


def test_plain_progress_without_a_terminal(checkout: Checkout) -> None:
    checkout.bench(results(run_entry()))
    bench = checkout.fakes / "programs" / "gemm_bench"
    bench.write_text(bench.read_text().replace("cat ", "sleep 3.2\ncat "))
    done = checkout.run("chart")
    assert done.stderr.splitlines()[0] == "Verifying and timing: 1/2 01_naive 256×256×256"
    assert "\x1b" not in done.stderr


def test_a_row_for_every_kind_of_variant() -> None:
    """Of the slow kernels (tests/kernels) the right ones are ok, and of their mistakes some are wrong at any seed."""
    program = ROOT / "build" / "cpu" / "bin" / "slow_bench"
    if not program.exists():
        pytest.skip("build/cpu/bin/slow_bench is not built; cmake --build build/cpu --target gemm_tests builds it")
    results, _ = chart.measured(program, "150")
    names, columns = chart.columns(results, "150")
    assert [title for title, _ in columns] == ["150³", "3 · 150³", "4 groups · 150³"]
    rows = list(zip(names, *(cells for _, cells in columns), strict=True))
    right = {name for name, *row in rows if any(cell.startswith("ok ") for cell in row)}
    kernels = ("int8", "fp8", "fused", "quantized", "quantized_rounded", "strided", "grouped")
    assert right >= {f"slow_{kernel}" for kernel in kernels}
    assert {run["variant"] for run in results["runs"]} == {
        "int8_int32", "e4m3_bf16.nt", "bf16+bias+gelu+residual+to_fp32", "int4g128.bf16", "bf16.strided", "bf16.grouped",
    }  # fmt: skip
    wrong = {name for name, *row in rows if "WRONG" in row}
    assert wrong >= {"unsigned_inputs", "taken_for_e5m2", "no_bias", "gelu_with_erf", "one_scale_for_all"}
    assert wrong >= {"first_alone", "first_group_alone", "up_to_an_empty_group"}
