"""Shared-memory instructions whose addresses come from data that the kernel loads.

A histogram's bins, a gather's indices: other data, other bank conflicts. This walks the kernel's
ways and follows the registers; what a branch on data chooses is not followed. A guarded write
leaves the old value only in the lanes that the guard keeps out, until its predicate may change. Of
several guards in turn, those whose predicates have not changed still tell the lanes.
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
_MOST_GUARDS = 3
_PREDICATE = re.compile(r"(?<![\w.])U?P[\dR](?!\w)")


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


class _Known(NamedTuple):
    """Registers that hold loaded data."""

    whole: frozenset[str] = frozenset()
    """In any lane."""
    partly: frozenset[tuple[str, frozenset[str]]] = frozenset()
    """Each with some guards: in the lanes where all of these are true."""

    def joined(self, other: _Known) -> _Known:
        """Return what holds data where one of two ways leads."""
        return _Known(self.whole | other.whole, self.partly | other.partly)


class _Step(NamedTuple):
    """What an instruction does with registers."""

    writes: frozenset[str]
    reads: frozenset[str]
    address: frozenset[str]
    """Registers of the shared address that it reaches."""
    loads: bool
    loads_shared: bool
    guard: str
    """In which lanes it reads and writes; "": in all."""
    predicates: frozenset[str]
    """Those that it may write: all that it names."""
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
            each.guard, frozenset(_PREDICATE.findall(each.operands)),
            bool(each.guard) or not _LEAVES.match(each.opcode), tuple(use.targets),
        )  # fmt: skip

    def reads_any(self, registers: frozenset[str], known: _Known) -> bool:
        """Whether one of the registers holds loaded data in a lane that it reads."""
        if not known.whole.isdisjoint(registers):
            return True
        if not (registers and known.partly):
            return False
        unread = _opposite(self.guard)
        return any(name in registers and unread not in guards for name, guards in known.partly)

    def leaves(self, known: _Known, takes: bool) -> _Known:
        """Return what holds loaded data behind it; `takes`: what it writes does, too."""
        if not (known.partly or self.guard):
            whole = known.whole | self.writes if takes else known.whole - self.writes
            return _Known(whole)
        if not (self.writes or self.predicates):
            return known
        held = {(name, frozenset[str]()) for name in known.whole & self.writes}
        partly = set()
        for name, guards in {*known.partly, *held}:
            if name not in self.writes:
                partly.add((name, guards))
            elif self.guard and self.guard not in guards:
                more = {_opposite(self.guard)} if len(guards) < _MOST_GUARDS else ()
                partly.add((name, guards.union(more)))
        if takes:
            partly |= {
                (name, frozenset([self.guard] if self.guard else ())) for name in self.writes
            }
        partly = {(name, self._still(name, guards)) for name, guards in partly}
        whole = (known.whole - self.writes) | {name for name, guards in partly if not guards}
        return _Known(whole, frozenset(each for each in partly if each[0] not in whole))

    def _still(self, name: str, guards: frozenset[str]) -> frozenset[str]:
        """Return the guards that tell behind it, too, in which lanes a register holds data."""
        return frozenset(
            guard
            for guard in guards
            if self.predicates.isdisjoint((guard.lstrip("@!"), "PR"))
            # All lanes share a uniform register, whichever wrote it.
            and (name[0] != "U" or "UP" in guard)
        )


def _opposite(guard: str) -> str:
    """Return the guard of the other lanes.

    >>> _opposite("@!P1"), _opposite("@P1")
    ('@P1', '@!P1')
    """
    return guard.replace("@!", "@") if "!" in guard else guard.replace("@", "@!")


def _found(steps: Sequence[_Step], shared: bool) -> tuple[set[int], set[int]]:
    """Return the accesses at such addresses, and all instructions that take such a value."""
    before = {0: _Known()}
    addressed: set[int] = set()
    taking: set[int] = set()
    todo = [0]
    while todo:
        number = todo.pop()
        step, known = steps[number], before[number]
        takes = step.reads_any(step.reads, known)
        if takes:
            taking.add(number)
        if step.reads_any(step.address, known):
            addressed.add(number)
        after = step.leaves(known, takes or step.loads or (shared and step.loads_shared))
        for to in (*([number + 1] if step.goes_on else []), *step.targets):
            if to >= len(steps):
                continue
            old = before.get(to)
            joined = after if old is None else old.joined(after)
            if joined != old:
                before[to] = joined
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
