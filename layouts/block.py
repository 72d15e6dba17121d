"""A block of warps: which element of a block tile belongs to which warp and lane.

The tile is cut three times. Warps fill a grid of warp tiles; a warp's lanes fill a grid
of rows and columns; a lane owns a thread tile. Along each edge the elements of a warp
tile are dealt to its rows, or columns, of lanes as a fragment says: neighbours, two
split halves, or any layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from layouts.errors import LayoutError
from layouts.fragment import FragmentKind, fragment_elements
from layouts.shapes import Shape, is_integer, parse_shape, shape_text
from layouts.warp import LANES, LaneOrder, WarpLayout, places

__all__ = ["MOST_WARPS", "BlockLayout"]

MOST_WARPS = 32
"""Warps in a block: 1024 threads (CUDA C++ Programming Guide, compute capabilities)."""

Edge = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class BlockLayout:
    """Warps on a grid of `warp_rows` × `warp_cols`, each warp laid out as `warp` says.

    `warp_positions[w]` is row·warp_cols + col of warp w. `row_fragment[r]` lists the rows of
    the warp tile that lanes of row r own, `col_fragment[c]` the columns.

    >>> block = BlockLayout.of("2x4", "8x4", "8x8", lane_order="z-order", warp_order="col-major")
    >>> block.tile
    (128, 128)
    >>> block.threads(warp=1, lane=1)[:3]
    ((72, 0), (72, 1), (72, 2))
    >>> block.owner(72, 2)
    (1, 1)
    """

    warp_rows: int
    warp_cols: int
    warp_positions: tuple[int, ...]
    warp: WarpLayout
    row_fragment: Edge
    col_fragment: Edge

    @classmethod
    def of(
        cls,
        warps: Shape,
        warp: Shape | WarpLayout,
        thread_tile: Shape = "1x1",
        *,
        lane_order: LaneOrder = "col-major",
        warp_order: LaneOrder = "row-major",
        fragment: FragmentKind | tuple[FragmentKind, FragmentKind] = "contiguous",
    ) -> BlockLayout:
        """Lay out a block; `fragment` is one kind for both edges, or (rows, columns).

        Raises LayoutError for more than 32 warps, and where WarpLayout.of, the orders or
        fragment_elements do.

        Parameters
        ----------
        warps
            Rows×columns of warps in the block.
        warp
            Rows×columns of lanes in a warp, or its layout.
        thread_tile
            Rows×columns of elements that a thread computes.
        lane_order
            Order of the lanes in a warp, as for `WarpLayout.of`.
        warp_order
            Order of the warps in the block.
        fragment
            One kind for both edges, or (rows, columns).
        """
        warp_rows, warp_cols = parse_shape(warps, "RC", "warps of a block")
        if warp_rows * warp_cols > MOST_WARPS:
            raise LayoutError(
                f"a block of {warps!r} has {warp_rows * warp_cols} warps (accepted: up to"
                f" {MOST_WARPS})"
            )
        if not isinstance(warp, WarpLayout):
            warp = WarpLayout.of(warp, lane_order)
        rows, cols = parse_shape(thread_tile, "MN", "thread tile")
        kinds = fragment if isinstance(fragment, tuple) else (fragment, fragment)
        if len(kinds) != 2:
            raise LayoutError(f"fragment {fragment!r} is not one kind or a pair (rows, columns)")
        return cls(
            warp_rows,
            warp_cols,
            places(warp_order, warp_rows, warp_cols, "warp"),
            warp,
            tuple(map(tuple, fragment_elements(warp.rows, rows, kinds[0]))),
            tuple(map(tuple, fragment_elements(warp.cols, cols, kinds[1]))),
        )

    @property
    def warp_tile(self) -> tuple[int, int]:
        """Rows and columns of elements of one warp."""
        return (
            self.warp.rows * len(self.row_fragment[0]),
            self.warp.cols * len(self.col_fragment[0]),
        )

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of elements of the block."""
        rows, cols = self.warp_tile
        return self.warp_rows * rows, self.warp_cols * cols

    def threads(self, warp: int, lane: int) -> tuple[tuple[int, int], ...]:
        """List the (row, column) of every element of one thread, row by row of its tile.

        Raises LayoutError for a warp or a lane that the block does not have.
        """
        warps = len(self.warp_positions)
        if not (is_integer(warp) and 0 <= warp < warps and is_integer(lane) and 0 <= lane < LANES):
            raise LayoutError(
                f"warp {warp!r}, lane {lane!r} is not in the block"
                f" (accepted: warps 0..{warps - 1}, lanes 0..{LANES - 1})"
            )
        warp_row, warp_col = divmod(self.warp_positions[warp], self.warp_cols)
        lane_row, lane_col = self.warp.coordinates[lane]
        rows, cols = self.warp_tile
        return tuple(
            (warp_row * rows + row, warp_col * cols + col)
            for row in self.row_fragment[lane_row]
            for col in self.col_fragment[lane_col]
        )

    def owner(self, row: int, col: int) -> tuple[int, int]:
        """Return the (warp, lane) that owns an element: the inverse of `threads`.

        Raises LayoutError for an element outside the block tile.
        """
        inside = is_integer(row) and is_integer(col)
        if not inside or not (0 <= row < self.tile[0] and 0 <= col < self.tile[1]):
            raise LayoutError(
                f"element ({row!r}, {col!r}) is outside the block tile {shape_text(self.tile)}"
            )
        rows, cols = self.warp_tile
        warp_row, row = divmod(row, rows)
        warp_col, col = divmod(col, cols)
        warp = self.warp_positions.index(warp_row * self.warp_cols + warp_col)
        return warp, self.warp.lane(self._lane_rows[row], self._lane_cols[col])

    @cached_property
    def _lane_rows(self) -> dict[int, int]:
        return {row: lane_row for lane_row, rows in enumerate(self.row_fragment) for row in rows}

    @cached_property
    def _lane_cols(self) -> dict[int, int]:
        return {col: lane_col for lane_col, cols in enumerate(self.col_fragment) for col in cols}
