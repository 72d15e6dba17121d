"""What is refused, and what the refusal says."""

import subprocess
import sys

import numpy as np
import pytest

from layouts import (
    BlockLayout,
    Layout,
    LayoutError,
    LinearMap,
    Swizzle,
    Tile,
    WarpLayout,
    coalesce,
    complement,
    composition,
    fragment_elements,
    is_linear,
    left_inverse,
    logical_divide,
    make_layout,
    picture,
    right_inverse,
)

HUGE = 2**62


@pytest.mark.parametrize(
    ("text", "expected", "column"),
    [
        ("", "a shape or 'Sw<B,M,S> o'", 1),
        ("(8,4:(4,1)", "',' or ')'", 5),
        ("(8,4)", "':'", 6),
        ("(8,4):", "a stride: an integer or '('", 7),
        ("(8,4):(4,1) x", "the end", 13),
        ("(8,):(1)", "a shape", 4),
        ("(8,4):(-4,1)", "a stride", 8),
        ("():()", "a shape", 2),
        ("Sw<3,4> o 0 o 8:1", "','", 7),
        ("Sw<3,x,3> o 0 o 8:1", "the lowest bit", 6),
        ("Sw<3,4,3> 0 o 8:1", "'o'", 11),
        ("Sw<3,4,3> o 8:1", "'o'", 14),
        ("Tw<3,4,3> o 0 o 8:1", "a shape", 1),
        ("(8,4):(4,1" + "0" * 30 + ")", "a number of at most 19 digits", 10),
        ("(" * 40 + "8", "at most 32 parentheses", 33),
        ("8:\N{SUPERSCRIPT TWO}", "a stride", 3),
        ("(8,\n 4;2):(1,8)", "',' or ')'", 7),
    ],
)
def test_malformed_text_points_at_the_place(text, expected, column):
    with pytest.raises(LayoutError) as caught:
        Layout.parse(text)
    message, line, caret = str(caught.value).split("\n")
    assert message.startswith(f"malformed layout: expected {expected}")
    assert message.split(" (such as ")[0].endswith(f"at column {column}")
    assert len(caret) - 1 - 2 <= 60
    pointed = line[len(caret) - 1 : len(caret)]
    assert pointed == text[column - 1 : column]  # the caret stands under the fault


def test_a_long_text_shows_the_neighbourhood_only():
    with pytest.raises(LayoutError) as caught:
        Layout.parse(f"({','.join(['8'] * 1000)}]:1")
    line, caret = str(caught.value).split("\n")[1:]
    assert len(line) < 110
    assert line[len(caret) - 1] == "]"


@pytest.mark.parametrize("text", [None, 8, b"8:1"])
def test_only_text_is_parsed(text):
    with pytest.raises(LayoutError, match="is not a text such as"):
        Layout.parse(text)


@pytest.mark.parametrize(
    "shape", [0, -1, (8, 0), (), ((),), (8, 4.0), (True, 4), "8", None, (8, None), {8}]
)
def test_shapes(shape):
    with pytest.raises(LayoutError, match=r"shape .* is not made of integers >= 1"):
        Layout(shape)


def test_nesting_without_end():
    shape = 8
    for _ in range(100_000):
        shape = (shape,)
    with pytest.raises(LayoutError, match=r"nested too deep to print.* at most 32 deep"):
        Layout(shape)


def test_strides():
    with pytest.raises(LayoutError, match=r"stride \(4, -1\) is not made of integers >= 0"):
        Layout((8, 4), (4, -1))
    for stride in (1, (1, 2, 3), ((1, 2), 3)):
        with pytest.raises(LayoutError, match=r"\(8,4\) and stride .* the same parentheses"):
            Layout((8, 4), stride)


def test_offsets_belong_to_swizzles():
    with pytest.raises(LayoutError, match="offset 4 of layout 8:1"):
        Layout(8, 1, offset=4)
    with pytest.raises(LayoutError, match="offset -1 of layout 8:1"):
        Layout(8, 1, "3,0,3", -1)
    assert Layout(8, 1, "3,0,3", 4).offset == 4


@pytest.mark.parametrize("arguments", [((HUGE, 2),), (2, 2**63), ((HUGE, HUGE), (0, 0))])
def test_what_int64_cannot_hold_is_refused(arguments):
    with pytest.raises(LayoutError, match=r"accepted: up to 2\*\*63 - 1"):
        Layout(*arguments)


def test_the_largest_layout_is_right():
    layout = Layout((2, 2), (1, 2**63 - 3))
    assert layout(1, 1) == 2**63 - 2
    assert layout(np.array([1]), np.array([1]))[0] == 2**63 - 2
    assert layout.cosize == 2**63 - 1


def test_huge_layouts_are_not_listed():
    for listing in (Layout(2**40).offsets, lambda: Layout(2**40, 1, "3,4,3").cosize):
        with pytest.raises(LayoutError, match="too many to list"):
            listing()


@pytest.mark.parametrize(
    "coordinate",
    [(), (8, 0), (0, -1), (0, 0, 0), (32,), (-1,), (1.0,), ("1",), ((0, 1), 0), (True, 0), (None,)],
)
def test_coordinates(coordinate):
    with pytest.raises(LayoutError, match=r"coordinate .* does not fit layout \(8,4\):\(4,1\)"):
        Layout((8, 4), (4, 1))(*coordinate)


@pytest.mark.parametrize("rows", [[8], [-1], [0.5], [True]])
def test_arrays_of_coordinates(rows):
    with pytest.raises(LayoutError, match="does not fit layout"):
        Layout((8, 4), (4, 1))(np.array(rows), np.array([0]))


def test_one_index_too_many():
    with pytest.raises(LayoutError, match=r"index 32 of layout .* is not in 0\.\.31"):
        Layout((8, 4)).coordinate(32)


def test_constructors():
    with pytest.raises(LayoutError, match="leading dimension 63 is shorter than a row of 64"):
        Layout.row_major("8x64", ld=63)
    with pytest.raises(LayoutError, match="leading dimension 7 is shorter than a column of 8"):
        Layout.col_major("8x64", ld=7)
    with pytest.raises(LayoutError, match="leading dimension 15 is shorter than a strip of 16"):
        Layout.col_major_interleaved("8x64", 2, ld=15)
    with pytest.raises(LayoutError, match="interleave 0 is not a positive number"):
        Layout.row_major_interleaved("8x64", 0)
    with pytest.raises(LayoutError, match="shape '8' is not RxC"):
        Layout.row_major("8")
    with pytest.raises(LayoutError, match="has 1 modes, not two to exchange"):
        _ = Layout(8).transposed
    with pytest.raises(LayoutError, match="has a swizzle already"):
        Layout(8, 1, "3,0,3").swizzled("1,0,1")


def test_algebra():
    with pytest.raises(LayoutError, match=r"4:4 does not step evenly through \(6,2\):\(8,2\)"):
        composition(Layout((6, 2), (8, 2)), Layout(4, 4))
    with pytest.raises(LayoutError, match=r"together step past the end of 4:1"):
        composition(Layout((4, 2), (1, 8)), Layout((4, 2), (1, 2)))
    with pytest.raises(LayoutError, match=r"4:2 starts inside the 4 elements before it"):
        complement(Layout((4, 4), (1, 2)), 24)
    with pytest.raises(LayoutError, match="a stride of 0 repeats offsets"):
        left_inverse(Layout((4, 2), (1, 0)))
    with pytest.raises(LayoutError, match="stride 17 is not a multiple of 3"):
        left_inverse(Layout((4, 2), (3, 17)))
    with pytest.raises(LayoutError, match="3 tilers do not fit layout"):
        logical_divide(Layout((4, 2)), (2, 2, 2))
    with pytest.raises(LayoutError, match="cotarget 0"):
        complement(Layout(4), 0)
    with pytest.raises(LayoutError, match="malformed layout: expected ':' at column 2"):
        logical_divide(Layout(8), "4")
    with pytest.raises(LayoutError, match="shape -4"):
        logical_divide(Layout(8), -4)


def test_swizzled_layouts_where_only_plain_ones_do():
    swizzled = Layout((8, 64), (64, 1), "3,3,3")
    for refuse in (right_inverse, left_inverse, complement, make_layout):
        with pytest.raises(LayoutError, match="is swizzled"):
            refuse(swizzled)
    with pytest.raises(LayoutError, match="cannot be a tiler"):
        composition(Layout(512), swizzled)
    with pytest.raises(LayoutError, match=r"its modes are those of \.plain"):
        _ = swizzled.modes


def test_linear_maps():
    for columns in ((-1,), (2**63,), (1.0,), "12", (1,) * 64):
        with pytest.raises(LayoutError, match="are not up to 63 integers"):
            LinearMap(columns)
    with pytest.raises(LayoutError, match=r"index 4 is not in 0\.\.3"):
        LinearMap((1, 2))(4)
    with pytest.raises(LayoutError, match="5 bits do not fit Sw<3,0,3>"):
        LinearMap.of(Swizzle(3, 0, 3), bits=5)
    with pytest.raises(LayoutError, match="64 bits do not make a map"):
        LinearMap.identity(64)
    with pytest.raises(LayoutError, match="is not linear"):
        LinearMap.of(Layout(6))


def test_lane_orders():
    with pytest.raises(LayoutError, match=r"puts lanes 0 and 8 at 0 \(accepted: each of 0..31"):
        WarpLayout.of("4x8", "(8,4):(1,0)")
    with pytest.raises(LayoutError, match="puts lane 16 at 32"):
        WarpLayout.of("4x8", Layout((16, 2), (1, 32)))
    with pytest.raises(LayoutError, match="has 16 elements"):
        WarpLayout.of("4x8", Layout(16))
    with pytest.raises(LayoutError, match=r"did you mean row-major\?"):
        WarpLayout.of("4x8", "row-majr")
    for order in ((0, 1, 2, 3), (0, 1, 2, 3, 3), [0] * 32, range(31), 7, (0, 1, 2, 3, 4.0)):
        with pytest.raises(LayoutError, match=r"is not a permutation of 0\.\.31"):
            WarpLayout.of("4x8", order)
    with pytest.raises(LayoutError, match="malformed layout"):
        WarpLayout.of("4x8", "(4,8:(8,1)")
    with pytest.raises(LayoutError, match=r"has 1 modes \(accepted: 2\)"):
        WarpLayout.from_threads("32:1")
    with pytest.raises(LayoutError, match=r"has 64 lanes, a warp has 32"):
        WarpLayout.from_threads("(8,8):(8,1)")
    with pytest.raises(LayoutError, match=r"\(4,8\):\(4,1\) puts places 1 and 16 at 4"):
        WarpLayout.from_threads("(4,8):(4,1)")
    with pytest.raises(LayoutError, match=r"\(4, 0\) is outside the warp's 4x8 lanes"):
        WarpLayout.of("4x8").lane(4, 0)


def test_fragments():
    with pytest.raises(LayoutError, match="puts elements 0 and 2 at 0"):
        fragment_elements(2, 4, Layout((2, 4), (4, 0)))
    with pytest.raises(LayoutError, match=r"two modes of sizes 2 and 4"):
        fragment_elements(2, 4, "(4,2):(1,4)")


def test_blocks():
    with pytest.raises(LayoutError, match=r"has 64 warps \(accepted: up to 32\)"):
        BlockLayout.of("8x8", "4x8")
    with pytest.raises(LayoutError, match="z-order needs an even number of rows"):
        BlockLayout.of("3x2", "4x8", warp_order="z-order")
    with pytest.raises(LayoutError, match=r"warp order .* is not a permutation of 0\.\.5"):
        BlockLayout.of("3x2", "4x8", warp_order=(0, 1))
    with pytest.raises(LayoutError, match="is not one kind or a pair"):
        BlockLayout.of("1x1", "4x8", fragment=("split",) * 3)
    block = BlockLayout.of("2x4", "4x8", "8x8")
    with pytest.raises(LayoutError, match=r"warps 0\.\.7, lanes 0\.\.31"):
        block.threads(8, 0)
    with pytest.raises(LayoutError, match="is outside the block tile 64x256"):
        block.owner(64, 0)


def test_pictures():
    with pytest.raises(LayoutError, match="has 100000000 cells"):
        picture("10000x10000", lambda row, col: 0)


def test_importing_layouts_loads_nothing_heavy():
    program = (
        "import sys, layouts\n"
        "layouts.Layout.parse('Sw<3,4,3> o 0 o (8,64):(64,1)')\n"
        "heavy = {'numba', 'cupy', 'plotly', 'pandas'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: coalesce(7), "7 is not a layout"),
        (lambda: composition(None, 4), "None is not a layout"),
        (lambda: composition("4:1", 1.5), "1.5 is not a layout and not a positive integer"),
        (lambda: make_layout(Layout(4), 3), "3 is not a layout"),
        (lambda: LinearMap.of(3.0), "3.0 is not a layout"),
        (lambda: logical_divide("(8,4:1", 4), "malformed layout"),
        (lambda: fragment_elements(4, -4), "-4 elements per thread (accepted: a positive integer)"),
        (lambda: fragment_elements(4, 4.0), "4.0 elements per thread"),
        (lambda: fragment_elements(True, 4), "True threads"),
        (lambda: WarpLayout(4, 8, (0,)), "are not 32 lanes, each in its own place"),
        (lambda: Layout.parse("٣:1"), "malformed layout"),
    ],
)
def test_what_is_no_layout_is_refused(call, message):
    with pytest.raises(LayoutError) as caught:
        call()
    assert message in str(caught.value)


def test_text_is_a_layout_everywhere():
    assert coalesce("(2,(1,6)):(1,(6,2))") == Layout(12, 1)
    assert composition("(6,2):(8,2)", "(4,3):(3,1)") == composition(
        Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))
    )
    assert is_linear(Swizzle(3, 4, 3))
    assert LinearMap.of("(8,4):(4,1)") == LinearMap.of(Layout((8, 4), (4, 1)))


def test_narrow_numpy_integers_do_not_wrap_around():
    tile = Tile(8, 64, swizzle=Swizzle(3, 3, 3))
    assert tile.offset(np.int8(7), np.int8(5)) == tile.offset(7, 5) == 509
    assert Swizzle(3, 4, -3)(np.array([16], np.int8)).tolist() == [Swizzle(3, 4, -3)(16)]
    swizzle = Swizzle(np.int64(3), 4, 3)
    assert repr(Layout((8, 64), (64, 1), swizzle=swizzle)).count("np.") == 0
