"""Warp layouts: where each of a warp's 32 lanes sits in a grid of rows and columns.

A warp's shape R×C and the order in which lanes fill it decide which lanes are
neighbours in a phase, and which pairs of lanes read the same fragment.
"""

from __future__ import annotations

from dataclasses import dataclass

from layouts.errors import LayoutError
from layouts.layout import Layout
from layouts.order import LANE_ORDERS, LaneOrder, check_bijection, places
from layouts.shapes import Shape, is_integer, parse_shape, shape_text

__all__ = ["LANES", "LANE_ORDERS", "LaneOrder", "WarpLayout"]

LANES = 32
"""Threads in a warp, on every NVIDIA GPU so far."""


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
        """Lay the lanes out in `order` over a grid of `shape` (32 places).

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
        """Take a CuTe thread layout, which says the lane at each (row, column).

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
