"""The pictures of accesses: as they are, and with each cure; a notebook shows them as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from layouts.errors import plural
from simulator.asking.cure import Cure, explained
from simulator.inputs.asked import AskedAccess
from simulator.law.explaining import Explanation, ranges
from simulator.law.instructions import Rule
from simulator.law.specification import WORD
from simulator.results.html import bank_table, figure, side_by_side

__all__ = ["Picture", "beside", "lane_sentences", "with_banks", "with_cure"]

_KINDS = {"pad": "Cure: pad", "swizzle": "Cure: swizzle", "layout": "Cure: lay as"}


@dataclass(frozen=True)
class Picture:
    """One access, or a few that belong together, and what is said of them."""

    heading: str
    parts: tuple[tuple[str, Explanation], ...]
    """Each access, and how it is called; an empty name where there is but one."""
    warp: int | None = None
    """Number of the warp; None where there is but one."""
    code: str = ""
    """What to write for it; empty for the access as it was asked."""
    notes: tuple[str, ...] = ()
    """What it costs."""

    @property
    def cost(self) -> str:
        """Its wavefronts, and of which warp, or of how many accesses."""
        which = "" if self.warp is None else f", warp {self.warp}"
        which += f" for these {len(self.parts)}" if len(self.parts) > 1 else ""
        return f"{plural(sum(one.wavefronts for _, one in self.parts), 'wavefront')}{which}"

    def tables(self) -> list[tuple[str, Explanation, str]]:
        """Return name, access and banks as HTML, of each access."""
        return [
            (
                name,
                one,
                with_banks(one, f"{self.heading} {name}: {plural(one.wavefronts, 'wavefront')}"),
            )
            for name, one in self.parts
        ]


def with_cure(asked: AskedAccess, cure: Cure, rule: Rule) -> Picture:
    """Return the worst warp of a question with a cure."""
    warp, one = explained(asked, cure, rule)
    notes = tuple(filter(None, (cure.size, cure.effort, cure.leaves, cure.others)))
    number = warp if len(asked.warps) > 1 else None
    return Picture(_KINDS[cure.kind], (("", one),), number, cure.text, notes)


def with_banks(one: Explanation, label: str = "") -> str:
    """Return the banks of an access as an HTML table."""
    served: dict[str, Any] = one.to_dict()["served"]
    return bank_table(served, passes=one.instruction.passes, label=label)


def lane_sentences(one: Explanation) -> list[str]:
    """Return for each lane where it goes and for how long it waits.

    >>> from simulator.law.explaining import explain
    >>> lane_sentences(explain("LDS", [128 * lane for lane in range(32)]))[2]
    'Lane 2: byte 256, bank 0; wavefront 2 of 32, after 2 others'
    """
    seen: dict[int, list[tuple[int, int, int]]] = {}
    depths = {phase.index: len(phase.wavefronts) for phase in one.phases}
    for phase in one.phases:
        for number, wavefront in enumerate(phase.wavefronts):
            for served in wavefront:
                for lane in served.lanes:
                    seen.setdefault(lane, []).append((phase.index, number, served.bank))
    said = []
    for lane in range(len(one.addresses)):
        if lane not in seen:
            said.append(f"Lane {lane}: not active")
            continue
        address = one.addresses[lane]
        parts = []
        for index in dict.fromkeys(phase for phase, _, _ in seen[lane]):
            numbers = sorted({number for phase, number, _ in seen[lane] if phase == index})
            waits = numbers[-1] // one.instruction.passes
            of = f"phase {index}, " if len(depths) > 1 else ""
            after = f", after {plural(waits, 'other')}" if waits else ""
            parts.append(f"{of}wavefront {ranges(numbers)} of {depths[index]}{after}")
        banks = sorted({bank for _, _, bank in seen[lane]})
        whole = f"byte {address:,}" if one.width <= WORD else f"bytes {address:,} on"
        name = f"bank{'s' if len(banks) > 1 else ''} {ranges(banks)}"
        said.append(f"Lane {lane}: {whole}, {name}; {'; '.join(parts)}")
    return said


def beside(drawn: Sequence[Picture]) -> str:
    """Return pictures side by side, as HTML with its own style."""
    figures = [
        figure(
            picture.heading,
            [(name, table) for name, _, table in picture.tables()],
            code=picture.code,
            said=", ".join((picture.cost, *picture.notes)),
        )
        for picture in drawn
    ]
    return side_by_side(figures)
