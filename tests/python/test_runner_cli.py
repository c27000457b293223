"""Bad input, missing tools, doctor, run, test: one sentence each, and the right exit status."""

from __future__ import annotations

import importlib.util
import json
import os
import signal

import pytest
from conftest import CMAKE, PATIENCE, Checkout, results, run_entry, stop, wait_for

from runner.core import lesson
from runner.core.results import UserError
from runner.measure import chart

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="installs with a fake apt-get, which only root does without asking")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("run", "--help")])
def test_help(checkout: Checkout, arguments: tuple[str, ...]) -> None:
    done = checkout.run(*arguments)
    assert done.returncode == 0
    assert "Usage: ./gemm" in done.stdout
    assert not done.stderr


def test_help_cuts_no_description(checkout: Checkout) -> None:
    checkout.env["COLUMNS"] = "80"
    commands = checkout.run("--help").stdout.partition("Commands")[2]  # old versions of typer draw a box there
    assert "doctor" in commands
    assert "..." not in commands


@pytest.mark.parametrize("arguments", [("doctor",), ("doctor", "--json"), ("--help",)])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_full_standard_output(checkout: Checkout, arguments: tuple[str, ...], unbuffered: str) -> None:
    checkout.env["PYTHONUNBUFFERED"] = unbuffered
    with open("/dev/full", "w") as full:  # noqa: PTH123
        process = checkout.start(*arguments, stdout=full)
        said = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 2
    assert said.splitlines()[0].startswith("gemm: Standard output cannot be written: No space left on device;")
    assert len(said.splitlines()) == 1


def test_unusual_system_error_is_one_sentence(checkout: Checkout) -> None:
    loop = checkout.root / "01_naive" / "kernel.cu"
    checkout.bench(results(run_entry()))
    loop.unlink()
    loop.symlink_to(loop)
    done = checkout.run("chart")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert f"{loop} cannot be used: Too many levels of symbolic links" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["99", "naive2", "", "../01_naive", "0"])
def test_unknown_lesson_is_named_before_anything_is_built(checkout: Checkout, name: str) -> None:
    checkout.fails("run", name, words=(repr(name), "01_naive, 02_coalesced"))
    assert not (checkout.fakes / "configured").exists()


NUMBER = "must be a whole number from 0 to 9223372036854775807"


@pytest.mark.parametrize("value", ["abc", "-1", "", "9223372036854775808"])
def test_bad_size(checkout: Checkout, value: str) -> None:
    checkout.fails("run", "01", "--m", value, words=("--m", NUMBER))
    assert not (checkout.fakes / "configured").exists()


@pytest.mark.parametrize("value", ["1.5", "1" * 5000, "1e3", "٣", "0x10", " 1", "1_0", "--1", "+5"])
def test_other_bad_numbers(value: str) -> None:
    with pytest.raises(UserError, match=f"--n {NUMBER}"):
        lesson.whole("--n", value)


@pytest.mark.parametrize("arguments", [("--lda", "x"), ("--rounds", "-3")])
def test_bad_whole_number_of_other_options(checkout: Checkout, arguments: tuple[str, str]) -> None:
    checkout.fails("run", "01", *arguments, words=(f"{arguments[0]} must be a whole number",))


def test_bad_scalar(checkout: Checkout) -> None:
    checkout.fails("run", "01", "--beta", "much", words=("--beta must be a finite number", "'much'"))


# Both as common/program/options.cpp reads them.
@pytest.mark.parametrize("value", ["+0.5", "", ".", "1e", "inf", "nan", "0x10", "1_0", " 1", "1e39", "1e400", "1e-50", "٣"])
def test_other_bad_scalars(value: str) -> None:
    with pytest.raises(UserError, match="--beta must be a finite number that a float holds"):
        lesson.number("--beta", value)


@pytest.mark.parametrize("value", ["-0.5", ".5", "5.", "1e-40", "1E5", "0", "-0e-99", "3.4028234e+38"])
def test_good_scalars(value: str) -> None:
    assert lesson.number("--beta", value) == value


@pytest.mark.parametrize(("option", "most"), [("--seed", 2**64 - 1), ("--rounds", 1000), ("--device", 2**31 - 1)])
def test_ranges_are_those_of_the_programs(option: str, most: int) -> None:
    assert lesson.whole(option, str(most)) == str(most)
    with pytest.raises(UserError, match=f"{option} must be a whole number from 0 to {most}, not"):
        lesson.whole(option, str(most + 1))


@pytest.mark.parametrize("sizes", ["x", "1x2", "1x2x3x4", "-5", "4096,", "9223372036854775808", "1,2x-1x3", ""])
def test_bad_chart_sizes(sizes: str) -> None:
    with pytest.raises(UserError, match="--sizes"):
        chart.parse_sizes(sizes)


def test_bad_chart_sizes_are_one_sentence(checkout: Checkout) -> None:
    checkout.fails("chart", "--sizes", "-5", words=("--sizes",))


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


def test_unknown_device(checkout: Checkout) -> None:
    checkout.env["GEMM_DEVICE"] = "gpu"
    checkout.fails("chart", words=("GEMM_DEVICE must be auto, cuda or cpu, not 'gpu'",))


def test_cuda_without_nvcc(checkout: Checkout) -> None:
    checkout.gpu()
    (checkout.fakes / "bin" / "nvcc").unlink()
    checkout.fails("chart", words=("GEMM_DEVICE=cuda", "nvcc", "GEMM_DEVICE=cpu"))


@pytest.mark.parametrize(
    ("smi", "words"),
    [
        (
            'echo "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver."; exit 9',
            "could not communicate",
        ),
        ('echo "No devices found."; exit 0', "No devices found"),
        ("exit 0", "lists no GPU"),
    ],
)
def test_cuda_without_a_working_gpu(checkout: Checkout, smi: str, words: str) -> None:
    checkout.gpu()
    checkout.tool("nvidia-smi", smi + "\n")
    checkout.fails("chart", words=("GEMM_DEVICE=cuda", words, "GEMM_DEVICE=cpu"))


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


@pytest.mark.parametrize("arguments", [("chart",), ("test",), ("run", "01")])
def test_missing_compiler_where_nothing_may_be_installed(checkout: Checkout, arguments: tuple[str, ...]) -> None:
    only_fakes(checkout, "g++")
    said = checkout.fails(*arguments, words=("g++ ≥ 11", "apt-get install -y g++"))
    assert "Boost" in said  # nothing can be looked for without a compiler


def test_missing_tools_are_named_together(checkout: Checkout) -> None:
    only_fakes(checkout, "cmake", "ninja")
    checkout.fails("chart", words=("CMake ≥ 3.24, ninja or make are missing", "apt-get install -y cmake ninja-build"))


def test_old_cmake_comes_from_pypi(checkout: Checkout) -> None:
    checkout.tool("cmake", 'echo "cmake version 3.22.1"\n')
    only_fakes(checkout)
    checkout.fails("chart", words=("has version 3.22.1", ".venv/bin/pip install cmake=="))


def test_old_compiler_counts_as_missing(checkout: Checkout) -> None:
    checkout.tool("g++", "echo 10\n")
    only_fakes(checkout)
    checkout.fails("chart", words=("g++ ≥ 11", "has version 10"))


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
def test_no_network_for_apt_is_one_sentence(checkout: Checkout) -> None:
    only_fakes(checkout, "g++")
    checkout.tool("apt-get", 'echo "E: Could not resolve host deb.debian.org"; exit 100\n')
    del checkout.env["GEMM_NO_INSTALL"]
    done = checkout.run("chart")
    assert done.returncode == 2
    assert "Could not resolve host" in done.stderr.splitlines()[-1]
    assert "check the network, then type: apt-get install -y" in done.stderr.splitlines()[-1]


def test_system_without_apt_names_the_packages(checkout: Checkout) -> None:
    only_fakes(checkout, "g++")
    del checkout.env["GEMM_NO_INSTALL"]
    checkout.fails("chart", words=("no apt-get", "by hand", "g++"))


def test_doctor_when_all_is_there(checkout: Checkout) -> None:
    done = checkout.run("doctor")
    assert done.returncode == 0
    assert "Ready: ./gemm chart runs on the CPU device." in done.stdout
    assert "MISSING" not in done.stdout


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


def test_doctor_names_a_command_for_what_is_missing(checkout: Checkout) -> None:
    only_fakes(checkout, "ninja")
    done = checkout.run("doctor")
    assert done.returncode == 2
    assert "apt-get install -y ninja-build" in done.stdout
    assert "Not ready: ninja or make missing." in done.stdout


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
    done = checkout.run("run", "1", "--m", "10", "--k", "007", "--beta", "-0.5", "--verify-only", "--json", "--like", "sm_86")
    assert done.returncode == 1
    assert done.stdout == "--m=10 --k=7 --beta=-0.5 --like=sm_86 --verify-only --json\n"
    assert "--target 01_naive" in (checkout.fakes / "built").read_text()


@pytest.mark.parametrize("name", ["02", "2", "02_coalesced", "02_coalesced/", "coalesced"])
def test_lesson_names(checkout: Checkout, name: str) -> None:
    checkout.program("02_coalesced", "echo two\n")
    assert checkout.run("run", name).stdout == "two\n"


def with_steps(checkout: Checkout) -> None:
    """The checkout's lessons, and two that are steps of one folder."""
    with (checkout.root / "CMakeLists.txt").open("a") as file:
        file.write("gemm_lesson(09a_wmma 09_tensorcore/a_wmma)\ngemm_lesson(09b_mma_sync 09_tensorcore/b_mma_sync)\n")


@pytest.mark.parametrize(
    "name", ["09b", "9b", "09b_mma_sync", "mma_sync", "09_tensorcore/b_mma_sync", "09_tensorcore/b_mma_sync/"]
)
def test_names_of_a_step(checkout: Checkout, name: str) -> None:
    with_steps(checkout)
    checkout.program("09b_mma_sync", "echo b\n")
    assert checkout.run("run", name).stdout == "b\n"


@pytest.mark.parametrize("name", ["09", "9", "09_tensorcore", "09_tensorcore/"])
def test_a_name_that_several_steps_have_means_the_last_one(checkout: Checkout, name: str) -> None:
    with_steps(checkout)
    checkout.program("09b_mma_sync", "echo b\n")
    done = checkout.run("run", name)
    assert done.stdout == "b\n"
    assert done.stderr.splitlines()[0] == f"{name} is 09b_mma_sync, the last step; before it: 09a_wmma."


@pytest.mark.parametrize("name", ["09c", "0", "", "/", "90", "9ab"])
def test_a_name_that_no_step_has(checkout: Checkout, name: str) -> None:
    with_steps(checkout)
    checkout.fails("run", name, words=("There is no lesson", "02_coalesced, 09a_wmma, 09b_mma_sync."))


def test_run_passes_the_type_on(checkout: Checkout) -> None:
    checkout.program("01_naive", 'echo "$@"\n')
    assert checkout.run("run", "1", "--dtype", "bf16").stdout == "--variant=bf16\n"
    assert checkout.run("run", "1", "--variant", "bf16.nt").stdout == "--variant=bf16.nt\n"
    checkout.fails("run", "1", "--variant", "bf16.nt", "--dtype", "bf16", words=("--dtype is short for --variant",))
    checkout.fails("run", "1", "--variant", "BF16", words=("--variant must be types and a layout", "not 'BF16'"))
    checkout.fails("run", "1", "--dtype", "int8", words=("--dtype must be fp32, bf16 or fp16, not 'int8'.",))


def test_run_of_a_program_that_crashes(checkout: Checkout) -> None:
    checkout.program("01_naive", "kill -SEGV $$\n")
    checkout.fails("run", "01", words=("01_naive was ended by SIGSEGV",))


def test_run_out_of_memory(checkout: Checkout) -> None:
    checkout.program("01_naive", "kill -KILL $$\n")
    said = checkout.fails("run", "01", words=("01_naive was ended by SIGKILL (probably out of memory)", "smaller sizes"))
    assert "bug" not in said


def test_interrupt_of_what_records_nothing(checkout: Checkout) -> None:
    checkout.program("01_naive", 'echo $$ >"$FAKES/pid"\nexec sleep 600\n')
    process = checkout.start("run", "01")
    wait_for(checkout.fakes / "pid")
    status, said = stop(process, signal.SIGINT)
    assert (status, said) == (130, "Interrupted.\n")


def test_like_is_for_the_cpu_device(checkout: Checkout) -> None:
    checkout.gpu()
    checkout.fails("run", "01", "--like", "sm_86", words=("--like", "GEMM_DEVICE=cpu"))


def test_build_failure_shows_the_compilers_words(checkout: Checkout) -> None:
    (checkout.fakes / "build_fails").touch()
    done = checkout.run("run", "01")
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["kernel.cu:3: error: expected ';'", "gemm: The build failed; the message is above."]


def test_configure_failure_is_tried_again(checkout: Checkout) -> None:
    (checkout.fakes / "configure_fails").touch()
    done = checkout.run("run", "01")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "CMake Error: no such preset"
    assert "could not configure build/cpu" in done.stderr.splitlines()[-1]
    (checkout.fakes / "configure_fails").unlink()
    checkout.program("01_naive", "exit 0\n")
    assert checkout.run("run", "01").returncode == 0


def test_configures_once_and_again_when_tools_change(checkout: Checkout) -> None:
    checkout.program("01_naive", "exit 0\n")
    for _ in range(2):
        assert checkout.run("run", "01").returncode == 0
    assert len((checkout.fakes / "configured").read_text().splitlines()) == 1
    checkout.env["CMAKE_PREFIX_PATH"] = "/opt/carried"
    assert checkout.run("run", "01").returncode == 0
    assert "--fresh" in (checkout.fakes / "configured").read_text().splitlines()[1]


def test_cuda_is_configured_for_this_gpu(checkout: Checkout) -> None:
    checkout.gpu()
    checkout.program("01_naive", "exit 0\n")
    assert checkout.run("run", "01").returncode == 0
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
    (checkout.root / "tests" / "python").mkdir(parents=True)
    (checkout.root / "tests" / "python" / "test_x.py").write_text(python)
    if importlib.util.find_spec("xdist"):  # its own start is most of what these tests take: one worker, not one for each core
        checkout.env["PYTEST_ADDOPTS"] = "--maxprocesses=1"


def test_test_sums_ctest_and_pytest(checkout: Checkout) -> None:
    suite(checkout, "def test_a(): pass\n")
    done = checkout.run("test")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "3 passed, 0 failed"


def test_test_shows_failures(checkout: Checkout) -> None:
    failure = '<testcase name="bad" status="fail"><failure message=""/></testcase>'
    suite(
        checkout,
        "def test_a(): assert 'left' == 'right'\n",
        failure,
        "echo '2/3 Test #2: two ....***Failed'; echo '1 == 2'; exit 8",
    )
    done = checkout.run("test")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "2 passed, 2 failed"
    assert "2/3 Test #2: two ....***Failed\n1 == 2\n" in done.stderr
    assert "'left' == 'right'" in done.stderr


def test_test_counts_a_crash_as_a_failure(checkout: Checkout) -> None:
    suite(checkout, "def test_a(): pass\n", end="kill -SEGV $$")
    done = checkout.run("test", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert (report["passed"], report["failed"], report["ctest"]["failed"]) == (3, 1, 1)
    assert "was ended by SIGSEGV" in done.stderr


def test_no_test_at_all_is_a_failure(checkout: Checkout) -> None:
    suite(checkout, "")
    checkout.tool("ctest", 'echo "No tests were found!!!"\n')
    (checkout.root / "tests" / "python" / "test_x.py").unlink()
    (checkout.root / "tests" / "python").rmdir()
    done = checkout.run("test")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "0 passed, 0 failed"
    assert "No test ran" in done.stderr


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
    assert checkout.run("run", "01").returncode == 0
    (checkout.fakes / "build_fails").touch()
    checkout.tool("cmake", CMAKE.replace("expected ';'", "‘;’ missing"))
    done = checkout.run("run", "01")
    assert done.returncode == 2
    assert "kernel.cu:3: error: " + ("?;?" if locale == "ASCII" else "‘;’") + " missing" in done.stderr
    assert "Traceback" not in done.stderr
