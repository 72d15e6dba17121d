"""What is measured of atomics at a neighbour, without a GPU."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import Any, cast

import numpy as np

from gpu_check.hopper.neighbour_atomics import SEED, _law, built, reduced
from gpu_check.hopper.neighbours import ATOMICS, drawn
from simulator.law.masks import active_table


def test_what_is_recorded_is_what_is_drawn_and_built() -> None:
    with as_file(files("gpu_check").joinpath("data/h100_neighbour_atomics.npz")) as path:
        recorded = dict(np.load(path, allow_pickle=False))
    for op, reach in ATOMICS.items():
        mine = (recorded["op"] == op) & np.isin(recorded["family"], ["drawn", "built"])
        addresses, masks = drawn("red.add.32" if reach.width == 4 else "atom.exch.64", 64, SEED)
        places, parts = zip(*built(reach.width), strict=True)
        wanted = np.concatenate([masks, np.array(parts, np.uint32)])
        assert np.array_equal(recorded["mask"][mine], wanted)
        every = np.where(active_table(wanted), np.concatenate([addresses, places]), 0)
        assert np.array_equal(recorded["address"][mine], every)


def test_lanes_are_left_out_as_long_as_an_access_is_off_the_law() -> None:
    places = np.arange(32, dtype=np.uint32) * 132
    asked: list[int] = []

    def clock(family: str, op: str, given: Any, mask: int) -> float:
        asked.append(mask)
        slow = mask >> 7 & mask >> 19 & 1  # two lanes that get in each other's way
        return _law(op, given, mask) + 3.0 * slow

    reduced(cast(Any, clock), "red.add.32", places, 0xFFFF00FF)
    off = [mask for mask in asked if mask >> 7 & mask >> 19 & 1]
    assert off[0] == 0xFFFF00FF
    assert off[-1] == 1 << 7 | 1 << 19
    asked.clear()
    reduced(cast(Any, clock), "red.add.32", places, 0xFF)
    assert asked == [0xFF]
