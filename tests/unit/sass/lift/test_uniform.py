"""Uniform registers: sums of 64 bits, lanes that differ, branches that any lane takes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.sass.lift.operands import Memory, parse
from tests.examples import examples
from tests.sass_kernels import needs_tools
from tests.sass_warp import run_warp

pytestmark = needs_tools

WORDS = st.integers(0, (1 << 32) - 1)
LANES = st.lists(st.integers(0, 3), min_size=32, max_size=32)


@given(WORDS, WORDS, WORDS, WORDS, st.integers(0, (1 << 31) - 1))
@settings(max_examples=examples(30), deadline=None)
def test_a_sum_of_pairs_carries(a: int, b: int, c: int, d: int, more: int) -> None:
    lines = [f"UIADD3.64 UR8, UPT, UPT, UR4, {more:#x}, UR6"]
    read = run_warp(lines, {"UR4": a, "UR5": b, "UR6": c, "UR7": d}).read
    wanted = (a + (b << 32) + c + (d << 32) + more) % (1 << 64)
    assert int(read("UR8")[0]) | int(read("UR9")[0]) << 32 == wanted


@given(LANES, LANES, LANES)
@settings(max_examples=examples(30), deadline=None)
def test_lanes_that_differ_in_a_word_are_told(
    first: list[int], second: list[int], guard: list[int]
) -> None:
    taken = np.array(guard) > 0
    lines = ["@P1 R2UR P0, UR4, R2", "@P1 R2UR.OR P0, UR5, R3"]
    read = run_warp(lines, {"R2": first, "R3": second, "P0": [1] * 32, "P1": taken}).read
    if not taken.any():
        assert (read("P0") == 1).all()
        return
    lane = int(np.argmax(taken))
    assert int(read("UR4")[0]) == first[lane]
    assert int(read("UR5")[0]) == second[lane]
    differs = (np.array(first) != first[lane]) | (np.array(second) != second[lane])
    assert (read("P0") == np.where(taken, differs, True)).all()


@given(LANES)
@settings(max_examples=examples(20), deadline=None)
def test_all_lanes_go_where_one_goes(given_: list[int]) -> None:
    lines = ["@P0 BRA.U.ANY 0x20", "MOV R2, 0x1", "MOV R3, 0x2"]
    read = run_warp(lines, {"P0": np.array(given_) > 2, "R2": [7] * 32}).read
    assert (read("R2") == (7 if max(given_) > 2 else 1)).all()
    assert (read("R3") == 2).all()


@given(LANES, LANES)
@settings(max_examples=examples(20), deadline=None)
def test_an_exit_has_a_guard_and_a_predicate_of_its_own(guard: list[int], also: list[int]) -> None:
    lines = ["@P0 EXIT P1", "MOV R2, 0x1"]
    values = {"P0": np.array(guard) > 1, "P1": np.array(also) > 1, "R2": [7] * 32}
    left = (values["P0"] & values["P1"]).astype(bool)  # type: ignore[operator]
    assert (run_warp(lines, values).read("R2") == np.where(left, 7, 1)).all()


def test_a_base_beside_a_narrow_register_is_a_pair_whichever_comes_first() -> None:
    # A neighbour's shared memory by its generic address: LD.E R3, [RZ.U32+UR4].
    for text in ("[RZ.U32+UR4]", "[R2.U32+UR4]", "[UR4+R2.U32]"):
        (place,) = parse(text)
        assert isinstance(place, Memory)
        assert place.uniform_wide, text
    (plain,) = parse("[R2+UR4]")
    assert isinstance(plain, Memory)
    assert not plain.uniform_wide


def test_a_clock_goes_to_a_uniform_register_where_lanes_parted() -> None:
    # Each lane's was written there, over the registers behind it: the process crashed.
    lines = ["@P0 BRA 0x30", "S2UR UR4, SR_CLOCKLO", "MOV R2, UR4", "MOV R3, UR5"]
    read = run_warp(lines, {"P0": [1] * 16 + [0] * 16, "R2": [7] * 32, "UR5": 5}).read
    assert (read("R3") == 5).all()
    assert len(set(read("R2")[16:].tolist())) == 1
