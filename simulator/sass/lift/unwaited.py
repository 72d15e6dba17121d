"""Instructions that may touch registers of a wgmma before it was waited for.

`wgmma.wait_group` (WARPGROUP.DEPBAR) ends groups of products, the oldest first; until then their
accumulators are the tensor cores', and an A in registers must not be written. This walks the
kernel's ways: an instruction that may come too soon on one of them is looked at when it runs.
ptxas puts waits in where code asks for registers too soon; other assemblers may not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.lift.gmma_form import Gmma

__all__ = ["RegisterUse", "early_touches", "groups_left", "with_meetings"]

_GROUPS = 8
"""Groups in flight that are told apart."""

_Flight = tuple[int, ...]
"""Products in flight, a bit each: of the group that is open, then of the last one ended, …"""


@dataclass(frozen=True)
class RegisterUse:
    """Registers that an instruction reads or writes."""

    registers: frozenset[int] = frozenset()
    written: frozenset[int] = frozenset()
    targets: tuple[int, ...] = ()
    """Instructions that it may go to, beside the next one."""


def with_meetings(
    instructions: Sequence[SassInstruction], uses: Sequence[RegisterUse]
) -> list[RegisterUse]:
    """Return the uses with the ways that lanes of a convergence barrier go.

    A BSSY names where its lanes meet, and no way leads there from it: one does from a BSYNC of its
    barrier, which mostly stands just before. Barriers are used again: such a BSYNC leads nowhere
    else, and no other BSYNC to where one stands just before.
    """
    barriers = [each.operands.partition(",")[0] for each in instructions]
    named = [each.opcode.partition(".")[0] for each in instructions]
    meets = {
        (barriers[number], place)
        for number, use in enumerate(uses)
        if named[number] == "BSSY"
        for place in use.targets
    }
    before = {(barriers[at], at + 1) for at, name in enumerate(named) if name == "BSYNC"}
    found = list(uses)
    for number, name in enumerate(named):
        if name == "BSSY":
            found[number] = replace(uses[number], targets=())
        elif name == "BSYNC" and (barriers[number], number + 1) not in meets:
            places = (place for which, place in meets - before if which == barriers[number])
            found[number] = replace(uses[number], targets=tuple(sorted(places)))
    return found


def groups_left(instruction: SassInstruction) -> int | None:
    """Return how many groups a WARPGROUP.DEPBAR lets run on; None: it is something else.

    >>> groups_left(SassInstruction(0, "", "WARPGROUP.DEPBAR.LE", "gsb0,0x1"))
    1
    """
    if not instruction.opcode.startswith("WARPGROUP.DEPBAR"):
        return None
    return int(instruction.operands.split(",")[1].strip(), 0)


def early_touches(
    instructions: Sequence[SassInstruction],
    products: Mapping[int, Gmma],
    touches: Sequence[RegisterUse],
) -> dict[int, frozenset[int]]:
    """Return the instructions that may touch a product's registers before it was waited for.

    With the numbers of those products.
    """
    if not products:
        return {}
    bits = {number: 1 << place for place, number in enumerate(products)}
    sums: dict[int, int] = {}
    """By register: products whose accumulators it holds, then those whose A it holds."""
    lefts: dict[int, int] = {}
    for number, each in products.items():
        for register in _sums(each):
            sums[register] = sums.get(register, 0) | bits[number]
        for register in _left(each):
            lefts[register] = lefts.get(register, 0) | bits[number]
    before: dict[int, _Flight] = {0: (0,) * (_GROUPS + 1)}
    found: dict[int, int] = {}
    todo = [0]
    while todo:
        number = todo.pop()
        flight = before[number]
        form = products.get(number)
        touch = touches[number]
        running = 0
        for group in flight:
            running |= group
        if running:
            reads = frozenset(_left(form)) if form else touch.registers
            hit = 0
            for register in reads:
                hit |= sums.get(register, 0) & running
            for register in touch.written:
                hit |= lefts.get(register, 0) & running
            if hit:
                found[number] = hit
        after = _after(flight, instructions[number], form, bits.get(number, 0))
        for to in {number + 1, *touch.targets}:
            if to >= len(instructions):
                continue
            known = before.get(to)
            merged = after if known is None else tuple(map(int.__or__, known, after))
            if merged != known:
                before[to] = merged
                todo.append(to)
    return {
        number: frozenset(each for each, bit in bits.items() if hit & bit)
        for number, hit in found.items()
    }


def _sums(form: Gmma) -> range:
    """Return the registers of the accumulator."""
    first = form.destination
    return range(0) if first is None else range(first, first + form.registers)


def _left(form: Gmma) -> range:
    """Return the registers of A."""
    return range(0) if form.a_register is None else range(form.a_register, form.a_register + 4)


def _after(flight: _Flight, instruction: SassInstruction, form: Gmma | None, bit: int) -> _Flight:
    """Return what is in flight behind an instruction."""
    if form is not None:
        opened, *ended = flight
        if form.group is None:
            return (opened | bit, *ended)
        return (0, opened | bit, *ended[:-2], ended[-2] | ended[-1])
    left = groups_left(instruction)
    if left is None:
        return flight
    return (*flight[: 1 + left], *(0 for _ in flight[1 + left :]))
