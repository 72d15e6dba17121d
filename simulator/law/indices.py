"""From what a caller says of each lane to byte addresses: the one place that does it.

A caller gives byte addresses, or indices of elements: integers, or a function of the lane. With a
`layout`, an index is a row and a column of it. Text is read before, by `simulator.inputs`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layouts.c_text import function
from layouts.errors import LayoutError, short
from layouts.layout import Layout
from layouts.notation import read_layout
from layouts.shapes import Shape, is_integer
from layouts.tile import ELEMENT_BYTES, Tile, TileLike
from layouts.tile_text import is_c, split_shape
from layouts.triton import is_triton
from simulator.errors import AddressError, MaskError, OptionError
from simulator.law.accesses import ALL_LANES, active_lanes, check_mask, integers
from simulator.law.instructions import Instruction

__all__ = ["RESERVED", "Addresses", "Located", "check_size", "locate"]

RESERVED = ("lane", "tid", "warp")
"""Names that every expression has: tid = 32·warp + lane."""

Addresses = ArrayLike | Callable[[int], Any] | tuple[ArrayLike, ...]
"""Byte addresses; or element indices, as integers or a function of the lane; with a layout a row
and a column: a pair of integer arrays, or a function giving pairs."""

_LARGEST = 1 << 40  # no index is larger, so that its bytes fit 64 bits


class Located(NamedTuple):
    """Byte addresses, and where they come from."""

    addresses: Any
    tile: Tile | None = None
    """What they lie in, where it is a tile."""
    element: int = 4
    """Bytes of an element of it."""
    sized: bool = True
    """Whether the caller or the layout said so."""


def locate(
    instruction: Instruction,
    given: Addresses,
    layout: TileLike | None = None,
    element: int | None = None,
    mask: ArrayLike | None = None,
    *,
    said: str | None = None,
) -> Located:
    """Return byte addresses; without a layout and an element size they are as given.

    Raises AddressError for indices outside of the layout, or an access that it tears apart;
    LayoutError and ExpressionError for malformed text; OptionError for an element size.

    Parameters
    ----------
    instruction
        What accesses memory.
    given
        Byte addresses or indices, as `count` takes them. Indices of inactive lanes mean nothing.
    layout
        A Tile, a Layout or a text of one.
    element
        Bytes of an element: by default what the layout says, else 2 for matrices (b16) and 4 for
        other instructions.
    mask
        Active lanes, as for `count`.
    said
        The text that the indices come from, for a refusal to repeat.

    Examples
    --------
    >>> from simulator.law.instructions import INSTRUCTIONS
    >>> column = lambda lane: (lane, 0)
    >>> locate(INSTRUCTIONS["LDS"], column, layout="(32,32):(33,1)").addresses[:3].tolist()
    [0, 132, 264]
    """
    if layout is None and element is None:
        return Located(given)
    if callable(given):
        parts = _called(given, mask if is_integer(mask) else ALL_LANES)
    else:
        parts = _arrays(given, layout is not None)
    if layout is None:
        check_size(element)
        size = element or 4
        if len(parts) > 1:
            raise AddressError(
                f"{short(given)} is a row and a column, but there is no layout (accepted: layout=,"
                " a Tile, a Layout or its text; or one index)"
            )
        return Located(parts[0] * size, element=size)
    parts = _of_active(parts, mask)
    return _laid(instruction, parts, layout, element, given if said is None else said)


def _called(given: Callable[[int], Any], mask: Any) -> list[NDArray[np.int64]]:
    check_mask(mask)
    found = [given(lane) if mask >> lane & 1 else None for lane in range(32)]
    rows = [each if isinstance(each, tuple | list) else (each,) for each in found]
    count = max(len(row) for row in rows)
    parts = np.zeros((count, 32), dtype=np.int64)
    for lane, (each, row) in enumerate(zip(found, rows, strict=True)):
        if each is None and not mask >> lane & 1:
            continue
        fits = all(is_integer(value) and abs(value) < _LARGEST for value in row)
        if len(row) != count or not fits:
            raise AddressError(
                f"{getattr(given, '__name__', 'the function')} returns {short(each)} for lane"
                f" {lane} (accepted: an integer, or with a layout a row and a column)"
            )
        parts[:, lane] = row
    return list(parts)


def _arrays(given: Any, laid: bool) -> list[NDArray[np.int64]]:
    several = laid and isinstance(given, tuple | list) and len(given) < 32
    arrays = [integers(part, AddressError, "indices") for part in (given if several else (given,))]
    for array in arrays:
        if int(array.min()) < -_LARGEST or int(array.max()) > _LARGEST:
            raise AddressError(
                f"indices reach {short(int(array.max()))} (accepted: up to {_LARGEST} elements)"
            )
    try:
        return [array.astype(np.int64) for array in np.broadcast_arrays(*arrays)]
    except ValueError:
        raise AddressError(
            f"rows and columns have shapes {[array.shape for array in arrays]} (accepted: the same"
            " shape, (..., 32), or ones that broadcast)"
        ) from None


def _of_active(
    parts: Sequence[NDArray[np.int64]], mask: ArrayLike | None
) -> list[NDArray[np.int64]]:
    """Return indices with 0 for inactive lanes; a bad mask is refused later."""
    if mask is None:
        return list(parts)
    masks = integers(mask, MaskError, "masks")
    for extreme in {int(masks.min()), int(masks.max())}:
        check_mask(extreme)
    shape = parts[0].shape
    if shape[-1:] != (32,) or (masks.ndim and masks.shape != shape[:-1]):
        return list(parts)
    lanes = active_lanes(masks)
    return [np.where(lanes, part, 0) for part in parts]


def _laid(
    instruction: Instruction,
    parts: Sequence[NDArray[np.int64]],
    layout: TileLike,
    element: int | None,
    given: Any,
) -> Located:
    if isinstance(layout, str):
        text, shape = split_shape(layout)
        if is_c(text) and shape is None:
            size = _size(element, instruction.element)
            if len(parts) > 1 or re.search(r"\brow\b", text):
                _two(parts, layout, given)
            return Located(_by_text(text, parts) * size, None, size, element is not None)
        layout = _read(text, shape)
    if isinstance(layout, Layout) and layout.rank > 2:
        size = _size(element, instruction.element)
        if len(parts) != layout.rank:
            raise AddressError(
                f"{short(given)} has {len(parts)} parts for layout {layout} (accepted: an index for"
                f" each of its {layout.rank} modes)"
            )
        return Located(layout(*parts) * size, None, size, element is not None)
    tile = Tile.of(layout)
    tile.check_inside()
    sized = (element or tile.element) is not None
    tile = tile.sized(_size(element, tile.element or instruction.element))
    size = tile.element or 4
    if len(parts) == 1 and tile.rows == 1:
        parts = [np.zeros_like(parts[0]), parts[0]]
    row, col = _two(parts, tile, given)
    outside = (row < 0) | (row >= tile.rows) | (col < 0) | (col >= tile.cols)
    if outside.any():
        place = tuple(map(int, np.argwhere(outside)[0]))
        raise AddressError(
            f"lane {place[-1]} is at row {row[place]}, column {col[place]}, outside of the tile"
            f" {tile} (accepted: rows 0 to {tile.rows - 1}, columns 0 to {tile.cols - 1})"
        )
    offsets = tile.offset(row, col)
    _check_vectors(instruction, tile, row, col, offsets)
    return Located(offsets * size, tile, size, sized)


def _read(text: str, shape: Shape | None) -> Tile | Layout:
    """Return CuTe's or Triton's text as a tile, or as a layout of more than two modes."""
    if shape is None and not is_triton(text):
        modes = read_layout(text).shape
        if isinstance(modes, tuple) and len(modes) > 2:
            return Layout.parse(text)
    return Tile.parse(text, shape)


def _two(parts: Sequence[Any], layout: object, given: object) -> Sequence[Any]:
    if len(parts) != 2:
        raise AddressError(
            f"{short(given)} is not a row and a column of layout {layout} (accepted: two arrays of"
            " integers, (rows, columns); C text such as 'lane%16, lane/16*8'; or a function of the"
            " lane that gives such a pair)"
        )
    return parts


def _by_text(text: str, parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return C text's offsets; elements that it puts in one place are refused."""
    if len(parts) == 1:
        parts = [np.zeros_like(parts[0]), parts[0]]
        offset = function(text, 1)
    else:
        offset = function(text, 2)
    pairs = np.stack([part.ravel() for part in parts], axis=1)
    unique, places = np.unique(pairs, axis=0, return_inverse=True)
    offsets = np.array([offset(int(row), int(col)) for row, col in unique], dtype=np.int64)
    ordered = np.argsort(offsets, kind="stable")
    same = np.flatnonzero(np.diff(offsets[ordered]) == 0)
    if same.size:
        first, second = (tuple(unique[ordered[place]].tolist()) for place in (same[0], same[0] + 1))
        raise LayoutError(
            f"{short(text)} puts elements {first} and {second} in one place (accepted: a place of"
            " its own for each)"
        )
    return offsets[places.ravel()].reshape(parts[0].shape)


def _check_vectors(
    instruction: Instruction,
    tile: Tile,
    row: NDArray[np.int64],
    col: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> None:
    """Refuse an access of several elements where they do not lie side by side in the tile."""
    many = instruction.width // (tile.element or 4)
    for along in ("columns", "rows"):
        for step in range(1, many):
            next_row, next_col = (row, col + step) if along == "columns" else (row + step, col)
            if (next_row >= tile.rows).any() or (next_col >= tile.cols).any():
                break
            if (tile.offset(next_row, next_col) != offsets + step).any():
                break
        else:
            return
    raise AddressError(
        f"{instruction.name} accesses {many} elements of {tile.element} bytes per lane, which do"
        f" not lie side by side in the tile {tile} (accepted: a narrower access, a lane's first"
        " element where a whole vector begins, or a swizzle that keeps vectors together)"
    )


def check_size(element: object) -> None:
    """Raise OptionError unless it is the bytes of an element that may be indexed: 1 to 16."""
    if not is_integer(element) or not 1 <= element <= 16:  # type: ignore[operator]  # it is one
        raise OptionError(f"element {short(element)} is not a size (accepted: 1 to 16 bytes)")


def _size(given: int | None, default: int) -> int:
    if given is None:
        return default
    if not is_integer(given) or given not in ELEMENT_BYTES:
        sizes = ", ".join(map(str, ELEMENT_BYTES))
        raise OptionError(f"element {short(given)} is not a size (accepted: {sizes} bytes)")
    return int(given)
