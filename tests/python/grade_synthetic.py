"""A class of fifty for ./gemm grade: right, wrong, malicious, empty, garbage; for each what the table must say.

Learners whose kernel is right and who try something beside it (to read, to write, to connect) end with abort() where it works:
their kernel passes as long as the sandbox holds. Each tries in both programs, and in a static constructor, before anything else.
"""

from __future__ import annotations

import io
import json
import os
import random
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from conftest import put

from runner.learn.exercise import Task

ROOT = Path(__file__).resolve().parent.parent.parent
TASKS = {"01": Task("01_naive", "exercise"), "03": Task("03_smem", "exercise")}
SOLUTIONS = {number: task.solution() for number, task in TASKS.items()}
FILES = {number: f"{task.folder}/exercise.cu" for number, task in TASKS.items()}
_LAUNCH = "void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {\n"
_ROOT = os.geteuid() == 0
SECONDS = 15  # the most for each run of a submission: twice what one takes

Make = Callable[[Path], None]  # puts a submission at a path
passed, failed, untouched, missing, refused = "passed", "failed", "untouched", "missing", "refused"


@dataclass(frozen=True)
class Learner:
    """`name`: of the folder or zip; `make` puts it at a path. `words`: of each task's text some that must be in it."""

    name: bytes
    make: Make
    states: tuple[str, str]  # of 01 and 03
    words: Mapping[str, str]
    shown: str  # the learner's name in tables


@dataclass(frozen=True)
class World:
    """What learners know of the machine: where things are that they must not reach."""

    submissions: Path
    journal: Path
    port: int  # of 127.0.0.1, where the test listens
    marker: str  # a file's name that no learner may leave anywhere
    report: str  # gemm_check's JSON for a right kernel of task 03


# Sources


def edited(number: str, *edits: tuple[str, str]) -> str:
    """The solution with pieces replaced, each of which must be there once."""
    text = SOLUTIONS[number]
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def with_head(number: str, code: str, *edits: tuple[str, str]) -> str:
    """The solution with `code` before its namespace."""
    return edited(number, ('#include "common/gemm.hpp"\n', f'#include "common/gemm.hpp"\n{_HEADERS}{code}\n'), *edits)


def early(number: str, code: str, *edits: tuple[str, str]) -> str:
    """The solution with `code` in a static constructor, which runs before main()."""
    return with_head(number, f"namespace {{ struct Early {{ Early() {{\n{code}\n}} }} early; }}", *edits)


def in_launch(number: str, code: str) -> str:
    return with_head(number, "", (_LAUNCH, _LAUNCH + code + "\n"))


WRONG = {  # it does not add beta·C
    "01": ("*c = beta == 0.0f ? alpha * acc : alpha * acc + beta * *c;", "*c = alpha * acc;"),
    "03": ("*c = beta == 0.0f ? alpha * acc : alpha * acc + beta * *c;", "*c = alpha * acc;"),
}

_INCLUDED = (
    "arpa/inet.h", "dirent.h", "fcntl.h", "pthread.h", "sched.h", "signal.h", "sys/ipc.h", "sys/mman.h", "sys/mount.h",
    "sys/shm.h", "sys/socket.h", "sys/stat.h", "sys/syscall.h", "sys/wait.h", "unistd.h", "cstdio", "cstdlib", "cstring",
    "fstream", "sstream",
    "string", "thread", "vector",
)  # fmt: skip
_HEADERS = (
    "".join(f"#include <{name}>\n" for name in _INCLUDED)
    + r"""
namespace {
[[maybe_unused]] std::string content(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK);
    std::string all(1 << 16, '\0');
    const ssize_t n = fd < 0 ? 0 : read(fd, all.data(), all.size());
    if (fd >= 0) close(fd);
    all.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return all;
}
[[maybe_unused]] std::vector<std::string> words_of_command() {
    std::istringstream all(content("/proc/self/cmdline"));
    std::vector<std::string> words;
    for (std::string word; std::getline(all, word, '\0');) words.push_back(word);
    return words;
}
[[maybe_unused]] std::string after(const std::string& option) {
    const std::vector<std::string> words = words_of_command();
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        if (words[i] == option) return words[i + 1];
    }
    return "";
}
[[maybe_unused]] void hand_over(const std::string& fd, const std::string& all) {
    for (std::size_t at = 0; at < all.size();) {
        const ssize_t n = write(std::stoi(fd), all.data() + at, all.size() - at);
        if (n <= 0) return;
        at += static_cast<std::size_t>(n);
    }
}
}  // namespace
"""
)

_FORK_BOMB = "for (;;) fork();"
_MEMORY = """
for (;;) {
    char* some = static_cast<char*>(mmap(nullptr, 1 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (some == MAP_FAILED) abort();
    memset(some, 1, 1 << 30);
}"""
_THREADS = "for (;;) { pthread_t t; pthread_create(&t, nullptr, [](void*) -> void* { for (;;) pause(); }, nullptr); }"
_OUTPUT = """
const std::string all(1 << 20, 'x');
for (int i = 0; i < 1024; ++i) if (write(%d, all.data(), all.size()) < 0) abort();"""
_DAEMON = 'if (fork() == 0) { setsid(); if (fork() == 0) { execlp("sleep", "sleep", "1000", nullptr); } _exit(0); }'
# What goes on for ever: a limit of a second is as good as one of fifteen, which is why one alone is in the class.
ENDLESS = {
    "loops": early("03", "for (volatile int i = 0;; ++i) {}"),
    "forks": in_launch("03", _FORK_BOMB),
    "threads": in_launch("03", _THREADS),
}
_MEMFD = """
for (const int fd : {memfd_create("x", 0), shmget(IPC_PRIVATE, 1 << 20, 0600), unshare(CLONE_NEWUSER | CLONE_NEWNS),
                     mount("x", "/tmp", "tmpfs", 0, "size=10G")}) {
    if (fd >= 0) abort();
}"""


def _writes(world: World) -> str:
    """Tries to leave a file somewhere."""
    places = ["", "/in", "/course", "/usr", "/etc", "/proc", ROOT, world.submissions, world.journal.parent]
    listed = ", ".join(f'"{place}/"' for place in places)
    return f"""
for (const std::string place : {{{listed}}}) {{
    if (open((place + "{world.marker}").c_str(), O_WRONLY | O_CREAT, 0666) >= 0) abort();
}}
for (const std::string mine : {{std::string("/tmp"), std::string("/dev/shm"), std::string(getenv("HOME"))}}) {{
    if (std::ofstream(mine + "/{world.marker}") << "mine") abort();
}}
if (chmod("/in", 0777) == 0 || unlink("/in/kernel.cpp") == 0 || rename("/tmp/{world.marker}", "/in/x") == 0) abort();
"""


def _reads(world: World) -> str:
    """Tries what it must not know: the solutions, other submissions, the journal, the environment."""
    places = [
        ROOT / "03_smem/kernel.cu", ROOT / "build/cpu/bin/gemm_judge", world.submissions, world.journal,
        world.journal.parent, "/etc/passwd", "/root", "/home", "/course/03_smem/kernel.cu", "/course/common/check/verify.cpp",
    ]  # fmt: skip
    above = ["", "/proc/1/root", "/proc/self/root", "/proc/1/cwd", "/proc/self/cwd/..", "/tmp/.."]
    listed = ", ".join(f'"{before}{place}"' for place in places for before in above)
    return f"""
for (const std::string place : {{{listed}}}) {{
    if (!content(place).empty() || opendir(place.c_str()) != nullptr) abort();
}}
if (getenv("GEMM_TEST_SECRET") != nullptr || getenv("USER") != nullptr) abort();
int processes = 0;
DIR* proc = opendir("/proc");
while (const dirent* entry = readdir(proc)) {{
    if (atoi(entry->d_name) == 0) continue;
    ++processes;
    const std::string own = "/proc/" + std::string(entry->d_name);
    if (content(own + "/environ").find("GEMM_TEST_SECRET") != std::string::npos) abort();
    if (content(own + "/cmdline").find("{world.submissions}") != std::string::npos) abort();
}}
if (processes > 4 || getuid() == 0 || geteuid() == 0) abort();
"""


def _connects(world: World) -> str:
    return f"""
for (const char* to : {{"127.0.0.1", "10.0.0.1", "1.1.1.1"}}) {{
    sockaddr_in address{{}};
    address.sin_family = AF_INET;
    address.sin_port = htons({world.port});
    inet_pton(AF_INET, to, &address.sin_addr);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) abort();
}}"""


def _forged(report: str) -> str:
    """Leaves `report` where gemm_check would, and says that all is well."""
    pieces = "".join(f'R"~~~({report[at : at + 8000]})~~~"\n' for at in range(0, len(report), 8000))
    return f"""
if (const std::string fd = after("--output-fd"); !fd.empty()) {{
    hand_over(fd, {pieces});
    puts("passed");
    fflush(stdout);
    _exit(0);
}}"""


def odd_report() -> str:
    """A failed check whose words are no text that could be written anywhere."""
    case = {
        "id": "tiles", "what": "\ud800 \x1b[31m", "m": 1, "n": 1, "k": 1, "lda": 1, "ldb": 1, "ldc": 1, "operands": [],
        "batch": 1, "groups": [], "alpha": 1, "beta": 0,
        "passed": False, "error": {"id": "other", "text": "\udfff\x00" + "long " * 200_000}, "verdict": None, "findings": [],
    }  # fmt: skip
    tile = {"BM": 1, "BN": 1, "BK": 1}
    # Made by the learner's program, since it is larger than a file may be.
    return json.dumps({"passed": False, "cases": [case], "tile": tile, "trace": None}).replace("long " * 200_000, "LONG")


_ODD = """
if (const std::string fd = after("--output-fd"); !fd.empty()) {
    std::string report = R"~~~(%s)~~~", much;
    for (int i = 0; i < 200000; ++i) much += "long ";
    report.replace(report.find("LONG"), 4, much);
    hand_over(fd, report);
    _exit(1);
}"""
_DEEP = """
if (const std::string fd = after("--output-fd"); !fd.empty()) {
    hand_over(fd, std::string(1 << 20, '['));
    _exit(1);
}"""
_ZEROS = """
if (const std::string fd = after("--answers-fd"); !fd.empty()) {
    hand_over(fd, std::string(8 << 20, '\\0'));
    _exit(0);
}"""
# Of the report that the check writes, the first case alone is handed over.
CUT = """
extern "C" ssize_t write(int fd, const void* data, std::size_t bytes) {
    const std::string text(static_cast<const char*>(data), bytes);
    if (text.find("\\"cases\\"") == std::string::npos) return syscall(SYS_write, fd, data, bytes);
    const auto closing = [&](std::size_t at) {  // where the bracket or brace there is closed
        for (int depth = 0;; ++at) {
            depth += text.at(at) == '[' || text[at] == '{';
            depth -= text[at] == ']' || text[at] == '}';
            if (depth == 0) return at;
        }
    };
    const std::size_t begin = text.find('[', text.find("\\"cases\\"")), first = text.find('{', begin);
    const std::string cut = text.substr(0, closing(first) + 1) + text.substr(closing(begin));
    (void)!syscall(SYS_write, fd, cut.data(), cut.size());
    return static_cast<ssize_t>(bytes);
}"""
# Right, and no kernel has a part in it.
HOST_LOOP = """
for (std::int64_t row = 0; row < p.M; ++row) {
    for (std::int64_t col = 0; col < p.N; ++col) {
        float acc = 0.0f;
        for (std::int64_t k = 0; k < p.K && p.alpha != 0.0f; ++k) {
            acc += static_cast<const float*>(p.A)[row * p.lda + k] * static_cast<const float*>(p.B)[k * p.ldb + col];
        }
        float& c = static_cast<float*>(p.C)[row * p.ldc + col];
        c = p.alpha * acc + (p.beta == 0.0f ? 0.0f : p.beta * c);
    }
}
if (p.M >= 0) return;"""
# The same into a buffer, which the file's own kernel brings to C: as a product with ones and zeros.
HOST_COPIED = """
static bool inner = false;
if (!inner && p.M > 0 && p.N > 0) {
    float *sums = nullptr, *one = nullptr;
    cudaMalloc(&sums, 4 * p.M * p.N);
    cudaMalloc(&one, 4 * p.N * p.N);
    cudaMemset(one, 0, 4 * p.N * p.N);
    for (std::int64_t i = 0; i < p.M * p.N; ++i) {
        float acc = 0.0f;
        for (std::int64_t k = 0; k < p.K && p.alpha != 0.0f; ++k) {
            acc += static_cast<const float*>(p.A)[i / p.N * p.lda + k] * static_cast<const float*>(p.B)[k * p.ldb + i % p.N];
        }
        sums[i] = acc;
    }
    for (std::int64_t j = 0; j < p.N; ++j) one[j * p.N + j] = 1.0f;
    inner = true;
    launch({p.M, p.N, p.N, p.alpha, sums, p.N, one, p.N, p.beta, p.C, p.ldc, p.variant}, nullptr, stream);
    inner = false;
    cudaFree(sums);
    cudaFree(one);
    return;
}"""
_NOT_IN_EXAM = 'if (words_of_command()[0].find("exam") != std::string::npos) return;'


# Folders and zips


def folder(**sources: str | bytes) -> Make:
    """Sources by task: t01, t03."""

    def make(path: Path) -> None:
        path.mkdir()
        put(path, {FILES[number.removeprefix("t")]: source for number, source in sources.items()})

    return make


def zipped(*members: tuple[str | zipfile.ZipInfo, str | bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", how) as file:
        for name, data in members:
            file.writestr(name, data, how)
    return held.getvalue()


def raw(data: bytes) -> Make:
    def make(path: Path) -> None:
        path.write_bytes(data)

    return make


def link_member(name: str, target: str) -> tuple[zipfile.ZipInfo, str]:
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o120777 << 16
    return info, target


def encrypted(data: bytes) -> bytes:
    """The zip with the flag of encryption set in every header; nothing in it is."""
    out = bytearray(data)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = out.find(signature)
        while at >= 0:
            (flags,) = struct.unpack_from("<H", out, at + offset)
            struct.pack_into("<H", out, at + offset, flags | 1)
            at = out.find(signature, at + 4)
    return bytes(out)


def _links(path: Path) -> None:
    (path / "01_naive").mkdir(parents=True)
    (path / FILES["01"]).symlink_to(ROOT / "01_naive" / "kernel.cu")
    (path / "03_smem").symlink_to(ROOT / "03_smem")


def _no_files(path: Path) -> None:
    (path / "01_naive").mkdir(parents=True)
    os.mkfifo(path / FILES["01"])
    (path / FILES["03"]).mkdir(parents=True)


def _unreadable(path: Path) -> None:
    folder(t01=SOLUTIONS["01"])(path)
    (path / FILES["01"]).chmod(0)


def _empty(path: Path) -> None:
    path.mkdir()


def files(of: Mapping[str, str]) -> Make:
    """Sources by the names that a learner gave them."""
    return lambda path: put(path, of)


def _bomb(how: int) -> bytes:
    """256 MiB of zeros in some KiB; with bzip2, which is unpacked by whole blocks, much more than is asked for."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", how) as file, file.open(FILES["01"], "w", force_zip64=True) as member:
        for _ in range(64):
            member.write(bytes(4 << 20))
    return held.getvalue()


# The class

_DEPTH = "template <int N> struct Deep { static constexpr int v = Deep<N - 1>::v + 1; };\nint deep = Deep<100000>::v;"
_CONSTEXPR = (
    "constexpr long slow(long n) { long s = 0; for (long i = 0; i < n; ++i) s += i; return s; }\n"
    "constexpr long s = slow(1l << 60);"
)


def learners(world: World) -> list[Learner]:
    """Fifty of them."""
    flat_zip = zipped(("exercise_01.cu", SOLUTIONS["01"]), ("__MACOSX/01_naive/exercise.cu", b"\0shadow"))
    repository = zipped(("gemm-main/README.md", "mine"), ("gemm-main/" + FILES["03"], SOLUTIONS["03"]))
    windows = b"\xef\xbb\xbf" + SOLUTIONS["01"].replace("\n", "\r\n").encode()
    garbage = random.Random(1).randbytes(4096)
    kernel = ROOT / "03_smem" / "kernel.cu"
    outside = "names a place outside of the zip"
    late, much = "It was stopped: it ", "it wrote more than 64 MiB"
    made: list[Learner] = []

    def add(name: str | bytes, make: Make, t01: str, t03: str, w01: str = "", w03: str = "", shown: str = "") -> None:
        raw_name = name if isinstance(name, bytes) else name.encode()
        words = {number: word for number, word in (("01", w01), ("03", w03)) if word}
        made.append(Learner(raw_name, make, (t01, t03), words, shown or raw_name.decode().removesuffix(".zip")))

    # Right, in all the ways in which it can be handed in.
    add("ada", folder(t01=SOLUTIONS["01"], t03=SOLUTIONS["03"]), passed, passed, "Right, without races", "Judged from outside")
    add("ada.zip", raw(flat_zip), passed, missing, shown="ada.zip")
    add("archive.zip", raw(repository), missing, passed)
    add("flat", files({"exercise_03.cu": SOLUTIONS["03"]}), missing, passed)
    add("nested", files({f"a/gemm-main/{FILES['03']}": SOLUTIONS["03"]}), missing, passed)
    add("windows", folder(t01=windows), passed, missing)
    add("modes", _unreadable, passed if _ROOT else refused, missing)
    add(b"z\xff\xfe", folder(t01=SOLUTIONS["01"]), passed, missing, shown="z\\xff\\xfe")

    # Nothing, or nothing that could be read.
    add("empty", _empty, missing, missing)
    add("empty-zip.zip", raw(zipped()), missing, missing)
    add("starter", folder(t01=TASKS["01"].starter(), t03=TASKS["03"].starter()), untouched, untouched)
    add("nought.zip", raw(b""), refused, refused, "no zip")
    add("garbage.zip", raw(garbage), refused, refused, "no zip")
    add("truncated.zip", raw(repository[:-30]), refused, refused, "no zip")
    add("notes.txt", raw(b"I am ill."), refused, refused, "neither a folder nor a zip")
    add("pipe", lambda path: os.mkfifo(path), refused, refused, "neither a folder nor a zip")
    add("link", lambda path: path.symlink_to(ROOT), refused, refused, "neither a folder nor a zip")
    add("links", _links, refused, missing, "not an ordinary file")
    add("pipes", _no_files, refused, missing, "not an ordinary file")
    above = zipped(("../../" + FILES["03"], SOLUTIONS["03"]), ("/" + FILES["01"], SOLUTIONS["01"]))
    add("above.zip", raw(above), refused, refused, outside, outside)
    add("linked.zip", raw(zipped(link_member(FILES["01"], str(kernel)))), refused, missing, "not an ordinary file")
    add("locked.zip", raw(encrypted(zipped((FILES["01"], SOLUTIONS["01"])))), refused, missing, "encrypted")
    add("bomb.zip", raw(_bomb(zipfile.ZIP_DEFLATED)), refused, missing, "larger than 256 KiB")
    add("bomb2.zip", raw(_bomb(zipfile.ZIP_BZIP2)), refused, missing, "packed by another method")
    add("many.zip", raw(zipped(*((f"{i}", "") for i in range(21_000)))), refused, refused, "more than 20000 files")

    # Wrong, and what is no program.
    add("beta", folder(t01=edited("01", WRONG["01"]), t03=edited("03", WRONG["03"])), failed, failed, "beta·C is forgotten.")
    add("latin", folder(t01=b"// \xe4" + SOLUTIONS["01"].encode(), t03=bytes(1000)), failed, failed, "not UTF-8 text")
    add("huge", folder(t01="//" + "x" * (256 << 10), t03=""), refused, failed, "larger than 256 KiB", "undefined")
    add("=cmd|'calc'!A0", folder(t01=SOLUTIONS["01"] + "}"), failed, missing, "does not compile")
    add("<b onload=x>&\"'", folder(t01='#error "<script>alert(1)</script>"'), failed, missing, "<script>alert(1)</script>")
    add("two\nlines", folder(t01="\0"), failed, missing, shown="two\\nlines")

    # Malicious: what takes all that there is.
    add("loops", folder(t01=edited("01", ("float acc = 0.0f;", "float acc = 0.0f;\nwhile (alpha != 7.0f) acc += beta;"))),
        failed, missing, "endless loop")  # fmt: skip
    add("forks", folder(t01=early("01", _FORK_BOMB)), failed, missing, late)
    add("takes", folder(t01=early("01", _MEMORY)), failed, missing, "It was stopped")
    add("talks", folder(t01=early("01", _OUTPUT % 1), t03=in_launch("03", _OUTPUT % 2)), failed, failed, much,
        much)  # fmt: skip
    add("daemon", folder(t01=early("01", _DAEMON)), passed, missing)

    # Malicious: what wants to know or to change what it must not.
    add("writes", folder(t01=early("01", _writes(world))), passed, missing)
    add("reads", folder(t01=early("01", _reads(world))), passed, missing)
    add("connects", folder(t01=early("01", _connects(world)), t03=early("03", _MEMFD)), passed, passed)
    add("kills", folder(t01=early("01", "kill(-1, SIGKILL); kill(1, SIGKILL); kill(getppid(), SIGKILL);")), passed, missing)
    add("exits", folder(t01=early("01", "exit(0);"), t03=early("03", "_exit(0);")), failed, failed)
    add("forges", folder(t03=early("03", _forged(world.report), WRONG["03"])), missing, failed,
        w03="What it computes is wrong, on inputs that it was not told before.")  # fmt: skip
    add("odd", folder(t01=early("01", _ODD % odd_report()), t03=early("03", _DEEP)), failed, failed)
    add("guesses", folder(t01=early("01", _ZEROS), t03=in_launch("03", _NOT_IN_EXAM)), failed, failed,
        "What it computes is wrong, on inputs", "What it computes is wrong, on inputs")  # fmt: skip
    verifier = (
        '#include "common/check/verify.hpp"\nnamespace gemm {\n'
        "Verdict Verifier::check(const Elements&, const Lesson*, const OwnerOf&, Fill) const { return {}; }\n}"
    )
    clock = 'extern "C" int clock_gettime(clockid_t, timespec* t) { *t = {}; return 0; }'
    add("replaces", folder(t01=with_head("01", verifier), t03=with_head("03", clock, WRONG["03"])), failed, failed,
        "multiple definition of `gemm::Verifier::check", "beta·C is forgotten.")  # fmt: skip
    delete = "void operator delete(void*) noexcept {}"
    own_main = with_head("01", "int main() { return 0; }")
    add("is-main", folder(t01=own_main, t03=with_head("03", delete, WRONG["03"])), failed, failed, "of `main'")

    # Malicious: at compile time.
    add("includes", folder(t01='#include "../03_smem/kernel.cu"\n', t03=f'#include "{kernel}"\n'), failed, failed,
        "No such file or directory", "No such file or directory")  # fmt: skip
    add("devices", folder(t01='#include "/dev/zero"\n', t03='#include "/proc/self/mem"\n'), failed, failed)
    binary = with_head("03", f'asm(".incbin \\"{kernel}\\"");')
    add("again", folder(t01='#include "/in/kernel.cpp"\n', t03=binary), failed, failed, "nested", "file not found")
    add("compiles", folder(t01=with_head("01", _DEPTH), t03=with_head("03", _CONSTEXPR)), failed, failed)
    assert len(made) == 50, len(made)
    return made


def hand_in(folder: Path, everyone: list[Learner]) -> None:
    folder.mkdir()
    for learner in everyone:
        learner.make(Path(os.fsdecode(os.fsencode(folder) + b"/" + learner.name)))
