"""Runs transcribed kernels thread by thread, and counts every access one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from simulator import count


@dataclass(frozen=True)
class Array:
    """A two-dimensional array of C, rows of `ld` elements."""

    name: str
    memory: str
    ld: int
    element: int = 4


Do = Callable[..., None]
"""(kind, array, row, col, turn, wide=1, op=None): one thread moves `wide` elements.

`turn` holds the loop indices: lanes of a warp with the same one execute one instruction.
"""

Program = tuple[tuple[int, int], tuple[int, int], Callable[..., None]]
"""Grid, block, and what a thread does: (do, bx, by, tx, ty)."""


def ceil_div(size: int, tile: int) -> int:
    return (size + tile - 1) // tile


@cache
def shared_cost(op: str, addresses: tuple[int, ...], mask: int) -> tuple[int, ...]:
    cost = count(op, addresses, mask, engine="python")
    return 1, int(cost.wavefronts), int(cost.ideal), int(cost.bank_conflicts)


def global_cost(addresses: list[int], width: int) -> tuple[int, ...]:
    moved = {address + byte for address in addresses for byte in range(width)}
    return 1, len({byte // 32 for byte in moved}), len({byte // 128 for byte in moved})


def run(program: Program) -> list[tuple[Any, ...]]:
    """Return a row for each array and kind: what all warps of the grid did to it."""
    grid, block, thread = program
    totals: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    threads = block[0] * block[1]
    for by in range(grid[1]):
        for bx in range(grid[0]):
            for first in range(0, threads, 32):
                accesses: dict[Any, dict[int, int]] = defaultdict(dict)
                for tid in range(first, min(first + 32, threads)):

                    def do(
                        kind: str, array: Array, row: int, col: int, *turn: int,
                        wide: int = 1, op: str | None = None, lane: int = tid - first,
                        accesses: Any = accesses,
                    ) -> None:  # fmt: skip
                        address = (row * array.ld + col) * array.element
                        accesses[kind, array, turn, wide, op][lane] = address

                    thread(do, bx, by, tid % block[0], tid // block[0])
                for (kind, array, _, wide, op), lanes in accesses.items():
                    width = wide * array.element
                    if array.memory == "shared":
                        wide_suffix = {2: ".U16", 4: "", 8: ".64", 16: ".128"}[width]
                        op = op or {"load": "LDS", "store": "STS"}[kind] + wide_suffix
                        every = tuple(lanes.get(lane, 0) for lane in range(32))
                        cost = shared_cost(op, every, sum(1 << lane for lane in lanes))
                    else:
                        cost = global_cost(list(lanes.values()), width)
                    for place, figure in enumerate(cost):
                        totals[array.memory, kind, array.name][place] += figure
    return sorted((memory, kind, *figures) for (memory, kind, _), figures in totals.items())
