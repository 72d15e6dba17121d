"""Which arrays share a buffer, and where each lies in it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.sass.run.buffers import placed, view_of


@st.composite
def slices(draw: st.DrawFn) -> list[np.ndarray[tuple[int, ...], np.dtype[np.int32]]]:
    """Slices of two arrays; some have gaps between their elements."""
    bases = [np.arange(40, dtype=np.int32), 100 + np.arange(40, dtype=np.int32)]
    found = []
    for _ in range(draw(st.integers(1, 5))):
        base = bases[draw(st.integers(0, 1))]
        start, step = draw(st.integers(0, 30)), draw(st.integers(1, 3))
        found.append(base[start : start + draw(st.integers(0, 12)) : step])
    return found


@given(slices(), st.booleans())
def test_what_overlaps_on_the_host_overlaps_on_the_device(
    arrays: list[np.ndarray[tuple[int, ...], np.dtype[np.int32]]], strided: bool
) -> None:
    numbers = set(range(len(arrays))) if strided else set()
    places, sizes = placed(arrays, numbers)
    memory = [np.zeros(size + 16, np.uint8) for size in sizes]
    views = [view_of(memory[p.buffer], p, a) for p, a in zip(places, arrays, strict=True)]
    for view, array in zip(views, arrays, strict=True):
        view[...] = array
    for i, (view, array) in enumerate(zip(views, arrays, strict=True)):
        assert (view == array).all()
        # Copies are made of arrays with gaps, unless they are to lie as they lie.
        is_shared = array.size and (strided or array.flags.c_contiguous)
        for j in range(i):
            other = arrays[j]
            lies = is_shared and other.size and (strided or other.flags.c_contiguous)
            if lies and np.shares_memory(array, other):
                assert places[i].buffer == places[j].buffer
                moved = array.__array_interface__["data"][0] - other.__array_interface__["data"][0]
                assert places[i].offset - places[j].offset == moved
            if not np.may_share_memory(array, other):
                assert not np.may_share_memory(view, views[j])


def test_a_buffer_ends_with_its_last_element() -> None:
    whole = np.zeros((4, 8), np.float64)
    assert placed([whole[:, 2:4]], {0})[1] == [8 * (3 * 8 + 2)]
    assert placed([whole[:, 2:4]])[1] == [8 * 8]
    assert placed([np.zeros(0)])[1] == [0]
