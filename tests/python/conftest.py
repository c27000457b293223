"""What many tests share: which of a family run, a checkout with fake tools (the runner's own code over a C++ build, a GPU and
a network that are shell scripts), and a copy of the course that stands on this checkout's real build."""

from __future__ import annotations

import compileall
import fcntl
import json
import os
import pty
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from approvals import approve  # noqa: F401  a fixture
from browser import browser  # noqa: F401  a fixture
from warm import Warm

from runner import suite
from runner.core import build, compiling, doctor, git
from runner.core.descriptors import Descriptor, all_described
from runner.core.results import UserError, folder_of, lessons
from runner.grading import sandbox
from runner.grading.sandbox import Sandbox
from runner.learn import exercise

# Under nohup SIGHUP is ignored, and so it would be in every program that a test starts. A handler goes no further than here:
# the tests go on, and what they start hears SIGHUP.
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)

REPOSITORY = Path(__file__).resolve().parent.parent.parent
_Case = TypeVar("_Case")
_toolchain = compiling.toolchain  # which tests put toolchain() in the place of
PATIENCE = 600  # seconds: what takes longer hangs, however busy the machine is; tests wait for events

# One for all workers, which are children of the process that sets it.
os.environ.setdefault("GEMM_TEST_SEED", str(random.SystemRandom().randrange(10**9)))
os.environ.setdefault("GEMM_TEST_FIRST", ",".join(suite.first_of(git.changed_files())))
# What is expected of output is expected of it everywhere, and matplotlib looks for fonts once, not in each test's HOME.
for _name in ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "LC_ALL", "LANGUAGE", "PYTHONUNBUFFERED"):
    os.environ.pop(_name, None)
os.environ.update(LANG="C.UTF-8", TERM="dumb")
os.environ.setdefault("MPLCONFIGDIR", str(REPOSITORY / "build" / "tests-matplotlib"))


def pytest_configure(config: pytest.Config) -> None:
    """The marks, also where pytest-xdist, which one of them is for, is missing."""
    config.addinivalue_line("markers", "long: begins before the others, so that nobody waits for it alone at the end")
    config.addinivalue_line(
        "markers", "family(name, count): of all tests with that name, each of which takes seconds, so many are drawn"
    )
    config.addinivalue_line("markers", "pixels: draws PNG, too, where the other tests of charts and pictures read labels alone")
    config.addinivalue_line("markers", "xdist_group(name): tests of a group run in one process, one after another")


def pytest_report_header() -> str:
    """The seed, where pytest was started without ./gemm test."""
    seed = f"GEMM_TEST_SEED={os.environ['GEMM_TEST_SEED']} draws them again"
    first = f"; first of {changed}" if (changed := os.environ["GEMM_TEST_FIRST"]) else ""
    return "whole families of tests" if whole_families() else f"samples of families of tests{first}; {seed}"


@pytest.hookimpl(trylast=True)  # behind -k: who asks for a test gets it
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of families those that are drawn; long ones first."""
    families: dict[str, dict[str, int]] = {}  # by name: each function, and how many of them run
    for item in items:
        if mark := item.get_closest_marker("family"):
            name, count = mark.args
            families.setdefault(name, {})[item.nodeid.partition("[")[0]] = count
    left_out = {
        function
        for functions in families.values()
        for function in functions.keys() - set(drawn(list(functions), max(functions.values())))
    }
    not_drawn = [item for item in items if item.nodeid.partition("[")[0] in left_out]
    if not_drawn:
        config.hook.pytest_deselected(items=not_drawn)
    items[:] = [item for item in items if item not in not_drawn]
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def whole_families() -> bool:
    """Whether every member of every family of tests runs (./gemm test --all), or a sample."""
    return os.environ.get("GEMM_TEST_ALL") == "1"


def seed() -> int:
    """Of what a test draws: another one each run, which ./gemm test --seed repeats."""
    return int(os.environ["GEMM_TEST_SEED"])


def drawn(cases: Sequence[_Case], count: int) -> list[_Case]:
    """All cases, or `count` of them that the seed draws, in their order; for every process of a run the same. Those come first
    that name what has changed (a lesson or a file). Where the tests of one lesson run, of those that name it."""
    if only := os.environ.get("GEMM_TEST_LESSON"):
        cases = [case for case in cases if only in repr(case)]
    if whole_families() or count >= len(cases):
        return list(cases)
    draw = random.Random(f"{seed()} {len(cases)} {count}")
    order = draw.sample(range(len(cases)), len(cases))
    changed = [name for name in os.environ["GEMM_TEST_FIRST"].split(",") if name]
    order.sort(key=lambda index: not any(name in repr(cases[index]) for name in changed))
    return [cases[index] for index in sorted(order[:count])]


def part(cases: Sequence[_Case], lesson_of: Callable[[_Case], object] = lambda case: case) -> list[_Case]:
    """Where continuous integration sets GEMM_TEST_PART to n, cases of an n-th of the lessons, which the seed draws: all of them
    take longer than each commit has. Else all."""
    parts = int(os.environ.get("GEMM_TEST_PART", "1"))
    kept = random.Random(f"{seed()} part").sample(lessons(), -(-len(lessons()) // parts))
    return [case for case in cases if lesson_of(case) in kept]


def some(cases: Sequence[_Case], count: int, few: int) -> list[_Case]:
    """As drawn(), but of whole families `few`: where one case is nearly as good as the other, and each takes long."""
    cases = drawn(cases, count)
    draw = random.Random(f"{seed()} {len(cases)} {few}")
    kept = set(draw.sample(range(len(cases)), min(few, len(cases))))
    return [case for index, case in enumerate(cases) if index in kept]


@pytest.fixture
def labels_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts and pictures are drawn once, as SVG, whose labels tests read. As PNG, which is as much work again, they are drawn
    where a test is marked `pixels`; elsewhere that file is empty."""
    if request.node.get_closest_marker("pixels"):
        return
    from matplotlib.figure import Figure

    whole = Figure.savefig

    def savefig(figure: Figure, file: object, **options: Any) -> None:
        if options["format"] != "png":
            whole(figure, file, **options)

    monkeypatch.setattr(Figure, "savefig", savefig)


def pseudo_terminal() -> tuple[int, int]:
    """Our end and a program's. The test is skipped where the system has none to give, such as a root without /dev/pts."""
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"this system gives no pseudo-terminal: {error}")


@contextmanager
def alone(name: str) -> Iterator[None]:
    """One process of all that test this checkout at a time."""
    (REPOSITORY / "build").mkdir(exist_ok=True)
    with (REPOSITORY / "build" / f"tests-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@cache
def warm() -> Warm:
    """What starts the runner in this process's tests."""
    return Warm()


def started(arguments: Sequence[str], folder: Path, env: Mapping[str, str], typed: str = "") -> subprocess.CompletedProcess[str]:
    """The runner, from its start to its end. `typed`: what it reads."""
    if warm().can(env):
        return warm().run(arguments, folder, env, PATIENCE, typed)
    command = [sys.executable, "-m", "runner", *arguments]
    return subprocess.run(command, cwd=folder, env=env, input=typed, capture_output=True, text=True, timeout=PATIENCE)


@cache
def toolchain(program: str = "check", *more: str) -> dict:
    """compiling.toolchain() of the CPU device in this checkout. It is asked for once: nothing that it builds changes meanwhile.
    With it, lessons.json is built, and with that of "exam" gemm_judge."""
    device = doctor.Device("cpu", None, (), "kernels are checked on the CPU")
    with alone("build"), pytest.MonkeyPatch.context() as patched:
        patched.setenv("GEMM_NO_INSTALL", "1")
        if program == "exam":
            build.build(device, doctor.provide(device), ["gemm_judge"])
        return _toolchain(device, program, ["gemm_lessons_json", *more])


@cache
def descriptors() -> dict[str, Descriptor]:
    """What the lessons of this checkout say of themselves."""
    toolchain()
    return all_described(REPOSITORY / "build" / "cpu")


def toolchain_as_built(program: str) -> dict:
    """build/cpu's check.json or bench.json, where the libraries that it names are built."""
    file = REPOSITORY / "build" / "cpu" / f"{program}.json"
    spec = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"link_after": ["/missing.a"]}
    if not all(Path(part).exists() for part in spec["link_after"] if part.startswith("/")):
        pytest.skip(f"gemm_{program}_main is not built; cmake --build build/cpu --target gemm_{program}_main builds it")
    return spec


def gemm_inspect() -> Path:
    """Of this checkout's own build, as it is."""
    program = REPOSITORY / "build" / "cpu" / "bin" / "gemm_inspect"
    if not program.exists():
        pytest.skip("build/cpu/bin/gemm_inspect is not built; ./gemm inspect 01 builds it")
    if program.stat().st_mtime < max((REPOSITORY / folder_of(name) / "kernel.cu").stat().st_mtime for name in lessons()):
        pytest.skip("build/cpu/bin/gemm_inspect is older than a kernel.cu; ./gemm inspect 01 builds it")  # a GPU's ./gemm test
    return program


CMAKE = """
case "$1" in
--version) echo "cmake version 3.27.1" ;;
--preset) echo "$@" >>"$FAKES/configured"
    [ ! -e "$FAKES/configure_fails" ] || { echo "CMake Error: no such preset"; exit 1; }
    mkdir -p "build/$2/bin"; : >"build/$2/CMakeCache.txt"; : >"build/$2/build.ninja" ;;
--build) echo "$@" >>"$FAKES/built"
    echo "[1/2] Building kernel.cu"
    [ ! -e "$FAKES/build_fails" ] || { echo "kernel.cu:3: error: expected ';'"; exit 1; }
    cp "$FAKES"/programs/* "$2/bin/"; echo "[2/2] Linking" ;;
esac
"""
# Has every header it is asked for, and links everything.
GXX = """
case " $* " in
*" -dumpversion "*) echo 12 ;;
*" -E "*) for last; do :; done; grep gemm_found "$last" ;;
esac
exit 0
"""
BENCH = """
while [ $# -gt 0 ]; do [ "$1" = --output ] && output=$2; shift; done
echo "progress 1 2 01_naive 256×256×256" >&2
"""
DRAW = """
def draw(results, out_stem, order=None, variant="fp32"):
    path = out_stem.with_suffix(".png")
    path.write_text("drawn")
    return [path]
"""


def put(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes files by their names, and the folders that they lie in."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def script(file: Path, text: str) -> Path:
    """A program: a shell's, unless it says whose."""
    file.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def sentence(done: subprocess.CompletedProcess[str], words: Iterable[str], status: int = 2) -> str:
    """What a command has said that must have failed with one sentence holding `words`."""
    assert done.returncode == status, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("gemm: ")
    assert lines[0].endswith(".")
    assert all(word in lines[0] for word in words), lines[0]
    assert not done.stdout
    return lines[0]


@dataclass
class Checkout:
    """A folder with the runner, lessons and fake tools."""

    root: Path
    fakes: Path
    env: dict[str, str] = field(default_factory=dict)

    def tool(self, name: str, body: str) -> Path:
        """A fake program on PATH."""
        return script(self.fakes / "bin" / name, body)

    def program(self, name: str, body: str) -> None:
        """A program that the fake build produces in build/<device>/bin."""
        script(self.fakes / "programs" / name, body)

    def bench(self, results: dict, status: int = 0) -> None:
        """A gemm_bench that writes `results`."""
        (self.fakes / "bench.json").write_text(json.dumps(results))
        self.program("gemm_bench", f'{BENCH}cat "$FAKES/bench.json" >"$output"\nexit {status}\n')

    def with_plots(self) -> None:
        """This checkout's own, without its pictures."""
        shutil.rmtree(self.root / "plots")
        ignored = shutil.ignore_patterns("*.png", "*.svg", "__pycache__")
        shutil.copytree(REPOSITORY / "plots", self.root / "plots", ignore=ignored)

    def gpu(self, name: str = "NVIDIA H200") -> None:
        self.tool("nvcc", 'echo "Cuda compilation tools, release 13.0, V13.0.48"\n')
        self.tool("nvidia-smi", f'echo "GPU 0: {name} (UUID: GPU-0)"\n')
        self.env["GEMM_DEVICE"] = "cuda"

    def start(self, *arguments: str, **options: object) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
        command = [sys.executable, "-m", "runner", *arguments]
        return subprocess.Popen(command, cwd=self.root, env=self.env, text=True, **pipes)  # type: ignore[call-overload]

    def run(self, *arguments: str, typed: str = "", status: int | None = None) -> subprocess.CompletedProcess[str]:
        """status: with which it must end, if that is known."""
        done = started(arguments, self.root, self.env, typed)
        assert status in (None, done.returncode), done.stderr
        return done

    def fails(self, *arguments: str, words: tuple[str, ...], status: int = 2) -> str:
        """Runs a command that must fail with one sentence holding `words`. Returns the sentence."""
        return sentence(self.run(*arguments), words, status)

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
        return subprocess.run(command, cwd=self.root, env=self.env, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self) -> str:
        (self.root / ".gitignore").write_text("/build/\n/out/\n__pycache__/\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "all")
        return self.git("rev-parse", "HEAD")


@cache
def compile_runner() -> None:
    """A copy of the runner begins in half the time where it is compiled: a third of a second, hundreds of times."""
    compileall.compile_dir(REPOSITORY / "runner", quiet=2)


@pytest.fixture(scope="session")
def system(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Links to the system's programs, less those of CUDA: Debian's packages put them into /usr/bin."""
    folder = tmp_path_factory.mktemp("system")
    for path in {path.name: path for place in ("/bin", "/usr/bin") for path in Path(place).iterdir()}.values():
        if path.name not in ("nvcc", "nvidia-smi", "ncu", "nsys", "compute-sanitizer", "cuobjdump", "nvdisasm"):
            (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture
def checkout(tmp_path: Path, system: Path) -> Checkout:
    root, fakes = tmp_path / "checkout", tmp_path / "fakes"
    for folder in (root / "plots" / "results", fakes / "bin", fakes / "programs"):
        folder.mkdir(parents=True)
    compile_runner()
    shutil.copytree(REPOSITORY / "runner", root / "runner", ignore=shutil.ignore_patterns("programs", "*.pyc.*"))
    (root / "common" / "program").mkdir(parents=True)
    for name in ("gemm", "requirements.txt", "common/program/ranges.inc", "common/machines.inc"):
        shutil.copy(REPOSITORY / name, root / name)
    (root / "CMakeLists.txt").write_text(
        "project(x)\n# gemm_lesson(00_comment)\ngemm_lesson(01_naive)\n  gemm_lesson(02_coalesced)\n"
    )
    publish = "def update(root):\n    (root / 'README.md').write_text('tables')\n    return [root / 'README.md']\n"
    put(root, {
        **{f"{lesson}/kernel.cu": f"// {lesson}\n__global__ void f() {{}}\n" for lesson in ("01_naive", "02_coalesced")},
        **{f"plots/{chart}.py": DRAW for chart in ("progression", "sweep", "variants", "verification")},
        "plots/__init__.py": "",
        "plots/publish.py": publish,
    })  # fmt: skip
    shutil.copy2(REPOSITORY / "plots" / "data.py", root / "plots")
    env = {
        "PATH": f"{fakes / 'bin'}:{system}",
        "HOME": str(tmp_path),
        "MPLCONFIGDIR": os.environ["MPLCONFIGDIR"],
        "FAKES": str(fakes),
        "CUDA_HOME": "/nonexistent",
        "GEMM_DEVICE": "cpu",
        "GEMM_NO_INSTALL": "1",  # a test must never install anything here
        "GEMM_GPU_LOCK": str(tmp_path / "gpu.lock"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")])),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
    }
    for device in ("cpu", "cuda"):  # as if configured once, otherwise than now: the first build has a sentence of its own
        (root / "build" / device).mkdir(parents=True)
        (root / "build" / device / "configured.json").touch()
    made = Checkout(root, fakes, env)
    made.tool("cmake", CMAKE)
    made.tool("g++", GXX)
    made.tool("ninja", "exit 0\n")
    made.tool("bwrap", "exit 0\n")
    made.tool("nvidia-smi", "exit 9\n")
    return made


# What is asked of CMake in the course is done in this checkout, whose build is used there under the course's own paths.
COURSE_CMAKE = """#!/bin/sh
case "$1" in
--preset) mkdir -p "build/$2"; : >"build/$2/CMakeCache.txt"; : >"build/$2/build.ninja" ;;
--build)
    shift 2
    exec flock {repository}/build/tests-build.lock {cmake} --build {repository}/build/cpu "$@" ;;
*) exec {cmake} "$@" ;;
esac
"""


@dataclass
class Course:
    """A copy of this repository with fresh starters, on the real build for the CPU device; tests leave it as they find it."""

    root: Path
    env: dict[str, str]
    tools: Path  # a folder with its cmake, first on PATH

    def run(self, *arguments: str, status: int | None = None) -> subprocess.CompletedProcess[str]:
        """status: with which it must end, if that is known."""
        done = started(arguments, self.root, self.env)
        assert status in (None, done.returncode), done.stderr
        return done


def _with_build(root: Path, tools: Path) -> None:
    """Gives a copy of this repository its build: folders are linked, and files that name their places are written anew."""
    toolchain("check")
    toolchain("exam")
    cmake = shutil.which("cmake", path=os.pathsep.join([os.environ["PATH"], str(REPOSITORY / ".venv" / "bin")]))
    tools.mkdir()
    body = COURSE_CMAKE.format(repository=shlex.quote(str(REPOSITORY)), cmake=shlex.quote(str(cmake)))
    script(tools / "cmake", body)
    build = root / "build" / "cpu"
    build.mkdir(parents=True)
    for path in (REPOSITORY / "build" / "cpu").iterdir():
        if path.is_dir() and path.name != "CMakeFiles":
            (build / path.name).symlink_to(path)
        elif path.suffix == ".json" and path.name != "configured.json":
            text = path.read_text(encoding="utf-8")
            (build / path.name).write_text(text.replace(str(REPOSITORY), str(root)), encoding="utf-8")


def copy_of_checkout(root: Path) -> None:
    """This checkout's files, but for those that git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in listed:
        if (REPOSITORY / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, root / name)


@pytest.fixture(scope="session")
def box() -> Iterator[Sandbox]:
    """A sandbox; where none can be made the test is skipped, but not in CI."""
    try:
        found = sandbox.find(False, [REPOSITORY])
    except UserError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    with closing(found):
        yield found


def ordinary_python() -> list[str]:
    """A command that another user than root runs Python with, which has the runner's packages. Skips where there is none."""
    if os.geteuid() != 0:
        pytest.skip("the tests run as an ordinary user already")
    become = ["setpriv", "--reuid", "4711", "--regid", "4711", "--clear-groups"]
    for name in (sys.executable, "/usr/bin/python3"):
        imports = [*become, name, "-c", "import filelock, psutil, rich, typer"]
        if os.access(REPOSITORY, os.X_OK) and subprocess.run(imports, capture_output=True, check=False, cwd="/").returncode == 0:
            return [*become, name]
    pytest.skip("no Python that another user may run has the packages")


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    root = tmp_path_factory.mktemp("course") / "gemm"
    copy_of_checkout(root)
    compile_runner()
    shutil.copytree(REPOSITORY / "runner", root / "runner", dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.pyc.*"))
    tools = root.parent / "tools"
    _with_build(root, tools)
    env = {**os.environ, "GEMM_DEVICE": "cpu", "GEMM_NO_INSTALL": "1", "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    env["PATH"] = f"{tools}:{env['PATH']}"
    env["TERM"] = "xterm-256color"
    made = Course(root, env, tools)
    for task in exercise.tasks(root):
        put(task.file.parent, {task.file.name: task.starter()})
    return made


def describe(build: Path, name: str, tile: tuple[int, int, int] = (32, 32, 1), **more: object) -> None:
    """Writes what a lesson's program writes of its descriptor into the build folder."""
    sizes = dict(zip(("BM", "BN", "BK"), tile, strict=True))
    variants = [{"text": "fp32", "architectures": {"from": 50}, "element_bytes": {"A": 4, "B": 4, "C": 4}}]
    made = {"name": name, "number": name.partition("_")[0], "folder": name, "part": 1, "ladder": "fp32", "tile": sizes,
            "constants": {}, "block": [tile[0] * tile[1], 1, 1], "dynamic_shared_bytes": 0, "variants": variants,
            **more}  # fmt: skip
    put(build / "lessons", {f"{name}.json": json.dumps(made)})


def run_entry(lesson: str = "01_naive", size: int = 256, **more: object) -> dict:
    entry = {"lesson": lesson, "variant": "fp32", "m": size, "n": size, "k": size, "alpha": 1, "beta": 0, "checked": size * size}
    return {**entry, "error_over_bound": 0.031, "rms_error": 1e-7, "rms_limit": 4e-7, **more}


def timed_entry(lesson: str = "01_naive", size: int = 4096, **more: object) -> dict:
    times = {"ms_median": 2.0, "ms_p10": 1.9, "ms_p90": 2.1, "rounds": 9, "tflops": 68.7, "ratio": 0.5}
    baseline = {"baseline": "cublasGemmEx", "baseline_kernel": "k", "baseline_ms_median": 1.0}
    return {**run_entry(lesson, size, **times, **baseline, sm_clock_mhz=1980, power_w=500, cache="cold"), **more}


def results(*runs: dict, kind: str = "cpu", name: str = "CPU device", **more: object) -> dict:
    machine = {"compute_capability": "9.0", "multiprocessors": 132, "l2_bytes": 1, "driver": "", "cuda": ""}
    described = {
        run["lesson"]: {
            "ladder": "fp32" if run["variant"] == "fp32" else "tensorcore",
            "variants": [{"text": run["variant"]}],
        }
        for run in runs
    }
    head = {"schema": 2, "device": {"kind": kind, "name": name, **machine}, "seed": 1, "lessons": described}
    return {**head, "runs": list(runs), "skipped": [], "failed": [], **more}


def wait_for(path: Path, seconds: float = PATIENCE) -> str:
    """The content of a file that another process is about to write."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        # It is read once: a second process may begin to write it anew meanwhile.
        if path.exists() and (written := path.read_text()).endswith("\n"):
            return written
        time.sleep(0.02)
    raise AssertionError(f"{path} did not appear")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def stop(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """Sends the signal; the exit status and what was said on stderr."""
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    return process.returncode, err or ""
