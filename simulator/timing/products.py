"""Products of warpgroups (wgmma): how long one takes, what it reads, when its results are there.

Each takes the tensor cores for as long as its shape and type say, and reads its operands from
shared memory meanwhile: other accesses take the wavefronts that it leaves. Its accumulators pass
through the registers' ports: other instructions of the sub-partition read theirs more slowly
(gpu_check/data/h200_products_beside.csv).
"""

from __future__ import annotations

import re

from simulator.timing.work import WorkInstruction

__all__ = ["adds_words", "operand_wavefronts", "product_cycles", "product_latency"]

_WAVEFRONT = 128
"""Bytes."""
_ROWS = 64
_LEAST = 13
"""Cycles, with A in registers: gpu_check/data/h100_wgmma.csv."""
_OF_SHARED, _OF_REGISTERS, _PER_COLUMN = 45, 31, 0.25
"""Cycles: see `product_latency`."""
_SHAPE = re.compile(r"[HQIB]GMMA\.(?:SP\.)?64x(\d+)x").match


def operand_wavefronts(instruction: WorkInstruction) -> float:
    """Return the wavefronts of shared memory that one warp's share of a wgmma reads.

    A warpgroup reads B, 32 bytes of each of n columns, and 64 rows of A where they are there too.
    """
    columns = _columns(instruction)
    if not columns:
        return 0.0
    rows = columns + (0 if _has_registers(instruction) else _ROWS)
    return rows * 32 / _WAVEFRONT / 4


def product_cycles(instruction: WorkInstruction) -> float:
    """Return the cycles from one wgmma to the next for its operands in shared memory.

    One that reads both there takes a cycle per wavefront of the warpgroup, as an H100 does
    (`gpu_check/data/h100_wgmma.csv`).
    """
    if _has_registers(instruction):
        return _LEAST
    return 4 * operand_wavefronts(instruction)


def product_latency(instruction: WorkInstruction) -> int:
    """Return the cycles from when the tensor cores have done a wgmma until a wait for it ends.

    A wait adds 63 cycles to the loops of `gpu_check/data/h100_wgmma.csv` with A in shared memory
    and sums of singles, 53 with A in registers. Of these the loops themselves take 18 and 22 in a
    simulation. Integers and sums of halves take 75 and 76, and their loops 33. Fewer columns than
    64 take less.
    """
    if _has_registers(instruction):
        return _OF_REGISTERS
    return int(_OF_SHARED - _PER_COLUMN * max(_ROWS - _columns(instruction), 0))


def adds_words(instruction: WorkInstruction) -> bool:
    """Whether the results of a wgmma have 32 bits.

    >>> from simulator.timing.control import control
    >>> def given(opcode):
    ...     return WorkInstruction(0, "", opcode, "R24,gdesc[UR4],R24", control(0))
    >>> adds_words(given("HGMMA.64x128x16.F32.BF16")), adds_words(given("HGMMA.64x128x16.F16"))
    (True, False)
    >>> adds_words(given("IGMMA.64x32x32.S8.S8"))
    True
    """
    name, *modifiers = instruction.opcode.split(".")
    return "F32" in modifiers or name in ("IGMMA", "BGMMA")


def _columns(instruction: WorkInstruction) -> int:
    """Return the columns of a wgmma's result; 0: it is another instruction."""
    shape = _SHAPE(instruction.opcode)
    return int(shape[1]) if shape else 0


def _has_registers(instruction: WorkInstruction) -> bool:
    """Whether a wgmma has A in registers: it stands behind the accumulator, before descriptors."""
    return len(re.findall(r"\bR\d+", instruction.operands.split("gdesc")[0])) > 1
