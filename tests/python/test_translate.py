"""common/cpu/translate.py: what it rewrites, what it leaves alone, and how it fails.

That translated programs compile and run right is tested in tests/cpu/execution/translated.cu.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "common" / "cpu" / "translate.py"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True)


def translate(folder: Path, text: str) -> str:
    """The translated text without its #line, which is checked on the way."""
    source, target = folder / "in.cu", folder / "sub" / "out.cpp"
    source.write_text(text, encoding="utf-8")
    done = run(source, target)
    assert done.returncode == 0, done.stderr
    assert done.stdout == done.stderr == ""
    first, rest = target.read_text(encoding="utf-8").split("\n", 1)
    assert first == f'#line 1 "{source}"'
    return rest


@pytest.mark.parametrize(
    ("launch", "kernel"),
    [
        ("add<<<1, 2>>>(x);", "add"),
        ("add <<<1, 2, 3, s>>> (x);", "add"),
        ("a::b::add<<<1, 2>>>(x);", "a::b::add"),
        ("::a::add<<<1, 2>>>(x);", "::a::add"),
        ("add<float, 4><<<1, 2>>>(x);", "add<float, 4>"),
        ("a::add<P<1, (3 > 2)>, 4><<<g, b>>>(x);", "a::add<P<1, (3 > 2)>, 4>"),
        ("if (c) add<<<dim3(1, 2), f(3)>>>(x);", "add"),
    ],
)
def test_launch(tmp_path: Path, launch: str, kernel: str) -> None:
    out = translate(tmp_path, f"void f() {{\n    {launch}\n}}\n")
    assert f'::cpu_device::launcher("{kernel}", {kernel}, ' in out
    assert "<<<" not in out
    assert ">>>" not in out
    assert out.count("(") == out.count(")")


@pytest.mark.parametrize(
    ("kernel", "launch", "dims"),
    [
        ("__global__ void __cluster_dims__(2, 1, 1) add(int x)", "add<<<4, 2>>>(x);", "2, 1, 1"),
        ("__global__ void __cluster_dims__(CLUSTER) __launch_bounds__(f(1), 1)\n    add(int x)", "add<<<4, 2>>>(x);", "CLUSTER"),
        ("__global__ __cluster_dims__(N * (1 + 1)) void add(int x)", "a::add<T, 4><<<g, b>>>(x);", "N * (1 + 1)"),
    ],
)
def test_clusters(tmp_path: Path, kernel: str, launch: str, dims: str) -> None:
    out = translate(tmp_path, f"{kernel} {{}}\n__global__ void other() {{}}\nvoid f() {{ {launch} other<<<1, 2>>>(); }}\n")
    assert out.count(f").with_cluster({dims})(x);") == 1
    assert out.count("with_cluster") == 1


def test_fields_of_a_launch_that_are_named_as_macros(tmp_path: Path) -> None:
    out = translate(tmp_path, "void f() { config.gridDim = 1; p->blockDim = {.x = gridDim.x}; }\n")
    assert out == "void f() { config.config_gridDim = 1; p->config_blockDim = {.x = gridDim.x}; }\n"


def test_launch_over_lines_keeps_every_line_number(tmp_path: Path) -> None:
    text = "void f() {\n    add<int,\n        2><<<\n        grid,\n        block>>>(\n        x);\n    here();\n}\n"
    out = translate(tmp_path, text)
    assert out.count("\n") == text.count("\n")
    assert out.splitlines()[6].strip() == "here();"
    assert 'launcher("add<int, 2>"' in out


@pytest.mark.parametrize(
    ("declaration", "kind", "name"),
    [
        ("extern __shared__ float x[];", "float", "x"),
        ("extern __shared__ unsigned char pool[ ] ;", "unsigned char", "pool"),
        ("extern __shared__ alignas(128) float4 q[];", "float4", "q"),
        ("extern __shared__ __align__(1024) std::int8_t q[];", "std::int8_t", "q"),
        ("extern\n    __shared__\n    T words[];", "T", "words"),
    ],
)
def test_dynamic_shared_memory(tmp_path: Path, declaration: str, kind: str, name: str) -> None:
    text = f"{declaration}\nafter();\n"
    out = translate(tmp_path, text)
    assert f"{kind}* const {name} = static_cast<{kind}*>(::cpu_device::dynamic_shared());" in out
    assert out.count("\n") == text.count("\n")


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
def test_variables_of_the_device(tmp_path: Path, declaration: str) -> None:
    assert translate(tmp_path, declaration.replace("@", "") + "\n") == declaration.replace("@", " CPU_DEVICE_VARIABLE") + "\n"


def test_inline_variables_of_the_device(tmp_path: Path) -> None:
    out = translate(tmp_path, "inline __device__ int a = 2;\n__device__ inline int b{2};\n")
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
def test_what_is_no_variable_of_the_device(tmp_path: Path, text: str) -> None:
    assert translate(tmp_path, text) == text


@pytest.mark.parametrize(
    "text",
    [
        "// add<<<1, 2>>>(x)\n",
        "/* add<<<1,\n 2>>>(x) */\n",
        'const char* s = "add<<<1, 2>>>(x) \\" <<<";\n',
        'const char* s = R"x(add<<<1, ")" 2>>>(x))x";\n',
        "const int n = 1'000'000; const char c = '<'; const char q = '\\'';\n",
        "__shared__ float fixed[32];\n// extern __shared__ float x[];\n",
        "int shifted = a << b >> c;\n",
        "float ä = 1.0f;  // Umlaut, 3×3\n",
    ],
)
def test_what_only_looks_like_it_stays(tmp_path: Path, text: str) -> None:
    assert translate(tmp_path, text) == text


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


def test_lessons_keep_their_lines(tmp_path: Path) -> None:
    kernels = sorted(ROOT.glob("[0-9]*/**/kernel.cu"))
    assert kernels
    for kernel in kernels:
        text = kernel.read_text(encoding="utf-8")
        out = translate(tmp_path, text)
        assert out.count("\n") == text.count("\n")
        assert "<<<" not in out
