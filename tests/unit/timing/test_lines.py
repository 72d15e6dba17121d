"""Loads of L1 and copies that bypass it: every recorded pattern, and laws."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check.recordings import packaged_table
from simulator.law.chips import Chip
from simulator.timing.lines import copy_asks, copy_fills, load_cycles
from simulator.timing.machine import machine_of

ALL = np.full(1, 0xFFFFFFFF, np.uint32)
LANE = np.arange(32)


def _recorded() -> Iterator[tuple[int, float, list[int]]]:
    """Loads of 32 lanes: bytes per lane, cycles, lanes' offsets."""
    from gpu_check.timing.paths import access_offsets

    for row in packaged_table("h100_gathers"):
        yield int(row["width"]), float(row["warps_32"]), [*map(int, row["offsets"].split())]
    known = {(width, name): found for width, name, found in access_offsets()}
    for row in packaged_table("h100_accesses"):
        if row["kind"] == "load":
            width = int(row["width"])
            yield width, float(row["warps_32"]), known[width, row["pattern"]]


def test_loads_of_l1_take_what_an_h100_took_whatever_lanes_read() -> None:
    many = 0
    for width, cycles, offsets in _recorded():
        found, least = load_cycles(width, np.array([offsets]), ALL)
        assert least[0] <= found[0] <= cycles
        assert found[0] == pytest.approx(cycles, rel=0.04)
        many += 1
    assert many == 272 + 39


@given(
    st.sampled_from([1, 2, 4, 8, 16]),
    st.lists(st.integers(0, 1 << 20), min_size=32, max_size=32),
    st.integers(1, 0xFFFFFFFF),
    st.integers(0, 1 << 10),
)
def test_lanes_that_leave_and_whole_lines_never_make_a_load_slower(
    width: int, places: list[int], mask: int, moved: int
) -> None:
    offsets = np.array([places]) * width
    all_, some = (load_cycles(width, offsets, np.full(1, each, np.uint32)) for each in (ALL, mask))
    assert some[0] <= all_[0]
    assert some[1] <= some[0]
    # The least holds wherever its lines lie.
    assert load_cycles(width, offsets + 128 * moved, ALL)[1] == all_[1]
    assert load_cycles(width, offsets + 128 * moved, ALL)[0] >= all_[1]


def test_the_l2_sends_for_copies_what_an_h100_received() -> None:
    many = 0
    for row in packaged_table("h100_scattered_copies"):
        if row["bytes"] != "16" or row["sms"] != "1":
            continue
        found = [copy_fills(*each) for each in copies(row)]
        assert np.mean(found) == float(row["filled"])
        many += 1
    assert many == 46


def copies(row: dict[str, str]) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Targets, sources and masks of the four copies of a turn."""
    lanes, pitch, apart, shift, source = (
        int(row[name]) for name in ("lanes", "pitch", "apart", "shift", "source")
    )
    span = max(32 // lanes * pitch, lanes * apart)
    targets = LANE // lanes * pitch + LANE % lanes * apart + shift
    sources = LANE // lanes * 1024 + LANE % lanes * 16 + source
    return [((targets + k * span)[None], (sources + 128 * k)[None], ALL) for k in range(4)]


def test_pieces_that_lie_apart_take_a_request_each() -> None:
    machine = machine_of(Chip.of("H100")) or {}
    rows = [row for row in packaged_table("h100_scattered_copies")
            if (row["bytes"], row["pitch"]) == ("16", "16") and row["apart"] != "16"]  # fmt: skip
    assert len(rows) == 14
    for row in rows:
        asked = np.mean([copy_asks(*each) for each in copies(row)])
        alone = row["sms"] == "1"
        request = machine["request_alone" if alone else "request"]
        # Of a row of one sector the L2 sends both halves for one request.
        bound = max(asked * request, float(row["filled"]))
        assert float(row["cycles"]) == pytest.approx(bound, rel=0.14)


def test_lanes_that_write_zeros_or_are_off_ask_for_nothing() -> None:
    sources = np.where(LANE < 16, 16 * LANE, -1)[None]
    assert copy_fills(16 * LANE[None], sources, ALL) == [8]
    assert copy_fills(16 * LANE[None], sources, np.full(1, 3, np.uint32)) == [1]
