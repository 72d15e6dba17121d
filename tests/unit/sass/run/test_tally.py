"""What a trace's rows cost: atomics at a neighbour's memory, or at several neighbours'."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.law.neighbour_atomics import price_neighbour_atomic
from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.lift.sites import MemorySite
from simulator.sass.run.tally import FIGURES, figures_of

BLOCK = 1 << 24
SITE = MemorySite(0, SassInstruction(0, "", "RED.E.ADD", ""), "neighbour", "ATOMS.ADD", True, 4)


def priced(places: np.ndarray, mask: int) -> tuple[int, float]:
    """Packets and cycles of one row, as the machine's trace gives it: offsets from one lane."""
    first = int(places.min())
    signed = mask - (mask >> 31 << 32)
    heads = np.array([[0, signed, first % 128, 0]], np.int32)
    trace = (places - first)[None].astype(np.int32)
    figures, _, _ = figures_of([SITE], heads, trace, "calibrated", "numpy", None, trace)
    row = dict(zip(FIGURES, figures[0].tolist(), strict=True))
    return row["packets"], row["packet_tenths"] / 10


WORDS = st.lists(st.integers(256, 58000), min_size=32, max_size=32)
MASKS = st.integers(1, (1 << 32) - 1)


@given(WORDS, MASKS, st.integers(0, 7))
def test_one_neighbour_costs_the_bound_of_the_law(words: list[int], mask: int, rank: int) -> None:
    places = 4 * np.array(words)
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    places = np.where(np.isin(np.arange(32), lanes), places, places[lanes[0]])
    law = price_neighbour_atomic(places, mask)
    packets, cycles = priced(places + rank * BLOCK, mask)
    assert packets == law.fewest
    assert abs(cycles - law.least) <= 0.05


@given(WORDS, st.lists(st.integers(0, 7), min_size=32, max_size=32))
def test_several_neighbours_cost_their_packets_and_the_slowest_ones_cycles(
    words: list[int], ranks: list[int]
) -> None:
    places, rank = 4 * np.array(words), np.array(ranks)
    parts = [
        price_neighbour_atomic(places, sum(1 << int(lane) for lane in np.flatnonzero(rank == each)))
        for each in set(ranks)
    ]
    packets, cycles = priced(places + rank * BLOCK, (1 << 32) - 1)
    assert packets == sum(each.fewest for each in parts)
    assert abs(cycles - max(each.least for each in parts)) <= 0.05
