"""Laws of layouts and their algebra, for whatever layout Hypothesis comes up with.

Source of the laws: the post-conditions in CUTLASS, media/docs/cpp/cute/02_layout_algebra.md
(https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/cute/02_layout_algebra.md).
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from layouts import (
    Layout,
    LayoutError,
    Swizzle,
    Tile,
    coalesce,
    complement,
    composition,
    is_injective,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout,
    right_inverse,
    tiled_divide,
    zipped_divide,
)
from layouts.nested import flat

sizes = st.integers(1, 6)
strides = st.integers(0, 24)
modes = st.recursive(
    st.builds(Layout, sizes, strides),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda parts: make_layout(*parts)),
    max_leaves=4,
)
swizzles = st.builds(
    lambda bits, base, extra, sign: Swizzle(bits, base, sign * (bits + extra)),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from([1, -1]),
)
swizzled = st.builds(
    lambda layout, swizzle, offset: Layout(layout.shape, layout.stride, swizzle, offset),
    modes,
    swizzles,
    st.integers(0, 40),
)
layouts = modes | swizzled


@st.composite
def compact(draw: st.DrawFn, gaps: bool = False) -> Layout:
    """Modes of a compact layout in any order; with gaps, a stride may skip places."""
    shape = draw(st.lists(sizes, min_size=1, max_size=4))
    order = draw(st.permutations(range(len(shape))))
    stride, step = [0] * len(shape), 1
    for mode in order:
        step *= draw(st.integers(1, 3)) if gaps else 1
        stride[mode] = step
        step *= shape[mode]
    return Layout(tuple(shape), tuple(stride))


def try_to(function, *arguments):
    """The result; a refusal discards the example (assume keeps count that enough remain)."""
    try:
        result = function(*arguments)
    except LayoutError:
        event("refused")
        assume(False)
    event("done")
    return result


# -- the function itself


@given(layouts)
def test_every_spelling_of_a_coordinate_gives_one_offset(layout):
    offsets = layout.offsets()
    assert len(offsets) == layout.size
    for index, offset in enumerate(offsets):
        assert layout(index) == layout(layout.coordinate(index)) == offset
    assert np.array_equal(layout(np.arange(layout.size)), offsets)


@given(modes)
def test_offset_is_the_sum_of_digits_times_strides(layout):
    for index in range(layout.size):
        digits = flat(layout.coordinate(index))
        assert layout(index) == sum(map(int.__mul__, digits, flat(layout.stride)))


@given(layouts)
def test_text_and_repr_round_trip(layout):
    assert Layout.parse(str(layout)) == layout
    assert eval(repr(layout), {"Layout": Layout, "Swizzle": Swizzle}) == layout  # noqa: S307
    assert hash(Layout.parse(str(layout))) == hash(layout)


@given(layouts)
def test_cosize_is_one_more_than_the_largest_offset(layout):
    assert layout.cosize == max(layout.offsets()) + 1


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 5), st.integers(1, 4))
def test_named_layouts_are_cutlasss_formulas(rows, cols, pad, interleave):
    """CUTLASS, include/cutlass/layout/matrix.h: the call operators of the four layouts."""
    row_major = Layout.row_major((rows, cols), ld=cols + pad)
    col_major = Layout.col_major((rows, cols), ld=rows + pad)
    by_column = Layout.col_major_interleaved((rows, cols), interleave, rows * interleave + pad)
    by_row = Layout.row_major_interleaved((rows, cols), interleave, cols * interleave + pad)
    for row in range(rows):
        for col in range(cols):
            assert row_major(row, col) == row * (cols + pad) + col
            assert col_major(row, col) == row + col * (rows + pad)
            assert by_column(row, col) == (
                col // interleave * (rows * interleave + pad) + row * interleave + col % interleave
            )
            assert by_row(row, col) == (
                row // interleave * (cols * interleave + pad) + col * interleave + row % interleave
            )
            assert row_major.transposed(col, row) == row_major(row, col)


@given(swizzles, st.integers(0, 4096))
def test_swizzle_is_an_involution_and_a_bijection_of_its_block(swizzle, offset):
    assert swizzle(swizzle(offset)) == offset
    block = 1 << (swizzle.bits + swizzle.base + abs(swizzle.shift))
    assert sorted(map(swizzle, range(block))) == list(range(block))


# -- the algebra


@given(layouts)
def test_coalesce_keeps_the_function_and_flattens(layout):
    result = coalesce(layout)
    assert result.offsets() == layout.offsets()
    assert result.depth <= 1
    assert coalesce(result) == result
    assert 1 not in flat(result.shape) or result.size == 1


@given(layouts, modes)
def test_composition_is_composition(a, b):
    result = try_to(composition, a, b)
    assert result.size == b.size
    for index in range(b.size):
        if b(index) < a.size:  # past its end a layout has no offset to compare with
            assert result(index) == a(b(index))
            assert result(b.coordinate(index)) == a(b(index))


@given(
    st.lists(st.sampled_from([2, 4, 8]), min_size=1, max_size=3),
    st.lists(st.integers(0, 50), min_size=3, max_size=3),
    st.data(),
)
def test_powers_of_two_that_stay_apart_always_compose(shape, stride, data):
    a = Layout(tuple(shape), tuple(stride[: len(shape)]))
    bits = data.draw(st.permutations(range(a.size.bit_length() - 1)))
    b = Layout((2,) * len(bits), tuple(1 << bit for bit in bits))
    assert composition(a, b).offsets() == [a(offset) for offset in b.offsets()]


@given(st.integers(2, 12), sizes, sizes)
def test_modes_that_carry_into_one_another_do_not_compose(length, size, other):
    """CuTe would return the sum of the parts, which is not a(b(i)) here."""
    assume(max(size, other) <= length)
    a = Layout((length, 2), (1, 1000))
    b = Layout((size, other), (1, 1))
    if b.cosize <= length:
        assert composition(a, b).offsets() == [a(offset) for offset in b.offsets()]
    else:
        with pytest.raises(LayoutError, match="together step past the end"):
            composition(a, b)


@given(swizzles, modes)
def test_swizzle_composes(swizzle, layout):
    result = composition(swizzle, layout)
    assert result.offsets() == [swizzle(offset) for offset in layout.offsets()]


@settings(suppress_health_check=[HealthCheck.filter_too_much])  # most draws do not compose
@given(modes, modes, modes, strides, strides)
def test_composition_is_associative_where_it_is_defined(a, b, c, step, other):
    b = make_layout(b, Layout(-(-c.cosize // b.size), step))  # every offset is an index
    a = make_layout(a, Layout(-(-b.cosize // a.size), other))
    left = try_to(composition, try_to(composition, a, b), c)
    right = try_to(composition, a, try_to(composition, b, c))
    assert left.offsets() == right.offsets()


@given(modes, st.integers(1, 200))
def test_complement_is_ordered_and_disjoint(layout, cotarget):
    result = try_to(complement, layout, cotarget)
    assume(result.size * layout.size <= 4096)
    free, taken = result.offsets(), layout.offsets()
    assert all(low < high for low, high in pairwise(free))
    assert not set(free[1:]) & set(taken)
    if all(step for size, step in layout.digits if size > 1):  # no stride 0: nothing repeats
        both = make_layout(layout, result).offsets()
        assert len(set(both)) == len(both)


@given(compact(gaps=True), st.integers(1, 300))
def test_complement_fills_up_where_strides_divide(layout, cotarget):
    both = make_layout(layout, complement(layout, cotarget))
    assert sorted(both.offsets()) == list(range(both.size))
    # what is repeated: the layout with its holes filled
    unit = max((size * step for size, step in layout.digits if size > 1), default=1)
    assert both.size == -(-cotarget // unit) * unit


@given(modes)
def test_right_inverse(layout):
    inverse = right_inverse(layout)
    assert [layout(place) for place in inverse.offsets()] == list(range(inverse.size))


@given(compact())
def test_right_inverse_of_a_compact_layout_is_whole(layout):
    assert right_inverse(layout).size == layout.size


@given(modes)
def test_left_inverse(layout):
    inverse = try_to(left_inverse, layout)
    assert [inverse(offset) for offset in layout.offsets()] == list(range(layout.size))


@given(compact(gaps=True))
def test_left_inverse_of_dividing_strides_always_exists(layout):
    inverse = left_inverse(layout)
    assert [inverse(offset) for offset in layout.offsets()] == list(range(layout.size))


@given(st.lists(st.tuples(st.integers(2, 6), st.integers(0, 5)), min_size=1), st.randoms())
def test_left_inverse_runs_over_padding(rows, random):
    """Rows of rows of rows, each padded by whole steps of the one inside."""
    modes, step = [], 1
    for size, pad in rows[:4]:
        modes.append((size, step))
        step *= size + pad
    random.shuffle(modes)
    layout = Layout(tuple(mode[0] for mode in modes), tuple(mode[1] for mode in modes))
    inverse = left_inverse(layout)
    assert [inverse(offset) for offset in layout.offsets()] == list(range(layout.size))


@given(modes, modes, st.integers(2, 6), st.integers(2, 6), st.integers(0, 24))
def test_left_inverse_refuses_whatever_overlaps(before, after, size, again, step):
    # two modes of one stride: (1, 0) and (0, 1) meet
    layout = make_layout(before, Layout(size, step), after, Layout(again, step))
    with pytest.raises(LayoutError, match="has no left inverse"):
        left_inverse(layout)


@given(layouts, compact(), st.integers(1, 4), st.integers(0, 24))
def test_divide_splits_and_keeps_every_element(a, tile, more, step):
    a = a.around(make_layout(a.plain, Layout(tile.size * more, step)))  # the tile fits
    assume(a.size <= 4096)
    result = try_to(logical_divide, a, tile)
    assert sorted(result.offsets()) == sorted(a.offsets())
    assert result.plain[0] == composition(a.plain, tile)
    assert result.rank == 2


@given(modes, st.integers(1, 40))
def test_divide_by_a_number_is_divide_by_a_run(a, size):
    assert try_to(logical_divide, a, size) == logical_divide(a, Layout(size))


@given(st.lists(modes, min_size=2, max_size=2), st.integers(1, 6), st.integers(1, 6))
def test_divides_are_one_divide_rearranged(parts, rows, cols):
    a = make_layout(*parts)
    by_mode = try_to(logical_divide, a, (rows, cols))
    (tile_row, tiles_row), (tile_col, tiles_col) = by_mode[0], by_mode[1]
    zipped = zipped_divide(a, (rows, cols))
    assert zipped == make_layout(make_layout(tile_row, tile_col), make_layout(tiles_row, tiles_col))
    assert zipped[0] == composition(a, (rows, cols))
    assert tiled_divide(a, (rows, cols)) == make_layout(zipped[0], tiles_row, tiles_col)


@given(compact() | layouts, modes)
def test_product_is_copies_of_a_in_the_order_of_b(a, b):
    result = try_to(logical_product, a, b)
    assume(result.size <= 4096)
    first, copies = result.plain.modes
    assert first == a.plain
    assert copies.size == b.size
    # copy i starts where complement number b(i) does: equal b, equal start; larger b, larger start
    starts = dict(zip(b.offsets(), copies.offsets(), strict=True))
    assert [starts[offset] for offset in b.offsets()] == copies.offsets()
    ordered = [starts[offset] for offset in sorted(starts)]
    assert ordered == sorted(set(ordered))


@given(compact(), compact())
def test_product_of_compact_layouts_is_compact(a, b):
    assume(a.size * b.size <= 4096)
    result = try_to(logical_product, a, b)
    assert sorted(result.offsets()) == list(range(a.size * b.size))


@given(modes)
def test_none_leaves_alone(a):
    assert composition(a, None) == logical_divide(a, None) == logical_product(a, None) == a


def test_millions_of_interleaved_elements_are_told_apart_at_once() -> None:
    """Listed one by one they took ten seconds, and more than a gigabyte."""
    with pytest.raises(LayoutError, match="several elements in one place"):
        Tile.parse("((4,8),(32767,2)):((1,16),(8,4))")
    assert is_injective("((3,2),(32767,4)):((2,3),(32,8))")
    with pytest.raises(LayoutError, match="too many to list"):
        is_injective("((3,2),(9999999,4)):((2,3),(32,8))")


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 99)), min_size=1, max_size=4))
def test_a_layout_is_injective_where_no_two_offsets_are_equal(modes: list[tuple[int, int]]) -> None:
    layout = Layout(tuple(size for size, _ in modes), tuple(step for _, step in modes))
    assert is_injective(layout) == (len(set(layout.offsets())) == layout.size)
