"""Which of several fixes stands first, and which take more shared memory than a block may have."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.fixing.arrays import SharedArray
from simulator.fixing.fix import Fix
from simulator.fixing.layouts import Candidate
from simulator.sass.run.grid import GridRun

__all__ = ["preference", "too_much"]

_STATIC = 48 * 1024
"""Static shared memory of a kernel at most (CUDA C++ Programming Guide)."""
_CHEAP = 16
"""Padding that takes at most one in so many bytes is said before a swizzle."""


def too_much(launch: GridRun, changed: Sequence[tuple[SharedArray, Candidate]]) -> str:
    """Say which limit a block's shared memory goes over with these layouts, if it does."""
    more = [(array.is_static, candidate.bytes - array.bytes) for array, candidate in changed]
    size = launch.taken_shared + sum(grown for _, grown in more)
    limit = launch.architecture.shared_bytes
    if launch.chip is not None:
        limit = min(limit, launch.chip.shared_bytes)
    if size > max(limit, launch.taken_shared):
        return f"a block would take {size:,} bytes of shared memory (accepted: {limit:,})"
    static = launch.taken_shared - launch.shared_bytes
    static += sum(grown for is_static, grown in more if is_static)
    if static > _STATIC and any(is_static and grown for is_static, grown in more):
        return f"static shared memory would take {static:,} bytes (accepted: {_STATIC:,})"
    return ""


def preference(fix: Fix, is_joined: bool) -> tuple[bool, bool, int, int, int]:
    """Order fixes that remove as much: room first, then cheap padding of rows, the rest.

    Of an array that is declared without rows, padding costs operations, as a swizzle does: the
    fewer, then the fewer bytes. A swizzle would part what the compiler joined, so padding is
    better then, dear or not.
    """
    more = fix.bytes_after - fix.bytes_before
    loses = (fix.occupancy_after.blocks or 0) < (fix.occupancy_before.blocks or 0)
    is_dear = more * _CHEAP > fix.bytes_before and not is_joined
    rank = {"tma": 0, "pad": 1, "swizzle": 2, "both": 3}[fix.kind]
    declared = fix.target.declared if fix.target else None
    is_flat = declared is not None and declared.bytes is not None
    if fix.kind == "pad" and fix.operations and is_flat and not is_joined:
        rank = 2
    return loses, is_dear, rank, fix.operations, more
