"""The estimate of one launch: one SM's blocks, simulated, and what the grid makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.law.chips import Chip
from simulator.timing.atomics import reduced_cycles
from simulator.timing.code import ATOMICS, code_arrays
from simulator.timing.far import FILLED
from simulator.timing.giving import Share, SmServed, scattered, shares, slowness
from simulator.timing.local_memory import parted
from simulator.timing.machine import NUMBERS, l1_bytes
from simulator.timing.rates import rates_of
from simulator.timing.shares import Held, held_of, numbers_of, sms_of
from simulator.timing.sm import simulate
from simulator.timing.state import CODE_LINE, COUNTS, MOST_BLOCKS, Kind, Stall, new_state
from simulator.timing.unlike import (
    begun,
    first_ends,
    is_unlike,
    last_end,
    lengths,
    most_to_do,
)
from simulator.timing.ways import OF_DRAM, OF_L2, OF_SENT, OF_STORES
from simulator.timing.work import Work

__all__ = ["Estimate", "SmRun", "estimate", "flat", "run_sm"]

MOST_INSTRUCTIONS = 6_000_000
"""Of warps, that are simulated: more blocks of a grid are taken to go on as those did."""
_IN_STEP = 0.2
"""Blocks of a wave that end within so much of its time are taken to go in step."""
_RARE = 0.02
"""What no more of the SMs get is left out: of h100_tails.csv's blocks that conflict, no SM gets two
more than the mean one, though some might where blocks end together."""
_PAIR = 2
"""Clusters of no more blocks are given out as blocks are: h100_tails.csv, loads, cluster 2."""
_MORE = 1.05
_FEW = 8
"""Waves: of more, a block that an SM gets beyond the others takes what one takes on average."""
_BEGINS, _LATER = 4, 20
"""Ways in which an SM's blocks may begin, and cycles by which they begin later in the next one."""
_DRAWS = 3
"""How often it is drawn how long blocks take. A block more or less may hang on it, so the mean
counts."""
_TIMES = 4
"""How often a launch is gone through, each time with other lines near: what one SM does may hang on
a few cycles, by 10 % and more. A grid has many of them, so the mean counts."""


@dataclass(frozen=True, eq=False)
class SmRun:
    """A simulation of one SM."""

    cycles: int
    """-1: warps wait for ever."""
    stalls: NDArray[np.int64]
    """By instruction and reason: cycles of warps."""
    counts: dict[str, int]
    """By the names of COUNTS."""
    ends: NDArray[np.int64]
    """When each block of the plan ended."""
    per_block: float
    """Cycles per block while every slot was taken; 0: no block followed another."""
    way: float
    """Cycles for which the SM's way to the L2 was busy."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a grid takes."""

    active: float
    """Cycles of the SM that has most blocks."""
    run: SmRun
    """The blocks that were simulated."""
    blocks: int
    """Of the SM that has most."""
    courses: tuple[float, ...]
    """Such cycles, each time with other lines near: `active` is their mean."""


def estimate(
    work: Work, chip: Chip, machine: Mapping[str, float], *, without: bool = False,
    held: Held | None = None,
) -> Estimate | None:  # fmt: skip
    """Return what a launch takes; None: its warps wait for ever.

    `without`: with every access to shared memory at its floor; `held`: what `held_of` says of it.
    """
    sms = sms_of(work, chip, machine)
    blocks = -(-work.blocks // sms)
    held = held or held_of(work, chip, machine)
    numbers = numbers_of(work, machine, held, sms)
    plan = _plan(work, blocks)
    run = run_sm(work, chip, numbers, plan, without=without)
    if run.cycles < 0:
        return None
    of_l1 = (run.counts["load_sectors"] - run.counts["l1_hits"]) / len(plan)
    copied = [
        sum(len(each) for number, each in trace.copied.items() if number not in work.stores)
        for trace in work.traces
    ]
    streamed = 32.0 * (of_l1 + sum(copied) / len(copied)) * work.blocks * (1 - held.draws.part)
    if held.share and streamed and held.loaded / streamed > _MORE * held.share:
        # L1 holds what blocks share: more of what is left comes from DRAM.
        held = replace(held, share=min(1.0, held.loaded / streamed))
        numbers = numbers_of(work, machine, held, sms)
        run = run_sm(work, chip, numbers, plan, without=without)
    found = [_end(work, chip, numbers, plan, run, without)]
    simulated = _instructions(work) * len(plan)
    for course in range(1, min(_TIMES, int(MOST_INSTRUCTIONS / max(simulated, 1)))):
        other = {**numbers, "course": float(course)}
        again = run_sm(work, chip, other, plan, without=without)
        if again.cycles == run.cycles:  # nothing hangs on where lines lie
            break
        found.append(_end(work, chip, other, plan, again, without))
    return Estimate(float(np.mean(found)), run, blocks, tuple(found))


def _end(
    work: Work, chip: Chip, numbers: Mapping[str, float], plan: NDArray[np.int64], run: SmRun,
    without: bool,
) -> float:  # fmt: skip
    """Return when the grid ends, of whose blocks those of `plan` were simulated."""
    sms = sms_of(work, chip, numbers)
    blocks = -(-work.blocks // sms)
    active, left = float(run.cycles), blocks - len(plan)
    if left:
        active += _rest(work, chip, numbers, run, left, without)
    # Of the whole grid.
    active = max(active, reduced_cycles(work, numbers, float(run.ends.min())))
    if blocks > work.resident:  # the last SM ends later than the mean one that was simulated
        return _last_sm(work, chip, numbers, run, sms, active, without)
    most = most_to_do(work, sms) if is_unlike(work) else None
    if most is not None:  # it ends last, with as much of the L2 as the mean one
        active = max(active, float(run_sm(work, chip, numbers, most, without=without).cycles))
    if work.longest:
        active = max(active, _with_longest(work, chip, numbers, blocks, without))
    return active


def _instructions(work: Work) -> float:
    """Return how many a block's warps execute, on average."""
    return sum(trace.instructions for trace in work.traces) / len(work.traces)


def _with_longest(
    work: Work, chip: Chip, numbers: Mapping[str, float], blocks: int, without: bool
) -> float:
    """Return the cycles of the SM that has the block with the longest warp, beside others."""
    among = replace(work, traces=(*work.traces, *work.longest))
    plan = np.arange(blocks) % len(work.traces)
    plan[0] = len(work.traces)
    return float(run_sm(among, chip, numbers, plan, without=without).cycles)


def _last_sm(
    work: Work, chip: Chip, machine: Mapping[str, float], run: SmRun, sms: int, active: float,
    without: bool,
) -> float:  # fmt: skip
    """Return when the last SM ends, where blocks follow one another.

    `active`: when the SM does that has most of them, of those that were simulated.

    Where blocks are unlike, how much later is gone through, beside the SM that was simulated: its
    blocks may do more or less than the grid's mean one. How fast a block is without others is
    simulated: that of those that ran that does most.
    """
    asked = max(_served(machine, run), _from_dram(machine, run))
    asked = float(np.interp(asked, (machine["last_from"], machine["last_to"]), (0, 1)))
    most = machine["last_sm_pair" if prod(work.cluster) > 1 else "last_sm"]
    late = 1 + most * asked * work.resident / -(-work.blocks // sms)
    late += machine["last_begins"] / active
    if not is_unlike(work):
        uneven = _uneven(work, chip, machine, run, sms, active, without)
        return max(active * late, uneven)
    if not run.per_block:
        return active * late
    each = [trace.busy for trace in work.traces]
    longest = int(np.argmax(each))
    plan = np.array([longest], dtype=np.int64)
    alone = run_sm(work, chip, machine, plan, without=without).cycles
    among = run.per_block * work.resident * each[longest] / (sum(each) / len(each))
    fastest = min(max(among / max(alone, 1), 1.0), float(work.resident))
    blocks = lengths(work)
    own = lengths(work, _plan(work, -(-work.blocks // sms)))
    count = min(work.resident, len(own))
    beside = run.ends[:count] / first_ends(own[:count].tolist(), fastest)
    beside /= beside[run.ends[:count].argmax()]  # a short one's is mostly what its launch costs
    firsts = np.sort(beside.clip(max=1)).tolist()
    simulated = last_end(own.tolist(), [1.0], [0] * count, firsts, fastest)
    begins = begun(work, sms)
    slow = scattered(slowness(sms, _how_served(machine, run), machine))
    end = np.mean([last_end(blocks.tolist(), slow, at, firsts, fastest) for at in begins])
    return float(active * max(late * blocks.mean() / own.mean(), end / simulated))


def _uneven(
    work: Work, chip: Chip, machine: Mapping[str, float], run: SmRun, sms: int, active: float,
    without: bool,
) -> float:  # fmt: skip
    """Return when the last SM ends, where like blocks follow one another: some SMs get more.

    `active`: when an SM does that gets as many as the mean one, of those that were simulated. One
    that goes on while others have ended gets more of DRAM; of the L2 it does not, whether it loads
    or copies (gpu_check/data/h100_tails.csv, 16 MiB: the second eight blocks take as long as the
    first).
    """
    own = -(-work.blocks // sms)
    changes = any(each.name in ATOMICS for each in work.instructions)
    if prod(work.cluster) > _PAIR or changes or len(run.ends) < work.resident:
        return active  # what the L2 does for all SMs ends when it has done it
    wave = work.resident * run.per_block or float(np.sort(run.ends)[work.resident - 1])
    ends = np.sort(run.ends)[: max(work.resident, len(run.ends) - work.resident + 1)].tolist()
    apart = _apart(work, chip, machine, run, without)
    served, left = _how_served(machine, run), 1 - _from_dram(machine, run)
    # Which blocks end close together is chance: the waves before the last one say so, too.
    known = range(len(ends), work.resident - 1, -work.resident)
    given = [
        shares(ends[:count], work.resident, wave, work.blocks, sms, served, machine, apart, drawn)
        for drawn in range(_DRAWS)
        for count in known
    ]
    rare = int(_RARE * sms)
    given = [sorted(some, key=lambda each: each.blocks)[: sms - rare] for some in given]
    most = max(some[-1].blocks for some in given)
    if most <= own:
        return active
    did = _instructions(work)
    more = (most - own) * run.per_block
    if most * did <= MOST_INSTRUCTIONS and own <= _FEW * work.resident:
        plan = np.arange(most, dtype=np.int64) % len(work.traces)
        more = run_sm(work, chip, machine, plan, without=without).cycles - active
    per_block = max(more, 0.0) * left / (most - own)

    def last(some: list[Share]) -> float:
        # Who gets no more than the mean SM is not the last one because of that.
        found = [
            each.late + each.slow * (active + (each.blocks - own) * per_block)
            for each in some
            if each.blocks > own
        ]
        return max(active, *found) if found else active

    return float(np.mean([last(some) for some in given]))


def _apart(
    work: Work, chip: Chip, machine: Mapping[str, float], run: SmRun, without: bool
) -> float:
    """Return by how many cycles the first blocks of an SM end earlier or later than on another one.

    Which warp goes first hangs on a cycle here and there, and what an SM does then on that. So the
    same blocks are simulated again, each time a little further apart when they begin than in `run`.
    That they end later by as much each time does not count.
    """
    plan = np.arange(min(len(run.ends), 2 * work.resident), dtype=np.int64) % len(work.traces)
    runs = [run]
    for begin in range(1, _BEGINS):
        later = machine["launch_interval"] + _LATER * begin
        numbers = {**machine, "launch_interval": later}
        runs.append(run_sm(work, chip, numbers, plan, without=without))
    ends = [np.sort(each.ends)[: work.resident] for each in runs]
    steps = np.arange(_BEGINS) - (_BEGINS - 1) / 2
    apart = np.array(ends) - np.mean(ends, axis=0)
    apart -= np.outer(steps, steps @ apart / (steps @ steps))
    return float(np.sqrt(np.square(apart).sum(axis=0).mean() / (_BEGINS - 2)))


def _served(machine: Mapping[str, float], run: SmRun) -> float:
    """Return the share of the time in which the L2 serves the SM."""
    busy = 32.0 * run.counts["l2_sectors"] / machine["l2_rate"] + run.counts["l2_more"]
    return min(1.0, busy / run.cycles)


def _how_served(machine: Mapping[str, float], run: SmRun) -> SmServed:
    """Return how the simulated SM is served: by the L2 or DRAM, and by its way there or DRAM."""
    way, dram = min(1.0, run.way / run.cycles), _from_dram(machine, run)
    return SmServed(max(_served(machine, run), dram), max(way, dram))


def _from_dram(machine: Mapping[str, float], run: SmRun) -> float:
    """Return the share of the time in which DRAM serves the SM."""
    return min(1.0, 32.0 * run.counts["dram_sectors"] / machine["dram_rate"] / run.cycles)


def _plan(work: Work, blocks: int) -> NDArray[np.int64]:
    """Return the blocks that are simulated, by their places among the traces: whole waves."""
    room = max(1, int(MOST_INSTRUCTIONS / max(_instructions(work), 1)))
    count = min(blocks, max(room // work.resident, 1) * work.resident, MOST_BLOCKS)
    return np.arange(count, dtype=np.int64) % len(work.traces)


def _rest(
    work: Work, chip: Chip, numbers: Mapping[str, float], run: SmRun, left: int, without: bool
) -> float:
    """Return the cycles of blocks that were not simulated."""
    wave = work.resident
    ends = np.sort(run.ends)
    whole, some = divmod(left, wave)
    per_wave = wave * run.per_block if run.per_block else float(ends[-1])
    if some and ends[wave - 1] - ends[0] < _IN_STEP * ends[wave - 1]:
        # Blocks end together: the last ones have the SM to themselves.
        tail = run_sm(work, chip, numbers, np.arange(some) % len(work.traces), without=without)
        return whole * per_wave + min(float(tail.cycles), per_wave)
    return left / wave * per_wave


def _shared_rows(
    work: Work, machine: Mapping[str, float]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each row its cycles of the data pipe, and those until its end beside a latency.

    The latter is more where an address is generic, and where it is in a neighbour's memory.
    """
    rows = work.traces[0].rows
    names = [each.name for each in work.instructions]
    kinds = np.array([_ways(name) for name in names], np.int64)[rows.number]
    away = np.zeros_like(rows.cycles) if rows.away is None else rows.away
    loads = "loads" if prod(work.cluster) > _PAIR else "loads_pair"
    shares = np.array([machine[f"neighbour_{each}"] for each in (loads, "atoms", "stores")])
    way = np.ceil(away * shares[kinds] / 10).astype(np.int64)
    there = np.array([machine["neighbour_load"], machine["neighbour_atom"], 0.0])[kinds]
    here = machine["generic_latency"] * (kinds < _ways("LDS"))
    waits = np.where(away > 0, there + way, here).astype(np.int64)
    return rows.cycles + way, np.where(rows.is_shared, waits, 0)


def _ways(name: str) -> int:
    """Return a number of what asks shared memory by a generic address: loads, atomics, stores.

    >>> [_ways(name) for name in ("LD", "ATOM", "LDS")]
    [0, 1, 2]
    """
    return 0 if name == "LD" else 1 if name in ATOMICS else 2


def flat(
    work: Work, state: NDArray[Any], code: NDArray[Any], resident: int,
    machine: Mapping[str, float],
) -> NDArray[np.int64]:  # fmt: skip
    """Return the traces of all blocks as one array, and say in the state where its parts are.

    Steps have four elements each, accesses six, lines two, warps three, events five. Behind them
    stand how many events each phase of a block's mbarriers needs, and room for those of the blocks
    that are resident: how many are left, and when the last one came.
    """
    first, traces = work.traces[0], work.traces
    steps, rows = first.steps, first.rows
    table = np.stack([steps.start, steps.length, steps.row_begin[:-1], steps.row_begin[1:]], axis=1)
    cycles, waits = _shared_rows(work, machine)
    asked = np.zeros_like(waits) if rows.asked is None else rows.asked
    is_local = code["sectors"][rows.number] > 0
    tables = np.zeros_like(waits) if rows.table is None else rows.table
    sectors, lie = parted(rows.sectors)
    tables, sectors = np.where(is_local, lie, tables), np.where(is_local, sectors, rows.sectors)
    columns = (
        rows.number, rows.is_shared.astype(np.int64),
        cycles, rows.floor + cycles - rows.cycles,
        np.where(rows.is_shared, sectors, rows.line_begin[:-1]),
        np.where(rows.is_shared, np.where(asked > 0, asked, waits) + tables, rows.line_begin[1:]),
    )  # fmt: skip
    begins = [np.zeros((1, 3), np.int64)]
    for each in traces:
        of_events = each.event_begin if len(each.event_begin) else np.zeros_like(each.warp_begin)
        ends = np.stack([each.warp_begin, each.base_begin, of_events], axis=1)[1:]
        begins.append(begins[-1][-1] + ends)
    needs = _needs(work, code)
    parts = {
        "steps": table,
        "accesses": np.stack(columns, axis=1)[steps.row],
        "lines": np.stack([rows.line, rows.mask | rows.filled << FILLED], axis=1),
        "warps": np.concatenate(begins),
        "did": np.concatenate([each.step for each in traces]),
        "bases": work.bases,
        "events": np.concatenate([each.event for each in traces]),
        "needs": needs,
        "phases": np.zeros(2 * resident * needs.shape[1], np.int64),
    }
    state["most_phases"] = needs.shape[1]
    at = 0
    for name, part in parts.items():
        state[name] = at
        at += part.size
    return np.concatenate([part.ravel() for part in parts.values()]).astype(np.int64)


def _needs(work: Work, code: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many arrivals and copies each phase waits for, shape (traces, phases)."""
    most = max((int(each.event[:, 1].max(initial=-1)) for each in work.traces), default=-1) + 1
    found = np.zeros((len(work.traces), most), dtype=np.int64)
    for place, trace in enumerate(work.traces):
        number, phase = trace.event[:, 0].copy(), trace.event[:, 1]
        for further in np.flatnonzero(number < 0):  # of the instruction before
            number[further] = number[further - 1]
        ends = (phase >= 0) & (code["kind"][number] != Kind.PHASE)
        np.add.at(found[place], phase[ends], 1)
    return found


def run_sm(
    work: Work, chip: Chip, machine: Mapping[str, float], plan: NDArray[np.int64], *,
    without: bool = False,
) -> SmRun:  # fmt: skip
    """Simulate one SM that gets the blocks of `plan`, by their places in `work.traces`."""
    resident = min(work.resident, len(plan))
    state = new_state(l1_bytes(work.shared_bytes, work.resident, work.warps))
    for place in (OF_L2, OF_STORES, OF_SENT, OF_DRAM):
        state["spread"][0, place] = machine["dram_apart" if place == OF_DRAM else "sms_apart"]
    code = code_arrays(work.instructions, rates_of(chip))
    trace = flat(work, state, code, resident, machine)
    stalls = np.zeros((len(code), len(Stall)), dtype=np.int64)
    numbers = np.array([machine[name] for name in NUMBERS], dtype=np.float64)
    lines = -(-len(code) // CODE_LINE)
    sizes = np.array([work.warps, resident, len(work.traces), lines], dtype=np.int64)
    cycles = simulate(code, trace, state[0], numbers, stalls, plan, sizes, without)
    counts = dict(zip(COUNTS, state["counts"][0].tolist(), strict=True))
    ends = state["end"][0, : len(plan)].copy()
    time, done = (state["last_begun"][0] - state["full"][0]).tolist()
    per_block = time * counts["instructions"] / len(plan) / done if done > 0 else 0.0
    return SmRun(int(cycles), stalls, counts, ends, per_block, float(state["took"][0, OF_STORES]))
