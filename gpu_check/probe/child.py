"""The process that ncu watches: `python -m gpu_check.probe.child JOB.npz DEVICE`.

It launches the probe for every access of the job, one warp, so that each launch is one row of
counters; before them twice what gpu_check.counters finds the kernel's own cost with.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from gpu_check.probe.probe import Probe

__all__ = ["main"]


def main(job: str, device: str) -> None:
    """Launch all accesses of a job, in order."""
    with np.load(job, allow_pickle=False) as arrays:
        for index, op in enumerate(arrays["ops"].tolist()):
            sources = arrays.get(f"source{index}")
            given = arrays[f"address{index}"], arrays[f"mask{index}"], sources
            _launch(Probe(op, int(device)), *given)


def _launch(
    probe: Probe,
    addresses: NDArray[np.uint32],
    masks: NDArray[np.uint32],
    sources: NDArray[np.uint32] | None,
) -> None:
    import cupy

    times = probe.op.executions
    with cupy.cuda.Device(probe.chip.index):
        loaded = probe.load(addresses, masks, sources)
        cycles = cupy.zeros(len(addresses), dtype=np.uint32)
        if probe.op.is_copy:
            # Of a 16-byte copy through the cache: one that bypasses it costs nothing, alone too.
            plain = Probe("LDGSTS.E.128", probe.chip.index)
            alone = plain.load(np.zeros((1, 32)), np.ones(1, dtype=np.uint32), None)
            own = [(plain, alone, times), (plain, alone, times)]
        else:
            own = [(probe, loaded, times // 2), (probe, loaded, times)]
        for which, what, count in own:
            which.launch(what, first=0, blocks=1, warps=1, repeats=count, cycles=cycles)
        for row in range(len(addresses)):
            probe.launch(loaded, first=row, blocks=1, warps=1, repeats=times, cycles=cycles)
        cupy.cuda.Device(probe.chip.index).synchronize()


if __name__ == "__main__":
    main(*sys.argv[1:])
