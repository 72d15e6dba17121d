"""Locks and flags that warps wait for by asking memory again and again.

How often a warp asks hangs on when another one writes. What runs blocks one after the other, and
warps in an order of its own, cannot say: so nobody can say from its traces how long that takes.

A loop waits so if an atomic in it takes a lock: CAS or EXCH, whose operands stay the same from
round to round. A loop that makes progress by CAS compares with what it read last. And a loop waits
so if it loads from one place, writes nothing, and ends by what it loaded alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from simulator.timing.work import Work, WorkInstruction

__all__ = ["spins"]

_ATOMICS = ("ATOM", "ATOMG", "ATOMS")
_LOADS = ("LD", "LDG", "LDS")
_WRITES = (*_ATOMICS, "ST", "STG", "STS", "STSM", "RED", "REDG", "REDUX", "LDGSTS", "BAR", "SYNCS",
           "UTMALDG", "UBLKCP", "CALL")  # fmt: skip
"""What makes a loop more than a look at memory."""
_NAME = re.compile(r"(?<![A-Za-z.])(UR|UP|R|P)(\d+)(?:\.\w+)*")
_WORDS = {"64": 2, "WIDE": 2, "96": 3, "128": 4}


@dataclass(frozen=True)
class _Loop:
    """Instructions that a branch repeats, and what they write and read, by names such as R4."""

    first: int
    body: Sequence[WorkInstruction]

    @cached_property
    def _writers(self) -> dict[str, list[int]]:
        """The instructions that write each register, in order."""
        found: dict[str, list[int]] = {}
        for at, each in enumerate(self.body):
            for name in _written(each):
                found.setdefault(name, []).append(at)
        return found

    def writer(self, name: str, place: int) -> int | None:
        """Return the instruction that last wrote a register before one of the loop."""
        writers = self._writers.get(name)
        # Before the first one stands the last one, of the round before.
        return writers[bisect_left(writers, place) - 1] if writers else None

    def comes_from(self, name: str, place: int, asked: int | None, seen: frozenset[int]) -> bool:
        """Whether a register holds the same in each round, but for what `asked` loaded."""
        at = self.writer(name, place)
        if at is None or at == asked:
            return True
        each = self.body[at]
        if at in seen or _base(each) in (*_ATOMICS, *_LOADS):
            return False
        return all(self.comes_from(other, at, asked, seen | {at}) for other in _read(each))


def spins(work: Work) -> WorkInstruction | None:
    """Return an instruction by which warps wait for a lock or a flag; None: none was executed."""
    code = work.instructions
    loops = _loops(code)
    for place in range(len(code)):
        if not work.executed[place] or _base(code[place]) not in (*_ATOMICS, *_LOADS):
            continue
        around = [loop for loop in loops if loop.first <= place < loop.first + len(loop.body)]
        if around and _waits(min(around, key=lambda loop: len(loop.body)), place):
            return code[place]
    return None


def _loops(code: Sequence[WorkInstruction]) -> list[_Loop]:
    found = []
    for place, each in enumerate(code):
        target = re.search(r"(?:^|,)0x([0-9a-f]+)$", each.operands)
        if _base(each) == "BRA" and target and int(target[1], 16) <= each.address:
            first = int(target[1], 16) // 16
            found.append(_Loop(first, code[first : place + 1]))
    return found


def _waits(loop: _Loop, place: int) -> bool:
    """Whether the loop asks by this instruction until somebody else has written."""
    at = place - loop.first
    asks = loop.body[at]
    if not all(loop.comes_from(name, at, None, frozenset()) for name in _read(asks)):
        return False
    if _base(asks) in _ATOMICS:
        return bool({"CAS", "EXCH"} & set(asks.opcode.split("."))) and any(
            name.startswith("R") for name in _written(asks)
        )
    if any(_base(each) in _WRITES for each in loop.body):
        return False
    end = len(loop.body) - 1
    ends_by = _read(loop.body[end])
    return bool(ends_by) and all(
        loop.comes_from(name, end, at, frozenset()) for name in ends_by
    ) and any(_reaches(loop, name, end, at) for name in ends_by)  # fmt: skip


def _reaches(loop: _Loop, name: str, place: int, asked: int) -> bool:
    """Whether a register is made of what `asked` loaded; it is not a value of an earlier round."""
    at = loop.writer(name, place)
    if at is None or at == asked:
        return at is not None
    return any(_reaches(loop, other, at, asked) for other in _read(loop.body[at]))


def _base(instruction: WorkInstruction) -> str:
    return instruction.opcode.partition(".")[0]


def _operands(instruction: WorkInstruction) -> tuple[list[str], list[str]]:
    """Return the operands that are written, and those that are read.

    Predicates come first among those that are written; then at most one register, and carries.
    """
    base, given = _base(instruction), instruction.operands.split(",")
    is_quiet = base in ("BRA", "EXIT", *_WRITES) and base not in _ATOMICS
    count, has_register = 0, is_quiet or base.endswith("SETP")
    while count < len(given) and not is_quiet:
        name = given[count].strip()
        is_predicate = re.fullmatch(r"U?P[\dT]", name) is not None
        if not is_predicate and (has_register or not re.match(r"U?R[\dZ]", name)):
            break
        has_register = has_register or not is_predicate
        count += 1
    return given[:count], [instruction.guard, *given[count:]]


def _written(instruction: WorkInstruction) -> set[str]:
    """Return the registers and predicates that an instruction writes.

    >>> from simulator.timing.control import control
    >>> sorted(_written(WorkInstruction(0, "", "LDG.E.64", "R4,[R2.64]", control(0))))
    ['R4', 'R5']
    """
    wide = max((_WORDS.get(part, 1) for part in instruction.opcode.split(".")[1:]), default=1)
    names = set()
    for operand in _operands(instruction)[0]:
        for kind, number in _NAME.findall(operand):
            words = wide if kind == "R" else 1
            names |= {f"{kind}{int(number) + more}" for more in range(words)}
    return names


def _read(instruction: WorkInstruction) -> set[str]:
    """Return the registers and predicates that an instruction reads."""
    names = set()
    for operand in _operands(instruction)[1]:
        for found in _NAME.finditer(operand):
            words = 2 if ".64" in found[0] else 1
            names |= {f"{found[1]}{int(found[2]) + more}" for more in range(words)}
    return names
