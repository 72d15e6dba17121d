"""Hypothesis strategies: instructions, and accesses whose lanes meet in words and pairs."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from simulator import INSTRUCTIONS, Instruction, WarpAccess
from simulator.accesses import ALL_LANES, SHARED_BYTES

instructions = st.sampled_from(sorted(INSTRUCTIONS.values(), key=lambda known: known.name))
masks = st.one_of(
    st.just(ALL_LANES),
    st.integers(0, ALL_LANES),
    st.sampled_from([0, 1, 0x80000000, 0xFF, 0xFFFF, 0x55555555, 0x33333333, 0xF0F0F0F0]),
)


@st.composite
def addresses(draw: st.DrawFn, known: Instruction) -> list[int]:
    """32 aligned addresses: few or many distinct ones, strided, or with pairs that agree."""
    units = SHARED_BYTES // known.width
    pool = draw(st.lists(st.integers(0, units - 1), min_size=1, max_size=32))
    kind = draw(st.sampled_from(["any", "stride", "pairs of 1", "pairs of 2", "one pair off"]))
    if kind == "stride":
        stride, start = draw(st.integers(0, 64)), draw(st.integers(0, 64))
        return [(start + stride * lane) % units * known.width for lane in range(32)]
    chosen = draw(st.lists(st.sampled_from(pool), min_size=32, max_size=32))
    partner = 2 if kind == "pairs of 2" else 1
    if kind != "any":
        chosen = [chosen[lane & ~partner] for lane in range(32)]
    if kind == "one pair off":
        chosen[draw(st.integers(0, 31))] = draw(st.sampled_from(pool))
    return [unit * known.width for unit in chosen]


@st.composite
def accesses(draw: st.DrawFn, known: st.SearchStrategy[Any] = instructions) -> WarpAccess:
    """A valid access of an instruction drawn from `known`."""
    chosen = draw(known)
    mask = ALL_LANES if chosen.is_matrix else draw(masks)
    return WarpAccess(chosen.name, tuple(draw(addresses(chosen))), mask)


def of(*prefixes: str) -> st.SearchStrategy[Any]:
    """Instructions whose name starts with one of `prefixes`."""
    return instructions.filter(lambda known: known.name.startswith(prefixes))
