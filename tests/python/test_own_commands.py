"""`./gemm run`, `sass` and `timeline` of a kernel that is no lesson's."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import alone, whole_families
from test_nvcc import find_nvcc, nvcc_command

from runner.core import doctor
from runner.core.results import ROOT, UserError
from runner.inspect import disassembly, own_nvcc
from runner.inspect.inspection import Request
from runner.inspect.own import Options, descriptor_of
from runner.measure import chart, own

KERNELS = ROOT / "tests" / "kernels" / "own"
PLANTED = ["--call=tiles<<<dim3(N/T,M/T),dim3(T,T)>>>", "--sizes=32x32x64"]
HOPPER = ["--call=multiply(M,N,K,A,lda,B,ldb,C,ldc)", "--variant=bf16_fp32.nt"]
CPU = doctor.Device("cpu", None, (), "kernels are tested on the CPU")
SIMPLE = """__global__ void k(int N, int K, const float* A, const float* B, float* C) {
    float sum = 0;
    for (int i = 0; i < K; ++i) sum += A[blockIdx.x * K + i] * B[i * N + threadIdx.x];
    C[blockIdx.x * N + threadIdx.x] = sum;
}
int main() { return 0; }
"""
CALL = "k<<<M, N>>>(N, K, A, B, C)"


def run(command: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "runner", command, *options], capture_output=True, text=True, cwd=ROOT)


def test_run_says_the_verdict_without_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMM_DEVICE", "cpu")  # on a GPU its kernel's first bug ends everything
    done = run("run", str(KERNELS / "three_bugs.cu"), *PLANTED)
    assert done.returncode == 1, done.stderr
    assert "race:" in done.stdout and "past the end of Bs" in done.stdout and "Not timed" in done.stdout
    assert "sectors/request" not in done.stdout
    done = run("run", str(KERNELS / "half2.cu"))  # with a .gemm.toml
    assert done.returncode == 0, done.stdout + done.stderr
    assert "few digits" in done.stdout


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        ("run", ["--rounds=3"], "--rounds is for lessons"),
        ("run", ["--verify-only"], "--verify-only is for lessons"),
        ("sass", ["--mine"], "--mine is for lessons"),
        ("timeline", ["--record"], "--record is for lessons"),
        ("timeline", PLANTED, "waits at an mbarrier"),
        ("run", [], "--call must say how"),
    ],
)
def test_what_has_no_meaning_for_such_a_file_is_one_sentence(command: str, options: list[str], words: str) -> None:
    done = run(command, str(KERNELS / "three_bugs.cu"), *options)
    assert done.returncode == 2, done.stdout
    assert done.stderr.splitlines()[-1].startswith("gemm: ") and words in done.stderr.splitlines()[-1]
    for name in ("run", "sass", "timeline"):
        assert run(name, "12", "--call=x").returncode == 2


def test_a_timeline_tells_producer_and_consumers_by_what_their_mbarriers_wait_for() -> None:
    done = run("timeline", str(KERNELS / "hopper.cu"), *HOPPER, "--sizes=128x64x256", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["lesson"], found["m"], found["n"], found["k"], found["gpu"]) == ("hopper.cu", 128, 64, 256, None)
    kinds = {lane["name"]: {span[0] for span in lane["spans"]} for lane in found["cpu"]["lanes"]}
    assert set(kinds) == {"producer", "consumer 0", "consumer 1"}
    assert {"loads", "mbarrier"} <= kinds["producer"] and "full" not in kinds["producer"]  # an empty stage is arrivals alone
    assert all({"products", "full", "writes"} <= kinds[name] for name in ("consumer 0", "consumer 1"))


def test_sizes_on_a_gpu_are_what_is_asked_for_or_the_next_multiples() -> None:
    claims = Options(multiples="M:96,K:1000")
    found = own.shape_of(Options(), claims, Request(), False)
    assert (found.m, found.n, found.k) == (4128, 4096, 5000)
    given = Options(multiples="M:96,K:1000", sizes="96x8x1000")
    found = own.shape_of(given, given, Request(), False)
    assert (found.m, found.n, found.k) == (96, 8, 1000)
    with pytest.raises(UserError, match="no multiple of 96"):
        own.shape_of(Options(), claims, Request(128, 128, 1000), True)


@pytest.mark.long
def test_a_kernel_is_measured_beside_lessons(tmp_path: Path) -> None:
    """As on a GPU, by the same program; the CPU device verifies alone."""
    results = {}
    with alone("build"), pytest.MonkeyPatch.context() as patched:
        patched.setenv("GEMM_NO_INSTALL", "1")
        for name, text in (("right", SIMPLE), ("wrong", SIMPLE.replace("i < K", "i < K - 1"))):
            file = tmp_path / f"{name}.cu"
            file.write_text(text, encoding="utf-8")
            folder = tmp_path / name
            folder.mkdir()
            made, variant, _ = own.program(CPU, file, Options(call=CALL), folder, ["02_coalesced", "03_smem"])
            results[name], _ = chart.measured(made, "33x47x20", ["--variant", variant, "--seed=1"])
        # The kernel knows no pitches, which the lessons do.
        results["tight"], _ = chart.measured(made, "33x47x20", ["--variant", variant, "--seed=1", "--ldc=48"])
        tf32 = Options(call="by_wmma<<<dim3(N/16,1),32>>>(N,K,A,B,C)", variant="fp32.nt", sums="tf32")
        made, variant, _ = own.program(CPU, KERNELS / "tf32.cu", tf32, tmp_path, ["02_coalesced"])
        results["tf32"], _ = chart.measured(made, "16x32x64", ["--variant", variant, "--seed=1"])
    assert [run["lesson"] for run in results["right"]["runs"]] == ["02_coalesced", "03_smem", "right.cu"]
    assert [run["lesson"] for run in results["wrong"]["failed"]] == ["wrong.cu"]
    assert [run["lesson"] for run in results["tight"]["runs"]] == ["02_coalesced", "03_smem"]
    assert [run["lesson"] for run in results["tight"]["failed"]] == ["wrong.cu"]
    assert [(run["lesson"], run["variant"]) for run in results["tf32"]["runs"]] == [("tf32.cu", "tf32_fp32.nt")]


@pytest.mark.parametrize(
    ("options", "words"),
    [(Options(sums="fp16"), "add in FP32"), (Options(beta_reads_c=True), "beta = 0"), (Options(sums="tf32"), None)],
)
def test_what_is_not_timed_has_its_reason(options: Options, words: str | None) -> None:
    with pytest.raises(UserError, match=words) if words else contextlib.nullcontext():
        own.refuse_untimed(options)


@pytest.mark.parametrize(("given", "kept", "expected"), [(["--ldc=64"], "", ["--ldc=64"]), ([], "lda = 80\n", ["--lda=80"])])
def test_pitches_that_are_typed_or_kept_reach_the_program_that_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], kept: str, expected: list[str]
) -> None:
    file = tmp_path / "k.cu"
    file.write_text(SIMPLE, encoding="utf-8")
    file.with_suffix(".gemm.toml").write_text(f'call = "{CALL}"\n{kept}', encoding="utf-8")
    told: list[list[str]] = []

    def measured(_: Path, sizes: str, options: list[str]) -> tuple[Any, list[str]]:
        told.append([sizes, *options])
        return {"device": {"name": "a GPU"}, "runs": [{"lesson": "k.cu"}]}, []

    monkeypatch.setattr(own.doctor, "choose", lambda: doctor.Device("cuda", None, (), ""))
    monkeypatch.setattr(own, "program", lambda *_: (file, "fp32", []))
    monkeypatch.setattr(own.gpu, "alone", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(own.chart, "measured", measured)
    request = Request(32, 48, 64, None, (*given, "--seed=7"))
    assert own.run_own(file, Options(), request, True, True) == 0
    assert told == [["32x48x64", "--variant", "fp32", *given, "--seed=7", *[one for one in expected if one not in given]]]
    with pytest.raises(UserError, match="--like works only on the CPU device"):
        own.run_own(file, Options(), Request(32, 48, 64, None, ("--like=sm_86",)), True, True)


needs_nvcc = pytest.mark.skipif(find_nvcc() is None, reason="no nvcc on this machine")


@needs_nvcc
@pytest.mark.long
def test_what_is_timed_compiles_with_nvcc(tmp_path: Path) -> None:
    """A launch with tensor maps in the call, and a launcher of the file; the descriptor beside them."""
    maps = Options(call="copied<<<dim3(N/64,M/8),32>>>(tensor_map(B,K,N,8,64,0),tensor_map(C,M,N,8,64,0))", variant="fp32")
    launcher = Options(call=HOPPER[0].removeprefix("--call="), variant="bf16_fp32.nt")
    for name, options in [("boxes", maps), ("hopper", launcher)][: 2 if whole_families() else 1]:
        file = KERNELS / f"{name}.cu"
        source, flags, _, variant = own_nvcc.with_call(file, options, tmp_path)
        lesson = tmp_path / "lesson.cu"
        lesson.write_text(own_nvcc.MAKES_MAPS + descriptor_of(file, options, variant), encoding="utf-8")
        target = "--generate-code=arch=compute_90a,code=sm_90a"
        for one, more in ((source, flags), (lesson, [])):
            command = [*nvcc_command(), target, *more, "-c", str(one), "-o", str(tmp_path / "made.o")]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr


@needs_nvcc
@pytest.mark.long
def test_machine_code_of_a_template_that_the_call_launches(tmp_path: Path) -> None:
    if disassembly.missing():
        pytest.skip("cuobjdump is not here; ./gemm sass 01 installs it")
    file = tmp_path / "k.cu"
    file.write_text("template <int N_>\n" + SIMPLE.replace("* N +", "* N_ +"), encoding="utf-8")
    alone_ = run("sass", str(file), "--arch=90")
    assert alone_.returncode == 2 and "--call" in alone_.stderr
    done = run("sass", str(file), f"--call={CALL.replace('k<<<', 'k<8><<<')}", "--arch=90", "--json")
    assert done.returncode == 0, done.stderr
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert kernel["name"] == "k<8>" or kernel["name"] == kernel["mangled"]
    assert kernel["loop"]["multiply"] == "FFMA"
