"""From machine instructions and a chip's rates to what the schedulers need of each."""

from __future__ import annotations

import re

import numpy as np

from simulator.timing.rates import Rates
from simulator.timing.state import CodeArrays, Kind
from simulator.timing.work import WorkInstruction

__all__ = ["PIPES", "code_arrays", "conflict"]

PIPES = ("alu", "fmaheavy", "fmalite", "fp16", "fp64", "xu", "tensor", "uniform", "cbu")
"""Pipes that each sub-partition has, by number."""

_GLOBAL_LOADS = ("LDG", "LD", "LDL", "ATOM", "ATOMG", "CCTL", "TEX", "TLD", "SULD")
_GLOBAL_STORES = ("STG", "ST", "STL", "RED", "REDG", "SUST")
_SHARED = ("LDS", "STS", "LDSM", "STSM", "ATOMS")
_QUEUED = ("SHFL", "REDUX", "MATCH", "MOVM", "S2R", "S2UR", "LDC", "R2UR", "B2R", "SYNCS")

_LATENCIES = {"S2R": 24, "S2UR": 24, "LDC": 30, "R2UR": 12, "ATOMG": 0, "B2R": 20, "SYNCS": 20}
"""Cycles of what has a scoreboard, where the tables have none."""
_OTHER = 20


def code_arrays(instructions: tuple[WorkInstruction, ...], rates: Rates) -> CodeArrays:
    """Return the instructions as arrays."""
    size = len(instructions)
    integers = {name: np.zeros(size, dtype=np.int64) for name in CodeArrays._fields}
    held = np.zeros(size, dtype=np.float64)
    for number, each in enumerate(instructions):
        name, *modifiers = each.opcode.split(".")
        rate, bits = rates[each.opcode], each.control
        kind = _kind(name, modifiers, rate.pipes)
        pipes = [PIPES.index(pipe) for pipe in rate.pipes if pipe in PIPES]
        cycles = _held(rate.held, rate.interval if len(pipes) == 1 else None)
        before = instructions[number - 1] if number else None
        values = {
            "kind": kind,
            "stall": bits.stall,
            "yields": bits.yields,
            "write": -1 if bits.write_barrier is None else bits.write_barrier,
            "read": -1 if bits.read_barrier is None else bits.read_barrier,
            "waits": bits.waits,
            "pipe": pipes[0] if pipes and kind == Kind.PLAIN else -1,
            "other": pipes[1] if len(pipes) > 1 and kind == Kind.PLAIN else -1,
            "latency": _latency(name, rate.latency),
            "local": _local(name, each.opcode, modifiers, cycles),
            "data": int(rate.interval or 1) if name in _QUEUED[:4] else 0,
            "conflict": conflict(each, before),
            **_synchronizes(kind, each),
        }
        held[number] = cycles
        for field, value in values.items():
            integers[field][number] = value
    return CodeArrays(**integers | {"held": held})


def _kind(name: str, modifiers: list[str], pipes: tuple[str, ...]) -> Kind:
    fixed = {
        "LDGSTS": Kind.COPY, "LDGDEPBAR": Kind.COPIES_END, "DEPBAR": Kind.COPIES_WAIT,
        "EXIT": Kind.EXIT, "BRA": Kind.BRANCH, "MEMBAR": Kind.FENCE, "NANOSLEEP": Kind.SLEEP,
    }  # fmt: skip
    if name in fixed:
        return fixed[name]
    if name == "BAR":
        return Kind.ARRIVE if modifiers[:1] == ["ARV"] else Kind.BARRIER
    if name in _GLOBAL_LOADS:
        return Kind.LOAD
    if name in _GLOBAL_STORES:
        return Kind.STORE
    if name in _SHARED:
        return Kind.SHARED
    return Kind.QUEUED if name in _QUEUED or "xu" in pipes else Kind.PLAIN


def _held(held: float | None, interval: float | None) -> float:
    """Return the cycles for which a pipe is held: as measured, where it was."""
    return interval or held or 1.0


def _latency(name: str, latency: float | None) -> int:
    return int(_LATENCIES.get(name, _OTHER) if latency is None else latency)


def _local(name: str, opcode: str, modifiers: list[str], held: float) -> int:
    """Return the cycles for which the way out of a sub-partition is held.

    One warp alone issues an LDS or STS every 4 cycles, an LDS.128 or LDSM of four matrices every 8,
    an STS.128 every 10 (`gpu_check/data/h100_pipes.csv`, warps_1).
    """
    if name in _GLOBAL_LOADS + _GLOBAL_STORES + _SHARED + ("LDGSTS",):
        is_store = name.startswith("ST")
        if "128" in modifiers or (name in ("LDSM", "STSM") and "4" in modifiers):
            return 10 if is_store else 8
        return 5 if is_store and "64" in modifiers else 4
    return max(int(held), 2)


_REGISTER = re.compile(r"(?<![A-Z.\[])R(\d+)(\.reuse)?")


def conflict(instruction: WorkInstruction, before: WorkInstruction | None) -> int:
    """Return the cycles that an instruction's operands take beyond the first.

    The registers lie in two banks, even and odd numbers, of two operands each; what the instruction
    before keeps in the reuse cache is not read (Jia et al., arXiv:1804.06826, section 3.1.2).

    >>> from simulator.timing.control import control
    >>> def given(text, reuse=0):
    ...     return WorkInstruction(0, "", "FFMA", text, control(reuse << 122))
    >>> conflict(given("R0,R2,R4,R6"), None), conflict(given("R0,R2,R4,R7"), None)
    (1, 0)
    >>> conflict(given("R0,R2,R4,R6"), given("R1,R2.reuse,R3,R5", 1))
    0
    """
    if instruction.opcode.split(".")[0] not in ("FFMA", "IMAD", "LOP3", "IADD3", "HFMA2", "SEL"):
        return 0
    sources = _sources(instruction)
    kept = {
        (place, register)
        for place, register in enumerate(_sources(before) if before else [])
        if before is not None and before.control.reuse >> place & 1
    }
    read = {
        register
        for place, register in enumerate(sources)
        if register is not None and (place, register) not in kept
    }
    odd = sum(register & 1 for register in read)
    return int(max(odd, len(read) - odd) > 2)


def _sources(instruction: WorkInstruction) -> list[int | None]:
    """Return the registers of the source operands, by place; None for other operands."""
    _, *operands = instruction.operands.split(",")
    found = [
        _REGISTER.search(operand) for operand in operands if not operand.startswith(("P", "!P"))
    ]
    return [int(each[1]) if each else None for each in found]


def _synchronizes(kind: Kind, instruction: WorkInstruction) -> dict[str, int]:
    """Return a barrier's number and its warps, or how many groups of copies may be left."""
    operands = [each.strip() for each in instruction.operands.split(",")]
    numbers = [int(each, 0) if re.fullmatch(r"0x[0-9a-f]+|\d+", each) else -1 for each in operands]
    if kind == Kind.COPIES_WAIT:
        return {"number": max(numbers[-1], 0), "warps": 0}
    if kind in (Kind.BARRIER, Kind.ARRIVE):
        first = max(numbers[0], 0) & 15
        threads = numbers[1] if len(numbers) > 1 else 0
        return {"number": first, "warps": max(threads, 0) // 32}
    return {"number": 0, "warps": 0}
