"""Loads, stores, constants, and the memory of an address."""

from __future__ import annotations

from collections.abc import Callable

from simulator.sass.architectures import LOCAL_WINDOW, SHARED_WINDOW
from simulator.sass.lift.block import Block, join
from simulator.sass.lift.kinds import I32
from simulator.sass.lift.layout import ROW, SCRATCH
from simulator.sass.lift.line import ALWAYS, Line, Named, SourceOperand
from simulator.sass.lift.matrices import (
    NOTES,
    NOTES_LINE,
    NOTES_LINES,
    NOTES_NOTHING,
    NOTES_SEVERAL,
)
from simulator.sass.lift.operands import Constant, DecodeProblem, Memory, Predicate, Register
from simulator.sass.lift.sites import MemorySite, known_name
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value

__all__ = ["CACHING", "WIDTHS", "address", "count_access", "space_of"]

WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "32": 4, "64": 8, "128": 16}
CACHING = (
    "E", "U", "CONSTANT", "STRONG", "WEAK", "GPU", "SYS", "SM", "CTA", "EF", "EL", "LU", "EU", "NA",
    "LTC64B", "LTC128B", "LTC256B", "PRIVATE", "ZD", "MMIO", "BYPASS", "ACCESS",
)  # fmt: skip
_SPACES = {
    "LDG": "global", "STG": "global", "LDS": "shared", "STS": "shared", "LDL": "local",
    "STL": "local", "LD": "generic", "ST": "generic", "ATOMG": "global", "REDG": "global",
    "RED": "global", "ATOMS": "shared", "ATOM": "generic",
}  # fmt: skip

_VARIABLES = 3
"""The constant bank of `__constant__` variables."""
_UNIFORM_BYTES, _TABLE_BYTES = 256, 2048
"""Of the least caches of ULDC and LDC: who reads more of a bank may miss them (`constant_caches`).
"""


def space_of(line: Line) -> str:
    """Name the memory that an instruction accesses: shared, global, local or generic."""
    return _SPACES[line.name]


def address(line: Line, place: Memory, bits: int) -> Callable[[Block], Value]:
    """Check an address; what gives it for each lane, in 32 or 64 bits."""
    register = line.named(place.register or Register(-1), 2 if place.wide else 1)
    # Of some atomics nvdisasm prints [R4] for the pair that .E says it is.
    pair = line.has("E") and bits == 64 and line.name != "LDGSTS"
    # Turing's [UR4+0xc] and [R2.64+UR4]: a pair of uniform registers, as .E says.
    uniform_wide = place.uniform_wide or (
        pair and place.uniform is not None and (place.wide or place.register is None)
    )
    wide = place.wide or (pair and not uniform_wide and place.shift == 0)
    if wide:
        register = line.named(place.register or Register(-1), 2)
    uniform = Named(-1)
    if place.uniform is not None:
        uniform = line.named(place.uniform, 2 if uniform_wide else 1)
    wide = wide and register.number >= 0
    if bits == 32 and (wide or uniform_wide):
        raise DecodeProblem(f"address of {line.name}")

    def narrow(block: Block) -> Value:
        value = block.read(SourceOperand(register))
        value = (value << place.shift if place.shift else value) + block.read(
            SourceOperand(uniform)
        )
        return (value + place.offset).spread()

    if bits == 32 or not (wide or uniform_wide):
        return narrow if bits == 32 else lambda block: narrow(block).resized(64)

    def emit(block: Block) -> Value:
        first = (
            block.pair(SourceOperand(register))
            if wide
            else block.read(SourceOperand(register)).resized(64)
        )
        if not wide and place.shift:
            first = first << place.shift
        second = block.read(SourceOperand(uniform)).resized(64)
        if uniform_wide:
            second = block.pair(SourceOperand(uniform))
        return (first + second + place.offset).spread()

    return emit


def width_of(line: Line) -> int:
    """Read the bytes that a lane accesses."""
    line.only(*CACHING, *WIDTHS)
    found = [each for each in line.modifiers if each in WIDTHS]
    if len(found) > 1:
        raise DecodeProblem(f"widths of {line.name}")
    return WIDTHS[found[0]] if found else 4


_SHARED_NAMES = {"LD": "LDS", "ST": "STS", "ATOM": "ATOMS"}


def count_access(line: Line, space: str, is_store: bool, width: int) -> None:
    """Let what the instruction accesses be counted: global, shared, then neighbours' memory."""

    def site(space: str, op: str | None) -> MemorySite:
        return MemorySite(line.number, line.instruction, space, op, is_store, width, is_generic)

    is_generic = space == "generic"
    if space in ("global", "generic"):
        line.sites.append(site("global", None))
    if space in ("shared", "generic"):
        # What a generic access costs there is what its namesake for shared memory costs.
        modifiers = [each for each in line.modifiers if not is_generic or each not in CACHING]
        op = known_name(_SHARED_NAMES.get(line.name, line.name), modifiers)
        line.sites += [site(each, op) for each in ("shared", *["neighbour"] * is_generic)]


@lifts("LDG", "LDS", "LDL", "LD", says="Loads of 1 to 16 bytes.")
def _load(line: Line) -> Emit:
    width, space = width_of(line), space_of(line)
    if line.peek(Predicate):
        line.predicate_target()
    target = line.target(max(1, width // 4))
    if target is not None and target.uniform:
        raise DecodeProblem(f"destination of {line.name}")
    where = address(line, line.address(), 32 if space in ("shared", "local") else 64)
    if line.condition() != ALWAYS:
        raise DecodeProblem(f"predicate of {line.name}")
    count_access(line, space, False, width)
    options = (width, int(line.has("S8", "S16")))

    def emit(block: Block) -> None:
        addresses = where(block)
        row = block.landing(target, max(1, width // 4))
        number = block.at.i64(line.number if space == "local" else block.site)
        block.check(block.help(f"load_{space}", addresses, row, number, options=options))

    return emit


@lifts("STG", "STS", "STL", "ST", says="Stores of 1 to 16 bytes.")
def _store(line: Line) -> Emit:
    width, space = width_of(line), space_of(line)
    where = address(line, line.address(), 32 if space in ("shared", "local") else 64)
    data = line.plain(max(1, width // 4))
    count_access(line, space, True, width)

    def emit(block: Block) -> None:
        addresses = where(block)
        row = block.stored(data, max(1, width // 4))
        number = block.at.i64(line.number if space == "local" else block.site)
        block.check(block.help(f"store_{space}", addresses, row, number, options=(width, 0)))

    return emit


@lifts("LDC", "ULDC", "LDCU", says="Loads from constant banks.")
def _constant(line: Line) -> Emit:
    line.only(*WIDTHS, "IL", "IS", "ISL", "E")
    width = WIDTHS[next((each for each in line.modifiers if each in WIDTHS), "32")]
    if width > (16 if line.name == "LDCU" else 8) or line.has("IS", "ISL"):
        raise DecodeProblem(f"width of {line.name}")
    target = line.target(max(1, width // 4))
    source = line.take()
    if not isinstance(source, Constant):
        raise DecodeProblem(f"address of {line.name}")
    if source.register is None and width >= 4:
        place = line.bank(source.bank, source.offset, width // 4)

        def emit(block: Block) -> None:
            words = [block.word(SourceOperand(place), word) for word in range(width // 4)]
            if width == 8:
                block.write_pair(target, join(*words))
                return
            for word, value in enumerate(words):
                block.write(target, value, word)

        return emit
    register = line.named(source.register or Register(-1))
    is_uniform = target is not None and target.uniform
    notes = _notes(line, source.bank, is_uniform)
    how = NOTES * int(line.has("IL")) + notes
    options = (width, int(line.has("S8", "S16")), source.bank, how)

    def emit_indexed(block: Block) -> None:
        offset = block.read(SourceOperand(register)) + source.offset
        row = block.landing(None if is_uniform else target, max(1, width // 4))
        number = block.at.i64(line.number)
        block.check(block.help("load_constant", offset.spread(), row, number, options=options))
        if is_uniform:
            words = [
                block.at.load(block.warp, I32, SCRATCH + word * ROW)
                for word in range(width // 4 or 1)
            ]
            for word, value in enumerate(words):
                block.write(target, value, word)

    return emit_indexed


def _notes(line: Line, bank: int, is_uniform: bool) -> int:
    """Return what is noted of a read: lines of variables only where a cache may not hold all."""
    size = len(line.kernel.banks.get(bank, b"")) if bank == _VARIABLES else 0
    if is_uniform:
        return NOTES_LINE if size > _UNIFORM_BYTES else NOTES_NOTHING
    return NOTES_LINES if size > _TABLE_BYTES else NOTES_SEVERAL


@lifts("QSPC", says="Whether a generic address is in shared, local or global memory.")
def _qspc(line: Line) -> Emit:
    line.only("E", "S", "L", "G")
    condition = line.predicate_target()
    if line.target() is not None:
        raise DecodeProblem("destination of QSPC")
    if line.has("S") + line.has("L") + line.has("G") != 1:
        raise DecodeProblem("space of QSPC")
    where = address(line, line.address(), 64)

    def emit(block: Block) -> None:
        high = (where(block) >> 32).resized(32)
        shared, local = high == SHARED_WINDOW, high == LOCAL_WINDOW
        found = shared if line.has("S") else local if line.has("L") else ~(shared | local)
        block.write_condition(condition, found)

    return emit
