"""Which operands an instruction writes, and which it reads: machine code prints them in a row."""

from __future__ import annotations

import re

from simulator.timing.work import WorkInstruction

__all__ = ["REGISTER", "is_predicate", "words_written", "written_and_read"]

REGISTER = re.compile(r"(?<![A-Za-z.\[])R(\d+)")
"""A register, but for those of addresses."""
_TARGET = re.compile(r"U?R[\dZ]").match
_PREDICATE = re.compile(r"!?U?P[T\d]").fullmatch
_WRITES_NONE = ("BAR", "BRA", "BREAK", "BRX", "CALL", "EXIT", "JMP", "JMX", "NANOSLEEP", "RET",
                "WARPSYNC")  # fmt: skip
"""The first operand of these is read, though it may be a register or a predicate."""
_WORDS = {"64": 2, "WIDE": 2, "96": 3, "128": 4}


def is_predicate(operand: str) -> bool:
    """Whether an operand is a predicate; a carry is one."""
    return _PREDICATE(operand) is not None


def written_and_read(instruction: WorkInstruction) -> tuple[list[str], list[str]]:
    """Return the operands that are written, and those that are read, without the guard.

    >>> from simulator.timing.control import control
    >>> def given(opcode, operands):
    ...     return written_and_read(WorkInstruction(0, "", opcode, operands, control(0)))
    >>> given("IADD3.X", "R13,P1,R9,UR6,RZ,P0"), given("LOP3.LUT", "P0,R6,R4,0x3,RZ,0xc0,!PT")[0]
    ((['R13', 'P1'], ['R9', 'UR6', 'RZ', 'P0']), ['P0', 'R6'])
    >>> given("PLOP3.LUT", "P1,PT,P1,P2,PT,0x8,0x0")[0], given("VOTE.ANY", "R7,PT,P0")[0]
    (['P1', 'PT'], ['R7', 'PT'])
    >>> given("STG.E", "[R2.64],R4"), given("BRA", "P1,0x40")
    (([], ['[R2.64]', 'R4']), ([], ['P1', '0x40']))
    """
    operands = [each.strip() for each in instruction.operands.split(",")]
    count = _count(instruction.name, operands)
    return operands[:count], operands[count:]


def _count(name: str, operands: list[str]) -> int:
    """Return how many operands, from the first on, an instruction writes.

    Predicates come first; then at most one register, and carries.
    """
    if name in _WRITES_NONE:
        return 0
    if name in ("VOTE", "VOTEU"):  # the last one is what lanes vote by
        return len(operands) - 1
    if name == "FCHK":
        return 1
    if "SETP" in name or name in ("PLOP3", "UPLOP3"):
        return 2
    has_register = False
    for count, operand in enumerate(operands):
        if not is_predicate(operand):
            if has_register or not _TARGET(operand):
                return count
            has_register = True
    return len(operands)


def words_written(instruction: WorkInstruction) -> int:
    """Return the registers that an instruction writes, from its target on; a part of one is one.

    >>> from simulator.timing.control import control
    >>> names = ("LDG.E.128", "IMAD.WIDE.U32", "CS2R", "CS2R.32", "DADD", "FADD")
    >>> [words_written(WorkInstruction(0, "", name, "R4", control(0))) for name in names]
    [4, 2, 2, 1, 2, 1]
    """
    name, *modifiers = instruction.opcode.split(".")
    is_double = name.startswith("D") or (name == "CS2R" and "32" not in modifiers)
    return max([1 + is_double, *(_WORDS.get(each, 1) for each in modifiers)])
