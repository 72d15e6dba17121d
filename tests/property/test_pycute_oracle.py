"""The layout algebra against CUTLASS's own Python implementation, pycute.

pip install --no-deps nvidia-cutlass; without it these tests are skipped. Where pycute
asserts, or breaks its own law (it accepts compositions that do not divide or that carry,
complements of overlapping layouts, and divides in `logical_product(layout, int)`), there
is nothing to agree with: those cases are named below, and shown to be pycute's.
"""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from layouts import (
    Layout,
    LayoutError,
    Swizzle,
    coalesce,
    complement,
    composition,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout,
    right_inverse,
    tiled_divide,
    zipped_divide,
)
from layouts.nested import product

pycute = pytest.importorskip("pycute", reason="CUTLASS's pycute: pip install nvidia-cutlass")

nests = st.recursive(
    st.tuples(st.sampled_from([1, 2, 3, 4, 6, 8]), st.sampled_from([0, 1, 2, 3, 4, 8, 12, 24, 59])),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(
        lambda parts: tuple(tuple(side) for side in zip(*parts, strict=True))
    ),
    max_leaves=4,
)
layouts = nests.map(lambda nest: Layout(*nest))
compact = st.permutations([2, 3, 4]).flatmap(
    lambda shape: st.permutations(range(3)).map(lambda order: _ordered(shape, order))
)


def _ordered(shape, order):
    stride = [math.prod(shape[mode] for mode in order[:place]) for place in range(3)]
    return Layout(tuple(shape), tuple(stride[order.index(mode)] for mode in range(3)))


def theirs(layout):
    return pycute.Layout(layout.shape, layout.stride)


def same(ours, other):
    """Equal modes; the stride of a mode of one element is nobody's business."""
    assert ours.plain.shape == other.shape
    for (size, step), their_step in zip(ours.digits, pycute.flatten(other.stride), strict=True):
        assert size == 1 or step == their_step


@given(layouts)
def test_function_size_cosize(layout):
    other = theirs(layout)
    assert [other(index) for index in range(other.size())] == layout.offsets()
    assert (other.size(), other.cosize(), len(other)) == (layout.size, layout.cosize, layout.rank)


@given(nests)
def test_compact_stride(nest):
    same(Layout(nest[0]), pycute.Layout(nest[0]))


@given(layouts)
def test_coalesce(layout):
    same(coalesce(layout), pycute.coalesce(theirs(layout)))


@given(layouts | compact, layouts)
def test_composition(a, b):
    try:
        other = pycute.composition(theirs(a), theirs(b))
    except AssertionError:
        # it wants every step to divide, even one that stays inside a mode; ours may know better,
        # and is held to the law by test_layout_laws
        assume(False)
    try:
        ours = composition(a, b)
    except LayoutError:
        # then theirs breaks the law R(i) = A(B(i)), or has another size
        wanted = [theirs(a)(offset) for offset in b.offsets()]
        assert other.size() != b.size or [other(index) for index in range(b.size)] != wanted
    else:
        same(ours, other)


@given(layouts, st.integers(1, 100))
def test_complement(layout, cotarget):
    try:
        ours = complement(layout, cotarget)
    except LayoutError:
        try:
            other = pycute.complement(theirs(layout), cotarget)
        except AssertionError:
            return
        assert product(other.shape) == 0  # it "filled" an overlap with nothing
        return
    same(ours, pycute.complement(theirs(layout), cotarget))


@given(layouts | compact)
def test_right_inverse(layout):
    assume(all(step for size, step in layout.digits if size > 1))  # theirs stops at a stride of 0
    same(right_inverse(layout), pycute.right_inverse(theirs(layout)))


@given(layouts | compact)
def test_left_inverse(layout):
    try:
        ours = left_inverse(layout)
    except LayoutError:
        return  # that these have none, or none that is a layout, is a law of its own
    other = pycute.left_inverse(theirs(layout))
    if [other(offset) for offset in layout.offsets()] == list(range(layout.size)):
        # where nothing pads, theirs is a left inverse too, and the same one
        joined = sorted((step, size) for size, step in layout.digits if size > 1)
        filled = 1
        for step, size in joined:
            if step % filled:
                return
            filled = size * step
        same(ours, other)


@given(layouts | compact, st.sampled_from([2, 3, 4, 6]) | compact)
def test_logical_divide(a, tiler):
    try:
        ours = logical_divide(a, tiler)
    except LayoutError:
        assume(False)
    other = tiler if isinstance(tiler, int) else theirs(tiler)
    try:
        result = pycute.logical_divide(theirs(a), other)
    except AssertionError:
        assume(False)
    same(ours, result)


@given(compact, st.sampled_from([(2, 3), (1, 2, 2), (2, None, 4)]))
def test_divides_by_mode(a, tilers):
    for divide, other in (
        (logical_divide, pycute.logical_divide),
        (zipped_divide, pycute.zipped_divide),
        (tiled_divide, pycute.tiled_divide),
    ):
        same(divide(a, tilers), other(theirs(a), tilers))


@given(layouts | compact, layouts)
def test_logical_product(a, b):
    try:
        ours = logical_product(a, b)
    except LayoutError:
        assume(False)
    try:
        other = pycute.logical_product(theirs(a), theirs(b))
    except AssertionError:
        assume(False)
    same(ours, other)


def test_logical_product_by_a_number_is_theirs_to_mend():
    """pycute divides where CuTe multiplies; ours is the product with that many copies."""
    a = Layout((2, 2), (4, 1))
    other = pycute.logical_product(theirs(a), 6)
    assert other.size() != 24 or str(other) == str(pycute.logical_divide(theirs(a), 6))
    same(logical_product(a, 6), pycute.logical_product(theirs(a), pycute.Layout(6)))


@given(st.integers(0, 3), st.integers(0, 4), st.integers(0, 3), st.sampled_from([1, -1]), layouts)
def test_swizzles(bits, base, extra, sign, layout):
    ours = Swizzle(bits, base, sign * (bits + extra))
    assume(ours.shift)  # a shift of 0 sends theirs into endless recursion
    other = pycute.Swizzle(ours.bits, ours.base, ours.shift)
    assert [ours(offset) for offset in range(1024)] == [other(offset) for offset in range(1024)]
    composed = pycute.swizzle.ComposedLayout(other, 5, theirs(layout))
    swizzled = Layout(layout.shape, layout.stride, ours, 5)
    assert [composed(index) for index in range(layout.size)] == swizzled.offsets()


def test_make_layout():
    parts = [Layout(4, 2), Layout((2, 3), (1, 8))]
    same(make_layout(*parts), pycute.make_layout(*map(theirs, parts)))
