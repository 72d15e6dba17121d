"""Hopper's own units: mbarriers, tiles and bulk copies, warpgroups' products, clusters."""

from __future__ import annotations

import re
from typing import Literal, cast

from simulator.errors import UnsupportedError
from simulator.sass.lift.block import Block
from simulator.sass.lift.gmma_form import parse_gmma
from simulator.sass.lift.line import Line
from simulator.sass.lift.operands import DecodeProblem, Memory, Predicate, Register, Word
from simulator.sass.lift.requests import (
    AsyncStore,
    Bulk,
    BulkGroup,
    ClusterBarrier,
    GroupOrder,
    MaxRegisters,
    Mbarrier,
    Operand,
    Product,
    TileCopy,
    Where,
)
from simulator.sass.lift.serving import served
from simulator.sass.lift.sites import MemorySite
from simulator.sass.lift.syncs import parse_syncs
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.unwaited import groups_left

__all__: list[str] = []


# ---- Operands. ---------------------------------------------------------------------------------
def _register(line: Line, register: Register | None, words: int = 1) -> Operand:
    place = line.named(register or Register(-1), words)
    return Operand(place.number, place.uniform)


def _data(line: Line, words: int = 1) -> Operand:
    place = line.plain(words)
    return Operand(place.number, place.uniform)


def _where(line: Line) -> Where:
    """Read a shared address."""
    place = line.address()
    if place.wide or place.uniform_wide or place.shift:
        raise DecodeProblem(f"address of {line.name}")
    return Where(_register(line, place.register), _register(line, place.uniform), place.offset)


def _uniform_at(line: Line, words: int) -> int:
    """Read `[UR8]`, which names uniform registers from there on; the first."""
    place = line.address()
    if place.register is not None or place.offset or place.uniform is None:
        raise DecodeProblem(f"address of {line.name}")
    return _register(line, place.uniform, words).number


def _size_or_offsets(line: Line) -> int:
    """Read the uniform register behind the addresses, where there is one, and a cache policy."""
    register = -1
    if line.peek(Register):
        operand = _data(line)
        if not operand.uniform:
            raise DecodeProblem(f"operand {line.next} of {line.name}")
        register = operand.number
    if line.peek(Word) and cast(Word, line.operands[line.next]).text.startswith("desc["):
        line.take()
    return register


# ---- mbarriers. --------------------------------------------------------------------------------
@lifts("SYNCS", says="Operations on an mbarrier: init, arrive, expect bytes, wait, inval.")
def _syncs(line: Line) -> Emit:
    try:
        form = parse_syncs(line.instruction.opcode)
    except UnsupportedError:
        raise DecodeProblem(f"form {line.instruction.opcode}") from None
    if form.action == "invalidate":
        return served(line, Mbarrier(form, _where(line)))
    if form.action == "wait":
        predicate = line.predicate_target()
        request = Mbarrier(form, _where(line), _data(line), predicate=predicate)
        return served(line, request, waits=True)
    target = _data(line, 2)
    data = 2 if form.action == "init" else 1
    return served(line, Mbarrier(form, _where(line), _data(line, data), target))


@lifts("ARRIVES", says="Arrives at an mbarrier when the copies of a thread are complete.")
def _arrives(line: Line) -> Emit:
    try:
        form = parse_syncs(line.instruction.opcode)
    except UnsupportedError:
        raise DecodeProblem(f"form {line.instruction.opcode}") from None
    return served(line, Mbarrier(form, _where(line)))


# ---- Tiles and bulk copies. --------------------------------------------------------------------
_RANKS = {f"{rank}D": rank for rank in range(1, 6)}
_REDUCTIONS = ("ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR")
_ACTIONS: dict[str, Literal["load", "store", "reduce"]] = {
    "UTMALDG": "load", "UTMASTG": "store", "UTMAREDG": "reduce",
}  # fmt: skip


@lifts("UTMALDG", "UTMASTG", "UTMAREDG", says="Loads, stores or reduces a tile by a tensor map.")
def _tile(line: Line) -> Emit:
    action = _ACTIONS[line.name]
    operations = _REDUCTIONS if action == "reduce" else ()
    options = ("MULTICAST", "IM2COL") if action == "load" else ("IM2COL",)
    line.only(*_RANKS, *options, *operations)
    ranks = [_RANKS[each] for each in line.modifiers if each in _RANKS]
    chosen = [each for each in line.modifiers if each in operations]
    if len(ranks) != 1 or len(chosen) != (action == "reduce"):
        raise DecodeProblem(f"form {line.instruction.opcode}")
    place = _uniform_at(line, ranks[0] + (2 if action == "load" else 1))
    map_, extra = _uniform_at(line, 2), _size_or_offsets(line)
    needs_extra = action == "load" and line.has("MULTICAST", "IM2COL")
    if (extra >= 0) != needs_extra:
        raise DecodeProblem(f"operands of {line.instruction.opcode}")
    operation = chosen[0].lower() if chosen else ""
    request = TileCopy(
        action, ranks[0], place, map_, extra, operation, line.has("IM2COL"), line.has("MULTICAST")
    )
    _count_copies(line, is_store=action != "load")
    return served(line, request)


_ELEMENTS = {
    "U32": "uint32", "S32": "int32", "U64": "uint64", "S64": "int64", "F32": "float32",
    "F64": "float64", "F16": "float16", "BF16": "bfloat16",
}  # fmt: skip


@lifts(
    "UBLKCP",
    "UBLKRED",
    says="Copies or reduces bytes that follow one another, to or from shared memory.",
)
def _bulk(line: Line) -> Emit:
    way = cast(Literal["S.G", "G.S", "S.S"], ".".join(line.modifiers[:2]))
    options = line.modifiers[2:]
    is_copy = line.name == "UBLKCP"
    operation = element = ""
    if is_copy:
        known = options in ((), ("MULTICAST",)) and (not options or way == "S.G")
    else:
        operation, kind = (*options, "U32")[:2] if options else ("", "")
        element, rest = _ELEMENTS.get(kind, ""), options[2:]
        known = operation in _REDUCTIONS and bool(element) and rest in ((), ("RN",))
    if not known or way not in ("S.G", "G.S", "S.S") or (way == "S.G" and not is_copy):
        raise DecodeProblem(f"form {line.instruction.opcode}")
    to = _uniform_at(line, 2)
    source = _uniform_at(line, 2 if way == "S.G" else 1)
    size = _size_or_offsets(line)
    if size < 0:
        raise DecodeProblem(f"size of {line.name}")
    request = Bulk(way, to, source, size, operation.lower(), element, "MULTICAST" in options)
    _count_copies(line, is_store=way == "G.S")
    return served(line, request)


@lifts("UTMACMDFLUSH", "DEPBAR", says="Ends a group of TMA's stores; waits for copies.")
def _bulk_group(line: Line) -> Emit:
    text = line.instruction.operands
    line.skip()
    if line.name == "UTMACMDFLUSH":
        return served(line, BulkGroup())
    found = re.fullmatch(r"SB\d,\s*(0x[0-9a-f]+)", text.strip())
    # Every copy is done at once: only the watch wants to know who has waited.
    if found is None or all(each.opcode != "UTMACMDFLUSH" for each in line.instructions):
        return lambda block: None
    return served(line, BulkGroup(int(found[1], 16)))


def _count_copies(line: Line, is_store: bool) -> None:
    """Let a copy be counted: its bytes, rows and sectors."""
    site = MemorySite(line.number, line.instruction, "global", None, is_store, 0, unit="tma")
    line.sites.append(site)


# ---- Warpgroups. -------------------------------------------------------------------------------
@lifts(
    "WARPGROUP",
    says="A warpgroup's fence, or its wait for products, by all its warps.",
)
def _warpgroup(line: Line) -> Emit:
    line.only("ARRIVE", "DEPBAR", "LE")
    ordered = served(line, GroupOrder(groups_left(line.instruction)))
    line.skip()

    def emit(block: Block) -> None:
        block.check(block.help("whole_warp"))
        ordered(block)

    return emit


@lifts("USETMAXREG", says="A warp gives registers up, or waits until its block has enough.")
def _registers(line: Line) -> Emit:
    line.only("TRY_ALLOC", "DEALLOC", "ALLOC", "CTAPOOL")
    granted = line.predicate_target() if line.peek(Predicate) else None
    gives = line.has("DEALLOC")
    change = served(line, MaxRegisters(line.immediate(), gives), waits=not gives)

    def emit(block: Block) -> None:
        block.write_condition(granted, block.at.bit(True))  # a try that fails waits
        change(block)

    return emit


@lifts("HGMMA", "QGMMA", "IGMMA", "BGMMA", says="A warpgroup's matrix product (wgmma).")
def _product(line: Line) -> Emit:
    instruction = line.instruction
    try:
        form = parse_gmma(f"{instruction.opcode} {instruction.operands}")
    except UnsupportedError:
        raise DecodeProblem(f"form {instruction.opcode} {instruction.operands}") from None
    if form.destination is not None:
        line.named(Register(form.destination), form.registers)
    if form.source is not None:
        line.named(Register(form.source), form.registers)
    if form.a_register is not None:
        line.named(Register(form.a_register), 4)
    if form.descriptors is not None:
        line.named(Register(form.descriptors, uniform=True), 4)
    line.skip()
    site = MemorySite(line.number, line.instruction, "shared", None, False, 0, unit="gmma")
    line.sites.append(site)
    return served(line, Product(form), waits=True)


# ---- Clusters. ---------------------------------------------------------------------------------
@lifts("UCGABAR_ARV", "UCGABAR_WAIT", says="Barrier of a cluster: arrives, or waits.")
def _cluster_barrier(line: Line) -> Emit:
    line.only()
    waits = line.name == "UCGABAR_WAIT"
    return served(line, ClusterBarrier(waits), waits=waits)


@lifts("STAS", "REDAS", says="Stores or reduces in a block of the cluster; its mbarrier counts.")
def _async_store(line: Line) -> Emit:
    line.only("64", "128", *_ELEMENTS, *_REDUCTIONS)
    words = 4 if line.has("128") else 2 if line.has("64", "U64", "S64") else 1
    operations = [each for each in line.modifiers if each in _REDUCTIONS]
    kinds = [each for each in line.modifiers if each in _ELEMENTS]
    if len(operations) != (line.name == "REDAS") or len(kinds) > 1 or (kinds and not operations):
        raise DecodeProblem(f"form {line.instruction.opcode}")
    place = line.address()
    if not isinstance(place, Memory) or place.register is None or place.uniform or place.offset:
        raise DecodeProblem(f"address of {line.name}")
    pair = _register(line, place.register, 2)
    element = _ELEMENTS[kinds[0]] if kinds else "uint64" if words == 2 else "uint32"
    operation = operations[0].lower() if operations else ""
    request = AsyncStore(pair.number, _data(line, words), words, operation, element)
    if line.peek(Predicate):
        raise DecodeProblem(f"predicate of {line.name}")
    name = f"{line.name}.{32 * words}" if words > 1 else line.name
    site = MemorySite(line.number, line.instruction, "neighbour", name, True, 4 * words)
    line.sites.append(site)
    return served(line, request)
