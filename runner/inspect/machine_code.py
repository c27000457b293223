"""SASS, the machine code of an NVIDIA GPU, as cuobjdump prints it: its instructions, its loops, and what a loop consists of.

A loop is what the jumps make it: the instructions from which its end is reached without leaving it, wherever they stand. The
main loop of a kernel is the innermost one with the most multiply-adds; the loops around it are its parents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

# What multiplies and adds. A loop with several of them is told by the first: sums of tensor cores are scaled by FFMAs.
MULTIPLIES = ("HGMMA", "QGMMA", "IGMMA", "HMMA", "QMMA", "IMMA", "FFMA")
SHARED_READS = ("LDS", "LDSM")
_GLOBAL_READS = ("LDG", "LDGSTS")
_MEMORY = (*_GLOBAL_READS, "STG", "LDS", "STS", "LDL", "STL", "LD", "ST")
_SIZES = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}
_NEVER = ("@!PT", "@!UPT")  # PT is the predicate that always holds
_ENDS = ("EXIT", "RET", "BRX", "JMX")
_JUMPS = ("BRA", "JMP")

_FUNCTION = re.compile(r"^[ \t]*Function : (\S+)[ \t]*$", re.MULTILINE)
_INSTRUCTION = re.compile(r"^[ \t]*/\*([0-9a-f]{4,})\*/[ \t]+(?:(@!?U?P[0-9T]+)[ \t]+)?([A-Z][A-Z0-9_.]*)([^;]*);", re.MULTILINE)
_REGISTER = re.compile(r"[-~!|]*\bR(\d+)\b")
_BANKS = 2  # of registers, by the parity of their number


@dataclass(frozen=True)
class Instruction:
    """`@!P0 FFMA R5, R8.reuse, R9, R5` at `address`: guard `@!P0`, opcode `FFMA`, three operands after the destination."""

    address: int
    guard: str
    opcode: str  # with its modifiers: LDG.E.128
    operands: tuple[str, ...]

    @property
    def base(self) -> str:
        """The opcode without modifiers: LDG."""
        return self.opcode.partition(".")[0]

    @property
    def text(self) -> str:
        """As cuobjdump writes it."""
        return " ".join(filter(None, (self.guard, self.opcode, ", ".join(self.operands))))

    @property
    def kind(self) -> str:
        """The opcode with what tells instructions of a loop apart: LDG.E.128, HMMA.16816.F32.BF16. The guard is named where
        it never holds: ptxas puts `@!PT LDS RZ, [RZ]` in front of copies, which does nothing."""
        first, *more = self.opcode.split(".")
        if self.guard in _NEVER:
            return f"{self.guard} {first}"
        if first in _MEMORY:
            more = [part for part in more if part in _SIZES or part == "E"]
        elif first not in (*MULTIPLIES, "LDSM") or first == "FFMA":
            more = []
        return ".".join((first, *more))

    @property
    def target(self) -> int | None:
        """Where a jump goes."""
        if self.base not in _JUMPS:
            return None
        found = re.search(r"0x([0-9a-f]+)", self.operands[-1]) if self.operands else None
        return int(found[1], 16) if found else None

    @property
    def bytes(self) -> int | None:
        """What a thread reads, writes or copies; None where it is no access to memory."""
        first, *more = self.opcode.split(".")
        if self.guard in _NEVER:
            return None
        if first == "LDSM":  # matrices of 8 rows of 16 bytes, one, two or four: 4 bytes of each for a thread of a warp
            return 4 * int(more[-1]) if more[-1] in ("2", "4") else 4
        return next((_SIZES[part] for part in more if part in _SIZES), 4) if first in _MEMORY else None

    @property
    def reuses(self) -> bool:
        """Whether an operand stays in the reuse cache for the next instruction."""
        return any(".reuse" in operand for operand in self.operands)

    @property
    def shares_a_bank(self) -> bool:
        """Whether it reads three different registers of one register bank, whatever comes from the reuse cache."""
        read = {int(found[1]) for operand in self.operands[1:] if (found := _REGISTER.match(operand))}
        return len(read) == 3 and len({number % _BANKS for number in read}) == 1


@dataclass(frozen=True)
class Function:
    """A kernel: its name as the compiler mangles it, and its instructions."""

    name: str
    code: tuple[Instruction, ...]


@dataclass(frozen=True)
class Loop:
    """A loop. `own`: its instructions without those of loops in it, in the order of their addresses. `around`: the loops that
    it is in, the next one first."""

    begin: int  # address of the first instruction, loops in it included, and of the last
    end: int
    own: tuple[Instruction, ...]
    around: tuple[Loop, ...] = ()

    @cached_property
    def multiply(self) -> str:
        """What it multiplies with: FFMA, HMMA; empty where it does not."""
        bases = {one.base for one in self.own}
        return next((base for base in MULTIPLIES if base in bases), "")

    @property
    def multiplies(self) -> tuple[Instruction, ...]:
        """Its multiply-adds."""
        return tuple(one for one in self.own if self.multiply and one.base == self.multiply)

    @property
    def kinds(self) -> dict[str, list[int]]:
        """Its instructions by kind: for each, in the order of their addresses, how many multiply-adds stand before it."""
        found: dict[str, list[int]] = {}
        before = 0
        for one in self.own:
            found.setdefault(one.kind, []).append(before)
            before += bool(self.multiply) and one.base == self.multiply
        return found


def functions(dump: str) -> list[Function]:
    """The kernels in what `cuobjdump --dump-sass` prints, in its order."""
    pieces = _FUNCTION.split(dump)[1:]
    return [Function(name, tuple(_instructions(text))) for name, text in zip(pieces[::2], pieces[1::2], strict=True)]


def _instructions(text: str) -> Iterable[Instruction]:
    for address, guard, opcode, rest in _INSTRUCTION.findall(text):
        operands = tuple(operand.strip() for operand in rest.split(",") if operand.strip())
        yield Instruction(int(address, 16), guard, opcode, operands)


def _blocks(code: Sequence[Instruction]) -> tuple[list[range], list[list[int]]]:
    """The code in pieces (places in `code`) that are entered at the first instruction and left after the last, and the numbers
    of the pieces that may follow each."""
    place = {one.address: index for index, one in enumerate(code)}
    begins = {0}
    for index, one in enumerate(code):
        if one.target in place:
            begins.add(place[one.target])
        if one.base in _JUMPS or one.base in _ENDS:
            begins.add(index + 1)
    edges = sorted(begins - {len(code)})
    blocks = [range(first, last) for first, last in zip(edges, [*edges[1:], len(code)], strict=True)]
    number_at = {block.start: number for number, block in enumerate(blocks)}
    follow = []
    for number, block in enumerate(blocks):
        last = code[block[-1]]
        # A jump has a condition in its guard, or in an operand before the target.
        always = not last.guard and (last.base in _ENDS or (last.base in _JUMPS and len(last.operands) == 1))
        after = [] if always or number + 1 == len(blocks) else [number + 1]
        follow.append(after + ([number_at[place[last.target]]] if last.target in place else []))
    return blocks, follow


def _reached(follow: Sequence[Sequence[int]], without: int = -1) -> set[int]:
    """The pieces that the first one leads to, by ways that do not enter `without`."""
    found, left = set(), [0]
    while left:
        number = left.pop()
        if number != without and number not in found:
            found.add(number)
            left += follow[number]
    return found


def loops(function: Function) -> list[Loop]:
    """The function's loops, a loop before those in it.

    A loop has one entrance, its head: a jump goes back there from a piece to which every way leads through the head.
    """
    if not function.code:
        return []
    blocks, follow = _blocks(function.code)
    reached = _reached(follow)
    before: dict[int, list[int]] = {number: [] for number in reached}
    for number in reached:
        for other in follow[number]:
            before[other].append(number)
    bodies: dict[int, set[int]] = {}
    for head in sorted(reached):
        if len(before[head]) < 2 and head:
            continue
        elsewhere = _reached(follow, head)
        back = [number for number in before[head] if number not in elsewhere]
        body = {head}
        while back:
            number = back.pop()
            if number not in body:
                body.add(number)
                back += before[number]
            bodies[head] = body
    return _nested(bodies, blocks, function.code)


def _nested(bodies: dict[int, set[int]], blocks: Sequence[range], code: Sequence[Instruction]) -> list[Loop]:
    """The loops, of the pieces that each consists of by the number of its head."""
    made: list[tuple[set[int], Loop]] = []
    for head, body in sorted(bodies.items(), key=lambda one: (-len(one[1]), one[0])):
        around = tuple(loop for other, loop in reversed(made) if head in other)
        own = body.difference(*(inner for other, inner in bodies.items() if other != head and other in body and inner < body))
        instructions = tuple(code[index] for number in sorted(own) for index in blocks[number])
        begin, end = code[blocks[min(body)][0]].address, code[blocks[max(body)][-1]].address
        made.append((body, Loop(begin, end, instructions, around)))
    return [loop for _, loop in made]


def main_loop(function: Function) -> Loop | None:
    """The loop with the most multiply-adds of its own, of the most telling kind; of equals the longest. None without any."""

    def weight(loop: Loop) -> tuple[int, int, int]:
        return -MULTIPLIES.index(loop.multiply), len(loop.multiplies), len(loop.own)

    return max((loop for loop in loops(function) if loop.multiply), key=weight, default=None)


def leading(found: Sequence[tuple[Function, Loop | None]]) -> int:
    """Which kernel matters most: the one whose main loop reads global memory in the widest pieces, and then the one that does
    most there. Of equals the last, since a compiler gives out last what a source asks for first."""

    def weight(place: int) -> tuple[int, int, int]:
        loop = found[place][1]
        if not loop:
            return -1, 0, place
        read = (one.bytes or 0 for part in (loop, *loop.around) for one in part.own if one.base in _GLOBAL_READS)
        return max(read, default=0), len(loop.multiplies), place

    return max(range(len(found)), key=weight)
