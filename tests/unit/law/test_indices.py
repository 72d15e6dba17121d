"""What a caller may say of each lane, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from layouts import BankwiseError, Layout, LayoutError, Swizzle, Tile
from simulator import AddressError, ExpressionError, MaskError, OptionError, count, explain
from simulator.testing import assert_conflict_free, assert_wavefronts

LANES = np.arange(32)
SWIZZLED = "Sw<3,3,3> o 0 o (64,64):(64,1)"


def test_a_layout_turns_rows_and_columns_into_bytes() -> None:
    for layout in (
        "(32,32):(33,1)",
        "row*33 + col",
        "32x32: row*33 + col",
        Layout.row_major("32x32", ld=33),
        Tile(32, 32, 1),
        "#ttg.padded_shared<[32:+1] {order = [1, 0], shape = [32, 32]}>",
    ):
        assert explain("LDS", "lane, 3", layout=layout).addresses == tuple(LANES * 132 + 12)
        assert count("LDS", (LANES, 0 * LANES), layout=layout).wavefronts == 1


def test_the_size_of_an_element_is_said_or_known() -> None:
    index = "lane%16, lane/16*8"
    kernel = "Sw<3,4,3> o smem_ptr[16b](unset) o (_64,_64):(_64,_1)"
    for layout, element in ((SWIZZLED, 2), (kernel, None), (kernel, 2), (Tile.parse(kernel), 2)):
        told = explain("ldmatrix.x4", index, layout=layout, element=element)
        assert (told.wavefronts, told.bank_conflicts, told.element) == (4, 0, 2)
    with pytest.raises(LayoutError, match="element 4 is not the 2 bytes of"):
        count("LDS", "lane, 0", layout=kernel, element=4)


def test_indices_without_a_layout_count_elements() -> None:
    assert count("LDS", LANES, element=4).wavefronts == 1
    assert count("LDS", "lane*2", element=4).wavefronts == 2
    assert count("LDS.U16", lambda lane: 64 * lane, element=2).wavefronts == 32
    assert count("LDS", [4 * lane for lane in range(32)]).wavefronts == 1  # bytes, as ever


def test_many_accesses_at_once_with_masks() -> None:
    rows, cols = np.broadcast_arrays(LANES, np.arange(5)[:, None])
    masks = np.array([0xFFFFFFFF, 1, 3, 0xFF, 0])
    counted = count("LDS", (rows, cols), masks, layout="(32,32):(32,1)")
    assert counted.wavefronts.tolist() == [32, 1, 2, 8, 0]
    far = np.where(LANES < 8, rows, 1000)  # what inactive lanes say means nothing
    assert count("LDS", (far, cols), 0xFF, layout="(32,32):(32,1)").wavefronts.tolist() == [8] * 5
    text = "100/(8 - lane), 0"  # nor is it evaluated
    assert count("LDS", text, 0xF, layout="(128,1):(1,1)").wavefronts == 1


def test_three_modes_take_three_indices() -> None:
    stages = "(8,32,3):(32,1,256)"
    index = (LANES // 8, LANES % 8, 0 * LANES + 2)
    wanted = (LANES // 8 * 32 + LANES % 8 + 512) * 4
    assert explain("LDS", index, layout=stages).addresses == tuple(wanted)


def test_a_flat_tile_takes_one_index() -> None:
    for layout in ("Sw<5,0,5> o 0 o 1024:1", Tile(1, 1024, 0, Swizzle(5, 0, 5)),
                   "index ^ (index >> 5)"):  # fmt: skip
        assert count("LDS", "lane*32", layout=layout).wavefronts == 1


@pytest.mark.parametrize(
    ("op", "index", "given", "error", "message"),
    [
        ("LDS", "lane*2, 0", {"layout": "(32,32):(32,1)"}, AddressError,
         "lane 16 is at row 32, column 0, outside of the tile 32x32: row*32 + col"),
        ("LDS", (LANES - 1, LANES), {"layout": "(32,32):(32,1)"}, AddressError,
         "lane 0 is at row -1"),
        ("LDS", "lane", {"layout": "(32,32):(32,1)"}, AddressError, "is not a row and a column"),
        ("LDS", "lane", {"layout": "row*33 + col"}, AddressError, "is not a row and a column"),
        ("LDS", "lane, 0, 0", {"layout": "(32,32):(32,1)"}, AddressError, "not a row and a column"),
        ("LDS", "lane, 0", {"layout": "(8,32,3):(32,1,256)"}, AddressError, "has 2 parts for"),
        ("LDS", "lane, 0", {"element": 4}, ExpressionError, "or a layout"),
        ("LDS", "lane, foo", {"layout": "row + col"}, ExpressionError, "unknown name 'foo'"),
        ("LDS", "lane, 0", {"layout": "row*pitch + col"}, LayoutError, "pitch in"),
        ("LDS", "lane, 0", {"layout": "row*33 +"}, ExpressionError, "ends too early"),
        ("LDS", "lane/16, lane%16*16", {"layout": "row*16 + col"}, LayoutError,
         "puts elements (0, 16) and (1, 0) in one place"),
        ("LDS", "lane, 0", {"layout": "(32,32):(16,1)"}, LayoutError, "several elements in one"),
        ("LDS", "lane, 0", {"layout": "(32,32):(0,1)"}, LayoutError, "several elements in one"),
        ("LDS", "lane, 0", {"layout": "(32,32):(-32,1)"}, LayoutError, "a stride"),
        ("LDS", "lane%5, 0", {"layout": "Sw<3,3,3> o 0 o (5,72):(72,1)"}, LayoutError,
         "past the tile's 360 elements"),
        ("LDS.128", "lane, 0", {"layout": "Sw<3,0,5> o 0 o (32,32):(32,1)"}, AddressError,
         "accesses 4 elements of 4 bytes per lane, which do not lie side by side"),
        ("LDS.64", "lane, 31", {"layout": "(32,32):(32,1)"}, AddressError, "side by side"),
        ("LDS", "lane, 0", {"layout": "(32,32):(33,1)", "element": 3}, OptionError, "element 3"),
        ("LDS", "lane", {"element": 17}, OptionError, "element 17"),
        ("LDS", "lane, 0", {"layout": 7}, LayoutError, "7 is not a tile"),
        ("LDS", "lane, 0", {"layout": "#ttg.swizzled_shared<{vec = 1}>"}, LayoutError, "order"),
        ("LDS", (LANES, LANES[:4]), {"layout": "(32,32):(32,1)"}, AddressError, "have shapes"),
        ("LDS", ([0.5] * 32, LANES), {"layout": "(32,32):(32,1)"}, AddressError, "indices hold"),
        ("LDS", ([1 << 70] * 32, LANES), {"layout": "(32,32):(32,1)"}, AddressError,
         "indices reach"),
        ("LDS", lambda lane: "no", {"layout": "(32,32):(32,1)"}, AddressError,
         "returns 'no' for lane 0"),
        ("LDS", lambda lane: (lane,) * (1 + lane % 2), {"layout": "(32,32):(32,1)"}, AddressError,
         "for lane 0"),
    ],
)  # fmt: skip
def test_what_is_refused(
    op: str, index: Any, given: dict[str, Any], error: type[BankwiseError], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        count(op, index, **given)


def test_text_without_a_layout_counts_elements_of_four_bytes() -> None:
    assert count("LDS", "lane*4").wavefronts.tolist() == [4]
    assert count("LDS", "lane*4", element=1).wavefronts.tolist() == [1]
    with pytest.raises(AddressError, match="hold 'lane\\*4'"):
        count("LDS", ["lane*4"])


def test_a_mask_that_is_none_is_refused_as_such() -> None:
    with pytest.raises(MaskError, match="not 32 bits"):
        count("LDS", "lane, 0", 1 << 32, layout="(32,32):(32,1)")
    with pytest.raises(MaskError, match="masks have shape"):
        count("LDS", (LANES, LANES), [1, 2], layout="(32,32):(32,1)")


def test_asserts_take_layouts() -> None:
    index = "lane%16, (lane/16 + 2*warp)*8"
    assert_conflict_free("ldmatrix.x4", index, layout=SWIZZLED, element=2, warps=4)
    assert_conflict_free("LDS", lambda lane: lane)
    assert_wavefronts("LDS", (LANES, 0 * LANES), layout="row*32 + col", at_most=32)
    with pytest.raises(AssertionError, match=r"LDSM\.16\.M88\.4 has 28 bank conflicts"):
        assert_conflict_free("ldmatrix.x4", index, layout="(64,64):(64,1)", element=2)
    with pytest.raises(OptionError, match="are for an index expression"):
        assert_conflict_free("LDS", LANES * 4, element=2)
