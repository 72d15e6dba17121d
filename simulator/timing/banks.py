"""Compiled: the banks of registers from which an instruction's operands are read."""

from __future__ import annotations

from typing import Any

from simulator.jit import jit
from simulator.timing.state import OF_DOUBLES, SLOTS

__all__ = ["read_operands", "write_back"]

_WINDOW = 3
"""Cycles in which an instruction reads its operands."""


@jit()
def read_operands(code: Any, state: Any, partition: int, warp: int, number: int, now: int) -> int:
    """Read an instruction's operands; the cycles for which that holds up the next dispatch.

    Registers of even and odd numbers lie in two banks, which read one operand per cycle each. What
    a warp keeps in the reuse cache is not read. An instruction has three cycles for its reads.

    Doubles have a reuse cache of their own: 32-bit instructions between them do not clear it, nor
    they theirs (gpu_check/data/h100_doubles.csv, beside). What reads three doubles lets nothing
    else be dispatched for a cycle (h100_dispatch.csv, DFMA).
    """
    delay = doubles = 0
    is_double = code[number].is_double
    for slot in range(SLOTS):
        register = code[number].source[slot]
        if register < 0:
            continue
        bank, wide = register & 1, code[number].wide[slot]
        key = warp * 256 + register
        place = OF_DOUBLES if is_double else bank
        is_kept = state.kept[partition, slot, place] == key
        state.kept[partition, slot, place] = key if code[number].reuse >> slot & 1 else -1
        if is_kept and (wide == 1 or is_double):
            continue
        doubles += is_double
        if wide == 1:
            state.bank[partition, bank] = max(state.bank[partition, bank], now) + 1
        else:
            for each in range(2):
                state.bank[partition, each] = max(state.bank[partition, each], now) + wide // 2
    if doubles == SLOTS:
        delay = 1
    for bank in range(2):
        delay = max(delay, state.bank[partition, bank] - now - _WINDOW)
    return delay


@jit()
def write_back(code: Any, state: Any, warp: int, number: int, now: int) -> None:
    """Let what an instruction brings be written where operands are read."""
    partition = state.partition[warp]
    for bank in range(2):
        if code[number].written[bank]:
            free = max(state.bank[partition, bank], now)
            state.bank[partition, bank] = free + code[number].written[bank]
