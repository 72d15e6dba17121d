"""How far SMs lie apart that do the same: read for a while, and then compute.

The kernels are those of `rounds`. Of each block it is noted when so many `rounds` have passed, and
where. `cycles`: the mean of all SMs, each the mean of its blocks. `apart`: the standard deviation
over the SMs, a part of that, the median of launches; `stays`: the same of what an SM has in all
launches, so it belongs to the SM; `first`, `last`: cycles of the first and of the last SM, medians.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu
from gpu_check.timing.rounds import RoundsRunner, room_of

__all__ = ["measure_apart"]

_WAYS = ("copies", "loads", "tiles")
_SIZES = (8192, 32768)
_WORK = (0, 64, 256, 1024, 4096)
_BLOCKS = (1, 2, 4)
_ROUNDS = (1, 4, 16, 64)
_REPEATS = 7


def measure_apart(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per way, place, size, blocks of an SM, work, and rounds that have passed."""
    sms = open_gpu(device).multiprocessors
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        runner = RoundsRunner(sms, _ROUNDS[-1], _SIZES[-1])
        for way, size in product(_WAYS, _SIZES):
            kernel = runner.kernel(way, size)
            for place, blocks, work in product(("l2", "dram"), _BLOCKS, _WORK):
                most = _ROUNDS[-1] // blocks
                if room_of(blocks) < size:
                    continue
                launch = (kernel, place, size, sms, blocks, work, most)
                found = [_by_sm(runner.run(*launch), sms) for _ in range(_REPEATS)]
                rows += [
                    {"way": way, "place": place, "size": size, "blocks": blocks, "work": work,
                     "rounds": rounds, **_figures(np.array(found)[:, :, rounds.bit_length() - 1])}
                    for rounds in _ROUNDS if rounds <= most
                ]  # fmt: skip
    return rows


def _by_sm(when: NDArray[np.int32], sms: int) -> NDArray[np.float64]:
    """Return the mean of the blocks of each SM, shape (SMs, columns)."""
    return np.array([when[when[:, 31] == sm].mean(axis=0) for sm in range(sms)])


def _figures(cycles: NDArray[np.float64]) -> dict[str, Any]:
    """Return the figures of launches, shape (launches, SMs)."""
    mean = float(cycles.mean())
    return {
        "cycles": round(mean),
        "apart": round(float(np.median(cycles.std(axis=1))) / mean, 5),
        "stays": round(float(cycles.mean(axis=0).std()) / mean, 5),
        "first": round(float(np.median(cycles.min(axis=1)))),
        "last": round(float(np.median(cycles.max(axis=1)))),
    }
