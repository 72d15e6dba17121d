"""Bit l of a mask is lane l."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.law.masks import active_table


@given(masks=st.lists(st.integers(0, 2**32 - 1), max_size=3))
def test_the_table_has_the_bits_of_its_masks(masks: list[int]) -> None:
    table = active_table(np.array(masks, dtype=np.uint32))
    assert table.shape == (len(masks), 32)
    assert table.dtype == np.bool_
    for row, mask in zip(table.tolist(), masks, strict=True):
        assert sum(1 << lane for lane, active in enumerate(row) if active) == mask
