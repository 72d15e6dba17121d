"""Laws of tiles: every text of a tile says the tile, and a tile gives each element its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from layouts import Layout, LayoutError, Swizzle, Term, Tile
from layouts.algebra import is_injective
from layouts.swizzle import swizzles
from simulator.testing.strategies import tile_layouts


def offsets(tile: Any, rows: int, cols: int) -> list[list[int]]:
    return [[int(tile(row, col)) for col in range(cols)] for row in range(rows)]


@st.composite
def terms(draw: st.DrawFn, rows: int, cols: int) -> tuple[Term, ...]:
    """Draw terms within a row of columns: targets in a block that divides it, sources above."""
    block = (cols & -cols).bit_length() - 1
    bits = (cols - 1).bit_length() + (rows - 1).bit_length()
    border = draw(st.integers(0, block))
    found = []
    for shift in sorted(draw(st.sets(st.integers(1, max(bits, 1)), max_size=2))):
        able = [1 << bit for bit in range(border) if border <= bit + shift < bits]
        if able:
            chosen = draw(st.lists(st.sampled_from(able), min_size=1, unique=True))
            found.append(Term(shift, sum(chosen)))
    return tuple(found)


@st.composite
def tiles(draw: st.DrawFn) -> Tile:
    """Draw a tile: a pitch or a layout, terms or none, up to two swizzles."""
    rows, cols = draw(st.integers(1, 12)), draw(st.sampled_from([1, 4, 6, 8, 12, 16, 32]))
    moved = draw(terms(rows, cols))
    outer = tuple(draw(st.lists(st.sampled_from(list(swizzles(7))), max_size=2)))
    if draw(st.booleans()):
        pad = draw(st.sampled_from([0, 0, 1, 4]))
        return Tile(rows, cols, pad, outer, moved)
    inner = 2 if cols % 2 == 0 else 1
    parts = [(rows,), (inner, cols // inner)]
    digits = [(0, size) for size in parts[0]] + [(1, size) for size in parts[1]]
    places, step = {}, 1
    for place in draw(st.permutations(range(len(digits)))):
        places[place] = step
        step *= digits[place][1] + draw(st.sampled_from([0, 0, 1]))
    layout = Layout(((rows,), (inner, cols // inner)), ((places[0],), (places[1], places[2])))
    return Tile(rows, cols, swizzle=outer, terms=moved, layout=layout)


@given(tiles())
def test_each_element_has_a_place_of_its_own(tile: Tile) -> None:
    found = offsets(tile, tile.rows, tile.cols)
    assert len({each for row in found for each in row}) == tile.rows * tile.cols
    reach = 1 + max(max(row) for row in found)
    assert tile.size == (reach if tile.swizzle else max(reach, tile.elements))
    flat = [each for row in found for each in row]
    assert [tile(place) for place in range(tile.rows * tile.cols)] == flat
    assert tile(np.arange(tile.rows * tile.cols)).tolist() == flat
    row, col = np.indices((tile.rows, tile.cols))
    assert tile(row, col).tolist() == found
    assert hash(tile) == hash(eval(repr(tile)))  # noqa: S307 - its own


@given(tiles())
def test_steps_are_applied_one_after_the_other(tile: Tile) -> None:
    """The definition, in plain Python."""
    bits = (tile.cols - 1).bit_length()
    for row in range(tile.rows):
        for col in range(tile.cols):
            word = row << bits | col
            moved = word
            for term in tile.terms:
                moved ^= word >> term.shift & term.mask
            at = moved >> bits, moved & (1 << bits) - 1
            if tile.layout is None:
                offset = at[0] * (tile.cols + tile.pad) + at[1]
            else:
                offset = tile.layout(*at)
            for swizzle in reversed(tile.outer):
                offset = swizzle(offset)
            assert tile(row, col) == offset


@given(tiles() | tile_layouts(8))
def test_the_c_text_of_a_tile_is_the_tile(tile: Tile) -> None:
    shape = (tile.rows, tile.cols)
    try:
        again = Tile.parse(tile.c(), shape)
    except LayoutError:  # then it is one of those that `fit` does not look for
        assert len(tile.outer) > 1 or (tile.terms and tile.layout)
        with pytest.raises(LayoutError, match="is not a tile known here"):
            Tile.parse(tile.c(), shape)
        return
    assert offsets(again, *shape) == offsets(tile, *shape)


@given(tiles() | tile_layouts(8))
def test_the_notation_of_a_tile_is_the_tile_or_a_text_says_why_not(tile: Tile) -> None:
    if tile.notation is None:
        with pytest.raises(LayoutError, match="has no notation of CuTe: CuTe"):
            tile.cute()
        return
    again = Tile.parse(tile.cute())
    assert offsets(again, tile.rows, tile.cols) == offsets(tile, tile.rows, tile.cols)
    if len(tile.swizzles) < 2:
        assert Tile.of(Layout.parse(tile.cute())) == again


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 12)), min_size=1, max_size=4))
def test_what_is_injective_is_found_by_listing(digits: list[tuple[int, int]]) -> None:
    shape, stride = zip(*digits, strict=True)
    layout = Layout(shape, stride)
    assert is_injective(layout) == (len(set(layout.offsets())) == layout.size)


@given(tiles())
def test_an_offset_that_is_taken_twice_is_refused(tile: Tile) -> None:
    size = tile.rows * tile.cols
    divided = f"({tile.c()}) / 2"
    assume(len({tile(place) // 2 for place in range(size)}) < size)
    with pytest.raises(LayoutError, match="a different offset for each"):
        Tile.parse(divided, (tile.rows, tile.cols))


@given(st.sampled_from(list(swizzles(12))), st.sampled_from([8, 16, 32, 64]), st.integers(0, 4095))
def test_a_swizzle_before_a_pointer_moves_bytes(swizzle: Swizzle, bits: int, place: int) -> None:
    """Of an element's address, all bytes move alike; the element is where its first byte is."""
    element = bits // 8
    text = f"{swizzle} o smem_ptr[{bits}b](unset) o (_4096):(_1)"
    if swizzle.base < element.bit_length() - 1:
        with pytest.raises(LayoutError, match="splits elements"):
            Layout.parse(text)
        return
    assert Layout.parse(text)(place) * element == swizzle(place * element)
    assert Tile.parse(text).element == element
