"""Products of 64 bits (IMAD.WIDE, IMAD.HI): they pass in two parts, and take no fresh factors.

What a warp issues behind one counts its stall count from the second part on, two cycles later. A
factor of 32 bits that another instruction has just made is read when it has reached its register:
seven cycles after that one was dispatched, where all others take it after four or five. What is
added may be as fresh as elsewhere (gpu_check/data/h100_wide_products.csv). Beside products of
warpgroups that add to 32 bits they wait (h200_products_traced.csv).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.jit import jit
from simulator.timing.machine import NUMBERS
from simulator.timing.operands import REGISTER, is_predicate, words_written, written_and_read
from simulator.timing.state import RECENT
from simulator.timing.work import WorkInstruction

__all__ = ["dispatched", "factors_made", "gap_wait", "given_operands", "hold_up", "in_parts"]

_SECOND, _FRESH = NUMBERS.index("second_part"), NUMBERS.index("fresh_factor")
_GAP_WAIT, _GAP = NUMBERS.index("gap_wait"), NUMBERS.index("gap")
_GAP_TAKEN = NUMBERS.index("gap_taken")
_BRANCHES = ("BRA", "BRX", "JMP", "CALL", "RET", "EXIT", "BSYNC")
"""Behind these another instruction may be the one before."""


def in_parts(instruction: WorkInstruction) -> bool:
    """Whether an instruction multiplies to 64 bits, or to the upper half of them."""
    return instruction.opcode.startswith(("IMAD.WIDE", "IMAD.HI"))


def given_operands(instruction: WorkInstruction) -> list[str]:
    """Return the operands that an instruction reads, but for predicates and the guard."""
    written, read = written_and_read(instruction)
    return [each for each in (read if written else read[1:]) if not is_predicate(each)]


def factors_made(instructions: Sequence[WorkInstruction], at: int) -> int:
    """Return how many instructions before one its factors are made, the last of them; 0: further.

    What has a scoreboard is waited for until its result is there.

    >>> from simulator.timing.control import control
    >>> def given(opcode, operands):
    ...     return WorkInstruction(0, "", opcode, operands, control((7 << 46 | 7 << 49) << 64))
    >>> code = [given("IADD3", "R2,R4,R5,RZ"), given("MOV", "R8,R9"),
    ...         given("IMAD.WIDE.U32", "R6,P0,R2,R3,R8")]
    >>> factors_made(code, 2), factors_made([*code, code[2]], 3), factors_made(code[1:], 1)
    (2, 3, 0)
    """
    if not in_parts(instructions[at]):
        return 0
    factors = given_operands(instructions[at])[:2]
    read = set(_registers(factors))
    for behind in range(1, min(at, RECENT - 1) + 1):
        other = instructions[at - behind]
        if other.name in _BRANCHES:
            return 0
        if other.control.write_barrier is not None:
            continue
        for first in _registers(written_and_read(other)[0]):
            if read & {*range(first, first + words_written(other))}:
                return behind
    return 0


def _registers(operands: Sequence[str]) -> list[int]:
    """Return the numbers of the registers among operands."""
    return [int(found[1]) for each in operands if (found := REGISTER.search(each))]


@jit()
def dispatched(
    code: Any, state: Any, machine: Any, warp: int, number: int, late: int, now: int
) -> tuple[int, int]:
    """Dispatch a warp's instruction; how much later that is, and how long its parts take beyond.

    `late`: how much later its operands are read than when it issues.
    """
    turn, parts = state.issues[warp], 0
    if code[number].parts:
        parts = int(machine[_SECOND])
        behind = code[number].factor
        if 0 < behind <= turn:
            made = state.recent[warp, (turn - behind) % RECENT] + int(machine[_FRESH])
            late = max(late, made - now)
    state.recent[warp, turn % RECENT] = now + late + parts
    state.issues[warp] = turn + 1
    state.delayed[warp] = late + parts
    return late, parts


@jit()
def gap_wait(code: Any, state: Any, machine: Any, partition: int, number: int, now: int) -> int:
    """Return how much later an instruction is dispatched: a product of 64 bits, beside a wgmma.

    That one's accumulators pass through the registers' ports but for gaps. A product of 64 bits
    waits for one, and those close behind it pass in the same one.
    """
    if not code[number].parts:
        return 0
    end = state.accumulated[partition]
    waits = 0
    if now - state.gap[partition] > machine[_GAP]:
        waits = min(int(machine[_GAP_WAIT]), end - now)
        state.gap[partition] = now + waits
    state.pipe[partition, state.multiplies[partition]] += machine[_GAP_TAKEN]
    state.accumulated[partition] = end + int(machine[_GAP_TAKEN])
    return waits


@jit()
def hold_up(state: Any, partition: int, warp: int, cycles: int, now: int) -> None:
    """Let the others of a sub-partition wait longer that count a stall count: it stands still."""
    for place in range(state.count[partition]):
        other = state.order[partition, place]
        ready = state.ready[other]
        if other == warp or ready <= now or state.resolving[other]:
            continue
        state.ready[other] = ready + cycles
        state.delayed[other] += cycles
        if state.next[other] < ready + cycles:
            state.next[other] = ready + cycles
