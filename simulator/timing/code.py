"""From machine instructions and a chip's rates to what the schedulers need of each."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.timing.factors import factors_made, given_operands, in_parts
from simulator.timing.local_memory import local_sectors, words_of
from simulator.timing.operands import REGISTER
from simulator.timing.products import (
    adds_words,
    operand_wavefronts,
    product_cycles,
    product_latency,
)
from simulator.timing.rates import Rates
from simulator.timing.state import CLUSTER_BARRIER, CODE, SLOTS, Kind
from simulator.timing.work import WorkInstruction, writes_global

__all__ = ["ATOMICS", "PIPES", "REDUCTIONS", "code_arrays", "sources"]

PIPES = ("alu", "fmaheavy", "fmalite", "fp16", "fp64", "xu", "tensor", "uniform", "cbu")
"""Pipes that each sub-partition has, by number."""

_GLOBAL_LOADS = ("LDG", "LD", "LDL", "CCTL", "TEX", "TLD", "SULD")
_GLOBAL_STORES = ("STG", "ST", "STL", "SUST")
ATOMICS = ("ATOM", "ATOMG", "RED", "REDG")
_TILES = ("UTMALDG", "UTMASTG", "UTMAREDG", "UBLKCP", "UBLKRED")
REDUCTIONS = ("UBLKRED", "UTMAREDG")
PRODUCTS = ("HGMMA", "QGMMA", "IGMMA", "BGMMA")
_TILE_ISSUE = 24
"""Cycles, of copies of eight rows (`gpu_check/data/h100_tma.csv`: stores of 16 sectors)."""
_SHARED = ("LDS", "STS", "LDSM", "STSM", "ATOMS")
_QUEUED = ("SHFL", "REDUX", "MATCH", "MOVM", "S2R", "S2UR", "LDC", "R2UR", "B2R", "SYNCS")

_OF_LSU = ("SHFL", "MOVM", "S2R")
"""These go through the LSU's queue and its data pipe, though they access no memory: an access that
is slow holds them up, and no others (`gpu_check/data/h100_behind.csv`, h100_fills.csv)."""

_UNIFORM = ("SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z", "SR_CgaCtaId")
"""Special registers that are the same for all lanes: S2R of them waits for no access, and takes a
cycle of the data pipe, not two (the same)."""
_OF_UNIFORM = 26
"""Cycles until S2R of them is there (the same)."""
_HALVES = ("HADD2", "HMUL2", "HFMA2", "HADD2_32I", "HMUL2_32I", "HFMA2_32I")
_LATENCIES = {"S2UR": 24, "LDC": 30, "R2UR": 12, "B2R": 20, "SYNCS": 20}
"""Cycles of what has a scoreboard, where the tables have none."""
_OTHER = 20
_OF_ADU = ("LDC", "S2UR", "MATCH")
_ADU = 2.0
"""Cycles of an SM: `sm__inst_executed_pipe_adu.sum.peak_sustained` (h100_peaks.csv); barriers have
an interval of their own. For each value that lanes have, MATCH takes as many (h100_matches.csv)."""
_MATH = ("alu", "fmaheavy", "fmalite", "fp16", "tensor", "uniform")
_NO_MATH = ("UMOV", "ULDC", "VOTEU")
"""Of the uniform pipe, though a warp waits for its barrier before them (h100_deferring.csv)."""
_FENCES = {"CTA": 0, "GPU": 1, "SYS": 2}


def code_arrays(instructions: tuple[WorkInstruction, ...], rates: Rates) -> NDArray[Any]:
    """Return an array of CODE, an element for each instruction."""
    return _code_array(instructions, rates).copy()


@lru_cache(8)  # an SM is simulated several times for one estimate
def _code_array(instructions: tuple[WorkInstruction, ...], rates: Rates) -> NDArray[Any]:
    """Return what `code_arrays` does."""
    rows = []
    behind_loops = _behind_loops(instructions)
    for place, each in enumerate(instructions):
        name, *modifiers = each.opcode.split(".")
        rate, bits = rates[each.opcode], each.control
        is_uniform = name == "S2R" and each.operands.split(",")[-1] in _UNIFORM
        kind = _kind(name, modifiers, rate.pipes)
        pipes = _pipes(name, modifiers, rate.pipes)
        alone = len(pipes) == 1 and name not in _HALVES
        cycles = _held(rate.held, rate.interval if alone else None)
        latency = _latency(name, kind, modifiers, rate.latency)
        reads = 0.0
        if kind == Kind.PRODUCT:
            cycles, latency = max(cycles, product_cycles(each)), product_latency(each)
            reads = 4 * operand_wavefronts(each) / cycles
        operands = sources(each) if kind == Kind.PLAIN else [(-1, 0)] * SLOTS
        values = {
            "kind": kind,
            "stall": bits.stall,
            "meets": (name == "BSYNC") * (1 + (each.address + 16 in behind_loops)),
            "yields": bits.yields,
            "write": -1 if bits.write_barrier is None else bits.write_barrier,
            "read": -1 if bits.read_barrier is None else bits.read_barrier,
            "waits": bits.waits,
            "converges": name in ("BSSY", "BSYNC"),
            "gives_way": name == "YIELD",
            "collects": name == "WARPSYNC" and "COLLECTIVE" in modifiers,
            "pipe": pipes[0] if pipes and kind in (Kind.PLAIN, Kind.PRODUCT) else -1,
            "other": pipes[1] if len(pipes) > 1 and kind == Kind.PLAIN else -1,
            "joint": name in _HALVES and len(pipes) > 1,
            "is_fma": bool(pipes) and PIPES[pipes[0]].startswith("fma"),
            "is_xu": "xu" in rate.pipes,
            "is_double": bool(pipes) and PIPES[pipes[0]] == "fp64" and name != "DMMA",
            "latency": _OF_UNIFORM if is_uniform else latency,
            "local": _local(name, modifiers, rate.interval),
            "data": 1 if is_uniform else int(rate.interval or 1) if name in _OF_LSU else 0,
            "held": cycles,
            "reads": reads,
            "accumulates": kind == Kind.PRODUCT and adds_words(each),
            "source": [register for register, _ in operands],
            "wide": [wide for _, wide in operands],
            "reuse": bits.reuse,
            "puts": _puts(name, modifiers),
            "sectors": local_sectors(each),
            "port": _port(each),
            "twice": name == "HFMA2" and "MMA" in modifiers,
            "brings": name in ("LDS", "LDSM"),
            "parts": in_parts(each),
            "factor": factors_made(instructions, place),
            "aside": is_uniform or (kind == Kind.QUEUED and name not in (*_OF_LSU, "SYNCS")),
            "constant": "c[" in each.operands,
            "table": table_line(each.operands),
            "bypasses": _bypasses(modifiers),
            "word": _word(modifiers) if kind == Kind.ATOMIC else 0,
            "of_doubles": kind == Kind.ATOMIC and any(each.endswith("64") for each in modifiers),
            "compares": kind == Kind.ATOMIC and "CAS" in modifiers,
            "idle": name == "LDS" and each.operands.replace(" ", "").startswith("RZ,[RZ"),
            "adu": _ADU if name in _OF_ADU else 0.0,
            "defers": "DEFER_BLOCKING" in modifiers,
            "passes": kind == Kind.PLAIN and _passes(name, pipes),
            **_synchronizes(kind, each),
        }
        rows.append(tuple(values[field] for field in CODE.names or ()))
    return np.array(rows, dtype=CODE)


def _passes(name: str, pipes: list[int]) -> bool:
    """Whether a warp that has come to a barrier goes on with an instruction before it opens."""
    is_math = bool(pipes) and all(PIPES[pipe] in _MATH for pipe in pipes)
    return name == "ELECT" or (is_math and name not in _NO_MATH)


def _behind_loops(instructions: tuple[WorkInstruction, ...]) -> set[int]:
    """Return the addresses behind the BSYNCs at which lanes meet that have left a loop."""
    found, regions = set(), list[tuple[int, int]]()
    for each in instructions:
        to = _HEX(each.operands)
        if to is None:
            continue
        if each.opcode.startswith("BSSY"):
            regions.append((each.address, int(to[1], 16)))
        elif each.opcode.startswith("BRA") and each.guard:
            inside = [region for region in regions if region[0] < each.address < region[1]]
            if inside and max(inside)[0] < int(to[1], 16) < each.address:
                found.add(max(inside)[1])
    return found


_HEX = re.compile(r"(0x[0-9a-f]+)$").search
_TABLE = re.compile(r"c\[0x3\]\[(UR)?(\w+)").search


def table_line(operands: str) -> int:
    """Return the line of 64 bytes of `__constant__` variables that operands name, and one.

    -1: a uniform register says which; 0: they name none.

    >>> table_line("R0,R2,c[0x3][0x44],R6"), table_line("UR4,c[0x3][UR4+0x8]")
    (2, -1)
    >>> table_line("R0,c[0x3][R2]"), table_line("R0,R2,c[0x0][0x210],R6")
    (0, 0)
    """
    found = _TABLE(operands)
    if found is None or (not found[1] and not found[2].startswith("0x")):
        return 0
    return -1 if found[1] else int(found[2], 16) // 64 + 1


def _kind(name: str, modifiers: list[str], pipes: tuple[str, ...]) -> Kind:
    fixed = {
        "LDGSTS": Kind.COPY, "LDGDEPBAR": Kind.COPIES_END, "DEPBAR": Kind.COPIES_WAIT,
        "EXIT": Kind.EXIT, "BRA": Kind.BRANCH, "MEMBAR": Kind.FENCE, "ARRIVES": Kind.AT_PHASE,
        "UTMACMDFLUSH": Kind.COPIES_END, "STAS": Kind.AT_PHASE, "REDAS": Kind.AT_PHASE,
        "UCGABAR_WAIT": Kind.BARRIER,
    }  # fmt: skip
    if name in fixed:
        return fixed[name]
    if name == "CCTL" and "IVALL" in modifiers:
        return Kind.FORGET
    if name == "BAR":
        return Kind.ARRIVE if modifiers[:1] == ["ARV"] else Kind.BARRIER
    if name == "SYNCS" and modifiers[:1] in (["PHASECHK"], ["ARRIVE"]):
        return Kind.PHASE if modifiers[0] == "PHASECHK" else Kind.AT_PHASE
    if name in _TILES:
        return Kind.TILE
    if name in PRODUCTS:
        return Kind.PRODUCT
    if name == "WARPGROUP" and modifiers[:1] == ["DEPBAR"]:
        return Kind.PRODUCTS_WAIT
    if name in _GLOBAL_LOADS:
        return Kind.LOAD
    if name in _GLOBAL_STORES:
        return Kind.STORE
    if name in ATOMICS:
        return Kind.ATOMIC
    if name in _SHARED:
        return Kind.SHARED
    return Kind.QUEUED if name in _QUEUED or "xu" in pipes else Kind.PLAIN


def _pipes(name: str, modifiers: list[str], pipes: tuple[str, ...]) -> list[int]:
    """Return the numbers of the pipes that may execute an instruction.

    Sums and products of halves take both pipes for products; those that widen a half take the heavy
    one, HFMA2.MMA a pipe of its own (`gpu_check/data/h100_dispatch.csv`: HFMA2, HMUL2 and HADD2.F32
    beside FFMA, IMAD and HFMA2.MMA).
    """
    if name in _HALVES:
        both, wide = ("fmaheavy", "fmalite"), ("fmaheavy",)
        pipes = ("fp16",) if "MMA" in modifiers else wide if "F32" in modifiers else both
    if name == "DMMA":  # beside DMULs (`h100_double_matrices.csv`)
        pipes = ("fp64",)
    return [PIPES.index(pipe) for pipe in pipes if pipe in PIPES]


def _bypasses(modifiers: list[str]) -> bool:
    """Say whether L1 is not asked: of what other SMs may have written, and copies of 16 bytes."""
    is_strong = "STRONG" in modifiers and ("GPU" in modifiers or "SYS" in modifiers)
    return is_strong or "BYPASS" in modifiers


def _word(modifiers: list[str]) -> int:
    """Return the bytes of the word that an atomic's lane changes.

    >>> [_word(name.split(".")) for name in ("E.ADD", "E.ADD.F64.RN", "E.CAS.128", "E.ADD.F32x2")]
    [4, 8, 16, 8]
    """
    for size, names in ((16, ("128", "x4")), (8, ("64", "x2"))):
        if any(each.endswith(names) for each in modifiers):
            return size
    return 4


def _held(held: float | None, interval: float | None) -> float:
    """Return the cycles for which a pipe is held: as measured, where it was."""
    return interval or held or 1.0


def _latency(name: str, kind: Kind, modifiers: list[str], latency: float | None) -> int:
    """Return the cycles until a result is there; of loads of global memory those beyond 4 bytes.

    A lane's 8 bytes take 8 cycles more than 4, and 16 take 18 (`gpu_check/data/h100_mixes.csv`).
    """
    if kind in (Kind.LOAD, Kind.ATOMIC):
        return 18 if "128" in modifiers else 8 if "64" in modifiers else 0
    return int(_LATENCIES.get(name, _OTHER) if latency is None else latency)


def _local(name: str, modifiers: list[str], interval: float | None) -> int:
    """Return the cycles for which the way out of a sub-partition is held.

    One warp alone issues an LDS or STS every 4 cycles, an LDS.128 or LDSM of four matrices every 8,
    an STS.128 every 10 (`gpu_check/data/h100_pipes.csv`, warps_1).
    """
    if name in (*_GLOBAL_LOADS, *_GLOBAL_STORES, *ATOMICS, *_SHARED, "LDGSTS"):
        is_store = name.startswith("ST")
        if "128" in modifiers or (name in ("LDSM", "STSM") and "4" in modifiers):
            return 10 if is_store else 8
        return 5 if is_store and "64" in modifiers else 4
    if name in _TILES:
        return _TILE_ISSUE
    # So do shuffles; one that takes the SM two cycles takes a sub-partition eight.
    cycles = interval or 2
    return int(4 * cycles if name in _QUEUED[:4] else cycles)


def _puts(name: str, modifiers: list[str]) -> int:
    """Return the words that a lane stores to shared memory.

    >>> [_puts(*each) for each in (("STS", ["128"]), ("STS", ["U8"]), ("LDS", ["64"]))]
    [4, 1, 0]
    """
    if name == "STSM":
        return next((int(each) for each in modifiers if each in ("2", "4")), 1)
    return words_of(modifiers) if name == "STS" else 0


def _port(instruction: WorkInstruction) -> int:
    """Return the cycles for which nothing else of the sub-partition is dispatched, but for one.

    Products of 64 bits pass in two parts; what they add to is read between them
    (`gpu_check/data/h100_dispatch.csv`: beside FFMA, LOP3 and IMAD). The others of
    `h100_issue_slots.csv` take no more, and doubles only where they read three registers
    (`h100_doubles.csv`: see `banks`).
    """
    _, *modifiers = instruction.opcode.split(".")
    if not in_parts(instruction):
        return 0
    adds = modifiers[0] == "WIDE" and REGISTER.search(given_operands(instruction)[-1])
    return 3 if adds else 2


_PLACES = {"FADD": (0, 2), "DADD": (0, 2), "HADD2": (0, 2), "MOV": (1,), "IABS": (1,), "I2FP": (1,)}
"""Of operands, where they are not the first ones: so the reuse bits of compiled kernels say."""

_SHAPE = re.compile(r"(16|8)8(\d+)").fullmatch
"""Rows and depth of a product of matrices; of eight columns."""


def sources(instruction: WorkInstruction) -> list[tuple[int, int]]:
    """Return the first register and the number of registers of the operands by place; -1: none.

    >>> from simulator.timing.control import control
    >>> def given(opcode, operands):
    ...     return sources(WorkInstruction(0, "", opcode, operands, control(0)))
    >>> given("FFMA", "R0,R2.reuse,c[0x0][0x8],R6")
    [(2, 1), (-1, 0), (6, 1)]
    >>> given("IADD3", "R13,P1,R9,UR6,RZ"), given("DFMA", "R0,R2,R4,R6")[0]
    ([(9, 1), (-1, 0), (-1, 0)], (2, 2))
    >>> given("FADD", "R0,R2,R5.reuse")
    [(2, 1), (-1, 0), (5, 1)]
    >>> given("LOP3.LUT", "P0,R6,R4,0x3,R8,0xc0,!PT")
    [(4, 1), (-1, 0), (8, 1)]
    """
    name, *modifiers = instruction.opcode.split(".")
    given = given_operands(instruction)
    found = [(-1, 0)] * SLOTS
    for place, operand in zip(_PLACES.get(name, range(SLOTS)), given, strict=False):
        register = REGISTER.search(operand)
        wide = _wide(name, modifiers, place)
        read = (int(register[1]), wide) if register else (-1, 0)
        # A register that stands there twice is read once (h100_turns.csv: additions).
        found[place] = (-1, 0) if read in found else read
    return found


def _wide(name: str, modifiers: list[str], place: int) -> int:
    """Return the registers of an operand.

    >>> [_wide("HMMA", ["16816", "F32"], place) for place in range(3)]
    [4, 2, 4]
    >>> [_wide("IMMA", ["8816", "S8", "S8"], place) for place in range(3)]
    [1, 1, 2]
    """
    if name in ("DADD", "DMUL", "DFMA", "DSETP") or (
        name == "IMAD" and "WIDE" in modifiers and place == 2
    ):
        return 2
    if name in ("HMMA", "IMMA", "QMMA"):
        shape = _SHAPE(modifiers[0])
        rows, depth = map(int, shape.groups()) if shape else (16, 16)
        size = 4 if "TF32" in modifiers else 2 if name == "HMMA" else 1
        sums = 2 if modifiers[1:2] == ["F16"] else 4
        shares = (rows * depth * size, 8 * depth * size, 8 * rows * sums)
        return max(shares[place] // 128, 1)
    return 1


def _synchronizes(kind: Kind, instruction: WorkInstruction) -> dict[str, int]:
    """Return a barrier's number and its warps, or how many groups of copies may be left."""
    operands = [each.strip() for each in instruction.operands.split(",")]
    if kind == Kind.PRODUCT:
        return {"number": int("gsb" in instruction.operands), "warps": 0}
    if kind == Kind.FENCE:
        scope = instruction.opcode.split(".")[-1]
        return {"number": _FENCES.get(scope, 0), "warps": 0}
    if kind == Kind.TILE:
        return {"number": int(writes_global(instruction.opcode)), "warps": 0}
    if kind == Kind.AT_PHASE:  # whether it goes to a neighbour, and its phase ends later
        return {"number": int(instruction.opcode.startswith(("STAS", "REDAS"))), "warps": 0}
    if instruction.opcode.startswith("UCGABAR"):
        return {"number": CLUSTER_BARRIER, "warps": 0}
    numbers = [int(each, 0) if re.fullmatch(r"0x[0-9a-f]+|\d+", each) else -1 for each in operands]
    if kind in (Kind.COPIES_WAIT, Kind.PRODUCTS_WAIT):
        return {"number": max(numbers[-1], 0), "warps": 0}
    if kind in (Kind.BARRIER, Kind.ARRIVE):
        first = max(numbers[0], 0) & 15
        threads = numbers[1] if len(numbers) > 1 else 0
        return {"number": first, "warps": max(threads, 0) // 32}
    return {"number": 0, "warps": 0}
