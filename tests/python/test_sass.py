"""./gemm sass: loops, counts and register banks of machine code, on lines with known answers; the command with fake tools; and
what lessons print where nvcc and cuobjdump are (no GPU is needed)."""

from __future__ import annotations

import json
import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from approvals import Approve, refusals
from conftest import Checkout, drawn, put

from runner.core.results import ROOT, UserError, folder_of, lessons, only_architecture
from runner.inspect import disassembly, machine_code, sass
from runner.inspect.machine_code import Instruction, Loop

QUOTED = "13.0"  # the nvcc whose instructions the lessons show
WIDE, NARROW = "_ZN9lesson_017productILb1EEEvllPKf", "_ZN9lesson_017productILb0EEEvllPKf"
# The instructions are lessons', shortened to what the counts need. The loop from 60 on stands in the one from 30 on. That from
# 130 on is entered in its middle, and what follows EXIT is reached by nobody.
CODE = """
    code for sm_90
        Function : _ZN9lesson_017productILb1EEEvllPKf
    .headerflags    @"EF_CUDA_SM90 EF_CUDA_VIRTUAL_SM(EF_CUDA_SM90)"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                     /* 0x00000a00ff017b82 */
                                                                              /* 0x000fe20000000800 */
        /*0010*/                   ISETP.GE.AND P0, PT, R3, 0x1, PT ;         /* 0x0000000103007c0c */
        /*0020*/              @!P0 BRA 0x100 ;                                /* 0x0000000000448947 */
        /*0030*/                   LDG.E.128 R4, desc[UR4][R2.64] ;           /* 0x0000000402047981 */
        /*0040*/                   STS.128 [R21], R4 ;                        /* 0x0000000415007388 */
        /*0050*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;              /* 0x0000000000007b1d */
        /*0060*/                   LDS.64 R22, [R39+-0xe0] ;                  /* 0xffff200027167984 */
        /*0070*/                   FFMA R10, R38, R24, R10 ;                  /* 0x00000018260a7223 */
        /*0080*/                   FFMA R9, R37.reuse, R23, R22 ;             /* 0x0000001725097223 */
        /*0090*/              @!PT LDS RZ, [RZ] ;                             /* 0x00000000fffff984 */
        /*00a0*/                   FFMA R5, R7, R7, R9 ;                      /* 0x0000000707057223 */
        /*00b0*/                   FFMA R5, R7, c[0x0][0x228], R9 ;           /* 0x00008a0007057623 */
        /*00c0*/                   FFMA R6, -R8, |R12|, R14.reuse ;           /* 0x4000000c08067223 */
        /*00d0*/               @P1 BRA 0x60 ;                                 /* 0xfffffffc00cc1947 */
        /*00e0*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;              /* 0x0000000000007b1d */
        /*00f0*/               @P2 BRA 0x30 ;                                 /* 0xfffffffc00cc2947 */
        /*0100*/                   FFMA R11, R3, R5, R7 ;                     /* 0x00000005030b7223 */
        /*0110*/               @P3 BRA 0x100 ;                                /* 0xfffffffc00cc3947 */
        /*0120*/                   BRA 0x150 ;                                /* 0x0000000000007947 */
        /*0130*/                   IADD3 R3, R3, 0x1, RZ ;                    /* 0x0000000103037810 */
        /*0140*/                   STG.E desc[UR4][R2.64], R9 ;               /* 0x0000000902007986 */
        /*0150*/                   ISETP.GE.AND P0, PT, R3, 0x1, PT ;         /* 0x0000000103007c0c */
        /*0160*/               @P0 BRA 0x130 ;                                /* 0xfffffffc00cc0947 */
        /*0170*/                   EXIT ;                                     /* 0x000000000000794d */
        /*0180*/                   FFMA R11, R3, R5, R7 ;                     /* 0x00000005030b7223 */
        /*0190*/                   BRA 0x180;                                 /* 0xfffffffc00fc7947 */
        Function : _ZN9lesson_017productILb0EEEvllPKf
        /*0000*/                   LDG.E R4, desc[UR4][R2.64] ;               /* 0x0000000402047981 */
        /*0010*/                   LDG.E R5, desc[UR4][R2.64+0x4] ;           /* 0x0000000402057981 */
        /*0020*/                   FFMA R10, R38, R24, R10 ;                  /* 0x00000018260a7223 */
        /*0030*/                   FFMA R10, R38, R25, R10 ;                  /* 0x00000019260a7223 */
        /*0040*/                   FFMA R10, R38, R26, R10 ;                  /* 0x0000001a260a7223 */
        /*0050*/                   FFMA R10, R38, R27, R10 ;                  /* 0x0000001b260a7223 */
        /*0060*/                   FFMA R10, R38, R28, R10 ;                  /* 0x0000001c260a7223 */
        /*0070*/                   FFMA R10, R38, R29, R10 ;                  /* 0x0000001d260a7223 */
        /*0080*/               @P0 BRA 0x0 ;                                  /* 0xfffffffc00cc0947 */
        /*0090*/                   EXIT ;                                     /* 0x000000000000794d */
"""
PTXAS = f"""ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '{NARROW}' for 'sm_90'
ptxas info    : Function properties for {NARROW}
    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 4096 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 2.5 ms
ptxas info    : Compiling entry function '{WIDE}' for 'sm_90'
ptxas info    : Function properties for {WIDE}
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 207 registers, used 0 barriers
"""
# Writes down how it was called; says what nvcc says.
NVCC = """
case "$*" in *-cubin*) echo "$@" >>"$FAKES/nvcc"; cat "$FAKES/ptxas"; exit "$(cat "$FAKES/status")" ;; esac
echo "Cuda compilation tools, release 13.0, V13.0.48"
"""


def parts(text: str) -> list[Loop]:
    return machine_code.loops(machine_code.functions(text)[0])


def one(text: str) -> Instruction:
    """The instruction, as the only one of a function."""
    (found,) = machine_code.functions(f"Function : f\n/*0000*/ {text} ; /* 0x0 */\n")[0].code
    return found


# The machine code.


def test_loops_are_found_by_their_jumps() -> None:
    found = {(loop.begin, loop.end): loop for loop in parts(CODE)}
    assert found.keys() == {(0x30, 0xF0), (0x60, 0xD0), (0x100, 0x110), (0x130, 0x160)}
    outer, inner = found[0x30, 0xF0], found[0x60, 0xD0]
    assert inner.around == (outer,)
    assert outer.around == ()
    assert [each.base for each in outer.own] == ["LDG", "STS", "BAR", "BAR", "BRA"]
    assert len(inner.own) == 8
    assert len(found[0x130, 0x160].own) == 4


def test_the_main_loop_and_what_it_consists_of() -> None:
    loop = machine_code.main_loop(machine_code.functions(CODE)[0])
    assert loop
    assert (loop.begin, loop.multiply, len(loop.multiplies)) == (0x60, "FFMA", 5)
    assert loop.kinds == {"LDS.64": [0], "FFMA": [0, 1, 2, 3, 4], "@!PT LDS": [2], "BRA": [5]}
    assert sum(each.reuses for each in loop.multiplies) == 2
    assert sass.banked(loop, "90") == 2
    assert sass.banked(loop, "120") is None  # nobody has found out what its banks are


def test_tensor_cores_tell_the_main_loop() -> None:
    ffmas = "".join(f"/*{16 * n:04x}*/ FFMA R1, R2, R3, R1 ; /* */\n" for n in range(3))
    text = f"""Function : f
{ffmas}/*0030*/ @P0 BRA 0x0 ; /* */
/*0040*/ HMMA.16816.F32.BF16 R4, R8, R12, R4 ; /* */
/*0050*/ @P0 BRA 0x40 ; /* */
"""
    loop = machine_code.main_loop(machine_code.functions(text)[0])
    assert loop
    assert (loop.multiply, len(loop.own)) == ("HMMA", 2)
    assert sass.banked(loop, "90") is None
    assert machine_code.main_loop(machine_code.functions("Function : f\n/*0000*/ EXIT ; /* */\n")[0]) is None


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("FFMA R0, R2, R4, R6", True),
        ("FFMA R0, R1, R3, R5", True),
        ("@!P0 FFMA R0, R1.reuse, -R3, R5.reuse", True),  # whatever comes from the reuse cache
        ("FFMA R0, R2, R4, R7", False),
        ("FFMA R0, R2, R2, R6", False),  # two registers are read at once
        ("FFMA R0, R2, R4, RZ", False),
        ("FFMA R0, R2, 0.5, R6", False),
        ("FFMA R0, R2, UR4, R6", False),
        ("FFMA R0, R2, c[0x0][0x224], R6", False),
    ],
)
def test_three_sources_in_one_register_bank(text: str, same: bool) -> None:
    assert one(text).shares_a_bank == same
    assert one(text).text == text


@pytest.mark.parametrize(
    ("text", "kind", "size"),
    [
        ("LDG.E.128.CONSTANT R4, desc[UR4][R2.64]", "LDG.E.128", 16),
        ("LDS R4, [R2]", "LDS", 4),
        ("LDG.E.U16 R4, desc[UR4][R2.64]", "LDG.E.U16", 2),
        ("LDGSTS.E.BYPASS.LTC128B.128 [R1], desc[UR8][R2.64], !P4", "LDGSTS.E.128", 16),
        ("LDSM.16.MT88.4 R4, [R2]", "LDSM.16.MT88.4", 16),
        ("@!PT LDS RZ, [RZ]", "@!PT LDS", None),
        ("HMMA.16816.F32.BF16 R4, R8, R12, R4", "HMMA.16816.F32.BF16", None),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", "BAR", None),
        ("IMAD.MOV.U32 R1, RZ, RZ, R2", "IMAD", None),
    ],
)
def test_kinds_of_instructions(text: str, kind: str, size: int | None) -> None:
    assert (one(text).kind, one(text).bytes) == (kind, size)


def test_names_are_short() -> None:
    name = "void lesson_08b::sgemm<lesson_08b::Tiles<64, 64>, true>(long, float (*)(int), std::vector<int>)"
    assert sass.short_name(name) == "sgemm<Tiles<64, 64>, true>"
    assert sass.short_name("lesson_01::sgemm_naive(long, float const*)") == "sgemm_naive"
    assert sass.short_name("void (anonymous namespace)::sgemm<64>(long)") == "sgemm<64>"


def test_what_ptxas_says() -> None:
    used = disassembly.usage_of(PTXAS.splitlines())
    assert used == {NARROW: disassembly.Usage(40, 8, 12, 16, 4096), WIDE: disassembly.Usage(207, 0, 0, 0, 0)}


# The command.


@pytest.fixture
def cuda(checkout: Checkout) -> Checkout:
    """A checkout with CUDA's programs, whose kernel is CODE."""
    checkout.tool("nvcc", NVCC)
    checkout.tool("cuobjdump", 'cat "$FAKES/code"\n')
    checkout.tool("nvdisasm", "exit 0\n")
    for name, text in (("ptxas", PTXAS), ("code", CODE), ("status", "0")):
        (checkout.fakes / name).write_text(text)
    return checkout


def test_the_kernel_that_loads_most_at_once_is_shown(cuda: Checkout, approve: Approve) -> None:
    done = cuda.run("sass", "01", status=0)
    assert max(map(len, done.stdout.splitlines())) <= 80
    approve(done.stdout)
    assert "arch=compute_90,code=sm_90" in (cuda.fakes / "nvcc").read_text()


def test_another_kernel_with_its_instructions(cuda: Checkout, approve: Approve) -> None:
    done = cuda.run("sass", "01", "--kernel", "product<false>", "--print", "--arch", "sm_86", status=0)
    approve(done.stdout)
    assert "arch=compute_86,code=sm_86" in (cuda.fakes / "nvcc").read_text()


def test_as_json(cuda: Checkout) -> None:
    cuda.tool("nvidia-smi", "echo 8.9\n")
    found = json.loads(cuda.run("sass", "01", "--json", status=0).stdout)
    assert (found["source"], found["architecture"], found["chosen"]) == ("01_naive/kernel.cu", "89", WIDE)
    kernel = next(each for each in found["kernels"] if each["mangled"] == WIDE)
    assert (kernel["name"], kernel["registers"], kernel["spill_stores"]) == ("product<true>", 207, 0)
    loop = kernel["loop"]
    assert (loop["instructions"], loop["multiply"], loop["multiplies"]) == (8, "FFMA", 5)
    assert (loop["reuse"], loop["one_bank"], loop["shared_reads"]) == (2, 2, 1)
    assert {"kind": "LDS.64", "count": 1, "bytes": 8, "after": [0]} in loop["kinds"]
    assert [around["instructions"] for around in loop["around"]] == [5]
    assert "code" not in loop


def test_a_learners_file(cuda: Checkout, approve: Approve) -> None:
    (cuda.root / "01_naive" / "exercise.py").write_text((ROOT / "01_naive" / "exercise.py").read_text())
    approve(refusals(cuda, ["sass 01 --mine", "sass 01 --file no.cu", "sass 01 --mine --file no.cu"]))
    mine = cuda.root / "exercises" / "01_naive" / "exercise.cu"
    put(mine.parent, {mine.name: ""})
    done = cuda.run("sass", "01", "--mine")
    assert done.stdout.startswith("exercises/01_naive/exercise.cu, "), done.stderr
    assert (cuda.fakes / "nvcc").read_text().rstrip().endswith(str(mine))


def test_what_cannot_be_shown_is_one_sentence(cuda: Checkout, approve: Approve) -> None:
    said = [refusals(cuda, ["sass 01 --arch ninety", "sass 01 --kernel no"])]
    (cuda.fakes / "code").write_text("")
    said.append(refusals(cuda, ["sass 01"]))
    cuda.tool("cuobjdump", "echo 'cuobjdump fatal   : Unknown format.'\nexit 1\n")
    said.append(refusals(cuda, ["sass 01"]))
    (cuda.fakes / "ptxas").write_text("kernel.cu(3): error: expected a ';'\n")
    (cuda.fakes / "status").write_text("1")
    approve("\n".join([*said, cuda.run("sass", "01", status=2).stderr]))


def test_without_tools_a_sentence_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(disassembly.doctor, "places_of_cuda", list)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("GEMM_NO_INSTALL", "1")
    packages = (rf"nvidia-cuda-{package}==\S+" for package in ("nvcc", "cuobjdump", "nvdisasm"))
    with pytest.raises(UserError, match=f"^nvcc and cuobjdump .*{'.* '.join(packages)}$") as refused:
        sass.sass("01", None, None, "90", None, False, False)
    assert refused.value.status == 2
    (tmp_path / "nvcc").touch(mode=0o755)
    with pytest.raises(UserError, match="^cuobjdump ") as refused:
        disassembly.provide()
    assert "nvidia-cuda-nvcc" not in str(refused.value)


def test_programs_of_pypi_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(disassembly.doctor, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(sys, "path", [])
    folder = tmp_path / ".venv" / "lib" / "python3.11" / "site-packages" / "nvidia" / "cu13" / "bin"
    folder.mkdir(parents=True)
    assert list(disassembly.missing()) == ["nvcc", "cuobjdump"]
    for name in ("nvcc", "cuobjdump", "nvdisasm"):
        (folder / name).touch(mode=0o755)
    assert disassembly.provide().nvdisasm == folder / "nvdisasm"


# The lessons.


def quoted(text: str) -> list[tuple[list[str], list[str]]]:
    """What a page says that `./gemm sass …` prints: the arguments, and the lines of the block that follows the command."""
    found = []
    for block in re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        command, _, output = block.partition("\n")
        if call := re.match(r"\$ \./gemm sass (.*)", command):
            found.append((call[1].split(), [line.rstrip() for line in output.splitlines() if line.strip()]))
    return found


def test_a_quote_is_found_in_a_page() -> None:
    page = "a\n```\n$ ./gemm sass 06 --arch 90\nThe main loop\n\n  b  c \n```\n```sh\n./gemm sass 07\n```\n"
    assert quoted(page) == [(["06", "--arch", "90"], ["The main loop", "  b  c"])]


@pytest.mark.skipif(bool(disassembly.missing()), reason="no nvcc and cuobjdump on this machine")
@pytest.mark.parametrize("lesson", drawn(lessons(), 1))
def test_a_lesson_prints_what_its_page_says(lesson: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ROOT / folder_of(lesson)
    shown = only_architecture(lesson) or "90"
    made = disassembly.disassemble(folder / "kernel.cu", lesson, shown)
    kernel = sass.choose(sass.read(made), None)
    assert kernel.loop, kernel.name
    assert "false" not in kernel.name, "of two forms the one for aligned matrices is shown"
    assert kernel.usage.spill_stores == kernel.usage.spill_loads == 0
    assert sum(map(len, kernel.loop.kinds.values())) == len(kernel.loop.own) > len(kernel.loop.multiplies) > 0
    if made.nvcc != QUOTED:
        return  # another compiler's instructions are others
    assert "__half" not in kernel.name, "the lesson's first type is shown"
    monkeypatch.setattr(disassembly, "disassemble", lambda *_: made)
    pages = [page.read_text(encoding="utf-8") for page in (folder / "README.md", folder / "EVIDENCE.md") if page.exists()]
    for arguments, lines in (one for page in pages for one in quoted(page)):
        named = arguments[1:3] == ["--arch", shown] or "--arch" not in arguments and only_architecture(lesson)
        assert named, "what a page shows must not depend on the reader's GPU"
        printed = StringIO()
        with redirect_stdout(printed):
            sass.sass(arguments[0], None, None, shown, None, "--print" in arguments, False)
        known = [line.rstrip() for line in printed.getvalue().splitlines()]
        assert [line for line in lines if line not in known and line != "…"] == [], (
            f"nvcc {made.nvcc} prints:\n{printed.getvalue()}"
        )
