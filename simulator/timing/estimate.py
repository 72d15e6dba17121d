"""The estimate of one launch: one SM's blocks, simulated, and what the grid makes of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.timing.code import PIPES, code_arrays
from simulator.timing.queues import NUMBERS
from simulator.timing.rates import Rates
from simulator.timing.sm import simulate
from simulator.timing.state import Outcome, TraceArrays, new_outcome, new_state
from simulator.timing.work import Work

__all__ = ["Run", "run_sm", "trace_arrays"]

_WAYS = 16
_LINE = 128


@dataclass(frozen=True, eq=False)
class Run:
    """A simulation of one SM."""

    cycles: int
    outcome: Outcome
    plan: NDArray[np.int64]


def trace_arrays(work: Work) -> TraceArrays:
    """Return the traces of all blocks, end to end."""
    first, traces = work.traces[0], work.traces
    steps, rows = first.steps, first.rows

    def joined(begins: str, values: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        sizes = [np.diff(getattr(each, begins)) for each in traces]
        begin = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int64)
        return begin, np.concatenate([getattr(each, values) for each in traces])

    warp_begin, step = joined("warp_begin", "step")
    base_begin, base = joined("base_begin", "base")
    return TraceArrays(
        steps.start, steps.length, steps.row_begin, steps.row, rows.number,
        rows.is_shared.astype(np.int64), rows.cycles, rows.floor, rows.bytes, rows.line_begin,
        rows.line, rows.mask, warp_begin, step, base_begin, base,
    )  # fmt: skip


def run_sm(
    work: Work, rates: Rates, machine: dict[str, float], plan: NDArray[np.int64], *,
    without: bool = False, l1_bytes: int = 1 << 17,
) -> Run:  # fmt: skip
    """Simulate one SM that gets the blocks of `plan`, by their places in `work.traces`."""
    code, trace = code_arrays(work.instructions, rates), trace_arrays(work)
    resident = min(work.resident, len(plan))
    sets = max(1, l1_bytes // (_LINE * _WAYS))
    state = new_state(resident * work.warps, resident, len(PIPES), sets, _WAYS)
    out = new_outcome(len(work.instructions), len(plan))
    numbers = np.array([machine[name] for name in NUMBERS], dtype=np.float64)
    cycles = simulate(code, trace, state, numbers, out, plan, work.warps, without)
    return Run(int(cycles), out, plan)
