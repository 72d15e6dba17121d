"""An optimum can be asked for: counted by any of its texts it costs what the search said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layouts import Layout, Tile
from simulator import LayoutError, count, explain, instruction
from simulator.law.accesses import ALL_LANES
from simulator.search import Access, Optimum, optimize
from simulator.search.accesses import group
from simulator.testing import assert_wavefronts
from simulator.testing.strategies import linear_indices, tile_layouts

FIGURES = ("cycles", "wavefronts", "bank_conflicts")


@st.composite
def accesses(draw: st.DrawFn, bits: int, element: int) -> Access:
    """An access with any indices, by lane bits or not; some lanes may be left out."""
    op = draw(st.sampled_from(["LDS", "LDS.128", "STS.64", "ATOMS.ADD", "LDSM.16.M88.4"]))
    low = (instruction(op).width // element).bit_length() - 1
    if op.startswith("LDSM") or draw(st.booleans()):
        return Access(op, [draw(linear_indices(bits, low))], weight=draw(st.integers(1, 3)))
    pool = draw(st.lists(st.integers(0, (1 << bits - low) - 1), min_size=1, max_size=32))
    lanes = draw(st.lists(st.sampled_from(pool), min_size=32, max_size=32))
    out = draw(st.sets(st.integers(0, 31), max_size=8))
    return Access(op, lambda lane: lanes[lane] << low, active=lambda lane: lane not in out)


def costs(found: Optimum, given: list[Access], layout: Any, element: int) -> dict[str, int]:
    """Count the accesses through a layout, as its rows and columns."""
    assert found.layout is not None
    shape = (found.layout.rows, found.layout.cols)
    sums = dict.fromkeys(FIGURES, 0)
    for access in given:
        each = group(access, {}, shape, element)
        index = np.divmod(each.places, shape[1]) if shape[0] > 1 else each.places
        masks = each.masks.astype(np.int64)
        counted = count(each.instruction, index, masks, layout=layout, element=element)
        for name in FIGURES:
            sums[name] += int(getattr(counted, name) @ each.weights)
    return sums


@given(
    st.data(),
    st.sampled_from([("16x32", 9, 4), ("8x64", 9, 2), ("8x24", 7, 4), (None, 9, 4)]),
    st.sampled_from(["none", "cute", "xor"]),
    st.lists(st.sampled_from([0, 1, 4, 8]), min_size=1, max_size=2),
)
def test_every_text_of_an_optimum_costs_what_the_search_said(
    data: st.DataObject, tile: tuple[str | None, int, int], family: str, pads: list[int]
) -> None:
    shape, bits, element = tile
    given = data.draw(st.lists(accesses(bits, element), min_size=1, max_size=3))
    space: dict[str, Any] = {"swizzle": family, **({"pad": [0, *pads]} if shape else {})}
    found = optimize(given, tile=shape, element=element, space=space, trials=5)
    assert found.layout is not None
    totals = found.totals()
    wanted = {name: totals[name] for name in FIGURES}
    assert wanted["cycles"] == found.cost
    texts = [found.layout, found.layout.c() if found.layout.rows > 1 else found.expression]
    texts += [str(found.layout)]
    if found.notation is not None:
        texts.append(found.notation)
        if len(found.layout.swizzles) < 2:
            texts.append(Layout.parse(found.notation))
    else:
        with pytest.raises(LayoutError, match="CuTe's swizzles move offsets"):
            found.layout.cute()
    for text in texts:
        assert costs(found, given, text, element) == wanted


@given(tile_layouts(8), st.data())
def test_all_ways_of_asking_agree(tile: Tile, data: st.DataObject) -> None:
    """Rows and columns as arrays, as text, as a function; counted, explained and asserted."""
    places = data.draw(
        st.lists(st.integers(0, tile.rows * tile.cols - 1), min_size=32, max_size=32)
    )
    mask = data.draw(st.sampled_from([ALL_LANES, 0xFFFF, 0x55555555]))
    rows, cols = np.divmod(np.array(places), tile.cols)
    byte = [int(tile.offset(place)) * 4 for place in places]
    wanted = count("LDS", byte, mask)

    def by_lane(lane: int) -> tuple[int, int]:
        return int(rows[lane]), int(cols[lane])

    one = count("LDS", f"{rows[0]}, {cols[0]}", 1, layout=tile)
    assert one.wavefronts == count("LDS", byte, 1).wavefronts
    for index in ((rows, cols), [rows.tolist(), cols.tolist()], by_lane):
        found = count("LDS", index, mask, layout=tile)
        assert found.totals() == wanted.totals()
        told = explain("LDS", index, mask, layout=tile)
        assert (told.wavefronts, told.tile) == (int(wanted.wavefronts), tile.sized(4))
        assert_wavefronts("LDS", index, mask, layout=tile, at_most=told.wavefronts)
