"""XOR swizzles of linear accesses: costs in closed form, and a proof that none is better.

Write a byte address as bits: 0-6 choose the place in a row of 32 banks, the others the row. A
swizzle XORs onto the lower bits a linear function M of the upper ones,

    bank(v) = low(v) ^ M·high(v)          over GF(2), where v is an address

and an access is *linear* when each lane bit adds (by XOR) a fixed vector to its addresses. Then
every phase reads a translate of one space V, all banks are queued on alike, and

    wavefronts of a phase = 2^(dim V - rank of bank on V)

for vectors cut to the access width. So an access costs what a rank says, and the rank only depends
on M at high(V). That allows a proof over spaces far too large to enumerate: fix M on one basis
vector of the upper bits after the other. A vector of V whose bank is known to depend on those
before it has lost its rank for good. So costs only grow along a branch, and a branch that has
already reached the best known cost is left. What is visited in the end covers all
2^(targets·sources) swizzles. Pairs of accesses that cannot both be served best give a lower bound
beforehand, which often makes the visit short or needless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import or_

import numpy as np
from numpy.typing import NDArray

from layouts import gf2
from layouts.term import Term
from simulator.errors import SearchError
from simulator.law import specification
from simulator.law.closed_form import count_linear
from simulator.law.instructions import Instruction, Rule
from simulator.search.accesses import Group
from simulator.search.pricing import Objective, cost_of_served

__all__ = ["LinearAccess", "LinearProblem", "linear_problem"]

_ROW_BITS = 7  # a row of 32 banks of 4 bytes
_MOST_NODES = 10_000_000  # ten seconds or so
_MOST_PAIRED = 40
_INFINITE = 1 << 62
_AT_ONCE = 1 << 18  # swizzles priced at once


@dataclass(frozen=True)
class LinearAccess:
    """An access whose lane bits XOR a column of bytes each onto its addresses."""

    instruction: Instruction
    columns: tuple[int, ...]
    """For each of the five lane bits."""
    weight: int
    space: tuple[int, ...]
    """A basis of V, the differences of addresses in a phase, cut to the access width."""
    dim: int
    """Of V; where lanes do not merge, the lane bits of a phase."""
    costs: tuple[int, ...]
    """The weighted cost by dim - rank."""

    @property
    def sources(self) -> int:
        """Bits above a row of banks that any column has."""
        return reduce(or_, self.columns) >> _ROW_BITS


@dataclass(frozen=True)
class LinearProblem:
    """Linear accesses to a tile of which every byte address has `bits` bits."""

    accesses: tuple[LinearAccess, ...]
    objective: Objective
    rule: Rule
    element_bits: int
    base: int
    """The lowest bit that may move: below it lie the bytes of one vector."""
    bits: int

    @property
    def layouts(self) -> int:
        """Swizzles in the whole family."""
        return 1 << (_ROW_BITS - self.base) * (self.bits - _ROW_BITS)

    def one_term(self) -> list[Term]:
        """List all swizzles of one term: any bits of a row, a fixed distance from their sources."""
        terms = []
        for shift in range(1, self.bits - self.base):
            targets = [
                1 << target - self.element_bits
                for target in range(self.base, _ROW_BITS)
                if _ROW_BITS <= target + shift < self.bits
            ]
            for size in range(1, len(targets) + 1):
                terms += [Term(shift, sum(chosen)) for chosen in combinations(targets, size)]
        return terms

    def columns(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        """Return each term's target mask for every source bit: (terms, source bits)."""
        columns = np.zeros((len(terms), self.bits - _ROW_BITS), dtype=np.int64)
        for number, term in enumerate(terms):
            for target in range(self.base, _ROW_BITS):
                if term.mask >> target - self.element_bits & 1:
                    columns[number, target + term.shift - _ROW_BITS] |= 1 << target
        return columns

    def terms(self, columns: Sequence[int]) -> tuple[Term, ...]:
        """Return the terms of a swizzle from its target masks, one for each distance."""
        masks: dict[int, int] = {}
        for source, mask in enumerate(columns):
            for target in range(self.base, _ROW_BITS):
                if mask >> target & 1:
                    shift = source + _ROW_BITS - target
                    masks[shift] = masks.get(shift, 0) | 1 << target - self.element_bits
        return tuple(Term(shift, masks[shift]) for shift in sorted(masks))

    def price(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cost of each swizzle (rows of `columns`), by the closed form."""
        costs = np.zeros(len(columns), dtype=np.int64)
        for access in self.accesses:
            used = [bit for bit in range(columns.shape[1]) if access.sources >> bit & 1]
            for first in range(0, len(columns), _AT_ONCE):
                part = slice(first, first + _AT_ONCE)
                moved = np.empty((len(columns[part]), len(access.columns)), dtype=np.int32)
                for bit, column in enumerate(access.columns):
                    moved[:, bit] = column
                    for source in used:
                        if column >> _ROW_BITS + source & 1:
                            moved[:, bit] ^= columns[part, source].astype(np.int32)
                counted = count_linear(access.instruction, moved, rule=self.rule)
                costs[part] += access.weight * getattr(counted, self.objective).astype(np.int64)
        return costs

    def bounded(self) -> tuple[int, LinearProblem]:
        """Return a lower bound from pairs of accesses, and the problem with those pairs first.

        Two accesses may want different things of the same bits. What a pair costs at least,
        beyond the two alone, adds up over pairs that share no access.
        """
        by_weight = sorted(self.accesses, key=lambda each: -each.weight)
        paired, others = by_weight[:_MOST_PAIRED], by_weight[_MOST_PAIRED:]
        alone = [replace(self, accesses=(each,)).least(_INFINITE)[0] for each in by_weight]
        excess = []
        for first, second in combinations(range(len(paired)), 2):
            both = replace(self, accesses=(paired[first], paired[second]))
            least, _, proved = both.least(_INFINITE, enough=alone[first] + alone[second])
            if proved and least > alone[first] + alone[second]:
                excess.append((least - alone[first] - alone[second], first, second))
        bound, leading = sum(alone), list[int]()
        for more, first, second in sorted(excess, key=lambda each: -each[0]):
            if first not in leading and second not in leading:
                bound += more
                leading += [first, second]
        trailing = [number for number in range(len(paired)) if number not in leading]
        ordered = (*(paired[number] for number in (*leading, *trailing)), *others)
        return bound, replace(self, accesses=ordered)

    def least(
        self, best: int, *, enough: int = 0, prune: bool = True, most: int = _MOST_NODES
    ) -> tuple[int, tuple[Term, ...] | None, bool]:
        """Find the least cost below `best` among all swizzles of the family.

        Returns it with terms that reach it (None where no swizzle undercuts `best`), and
        whether that is proved: False only after `most` nodes. Without `prune`, every swizzle
        that differs on these accesses is visited. It stops at a cost that is `enough`.
        """
        from simulator.search.bound import explore

        basis = gf2.basis([v >> _ROW_BITS for access in self.accesses for v in access.space])
        depth, many = len(basis), len(self.accesses)
        start = np.zeros((many, _ROW_BITS), dtype=np.int64)
        low, coordinates = np.zeros((2, depth, many), dtype=np.int64)
        coordinates -= 1
        lost = np.zeros(many, dtype=np.int64)
        table = np.zeros((many, 6), dtype=np.int64)
        for number, access in enumerate(self.accesses):
            table[number, : len(access.costs)] = access.costs
            lost[number] = access.dim - len(access.space)
            # In echelon form no two vectors become known at the same depth.
            known, banks = gf2.Echelon(), gf2.Echelon()
            for vector in access.space:
                # The basis is one of all spaces: there are coordinates.
                place = gf2.coordinates(basis, vector >> _ROW_BITS) or 0
                place, bank = known.add(place, vector & (1 << _ROW_BITS) - 1)
                if not place:
                    lost[number] += not banks.add(bank)[0]
            for bit, (bank, _) in banks.rows.items():
                start[number, bit - 1] = bank
            for bit, (place, bank) in known.rows.items():
                coordinates[bit - 1, number], low[bit - 1, number] = place, bank
        if not depth:
            cost = int(table[np.arange(many), lost].sum())
            return (cost, (), True) if cost < best else (best, None, True)
        cost, masks, nodes = explore(
            start, lost, low, coordinates, table, self.base, best, (enough, most), prune
        )
        if not len(masks):
            return best, None, nodes <= most
        return int(cost), self.terms(self._unit_columns(basis, masks.tolist())), nodes <= most

    def _unit_columns(self, basis: list[int], masks: list[int]) -> list[int]:
        """Turn M on a basis of some sources into M on each source bit (0 on the rest)."""
        sources = self.bits - _ROW_BITS
        full = list(basis)
        for bit in range(sources):
            if gf2.coordinates(full, 1 << bit) is None:
                full.append(1 << bit)
        columns = []
        for bit in range(sources):
            place, mask = gf2.coordinates(full, 1 << bit) or 0, 0
            for number, value in enumerate(masks):
                mask ^= value if place >> number & 1 else 0
            columns.append(mask)
        return columns


def linear_problem(
    groups: Sequence[Group], size: int, element: int, objective: Objective, rule: Rule
) -> LinearProblem | None:
    """Set the problem up for a tile of `size` elements; None where some access is not linear.

    Linear needs all lanes, places that follow lane bits by XOR, and aligned vectors. The element
    size is a power of two, and the tile is of whole rows of banks; and an instruction whose phases
    are regular, as the built-in ones are.
    """
    element_bits = element.bit_length() - 1
    if 1 << element_bits != element or size * element % (1 << _ROW_BITS):
        return None
    accesses: list[LinearAccess] = []
    base = max(2, element_bits)
    for group in groups:
        known = group.instruction
        base = max(base, known.width.bit_length() - 1)
        lane_bits = known.lanes.bit_length() - 1
        lanes = np.arange(known.lanes)
        places = group.places[:, : known.lanes] * element
        vectors = places[:, [1 << bit for bit in range(lane_bits)]] ^ places[:, :1]
        linear = np.broadcast_to(places[:, :1], places.shape)
        for bit in range(lane_bits):
            linear = linear ^ np.where(lanes >> bit & 1, vectors[:, bit, None], 0)
        if (
            not known.is_regular
            or (linear != places).any()
            or (places % known.width).any()
            or (group.masks != 0xFFFFFFFF).any()
            or int(np.bitwise_or.reduce(vectors, axis=None)) + known.width > known.shared_bytes
        ):
            return None
        alike: dict[tuple[int, ...], int] = {}
        for each, weight in zip(vectors.tolist(), group.weights.tolist(), strict=True):
            alike[tuple(each)] = alike.get(tuple(each), 0) + weight
        for each, weight in alike.items():
            phases = known.phases
            if known.fuses and rule == "silicon" and 0 in each[:2]:  # partners i^1, i^2
                phases = len(known.fused_lanes)
            unit = max(known.width, specification.WORD)
            space = [] if not phases else each[: (known.lanes // phases).bit_length() - 1]
            dims = len(space)
            space = gf2.basis([vector // unit * unit for vector in space])
            if known.merges:
                dims = len(space)
            costs = [
                weight * cost_of_served(known, phases, phases << lost, phases, objective)
                for lost in range(dims + 1)
            ]
            accesses.append(
                LinearAccess(
                    known, (*each, *[0] * (5 - lane_bits)), weight, tuple(space), dims, tuple(costs)
                )
            )
    if sum(access.costs[-1] for access in accesses) >= _INFINITE:
        raise SearchError("weights add up to more than 64 bits (accepted: smaller weights)")
    return LinearProblem(
        tuple(accesses), objective, rule, element_bits, base,
        max((size * element - 1).bit_length(), _ROW_BITS),
    )  # fmt: skip
