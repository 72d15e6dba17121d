"""Cycles that an access occupies the shared-memory pipe, from the chip's own clock.

All 32 warps of a block execute the same access, as fast as they can; the block has the SM to
itself. Its time for r + 512 repeats, less its time for r in another launch, is 512 x 32
executions: what starting, draining and the first trip cost is in both and drops out. The median
over several launches is the figure, and the middle half of them its spread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpu_check.errors import DeviceError
from gpu_check.probe.ops import LOOPS, probe_op
from gpu_check.probe.probe import GLOBAL_BYTES, Probe
from simulator.law.accesses import ALL_LANES, check, copy_sources, warp_accesses
from simulator.law.instructions import Instruction, instruction
from simulator.law.masks import active_table
from simulator.results.tables import Result

__all__ = ["Measurements", "as_accesses", "as_sources", "measure"]

_WARPS = 32
_REPEATS = 512  # that are timed, beside two of the probe's own turns
_ROUNDS = 5
_CHUNK = 4096  # accesses a launch: a few milliseconds


@dataclass(frozen=True, eq=False)
class Measurements(Result):
    """n accesses of one instruction and what the chip did with them.

    Figures that were not measured are None.
    """

    op: str
    addresses: NDArray[np.uint32]
    """Byte addresses, (n, 32)."""
    masks: NDArray[np.uint32]
    """(n,)."""
    cycles: NDArray[np.float64] | None = None
    """Cycles an access at saturation: medians, (n,)."""
    spread: NDArray[np.float64] | None = None
    """Width of the middle half of the repeated measurements, in cycles, (n,)."""
    wavefronts: NDArray[np.int64] | None = None
    bank_conflicts: NDArray[np.int64] | None = None
    sources: NDArray[np.uint32] | None = None
    """Byte in a buffer of global memory that each lane of a copy reads, (n, 32); None: lanes read
    side by side."""

    def __len__(self) -> int:
        return len(self.addresses)

    def to_dict(self) -> dict[str, Any]:
        """Return `{"accesses": {column: list}, "totals": {…}}`."""
        figures = ("cycles", "spread", "wavefronts", "bank_conflicts")
        found = {name: value for name in figures if (value := getattr(self, name)) is not None}
        return {
            "accesses": {"mask": self.masks.tolist()}
            | {name: value.tolist() for name, value in found.items()},
            "totals": {name: value.sum().item() for name, value in found.items()},
        }

    def __getitem__(self, index: Any) -> Measurements:
        """Take some of the accesses."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        return Measurements(
            **{
                name: value[index] if isinstance(value, np.ndarray) else value
                for name, value in columns.items()
            }
        )


def as_accesses(
    op: str, addresses: ArrayLike, mask: ArrayLike | None
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Check accesses as `simulator.count` does; give addresses (n, 32) and masks (n,)."""
    known = _instruction(op)
    array, masks = warp_accesses(known, addresses, mask)
    check(known, array, masks, addresses)
    flat = array.reshape(-1, 32)
    everywhere = np.uint32(ALL_LANES) if masks is None else masks
    bits = np.broadcast_to(everywhere, array.shape[:-1]).reshape(-1)
    active = active_table(bits)
    active[:, known.lanes :] = False
    return np.where(active, flat, 0).astype(np.uint32), bits.astype(np.uint32)


def as_sources(
    op: str, sources: ArrayLike | None, addresses: NDArray[np.uint32], masks: NDArray[np.uint32]
) -> NDArray[np.uint32] | None:
    """Check sources as `simulator.count` does; give them (n, 32), those of idle lanes 0.

    `addresses` and `masks` are those of `as_accesses`. Raises DeviceError for lanes that write
    zeros, and for sources behind the probe's buffer.
    """
    if sources is None:
        return None
    rows = np.asarray(sources)
    rows = rows if rows.shape == (32,) else rows.reshape(-1, 32)
    given = copy_sources(_instruction(op), rows, addresses, masks)
    active = active_table(masks)
    wrong = active & ((given < 0) | (given > GLOBAL_BYTES - 16))
    if wrong.any():
        raise DeviceError(
            f"source {given[wrong][0]} is not in the probe's buffer (accepted: bytes from 0 to"
            f" {GLOBAL_BYTES - 16})"
        )
    return np.where(active, given, 0).astype(np.uint32)


def _instruction(op: str) -> Instruction:
    # A loop takes the addresses of the atomic of its width.
    if op in LOOPS:
        return instruction("ATOMS.EXCH.64" if LOOPS[op] == 8 else "ATOMS.EXCH")
    return instruction(op)


def measure(
    op: str,
    addresses: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    sources: ArrayLike | None = None,
    warps: int = _WARPS,
    rounds: int = _ROUNDS,
    device: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Measurements:
    """Measure the cycles of accesses on this machine's GPU.

    Raises NoGpuError without a GPU, DeviceError if it cannot run the instruction, and what
    `count` raises for bad accesses.

    Parameters
    ----------
    op, addresses, mask
        Those of `simulator.count`.
    sources
        Byte offsets in global memory that cp.async reads from, of the addresses' shape. By default
        its lanes read side by side.
    warps, rounds
        Warps of the block that executes an access at once, and times that it is timed: the median
        counts.
    device
        The GPU's number.
    progress
        Called with the number of accesses done since the last call.
    """
    name = probe_op(op).name
    flat, masks = as_accesses(name, addresses, mask)
    given = as_sources(name, sources, flat, masks)
    probe = Probe(name, device)
    medians, spreads = np.empty((2, len(flat)))
    for start in range(0, len(flat), _CHUNK):
        part = slice(start, start + _CHUNK)
        loaded = probe.load(flat[part], masks[part], None if given is None else given[part])
        few, many = (2 * probe.multiple, 2 * probe.multiple + _REPEATS)
        ticks = [
            probe.cycles(loaded, warps=warps, repeats=many)
            - probe.cycles(loaded, warps=warps, repeats=few)
            for _ in range(rounds)
        ]
        each = np.array(ticks) / (_REPEATS * warps)
        medians[part] = np.median(each, axis=0)
        spreads[part] = np.subtract(*np.quantile(each, [0.75, 0.25], axis=0))
        if progress:
            progress(len(ticks[0]))
    return Measurements(name, flat, masks, cycles=medians, spread=spreads, sources=given)
