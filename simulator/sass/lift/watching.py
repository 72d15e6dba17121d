"""Watching shared memory for what the asynchronous proxy writes and reads beside compiled code.

TMA and wgmma act at once here; on the chip they do not. `simulator.sass.run.watch` keeps three
things for each 16 bytes of shared memory: who wrote them last, who has not yet waited for what TMA
brings there, and which product reads them. Compiled code looks and writes there, and calls out
where it finds cause. Only kernels that use those units are watched.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import helper
from simulator.sass.lift.kinds import I1, I32, I64, POINTER, vector
from simulator.sass.lift.layout import NUMBER
from simulator.sass.lift.spaces import WORDS, Place
from simulator.sass.lift.state import context, count, field, fill, pointer
from simulator.sass.lift.table import Emit
from simulator.sass.lift.values import Value

if TYPE_CHECKING:
    from simulator.sass.lift.block import Block

__all__ = ["PIECE", "Cause", "fence", "suspecting", "watch_read", "watch_write"]

PIECE = 16
"""Bytes that are watched together; each access of a lane lies in one."""

_SHIFT = PIECE.bit_length() - 1


class Cause(IntEnum):
    """Why compiled code calls out."""

    READ = 0
    """A lane reads what TMA brought, and its warp has not waited for it."""
    WRITE = 1
    """A lane writes what a product may still read."""
    REGISTER = 2
    """An instruction touches registers of a product that may not be done."""


def watch_read(at: Emitter, block: Value, warp: Value, site: Value, place: Place) -> None:
    """Look whether what lanes read has been waited for."""
    with at.when(field(at, block, "watch") != 0, likely=False):
        places = at.beside(pointer(at, block, "landing"), (place.offsets >> _SHIFT) * 4)
        unaware = at.gather(places, place.mask.by_lane, at.constant(WORDS, 0), 4)
        number = at.load(warp, I64, NUMBER)
        bit = at.i32(1) << number.resized(32)
        hits = ((unaware & bit) != 0).ballot & place.mask
        _call_out(at, block, number, site, place, hits, Cause.READ)


def watch_write(
    at: Emitter, block: Value, warp: Value, site: Value, place: Place, is_marked: bool = True
) -> None:
    """Note who writes, and look whether a product may still read there.

    Parameters
    ----------
    at, block, warp, site, place
        Those of `spaces.trace`.
    is_marked
        False: what is written needs no fence. That is so of cp.async, since CUTLASS's own main
        loops (`sm90_mma_multistage_gmma_ss_warpspecialized.hpp`) multiply it without one.
    """
    with at.when(field(at, block, "watch") != 0, likely=False):
        pieces, active = place.offsets >> _SHIFT, place.mask.by_lane
        number = at.load(warp, I64, NUMBER)
        mark = at.i64(-1)
        if is_marked:
            mark = field(at, block, "moment") << 32 | site << 5 | number
            fill(at, block, "marked", 1)
        written = at.beside(pointer(at, block, "written"), pieces * 8)
        at.scatter(mark.spread(), written, active, 8)
        places = at.beside(pointer(at, block, "reading"), pieces * 4)
        readers = at.gather(places, active, at.constant(vector(I32), 0), 4)
        until = field(at, block, "read_until").resized(32)
        hits = (readers > until).ballot & place.mask
        _call_out(at, block, number, site, place, hits, Cause.WRITE)


def _call_out(
    at: Emitter, block: Value, number: Value, site: Value, place: Place, hits: Value, cause: Cause
) -> None:
    with at.when(hits != 0, likely=False):
        piece = (place.offsets.lane(hits.lowest) >> _SHIFT).resized(64)
        values = [number, site, piece, at.i64(int(cause))]
        at.called(pointer(at, block, "suspect"), I64, *values)


@helper(I1, POINTER, I32)
def fence_proxy(at: Emitter) -> None:
    """FENCE.VIEW.ASYNC: what this warp wrote is seen by the asynchronous proxy from now on."""
    warp, mask = at.arguments
    block = context(at, warp)
    with at.when((mask != 0) & (field(at, block, "watch") != 0)):
        count(at, block, "moment", 1)
        place = at.load(warp, I64, NUMBER) * 8
        at.store(field(at, block, "moment"), pointer(at, block, "fenced"), place)
    at.give(at.bit(True))


def fence(block: Block) -> None:
    """Write a fence between the proxies."""
    block.help("fence_proxy")


def suspecting(emit: Emit) -> Emit:
    """Let an instruction call out before it acts."""

    def emit_both(block: Block) -> None:
        at, taken = block.at, block.taken & block.mask
        with at.when((taken != 0) & (block.field("watch") != 0)):
            values = [
                at.load(block.warp, I64, NUMBER), at.i64(block.number), at.i64(0),
                at.i64(int(Cause.REGISTER)),
            ]  # fmt: skip
            at.called(pointer(at, block.context, "suspect"), I64, *values)
        emit(block)

    return emit_both
