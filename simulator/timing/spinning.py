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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from simulator.timing.operands import words_written, written_and_read
from simulator.timing.work import Work, WorkInstruction

__all__ = ["spins"]

_ATOMICS = ("ATOM", "ATOMG", "ATOMS")
_LOADS = ("LD", "LDG", "LDS")
_WRITES = (*_ATOMICS, "ST", "STG", "STS", "STSM", "RED", "REDG", "REDUX", "LDGSTS", "BAR", "SYNCS",
           "UTMALDG", "UBLKCP", "CALL")  # fmt: skip
"""What makes a loop more than a look at memory."""
_NAME = re.compile(r"(?<![A-Za-z.])(UR|UP|R|P)(\d+)(?:\.\w+)*")


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

    def makers(self, names: Iterable[str], place: int, asked: int | None) -> dict[int, set[int]]:
        """Return the instructions that make what registers hold at a place, each with its own such.

        What was there before the loop is made by none, and what `asked` is made of does not matter.
        """

        def writers(names: Iterable[str], place: int) -> set[int]:
            each = (self.writer(name, place) for name in names)
            return {at for at in each if at is not None}

        found: dict[int, set[int]] = {}
        left = writers(names, place)
        while left:
            at = left.pop()
            found[at] = set() if at == asked else writers(_read(self.body[at]), at)
            left |= found[at] - found.keys()
        return found

    def holds(self, makers: Mapping[int, set[int]], asked: int | None) -> bool:
        """Whether what is made so is the same in each round, but for what `asked` loaded."""
        if any(self.body[at].name in (*_ATOMICS, *_LOADS) for at in makers if at != asked):
            return False
        try:
            TopologicalSorter(makers).prepare()
        except CycleError:  # it is made of what it was
            return False
        return True


def spins(work: Work) -> WorkInstruction | None:
    """Return an instruction by which warps wait for a lock or a flag; None: none was executed."""
    code = work.instructions
    loops = _loops(code)
    for place in range(len(code)):
        if not work.executed[place] or code[place].name not in (*_ATOMICS, *_LOADS):
            continue
        around = [loop for loop in loops if loop.first <= place < loop.first + len(loop.body)]
        if around and _waits(min(around, key=lambda loop: len(loop.body)), place):
            return code[place]
    return None


def _loops(code: Sequence[WorkInstruction]) -> list[_Loop]:
    found = []
    for place, each in enumerate(code):
        target = re.search(r"(?:^|,)0x([0-9a-f]+)$", each.operands)
        if each.name == "BRA" and target and int(target[1], 16) <= each.address:
            first = int(target[1], 16) // 16
            found.append(_Loop(first, code[first : place + 1]))
    return found


def _waits(loop: _Loop, place: int) -> bool:
    """Whether the loop asks by this instruction until somebody else has written."""
    at = place - loop.first
    asks = loop.body[at]
    if not loop.holds(loop.makers(_read(asks), at, None), None):
        return False
    if asks.name in _ATOMICS:
        return bool({"CAS", "EXCH"} & set(asks.opcode.split("."))) and any(
            name.startswith("R") for name in _written(asks)
        )
    if any(each.name in _WRITES for each in loop.body):
        return False
    end = len(loop.body) - 1
    makers = loop.makers(_read(loop.body[end]), end, at)
    return at in makers and loop.holds(makers, at)


def _written(instruction: WorkInstruction) -> set[str]:
    """Return the registers and predicates that an instruction writes.

    >>> from simulator.timing.control import control
    >>> sorted(_written(WorkInstruction(0, "", "LDG.E.64", "R4,[R2.64]", control(0))))
    ['R4', 'R5']
    """
    wide = words_written(instruction)
    names = set()
    for operand in written_and_read(instruction)[0]:
        for kind, number in _NAME.findall(operand):
            words = wide if kind == "R" else 1
            names |= {f"{kind}{int(number) + more}" for more in range(words)}
    return names


def _read(instruction: WorkInstruction) -> set[str]:
    """Return the registers and predicates that an instruction reads."""
    names = set()
    for operand in (instruction.guard, *written_and_read(instruction)[1]):
        for found in _NAME.finditer(operand):
            words = 2 if ".64" in found[0] else 1
            names |= {f"{found[1]}{int(found[2]) + more}" for more in range(words)}
    return names
