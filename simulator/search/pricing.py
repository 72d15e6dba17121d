"""What a layout costs, what no layout can undercut, and the three figures that can be minimised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from layouts.errors import accepted
from layouts.tile import Tile
from simulator.errors import OptionError
from simulator.law import specification
from simulator.law.counting import FIGURES, Counts, count
from simulator.law.instructions import Instruction, Rule
from simulator.search.accesses import Group

__all__ = [
    "OBJECTIVES",
    "Objective",
    "check_objective",
    "cost_of_served",
    "counts_of",
    "lower_bound",
    "misfit",
    "price",
    "recount",
]

Objective = Literal["cycles", "wavefronts", "bank_conflicts"]
"""What can be minimised."""

OBJECTIVES: tuple[Objective, ...] = get_args(Objective)

_AT_ONCE = 1 << 16  # accesses counted in one call


def check_objective(objective: str) -> None:
    """Raise OptionError unless it is one of OBJECTIVES."""
    if objective not in OBJECTIVES:
        raise OptionError(f"unknown objective {objective!r}: {accepted(objective, OBJECTIVES)}")


def misfit(groups: Iterable[Group], layout: Tile, element: int) -> str | None:
    """Say why the chip could not run these accesses with this layout; None if it can."""
    needed = layout.elements * element
    groups = tuple(groups)
    most = min(group.instruction.shared_bytes for group in groups)
    if needed > most:
        return f"more than {most} bytes of shared memory"
    for group in groups:
        width = group.instruction.width
        addresses = layout.offset(group.places) * element
        if (addresses % width)[group.active].any():
            return f"{group.instruction.name} misaligned"
        written = sum(term.mask for term in layout.xors)
        if written % (width // element):
            return f"{group.instruction.name} split by the swizzle"
        if addresses.max() + width > most:
            return f"more than {most} bytes of shared memory"
    return None


def counts_of(group: Group, layout: Tile, element: int, rule: Rule) -> Counts:
    """Count the accesses of a group under a layout that fits them."""
    return count(group.instruction, layout.offset(group.places) * element, _masks(group), rule=rule)


def price(
    groups: Sequence[Group],
    layouts: Sequence[Tile],
    element: int,
    objective: Objective,
    rule: Rule,
) -> NDArray[np.int64]:
    """Return the weighted cost of each layout; all of them fit."""
    costs = np.zeros(len(layouts), dtype=np.int64)
    for group in groups:
        masks, each = _masks(group), max(1, _AT_ONCE // len(group.places))
        for first in range(0, len(layouts), each):
            part = layouts[first : first + each]
            addresses = np.stack([layout.offset(group.places) for layout in part]) * element
            counted = count(
                group.instruction,
                addresses,
                None if masks is None else np.broadcast_to(masks, addresses.shape[:2]),
                rule=rule,
            )
            costs[first : first + each] += getattr(counted, objective) @ group.weights
    return costs


def recount(
    groups: Sequence[Group], layout: Tile, element: int, objective: Objective, rule: Rule
) -> int:
    """Return the cost of a layout by the law in pure Python, the specification."""
    total = 0
    for group in groups:
        addresses = layout.offset(group.places) * element
        counted = count(group.instruction, addresses, _masks(group), rule=rule, engine="python")
        total += sum(
            value * weight
            for value, weight in zip(
                getattr(counted, objective).tolist(), group.weights.tolist(), strict=True
            )
        )
    return total


def lower_bound(
    groups: Sequence[Group], element: int, objective: Objective, rule: Rule, *, whole: int = 0
) -> int:
    """Return a cost such that no layout of any kind costs less.

    Lanes with equal places have equal addresses under any layout, and others have others. So
    every layout has the same phases, fused or not, and each phase must carry the same bytes,
    128 in a wavefront at most. And where a wide access reads or writes a vector, the layout
    must keep it whole and aligned: a word of it has only every second or fourth bank to lie in.

    With `whole` it is for layouts that move all of the tile in aligned vectors of so many bytes.
    """
    vectors = _vectors(groups, element)
    if whole > specification.WORD:
        for group in groups:
            for place in sorted(set(group.places.ravel().tolist())):
                vectors.setdefault(place, (whole, place * element % whole))
    total = 0
    for group in groups:
        for places, mask, weight in zip(
            group.places.tolist(), group.masks.tolist(), group.weights.tolist(), strict=True
        ):
            known = group.instruction
            active = set(specification.counted_lanes(known, mask))
            phases = specification.phases(known, places, mask, rule) if active else []
            served = [
                _least_served(known, [places[lane] for lane in lanes if lane in active],
                              vectors, element)
                for lanes in phases
            ]  # fmt: skip
            total += weight * cost_of_served(
                known, len(phases), sum(served), sum(map(bool, served)), objective
            )
    return total


def _vectors(groups: Iterable[Group], element: int) -> dict[int, tuple[int, int]]:
    """Map each place that an access wider than a word touches to its vector: (width, byte)."""
    vectors: dict[int, tuple[int, int]] = {}
    for group in sorted(groups, key=lambda each: each.instruction.width):
        width = group.instruction.width
        if width > specification.WORD:
            for first in sorted(set(group.places[group.active].tolist())):
                for place in range(first, first + width // element):
                    vectors[place] = width, (place - first) * element
    return vectors


def _least_served(
    instruction: Instruction,
    places: Sequence[int],
    vectors: dict[int, tuple[int, int]],
    element: int,
) -> int:
    row = specification.BANKS * specification.WORD
    unit = max(instruction.width, specification.WORD)
    least = specification.least_served(instruction, places, range(len(places)))
    if not instruction.merges:
        return least
    different = set(places)
    # By vector width and place in it: the units that compete for row / width places of a row.
    competing: dict[tuple[int, int], set[int]] = {}
    for place in different:
        width, byte = vectors.get(place, (0, 0))
        if width > unit:
            competing.setdefault((width, byte // unit), set()).add(place - byte // element)
    return max([least, *(-(-len(each) * width // row) for (width, _), each in competing.items())])


def cost_of_served(
    instruction: Instruction, phases: int, served: int, busy: int, objective: Objective
) -> int:
    """Return the objective of an access of which `busy` phases, of all `phases`, serve `served`."""
    # The number of active lanes matters to the ideal alone.
    figures = specification.figures(instruction, phases, served, busy, active=busy)
    return int(figures[FIGURES.index(objective)])


def _masks(group: Group) -> NDArray[np.uint32] | None:
    return None if (group.masks == 0xFFFFFFFF).all() else group.masks
