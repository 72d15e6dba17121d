"""Laws of orders, fragments and blocks of warps: everything is dealt out once."""

from hypothesis import assume, given
from hypothesis import strategies as st

from layouts import BlockLayout, Layout, LinearMap, WarpLayout, fragment_elements
from layouts.warp import LANE_ORDERS

shapes = st.sampled_from([(1 << bits, 32 >> bits) for bits in range(6)])
bit_permutations = st.permutations(range(5)).map(tuple)
layout_orders = st.permutations([(2, 1 << bit) for bit in range(5)]).map(
    lambda modes: Layout(tuple(m[0] for m in modes), tuple(m[1] for m in modes))
)
orders = (
    st.sampled_from(LANE_ORDERS)
    | bit_permutations
    | st.permutations(range(32))
    | layout_orders
    | layout_orders.map(str)
)


@given(shapes, orders)
def test_every_place_has_one_lane(shape, order):
    warp = WarpLayout.of(shape, order)
    assert sorted(warp.positions) == list(range(32))
    for lane, (row, col) in enumerate(warp.coordinates):
        assert warp.lane(row, col) == lane


@given(shapes, bit_permutations)
def test_a_bit_permutation_is_linear(shape, order):
    linear = LinearMap(tuple(1 << bit for bit in order))
    assert WarpLayout.of(shape, order).positions == tuple(linear(lane) for lane in range(32))
    assert WarpLayout.of(shape, order) == WarpLayout.of(shape, linear.to_layout())


@given(shapes, orders)
def test_a_thread_layout_says_the_same_from_the_other_side(shape, order):
    warp = WarpLayout.of(shape, order)
    rows = shape[0]
    lanes = [warp.lane(place % rows, place // rows) for place in range(32)]
    linear = LinearMap(tuple(lanes[1 << bit] for bit in range(5)))
    assume([linear(place) for place in range(32)] == lanes)
    bits = rows.bit_length() - 1
    threads = Layout(
        ((2,) * bits or 1, (2,) * (5 - bits) or 1),
        (linear.columns[:bits] or 0, linear.columns[bits:] or 0),
    )
    assume(threads.offsets() == lanes)  # an XOR need not be a sum
    assert WarpLayout.from_threads(threads) == warp


@given(st.sampled_from([1, 2, 4, 8]), st.sampled_from([2, 4, 8]))
def test_named_fragments_are_layouts(threads, size):
    contiguous = Layout((threads, size), (size, 1))
    half = size // 2
    split = Layout((threads, (half, 2)), (half, (1, threads * half)))
    assert fragment_elements(threads, size, "contiguous") == fragment_elements(
        threads, size, contiguous
    )
    assert fragment_elements(threads, size, "split") == fragment_elements(threads, size, str(split))


@given(
    st.sampled_from(["1x1", "2x4", "4x2", "2x1", "3x2"]),
    shapes,
    st.sampled_from([(1, 1), (2, 4), (4, 2)]),
    orders,
    st.sampled_from(["row-major", "col-major"]),
    st.sampled_from(["contiguous", "split"]),
)
def test_threads_and_owner_are_inverse_and_cover_the_tile(
    warps, shape, tile, lane_order, warp_order, fragment
):
    assume(fragment == "contiguous" or 1 not in tile)
    block = BlockLayout.of(
        warps, shape, tile, lane_order=lane_order, warp_order=warp_order, fragment=fragment
    )
    seen = set()
    for warp in range(len(block.warp_positions)):
        for lane in range(32):
            elements = block.threads(warp, lane)
            assert len(elements) == tile[0] * tile[1]
            for row, col in elements:
                assert block.owner(row, col) == (warp, lane)
                seen.add((row, col))
    rows, cols = block.tile
    assert seen == {(row, col) for row in range(rows) for col in range(cols)}
