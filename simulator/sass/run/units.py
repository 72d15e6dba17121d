"""Serving what compiled code calls out for: mbarriers, copies, products, clusters.

An instruction is served for one subwarp. Where it has to wait, the subwarp is filed as waiting,
and goes on when what it waits for is there: so a warp that polls an mbarrier does not keep the
others from running. Copies and products are done at once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simulator.errors import ExecutionError, MemoryAccessError
from simulator.sass.lift.requests import (
    AsyncStore,
    Bulk,
    BulkGroup,
    ClusterBarrier,
    GroupOrder,
    MaxRegisters,
    Mbarrier,
    Product,
    Reply,
    SystemCall,
    TileCopy,
)
from simulator.sass.run import barriers, copies, products, registers, system
from simulator.sass.run.phases import Phases
from simulator.sass.run.rows import Bytes
from simulator.sass.run.standing import Call, Wait
from simulator.sass.run.tally import FIGURES
from simulator.sass.run.warpgroups import Warpgroups
from simulator.sass.run.warps import Warps
from simulator.sass.run.watch import Watch
from simulator.sass.run.witness import UnitAccess, UnitKind, Witness

if TYPE_CHECKING:
    from simulator.sass.run.cluster import Cluster
    from simulator.sass.run.memory import GlobalMemory
    from simulator.sass.run.moves import Moves

__all__ = ["SERVE", "Units"]

SERVE = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)

_SERVERS: dict[type, Callable[[Any, Call, Any], int]] = {
    Mbarrier: barriers.serve,
    ClusterBarrier: barriers.serve_cluster,
    TileCopy: copies.serve_tile,
    Bulk: copies.serve_bulk,
    BulkGroup: copies.serve_group,
    AsyncStore: copies.serve_store,
    Product: products.serve,
    GroupOrder: products.serve_order,
    MaxRegisters: registers.serve,
    SystemCall: system.serve,
}


@dataclass
class Units:
    """What serves the warps of one block, and its shared memory by address."""

    cluster: Cluster
    rank: int
    warps: Warps
    shared: Bytes
    """By shared address within the block, from 0."""
    first_address: int
    """The first that a kernel may use."""
    local: Bytes
    """Each thread's own memory, shape (threads of whole warps, bytes)."""
    figures: np.ndarray[Any, np.dtype[np.int64]]
    """What was counted: a row for each site, columns as in `tally.FIGURES`."""
    watch: Watch | None = None
    """Over its shared memory, where the kernel has units that act beside its threads."""
    notes: Callable[[tuple[int, int, int, int]], None] | None = None
    """What takes note of accesses: site, mask, sectors, and wavefronts or bytes."""
    phases: Phases | None = None
    """What takes note of phases of mbarriers and of copies."""
    order: Callable[..., None] | None = None
    """What takes note of what is done at mbarriers, where races are watched."""
    moves: Moves | None = None
    """Where shared memory's bytes lie instead."""
    witness: Witness | None = None
    """What is told of every access to shared memory."""

    def __post_init__(self) -> None:
        """Begin with nobody waiting."""
        self.problem: BaseException | None = None
        self.blamed: tuple[int, int] | None = None
        """The instruction and the warp of a problem, where another is being served."""
        self.waits: list[Wait] = []
        self.warpgroups = Warpgroups()
        self.turns: dict[int, list[int]] = {}
        """Of each mbarrier: its parity, and how many of its phases are over."""
        self.pool = self._full_pool()
        """The registers of its warps."""
        self.joined = 0
        """How often the barrier of the cluster opened, as a warp of this block knows."""
        self.is_awake = True
        """Whether a warp may be able to go on since the block last stood."""

    @property
    def memory(self) -> GlobalMemory:
        """Global memory."""
        return self.cluster.launch.memory

    def begin(self) -> None:
        """Begin a block."""
        self.problem, self.blamed, self.waits, self.is_awake = None, None, [], True
        self.turns, self.warpgroups, self.joined = {}, Warpgroups(), 0
        self.pool = self._full_pool()

    def _full_pool(self) -> registers.RegisterPool:
        """Return the registers of a block that begins."""
        return registers.RegisterPool(len(self.warps.memory), self.cluster.launch.kernel.registers)

    def end(self) -> None:
        """End a block: what the warps of its warpgroups left out is a problem."""
        try:
            for group in self.warpgroups.groups():
                products.meet(self, group)
        except ExecutionError as error:
            self.problem = error

    def serve(self, warp: int, number: int, mask: int, taken: int) -> int:
        """Serve an instruction for lanes of a warp: go on, stay, or a fault."""
        call = Call(warp, number, mask & 0xFFFFFFFF, taken & 0xFFFFFFFF)
        request = self.cluster.requests[number]
        try:
            return _SERVERS[type(request)](self, call, request)
        except BaseException as error:  # it must not cross compiled code
            self.problem = error
            return Reply.FAULT

    # ---- Waiting. ------------------------------------------------------------------------------
    def wait(self, wait: Wait) -> int:
        """File a subwarp as waiting."""
        self.warps.park(wait.call.warp, wait.call.mask, wait.call.number)
        self.waits.append(wait)
        return Reply.STAY

    def wake(self, waits: list[Wait]) -> None:
        """Let subwarps go on behind the instructions at which they wait."""
        for wait in waits:
            self.waits.remove(wait)
            self.warps.release(wait.call.warp, wait.call.mask, wait.call.number + 1)
        if waits:
            self.is_awake = True
            self.cluster.wakes(self)

    # ---- Addresses. ----------------------------------------------------------------------------
    def block_at(self, address: int) -> tuple[Units, int]:
        """Return the block of the cluster that a shared address is in, and the address there.

        Raises MemoryAccessError for a block that the cluster does not have.
        """
        rank, place = address >> 24, address & 0xFFFFFF
        blocks = self.cluster.units
        if rank >= len(blocks):
            raise MemoryAccessError(
                f"shared address {address:#x} names block {rank} of a cluster of {len(blocks)}"
            )
        if place < self.first_address:
            raise MemoryAccessError(
                f"shared address {place:#x} belongs to the system (accepted: from"
                f" {self.first_address:#x} on)"
            )
        return blocks[rank], place

    # ---- Another layout, and who watches. ------------------------------------------------------
    def sees(
        self, number: int, kind: UnitKind, place: int, size: int, swizzle: int = 0, row: int = 0
    ) -> None:
        """Tell the witness of bytes from a shared address on.

        Parameters
        ----------
        number
            The instruction's number in the code.
        kind
            Which unit touches them.
        place, size
            The first byte in shared memory, and how many.
        swizzle, row
            Bytes of the swizzle, and of a row of the tile.
        """
        if self.witness is not None:
            start = place - self.first_address
            self.witness.see_unit(UnitAccess(number, kind, start, size, swizzle, row))

    def placed(self, number: int, kind: UnitKind, place: int, size: int) -> int:
        """Return where bytes from a shared address on lie, and tell the witness.

        Raises MemoryAccessError where another layout tears them apart.
        """
        self.sees(number, kind, place, size)
        if self.moves is None or not size:
            return place
        found = self.moves.together(place - self.first_address, size)
        if found is None:
            raise MemoryAccessError(
                f"{size} bytes from shared address {place:#x} on do not stay together in the layout"
                " that is tried (accepted: a layout that keeps them together)"
            )
        return found + self.first_address

    def pieces(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where pieces of 16 bytes lie, by their numbers from address 0 on.

        Raises MemoryAccessError where another layout tears one apart.
        """
        if self.moves is None:
            return order
        start = order * 16 - self.first_address
        first, last = self.moves.table[start], self.moves.table[start + 15]
        if (last - first != 15).any() or (first % 16).any():
            raise MemoryAccessError(
                "pieces of 16 bytes of a tile do not stay together in the layout that is tried"
                " (accepted: a layout that keeps them together)"
            )
        return (first.astype(np.int64) + self.first_address) // 16

    def turned(self, place: int) -> int:
        """Return how many phases of the mbarrier at a shared address are over."""
        return self.turns.get(place, (0, 0))[1]

    def turns_to(self, place: int, parity: int, is_new: bool = False) -> None:
        """Note the parity of the phase of an mbarrier that is not over; `is_new`: it was made."""
        turn = self.turns.setdefault(place, [0, 0])
        turn[1] += not is_new and turn[0] != parity
        turn[0] = parity

    def note(self, call: Call, sectors: int, amount: int) -> None:
        """Note an access for the timeline, where there is one: sectors, wavefronts or bytes."""
        if self.notes is not None:
            mask = call.taken - (call.taken >> 31 << 32)  # as 32 bits with a sign
            self.notes((self.cluster.site_of(call.number), mask, sectors, amount))

    def count(self, site: int, **figures: int) -> None:
        """Add to what was counted for a site."""
        for name, value in figures.items():
            self.figures[site, FIGURES.index(name)] += value
