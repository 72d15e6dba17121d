"""Who stands where: a served instruction, and what a subwarp waits for."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Asked", "Call", "Wait"]


@dataclass(frozen=True)
class Call:
    """An instruction that is served for a subwarp."""

    warp: int
    number: int
    mask: int
    """Its lanes."""
    taken: int
    """Those that take part."""


@dataclass(frozen=True)
class Asked:
    """The phase of an mbarrier that lanes ask for."""

    address: int
    phase: int
    """Its parity."""
    lanes: int


@dataclass(frozen=True)
class Wait:
    """A subwarp that waits at an instruction."""

    call: Call
    what: str
    """mbarrier, cluster, warpgroup or registers."""
    asked: tuple[Asked, ...] = ()
    """Of mbarriers: the phases whose ends it waits for, one of them at least."""
    predicate: int | None = None
    """Of mbarriers: what says whether the phase is over."""
    arrivals: int = 0
    """Of a cluster's barrier: how often this warp has arrived."""
    registers: int = 0
    """Of registers: how many it asks for per thread."""
