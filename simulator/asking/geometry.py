"""The verdict on a warp geometry, and the least change of it that costs fewer cycles."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from layouts.errors import plural
from simulator.asking.pictures import Picture
from simulator.asking.words import Verdict, verdict
from simulator.errors import BankwiseError
from simulator.gemm.geometry import Geometry
from simulator.gemm.simulate import Fragment, FragmentReport, simulate
from simulator.law.explaining import Explanation

__all__ = ["geometry_pictures", "geometry_verdict", "remedy", "worst_of"]

_MOST_PAD = 8  # elements after a row
_ORDERS = ("row-major", "col-major", "z-order")


def geometry_verdict(report: FragmentReport) -> Verdict:
    """Return whether the reads conflict, by the fragment that loses most.

    >>> geometry_verdict(simulate("4x8")).text
    'Conflict-free: A takes 8 wavefronts, B 4, and no layout takes fewer'
    """
    first, second = report.fragments
    if not report.bank_conflicts:
        text = (
            f"Conflict-free: {first.name} takes {plural(first.wavefronts, 'wavefront')},"
            f" {second.name} {second.wavefronts:,}, and no layout takes fewer"
        )
        if report.excessive:
            text = text.partition(", and")[0]
        return Verdict("free", text)
    part = max(report.fragments, key=lambda each: (each.excessive, each.bank_conflicts))
    found = verdict(worst_of(part))
    times = "" if part.instructions == 1 else f", in each of {part.instructions} {part.op}"
    alike = len(set(part.counts.wavefronts.ravel().tolist())) == 1
    return Verdict(found.level, f"{part.name}: {found.text}{times if alike else ''}")


def worst_of(part: Fragment) -> Explanation:
    """Return the explanation of a fragment's most expensive instruction."""
    return max(part.explain(), key=lambda one: (one.bank_conflicts, one.wavefronts))


def remedy(report: FragmentReport) -> FragmentReport | None:
    """Return the geometry with the least change that takes the fewest cycles; None for none.

    Tried are paddings of each operand of up to 8 elements, fragments in two halves, and the
    orders of lanes; a padding is the least change, an order the greatest.
    """
    if not report.bank_conflicts:
        return None
    best: tuple[tuple[int, ...], FragmentReport] | None = None
    for changed in _changes(report.geometry):
        try:
            found = simulate(**{name: getattr(changed, name) for name in vars(changed)})
        except BankwiseError:  # it does not exist, or its loads would be misaligned
            continue
        key = (found.cycles, *_size(report.geometry, changed))
        if found.cycles < report.cycles and (best is None or key < best[0]):
            best = key, found
    return None if best is None else best[1]


def _changes(geometry: Geometry) -> Iterator[Geometry]:
    step = geometry.lds // 8 // geometry.element
    pads = [0] if any(geometry.layout) else [*range(0, _MOST_PAD + 1, max(step, 1))]
    orders: list[Any] = [
        geometry.lane_order,
        *(each for each in _ORDERS if each != geometry.lane_order),
    ]
    for order, fragment, pad_a, pad_b in product(orders, ("contiguous", "split"), pads, pads):
        pad = (pad_a, pad_b) if pad_a or pad_b else geometry.pad
        changes: dict[str, Any] = {"lane_order": order, "fragment": fragment, "pad": pad}
        try:
            yield replace(geometry, **changes)
        except BankwiseError:
            continue


def _size(before: Geometry, after: Geometry) -> tuple[int, ...]:
    changed = [
        getattr(before, name) != getattr(after, name) for name in ("lane_order", "fragment", "pad")
    ]
    return (*map(int, changed), sum(after.pad))


def command_of(before: Geometry, after: Geometry) -> str:
    """Return the options of `bankwise simulate` that make the one geometry the other."""
    words = []
    if after.lane_order != before.lane_order:
        words += ["--lane-order", str(after.lane_order)]
    if after.fragment != before.fragment:
        words += ["--fragment", str(after.fragment)]
    if after.pad != before.pad:
        words += ["--pad", f"A={after.pad[0]},B={after.pad[1]}"]
    return shlex.join(words)


def geometry_pictures(report: FragmentReport, found: FragmentReport | None) -> list[Picture]:
    """Return the worst instruction of each fragment, then the same with the remedy."""
    drawn = [Picture("As given", _parts(report))]
    if found is not None:
        left = plural(found.bank_conflicts, "bank conflict") if found.bank_conflicts else ""
        saved = f"{found.cycles:,} cycles instead of {report.cycles:,}"
        drawn.append(
            Picture(
                "Cure" if report.excessive else "Cheaper",
                _parts(found),
                code=command_of(report.geometry, found.geometry),
                notes=(saved, f"leaves {left}" if left else "conflict-free"),
            )
        )
    return drawn


def _parts(report: FragmentReport) -> tuple[tuple[str, Explanation], ...]:
    return tuple(
        (f"{part.name}: {part.op}, the worst of {part.instructions}", worst_of(part))
        if part.instructions > 1
        else (f"{part.name}: {part.op}", worst_of(part))
        for part in report.fragments
    )
