"""Laws of the GF(2) maps, each against plain enumeration."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from layouts import Layout, LayoutError, LinearMap, Swizzle, is_linear

swizzles = st.builds(
    lambda bits, base, extra, sign: Swizzle(bits, base, sign * (bits + extra)),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from([1, -1]),
)
maps = st.lists(st.integers(0, 255), max_size=7).map(lambda columns: LinearMap(tuple(columns)))


@st.composite
def any_layouts(draw: st.DrawFn) -> Layout:
    """Small layouts, many of them linear: powers of two, small strides, perhaps a swizzle."""
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 4, 8, 3]), min_size=rank, max_size=rank)))
    step = st.sampled_from([0, 1, 2, 4, 8, 16, 32, 64, 3, 12])
    stride = tuple(draw(st.lists(step, min_size=rank, max_size=rank)))
    swizzle = draw(st.none() | swizzles)
    offset = draw(st.sampled_from([0, 0, 0, 1])) if swizzle else 0
    return Layout(shape, stride, swizzle, offset)


@given(any_layouts())
def test_is_linear_is_the_definition(layout):
    values = layout.offsets()
    power_of_two = layout.size.bit_count() == 1
    defined = power_of_two and all(
        values[x ^ y] == values[x] ^ values[y] for x in range(len(values)) for y in range(x)
    )
    # a single offset other than 0 is affine, not linear
    assert is_linear(layout) == (defined and values[0] == 0)


@given(any_layouts())
def test_map_of_a_layout_is_the_layout(layout):
    assume(is_linear(layout))
    linear = LinearMap.of(layout)
    assert [linear(index) for index in range(layout.size)] == layout.offsets()
    assert linear.to_layout().offsets() == layout.offsets()


@given(any_layouts())
def test_map_of_another_layout_is_refused(layout):
    assume(not is_linear(layout))
    with pytest.raises(LayoutError, match="is not linear"):
        LinearMap.of(layout)


@given(swizzles, st.integers(0, 3))
def test_map_of_a_swizzle_is_the_swizzle_and_its_own_inverse(swizzle, extra):
    bits = swizzle.bits + swizzle.base + abs(swizzle.shift) + extra
    linear = LinearMap.of(swizzle, bits)
    assert all(linear(offset) == swizzle(offset) for offset in range(1 << bits))
    assert linear.inverse() == linear
    assert linear @ linear == LinearMap.identity(bits)


@given(maps)
def test_rank_and_kernel_count_the_image(linear):
    values = [linear(index) for index in range(1 << linear.in_bits)]
    assert len(set(values)) == 1 << linear.rank
    assert linear.rank + len(linear.kernel) == linear.in_bits
    # the kernel is all of what maps to 0
    spanned = {0}
    for vector in linear.kernel:
        spanned |= {vector ^ other for other in spanned}
    assert spanned == {index for index, value in enumerate(values) if value == 0}


@given(st.permutations(range(6)), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5))))
def test_inverse(order, additions):
    columns = [1 << bit for bit in order]
    for into, other in additions:
        if into != other:
            columns[into] ^= columns[other]
    linear = LinearMap(tuple(columns))
    assert linear.inverse() @ linear == linear @ linear.inverse() == LinearMap.identity(6)


@given(maps)
def test_inverse_exists_exactly_for_bijections(linear):
    values = sorted(linear(index) for index in range(1 << linear.in_bits))
    if values == list(range(len(values))):
        assert linear.inverse() @ linear == LinearMap.identity(linear.in_bits)
    else:
        with pytest.raises(LayoutError, match="no inverse"):
            linear.inverse()


@given(maps)
def test_to_layout_is_the_map_or_says_that_there_is_none(linear):
    try:
        layout = linear.to_layout()
    except LayoutError:
        # it has bits that meet, as they stand and behind every small swizzle
        columns = linear.columns
        everywhere = [Swizzle(b, m, s) for b in (1, 2) for m in range(6) for s in (b, -b, 3, -3)]
        for swizzle in [Swizzle(0, 0, 0), *everywhere]:
            moved = [swizzle(column) for column in columns]
            assert any(moved[i] & moved[j] for i in range(len(moved)) for j in range(i))
    else:
        assert layout.offsets() == [linear(index) for index in range(1 << linear.in_bits)]


@given(any_layouts(), swizzles)
def test_a_swizzled_linear_layout_is_found_again(layout, swizzle):
    plain = layout.plain
    assume(is_linear(plain))
    found = LinearMap.of(plain.swizzled(swizzle)).to_layout()
    assert found.offsets() == plain.swizzled(swizzle).offsets()
    assert found.swizzle is None or found.swizzle.bits <= swizzle.bits
