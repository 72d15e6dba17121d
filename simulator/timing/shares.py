"""What one SM gets of the L2 and of DRAM while the others work, too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from simulator.law.chips import Chip
from simulator.timing.atomics import hot_cycles, hot_stores, near_share
from simulator.timing.draws import Draws, drawn
from simulator.timing.local_memory import local_shares
from simulator.timing.machine import l1_bytes
from simulator.timing.residency import Residency, residency, shared_residency
from simulator.timing.scattered import Scattered, scattered
from simulator.timing.sharing import (
    in_common,
    kept_twice,
    l2_rate,
    rate_apart,
    read_together,
    readers,
)
from simulator.timing.traces import SECTOR
from simulator.timing.work import Work

__all__ = ["Held", "held_of", "numbers_of", "sms_of", "taking_turns"]

_PAIR = 2
"""Blocks of a cluster that every SM can hold one of."""
_IN_STEP = 0.5
"""The part of the blocks that read the same which do so at about the same time. It is assumed."""
_ATOMS = ("atom_packet", "atom_asked", "atom_more", "atom_given")
"""Cycles of an SM that atomics take, all SMs at work."""


@dataclass(frozen=True)
class Held:
    """What the L2 holds of a grid's memory when a launch begins, and how fast it serves it."""

    l2_bytes: int
    """That the L2 holds, if it loses some of those; else 0."""
    kept: Residency
    loaded: float
    """Bytes that the grid reads, but for what it draws, each once."""
    share: float
    """Of the sectors that blocks load, each once, that DRAM brings where nothing is kept."""
    stored_share: float
    """Of those that blocks store, each once, that DRAM gets where nothing is kept."""
    part: float
    """Of what is touched that several blocks read."""
    sharers: float
    """So many, on average."""
    l2_rate: float
    """Bytes per cycle of an SM, all SMs at work."""
    together: float
    """The part of what a block reads that others read at about the same time."""
    written: float
    """The share that is written of what DRAM moves."""
    draws: Draws
    """What is read at random."""
    local: Mapping[str, float]
    """Shares of what is accessed of local memory: see `local_shares`."""
    fetched: float
    """Sectors that DRAM brings for one that is read once."""
    changed: float
    """Of what atomics change, the share that the L2 has lost."""
    scattered_stores: Scattered
    """What is stored all over memory that the L2 does not hold."""
    scattered_atomics: Scattered
    """What atomics change there."""
    hot_atomics: tuple[float, float]
    """Cycles of the grid's atomics where most meet, and their share: see `hot_cycles`."""
    hot_stores: float
    """Cycles of what the grid stores: see `hot_stores`."""


def held_of(work: Work, chip: Chip, machine: Mapping[str, float]) -> Held:
    """Return what the L2 holds when a launch begins that touches what it touched before."""
    sms = sms_of(work, chip, machine)
    several = -(-work.blocks // sms) > work.resident
    found = work.footprint
    size = float(found.reads + found.writes - found.both)
    was_there = found.reads - (found.read - found.first_read)  # not what the grid made
    written = found.writes / max(was_there + found.writes, 1)
    lines = size * found.spread  # the L2 keeps room for whole lines (h100_sparse.csv)
    kept = residency(lines, written, several, chip)
    # What is changed in place is to be stored as what is only written is (h100_in_place.csv).
    dirty = residency(lines, found.writes / max(size, 1.0), several, chip).stored
    kept = replace(kept, stored=dirty)
    part, sharers = kept_twice(work, found)
    part *= found.reads / max(size, 1.0)  # measured where nothing is written
    kept = shared_residency(kept, lines, part, sharers, several, chip)
    written_by = set(work.stores)
    loads = sum(len(trace.sectors_of(trace.touched.keys() - written_by)) for trace in work.traces)
    stores = sum(len(trace.sectors_of(written_by)) for trace in work.traces)
    # Each sector comes from DRAM once; what blocks share is there for those that come later.
    draws = drawn(work, found, loads, kept.lost, chip, machine)
    # What all share does not come from DRAM anew.
    first = work.traces[0]
    common = np.isin(first.sectors_of(first.touched.keys() - written_by), work.common).sum()
    each = SECTOR / max(len(work.traces), 1) * work.blocks
    loaded = max(found.reads - SECTOR * (draws.sectors + int(common)), 0)
    own = loads * (1 - draws.part) - len(work.traces) * int(common)
    streamed = each * max(own, 0.0)
    is_lost = kept != Residency()
    forgets = chip.l2_bytes or 0
    if lines < machine["kept_from"] * forgets:
        forgets = 0
    share = min(1.0, loaded / streamed) if streamed and is_lost else 0.0
    stored_share = min(1.0, found.writes / (each * stores)) if stores and is_lost else 0.0
    reach = int(machine["shared_reach"])
    several_read = readers(work, found) if work.probes else 1.0  # without them it is not known
    if math.prod(work.cluster) > 1:  # blocks of a cluster may read for each other
        together = 1 - 1 / several_read
        rate = min(machine["l2_shared"], machine["l2_rate"] * several_read)
    else:
        l1 = l1_bytes(work.shared_bytes, work.resident, work.warps)
        of_sm = max(1.0, min(work.blocks / sms, work.resident))
        together = read_together(work, reach, l1, of_sm)
        rate = l2_rate(machine["l2_rate"], machine["l2_shared"], together, reach)
        at_once = several_read * min(1.0, work.resident * sms / work.blocks) * _IN_STEP
        apart = rate_apart(machine["l2_rate"], machine["l2_shared"], min(at_once, sms), sms)
        rate = max(rate, apart)
    local = local_shares(work, chip, sms)
    stored = kept.stored * found.writes + local["far_written"]
    moved = kept.lost * found.reads + local["far_read"] + stored
    stored /= moved or 1
    begin, end = machine["changed_from"], machine["changed_to"]
    changed = float(np.interp(lines / (chip.l2_bytes or math.inf), (begin, end), (0, 1)))
    return Held(
        l2_bytes=forgets, kept=kept, loaded=loaded, share=share, stored_share=stored_share,
        part=part, sharers=sharers, l2_rate=rate, together=together, written=stored,
        draws=draws, local=local, fetched=found.fetched, changed=changed,
        scattered_stores=scattered(work, chip, machine, atomics=False),
        scattered_atomics=scattered(work, chip, machine, atomics=True),
        hot_atomics=hot_cycles(work, machine), hot_stores=hot_stores(work, machine),
    )  # fmt: skip


def sms_of(work: Work, chip: Chip, machine: Mapping[str, float]) -> int:
    """Return how many SMs a launch can use: clusters of more than two blocks leave some idle."""
    sms = chip.multiprocessors or 1
    return min(sms, int(machine["cluster_sms"])) if math.prod(work.cluster) > _PAIR else sms


def taking_turns(blocks: int, sms: int, alone: float) -> float:
    """Return how long those SMs take that have one block more, where all get alike.

    Beside the time that they took if all SMs had as many. `alone`: cycles of an SM alone, beside
    those of all SMs at work.

    >>> taking_turns(264, 132, 0.5), taking_turns(198, 132, 0.25), taking_turns(140, 132, 0.5)
    (1.0, 0.75, 0.75)
    """
    alone = min(alone, 1.0)  # a slow SM gets no more alone
    fewest, more = divmod(blocks, sms)
    if not fewest or not more:
        return more / sms if more else 1.0
    return (fewest + max(alone, more / sms)) / (fewest + 1)


def _hot_rate(work: Work, numbers: Mapping[str, float]) -> float:
    """Return bytes per cycle of an SM of lines that all blocks copy, with sectors twice.

    Each goes to one SM after the other: the fewer lines all of them want at a time, the slower.
    """
    own, crowd = numbers["l2_own"], numbers["crowd_sector"]
    if not crowd or not len(work.copied_in_common):
        return own
    at_once = max(work.copied_at_once, float(SECTOR))
    longer = math.pow(numbers["hot_bytes"] / at_once, numbers["hot_power"])
    few = SECTOR * len(work.copied_in_common) / crowd
    return min(own / (1 + longer * in_common(work)), few)


def numbers_of(work: Work, machine: Mapping[str, float], held: Held, sms: int) -> dict[str, float]:
    """Return the machine's numbers as one SM finds them."""
    blocks = -(-work.blocks // sms)
    is_one_wave = blocks <= work.resident
    # In one wave SMs that have fewer blocks leave the others more of the L2.
    busy = far_busy = fair = stored_fair = 1.0
    if is_one_wave:
        busy = work.blocks / (sms * blocks)
        fair = taking_turns(work.blocks, sms, machine["l2_rate"] / machine["l2_alone"])
        stored_fair = taking_turns(work.blocks, sms, machine["store_rate"] / machine["store_alone"])
        most_of = work.blocks / sms - (blocks - 1)  # the part of the SMs that have most
        slower = (1 - most_of) ** 2 * (fair - busy)
        far_busy = busy + machine["uneven_far"] * slower
        busy += machine["uneven"] * slower
    others = work.blocks / blocks if is_one_wave else float(sms)
    draws = held.draws
    once, at_random = (1 - draws.part) * held.kept.lost * held.share, draws.part * draws.missed
    from_dram = once + at_random
    # A pair of sectors at random takes longer than two sectors of a stream.
    more = max(0.0, machine["dram_pair"] * machine["dram_rate"] / (2 * SECTOR) - 1)
    drawn_time = at_random * draws.fetched * (1 + more * draws.alone)
    fetched = (once * held.fetched + drawn_time) / from_dram if from_dram else 1.0
    numbers = dict(machine) | {
        "course": 0.0,
        "dram_share": from_dram,
        "dram_fetched": fetched,
        "crossed": (1 - draws.part) * held.kept.crossed * held.share + draws.part * draws.crossed,
        "l2_rate": held.l2_rate,
        "atom_hot": held.hot_atomics[0] / blocks,
        "atom_power": machine["atom_power"] / max(1 - held.hot_atomics[1], 1e-3),
        "store_hot": held.hot_stores / blocks,
        # Sectors of one SM stand for those of all, beside what the L2 holds.
        "kept_sector": SECTOR * others / held.l2_bytes if held.l2_bytes else 0.0,
        "crowd_sector": machine["crowd_sector"] * others * in_common(work),
        **held.local,
    }
    # DRAM turns between reading and writing where it does both.
    mixed, written = machine["dram_mixed"], machine["dram_written"]
    numbers["dram_rate"] *= float(
        np.interp(held.written, (0, 1 / 3, 1 / 2, 1), (1, mixed, mixed, written))
    )
    # What atomics change is stored, and read before, if the L2 has lost it.
    for kind, moved, longer, lies in (
        ("stored", held.kept.stored, 1.0, held.scattered_stores),
        ("atom", held.kept.stored + held.changed, machine["dram_changed"], held.scattered_atomics),
    ):
        streams = moved * held.stored_share * (1 - lies.part)
        taken = streams * longer + lies.part * lies.cycles * numbers["dram_rate"] / SECTOR
        all_of = numbers[f"dram_{kind}"] = streams + lies.part
        numbers[f"dram_{kind}_taken"] = taken / all_of if all_of else 1.0
    numbers["dram_wait_written"] *= held.written
    slow = slow_far = last = 1.0
    if is_one_wave:  # no SM does the work of another: the slowest one is the last
        slow, slow_far = machine["slowest_sm"], machine["slowest_sm_far"]
        last = numbers["local_last"]
        # Of few SMs the slowest one is no farther than the mean one.
        numbers["l2_latency"] += machine["l2_farther"] * min(1.0, work.blocks / sms)
        more = at_random / from_dram if from_dram else 0.0
        # Of streams that are read; it is as much as ever for what is read at random, or stored.
        slow_far += (slow - slow_far) * max(more, held.written)
        if from_dram:
            wave = machine["dram_holds_wave"]
            numbers["dram_holds"] = wave + (machine["dram_holds"] - wave) * more
    numbers["local_last"] = max(1.0, last / slow)  # beside what it has of all stores
    # Of those that read a line, one asks DRAM for it (gpu_check/data/h100_found_again.csv).
    numbers["dram_holds"] *= 1 - held.part + held.part / held.sharers
    # An SM alone gets more of the L2 than its share when all are at work.
    most = max(machine["l2_alone"], machine["l2_shared"])
    numbers["l2_own"] = machine["l2_rate"]
    for name, limit, part in (
        ("l2_rate", most, busy * slow), ("dram_rate", most, far_busy * slow_far),
        ("l2_own", most, fair * slow), ("store_rate", machine["store_alone"], stored_fair * slow),
    ):  # fmt: skip
        numbers[name] = min(limit, numbers[name] / part)
    numbers["hot_rate"] = _hot_rate(work, numbers)
    apart = 1 - held.together
    tma_rate = 1 / (apart / machine["tma_own"] + held.together / machine["tma_shared"])
    if math.prod(work.cluster) > 1:  # how fast tiles come to several blocks was not measured
        tma_rate = held.l2_rate
    numbers["tma_l2_rate"] = min(machine["tma_rate"], tma_rate / busy)
    more = machine["request"] * busy - machine["request_alone"]  # for what no other SM asks
    numbers["tma_request"] = machine["request_alone"] + max(more, 0.0) * apart
    for name in (*_ATOMS, "request", "store_line", "store_request"):
        part = busy if name == "request" else stored_fair
        if name == "store_request":
            part *= slow
        numbers[name] = max(machine[f"{name}_alone"], machine[name] * part)
    near = near_share(work, machine, sms) * (machine["atom_near"] - 1)
    for name in _ATOMS:
        numbers[name] *= 1 + near
    asks = max(machine["constant_ask_alone"] / machine["constant_ask"], busy)
    for name in ("constant_ask", "constant_rest"):
        numbers[name] *= asks
    numbers["store_asked"] = min(machine["store_asked"], numbers["request"])
    for name in ("l2_wait", "dram_wait", "dram_wait_written"):  # measured with all SMs asking
        numbers[name] *= busy
    if math.prod(work.cluster) > 1:
        for name in ("launch_interval", "launch_warp"):
            numbers[name] = machine[f"{name}_cluster"]
    return numbers
