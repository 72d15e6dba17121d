"""Generic addresses: which memory each lane's is in, and the helper of that memory for it.

An instruction with generic addresses is counted twice: its number stands for global memory, the
next one for shared memory.
"""

from __future__ import annotations

from simulator.sass.architectures import LOCAL_WINDOW, SHARED_WINDOW
from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import call, helper
from simulator.sass.lift.kinds import I1, I32, I64, POINTER, vector
from simulator.sass.lift.state import context, count

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
    count(at, context(at, warp), "generic_shared", shared.ones.resized(64))
    for memory, lanes, places, number in (
        ("global", mask & ~shared & ~local, addresses, site),
        ("shared", shared, narrow, site + 1),
        ("local", local, narrow, site),
    ):
        with at.when(lanes != 0):
            name = f"{what}_{memory}"
            fine = call(at, name, warp, lanes, places, *rows, number, options=options)
            with at.when(~fine, likely=False):
                at.give(at.bit(False))
    at.give(at.bit(True))
