"""The command line: `./gemm chart | test | run | doctor`."""

from __future__ import annotations

import errno
import os
import sys
from typing import Optional

try:
    import typer

    from runner import chart, doctor, lesson, suite
except ImportError as missing:
    sys.exit(f"gemm: Python cannot import {missing.name}; remove the folder .venv, if there is one, and run ./gemm again.")
from runner.process import Interrupted, catch_signals, console, say
from runner.results import UserError

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Matrix multiplication in CUDA, step by step: build, verify, time and chart the lessons. "
    "GEMM_DEVICE=auto|cuda|cpu chooses the device; GEMM_NO_INSTALL=1 forbids installing what is missing.",
)
JSON = typer.Option(False, "--json", help="Print one JSON object on stdout.")


@app.command("chart")
def chart_command(
    record: bool = typer.Option(False, "--record", help="Write plots/results/<gpu>.json (on a GPU, from committed sources)."),
    sizes: Optional[str] = typer.Option(None, help="Such as 4096,1000x77x513: M x N x K, one number is square."),
    as_json: bool = JSON,
) -> int:
    """Build, verify every lesson, time them against cuBLAS, and draw the charts."""
    return chart.chart(record, sizes, as_json)


@app.command("test")
def test_command(as_json: bool = JSON) -> int:
    """Run all tests."""
    return suite.test(as_json)


@app.command("run")
def run_command(
    name: str = typer.Argument(..., metavar="LESSON", help="A number or a name: 05 or 01_naive."),
    m: Optional[str] = typer.Option(None, help="Rows of A and C."),
    n: Optional[str] = typer.Option(None, help="Columns of B and C."),
    k: Optional[str] = typer.Option(None, help="Columns of A, rows of B."),
    lda: Optional[str] = typer.Option(None, help="Row pitch of A in elements."),
    ldb: Optional[str] = typer.Option(None, help="Row pitch of B in elements."),
    ldc: Optional[str] = typer.Option(None, help="Row pitch of C in elements."),
    alpha: Optional[str] = typer.Option(None, help="C = alpha A B + beta C."),
    beta: Optional[str] = typer.Option(None, help="C = alpha A B + beta C."),
    seed: Optional[str] = typer.Option(None, help="Seed of the random inputs; a fresh one by default."),
    rounds: Optional[str] = typer.Option(None, help="Rounds of timing."),
    device: Optional[str] = typer.Option(None, help="Which GPU, from 0."),
    like: Optional[str] = typer.Option(None, help="Whose launch limits the CPU device enforces: sm_86."),
    verify_only: bool = typer.Option(False, "--verify-only", help="Don't time."),
    as_json: bool = JSON,
) -> int:
    """Run one lesson: verdict, time against cuBLAS, registers, shared memory, blocks an SM."""
    sizes = {"m": m, "n": n, "k": k, "lda": lda, "ldb": ldb, "ldc": ldc, "seed": seed, "rounds": rounds, "device": device}
    return lesson.run(name, sizes, {"alpha": alpha, "beta": beta}, like, verify_only, as_json)


@app.command("doctor")
def doctor_command(as_json: bool = JSON) -> int:
    """Show what this machine has, what is missing, and the command that fixes it."""
    return doctor.report(as_json)


def main(arguments: list[str]) -> int:
    """Exit status: 0 all asked for succeeded, 1 a lesson or test is wrong, 2 it could not be done, 130 interrupted."""
    catch_signals()
    try:
        status = app(args=arguments or ["--help"], prog_name="./gemm", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except Interrupted as stop:
        if sys.stderr.isatty():
            console.show_cursor(True)
        say(f"Interrupted: {stop.note}.")
        return 128 + stop.number
    except UserError as error:
        say(f"gemm: {error}")
        return error.status
    except BrokenPipeError:  # the reader of our output left, as in `./gemm doctor | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT):
            raise
        say(f"gemm: {error.filename or 'A file'} cannot be written: {error.strerror}; the checkout must be writable.")
        return 2
    except Exception as error:
        if not hasattr(error, "format_message"):  # click's usage errors, whichever copy of click typer uses
            raise
        say(f"gemm: {error.format_message().rstrip('.')}; see ./gemm --help.")
        return 2


sys.exit(main(sys.argv[1:]))
