"""What an access to a neighbour's shared memory costs, against a definition word by word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check.recordings import packaged_table
from gpu_check.timing.neighbour_shapes import SHAPES
from simulator.errors import AddressError, InstructionError
from simulator.law.neighbours import FLOORS, count_neighbour

WIDTHS = {"LDS": 4, "LDS.64": 8, "LDS.128": 16, "STS": 4, "STS.64": 8, "STS.128": 16}


def packets(op: str, addresses: list[int], mask: int) -> int:
    words = {
        address // 4 + word
        for lane, address in enumerate(addresses)
        if mask >> lane & 1
        for word in range(WIDTHS[op] // 4)
    }
    if op.startswith("LDS"):
        return len({word // 8 for word in words})
    total = 0
    for line in {word // 32 for word in words}:
        sectors = [{word for word in words if word // 8 == 4 * line + i} for i in range(4)]
        whole = [sector for sector in sectors if len(sector) == 8]
        pieces = {word // 4 for word in words if word // 32 == line}
        total += len(pieces) - (len(whole) if len(whole) > 1 else 0)
    return total


@st.composite
def accesses(draw: st.DrawFn) -> tuple[str, list[int], int]:
    op = draw(st.sampled_from(sorted(WIDTHS)))
    units = draw(st.sampled_from([4, 16, 64, 1024]))
    row = draw(st.lists(st.integers(0, units - 1), min_size=32, max_size=32))
    if draw(st.booleans()):
        row = [draw(st.integers(0, 64)) + lane for lane in range(32)]
    return op, [unit * WIDTHS[op] for unit in row], draw(st.integers(0, 0xFFFFFFFF))


@given(accesses())
def test_packets_are_those_of_the_words(access: tuple[str, list[int], int]) -> None:
    op, addresses, mask = access
    costs = count_neighbour(op, np.array(addresses), mask)
    wanted = packets(op, addresses, mask)
    assert costs.packets.tolist() == [wanted]
    assert costs.cycles.tolist() == [max(1.5 * wanted, FLOORS[op]) if wanted else 0]
    # What asks for a line goes the way of what the neighbour is sent.
    active = [address for lane, address in enumerate(addresses) if mask >> lane & 1]
    both = wanted + len({each // 128 for each in active}) * op.startswith("LDS")
    assert costs.mutual.tolist() == [max(1.5 * both, FLOORS[op]) if wanted else 0]


@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_that_load_from_each_other_take_what_they_took(shape: str) -> None:
    """A cluster of two by itself, 32 warps of each block."""
    alone = {"what": "loads", "around": "0", "cluster": "2", "blocks": "2", "warps": "32"}
    (row,) = (
        row for row in packaged_table("h100_neighbour_shapes")
        if row["shape"] == shape and all(row[name] == value for name, value in alone.items())
    )  # fmt: skip
    at = SHAPES[shape]
    lanes = np.arange(32)
    lane = lanes % at.run + at.pitch * (lanes // at.run)
    each = [
        count_neighbour("LDS", 4 * (lane + at.apart * k + at.own * warp), (1 << at.lanes) - 1)
        for warp in range(32) for k in range(4)
    ]  # fmt: skip
    law = float(np.mean([costs.mutual[0] for costs in each]))
    assert law == pytest.approx(float(row["cycles"]), rel=0.06)


@given(st.lists(accesses(), min_size=1, max_size=6))
def test_many_accesses_cost_what_each_costs(given_: list[tuple[str, list[int], int]]) -> None:
    op = given_[0][0]
    rows = np.array([[8 * (unit // 8) * 2 for unit in row] for _, row, _ in given_]) // 16 * 16
    masks = np.array([mask for *_, mask in given_], np.uint32)
    together = count_neighbour(op, rows, masks)
    each = [
        count_neighbour(op, row, int(mask)).packets[0]
        for row, mask in zip(rows, masks, strict=True)
    ]
    assert together.packets.tolist() == each


def test_a_packet_is_not_made_in_less_than_the_access_takes_at_home() -> None:
    for width in ("", ".64", ".128"):
        assert FLOORS[f"STAS{width}"] == FLOORS[f"STS{width}"]
        assert count_neighbour(f"STAS{width}", [0] * 32, 1).cycles == FLOORS[f"STS{width}"]


@pytest.mark.parametrize("op", ["ATOMS.ADD", "LDSM.16.M88.4", "LDGSTS.E"])
def test_what_was_not_measured_is_refused(op: str) -> None:
    with pytest.raises(InstructionError, match="in a neighbour's memory is not known"):
        count_neighbour(op, 16 * np.arange(32))


def test_bad_accesses_are_refused_as_by_count() -> None:
    bad: Any = 4 * np.arange(32) + 2
    with pytest.raises(AddressError):
        count_neighbour("LDS", bad)
