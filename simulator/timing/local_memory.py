"""What local memory costs: lanes' words lie side by side, so an index that differs is dear.

A word of a warp's 32 threads is a line of L1. Where all lanes have the same index, as registers
that are spilled do, they access that line. Where they have several, replay says how many lines and
sectors they access; an access that is turned off has none. L1 holds what is stored and passes it
on, so every store goes to the L2: each line as a request, which takes the time of a sector more
where its sectors are not whole (gpu_check/data/h100_local_memory.csv).

Each warp that is resident has a place of its own, where the next one comes that takes its slot. So
what L1 holds of it, and what the L2 does, follows from the bytes of the threads that are there at a
time: it was measured by sweeps over arrays (gpu_check/data/h100_local_sweeps.csv).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.law.chips import Chip
from simulator.timing.machine import l1_bytes
from simulator.timing.rates import between, table
from simulator.timing.work import Work, WorkInstruction

__all__ = [
    "frame_words", "local_sectors", "local_shares", "parted", "touched_words", "words_of",
]  # fmt: skip

_FRAME = re.compile(r"R1,R1,(-?0x[0-9a-f]+)").match


def frame_words(instructions: Sequence[WorkInstruction]) -> int:
    """Return the words of a thread's frame, as the kernel takes them from the stack; 0: none."""
    for each in instructions:
        found = _FRAME(each.operands.replace(" ", ""))
        if found and each.name in ("IADD3", "VIADD", "IADD"):
            size = int(found[1], 16)
            return (-size if size < 0 else (1 << 32) - size) // 4
    return 0


def touched_words(work: Work) -> int:
    """Return how many words of a thread's frame blocks touch, of those that ran; 0: not known.

    An array is as large as the largest that it may hold, and often little of it is used. What lies
    between the words that lanes access at a time is taken to be used, too.
    """
    wide = {
        number: local_sectors(each) // 4
        for number, each in enumerate(work.instructions) if local_sectors(each)
    }  # fmt: skip
    found = set[int]()
    rows = work.traces[0].rows  # of all traces
    if rows.table is None:
        return 0
    for number, words in zip(rows.number.tolist(), rows.table.tolist(), strict=True):
        if number in wide:
            if not words:
                return 0
            found.update(range(words & 4095, (words >> 12) + wide[number]))
    return len(found)


def parted(noted: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sectors that accesses touch, and how they lie, of what replay noted of them.

    How they lie: in how many lines, and 64 where lanes fill the sectors.
    """
    return noted & 63, noted >> 6


def local_sectors(instruction: WorkInstruction) -> int:
    """Return the sectors that a warp accesses whose lanes have one index; 0: it accesses none.

    >>> from simulator.timing.control import control
    >>> def given(opcode):
    ...     return WorkInstruction(0, "", opcode, "R0,[R1]", control(0))
    >>> local_sectors(given("LDL.128")), local_sectors(given("STL")), local_sectors(given("LDG"))
    (16, 4, 0)
    """
    name, *modifiers = instruction.opcode.split(".")
    if name not in ("LDL", "STL"):
        return 0
    return 4 * words_of(modifiers)


def words_of(modifiers: Collection[str]) -> int:
    """Return the words of 4 bytes that a lane loads or stores; a part of one is one.

    >>> words_of(["128"]), words_of(["U8"])
    (4, 1)
    """
    return 4 if "128" in modifiers else 2 if "64" in modifiers else 1


def local_shares(work: Work, chip: Chip, sms: int) -> dict[str, float]:
    """Return shares of what is accessed of local memory, by the names of the machine's numbers.

    `local_missed`: of what is loaded, what L1 does not hold. `local_far`: of that, what DRAM has.
    `local_stored`: of what is stored, what goes on to DRAM. `local_last`: the time that stores of
    the slowest SM take beside the mean one's, where all begin at once. By straight lines between
    what was measured: how large it is, how often it is passed over, and which share is written.
    Beside them the bytes that DRAM moves so for the grid: `far_read` and `far_written`.
    """
    names = ("local_missed", "local_far", "local_stored", "far_read", "far_written")
    found = dict.fromkeys(names, 0.0) | {"local_last": 1.0}
    words = frame_words(work.instructions)
    words = min(words, touched_words(work) or words)
    loaded, stored = (
        sum(
            float(times) * local_sectors(each) / 4
            for each, times in zip(work.instructions, work.executed, strict=True)
            if each.opcode.startswith(name)
        ) for name in ("LDL", "STL")
    )  # fmt: skip
    if not words or not loaded + stored:
        return found
    used = min(sms, work.blocks)
    resident = min(work.resident, -(-work.blocks // used))
    size = 128.0 * words * work.warps * resident
    passes = loaded / (words * work.warps)
    near = l1_bytes(work.shared_bytes, work.resident, work.warps)
    held = between(table("local_near"), "passes", passes, "size", size / near)
    found["local_missed"] = 1 - held["held"]
    rows = table("local_last")
    sizes, lasts = ([float(row[name]) for row in rows] for name in ("size", "last"))
    found["local_last"] = float(np.interp(size / near, sizes, lasts))
    if chip.l2_bytes:
        written = stored / (loaded + stored)
        far = between(table("local_far"), "written", written, "share", size * used / chip.l2_bytes)
        found["local_far"], found["local_stored"] = far["lost"], far["stored"]
        found["far_read"] = 128 * loaded * work.blocks * found["local_missed"] * far["lost"]
        found["far_written"] = 128 * stored * work.blocks * far["stored"]
    return found
