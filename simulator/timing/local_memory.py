"""What local memory costs: lanes' words lie side by side, so an index that differs is dear.

A word of a warp's 32 threads is a line of L1. Where all lanes have the same index, as registers
that are spilled do, they access that line. Where an array is indexed, replay does not say what the
lanes' indices were: they are taken to lie anywhere in the frame, each by itself. L1 holds what is
stored and passes it on, so every store goes to the L2: each sector as a request of its own, where
lanes differ (gpu_check/data/h100_local_memory.csv).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from simulator.timing.work import Work, WorkInstruction

__all__ = ["frame_words", "is_indexed", "local_sectors", "missed_share"]

_ON_STACK = re.compile(r"\[R1(\+-?0x[0-9a-f]+)?\]").search
"""Registers that are spilled lie at fixed places behind the stack's pointer."""
_FRAME = re.compile(r"R1,R1,(-?0x[0-9a-f]+)").match
_OF_LANES = 8
"""Lanes whose words of four bytes share a sector."""


def is_indexed(instruction: WorkInstruction) -> bool:
    """Whether an instruction accesses an array in local memory by an index.

    >>> from simulator.timing.control import control
    >>> [is_indexed(WorkInstruction(0, "", "LDL", text, control(0))) for text in ("R0,[R1+0x4]",
    ...                                                                         "R0,[R5]")]
    [False, True]
    """
    is_local = instruction.opcode.split(".")[0] in ("LDL", "STL")
    return is_local and not _ON_STACK(instruction.operands)


def frame_words(instructions: Sequence[WorkInstruction]) -> int:
    """Return the words of a thread's frame, as the kernel takes them from the stack; 0: none."""
    for each in instructions:
        found = _FRAME(each.operands.replace(" ", ""))
        if found and each.opcode.split(".")[0] in ("IADD3", "VIADD", "IADD"):
            size = int(found[1], 16)
            return (-size if size < 0 else (1 << 32) - size) // 4
    return 0


def local_sectors(instruction: WorkInstruction, words: int) -> int:
    """Return the sectors of 32 bytes that a warp accesses; 0: the instruction does not.

    >>> from simulator.timing.control import control
    >>> def given(opcode, place):
    ...     return WorkInstruction(0, "", opcode, f"R0,{place}", control(0))
    >>> local_sectors(given("LDL.128", "[R1]"), 32), local_sectors(given("LDL", "[R5]"), 32)
    (16, 29)
    """
    name, *modifiers = instruction.opcode.split(".")
    if name not in ("LDL", "STL"):
        return 0
    each = 4 if "128" in modifiers else 2 if "64" in modifiers else 1
    if not is_indexed(instruction) or words <= each:
        return 4 * each
    rows = words / each  # places where a lane's words may lie
    return round(4 * each * rows * (1 - (1 - 1 / rows) ** _OF_LANES))


def missed_share(work: Work, l1_bytes: int) -> float:
    """Return the share of what is loaded from local memory that L1 does not hold."""
    words = frame_words(work.instructions)
    size = words * 128 * work.warps * work.resident
    return max(0.0, 1 - l1_bytes / size) if size else 0.0
