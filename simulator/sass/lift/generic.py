"""Generic addresses: which memory each lane's is in, and the helper of that memory for it.

An instruction with generic addresses is counted three times: its number stands for global memory,
the next one for shared memory, and the one behind it for that of the cluster's other blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulator.sass.architectures import LOCAL_WINDOW, SHARED_WINDOW
from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import call, helper
from simulator.sass.lift.kinds import I1, I32, I64, POINTER, vector
from simulator.sass.lift.spaces import Place, trace
from simulator.sass.lift.state import context, count, field, pointer
from simulator.sass.lift.values import Value

__all__: list[str] = []

_WIDE = vector(I64)


@helper(I1, POINTER, I32, _WIDE, I64, I64)
def load_generic(at: Emitter, width: int, variant: int) -> None:
    """LD."""
    _by_memory(at, "load", (width, variant))


@helper(I1, POINTER, I32, _WIDE, I64, I64)
def store_generic(at: Emitter, width: int, variant: int) -> None:
    """ST."""
    _by_memory(at, "store", (width, variant))


@helper(I1, POINTER, I32, _WIDE, I64, I64, I64, I64)
def atomic_generic(at: Emitter, width: int, how: int, kind: int, writes: int) -> None:
    """ATOM."""
    _by_memory(at, "atomic", (width, how, kind, writes))


def _by_memory(at: Emitter, what: str, options: tuple[int, ...]) -> None:
    warp, mask, addresses, *rows, site = at.arguments
    windows, narrow = (addresses >> 32).resized(32), addresses.resized(32)
    shared = (windows == SHARED_WINDOW).ballot & mask
    local = (windows == LOCAL_WINDOW).ballot & mask
    block = context(at, warp)
    ranks, blocks = narrow >> 24, field(at, block, "blocks").resized(32)
    away = ((ranks != field(at, block, "rank").resized(32)) & (ranks < blocks)).ballot & shared
    shared, left = shared & ~away, at.variable(away)
    count(at, block, "generic_shared", shared.ones.resized(64))
    with at.forever() as done:
        with at.when(left.get() == 0):
            done()
        together = (ranks == ranks.lane(left.get().lowest)).ballot & left.get()
        _access(at, f"{what}_block", together, narrow, (*rows, site), options)
        left.set(left.get() & ~together)
    with at.when(away != 0, likely=False):  # by the cluster's addresses, of all blocks at once
        trace(at, block, warp, site + 2, Place(pointer(at, block, "shared"), narrow, away))
    for memory, lanes, places, number in (
        ("global", mask & ~shared & ~away & ~local, addresses, site),
        ("shared", shared, narrow, site + 1),
        ("local", local, narrow, at.i64(-1)),
    ):
        with at.when(lanes != 0):
            _access(at, f"{what}_{memory}", lanes, places, (*rows, number), options)
    at.give(at.bit(True))


def _access(
    at: Emitter, name: str, lanes: Value, places: Value, rows: Sequence[Value],
    options: tuple[int, ...],
) -> None:  # fmt: skip
    """Call the helper of one memory; the caller ends where there was a fault."""
    fine = call(at, name, at.arguments[0], lanes, places, *rows, options=options)
    with at.when(~fine, likely=False):
        at.give(at.bit(False))
