"""What may not hold on the chip, since copies and products are done at once here.

For each 16 bytes of a block's shared memory this keeps three things: who wrote them last, which
warps have not yet waited for what TMA brought there, and which product reads them. Compiled code
marks and looks (`simulator.sass.lift.watching`); what serves copies and products does so here. A
doubt is:

* the asynchronous proxy (a TMA store, a wgmma operand) reads what a store, an atomic or STSM
  wrote; in between neither of the two warps executed `fence.proxy.async`;
* it reads so what another warp wrote, and no barrier opened and no phase that the reading warp
  waited for ended in between (of copies; of a product's operands each warp may have its own);
* a warp uses an mbarrier that another one made, with no barrier between;
* a warp reads what TMA brought before it, or one that it synchronised with since, waited for the
  mbarrier. Source: PTX ISA, "Async proxy", "Completion mechanisms for cp.async.bulk";
* a store or TMA writes an operand of a wgmma, or an instruction touches its registers, before
  `wgmma.wait_group` (PTX ISA, "wgmma.mma_async"); or it writes it in a warp that no barrier orders
  behind that wait, since `mbarrier.arrive` came before it, say;
* warps of a warpgroup execute `wgmma.fence` or `wgmma.wait_group` at two places (PTX ISA: all
  threads of a warpgroup execute the same);
* a store or TMA writes what a copy to global memory reads, and its warp has not waited since by
  `cp.async.bulk.wait_group`, with `.read` or without; or no barrier orders the write behind that
  wait;
* a block ends before such a copy, or one to its shared memory, was waited for: that memory may be
  given to another block (CUDA programming guide, "Asynchronous data copies using TMA").

Where it is not known whether an order holds on the chip, it is taken to hold.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from simulator.sass.lift.requests import AsyncStore, Bulk, Mbarrier, Product, Request, TileCopy
from simulator.sass.lift.watching import PIECE, Cause

if TYPE_CHECKING:
    from simulator.sass.lift.program import Program
    from simulator.sass.run.grid import Dim3

__all__ = ["FIELDS", "SUSPECT", "Doubt", "Doubts", "Watch", "is_watched"]

SUSPECT = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)

FIELDS = 5
"""Of the context, side by side: see `Watch.fields`."""

_UNTIL, _OPENED, _MARKED, _MOMENT, _OPENED_AT = range(FIELDS)
_NEVER = (1 << 31) - 1
_WARPS = 4
"""Of a warpgroup."""

Pieces = slice | NDArray[np.int64]
"""16-byte pieces of shared memory, by address / 16."""


Kind = Literal[
    "unfenced", "unordered", "unmade", "unmade away", "early read", "early write", "early touch",
    "early refill", "early release", "early reuse", "early end", "unawaited", "elsewhere",
]  # fmt: skip


@dataclass(frozen=True, order=True)
class Doubt:
    """Two instructions whose order the chip may not keep, by their numbers."""

    number: int
    """The one that comes too soon."""
    other: int
    """The one that it should have come behind."""
    kind: Kind


Doubts = dict[Doubt, "Dim3"]
"""With the first block in which each was seen."""


def is_watched(requests: dict[int, Request]) -> bool:
    """Return whether a kernel has a unit that acts beside its threads, or reaches neighbours."""
    return any(
        isinstance(each, TileCopy | Bulk | Product | AsyncStore)
        or (isinstance(each, Mbarrier) and each.form.remote)
        for each in requests.values()
    )


@dataclass
class _Tile:
    """Bytes that TMA brought."""

    first: int
    end: int
    barrier: int
    parity: int
    """Of the phase in which its bytes are counted."""
    number: int
    unaware: int = 0xFFFFFFFF
    """A bit for each warp that has not waited."""
    is_complete: bool = False
    """Whether that phase has ended."""
    aware_since: tuple[int, int] | None = None
    """When a warp first waited for it: steps of `Watch`, barriers of the block opened."""


class Watch:
    """The watch over one block's shared memory."""

    def __init__(self, program: Program, size: int, first: int, warps: int) -> None:
        """Watch `size` bytes from address 0; compiled code counts from the address `first`."""
        count = size // PIECE + 1
        self.program = program
        self.first = first // PIECE
        self.written = np.full(count, -1, np.int64)
        """The moment, the site and the warp of the last generic write; -1: none."""
        self.landing = np.zeros(count, np.uint32)
        """A bit for each warp that has not waited for what TMA brought."""
        self.reading = np.zeros(count, np.int32)
        """The last product that reads them; 0: none."""
        self.fenced = np.zeros(warps, np.int64)
        """By warp: the moment of its last fence between the proxies."""
        self.fields: NDArray[np.int64] = np.zeros(FIELDS, np.int64)
        """In the context: `read_until`, `barriers_opened`, `marked`, `moment` and `opened_at`.

        Each mark sets `marked`. Fences, barriers that open and phases that end each make a moment.
        """
        self.doubts: Doubts = {}
        self.begin((0, 0, 0))

    def begin(self, block: Dim3) -> None:
        """Begin a block."""
        self.block = block
        self.written.fill(-1)
        self.landing.fill(0)
        self.reading.fill(0)
        self.fenced.fill(0)
        self._tiles: list[_Tile] = []
        self._steps = 0
        self._synchronised: dict[int, int] = {}
        """By warp: the step of its last wait that ended."""
        self._products: dict[int, tuple[int, int]] = {}
        """Those in flight: their warpgroup and instruction, by a number that counts up.

        Copies out of shared memory are among them: their groups are a warp's, below 0.
        """
        self._sent: dict[int, int] = {}
        """By warp: its last copy."""
        self._last = 0
        self._ended: dict[int, tuple[int, int, int]] = {}
        """Products and copies that were waited for: those two, and the moment."""
        self._waited: dict[int, int] = {}
        """Of those the moment, while a warp may not be behind it."""
        self._joins: dict[int, tuple[int, int]] = {}
        """By mbarrier: its maker's arrivals at the cluster's barrier before, and the instruction.
        """
        self._made: dict[int, tuple[int, int, int]] = {}
        """By mbarrier that not all know yet: the warp that made it, the moment, the instruction."""
        self._phases: dict[int, tuple[int, int, int]] = {}
        """By mbarrier: its parity, when its last phase ended, and behind which waits that is."""
        self._told: dict[int, int] = {}
        """By mbarrier: the last wait for products or copies behind which a warp arrived."""
        self._heard: dict[int, int] = {}
        """By warp: the moment of the last such wait that it is behind."""
        self._behind: dict[int, int] = {}
        """By warp: the last moment that it is behind, as the phases tell that it waited for."""
        self._groups: dict[int, list[int]] = {}
        """By warpgroup: the last product of each group that ended and may be in flight."""
        self._set_until()
        self.fields[_MARKED] = self.fields[_MOMENT] = self.fields[_OPENED_AT] = 0

    def use(self, fields: NDArray[np.int64]) -> None:
        """Take the place of those fields in a context."""
        self.fields = fields
        self._set_until()

    def take(self) -> Doubts:
        """Return what was found since the last time."""
        found, self.doubts = self.doubts, {}
        return found

    # ---- What TMA writes. ----------------------------------------------------------------------
    def land(
        self, address: int, size: int, barrier: int, parity: int, number: int, warp: int | None
    ) -> None:
        """Note what TMA brings.

        Parameters
        ----------
        address, size
            The bytes.
        barrier, parity
            Their mbarrier, and the parity of its phase before they are counted.
        number, warp
            The instruction, and its warp; None: one of another block.
        """
        first, end = address // PIECE, -(-(address + size) // PIECE)
        self._writes(first, end, number, warp)
        self.written[first:end] = -1
        self.landing[first:end] = 0xFFFFFFFF
        self._tiles = [each for each in self._tiles if each.end <= first or each.first >= end]
        self._tiles.append(_Tile(first, end, barrier, parity, number))

    def turned(self, barrier: int, parity: int) -> None:
        """Note that something happened at an mbarrier whose phase has this parity now."""
        if self._phases.get(barrier, (0, 0, 0))[0] != parity:
            self._phases[barrier] = parity, self._pass(), self._told.pop(barrier, 0)
        for tile in self._tiles:
            if tile.barrier == barrier and tile.parity != parity:
                tile.is_complete = True

    def waited(self, warp: int, barrier: int) -> None:
        """Note that a warp's wait for an mbarrier ended."""
        self._steps += 1
        self._synchronised[warp] = self._steps
        _, ended, told = self._phases.get(barrier, (0, 0, 0))
        self._behind[warp] = max(self._behind.get(warp, 0), ended)
        self._heard[warp] = max(self._heard.get(warp, 0), told)
        for tile in self._tiles:
            if tile.barrier == barrier and tile.is_complete:
                if tile.aware_since is None:
                    tile.aware_since = self._steps, int(self.fields[_OPENED])
                self._learn(warp, tile)

    def waited_elsewhere(self, warp: int) -> None:
        """Note that a warp's wait for an mbarrier of another block ended."""
        self._behind[warp] = self._heard[warp] = int(self.fields[_MOMENT])

    def arrives(self, warp: int | None, barrier: int) -> None:
        """Note that a warp arrives at an mbarrier; None: bytes come, or another block's warp."""
        known = int(self.fields[_MOMENT]) if warp is None else self._waits(warp)
        self._told[barrier] = max(self._told.get(barrier, 0), known)

    def _waits(self, warp: int) -> int:
        """Return the last wait for products or copies that a warp is behind."""
        return max(self._heard.get(warp, 0), int(self.fields[_OPENED_AT]))

    def _pass(self) -> int:
        """Begin a moment, and return it."""
        self.fields[_MOMENT] += 1
        return int(self.fields[_MOMENT])

    def _since(self, warp: int) -> int:
        """Return the moment that a warp is behind, as far as barriers tell."""
        return max(self._behind.get(warp, 0), int(self.fields[_OPENED_AT]))

    def _is_behind(self, warp: int, reader: int) -> bool:
        """Whether a warp is behind the wait for a product or a copy."""
        group, _, moment = self._ended[reader]
        return self._waits(warp) >= moment or group in (warp // _WARPS, -1 - warp)

    def made(self, warp: int, barrier: int, number: int, joins: int = 0) -> None:
        """Note that a warp made an mbarrier; `joins`: its arrivals at the cluster's barrier."""
        self._made[barrier] = warp, int(self.fields[_MOMENT]), number
        self._joins[barrier] = joins, number

    def made_behind(self, barrier: int, joined: int) -> int | None:
        """Return what made an mbarrier; None: who joined the cluster so often is behind that."""
        joins, number = self._joins.get(barrier, (-1, 0))
        return number if joined <= joins else None

    def reached(self, number: int, made: int | None) -> None:
        """Note that a warp uses an mbarrier of another block, which `made` made too late.

        A block that has waited for any mbarrier is taken to know of it.
        """
        if made is not None and not self._behind:
            self._doubt("unmade away", number, made)

    def used(self, warp: int, barrier: int, number: int) -> None:
        """Check that a warp is behind the instruction that made an mbarrier."""
        maker, moment, made = self._made.get(barrier, (warp, 0, 0))
        if maker != warp and self._since(warp) <= moment:
            self._doubt("unmade", number, made)
            del self._made[barrier]

    def opened(self) -> None:
        """Note that a barrier of the cluster opened."""
        self.fields[_OPENED] += 1
        self.fields[_OPENED_AT] = self._pass()

    def _learn(self, warp: int, tile: _Tile) -> None:
        tile.unaware &= 0xFFFFFFFF ^ 1 << warp
        self.landing[tile.first : tile.end] &= np.uint32(0xFFFFFFFF ^ 1 << warp)

    def _knows(self, warp: int, tile: _Tile) -> bool:
        """Whether a warp has synchronised with one that waited; it remembers."""
        if tile.aware_since is None:
            return False
        step, opened = tile.aware_since
        knows = self._synchronised.get(warp, 0) > step or int(self.fields[_OPENED]) > opened
        if knows:
            self._learn(warp, tile)
        return knows

    def _read(self, warps: Sequence[int], pieces: set[int], number: int) -> None:
        """Check reads of pieces for which none of the warps has waited itself."""
        for tile in self._tiles:
            if not any(tile.first <= piece < tile.end for piece in pieces):
                continue
            aware = [warp for warp in warps if self._knows(warp, tile)]
            if not aware:
                self._doubt("early read", number, tile.number)
                for warp in warps:
                    self._learn(warp, tile)

    # ---- What TMA and products read. -----------------------------------------------------------
    def read(self, pieces: Pieces, warps: Sequence[int], number: int) -> None:
        """Check what a unit reads for some warps."""
        marks = self.written[pieces] if self.fields[_MARKED] else self.written[:0]
        marks = marks[marks >= 0]
        if marks.size:
            known = int(self.fenced[list(warps)].max())
            wrong = marks >> 32 >= np.maximum(self.fenced[marks & 31], known)
            for site in np.unique(marks[wrong] >> 5 & 0x7FFFFFF).tolist():
                self._doubt("unfenced", number, self.program.sites[site].number)
            if len(warps) == 1:  # of a product, each warp may have written what it multiplies
                wrong = (marks & 31 != warps[0]) & (marks >> 32 >= self._since(warps[0]))
                for site in np.unique(marks[wrong] >> 5 & 0x7FFFFFF).tolist():
                    self._doubt("unordered", number, self.program.sites[site].number)
        bits = sum(1 << warp for warp in warps)
        if not any(tile.unaware & bits == bits for tile in self._tiles):
            return
        hits = np.flatnonzero((self.landing[pieces] & np.uint32(bits)) == bits)
        if hits.size:
            first = pieces.start if isinstance(pieces, slice) else 0
            found = hits + first if isinstance(pieces, slice) else pieces[hits]
            self._read(warps, set(found.tolist()), number)

    # ---- Products in flight. -------------------------------------------------------------------
    def multiply(self, group: int, number: int, operands: Sequence[Pieces], ends: bool) -> None:
        """Note a product of a warpgroup. `ends`: it is the last of its group."""
        self._last += 1
        for pieces in operands:
            self.reading[pieces] = self._last
        self._products[self._last] = group, number
        if ends:
            self._groups.setdefault(group, []).append(self._last)
        self._set_until()

    def wait_groups(self, group: int, left: int, warp: int) -> None:
        """Note that a warp waited until no more than `left` groups are in flight."""
        ended = self._groups.get(group, [])
        done = len(ended) - left
        if done > 0:
            last = ended[done - 1]
            del ended[:done]
            moment = self._pass()
            for each in [each for each, (of, _) in self._products.items() if of == group]:
                if each <= last:
                    self._ended[each] = *self._products.pop(each), moment
                    self._waited[each] = moment
            self._set_until()
        self._heard[warp] = int(self.fields[_MOMENT])

    def differ(self, number: int, other: int) -> None:
        """Note that warps of a warpgroup fenced or waited at two instructions."""
        self._doubt("elsewhere", number, other)

    # ---- Copies out of shared memory. ----------------------------------------------------------
    def send(self, warp: int, number: int, pieces: Pieces) -> None:
        """Note a copy of a warp that may read on."""
        self._last += 1
        self.reading[pieces] = self._last
        self._products[self._last] = -1 - warp, number
        self._sent[warp] = self._last
        self._set_until()

    def commit(self, warp: int) -> None:
        """Note that a warp ended a group of copies."""
        self._groups.setdefault(-1 - warp, []).append(self._sent.get(warp, 0))

    def wait_copies(self, warp: int, left: int) -> None:
        """Note that a warp waited until no more than `left` groups of its copies still read."""
        self.wait_groups(-1 - warp, left, warp)

    def end(self) -> None:
        """Check that no copy may still read or write as the block ends."""
        for group, number in self._products.values():
            if group < 0:
                self._doubt("early end", number, number)
        told = {number for each in self.doubts for number in (each.number, each.other)}
        for tile in self._tiles:
            if tile.aware_since is None and tile.number not in told:
                self._doubt("unawaited", tile.number, tile.number)

    def _set_until(self) -> None:
        """Set the last reader that every warp is behind: writes to what others read call out."""
        opened = self.fields[_OPENED_AT]
        self._waited = {each: at for each, at in self._waited.items() if at > opened}
        first = min(self._products, default=_NEVER + 1)
        self.fields[_UNTIL] = min(first, min(self._waited, default=first)) - 1

    def _writes(self, first: int, end: int, number: int, warp: int | None) -> None:
        """Check a write to what products and copies read. None: a warp of another block writes."""
        for reader in np.unique(self.reading[first:end]).tolist():
            if reader in self._products:
                group, other = self._products[reader]
                self._doubt("early refill" if group < 0 else "early write", number, other)
            elif reader and warp is not None and not self._is_behind(warp, reader):
                group, other, _ = self._ended[reader]
                self._doubt("early reuse" if group < 0 else "early release", number, other)
        self.reading[first:end] = 0

    # ---- Doubts. -------------------------------------------------------------------------------
    def suspect(self, warp: int, site: int, piece: int, cause: int) -> int:
        """Look at what compiled code calls out for; of registers, `site` is the instruction."""
        if cause == Cause.REGISTER:
            for group, number in self._products.values():
                if group == warp // _WARPS:
                    self._touch(site, number)
            return 0
        number = self.program.sites[site].number
        piece += self.first
        if cause == Cause.READ:
            self._read([warp], {piece}, number)
        else:
            self._writes(piece, piece + 1, number, warp)
        return 0

    def _touch(self, number: int, product: int) -> None:
        if product in self.program.early[number]:
            self._doubt("early touch", number, product)

    def _doubt(self, kind: Kind, number: int, other: int) -> None:
        self.doubts.setdefault(Doubt(number, other, kind), self.block)
