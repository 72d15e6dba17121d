"""Laws of warp layouts, fragments, tiles and swizzles."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layouts import FRAGMENTS, LANE_ORDERS, Swizzle, Tile, WarpLayout, fragment_elements

shapes = st.sampled_from([(1 << i, 32 >> i) for i in range(6)])


@st.composite
def swizzles(draw: st.DrawFn) -> Swizzle:
    bits = draw(st.integers(0, 4))
    shift = draw(st.integers(bits, 6)) * draw(st.sampled_from([1, -1]))
    return Swizzle(bits, draw(st.integers(0, 4)), shift)


@given(shapes, st.sampled_from(LANE_ORDERS))
def test_a_lane_order_visits_every_place_once(shape: tuple[int, int], order: str) -> None:
    warp = WarpLayout.of(shape, order)
    rows, cols = shape
    assert sorted(warp.coordinates) == [(row, col) for row in range(rows) for col in range(cols)]


@given(shapes, st.permutations(range(32)))
def test_an_explicit_order_is_taken_as_it_is(shape: tuple[int, int], order: list[int]) -> None:
    warp = WarpLayout.of(shape, order)
    for lane, (row, col) in enumerate(warp.coordinates):
        assert row * shape[1] + col == order[lane]


@pytest.mark.parametrize("order", LANE_ORDERS)
def test_one_row_or_column_has_one_order(order: str) -> None:
    assert WarpLayout.of("1x32", order) == WarpLayout.of("1x32", list(range(32)))
    assert WarpLayout.of("32x1", order) == WarpLayout.of("32x1", list(range(32)))


def test_z_order_bits() -> None:
    # Lane bit 0 is row bit 0, the next three bits the column, the last the other row bit.
    warp = WarpLayout.of("4x8", "z-order")
    for lane, place in enumerate(warp.coordinates):
        assert place == ((lane & 1) | (lane >> 4) << 1, lane >> 1 & 7)


@given(st.integers(1, 32), st.integers(1, 8), st.sampled_from(FRAGMENTS))
def test_threads_share_out_a_warp_tile(threads: int, half: int, kind: str) -> None:
    elements = fragment_elements(threads, 2 * half, kind)
    assert sorted(chain(*elements)) == list(range(2 * half * threads))


@given(swizzles(), st.integers(0, 2**20))
def test_a_swizzle_is_an_involution(swizzle: Swizzle, offset: int) -> None:
    assert swizzle(swizzle(offset)) == offset


@given(swizzles())
def test_a_swizzle_is_a_bijection_of_its_window(swizzle: Swizzle) -> None:
    window = range(1 << swizzle.bits + swizzle.base + abs(swizzle.shift))
    assert sorted(map(swizzle, window)) == list(window)


@given(swizzles(), st.integers(0, 2**20))
def test_a_swizzle_moves_only_its_target_bits(swizzle: Swizzle, offset: int) -> None:
    lowest = swizzle.base + max(0, -swizzle.shift)
    target = ((1 << swizzle.bits) - 1) << lowest
    assert (swizzle(offset) ^ offset) & ~target == 0


@given(swizzles())
def test_a_swizzle_is_read_back_from_its_text(swizzle: Swizzle) -> None:
    assert Swizzle.of(str(swizzle)) == swizzle
    assert Swizzle.of((swizzle.bits, swizzle.base, swizzle.shift)) == swizzle


@given(st.integers(1, 8), st.integers(1, 16), st.integers(0, 5), swizzles())
def test_a_tile_gives_every_element_its_own_place(
    rows: int, cols: int, pad: int, swizzle: Swizzle
) -> None:
    tile = Tile(rows, cols, pad, swizzle)
    places = {tile.offset(row, col) for row in range(rows) for col in range(cols)}
    assert len(places) == rows * cols
