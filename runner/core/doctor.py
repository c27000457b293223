"""What a device needs, what this machine has, and how the difference is installed."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import typer

from runner.core import lock, process, recorded, tables
from runner.core.process import say
from runner.core.results import ROOT, UserError

VENV = ROOT / ".venv"
PACKAGES = ("filelock", "matplotlib", "psutil", "rich", "typer")  # of Python, as ./gemm names them
_CMAKE_PIN, _CMAKE_LEAST = "cmake==3.31.10", (3, 24)
_PYTEST_PINS = ("pytest==8.4.2", "pytest-xdist==3.8.0")
_SECCOMP_PIN = "pyseccomp==0.1.2"
_GCC_LEAST = 11
_LATER = ("git", "bubblewrap", "Python's seccomp")  # not needed to build: installed by what needs them, or by hand
CONFIGURED = "configured.json"  # of a build folder: what CMake was told, and where
_CUDA_LEAST = 12  # cuBLAS calls with 64-bit sizes
_APT_WAIT, _APT_AGAIN = 600, 2  # seconds for which another program may hold apt's locks, and between looks
_CUDA_PAGE = "https://developer.nvidia.com/cuda-downloads"
_FETCHED = {  # what CMake fetches where it is not there: Debian's package, and headers of which one is enough
    "Catch2": ("catch2", ("catch2/catch.hpp", "catch2/catch_all.hpp")),
    "CLI11": ("libcli11-dev", ("CLI/CLI.hpp",)),
    "nlohmann-json": ("nlohmann-json3-dev", ("nlohmann/json.hpp",)),
}
_CONTEXT, _CUBLAS = "boost/context/detail/fcontext.hpp", "cublas_v2.h"
_PROGRAMS: dict[str, tuple[str, Sequence[str]]] = {  # what shows that a compiler or a library is of use, and how it is linked
    "C++20": ("#include <concepts>\ntemplate <std::integral T> T f(T x) { return x; }\nint main() { return f(0); }\n", ()),
    "Boost.Context": (
        'extern "C" void* make_fcontext(void*, unsigned long, void (*)(void*));\nint main() { return !&make_fcontext; }\n',
        ("-lboost_context",),
    ),
    "cuBLAS": (
        'extern "C" int cublasGetVersion_v2(void*, int*);\nint main() { return cublasGetVersion_v2(nullptr, nullptr); }\n',
        ("-lcublas", "-Wl,--allow-shlib-undefined"),
    ),
}


@dataclass(frozen=True)
class Device:
    kind: str  # "cuda" or "cpu"
    nvcc: Path | None
    gpus: tuple[str, ...]
    why: str  # why auto chose this one, or what the GPU check said


@dataclass(frozen=True)
class Need:
    """One thing a device needs. `found` is empty where it is missing; `package` is Debian's and Ubuntu's name."""

    name: str
    found: str
    package: str
    required: bool = True
    note: str = ""  # where it is missing: what was found instead, or what happens without it
    by_hand: str = ""  # the command, where apt is not the way
    pip: str = ""  # the pin, where PyPI is the way


@dataclass(frozen=True)
class Tools:
    """What a build uses: paths of programs."""

    cmake: Path
    cxx: Path
    generator: str
    missing: tuple[str, ...]  # libraries that CMake must fetch


def of_cuda(name: str) -> Path | None:
    """A program of the CUDA toolkit: on PATH, or in $CUDA_HOME/bin."""
    home = Path(os.environ.get("CUDA_HOME") or "/usr/local/cuda")
    found = shutil.which(name) or shutil.which(name, path=str(home / "bin"))
    return Path(found) if found else None


def ask_driver(*options: str) -> tuple[int, str]:
    """What the driver's nvidia-smi says, and its exit status; 127 where there is none."""
    smi = shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path="/usr/lib/wsl/lib")
    return process.quiet([smi, *options], seconds=20) if smi else (127, "")


def _gpus() -> tuple[tuple[str, ...], str]:
    """The GPUs that the driver lists, and a sentence part saying why there are none."""
    status, output = ask_driver("-L")
    if (status, output) == (127, ""):
        return (), "the driver's nvidia-smi is not installed"
    gpus = tuple(re.findall(r"^GPU \d+: (.*?)(?: \(UUID.*)?$", output, re.MULTILINE))
    if status == 0 and gpus:
        return gpus, ""
    said = next((line.strip().rstrip(".") for line in output.splitlines() if line.strip()), "nothing")
    return (), f"nvidia-smi lists no GPU (it says: {said})"


def choose(strict: bool = True) -> Device:
    """The device that GEMM_DEVICE asks for. With `strict`, a UserError where it asks for one that does not work."""
    wanted = os.environ.get("GEMM_DEVICE") or "auto"
    if wanted not in ("auto", "cuda", "cpu"):
        raise UserError(f"GEMM_DEVICE must be auto, cuda or cpu, not {wanted!r}.")
    if wanted == "cpu":
        return Device("cpu", None, (), "GEMM_DEVICE=cpu")
    nvcc = of_cuda("nvcc")
    gpus, problem = _gpus()
    if nvcc and gpus:
        return Device("cuda", nvcc, gpus, f"nvcc and {gpus[0]} are there")
    if wanted == "auto":
        return Device("cpu", None, (), problem if not gpus else f"{gpus[0]} is there, but CUDA's compiler nvcc is not")
    if strict:
        lacks = (
            f"an NVIDIA GPU and its driver, but {problem}; install the driver"
            if nvcc
            else "CUDA's compiler nvcc, which is neither on PATH nor in $CUDA_HOME/bin nor in /usr/local/cuda/bin; install the "
            f"CUDA toolkit ({_CUDA_PAGE})"
        )
        raise UserError(f"GEMM_DEVICE=cuda needs {lacks} or use GEMM_DEVICE=cpu.")
    return Device("cuda", nvcc, gpus, problem)


def choose_gpu(command: str) -> Device:
    """The same for what the CPU device cannot do."""
    device = choose()
    if device.kind != "cuda":
        raise UserError(f"{command} needs an NVIDIA GPU and CUDA's nvcc, but the device here is the CPU: {device.why}.")
    return device


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler. `flaw` is empty, or says why it will not do; `package` is then Debian's that will."""

    path: Path
    major: int
    flaw: str = ""
    package: str = "g++"


@cache
def _refusal(nvcc: Path, cxx: Path) -> str:
    """What nvcc says against a host compiler; empty where it takes it."""
    status, output = process.quiet([nvcc, "-ccbin", cxx, "-E", "-x", "cu", "/dev/null"])
    said = next((line for line in output.splitlines() if "error" in line), output).strip()
    return "" if status == 0 else said.split("error", 1)[-1].lstrip(" :-").rstrip(".!") or "it fails"


def _judged(path: Path, nvcc: Path | None) -> Compiler:
    status, output = process.quiet([path, "-dumpversion"])
    first = output.strip().split(".")[0]
    major = int(first) if status == 0 and first.isdecimal() else 0
    if "__clang__" in process.quiet([path, "-dM", "-E", "-x", "c++", "/dev/null"])[1]:
        return Compiler(path, major, "is clang, whose hooks miss some of a kernel's accesses")
    if major < _GCC_LEAST:
        return Compiler(path, major, f"has version {major}")
    if nvcc and (refusal := _refusal(nvcc, path)):
        newest = re.search(r"later than (\d+)", refusal)
        if newest and int(newest[1]) >= _GCC_LEAST:
            return Compiler(path, major, f"has version {major}, and nvcc takes none later than {newest[1]}", f"g++-{newest[1]}")
        return Compiler(path, major, f"has version {major}, and nvcc does not take it: {refusal}")
    return Compiler(path, major)


def _nvccs_own(nvcc: Path) -> str:
    """The g++ beside the host compiler that NVCC_CCBIN, nvcc.profile or nvcc's flags name; or empty, where they name none."""
    commands = process.quiet([nvcc, "--dryrun", "-E", "-x", "cu", "/dev/null"])[1]
    found = re.search(r"^#\$ ([^\n=]+?) -D__CUDA", commands, re.MULTILINE)
    own = re.sub(r"gcc(-?[\d.]*)$", r"g++\1", found[1].replace('"', "")) if found else ""
    return "" if own == "g++" else own


def choose_compiler(nvcc: Path | None) -> Compiler | None:
    """$CXX, nvcc's own, g++, or the newest g++-N: the first that will do, or else one that will not. With CUDA, nvcc must take
    it: it compiles the host's side of kernels, too, since objects of two versions of g++ need not link."""
    names = [os.environ.get("CXX", ""), _nvccs_own(nvcc) if nvcc else "", "g++"]
    names += [f"g++-{major}" for major in range(16, _GCC_LEAST - 1, -1)]
    best: Compiler | None = None
    for path in dict.fromkeys(filter(None, map(shutil.which, filter(None, names)))):
        judged = _judged(Path(path), nvcc)
        if not judged.flaw:
            return judged
        if not best or best.package == "g++":  # one that nvcc refuses says which would do
            best = judged
    return best


def _new_enough(cmake: str) -> bool:
    return tuple(map(int, cmake.split(".")[:2])) >= _CMAKE_LEAST


def _cmake() -> tuple[Path | None, str]:
    """The first CMake that is new enough, or else the first at all, with its version."""
    best: tuple[Path | None, str] = (None, "")
    for folder in (None, str(VENV / "bin")):
        path = shutil.which("cmake", path=folder)
        if not path:
            continue
        _, output = process.quiet([path, "--version"])
        if found := re.search(r"cmake version (\d+\.\d+\S*)", output):
            if _new_enough(found[1]):
                return Path(path), found[1]
            best = best if best[0] else (Path(path), found[1])
    return best


def _headers(cxx: Path, folders: Sequence[Path], headers: Sequence[str]) -> set[str]:
    """Those of `headers` that the compiler finds, in one run of its preprocessor."""
    source = "".join(f"#if __has_include(<{name}>)\ngemm_found <{name}>\n#endif\n" for name in headers)
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.cpp"
        probe.write_text(source, encoding="utf-8")
        _, output = process.quiet([cxx, "-std=c++20", "-E", "-P", *(f"-I{path}" for path in folders), probe])
    return set(re.findall(r"gemm_found <(.*?)>", output))


def _links(cxx: Path, source: str, options: Sequence[str]) -> bool:
    """Whether a program compiles as C++20 and links: the one honest test of a compiler and of a library."""
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.cpp"
        probe.write_text(source, encoding="utf-8")
        return process.quiet([cxx, "-std=c++20", probe, "-o", Path(folder) / "probe", *options])[0] == 0


def _usable(cxx: Path, nvcc: Path | None) -> set[str]:
    """Those of the libraries' headers that the compiler finds, and of _PROGRAMS' names whose programs it makes."""
    prefixes = [Path(part) for part in re.split("[:;]", os.environ.get("CMAKE_PREFIX_PATH", "")) if part]
    folders = [prefix / "include" for prefix in prefixes]
    libraries = [f"-L{prefix / name}" for prefix in prefixes for name in ("lib", "lib64")]
    if nvcc:
        home = nvcc.resolve().parent.parent
        folders += [home / "include"]
        libraries += [f"-L{home / name}" for name in ("lib64", "lib64/stubs", "targets/x86_64-linux/lib")]
    wanted = [_CONTEXT, _CUBLAS, *(name for _, names in _FETCHED.values() for name in names)]
    with ThreadPoolExecutor() as pool:
        headers = pool.submit(_headers, cxx, folders, wanted)
        made = {name: pool.submit(_links, cxx, source, [*libraries, *options]) for name, (source, options) in _PROGRAMS.items()}
        return headers.result() | {name for name, done in made.items() if done.result()}


def _python(name: str) -> Need:
    from importlib.metadata import PackageNotFoundError, version

    found = "of unknown version"  # without metadata, but it was imported or ./gemm would have stopped
    with suppress(PackageNotFoundError):
        found = version(name)
    return Need(f"Python's {name}", found, f"python3-{name}")


def _of_cuda(device: Device, usable: set[str]) -> list[Need]:
    output = process.quiet([device.nvcc, "--version"])[1] if device.nvcc else ""
    release = "".join(re.findall(r"release ([\d.]+)", output)[:1])
    current = release != "" and int(release.split(".")[0]) >= _CUDA_LEAST
    old = f"{device.nvcc} has version {release}" if release else ""
    toolkit, driver = f"install the CUDA toolkit: {_CUDA_PAGE}", "install NVIDIA's driver, then look at nvidia-smi"
    return [
        Need(f"nvcc ≥ {_CUDA_LEAST}", f"{device.nvcc} {release}" if current else "", "", note=old, by_hand=toolkit),
        Need("cuBLAS", "header and library" if {"cuBLAS", _CUBLAS} <= usable else "", "", by_hand=toolkit),
        Need("GPU and driver", ", ".join(device.gpus), "", note=device.why, by_hand=driver),
    ]


def needs(device: Device) -> list[Need]:
    """Everything the device needs, each looked for now."""
    compiler, (cmake, cmake_version) = choose_compiler(device.nvcc), _cmake()
    usable = _usable(compiler.path, device.nvcc) if compiler else set()
    new_enough = cmake is not None and _new_enough(cmake_version)
    gcc = Need(f"g++ ≥ {_GCC_LEAST} (C++20)", "", compiler.package if compiler else "g++")
    if compiler and (compiler.flaw or "C++20" not in usable):
        gcc = replace(gcc, note=f"{compiler.path} {compiler.flaw or 'cannot build a C++20 program'}")
    elif compiler:
        gcc = replace(gcc, found=f"{compiler.path} {compiler.major}")
    cmake_note = f"{cmake} has version {cmake_version}" if cmake else ""
    pin = _CMAKE_PIN if cmake and not new_enough else ""
    found = [
        gcc,
        Need("CMake ≥ 3.24", f"{cmake} {cmake_version}" if new_enough else "", "cmake", note=cmake_note, pip=pin),
        Need("ninja or make", shutil.which("ninja") or shutil.which("make") or "", "ninja-build"),
    ]
    if device.kind == "cpu":
        context = "header and library" if {"Boost.Context", _CONTEXT} <= usable else ""
        found.append(Need("Boost.Context", context, "libboost-context-dev"))
    else:
        found += _of_cuda(device, usable)
    for name, (package, names) in _FETCHED.items():
        sources = list((ROOT / "build" / device.kind / "_deps").glob(f"{name.replace('-', '_').lower()}*-src"))
        there = "header" if usable & set(names) else "fetched by CMake" if sources else ""
        found.append(Need(name, there, package, required=False, note="CMake fetches it"))
    for name, program, only in (("git", "git", "chart --record needs it"), ("bubblewrap", "bwrap", "grade needs it")):
        found.append(Need(name, shutil.which(program) or "", name, required=False, note=f"only ./gemm {only}"))
    rules = Need("Python's seccomp", _seccomp(), "python3-seccomp", required=False, note="only ./gemm grade needs it")
    found.append(rules if _of_system() else replace(rules, by_hand=_pip([_SECCOMP_PIN])))
    return [*found, *map(_python, PACKAGES)]


def _apt(packages: Sequence[str]) -> str:
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install -y {' '.join(packages)}"


def command(need: Need) -> str:
    """What to type to get it."""
    if need.by_hand:
        return need.by_hand
    if need.pip:
        return f"python3 -m venv .venv && .venv/bin/pip install {need.pip}"
    return _apt([need.package])


def _apt_get(step: Sequence[str]) -> process.Finished:
    """Runs it, again and again while another program holds apt's locks, which DPkg::Lock::Timeout waits for but in part."""
    end, told = time.monotonic() + _APT_WAIT, False
    while True:
        quietly = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
        done = process.stream(step, " ".join(["apt-get", step[1]]), process.unseen, quietly)
        held = next((line for line in done.lines if line.startswith("E: Could not get lock")), "")
        if not done.status or not held or time.monotonic() > end:
            return done
        if not told:
            say(f"Waiting for {held.partition(' held by ')[2].rstrip('.') or 'another program'}, which installs packages.")
        told = True
        time.sleep(_APT_AGAIN)


def _install_apt(required: Sequence[str], optional: Sequence[str] = ()) -> str:
    """Installs Debian packages. Returns an empty string, or why it did not work, for a sentence."""
    apt = shutil.which("apt-get")
    if not apt:
        return f"this system has no apt-get: install them by hand (Debian's names: {' '.join(required)})"
    install = [apt, "install", "-y", "--no-install-recommends"]
    if os.geteuid() != 0:
        sudo = shutil.which("sudo")
        asked = required and sudo and sys.stdin.isatty() and sys.stderr.isatty()
        if not asked or not typer.confirm(f"Run `{_apt([*required, *optional])}` now?", default=True, err=True):
            return f"type: {_apt(required)}"
        waiting = ("-o", f"DPkg::Lock::Timeout={_APT_WAIT}")  # apt says itself whom it waits for
        command: list[str | Path] = [sudo or "sudo", *install, *waiting, *required, *optional]
        if process.foreground(command) and process.foreground([sudo or "sudo", apt, "update"]) == 0:
            process.foreground(command)
        return ""
    say(f"Installing {' '.join([*required, *optional])} (apt-get).")
    # A bare machine has no package lists, and old lists name versions that are gone; an old system lacks some libraries.
    everything = [*install, *required, *optional]
    for step in (everything, [apt, "update"], everything, [*install, *required]):
        done = _apt_get(step)
        if not done.status and step[1] == "install":
            return ""
    said = next((line for line in done.lines if line.startswith("E:")), "E: it failed")[2:].strip().rstrip(".")
    return f"apt-get could not install them ({said}): check the network, then type: {_apt(required)}"


def venv_install(pins: Sequence[str], what: str) -> str:
    """Installs from PyPI into .venv, which is made where there is none. Returns why it did not work, or nothing."""
    if _forbidden():
        return f"type: python3 -m venv .venv && .venv/bin/pip install {' '.join(pins)}"
    with lock.alone(VENV.with_name(".venv.lock"), "Waiting for another ./gemm, which installs Python packages for this folder."):
        return _venv_install(pins, what)


def _venv_install(pins: Sequence[str], what: str) -> str:
    """As venv_install(); no other ./gemm is at it."""
    say(f"Installing {what} into .venv (PyPI).")
    if not (VENV / "bin" / "pip").exists():
        status, output = process.quiet([sys.executable, "-m", "venv", VENV], seconds=300)
        if status:
            return f"python3 -m venv failed; type: {_apt(['python3-venv'])}"
    options = ("--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "15")
    pip: list[str | Path] = [VENV / "bin" / "python", "-m", "pip", "install", *options, *pins]
    done = process.stream(pip, f"pip install {what}", process.unseen)
    if done.status:
        return f"PyPI does not answer: check the network, then type: .venv/bin/pip install {' '.join(pins)}"
    return ""


def _tools(device: Device) -> Tools | None:
    """What a build would use now; None where something is missing or will not do."""
    compiler, (cmake, version_of_it) = choose_compiler(device.nvcc), _cmake()
    generator = "Ninja" if shutil.which("ninja") else "Unix Makefiles" if shutil.which("make") else ""
    if not compiler or compiler.flaw or not cmake or not _new_enough(version_of_it) or not generator:
        return None
    return Tools(cmake, compiler.path, generator, ())


def _configured_with(device: Device, tools: Tools) -> bool:
    """Whether CMake was told to build here with these: then it has found what a build needs; nobody need look for it again."""
    marker = ROOT / "build" / device.kind / CONFIGURED
    try:
        root, command, gpus, prefixes = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    used = {str(tools.cmake), tools.generator, f"-DCMAKE_CXX_COMPILER={tools.cxx}"}
    now = (str(ROOT), list(device.gpus), os.environ.get("CMAKE_PREFIX_PATH", ""))
    return (root, gpus, prefixes) == now and used <= set(command)


def provide(device: Device) -> Tools:
    """Installs what is missing, as far as it may, and returns the tools; a UserError says what to type otherwise."""
    if device.kind == "cpu" and "nvcc is not" in device.why:
        say(f"Using the CPU device: {device.why}.")
    tools = _tools(device)
    if not tools or not _configured_with(device, tools):
        missing, tools = _provided(device), _tools(device)
        assert tools
        tools = replace(tools, missing=tuple(need.package for need in missing if need.package and not need.required))
    named = shutil.which(os.environ.get("CXX") or "")
    if named and Path(named) != tools.cxx:
        say(f"Using {tools.cxx}: CXX names {named}, which {_judged(Path(named), device.nvcc).flaw}.")
    return tools


def _missing(device: Device) -> list[Need]:
    return [need for need in needs(device) if not need.found and need.name not in _LATER]


def _provided(device: Device) -> list[Need]:
    """Installs what is missing, and returns what still is: nothing without which nothing can be built."""
    missing = _missing(device)
    why: list[str] = []
    if missing and not _forbidden():
        if packages := [need for need in missing if need.package and not need.pip]:
            required, optional = ([need.package for need in packages if need.required == own] for own in (True, False))
            why += filter(None, [_install_apt(required, optional)])
            missing = _missing(device)
        if pins := [need.pip for need in missing if need.pip]:
            why += filter(None, [venv_install(pins, "CMake")])
            missing = _missing(device)
    if fatal := [need for need in missing if need.required]:
        names = ", ".join(need.name + (f" ({need.note})" if need.note else "") for need in fatal)
        by_apt = [need.package for need in fatal if not need.pip and not need.by_hand]
        alone = [command(need) for need in fatal if need.pip or need.by_hand]
        how = why or [f"type: {one}" for one in dict.fromkeys([*([_apt(by_apt)] if by_apt else []), *alone])]
        raise UserError(f"{names} {'is' if len(fatal) == 1 else 'are'} missing; {'; '.join(how)}.")
    return missing


def _forbidden() -> bool:
    """Whether nothing may be installed."""
    return os.environ.get("GEMM_NO_INSTALL") == "1"


def provide_bubblewrap() -> str:
    """Installs what ./gemm grade keeps submissions apart with, as far as it may; why it did not work, or nothing."""
    if shutil.which("bwrap"):
        return ""
    why = "" if _forbidden() else _install_apt(["bubblewrap"])
    return "" if shutil.which("bwrap") else why or f"type: {_apt(['bubblewrap'])}"


def _seccomp() -> str:
    """The Python module by which libseccomp can be used: Debian's, or PyPI's, whose names are the same. Empty: there is none."""
    importlib.invalidate_caches()
    return next((name for name in ("seccomp", "pyseccomp") if importlib.util.find_spec(name)), "")


def _of_system() -> bool:
    """Whether this interpreter is the system's, which gets its packages from apt."""
    return sys.prefix == sys.base_prefix and Path(sys.executable).resolve().parent == Path("/usr/bin")


def _pip(pins: Sequence[str]) -> str:
    """The command that installs Python packages for this interpreter."""
    return f"{sys.executable} -m pip install {' '.join(pins)}"


def provide_seccomp() -> str:
    """Installs, for this interpreter, what ./gemm grade tells the kernel with what submissions may ask of it; why it did not
    work, or nothing. Nothing else needs it, so it is in no list of packages."""
    if _seccomp():
        return ""
    system, why = _of_system(), ""
    if system and not _forbidden():
        why = _install_apt(["python3-seccomp"])
    elif VENV in Path(sys.executable).parents and not _forbidden():
        why = venv_install([_SECCOMP_PIN], "pyseccomp")
    return "" if _seccomp() else why or f"type: {_apt(['python3-seccomp']) if system else _pip([_SECCOMP_PIN])}"


_PROBE = """import sys
from importlib.metadata import version
from importlib.util import find_spec
for name, _, pin in (wanted.partition("==") for wanted in sys.argv[1:]):
    assert version(name) == pin if pin else find_spec(name)
"""


def _interpreter(*wanted: str) -> Path | None:
    """This one or .venv's, the first that has what ./gemm needs, and these modules and packages at their pins."""
    candidates = (path for path in (Path(sys.executable), VENV / "bin" / "python") if path.exists())
    return next((path for path in candidates if not process.quiet([path, "-c", _PROBE, *PACKAGES, *wanted])[0]), None)


def provide_pytest() -> tuple[Path, bool]:
    """An interpreter that has pytest beside what ./gemm needs; whether it also has xdist, which runs tests on all
    cores. Without xdist, and where none can be had, tests run one after another."""
    if found := _interpreter("pytest", "xdist"):
        return found, True
    own = Path(sys.executable)
    system = own.resolve().parent == Path("/usr/bin")
    debian, parallel = ["python3-pytest"], ["python3-pytest-xdist"]
    if _forbidden():
        why = f"type: {_apt(debian + parallel) if system else _pip(_PYTEST_PINS)}"
    elif _of_system():
        why = _install_apt(debian, parallel)
    elif VENV in own.parents:
        why = venv_install(_PYTEST_PINS, "pytest")
    else:
        why = venv_install(["-r", str(ROOT / "requirements.txt")], "pytest and the other Python packages")
    if found := _interpreter("pytest", "xdist"):
        return found, True
    if found := _interpreter("pytest"):
        say(f"The Python tests run one after another, since pytest-xdist is missing{f'; {why}' if why else ''}.")
        return found, False
    raise UserError(f"Python's pytest is missing; {why}.")


def provide_site() -> Path:
    """An interpreter that has what builds the site, at the versions of requirements-site.txt, beside what ./gemm needs."""
    listed = (ROOT / "requirements-site.txt").read_text(encoding="utf-8").splitlines()
    pins, why = [line for line in listed if line and not line.startswith("#")], ""
    if not _interpreter(*pins):
        both = [] if VENV in Path(sys.executable).parents else ["-r", "requirements.txt"]
        why = venv_install([*both, "-r", "requirements-site.txt"], "what builds the site")
    if found := _interpreter(*pins):
        return found
    raise UserError(f"The site's Python packages are missing; {why or f'remove {VENV}, and run ./gemm site again'}.")


def places_of_cuda() -> list[Path]:
    """Folders of CUDA's programs: the toolkit's, then those of packages from PyPI."""
    home = Path(os.environ.get("CUDA_HOME") or "/usr/local/cuda")
    packages = [Path(folder) for folder in sys.path if folder.endswith("-packages")]
    packages += sorted(VENV.glob("lib/python3*/site-packages"))
    return [home / "bin", *(place for folder in packages for place in sorted(folder.glob("nvidia/*/bin")))]


def wherever(name: str) -> Path | None:
    """A program of CUDA's: on PATH, in the toolkit, or in a package from PyPI."""
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *map(str, places_of_cuda())]))
    return Path(found) if found else None


def _extras() -> list[Need]:
    """CUDA's programs that some command alone needs, which brings them itself where it can."""
    dump, disassembler, ncu = (str(wherever(name) or "") for name in ("cuobjdump", "nvdisasm", "ncu"))
    both = f"{dump}, {disassembler}" if dump and disassembler else ""
    reads = "only ./gemm profile and inspect --against-ncu need it"
    return [
        Need("cuobjdump, nvdisasm", both, "", False, "only ./gemm sass needs them, which gets them from PyPI", "./gemm sass 01"),
        Need("ncu", ncu, "", False, reads, f"install the CUDA toolkit: {_CUDA_PAGE}"),
    ]


def report(as_json: bool) -> int:
    """`./gemm doctor`: exit status 0 when the chosen device is ready."""
    device = choose(strict=False)
    found = [*needs(device), *_extras()]
    fatal = [need for need in found if need.required and not need.found]
    if as_json:
        rows = [
            {**asdict(need), "note": "" if need.found else need.note, "command": "" if need.found else command(need)}
            for need in found
        ]
        print(json.dumps({"device": device.kind, "why": device.why, "gpus": device.gpus, "ready": not fatal, "needs": rows}))
        return 2 if fatal else 0
    print(f"Device: {device.kind} ({device.why})")
    from rich.table import Table  # here, where it is needed: it takes as long to read as all the rest

    table = Table()
    for column in ("Needs", "Verdict", "Found", "Command"):
        table.add_column(column, overflow="fold")
    for need in found:
        verdict = "ok" if need.found else "MISSING" if need.required else "missing"
        note = need.found or (need.note and f"– ({need.note})") or "–"
        table.add_row(need.name, verdict, note, "" if need.found else command(need))
    tables.show(table)
    if "microsoft" in platform.release().lower():
        print("This is WSL 2: it works like Linux; NVIDIA's driver belongs on the Windows side, never inside WSL.")
    if not shutil.which("apt-get"):
        print("This system has no apt-get: the commands name Debian's packages; install their like by hand.")
    for sentence in recorded.missing():
        print(sentence)
    if fatal:
        print(f"Not ready: {', '.join(need.name for need in fatal)} missing.")
        return 2
    print("Ready: ./gemm chart runs on " + (device.gpus[0] if device.kind == "cuda" else "the CPU device") + ".")
    return 0
