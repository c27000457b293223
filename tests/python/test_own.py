"""`./gemm inspect my.cu`: kernels that are no lesson's (tests/kernels/own), compiled unmodified, and what is said of them."""

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from runner.core.results import ROOT, UserError
from runner.inspect import own_example
from runner.inspect.inspection import Request
from runner.inspect.own import Options, completed, multiples_of, sizes_of, traced_own, with_pitches
from runner.inspect.own_source import Place, foreign, guess, variant_of

KERNELS = ROOT / "tests" / "kernels" / "own"
REPOSITORY = KERNELS / "repository"


def inspect(file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "runner", "inspect", str(file), *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def traced(file: Path, *options: str) -> tuple[dict, int]:
    done = inspect(file, "--json", *options)
    assert done.stdout, done.stderr
    return json.loads(done.stdout), done.returncode


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("naive", ["--call", "naive<<<dim3(ceil(N,16),ceil(M,16)),dim3(16,16)>>>", "--sizes=33x47x20", "--beta-reads-c"]),
        (
            "mma",
            ["--call", "mma_nt<<<dim3(N/16,M/16),32>>>(M,N,K,A,B,C)", "--variant=fp16_fp32.nt", "--multiples=M:16,N:16,K:16"],
        ),
        ("named_barriers", ["--call=groups<<<dim3(N/16,M/16),256>>>", "--multiples=M:16,N:16,K:16"]),
        ("stmatrix", ["--call=mma_nn<<<dim3(N/16,M/16),32>>>", "--variant=fp16", "--multiples=M:16,N:16,K:16"]),
        ("reader_fence", ["--call=rows<<<dim3(N/64,M),96>>>", "--multiples=M:1,N:64,K:1", "--sizes=2x64x8"]),
        ("reader_fence", ["--call=all_of_it<<<dim3(N/64,M),64>>>", "--multiples=M:1,N:64,K:1", "--sizes=2x64x8"]),
        ("cluster", ["--call=shared_b<<<dim3(N/16,M/16),dim3(16,16)>>>", "--multiples=M:32,N:16,K:16"]),
        ("groups", ["--call=together(M,N,K,A,B,C)", "--sizes=16x32x64"]),
        ("groups", ["--call=by_tiles<8><<<dim3(M,N/8),64>>>(N,K,A,B,C)", "--sizes=4x16x64"]),
        ("groups", ["--call=by_tiles<32><<<dim3(M,N/2),64>>>(N,K,A,B,C)", "--sizes=4x16x64"]),
        ("groups", ["--call=by_odd_lanes<<<dim3(N,M),32>>>", "--sizes=4x16x64"]),
        ("groups", ["--call=by_groups<<<dim3(N,M),64>>>", "--sizes=4x16x64"]),
        ("groups", ["--call=by_clusters<<<2*M,32>>>", "--sizes=4x64x64"]),
        ("volta", ["--call=quads<<<dim3(N/8,M/32),32>>>", "--sizes=64x16x32"]),
        ("volta", ["--call=doubles<<<dim3(N/8,M/8),32>>>", "--sizes=16x16x32"]),
        ("views", ["--call=views(M,N,K,A,lda,B,C)", "--sizes=8x16x16", "--variant=fp32.nt", "--lda=20"]),
        ("instructions", ["--call=all_of_them<<<M,N>>>", "--sizes=2x64x16"]),
        ("libcu", ["--call=slices<<<dim3(M,4),N>>>", "--sizes=4x32x50"]),
        ("libcu", ["--call=by_fours(M,N,K,A,B,C)", "--sizes=4x128x16"]),
        ("libcu", ["--call=rows<<<M,N>>>", "--sizes=4x32x64"]),
        ("low_bits", ["--call=strip<<<1,128>>>", "--variant=fp16_fp32.nt", "--sizes=64x8x48"]),
        ("low_bits", ["--call=by_address(K,A,B,C)", "--variant=fp16_fp32.nt", "--sizes=64x8x48"]),
        ("instructions", ["--call=arrivals<<<M,128>>>", "--sizes=2x64x512"]),
        (
            "hopper",
            [
                "--call=multiply(M,N,K,A,lda,B,ldb,C,ldc)",
                "--variant=bf16_fp32.nt",
                "--multiples=M:128,N:64,K:64",
                "--sizes=128x64x256",
            ],
        ),
    ],
)
def test_kernels_run_unmodified_and_are_right(name: str, options: list[str]) -> None:
    found, status = traced(KERNELS / f"{name}.cu", *options)
    assert (found["error"], found["findings"], found["verdict"]["passed"], status) == (None, [], True, 0)
    source = {line["file"] for line in found["lines"]}
    assert source <= {f"tests/kernels/own/{file}" for file in (f"{name}.cu", "ptx_tools.cuh")} | {
        str(KERNELS / file) for file in (f"{name}.cu", "ptx_tools.cuh")
    }


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fp16_shapes", ["--call=all(N,K,A,B,C)", "--variant=fp16.nt", "--sums=fp16", "--sizes=128x32x64"]),
        (
            "volta",
            ["--call=short_quads<<<dim3(N/8,M/32),32>>>(N,K,A,B,C)", "--variant=fp16.nt", "--sums=fp16", "--sizes=64x16x32"],
        ),
        ("tf32", ["--call=both(N,K,A,B,C)", "--variant=fp32.nt", "--sums=tf32", "--sizes=32x32x64"]),
        ("pipeline", ["--call=all(N,K,A,B,C)", "--sizes=64x32x64"]),
    ],
)
def test_more_shapes_and_pipelines_run_as_they_stand(name: str, options: list[str]) -> None:
    found, status = traced(KERNELS / f"{name}.cu", *options)
    assert (found["error"], found["findings"], found["undefined"], status) == (None, [], [], 0)
    assert found["verdict"]["rms_error"] < 0.1


@pytest.mark.parametrize(
    "options",
    [
        ["--call=rows<<<M,N,Bytes<60000,1>::kAll>>>(N,K,A,B,C)", "--variant=fp16_fp32.nt", "--sizes=4x32x16"],
        ["--call=by_address(M,N,K,A,B,C)", "--variant=fp16_fp32.nt", "--sizes=4x32x16"],
        ["--call=tile<<<1,32>>>(A,B,C)", "--variant=fp16_fp32.nt", "--sizes=16x8x16"],
    ],
)
def test_a_launcher_of_a_repository_is_taken_with_what_is_around_it(options: list[str]) -> None:
    done = inspect(REPOSITORY / "src" / "launchers.cu", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is left out: Unknown, broken." in done.stdout
    assert "Right at" in done.stdout
    assert ("Compiled with it: " in done.stdout) == ("by_address" in options[0])  # it alone calls what is in tools.cu


def test_a_cooperative_launch_by_address_runs_where_all_its_blocks_fit(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    text = """__global__ void rows(int N, int K, const float* A, const float* B, float* C) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[blockIdx.x * K + k] * B[k * N + threadIdx.x];
    C[blockIdx.x * N + threadIdx.x] = sum;
}
void together(int M, int N, int K, const float* A, const float* B, float* C) {
    void* arguments[] = {&N, &K, &A, &B, &C};
    cudaLaunchCooperativeKernel((void*)rows, dim3(M), dim3(N), arguments, 0, 0);
}
"""
    file.write_text(text, encoding="utf-8")
    found, status = traced(file, "--call=together(M,N,K,A,B,C)", "--sizes=264x1024x1")
    assert (found["error"], found["findings"], found["verdict"]["passed"], status) == (None, [], True, 0)
    found, status = traced(file, "--call=together(M,N,K,A,B,C)", "--sizes=265x1024x1")
    numbers = "a cooperative launch of 265 blocks, but the device holds 264 at once (132 SMs with room for 2 each)"
    assert numbers in found["error"]["text"]
    assert status == 1


def test_blocks_of_a_cooperative_launch_alone_may_wait_for_the_grid() -> None:
    file = KERNELS / "groups.cu"
    found, status = traced(file, "--call=in_halves<<<dim3(M,2),N>>>(M,N,K,A,B,C)", "--sizes=4x32x16")
    assert (found["error"]["id"], status) == ("trap", 1)
    assert "this_grid().sync() at tests/kernels/own/groups.cu:18" in found["error"]["text"]
    assert "not cooperative" in found["error"]["text"]
    found, status = traced(file, "--call=together(M,N,K,A,B,C,false)", "--sizes=4x32x16")
    assert ({one["id"] for one in found["findings"]}, status) == ({"unordered_blocks"}, 1)


def test_arrays_of_several_launches_keep_their_names() -> None:
    found, status = traced(KERNELS / "two_kernels.cu", "--call=in_two(M,N,K,A,B,C)", "--sizes=4x32x16")
    assert (found["error"], found["findings"], found["verdict"]["passed"], status) == (None, [], True, 0)
    named = {(line["line"], line["array"]) for line in found["lines"]}
    shared = {(7, "a_row"), (8, "b_row"), (9, "a_row"), (9, "b_row"), (16, "shared memory"), (17, "shared memory")}
    assert named == shared | {(7, "A"), (8, "B"), (17, "C"), *((line, "global memory") for line in (11, 16, 17))}


@pytest.mark.parametrize("call", ["k<<<M, N>>>", "launched", "launched_one", "by_type"])
def test_a_launch_leaves_to_default_arguments_what_they_say(call: str, tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    text = """constexpr float kOnce = 1.0f;
__global__ void k(int N, int K, const float* A, const float* B, float* C, int first = 0, float factor = kOnce * min(1.0f, 2.0f)) {
    float sum = 0.0f;
    for (int k = first; k < K; ++k) sum += A[blockIdx.x * K + k] * B[k * N + threadIdx.x];
    C[blockIdx.x * N + threadIdx.x] = factor * sum;
}
template <class T>
__global__ void of_type(int N, int K, const T* A, const T* B, T* C, int first = 0) {
    k(N, K, A, B, C, first);
}
void launched(int N, int K, const float* A, const float* B, float* C, int zero = 1 - 1) {
    k<<<2, N>>>(N, K, A, B, C, 0);
    k<<<2, N>>>(N, K, A, B, C, zero);
}
void launched_one(int N, int K, const float* A, const float* B, float* C, cudaStream_t stream = nullptr) {
    k<<<2, N, 0, stream>>>(N, K, A, B, C);
}
void by_type(int N, int K, const float* A, const float* B, float* C) {
    of_type<<<2, N>>>(N, K, A, B, C);
    of_type<float><<<2, N>>>(N, K, A, B, C);
}
"""
    file.write_text(text, encoding="utf-8")
    found, status = traced(file, f"--call={call}(N, K, A, B, C)", "--sizes=2x32x16")
    assert (found["error"], found["findings"], found["verdict"]["passed"], status) == (None, [], True, 0)


def test_a_division_by_zero_is_found_at_its_line(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    text = """__global__ void k(int N, float* C, int divisor) {
    C[threadIdx.x] =
        N / (divisor / 2);
}
void host(int N, float* C, int divisor) {
    k<<<N / (divisor / 2), 32>>>(N, C, 2);
}
"""
    file.write_text(text, encoding="utf-8")
    found, status = traced(file, "--call=k<<<1, 32>>>(N, C, 1)", "--sizes=1x32x1")
    assert (found["error"]["id"], status) == ("division_by_zero", 1)
    assert f"integer division by zero at {file}:3. (A GPU does not stop there" in found["error"]["text"]
    done = inspect(file, "--call=host(N, C, 1)", "--sizes=1x32x1")
    assert "divides an integer by zero in code of the host" in done.stderr


def test_shared_arrays_of_an_extern_c_kernel_are_its_own(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    text = """extern "C" __global__ void rows(int N, int K, const float* A, const float* B, float* C) {
    __shared__ float As[32];
    float sum = 0.0f;
    for (int k = 0; k < K; k += 32) {
        As[threadIdx.x] = A[blockIdx.x * K + k + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 32; ++i) sum += As[i] * B[(k + i) * N + threadIdx.x];
        __syncthreads();
    }
    C[blockIdx.x * N + threadIdx.x] = sum;
}
"""
    file.write_text(text, encoding="utf-8")
    found, status = traced(file, "--call=rows<<<M,N>>>", "--sizes=2x32x64")
    assert (found["error"], found["findings"], found["verdict"]["passed"], status) == (None, [], True, 0)
    assert {line["array"] for line in found["lines"]} == {"A", "B", "C", "As"}


def test_shared_arrays_of_functions_that_a_kernel_calls_are_its_own(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    text = """namespace gemm {
template <int T>
__device__ float staged(const float* from) {
    __shared__ float taken[T];
    __syncthreads();
    taken[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    return taken[T - 1 - threadIdx.x + BEYOND];
}
}  // namespace gemm
template <int T>
__device__ void all_of_it(int N, int K, const float* A, const float* B, float* C) {
    __shared__ float row[T];
    float sum = 0.0f;
    for (int k = 0; k < K; k += T) {
        __syncthreads();
        row[T - 1 - threadIdx.x] = gemm::staged<T>(A + blockIdx.x * K + k);
        __syncthreads();
        for (int i = 0; i < T; ++i) sum += row[i] * B[(k + i) * N + threadIdx.x];
    }
    C[blockIdx.x * N + threadIdx.x] = sum;
}
#define KERNEL(T) \\
    extern "C" __global__ void rows_##T(int N, int K, const float* A, const float* B, float* C) { \\
        all_of_it<T>(N, K, A, B, C);                                                              \\
    }
KERNEL(32)
KERNEL(64)
"""
    file.write_text(text, encoding="utf-8")
    options = ["--call=rows_32<<<M,N>>>", "--sizes=2x32x64"]
    found, status = traced(file, *options, "--define=BEYOND=0")
    assert (found["error"], found["findings"], found["verdict"]["passed"], status) == (None, [], True, 0)
    assert {line["array"] for line in found["lines"]} == {"A", "B", "C", "row", "taken"}
    found, status = traced(file, *options, "--define=BEYOND=1")
    assert ({one["id"] for one in found["findings"]}, status) == ({"shared_out_of_bounds"}, 1)
    assert "past the end of taken" in found["findings"][0]["text"]


def test_a_kernel_may_be_called_as_the_course_is(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    text = """namespace {
__global__ void gemm(int N, int K, const float* A, const float* B, float* C) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[blockIdx.x * K + k] * B[k * N + threadIdx.x];
    C[blockIdx.x * N + threadIdx.x] = sum;
}
}  // namespace
void run(unsigned M, unsigned N, int K, const float* A, const float* B, float* C) {
    uint3 grid = {M, 1, 1}, block = {N, 1, 1};
    gemm<<<grid, block>>>(N, K, A, B, C);
}
"""
    for within in (text, text.replace("namespace {", "").replace("}  // namespace", "")):
        file.write_text(within, encoding="utf-8")
        for call in ("gemm<<<M, N>>>", "run(M, N, K, A, B, C)"):
            found, status = traced(file, f"--call={call}", "--sizes=2x32x16")
            assert (found["error"], found["findings"], found["verdict"]["passed"], status) == (None, [], True, 0)


def test_a_block_copies_between_pointers_of_two_types(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    text = """#include <cooperative_groups.h>
#include <cuda/pipeline>
__global__ void rows(int N, const float* A, const float* B, float* C) {
    auto block = cooperative_groups::this_thread_block();
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
    __shared__ float4 row[8];
    auto pipe = cuda::make_pipeline(block, &state);
    pipe.producer_acquire();
    cuda::memcpy_async(block, row, A + blockIdx.x * 32, 32 * sizeof(float), pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 32; ++k) sum += (&row[k / 4].x)[k % 4] * B[k * N + threadIdx.x];
    C[blockIdx.x * N + threadIdx.x] = sum;
}
"""
    file.write_text(text, encoding="utf-8")
    found, status = traced(file, "--call=rows<<<M, N>>>(N, A, B, C)", "--sizes=2x32x32")
    assert (found["error"], found["findings"], found["verdict"]["passed"], status) == (None, [], True, 0)


def test_an_asm_statement_may_have_directives_in_it(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    text = """__device__ float loaded(const float* from, bool guard) {
    float value;
    asm volatile("{.reg .pred p;\\n"
                 " setp.ne.b32 p, %2, 0;\\n"
                 " mov.b32 %0, 0;\\n"
#if __CUDACC_VER_MAJOR__ >= 11 && \\
    __CUDA_ARCH__ >= 750
                 " @p ld.global.nc.L2::128B.f32 %0, [%1];}\\n"
#else
                 " nonsense.f32 %0, [%1];}\\n"
#endif
                 : "=f"(value)
                 : "l"(from), "r"((int)guard));
    return value;
}
__global__ void rows(int N, int K, const float* A, const float* B, float* C) {
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += loaded(A + blockIdx.x * K + k, true) * loaded(B + k * N + threadIdx.x, true);
    C[blockIdx.x * N + threadIdx.x] = sum + loaded(nullptr, false);
}
"""
    file.write_text(text, encoding="utf-8")
    found, status = traced(file, "--call=rows<<<M, N>>>", "--sizes=2x32x16")
    assert (found["error"], found["findings"], found["verdict"]["passed"], status) == (None, [], True, 0)
    lines = {line["line"] for line in found["lines"] if line["array"] in ("A", "B")}
    assert lines and lines <= set(range(3, 13))


def test_a_function_that_the_call_needs_and_that_does_not_compile_is_told_with_its_error(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(
        "#include <nowhere.h>\n__global__ void k(float* C) { C[0] = 0.0f; }\n"
        "void run(float* C);\nvoid run(float* C) {\n    nothing(C);\n    k<<<1, 1>>>(C);\n}\n",
        encoding="utf-8",
    )
    done = inspect(file, "--call=run(C)", "--sizes=1x1x1")
    assert done.returncode == 1
    assert "run(float*), which does not compile for it." in done.stderr
    assert f"{file}:5:" in done.stderr
    file.write_text("#include <nowhere.h>\n__global__ void k(Unknown<3> C) {}\n", encoding="utf-8")
    done = inspect(file, "--call=k<<<1, 1>>>(C)", "--sizes=1x1x1")
    assert "count as empty: nowhere.h." in done.stderr


def test_a_kernel_that_reads_c_whatever_beta_is_runs_with_beta_one() -> None:
    done = inspect(REPOSITORY / "src" / "launchers.cu", "--call=blended<<<M,N>>>", "--sizes=4x32x16")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "With beta = 0 it reads C" in done.stdout


def test_rows_may_be_further_apart_than_they_are_long(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(
        "__global__ void k(int K, const float* A, int lda, const float* B, int ldb, float* C, int ldc) {\n"
        "    float sum = 0;\n    for (int i = 0; i < K; ++i) sum += A[blockIdx.x * lda + i] * B[i * ldb + threadIdx.x];\n"
        "    C[blockIdx.x * ldc + threadIdx.x] = sum;\n}\n",
        encoding="utf-8",
    )
    call = ["--call=k<<<M, N>>>(K, A, lda, B, ldb, C, N + 3)", "--sizes=4x8x6", "--lda=9", "--ldb=11"]
    right, wrong = inspect(file, *call, "--ldc=11"), inspect(file, *call, "--ldc=12")
    assert (right.returncode, wrong.returncode) == (0, 1), right.stdout + right.stderr
    assert "lda must be at least K = 6" in inspect(file, *call[:2], "--lda=5").stderr


def test_a_call_makes_tensor_maps() -> None:
    call = "--call=copied<<<dim3(N/64,M/8),32>>>(tensor_map(B,K,N,8,64,0),tensor_map(C,M,N,8,64,0))"
    found, status = traced(KERNELS / "boxes.cu", call, "--sizes=16x128x16", "--variant=fp32")
    assert (found["error"], [one["id"] for one in found["findings"]]) == (None, [])
    refused = inspect(KERNELS / "boxes.cu", call.replace("8,64,0", "8,64,32"), "--sizes=16x128x16", "--variant=fp32")
    assert refused.returncode == 1
    assert "bytes" in refused.stdout


def test_what_a_gpu_lets_pass_is_said_and_the_launch_goes_on(tmp_path: Path) -> None:
    given = ["--call=both(M,N,K,A,B,C)", "--sizes=14x32x16", f"--include={KERNELS / 'include'}", "--define=TILE_ROWS=4"]
    found, status = traced(KERNELS / "returned.cu", *given)
    assert (found["error"], found["findings"], found["verdict"]["passed"], status) == (None, [], True, 0)
    said = {one["id"]: one["text"] for one in found["undefined"]}
    assert set(said) == {"divergent_barrier"}
    assert any("returned without reaching" in one["text"] for one in found["undefined"])
    assert any("returned.cu:" in one["text"] and "while thread" in one["text"] for one in found["undefined"])
    with pytest.raises(UserError):
        completed(KERNELS / "returned.cu", Options(include=str(tmp_path / "nowhere")))


@pytest.mark.parametrize(
    ("call", "sizes", "findings"),
    [("flagged<<<M, 64>>>", "4x32x32", set()), ("raced<<<M, 96>>>", "2x64x64", {"race"})],
)
def test_what_comes_after_a_tolerated_fault_is_looked_at_too(call: str, sizes: str, findings: set[str]) -> None:
    found, status = traced(KERNELS / "goes_on.cu", f"--call={call}", f"--sizes={sizes}")
    assert {one["id"] for one in found["undefined"]} == {"divergent_barrier"}
    assert {one["id"] for one in found["findings"]} == findings
    assert (found["error"], status) == (None, int(bool(findings)))


STEPS = ("--sizes=2x64x64", "--call")


@pytest.mark.parametrize(
    ("kernel", "undefined", "findings"),
    [
        ("stored<<<dim3(N/32,M),32>>>", {"race", "uninitialised_read"}, set()),
        ("copied<<<dim3(N/32,M),32>>>", {"race", "uninitialised_read", "copy_in_flight"}, set()),
        # Its value depends on who comes first; on which of two lanes is the last; on the other warp.
        ("branched<<<dim3(N/32,M),32>>>", set(), {"race"}),
        ("same_place<<<dim3(N/32,M),32>>>", set(), {"race"}),
        ("two_warps<<<dim3(N/64,M),64>>>", set(), {"race"}),
    ],
)
def test_what_lanes_of_one_warp_do_in_step_is_undefined_and_what_depends_on_their_order_is_wrong(
    kernel: str, undefined: set[str], findings: set[str]
) -> None:
    found, status = traced(KERNELS / "one_warp.cu", *STEPS, kernel)
    said = {one["id"] for one in found["undefined"]}
    assert said <= undefined
    assert bool(said) == bool(undefined)
    assert {one["id"] for one in found["findings"]} >= findings
    assert (not found["findings"] and found["verdict"]["passed"], status) == ((True, 0) if undefined else (False, 1))
    assert all("one_warp.cu:" in one["text"] and "__syncwarp()" in one["text"] for one in found["undefined"])


@pytest.mark.parametrize(("alignment", "told"), [(16, "a multiple of 128"), (128, "its result is wrong"), (1024, None)])
def test_dynamic_shared_memory_lies_where_its_declaration_allows(alignment: int, told: str | None) -> None:
    call = "--call=row<<<dim3(N/32,M),32,1032>>>(tensor_map(B,K,N,8,32,128),A,C,N,K)"
    options = ["--sizes=2x64x32", "--variant=fp32", f"--define=ALIGNMENT={alignment}"]
    found, status = traced(KERNELS / "aligned.cu", call, *options)
    assert (found["error"], found["findings"], found["verdict"]["passed"], status) == (None, [], True, 0)
    assert [one["id"] for one in found["undefined"]] == (["dynamic_alignment"] if told else [])
    assert all(str(told) in one["text"] for one in found["undefined"])


def test_an_index_past_the_end_of_a_local_array_is_found_and_one_into_the_next_shared_row_is_none() -> None:
    found, status = traced(KERNELS / "overrun.cu", "--call=strips<<<dim3(N/128,M),32>>>", "--sizes=2x128x8")
    text = (KERNELS / "overrun.cu").read_text(encoding="utf-8").splitlines()
    line = 1 + next(i for i, content in enumerate(text) if "= sums[i]" in content)
    assert [(one["line"], one["index"], one["array"]) for one in found["overruns"]] == [(line, 4, "float [4]")]
    assert "kernel strips, block (0," in found["overruns"][0]["where"]
    assert sum(line["bytes"] for line in found["lines"] if line["array"] == "C") == 2 * 128 * 4
    assert (found["findings"], found["verdict"]["passed"], status) == ([], True, 1)
    found, status = traced(KERNELS / "overrun.cu", "--call=pointed<<<dim3(N/128,M),32>>>", "--sizes=2x128x8")
    line = 1 + next(i for i, content in enumerate(text) if "return values[i]" in content)
    assert [(one["line"], one["index"], one["array"]) for one in found["overruns"]] == [(line, None, "const float")]
    assert (found["findings"], found["verdict"]["passed"], status) == ([], True, 1)


def test_a_body_that_is_not_there_for_this_gpu_is_said(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text("__global__ void k(float* C) {\n#if __CUDA_ARCH__ >= 900\n    C[0] = 0.0f;\n#endif\n}\n", encoding="utf-8")
    said = {like: inspect(file, "--call=k<<<1, 1>>>(C)", "--sizes=1x1x1", f"--like={like}").stdout for like in ("sm_80", "sm_90")}
    assert "Nothing is left of k where __CUDA_ARCH__ is 800" in said["sm_80"]
    assert "Nothing is left" not in said["sm_90"]


def test_it_is_known_which_blocks_are_a_cluster_also_along_y() -> None:
    options = Options(call="shared_b<<<dim3(N/16,M/16),dim3(16,16)>>>", multiples="M:32,N:16,K:16", sizes="64x32x16")
    found = traced_own(KERNELS / "cluster.cu", options, Request(), False, history=8).trace["history"]
    assert len(found) == 8
    for block in found:
        x, y, _ = block["block"]
        assert (block["index"], block["rank"], block["cluster"]) == (2 * y + x, y % 2, 2 * (y - y % 2) + x)


def test_what_the_readmes_picture_shows_is_what_is_found() -> None:
    assert own_example.example() == json.loads((ROOT / own_example.RECORDED).read_text(encoding="utf-8"))


def test_the_explorer_shows_it(tmp_path: Path) -> None:
    file = tmp_path / "planted.cu"
    file.write_bytes((KERNELS / "three_bugs.cu").read_bytes())
    call = ["--call=tiles<<<dim3(N/T,M/T),dim3(T,T)>>>", "--sizes=32x32x32", "--no-open"]
    command = [sys.executable, "-m", "runner", "explore", str(file), *call]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1, done.stderr
    page = ROOT / "out" / "explore" / "planted_own.html"
    shown = page.read_text(encoding="utf-8")
    page.unlink()
    payload = json.loads(shown.partition('<script type="application/json" id="payload">')[2].partition("</script>")[0])
    assert (payload["title"], payload["descriptor"]["block"]) == ("planted.cu", [16, 16, 1])
    assert [one["element_bytes"] for one in payload["descriptor"]["variants"]] == [{"A": 4, "B": 4, "C": 4}]
    assert {one["id"] for one in payload["trace"]["findings"]} >= {"shared_out_of_bounds"}
    assert [source["file"] for source in payload["sources"]] == [str(file)]
    assert payload["trace"]["history"]


def test_the_action_inspects_what_has_its_call_beside_it(tmp_path: Path) -> None:
    steps = (ROOT / "action.yml").read_text(encoding="utf-8").partition("      run: |\n")[2]
    script = "\n".join(line.removeprefix(" " * 8) for line in steps.splitlines())

    def ran(kernels: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "COURSE": str(ROOT), "KERNELS": kernels}
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, env=env)

    assert "no .gemm.toml" in ran("").stderr
    (tmp_path / "src").mkdir()
    for name in ("half2.cu", "half2.gemm.toml"):
        (tmp_path / "src" / name).write_bytes((KERNELS / name).read_bytes())
    done = ran("")
    assert done.returncode == 0, done.stderr
    assert "::group::./src/half2.cu" in done.stdout
    (tmp_path / "bad.cu").write_text("__global__ void k(float* C) {}\n", encoding="utf-8")
    (tmp_path / "bad.gemm.toml").write_text('call = "k<<<1, 1>>>(C)"\nsizes = "1x1x1"\n', encoding="utf-8")
    done = ran("bad.cu src/half2.cu")
    assert done.returncode == 1
    assert "Wrong at 1×1×1" in done.stdout
    assert "::group::src/half2.cu" in done.stdout


def test_an_assertion_of_the_host_is_said_and_one_that_does_not_compile_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(
        "#include <cassert>\n__global__ void k(float* C) { C[0] = 0.0f; }\n"
        "void run(int M, float* C) {\n    assert(nobody < 3);\n    assert(M == 2);\n    k<<<1, 1>>>(C);\n}\n",
        encoding="utf-8",
    )
    found, status = traced(file, "--call=run(M, C)", "--sizes=1x1x1")
    assert (found["error"]["id"], status) == ("trap", 1)
    assert f"assert(M == 2) at {file}:5" in found["error"]["text"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("cudaDevAttrMaxPitch", "the last CUDA call that failed was cudaDeviceGetAttribute(), with cudaErrorInvalidValue."),
        ("cudaDevAttrL2CacheSize", "no CUDA call had failed."),
    ],
)
def test_a_file_that_ends_the_program_is_told_with_the_call_that_failed(tmp_path: Path, asked: str, said: str) -> None:
    file = tmp_path / "k.cu"
    file.write_text(
        "#include <cstdio>\n#include <cstdlib>\n"
        "#define cudaDevAttrMaxPitch static_cast<cudaDeviceAttr>(11)\n"
        '#define CHECK(call) if ((call) != cudaSuccess) { printf("it failed"); exit(1); }\n'
        "__global__ void k(float* C) { C[0] = 0.0f; }\n"
        "void run(float* C) {\n    int bytes = -1;\n"
        f"    (void)cudaDeviceGetAttribute(&bytes, {asked}, 0);\n    CHECK(cudaPeekAtLastError());\n"
        "    k<<<1, 1>>>(C);\n    if (bytes == 0) exit(0);\n}\n",
        encoding="utf-8",
    )
    done = inspect(file, "--call=run(C)", "--sizes=1x1x1")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"gemm: The file's own code ended the program by exit(); {said}"
    assert ("it failed" in done.stderr) == ("that failed" in said)


def test_a_launcher_that_asks_what_the_device_has_runs(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    asked = ("L2CacheSize", "ClockRate", "MaxRegistersPerBlock", "MaxRegistersPerMultiprocessor", "CooperativeLaunch")
    calls = "".join(f"    cudaDeviceGetAttribute(&value, cudaDevAttr{name}, 0);\n    CHECK;\n" for name in asked)
    file.write_text(
        "#include <cstdlib>\n#define CHECK if (cudaPeekAtLastError() != cudaSuccess) exit(1)\n"
        "__global__ void k(const float* A, const float* B, float* C) { C[0] = A[0] * B[0]; }\n"
        f"void run(const float* A, const float* B, float* C) {{\n    int value = 0;\n{calls}    k<<<1, 1>>>(A, B, C);\n}}\n",
        encoding="utf-8",
    )
    found, status = traced(file, "--call=run(A, B, C)", "--sizes=1x1x1")
    assert (found["error"], found["findings"], status) == (None, [], 0)


def test_sums_of_fp16_are_right_where_they_are_promised(tmp_path: Path) -> None:
    assert inspect(KERNELS / "half2.cu").returncode == 0  # half2.gemm.toml promises them
    alone = tmp_path / "half2.cu"
    alone.write_bytes((KERNELS / "half2.cu").read_bytes())
    done = inspect(alone, "--call=run(M, N, K, A, B, C)", "--variant=fp16", "--sizes=16x128x256")
    assert done.returncode == 1
    assert "few digits" in done.stdout


def test_planted_bugs_are_found_at_lines_of_their_file() -> None:
    call = "--call=tiles<<<dim3(N/T,M/T),dim3(T,T)>>>"
    found, status = traced(KERNELS / "three_bugs.cu", call, "--sizes=32x32x64")
    assert status == 1
    assert {finding["id"] for finding in found["findings"]} == {"race", "shared_out_of_bounds"}
    over = next(f for f in found["findings"] if f["id"] == "shared_out_of_bounds")
    text = (KERNELS / "three_bugs.cu").read_text(encoding="utf-8").splitlines()
    assert f"three_bugs.cu:{1 + next(i for i, line in enumerate(text) if '* Bs[T]' in line)} " in over["text"]
    found, status = traced(KERNELS / "three_bugs.cu", call, "--sizes=32x32x40")
    assert (found["error"]["id"], status) == ("trap", 1)
    assert "assert(K % T == 0)" in found["error"]["text"]


def test_an_unknown_instruction_is_named_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "bfind.cu"
    file.write_text(
        "__global__ void k(float* C) {\n    unsigned n;\n"
        '    asm("bfind.u32 %[out], %[in];" : [out] "=r"(n) : [in] "r"(7u));\n    C[0] = n;\n}\n',
        encoding="utf-8",
    )
    done = inspect(file, "--call=k<<<1, 1>>>(C)", "--sizes=1x1x1")
    assert done.returncode == 1
    assert f"bfind.u32 at {file}:3 " in done.stdout


def test_a_kernel_that_does_not_compile_is_told_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "wrong.cu"
    file.write_text("__global__ void k(float* C) {\n    C[0] = nothing;\n}\n", encoding="utf-8")
    done = inspect(file, "--call=k<<<1, 1>>>(C)")
    assert done.returncode == 1
    assert f"{file}:2:" in done.stderr


def test_inline_ptx_keeps_its_lines() -> None:
    text = (
        'f();\nasm volatile("{ .reg .b32 r;\\n"\n'
        '  " mov.b32 %0, %1; }"  // why\n  : "=r"(a[i ? 0 : 1])\n  : "r"(g(x, y)) : "memory");\nh();\n'
    )
    out = foreign().with_ptx(text)
    assert out.count("\n") == text.count("\n")
    assert out.split("\n")[5] == "h();"
    assert "out(a[i ? 0 : 1])" in out.split("\n")[1]  # where the statement begins: what it accesses is found there
    assert "::out(a[i ? 0 : 1]), ::cpu_device::inline_ptx::in(g(x, y)))" in out
    assert foreign().with_ptx('// asm("x");\nconst char* s = "asm(1)";\n') == '// asm("x");\nconst char* s = "asm(1)";\n'


def test_a_define_of_the_command_line_stands_in_the_place_of_the_files_own(tmp_path: Path) -> None:
    assert foreign().with_value("#define N 4096\n#define N_ 1\n#define N(x) x\n", "N", "8") == (
        "#define N 8\n#define N_ 1\n#define N(x) x\n"
    )
    file = tmp_path / "k.cu"
    file.write_text(
        "#define N 4096\n__global__ void k(const float* A, const float* B, float* C) {\n    float sum = 0;\n"
        "    for (int i = 0; i < N; ++i) sum += A[blockIdx.x * N + i] * B[i * N + threadIdx.x];\n"
        "    C[blockIdx.x * N + threadIdx.x] = sum;\n}\n",
        encoding="utf-8",
    )
    found, status = traced(file, "--call=k<<<M, N>>>(A, B, C)", "--sizes=16x16x16", "-D", "N=16")
    assert (found["findings"], found["verdict"]["passed"], status) == ([], True, 0)


def test_only_main_and_what_is_unwanted_is_left_out() -> None:
    text = "int f() { return 1; }\nint main(int c, char** v) {\n  if (c) { f(); }\n}\n__global__ void k(int* p) { *p = 1; }\n"
    out = foreign().without_main(text)
    assert "main" not in out
    assert out.count("\n") == text.count("\n")
    assert [(f.name, f.on_device) for f in foreign().functions(out)] == [("f", False), ("k", True)]


def test_included_files_are_followed_once(tmp_path: Path) -> None:
    (tmp_path / "a.cuh").write_text("#pragma once\nint a;\n", encoding="utf-8")
    (tmp_path / "k.cu").write_text('#include "a.cuh"\n#include "a.cuh"\n#include "none.h"\nint k;\n', encoding="utf-8")
    text = foreign().followed(tmp_path / "k.cu", "k.cu")
    assert text.count("int a;") == 1
    assert '#include "none.h"' in text
    line = 1 + text.split("\n").index("int k;")
    assert Place.of_line(text, "k.cu", line) == Place("k.cu", 4)
    (tmp_path / "b.cuh").write_text('#pragma once\n#include "a.cuh"\n', encoding="utf-8")
    (tmp_path / "two.cu").write_text('#include "b.cuh"\n#include "a.cuh"\n', encoding="utf-8")
    assert foreign().followed(tmp_path / "two.cu", "two.cu").count("int a;") == 1
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "none.h").write_text("int found;\n", encoding="utf-8")
    (tmp_path / "s.cu").write_text("#include <none.h>\n#include <vector>\n", encoding="utf-8")
    assert "int found;" in foreign().followed(tmp_path / "s.cu", "s.cu", [tmp_path / "more"])
    assert "int found;" not in foreign().followed(tmp_path / "s.cu", "s.cu")
    offset = Place("k.cu", 4).offset(text, "k.cu")
    assert offset is not None and text[: offset + 1].endswith("int k;")


def test_what_a_signature_says() -> None:
    code = (
        "template <int BM> __global__ void __launch_bounds__(256) k(int M, int N, int K, const half* dA, half *d_B, float* C) {}"
    )
    told = guess(code, None, Path("k.cu"))
    assert (told.kernel, told.arguments, told.variant) == ("k", "M, N, K, A, B, C", "fp16_fp32")
    code += "__global__ void other() {}"
    with pytest.raises(UserError):
        guess(code, None, Path("k.cu"))
    code += "void run(const half* A, half* B, half* C, int n = 3) { k<1><<<1, 2>>>(1, 1, 1, A, B, nullptr); }"
    assert guess(code, "run(A, B, C)", Path("k.cu")).variant == "fp16"


def test_options(tmp_path: Path) -> None:
    assert variant_of("bf16_fp32.nt") == ("bf16", "bf16", "fp32", "nt")
    assert multiples_of("M:128,K:16") == {"M": 128, "N": 1, "K": 16}
    assert sizes_of(Options(multiples="M:64"), Request(), False).m == 128
    for wrong in (
        lambda: variant_of("fp99"),
        lambda: multiples_of("Q:1"),
        lambda: sizes_of(Options(multiples="M:7"), Request(), True),
    ):
        with pytest.raises(UserError):
            wrong()
    (tmp_path / "k.gemm.toml").write_text('call = "k<<<1, 1>>>"\nsums = "fp16"\n', encoding="utf-8")
    assert completed(tmp_path / "k.cu", Options(sums="tf32")) == Options(call="k<<<1, 1>>>", sums="tf32")
    for wrong_line in ("cal = 1", "lda = true", 'ldb = "9"'):
        (tmp_path / "k.gemm.toml").write_text(f"{wrong_line}\n", encoding="utf-8")
        with pytest.raises(UserError):
            completed(tmp_path / "k.cu", Options())
    (tmp_path / "k.gemm.toml").write_text("lda = 9\nldc = 11\n", encoding="utf-8")
    kept = completed(tmp_path / "k.cu", Options())
    assert with_pitches(kept, Request(options=("--ldc=12",))).options == ("--ldc=12", "--lda=9")


def test_a_cluster_belongs_to_what_the_pointer_was_last() -> None:
    kernel = "__global__ void __cluster_dims__(2, 1, 1) a(int) {}\n"
    launched = "auto* k = {}; k<<<1, 1>>>(1);"
    assert ".with_cluster(2, 1, 1)" in translated(kernel + launched.format("on ? a : b"))
    assert ".with_cluster" not in translated(kernel + "{ auto* k = a; }" + launched.format("b<1>"))


def translated(text: str) -> str:
    spec = importlib.util.spec_from_file_location("translate", ROOT / "common" / "cpu" / "translate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.translate(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("extern __shared__ T x;", "T& x = *static_cast<T*>(::cpu_device::dynamic_shared<T>());"),
        (
            "extern __shared__ half s[][8];",
            "half (*const s)[8] = static_cast<half (*)[8]>(::cpu_device::dynamic_shared<half>());",
        ),
        (
            "extern __shared__ typename Tiles<M, N>::Of<K>::Memory s[];",
            "typename Tiles<M, N>::Of<K>::Memory* const s = static_cast<typename Tiles<M, N>::Of<K>::Memory*>"
            "(::cpu_device::dynamic_shared<typename Tiles<M, N>::Of<K>::Memory>());",
        ),
        (
            "extern __align__(64) __shared__ alignas(float4) half s[];",
            "struct __align__(64) alignas(float4) Aligned_s {}; half* const s = "
            "static_cast<half*>(::cpu_device::dynamic_shared<half, Aligned_s>());",
        ),
        ("__shared__ alignas(128) float x[3];", "__shared__ __attribute__((aligned(128))) float x[3];"),
        ("{ dim3 gridDim(2); g(gridDim); }\nint a;", "{ dim3 host_gridDim(2); g(host_gridDim); }\nint a;"),
        ("{ dim3 blockDim, n, gridDim; g(gridDim); }", "{ dim3 host_blockDim, n, host_gridDim; g(host_gridDim); }"),
        (
            "void f(unsigned threadIdx, int n);\nvoid f(unsigned threadIdx, int n) { g(threadIdx); }\n"
            "int a() { return threadIdx.x; }",
            "void f(unsigned host_threadIdx, int n);\nvoid f(unsigned host_threadIdx, int n) { g(host_threadIdx); }\n"
            "int a() { return threadIdx.x; }",
        ),
        (
            "__global__ void k(P<int, 3> a, int n = 1, float x = f(2, 3)) {}\nvoid f() { k<<<1, 2>>>(x); k<<<1, 2>>>(x, y, z); }",
            "__global__ void k(P<int, 3> a, int n = 1, float x = f(2, 3)) {}\n"
            'void f() { ::cpu_device::launcher("k", k, 1, 2)(x, 1, f(2, 3)); ::cpu_device::launcher("k", k, 1, 2)(x, y, z); }',
        ),
        (
            "template <class T>\n__global__ void k(const T* a, int n = 1) {}\nvoid f() { k<<<1, 2>>>(x); }",
            "template <class T>\n__global__ void k(const T* a, int n = 1) {} template <class T> "
            "::std::integral_constant<decltype(&k<T>), &k<T>> deduced_k(const T* a, int n);\n"
            'void f() { ::cpu_device::launcher("k", decltype(deduced_k(x, 1))::value, 1, 2)(x, 1); }',
        ),
        (
            "template <int N, class T>\n__global__ void k(const T* a, int n = 1) {}\nvoid f() { k<3><<<1, 2>>>(x,  // y\n z); }",
            "template <int N, class T>\n__global__ void k(const T* a, int n = 1) {} template <int N, class T> "
            "::std::integral_constant<decltype(&k<N, T>), &k<N, T>> deduced_k(const T* a, int n);\n"
            'void f() { ::cpu_device::launcher("k<3>", decltype(deduced_k<3>(x, z))::value, 1, 2)(x,  // y\n z); }',
        ),
        (
            "template <class T, int N = 2>\n__global__ void k(T a) {}\n"
            "void f() { int blockDim = 2; k<float><<<1, 2>>>(blockDim); }",
            "template <class T, int N = 2>\n__global__ void k(T a) {} template <class T, int N = 2> "
            "::std::integral_constant<decltype(&k<T, N>), &k<T, N>> deduced_k(T a);\n"
            'void f() { int host_blockDim = 2; ::cpu_device::launcher("k<float>", decltype(deduced_k<float>(host_blockDim))'
            "::value, 1, 2)(host_blockDim); }",
        ),
        (
            "template <class T, typename = int>\n__global__ void k(T a) {}\nvoid f() { k<float><<<1, 2>>>(x); }",
            "template <class T, typename = int>\n__global__ void k(T a) {}\n"
            'void f() { ::cpu_device::launcher("k<float>", k<float>, 1, 2)(x); }',
        ),
        ("{ dim3 blockDim, grid; blockDim.x = 16; }", "{ dim3 host_blockDim, grid; host_blockDim.x = 16; }"),
        ("f[g(i)]<<<1, 2>>>(x);", '::cpu_device::launcher("f[g(i)]", f[g(i)], 1, 2)(x);'),
    ],
)  # fmt: skip
def test_what_other_peoples_sources_say(text: str, meant: str) -> None:
    assert translated(text) == meant


def test_declarations_of_the_host_are_found_and_those_of_classes_and_kernels_are_not() -> None:
    text = (
        "namespace a {\nunknown_t handle;  // of a library\nvoid f(other_t,\n  int);\n}\n"
        "struct S { unknown_t x; };\n__device__ unknown_t y;\n"
    )
    found = [foreign().declaration(text, text.index(place)) for place in ("// of", "int)", "x;", "y;")]
    assert [one and (one.name, text[one.start : one.end]) for one in found] == [
        ("handle", "unknown_t handle;"),
        ("f", "void f(other_t,\n  int);"),
        None,
        None,
    ]


def test_a_class_is_found_by_its_head_whatever_it_is_derived_from() -> None:
    for head in (
        "struct a : public library::base<float> {",
        "template <class T>\nclass EXPORT a final : public base<T, decltype(f())> {",
        "template <>\nstruct __align__(16) a<int> : base<int> {",
        "template <class T, class B = library::base<T>>\nstruct a : B {",
    ):
        text = f"int before;\n{head}\n    void member() {{ other(); }}\n}};\nint behind;\n"
        for place in (text.index("base"), text.index("{"), text.index("};") + 1):
            assert foreign().declaration(text, place) is None
            found = foreign().class_around(text, place)
            assert found
            assert found.name == "a"
            assert foreign().without(text, [found]).split() == ["int", "before;", "int", "behind;"]


def test_members_of_templates_may_be_called_without_the_keyword(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    text = """struct Add {
    template <int BY> static __device__ float sum(float a, float b) { return a + BY * b; }
    template <class T> __device__ T as(T x) { return x; }
};
template <class OPERATION>
__global__ void rows(int N, int K, const float* A, const float* B, float* C) {
    OPERATION operation;
    float sum = 0.0f;
    for (int k = 0; k < K && threadIdx.x < OPERATION::sum<1>(N, 0.0f); ++k)
        sum = OPERATION::sum<1>(sum, operation.as<float>(A[blockIdx.x * K + k]) * B[k * N + threadIdx.x]);
    C[blockIdx.x * N + threadIdx.x] = sum;
}
"""
    file.write_text(text, encoding="utf-8")
    found, status = traced(file, "--call=rows<Add><<<M, N>>>(N, K, A, B, C)", "--sizes=2x32x16")
    assert (found["error"], found["findings"], found["verdict"]["passed"], status) == (None, [], True, 0)


def test_what_is_of_a_library_is_left_out_and_said(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(
        '#include "../../no_such_module/half.hpp"\n#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n'
        "#include <no_such_library/handle.h>\nlibrary::handle_t handle;\nvoid prepare(library::handle_t h, int n);\n"
        "struct policy : public library::base<float> {\n    int n = size();\n};\nint n_of(policy p) {\n    return p.n;\n}\n"
        "#define CHECK(call) if (call) puts(cublasNoSuchName(call))\n"
        "void compare(cublasHandle_t h) {\n    CHECK(cublasDestroy(h));\n}\n"
        "int elsewhere(int n);\nint calls_it(int n) {\n    return elsewhere(n);\n}\n"
        "__global__ void k(float* C, int n = 1) {\n    C[0] = 0.0f;\n}\nvoid of_defaults(float* C) {\n    k<<<1, 1>>>(C);\n}\n",
        encoding="utf-8",
    )
    done = inspect(file, "--call=k<<<1, 1>>>(C, 1)", "--sizes=1x1x1")
    left = next(line for line in done.stdout.splitlines() if "left out: " in line)
    assert set(left.partition("left out: ")[2].rstrip(".").split(", ")) == {
        "handle",
        "prepare",
        "policy",
        "n_of",
        "compare",
    }
    empty = "../../no_such_module/half.hpp, no_such_library/handle.h"
    assert f"Headers that are not here count as empty: {empty}." in done.stdout
    assert done.returncode == 1  # it multiplies nothing


def test_the_page_counts_first_calls_as_they_are_recorded() -> None:
    header, *recorded = (ROOT / "tests/recorded/first_calls.tsv").read_text(encoding="utf-8").splitlines()
    calls = [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in recorded]
    page = (ROOT / "OWN_KERNEL.md").read_text(encoding="utf-8")
    section = page[page.index("## How often a first call works") :]
    section = section[: section.index("\n## ", 1)]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")][2:]
    for column, count in enumerate(("1", "2", "3", "4"), 1):
        of_it = [call for call in calls if call["count"] == count]
        outcomes = Counter(call["outcome"] for call in of_it)
        assert {row[0]: int(row[column]) for row in rows} == {row[0]: outcomes.pop(row[0], 0) for row in rows}
        assert not outcomes
        assert f"{len(of_it)} kernels of {len({call['repository'] for call in of_it})} " in section
    assert not {call["count"] for call in calls} - {"1", "2", "3", "4"}
