"""Which engine counts what lanes do one after the other: copies from anywhere, atomic loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.law.accesses import ALL_LANES, Rows
from simulator.law.copies import count_copy
from simulator.law.instructions import Instruction
from simulator.law.loops import count_loop

__all__ = ["count_turns"]


def count_turns(
    instruction: Instruction,
    addresses: Rows,
    sources: Rows | None,
    masks: NDArray[np.uint32] | None,
    engine: str,
    threads: int | None = None,
) -> NDArray[np.uint8]:
    """Count n copies, where `sources` are given, or else n loops: (6, n).

    Parameters
    ----------
    instruction
        A copy, or a loop of an atomic add.
    addresses, sources
        Checked rows of shape (n, 32); no sources for loops.
    masks
        Shape (n,), or None for all lanes.
    engine
        Which engine counts; not "auto".
    threads
        Those of the Numba engine.
    """
    if engine == "numba":
        from simulator.law import numba_turns

        return numba_turns.count_turns(instruction, addresses, sources, masks, threads)
    if engine == "numpy":
        from simulator.law import numpy_turns

        return numpy_turns.count_turns(instruction, addresses, sources, masks)
    bits = [ALL_LANES] * len(addresses) if masks is None else masks.tolist()
    rows = addresses[:].tolist()
    if sources is None:
        counted = [count_loop(instruction, row, mask) for row, mask in zip(rows, bits, strict=True)]
    else:
        counted = [
            count_copy(instruction, row, source, mask)
            for row, source, mask in zip(rows, sources[:].tolist(), bits, strict=True)
        ]
    return np.array(counted, dtype=np.uint8).reshape(-1, 6).T.copy()
