"""Tiles: their special cases, their texts, and what is refused."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from layouts import Layout, LayoutError, Swizzle, Term, Tile
from simulator.search import TileLayout


def test_the_two_former_types_are_special_cases() -> None:
    """One padded, then swizzled the offset; the other XORed the place, then padded."""
    swizzle = Swizzle(2, 2, 5)
    padded, xored = Tile(8, 32, 4, swizzle), TileLayout(8, 32, 4, (Term(5, 0b1100),))
    assert type(xored) is Tile
    for row in range(8):
        for col in range(32):
            assert padded.offset(row, col) == swizzle(row * 36 + col)
            place = row * 32 + col
            moved = place ^ (place >> 5 & 0b1100)
            assert xored.offset(place) == xored.offset(row, col) == moved + moved // 32 * 4
    assert padded.size == 1 + max(padded(place) for place in range(256))
    assert xored.c() == xored.expression() == "row*36 + (col ^ (row & 12))"
    assert (xored.notation, padded.notation) == (None, "Sw<2,2,5> o 0 o (8,32):(36,1)")


def test_a_tile_is_a_value() -> None:
    tile = Tile(8, 64, swizzle=((1, 3, 3), (1, 4, 3)), element=2)
    assert tile == Tile(8, 64, 0, (Swizzle(1, 3, 3), Swizzle(1, 4, 3)), element=2)
    assert hash(tile) == hash(pickle.loads(pickle.dumps(tile)))  # noqa: S301 - its own
    assert {tile: 1}[pickle.loads(pickle.dumps(tile))] == 1  # noqa: S301 - its own
    assert Tile(8, 64, swizzle=[]) == Tile(8, 64, swizzle=(0, 3, 3)).__class__(8, 64)
    assert Tile(8, 64, swizzle="Sw<3,3,3>") == Tile(8, 64, swizzle=(3, 3, 3))
    assert Tile(np.int8(100), np.int8(100), np.int8(1))(99, 99) == 99 * 101 + 99
    assert tile.sized(2) is tile
    assert tile.sized(None) is tile


@pytest.mark.parametrize(
    ("text", "c"),
    [
        ("row*33+col", "row*33 + col"),
        ("(row << 5 | col) ^ row", "row*32 + (col ^ row)"),
        ("32*row + (col ^ row & 7)", "row*32 + (col ^ (row & 7))"),
        ("(col/4 ^ row%8)*4 + col%4 + row*32", "row*32 + (col ^ ((row & 7) << 2))"),
        ("col*32 + row", "row + col*32"),
        ("row%8*64 + row/8*8 + col%8 + col/8*1024", "row%8*64 + row/8*8 + col%8 + col/8*1024"),
        ("(row*36 + col) ^ ((row*36 + col) >> 3 & 24)",
         "(row*36 + col) ^ (((row*36 + col) >> 3) & 24)"),
    ],
)  # fmt: skip
def test_c_of_any_spelling_is_read(text: str, c: str) -> None:
    tile = Tile.parse(text, "32x32")
    assert tile.c() == c
    assert Tile.parse(str(tile)) == tile
    assert tile.c("threadIdx.y", "i + 1").count("(i + 1)") == c.count("col")


def test_names_of_a_single_row() -> None:
    assert Tile.parse("index ^ (index >> 5)", "1x1024").terms == (Term(5, 31),)
    with pytest.raises(LayoutError, match=r"index in 'row\*4 \+ index' has no value"):
        Tile.parse("row*4 + index", "4x4")


def test_modes_become_rows_and_columns() -> None:
    assert Tile.of(Layout(64)) == Tile(1, 64)
    assert Tile.of(Layout((64,), (2,))).layout == Layout((1, 64), (0, 2))
    assert Tile.of(Layout.row_major("8x64", ld=68)) == Tile(8, 64, 4)
    assert Tile.of("((2,4),64):((64,128),1)") == Tile(8, 64)
    assert Tile.of("(8,64):(1,8)").layout == Layout.col_major("8x64")
    assert Tile.of("(8,64):(1,8)").leading_dimension == 1


def test_a_part_of_a_swizzled_tile_is_inside() -> None:
    """What a kernel slices keeps the strides of the whole."""
    for text in ("Sw<3,3,3> o 0 o (8,4):(64,1)", "Sw<3,3,3> o 0 o (4,8):(1,64)",
                 "Sw<3,3,3> o 64 o (8,4):(64,1)"):  # fmt: skip
        Tile.parse(text).check_inside()
    with pytest.raises(LayoutError, match=re.escape("offset 383, past the tile's 360 elements")):
        Tile(5, 72, swizzle=Swizzle(3, 3, 3)).check_inside()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Tile(0, 4), "tile of 0x4 elements is empty"),
        (lambda: Tile(4, 4.0), "tile of 4x4.0 elements"),  # type: ignore[arg-type]  # on purpose
        (lambda: Tile(4, 4, -1), "padding -1 is not a number"),
        (lambda: Tile(4, 4, element=3), "element 3 is not a size"),
        (lambda: Tile(4, 4, swizzle="Sw<1>"), "is not three integers"),  # type: ignore[arg-type]
        (lambda: Tile(4, 12, terms=(Term(4, 8),)), "blocks of 16, which do not divide 12 columns"),
        (lambda: Tile(3, 4, terms=(Term(1, 4),)), "blocks of 8, which do not divide 12 elements"),
        (lambda: Tile(4, 4, 1, terms=(Term(1, 4),)), "which do not divide 4 columns"),
        (lambda: Tile(4, 4, terms=(Term(1, 3),)), "reads bits that a term writes"),
        (lambda: Tile(4, 4, 1, layout=Layout((4, 4))), "pad 1 has no effect on layout (4,4):(1,4)"),
        (lambda: Tile(4, 4, layout=Layout((4, 8))), "is not one of 4x4 elements"),
        (lambda: Tile(4, 4, layout=Layout((4, 4), (2, 1))), "several elements in one place"),
        (lambda: Tile(4, 4, layout=Layout((4, 4), (0, 1))), "several elements in one place"),
        (lambda: Tile(4, 4)(4, 0), "(4, 0) is not in a tile of 4x4"),
        (lambda: Tile(4, 4)(16), "(16, None) is not in a tile of 4x4"),
        (lambda: Tile(4, 4)(np.arange(5), 0), "is not in a tile of 4x4"),
        (lambda: Tile(2**20, 2**20, swizzle=Swizzle(1, 0, 1)).size, "too large to list"),
        (lambda: Tile.of(3), "3 is not a tile"),  # type: ignore[arg-type]  # on purpose
        (lambda: Tile.of(Tile(4, 4), "4x8"), "has 4x4 elements, not '4x8'"),
        (lambda: Tile.parse("4x4: row*4 + col", "4x8"), "has another shape than '4x8'"),
        (lambda: Tile.parse("row*4 + col"), "does not say the shape of its tile"),
        (lambda: Tile.parse("row*8 + col", "4096x4096"), "too large to be compared"),
        (lambda: Tile.parse("row*2 + col", "4x4"), "puts elements (0, 2) and (1, 0) at offset 2"),
        (lambda: Tile.parse("row*4 - col", "4x4"), "puts element (0, 3) at -3"),
        (lambda: Tile.parse("row*8 + (col*3)%8", "4x8"), "is not a tile known here"),
        (lambda: Tile.parse("(4,4,2):(4,1,16)"), "has 3 modes (accepted for a tile"),
        (lambda: Tile.parse("Sw<1,0,3> o Sw<1,1,5> o 8 o (4,4):(4,1)"), "before 2 swizzles"),
        (lambda: Tile.parse(b"(4,4)"), "is not a text such as"),  # type: ignore[arg-type]
        (lambda: Tile(4, 4, 1, terms=(Term(2, 3),)).cute(), "has no notation of CuTe: CuTe's"),
        (lambda: Tile(4, 4, element=2).sized(4), "element 4 is not the 2 bytes of"),
    ],
)
def test_what_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(LayoutError, match=re.escape(message)):
        call()
