"""Reading and writing the state of a running block from compiled code."""

from __future__ import annotations

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.kinds import I64, POINTER
from simulator.sass.lift.layout import CONTEXT, Fault
from simulator.sass.lift.values import Value

__all__ = ["context", "count", "field", "fill", "note", "pointer", "record"]


def context(at: Emitter, warp: Value) -> Value:
    """Return a pointer to the context of a warp."""
    return at.load(warp, POINTER)


def field(at: Emitter, block: Value, name: str) -> Value:
    """Read a field of the context."""
    return at.load(block, I64, CONTEXT[name])


def pointer(at: Emitter, block: Value, name: str) -> Value:
    """Read a field of the context that is a pointer."""
    return at.load(block, POINTER, CONTEXT[name])


def fill(at: Emitter, block: Value, name: str, value: Value | int) -> None:
    """Write a field of the context."""
    given = value if isinstance(value, Value) else at.i64(value)
    at.store(given, block, CONTEXT[name])


def count(at: Emitter, block: Value, name: str, by: Value | int) -> None:
    """Add to a field of the context."""
    fill(at, block, name, field(at, block, name) + by)


def record(at: Emitter, block: Value, why: Fault, thread: Value, address: Value) -> None:
    """Note a fault."""
    fill(at, block, "why", int(why))
    fill(at, block, "thread", thread)
    fill(at, block, "address", address)


def note(at: Emitter, block: Value, event: Value) -> None:
    """Add to the list of what warps do, where there is one."""
    with at.when(field(at, block, "noting") != 0, likely=False):
        at.store(event, pointer(at, block, "events"), field(at, block, "event_count") * 8)
        count(at, block, "event_count", 1)
