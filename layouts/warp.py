"""Warp layouts: where each of a warp's 32 lanes sits in a grid of rows and columns.

A warp's shape R×C and the order in which lanes fill it decide two things: which lanes are
neighbours in a phase, and which read the same fragment.

A place is row·C + col. An order of lanes, or of warps in a block, gives the place of each,
and may be said in five ways; the first that fits is taken:

    "row-major", "col-major", "z-order"     a name
    (3, 4, 0, 1, 2)                         a bit permutation: bit b of the lane becomes
                                            bit order[b] of the place
    32 integers                             entry l is the place of lane l
    Layout((4, 8), (8, 1)), "(4,8):(8,1)"   a layout of lanes onto places 0..31

All of them must reach each place once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layouts.errors import LayoutError, accepted
from layouts.layout import Layout
from layouts.shapes import Shape, is_integer, listed, parse_shape, shape_text

__all__ = ["LANES", "LANE_ORDERS", "LaneOrder", "WarpLayout", "check_bijection", "places"]

LANES = 32
"""Threads in a warp, on every NVIDIA GPU so far."""

LANE_ORDERS = ("row-major", "col-major", "z-order")
"""The lane orders that have a name."""

LaneOrder = str | Sequence[int] | Layout
"""A name, a bit permutation, the place of every lane, or a layout (as text, too)."""


@dataclass(frozen=True)
class WarpLayout:
    """A warp's 32 lanes on a grid of `rows` × `cols`.

    `positions[l]` is row·cols + col of lane l.

    >>> WarpLayout.of("4x8", "col-major").coordinates[:5]
    ((0, 0), (1, 0), (2, 0), (3, 0), (0, 1))
    """

    rows: int
    cols: int
    positions: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.rows * self.cols != LANES or sorted(self.positions) != list(range(LANES)):
            raise LayoutError(
                f"{self.rows}x{self.cols} lanes at {self.positions} are not 32 lanes, each in its"
                " own place (accepted: WarpLayout.of(shape, order))"
            )

    @classmethod
    def of(cls, shape: Shape, order: LaneOrder = "col-major") -> WarpLayout:
        """Return the lanes laid out in `order` over a grid of `shape` (32 places).

        >>> WarpLayout.of("4x8", (3, 4, 0, 1, 2)) == WarpLayout.of("4x8", "col-major")
        True

        Raises LayoutError for a shape that does not hold 32 lanes, an unknown
        order, or an explicit order that is not a permutation of 0…31.
        """
        rows, cols = parse_shape(shape, "RC", "warp shape")
        if rows * cols != LANES:
            shapes = ", ".join(shape_text((1 << i, LANES >> i)) for i in range(6))
            raise LayoutError(
                f"warp shape {shape!r} has {rows * cols} lanes, a warp has 32 (accepted: {shapes})"
            )
        return cls(rows, cols, places(order, rows, cols))

    @classmethod
    def from_threads(cls, layout: Layout | str) -> WarpLayout:
        """Return the warp of a CuTe thread layout, which says the lane at each (row, column).

        >>> WarpLayout.from_threads("(4,8):(8,1)") == WarpLayout.of("4x8", "row-major")
        True

        Raises LayoutError unless it has two modes and reaches each of 32 lanes once.
        """
        threads = Layout.of(layout)
        if threads.rank != 2:
            raise LayoutError(f"thread layout {threads} has {threads.rank} modes (accepted: 2)")
        rows, cols = (mode.size for mode in threads.plain)
        grid = cls.of((rows, cols), "col-major")  # counts places as a layout does
        lanes = threads.offsets()
        check_bijection(lanes, f"thread layout {threads}", "place")
        return cls.of((rows, cols), [grid.positions[lanes.index(lane)] for lane in range(LANES)])

    @property
    def coordinates(self) -> tuple[tuple[int, int], ...]:
        """(row, column) of every lane."""
        return tuple(divmod(place, self.cols) for place in self.positions)

    def lane(self, row: int, col: int) -> int:
        """Return the lane at (row, column).

        >>> WarpLayout.of("4x8", "col-major").lane(3, 1)
        7

        Raises LayoutError for a place outside the grid.
        """
        inside = is_integer(row) and is_integer(col)
        if not inside or not (0 <= row < self.rows and 0 <= col < self.cols):
            raise LayoutError(
                f"({row!r}, {col!r}) is outside the warp's {self.rows}x{self.cols} lanes"
            )
        return self.positions.index(row * self.cols + col)


def places(order: LaneOrder, rows: int, cols: int, who: str = "lane") -> tuple[int, ...]:
    """Return the place row·cols + col of every lane.

    >>> places("col-major", 2, 4)
    (0, 4, 1, 5, 2, 6, 3, 7)
    >>> places((2, 0, 1), 2, 4) == places("(2,4):(4,1)", 2, 4) == places("col-major", 2, 4)
    True

    Raises LayoutError for an order that is unknown, or is not a bijection onto the places.
    """
    count = rows * cols
    if isinstance(order, str) and ":" in order:
        order = Layout.parse(order)
    if isinstance(order, Layout):
        return _by_layout(order, count, who)
    entry = who[0]
    ways = (
        f"{count.bit_length() - 1} integers, entry b being the bit of row*C + col that bit b of"
        f" the {who} becomes, {count} integers, entry {entry} being row*C + col of {who} {entry},"
        f" or a layout onto 0..{count - 1}"
    )
    if isinstance(order, str):
        if order not in _NAMED:
            raise LayoutError(
                f"unknown {who} order {order!r}: {accepted(order, LANE_ORDERS)}, or {ways}"
            )
        if order == "z-order" and rows % 2 and min(rows, cols) > 1:
            raise LayoutError(f"z-order needs an even number of rows, {rows}x{cols} has {rows}")
        grid = [_NAMED[order](lane, rows, cols) for lane in range(count)]
        return tuple(row * cols + col for row, col in grid)
    order = listed(order)
    given = order if isinstance(order, Sequence) else ()
    entries = tuple(int(entry) for entry in given if is_integer(entry))
    if len(given) == len(entries) == count and sorted(entries) == list(range(count)):
        return entries
    bits = count.bit_length() - 1
    if 1 << bits == count and len(given) == bits and sorted(entries) == list(range(bits)):
        return tuple(
            sum((lane >> bit & 1) << place for bit, place in enumerate(entries))
            for lane in range(count)
        )
    raise LayoutError(
        f"{who} order {order!r} is not a permutation of 0..{count - 1}"
        f" (accepted: {', '.join(LANE_ORDERS)}, {ways})"
    )


def _by_layout(layout: Layout, count: int, who: str) -> tuple[int, ...]:
    if layout.size != count:
        raise LayoutError(
            f"{who} order {layout} has {layout.size} elements (accepted: {count}, one per {who})"
        )
    offsets = layout.offsets()
    check_bijection(offsets, f"{who} order {layout}", who)
    return tuple(offsets)


def check_bijection(offsets: Sequence[int], what: str, who: str) -> None:
    """Raise LayoutError unless `offsets` are 0, 1, 2, … in some order.

    >>> check_bijection([0, 2, 1, 2], "the order", "lane")
    Traceback (most recent call last):
    layouts.errors.LayoutError: the order puts lanes 1 and 3 at 2 (accepted: each of 0..3 once)
    """
    seen: dict[int, int] = {}
    once = f"(accepted: each of 0..{len(offsets) - 1} once)"
    for index, offset in enumerate(offsets):
        if offset in seen:
            raise LayoutError(f"{what} puts {who}s {seen[offset]} and {index} at {offset} {once}")
        if not 0 <= offset < len(offsets):
            raise LayoutError(f"{what} puts {who} {index} at {offset} {once}")
        seen[offset] = index


def _row_major(lane: int, rows: int, cols: int) -> tuple[int, int]:
    return lane // cols, lane % cols


def _col_major(lane: int, rows: int, cols: int) -> tuple[int, int]:
    return lane % rows, lane // rows


def _z_order(lane: int, rows: int, cols: int) -> tuple[int, int]:
    # Lane bit 0 is row bit 0, the next bits are the column, the rest are the other row bits.
    if rows == 1 or cols == 1:
        return _row_major(lane, rows, cols)
    return lane // (2 * cols) * 2 + lane % 2, lane // 2 % cols


_NAMED = dict(zip(LANE_ORDERS, (_row_major, _col_major, _z_order), strict=True))
