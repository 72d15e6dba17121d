"""Warp layouts: where each of a warp's 32 lanes sits in a grid of rows and columns.

A warp's shape R×C and the order in which lanes fill it decide which lanes are
neighbours in a phase, and which pairs of lanes read the same fragment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layouts.errors import LayoutError, accepted
from layouts.shapes import Shape, is_integer, parse_shape, shape_text

__all__ = ["LANES", "LANE_ORDERS", "LaneOrder", "WarpLayout"]

LANES = 32
"""Threads in a warp, on every NVIDIA GPU so far."""

LANE_ORDERS = ("row-major", "col-major", "z-order")
"""The lane orders that have a name."""

LaneOrder = str | Sequence[int]
"""One of `LANE_ORDERS`, or 32 integers: entry l is row·C + col of lane l."""


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

    @classmethod
    def of(cls, shape: Shape, order: LaneOrder = "col-major") -> WarpLayout:
        """Lay the lanes out in `order` over a grid of `shape` (32 places).

        Raises LayoutError for a shape that does not hold 32 lanes, an unknown
        order, or an explicit order that is not a permutation of 0…31.
        """
        rows, cols = parse_shape(shape, "RC", "warp shape")
        if rows * cols != LANES:
            shapes = ", ".join(shape_text((1 << i, LANES >> i)) for i in range(6))
            raise LayoutError(
                f"warp shape {shape!r} has {rows * cols} lanes, a warp has 32 (accepted: {shapes})"
            )
        if isinstance(order, str):
            if order not in _NAMED:
                raise LayoutError(
                    f"unknown lane order {order!r}: {accepted(order, LANE_ORDERS)},"
                    " or 32 integers, entry l being row*C + col of lane l"
                )
            places = [_NAMED[order](lane, rows, cols) for lane in range(LANES)]
            return cls(rows, cols, tuple(row * cols + col for row, col in places))
        given = order if isinstance(order, Sequence) else ()
        positions = tuple(int(place) for place in given if is_integer(place))
        if len(given) != LANES or sorted(positions) != list(range(LANES)):
            raise LayoutError(
                f"lane order {order!r} is not a permutation of 0..31"
                f" (accepted: {', '.join(LANE_ORDERS)}, or 32 integers, entry l being"
                " row*C + col of lane l)"
            )
        return cls(rows, cols, positions)

    @property
    def coordinates(self) -> tuple[tuple[int, int], ...]:
        """(row, column) of every lane."""
        return tuple(divmod(place, self.cols) for place in self.positions)
