"""How the compiled loops get their work: chunks of arrays, on threads, and the law as numbers."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.jit import check_compiles
from simulator.law.instructions import Instruction, Rule

__all__ = ["Law", "in_chunks", "law_of", "plain"]

_CHUNK = 1 << 15  # accesses a thread takes at a time


class Law(NamedTuple):
    """What the loops must know of an instruction under a rule, all of it int32."""

    width: np.int32
    lanes: np.int32
    phases: np.int32
    """Before fusing."""
    fuses: np.int32
    merges: np.int32
    passes: np.int32
    fixed_ideal: np.int32
    """-1 for none."""
    phase_cycles: np.int32
    least_1: np.int32
    """Cycles of one wavefront at least."""
    least_2: np.int32
    fused_phases: np.int32
    shared_bytes: np.int32
    """Addresses are below it."""


def in_chunks(
    count: Callable[[slice, NDArray[np.uint8]], int], n: int, threads: int | None
) -> tuple[NDArray[np.uint8], int | None]:
    """Return figures (6, n) that `count` fills chunk by chunk, and the first bad access, or None.

    `count` takes a slice and the figures, and returns the first bad one of its chunk, or -1.
    """
    check_compiles()
    figures = np.empty((6, n), dtype=np.uint8)
    starts = range(0, n, _CHUNK)
    left = iter(starts)  # the threads' common queue

    def work() -> list[int]:
        try:
            found = ((start, count(slice(start, start + _CHUNK), figures)) for start in left)
            return [start + bad for start, bad in found if bad >= 0]
        finally:
            for _ in left:  # where one thread fails or is interrupted, the others stop
                pass

    # This thread works too: to start one more, and to be woken by it, would take as long as
    # thousands of accesses.
    helpers = min(threads or _processors(), len(starts)) - 1
    with ThreadPoolExecutor(helpers) if helpers > 0 else nullcontext() as pool:
        helped = [pool.submit(work) for _ in range(helpers)] if pool else []
        found = [*work(), *(bad for each in helped for bad in each.result())]
    return figures, min(found, default=None)


def law_of(instruction: Instruction, rule: Rule) -> Law:
    """Return what the loops must know of an instruction under a rule."""
    fixed = -1 if instruction.fixed_ideal is None else instruction.fixed_ideal
    numbers = (
        instruction.width,
        instruction.lanes,
        instruction.phases,
        instruction.fuses and rule == "silicon",
        instruction.merges,
        instruction.passes,
        fixed,
        instruction.phase_cycles,
        *instruction.least_cycles,
        len(instruction.fused_lanes),
        instruction.shared_bytes,
    )
    return Law(*np.array(numbers, dtype=np.int32))  # quicker than one by one


def _processors() -> int:
    # A container may have fewer than the machine; sched_getaffinity exists on Linux only.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def plain(array: NDArray[Any]) -> NDArray[Any]:
    """Return a chunk as one of the few types for which the loops are compiled.

    That is read-only, in C order, and uint of 32 or 64 bits. A negative integer is an unsigned one
    beyond shared memory, and refused as that. Only chunks in another order, of rows or of bytes,
    or of fewer bits, are copied.
    """
    size = max(array.dtype.itemsize, 4)
    kind = array.dtype.newbyteorder("=") if size == array.dtype.itemsize else np.dtype(np.int32)
    native = array.astype(kind, copy=False)
    plain = np.ascontiguousarray(native).view(f"u{size}").view()
    plain.flags.writeable = False
    return plain
