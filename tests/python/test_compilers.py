"""Which g++ a build takes: never clang, and with CUDA one that nvcc takes, for the C++ and for the host's side of kernels."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import GXX, REPOSITORY, Checkout, script

CLANG = 'case " $* " in *" -dM "*) echo "#define __clang__ 1" ;; *" -dumpversion "*) echo 19.1.7 ;; esac\n'
# Takes g++-11 and g++-12; where it is asked what it would run, it names $OWN.
NVCC = """case " $* " in
*" --version "*) echo "Cuda compilation tools, release 12.4, V12.4.131" ;;
*" --dryrun "*) echo '#$ TOP=/usr/local/cuda'; echo "#$ ${OWN:-gcc} -D__CUDA_ARCH__=520 -E -x c++" ;;
*g++-1[12]" -E "*) ;;
*" -E "*) echo "host_config.h:143:2: error: #error -- unsupported version: gcc versions later than 12 are not supported!"
    exit 1 ;;
esac
"""


def cuda_alone(checkout: Checkout) -> None:
    """CUDA, and none of the system's compilers."""
    checkout.gpu()
    checkout.tool("nvcc", NVCC)
    for name in ("grep", "mkdir", "cp"):
        (checkout.fakes / "bin" / name).symlink_to(shutil.which(name) or "")
    checkout.env["PATH"] = str(checkout.fakes / "bin")


def configured(checkout: Checkout, *arguments: str) -> list[str]:
    """CMake's arguments of a run that succeeds."""
    checkout.program("01_naive", "exit 0\n")
    checkout.run("run", "01", *arguments, status=0)
    return (checkout.fakes / "configured").read_text().splitlines()[-1].split()


def test_warnings_are_errors_where_the_environment_says_so(checkout: Checkout) -> None:
    assert not any("GEMM_WERROR" in argument for argument in configured(checkout))
    checkout.env["GEMM_WERROR"] = "1"
    assert "-DGEMM_WERROR=ON" in configured(checkout)
    del checkout.env["GEMM_WERROR"]
    again = configured(checkout)
    assert "--fresh" in again
    assert "-DGEMM_WERROR=ON" not in again


def test_clang_is_left_aside_for_gcc(checkout: Checkout) -> None:
    clang = checkout.tool("clang++", CLANG)
    checkout.env["CXX"] = "clang++"
    checkout.program("01_naive", "exit 0\n")
    done = checkout.run("run", "01", status=0)
    assert all(f"{compiler}" in done.stderr for compiler in (f" {checkout.fakes}/bin/g++: ", f" {clang}, "))
    assert f"-DCMAKE_CXX_COMPILER={checkout.fakes}/bin/g++" in (checkout.fakes / "configured").read_text()


def test_clang_alone_is_no_compiler_for_this(checkout: Checkout) -> None:
    checkout.tool("clang++", CLANG)
    checkout.env.update(CXX="clang++", PATH=str(checkout.fakes / "bin"))
    (checkout.fakes / "bin" / "g++").unlink()
    checkout.fails("chart", words=("g++ ≥ 11", "clang++ is clang", "apt-get install -y g++"))


@pytest.mark.parametrize(("own", "taken"), [("gcc", "g++-12"), ("g++-11", "g++-11"), ("gcc-11", "g++-11"), ("clang++", "g++-12")])
def test_cuda_takes_one_compiler_for_all(checkout: Checkout, own: str, taken: str) -> None:
    cuda_alone(checkout)
    checkout.tool("clang++", CLANG)
    for version in (11, 12, 14):
        checkout.tool(f"g++-{version}", GXX.replace("echo 12", f"echo {version}"))
    checkout.env["OWN"] = own
    assert f"-DCMAKE_CXX_COMPILER={checkout.fakes}/bin/{taken}" in configured(checkout)


def test_cuda_without_a_compiler_that_nvcc_takes(checkout: Checkout) -> None:
    cuda_alone(checkout)
    said = checkout.fails("chart", words=("bin/g++ ", " 12, ", "nvcc"))
    assert said.endswith("apt-get install -y g++-12.")


@pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake on this machine")
def test_cmake_by_itself_says_which_compiler_nvcc_takes(tmp_path: Path) -> None:
    nvcc = script(
        tmp_path / "nvcc", "echo 'host_config.h:143:2: error: gcc versions later than 13 are not supported!' >&2\nexit 1\n"
    )
    command = ["cmake", "-S", REPOSITORY, "-B", tmp_path / "build", "-DGEMM_DEVICE=cuda", f"-DGEMM_NVCC={nvcc}"]
    command += ["-G", "Ninja"] if shutil.which("ninja") else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert "nvcc does not take /" in said
    assert "apt-get install g++-13), then type: CXX=g++-13 cmake --fresh --preset cuda" in said
