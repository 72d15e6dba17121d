"""From a result to the accesses that its pictures show, and the words for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from layouts.errors import accepted, plural
from layouts.tile import Tile
from simulator.gemm.simulate import OPERANDS, FragmentReport, Operand
from simulator.law.explaining import Explanation
from viz.errors import DrawError

__all__ = ["ROWS", "Strip", "Strips", "strips"]

ROWS = 64
"""Wavefronts that a picture shows at most; what is left out is said below its title."""


@dataclass(frozen=True)
class Strip:
    """One access, and how it is called where there are several."""

    heading: str
    explanation: Explanation


@dataclass(frozen=True)
class Strips:
    """Accesses to draw one below the other."""

    strips: Sequence[Strip]
    subject: str
    """What they are."""
    cost: str
    """What they cost."""
    left_out: str
    """A sentence on the accesses that did not fit; often empty."""
    tile: Tile | None
    element: int

    @property
    def finding(self) -> str:
        """What they cost, in a line: a title."""
        return f"{self.subject}: {self.cost}"


def strips(result: object, fragment: Operand | None = None) -> Strips:
    """Take an Explanation, or a FragmentReport's fragments (or one of them), as accesses.

    Raises DrawError for anything else.
    """
    if isinstance(result, Explanation):
        if fragment is not None:
            raise DrawError(
                f"fragment {fragment!r} is of a warp tile, and this is one access (accepted: None)"
            )
        said = ", ".join(filter(None, (result.op, *_law(result))))
        return Strips([Strip("", result)], said, _cost(result), "", result.tile, result.element)
    if not isinstance(result, FragmentReport):
        raise DrawError(
            f"{type(result).__name__} has no accesses to draw (accepted: what explain and"
            " simulate return)"
        )
    if fragment not in (None, *OPERANDS):
        raise DrawError(f"no fragment {fragment!r}: {accepted(fragment, OPERANDS)}")
    chosen = [result[fragment]] if fragment else list(result.fragments)
    every = [
        Strip(f"{part.name}, {part.op} {number + 1} of {part.instructions}", explanation)
        for part in chosen
        for number, explanation in enumerate(part.explain())
    ]
    shown: list[Strip] = []
    rows = 0
    for strip in every:
        rows += strip.explanation.wavefronts
        if shown and rows > ROWS:
            break
        shown.append(strip)
    left_out = len(every) - len(shown)
    order = result.lane_order if isinstance(result.lane_order, str) else "given lane order"
    ops = " and ".join(dict.fromkeys(part.op for part in chosen))
    names = " and ".join(part.name for part in chosen)
    cost = _cost(result[fragment] if fragment else result)
    shape = result.warp_shape.replace("x", "×")
    return Strips(
        shown,
        ", ".join(filter(None, (ops, f"{shape} {order}", *_choices(result), names))),
        cost,
        f"The first {len(shown)} of {len(every)} instructions are drawn." if left_out else "",
        chosen[0].tile if len(chosen) == 1 else None,
        result.element,
    )


def _choices(report: FragmentReport) -> list[str]:
    """Name what is not as `simulate` has it by default, so that titles tell reports apart."""
    pads, swizzles = report.pad, report.swizzle
    return [
        "" if report.fragment == "contiguous" else f"{report.fragment}",
        "" if report.a_layout == "transposed" else f"A {report.a_layout}",
        f"padding {pads[0]} and {pads[1]}" if any(pads) else "",
        f"swizzle {swizzles[0]} and {swizzles[1]}" if any(swizzles) else "",
        f"layout {report.layout[0]} and {report.layout[1]}" if any(report.layout) else "",
        *_law(report),
    ]


def _law(result: Explanation | FragmentReport) -> tuple[str, str]:
    """Name the rule and the chip where they are not what `count` has by default."""
    rule = "" if result.rule == "silicon" else f"{result.rule} rule"
    return rule, "" if result.chip is None else str(result.chip)


def _cost(figures: Any) -> str:
    conflicts = plural(figures.bank_conflicts, "bank conflict") if figures.bank_conflicts else ""
    said = [plural(figures.wavefronts, "wavefront"), f"{figures.ideal:,} ideal", conflicts]
    return ", ".join(filter(None, said))
