"""Cycles of wgmma: the measured table, and straight lines between its columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import QuantityError
from simulator.law.wgmma import Operands, wgmma_cycles

COLUMNS = st.integers(1, 32).map(lambda count: 8 * count)
OPERANDS: st.SearchStrategy[Operands] = st.sampled_from(("SS", "RS"))


@given(n=COLUMNS, operands=OPERANDS)
def test_more_columns_never_take_less_and_large_ones_half_a_cycle_each(
    n: int, operands: Operands
) -> None:
    cycles = wgmma_cycles(n, operands)
    if n < 256:
        assert wgmma_cycles(n + 8, operands) >= cycles
    if n >= 64:  # the tensor cores' n / 2, and the wait's share
        assert n / 2 + 6 <= cycles <= n / 2 + 11


def test_what_was_measured() -> None:
    assert [wgmma_cycles(n) for n in (8, 64, 256)] == [23.2, 38.9, 136.2]
    assert [wgmma_cycles(n, "RS") for n in (8, 64, 256)] == [21.8, 41.9, 137.9]
    assert wgmma_cycles(24) == 27.6  # between 25.4 and 29.9


@pytest.mark.parametrize("n", [0, 4, 12, 264, 8.0, True])
def test_no_other_columns(n: int) -> None:
    with pytest.raises(QuantityError, match=r"multiples of 8 from 8 to 256"):
        wgmma_cycles(n)


def test_no_other_operands() -> None:
    with pytest.raises(QuantityError, match=r"accepted: 'SS', 'RS'"):
        wgmma_cycles(8, "SR")  # type: ignore[arg-type]
