"""Bad input, missing tools, doctor, run, test: one sentence each (approved/runner_cli.txt), and the right exit status."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal

import pytest
from approvals import Approve, refusals
from conftest import CMAKE, PATIENCE, Checkout, put, results, run_entry, stop, wait_for

from runner.core import lesson
from runner.core.results import UserError
from runner.measure import chart

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="installs with a fake apt-get, which only root does without asking")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("run", "--help")])
def test_help(checkout: Checkout, arguments: tuple[str, ...]) -> None:
    done = checkout.run(*arguments, status=0)
    assert done.stdout.split()[:2] == ["Usage:", "./gemm"]
    assert not done.stderr


def test_help_cuts_no_description(checkout: Checkout) -> None:
    checkout.env["COLUMNS"] = "80"
    commands = checkout.run("--help").stdout.partition("Commands")[2]  # old versions of typer draw a box there
    assert "doctor" in commands
    assert "..." not in commands


def test_full_standard_output(checkout: Checkout, approve: Approve) -> None:
    said = set()
    for arguments in (("doctor",), ("doctor", "--json"), ("--help",)):
        for unbuffered in ("", "1"):
            checkout.env["PYTHONUNBUFFERED"] = unbuffered
            with open("/dev/full", "w") as full:  # noqa: PTH123
                process = checkout.start(*arguments, stdout=full)
                said.add(process.communicate(timeout=PATIENCE)[1])
            assert process.returncode == 2
    approve("".join(said))


def test_unusual_system_error_is_one_sentence(checkout: Checkout, approve: Approve) -> None:
    loop = checkout.root / "01_naive" / "kernel.cu"
    checkout.bench(results(run_entry()))
    loop.unlink()
    loop.symlink_to(loop)
    approve(checkout.run("chart", status=2).stderr)


REFUSED = """run 99
run naive2
run ''
run ../01_naive
run 0
run 01 --m abc
run 01 --m -1
run 01 --m ''
run 01 --m 9223372036854775808
run 01 --lda x
run 01 --rounds -3
run 01 --beta much
run 1 --variant bf16.nt --dtype bf16
run 1 --variant BF16
run 1 --dtype int8
chart --sizes -5""".splitlines()


def test_what_cannot_be_meant_is_refused_before_anything_is_built(checkout: Checkout, approve: Approve) -> None:
    approve(refusals(checkout, REFUSED))


@pytest.mark.parametrize("value", ["1.5", "1" * 5000, "1e3", "٣", "0x10", " 1", "1_0", "--1", "+5"])
def test_other_bad_numbers(value: str) -> None:
    with pytest.raises(UserError):
        lesson.whole("--n", value)


# Both as common/program/options.cpp reads them.
@pytest.mark.parametrize("value", ["+0.5", "", ".", "1e", "inf", "nan", "0x10", "1_0", " 1", "1e39", "1e400", "1e-50", "٣"])
def test_other_bad_scalars(value: str) -> None:
    with pytest.raises(UserError):
        lesson.number("--beta", value)


@pytest.mark.parametrize("value", ["-0.5", ".5", "5.", "1e-40", "1E5", "0", "-0e-99", "3.4028234e+38"])
def test_good_scalars(value: str) -> None:
    assert lesson.number("--beta", value) == value


@pytest.mark.parametrize(("option", "most"), [("--seed", 2**64 - 1), ("--rounds", 1000), ("--device", 2**31 - 1)])
def test_ranges_are_those_of_the_programs(option: str, most: int) -> None:
    assert lesson.whole(option, str(most)) == str(most)
    with pytest.raises(UserError):
        lesson.whole(option, str(most + 1))


@pytest.mark.parametrize("sizes", ["x", "1x2", "1x2x3x4", "-5", "4096,", "9223372036854775808", "1,2x-1x3", ""])
def test_bad_chart_sizes(sizes: str) -> None:
    with pytest.raises(UserError, match="--sizes"):
        chart.parse_sizes(sizes)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("nope",), "nope"),
        (("run",), "LESSON"),
        (("chart", "--nope"), "--nope"),
        (("run", "01", "--m"), "--m"),
        (("chart", "x"), "x"),
    ],
)
def test_usage_errors_are_one_sentence(checkout: Checkout, arguments: tuple[str, ...], word: str) -> None:
    checkout.fails(*arguments, words=(word, "./gemm --help"))


def test_devices_that_are_not_there(checkout: Checkout, approve: Approve) -> None:
    said = []
    for device, nvcc, smi in (
        ("gpu", True, "exit 0"),
        ("cuda", False, 'echo "GPU 0: NVIDIA H200 (UUID: GPU-0)"'),
        ("cuda", True, 'echo "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver."; exit 9'),
        ("cuda", True, 'echo "No devices found."'),
        ("cuda", True, "exit 0"),
    ):
        checkout.gpu()
        checkout.env["GEMM_DEVICE"] = device
        checkout.tool("nvidia-smi", smi + "\n")
        if not nvcc:
            (checkout.fakes / "bin" / "nvcc").unlink()
        said.append(refusals(checkout, ["chart"]))
    approve("\n".join(said))


@pytest.mark.parametrize(
    ("nvcc", "gpu", "device"), [(True, True, "cuda"), (False, True, "cpu"), (True, False, "cpu"), (False, False, "cpu")]
)
def test_auto_takes_cuda_when_nvcc_and_a_gpu_are_there(checkout: Checkout, nvcc: bool, gpu: bool, device: str) -> None:
    checkout.gpu()
    checkout.env["GEMM_DEVICE"] = "auto"
    if not nvcc:
        (checkout.fakes / "bin" / "nvcc").unlink()
    if not gpu:
        checkout.tool("nvidia-smi", "exit 9\n")
    assert json.loads(checkout.run("doctor", "--json").stdout)["device"] == device


def only_fakes(checkout: Checkout, *without: str) -> None:
    """A PATH with nothing but the fakes, less some of them."""
    checkout.env["PATH"] = str(checkout.fakes / "bin")
    for name in without:
        (checkout.fakes / "bin" / name).unlink()
    checkout.tool("grep", 'exec /bin/grep "$@"\n')


def test_what_is_missing_is_named_with_the_command_that_brings_it(checkout: Checkout, approve: Approve) -> None:
    """Where nothing may be installed."""
    only_fakes(checkout)
    tools = {name: (checkout.fakes / "bin" / name).read_text().removeprefix("#!/bin/sh\n") for name in ("g++", "cmake", "ninja")}
    said = []
    for commands, changed in (
        (["chart", "test", "run 01"], {"g++": None}),
        (["chart"], {"cmake": None, "ninja": None}),
        (["chart"], {"cmake": 'echo "cmake version 3.22.1"\n'}),
        (["chart"], {"g++": "echo 10\n"}),
    ):
        for name, body in {**tools, **changed}.items():
            (checkout.fakes / "bin" / name).unlink(missing_ok=True)
            if body is not None:
                checkout.tool(name, body)
        said.append(refusals(checkout, commands))
    only_fakes(checkout, "g++")
    del checkout.env["GEMM_NO_INSTALL"]
    approve("\n".join([*said, "There is no apt-get.", refusals(checkout, ["chart"])]))


def test_newer_compiler_beside_an_old_one_is_used(checkout: Checkout) -> None:
    (checkout.fakes / "bin" / "g++").rename(checkout.fakes / "bin" / "g++-12")
    checkout.tool("g++", "echo 9\n")
    only_fakes(checkout)
    found = {need["name"]: need for need in json.loads(checkout.run("doctor", "--json").stdout)["needs"]}
    assert found["g++ ≥ 11 (C++20)"]["found"].endswith("g++-12 12")


def test_library_that_cmake_fetches_is_not_fatal(checkout: Checkout) -> None:
    compiler = (checkout.fakes / "bin" / "g++").read_text().replace("grep gemm_found", "grep -E 'gemm_found <boost'")
    (checkout.fakes / "bin" / "g++").write_text(compiler)
    done = checkout.run("doctor", "--json")
    needs = {need["name"]: need for need in json.loads(done.stdout)["needs"]}
    assert done.returncode == 0
    assert not needs["CLI11"]["found"]
    assert needs["CLI11"]["command"].endswith("apt-get install -y libcli11-dev")


APT = """
echo "$@" >>"$FAKES/apt"
case $1 in
update) : >"$FAKES/lists" ;;
*) [ -e "$FAKES/lists" ] || { echo "E: Unable to locate package g++"; exit 100; }
   /bin/cp "$FAKES/new-g++" "$FAKES/bin/g++" ;;
esac
"""


@ROOT_ONLY
def test_root_installs_what_is_missing_and_goes_on(checkout: Checkout) -> None:
    (checkout.fakes / "new-g++").write_bytes((checkout.fakes / "bin" / "g++").read_bytes())
    (checkout.fakes / "new-g++").chmod(0o755)
    only_fakes(checkout, "g++")
    checkout.tool("apt-get", APT)
    checkout.tool("cp", 'exec /bin/cp "$@"\n')
    checkout.tool("mkdir", 'exec /bin/mkdir "$@"\n')
    checkout.program("01_naive", 'echo "right"\n')
    del checkout.env["GEMM_NO_INSTALL"]
    done = checkout.run("run", "01")
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    steps = [line.split()[0] for line in (checkout.fakes / "apt").read_text().splitlines()]
    assert steps == ["install", "update", "install"]
    assert "g++" in (checkout.fakes / "apt").read_text()


@ROOT_ONLY
def test_no_network_for_apt_is_one_sentence(checkout: Checkout, approve: Approve) -> None:
    only_fakes(checkout, "g++")
    checkout.tool("apt-get", 'echo "E: Could not resolve host deb.debian.org"; exit 100\n')
    del checkout.env["GEMM_NO_INSTALL"]
    approve(checkout.run("chart", status=2).stderr)


def with_extras(checkout: Checkout) -> None:
    """What not every machine has."""
    (checkout.root / "pyseccomp.py").touch()
    for name in ("cuobjdump", "nvdisasm", "ncu"):
        checkout.tool(name, "exit 0\n")


def test_doctor_knows_what_single_commands_need(checkout: Checkout) -> None:
    needs = {need["name"]: need for need in json.loads(checkout.run("doctor", "--json").stdout)["needs"]}
    for name, command in (("cuobjdump, nvdisasm", "./gemm sass"), ("ncu", "./gemm profile")):
        assert not needs[name]["required"]
        assert needs[name]["found"] or (command in needs[name]["note"] and needs[name]["command"])
    with_extras(checkout)
    needs = {need["name"]: need for need in json.loads(checkout.run("doctor", "--json").stdout)["needs"]}
    assert needs["ncu"]["found"] == str(checkout.fakes / "bin" / "ncu")
    assert needs["cuobjdump, nvdisasm"]["found"].endswith("/nvdisasm")


def test_doctor_notes_only_what_is_missing(checkout: Checkout) -> None:
    with_extras(checkout)
    for cuda in (False, True):
        if cuda:
            checkout.gpu()
        needs = json.loads(checkout.run("doctor", "--json").stdout)["needs"]
        assert all(need["found"] for need in needs)
        assert not any(need["note"] for need in needs)


def test_doctor_tells_what_is_there_and_how_to_get_what_is_missing(checkout: Checkout, approve: Approve) -> None:
    said = []
    for without, status in ((), 0), (("ninja",), 2):
        only_fakes(checkout, *without)
        done = checkout.run("doctor", status=status)
        said += [line for line in done.stdout.splitlines() if not re.match("[┏┃┡│└]", line)]  # but for the table
        needs = json.loads(checkout.run("doctor", "--json").stdout)["needs"]
        said += [
            f"{need['name']} ({need['note']}): {need['command']}" for need in needs if need["name"] in ("git", "ninja or make")
        ]
    approve("\n".join(said))


def test_doctor_for_cuda_without_a_driver_is_a_table_not_an_error(checkout: Checkout) -> None:
    checkout.gpu()
    checkout.tool("nvidia-smi", 'echo "NVIDIA-SMI has failed"; exit 9\n')
    with_extras(checkout)
    done = checkout.run("doctor", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["device"], report["ready"]) == (2, "cuda", False)
    assert {need["name"] for need in report["needs"] if not need["found"]} == {"GPU and driver"}


def test_doctor_finds_cuda_too_old(checkout: Checkout) -> None:
    checkout.gpu()
    checkout.tool("nvcc", 'echo "Cuda compilation tools, release 11.8, V11.8.89"\n')
    nvcc = next(n for n in json.loads(checkout.run("doctor", "--json").stdout)["needs"] if n["name"].startswith("nvcc"))
    assert not nvcc["found"]
    assert "11.8" in nvcc["note"]


def test_run_passes_options_on_and_returns_the_status(checkout: Checkout) -> None:
    checkout.program("01_naive", 'echo "$@"; exit 1\n')
    done = checkout.run(
        "run", "1", "--m", "10", "--k", "007", "--beta", "-0.5", "--verify-only", "--json", "--like", "sm_86", status=1
    )
    assert done.stdout == "--m=10 --k=7 --beta=-0.5 --like=sm_86 --verify-only --json\n"
    assert "--target 01_naive" in (checkout.fakes / "built").read_text()
    more = ["--lds", "--ldr", "--ldd", "--batch", "--stride-a", "--stride-b", "--stride-c", "--stride-d"]
    done = checkout.run("run", "1", *(word for option in more for word in (option, "40")), status=1)
    assert done.stdout == " ".join(f"{option}=40" for option in more) + "\n"
    assert checkout.run("run", "1", "--groups", "40x007x3,0x1x1", status=1).stdout == "--groups=40x7x3,0x1x1\n"
    for wrong in ("", "40", "1x1x1,", "1x1x-1", "1x1"):
        assert "--groups" in checkout.run("run", "1", "--groups", wrong, status=2).stderr


def with_steps(checkout: Checkout) -> None:
    """The checkout's lessons, and two that are steps of one folder."""
    with (checkout.root / "CMakeLists.txt").open("a") as file:
        file.write("gemm_lesson(09a_wmma 09_tensorcore/a_wmma)\ngemm_lesson(09b_mma_sync 09_tensorcore/b_mma_sync)\n")


@pytest.mark.parametrize(
    ("names", "lesson"),
    [
        (["02", "2", "02_coalesced", "02_coalesced/", "coalesced"], "02_coalesced"),
        (["09b", "9b", "09b_mma_sync", "mma_sync", "09_tensorcore/b_mma_sync", "09_tensorcore/b_mma_sync/"], "09b_mma_sync"),
        (["09", "9", "09_tensorcore", "09_tensorcore/"], "09b_mma_sync"),  # the last of several steps
    ],
)
def test_names_of_a_lesson(checkout: Checkout, names: list[str], lesson: str) -> None:
    with_steps(checkout)
    checkout.program(lesson, f"echo {lesson}\n")
    for name in names:
        done = checkout.run("run", name)
        assert (done.stdout, bool(done.stderr)) == (f"{lesson}\n", name.startswith("09_tensorcore") and "b_" not in name
                                                    or name in ("09", "9"))  # fmt: skip


def test_a_name_that_no_step_has_and_one_that_several_have(checkout: Checkout, approve: Approve) -> None:
    with_steps(checkout)
    said = refusals(checkout, ["run 09c", "run 0", "run ''", "run /", "run 90", "run 9ab"])
    checkout.program("09b_mma_sync", "exit 0\n")
    approve(said + "\n" + checkout.run("run", "09").stderr)


def test_run_passes_the_type_on(checkout: Checkout) -> None:
    checkout.program("01_naive", 'echo "$@"\n')
    assert checkout.run("run", "1", "--dtype", "bf16").stdout == "--variant=bf16\n"
    assert checkout.run("run", "1", "--variant", "bf16.nt").stdout == "--variant=bf16.nt\n"


def test_run_of_a_program_that_crashes_or_takes_too_much(checkout: Checkout, approve: Approve) -> None:
    said = []
    for signal_ in ("SEGV", "KILL"):
        checkout.program("01_naive", f"kill -{signal_} $$\n")
        said.append(checkout.fails("run", "01", words=()))
    approve("\n".join(said))


def test_interrupt_of_what_records_nothing(checkout: Checkout) -> None:
    checkout.program("01_naive", 'echo $$ >"$FAKES/pid"\nexec sleep 600\n')
    process = checkout.start("run", "01")
    wait_for(checkout.fakes / "pid")
    status, said = stop(process, signal.SIGINT)
    assert (status, said) == (130, "Interrupted.\n")


def test_the_cpu_devices_options_are_for_it_alone(checkout: Checkout, approve: Approve) -> None:
    checkout.gpu()
    approve(refusals(checkout, ["run 01 --like sm_86", "run 01 --schedule 3"]))


def test_what_builds_and_configures_says_why_it_failed(checkout: Checkout, approve: Approve) -> None:
    said = []
    for failing in ("build_fails", "configure_fails"):
        (checkout.root / "build" / "cpu" / "configured.json").write_text("")
        (checkout.fakes / failing).touch()
        said.append(checkout.run("run", "01", status=2).stderr)
    approve("\n".join(said))
    for failing in ("build_fails", "configure_fails"):
        (checkout.fakes / failing).unlink()
    checkout.program("01_naive", "exit 0\n")
    checkout.run("run", "01", status=0)


def test_configures_once_and_again_when_tools_change(checkout: Checkout) -> None:
    checkout.program("01_naive", "exit 0\n")
    for _ in range(2):
        checkout.run("run", "01", status=0)
    assert len((checkout.fakes / "configured").read_text().splitlines()) == 1
    checkout.env["CMAKE_PREFIX_PATH"] = "/opt/carried"
    checkout.run("run", "01", status=0)
    assert "--fresh" in (checkout.fakes / "configured").read_text().splitlines()[1]


def test_cuda_is_configured_for_this_gpu(checkout: Checkout) -> None:
    checkout.gpu()
    checkout.program("01_naive", "exit 0\n")
    checkout.run("run", "01", status=0)
    command = (checkout.fakes / "configured").read_text()
    assert "--preset cuda" in command
    assert "-DCMAKE_CUDA_ARCHITECTURES=native" in command
    assert f"-DCMAKE_CUDA_COMPILER={checkout.fakes}/bin/nvcc" in command


CTEST = """
while [ $# -gt 0 ]; do [ "$1" = --output-junit ] && output=$2; shift; done
echo "1/3 Test  #1: one .... Passed 0.1 sec"
cat >"$output" <<'XML'
<testsuite><testcase name="one" status="run"/><testcase name="two" status="run"/>
<testcase name="three" status="notrun"><skipped/></testcase>{more}</testsuite>
XML
{end}
"""


def suite(checkout: Checkout, python: str, more: str = "", end: str = "exit 0") -> None:
    checkout.program("01_naive", "exit 0\n")
    checkout.tool("ctest", CTEST.replace("{more}", more).replace("{end}", end))
    put(checkout.root, {"tests/python/test_x.py": python})
    if importlib.util.find_spec("xdist"):  # its own start is most of what these tests take: one worker, not one for each core
        checkout.env["PYTEST_ADDOPTS"] = "--maxprocesses=1"


def test_test_sums_ctest_and_pytest(checkout: Checkout) -> None:
    suite(checkout, "def test_a(): pass\n")
    done = checkout.run("test", status=0)
    assert done.stdout.splitlines()[-1] == "3 passed, 0 failed"


def test_test_shows_failures(checkout: Checkout) -> None:
    failure = '<testcase name="bad" status="fail"><failure message=""/></testcase>'
    suite(
        checkout,
        "def test_a(): assert 'left' == 'right'\n",
        failure,
        "echo '2/3 Test #2: two ....***Failed'; echo '1 == 2'; exit 8",
    )
    done = checkout.run("test", status=1)
    assert done.stdout.splitlines()[-1] == "2 passed, 2 failed"
    assert "2/3 Test #2: two ....***Failed\n1 == 2\n" in done.stderr  # what ctest and pytest say of them
    assert "'left' == 'right'" in done.stderr


def test_test_counts_a_crash_as_a_failure(checkout: Checkout) -> None:
    suite(checkout, "def test_a(): pass\n", end="kill -SEGV $$")
    done = checkout.run("test", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert (report["passed"], report["failed"], report["ctest"]["failed"]) == (3, 1, 1)


def test_no_test_at_all_is_a_failure(checkout: Checkout) -> None:
    suite(checkout, "")
    checkout.tool("ctest", 'echo "No tests were found!!!"\n')
    (checkout.root / "tests" / "python" / "test_x.py").unlink()
    (checkout.root / "tests" / "python").rmdir()
    done = checkout.run("test", status=1)
    assert done.stdout.splitlines()[-1] == "0 passed, 0 failed"


@pytest.mark.parametrize("locale", ["UTF-8", "ASCII", "C"])
def test_where_home_terminal_and_locale_are_unknown(checkout: Checkout, locale: str) -> None:
    """An encoding that lacks ≥ and … shows something else in their place."""
    for name in ("HOME", "LANG"):
        del checkout.env[name]
    if locale != "UTF-8":
        checkout.env["LC_ALL"] = "C"
    if locale == "ASCII":  # which Python would not take for granted in the locale C
        checkout.env |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = checkout.run("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"CMake {'?' if locale == 'ASCII' else '≥'} 3.24" in done.stdout
    checkout.program("01_naive", 'echo "256×256×256"\n')
    checkout.run("run", "01", status=0)
    (checkout.fakes / "build_fails").touch()
    checkout.tool("cmake", CMAKE.replace("expected ';'", "‘;’ missing"))
    done = checkout.run("run", "01", status=2)
    assert "kernel.cu:3: error: " + ("?;?" if locale == "ASCII" else "‘;’") + " missing" in done.stderr
    assert "Traceback" not in done.stderr
