"""The estimate of one launch: one SM's blocks, simulated, and what the grid makes of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.law.chips import Chip
from simulator.timing.code import ATOMICS, REDUCTIONS, code_arrays
from simulator.timing.far import NUMBERS, PARTS
from simulator.timing.footprint import footprint
from simulator.timing.local_memory import missed_share
from simulator.timing.machine import l1_bytes
from simulator.timing.rates import rates_of
from simulator.timing.residency import Residency, residency, shared_residency
from simulator.timing.sharing import kept_twice, l2_rate, read_together, readers
from simulator.timing.sm import simulate
from simulator.timing.state import CODE_LINE, COUNTS, MOST_BLOCKS, Kind, Stall, new_state
from simulator.timing.traces import BlockTrace
from simulator.timing.unlike import is_unlike, last_end, lengths
from simulator.timing.work import Work

__all__ = ["Estimate", "SmRun", "estimate", "flat", "run_sm"]

MOST_INSTRUCTIONS = 6_000_000
"""Of warps, that are simulated: more blocks of a grid are taken to go on as those did."""
_IN_STEP = 0.2
"""Blocks of a wave that end within so much of its time are taken to go in step."""
_MORE = 1.05
_FEWEST = 3
"""Blocks that tell how much blocks differ."""
_NEAR = 1 << 20
"""Bytes that atomics change: of more than these they are measured apart."""
_PAIR = 2
"""Blocks of a cluster that every SM can hold one of."""
_WORDS = 8
"""Of a sector: more lanes than those share words."""


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


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a grid takes."""

    active: float
    """Cycles of the SM that has most blocks."""
    run: SmRun
    """The blocks that were simulated."""
    blocks: int
    """Of the SM that has most."""


def estimate(
    work: Work, chip: Chip, machine: Mapping[str, float], *, without: bool = False
) -> Estimate | None:
    """Return what a launch takes; None: its warps wait for ever.

    `without`: with every access to shared memory at its floor.
    """
    sms = _sms(work, chip, machine)
    blocks = -(-work.blocks // sms)
    found = footprint(work.probes, work.traces, work.grid, work.stores)
    size = float(found.read + found.written + found.unseen - found.both)
    written = found.written / max(found.read + found.written + found.unseen, 1)
    kept = residency(size, written, blocks > work.resident, chip)
    part, sharers = kept_twice(work, found)
    part *= found.read / max(size, 1.0)  # measured where nothing is written
    kept = shared_residency(kept, size, part, sharers, blocks > work.resident, chip)
    share = _share(work, size) if kept != Residency() else 0.0
    is_one_wave = blocks <= work.resident
    # In one wave SMs that have fewer blocks leave the others more of the L2.
    busy = work.blocks / (sms * blocks) if is_one_wave else 1.0
    l1, reach = l1_bytes(work.shared_bytes, work.resident), int(machine["shared_reach"])
    if math.prod(work.cluster) > 1:  # blocks of a cluster may read for each other
        shared = min(machine["l2_shared"], machine["l2_rate"] * readers(work, found))
    else:
        of_sm = max(1.0, min(work.blocks / sms, work.resident))
        together = read_together(work, reach, l1, of_sm)
        shared = l2_rate(machine["l2_rate"], machine["l2_shared"], together, reach)
    numbers = dict(machine) | {"dram_share": kept.lost * share, "l2_rate": shared}
    numbers["dram_stored"], numbers["crossed"] = kept.stored * share, kept.crossed * share
    # An SM alone gets more of the L2 than its share when all are at work.
    alone = max(machine["l2_alone"], machine["l2_shared"])
    # In one wave no SM does the work of another: the slowest one is the last.
    slow = machine["slowest_sm"] if is_one_wave else 1.0
    if is_one_wave:
        numbers["dram_holds"] = machine["dram_holds_wave"]
    # Of those that read a line, one asks DRAM for it (gpu_check/data/h100_found_again.csv).
    numbers["dram_holds"] *= 1 - part + part / sharers
    for name in ("l2_rate", "store_rate", "dram_rate"):
        most = machine["store_alone"] if name == "store_rate" else alone
        numbers[name] = min(most, numbers[name] / busy / slow)
    if math.prod(work.cluster) > 1:
        for name in ("launch_interval", "launch_warp"):
            numbers[name] = machine[f"{name}_cluster"]
    asks = max(machine["store_request_alone"], machine["store_request"] * busy)
    numbers["store_request"] = asks
    for name in ("l2_wait", "dram_wait"):  # measured with all SMs asking
        numbers[name] *= busy
    numbers["l2_own"] = min(alone, machine["l2_rate"] / busy)
    numbers["tma_l2_rate"] = min(machine["tma_rate"], shared / busy)
    rate = machine["atom_near_rate" if _meet_near(work) else "atom_rate"]
    numbers["atom_rate"] = min(machine["atom_alone"], rate / busy)
    numbers["atom_hot"] = _hot(work, machine) / blocks
    numbers["local_missed"] = missed_share(work, l1)
    plan = _plan(work, blocks)
    run = run_sm(work, chip, numbers, plan, without=without)
    if run.cycles < 0:
        return None
    asked = 32.0 * run.counts["l2_sectors"] / len(plan) * work.blocks
    if share and asked and size / asked > _MORE * share:
        # L1 holds what blocks share: more of what is left comes from DRAM.
        share = min(1.0, size / asked)
        numbers["dram_share"], numbers["crossed"] = kept.lost * share, kept.crossed * share
        numbers["dram_stored"] = kept.stored * share
        run = run_sm(work, chip, numbers, plan, without=without)
    active = max(float(run.cycles), _reduced(work, machine))
    left = blocks - len(plan)
    if left:
        active += _rest(work, chip, numbers, run, left, without)
    if blocks > work.resident:  # the last SM ends later than the mean one that was simulated
        late = 1 + machine["last_sm"] * work.resident / blocks
        active *= _unlike_waves(work, chip, numbers, run, sms, late, without)
    return Estimate(active * _unlike(work, blocks, sms), run, blocks)


def _sms(work: Work, chip: Chip, machine: Mapping[str, float]) -> int:
    """Return how many SMs a launch can use: clusters of more than two blocks leave some idle."""
    sms = chip.multiprocessors or 1
    return min(sms, int(machine["cluster_sms"])) if math.prod(work.cluster) > _PAIR else sms


def _unlike(work: Work, blocks: int, sms: int) -> float:
    """Return how much longer the SM takes that has most to do than the mean one.

    Where all blocks begin at once, an SM has what it got: the most of so many draws of blocks.
    """
    each = [trace.instructions for trace in work.traces]
    if blocks > work.resident or len(each) < _FEWEST or not any(each):
        return 1.0
    full = work.blocks - (blocks - 1) * sms
    most = NormalDist().inv_cdf((full - 0.375) / (full + 0.25))  # Blom's expectation of the largest
    spread = float(np.std(each)) / float(np.mean(each))
    return 1.0 + max(most, 0.0) * spread / math.sqrt(blocks)


def _unlike_waves(
    work: Work, chip: Chip, numbers: Mapping[str, float], run: SmRun, sms: int, late: float,
    without: bool,
) -> float:  # fmt: skip
    """Return how much later the last SM ends than the mean one, where unlike blocks follow others.

    `late`: by how much it does where they are alike, at least.

    How fast a block is without others is simulated: that of those that ran that does most. Those
    that were simulated may do more or less than the grid's mean one.
    """
    if not is_unlike(work) or not run.per_block:
        return late
    each = [trace.instructions for trace in work.traces]
    longest = int(np.argmax(each))
    plan = np.array([longest], dtype=np.int64)
    alone = run_sm(work, chip, numbers, plan, without=without).cycles
    among = run.per_block * work.resident * each[longest] / (sum(each) / len(each))
    fastest = min(max(among / max(alone, 1), 1.0), float(work.resident))
    blocks = lengths(work)
    simulated = [each[place] for place in _plan(work, -(-work.blocks // sms))]
    mean = blocks.mean() * sum(each) / len(each) / (sum(simulated) / len(simulated))
    return float(mean * max(late, last_end(blocks.tolist(), sms, work.resident, fastest)))


def _plan(work: Work, blocks: int) -> NDArray[np.int64]:
    """Return the blocks that are simulated, by their places among the traces: whole waves."""
    each = sum(trace.instructions for trace in work.traces) / len(work.traces)
    room = max(1, int(MOST_INSTRUCTIONS / max(each, 1)))
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


def _share(work: Work, size: float) -> float:
    """Return the share of L2's sectors that come from DRAM, where nothing of so many bytes is left.

    Each sector comes from DRAM once; what blocks share is found in the L2 by those that come later.
    """
    sectors = [np.bitwise_count(trace.lines()[1]).sum() for trace in work.traces]
    asked = 32.0 * float(np.mean(sectors)) * work.blocks
    return min(1.0, size / asked) if asked else 0.0


def _meet_near(work: Work) -> bool:
    """Whether the grid's atomics change so few lines that these meet in a part of the L2."""
    chosen = _atomic_instructions(work)
    found = [
        trace.base[np.isin(trace.rows.number[trace.global_rows()], chosen)]
        for trace in _several(work) if len(chosen)
    ]  # fmt: skip
    lines = np.concatenate([np.zeros(0, np.int64), *found])
    return bool(len(lines) and int(np.ptp(lines)) * 128 <= _NEAR)


def _atomic_instructions(work: Work) -> NDArray[np.int64]:
    """Return the numbers of the atomics in global memory."""
    each = enumerate(work.instructions)
    return np.array([n for n, one in each if one.opcode.split(".")[0] in ATOMICS], np.int64)


def _several(work: Work) -> Sequence[BlockTrace]:
    """Return blocks that ran: where the SM has but one, those beside it that ran as probes, too."""
    if len(work.traces) > 1:
        return work.traces
    return [*{trace.block: trace for trace in (*work.probes, *work.traces)}.values()]


def _hot(work: Work, machine: Mapping[str, float]) -> float:
    """Return the cycles for which the L2 changes the kilobyte that most atomics meet in.

    They are the grid's, per sector that the atomics of a block change.

    One part of the L2 does all of a kilobyte, one sector after the other, and lanes that share a
    word one by one (gpu_check/data/h100_atomics.csv). Blocks that were traced stand for the grid
    where at least two of them meet, or where there is one block.
    """
    chosen, ran = _atomic_instructions(work), _several(work)
    if not len(chosen):
        return 0.0
    sums: dict[int, float] = {}
    seen: dict[int, int] = {}
    for trace in ran:
        found = _atomics(trace, chosen, machine)
        for place, cycles in found.items():
            sums[place] = sums.get(place, 0.0) + cycles
            seen[place] = seen.get(place, 0) + 1
    fewest = min(work.blocks, 2)
    shared = [cycles for place, cycles in sums.items() if seen[place] >= fewest]
    sectors = sum(each.summed("sectors", len(work.instructions), is_shared=False)[chosen].sum()
                  for each in ran)  # fmt: skip
    hottest = max(shared, default=0.0) / max(int(sectors), 1) * work.blocks
    # Blocks that ran may lie in few columns of the grid: the others change other words.
    known = footprint((), ran, work.grid, chosen.tolist()).written
    grid = footprint(work.probes, work.traces, work.grid, chosen.tolist()).written
    return float(hottest * known / max(grid, 1))


def _reduced(work: Work, machine: Mapping[str, float]) -> float:
    """Return the cycles for which the L2 adds to the kilobyte that most bulk copies meet in."""
    found: dict[int, float] = {}
    for trace in work.traces:
        for number, sectors in trace.copied.items():
            if work.instructions[number].opcode.split(".")[0] in REDUCTIONS:
                places, counts = np.unique(sectors // 32, return_counts=True)
                for place, count in zip(places.tolist(), counts.tolist(), strict=True):
                    found[place] = found.get(place, 0.0) + count
    most = max(found.values(), default=0.0) / len(work.traces) * work.blocks
    return most * machine["atom_sector"]


def _atomics(
    trace: BlockTrace, chosen: NDArray[np.int64], machine: Mapping[str, float]
) -> dict[int, float]:
    """Return what a block's atomics take, by the kilobyte that they change."""
    rows, which = trace.rows, trace.global_rows()
    mine = np.isin(rows.number[which], chosen)
    which, base = which[mine], trace.base[mine]
    pairs, times = np.unique(np.stack([which, base], axis=1), axis=0, return_counts=True)
    found: dict[int, float] = {}
    for (row, first), count in zip(pairs.tolist(), times.tolist(), strict=True):
        begin, end = rows.line_begin[row], rows.line_begin[row + 1]
        sectors = np.bitwise_count(rows.mask[begin:end])
        lanes = rows.bytes[row] / 4
        crowd = lanes / max(int(sectors.sum()), 1)
        each = crowd * machine["atom_word"] if crowd > _WORDS else machine["atom_sector"]
        places, where = np.unique((first + rows.line[begin:end]) // 8, return_inverse=True)
        of_place = np.bincount(where, weights=sectors)
        for place, some in zip(places.tolist(), of_place.tolist(), strict=True):
            cycles = max(machine["atom_word"], some * each) * count
            found[place] = found.get(place, 0.0) + cycles
    return found


def _shared_rows(
    work: Work, machine: Mapping[str, float]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each row its cycles of the data pipe, and those until its end beside a latency.

    The latter is more where an address is generic, and where it is in a neighbour's memory.
    """
    rows = work.traces[0].rows
    names = [each.opcode.split(".")[0] for each in work.instructions]
    kinds = np.array([_ways(name) for name in names], np.int64)[rows.number]
    away = np.zeros_like(rows.cycles) if rows.away is None else rows.away
    shares = np.array([machine["neighbour_loads"], machine["neighbour_atoms"], 1.0])
    way = np.ceil(away * shares[kinds] / 10).astype(np.int64)
    there = np.array([machine["neighbour_load"], machine["neighbour_atom"], 0.0])[kinds]
    here = machine["generic_latency"] * (kinds < _ways("LDS"))
    waits = np.where(away > 0, there + way, here).astype(np.int64)
    return rows.cycles + way, np.where(rows.is_shared, waits, 0)


def _ways(name: str) -> int:
    """Return a number of what asks shared memory by a generic address: loads, atomics, others.

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
    columns = (
        rows.number, rows.is_shared.astype(np.int64),
        cycles, rows.floor + cycles - rows.cycles,
        np.where(rows.is_shared, rows.sectors, rows.line_begin[:-1]),
        np.where(rows.is_shared, waits, rows.line_begin[1:]),
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
        "lines": np.stack([rows.line, rows.mask | rows.parts << PARTS], axis=1),
        "warps": np.concatenate(begins),
        "did": np.concatenate([each.step for each in traces]),
        "bases": np.concatenate([each.base for each in traces]),
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
    state = new_state(l1_bytes(work.shared_bytes, work.resident))
    code = code_arrays(work.instructions, rates_of(chip))
    trace = flat(work, state, code, resident, machine)
    stalls = np.zeros((len(code), len(Stall)), dtype=np.int64)
    numbers = np.array([machine[name] for name in NUMBERS], dtype=np.float64)
    lines = -(-len(code) // CODE_LINE)
    sizes = np.array([work.warps, resident, len(work.traces), lines, len(plan)], dtype=np.int64)
    cycles = simulate(code, trace, state[0], numbers, stalls, plan, sizes, without)
    counts = dict(zip(COUNTS, state["counts"][0].tolist(), strict=True))
    ends = state["end"][0, : len(plan)].copy()
    time, done = (state["last_begun"][0] - state["full"][0]).tolist()
    per_block = time * counts["instructions"] / len(plan) / done if done > 0 else 0.0
    return SmRun(int(cycles), stalls, counts, ends, per_block)
