"""Branches, convergence, barriers, and what a replay may leave out."""

from __future__ import annotations

from simulator.sass import machine as m
from simulator.sass.decode.line import Line, lowers
from simulator.sass.decode.operands import Barrier, DecodeProblem, Number, Predicate, Register, Word

__all__: list[str] = []


@lowers(
    "NOP", "YIELD", "DEPBAR", "LDGDEPBAR", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "CCTLL",
    "CCTLT",
    "NANOSLEEP", "ARRIVES", "PMTRIG", "FENCE", "ACQBULK", "USETMAXREG", "PREEXIT",
    "ENDCOLLECTIVE",
    says="Ordering, caching and waiting: nothing to do, since every instruction completes at once.",
)  # fmt: skip
def _nothing(line: Line) -> None:
    # Those wait for copies of threads; other forms belong to engines that are not modelled.
    if line.name in ("ARRIVES", "FENCE", "ACQBULK") and not line.has("VIEW", "LDGSTSBAR"):
        raise DecodeProblem(f"opcode {line.name}")
    line.set(m.NOP)
    line.next = len(line.operands)


@lowers("EXIT", says="Ends its active lanes.")
def _exit(line: Line) -> None:
    line.only()
    line.set(m.EXIT)


@lowers("KILL", "BPT", says="A trap: stops with an error.")
def _kill(line: Line) -> None:
    line.set(m.KILL)
    line.next = len(line.operands)


@lowers("BRA", says="Branch; lanes that part run one after the other until they meet again.")
def _branch(line: Line) -> None:
    line.only("U", "DIV", "CONV", "INC", "YIELD")
    if line.has("DIV", "CONV"):
        line.set(m.BRA_DIV, y=line.has("CONV"))
        line.source(m.A)
    else:
        line.set(m.BRA, pa=line.predicate())
        while line.peek(Predicate):
            raise DecodeProblem("two predicates of BRA")
    line.fields[m.IMM] = line.label()


@lowers("CALL", says="Call of a function within the kernel; others are refused.")
def _call(line: Line) -> None:
    line.only("REL", "NOINC")
    line.set(m.CALL)
    line.fields[m.IMM] = line.label()


@lowers("RET", says="Return to the address in a register.")
def _return(line: Line) -> None:
    line.only("REL", "NODEC")
    line.set(m.RET)
    line.source(m.A, words=2)
    target = line.take()
    if isinstance(target, Word):
        line.fields[m.IMM] = line.lowered.kernel.entries.get(target.text, 0)
    elif isinstance(target, Number) and isinstance(target.value, int):
        line.fields[m.IMM] = target.value


@lowers("BRX", says="Branch through a table; each lane goes its way.")
def _indirect(line: Line) -> None:
    line.only()
    line.set(m.BRX)
    line.source(m.A, words=2)
    line.fields[m.IMM] = line.immediate()


def _barrier(line: Line) -> int:
    barrier = line.take()
    if not isinstance(barrier, Barrier) or barrier.number > 15:
        raise DecodeProblem(f"barrier of {line.name}")
    return barrier.number


@lowers("BSSY", says="Names the lanes that will meet at a BSYNC.")
def _bssy(line: Line) -> None:
    line.only()
    line.set(m.BSSY, x=_barrier(line))
    line.label()


@lowers("BSYNC", says="Waits for the lanes named by BSSY.")
def _bsync(line: Line) -> None:
    line.only()
    line.set(m.BSYNC, x=_barrier(line))


@lowers("BREAK", says="Takes lanes out of a convergence barrier.")
def _break(line: Line) -> None:
    line.only()
    condition = line.predicate()
    if condition != m.TRUE:
        raise DecodeProblem("predicate of BREAK")
    line.set(m.BREAK, x=_barrier(line))


@lowers("BMOV", says="Saves and restores a convergence barrier.")
def _bmov(line: Line) -> None:
    line.only("32", "CLEAR")
    if line.peek(Barrier):
        line.set(m.BMOV_TO, x=_barrier(line))
        line.source(m.A)
    else:
        line.set(m.BMOV_FROM, y=line.has("CLEAR"))
        line.destination()
        line.fields[m.X] = _barrier(line)


@lowers("WARPSYNC", says="Waits for the lanes of a mask.")
def _warpsync(line: Line) -> None:
    line.only("ALL", "COLLECTIVE", "EXCLUSIVE")
    line.set(m.WARPSYNC)
    if line.has("ALL"):
        line.fields[m.A] = line.lowered.row("bits", 0, 0xFFFFFFFF)
        return
    line.source(m.A)
    if line.has("COLLECTIVE"):
        line.label()


@lowers("BAR", says="Barrier of the block: SYNC, ARV, RED, with a number and a count of threads.")
def _bar(line: Line) -> None:
    line.only("SYNC", "ARV", "RED", "DEFER_BLOCKING", "POPC", "AND", "OR", "ALL", "SYNCALL")
    line.set(m.BAR_RED if line.has("RED") else m.BAR_ARV if line.has("ARV") else m.BAR)
    if line.peek(Number) or line.peek(Register):
        line.source(m.A)
    if line.peek(Number) or line.peek(Register):
        line.source(m.B)
    line.fields[m.PA] = line.predicate()


@lowers("B2R", says="Reads what BAR.RED found.")
def _b2r(line: Line) -> None:
    line.only("RESULT")
    line.set(m.B2R)
    line.destination()
    if line.peek(Predicate):
        line.fields[m.PD] = line.predicate_target()
    # AND and OR differ in what the predicate means: the BAR.RED before says which.
    for number in range(line.number - 1, -1, -1):
        before = line.lowered.instructions[number].opcode.split(".")
        if before[:2] == ["BAR", "RED"]:
            line.fields[m.X] = 0 if "POPC" in before else 1 if "AND" in before else 2
            return
    raise DecodeProblem("B2R without BAR.RED")
