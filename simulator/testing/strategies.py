"""Hypothesis strategies for those who test kernels, layouts, or tools like this one.

    from simulator.testing.strategies import accesses, tile_layouts

    @given(accesses(of("LDS")))
    def test_mine(access): ...

Accesses are drawn so that the law has something to do: lanes meet in words, in banks and in
pairs. Needs the extra `testing` (Hypothesis).
"""

from __future__ import annotations

from typing import Any

from layouts.swizzle import Swizzle
from layouts.tile import Tile
from simulator.errors import MissingPackageError, install
from simulator.law.accesses import ALL_LANES, WarpAccess
from simulator.law.instructions import INSTRUCTIONS, Instruction
from simulator.search.tile import Term, TileLayout

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as error:
    if error.name != "hypothesis":
        raise
    raise MissingPackageError(
        "simulator.testing.strategies needs Hypothesis, which is not installed"
        f" ({install('testing')})"
    ) from error

__all__ = [
    "accesses",
    "addresses",
    "instructions",
    "linear_indices",
    "masks",
    "of",
    "swizzles",
    "tile_layouts",
]

instructions = st.sampled_from(sorted(INSTRUCTIONS.values(), key=lambda known: known.name))
"""Any known instruction."""

masks = st.one_of(
    st.just(ALL_LANES),
    st.integers(0, ALL_LANES),
    st.sampled_from([0, 1, 0x80000000, 0xFF, 0xFFFF, 0x55555555, 0x33333333, 0xF0F0F0F0]),
)
"""Active lanes: all, any, and those that pairs and phases care about."""


@st.composite
def addresses(draw: st.DrawFn, instruction: Instruction) -> list[int]:
    """Draw 32 aligned addresses: few or many distinct ones, strided, or with pairs that agree."""
    units = instruction.shared_bytes // instruction.width
    pool = draw(st.lists(st.integers(0, units - 1), min_size=1, max_size=32))
    kind = draw(st.sampled_from(["any", "stride", "pairs of 1", "pairs of 2", "one pair off"]))
    if kind == "stride":
        stride, start = draw(st.integers(0, 64)), draw(st.integers(0, 64))
        return [(start + stride * lane) % units * instruction.width for lane in range(32)]
    chosen = draw(st.lists(st.sampled_from(pool), min_size=32, max_size=32))
    partner = 2 if kind == "pairs of 2" else 1
    if kind != "any":
        chosen = [chosen[lane & ~partner] for lane in range(32)]
    if kind == "one pair off":
        chosen[draw(st.integers(0, 31))] = draw(st.sampled_from(pool))
    return [unit * instruction.width for unit in chosen]


@st.composite
def accesses(draw: st.DrawFn, known: st.SearchStrategy[Any] = instructions) -> WarpAccess:
    """Draw a valid access of an instruction drawn from `known`."""
    chosen = draw(known)
    mask = ALL_LANES if chosen.is_matrix else draw(masks)
    return WarpAccess(chosen.name, tuple(draw(addresses(chosen))), mask)


def of(*prefixes: str) -> st.SearchStrategy[Any]:
    """Draw instructions whose name starts with one of `prefixes`."""
    return instructions.filter(lambda known: known.name.startswith(prefixes))


@st.composite
def swizzles(draw: st.DrawFn, bits: int = 12) -> Swizzle:
    """Draw a swizzle Sw<B,M,S> that moves offsets below 2**bits among themselves."""
    size = draw(st.integers(0, bits // 2))
    shift = draw(st.integers(size, bits - size))
    base = draw(st.integers(0, bits - size - shift))
    return Swizzle(size, base, shift)


@st.composite
def tile_layouts(draw: st.DrawFn, most_bits: int = 10) -> Tile:
    """Draw a tile with 2^n columns, padded, swizzled by up to three terms, or both."""
    col_bits = draw(st.integers(0, most_bits))
    rows = draw(st.integers(1, 1 << most_bits - col_bits))
    pad = draw(st.sampled_from([0, 0, 0, 1, 4, 8, 33]))
    bits = (rows - 1).bit_length() + col_bits
    border = draw(st.integers(0, col_bits if pad else bits))  # bits below it are written
    whole = 1 << max(border - col_bits, 0)
    rows = -(-rows // whole) * whole
    shifts = draw(st.lists(st.integers(1, max(bits, 1)), max_size=3, unique=True))
    terms = []
    for shift in sorted(shifts):
        able = [1 << bit for bit in range(border) if border <= bit + shift < bits]
        if able:
            chosen = draw(st.lists(st.sampled_from(able), min_size=1, unique=True))
            terms.append(Term(shift, sum(chosen)))
    return TileLayout(rows, 1 << col_bits, pad, tuple(terms))


@st.composite
def linear_indices(draw: st.DrawFn, bits: int = 10, low: int = 0) -> list[int]:
    """Draw 32 indices below 2**bits, multiples of 2**low, that follow the lane's bits by XOR."""
    parts = st.integers(0, (1 << bits - low) - 1) | st.integers(0, bits - low - 1).map(
        lambda bit: 1 << bit
    )
    start, *columns = (part << low for part in draw(st.tuples(*[parts] * 6)))
    indices = [start]
    for column in columns:
        indices += [index ^ column for index in indices]
    return indices
