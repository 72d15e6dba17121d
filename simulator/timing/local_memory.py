"""What local memory costs: lanes' words lie side by side, so an index that differs is dear.

A word of a warp's 32 threads is a line of L1. Where all lanes have the same index, as registers
that are spilled do, they access that line. Where they have several, replay says how many sectors
they access; an access that is turned off has none. L1 holds what is stored and passes it on, so
every store goes to the L2: each sector as a request of its own, where lanes differ
(gpu_check/data/h100_local_memory.csv).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from simulator.timing.work import Work, WorkInstruction

__all__ = ["frame_words", "local_sectors", "missed_share"]

_FRAME = re.compile(r"R1,R1,(-?0x[0-9a-f]+)").match


def frame_words(instructions: Sequence[WorkInstruction]) -> int:
    """Return the words of a thread's frame, as the kernel takes them from the stack; 0: none."""
    for each in instructions:
        found = _FRAME(each.operands.replace(" ", ""))
        if found and each.opcode.split(".")[0] in ("IADD3", "VIADD", "IADD"):
            size = int(found[1], 16)
            return (-size if size < 0 else (1 << 32) - size) // 4
    return 0


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
    return 4 * (4 if "128" in modifiers else 2 if "64" in modifiers else 1)


def missed_share(work: Work, l1_bytes: int) -> float:
    """Return the share of what is loaded from local memory that L1 does not hold."""
    words = frame_words(work.instructions)
    size = words * 128 * work.warps * work.resident
    return max(0.0, 1 - l1_bytes / size) if size else 0.0
