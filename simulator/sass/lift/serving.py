"""Calling out of compiled code: what Hopper's units do is served in Python."""

from __future__ import annotations

from simulator.sass.lift.block import Block
from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import call, helper
from simulator.sass.lift.kinds import I1, I32, I64, POINTER
from simulator.sass.lift.layout import NUMBER, STAY, Fault
from simulator.sass.lift.line import Line
from simulator.sass.lift.requests import Reply, Request
from simulator.sass.lift.state import context, pointer, record
from simulator.sass.lift.table import Emit

__all__ = ["served"]


@helper(I64, POINTER, I64, I32, I32)
def serve(at: Emitter) -> None:
    """Serve an instruction: its number, the lanes that stand at it, those that take part."""
    warp, number, mask, taken = at.arguments
    place = pointer(at, context(at, warp), "serve")
    values = [at.load(warp, I64, NUMBER), number, mask.resized(64), taken.resized(64)]
    at.give(at.called(place, I64, *values))


@helper(I1, POINTER, I32)
def whole_warp(at: Emitter) -> None:
    """Refuse to go on without all lanes; without any there is nothing to do."""
    warp, mask = at.arguments
    with at.when((mask != -1) & (mask != 0), likely=False):
        record(at, context(at, warp), Fault.LANES, at.load(warp, I64, NUMBER) * 32, at.i64(0))
        at.give(at.bit(False))
    at.give(at.bit(True))


def served(line: Line, request: Request, waits: bool = False) -> Emit:
    """Let the scheduler serve an instruction. `waits`: its lanes may have to stay at it."""
    line.request = request
    line.begins = line.ends = waits

    def emit(block: Block) -> None:
        at, taken = block.at, block.taken & block.mask
        block.flush()
        with at.when(taken != 0):
            number = at.i64(block.number)
            answer = call(at, "serve", block.warp, number, block.mask, taken)
            with at.when(answer == Reply.FAULT, likely=False):
                thread = at.load(block.warp, I64, NUMBER) * 32 + taken.lowest.resized(64)
                record(at, block.context, Fault.SERVED, thread, at.i64(0))
                block.fault()
            if waits:
                with at.when(answer == Reply.STAY):
                    block.give(STAY)
        block.forget()
        if waits:
            block.go(block.number + 1)

    return emit
