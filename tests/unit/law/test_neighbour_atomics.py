"""What adds in a neighbour's memory take; tests/silicon/test_hopper_units.py has the chip's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from simulator.errors import AddressError
from simulator.law.neighbour_atomics import price_neighbour_atomic

WORDS = st.lists(st.integers(0, 4095), min_size=32, max_size=32).map(lambda x: 4 * np.array(x))


@given(WORDS, st.integers(0, 0xFFFFFFFF))
def test_a_line_sends_a_packet_at_least(words: NDArray[np.int64], mask: int) -> None:
    costs = price_neighbour_atomic(words, mask)
    lines = {int(word) // 128 for lane, word in enumerate(words) if mask >> lane & 1}
    assert costs.packets >= len(lines)
    assert costs.cycles >= 1.5 * costs.packets
    assert costs.least >= 3 * bool(mask)


@given(st.integers(1, 32))
def test_lanes_on_one_word_go_one_after_the_other(lanes: int) -> None:
    costs = price_neighbour_atomic([2048] * 32, (1 << lanes) - 1)
    assert costs == (lanes, 2 * lanes + 1, 2 * lanes + 1, lanes)


def test_one_lane_beside_a_pair_of_another_tag_bank_sends_a_packet_more() -> None:
    """Lines 0 and 1 have two tag banks, 0 and 5 one: the pair's wave is then its own."""
    pair = [0, 4]
    beside, behind = (price_neighbour_atomic(pair + [128 * x] * 30, 0b111) for x in (1, 5))
    assert (beside.packets, behind.packets) == (4, 3)


def test_no_lane_costs_nothing() -> None:
    assert price_neighbour_atomic([2048] * 32, 0) == (0, 0, 0, 0)


def test_bad_addresses_are_refused() -> None:
    with pytest.raises(AddressError):
        price_neighbour_atomic([2] * 32)
