"""The layouts of an array that are tried: paddings of its rows, XOR swizzles, and both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from layouts.tile import Tile
from simulator.errors import BankwiseError
from simulator.fixing.arrays import SharedArray
from simulator.law.accesses import SHARED_BYTES
from simulator.law.chips import Chip, instruction_on
from simulator.law.instructions import INSTRUCTIONS, Rule
from simulator.law.masks import active_table
from simulator.sass.lift.sites import MemorySite
from simulator.sass.run.witness import Touched
from simulator.search.accesses import Group
from simulator.search.swizzles import Found, Swizzles, TileProblem, best_layout

__all__ = ["Candidate", "Choice", "Kind", "choose"]

Kind = Literal["pad", "swizzle", "both", "tma"]
"""`both`: padding and a swizzle. `tma`: another mode of a tensor map."""

_LIMIT = 10_000_000  # accesses counted at most in one search, as for `optimize`
_MOST_PITCHES = 6
_ROW = 128  # bytes of a row of banks
_MOST_PAD = 128  # bytes: beyond a row of banks, paddings repeat


@dataclass(frozen=True, eq=False)
class Candidate:
    """A layout of an array."""

    kind: Kind
    tile: Tile
    element: int
    """Bytes of what the tile counts."""
    table: NDArray[np.int64]
    """Where each byte of the array lies in it."""
    pitch: int
    """Bytes from row to row, before."""
    natural: bool = True
    """Whether every access is of one of these units."""
    mode: int | None = None
    """Bytes of the span of TMA's swizzle, 0 for none; None: TMA does not fill it."""
    is_compiled: bool = False
    """Whether the source is compiled with it, for its accesses become others then."""

    @property
    def bytes(self) -> int:
        """Bytes that the array takes."""
        used = int(self.table.max(initial=-1)) + 1
        return max(used, self.tile.elements * self.element) if self.tile.pad else used


@dataclass(frozen=True, eq=False)
class Choice:
    """What a search found for an array."""

    candidates: tuple[Candidate, ...]
    """Better than what there is, the best first."""
    proved: bool
    """Whether none of the family is better, or none of any kind."""
    text: str
    """How that is known."""


def choose(
    array: SharedArray, touched: Touched, sites: Sequence[MemorySite], rule: Rule,
    chip: Chip | None, step: int = 1,
) -> Choice:  # fmt: skip
    """Search the layouts of an array for the least bank conflicts of its accesses.

    Parameters
    ----------
    array
        What is laid out.
    touched, sites
        All accesses of the launch, and the instructions that made them.
    rule, chip
        By which they are counted.
    step
        Bytes of which a padding is a multiple.
    """
    return _Search(array, touched, sites, rule, chip, step).choice()


class _Search:
    def __init__(
        self, array: SharedArray, touched: Touched, sites: Sequence[MemorySite], rule: Rule,
        chip: Chip | None, step: int,
    ) -> None:  # fmt: skip
        self.array, self.rule, self.chip = array, rule, chip
        self.sites = [sites[number] for number in touched.sites[array.rows].tolist()]
        self.places = array.within(touched.places[array.rows])
        self.masks, self.weights = touched.masks[array.rows], touched.weights[array.rows]
        ops = [site.op for site in self.sites]
        self.left = sorted(
            {
                op or site.instruction.opcode
                for op, site in zip(ops, self.sites, strict=True)
                if op not in INSTRUCTIONS
            }
        )
        self.widest = max((site.width for site in self.sites), default=4)
        self.element = self._element()
        self.groups = tuple(
            self._group(op) for op in sorted({op for op in ops if op in INSTRUCTIONS}, key=str)
        )
        self.skipped: Counter[str] = Counter()
        # Bulk copies need their bytes side by side, in pieces of 16.
        self.bulk = [
            (int(array.within(np.array([each.start]))[0]), each.size)
            for each in array.units
            if each.kind == "bulk"
        ]
        step = max((16 if self.bulk else step) // self.element, 1)
        self.pads = range(0, _MOST_PAD // self.element + 1, step)
        # An element of the source, such as a structure, may be several of these.
        declared = self.array.declared.element if self.array.declared else None
        of_source = (declared or self.element) // self.element
        self.whole_pads = range(0, self.pads.stop, lcm(step, max(of_source, 1)))

    def _element(self) -> int:
        """Return the bytes that a layout moves at least together."""
        declared = self.array.declared.element if self.array.declared else None
        bits = self.widest | self.array.size | int(np.bitwise_or.reduce(self.places, axis=None))
        for site in self.sites:
            bits |= site.width
        unit = min(bits & -bits, 16)
        if declared and declared & (declared - 1) == 0:
            return min(unit, declared)
        return min(unit, 4)

    def _group(self, op: str | None) -> Group:
        known = instruction_on(self.chip, op or "")
        rows = np.array([site.op == op for site in self.sites])
        places = self.places[rows] // self.element
        lanes = known.lanes
        masks = self.masks[rows]
        active = active_table(masks)
        active[:, lanes:] = False
        places = np.where(active, places, 0)
        whole = np.full(int(rows.sum()), 0xFFFFFFFF, dtype=np.uint32)
        masks = masks if lanes == 32 and not known.is_matrix else whole
        joined = np.column_stack([places, masks.astype(np.int64)])
        unique, where = np.unique(joined, axis=0, return_inverse=True)
        weights = np.bincount(where.ravel(), weights=self.weights[rows]).astype(np.int64)
        return Group(str(op), known, unique[:, :32], unique[:, 32].astype(np.uint32), weights)

    # ---- Structure. ----------------------------------------------------------------------------
    def pitches(self) -> list[int]:
        """List what a row may be in bytes, the likeliest first."""
        declared = self.array.declared
        if declared is not None and declared.has_rows:
            return [(declared.sizes[-1] or 1) * (declared.element or 1)]
        found: Counter[int] = Counter()
        for group in self.groups:
            active = group.active
            for step in (1, 2, 4, 8, 16):
                apart = np.abs(group.places[:, step:] - group.places[:, :-step]) * self.element
                both = active[:, step:] & active[:, :-step]
                weights = np.broadcast_to(group.weights[:, None], apart.shape)
                sizes, where = np.unique(apart[both], return_inverse=True)
                for size, often in zip(
                    sizes.tolist(), np.bincount(where.ravel(), weights=weights[both]), strict=True
                ):
                    found[size] += int(often)
        half = self.array.bytes // 2
        listed = [
            size
            for size, _ in found.most_common()
            if self.widest < size <= half and size % self.widest == 0 and size >= 16
        ][: _MOST_PITCHES - 1]
        return list(dict.fromkeys([*listed, *([_ROW] if half >= _ROW else [])]))

    # ---- Search. -------------------------------------------------------------------------------
    def choice(self) -> Choice:
        if not self.groups:
            said = f"{', '.join(self.left)}: what it costs was never measured, or is a loop"
            return Choice((), False, f"Not searched. {said}.")
        found: dict[tuple[Kind, bool], tuple[Found, int]] = {}
        searched, proved, now, least = [], True, 0, 0
        pitches = self.pitches()
        for pitch in pitches:
            best = self._best(pitch, self.pads, "none")
            least, now = best.lower_bound, self._now
            if self.whole_pads != self.pads:
                self._offer(found, "pad", self._best(pitch, self.whole_pads, "none"), pitch, True)
            self._offer(found, "pad", best, pitch)
        whole, parts = found.get(("pad", True)), found.get(("pad", False))
        if whole and parts and whole[0].cost <= parts[0].cost:
            del found["pad", False]
        if pitches:
            searched.append(
                f"paddings of up to {_MOST_PAD} bytes per row of {_either(pitches)} bytes"
            )
        no_xor = bool(self.bulk)  # it would part what a bulk copy keeps together
        powers = [each for each in pitches if each & (each - 1) == 0]
        for pitch in [] if no_xor else powers[:1] or [0]:
            best = self._best(pitch, (0,), "xor")
            least, now = best.lower_bound, self._now
            proved &= best.proved
            searched.append("XOR swizzles" if best.proved else "XOR swizzles of one term")
            self._offer(found, "swizzle", best, pitch)
        if not no_xor and min([now, *(each.cost for each, _ in found.values())]) > least:
            for pitch in pitches[:1]:
                best = self._best(pitch, self.pads, "xor")
                searched.append("both together, of one term")
                proved &= best.proved
                self._offer(found, "both", best, pitch)
        cost = min([now, *(each.cost for each, _ in found.values())])
        candidates = sorted(
            (
                (each.cost, place, self._candidate(kind, each, pitch))
                for place, ((kind, _), (each, pitch)) in enumerate(found.items())
                if each.cost < now
            ),
            key=lambda each: each[:2],
        )
        if cost == least:
            return Choice(
                _whole(candidates), not self.left, self._left("No layout of any kind has fewer."),
            )  # fmt: skip
        family = f"These were tried, and have no fewer bank conflicts: {', '.join(searched)}."
        if not proved:
            family += " This is not a proof: not all swizzles of several terms were tried."
        return Choice(_whole(candidates), proved and not self.left, self._left(family))

    def _left(self, text: str) -> str:
        if not self.left:
            return text
        return f"{text} Not compared: {', '.join(self.left)}, whose cost is known only after a run."

    def _best(self, pitch: int, pads: Sequence[int], swizzles: Swizzles) -> Found:
        count = self.array.bytes // self.element
        cols = pitch // self.element if pitch else count
        shape = (-(-count // cols), cols) if pitch else (1, count)
        question = TileProblem(
            self.groups, shape, self.element, pads, swizzles, "bank_conflicts", self.rule, _LIMIT
        )
        plain = TileProblem(
            self.groups, shape, self.element, (0,), "none", "bank_conflicts", self.rule, _LIMIT
        )
        self._now = best_layout(plain).cost
        found = best_layout(question)
        self.skipped.update(found.skipped)
        return found

    def _offer(
        self, found: dict[tuple[Kind, bool], tuple[Found, int]], kind: Kind, best: Found,
        pitch: int, is_whole: bool = False,
    ) -> None:  # fmt: skip
        """Take what was found, where it is better; `is_whole`: a padding of whole elements."""
        if best.layout is None or best.cost >= self._now:
            return
        if kind == "both" and not (best.layout.pad and best.layout.xors):
            return
        before = found.get((kind, is_whole))
        if (before is None or best.cost < before[0].cost) and self._keeps(best.layout):
            found[kind, is_whole] = best, pitch

    def _keeps(self, tile: Tile) -> bool:
        """Whether what a lane accesses stays together, and all stays in shared memory."""
        if tile.elements * self.element > SHARED_BYTES:
            return False
        for group in self.groups:
            wide = group.instruction.width // self.element
            first, last = tile.offset(group.places), tile.offset(group.places + wide - 1)
            if (last - first != wide - 1)[group.active].any():
                return False
        for start, size in self.bulk:
            inside = tile.offset(np.arange(start // self.element, (start + size) // self.element))
            if (np.diff(inside) != 1).any():
                return False
        return True

    def _candidate(self, kind: Kind, found: Found, pitch: int) -> Candidate:
        tile = found.layout
        if tile is None:  # an offer has a layout
            raise BankwiseError("a layout that was found is missing")
        bytes_ = np.arange(self.array.bytes)
        table = tile.offset(bytes_ // self.element) * self.element + bytes_ % self.element
        natural = self.widest == self.element
        return Candidate(kind, tile, self.element, table, pitch or self.array.bytes, natural)


def _whole(found: list[tuple[int, int, Candidate]]) -> tuple[Candidate, ...]:
    return tuple(candidate for _, _, candidate in found)


def _either(values: Sequence[int]) -> str:
    return " or ".join(map(str, values))
