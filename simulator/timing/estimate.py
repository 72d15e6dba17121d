"""The estimate of one launch: one SM's blocks, simulated, and what the grid makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.timing.code import code_arrays
from simulator.timing.queues import NUMBERS
from simulator.timing.rates import Rates
from simulator.timing.sm import simulate
from simulator.timing.state import COUNTS, Stall, new_state
from simulator.timing.work import Work

__all__ = ["Run", "run_sm", "flat"]


@dataclass(frozen=True, eq=False)
class Run:
    """A simulation of one SM."""

    cycles: int
    stalls: NDArray[np.int64]
    """By instruction and reason: cycles of warps."""
    counts: dict[str, int]
    """By the names of COUNTS."""
    ends: NDArray[np.int64]
    """When each block of the plan ended."""


def flat(work: Work, state: NDArray[Any]) -> NDArray[np.int64]:
    """Return the traces of all blocks as one array, and say in the state where its parts are.

    Steps have four elements each, accesses six, lines two, warps two.
    """
    first, traces = work.traces[0], work.traces
    steps, rows = first.steps, first.rows
    table = np.stack([steps.start, steps.length, steps.row_begin[:-1], steps.row_begin[1:]], axis=1)
    columns = (
        rows.number, rows.is_shared.astype(np.int64),
        np.where(rows.is_shared, rows.cycles, rows.held), rows.floor,
        rows.line_begin[:-1], rows.line_begin[1:],
    )  # fmt: skip
    accesses = np.stack(columns, axis=1)[steps.row]
    begins = [np.zeros((1, 2), np.int64)]
    for each in traces:
        begins.append(begins[-1][-1] + np.stack([each.warp_begin, each.base_begin], axis=1)[1:])
    parts = {
        "steps": table,
        "accesses": accesses,
        "lines": np.stack([rows.line, rows.mask], axis=1),
        "warps": np.concatenate(begins),
        "did": np.concatenate([each.step for each in traces]),
        "bases": np.concatenate([each.base for each in traces]),
    }
    at = 0
    for name, part in parts.items():
        state[name] = at
        at += part.size
    return np.concatenate([part.ravel() for part in parts.values()]).astype(np.int64)


def run_sm(
    work: Work, rates: Rates, machine: dict[str, float], plan: NDArray[np.int64], *,
    without: bool = False, l1_bytes: int = 1 << 17,
) -> Run:  # fmt: skip
    """Simulate one SM that gets the blocks of `plan`, by their places in `work.traces`."""
    state = new_state(l1_bytes)
    trace = flat(work, state)
    code = code_arrays(work.instructions, rates)
    stalls = np.zeros((len(code), len(Stall)), dtype=np.int64)
    numbers = np.array([machine[name] for name in NUMBERS], dtype=np.float64)
    resident = min(work.resident, len(plan))
    cycles = simulate(
        code, trace, state[0], numbers, stalls, plan, work.warps, resident, without
    )
    ends = state["end"][0, : len(plan)].copy()
    return Run(int(cycles), stalls, dict(zip(COUNTS, state["counts"][0].tolist(), strict=True)), ends)
