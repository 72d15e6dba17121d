"""Learning an instruction's law from a chip: which lanes share a phase, and when phases fuse.

Only costs are observed: for how many cycles the pipe is busy. The questions are put so that a
difference of one cycle answers them.

*Do lanes i and j share a phase?* All lanes read one word, but i and j read two words of another
bank. If they share a phase, that bank has two words to deliver and the access costs one cycle
more than its phases. All 496 pairs are asked.

*When do phases fuse?* Lanes read vectors of one row, side by side in the banks. Any phase then
costs one cycle, and the access as many cycles as it has phases. Vectors are drawn at random but for
one rule (lanes i and i^p agree), for all 31 p; if phases fuse, the cost halves. Then each pair of
partners is broken alone, the rule is changed half-way through the warp, and the broken pair's lanes
are masked. Fused phases are found by asking all pairs of pairs as above.

*Do lanes on one word cost one wavefront?* All on one word: then the access costs one wavefront per
phase, else one per lane.

If an instruction does not merge lanes on one word, the other lanes cost cycles, too. So only lanes
i and j are active. This answers only if idle phases cost nothing, or if counters are read.

Nothing here knows the built-in law; `infer_phases` takes any cost, the chip's or a model's.
`PhaseTable.of` writes the built-in law in the same terms, so that the two can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.errors import DiscoveryError
from gpu_check.probe.ops import probe_op
from simulator.law.accesses import ALL_LANES
from simulator.law.instructions import Groups, Instruction, instruction

__all__ = ["Cost", "PhaseTable", "infer_phases"]

Cost = Callable[[str, NDArray[np.uint32], NDArray[np.uint32]], NDArray[np.float64]]
"""Cycles of accesses: (instruction, addresses (n, 32), masks (n,)) → (n,)."""

_LANES = np.arange(32)
_ROW = 128  # bytes of all banks
_DRAWS = 4  # random vectors a rule is tried with
_ROUND = 0.45  # how far from a whole number a cost may be


@dataclass(frozen=True)
class PhaseTable:
    """What was learnt of an instruction. Lanes are listed in ascending order."""

    op: str
    phases: tuple[tuple[int, ...], ...]
    """Lanes served together, without fusing; lanes that play no part are in none."""
    fused: tuple[tuple[int, ...], ...]
    """The same where phases fuse; empty if they never do."""
    partners: tuple[int, ...]
    """Values p for which phases fuse when all lanes i and i^p agree."""
    whole_warp: bool
    """Whether one disagreeing pair anywhere keeps all phases apart."""
    idle_partners_agree: bool
    """Whether a pair with a masked lane counts as agreeing."""
    merges: bool
    """Whether lanes on one word cost one wavefront."""
    passes: int
    """Cycles that every wavefront takes."""

    @classmethod
    def of(cls, op: str | Instruction) -> PhaseTable:
        """Write the built-in law of an instruction as a table.

        >>> PhaseTable.of("LDS.64").fused == (tuple(range(32)),)
        True
        """
        known = instruction(op)
        return cls(
            op=known.name,
            phases=_sorted(known.phase_lanes),
            fused=_sorted(known.fused_lanes),
            partners=tuple(sorted(known.partners)) if known.fuses else (),
            whole_warp=known.fuses,
            idle_partners_agree=known.fuses,
            merges=known.merges,
            passes=known.passes,
        )

    def differences(self, other: PhaseTable) -> list[str]:
        """Say in what this table differs from another; empty if in nothing."""
        mine, others = asdict(self), asdict(other)
        return [
            f"{self.op}: {name} is {mine[name]}, not {others[name]}"
            for name in mine
            if mine[name] != others[name]
        ]

    def to_json(self, provenance: dict[str, Any]) -> str:
        """Write the table with where it comes from, to be kept or contributed."""
        return json.dumps({"table": asdict(self), "provenance": provenance}, indent=1)


def _sorted(groups: Groups) -> tuple[tuple[int, ...], ...]:
    return tuple(sorted(tuple(sorted(group)) for group in groups))


def infer_phases(
    op: str, *, device: int = 0, counters: bool = False, cost: Cost | None = None, seed: int = 1
) -> PhaseTable:
    """Learn an instruction's phases, their fusing, and whether it merges lanes on one word.

    Costs are cycles by the chip's clock, or with `counters` its count of wavefronts; a `cost` of
    your own (a model's, say) is asked instead of the chip.

    Raises what `measure` raises; DiscoveryError when the costs fit no table of this kind.
    """
    if cost is None:
        cost = _counters(device) if counters else _clocks(device)
    asked = _Questions(op, cost, np.random.default_rng(seed))
    merges, passes = asked.merges()
    if not passes:  # it leaves the pipe alone
        return PhaseTable(asked.op, (), (), (), False, False, False, 1)
    if not merges:
        phases = asked.lonely_pairs()
        return PhaseTable(asked.op, phases, (), (), False, False, merges, passes)
    phases = asked.phases()
    partners = asked.partners(phases)
    if not partners:
        return PhaseTable(asked.op, phases, (), (), False, False, merges, passes)
    fused = asked.fused(phases, partners)
    whole, idle = asked.breaking(phases, partners, len(fused))
    return PhaseTable(asked.op, phases, fused, partners, whole, idle, merges, passes)


def _clocks(device: int) -> Cost:
    from gpu_check.clocks import measure

    def cost(
        op: str, addresses: NDArray[np.uint32], masks: NDArray[np.uint32]
    ) -> NDArray[np.float64]:
        cycles = measure(op, addresses, masks, device=device).cycles
        assert cycles is not None  # noqa: S101 - measure always fills it
        return cycles

    return cost


def _counters(device: int) -> Cost:
    from gpu_check.counters import count_on_gpu

    def cost(
        op: str, addresses: NDArray[np.uint32], masks: NDArray[np.uint32]
    ) -> NDArray[np.float64]:
        wavefronts = count_on_gpu(op, addresses, masks, device=device).wavefronts
        assert wavefronts is not None  # noqa: S101 - count_on_gpu always fills it
        return wavefronts.astype(np.float64)

    return cost


class _Questions:
    """Accesses that ask, and what their costs say."""

    def __init__(self, op: str, cost: Cost, rng: np.random.Generator) -> None:
        self.op = probe_op(op).name
        self.unit = max(probe_op(op).width, 4)
        self.cost = cost
        self.rng = rng
        self.passes = 1

    def _ask(
        self, units: Sequence[NDArray[Any]], masks: Sequence[int] | None = None
    ) -> NDArray[np.int64]:
        addresses = (np.stack(list(units)) * self.unit).astype(np.uint32)
        bits = np.array(masks or [ALL_LANES] * len(addresses), dtype=np.uint32)
        costs = self.cost(self.op, addresses, bits)
        costs = costs / self.passes
        whole = np.rint(costs)
        odd = np.flatnonzero(np.abs(costs - whole) > _ROUND)
        if len(odd):
            raise DiscoveryError(
                f"{self.op}: an access costs {costs[odd[0]]:.2f} cycles, too far from a whole"
                " number to tell (next: keep other work off the GPU and try again)"
            )
        return whole.astype(np.int64)

    @property
    def _row(self) -> int:
        """Units from one row of the banks to the next."""
        return _ROW // self.unit

    def merges(self) -> tuple[bool, int]:
        """Whether lanes on one word cost one wavefront; and the passes of each (0: no cost)."""
        apart, together = self._ask([self._row * _LANES, 0 * _LANES])
        passes = -(-int(apart) // 32)
        self.passes = max(1, passes)  # and further costs are in wavefronts
        return bool(together < apart), passes

    def phases(self) -> tuple[tuple[int, ...], ...]:
        """Ask all pairs of lanes."""
        pairs = list(combinations(range(32), 2))
        rows = [self._apart([i], [j]) for i, j in pairs]
        # What an access costs whose lanes never collide; lanes i and i^1, i^2 disagree in it.
        quiet = min(costs := self._ask(rows).tolist())
        if len(set(costs)) == 1:  # all pairs collide: one phase
            return (tuple(range(32)),)
        return _cliques([pair for pair, cost in zip(pairs, costs, strict=True) if cost > quiet])

    def _apart(self, first: Sequence[int], second: Sequence[int]) -> NDArray[Any]:
        """All lanes on unit 0, but these on two units of the next slot."""
        row = 0 * _LANES
        row[list(first)] = self._row + 1
        row[list(second)] = 2 * self._row + 1
        return row

    def _quiet(self, count: int = _DRAWS) -> list[NDArray[Any]]:
        """Random units of one row of the banks: any phase costs one cycle."""
        return [self.rng.integers(0, self._row, 32) for _ in range(count)]

    def partners(self, phases: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
        """Values p for which the cost falls when all i, i^p agree."""
        if len(phases) < 2:
            return ()
        found = []
        for p in range(1, 32):
            agreeing = self._ask([_agreeing(row, p) for row in self._quiet()])
            if (agreeing < len(phases)).all():
                found.append(p)
        return tuple(found)

    def fused(
        self, phases: tuple[tuple[int, ...], ...], partners: tuple[int, ...]
    ) -> tuple[tuple[int, ...], ...]:
        """Ask pairs of agreeing pairs, with each partner: who collides when phases are fused."""
        collide = []
        for p in partners:
            pairs = sorted({tuple(sorted((lane, lane ^ p))) for lane in range(32)})
            couples = list(combinations(pairs, 2))
            rows = [self._apart(first, second) for first, second in couples]
            costs = self._ask(rows).tolist()
            quiet = min(costs)
            if len(set(costs)) == 1:
                return (tuple(range(32)),)
            for couple, cost in zip(couples, costs, strict=True):
                if cost > quiet:
                    lanes = sorted(couple[0] + couple[1])
                    collide += list(combinations(lanes, 2))
        return _cliques(collide)

    def breaking(
        self, phases: tuple[tuple[int, ...], ...], partners: tuple[int, ...], fused: int
    ) -> tuple[bool, bool]:
        """Whether any one pair that disagrees keeps all apart; and whether a mask heals it."""
        rows, healed = [], []
        for p in partners:
            for lane in range(32):
                row = _agreeing(self._quiet(1)[0], p)
                row[lane] = (row[lane] + 1) % self._row
                rows.append(row)
                healed.append(ALL_LANES & ~(1 << lane))
        # Half of the warp by one partner, half by another.
        mixed = [
            np.where(_LANES < 16, _agreeing(row, p), _agreeing(row, q))
            for p, q in combinations(partners, 2)
            for row in self._quiet()
        ]
        apart = self._ask(rows + mixed)
        whole = bool((apart == len(phases)).all())
        return whole, bool((self._ask(rows, healed) == fused).all())

    def lonely_pairs(self) -> tuple[tuple[int, ...], ...]:
        """Ask all pairs of lanes alone, each on a slot of its own: together they cost one."""
        pairs = list(combinations(range(32), 2))
        row = _LANES % self._row
        rows = []
        for i, j in pairs:
            units = row.copy()
            units[j] = (units[i] + 1) % self._row
            rows.append(units)
        # Two lanes on one slot cost more than one lane, unless idle phases hide it.
        alone, twice = self._ask([row, self._row * _LANES], [1, 3]).tolist()
        costs = self._ask(rows, [1 << i | 1 << j for i, j in pairs]).tolist()
        together = min(costs)
        if together == max(costs) == alone < twice:
            return (tuple(range(32)),)
        if together == max(costs):
            raise DiscoveryError(
                f"{self.op} does not merge lanes on one word, and its idle phases take cycles:"
                " clocks cannot tell its phases apart (next: give infer_phases the counters, as"
                " `bankwise gpu-check --counters on` does)"
            )
        return _cliques([pair for pair, cost in zip(pairs, costs, strict=True) if cost == together])


def _agreeing(row: NDArray[Any], p: int) -> NDArray[Any]:
    """Return units in which lanes i and i^p have that of the lower of them."""
    agreeing: NDArray[Any] = row[np.minimum(_LANES, _LANES ^ p)]
    return agreeing


def _cliques(pairs: list[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Group lanes that share a phase, pair by pair.

    Raises DiscoveryError unless sharing is transitive.
    """
    near = {lane: {lane} for lane in range(32)}
    for i, j in pairs:
        near[i].add(j)
        near[j].add(i)
    groups = {tuple(sorted(lanes)) for lanes in near.values() if len(lanes) > 1}
    if sum(map(len, groups)) != len(set().union(*groups)):
        raise DiscoveryError(
            f"the phases of lanes contradict each other: {sorted(groups)} (next: please report it,"
            " with the chip; this law has no table of this kind)"
        )
    return tuple(sorted(groups))
