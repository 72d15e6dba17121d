"""What a replay notes of every access to shared memory."""

from __future__ import annotations

import random

from simulator.sass.run.witness import UnitAccess, Witness


def test_accesses_of_units_come_in_one_order() -> None:
    units = [UnitAccess(3, "bulk", 0, size) for size in range(16, 512, 16)]
    seen = Witness([])
    for each in random.Random(1).sample(units, len(units)):  # noqa: S311
        seen.see_unit(each)
    assert seen.touched().units == tuple(units)
