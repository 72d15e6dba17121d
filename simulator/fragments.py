"""`simulate`: the shared-memory reads that one warp of a GEMM kernel makes for one k step.

A block computes BM×BN elements of C. For each k it holds a column of A (BM elements) and a
row of B (BN elements) in shared memory; every thread reads the TM elements of A and the TN
elements of B that its thread tile needs: its fragments. Which lanes read what follows from
the warp's shape and lane order; where it lies follows from the tile's layout.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import LayoutError, accepted
from layouts.fragment import fragment_elements
from layouts.shapes import Shape, is_integer, parse_shape, shape_text
from layouts.swizzle import Swizzle, SwizzleLike
from layouts.tile import Tile
from layouts.warp import LaneOrder, WarpLayout
from simulator.accesses import SHARED_BYTES, WarpAccess
from simulator.counting import Counts, OptionError, check_rule, count, n_way
from simulator.explanation import Explanation, explain
from simulator.tables import Result

__all__ = ["A_LAYOUTS", "LDS_WIDTHS", "Fragment", "FragmentReport", "simulate"]

LDS_WIDTHS = (32, 64, 128)
"""Bits that a lane reads with one instruction."""

A_LAYOUTS = ("transposed", "row-major")
"""`transposed`: A lies as BK rows of BM elements. `row-major`: as BM rows of BK elements."""

_LOADS = {1: "LDS.U8", 2: "LDS.U16", 4: "LDS", 8: "LDS.64", 16: "LDS.128"}


class _Figures(ABC):
    """The sums that a fragment and a whole report have in common."""

    @abstractmethod
    def _counts(self) -> list[Counts]: ...

    @property
    def instructions(self) -> int:
        """Instructions that the warp issues."""
        return sum(counts.wavefronts.size for counts in self._counts())

    @property
    def wavefronts(self) -> int:
        """Wavefronts of all instructions."""
        return sum(int(counts.wavefronts.sum()) for counts in self._counts())

    @property
    def bank_conflicts(self) -> int:
        """Wavefronts beyond one a (non-empty) phase."""
        return sum(int(counts.bank_conflicts.sum()) for counts in self._counts())

    @property
    def ideal(self) -> int:
        """Wavefronts that the bytes alone would need, as the profiler reckons."""
        return sum(int(counts.ideal.sum()) for counts in self._counts())

    @property
    def excessive(self) -> int:
        """Wavefronts beyond the ideal."""
        return self.wavefronts - self.ideal

    @property
    def cycles(self) -> int:
        """Cycles that the pipe is busy."""
        return sum(int(counts.cycles.sum()) for counts in self._counts())

    @property
    def n_way(self) -> float:
        """Wavefronts an instruction."""
        return n_way(self.wavefronts, self.instructions)


@dataclass(frozen=True, eq=False)
class Fragment(_Figures):
    """The reads of one operand's fragment, one instruction after the other."""

    name: str
    """"A" or "B"."""
    op: str
    accesses: tuple[WarpAccess, ...]
    counts: Counts
    """One entry an access."""
    rule: str
    tile: Tile
    """Where the operand lies in shared memory, from byte 0 on."""

    def _counts(self) -> list[Counts]:
        return [self.counts]

    def explain(self) -> list[Explanation]:
        """Explain each access."""
        return [explain(*access, rule=self.rule) for access in self.accesses]

    @property
    def reason(self) -> str:
        """Why the fragment costs what it costs, by its most expensive instruction."""
        worst = max(self.explain(), key=lambda explanation: explanation.wavefronts)
        return f"{self.instructions} {self.op}. {worst.reason}"


@dataclass(frozen=True, eq=False)
class FragmentReport(_Figures, Result):
    """What `simulate` found; `report["A"]` and `report["B"]` are the fragments."""

    warp_shape: str
    lds: int
    thread_tile: str
    block_tile: str
    lane_order: LaneOrder
    fragment: str
    a_layout: str
    pad: tuple[int, int]
    swizzle: tuple[Swizzle | None, Swizzle | None]
    element: int
    rule: str
    k_step: int
    """The k step reported: 0, unless k steps differ; then the first of the most expensive."""
    fragments: tuple[Fragment, Fragment]
    notes: tuple[str, ...]
    """What a reader might not expect of these parameters."""

    def __getitem__(self, name: str) -> Fragment:
        for fragment in self.fragments:
            if fragment.name == name:
                return fragment
        raise OptionError(f"no fragment {name!r} (accepted: A, B)")

    def _counts(self) -> list[Counts]:
        return [fragment.counts for fragment in self.fragments]

    @property
    def title(self) -> str:
        """The geometry in a line."""
        order = self.lane_order if isinstance(self.lane_order, str) else "given lane order"
        parts = [
            f"{self.warp_shape} warp, {order}",
            f"{self.thread_tile} thread tile, {self.fragment}",
            f"{self.block_tile} block tile of {self.element}-byte elements",
            f"A {self.a_layout}",
        ]
        if any(self.pad):
            parts.append(f"padding {self.pad[0]} and {self.pad[1]}")
        if any(self.swizzle):
            parts.append(f"swizzle {self.swizzle[0]} and {self.swizzle[1]}")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Give `{"fragments": {column: list}, "totals": {…}}`."""
        figures = ("instructions", "wavefronts", "ideal", "excessive", "bank_conflicts", "n_way")
        columns = ("fragment", "op", *figures, "cycles")
        return {
            "fragments": {
                "fragment": [fragment.name for fragment in self.fragments],
                **{
                    column: [getattr(fragment, column) for fragment in self.fragments]
                    for column in columns[1:]
                },
            },
            "totals": {column: getattr(self, column) for column in columns[2:]},
        }

    def _repr_html_(self) -> str:
        from simulator.notebook import bank_table

        # The most expensive access of each fragment; all of them would bury the notebook.
        pictures = (
            f"<p>{fragment.name}: {fragment.reason}</p>"
            + bank_table(max(fragment.explain(), key=lambda each: each.wavefronts))
            for fragment in self.fragments
        )
        return super()._repr_html_() + "".join(pictures)


def simulate(
    warp_shape: Shape = "4x8",
    lds: int = 128,
    *,
    thread_tile: Shape = "8x8",
    block_tile: Shape = "128x128x8",
    lane_order: LaneOrder = "col-major",
    fragment: str = "contiguous",
    a_layout: str = "transposed",
    pad: int | tuple[int, int] = (0, 0),
    swizzle: SwizzleLike | tuple[SwizzleLike | None, SwizzleLike | None] | None = None,
    element: int = 4,
    rule: str = "silicon",
) -> FragmentReport:
    """Count the shared-memory reads of warp 0 for one k step of a tiled GEMM.

    Shapes are rows×columns (M×N, and M×N×K for the block tile), `lds` is the width of a load
    in bits (32, 64, 128), `element` the bytes of an element (4, 2, 1). `pad` (elements after
    each row) and `swizzle` (on element offsets, after padding) are one value for both tiles or
    a pair (A, B). `lane_order` is "row-major", "col-major", "z-order", or 32 integers, entry l
    being row·C + col of lane l. `fragment` is "contiguous" or "split" (two half tiles, half a
    warp tile apart). `a_layout` is "transposed" (BK rows of BM) or "row-major" (BM rows of BK).

    >>> report = simulate("4x8", 128)
    >>> report["A"].wavefronts, report["B"].wavefronts, report.bank_conflicts
    (8, 4, 0)

    Every k step of the tile is checked and counted. Raises LayoutError for a geometry that
    does not exist or a load that would be misaligned or wider than a thread's contiguous
    run, OptionError for an unknown rule or choice; both are BankwiseError.
    """
    check_rule(rule)
    if lds not in LDS_WIDTHS or not is_integer(lds):
        raise OptionError(f"lds {lds!r} is not a load width in bits (accepted: 32, 64, 128)")
    if element not in (1, 2, 4) or not is_integer(element):
        raise OptionError(f"element {element!r} is not a size in bytes (accepted: 4, 2, 1)")
    if a_layout not in A_LAYOUTS:
        raise OptionError(f"unknown a_layout {a_layout!r}: {accepted(a_layout, A_LAYOUTS)}")
    warp = WarpLayout.of(warp_shape, lane_order)
    thread_m, thread_n = parse_shape(thread_tile, "MN", "thread tile")
    block_m, block_n, block_k = parse_shape(block_tile, "MNK", "block tile")
    pads = _pair_of_pads(pad)
    swizzles = _pair_of_swizzles(swizzle)

    notes = []
    tile_m, tile_n = max(block_m, warp.rows * thread_m), max(block_n, warp.cols * thread_n)
    if (tile_m, tile_n) != (block_m, block_n):
        notes.append(
            f"The warp tile is {warp.rows * thread_m}x{warp.cols * thread_n}, so the block tile is"
            f" taken as {shape_text((tile_m, tile_n, block_k))}."
        )
    transposed = a_layout == "transposed"
    tiles = (
        Tile(*((block_k, tile_m) if transposed else (tile_m, block_k)), pads[0], swizzles[0]),
        Tile(block_k, tile_n, pads[1], swizzles[1]),
    )
    _check_space(tiles, element, block_tile, pads)

    steps = np.arange(block_k)[:, None, None]
    lanes = np.array(warp.coordinates)
    a_elements = np.array(fragment_elements(warp.rows, thread_m, fragment))[lanes[:, 0]]
    b_elements = np.array(fragment_elements(warp.cols, thread_n, fragment))[lanes[:, 1]]
    if transposed:
        a_offsets = tiles[0].offset(steps, a_elements[None])
    else:
        a_offsets = tiles[0].offset(a_elements[None], steps)
    b_offsets = tiles[1].offset(steps, b_elements[None])

    a_width = b_width = lds // 8
    if not transposed and (thread_m == 1 or tiles[0].leading_dimension > 1):
        a_width = element
        notes.append(
            "A is row-major: a thread's elements of A are not neighbours, so they are read one"
            f" at a time ({_LOADS[element]})."
        )
    a_addresses = _loads("A", a_offsets, a_width, element)
    b_addresses = _loads("B", b_offsets, b_width, element)
    a_counts = count(_LOADS[a_width], a_addresses, rule=rule)
    b_counts = count(_LOADS[b_width], b_addresses, rule=rule)

    by_step = a_counts.wavefronts.sum(axis=1) + b_counts.wavefronts.sum(axis=1)
    step = int(by_step.argmax())
    if by_step.min() < by_step.max():
        notes.append(
            f"The k steps differ: {by_step.min()} to {by_step.max()} wavefronts. This is k step"
            f" {step}, the most expensive."
        )
    return FragmentReport(
        warp_shape=shape_text((warp.rows, warp.cols)),
        lds=int(lds),
        thread_tile=shape_text((thread_m, thread_n)),
        block_tile=shape_text((block_m, block_n, block_k)),
        lane_order=lane_order if isinstance(lane_order, str) else warp.positions,
        fragment=fragment,
        a_layout=a_layout,
        pad=pads,
        swizzle=swizzles,
        element=int(element),
        rule=rule,
        k_step=step,
        fragments=(
            _fragment("A", _LOADS[a_width], a_addresses[step], a_counts[step], rule, tiles[0]),
            _fragment("B", _LOADS[b_width], b_addresses[step], b_counts[step], rule, tiles[1]),
        ),
        notes=tuple(notes),
    )


def _loads(name: str, offsets: NDArray[np.int64], width: int, element: int) -> NDArray[np.int64]:
    """Byte addresses of each load: offsets (k, lane, element) → (k, load, lane)."""
    steps, lanes, size = offsets.shape
    each = width // element  # elements a load takes
    op = _LOADS[width]
    if size % each:
        raise LayoutError(
            f"{op} reads {each} elements of {element} bytes, but a thread has {size} of {name}"
            f" (accepted: a narrower lds, or a thread tile with a multiple of {each})"
        )
    groups = offsets.reshape(steps, lanes, size // each, each)
    if (groups != groups[..., :1] + np.arange(each)).any():
        raise LayoutError(
            f"{op} reads {each} neighbouring elements of {name}, but the thread's elements do not"
            " lie side by side (accepted: a narrower lds, a longer contiguous run of the fragment,"
            f" or a swizzle with base M of at least {each.bit_length() - 1})"
        )
    addresses = groups[..., 0] * element
    off = np.argwhere(addresses % width)
    if len(off):
        step, lane, load = off[0]
        raise LayoutError(
            f"{op} of {name} would be misaligned: byte {addresses[step, lane, load]} for lane"
            f" {lane} in k step {step} is no multiple of {width} (accepted: a pad that keeps rows"
            f" at multiples of {each} elements, or a narrower lds)"
        )
    return addresses.transpose(0, 2, 1)


def _fragment(
    name: str, op: str, addresses: NDArray[np.int64], counts: Counts, rule: str, tile: Tile
) -> Fragment:
    accesses = tuple(WarpAccess(op, tuple(lanes)) for lanes in addresses.tolist())
    return Fragment(name, op, accesses, counts, rule, tile)


def _check_space(
    tiles: tuple[Tile, Tile], element: int, block_tile: Shape, pads: tuple[int, int]
) -> None:
    needed = element * sum(tile.rows * tile.leading_dimension for tile in tiles)
    if needed > SHARED_BYTES:
        raise LayoutError(
            f"block tile {block_tile!r} with padding {pads} needs {needed} bytes of shared memory"
            f" (accepted: up to {SHARED_BYTES}, 227 KiB)"
        )


def _pair_of_pads(pad: int | tuple[int, int]) -> tuple[int, int]:
    pair = pad if isinstance(pad, Sequence) else (pad, pad)
    pads = [int(value) for value in pair if is_integer(value) and value >= 0]
    if len(pads) != 2 or len(pair) != 2:
        raise LayoutError(
            f"pad {pad!r} is not a number of elements (accepted: 0, 1, 2, ..., or a pair (A, B))"
        )
    return pads[0], pads[1]


def _pair_of_swizzles(
    swizzle: SwizzleLike | tuple[SwizzleLike | None, SwizzleLike | None] | None,
) -> tuple[Swizzle | None, Swizzle | None]:
    # A pair has two entries, a triple (B, M, S) three.
    pair: Any = (swizzle, swizzle)
    if isinstance(swizzle, Sequence) and not isinstance(swizzle, str) and len(swizzle) == 2:
        pair = swizzle
    first, second = (None if one is None else Swizzle.of(one) for one in pair)
    return first, second
