"""What Hopper's units are asked to do: an instruction's operands, for the code that serves it.

Mbarriers, bulk copies, matrix products of warpgroups and clusters do not become LLVM code. Such an
instruction stores the registers, and calls out; what serves it (`simulator.sass.run.units`) gets
one of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.sass.lift.gmma_form import Gmma
from simulator.sass.lift.syncs import Syncs

__all__ = [
    "AsyncStore",
    "Bulk",
    "BulkGroup",
    "ClusterBarrier",
    "GroupOrder",
    "MaxRegisters",
    "Mbarrier",
    "Operand",
    "Product",
    "Reply",
    "Request",
    "SystemCall",
    "TileCopy",
    "Where",
]  # fmt: skip


class Reply:
    """What serving an instruction ended with."""

    GO_ON, STAY, FAULT = 1, 0, -1


@dataclass(frozen=True)
class Operand:
    """A register, or the first of several; number -1 is zero."""

    number: int
    uniform: bool = False


@dataclass(frozen=True)
class Where:
    """A shared address of 32 bits: the sum of a register, a uniform one and an offset."""

    register: Operand
    uniform: Operand
    offset: int = 0


@dataclass(frozen=True)
class Mbarrier:
    """SYNCS or ARRIVES: an operation on an mbarrier."""

    form: Syncs
    where: Where
    data: Operand = Operand(-1)
    """What it stores, counts or asks for."""
    target: Operand = Operand(-1)
    """Two registers that the state before an arrival goes to."""
    predicate: int | None = None
    """What says whether the phase is over."""


@dataclass(frozen=True)
class TileCopy:
    """UTMALDG, UTMASTG or UTMAREDG: a tile of a tensor, by its map."""

    action: Literal["load", "store", "reduce"]
    rank: int
    place: int
    """Uniform registers from here on: the shared address, of loads the mbarrier, coordinates."""
    map: int
    """Two uniform registers: the tensor map's address."""
    extra: int = -1
    """A uniform register: offsets of im2col in the low half, a multicast's blocks in the high."""
    operation: str = ""
    im2col: bool = False
    multicast: bool = False


@dataclass(frozen=True)
class Bulk:
    """UBLKCP or UBLKRED: bytes side by side, by copy or by reduction."""

    way: Literal["S.G", "G.S", "S.S"]
    """Where to, and where from: global or shared memory."""
    to: int
    """Uniform registers: a global address in two; or a shared address and the mbarrier."""
    source: int
    size: int
    """A uniform register: 16-byte units in the low half, a multicast's blocks in the high."""
    operation: str = ""
    element: str = ""
    multicast: bool = False


@dataclass(frozen=True)
class BulkGroup:
    """UTMACMDFLUSH and DEPBAR: ends a group of copies out of shared memory, or waits for them."""

    left: int | None = None
    """How many groups may run on behind a wait; None: it ends a group."""


@dataclass(frozen=True)
class Product:
    """HGMMA, QGMMA, IGMMA or BGMMA: a warpgroup's matrix product."""

    form: Gmma


@dataclass(frozen=True)
class GroupOrder:
    """WARPGROUP.DEPBAR waits for a warpgroup's products; WARPGROUP.ARRIVE is its fence."""

    left: int | None
    """How many groups of products may be in flight behind a wait; None: it is the fence."""


@dataclass(frozen=True)
class MaxRegisters:
    """USETMAXREG: a warp takes registers from its block's, or gives some up."""

    count: int
    """How many it has per thread then."""
    gives: bool


@dataclass(frozen=True)
class ClusterBarrier:
    """UCGABAR_ARV and UCGABAR_WAIT: the barrier of all threads of a cluster."""

    waits: bool


@dataclass(frozen=True)
class AsyncStore:
    """STAS and REDAS: a store into a block of the cluster, whose mbarrier counts the bytes."""

    place: int
    """Two registers: the address, and the mbarrier's."""
    data: Operand
    words: int
    operation: str = ""
    element: str = ""


@dataclass(frozen=True)
class SystemCall:
    """CALL.ABS to a function of the system's: printf, malloc, free, a failed assert."""

    target: int
    """Two registers: its address."""
    name: str = ""
    """Its name, where the instruction has that instead."""


Request = (
    Mbarrier | TileCopy | Bulk | BulkGroup | Product | GroupOrder | MaxRegisters
    | ClusterBarrier | AsyncStore | SystemCall
)  # fmt: skip
