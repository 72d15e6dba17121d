"""Moving convergence barriers, return addresses and what a barrier found into registers."""

from __future__ import annotations

from simulator.sass.lift.block import WORDS, Block
from simulator.sass.lift.layout import RETURN_PLACE, ROW
from simulator.sass.lift.line import Line
from simulator.sass.lift.opcodes.control import barrier
from simulator.sass.lift.operands import ConvergenceBarrier, DecodeProblem, Predicate, Word
from simulator.sass.lift.subwarps import barrier_row
from simulator.sass.lift.table import Emit, lifts

__all__: list[str] = []


@lifts("BMOV", says="Saves and restores a convergence barrier.")
def _bmov(line: Line) -> Emit:
    line.only("32", "CLEAR")
    if line.peek(ConvergenceBarrier):
        which = barrier(line)
        if line.peek(ConvergenceBarrier):
            return _between(which, barrier(line), line.has("CLEAR"))
        source = line.source()
        return lambda block: block.write_barrier(which, block.read(source))
    clear, target = line.has("CLEAR"), line.target()
    which = barrier(line)

    def emit(block: Block) -> None:
        block.write(target, block.at.load(block.warp, WORDS, barrier_row(which)))
        if clear:
            block.write_barrier(which, block.at.i32(0))

    return emit


def _between(which: int, source: int, clear: bool) -> Emit:
    """Copy a barrier to another: BMOV.32.CLEAR B1, B0, of sm_8x."""

    def emit(block: Block) -> None:
        block.write_barrier(which, block.at.load(block.warp, WORDS, barrier_row(source)))
        if clear:
            block.write_barrier(source, block.at.i32(0))

    return emit


_HALVES = {"Rpc.LO": RETURN_PLACE, "Rpc.HI": RETURN_PLACE + ROW}


@lifts("RPCMOV", says="Writes or reads half of the register for return addresses.")
def _rpcmov(line: Line) -> Emit:
    line.only("32")
    if line.peek(Word):
        place, source = _half(line), line.source()
        return lambda block: block.store_row(place, block.read(source).spread())
    target, place = line.target(), _half(line)
    return lambda block: block.write(target, block.at.load(block.warp, WORDS, place))


def _half(line: Line) -> int:
    """Read Rpc.LO or Rpc.HI; return its place in a warp's memory."""
    word = line.take()
    if not line.has("32") or not isinstance(word, Word) or word.text not in _HALVES:
        raise DecodeProblem(f"operand {line.next} of {line.name}")
    return _HALVES[word.text]


@lifts("B2R", says="Reads the result of BAR.RED.")
def _b2r(line: Line) -> Emit:
    line.only("RESULT")
    target = line.target()
    condition = line.predicate_target() if line.peek(Predicate) else None
    # AND and OR differ in what the predicate means: the BAR.RED before says which.
    before = (each.opcode.split(".") for each in reversed(line.instructions[: line.number]))
    reduction = next((each for each in before if each[:2] == ["BAR", "RED"]), None)
    if reduction is None:
        raise DecodeProblem("B2R without BAR.RED")

    def emit(block: Block) -> None:
        yes = block.field("result_yes").resized(32)
        if "POPC" in reduction:
            answer = yes
        elif "AND" in reduction:
            answer = (block.field("result_no") == 0).resized(32)
        else:
            answer = (yes != 0).resized(32)
        block.write(target, answer)
        block.write_condition(condition, (answer != 0).spread())

    return emit
