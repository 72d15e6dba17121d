"""The pictures of an answer: its worst warp as it was asked, and with each cure."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from layouts.errors import plural
from simulator.asking.answer import Answer, leaves, operations_of, size_of
from simulator.asking.cure import explained
from simulator.law.explaining import Explanation, ranges
from simulator.law.specification import WORD
from simulator.results.html import bank_table

__all__ = ["Picture", "lane_sentences", "notebook", "pictures", "with_banks"]

_KINDS = {"pad": "Pad", "swizzle": "Swizzle", "layout": "Lay as"}


@dataclass(frozen=True)
class Picture:
    """One access, and what is said of it."""

    heading: str
    explanation: Explanation
    warp: int | None = None
    """Number of the warp; None where there is but one."""
    code: str = ""
    """What to write for it; empty for the access as it was asked."""
    notes: tuple[str, ...] = ()
    """What it costs."""
    is_cure: bool = False

    @property
    def cost(self) -> str:
        """Its wavefronts, and of which warp."""
        which = "" if self.warp is None else f", warp {self.warp}"
        return f"{plural(self.explanation.wavefronts, 'wavefront')}{which}"

    def table(self) -> str:
        """Return its banks as HTML."""
        return with_banks(self.explanation, f"{self.heading}: {self.cost}")


def pictures(answer: Answer) -> list[Picture]:
    """Return the access as it was asked, then with each cure, both for their worst warp."""
    several = len(answer.warps.wavefronts) > 1
    found = [Picture("As written", answer, answer.warp if several else None)]
    for cure in answer.cures:
        if answer.asked is None:  # addresses have no layout to cure
            break
        warp, one = explained(answer.asked, cure, answer.rule)
        notes = (
            size_of(cure),
            operations_of(cure),
            leaves(cure, len(answer.warps.wavefronts)),
        )
        found.append(
            Picture(
                _KINDS[cure.kind],
                one,
                warp if several else None,
                cure.text,
                tuple(filter(None, notes)),
                is_cure=True,
            )
        )
    return found


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


def notebook(answer: Answer) -> str:
    """Return the pictures as HTML that a notebook shows without JavaScript, side by side."""
    if not answer.wavefronts:
        return ""
    figures = "".join(_figure(one) for one in pictures(answer))
    return f'{_STYLE}<div class="bankwise-pictures">{figures}</div>'


def _figure(picture: Picture) -> str:
    code = f"<code>{escape(picture.code)}</code>" if picture.code else ""
    notes = f" <small>{escape(', '.join(picture.notes))}</small>" if picture.notes else ""
    head = f"<b>{escape(picture.heading)}</b> {code} <small>{escape(picture.cost)}</small>{notes}"
    return f"<figure><figcaption>{head}</figcaption>{picture.table()}</figure>"


_ROOT = ".bankwise-pictures"
_STYLE = (
    "<style>"
    f"{_ROOT}{{display:flex;flex-wrap:wrap;gap:8px 24px;align-items:flex-start}}"
    f"{_ROOT} figure{{margin:0;flex:1 1 420px;min-width:0}}"
    f"{_ROOT} table{{border-collapse:separate;border-spacing:1px;table-layout:fixed;width:100%;"
    "max-width:640px;margin:4px 0;font-size:10px}"
    f"{_ROOT} col.begin{{width:56px}}"
    f"{_ROOT} th,{_ROOT} td{{padding:0!important;height:11px;line-height:11px;text-align:center;"
    "overflow:hidden;white-space:nowrap;border:0;font-weight:400}"
    f"{_ROOT} tbody td{{background:rgba(128,128,128,.16)}}"
    f"{_ROOT} .large td,{_ROOT} .large tbody th{{height:22px;line-height:22px}}"
    "</style>"
)
