"""mbarriers: 64-bit words of shared memory that count arrivals and bytes.

    bit 63       phase: the parity of the phase that is not complete yet
    bits 43-62   2**20 - pending arrivals; an arrival adds, and the carry flips the phase
    bits 21-42   bytes outstanding (tx-count), two's complement
    bits 1-20    2**20 - arrivals that each phase expects

What init writes, `mbarrier.pending_count` and the waits (which compare bit 63) show all but the
bytes (NVRTC 13.5, sm_90a). Their place is what is left, and no compiled code reads it. A phase is
complete when no arrival and no byte is pending: PTX ISA, "Phase of the mbarrier object".
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.errors import BarrierError, MemoryAccessError
from simulator.sass.run.rows import Bytes

__all__ = [
    "Barrier",
    "arrive",
    "complete_tx",
    "describe",
    "initialise",
    "invalidate",
    "load",
    "passed",
    "pending_count",
]

MOST = (1 << 20) - 1
"""Arrivals, and bytes outstanding (PTX ISA, "Size and alignment of mbarrier object")."""


@dataclass(frozen=True)
class Barrier:
    """An mbarrier's state: what its word says."""

    phase: int
    """Parity of the phase that is not complete: 0 after init."""
    pending: int
    expected: int
    """Arrivals of each phase."""
    bytes: int = 0
    """Bytes expected and not yet there; below 0 where they came first."""

    @classmethod
    def of(cls, word: int) -> Barrier:
        """Read a word."""
        size = word >> 21 & 0x3FFFFF
        return cls(
            word >> 63, -(word >> 43) & MOST, -(word >> 1) & MOST,
            size - (1 << 22) if size >> 21 else size,
        )  # fmt: skip

    @property
    def word(self) -> int:
        """The 64 bits."""
        counts = (-self.pending & MOST) << 43 | (-self.expected & MOST) << 1
        return self.phase << 63 | counts | (self.bytes & 0x3FFFFF) << 21

    def __str__(self) -> str:
        """Say what is pending, for a message about a wait that does not end."""
        arrived = f"{self.pending} of {self.expected} arrivals pending"
        if self.bytes < 0:
            return f"phase parity {self.phase}, {arrived}, {-self.bytes} bytes were not expected"
        return f"phase parity {self.phase}, {arrived}, {self.bytes} bytes outstanding"


def load(shared: Bytes, address: int) -> Barrier:
    """Return the mbarrier at a shared address.

    Raises MemoryAccessError unless it is 8-byte aligned and inside, BarrierError for a word that
    was never initialised.
    """
    _check(shared, address)
    barrier = Barrier.of(int.from_bytes(shared[address : address + 8].tobytes(), "little"))
    if not barrier.expected:
        raise BarrierError(
            f"the mbarrier at {address:#x} was never initialised, was invalidated, or all threads"
            " dropped out of it (next: mbarrier.init, then a barrier before its first use)"
        )
    return barrier


def initialise(shared: Bytes, address: int, word: int) -> None:
    """Store the word that `mbarrier.init` makes of a count (SYNCS.EXCH.64).

    Raises BarrierError for a word that no count makes: counts go from 1 to 1,048,575.
    """
    _check(shared, address)
    count = -(word >> 1) & MOST
    if not count or word != Barrier(0, count, count).word:
        raise BarrierError(
            f"mbarrier.init at {address:#x} with the word {word:#x}"
            f" (accepted: counts of 1 to {MOST})"
        )
    _store(shared, address, word)


def invalidate(shared: Bytes, address: int) -> None:
    """End an mbarrier's life (SYNCS.CCTL.IV); its bytes become 0. Raises what `load` raises."""
    load(shared, address)
    _store(shared, address, 0)


def arrive(
    shared: Bytes,
    address: int,
    count: int = 1,
    *,
    expect: int = 0,
    drop: bool = False,
    completes: bool = True,
) -> int:
    """Expect bytes, then arrive `count` times; return the word before (PTX's state).

    Raises BarrierError for more arrivals than are pending, and for bytes or counts beyond
    1,048,575. So it does for an arrival that ends the phase though it says `completes=False`; what
    `load` raises.

    Parameters
    ----------
    shared, address
        Shared memory of the block, and the barrier's byte in it.
    count
        Arrivals; 0 only expects.
    expect
        Bytes that the phase waits for.
    drop
        Whether the arrivals are taken off later phases too.
    completes
        False: the instruction says that it does not end the phase.
    """
    barrier = load(shared, address)
    where = f"the mbarrier at {address:#x} ({barrier})"
    if not 0 <= count <= MOST or not 0 <= expect <= MOST:
        raise BarrierError(
            f"{count} arrivals and {expect} bytes expected at {where} (accepted: 0 to {MOST})"
        )
    if count > barrier.pending:
        raise BarrierError(
            f"{count} arrivals at {where} (accepted: at most {barrier.pending}, as many as are"
            " still pending)"
        )
    after = _moved(barrier, where, count, expect, drop)
    if not completes and count and after.phase != barrier.phase:
        raise BarrierError(
            f"{count} arrivals at {where} complete its phase, and the instruction is .noComplete"
            " (accepted there: fewer arrivals than are pending)"
        )
    _store(shared, address, after.word)
    return barrier.word


def complete_tx(shared: Bytes, address: int, size: int) -> bool:
    """Take `size` bytes off those outstanding; return whether that ended the phase.

    Bytes may come before they are expected. Raises BarrierError for more than 1,048,575 in all,
    and what `load` raises.
    """
    barrier = load(shared, address)
    after = _moved(barrier, f"the mbarrier at {address:#x} ({barrier})", 0, -size, False)
    _store(shared, address, after.word)
    return after.phase != barrier.phase


def passed(shared: Bytes, address: int, wanted: int) -> bool:
    """Return whether the phase asked for is complete: test_wait, and one try of try_wait.

    `wanted` is the register of SYNCS.PHASECHK: bit 31 is a parity, or the phase of the upper half
    of a state that `arrive` returned. Raises what `load` raises.
    """
    return load(shared, address).phase != (wanted >> 31 & 1)


def pending_count(state: int) -> int:
    """Return the arrivals that were pending at a state that `arrive` returned."""
    return Barrier.of(state).pending


def describe(shared: Bytes, address: int) -> str:
    """Say what an mbarrier waits for, also where it is not one: for messages about deadlocks."""
    try:
        return f"mbarrier at {address:#x}: {load(shared, address)}"
    except (BarrierError, MemoryAccessError) as error:
        return str(error)


def _moved(barrier: Barrier, where: str, count: int, size: int, drop: bool) -> Barrier:
    """Return the barrier after `count` arrivals and `size` more bytes outstanding."""
    pending, outstanding = barrier.pending - count, barrier.bytes + size
    if abs(outstanding) > MOST:
        raise BarrierError(
            f"{outstanding} bytes outstanding at {where} (accepted: {-MOST} to {MOST})"
        )
    expected = barrier.expected - count if drop else barrier.expected
    if pending or outstanding:
        return Barrier(barrier.phase, pending, expected, outstanding)
    return Barrier(1 - barrier.phase, expected, expected)


def _check(shared: Bytes, address: int) -> None:
    if address % 8 or not 0 <= address <= shared.size - 8:
        raise MemoryAccessError(
            f"an mbarrier at shared address {address:#x} (accepted: multiples of 8 within the"
            f" block's {shared.size} bytes)"
        )


def _store(shared: Bytes, address: int, word: int) -> None:
    shared[address : address + 8].view("<u8")[0] = word
