"""`simulate` with operands that lie in a tile, however that is said."""

from __future__ import annotations

import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layouts import BankwiseError, Layout, LayoutError, Swizzle, Tile
from simulator import count, simulate, sweep
from simulator.gemm.simulate import FragmentReport
from simulator.search import optimize


def figures(report: FragmentReport) -> list[Any]:
    return [report.totals(), *(part.to_dict() for part in report.fragments)]


@given(
    st.sampled_from(["4x8", "8x4", "2x16"]),
    st.sampled_from([32, 64, 128]),
    st.sampled_from(["transposed", "row-major"]),
    st.sampled_from([0, 4, 8]),
    st.sampled_from([None, Swizzle(2, 2, 5), Swizzle(3, 2, 3)]),
    st.sampled_from(["contiguous", "split"]),
)
def test_a_layout_says_what_a_padding_and_a_swizzle_say(
    shape: str, lds: int, a_layout: Any, pad: int, swizzle: Swizzle | None, fragment: str
) -> None:
    given: dict[str, Any] = {"a_layout": a_layout, "fragment": fragment, "block_tile": "128x128x8"}
    try:
        wanted = simulate(shape, lds, pad=pad, swizzle=swizzle, **given)
    except LayoutError as error:
        wanted, message = None, str(error).split(" (")[0]
    tiles = [Tile(128, 8, pad, swizzle), Tile(8, 128, pad, swizzle)]
    if a_layout == "transposed":
        tiles[0] = tiles[1]
    if wanted is not None and any("past its" in note for note in wanted.notes):
        with pytest.raises(LayoutError, match="past the tile's"):
            simulate(shape, lds, layout=tuple(tiles), **given)
        return
    for layout in (tiles, [tile.c() for tile in tiles], [tile.cute() for tile in tiles],
                   [Layout.parse(tile.cute()) for tile in tiles]):  # fmt: skip
        if wanted is None:
            with pytest.raises(LayoutError) as caught:
                simulate(shape, lds, layout=tuple(layout), **given)
            assert str(caught.value).split(" (")[0] == message
        else:
            assert figures(simulate(shape, lds, layout=tuple(layout), **given)) == figures(wanted)


def test_one_layout_is_for_both_and_none_is_the_plain_tile() -> None:
    both = simulate(layout="row*132 + col")
    assert figures(both) == figures(simulate(pad=4))
    assert both["A"].tile == both["B"].tile == Tile(8, 128, 4, element=4)
    one = simulate(layout=(None, "row*132 + col"))
    assert figures(one) == figures(simulate(pad=(0, 4)))
    assert "layout None and row*132 + col" in one.title
    again = pickle.loads(pickle.dumps(one))  # noqa: S301 - its own
    assert (again.geometry, again["B"].tile) == (one.geometry, one["B"].tile)


def test_a_transposed_by_its_layout_is_read_in_vectors() -> None:
    """Rows of A lie side by side in memory, as if A were transposed."""
    report = simulate(a_layout="row-major", layout=("(128,8):(1,128)", None))
    assert report["A"].op == "LDS.128"
    assert report["A"].to_dict() == simulate()["A"].to_dict()
    assert simulate(a_layout="row-major")["A"].op == "LDS"


def test_terms_and_layouts_that_padding_cannot_say() -> None:
    """Columns XORed before padding; two panels of 64 columns, as TMA writes them."""
    tile = Tile.parse("8x128: row*132 + (col ^ ((row & 3) << 2))")
    report = simulate(layout=(None, tile))
    wanted = []
    for lane in range(32):
        col = (lane // 4) * 8  # column-major lanes of a 4x8 warp; its first load
        wanted.append(int(tile(report.k_step, col)) * 4)
    assert report["B"].accesses[0].addresses == tuple(wanted)
    assert report["B"].wavefronts == sum(
        int(count(*access).wavefronts) for access in report["B"].accesses
    )
    panels = simulate(layout=(None, "(8,(64,2)):(64,(1,512))"))
    assert panels["B"].accesses[1].addresses[-1] == (panels.k_step * 64 + 60) * 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"layout": "(64,64):(64,1)"}, "has 64x64 elements, not (8, 128)"),
        ({"layout": "row*100 + col"}, "puts elements (0, 100) and (1, 0) at offset 100"),
        ({"layout": "row*132 + col*2 - 264"}, "at -264 (accepted: offsets from 0)"),
        ({"layout": "row*132 + col", "pad": 4}, "A has layout row*132 + col, and padding 4"),
        ({"layout": (None, Tile(8, 128)), "swizzle": (None, "2,2,5")}, "B has layout 8x128"),
        ({"layout": Tile(8, 128, element=2)}, "element 4 is not the 2 bytes of"),
        ({"layout": ("row", "col", "row")}, "is not one for both tiles or a pair"),
        ({"layout": "row*x + col"}, "x in 'row*x + col' has no value"),
        ({"layout": 7}, "7 is not a tile"),
        ({"layout": "(8,128):(1,8)"}, "do not lie side by side"),
        ({"layout": "row*129 + col"}, "would be misaligned"),
        ({"layout": "row*8192 + col"}, "bytes of shared memory"),
        ({"layout": "row*132 + (col*row)%128"}, "puts elements"),
        ({"layout": "row*132 + (col*5)%128"}, "is not a tile known here"),
        ({"layout": "#ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 4, order = [0]}>"},
         "has 1 dimensions: shape (8, 128) is not R"),
    ],
)  # fmt: skip
def test_layouts_that_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BankwiseError, match=re.escape(message)):
        simulate(**given)


def test_a_sweep_ranges_over_layouts() -> None:
    layouts = [
        None,
        "row*132 + col",
        Tile(8, 128, swizzle=Swizzle(2, 2, 5)),
        "#ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 4, order = [1, 0]}>",
        "(64,64):(64,1)",
    ]
    swept = sweep(simulate, {"layout": layouts, "warp_shape": ["8x4"]})
    found = swept.columns()
    wanted = [simulate("8x4", layout=layout).wavefronts for layout in layouts[:4]]
    assert found["wavefronts"] == wanted
    assert found["layout"] == [None, layouts[1], str(layouts[2]), layouts[3]]
    assert len(swept) == 4
    assert sum(swept.skipped.values()) == 1
    again = sweep(simulate, {"layout": found["layout"], "warp_shape": ["8x4"]}).columns()
    assert again["wavefronts"] == wanted


def test_a_search_of_fragments_ranges_over_layouts() -> None:
    space = {"layout": [None, "row*132 + col", "row*128 + (col ^ ((row & 1) << 2))"]}
    found = optimize(fragment={"warp_shape": "8x4"}, space=space)
    costs = [simulate("8x4", layout=layout).cycles for layout in space["layout"]]
    assert found.cost == min(costs)
