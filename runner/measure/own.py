"""`./gemm run my.cu`: the verdict on a kernel that is no lesson's, and on a GPU its time beside the lessons of its type."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from pathlib import Path

from runner.core import compiling, doctor, gpu, process, tables
from runner.core.compiling import Source, toolchain
from runner.core.process import say, say_all
from runner.core.reports import Results
from runner.core.results import ROOT, UserError, lessons
from runner.inspect import own_nvcc
from runner.inspect.inspection import Request, give, problems
from runner.inspect.own import (
    CPU_MAPS,
    Options,
    completed,
    descriptor_of,
    multiples_of,
    sizes_of,
    source_of,
    told_besides,
    traced_own,
    with_pitches,
)
from runner.inspect.own_compiler import Compiler
from runner.inspect.own_formal import few_digits
from runner.measure import chart

_SIZE = 4096  # M = N = K on a GPU, or the next multiples
_ON_A_GPU = ("--seed", "--lda", "--ldb", "--ldc")  # what a request may say there


def _verified(file: Path, options: Options, request: Request, asked: bool, as_json: bool) -> int:
    """On the CPU device: verdict and findings, as ./gemm inspect has them, without its tables. Exit status 0: right, and nothing
    was found; 1 otherwise."""
    traced = traced_own(file, options, request, asked)
    if as_json:
        give(json.dumps(traced.trace) + "\n", None)
        return int(not traced.right)
    for sentence in (*traced.said, traced.verdict):
        print(sentence)
    wrong_by_rounding = few_digits(traced.trace, traced.request)
    for problem in problems(traced.trace):
        if not (wrong_by_rounding and problem.startswith("wrong result:")):
            print(problem)
    for line in told_besides(traced.trace):
        print(line)
    print("Not timed: the CPU device measures no times. ./gemm inspect with the same options shows each line's memory traffic.")
    return int(not traced.right)


def _objects(device: doctor.Device, tools: dict, file: Path, options: Options, folder: Path) -> tuple[list[Path], str, list[str]]:
    """The kernel with its call and its descriptor, compiled; its variant, and what was guessed. On the CPU device without hooks,
    which is how this is tested without a GPU."""
    lesson, made = folder / "lesson.cu", folder / "lesson.o"
    if device.kind == "cpu":
        source = source_of(file, options, CPU_MAPS)
        own = Compiler(tools, str(file), source.text, [*source.flags, "-D__CUDA_ARCH__=900"], folder / "own").compiled()
        lesson, flags, said, maps = folder / "lesson.cpp", [], source.said, ""
        variant = source.variant
    else:
        written, more, said, variant = own_nvcc.with_call(file, options, folder)
        target = own_nvcc.architecture(None)
        flags = [f"--generate-code=arch=compute_{target},code=sm_{target}"]
        own = folder / "own.o"
        _compile([*tools["kernel"], *flags, *more, "-o", own, "-c", written], str(file))
        maps = own_nvcc.MAKES_MAPS
    if options.sums == "tf32" and variant[:2] == ("fp32", "fp32"):
        variant = ("tf32", "tf32", *variant[2:])
        said = [*said, "A and B hold TF32 values, so its products are exact, and cuBLAS multiplies in TF32, too."]
    lesson.write_text(maps + descriptor_of(file, options, variant), encoding="utf-8")
    _compile([*tools["kernel"], *flags, "-o", made, "-c", lesson], "The descriptor", "the descriptor")
    a, b, c, layout = variant
    types = a if a == b == c else f"{a}_{c}" if a == b else f"{a}_{b}_{c}"
    return [own, made], types if layout == "nn" else f"{types}.{layout}", said


def _compile(command: Sequence[str | Path], what: str, in_progress: str | None = None) -> None:
    """what: as it begins a sentence; in_progress: as it goes on in one, where that differs."""
    done = process.stream(command, f"Compiling {in_progress or what}", process.unseen)
    if done.status:
        compiling.blame_the_machine("The compiler", done.status, done.lines)
        say_all(compiling.first_error([line.replace(f"{ROOT}/", "") for line in done.lines]))
        raise UserError(f"{what} does not compile for this GPU; the message is above.", status=1)


def program(
    device: doctor.Device, file: Path, options: Options, folder: Path, names: Sequence[str]
) -> tuple[Path, str, list[str]]:
    """A gemm_bench of the kernel and of the lessons `names`; the kernel's variant, and what was guessed, a sentence each."""
    tools = toolchain(device, "bench", [f"{name}_kernel" for name in names])
    objects, variant, said = _objects(device, tools, file, options, folder)
    made = folder / "bench"
    sources = [Source("", "", f"lesson_{name.partition('_')[0]}", name, name) for name in names]
    listed = compiling.lessons_of([*sources, Source("", str(file), "own_kernel", file.name, file.name)])
    objects += [Path(one) for name in names for one in tools["objects"][name]]
    done = compiling.link(tools, listed, objects, made)
    if re.match(r"cu[A-Z]", _undefined(done)) and device.nvcc:  # the driver's, which is where the toolkit has its stand-in
        stubs = [folder / "stubs" for folder in device.nvcc.resolve().parents[1].glob("lib*")]
        done = compiling.link(tools, listed, [*objects, *(f"-L{folder}" for folder in stubs), "-lcuda"], made)
    if what := _undefined(done):
        raise UserError(f"{file} calls {what}, which it does not define.", status=1)
    compiling.unlinked(done, "the program")
    return made, variant, said


def _undefined(done: process.Finished) -> str:
    """The first name that the linker did not find."""
    line = next((line for line in done.lines if "undefined reference to" in line), "")
    return line.rpartition("undefined reference to")[2].strip(" `'")


def shape_of(given: Options, options: Options, request: Request, asked: bool) -> Request:
    """What was asked for on the command line (`given`), or else 4096 or the next multiples of what the kernel claims; a UserError
    where it claims less."""
    if asked or given.sizes is not None:
        return sizes_of(options, request, asked)
    step = multiples_of(options.multiples)
    m, n, k = (-(-_SIZE // step[key]) * step[key] for key in "MNK")
    return Request(m, n, k, request.blocks, request.options)


def refuse_untimed(options: Options) -> None:
    """A UserError where a time would have nothing to be compared with."""
    why = ""
    if options.sums == "fp16":
        why = "A kernel with sums of FP16 is not timed: cuBLAS and the lessons add in FP32, so it would not be the same work"
    if options.beta_reads_c:
        why = "A kernel that always reads C is not timed: times are taken with beta = 0, where cuBLAS does not read it"
    if why:
        raise UserError(f"{why}; put GEMM_DEVICE=cpu in front for its verdict.")


def _timed(device: doctor.Device, file: Path, given: Options, request: Request, asked: bool, as_json: bool) -> int:
    """On a GPU. Exit status 0: the kernel is right there; 1 otherwise."""
    options = completed(file, given)
    refuse_untimed(options)
    request = with_pitches(options, shape_of(given, options, request, asked))
    more = list(request.options)
    if not any(option.startswith("--seed=") for option in more):
        more.append(f"--seed={secrets.randbelow(10**9)}")
    sizes = f"{request.m}x{request.n}x{request.k}"
    with compiling.scratch() as folder:
        made, variant, said = program(device, file, options, folder, lessons())
        with gpu.alone(device):
            results, told = chart.measured(made, sizes, ["--variant", variant, *more])
    if as_json:
        print(json.dumps(results))
    else:
        _show(results, sizes, file.name, [*said, *told])
    return int(not _is_right(results, file.name))


def _is_right(results: Results, name: str) -> bool:
    """Whether it ran, and at no size was wrong."""
    wrong = any(one["lesson"] == name for one in results.get("failed", []))
    return not wrong and any(one["lesson"] == name for one in results["runs"])


def _show(results: Results, sizes: str, name: str, said: Sequence[str]) -> None:
    for sentence in said:
        say(sentence)
    print(f"{results['device']['name']}: TFLOP/s (% of cuBLAS)")
    tables.show_pieces("kernel", *chart.columns(results, sizes))
    run = next((run for run in results["runs"] if run["lesson"] == name and "baseline" in run), None)
    if run:
        print(f"cuBLAS is the fastest of its calls that were tried in this run: {run['baseline']}, {run['baseline_kernel']}.")
    chart.say_wrong(results)


def run_own(file: Path, given: Options, request: Request, asked: bool, as_json: bool) -> int:
    """asked: whether sizes were given. Exit status: 0 the kernel is right, 1 otherwise."""
    if not file.is_file():
        raise UserError(f"There is no file {file}.")
    device = doctor.choose()
    if device.kind == "cpu":
        return _verified(file, given, request, asked, as_json)
    for option in request.options:
        if option.partition("=")[0] not in _ON_A_GPU:
            raise UserError(
                f"With your own kernel, {option.partition('=')[0]} works only on the CPU device; put GEMM_DEVICE=cpu in front."
            )
    return _timed(device, file, given, request, asked, as_json)
