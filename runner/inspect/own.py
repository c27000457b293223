"""`./gemm inspect my.cu --call '...'`: a CUDA kernel that is nobody's lesson, compiled unmodified for the CPU device and traced.

The call says how M, N, K, the pitches, scalars and matrices reach the kernel. What is compiled is the file, behind it a
function that makes the call (common/cpu/foreign.py says what becomes of the file), and a
descriptor that gemm_inspect takes for a lesson's.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import ModuleType
from typing import get_args

from runner.core import doctor, process
from runner.core.compiling import link, scratch, toolchain, unlinked
from runner.core.lesson import whole
from runner.core.results import UserError
from runner.inspect import inspection
from runner.inspect.inspection import Draw, Request, trace
from runner.inspect.own_compiler import BEHIND, ONLY_WHAT_IS_CALLED, Compiler
from runner.inspect.own_formal import as_kind_as_gpus, few_digits
from runner.inspect.own_source import Guess, Sums, foreign, guess, has_dynamic_shared, local_only, variant_of
from runner.inspect.trace_types import Overrun, Trace

_CPU = doctor.Device("cpu", None, (), "kernels are traced on the CPU")
CPU_MAPS = "::cpu_device::tensor_map"
Variant = tuple[str, str, str, str]  # the types of A, B and C, and the layout
_SIZES = re.compile(r"(\d+)x(\d+)x(\d+)")
_HEADERS = ("include", "inc", "src", "common", "utils", ".")
_SOURCES = ("*.cu", "*.cpp", "*.cc")
_OTHERS = 4  # sources beside the file that are compiled with it
_NOT_MACROS = ("M", "N", "K", "A", "B", "C", "lda", "ldb", "ldc", "alpha", "beta", "stream", "ceil", "ceil_div", "cdiv")
_NOT_TEXTS = {"beta_reads_c": bool, "lda": int, "ldb": int, "ldc": int}
_ELEMENTS = {"fp32": "float", "bf16": "__nv_bfloat16", "fp16": "__half"}
_READS_C = (
    "With beta = 0 it reads C, where cuBLAS promises not to: NaN in C stay NaN. It ran with beta = 1 instead "
    "(--beta-reads-c says that this is meant)."
)
_SIGNATURE = (
    "long long M, long long N, long long K, float alpha, void* A, long long lda, void* B, long long ldb, "
    "float beta, void* C, long long ldc, void* stream"
)
_CALL = """
{undefined}
{behind}
using {maps};
template <class Total_, class Size_>
constexpr unsigned ceil(Total_ total_, Size_ size_) {{
    return static_cast<unsigned>((static_cast<long long>(total_) + size_ - 1) / size_);
}}
template <class Total_, class Size_>
constexpr unsigned ceil_div(Total_ total_, Size_ size_) {{
    return own_kernel_call::ceil(total_, size_);
}}
template <class Total_, class Size_>
constexpr unsigned cdiv(Total_ total_, Size_ size_) {{
    return own_kernel_call::ceil(total_, size_);
}}
[[maybe_unused]] static void launch(int M, int N, int K, float alpha, {a}* A, int lda, {b}* B, int ldb, float beta,
    {c}* C, int ldc, cudaStream_t stream) {{
{allowed}
#line 1 "--call"
{call};
}}
}}
extern "C" void own_kernel_launch({signature}) {{
    own_kernel_call::launch(static_cast<int>(M), static_cast<int>(N), static_cast<int>(K), alpha, static_cast<{a}*>(A),
        static_cast<int>(lda), static_cast<{b}*>(B), static_cast<int>(ldb), beta, static_cast<{c}*>(C), static_cast<int>(ldc),
        static_cast<cudaStream_t>(stream));
}}
"""
_LESSON = """#include "common/gemm.hpp"
extern "C" void own_kernel_launch({signature});
namespace own_kernel {{
void launch(const gemm::Problem& p, const void*, cudaStream_t stream) {{
    own_kernel_launch(p.M, p.N, p.K, p.alpha, const_cast<void*>(p.A), p.lda, const_cast<void*>(p.B), p.ldb, p.beta,
        p.C, p.ldc, stream);
}}
const gemm::Offer variants[] = {{{{.variant = {{gemm::DType::{a}, gemm::DType::{b}, gemm::DType::{c}, gemm::Layout::{layout}}},
                                 .architectures = {{.from = 50}},
                                 .configuration = {{.tile = {{{tile}}}, .block = dim3(1024)}}}}}};
extern const gemm::Lesson lesson{{.name = {name}, .variants = variants, .launch = launch}};
}}
"""
_LISTED = """#include <span>
namespace gemm {
struct Lesson;
std::span<const Lesson* const> all_lessons();
}
namespace own_kernel {
extern const gemm::Lesson lesson;
}
std::span<const gemm::Lesson* const> gemm::all_lessons() {
    static const Lesson* const lessons[] = {&own_kernel::lesson};
    return lessons;
}
"""


@dataclass(frozen=True)
class Options:
    """What is known of a kernel; what is not given here stands in my.gemm.toml, or is guessed. As they are typed."""

    call: str | None = None
    variant: str | None = None
    sums: str | None = None  # fp16, tf32: how it may round
    multiples: str | None = None  # M:128,N:128,K:16
    sizes: str | None = None  # 128x128x64
    beta_reads_c: bool | None = None
    include: str | None = None  # folders, with commas between them
    define: str | None = None  # NAME or NAME=VALUE, with commas between them
    # Only from my.gemm.toml: what is typed is in the Request.
    lda: int | None = None
    ldb: int | None = None
    ldc: int | None = None


def _kept(file: Path) -> Options:
    """What my.gemm.toml beside my.cu says."""
    kept = file.with_suffix(".gemm.toml")
    if not kept.exists():
        return Options()
    tomllib = _tomllib()
    try:
        read = tomllib.loads(kept.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{kept} cannot be read: {error}.") from error
    known = {field.name for field in fields(Options)}
    for key, value in read.items():
        if key not in known or type(value) is not _NOT_TEXTS.get(key, str):
            raise UserError(
                f"{kept}: {key} is not one of {', '.join(sorted(known))}, or has the wrong type. Each is a string "
                "(beta_reads_c: true or false; lda, ldb, ldc: whole numbers)."
            )
    if "include" in read:
        read["include"] = ",".join(str(file.parent / folder) for folder in listed(read["include"]))
    return Options(**read)


def listed(text: str | None) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _tomllib() -> ModuleType:
    """Python 3.11's, or the package of the same content."""
    for name in ("tomllib", "tomli"):
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise UserError("A .gemm.toml needs Python 3.11, or the package tomli.")


def completed(file: Path, given: Options) -> Options:
    kept = _kept(file)
    values = {
        f.name: getattr(given, f.name) if getattr(given, f.name) is not None else getattr(kept, f.name) for f in fields(Options)
    }
    options = Options(**values)
    if options.sums is not None and options.sums not in get_args(Sums):
        raise UserError(f"--sums must be {' or '.join(get_args(Sums))}, not {options.sums!r}.")
    for folder in listed(options.include):
        if not Path(folder).is_dir():
            raise UserError(f"--include must name folders; there is no folder {folder}.")
    return options


def multiples_of(text: str | None) -> dict[str, int]:
    """M:128,N:128,K:16 -> what each size is a multiple of."""
    found = {"M": 1, "N": 1, "K": 1}
    for part in text.split(",") if text else ():
        name, _, number = part.partition(":")
        if name not in found:
            raise UserError(f"--multiples must be like M:128,N:128,K:16, not {text!r}.")
        found[name] = int(whole("--multiples", number, 1))
    return found


def sizes_of(options: Options, request: Request, asked: bool) -> Request:
    """The sizes that are asked for, or else two tiles of what the kernel claims; a UserError where it claims less."""
    step = multiples_of(options.multiples)
    if options.sizes is not None and not asked:
        found = _SIZES.fullmatch(options.sizes)
        if not found:
            raise UserError(f"--sizes must be like 256x128x64 (M, N, K), not {options.sizes!r}.")
        request = replace(request, m=int(found[1]), n=int(found[2]), k=int(found[3]))
    elif not asked:
        m, n, k = (step[key] * 2 if step[key] > 1 else inspection.SIZE for key in "MNK")
        request = replace(request, m=m, n=n, k=k)
    for key, size in (("M", request.m), ("N", request.n), ("K", request.k)):
        if size % step[key]:
            raise UserError(f"{key} = {size} is no multiple of {step[key]}, which --multiples says the kernel needs.")
    return request


def with_pitches(options: Options, request: Request) -> Request:
    """With those that my.gemm.toml keeps and nobody has typed."""
    kept = {key: getattr(options, key) for key in ("lda", "ldb", "ldc")}
    typed = {option.partition("=")[0] for option in request.options}
    more = {key: whole(key, str(value), 1) for key, value in kept.items() if value is not None and f"--{key}" not in typed}
    return replace(request, options=(*request.options, *(f"--{key}={value}" for key, value in more.items())))


def _text_of_call(options: Options, guessed: Guess) -> str:
    """The call with what its kernel is given, as the kernel's signature names it where the call does not."""
    if options.call is None:
        raise UserError(
            f"--call must say how the kernel is launched; by its signature, with the grid and the block that it is made for: "
            f"--call '{guessed.kernel}<<<dim3(ceil(N, 32), ceil(M, 32)), dim3(32, 32)>>>({guessed.arguments})'."
        )
    call = options.call.strip().rstrip(";")
    return f"{call}({guessed.arguments})" if call.endswith(">>>") else call


def _folders(file: Path, options: Options) -> list[Path]:
    """Where what the file includes is looked for: what --include names, then where repositories have their headers."""
    near = [up / name for up in (file.parent, *file.absolute().parents[1:3]) for name in _HEADERS]
    return [*(Path(folder) for folder in listed(options.include)), *near]


def text_of(file: Path, options: Options) -> str:
    """The file's, with that of what it includes, and what --define says in the place of what they define."""
    text = foreign().followed(file, str(file), _folders(file, options))
    for name, value in _defined(options):
        text = foreign().with_value(text, name, value)
    return text


def _defined(options: Options) -> list[tuple[str, str]]:
    """Names and values, as the compiler's -D has them."""
    return [(name.strip(), value or "1") for name, _, value in (part.partition("=") for part in listed(options.define))]


def _allowed(call: str) -> str:
    """What lets a kernel that is launched in the call have as much dynamic shared memory as it is given there."""
    found = re.fullmatch(r"\s*(?P<kernel>.+?)<<<(?P<configuration>.*)>>>\s*\(.*\)\s*", call, re.DOTALL)
    if found is None:
        return ""
    configuration = found["configuration"]
    parts = [""]
    for start, end in foreign().split(configuration, 0, len(configuration), ","):
        piece = configuration[start:end]
        if parts[-1].count("<") > parts[-1].count(">"):  # of template arguments
            parts[-1] += f",{piece}"
        else:
            parts.append(piece)
    if len(parts) < 4:
        return ""
    size = parts[3].strip()
    limit = "cudaFuncAttributeMaxDynamicSharedMemorySize"
    return f"cudaFuncSetAttribute({found['kernel'].strip()}, {limit}, static_cast<int>({size})), cudaGetLastError();"


def _with_call(text: str, call: str, variant: Variant, maps: str) -> str:
    """The file's text, and behind it own_kernel_launch(), which makes the call."""
    a, b, c = (_ELEMENTS.get(kind, "void") for kind in variant[:3])
    undefined = "\n".join(f"#undef {name}" for name in _NOT_MACROS)
    launched = _CALL.format(
        allowed=_allowed(call), undefined=undefined, behind=BEHIND, maps=maps, a=a, b=b, c=c, call=call, signature=_SIGNATURE
    )
    return f"{text}\n{launched}"


@dataclass(frozen=True)
class Source:
    """What is compiled: the file's text with the call behind it, the types of A, B and C with the layout, what the compiler is
    told of names and folders, and what was guessed, a sentence each."""

    text: str
    variant: Variant
    flags: list[str]
    said: list[str]


def source_of(file: Path, options: Options, maps: str) -> Source:
    """maps: the function that the call knows as tensor_map()."""
    text = text_of(file, options)
    guessed = guess(text, options.call, file)
    said = []
    if options.variant is None:
        said.append(f"Taken from the signature of {guessed.kernel}: --variant {guessed.variant}.")
    call = _text_of_call(options, guessed)
    if call != (options.call or "").strip().rstrip(";"):
        said.append(f"Taken from the signature: {call}.")
    variant = variant_of(options.variant or guessed.variant)
    return Source(_with_call(text, call, variant, maps), variant, flags_of(text, options), said)


def flags_of(text: str, options: Options) -> list[str]:
    """What the compiler is told of names and folders, but for what the file itself defines: headers may have such names, too."""
    apart = [(name, value) for name, value in _defined(options) if foreign().with_value(text, name, "") == text]
    return [f"-D{name}={value}" for name, value in apart] + [f"-I{folder}" for folder in listed(options.include)]


def descriptor_of(file: Path, options: Options, variant: Variant) -> str:
    """C++ of a lesson, own_kernel::lesson, whose launch() is own_kernel_launch()."""
    step = multiples_of(options.multiples)
    tile = ", ".join(str(step[key]) if step[key] > 1 else "32" for key in "MNK")
    a, b, c, layout = variant
    return _LESSON.format(signature=_SIGNATURE, a=a, b=b, c=c, layout=layout, tile=tile, name=json.dumps(file.name))


def _defining(file: Path, what: str) -> Path | None:
    """The source beside the file, or in a folder beside its own, that defines that function of the host."""
    name = re.search(r"(\w+)\s*(?:\(|$)", re.sub(r"<[^<>]*>", "", what))
    # Folders beside its own are searched in a repository alone: elsewhere they may be anybody's.
    beside = any((folder / ".git").exists() for folder in file.resolve().parents[1:])
    folders = [".", "../*"] if beside else ["."]
    near = [path for pattern in _SOURCES for folder in folders for path in file.parent.glob(f"{folder}/{pattern}")]
    if name is None:
        return None
    for other in near[:200]:
        try:
            text = other.read_text(encoding="utf-8", errors="replace")
        except OSError:  # a folder of that name, or a file that is not ours to read
            continue
        if other.resolve() != file.resolve() and name[1] in text and name[1] in {f.name for f in foreign().functions(text)}:
            return other
    return None


def _program(file: Path, options: Options, like: str | None, folder: Path) -> tuple[Path, list[str]]:
    """The program that traces the file's kernel, and what was guessed and left out, a sentence each."""
    source = source_of(file, options, CPU_MAPS)
    said = source.said
    tools = toolchain(_CPU, "inspect", ["gemm_traced_headers"])
    arch = (like or "sm_90").removeprefix("sm_").rstrip("af")
    flags = [*source.flags, f"-D__CUDA_ARCH__={arch}0", f"-D__CUDA_ARCH_FEAT_SM{arch}_ALL=1"]
    compiler = Compiler(tools, str(file), source.text, flags, folder / "own")
    kernel = compiler.compiled()
    if compiler.headers:
        said.append(f"Headers that are not here count as empty: {', '.join(compiler.headers)}.")
    if vanished := compiler.vanished():
        said.append(f"Nothing is left of {', '.join(vanished)} where __CUDA_ARCH__ is {arch}0; --like sm_… chooses another.")
    if compiler.functions:
        said.append(f"What does not compile here and the call does not need is left out: {', '.join(compiler.functions)}.")
    lesson = folder / "lesson.cpp"
    lesson.write_text(descriptor_of(file, options, source.variant), encoding="utf-8")
    made = folder / "lesson.o"
    unlinked(
        process.stream([*tools["kernel"], "-o", made, "-c", lesson], "Compiling the descriptor", process.unseen), "the program"
    )
    return _linked(file, options, tools, flags, [kernel, made], folder, said, compiler), said


def _linked(
    file: Path, options: Options, tools: Mapping, flags: Sequence[str], objects: list[Path], folder: Path, said: list[str],
    compiler: Compiler,
) -> Path:  # fmt: skip
    """The program, with those sources beside the file that define what is missing."""
    program = folder / "program"
    for number in range(_OTHERS + 1):
        done = link(tools, _LISTED, [ONLY_WHAT_IS_CALLED, *objects], program)
        undefined = next((line for line in done.lines if "undefined reference to" in line), None)
        if undefined is None:
            break
        what = undefined.rsplit("undefined reference to", 1)[-1].strip(" `'")
        other = _defining(file, what) if number < _OTHERS else None
        if other is None:
            why = compiler.why_missing(what)
            missing = "does not compile for it" if why else "the CPU device does not have"
            raise UserError(f"{file} calls {what}, which {missing}.{why}", status=1)
        said.append(f"Compiled with it: {other}.")
        text = foreign().followed(other, str(other), _folders(other, options))
        objects.append(Compiler(tools, str(other), text, flags, folder / f"other{number}").compiled())
    unlinked(done, "the program")
    return program


def _only_beta(found: Trace, options: Options) -> bool:
    """Whether nothing was found but that C is read where beta is 0."""
    ids = {finding["id"] for finding in found["findings"]}
    return options.beta_reads_c is None and ids == {"forbidden_read"} and not found["error"] and not found.get("overruns")


def verdict_of(found: Trace, request: Request, options: Options) -> tuple[str, bool]:
    """A sentence, and whether the kernel keeps what it promises."""
    clean = not found["findings"] and not found["error"] and not found.get("overruns")
    verdict = found["verdict"]
    formal = "does what the manuals leave undefined" if found.get("undefined") else ""
    behind = (f", but it {formal}" if formal else "") if clean else ", but see what was found"
    if verdict is None:
        return ("Not verified: blocks are missing." if clean else "No result: see what was found."), clean
    if verdict["passed"]:
        return f"Right at {request.shape}{behind}.", clean
    if few_digits(found, request):
        why = {"fp16": "its sums are of FP16", "tf32": "its products are of TF32"}.get(options.sums or "")
        guessed = why or "as sums of FP16 or products of TF32 would make it; --sums fp16 or tf32 takes it as right"
        return f"Right to few digits at {request.shape}, {guessed}{behind}.", clean and why is not None
    besides = (f", and it {formal}" if formal else "") if clean else "; see what was found"
    return f"Wrong at {request.shape}{besides}.", False


@dataclass(frozen=True)
class Traced:
    """What came of one kernel of somebody's: the trace, what was asked for in the end, and what is to be said of it."""

    trace: Trace
    request: Request
    verdict: str
    right: bool
    said: list[str]  # what was guessed and left out, a sentence each


def traced_own(file: Path, options: Options, request: Request, asked: bool, history: int = 0) -> Traced:
    """Compiles, runs and traces the file's kernel. asked: whether sizes were given; history: of how many blocks to keep what
    they do."""
    if not file.is_file():
        raise UserError(f"There is no file {file}.")
    options = completed(file, options)
    request = with_pitches(options, sizes_of(options, request, asked))
    if options.beta_reads_c and not any(option.startswith("--beta=") for option in request.options):
        request = replace(request, options=(*request.options, "--beta=1"))
    like = next((option.split("=", 1)[1] for option in request.options if option.startswith("--like=")), None)
    inspection.refuse_if_long(request, (32, 32, 32))
    with scratch() as folder:
        program, said = _program(file, options, like, folder)
        own = inspection.Own(file.name, str(file))
        text = text_of(file, options)

        def traced_with(*more: str) -> Trace:
            asked = replace(request, options=(*request.options, "--tolerant", *more))
            found, _ = trace(program, file.name, asked, history, own)
            found["overruns"] = local_only(found.get("overruns", []), text, str(file))
            return found

        found, how = as_kind_as_gpus(traced_with, request, has_dynamic_shared(text))
        if _only_beta(found, options) and not any(option.startswith("--beta=") for option in request.options):
            with_c = traced_with(*how, "--beta=1")
            if with_c["verdict"] and (with_c["verdict"]["passed"] or few_digits(with_c, request)):
                said.append(_READS_C)
                with_c["undefined"] = found["undefined"]
                found, request = with_c, replace(request, options=(*request.options, "--beta=1"))
    verdict, right = verdict_of(found, request, options)
    return Traced(found, request, verdict, right, said)


def told_besides(found: Trace) -> list[str]:
    """A line for each overrun and for each thing that the manuals leave undefined."""

    def often(count: int) -> str:
        return f" (×{count})" if count > 1 else ""

    def what(one: Overrun) -> str:
        index, kind = one["index"], one["array"]
        return f"index {index} of {kind}" if index is not None else f"a {kind} past the end of a local array"

    overruns = [
        f"array overrun: {one['where']}{what(one)} at {one['file']}:{one['line']}{often(one['count'])}"
        for one in found.get("overruns", ())
    ]
    return overruns + [f"undefined: {one['text']}{often(one['count'])}" for one in found.get("undefined", ())]


def inspect_own(
    file: Path, options: Options, request: Request, asked: bool, line: str | None, array: str | None, as_json: bool,
    output: Path | None, draw: Draw,
) -> int:  # fmt: skip
    """As inspection.inspect(), of a file that nobody here has seen. asked: whether sizes were given."""
    number = None if line is None else int(whole("--line", line, 1))
    traced = traced_own(file, options, request, asked)
    found = traced.trace
    if as_json:
        inspection.give(json.dumps(found) + "\n", output)
        return int(not traced.right)
    for sentence in (*traced.said, traced.verdict):
        print(sentence)
    for problem in inspection.problems(found):
        if not (problem.startswith("wrong result:") and few_digits(found, traced.request)):
            print(problem)
    for told in told_besides(found):
        print(told)
    inspection.tell(found, number, array, None, draw)
    return int(not traced.right)
