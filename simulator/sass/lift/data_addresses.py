"""Shared-memory instructions whose addresses come from data that the kernel loads.

A histogram's bins, a gather's indices: other data, other bank conflicts. This walks the kernel's
ways and follows the registers; what a branch on data chooses is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.lift.unwaited import RegisterUse

__all__ = ["addressed_by_data"]

_REGISTER = re.compile(r"(?<![\w.])U?R\d+")
_LOADS = re.compile(r"(?:LDG|LD|ATOMG|ATOM)(?:\.|$)")
_SHARED_LOADS = re.compile(r"(?:LDS|LDSM|ATOMS)(?:\.|$)")
_KEEPS = re.compile(r"(?:STS|ATOMS|STSM)(?:\.|$)")
_COPIES = re.compile(r"(?:LDGSTS|UTMALDG|UBLKCP)(?:\.|$)")
_COUNTED = re.compile(r"(?:LDS|STS|ATOMS)(?:\.|$)")
_ADDRESS = re.compile(r"\[[^\]]*\]")
_LEAVES = re.compile(r"(?:EXIT|RET\.|BRA$|BRA\.U$)")
_PREDICATES = re.compile(r"(?:!?U?P[\dTR]\s*,\s*)+")


def addressed_by_data(
    instructions: Sequence[SassInstruction], uses: Sequence[RegisterUse]
) -> list[int]:
    """Return the instructions, in order, of LDS, STS and ATOMS at addresses made of loaded data.

    >>> code = [("LDG.E", "R4, [R2.64]"), ("IMAD.SHL", "R5, R4, 0x4, RZ"), ("LDS", "R6, [R5]")]
    >>> lines = [SassInstruction(16 * at, "", *each) for at, each in enumerate(code)]
    >>> uses = [RegisterUse(written=frozenset({number})) for number in (4, 5, 6)]
    >>> addressed_by_data(lines, uses)
    [2]
    """
    steps = [_Step.of(*each) for each in zip(instructions, uses, strict=True)]
    found = _found(steps, any(_COPIES.match(each.opcode) for each in instructions))
    if any(_KEEPS.match(instructions[at].opcode) for at in found[1]):  # data in shared memory, too
        found = _found(steps, True)
    return sorted(found[0])


class _Step(NamedTuple):
    """What an instruction does with registers."""

    writes: frozenset[str]
    reads: frozenset[str]
    address: frozenset[str]
    """Registers of the shared address that it reaches."""
    loads: bool
    loads_shared: bool
    always: bool
    """Whether no guard can keep it from writing."""
    goes_on: bool
    """Whether the next instruction can come after it."""
    targets: tuple[int, ...]

    @classmethod
    def of(cls, each: SassInstruction, use: RegisterUse) -> _Step:
        writes, reads = _registers(each, use)
        place = _ADDRESS.search(each.operands) if _COUNTED.match(each.opcode) else None
        return cls(
            writes, reads, frozenset(_REGISTER.findall(place[0]) if place else ()),
            bool(_LOADS.match(each.opcode)), bool(_SHARED_LOADS.match(each.opcode)),
            not each.guard, bool(each.guard) or not _LEAVES.match(each.opcode), tuple(use.targets),
        )  # fmt: skip


def _found(steps: Sequence[_Step], shared: bool) -> tuple[set[int], set[int]]:
    """Return the accesses at such addresses, and all instructions that take such a value."""
    before: dict[int, frozenset[str]] = {0: frozenset()}
    addressed: set[int] = set()
    taking: set[int] = set()
    todo = [0]
    while todo:
        number = todo.pop()
        step, known = steps[number], before[number]
        takes = not known.isdisjoint(step.reads)
        if takes:
            taking.add(number)
        if not known.isdisjoint(step.address):
            addressed.add(number)
        after = known
        if step.writes:
            after = known - step.writes if step.always else known
            if takes or step.loads or (shared and step.loads_shared):
                after |= step.writes
        for to in (*([number + 1] if step.goes_on else []), *step.targets):
            if to >= len(steps):
                continue
            old = before.get(to)
            if old is None or not after <= old:
                before[to] = after if old is None else old | after
                todo.append(to)
    return addressed, taking


def _registers(each: SassInstruction, use: RegisterUse) -> tuple[frozenset[str], frozenset[str]]:
    """Return the registers that an instruction writes, and those that it reads."""
    operands = _PREDICATES.sub("", each.operands, count=1)
    target, _, rest = operands.partition(",")
    own = {f"R{number}" for number in use.written}
    if target.startswith("UR") and "SETP" not in each.opcode:
        own |= set(_REGISTER.findall(target))
    return frozenset(own), frozenset(_REGISTER.findall(rest if own else operands))
