"""Compiled: one SM, cycle by cycle, where something happens.

Four schedulers issue an instruction per cycle each. A warp may issue when the stall count of its
last instruction is over and the scoreboards are free that the next one waits for: the compiler
wrote both into the code.
"""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.banks import read_operands
from simulator.timing.barriers import arrive, open_barrier
from simulator.timing.branches import resolve
from simulator.timing.choosing import choose, enter, pipe_of
from simulator.timing.data_pipe import fence_off
from simulator.timing.dispatch import dispatch
from simulator.timing.events import expect, next_event
from simulator.timing.factors import dispatched, gap_wait, hold_up
from simulator.timing.fetching import fetch
from simulator.timing.machine import NUMBERS
from simulator.timing.queues import enqueue
from simulator.timing.scoreboards import evaluate
from simulator.timing.state import CODE_LINE, GLOBALS, GROUPS, NEVER, PRODUCTS, Kind, Stall
from simulator.timing.ways import OF_ATOMICS, OF_STORES, until

__all__ = ["simulate"]

_LAUNCH_INTERVAL = NUMBERS.index("launch_interval")
_LAUNCH_LATENCY = NUMBERS.index("launch_latency")
_LAUNCH_WARP, _WARP_BEGINS = NUMBERS.index("launch_warp"), NUMBERS.index("warp_begins")
_FENCE = NUMBERS.index("fence")
_FENCE_GPU, _FENCE_SYS = NUMBERS.index("fence_gpu"), NUMBERS.index("fence_sys")
_FENCE_INTERVAL, _FENCE_MORE = NUMBERS.index("fence_interval"), NUMBERS.index("fence_more")
_HELD, _BESIDE = NUMBERS.index("code_held"), NUMBERS.index("beside_product")

_QUEUED, _SHARED, _PHASE = int(Kind.QUEUED), int(Kind.SHARED), int(Kind.PHASE)
_AT_PHASE, _TILE, _PRODUCT = int(Kind.AT_PHASE), int(Kind.TILE), int(Kind.PRODUCT)
_BARRIER, _ARRIVE, _FENCE_KIND = int(Kind.BARRIER), int(Kind.ARRIVE), int(Kind.FENCE)
_SELECTED, _WAIT, _LONG = int(Stall.SELECTED), int(Stall.WAIT), int(Stall.LONG_SCOREBOARD)
_AT_BARRIER, _COPIES_WAIT = int(Stall.BARRIER), int(Kind.COPIES_WAIT)
_PRODUCTS_WAIT = int(Kind.PRODUCTS_WAIT)
_RESOLVING = int(Stall.BRANCH_RESOLVING)
_MATH, _SHORT = int(Stall.MATH_PIPE_THROTTLE), int(Stall.SHORT_SCOREBOARD)
_DISPATCH, _NOT_SELECTED = int(Stall.DISPATCH_STALL), int(Stall.NOT_SELECTED)


@jit()
def simulate(
    code: Any, trace: Any, state: Any, machine: Any, stalls: Any, plan: Any, sizes: Any,
    without: bool,
) -> int:  # fmt: skip
    """Run blocks on one SM, and return the cycle in which the last one ends.

    `plan`: the blocks' numbers among the traces, in order; `sizes`: warps of a block, blocks that
    the SM holds, blocks that were traced, lines of machine code; `without`: every access to shared
    memory at its floor.
    """
    warps, resident = sizes[0], sizes[1]
    is_long = sizes[3] > machine[_HELD]
    state.warps_of_block = warps
    given = ended = now = int(state.counts[0])  # 0: a literal would compile all below twice
    while ended < plan.shape[0]:
        least = NEVER
        for slot in range(resident):
            if state.block[slot] < 0 and given < plan.shape[0]:
                at = max(state.free_at[slot], state.launched)
                if at <= now:
                    _launch(code, trace, state, machine, slot, given, plan[given], sizes, now)
                    more = machine[_LAUNCH_WARP] * warps
                    state.launched = now + machine[_LAUNCH_INTERVAL] + more
                    given += 1
                    if given == resident:
                        state.full[0], state.full[1] = now, state.counts[1]
                    if given == plan.shape[0]:
                        state.last_begun[0], state.last_begun[1] = now, state.counts[1]
                elif at < least:
                    least = at
        least = min(least, dispatch(code, trace, state, machine, without, now))
        for partition in range(4):
            if state.sleep[partition] <= now:
                warp = choose(code, trace, state, machine, partition, now)
                if warp >= 0:
                    block = _issue(
                        code, trace, state, machine, stalls, partition, warp, is_long, now
                    )
                    if block >= 0:
                        ended += 1
                        state.free_at[block] = now + int(machine[_LAUNCH_LATENCY])
                        least = now + 1
            if state.sleep[partition] < least:
                least = state.sleep[partition]
        now = max(now + 1, least) if least < NEVER else _stuck(state, now)
        if now >= NEVER:
            return -1
    # Stores and atomics may be on their way.
    now = max(now, int(state.stored), int(state.free[OF_ATOMICS]))
    state.counts[0] = now
    return int(now)


@jit()
def _stuck(state: Any, now: int) -> int:
    """Return the next cycle where nothing is known to happen: a queue may hold something."""
    for queue in range(8):
        if state.size[queue]:
            return now + 1
    return NEVER


@jit()
def _launch(
    code: Any, trace: Any, state: Any, machine: Any, slot: int, place: int, block: int, sizes: Any,
    now: int,
) -> None:  # fmt: skip
    """Begin a block in a slot, one warp after the other."""
    warps, blocks = sizes[0], sizes[2]
    state.begin[place] = now
    state.block[slot] = place
    state.alive[slot] = warps
    state.arrived[slot, :] = 0
    # A block that stands for several has memory of its own each time: L1 must not know it.
    apart = place // blocks << 32
    expect(trace, state, slot, block)
    for each in range(warps):
        warp = slot * warps + each
        which = block * warps + each
        partition = (state.begins_at + each) & 3
        state.partition[warp] = partition
        state.trace[warp] = which
        state.at_step[warp] = trace[state.warps + 3 * which]
        state.at_base[warp] = trace[state.warps + 3 * which + 1]
        state.at_event[warp] = trace[state.warps + 3 * which + 2]
        state.phase[warp] = -1
        state.products[warp] = 0
        state.product_end[warp] = 0
        step = state.steps + 4 * trace[state.did + state.at_step[warp]]
        state.at[warp] = 0
        state.at_row[warp] = trace[step + 2]
        state.apart[warp] = apart
        state.instruction[warp] = trace[step]
        begin = now + int(each * machine[_WARP_BEGINS])
        state.issued[warp] = begin
        state.ready[warp] = begin + 1
        state.turn[warp] = -now
        state.fetched[warp] = 0
        state.table_given[warp] = -1
        state.fenced[warp] = 0
        state.stores[warp] = 0
        state.asked[warp] = 0
        state.drained[warp] = 0
        state.served[warp] = 0
        state.since[warp] = -1
        state.resolving[warp] = state.delayed[warp] = state.issues[warp] = 0
        state.throttle[warp] = 0
        state.pending[warp, :] = 0
        state.time[warp, :] = 0
        state.copies[warp] = 0
        state.groups[warp] = 0
        state.group_time[warp, :] = 0
        state.arrived_at[warp] = -1
        state.opens[warp] = 0
        enter(state, partition, warp)
        evaluate(code, state, warp)
        state.sleep[partition] = min(state.sleep[partition], now + 1)
    # Where the warps fill all sub-partitions alike, the next block still begins one further on.
    state.begins_at = (state.begins_at + (warps & 3 or 1)) & 3


@jit()
def _issue(
    code: Any, trace: Any, state: Any, machine: Any, stalls: Any, partition: int, warp: int,
    is_long: bool, now: int,
) -> int:  # fmt: skip
    """Issue a warp's next instruction; the slot of the block that ends with it, else -1."""
    number = state.instruction[warp]
    kind = code[number].kind
    state.counts[1] += 1
    _account(code, state, stalls, partition, warp, number, now)
    state.issued[warp] = now
    state.table_given[warp] = -1
    late, hold = read_operands(code, state, partition, warp, number, now)
    if code[number].twice:
        state.second[partition] = now + late + 2
    elif state.second[partition] == now + late:
        late += 1
    accumulates = state.accumulated[partition] > now  # products keep the registers' ports busy
    if accumulates:
        if late:
            state.accumulated_rest[partition] += machine[_BESIDE]
            late += int(state.accumulated_rest[partition])
            state.accumulated_rest[partition] %= 1
        late += gap_wait(code, state, machine, partition, number, now)
    late, parts = dispatched(code, state, machine, warp, number, late, now)
    if parts:
        hold_up(state, partition, warp, late + parts, now)
    conflict = late + max(hold, code[number].port)
    state.sleep[partition] = now + 1 + conflict
    state.port[partition] = now + 1 + conflict
    state.held_up[partition] = conflict
    last = state.last[partition]
    pause = max(code[number].stall, 1) + parts
    if last < 0 or last == warp or state.pause[partition] <= now:  # else this one fills its pause
        state.last[partition] = -1 if code[number].yields else warp
        state.pause[partition] = now + pause
    state.turn[warp] = now if code[number].yields else -now

    # What it accesses: rows of this instruction, some of them in global memory.
    step = state.steps + 4 * trace[state.did + state.at_step[warp]]
    row, bases = state.at_row[warp], 0
    while row < trace[step + 3] and trace[state.accesses + 6 * row] == number:
        bases += 1 - trace[state.accesses + 6 * row + 1]
        row += 1
    rows = row - state.at_row[warp]

    if kind in (_QUEUED, _SHARED):
        queue = partition + 4 * code[number].aside
        enqueue(code, state, queue, warp, number, rows, -1)
    elif kind in (_PHASE, _AT_PHASE, _TILE):
        event = next_event(trace, state, warp, number)
        enqueue(code, state, partition, warp, number, rows, event)
    elif kind in GLOBALS:
        enqueue(code, state, partition, warp, number, rows, -1)
    elif kind == _PRODUCT:
        _multiply(code, state, partition, warp, number, now)
    else:
        pipe, begin = pipe_of(code, state, partition, number)
        if pipe >= 0:  # a fraction of a cycle is kept
            held = code[number].held + late
            if accumulates and code[number].source.max() >= 0:
                held += machine[_BESIDE]
            if code[number].is_double:  # until its operands are read
                held = max(held, state.behind[partition, 0], state.behind[partition, 1])
            state.pipe[partition, pipe] = held + (begin if begin > now - 1 else now)
            if code[number].joint:
                state.pipe[partition, code[number].other] = state.pipe[partition, pipe]
            if code[number].is_fma:
                state.last_pipe[partition] = pipe
        for sb in (code[number].write, code[number].read):
            if sb >= 0:
                done = now + late + code[number].latency
                state.time[warp, sb] = max(state.time[warp, sb], done)
                state.source[warp, sb] = _SHORT

    state.at_row[warp] += rows
    state.at_base[warp] += bases
    state.ready[warp] = now + late + pause
    if kind == _FENCE_KIND:
        _fence(state, machine, partition, warp, code[number].number, now)

    # Go on to the next instruction of the trace.
    state.at[warp] += 1
    if state.at[warp] == trace[step + 1]:
        state.at_step[warp] += 1
        if state.at_step[warp] == trace[state.warps + 3 * state.trace[warp] + 3]:
            return int(_end(code, state, machine, partition, warp, state.warps_of_block, now))
        to = state.steps + 4 * trace[state.did + state.at_step[warp]]
        state.at[warp] = 0
        state.at_row[warp] = trace[to + 2]
        state.instruction[warp] = trace[to]
    else:
        state.instruction[warp] = number + 1
    after = state.instruction[warp]
    resolve(code, state, machine, warp, number, now)
    if is_long and (after != number + 1 or after % CODE_LINE == 0):
        state.fetched[warp] = fetch(state, machine, partition, after // CODE_LINE, now)
    # A barrier has a row where it is turned off, and where registers say which it is.
    name = trace[state.accesses + 6 * (row - 1) + 4] if rows else 0
    arrives = kind in (_BARRIER, _ARRIVE) and (rows == 0 or name)
    if arrives:
        arrive(code, state, machine, name, warp, number, state.warps_of_block, now)
    evaluate(code, state, warp)
    return -1


@jit()
def _fence(state: Any, machine: Any, partition: int, warp: int, scope: int, now: int) -> None:
    """Let a warp wait until its stores are seen: by its block (0), the chip (1), the system (2)."""
    fence_off(state)
    if scope == 0:
        state.fenced[warp] = now + int(machine[_FENCE])
        return
    begin = max(now, state.loaded, int(until(state, OF_STORES)), int(state.fence_free))
    state.fence_free = begin + machine[_FENCE_INTERVAL]
    done = begin + int(machine[_FENCE_GPU if scope == 1 else _FENCE_SYS])
    if state.fence_last[partition] > now:  # another warp's is on its way
        done += int(machine[_FENCE_MORE])
    state.fenced[warp] = state.fence_last[partition] = done


@jit()
def _multiply(code: Any, state: Any, partition: int, warp: int, number: int, now: int) -> None:
    """Let the tensor cores begin a warp's share of a warpgroup's product when they are free."""
    pipe = code[number].pipe
    begin = max(state.pipe[partition, pipe], float(now))
    end = begin + code[number].held
    state.pipe[partition, pipe] = end
    state.begins[partition, state.multiplied[partition] % PRODUCTS] = begin
    state.multiplied[partition] += 1
    state.multiplies[partition] = pipe
    if code[number].accumulates:
        state.accumulated[partition] = int(end)
    before = state.operand_rate if state.operands > now else 0.0
    state.operands = max(state.operands, end)
    state.operand_rate = max(before, code[number].reads)
    done = int(end) + code[number].latency
    state.product_end[warp] = max(state.product_end[warp], done)
    if code[number].number:
        state.product_time[warp, state.products[warp] % GROUPS] = state.product_end[warp]
        state.products[warp] += 1


@jit()
def _account(
    code: Any, state: Any, stalls: Any, partition: int, warp: int, number: int, now: int
) -> None:
    """Say for which reasons a warp waited since it issued last.

    As the profiler's samples say it, who waits for groups of copies waits before what is behind
    DEPBAR, and who waits for a cluster waits at its barrier.
    """
    stalls[number, _SELECTED] += 1
    at = number
    kind = code[number].kind
    if kind == _COPIES_WAIT and state.why[warp] == _LONG and not code[number].waits:
        at = min(number + 1, len(stalls) - 1)
    elif number > 0 and state.why[warp] == _AT_BARRIER and kind != _PRODUCTS_WAIT:
        before = code[number - 1]
        at = number - int(before.kind == _BARRIER and not before.defers)
    begin = state.issued[warp] + 1
    ready = max(state.ready[warp], begin)
    resolving = min(state.resolving[warp], ready - begin)  # beyond the branch's stall count
    state.resolving[warp] = 0
    stalls[number, _RESOLVING] += resolving
    delayed = min(state.delayed[warp], ready - begin - resolving)
    stalls[number, _DISPATCH] += delayed
    stalls[number, _WAIT] += ready - begin - resolving - delayed
    free = state.next[warp]
    since = state.since[warp]
    if since >= 0:
        free = since  # `next` may have moved to when a pipe is free
    free = max(min(free, now), ready)
    if free > ready:
        stalls[at, state.why[warp]] += free - ready
    if since >= 0:
        waited = now - free
        if state.throttle[warp] == _MATH:
            # In the cycle in which the pipe takes another warp's, this one might have been chosen.
            others = int(waited / max(code[number].held, 1.0))
            stalls[number, _NOT_SELECTED] += others
            waited -= others
        stalls[number, state.throttle[warp]] += waited
        state.since[warp] = -1
    else:
        port = state.port[partition]
        held_up = max(0, min(now, port) - max(free, port - state.held_up[partition]))
        stalls[number, _DISPATCH] += held_up
        stalls[number, _NOT_SELECTED] += now - free - held_up


@jit()
def _end(
    code: Any, state: Any, machine: Any, partition: int, warp: int, warps: int, now: int
) -> int:
    """End a warp; the slot of the block that ends with it, else -1."""
    slot = warp // warps
    state.trace[warp] = -1
    state.next[warp] = NEVER
    if state.last[partition] == warp:
        state.last[partition] = -1
    count = state.count[partition]
    place = 0
    while state.order[partition, place] != warp:
        place += 1
    for each in range(place, count - 1):
        state.order[partition, each] = state.order[partition, each + 1]
    state.count[partition] = count - 1
    state.alive[slot] -= 1
    if state.alive[slot]:
        for barrier in range(state.arrived.shape[1]):
            if state.arrived[slot, barrier] >= state.alive[slot]:
                open_barrier(code, state, machine, slot, barrier, warps)
        return -1
    state.end[state.block[slot]] = now + 1
    state.block[slot] = -1
    return int(slot)
