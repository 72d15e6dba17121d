"""The loads of a geometry: the byte addresses of A's and B's reads in every k step, and their cost.

`simulate` counts those of one geometry, a sweep those of many together, which spares NumPy's
fixed cost of a call for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from layouts.errors import LayoutError
from layouts.fragment import FragmentKind, fragment_elements
from layouts.shapes import parse_shape, shape_text
from layouts.tile import Tile
from layouts.warp import LaneOrder, WarpLayout
from simulator.gemm.geometry import Geometry
from simulator.law.accesses import SHARED_BYTES
from simulator.law.counting import FIGURES, Counts, count
from simulator.results.columns import COSTS

__all__ = ["Loads", "OperandLoads", "Step", "count_loads", "totals"]

_OPS = {1: "LDS.U8", 2: "LDS.U16", 4: "LDS", 8: "LDS.64", 16: "LDS.128"}

_WAVEFRONTS = FIGURES.index("wavefronts")


class OperandLoads(NamedTuple):
    """The loads of one operand's fragment."""

    op: str
    addresses: NDArray[np.int64]
    """Bytes, shape (k steps, loads, 32)."""
    tile: Tile
    """Where the operand lies in shared memory."""


@dataclass(frozen=True, eq=False)
class Loads:
    """What a geometry's warp reads, not counted yet."""

    geometry: Geometry
    operands: tuple[OperandLoads, OperandLoads]
    """Of A and of B."""
    notes: tuple[str, ...]
    """What a reader might not expect of these parameters."""

    @classmethod
    def of(cls, geometry: Geometry) -> Loads:
        """Return all loads of a geometry.

        Raises LayoutError where its parameters do not fit each other: too large a tile, a load
        that would be misaligned, or wider than a thread's contiguous run.
        """
        warp, lane_rows, lane_cols = _warp(geometry.warp_shape, geometry.lane_order)
        thread_m, thread_n = _sizes(geometry.thread_tile)
        block_m, block_n, block_k = _sizes(geometry.block_tile)
        element, transposed = geometry.element, geometry.a_layout == "transposed"
        notes = []
        warp_m, warp_n = warp.rows * thread_m, warp.cols * thread_n
        tile_m, tile_n = max(block_m, warp_m), max(block_n, warp_n)
        if (tile_m, tile_n) != (block_m, block_n):
            notes.append(
                f"The warp tile is {warp_m}x{warp_n}, so the block tile is"
                f" taken as {shape_text((tile_m, tile_n, block_k))}."
            )
        a_shape = (block_k, tile_m) if transposed else (tile_m, block_k)
        tiles = _tile(0, a_shape, geometry), _tile(1, (block_k, tile_n), geometry)
        _check_space(tiles, geometry)
        for name, tile in zip("AB", tiles, strict=True):
            unswizzled = tile.elements
            if tile.size > unswizzled:
                notes.append(
                    f"The swizzle {tile.swizzle} moves elements of {name} past its"
                    f" {unswizzled * element} bytes: the tile needs {tile.size * element}."
                )

        steps = np.arange(block_k)[:, None, None]
        a_elements = _edge(warp.rows, thread_m, geometry.fragment)[lane_rows]
        b_elements = _edge(warp.cols, thread_n, geometry.fragment)[lane_cols]
        if transposed:
            a_offsets = tiles[0].offset(steps, a_elements[None])
        else:
            a_offsets = tiles[0].offset(a_elements[None], steps)
        b_offsets = tiles[1].offset(steps, b_elements[None])

        a_width = b_width = geometry.lds // 8
        if not transposed and not _neighbours(a_offsets, tiles[0], a_width // element):
            a_width = element
            notes.append(
                "A is row-major: a thread's elements of A are not neighbours, so they are read one"
                f" at a time ({_OPS[element]})."
            )
        operands = (
            OperandLoads(_OPS[a_width], _addresses("A", a_offsets, a_width, geometry), tiles[0]),
            OperandLoads(_OPS[b_width], _addresses("B", b_offsets, b_width, geometry), tiles[1]),
        )
        return cls(geometry, operands, tuple(notes))


class Step(NamedTuple):
    """The k step that stands for a geometry: the first of those with most wavefronts."""

    number: int
    counts: tuple[Counts, Counts]
    """Of A's loads and of B's, an entry for each load."""
    least: int
    """Wavefronts of the cheapest k step."""
    most: int
    """Wavefronts of this one."""


def totals(counts: Sequence[Counts]) -> dict[str, int | float]:
    """Return the sums over the loads of several operands, by figure.

    All lanes of a load are active, so each instruction is a request.
    """
    sums = Counts(np.concatenate([each.figures for each in counts], axis=1)).totals()
    figures = (*COSTS, "n_way", "cycles")
    return {"instructions": sums["requests"], **{name: sums[name] for name in figures}}


def count_loads(several: Sequence[Loads]) -> list[Step]:
    """Count all k steps of several geometries, and choose the step that stands for each.

    All loads of one instruction, rule and chip are counted in one call.
    """
    parts = [
        (number, operand, operands, (operands.op, loads.geometry.rule, loads.geometry.chip))
        for number, loads in enumerate(several)
        for operand, operands in enumerate(loads.operands)
    ]
    figures: dict[tuple[int, int], NDArray[np.uint8]] = {}
    for law in dict.fromkeys(part[3] for part in parts):
        op, rule, chip = law
        alike = [part for part in parts if part[3] == law]
        flat = np.concatenate([part[2].addresses.reshape(-1, 32) for part in alike])
        counts = count(op, flat, rule=rule, chip=chip)
        start = 0
        for number, operand, operands, _ in alike:
            shape = operands.addresses.shape[:2]
            stop = start + shape[0] * shape[1]
            figures[number, operand] = counts.figures[:, start:stop].reshape(-1, *shape)
            start = stop
    return [_step(figures[number, 0], figures[number, 1]) for number in range(len(several))]


def _step(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> Step:
    """Choose the k step from A's and B's figures, shapes (figures, k steps, loads)."""
    wavefronts = first[_WAVEFRONTS].sum(axis=1, dtype=np.int64)
    wavefronts += second[_WAVEFRONTS].sum(axis=1, dtype=np.int64)
    number = int(wavefronts.argmax())
    counts = Counts(first[:, number]), Counts(second[:, number])
    return Step(number, counts, int(wavefronts.min()), int(wavefronts[number]))


@lru_cache(maxsize=256)
def _sizes(shape: str) -> tuple[int, ...]:
    return parse_shape(shape, "MNK"[: shape.count("x") + 1], "tile")


@lru_cache(maxsize=256)
def _warp(shape: str, order: LaneOrder) -> tuple[WarpLayout, NDArray[np.int64], NDArray[np.int64]]:
    """Return the layout, and the row and the column of every lane."""
    warp = WarpLayout.of(shape, order)
    rows, cols = np.divmod(np.array(warp.positions, dtype=np.int64), warp.cols)
    return warp, rows, cols


@lru_cache(maxsize=256)
def _edge(threads: int, size: int, kind: FragmentKind) -> NDArray[np.int64]:
    """Return the positions of each thread's elements along an edge, (threads, size)."""
    return np.array(fragment_elements(threads, size, kind))


def _tile(operand: int, shape: tuple[int, int], geometry: Geometry) -> Tile:
    """Return where A (0) or B (1) lies."""
    pad, swizzle = geometry.pad[operand], geometry.swizzle[operand]
    given = geometry.layout[operand]
    if given is None:
        return Tile(*shape, pad, swizzle, element=geometry.element)
    if pad or swizzle:
        raise LayoutError(
            f"{'AB'[operand]} has layout {given}, and padding {pad} and swizzle {swizzle} beside it"
            " (accepted: a layout that includes them)"
        )
    return _laid(given, shape, geometry.element)


@lru_cache(maxsize=256)
def _laid(given: Tile | str, shape: tuple[int, int], element: int) -> Tile:
    tile = Tile.of(given, shape).sized(element)
    tile.check_inside()
    return tile


def _neighbours(offsets: NDArray[np.int64], tile: Tile, each: int) -> bool:
    """Whether a thread's elements of a row-major A lie side by side, for loads of `each`."""
    size = offsets.shape[-1]
    if tile.layout is None:
        return size > 1 and tile.leading_dimension == 1
    groups = offsets.reshape(*offsets.shape[:-1], -1, each) if size % each == 0 else offsets
    return size > 1 and bool((np.diff(groups, axis=-1) == 1).all())


def _addresses(
    name: str, offsets: NDArray[np.int64], width: int, geometry: Geometry
) -> NDArray[np.int64]:
    """Return byte addresses of each load: offsets (k, lane, element) → (k, load, lane)."""
    element = geometry.element
    steps, lanes, size = offsets.shape
    each = width // element  # elements that a load takes
    op = _OPS[width]
    if size % each:
        raise LayoutError(
            f"{op} reads {each} elements of {element} bytes, but a thread has {size} of {name}"
            f" ({_given(geometry)}; accepted: a narrower lds, or a thread tile with a multiple of"
            f" {each})"
        )
    groups = offsets.reshape(steps, lanes, size // each, each)
    first = groups[..., 0]
    if any((groups[..., i] - first != i).any() for i in range(1, each)):
        raise LayoutError(
            f"{op} reads {each} neighbouring elements of {name}, but the thread's elements do not"
            f" lie side by side ({_given(geometry)}; accepted: a narrower lds,"
            f" a longer contiguous run, or a swizzle with base M of at least"
            f" {each.bit_length() - 1})"
        )
    addresses: NDArray[np.int64] = first * element
    if (addresses & (width - 1)).any():
        step, lane, load = np.argwhere(addresses % width)[0]
        raise LayoutError(
            f"{op} of {name} would be misaligned: byte {addresses[step, lane, load]} for lane"
            f" {lane} in k step {step} is not a multiple of {width} ({_given(geometry)};"
            " accepted: a pad that keeps rows"
            f" at multiples of {each} elements, or a narrower lds)"
        )
    return addresses.transpose(0, 2, 1)


def _given(geometry: Geometry) -> str:
    return (
        f"lds {geometry.lds}, element {geometry.element}, thread tile {geometry.thread_tile},"
        f" {geometry.fragment}, {_placing(geometry)}"
    )


def _placing(geometry: Geometry) -> str:
    (a, b), (first, second) = geometry.swizzle, geometry.layout
    said = f", layout {first} and {second}" if first or second else ""
    return f"pad {geometry.pad}, swizzle {a} and {b}{said}"


def _check_space(tiles: tuple[Tile, Tile], geometry: Geometry) -> None:
    # First without the swizzles: a tile's size with one takes a look at every element.
    most = SHARED_BYTES if geometry.chip is None else geometry.chip.shared_bytes
    needed = geometry.element * sum(tile.elements for tile in tiles)
    if needed <= most:
        needed = geometry.element * sum(tile.size for tile in tiles)
    if needed > most:
        raise LayoutError(
            f"block tile {geometry.block_tile!r} with padding {geometry.pad} and swizzles"
            f" {geometry.swizzle[0]} and {geometry.swizzle[1]} needs {needed} bytes of shared"
            f" memory (accepted: up to {most}, {most // 1024} KiB)"
        )
