"""The command line.

`./gemm chart | test | run | inspect | explore | layout | site | sass | profile | timeline | autotune | atlas | doctor`, and for
learners and teachers `./gemm start | check | watch | hint | reset | progress | quiz | grade`.

A command imports its room itself: that of all of them takes longer than many a command.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

_MISSING = "gemm: Python cannot import {}; remove the folder .venv, if there is one, and run ./gemm again."
try:
    import typer

    from runner.core.process import Interrupted, catch_signals, say
    from runner.core.results import UserError
except ImportError as missing:
    sys.exit(_MISSING.format(missing.name))

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Matrix multiplication in CUDA, step by step: build, verify, time and chart lessons. "
    "GEMM_DEVICE=auto|cuda|cpu chooses the device; GEMM_NO_INSTALL=1 forbids installing what is missing.",
)
LESSONS = typer.Argument(None, metavar="LESSON", help="Number or name of a lesson: 05 or 01_naive.")
LESSON = typer.Argument(..., metavar="LESSON", help="Number or name of a lesson: 05 or 01_naive.")
HUNT = typer.Option(False, "--hunt", help="Use the lesson's bug hunt instead of its exercise.")
BATCH = typer.Option(None, help="Number of problems in a batch (by default 3, or 4 if grouped).")
GROUPS = typer.Option(None, help="MxNxK of each problem in a grouped batch: 100x77x51,1x1x1.")
VARIANT = typer.Option(None, help="Types and layout that the lesson offers: bf16, bf16.nt; by default its first.")
DTYPE = typer.Option(None, help="Short for one type for A, B and C: fp32, bf16 or fp16.")
MINE = typer.Option(False, "--mine", help="Use your file in exercises/ instead of the lesson's kernel.")
HUNT = typer.Option(False, "--hunt", help="Use your file of the lesson's bug hunt.")
SCHEDULE = typer.Option(None, help="Seed of what a GPU leaves open, for the CPU device; 0 by default.")
JSON = typer.Option(False, "--json", help="Print one JSON object on stdout.")


def _option(name: str) -> str:
    """What a parameter is called on the command line."""
    return {"as_json": "--json", "data_type": "--type"}.get(name, f"--{name.replace('_', '-')}")


def recorded(kind: str) -> Any:
    """The option of what measures every lesson."""
    return typer.Option(False, "--record", help=f"Write plots/results/<gpu>-{kind}.json (all lessons, committed sources).")


@app.command("chart")
def chart_command(
    record: bool = typer.Option(False, "--record", help="Write plots/results/<gpu>.json (on a GPU, from committed sources)."),
    sizes: Optional[str] = typer.Option(None, help="Such as 4096,1000x77x513: M x N x K; 4096 means M = N = K = 4096."),
    variant: Optional[str] = typer.Option(None, help="Only this variant, such as bf16, and only lessons that take it."),
    batch: Optional[str] = BATCH,
    as_json: bool = JSON,
) -> int:
    """Verify every lesson, time it against cuBLAS, draw the charts."""
    from runner import drawing
    from runner.measure import chart

    return chart.chart(record, sizes, variant, batch, as_json, drawing.charts)


@app.command("test")
def test_command(
    everything: bool = typer.Option(False, "--all", help="Run every test, not only a sample of the large families."),
    name: Optional[str] = typer.Option(None, "--lesson", metavar="LESSON", help="Run only the tests of one lesson."),
    mutants: Optional[str] = typer.Option(
        None, metavar="N", help="Instead of tests: make N small edits to the kernels and count those that the check catches."
    ),
    fuzz: Optional[str] = typer.Option(
        None, metavar="N", help="Instead of tests: run N random problems, and make the first that fails as small as possible."
    ),
    seed: Optional[str] = typer.Option(None, help="Seed of the sample and of all random values; fresh by default."),
    as_json: bool = JSON,
) -> int:
    """Run the tests."""
    if fuzz is not None:
        if everything or mutants or as_json:
            raise UserError("--fuzz runs no tests; leave --all, --mutants and --json out.")
        from runner import fuzzing

        return fuzzing.fuzz(fuzz, name, seed)
    if mutants is None:
        from runner import suite

        return suite.test(everything, name, seed, as_json)
    if everything or name:
        raise UserError("--mutants runs no tests; leave --all and --lesson out.")
    from runner import mutation

    return mutation.score(mutants, seed, as_json)


def _foreign(name: str) -> bool:
    """Whether that is a file of one's own, and no lesson."""
    return Path(name).suffix in (".cu", ".cuh", ".h", ".hpp")


def _refuse_own(options: Sequence[object]) -> None:
    """A UserError where options are given that are of a file of one's own."""
    if any(option is not None for option in options):
        raise UserError(
            "--call, --sums, --multiples, --sizes, --beta-reads-c, --include and --define are for a file of your own, "
            "such as my.cu; so is --variant in sass and timeline."
        )


def _refuse_for_own(name: str, options: Mapping[str, object]) -> None:
    """A UserError where options of lessons are given with a file of one's own."""
    for option, value in options.items():
        if value not in (None, False):
            raise UserError(f"{option} is for lessons, not for {name}.")


# For a file of one's own
_CALL = typer.Option(None, help="For a file of your own, my.cu: its launch, 'k<<<grid, block>>>(…)'.")
_LDA = typer.Option(None, help="Elements between A's rows as it is stored; by default no padding.")
_LDB = typer.Option(None, help="The same of B.")
_LDC = typer.Option(None, help="The same of C.")
_OWN_VARIANT = typer.Option(None, "--variant", help="For my.cu: types and layout, bf16.nt.")
_SUMS = typer.Option(None, help="For my.cu: it may round as fp16 sums or tf32 products do.")
_MULTIPLES = typer.Option(None, help="For my.cu: what its sizes must be, M:128,N:128,K:16.")
_SIZES = typer.Option(None, help="For my.cu: M, N and K, 256x128x64.")
_BETA_READS_C = typer.Option(None, "--beta-reads-c", help="For my.cu: it reads C where beta is 0, too.")
_INCLUDE = typer.Option(None, "--include", "-I", help="For my.cu: folders of its headers, a,b.")
_DEFINE = typer.Option(None, "--define", "-D", help="For my.cu: what the compiler defines, NAME=1,OTHER.")


@app.command("run")
def run_command(
    name: str = LESSON,
    m: Optional[str] = typer.Option(None, help="Rows of A and C."),
    n: Optional[str] = typer.Option(None, help="Columns of B and C."),
    k: Optional[str] = typer.Option(None, help="Columns of A, rows of B."),
    lda: Optional[str] = typer.Option(None, help="Row pitch of A in elements."),
    ldb: Optional[str] = typer.Option(None, help="Row pitch of B in elements."),
    ldc: Optional[str] = typer.Option(None, help="Row pitch of C in elements."),
    lds: Optional[str] = typer.Option(None, help="Row pitch of the scales, where the lesson has them."),
    ldr: Optional[str] = typer.Option(None, help="Row pitch of the residual, where the lesson has one."),
    ldd: Optional[str] = typer.Option(None, help="Row pitch of D, where the lesson has one."),
    batch: Optional[str] = BATCH,
    groups: Optional[str] = GROUPS,
    stride_a: Optional[str] = typer.Option(None, help="Elements from one A of a batch to the next."),
    stride_b: Optional[str] = typer.Option(None, help="Elements from one B of a batch to the next."),
    stride_c: Optional[str] = typer.Option(None, help="Elements from one C of a batch to the next."),
    stride_d: Optional[str] = typer.Option(None, help="Elements from one D of a batch to the next."),
    alpha: Optional[str] = typer.Option(None, help="C = alpha A B + beta C."),
    beta: Optional[str] = typer.Option(None, help="C = alpha A B + beta C."),
    variant: Optional[str] = VARIANT,
    dtype: Optional[str] = DTYPE,
    seed: Optional[str] = typer.Option(None, help="Seed of the random inputs; fresh by default."),
    rounds: Optional[str] = typer.Option(None, help="How many rounds to time."),
    device: Optional[str] = typer.Option(None, help="Number of the GPU, from 0."),
    schedule: Optional[str] = SCHEDULE,
    like: Optional[str] = typer.Option(None, help="GPU whose launch limits the CPU device enforces: sm_86."),
    verify_only: bool = typer.Option(False, "--verify-only", help="Verify only, without timing."),
    as_json: bool = JSON,
    call: Optional[str] = _CALL,
    sums: Optional[str] = _SUMS,
    multiples: Optional[str] = _MULTIPLES,
    sizes: Optional[str] = _SIZES,
    beta_reads_c: Optional[bool] = _BETA_READS_C,
    include: Optional[str] = _INCLUDE,
    define: Optional[str] = _DEFINE,
) -> int:
    """Run one lesson, or my.cu: its verdict and its time."""
    known = (call, sums, multiples, sizes, beta_reads_c, include, define)
    if _foreign(name):
        from runner.inspect import inspection
        from runner.inspect.own import Options
        from runner.measure.own import run_own

        of_lessons = {"--lds": lds, "--ldr": ldr, "--ldd": ldd, "--batch": batch, "--rounds": rounds, "--device": device}
        of_lessons |= {"--stride-a": stride_a, "--stride-b": stride_b, "--stride-c": stride_c, "--stride-d": stride_d}
        of_lessons["--groups"] = groups
        _refuse_for_own(name, {**of_lessons, "--verify-only": verify_only})
        given = {"m": m, "n": n, "k": k, "lda": lda, "ldb": ldb, "ldc": ldc, "seed": seed, "schedule": schedule}
        request = inspection.parse(given, {"alpha": alpha, "beta": beta}, None, like)
        asked = any(size is not None for size in (m, n, k))
        return run_own(Path(name), Options(call, variant or dtype, *known[1:]), request, asked, as_json)
    _refuse_own(known)
    from runner.core import lesson

    sizes_of = {"m": m, "n": n, "k": k, "lda": lda, "ldb": ldb, "ldc": ldc, "seed": seed, "schedule": schedule}
    sizes_of |= {"rounds": rounds, "device": device, "lds": lds, "ldr": ldr, "ldd": ldd, "batch": batch}
    sizes_of |= {"stride-a": stride_a, "stride-b": stride_b, "stride-c": stride_c, "stride-d": stride_d}
    return lesson.run(name, sizes_of, {"alpha": alpha, "beta": beta}, variant, dtype, like, verify_only, as_json, groups)


@app.command("inspect")
def inspect_command(
    ctx: typer.Context,
    names: Optional[list[str]] = LESSONS,
    mine: bool = MINE,
    hunt: bool = HUNT,
    m: Optional[str] = typer.Option(None, help="Rows of A and C (128)."),
    n: Optional[str] = typer.Option(None, help="Columns of B and C (128)."),
    k: Optional[str] = typer.Option(None, help="Columns of A, rows of B (128)."),
    lda: Optional[str] = _LDA,
    ldb: Optional[str] = _LDB,
    ldc: Optional[str] = _LDC,
    batch: Optional[str] = BATCH,
    groups: Optional[str] = GROUPS,
    blocks: Optional[str] = typer.Option(None, help="How many blocks to trace, spread over the grid; or all."),
    alpha: Optional[str] = typer.Option(None, help="C = alpha A B + beta C."),
    beta: Optional[str] = typer.Option(None, help="C = alpha A B + beta C."),
    variant: Optional[str] = VARIANT,
    dtype: Optional[str] = DTYPE,
    seed: Optional[str] = typer.Option(None, help="Seed of the random inputs; fresh by default."),
    schedule: Optional[str] = SCHEDULE,
    like: Optional[str] = typer.Option(None, help="GPU whose launch limits hold: sm_86."),
    line: Optional[str] = typer.Option(None, help="Show only this line of kernel.cu."),
    array: Optional[str] = typer.Option(None, help="Show only this array, such as A or As."),
    as_json: bool = typer.Option(False, "--json", help="Print the counts as JSON, or write them to a FILE.json named after it."),
    plot: bool = typer.Option(False, "--plot", help="Draw each line's access by a warp, and who owns what, in out/inspect/."),
    record: bool = typer.Option(False, "--record", help="Write plots/results/counts.json and the lessons' tables of counts."),
    against_ncu: bool = typer.Option(False, "--against-ncu", help="Compare with a GPU's own counters (no LESSON: all)."),
    call: Optional[str] = _CALL,
    sums: Optional[str] = _SUMS,
    multiples: Optional[str] = _MULTIPLES,
    sizes: Optional[str] = _SIZES,
    beta_reads_c: Optional[bool] = _BETA_READS_C,
    include: Optional[str] = _INCLUDE,
    define: Optional[str] = _DEFINE,
) -> int:
    """Count each line's accesses and find races, also of my.cu."""
    from runner import drawing
    from runner.inspect import counters, inspection

    files = [Path(name) for name in names or [] if name.endswith(".json")] if as_json else []
    chosen = [name for name in names or [] if Path(name) not in files]
    if record and any(map(_foreign, chosen)):
        from runner.inspect import own_example

        return own_example.record(chosen, drawing.own_kernel)
    modes = [mode for mode, on in (("--record", record), ("--against-ncu", against_ncu)) if on]
    if modes:
        own = ("names", "record", "against_ncu", *(["as_json"] if against_ncu else []))
        given = [_option(name) for name, value in ctx.params.items() if name not in own and value not in (None, False)]
        excess = [*modes[1:], *given, *chosen * record]
        if excess:
            raise UserError(f"{modes[0]} has its own shapes and output; leave {', '.join(excess)} out.")
        if against_ncu:
            return counters.against(chosen, files[0].absolute() if files else None, as_json)
        return inspection.record(drawing.published_accesses, drawing.counts)
    if len(chosen) != 1 or len(files) > 1:
        raise UserError("inspect takes one LESSON, such as ./gemm inspect 02, and after --json one file, such as 02.json.")
    if as_json and (plot or line or array):
        raise UserError("--json gives all that was counted and draws nothing; leave --line, --array and --plot out.")
    foreign = _foreign(chosen[0])
    request = inspection.parse(
        {"m": m, "n": n, "k": k, "lda": lda, "ldb": ldb, "ldc": ldc, "batch": batch, "groups": groups, "seed": seed}
        | {"schedule": schedule},
        {"alpha": alpha, "beta": beta},
        blocks,
        like,
        None if foreign else dtype,
        None if foreign else variant,
    )
    file = files[0].absolute() if files else None
    if foreign:
        from runner.inspect.own import Options, inspect_own

        known = Options(call, variant or dtype, sums, multiples, sizes, beta_reads_c, include, define)
        asked_for = any(size is not None for size in (m, n, k))
        drawn = drawing.accesses if plot else None
        return inspect_own(Path(chosen[0]), known, request, asked_for, line, array, as_json, file, drawn)
    _refuse_own((call, sums, multiples, sizes, beta_reads_c, include, define))
    if mine or hunt:
        from runner.learn import course
        from runner.learn.mine import inspect_mine

        options = (m, n, k, lda, ldb, ldc, batch, groups, blocks, alpha, beta, variant, dtype, seed, schedule, like)
        asked = request if any(option is not None for option in options) else None
        task = course.find(chosen[0], hunt)
        return inspect_mine(task, asked, line, array, as_json, file, drawing.accesses if plot else None)
    return inspection.inspect(chosen[0], request, line, array, as_json, file, drawing.accesses if plot else None)


@app.command("explore")
def explore_command(
    name: str = LESSON,
    mine: bool = MINE,
    hunt: bool = HUNT,
    m: Optional[str] = typer.Option(None, help="Rows of A and C (two C tiles, at most 256)."),
    n: Optional[str] = typer.Option(None, help="Columns of B and C (two C tiles, at most 256)."),
    k: Optional[str] = typer.Option(None, help="Columns of A, rows of B (several k-tiles)."),
    lda: Optional[str] = _LDA,
    ldb: Optional[str] = _LDB,
    ldc: Optional[str] = _LDC,
    batch: Optional[str] = BATCH,
    groups: Optional[str] = GROUPS,
    blocks: Optional[str] = typer.Option(None, help="How many blocks to trace, spread over the grid; or all."),
    variant: Optional[str] = VARIANT,
    seed: Optional[str] = typer.Option(None, help="Seed of the random inputs; fresh by default."),
    serve: bool = typer.Option(False, "--serve", help="Serve the page on this machine, and update it at every save."),
    no_open: bool = typer.Option(False, "--no-open", help="Don't open a browser."),
    call: Optional[str] = _CALL,
    sums: Optional[str] = _SUMS,
    multiples: Optional[str] = _MULTIPLES,
    sizes: Optional[str] = _SIZES,
    beta_reads_c: Optional[bool] = _BETA_READS_C,
    include: Optional[str] = _INCLUDE,
    define: Optional[str] = _DEFINE,
) -> int:
    """Explore what a kernel does, step by step, in a browser."""
    from website import explore, serving

    known = (call, sums, multiples, sizes, beta_reads_c, include, define)
    sizes_of = {"m": m, "n": n, "k": k, "lda": lda, "ldb": ldb, "ldc": ldc, "batch": batch, "groups": groups, "seed": seed}
    if _foreign(name):
        from runner.inspect import inspection
        from runner.inspect.own import Options
        from website.explore_own import explore_own

        if serve or mine or hunt:
            raise UserError(f"--serve, --mine and --hunt are of lessons, not of {name}.")
        request = inspection.parse(sizes_of, {}, blocks, None)
        asked_for = any(size is not None for size in (m, n, k))
        return explore_own(Path(name), Options(call, variant, *known[1:]), request, asked_for, not no_open)
    _refuse_own(known)
    asked = explore.asked_for(name, mine, hunt, sizes_of, blocks, variant)
    return serving.serve(asked, not no_open) if serve else explore.explore(asked, not no_open)


@app.command("descriptor")
def descriptor_command(
    ctx: typer.Context,
    what: Optional[str] = typer.Argument(None, metavar="[NUMBER|LESSON]", help="64 bits (0x…), or a lesson, to see its own."),
    start: Optional[str] = typer.Option(None, help="To encode one: matrix start address in bytes."),
    leading: Optional[str] = typer.Option(None, help="Leading dimension byte offset (LBO)."),
    stride: Optional[str] = typer.Option(None, help="Stride dimension byte offset (SBO)."),
    base_offset: Optional[str] = typer.Option(None, help="Matrix base offset, 0 to 7."),
    swizzle: Optional[str] = typer.Option(None, help="none, 32, 64 or 128 bytes; also for a tensor map."),
    rows: Optional[str] = typer.Option(None, help="Rows of the matrix: 64 for A, N for B (64)."),
    major: Optional[str] = typer.Option(None, help="Dimension whose elements are neighbors: k or row (k)."),
    tile: Optional[str] = typer.Option(None, help="Tile that it should read, rows x steps along K: 64x64. Marks wrong bytes."),
    tile_swizzle: Optional[str] = typer.Option(None, help="The tile's swizzle mode (the descriptor's)."),
    tile_at: Optional[str] = typer.Option(None, help="Where the tile begins (where the descriptor would be right)."),
    row: Optional[str] = typer.Option(None, help="The row of the tile that it should read first (0)."),
    k: Optional[str] = typer.Option(None, help="The step along K that it should read first (0)."),
    data_type: Optional[str] = typer.Option(None, "--type", help="For a tensor map: fp32, bf16, … (fp32)."),
    size: Optional[str] = typer.Option(None, help="globalDim, innermost first: 4096x4096."),
    strides: Optional[str] = typer.Option(None, help="globalStrides in bytes: 16384 (tight)."),
    box: Optional[str] = typer.Option(None, help="boxDim, innermost first: 32x128."),
    fill: Optional[str] = typer.Option(None, help="What to read outside the matrix: zero or nan (zero)."),
    as_json: bool = JSON,
    plot: bool = typer.Option(False, "--plot", help="Draw it in out/descriptor/."),
) -> int:
    """Decode a matrix descriptor of wgmma, or a tensor map."""
    from runner import drawing
    from runner.inspect import descriptor

    options = {_option(name): value for name, value in ctx.params.items() if name not in ("what", "as_json", "plot")}
    return descriptor.descriptor(what, options, as_json, drawing.descriptor if plot else None)


@app.command("layout")
def layout_command(
    ctx: typer.Context,
    text: str = typer.Argument(..., metavar="LAYOUT", help="Such as '((4,2),(8,4)):((1,16),(4,32))'."),
    compose: Optional[str] = typer.Option(None, help="A layout B: show A(B(i))."),
    complement: Optional[str] = typer.Option(None, help="A size: show what the layout leaves free of it."),
    divide: Optional[str] = typer.Option(None, help="A layout: show the tile that it is, and what is left (logical_divide)."),
    tile: Optional[str] = typer.Option(None, help="Extents, or a layout a mode: show tiles of it (zipped_divide)."),
    tiled_divide: Optional[str] = typer.Option(None, help="The same with a mode for each mode of the rest."),
    flat_divide: Optional[str] = typer.Option(None, help="The same with a mode for each of the tile's, too."),
    product: Optional[str] = typer.Option(
        None, help="A layout: show copies arranged as it is (logical_product, zipped_product)."
    ),
    blocked_product: Optional[str] = typer.Option(None, help="A layout: show the copies as blocks side by side."),
    raked_product: Optional[str] = typer.Option(None, help="A layout: show the copies interleaved, element by element."),
    right_inverse: bool = typer.Option(False, "--right-inverse", help="Show which index has an offset: A(R(i)) = i."),
    left_inverse: bool = typer.Option(False, "--left-inverse", help="Show the way back to the index: R(A(i)) = i."),
    flatten: bool = typer.Option(False, "--flatten", help="Show it without inner parentheses."),
    group_modes: Optional[str] = typer.Option(None, help="BEGIN,END: show the modes from BEGIN on, before END, as one."),
    swizzle: Optional[str] = typer.Option(None, help="Bits, base, shift, such as 3,4,3: show the layout swizzled."),
    svg: Optional[str] = typer.Option(None, metavar="FILE", help="Draw the last of what is shown."),
    page: Optional[str] = typer.Option(None, metavar="FILE", help="Write a page on which one types and moves all of this."),
    as_json: bool = JSON,
) -> int:
    """Show a layout, and what operations make of it."""
    from runner.inspect import layout

    shown = {name: value for name, value in ctx.params.items() if name not in ("text", "page", "as_json")}
    given = {_option(name): {True: "", False: None}.get(value, value) for name, value in shown.items()}
    status = layout.layout(text, given, as_json)
    if page:
        from website import layouts

        layouts.write(Path(page), text, given)
    return status


@app.command("site")
def site_command(
    no_explorers: bool = typer.Option(False, "--no-explorers", help="Leave out the lessons' explorers, which take longer."),
    as_json: bool = JSON,
) -> int:
    """Build a site with all lessons in out/site."""
    from website import site

    return site.site(not no_explorers, as_json)


@app.command("sass")
def sass_command(
    name: str = LESSON,
    mine: bool = MINE,
    file: Optional[str] = typer.Option(None, help="Use another file instead of the lesson's kernel."),
    arch: Optional[str] = typer.Option(None, help="Such as 90 for compute capability 9.0; by default your GPU's, or 90."),
    kernel: Optional[str] = typer.Option(None, metavar="TEXT", help="Part of the kernel's name, if there are several."),
    code: bool = typer.Option(False, "--print", help="Also print the loop's instructions."),
    as_json: bool = JSON,
    call: Optional[str] = _CALL,
    variant: Optional[str] = _OWN_VARIANT,
    include: Optional[str] = _INCLUDE,
    define: Optional[str] = _DEFINE,
) -> int:
    """Count the instructions in a lesson's or my.cu's main loop."""
    from runner.inspect import sass as machine_code
    from runner.learn import course

    if _foreign(name):
        from runner.inspect.own import Options

        _refuse_for_own(name, {"--mine": mine, "--file": file})
        options = Options(call, variant, include=include, define=define)
        return machine_code.sass_own(Path(name), options, arch, kernel, code, as_json)
    _refuse_own((call, variant, include, define))
    if mine and file is not None:
        raise UserError("--mine and --file each name the source; give one of the two.")
    return machine_code.sass(name, course.find(name, False).file if mine else None, file, arch, kernel, code, as_json)


@app.command("profile")
def profile_command(
    names: Optional[list[str]] = LESSONS,
    energy: bool = typer.Option(False, "--energy", help="Instead of ncu's: joules and SM cycles of a launch (names LESSONs)."),
    sizes: Optional[str] = typer.Option(None, help="With --energy: such as 4096,16x4096x4096; by default 4096."),
    record: bool = recorded("profile"),
    as_json: bool = JSON,
) -> int:
    """Read the GPU's counters (with ncu) while each lesson runs."""
    from runner import drawing
    from runner.measure import profile

    if energy:
        from runner.measure import energy as energies

        return energies.measure(names or [], sizes, record, as_json, drawing.publish)
    if sizes is not None:
        raise UserError(f"--sizes goes with --energy; ncu counts at M = N = K = {profile.SIZE}.")
    return profile.profile(names or [], record, as_json, drawing.publish)


@app.command("timeline")
def timeline_command(
    name: Optional[str] = typer.Argument(None, metavar="[LESSON]", help="A lesson with mbarriers: 10a to 13d."),
    m: Optional[str] = typer.Option(None, help="Rows of A and C."),
    n: Optional[str] = typer.Option(None, help="Columns of B and C."),
    k: Optional[str] = typer.Option(None, help="Columns of A, rows of B."),
    record: bool = recorded("timeline"),
    as_json: bool = JSON,
    call: Optional[str] = _CALL,
    variant: Optional[str] = _OWN_VARIANT,
    sums: Optional[str] = _SUMS,
    multiples: Optional[str] = _MULTIPLES,
    sizes: Optional[str] = _SIZES,
    beta_reads_c: Optional[bool] = _BETA_READS_C,
    include: Optional[str] = _INCLUDE,
    define: Optional[str] = _DEFINE,
) -> int:
    """Show what the warps of a lesson or my.cu do and wait for."""
    from runner import drawing
    from runner.measure import timeline

    known = (call, variant, sums, multiples, sizes, beta_reads_c, include, define)
    if name is not None and _foreign(name):
        from runner.inspect import inspection
        from runner.inspect.own import Options

        _refuse_for_own(name, {"--record": record})
        request = inspection.parse({"m": m, "n": n, "k": k}, {}, None, None)
        asked = any(size is not None for size in (m, n, k))
        return timeline.timeline_own(Path(name), Options(*known), request, asked, as_json, drawing.timeline)
    _refuse_own(known)
    return timeline.timeline(name, {"m": m, "n": n, "k": k}, record, as_json, drawing.timelines, drawing.timeline)


@app.command("autotune")
def autotune_command(
    names: Optional[list[str]] = LESSONS,
    sizes: Optional[str] = typer.Option(None, help="Such as 4096,1000x77x513; by default the lesson's own, mostly 4096."),
    record: bool = recorded("autotune"),
    as_json: bool = JSON,
) -> int:
    """Time a lesson with other tile sizes (no LESSON: all lessons)."""
    from runner import drawing
    from runner.measure import autotune

    return autotune.autotune(names or [], record, sizes, as_json, drawing.publish)


@app.command("atlas")
def atlas_command(
    dtype: Optional[str] = typer.Option(None, help="fp32 or bf16; by default both, one after the other."),
    chosen: Optional[str] = typer.Option(None, "--set", help="llm (40 shapes) or random (200); by default both."),
    name: Optional[str] = typer.Option(
        None, "--lesson", metavar="LESSON", help="Lesson to compare; by default the fastest of the type."
    ),
    ways: bool = typer.Option(False, "--ways", help="Check how well the lesson chooses C tile and slices, at 40 new shapes."),
    seed: Optional[int] = typer.Option(None, min=0, help="Seed of the shapes of --ways; fresh by default."),
    record: bool = typer.Option(False, "--record", help="Write plots/results/<gpu>-atlas-<type>.json, or …-ways-<type>.json."),
    shapes: bool = typer.Option(False, "--shapes", help="Print the shapes and measure nothing."),
    as_json: bool = JSON,
) -> int:
    """Compare a lesson with cuBLAS at 240 shapes; draw a chart."""
    from runner import drawing
    from runner.measure import atlas

    return atlas.atlas(dtype, chosen, name, ways, seed, record, shapes, as_json, drawing.atlas, drawing.ways)


@app.command("check")
def check_command(
    name: str = LESSON,
    hunt: bool = HUNT,
    file: Optional[str] = typer.Option(None, help="Check another file; your progress doesn't change."),
    seed: Optional[str] = typer.Option(None, help="Seed of the sizes and inputs; fresh by default."),
    schedule: Optional[str] = typer.Option(None, help="Seed of what a GPU leaves open; by default that of the inputs."),
    as_json: bool = JSON,
) -> int:
    """Check your exercise, or another file."""
    from runner.learn import check

    return check.check(name, hunt, file, seed, as_json, schedule)


@app.command("quiz")
def quiz_command(
    name: str = LESSON,
    seed: Optional[str] = typer.Option(None, help="Seed of the questions' numbers; fresh by default."),
    learner: Optional[str] = typer.Option(None, metavar="NAME", help="Use this learner's own seed, the same on every machine."),
    answers: bool = typer.Option(False, "--answers", help="For teachers: print the questions with their answers."),
    as_json: bool = JSON,
) -> int:
    """Answer five questions about a lesson, with fresh numbers."""
    from runner.learn import quiz

    return quiz.quiz(name, seed, learner, answers, as_json)


@app.command("watch")
def watch_command(
    name: Optional[str] = typer.Argument(None, metavar="[LESSON]", help="By default the first one that has not passed."),
    hunt: bool = HUNT,
) -> int:
    """Check your exercise every time you save it."""
    from runner.learn import watch

    return watch.watch(name, hunt)


@app.command("start")
def start_command(name: str = LESSON, hunt: bool = HUNT) -> int:
    """Write the starting file of an exercise to exercises/."""
    from runner.learn import course

    return course.start(name, hunt)


@app.command("hint")
def hint_command(
    name: str = LESSON,
    hunt: bool = HUNT,
    level: Optional[str] = typer.Option(None, help="1, 2 or 3; by default the next."),
) -> int:
    """Show the next hint for an exercise."""
    from runner.learn import course

    return course.hint(name, hunt, level)


@app.command("reset")
def reset_command(name: str = LESSON, hunt: bool = HUNT) -> int:
    """Bring back an exercise's starting file; your version is kept."""
    from runner.learn import course

    return course.reset(name, hunt)


@app.command("progress")
def progress_command(
    off: bool = typer.Option(False, "--no-achievements", help="Leave out points, levels and achievements."),
    open_it: bool = typer.Option(False, "--open", help="Show all of it as a page, out/progress.html, in a browser."),
    as_json: bool = JSON,
) -> int:
    """Show which exercises have passed, and what comes next.

    Also shows points, a level and achievements. GEMM_ACHIEVEMENTS=0 turns them off, here and in check, quiz and watch.
    """
    from runner.learn import course

    if open_it:
        if as_json:
            raise UserError("--json and --open exclude each other.")
        from website import progress

        return progress.show(not off)
    return course.show_progress(not off, as_json)


@app.command("grade")
def grade_command(
    submissions: str = typer.Argument(..., metavar="SUBMISSIONS", help="A folder with a folder or a zip for each learner."),
    out: str = typer.Option("grades.csv", help="The table of grades; a folder of the same name holds a page for each learner."),
    tasks: Optional[str] = typer.Option(None, help="Such as 01,02,03,03-hunt; by default all."),
    jobs: Optional[str] = typer.Option(None, help="How many to grade at a time; by default one per core."),
    seconds: Optional[str] = typer.Option(
        None, help="Most seconds for a run (30); it has 10 times the lesson's own, and at least 5."
    ),
    unsandboxed: bool = typer.Option(False, "--unsandboxed", help="Use limits only, where a container keeps submissions apart."),
    again: bool = typer.Option(False, "--again", help="Grade everything again, ignoring an earlier run with this --out."),
    as_json: bool = JSON,
) -> int:
    """Grade a class: every exercise of every learner, in a sandbox."""
    from runner.grading import cgroup, grade

    cgroup.enter_scope([sys.executable, "-m", "runner", *sys.argv[1:]])
    return grade.grade(submissions, out, tasks, jobs, seconds, unsandboxed, again, as_json)


@app.command("doctor")
def doctor_command(
    measure: bool = typer.Option(False, "--measure", help="Measure what the GPU can do: DRAM, L2, shared memory, FFMA."),
    record: bool = typer.Option(
        False, "--record", help="With --measure: write plots/results/<gpu>-ceilings.json (committed sources)."
    ),
    as_json: bool = JSON,
) -> int:
    """Show what is installed, what is missing, and how to get it."""
    from runner import drawing
    from runner.core import doctor
    from runner.measure import ceilings

    if record and not measure:
        raise UserError("--record keeps what was measured; write ./gemm doctor --measure --record.")
    return ceilings.measure(record, as_json, drawing.publish) if measure else doctor.report(as_json)


_STDOUT = "Standard output"


class _Stdout(io.FileIO):
    """Standard output whose errors say what could not be written; Python's own name no file."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = _STDOUT
            raise


def _give_up_stdout() -> None:
    """What is still to be written goes nowhere: Python would complain about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refusal(error: OSError) -> str:
    """A sentence about what the system refused: a write to stdout, or something about a file."""
    if error.filename == _STDOUT:
        _give_up_stdout()
        return f"{_STDOUT} cannot be written: {error.strerror}; free space there or send it elsewhere."
    what = f"{error.filename} cannot be used" if error.filename else "The system refused a file"
    return f"{what}: {error.strerror or error}; the checkout and the folder for temporary files must be writable and have space."


def main(arguments: list[str]) -> int:
    """Exit status: 0 all asked for succeeded, 1 a lesson or test is wrong, 2 it could not be done, 130 interrupted."""
    catch_signals()
    # What a locale's encoding lacks (×, ≥, …) is shown as ?. The two are None where they are closed.
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")
    if sys.stdout:
        binary = io.BufferedWriter(_Stdout(sys.stdout.fileno(), "w", closefd=False))
        encoding, at_once = sys.stdout.encoding, bool(sys.stdout.line_buffering)
        sys.stdout = io.TextIOWrapper(binary, encoding, "replace", line_buffering=at_once)
    try:
        status = app(args=arguments or ["--help"], prog_name="./gemm", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except ModuleNotFoundError as missing:
        sys.exit(_MISSING.format(missing.name))
    except Interrupted as stop:
        # Not through rich, which stands in for sys.stderr while a bar is shown: what it was writing when the signal
        # arrived may never end, and would keep this back.
        if sys.__stderr__ and sys.__stderr__.isatty():
            sys.__stderr__.write("\x1b[?25h")
            sys.__stderr__.flush()
        say(f"Interrupted: {stop.note}." if stop.note else "Interrupted.")
        return 128 + stop.number
    except UserError as error:
        say(f"gemm: {error}")
        return error.status
    except BrokenPipeError:  # the reader of our output left, as in `./gemm doctor | head -1`
        _give_up_stdout()
        return 141
    except OSError as error:
        say(f"gemm: {_refusal(error)}")
        return 2
    except Exception as error:
        if not hasattr(error, "format_message"):  # click's usage errors, whichever copy of click typer uses
            raise
        say(f"gemm: {error.format_message().rstrip('.')}; see ./gemm --help.")
        return 2


sys.exit(main(sys.argv[1:]))
