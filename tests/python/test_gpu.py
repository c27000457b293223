"""What runs on a machine's GPU runs alone: the lock, with processes of their own, and every command that takes it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import PATIENCE, Checkout, results, stop
from plots_synthetic import ceilings
from test_inspect_ncu import BEFORE, HEADER, csv

from runner.core import compiling, gpu
from runner.core.doctor import Device
from runner.core.results import ROOT, UserError
from runner.inspect import counters
from runner.learn import check, exercise
from runner.measure import autotune
from runner.measure.profile import FIGURES
from runner.measure.tuning import Configuration, Tuning

CUDA, CPU = (Device(kind, None, ("NVIDIA H200",), "") for kind in ("cuda", "cpu"))
# In a fake program: whether someone else could time now.
LOOK = 'if flock -n "$GEMM_GPU_LOCK" true; then echo free; else echo held; fi >>"$FAKES/lock"\n'
WAITING = "Waiting for the GPU: another ./gemm is timing on it."


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of this process, and of the checkout."""
    monkeypatch.setenv("GEMM_GPU_LOCK", str(tmp_path / "gpu.lock"))
    return tmp_path / "gpu.lock"


@contextmanager
def taken(lock: Path) -> Iterator[None]:
    """As another ./gemm would."""
    descriptor = os.open(lock, os.O_RDONLY | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        yield
    finally:
        os.close(descriptor)


def is_held(lock: Path) -> bool:
    try:
        with taken(lock):
            return False
    except BlockingIOError:
        return True


# Two processes


def test_programs_of_two_processes_do_not_overlap(checkout: Checkout) -> None:
    checkout.gpu()
    steps = 'echo "begin $$" >>"$FAKES/steps"; sleep 0.4; echo "end $$" >>"$FAKES/steps"\n'
    checkout.program("01_naive", steps)
    processes = [checkout.start("run", "01") for _ in range(2)]
    said = [process.communicate(timeout=PATIENCE)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    lines = (checkout.fakes / "steps").read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["begin", "end"] * 2
    assert sum(text.count(WAITING) for text in said) <= 1


def test_who_waits_is_told_once_and_goes_on(checkout: Checkout, lock: Path) -> None:
    checkout.gpu()
    checkout.program("01_naive", 'echo ran >"$FAKES/ran"\n')
    with taken(lock), (checkout.fakes / "err").open("w") as err:
        process = checkout.start("run", "01", stderr=err)
        end = time.monotonic() + PATIENCE
        while WAITING not in (checkout.fakes / "err").read_text() and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.2)
        assert not (checkout.fakes / "ran").exists()
    assert process.wait(timeout=PATIENCE) == 0
    assert (checkout.fakes / "err").read_text().splitlines()[-1:] == [WAITING]
    assert (checkout.fakes / "err").read_text().count("Waiting") == 1
    assert (checkout.fakes / "ran").exists()


def test_ctrl_c_while_waiting(checkout: Checkout, lock: Path) -> None:
    checkout.gpu()
    checkout.program("01_naive", 'echo ran >"$FAKES/ran"\n')
    with taken(lock):
        process = checkout.start("run", "01", stderr=subprocess.PIPE)
        assert process.stderr
        assert any(WAITING in line for line in process.stderr)
        assert stop(process, signal.SIGINT) == (130, "Interrupted.\n")
    assert not (checkout.fakes / "ran").exists()


def test_a_killed_process_leaves_no_lock(lock: Path) -> None:
    code = (
        "import time; from runner.core import gpu; from runner.core.doctor import Device\n"
        "with gpu.alone(Device('cuda', None, (), '')): print('in', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout
        assert process.stdout.readline() == b"in\n"
        assert is_held(lock)
        process.kill()
    assert not is_held(lock)


# The file


def test_it_is_held_inside_and_free_after_an_error(lock: Path) -> None:
    with pytest.raises(RuntimeError), gpu.alone(CUDA):
        assert is_held(lock)
        raise RuntimeError
    assert not is_held(lock)


def test_the_cpu_device_locks_nothing(lock: Path) -> None:
    with gpu.alone(CPU):
        pass
    assert not lock.exists()
    with taken(lock), gpu.alone(CPU):
        pass


def test_everyone_can_open_it(lock: Path) -> None:
    before = os.umask(0o077)
    try:
        with gpu.alone(CUDA):
            assert lock.stat().st_mode & 0o777 == 0o666
    finally:
        os.umask(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has files of two users")
def test_it_may_be_anothers_in_a_sticky_folder(lock: Path) -> None:
    lock.parent.chmod(0o1777)
    lock.touch(0o644)
    os.chown(lock, 12345, 12345)
    with gpu.alone(CUDA):
        assert is_held(lock)


@pytest.mark.parametrize("kind", ["no folder", "link"])
def test_a_file_of_no_use_is_one_sentence(kind: str, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "link":
        lock.symlink_to(lock.parent / "elsewhere")
    else:
        monkeypatch.setenv("GEMM_GPU_LOCK", str(lock / "no" / "folder"))
    with pytest.raises(UserError, match="GEMM_GPU_LOCK") as error, gpu.alone(CUDA):
        pass
    assert str(error.value).endswith(".")
    assert not (lock.parent / "elsewhere").exists()


def test_the_machines_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMM_GPU_LOCK", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # which is no machine's
    first, second = tmp_path / "missing", tmp_path / "second"
    second.mkdir()
    monkeypatch.setattr(gpu, "_FOLDERS", (first, second))
    assert gpu.lock_file() == second / "gemm-gpu.lock"
    first.mkdir()
    assert gpu.lock_file() == first / "gemm-gpu.lock"


# Who takes it


@pytest.mark.parametrize("command", ["run 01", "chart --sizes 256", "doctor --measure", "profile 01"])
def test_commands_run_alone_and_build_together(checkout: Checkout, command: str) -> None:
    checkout.gpu()
    checkout.tool("cmake", (checkout.fakes / "bin" / "cmake").read_text().replace("--build)", f"--build) {LOOK.strip()};", 1))
    checkout.program("01_naive", LOOK)
    checkout.bench(results(kind="cuda", name="NVIDIA H200"))
    bench = checkout.fakes / "programs" / "gemm_bench"
    checkout.program("gemm_bench", LOOK + bench.read_text())
    measured = {key: value for key, value in ceilings().items() if key in ("schema", "device", "figures")}
    (checkout.fakes / "ceilings.json").write_text(json.dumps(measured))
    copy = 'while [ $# -gt 0 ]; do [ "$1" = {} ] && output=$2; shift; done\ncat "$FAKES/{}" >"$output"\n'
    checkout.program("gemm_ceilings", LOOK + copy.format("--output", "ceilings.json"))
    values = {figure.metric: "1" for figure in FIGURES}
    (checkout.fakes / "ncu.csv").write_text(f"{BEFORE}{HEADER}\n{csv(values, 'lesson_01::sgemm(long)')}")
    version = 'case "$1" in --version) echo "Version 2025.3"; exit 0 ;; esac\n'
    checkout.tool("ncu", version + LOOK + copy.format("--log-file", "ncu.csv"))
    done = checkout.run(*command.split())
    assert (checkout.fakes / "lock").read_text().split() == ["free", "held"], done.stderr


def test_check_runs_alone(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = {}

    def looks(name: str, result: object) -> object:
        held[name] = is_held(lock)
        return result

    checked = {"passed": True, "device_name": "GPU", "name": "e", "times": []}
    monkeypatch.setattr(check, "toolchain", lambda *_: looks("build", {}))
    monkeypatch.setattr(check, "compile_program", lambda *_: looks("compile", (Path("check"), [])))
    monkeypatch.setattr(check, "run_program", lambda *_: looks("run", checked))
    task = exercise.task("01_naive", False)
    check._on_gpu(check.Report(task, "x.cu", ""), CUDA, compiling.Source("", "x.cu", "exercise_01"), [], Path())
    assert held == {"build": False, "compile": False, "run": True}


def test_autotune_runs_alone(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = {}

    def looks(name: str, result: object) -> object:
        held[name] = is_held(lock)
        return result

    configuration = Configuration("01_naive", 0, {}, {}, True, True)
    monkeypatch.setattr(autotune.tuning, "configurations", lambda *_: ([configuration], {}))
    monkeypatch.setattr(autotune, "sources", lambda *_: [])
    monkeypatch.setattr(autotune.compiling, "toolchain", lambda *_: looks("build", {}))
    monkeypatch.setattr(autotune, "compile_all", lambda *_: looks("compile", (["one"], [], {})))
    monkeypatch.setattr(autotune, "link", lambda *_: looks("link", Path("bench")))
    monkeypatch.setattr(autotune, "run", lambda *_: looks("run", {"device": {"name": "NVIDIA H200"}, "runs": [], "failed": []}))
    monkeypatch.setattr(autotune, "row_of", lambda *_: {})
    monkeypatch.setattr(autotune, "best", lambda _: None)
    tune = Tuning((), ())
    autotune._measured(["01_naive"], {"01_naive": (tune, "")}, CUDA, "256")
    assert held == {"build": False, "compile": False, "link": False, "run": True}


def test_ncus_counts_are_taken_alone(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "run_ncu", lambda *_: str(is_held(lock)))
    monkeypatch.setattr(counters, "summed", lambda text: text)
    assert counters._count(CUDA, Path("ncu"), Path("01_naive"), counters.Request(1, 1, 1)) == "True"
