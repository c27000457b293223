"""common/cpu/translate.py: what it rewrites, what it leaves alone, and how it fails.

Launches, clusters, shared arrays and what only looks like them are test_translate_fuzz.py's, which draws them. That translated
programs compile and run right is tested in tests/cpu/execution/translated.cu.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_translate_fuzz import translator

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "common" / "cpu" / "translate.py"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True)


def translate(text: str) -> str:
    return translator.translate(text)


def test_a_file_says_where_it_comes_from(tmp_path: Path) -> None:
    source, target = tmp_path / "in.cu", tmp_path / "sub" / "out.cpp"
    source.write_text("add<<<1, 2>>>(x);\nextern __shared__ T words[];\n", encoding="utf-8")
    done = run(source, target)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert target.read_text(encoding="utf-8") == (
        f'#line 1 "{source}"\n::cpu_device::launcher("add", add, 1, 2)(x);\n'
        "T* const words = static_cast<T*>(::cpu_device::dynamic_shared<T>());\n"
    )


def test_fields_of_a_launch_that_are_named_as_macros() -> None:
    out = translate("void f() { config.gridDim = 1; p->blockDim = {.x = gridDim.x}; }\n")
    assert out == "void f() { config.config_gridDim = 1; p->config_blockDim = {.x = gridDim.x}; }\n"


@pytest.mark.parametrize(
    "declaration",
    [
        "__device__@ int a;",
        "static __device__@ float b[4];",
        "namespace { __device__@ double c = 3; }",
        "__device__@ const float* p = nullptr;",
        "__device__@ __constant__ float k[64];",
        "__constant__@ float k[64];",
        "__device__@ __managed__ int m{0};",
        "__align__(16) __device__@ float4 v;",
        "__device__@ __align__(16) float4 v[2];",
        "extern __device__@ int z;",
        "__device__ int e() { static __device__@ int cnt; return ++cnt; }",
        "#if 1\n__device__@ int a;\n#endif",
        "__device__@\nint a;",
        "// of a lambda: [] __device__ (int x)\n__device__@ int a;",
    ],
)
def test_variables_of_the_device(declaration: str) -> None:
    assert translate(declaration.replace("@", "") + "\n") == declaration.replace("@", " CPU_DEVICE_VARIABLE") + "\n"


def test_inline_variables_of_the_device() -> None:
    out = translate("inline __device__ int a = 2;\n__device__ inline int b{2};\n")
    assert (
        out == "inline __device__ CPU_DEVICE_INLINE_VARIABLE int a = 2;\n__device__ CPU_DEVICE_INLINE_VARIABLE inline int b{2};\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "__device__ __forceinline__ float f(float x) { return x; }\n",
        "__device__ const float t[3] = {1, 2, 3};\n",
        "const __device__ float t = 1;\n",
        "__device__ float* const q = nullptr;\n",
        "__device__ constexpr int n = 3;\n",
        "struct S {\n    __device__ S() = default;\n    __device__ S& operator=(const S&) = default;\n"
        "    __device__ operator int() const { return 1; }\n    __device__ bool operator==(const S&) const;\n};\n",
        "template <class T> __device__ T f(T x);\n",
        "template <class T> __device__ constexpr T one = 1;\n",
        "template <int N> __device__ std::enable_if_t<N == 4, int> g(int x) { return x; }\n",
        "template <class T> __device__ bool operator==(const T&, const T&) { return true; }\n",
        "template <class T> struct S { __device__ S() = default; };\n",
        "auto l = [] __device__ (int x) { return x; };\n",
        "#define DEVICE __device__ inline\nDEVICE int f(int);\nint x;\n",
        "__device__ __launch_bounds__(256, 2) void f();\n",
        "// __device__ int a;\n",
        '"__device__ int a;"\n',
    ],
)
def test_what_is_no_variable_of_the_device(text: str) -> None:
    assert translate(text) == text


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("void f() {\n    add<<<1, 2(x);\n}\n", 2, "<<< without >>>"),
        ("\n\n\nint x = <<<1, 2>>>(x);\n", 4, "no kernel name in front of <<<"),
        ("/* 1\n 2 */ void f() {\n    add<<<1, 2>>>;\n}\n", 3, ">>> is not followed by the kernel's arguments"),
        (
            "template <class T>\n__device__ T table[4];\n",
            2,
            "table is a template of __device__ variables; the CPU device needs a variable for each type",
        ),
    ],
)
def test_what_cannot_be_said_is_an_error_with_its_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    source, target = tmp_path / "in.cu", tmp_path / "out.cpp"
    source.write_text(text, encoding="utf-8")
    done = run(source, target)
    assert done.returncode == 1
    assert done.stderr == f"{source}:{line}: error: {what}\n"
    assert not target.exists()


@pytest.mark.parametrize(
    "text",
    [
        "k<<<1, 1>>>(" * 20_000,
        '"\\' * 100_000,
        "'\\" * 100_000,
        'R"x(' * 60_000,
        "/* " * 80_000,
        "extern __shared__ a" + " " * 250_000 + "!",
        "extern __shared__ " + "a " * 120_000,
        "extern __shared__ float " * 10_000 + ";",
        " " * 250_000 + "<<<1>>>(",
        "a::" * 80_000 + "<<<1>>>(",
        "1'" * 120_000,
    ],
    ids=["launches", "quotes", "letters", "raw", "comments", "blanks", "words", "shared", "no name", "names", "digits"],
)
def test_no_text_takes_long(tmp_path: Path, text: str) -> None:
    """A grader translates what anybody hands in."""
    source = tmp_path / "in.cu"
    source.write_text(text, encoding="utf-8")
    command = ["prlimit", "--cpu=10:10", sys.executable, SCRIPT, source, tmp_path / "out.cpp"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode in (0, 1)  # not ended by a signal


def test_wrong_use() -> None:
    done = run("one.cu")
    assert done.returncode == 2
    assert "usage" in done.stderr


def test_of_several_files_what_stays_is_left_alone(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.cu", "a.cpp", "wrong.cu", "wrong.cpp", "b.cu", "b.cpp")]
    for source, text in zip(files[::2], ("int a;\n", "<<<\n", "int b;\n"), strict=True):
        source.write_text(text, encoding="utf-8")
    done = run(*files)
    assert done.returncode == 1
    assert "wrong.cu:1: error" in done.stderr
    assert [file.exists() for file in files[1::2]] == [True, False, True]

    os.utime(files[1], ns=(1, 1))
    files[4].write_text("int c;\n", encoding="utf-8")
    assert run(*files[:2], *files[4:]).returncode == 0
    assert files[1].stat().st_mtime_ns == 1
    assert "int c;" in files[5].read_text(encoding="utf-8")


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    done = run(tmp_path / "none.cu", tmp_path / "out.cpp")
    assert done.returncode != 0
    assert "none.cu" in done.stderr
