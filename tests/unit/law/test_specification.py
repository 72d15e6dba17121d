"""What no layout undercuts, worked out by hand."""

from __future__ import annotations

import pytest

from simulator.law.accesses import ALL_LANES
from simulator.law.instructions import instruction
from simulator.law.specification import least_served, least_wavefronts


@pytest.mark.parametrize(
    ("op", "addresses", "least"),
    [
        ("LDS", [], 0),
        ("LDS", [0, 0, 4], 1),
        ("LDS.U8", [*range(32)], 1),
        ("LDS.128", [16 * lane for lane in range(32)], 4),  # 512 bytes, 128 a wavefront
        ("LDS.128", [16 * (lane // 2) for lane in range(32)], 2),
        ("LDS.128", [16 * lane for lane in range(9)], 2),
        ("ATOMS.ADD", [4 * lane for lane in range(32)], 1),
        ("ATOMS.ADD", [0, 4, 4, 4, 8], 3),  # lanes on one word wait for one another
        ("ATOMS.EXCH.64", [8 * lane for lane in range(17)], 2),
        ("ATOMS.EXCH.64", [0] * 16, 16),
    ],
)
def test_entries_of_the_longest_queue(op: str, addresses: list[int], least: int) -> None:
    assert least_served(instruction(op), addresses, range(len(addresses))) == least


def test_only_active_lanes_are_served() -> None:
    assert least_served(instruction("ATOMS.ADD"), [0] * 32, [3, 5]) == 2


@pytest.mark.parametrize(
    ("op", "addresses", "mask", "least"),
    [
        ("LDS", [4 * lane for lane in range(32)], 0, 0),
        ("LDS.128", [16 * lane for lane in range(32)], ALL_LANES, 4),
        ("LDS.128", [16 * lane for lane in range(32)], 0xFF, 1),
        ("ATOMS.CAS", [0] * 32, ALL_LANES, 64),  # two passes
        ("ATOMS.CAS", [4 * lane for lane in range(32)], ALL_LANES, 2),
        ("STS.64", [8 * lane for lane in range(32)], ALL_LANES, 2),
    ],
)
def test_wavefronts(op: str, addresses: list[int], mask: int, least: int) -> None:
    assert least_wavefronts(instruction(op), addresses, mask, "silicon") == least
