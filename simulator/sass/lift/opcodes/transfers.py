"""Atomics, matrices, asynchronous copies: memory instructions that do more than load and store."""

from __future__ import annotations

from simulator.sass.lift.atomics import OPERATIONS, TYPES
from simulator.sass.lift.block import Block
from simulator.sass.lift.kinds import I32, vector
from simulator.sass.lift.layout import SCRATCH
from simulator.sass.lift.line import Line, Named
from simulator.sass.lift.opcodes.memory import CACHING, WIDTHS, address, count_access, space_of
from simulator.sass.lift.operands import DecodeProblem, Memory, Predicate
from simulator.sass.lift.sites import MemorySite, known_name
from simulator.sass.lift.table import Emit, lifts

__all__: list[str] = []

_TYPES = {
    "S32": ("S32", 4), "U32": ("U32", 4), "32": ("U32", 4), "64": ("U64", 8), "U64": ("U64", 8),
    "S64": ("S64", 8), "F32": ("F32", 4), "F64": ("F64", 8), "F16x2": ("F16", 4),
    "BF16_V2": ("BF16", 4), "BF16x2": ("BF16", 4), "128": ("U128", 16),
    "F32x2": ("F32", 8), "F32x4": ("F32", 16), "F16x4": ("F16", 8), "F16x8": ("F16", 16),
    "BF16x4": ("BF16", 8), "BF16x8": ("BF16", 16),
}  # fmt: skip


@lifts("ATOMS", "ATOMG", "ATOM", "RED", "REDG", says="Atomics, lane by lane; of vectors, too.")
def _atomic(line: Line) -> Emit:
    line.only(*CACHING, *OPERATIONS, *_TYPES, "SPIN", "FTZ", "RN")
    # POPC.INC is one operation.
    named = [each for each in line.modifiers if each in OPERATIONS]
    if not named or (len(named) > 1 and named != ["POPC", "INC"]):
        raise DecodeProblem(f"operation of {line.name}")
    how, space = named[0], space_of(line)
    types = [_TYPES[each] for each in line.modifiers if each in _TYPES]
    kind, width = types[0] if types else ("U32", 4)
    if kind[0] in "FB" and how not in (("ADD", "MIN", "MAX") if kind.endswith("16") else ("ADD",)):
        raise DecodeProblem(f"type of {line.name}")
    if width == 16 and (space != "global" or (kind == "U128" and how not in ("CAS", "EXCH"))):
        raise DecodeProblem(f"type of {line.name}")
    words = width // 4
    condition = line.predicate_target() if line.peek(Predicate) else None
    # Since sm_100, a loop that swaps gets a predicate: whether it did.
    says_so = how == "CAST" and condition is not None and line.peek(Memory)
    has_target = not line.name.startswith("RED") and not says_so
    target = line.target(words) if has_target else None
    if target is not None and target.uniform:
        raise DecodeProblem(f"destination of {line.name}")
    where = address(line, line.address(), 32 if space == "shared" else 64)
    compare = line.plain(words) if how in ("CAS", "CAST") else Named(-1)
    data = line.plain(words) if how != "POPC" else Named(-1)
    if data.uniform or compare.uniform:
        raise DecodeProblem(f"data of {line.name}")
    writes = target is not None or says_so
    count_access(line, space, space == "shared" and not writes, width)
    options = (width, OPERATIONS.index(how), TYPES.index(kind), int(writes))

    def emit(block: Block) -> None:
        addresses = where(block)
        operand, compared = block.stored(data, words), block.stored(compare, words)
        row, number = block.landing(target, words), block.at.i64(block.site)
        block.check(
            block.help(
                f"atomic_{space}", addresses, operand, compared, row, number, options=options
            )
        )
        found = block.at.bit(True).spread()
        if says_so:
            found = block.at.load(block.warp, vector(I32), SCRATCH) != 0
        block.write_condition(condition, found)

    return emit


@lifts("LDSM", "STSM", says="Loads and stores of 8×8 matrices.")
def _matrix(line: Line) -> Emit:
    line.only("16", "M88", "MT88", "2", "4")
    if not line.has("16") or not line.has("M88", "MT88"):
        raise DecodeProblem(f"shape of {line.name}")
    matrices = 4 if line.has("4") else 2 if line.has("2") else 1
    options = (matrices, int(line.has("MT88")))
    if line.name == "STSM":
        where, data = address(line, line.address(), 32), line.plain(matrices)
    else:
        target = line.target(matrices)
        if target is None or target.uniform:
            raise DecodeProblem("destination of LDSM")
        where = address(line, line.address(), 32)
    count_access(line, "shared", line.name == "STSM", 16)

    def load(block: Block) -> None:
        addresses, number = where(block), block.at.i64(block.site)
        row = block.landing(target, matrices)
        block.check(block.help("load_matrices", addresses, row, number, options=options))

    def store(block: Block) -> None:
        addresses, number = where(block), block.at.i64(block.site)
        row = block.stored(data, matrices)
        block.check(block.help("store_matrices", addresses, row, number, options=options))

    return store if line.name == "STSM" else load


@lifts("LDGSTS", says="Copies from global to shared memory (cp.async); complete at once here.")
def _copy(line: Line) -> Emit:
    line.only(*CACHING, *WIDTHS, "ZFILL")
    width = next((WIDTHS[each] for each in line.modifiers if each in ("64", "128")), 4)
    targets, sources = address(line, line.address(), 32), address(line, line.address(), 64)
    copied = line.condition()
    op = known_name(line.name, line.modifiers)
    line.sites.append(MemorySite(line.number, line.instruction, "shared", op, True, width))
    line.sites.append(MemorySite(line.number, line.instruction, "global", None, False, width))

    def emit(block: Block) -> None:
        lanes = block.condition(copied).spread().ballot
        number = block.at.i64(block.site)
        values = (targets(block), sources(block), lanes, number)
        options = (width, int(line.has("ZFILL")))
        block.check(block.help("copy", *values, options=options))

    return emit
