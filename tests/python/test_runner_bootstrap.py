"""The shell script ./gemm: finding Python and its packages, or saying what to type."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from approvals import Approve
from conftest import PATIENCE, Checkout, alive, wait_for
from test_lock import until

# A Python whose packages are the file $FAKES/packages, and that makes environments whose pip works when $FAKES/pypi exists.
PYTHON = r"""
case "$*" in
*find_spec*) [ -e "$FAKES/packages" ] || exit 1 ;;
*ensurepip*) exit 0 ;;
*flock*) exec REAL "$@" ;;
"-m venv "*)
    echo >>"$FAKES/venvs"
    mkdir -p "$3/bin"
    cat >"$3/bin/python" <<'SH'
#!/bin/sh
case "$*" in
*find_spec*) [ -e "$FAKES/installed" ] || exit 1 ;;
"-m pip"*)
    echo $$ >>"$FAKES/pip"; while [ -e "$FAKES/slow" ]; do sleep 0.1; done
    [ -e "$FAKES/pypi" ] || { echo "ERROR: No matching distribution found"; exit 1; }; : >"$FAKES/installed" ;;
"-m runner"*) echo "venv: $*" ;;
esac
SH
    chmod +x "$3/bin/python" ;;
"-m runner"*) echo "path: $*" ;;
esac
"""
NEEDED = ("dirname", "uname", "id", "rm", "mktemp", "sed", "head", "tail", "touch", "env", "cat", "mkdir", "chmod", "sh", "sleep")


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
    checkout.tool("python3", PYTHON.replace("REAL", sys.executable))
    checkout.env["PATH"] = str(checkout.fakes / "bin")
    del checkout.env["GEMM_NO_INSTALL"]
    return checkout


def gemm(checkout: Checkout, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(checkout.root / "gemm"), *arguments], env=checkout.env, cwd="/", capture_output=True, text=True, timeout=30,
        stdin=subprocess.DEVNULL, check=False, **options,
    )  # type: ignore[call-overload]  # fmt: skip


def test_python_that_has_all_is_used_silently(bare: Checkout) -> None:
    (bare.fakes / "packages").touch()
    done = gemm(bare, "run", "01", "--m", "a b")
    assert (done.returncode, done.stdout, done.stderr) == (0, "path: -m runner run 01 --m a b\n", "")
    assert not (bare.root / ".venv").exists()


def test_venv_is_made_once_then_used_silently(bare: Checkout) -> None:
    (bare.fakes / "pypi").touch()
    done = gemm(bare, "doctor")
    assert (done.returncode, done.stdout) == (0, "venv: -m runner doctor\n"), done.stderr
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
    assert not (bare.root / ".venv" / "rest").exists()


WAITING = "gemm: Waiting for another ./gemm, which installs Python packages for this folder …\n"


def begin(checkout: Checkout, said: Path) -> subprocess.Popen[str]:
    """./gemm doctor, which goes on while the test does; `said` gets its stderr."""
    with said.open("w") as err:
        return subprocess.Popen(
            [str(checkout.root / "gemm"), "doctor"], env=checkout.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=err, text=True, start_new_session=True,
        )  # fmt: skip


def test_two_at_once_make_one_venv(bare: Checkout) -> None:
    (bare.fakes / "pypi").touch()
    (bare.fakes / "slow").touch()
    first = begin(bare, bare.fakes / "first")
    wait_for(bare.fakes / "pip")
    second = begin(bare, bare.fakes / "second")
    until(lambda: (bare.fakes / "second").read_text() == WAITING)
    assert not (bare.root / ".venv" / "complete").exists()
    (bare.fakes / "slow").unlink()
    for process in (first, second):
        assert process.communicate(timeout=PATIENCE)[0] == "venv: -m runner doctor\n"
        assert process.returncode == 0
    assert (bare.fakes / "second").read_text() == WAITING  # it has found the first one's
    assert len((bare.fakes / "venvs").read_text().splitlines()) == 1


@pytest.mark.parametrize("pip_too", [True, False])
def test_a_killed_installation_holds_nobody_up(bare: Checkout, pip_too: bool) -> None:
    """A pip that outlives its ./gemm still writes into .venv: it is waited for."""
    (bare.fakes / "pypi").touch()
    (bare.fakes / "slow").touch()
    first = begin(bare, bare.fakes / "first")
    pip = int(wait_for(bare.fakes / "pip"))
    if pip_too:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
        until(lambda: not alive(pip))
        (bare.fakes / "slow").unlink()
        done = gemm(bare, "doctor")
        said = done.stderr
        assert (done.returncode, done.stdout) == (0, "venv: -m runner doctor\n"), said
    else:
        first.kill()
        first.wait()
        second = begin(bare, bare.fakes / "second")
        until(lambda: (bare.fakes / "second").read_text() == WAITING)
        (bare.fakes / "slow").unlink()
        assert second.communicate(timeout=PATIENCE)[0] == "venv: -m runner doctor\n"
        said = (bare.fakes / "second").read_text().removeprefix(WAITING)
    assert said.startswith("gemm: Removing .venv, ")
    assert (bare.root / ".venv" / "complete").exists()
    first.communicate()


def test_no_lock_is_handed_on(bare: Checkout) -> None:
    """What ./gemm becomes runs for hours (watch), and must not keep others from installing."""
    (bare.fakes / "pypi").touch()
    body = (bare.fakes / "bin" / "python3").read_text()
    bare.tool("python3", body.removeprefix("#!/bin/sh\n").replace('echo "venv: $*"', "echo /proc/self/fd/*"))
    held = gemm(bare, "doctor").stdout.split()
    assert "/proc/self/fd/0" in held
    assert "/proc/self/fd/9" not in held


@pytest.mark.skipif(os.geteuid() != 0, reason="installs with a fake apt-get, which only root does without asking")
def test_apt_is_waited_for_while_another_program_has_its_locks(bare: Checkout) -> None:
    bare.tool(
        "apt-get",
        """echo "$1" >>"$FAKES/apt"
[ ! -e "$FAKES/locked" ] || [ "$(cat "$FAKES/apt")" != install ] || {
    echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 77 (unattended-upgr)"; exit 100; }
: >"$FAKES/packages"
""",
    )
    (bare.fakes / "locked").touch()
    done = gemm(bare, "chart")
    assert (done.returncode, done.stdout) == (0, "path: -m runner chart\n"), done.stderr
    assert done.stderr.count(" process 77 (unattended-upgr), ") == 1
    assert (bare.fakes / "apt").read_text().split() == ["install", "install"]  # no update between: it was not the lists


@pytest.mark.skipif(os.geteuid() != 0, reason="installs with a fake apt-get, which only root does without asking")
def test_system_packages_where_pypi_does_not_answer(bare: Checkout) -> None:
    bare.tool("apt-get", 'echo "$@" >>"$FAKES/apt"\n: >"$FAKES/packages"\n')
    done = gemm(bare, "chart")
    assert (done.returncode, done.stdout) == (0, "path: -m runner chart\n"), done.stderr
    assert "python3-filelock python3-matplotlib python3-psutil python3-rich python3-typer" in (bare.fakes / "apt").read_text()


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


def test_what_is_missing_is_said(bare: Checkout, approve: Approve) -> None:
    said = []

    def refused(what: str) -> None:
        done = gemm(bare, "chart")
        assert (done.returncode, done.stdout) == (2, "")
        said.append(f"{what}:\n{done.stderr}")

    refused("no network and no apt")
    bare.tool("apt-get", ": >$FAKES/apt\n")
    bare.env["GEMM_NO_INSTALL"] = "1"
    (bare.fakes / "pypi").touch()
    refused("no packages, and nothing may be installed")
    bare.tool("python3", "exit 3\n")
    refused("an old Python")
    (bare.fakes / "bin" / "python3").unlink()
    refused("no Python")
    (bare.fakes / "bin" / "uname").unlink()
    bare.tool("uname", "echo Darwin\n")
    refused("macOS")
    approve("".join(said).replace(str(bare.root), "<checkout>"))
    assert not (bare.fakes / "apt").exists()
    assert not (bare.root / ".venv").exists()


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
