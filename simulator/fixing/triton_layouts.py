"""Layouts as Triton's compiler writes them: swizzled, linear and padded shared memory.

`swizzled_shared` has one run of a row's bits, which is XORed onto one of the column.
`shared_linear` has any XOR, by the place in the tensor that each bit of an offset stands for.
`padded_shared` puts a power of two of elements behind each so many; its compiler takes no XOR of
rows and columns with that.

Source: Triton's SwizzledSharedLayout, SharedLinearLayout and PaddedSharedLayout
(triton.experimental.gluon.language, version 3.9), and the attributes of its TritonGPU dialect.
"""

from __future__ import annotations

import numpy as np

from layouts.tile import Tile

__all__ = ["triton_of"]

_ALIGNMENT = 16
"""Bytes, as SharedLinearLayout has it where nobody says."""


def triton_of(tile: Tile) -> tuple[str, str]:
    """Return a layout's text, and "", or "" and why Triton has none.

    >>> triton_of(Tile(32, 64, 8))
    ('#ttg.padded_shared<[64:+8] {order = [1, 0], shape = [32, 64]}>', '')
    >>> triton_of(Tile(32, 64, 3))
    ('', 'a padding of 3 elements is not a power of two')
    """
    for count, of in ((tile.rows, "rows"), (tile.cols, "elements per row"), (tile.pad, "pad")):
        if count & (count - 1):
            said = f"a padding of {count} elements" if of == "pad" else f"a number of {count} {of}"
            return "", f"{said} is not a power of two"
    if tile.pad and tile.xors:
        return "", "its paddings take no XOR"
    if tile.pad:
        shape = f"order = [1, 0], shape = [{tile.rows}, {tile.cols}]"
        return f"#ttg.padded_shared<[{tile.cols}:+{tile.pad}] {{{shape}}}>", ""
    offset = ", ".join(f"[{row}, {col}]" for row, col in _bases(tile))
    linear = f"#ttg.shared_linear<{{offset = [{offset}]}}, alignment = {_ALIGNMENT}>"
    return _swizzled(tile) or linear, ""


def _swizzled(tile: Tile) -> str:
    """Return a layout of one XOR of a row's bits; "" for another."""
    if len(tile.xors) != 1:
        return ""
    (term,) = tile.xors
    cols = (tile.cols - 1).bit_length()
    first = (term.mask & -term.mask).bit_length() - 1
    phases = term.mask >> first
    if phases & (phases + 1) or first + term.shift < cols or term.mask >= tile.cols:
        return ""
    per = 1 << first + term.shift - cols
    return (
        f"#ttg.swizzled_shared<{{vec = {1 << first}, perPhase = {per}, maxPhase = {phases + 1},"
        " order = [1, 0]}>"
    )


def _bases(tile: Tile) -> list[tuple[int, int]]:
    """Return the row and column at which each bit of an offset lies."""
    places = np.arange(tile.rows * tile.cols)
    at = np.argsort(tile.offset(places))
    bits = (len(places) - 1).bit_length()
    return [divmod(int(at[1 << bit]), tile.cols) for bit in range(bits)]
