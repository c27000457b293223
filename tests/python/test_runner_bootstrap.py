"""The shell script ./gemm: finding Python and its packages, or saying what to type."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Checkout

# A Python whose packages are the file $FAKES/packages, and that makes environments whose pip works when $FAKES/pypi exists.
PYTHON = r"""
case "$*" in
*find_spec*) [ -e "$FAKES/packages" ] || exit 1 ;;
*ensurepip*) exit 0 ;;
"-m venv "*)
    mkdir -p "$3/bin"
    cat >"$3/bin/python" <<'SH'
#!/bin/sh
case "$*" in
*find_spec*) [ -e "$FAKES/installed" ] || exit 1 ;;
"-m pip"*) [ -e "$FAKES/pypi" ] || { echo "ERROR: No matching distribution found"; exit 1; }; : >"$FAKES/installed" ;;
"-m runner"*) echo "venv: $*" ;;
esac
SH
    chmod +x "$3/bin/python" ;;
"-m runner"*) echo "path: $*" ;;
esac
"""
NEEDED = ("dirname", "uname", "id", "rm", "mktemp", "sed", "head", "tail", "touch", "env", "cat", "mkdir", "chmod", "sh")


@pytest.fixture
def bare(checkout: Checkout) -> Checkout:
    """Nothing on PATH but a few system programs and a Python without packages."""
    for name in NEEDED:
        path = shutil.which(name)
        assert path
        (checkout.fakes / "bin" / name).symlink_to(path)
    script = (checkout.root / "gemm").read_text()
    assert "/usr/bin/python3" in script
    (checkout.root / "gemm").write_text(script.replace("/usr/bin/python3", "no-such-python"))
    checkout.tool("python3", PYTHON)
    checkout.env["PATH"] = str(checkout.fakes / "bin")
    del checkout.env["GEMM_NO_INSTALL"]
    return checkout


def gemm(checkout: Checkout, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [str(checkout.root / "gemm"), *arguments]
    return subprocess.run(
        command,
        env=checkout.env,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
        check=False,
        **options,
    )  # type: ignore[call-overload]


def test_python_that_has_all_is_used_silently(bare: Checkout) -> None:
    (bare.fakes / "packages").touch()
    done = gemm(bare, "run", "01", "--m", "a b")
    assert (done.returncode, done.stdout, done.stderr) == (0, "path: -m runner run 01 --m a b\n", "")
    assert not (bare.root / ".venv").exists()


def test_venv_is_made_once_then_used_silently(bare: Checkout) -> None:
    (bare.fakes / "pypi").touch()
    done = gemm(bare, "doctor")
    assert (done.returncode, done.stdout) == (0, "venv: -m runner doctor\n"), done.stderr
    assert "Making .venv" in done.stderr
    (bare.fakes / "pypi").unlink()  # offline from here on
    done = gemm(bare, "doctor")
    assert (done.returncode, done.stdout, done.stderr) == (0, "venv: -m runner doctor\n", "")


def test_half_made_venv_is_made_again(bare: Checkout) -> None:
    (bare.fakes / "pypi").touch()
    assert gemm(bare).returncode == 0
    (bare.root / ".venv" / "complete").unlink()
    (bare.root / ".venv" / "rest").touch()
    done = gemm(bare)
    assert done.returncode == 0
    assert "not complete" in done.stderr
    assert not (bare.root / ".venv" / "rest").exists()


def test_no_network_and_no_apt(bare: Checkout) -> None:
    done = gemm(bare, "chart")
    assert done.returncode == 2
    assert "PyPI does not answer" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("check the network, then run ./gemm again.")
    assert not (bare.root / ".venv").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="installs with a fake apt-get, which only root does without asking")
def test_system_packages_where_pypi_does_not_answer(bare: Checkout) -> None:
    bare.tool("apt-get", 'echo "$@" >>"$FAKES/apt"\n: >"$FAKES/packages"\n')
    done = gemm(bare, "chart")
    assert (done.returncode, done.stdout) == (0, "path: -m runner chart\n"), done.stderr
    assert "python3-matplotlib python3-rich python3-typer" in (bare.fakes / "apt").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="installs with a fake apt-get, which only root does without asking")
def test_python_is_installed_after_an_update_of_the_lists(bare: Checkout) -> None:
    python = bare.fakes / "bin" / "python3"
    python.rename(bare.fakes / "new-python")
    (bare.fakes / "packages").touch()
    (bare.fakes / "bin" / "mv").symlink_to(shutil.which("mv") or "")
    bare.tool(
        "apt-get",
        f"""echo "$1" >>"$FAKES/apt"
[ "$1" = update ] && exit 0
[ "$(cat "$FAKES/apt")" != install ] || {{ echo "E: Unable to locate package python3"; exit 100; }}
mv "$FAKES/new-python" {python}
""",
    )
    done = gemm(bare, "chart")
    assert (done.returncode, done.stdout) == (0, "path: -m runner chart\n"), done.stderr
    assert (bare.fakes / "apt").read_text().split() == ["install", "update", "install"]


def test_no_python_where_nothing_may_be_installed(bare: Checkout) -> None:
    (bare.fakes / "bin" / "python3").unlink()
    bare.tool("apt-get", ": >$FAKES/apt\n")
    bare.env["GEMM_NO_INSTALL"] = "1"
    done = gemm(bare, "chart")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "apt-get install -y python3 python3-venv" in done.stderr
    assert not (bare.fakes / "apt").exists()


def test_no_packages_where_nothing_may_be_installed(bare: Checkout) -> None:
    bare.env["GEMM_NO_INSTALL"] = "1"
    (bare.fakes / "pypi").touch()
    done = gemm(bare, "chart")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert ".venv/bin/pip install -r requirements.txt" in done.stderr
    assert not (bare.root / ".venv").exists()


def test_old_python_is_not_used(bare: Checkout) -> None:
    bare.tool("python3", "exit 3\n")
    bare.env["GEMM_NO_INSTALL"] = "1"
    done = gemm(bare, "chart")
    assert done.returncode == 2
    assert "Python 3.10 or newer is missing" in done.stderr


def test_macos_gets_a_sentence(bare: Checkout) -> None:
    (bare.fakes / "bin" / "uname").unlink()
    bare.tool("uname", "echo Darwin\n")
    (bare.fakes / "packages").touch()
    done = gemm(bare, "chart")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "needs Linux" in done.stderr


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may read, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def read_only(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "is read-only" in done.stderr
    assert not done.stdout


def test_folder_that_the_user_cannot_write(bare: Checkout, open_folder: Path) -> None:
    (bare.fakes / "packages").touch()
    shutil.copy(bare.root / "gemm", open_folder)
    bare.root = open_folder
    bare.env["PATH"] = "/usr/bin:/bin"
    open_folder.chmod(0o555)
    read_only(gemm(bare, "chart", **({"user": 65534, "group": 65534} if os.geteuid() == 0 else {})))
    open_folder.chmod(0o755)


def test_read_only_mount(bare: Checkout, open_folder: Path) -> None:
    """Root may write anywhere but there."""
    script = 'mount --bind "$1" "$2" && mount -o remount,ro,bind "$2" || exit 77; exec "$2/gemm" chart'
    command = ["unshare", "--mount", "sh", "-c", script, "sh", str(bare.root), str(open_folder)]
    try:
        done = subprocess.run(
            command,
            env={**bare.env, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("this user may not mount")
    read_only(done)


def test_script_is_clean(checkout: Checkout) -> None:
    shellcheck = shutil.which("shellcheck")
    if not shellcheck:
        pytest.skip("no shellcheck here")
    done = subprocess.run([shellcheck, str(checkout.root / "gemm")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
