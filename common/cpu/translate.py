#!/usr/bin/env python3
"""Rewrites the CUDA constructs that C++ cannot say, so that g++ compiles a .cu file for the CPU device.

    kernel<T><<<grid, block, bytes, stream>>>(arguments)   ->  ::cpu_device::launcher("kernel<T>", kernel<T>, ...)(arguments)
    extern __shared__ T name[];                            ->  T* const name = static_cast<T*>(...); with its alignment
    extern __shared__ T name[][N];                         ->  T (*const name)[N] = static_cast<T (*)[N]>(...);
    extern __shared__ T name;                              ->  T& name = *static_cast<T*>(...);
    __shared__ alignas(n) T name[N];                       ->  __shared__ __attribute__((aligned(n))) T name[N];
    dim3 gridDim(...), of the host                         ->  dim3 host_gridDim(...), to the end of its scope
    void f(int threadIdx) { ... }                          ->  void f(int host_threadIdx) { ... }
    __device__ T name;                                     ->  __device__ CPU_DEVICE_VARIABLE T name;

    config.gridDim, config.blockDim                        ->  config.config_gridDim, config.config_blockDim

What a launch leaves to a kernel's default arguments is added to its arguments, as the kernel's declaration says it.

Where the launch of a template leaves arguments to be deduced, a function of the same parameters behind the kernel deduces
them: decltype(deduced_kernel<T>(arguments))::value is the kernel.

A launch of a kernel that the file gives __cluster_dims__(x, y, z) gets .with_cluster(x, y, z) behind it: what they are must be
known there, too.

A variable that is the device's (__device__, __constant__, __managed__) lies where the CPU device finds it; functions are
__device__, too, and stay as they are.

Every line keeps its number. An output that says already what it should say is left alone: what is built of it is up to date.
usage: translate.py input.cu output.cpp [input.cu output.cpp ...]
"""

import itertools
import re
import sys
from dataclasses import dataclass
from pathlib import Path

# Comments, a backslash that continues a line, strings and raw strings, whose content is not code. What nothing ends goes on to
# where it must end: the compiler says so, and this takes no longer for it. Numbers are here for their separators (1'000), which
# open no character.
COMMENT = r"(?P<comment>//(?:\\.|[^\\\n])*|/\*(?:.*?\*/|.*)|\\[ \t\r]*\n)"
NOT_CODE = re.compile(
    COMMENT + r"|^[ \t]*#(?![ \t]*define\b)(?:\\.|[^\\\n])*"  # a directive, but one that holds code
    r'|(?P<number>(?<!\w)\d(?:\'?\w)*)|R"(?P<tag>[^()\s\\]{0,16})\((?:.*?\)(?P=tag)"|.*)'
    r'|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])+\'?',
    re.DOTALL | re.MULTILINE,
)
# Behind <<<: what opens, closes or ends something, and operators that look like it.
IN_LAUNCH = re.compile(r"<<<|<<|<=|->|>+=?|[()\[\]{};<]")
ARGUMENTS = re.compile(r"\s*\(")
# In front of <<<: no brackets of template arguments.
OPERATORS = re.compile(r"->|<=>|[<>]=|(?<!<)<<(?!<)")
NAMES = re.compile(r"[\w\s:]*")  # and what may stand between them, backwards
NAME = re.compile(
    r"(?:(?<!\w)(?!(?:return|else|do|co_return|co_yield)\b)[A-Za-z_]\w*\s*)?(?:::\s*[A-Za-z_]\w*\s*)+$|(?<!\w)[A-Za-z_]\w*\s*$"
)
LONGEST_DIMS = 200  # characters of a cluster's size, which goes to each of its kernel's launches
LONGEST_NAME = 2000  # characters in front of <<< that may name the kernel
# In two steps, so that no text takes long: up to the semicolon, and what that is with single blanks.
ALIGNED = r"(?:__align__|alignas|__attribute__) ?\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
DYNAMIC_SHARED = re.compile(rf"extern\s{{1,99}}(?P<before>{ALIGNED}\s{{1,99}})?__shared__\b(?P<declared>[^;]{{1,400}});")
DECLARED = re.compile(
    rf" ?(?P<aligned>(?:{ALIGNED} ?)*)"
    rf"(?P<type>(?!{ALIGNED})[A-Za-z_:][\w: ]*(?:<[^;]*>[\w:]*)?[ *]*?) ?(?P<behind>{ALIGNED} ?)?"
    r"\b(?P<name>\w+) ?(?P<array>\[ ?\](?P<rows>(?: ?\[[^\[\]]+\])*))? ?"
)
# Where `alignas` may not stand: behind what __shared__ becomes.
SHARED_ALIGNAS = re.compile(r"\b__shared__\s+(?P<word>alignas)\s*(?P<open>\()(?:[^()]|\((?:[^()]|\([^()]*\))*\))*(?P<close>\))")
# A variable or a parameter that is called as one of the device's, and what has to be known of a scope's end.
_OF_HOST = r"\b(?:dim3|uint3|auto|int|uint|unsigned|size_t|u?int32_t)\s*(?:\s|&)\s*"
_DIM = r"(?P<name>gridDim|blockDim|threadIdx|blockIdx)\b(?P<parameter>\s*[,)])?(?!\s*\.)"
# The second: behind others of its declaration.
HOST_DIMS = (re.compile(_OF_HOST + _DIM), re.compile(rf"{_OF_HOST}(?:\w+\s*,\s*){{1,9}}{_DIM}"))
BRACES = re.compile(r"[{}]")
BODY = re.compile(r"[{};]")
OF_DEVICE = re.compile(r"\b__(?:device|constant|managed)__\b")
LONGEST_HEAD = 400  # characters of a declaration in front of its qualifier, and behind it up to where the names end
# Parentheses that are no function's.
ATTRIBUTE = re.compile(
    r"\b(?:__align__|alignas|__attribute__|__launch_bounds__|__maxnreg__|decltype)\s*\((?:[^()]|\([^()]*\))*\)"
)


# From the attribute on to the kernel's name, in front of its parameters.
CLUSTER = re.compile(
    r"\b__cluster_dims__\s*\((?P<dims>(?:[^()]|\([^()]*\))*)\)"
    r"(?:\s|__(?:launch_bounds|maxnreg)__\s*\((?:[^()]|\([^()]*\))*\)|\b(?:void|static|inline|extern|__global__)\b)*"
    r"(?P<name>[A-Za-z_]\w*)\s*\("
)


# What a kernel is called besides, from there on: auto* kernel = the_kernel<...>; auto kernel = on ? one : other;
ALIAS = re.compile(r"\bauto\s*\*?\s*(?:const\s+)?(?P<alias>\w+)\s*=(?P<value>[^;=]{1,400});")

# A kernel's template, without attributes in parentheses, up to its parameters.
TEMPLATE = re.compile(r"\btemplate\s*<")
KERNEL_HEAD = re.compile(r"[\w\s]{0,200}?\b__global__\b[\w\s]{0,200}?\b(?P<name>\w+)\s*\(")
KERNEL = re.compile(r"\b__global__\b[\w\s]{0,200}?\b(?P<name>\w+)\s*\(")
TEMPLATE_PARAMETER = re.compile(r"(?P<pack>\.\.\.\s*)?\b(?P<name>\w+)\s*$")

OF_CONFIG = re.compile(r"(?:\.|->)\s*(?=(?:gridDim|blockDim)\b)")


def blank(match: re.Match[str]) -> str:
    """Same length, same line breaks, no code."""
    return re.sub(r"[^\n]", " ", match.group())


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def kernel_start(code: str, end: int) -> int:
    """Where the expression that names the kernel begins; it ends at `end`, in front of <<<."""
    first = max(end - LONGEST_NAME, 0)
    code, i = code[first:end], end - first
    while i > 0 and code[i - 1].isspace():
        i -= 1
    if i > 0 and code[i - 1] == "]":  # of an array of kernels
        depth = 1
        while i > 1 and depth > 0:
            i -= 1
            depth += (code[i - 1] == "]") - (code[i - 1] == "[")
        i -= 1
    if i > 0 and code[i - 1] == ">":  # template arguments, which may hold parentheses
        code = OPERATORS.sub(blank, code)
        angle = bracket = 0
        while i > 0:
            i -= 1
            bracket += (code[i] in ")]}") - (code[i] in "([{")
            if bracket == 0:
                angle += (code[i] == ">") - (code[i] == "<")
                if angle == 0:
                    break
        while i > 0 and code[i - 1].isspace():
            i -= 1
    begin = i - len(NAMES.match(code[:i][::-1])[0])
    name = NAME.search(code, begin, i)
    if not name:
        raise SyntaxError("no kernel name in front of <<<")
    return first + name.start()


def launch_end(code: str, launch: int) -> int:
    """Where the >>> is that belongs to the <<< there, the first that no template arguments need, as far as a text says; or -1."""
    angles = [0]  # that are open, in each bracket that is open
    for found in IN_LAUNCH.finditer(code, launch + 3):
        token = found[0]
        if token == "<":
            angles[-1] += 1
        elif token in "([{":
            angles.append(0)
        elif token in ")]};":
            if len(angles) == 1:
                break
            if token == ";":
                angles[-1] = 0
            else:
                angles.pop()
        elif token == "<<<":
            break
        elif not token.strip(">"):
            if len(angles) == 1 and len(token) >= angles[0] + 3 and ARGUMENTS.match(code, found.end()):
                return found.end() - 3
            angles[-1] = max(angles[-1] - len(token), 0)
    return code.find(">>>", launch)


def pieces(code: str, begin: int, opening: str, closing: str) -> tuple[list[tuple[int, int]], int] | None:
    """What stands between commas behind a bracket at `begin`, and where that closes; nothing where it does not. Angles count
    where they are the bracket, and not in others."""
    depth, at, found = [opening], begin + 1, []
    for i in range(begin + 1, min(begin + LONGEST_NAME, len(code))):
        c = code[i]
        if c in "([{" or (c == "<" and opening == "<" and depth[-1] == "<"):
            depth.append(c)
        elif c in ")]}" or (c == ">" and depth[-1] == "<"):
            depth.pop()
            if not depth:
                return ([*found, (at, i)] if code[at:i].strip() or found else []), i if c == closing else len(code)
        elif c == "," and len(depth) == 1:
            found.append((at, i))
            at = i + 1
        elif c == ";":
            return None
    return None


@dataclass(frozen=True)
class Template:
    """A kernel's, as it is first declared."""

    name: str
    parameters: int
    deduces: str  # the function that does
    behind: int  # where it may stand


def templates(code: str, text: str) -> dict[str, Template]:
    """The kernels that are templates, by name. text: the code with its literals."""
    found: dict[str, Template] = {}
    plain = ATTRIBUTE.sub(blank, code) if "__global__" in code else ""
    for template in TEMPLATE.finditer(plain):
        parameters = pieces(plain, template.end() - 1, "<", ">")
        head = KERNEL_HEAD.match(plain, parameters[1] + 1) if parameters else None
        given = pieces(plain, head.end() - 1, "(", ")") if head else None
        if not parameters or not head or not given or head["name"] in found:
            continue
        body = BODY.search(plain, given[1])
        if not body:
            continue
        end = body.end()
        if body[0] == "{":
            depth = 1
            for brace in BRACES.finditer(plain, end):
                depth += 1 if brace[0] == "{" else -1
                if depth == 0:
                    end = brace.end()
                    break
        named, declared = [], []
        for start, stop in parameters[0]:
            before = plain[start:stop].split("=")[0]
            name = TEMPLATE_PARAMETER.search(before)
            if not name or (len(before.split()) < 2 and not name["pack"]):  # a parameter without a name
                break
            named.append(name["name"] + ("..." if name["pack"] else ""))
            declared.append(plain[start:stop].strip())  # with its default, which need not be deduced
        else:
            arguments = ", ".join(" ".join(text[start:stop].split("=")[0].split()) for start, stop in given[0])
            kernel = f"{head['name']}<{', '.join(named)}>"
            deduces = (
                f" template <{', '.join(' '.join(one.split()) for one in declared)}> "
                f"::std::integral_constant<decltype(&{kernel}), &{kernel}> deduced_{head['name']}({arguments});"
            )
            found[head["name"]] = Template(head["name"], len(named), deduces, end)
    return found


def joined(code: str, found: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of pieces(): parameters whole whose types have commas in their angles."""
    whole: list[tuple[int, int]] = []
    for start, end in found:
        before = code[slice(*whole[-1])].partition("=")[0] if whole else ""
        if before.count("<") > before.count(">"):
            start = whole.pop()[0]
        whole.append((start, end))
    return whole


def defaults(code: str, text: str) -> dict[str, tuple[int, list[str]]]:
    """The kernels that have default arguments, by name: how many parameters have none, and what the others are if nobody says.
    text: the code with its literals."""
    found: dict[str, tuple[int, list[str]]] = {}
    plain = ATTRIBUTE.sub(blank, code) if "__global__" in code else ""
    for kernel in KERNEL.finditer(plain):
        parameters = pieces(plain, kernel.end() - 1, "(", ")")
        said = [text[start:end].partition("=") for start, end in joined(plain, parameters[0])] if parameters else []
        values = [" ".join(value.split()) for _, equals, value in said if equals]
        if values and kernel["name"] not in found:
            found[kernel["name"]] = (len(said) - len(values), values)
    return found


def left_out(kernel: tuple[int, list[str]], code: str, arguments: int) -> tuple[int, str] | None:
    """What a launch leaves to default arguments: where its arguments end, and what is to be added there; nothing where it leaves
    nothing. kernel: defaults()' entry; arguments: where they open."""
    needed, values = kernel
    given = pieces(code, arguments, "(", ")")
    if not given or not needed <= len(given[0]) < needed + len(values):
        return None
    more = ", ".join(values[len(given[0]) - needed :])
    return given[1], f", {more}" if given[0] else more


def deduced_kernel(
    kernel: str, bare: str, template: Template, code: str, text: str, arguments: int, renames: list[tuple[int, int, str]],
    more: str
) -> str | None:  # fmt: skip
    """What names the kernel of a launch that leaves template arguments to be deduced; nothing where it leaves none. bare: the
    kernel without comments; arguments: where they open; text: the code with its literals; renames: host_dims(); more: what is
    added to the arguments."""
    named = bare.find("<")
    explicit = pieces(bare, named, "<", ">") if named >= 0 else ([], 0)
    given = pieces(code, arguments, "(", ")")
    if not explicit or not given or len(explicit[0]) >= template.parameters:
        return None
    function = re.sub(rf"\b{template.name}\b", f"deduced_{template.name}", kernel, count=1)
    said, done = "", arguments
    for start, _, prefix in sorted(renames):
        if arguments <= start <= given[1]:
            said, done = f"{said}{text[done:start]}{prefix}", start
    return f"decltype({function}{' '.join((said + text[done : given[1]]).split())}{more}))::value"


def variable_macro(code: str, start: int, end: int) -> str:
    """What the qualifier at start … end needs behind it: nothing where it declares no variable that is to be found."""
    before = code[max(start - LONGEST_HEAD, 0) : start]
    before = before[max(before.rfind(c) for c in ";{}") + 1 :]
    behind = ATTRIBUTE.sub(" ", code[end : end + LONGEST_HEAD])
    stop = re.search(r"[;={}()\[#]", behind)
    if not stop or stop[0] in "(})#" or "#" in before.rsplit("\n", 1)[-1]:
        return ""  # a function, or a line of the preprocessor's
    no_function = re.match(r"[^(;{]*[;{]", behind)
    behind = behind[: stop.start()]
    before = "\n".join(line for line in before.split("\n") if not line.lstrip().startswith("#"))
    words = re.findall(r"\w+", f"{before} {behind}")
    names = [word for word in words if not OF_DEVICE.fullmatch(word)]
    if len(names) < 2 or OF_DEVICE.search(before) or {"operator", "constexpr", "__shared__"} & set(words):
        return ""
    # A constant lies among the program's own: kernels may read it, and nobody writes it. (Not what points to one.)
    if re.search(r"\bconst\b", behind.rsplit("*", 1)[-1] if "*" in behind else " ".join(words)):
        return ""
    if "template" in words:
        if not no_function:  # what stopped may stand in <N == 4>
            return ""
        raise SyntaxError(f"{names[-1]} is a template of __device__ variables; the CPU device needs a variable for each type")
    return " CPU_DEVICE_INLINE_VARIABLE" if "inline" in words else " CPU_DEVICE_VARIABLE"


def dynamic_shared(declared: re.Match[str]) -> str:
    """What declares the block's dynamic shared memory under that name."""
    kind, name, rows = declared["type"].strip(), declared["name"], declared["rows"]
    memory, begins = f"(::cpu_device::dynamic_shared<{kind}>())", ""
    if aligned := " ".join(part.strip() for part in (declared["aligned"], declared["behind"]) if part):
        begins = f"struct {aligned} Aligned_{name} {{}}; "  # as the declaration says it: a number or a type
        memory = f"(::cpu_device::dynamic_shared<{kind}, Aligned_{name}>())"
    if not declared["array"]:
        return f"{begins}{kind}& {name} = *static_cast<{kind}*>{memory};"
    if rows:
        return f"{begins}{kind} (*const {name}){rows} = static_cast<{kind} (*){rows}>{memory};"
    return f"{begins}{kind}* const {name} = static_cast<{kind}*>{memory};"


def host_dims(code: str) -> list[tuple[int, int, str]]:
    """Edits that give variables and parameters that are called gridDim, threadIdx and so on, which are macros, other names in
    their scope."""
    edits = {}
    for declared in itertools.chain.from_iterable(pattern.finditer(code) for pattern in HOST_DIMS):
        begin, depth, end = declared.end(), 0, len(code)
        before = code[max(begin - LONGEST_HEAD, 0) : declared.start()]
        before = before[max(before.rfind(c) for c in ";{}") + 1 :]
        # A parameter's scope goes to the end of the function's body, or of a declaration. (Others stand in no parentheses.)
        if declared["parameter"] and before.count("(") > before.count(")"):
            body = BODY.search(code, begin)
            begin = body.end() if body and body[0] == "{" else begin
            end = len(code) if body and body[0] == "{" else body.start() if body else end
        for brace in BRACES.finditer(code, begin, end):
            depth += 1 if brace[0] == "{" else -1
            if depth < 0:
                end = brace.start()
                break
        for use in re.compile(rf"(?<![.\w])(?<!->){declared['name']}\b").finditer(code, declared.start(), end):
            edits[use.start()] = (use.start(), use.start(), "host_")
    return list(edits.values())


def translate(text: str) -> str:
    """The file's text with all of them replaced. Raises SyntaxError, with the line number in .lineno."""
    code = NOT_CODE.sub(lambda found: found[0].replace("'", " ") if found["number"] else blank(found), text)
    bare = NOT_CODE.sub(lambda found: blank(found) if found["comment"] else found[0], text)
    edits: list[tuple[int, int, str]] = []
    clusters = {}
    for kernel in CLUSTER.finditer(code):
        clusters[kernel["name"]] = " ".join(kernel["dims"].split())
        if len(clusters[kernel["name"]]) > LONGEST_DIMS:
            error = SyntaxError(f"the numbers of __cluster_dims__ take more than {LONGEST_DIMS} characters")
            error.lineno = line_of(text, kernel.start())
            raise error

    aliases: dict[str, list[tuple[int, str | None]]] = {}
    for alias in ALIAS.finditer(code):
        known = next((word for word in re.findall(r"\w+", alias["value"]) if word in clusters), None)
        aliases.setdefault(alias["alias"], []).append((alias.start(), clusters.get(known or "")))

    renames = host_dims(code)
    deduced = templates(code, bare) if "<<<" in code else {}
    by_default = defaults(code, bare) if "<<<" in code else {}
    used: set[str] = set()
    position = 0
    while (launch := code.find("<<<", position)) >= 0:
        end = launch_end(code, launch)
        try:
            if end < 0:
                raise SyntaxError("<<< without >>>")
            start = kernel_start(code, launch)
            if not ARGUMENTS.match(code, end + 3):
                raise SyntaxError(">>> is not followed by the kernel's arguments")
        except SyntaxError as error:
            error.lineno = line_of(text, launch)
            raise
        told = " ".join(bare[start:launch].split()).replace("\\", "\\\\").replace('"', '\\"')
        kernel = text[start:launch].rstrip(" ")
        name = re.match(r"(?:\w|\s|::)*?(\w+)\s*(?:<|$)", told)
        called = name[1] if name else ""
        template = deduced.get(called)
        arguments = code.index("(", end + 3)
        more = left_out(by_default[called], code, arguments) if called in by_default else None
        if more:
            edits.append((more[0], more[0], more[1]))
        if template and template.behind <= start:
            by_arguments = deduced_kernel(
                kernel, code[start:launch], template, code, bare, arguments, renames, more[1] if more else ""
            )
            used |= {called} if by_arguments else set()
            kernel = by_arguments or kernel
        edits.append((start, launch + 3, f'::cpu_device::launcher("{told}", {kernel}, '))
        alias_of = [dims for at, dims in aliases.get(called, ()) if at < start]
        cluster = alias_of[-1] if alias_of else clusters.get(called)
        edits.append((end, end + 3, f").with_cluster({cluster})" if cluster else ")"))
        position = end + 3

    edits += [(deduced[name].behind, deduced[name].behind, deduced[name].deduces) for name in sorted(used)]

    for match in DYNAMIC_SHARED.finditer(code):
        said = f"{match['before'] or ''} {bare[slice(*match.span('declared'))]}"
        declared = DECLARED.fullmatch(" ".join(said.split()))
        if not declared:
            continue
        edits.append((match.start(), match.end(), dynamic_shared(declared)))

    dynamic = [(start, end) for start, end, replacement in edits if "dynamic_shared" in replacement]
    for match in SHARED_ALIGNAS.finditer(code):
        if any(start <= match.start() < end for start, end in dynamic):
            continue
        edits.append((*match.span("word"), "__attribute__"))
        edits.append((*match.span("open"), "((aligned("))
        edits.append((*match.span("close"), ")))"))

    edits += renames
    edits += [(member.end(), member.end(), "config_") for member in OF_CONFIG.finditer(code)]

    for qualifier in OF_DEVICE.finditer(code):
        try:
            macro = variable_macro(code, *qualifier.span())
        except SyntaxError as error:
            error.lineno = line_of(text, qualifier.start())
            raise
        edits.append((qualifier.end(), qualifier.end(), macro))

    out, done = [], 0
    for start, end, replacement in sorted(edits):
        lost_lines = text.count("\n", start, end) - replacement.count("\n")
        out += [text[done:start], replacement, "\\\n" * lost_lines]  # which ends no macro's text
        done = end
    return "".join([*out, text[done:]])


def translate_file(source: Path, target: Path) -> None:
    """Translates a file into another. Raises SyntaxError as translate() does."""
    text = f'#line 1 "{source}"\n{translate(source.read_text(encoding="utf-8"))}'.encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.read_bytes() != text:
        target.write_bytes(text)


def main(arguments: list[str]) -> int:
    if not arguments or len(arguments) % 2:
        print("usage: translate.py input.cu output.cpp [input.cu output.cpp ...]", file=sys.stderr)
        return 2
    status = 0
    for source, target in zip(arguments[::2], arguments[1::2], strict=True):
        try:
            translate_file(Path(source), Path(target))
        except SyntaxError as error:
            print(f"{source}:{error.lineno}: error: {error.msg}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
