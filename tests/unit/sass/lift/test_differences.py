"""Differences of 64 bits, of which the lower words are taken by LEA."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.sass_kernels import needs_tools
from tests.sass_warp import run_warp

pytestmark = needs_tools

PAIRS = st.one_of(st.integers(0, (1 << 64) - 1), st.integers(0, 15).map(lambda k: k << 30))


@given(PAIRS, PAIRS, st.integers(0, 4), st.booleans())
@settings(max_examples=examples(40), deadline=None)
def test_a_difference_of_pairs_borrows(a: int, b: int, shift: int, takes_sum: bool) -> None:
    """Less a word that is zero after its shift there is no borrow; there was one."""
    scaled = a << shift
    signs = ("R2", "-R6", "R3", "~R7") if takes_sum else ("-R2", "R6", "~R3", "R7")
    lines = [
        f"LEA R8, P0, {signs[0]}, {signs[1]}, {shift:#x}",
        f"IADD3.X R9, {signs[2]}, {signs[3]}, RZ, P0, !PT",
    ]
    high = scaled >> 32 & 0xFFFFFFFF
    values = {"R2": a & 0xFFFFFFFF, "R3": high, "R6": b & 0xFFFFFFFF, "R7": b >> 32}
    read = run_warp(lines, values).read
    sign = 1 if takes_sum else -1
    low = (a & 0xFFFFFFFF) << shift & 0xFFFFFFFF | high << 32
    wanted = sign * (low - b) % (1 << 64)
    assert int(read("R8")[0]) | int(read("R9")[0]) << 32 == wanted
