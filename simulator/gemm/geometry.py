"""The reads behind `simulate`: from a geometry to the byte addresses of every load.

A geometry is checked and lowered here; nothing is counted. `simulate` lowers one and counts
it, a sweep lowers many and counts them together, which spares NumPy's cost of a call each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from layouts.errors import LayoutError, accepted
from layouts.fragment import FragmentKind, fragment_elements
from layouts.layout import Layout
from layouts.shapes import Shape, is_integer, listed, parse_shape, shape_text
from layouts.swizzle import Swizzle, SwizzleLike
from layouts.tile import Tile
from layouts.warp import LaneOrder, WarpLayout
from simulator.errors import OptionError
from simulator.law.accesses import SHARED_BYTES
from simulator.law.counting import Counts, check_rule, count
from simulator.law.instructions import Rule

__all__ = [
    "A_LAYOUTS",
    "ELEMENTS",
    "LDS_WIDTHS",
    "PARAMETERS",
    "Geometry",
    "Reads",
    "by_step",
    "check_value",
    "count_reads",
    "lower",
]

LDS_WIDTHS = (32, 64, 128)
"""Bits that a lane reads with one instruction."""

ELEMENTS = (4, 2, 1)
"""Bytes of an element."""

A_LAYOUTS = ("transposed", "row-major")
"""`transposed`: A lies as BK rows of BM elements. `row-major`: as BM rows of BK elements."""

_LOADS = {1: "LDS.U8", 2: "LDS.U16", 4: "LDS", 8: "LDS.64", 16: "LDS.128"}


class Reads(NamedTuple):
    """The loads of one operand's fragment."""

    op: str
    addresses: NDArray[np.int64]
    """Bytes, shape (k steps, loads, 32)."""
    tile: Tile
    """Where the operand lies in shared memory."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """A checked geometry, as `simulate` reports it, and what it reads."""

    warp_shape: str
    lds: int
    thread_tile: str
    block_tile: str
    lane_order: LaneOrder
    fragment: FragmentKind
    a_layout: str
    pad: tuple[int, int]
    swizzle: tuple[Swizzle | None, Swizzle | None]
    element: int
    rule: Rule
    notes: tuple[str, ...]
    reads: tuple[Reads, Reads]
    """Of A and of B."""


def lower(
    warp_shape: Shape,
    lds: int,
    thread_tile: Shape,
    block_tile: Shape,
    lane_order: LaneOrder,
    fragment: FragmentKind,
    a_layout: str,
    pad: int | tuple[int, int],
    swizzle: SwizzleLike | tuple[SwizzleLike | None, SwizzleLike | None] | None,
    element: int,
    rule: Rule,
) -> Geometry:
    """Check the parameters of `simulate` and lower them to loads; errors are those it raises."""
    check_rule(rule)
    _check_lds(lds)
    _check_element(element)
    lds, element = int(lds), int(element)
    _check_a_layout(a_layout)
    warp, lane_rows, lane_cols = _warp(warp_shape, lane_order)
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
    _check_space(tiles, element, block_tile, pads, swizzles)
    for name, tile in zip("AB", tiles, strict=True):
        unswizzled = tile.rows * tile.leading_dimension
        if tile.size > unswizzled:
            notes.append(
                f"The swizzle {tile.swizzle} moves elements of {name} past its"
                f" {unswizzled * element} bytes: the tile needs {tile.size * element}."
            )

    steps = np.arange(block_k)[:, None, None]
    a_elements = _edge(warp.rows, thread_m, fragment)[lane_rows]
    b_elements = _edge(warp.cols, thread_n, fragment)[lane_cols]
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
    given = (
        f"lds {lds}, element {element}, thread tile {shape_text((thread_m, thread_n))},"
        f" {fragment}, pad {pads}, swizzle {swizzles[0]} and {swizzles[1]}"
    )
    return Geometry(
        warp_shape=shape_text((warp.rows, warp.cols)),
        lds=lds,
        thread_tile=shape_text((thread_m, thread_n)),
        block_tile=shape_text((block_m, block_n, block_k)),
        lane_order=lane_order if isinstance(lane_order, str) else warp.positions,
        fragment=fragment,
        a_layout=a_layout,
        pad=pads,
        swizzle=swizzles,
        element=element,
        rule=rule,
        notes=tuple(notes),
        reads=(
            Reads(_LOADS[a_width], _loads("A", a_offsets, a_width, element, given), tiles[0]),
            Reads(_LOADS[b_width], _loads("B", b_offsets, b_width, element, given), tiles[1]),
        ),
    )


def check_value(name: str, value: Any) -> None:
    """Raise the error of `lower` for a value of one parameter that fits no others whatsoever.

    >>> check_value("pad", 3)
    >>> check_value("lds", 96)
    Traceback (most recent call last):
    simulator.errors.OptionError: lds 96 is not a load width in bits (accepted: 32, 64, 128)
    """
    _CHECKS[name](value)


def count_reads(geometries: Sequence[Geometry]) -> list[tuple[Counts, Counts]]:
    """Count A's and B's loads of each geometry, shapes (k steps, loads).

    All loads of one instruction and rule are counted in one call.
    """
    parts = [
        (number, operand, reads, geometry.rule)
        for number, geometry in enumerate(geometries)
        for operand, reads in enumerate(geometry.reads)
    ]
    found: dict[tuple[int, int], Counts] = {}
    for op, rule in dict.fromkeys((reads.op, rule) for _, _, reads, rule in parts):
        mine = [part for part in parts if (part[2].op, part[3]) == (op, rule)]
        flat = np.concatenate([reads.addresses.reshape(-1, 32) for _, _, reads, _ in mine])
        counts = count(op, flat, rule=rule)
        start = 0
        for number, operand, reads, _ in mine:
            shape = reads.addresses.shape[:2]
            stop = start + shape[0] * shape[1]
            found[number, operand] = Counts(counts.figures[:, start:stop].reshape(6, *shape))
            start = stop
    return [(found[number, 0], found[number, 1]) for number in range(len(geometries))]


def by_step(counts: tuple[Counts, Counts], figure: str) -> NDArray[np.int64]:
    """Sum a figure over the loads of A and of B, for each k step."""
    first, second = (getattr(each, figure).sum(axis=1) for each in counts)
    total: NDArray[np.int64] = first + second
    return total


def _warp(
    shape: Shape, order: LaneOrder
) -> tuple[WarpLayout, NDArray[np.int64], NDArray[np.int64]]:
    """Give the layout, and the row and the column of every lane."""
    if isinstance(shape, str) and isinstance(order, str):
        return _named_warp(shape, order)
    return _place(WarpLayout.of(shape, order))


@lru_cache(maxsize=256)
def _named_warp(shape: str, order: str) -> tuple[WarpLayout, NDArray[np.int64], NDArray[np.int64]]:
    return _place(WarpLayout.of(shape, order))


def _place(warp: WarpLayout) -> tuple[WarpLayout, NDArray[np.int64], NDArray[np.int64]]:
    rows, cols = np.divmod(np.array(warp.positions, dtype=np.int64), warp.cols)
    return warp, rows, cols


def _edge(threads: int, size: int, kind: FragmentKind) -> NDArray[np.int64]:
    """Positions of each thread's elements along an edge, (threads, size)."""
    if isinstance(kind, str):
        return _named_edge(threads, size, kind)
    return np.array(fragment_elements(threads, size, kind))


@lru_cache(maxsize=256)
def _named_edge(threads: int, size: int, kind: str) -> NDArray[np.int64]:
    return np.array(fragment_elements(threads, size, kind))


def _loads(
    name: str, offsets: NDArray[np.int64], width: int, element: int, given: str
) -> NDArray[np.int64]:
    """Byte addresses of each load: offsets (k, lane, element) → (k, load, lane)."""
    steps, lanes, size = offsets.shape
    each = width // element  # elements a load takes
    op = _LOADS[width]
    if size % each:
        raise LayoutError(
            f"{op} reads {each} elements of {element} bytes, but a thread has {size} of {name}"
            f" ({given}; accepted: a narrower lds, or a thread tile with a multiple of {each})"
        )
    groups = offsets.reshape(steps, lanes, size // each, each)
    first = groups[..., 0]
    if any((groups[..., i] - first != i).any() for i in range(1, each)):
        raise LayoutError(
            f"{op} reads {each} neighbouring elements of {name}, but the thread's elements do not"
            f" lie side by side ({given}; accepted: a narrower lds,"
            f" a longer contiguous run, or a swizzle with base M of at least"
            f" {each.bit_length() - 1})"
        )
    addresses: NDArray[np.int64] = first * element
    if (addresses & (width - 1)).any():
        step, lane, load = np.argwhere(addresses % width)[0]
        raise LayoutError(
            f"{op} of {name} would be misaligned: byte {addresses[step, lane, load]} for lane"
            f" {lane} in k step {step} is no multiple of {width} ({given};"
            " accepted: a pad that keeps rows"
            f" at multiples of {each} elements, or a narrower lds)"
        )
    return addresses.transpose(0, 2, 1)


def _check_lds(lds: Any) -> None:
    if not is_integer(lds) or lds not in LDS_WIDTHS:
        raise OptionError(f"lds {lds!r} is not a load width in bits (accepted: 32, 64, 128)")


def _check_element(element: Any) -> None:
    if not is_integer(element) or element not in ELEMENTS:
        raise OptionError(f"element {element!r} is not a size in bytes (accepted: 4, 2, 1)")


def _check_a_layout(a_layout: Any) -> None:
    if a_layout not in A_LAYOUTS:
        raise OptionError(f"unknown a_layout {a_layout!r}: {accepted(a_layout, A_LAYOUTS)}")


def _check_fragment(kind: Any) -> None:
    if isinstance(kind, Layout) or (isinstance(kind, str) and ":" in kind):
        Layout.of(kind)  # of which threads and elements, the others say
    else:
        fragment_elements(1, 2, kind)


def _check_space(
    tiles: tuple[Tile, Tile],
    element: int,
    block_tile: Shape,
    pads: tuple[int, int],
    swizzles: tuple[Swizzle | None, Swizzle | None],
) -> None:
    # First without the swizzles: a tile's size with one takes a look at every element.
    needed = element * sum(tile.rows * tile.leading_dimension for tile in tiles)
    if needed <= SHARED_BYTES:
        needed = element * sum(tile.size for tile in tiles)
    if needed > SHARED_BYTES:
        raise LayoutError(
            f"block tile {block_tile!r} with padding {pads} and swizzles {swizzles[0]} and"
            f" {swizzles[1]} needs {needed} bytes of shared memory"
            f" (accepted: up to {SHARED_BYTES}, 227 KiB)"
        )


def _pair_of_pads(pad: int | tuple[int, int]) -> tuple[int, int]:
    pad = listed(pad)
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
    given: Any = listed(swizzle)
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        given = (given, given)
    elif any(map(is_integer, given)):
        raise LayoutError(
            f"swizzle {swizzle!r} is neither three integers (B, M, S) nor a pair of such (A, B)"
        )
    first, second = (None if one is None else Swizzle.of(one) for one in given)
    return first, second


_CHECKS: Mapping[str, Callable[[Any], object]] = {
    "warp_shape": WarpLayout.of,
    "lds": _check_lds,
    "thread_tile": lambda tile: parse_shape(tile, "MN", "thread tile"),
    "block_tile": lambda tile: parse_shape(tile, "MNK", "block tile"),
    "lane_order": lambda order: WarpLayout.of("4x8", order),  # of 32 lanes, whatever the shape
    "fragment": _check_fragment,
    "a_layout": _check_a_layout,
    "pad": _pair_of_pads,
    "swizzle": _pair_of_swizzles,
    "element": _check_element,
    "rule": check_rule,
}

PARAMETERS = tuple(_CHECKS)
"""Of `lower`."""
