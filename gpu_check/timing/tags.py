"""Which lines of the L1 cache share a tag bank: copies of two lanes that read two lines.

Such a copy takes a third cycle where both lines are looked up in one of the four banks
(simulator.law.copies). A buffer that begins at a multiple of its size lets each bit of a line's
number be asked by itself: no sum carries into another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.probe.probe import Probe

__all__ = ["line_pairs", "measure_tags"]

SPAN = 1 << 32
"""Bytes of global memory that are probed."""

_LOW = (0, 1, 2, 3)  # lines of the four tag banks
_BITS = range(9, 25)
_RANDOM = 256
_REPEATS, _ROUNDS, _WARPS = 512, 5, 32


def line_pairs() -> NDArray[np.int64]:
    """Return the pairs of lines that are asked, (n, 2): bits of 9 to 24, and random ones.

    >>> line_pairs()[:4].tolist()
    [[0, 512], [1, 512], [2, 512], [3, 512]]
    """
    bits = [(low, 1 << bit) for bit in _BITS for low in _LOW]
    drawn = np.random.default_rng(15).integers(0, SPAN // 128, (_RANDOM, 2))
    return np.concatenate([np.array(bits), drawn])


def measure_tags(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per pair of lines: the cycles of a copy whose two lanes read them."""
    probe = Probe("LDGSTS.E", device)
    import cupy

    pairs = line_pairs()
    with cupy.cuda.Device(device):
        buffer = cupy.cuda.alloc(2 * SPAN)
        start = -(-buffer.ptr // SPAN) * SPAN
        memory = cupy.cuda.UnownedMemory(start, SPAN, buffer)
        probe.use(cupy.ndarray(SPAN // 4, np.uint32, cupy.cuda.MemoryPointer(memory, 0)))
        sources = np.zeros((len(pairs), 32), dtype=np.uint32)
        sources[:, 0], sources[:, 1] = 128 * pairs[:, 0], 128 * pairs[:, 1] + 4
        addresses = np.tile(4 * np.arange(32, dtype=np.uint32), (len(pairs), 1))
        loaded = probe.load(addresses, np.full(len(pairs), 3, dtype=np.uint32), sources)
        few = 2 * probe.multiple
        ticks = [
            probe.cycles(loaded, warps=_WARPS, repeats=few + _REPEATS)
            - probe.cycles(loaded, warps=_WARPS, repeats=few)
            for _ in range(_ROUNDS)
        ]
    cycles = np.median(ticks, axis=0) / (_REPEATS * _WARPS)
    return [
        {"line": int(one), "other": int(other), "cycles": round(float(each), 4)}
        for (one, other), each in zip(pairs, cycles, strict=True)
    ]
