"""The best layout of one tile: paddings, XOR swizzles, and both, for accesses that are fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from layouts.errors import accepted
from layouts.swizzle import Swizzle
from layouts.term import Term
from layouts.tile import Tile
from simulator.errors import SearchError
from simulator.law.instructions import Rule
from simulator.law.specification import BANKS, WORD
from simulator.search.accesses import Group
from simulator.search.linear import LinearProblem, linear_problem
from simulator.search.pricing import Objective, lower_bound, misfit, price
from simulator.search.tile import TileLayout

__all__ = [
    "Found",
    "Swizzles",
    "TileProblem",
    "best_layout",
    "price_all",
    "read_swizzles",
    "single_terms",
]

Family = Literal["none", "cute", "xor"]
"""`cute`: none or one Sw<B,M,S>. `xor`: XOR any higher bits onto any bits of a 128-byte row."""

FAMILIES: tuple[Family, ...] = get_args(Family)

Swizzles = Family | tuple[Swizzle | None, ...]

# Operations: each term takes an XOR and, but for one of them (row ^ col), a shift.
_LEAST_OF_TWO = 3
_SEVERAL = "XOR swizzles of several terms"
_MOST_TOGETHER = 2_000_000  # swizzles of several terms


@dataclass(frozen=True, eq=False)
class TileProblem:
    """Accesses to a tile, and what is asked of its layouts."""

    groups: Sequence[Group]
    shape: tuple[int, int]
    element: int
    pads: Sequence[int]
    swizzles: Swizzles
    objective: Objective
    rule: Rule
    limit: int
    """Warp accesses that are counted at most to enumerate layouts."""

    @property
    def accesses(self) -> int:
        """Warp accesses that are counted for each layout."""
        return sum(len(group.places) for group in self.groups)


@dataclass
class Found:
    """The best layout so far, and what is known about the others."""

    lower_bound: int
    """No layout of any kind costs less."""
    layout: Tile | None = None
    cost: int = 0
    layouts: int = 0
    """Layouts that are known to be no better."""
    counted: int = 0
    """Warp accesses that were counted, once for each layout."""
    proved: bool = True
    """Whether that is the whole family."""
    skipped: Counter[str] = field(default_factory=Counter)
    families: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Families that were too large to enumerate."""

    def key(self) -> tuple[int, ...]:
        """Order layouts: cost, bytes, operations; then the plainest, so that runs agree."""
        return _key(self.layout, self.cost) if self.layout else (1 << 62,)

    @property
    def operations(self) -> int:
        """Operations of the best layout."""
        return self.layout.operations if self.layout else 0

    def offer(self, layouts: Sequence[Tile], costs: Sequence[int]) -> None:
        """Take the best of these, if it is better; count them all."""
        self.layouts += len(layouts)
        # Operations are slow to find out: only for layouts that cost no more than the best.
        best, least = min(costs, default=1 << 62), self.key()
        for layout, cost in zip(layouts, costs, strict=True):
            able = cost == best and (self.layout is None or cost <= self.cost)
            if able and (key := _key(layout, cost)) < least:
                self.layout, self.cost, least = layout, cost, key


def _key(layout: Tile, cost: int) -> tuple[int, ...]:
    written = sum(term.mask.bit_count() for term in layout.xors)
    plain = [value for term in layout.xors for value in (term.shift, term.mask)]
    return cost, layout.elements, layout.operations, len(layout.xors), written, *plain


def read_swizzles(given: object) -> Swizzles:
    """Read a family's name, or swizzles (Swizzle, triple, text or None).

    Raises SearchError for another name or an empty list, LayoutError for what is not a swizzle.
    """
    if isinstance(given, str):
        if given not in FAMILIES:
            raise SearchError(
                f"unknown swizzles {given!r}: {accepted(given, FAMILIES)}, or a list such as"
                " [None, 'Sw<3,3,3>']"
            )
        return FAMILIES[FAMILIES.index(given)]
    listed = tuple(given) if isinstance(given, Sequence) else ()
    if not listed:
        raise SearchError(
            f"{given!r} is not a choice of swizzles (accepted: {', '.join(FAMILIES)}, or a list"
            " such as [None, 'Sw<3,3,3>'])"
        )
    return tuple(None if one is None else Swizzle.of(one) for one in listed)


def best_layout(question: TileProblem) -> Found:
    """Search paddings from the least, and stop where more bytes can gain nothing.

    The result has no layout where none fits the accesses.
    """
    least = lower_bound(question.groups, question.element, question.objective, question.rule)
    found = Found(least)
    for pad in sorted(question.pads):
        if found.layout is not None and found.cost == least:
            break  # no layout costs less, and this one takes fewer bytes
        _with_pad(question, pad, found)
    return found


def _with_pad(question: TileProblem, pad: int, found: Found) -> None:
    plain = TileLayout(*question.shape, pad)
    why = misfit(question.groups, plain, question.element)
    if why:
        found.skipped[why] += 1
        return
    if isinstance(question.swizzles, str) or None in question.swizzles:
        price_all(question, [plain], found)
    if question.swizzles == "none" or found.key()[:3] == (found.lower_bound, plain.elements, 0):
        return
    if not isinstance(question.swizzles, str):
        price_all(question, list(_given(question, question.swizzles, plain, found)), found)
    elif question.swizzles == "cute":
        _within_limit(question, list(_layouts(plain, _cute(plain, question))), found, "Sw<B,M,S>")
    elif pad:
        terms = single_terms(plain, question)
        _within_limit(question, list(_layouts(plain, terms)), found, "one XOR term and padding")
    else:
        _xor(question, plain, found)


def price_all(question: TileProblem, layouts: Sequence[Tile], found: Found) -> None:
    """Count these layouts and keep the best."""
    costs = price(question.groups, layouts, question.element, question.objective, question.rule)
    found.counted += len(layouts) * question.accesses
    found.offer(layouts, costs.tolist())


def _within_limit(
    question: TileProblem, layouts: Sequence[Tile], found: Found, family: str
) -> None:
    if len(layouts) * question.accesses > question.limit:
        found.proved = False
        if family not in found.left:
            found.left.append(family)
        return
    price_all(question, layouts, found)


def _xor(question: TileProblem, plain: Tile, found: Found) -> None:
    """Search all XOR swizzles: few terms first, then a proof over all of them."""
    linear = linear_problem(
        question.groups, plain.elements, question.element, question.objective, question.rule
    )
    if linear is None:
        layouts = list(_layouts(plain, single_terms(plain, question)))
        _within_limit(question, layouts, found, "one XOR term")
        if len({layout.xors[0].shift for layout in layouts}) < 2:
            return  # there are no several
        # Swizzles leave the bytes of a vector together, touched by a wide access or not.
        widest = max(group.instruction.width for group in question.groups)
        if found.cost > lower_bound(
            question.groups, question.element, question.objective, question.rule, whole=widest
        ):
            found.proved = False
            found.left.append(_SEVERAL)
        return
    others = found.layouts - 1  # the plain layout is one of the family
    ones = linear.one_term()
    columns = linear.columns(ones)
    if ones:
        costs = linear.price(columns)
        found.counted += len(columns) * len(linear.accesses)
        best = np.flatnonzero(costs == costs.min()).tolist()
        _offer_linear(plain, [(ones[one],) for one in best], int(costs.min()), found)
    if found.cost > found.lower_bound or found.operations > _LEAST_OF_TWO:
        _several_terms(linear, plain, ones, columns, 2, found)
    if found.cost > found.lower_bound:
        bound, ordered = linear.bounded()
        cost, terms, proved = found.cost, None, True
        if cost > bound:
            cost, terms, proved = ordered.least(cost, enough=bound)
        if not proved:
            found.proved = False
            found.left.append(_SEVERAL)
        if terms is not None:
            found.offer([TileLayout(*question.shape, terms=terms)], [cost])
            for many in range(3, max(3, len(terms)) + 1):  # as cheap, with fewer operations
                _several_terms(linear, plain, ones, columns, many, found)
                if found.layout is not None and len(found.layout.xors) <= many:
                    break
    found.layouts = others + linear.layouts


def _several_terms(
    linear: LinearProblem,
    plain: Tile,
    ones: Sequence[Term],
    columns: NDArray[np.int64],
    many: int,
    found: Found,
) -> None:
    """Try all swizzles of so many terms, of different shifts, unless they are too many."""
    if comb(len(ones), many) > _MOST_TOGETHER:
        return
    shifts = np.array([one.shift for one in ones])
    chosen = np.array(list(combinations(range(len(ones)), many)), dtype=np.int64)
    if not len(chosen):
        return
    # Terms are listed by ascending shift.
    chosen = chosen[(np.diff(shifts[chosen], axis=1) > 0).all(axis=1)]
    if not len(chosen):
        return
    costs = linear.price(np.bitwise_or.reduce(columns[chosen], axis=1))
    found.counted += len(chosen) * len(linear.accesses)
    terms = [tuple(ones[one] for one in each) for each in chosen[costs == costs.min()].tolist()]
    _offer_linear(plain, terms, int(costs.min()), found)


def _offer_linear(plain: Tile, terms: Sequence[tuple[Term, ...]], cost: int, found: Found) -> None:
    found.offer(
        [TileLayout(plain.rows, plain.cols, terms=each) for each in terms], [cost] * len(terms)
    )


def _layouts(plain: Tile, terms: Iterator[Term]) -> Iterator[Tile]:
    """Return the layouts that these terms make, where they make one."""
    for term in terms:
        try:
            yield TileLayout(plain.rows, plain.cols, plain.pad, (term,))
        except SearchError:
            continue


def _bits(plain: Tile, question: TileProblem) -> tuple[int, int, int]:
    """Return the lowest bit of a place that may move, the end of a row of banks, and the end."""
    widest = max(group.instruction.width for group in question.groups)
    low = (max(widest, WORD) // question.element).bit_length() - 1
    row = (BANKS * WORD // question.element).bit_length() - 1
    return max(low, 0), row, (plain.rows * plain.cols - 1).bit_length()


def single_terms(plain: Tile, question: TileProblem) -> Iterator[Term]:
    """List terms of any bits within a row of banks, fed from above it.

    With padding, rows of the tile are not rows of banks, so they are fed from any higher bits.
    """
    low, row, end = _bits(plain, question)
    for shift in range(1, end - low):
        first = low if plain.pad else row
        targets = [1 << bit for bit in range(low, row) if first <= bit + shift < end]
        for size in range(1, len(targets) + 1):
            for chosen in combinations(targets, size):
                mask = sum(chosen)
                if not mask << shift & mask:
                    yield Term(shift, mask)


def _cute(plain: Tile, question: TileProblem) -> Iterator[Term]:
    low, row, end = _bits(plain, question)
    for base in range(low, row):
        for bits in range(1, row - base + 1):
            for shift in range(bits, end - base - bits + 1):
                yield Term(shift, (1 << bits) - 1 << base)


def _given(
    question: TileProblem, swizzles: Sequence[Swizzle | None], plain: Tile, found: Found
) -> Iterator[Tile]:
    for swizzle in swizzles:
        if swizzle is None or swizzle.bits == 0:
            continue  # the plain layout
        if swizzle.shift < 0:
            raise SearchError(f"{swizzle} is not searched (accepted: shifts S of at least B)")
        term = Term(swizzle.shift, (1 << swizzle.bits) - 1 << swizzle.base)
        try:
            layout = TileLayout(plain.rows, plain.cols, plain.pad, (term,))
        except SearchError:
            found.skipped[f"{swizzle} has blocks that do not divide the tile"] += 1
            continue
        why = misfit(question.groups, layout, question.element)
        if why:
            found.skipped[why] += 1
        else:
            yield layout
