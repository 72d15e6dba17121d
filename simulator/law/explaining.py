"""`explain`: one access taken apart into phases, wavefronts, banks, words and lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from numpy.typing import ArrayLike

from layouts.errors import plural
from layouts.tile import Tile, TileLike
from simulator.errors import AddressError
from simulator.law import specification
from simulator.law.accesses import ALL_LANES, check, copy_sources, warp_accesses
from simulator.law.chips import ChipLike, counted_on, optional_chip
from simulator.law.copies import count_copy
from simulator.law.counting import check_rule, n_way
from simulator.law.explaining_turns import copy_note, copy_phase, loop_phases
from simulator.law.indices import Addresses, locate
from simulator.law.instructions import Instruction, Rule
from simulator.law.loops import LOOPS, count_loop, is_loop
from simulator.law.served import Phase, Served, listed, ranges
from simulator.results.columns import law_columns
from simulator.results.tables import Result
from simulator.results.text import Table, as_html

__all__ = ["Explanation", "Phase", "Served", "explain", "ranges"]


@dataclass(frozen=True, eq=False)
class Explanation(Result):
    """Why one access costs what it costs. The figures are `count`'s."""

    op: str
    width: int
    """Bytes that a lane accesses."""
    rule: Rule
    addresses: tuple[int, ...]
    mask: int
    wavefronts: int
    ideal: int
    excessive: int
    bank_conflicts: int
    cycles: int
    phases: tuple[Phase, ...] = field(repr=False)
    partners: tuple[int, ...]
    """Those of the instruction's partners (1 and 2) for which every two active lanes i, i^partner
    have one address, so that phases fuse."""
    broken: dict[int, tuple[tuple[int, int], ...]]
    """For an instruction that can fuse but did not: the pairs of lanes that disagree."""
    note: str
    """A sentence on why phases fused or did not, or why there are none; often empty."""
    chip: str | None = None
    """Whose law it is, where a chip was chosen."""
    tile: Tile | None = None
    """What the addresses lie in, where a layout was given that is a tile."""
    element: int = 4
    """Bytes of an element of it."""
    sources: tuple[int, ...] | None = None
    """Where the lanes of a copy read, where that was given."""
    instruction: Instruction = field(repr=False, kw_only=True)
    """`op` as the chip has it, or as it was given."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The access in words: whether phases fused, then each phase."""
        on = "" if self.chip is None else f" on {self.chip}"
        total = (
            f"{self.op}{on}, {self.rule} rule: {plural(self.wavefronts, 'wavefront')}"
            f" ({self.ideal} ideal), {plural(self.bank_conflicts, 'bank conflict')}."
        )
        phases = (f"Phase {phase.index}, {phase.sentence}" for phase in self.phases)
        return tuple(filter(None, (total, self.note, *phases)))

    @property
    def reason(self) -> str:
        """The access in a sentence or two: fusing, the phases' costs, and the worst phase."""
        costs = [len(phase.wavefronts) for phase in self.phases]
        if not costs:
            return self.note
        worst = self.phases[costs.index(max(costs))]
        each = " each" if len(costs) > 1 else ""
        if len(set(costs)) == 1:
            spent = f"{plural(costs[0], 'wavefront')}{each}"
        else:
            spent = f"{', '.join(map(str, costs))} wavefronts"
        summary = f"{plural(len(costs), 'phase')} of {spent}. Phase {worst.index}, "
        return f"{self.note} {summary}{worst.sentence}".strip()

    def table(self) -> Table:
        """Return a row per word that is served."""
        law = law_columns(self.rule, self.chip)
        return Table(
            [{**row, **law} for row in self.rows()],
            self.to_dict()["totals"],
            columns=[*self.columns(), *law],
        )

    def shown(self) -> list[Table]:
        """Return the figures and the sentences, then what each wavefront serves."""
        law = law_columns(self.rule, self.chip)
        figures = {"op": self.op, **self.to_dict()["totals"], **law}
        words = "\n".join(self.sentences[1:])
        shown = [Table([figures], {}, sums=[], text=[words], hidden=("requests", *law))]
        if self.wavefronts:
            in_turn = self.sources is not None or self.op.lower() in LOOPS
            text = _TURNS if in_turn else _CONVENTION
            shown.append(Table(self.groups(), {}, sums=[], text=[text]))
        return shown

    def groups(self) -> list[dict[str, Any]]:
        """Return what each wavefront serves, neighbouring banks with the same lanes in one row."""
        return [
            {
                "phase": phase.index,
                "wavefront": number,
                "lanes": ranges(lanes),
                "banks": ranges(served.bank for served in together),
                "words": ranges(served.word for served in together),
            }
            for phase in self.phases
            for number, wavefront in enumerate(phase.wavefronts)
            for lanes, group in groupby(wavefront, key=lambda served: served.lanes)
            if (together := list(group))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return `{"served": {column: list}, "totals": {…}}`: a row for each word served."""
        served = [
            {
                "phase": phase.index,
                "wavefront": number,
                "bank": entry.bank,
                "word": entry.word,
                "byte": entry.word * specification.WORD,
                "lanes": list(entry.lanes),
            }
            for phase in self.phases
            for number, wavefront in enumerate(phase.wavefronts)
            for entry in wavefront
        ]
        names = ("phase", "wavefront", "bank", "word", "byte", "lanes")
        requests = int(bool(self.phases))
        return {
            "served": {name: [row[name] for row in served] for name in names},
            "totals": {
                "requests": requests,
                "wavefronts": self.wavefronts,
                "ideal": self.ideal,
                "excessive": self.excessive,
                "bank_conflicts": self.bank_conflicts,
                "cycles": self.cycles,
                "n_way": n_way(self.wavefronts, requests),
                "phases": len(self.phases),
            },
        }

    def _repr_html_(self) -> str:
        from simulator.results.html import bank_table, figure, side_by_side

        table = bank_table(self.to_dict()["served"], passes=self.instruction.passes)
        picture = side_by_side([figure("Banks", [("", table)])]) if self.wavefronts else ""
        return as_html(replace(Explanation.shown(self)[0], title=self.sentences[0])) + picture


_CONVENTION = (
    "By convention, wavefront k serves the k-th distinct word of each bank, in lane order;"
    " the chip's own order cannot be observed."
)
_TURNS = (
    "A wavefront serves the lanes whose turn it is, or that win in its round; banks and words are"
    " those they write."
)


def explain(
    op: str | Instruction,
    addresses: Addresses,
    mask: int | None = None,
    *,
    layout: TileLike | None = None,
    element: int | None = None,
    sources: ArrayLike | None = None,
    rule: Rule = "silicon",
    chip: ChipLike | None = None,
) -> Explanation:
    """Explain one access, or loop: 32 byte addresses and, unless all lanes are active, a mask.

    Raises what `count` raises, and AddressError for more than one
    access.

    Parameters
    ----------
    op, addresses, mask, layout, element, rule, chip
        Those of `count`, for one access.
    sources
        Those of `count`: then a copy's phases have a `chain`, the lanes that wait for one another
        at a source bank or a destination bank.

    Examples
    --------
    >>> addresses = [128 * (lane // 16) + 8 * (lane // 2 % 8) for lane in range(32)]
    >>> for sentence in explain("LDS.64", addresses).sentences:
    ...     print(sentence)
    LDS.64, silicon rule: 2 wavefronts (2 ideal), 1 bank conflict.
    Fused from 2 phases to 1: throughout the warp, active lanes i and i^1 have the same address.
    Phase 0, lanes 0-31: lanes 0 and 16 read different words of banks 0-1 (and 14 other banks \
likewise): 2 wavefronts for this phase.

    `sources` and `chip` are those of `count`: with sources a copy's phases have a `chain`, the
    lanes that wait for one another at a source bank or a destination bank.

    >>> apart = [32 * lane for lane in range(32)]
    >>> print(explain("cp.async.ca.4", addresses, sources=apart).sentences[1])
    Phase 0, lanes 0-31: one after the other, lanes 0 and 1 at destination bank 0, \
lanes 1, 5, 9, 13, 17, 21, 25, 29 at source bank 8: 9 wavefronts for this phase.
    """
    chosen = optional_chip(chip)
    op = counted_on(chosen, op)
    check_rule(rule)
    located = locate(op, addresses, layout, element, mask)
    array, masks = warp_accesses(op, located.addresses, mask)
    if array.ndim != 1:  # and so is the mask one integer, or refused already
        raise AddressError(
            f"explain takes one access, and addresses have shape {array.shape} (accepted: (32,))"
        )
    check(op, array, masks, located.addresses)
    bytes_ = array.tolist()
    bits = ALL_LANES if masks is None else int(masks)

    reads = None if sources is None else copy_sources(op, sources, array, masks).tolist()
    if is_loop(op):
        figures = count_loop(op, bytes_, bits)
    elif reads is not None:
        figures = count_copy(op, bytes_, reads, bits)
    else:
        figures = specification.count_access(op, bytes_, bits, rule)
    _, wavefronts, ideal, excessive, bank_conflicts, cycles = figures
    active = specification.counted_lanes(op, bits)
    groups = specification.phases(op, bytes_, bits, rule) if active else ()
    partners = specification.holding_partners(op, bytes_, bits, rule) if active else []
    broken: dict[int, tuple[tuple[int, int], ...]] = {}
    if op.fuses and rule == "silicon" and active and not partners:
        pairs = {
            partner: specification.broken_pairs(bytes_, bits, partner) for partner in op.partners
        }
        broken = {partner: tuple(found) for partner, found in pairs.items() if found}
    return Explanation(
        op=op.name,
        width=op.width,
        rule=rule,
        addresses=tuple(bytes_),
        mask=bits,
        wavefronts=wavefronts,
        bank_conflicts=bank_conflicts,
        ideal=ideal,
        excessive=excessive,
        cycles=cycles,
        phases=loop_phases(op, bytes_, bits)
        if is_loop(op)
        else tuple(
            _phase(op, index, group, some, bytes_)
            if reads is None
            else copy_phase(op, index, group, some, bytes_, reads)
            for index, group in enumerate(groups)
            for some in [[lane for lane in group if lane in active]]
        ),
        partners=tuple(partners),
        broken=broken,
        note=_note(op, active, partners, broken, rule)
        or ("" if reads is None else copy_note(op, active, bytes_, reads, wavefronts, cycles)),
        chip=None if chosen is None else chosen.name,
        tile=located.tile,
        element=located.element,
        instruction=op,
        sources=None if reads is None else tuple(reads),
    )


def _phase(
    instruction: Instruction,
    index: int,
    group: Sequence[int],
    active: list[int],
    addresses: Sequence[int],
) -> Phase:
    queues = specification.bank_queues(instruction, addresses, active)
    banks = {
        bank: tuple(
            Served(bank, word, tuple(lanes))
            for word, lanes in queues[bank]
            for _ in range(instruction.passes)
        )
        for bank in sorted(queues)
    }
    depth = max(map(len, banks.values()), default=0)
    return Phase(
        index=index,
        lanes=group,
        active=tuple(active),
        wavefronts=tuple(
            tuple(queue[number] for queue in banks.values() if number < len(queue))
            for number in range(depth)
        ),
        banks=banks,
        sentence=f"lanes {ranges(group)}: {_collisions(instruction, banks, depth)}",
    )


def _collisions(instruction: Instruction, banks: dict[int, tuple[Served, ...]], depth: int) -> str:
    """Return which lanes meet in the worst banks, and what it costs."""
    cost = f"{plural(depth, 'wavefront')} for this phase"
    if depth == 0:
        return "no active lane, no wavefront."
    if depth == instruction.passes:
        return f"no bank serves more than one {'word' if instruction.merges else 'lane'}: {cost}."

    def lanes_of(bank: int) -> tuple[int, ...]:
        # Where words merge, one lane speaks for all that share its word.
        return tuple(served.lanes[0] for served in banks[bank][:: instruction.passes])

    worst = [bank for bank, queue in banks.items() if len(queue) == depth]
    lanes = lanes_of(worst[0])
    alike = [bank for bank in worst if lanes_of(bank) == lanes]
    others = len(worst) - len(alike)
    where = f"bank{'s' if len(alike) > 1 else ''} {ranges(alike)}"
    words = {served.word for served in banks[worst[0]]}
    who = f"lanes {listed(lanes)} {instruction.verb}"
    if len(words) == len(lanes):
        what = f"different words of {where}"
    elif len(words) == 1:
        what = f"the same word of {where}, which {instruction.name} does not merge"
    else:
        what = f"{len(words)} words of {where}, which {instruction.name} does not merge"
    likewise = f" (and {plural(others, 'other bank')} likewise)" if others else ""
    twice = ", each lane taken twice" if instruction.passes == 2 else ""
    return f"{who} {what}{likewise}: {cost}{twice}."


def _note(
    instruction: Instruction,
    active: list[int],
    partners: list[int],
    broken: dict[int, tuple[tuple[int, int], ...]],
    rule: Rule,
) -> str:
    if not active:
        return "No lane is active: nothing is accessed."
    if instruction.phases == 0:
        return f"{instruction.name} bypasses the pipe that wavefronts are counted on."
    if not instruction.fuses:
        return ""
    if partners:
        fewer = len(instruction.fused_lanes)
        fused = f"Fused from {plural(instruction.phases, 'phase')} to {fewer}: "
        agree = [p for p in partners if any(lane ^ p in active for lane in active)]
        if not agree:
            return f"{fused}no active lane i has an active partner i^{partners[0]}."
        also = "".join(f", and so do i and i^{other}" for other in agree[1:])
        return (
            f"{fused}throughout the warp, active lanes i and i^{agree[0]} have the same"
            f" address{also}."
        )
    if rule == "documented":
        return "Not fused: the documented rule never fuses phases."
    first, *others = (f"lanes {pairs[0][0]} and {pairs[0][1]}" for pairs in broken.values())
    also = "".join(f", and so do {other}" for other in others)
    return f"Not fused: {first} have different addresses{also}."
