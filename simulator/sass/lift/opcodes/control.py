"""Branches, convergence, barriers, and what a replay may leave out."""

from __future__ import annotations

from simulator.sass.lift.block import Block
from simulator.sass.lift.helpers import call
from simulator.sass.lift.kinds import I32
from simulator.sass.lift.layout import ALIVE, CONSTANT, CONSTANT_SHIFT, STAY, VALUE, State
from simulator.sass.lift.line import Bits, Line, Named, SourceOperand
from simulator.sass.lift.operands import (
    ConvergenceBarrier,
    DecodeProblem,
    Number,
    Predicate,
    Register,
    Word,
)
from simulator.sass.lift.requests import SystemCall
from simulator.sass.lift.serving import served
from simulator.sass.lift.state import note
from simulator.sass.lift.subwarps import barrier_row
from simulator.sass.lift.table import Emit, lifts
from simulator.sass.lift.values import Value
from simulator.sass.lift.watching import fence

__all__: list[str] = []

_ARGUMENTS = 16
"""Registers from the first on that arguments of a call may lie in."""


@lifts(
    "NOP", "LDGDEPBAR", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "CCTLL",
    "CCTLT", "PMTRIG", "ACQBULK", "PREEXIT", "ENDCOLLECTIVE",
    "UTMACCTL", "UTMAPF", "UBLKPF",
    says="Ordering, caching and waiting: nothing to do, since every instruction completes at once.",
)  # fmt: skip
def _nothing(line: Line) -> Emit:
    line.skip()
    return lambda block: None


@lifts("FENCE", says="Lets TMA and wgmma see what a warp wrote. If it is missing, a note says so.")
def _fence(line: Line) -> Emit:
    if not line.has("VIEW"):
        raise DecodeProblem(f"opcode {line.instruction.opcode}")
    line.skip()
    return fence


@lifts("EXIT", says="Ends the active lanes.")
def _exit(line: Line) -> Emit:
    line.only()
    line.ends = True
    condition = line.condition()

    def emit(block: Block) -> None:
        block.flush()
        taken = block.taken
        if not condition.is_always:
            taken = taken & block.condition(condition).ballot
        with block.at.when(taken != 0):
            options = (1,) if line.yields else ()
            block.help_all("leave", taken, block.at.i32(block.number + 1), options=options)
            block.give(STAY)
        block.give(block.number + 1)

    return emit


@lifts("KILL", "BPT", says="A trap: stops with an error.")
def _kill(line: Line) -> Emit:
    line.skip()
    line.ends = True
    return lambda block: block.trap(is_unknown=False)


# ---- Branches. ---------------------------------------------------------------------------------
@lifts(
    "BRA",
    says="Branch. Lanes that go different ways run one after the other until they meet again.",
)
def _branch(line: Line) -> Emit:
    line.only("U", "DIV", "CONV", "INC", "YIELD", "ANY")
    line.ends = True
    if line.has("ANY"):
        return _branch_if_any(line)
    if line.has("DIV", "CONV"):
        every = SourceOperand(Bits(0xFFFFFFFF))  # Turing's BRA.CONV names no lanes
        meant = line.source() if len(line.operands) > line.next + 1 else every
        there = line.label()

        def emit_div(block: Block) -> None:
            block.flush()
            lanes = block.read(meant).lane(block.mask.lowest)
            all_there = block.mask == lanes
            goes = (block.taken != 0) & (all_there if line.has("CONV") else ~all_there)
            after = block.at.i64(block.number + 1)
            block.give(goes.choose(block.at.i64(there), after))

        return emit_div
    condition = line.condition()
    if line.peek(Predicate):
        raise DecodeProblem("two predicates of BRA")
    there = line.label()

    def emit(block: Block) -> None:
        at = block.at
        block.flush()
        taken = block.taken
        if not condition.is_always:
            taken = taken & block.condition(condition).ballot
        with at.when(taken == block.mask):
            block.give(there)
        with at.when(taken == 0):
            block.give(block.number + 1)
        split = "split_fewer" if line.yields else "split"
        block.help_all(split, taken, at.i32(there), at.i32(block.number + 1))
        block.give(STAY)

    return emit


def _branch_if_any(line: Line) -> Emit:
    """BRA.U.ANY: all lanes go there if the guard holds for one."""
    there = line.label()

    def emit(block: Block) -> None:
        block.flush()
        after = block.at.i64(block.number + 1)
        block.give((block.taken != 0).choose(block.at.i64(there), after))

    return emit


@lifts(
    "LEPC", says="Return address of a call of the system. It is zero here: such calls need none."
)
def _place(line: Line) -> Emit:
    line.only()
    target = line.target(words=2)
    line.skip()

    def emit(block: Block) -> None:
        if target is not None:
            zero = block.at.i32(0).spread()
            block.write(target, zero)
            block.write(target, zero, 1)

    return emit


@lifts("CALL", says="Call of a function, by a pointer too, or of printf, malloc, free, assert.")
def _call(line: Line) -> Emit:
    line.only("REL", "ABS", "NOINC")
    if line.has("ABS"):
        if line.peek(Word):
            word = line.take()
            return served(line, SystemCall(-1, word.text if isinstance(word, Word) else ""))
        place = line.plain(words=2)
        line.named(Register(0), _ARGUMENTS)
        line.skip()
        return served(line, SystemCall(place.number))
    if line.peek(Register):  # a pointer to a function: each lane goes its way
        line.targets += [each // 16 for each in line.kernel.entries.values()]
        return _to_register(line)
    line.ends = True
    there = line.label()

    def emit(block: Block) -> None:
        at = block.at
        block.flush()
        with at.when(block.taken == block.mask):
            block.give(there)
        block.help_all("split", block.taken, at.i32(there), at.i32(block.number + 1))
        block.give(STAY)

    return emit


@lifts("RET", says="Return to the address in a register.")
def _return(line: Line) -> Emit:
    line.only("REL", "NODEC")
    return _to_register(line)


def _to_register(line: Line) -> Emit:
    """Go to the address in a register, which counts from the beginning of a function."""
    line.ends = True
    address = line.source(words=2)
    target, more = line.take(), 0
    if isinstance(target, Word):
        more = line.kernel.entries.get(target.text, 0)
    elif isinstance(target, Number) and isinstance(target.value, int):
        more = target.value
    return lambda block: _to_addresses(block, block.pair(address).spread() + more)


@lifts("BRX", says="Branch through a table. Each lane has its own target.")
def _indirect(line: Line) -> Emit:
    line.only()
    line.ends = True
    address, offset = line.source(words=2), line.immediate()

    def emit(block: Block) -> None:
        behind = 16 * (block.number + 1) + offset
        _to_addresses(block, block.word(address, 0).resized(64, signed=True).spread() + behind)

    return emit


def _to_addresses(block: Block, addresses: Value) -> None:
    block.flush()
    after = block.at.i32(block.number + 1)
    block.check(block.help_all("scatter_lanes", block.taken, after, addresses))
    block.give(STAY)


# ---- Convergence. ------------------------------------------------------------------------------
def barrier(line: Line) -> int:
    barrier = line.take()
    if not isinstance(barrier, ConvergenceBarrier) or barrier.number > 15:
        raise DecodeProblem(f"barrier of {line.name}")
    return barrier.number


_SCHEDULING = ("RECONVERGENT", "RELIABLE")
"""What sm_100 and later say of how lanes are scheduled: not which lanes meet."""


@lifts("BSSY", says="Names the lanes that will meet at a BSYNC.")
def _bssy(line: Line) -> Emit:
    line.only(*_SCHEDULING)
    which = barrier(line)
    line.label()

    def emit(block: Block) -> None:
        if line.yields:
            call(block.at, "add_to_barrier", block.warp, block.taken, block.at.i32(which))
        else:
            block.write_barrier(which, block.taken)

    return emit


@lifts("BSYNC", says="Waits for the lanes named by BSSY.")
def _bsync(line: Line) -> Emit:
    line.only(*_SCHEDULING)
    line.ends = True
    which = barrier(line)

    def emit(block: Block) -> None:
        at = block.at
        block.flush()
        if line.yields:
            block.help_all("arrive", block.taken, at.i32(block.number), at.i32(which))
            block.give(STAY)
            return
        lane = block.mask.lowest.resized(64)
        needed = at.load(block.warp, I32, lane * 4 + barrier_row(which))
        _wait(block, needed, State.AT_BSYNC, at.i32(which))

    return emit


def _wait(block: Block, needed: Value, state: State, argument: Value) -> None:
    """Go on if all lanes that are needed are here; else wait for them."""
    at = block.at
    missing = needed & at.load(block.warp, I32, ALIVE) & ~block.mask
    with at.when((block.taken == 0) | (block.taken == block.mask) & (missing == 0)):
        block.give(block.number + 1)
    here = at.i32(block.number)
    block.help_all("wait", block.taken, here, at.i32(int(state)), argument)
    block.give(STAY)


@lifts("WARPSYNC", says="Waits for the lanes of a mask.")
def _warpsync(line: Line) -> Emit:
    line.only("ALL", "COLLECTIVE", "EXCLUSIVE")
    line.ends = True
    lanes = SourceOperand(Bits(0xFFFFFFFF)) if line.has("ALL") else line.source()
    if line.has("COLLECTIVE"):
        line.label()

    def emit(block: Block) -> None:
        block.flush()
        if line.has("ALL"):
            needed = block.read(lanes).lane(block.taken.lowest & 31)
            _wait(block, needed, State.AT_WARPSYNC, needed)
            return
        at, needed = block.at, block.read(lanes).spread()
        absent = at.load(block.warp, I32, ALIVE) & ~block.mask
        missing = ((needed & absent.spread()) != 0).ballot & block.taken
        with at.when((block.taken == 0) | (block.taken == block.mask) & (missing == 0)):
            block.give(block.number + 1)
        block.help_all("wait_for_own", block.taken, at.i32(block.number), needed)
        block.give(STAY)

    return emit


@lifts(
    "YIELD", "NANOSLEEP",
    says="Lets the warp's other lanes go on first, also those that wait for these.",
)  # fmt: skip
def _yield(line: Line) -> Emit:
    line.skip()
    line.ends = True

    def emit(block: Block) -> None:
        block.flush()
        at = block.at
        after = block.number + 1
        with at.when((block.taken == 0) | (block.taken == at.load(block.warp, I32, ALIVE))):
            block.give(after)
        block.help_all("give_way", block.taken, at.i32(after))
        block.give(STAY)

    return emit


@lifts("BREAK", says="Takes lanes out of a convergence barrier.")
def _break(line: Line) -> Emit:
    line.only(*_SCHEDULING)
    condition = line.condition()
    which = barrier(line)
    line.ends = True

    def emit(block: Block) -> None:
        taken = block.taken
        if not condition.is_always:
            taken = taken & block.condition(condition).spread().ballot
        block.leave_barrier(which, taken, line.yields)
        block.go(block.number + 1)

    return emit


# ---- Barriers of the block. --------------------------------------------------------------------
@lifts("BAR", says="Barrier of the block: SYNC, ARV, RED, with a number and a count of threads.")
def _bar(line: Line) -> Emit:
    line.only("SYNC", "ARV", "RED", "DEFER_BLOCKING", "POPC", "AND", "OR", "ALL", "SYNCALL")
    line.ends = True
    zero = SourceOperand(Named(-1))
    in_registers = []
    given = [zero, zero]
    for place in range(2):
        in_registers.append(line.peek(Register))
        if in_registers[place] or line.peek(Number):
            given[place] = line.source()
    which, needed = given
    is_packed = all(in_registers)  # a register names both: the number below, the threads above
    condition = line.condition()
    options = (int(line.has("ARV") and not line.has("RED")), int(line.has("RED")))

    def emit(block: Block) -> None:
        at = block.at
        block.flush()
        lane = block.taken.lowest & 31
        off = block.number << CONSTANT_SHIFT | 1 << CONSTANT | 1 << VALUE
        with at.when(block.taken == 0):
            note(at, block.context, at.i64(off))
            block.give(block.number + 1)
        name, threads = block.read(which).lane(lane) & 15, block.read(needed).lane(lane)
        if is_packed:
            threads = threads >> 16 & 0xFFF
        if any(in_registers):
            coded = (name + (threads >> 5 << 4) + 1).resized(64)
            note(at, block.context, coded | off)
        block.help_all(
            "block_barrier", block.taken, at.i32(block.number + 1), name, threads,
            block.condition(condition).ballot, at.i32(0), options=options,
        )  # fmt: skip
        block.give(STAY)

    return emit
