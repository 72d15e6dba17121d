"""Global memory and constant banks of a launch: where its arguments lie.

Global memory is one arena at a made-up device address; each array has its own range in it, with
a gap behind, and an access must lie within one of them: so an index that is off by a row of up
to 1 MiB is an error, and does not read the next array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import plural
from simulator.errors import LaunchError, MemoryAccessError, UnsupportedError
from simulator.sass.architectures import LOCAL_WINDOW, SHARED_WINDOW
from simulator.sass.code.cubin import Cubin, CubinKernel
from simulator.sass.parameters import Parameters
from simulator.sass.run.buffers import placed, view_of
from simulator.sass.run.rows import Addresses, Bytes, gather, scatter
from simulator.sass.run.system import HEAP, MALLOC, System

__all__ = ["DEVICE", "PARAMETERS_AT", "Banks", "GlobalMemory", "LaunchSizes", "byte_of"]

PARAMETERS_AT = ("c[0x0][0x198]", "c[0x0][0x348]")
"""Where the code has the address of a kernel's parameters in memory: sm_90, sm_100 and later."""
BLACKWELL_BASE = 0x380
"""Where the parameters begin in constant bank 0, on sm_100 and later."""


@dataclass(frozen=True)
class BankLayout:
    """Where constant bank 0 holds what a launch says, in bytes (NVRTC 13.5, each architecture)."""

    block: int
    grid: int
    stack: int
    windows: int
    """High words of generic addresses of shared memory, and behind them of local memory."""
    mirror: int
    """The address of the parameters in global memory."""
    workspace: int
    """The high word of the address of a cooperative launch's barrier; behind it the low word."""


def bank_layout(base: int) -> BankLayout:
    """Return the layout of a kernel whose parameters begin at `base`."""
    if base >= BLACKWELL_BASE:
        return BankLayout(
            block=0x360, grid=0x370, stack=0x37C, windows=0x2F0, mirror=0x348, workspace=0x1B4
        )
    workspace = 0x44 if base > 0x18C else 0x8C
    return BankLayout(
        block=0, grid=0xC, stack=0x28, windows=0x18, mirror=0x198, workspace=workspace
    )


DEVICE = 0x7F00_0000_0000
"""The address of the first byte."""

_GAP = 1 << 20  # behind an array; memory that nobody touches costs nothing
_SMALL_GAP = 1 << 16  # behind a variable of the module, of which there may be many
_WORKSPACE = 256  # of which grid.sync() takes the second word
_MOST_MEMORY = 2 << 30


def byte_of(name: str, at: int, size: int) -> str:
    """Say for a message where an index lies that left an array of `size` bytes."""
    return f"byte {at:,} of {name}, which has {plural(size, 'byte')}"


class GlobalMemory:
    """The arrays among a launch's arguments and the module's variables, in one arena.

    Raises LaunchError for arguments that cannot be given to the kernel.
    """

    def __init__(
        self, cubin: Cubin, kernel: CubinKernel, arguments: Sequence[Any], mirrors: bool = False,
        cooperative: bool = False,
    ) -> None:  # fmt: skip
        self.parameters = Parameters(kernel.parameters, arguments, kernel.name)
        self.variables: dict[str, int] = {}
        arrays = self.parameters.arrays
        self._places, sizes = placed(arrays, self.parameters.mapped)
        total = sum(sizes)
        if total > _MOST_MEMORY:
            raise LaunchError(
                f"the arguments take {total} bytes (accepted: up to {_MOST_MEMORY} together)"
            )
        starts: list[int] = []
        ends: list[int] = []
        offset = 0

        def place(size: int, gap: int) -> int:
            nonlocal offset
            starts.append(offset)
            ends.append(offset + size)
            offset += -(-size // 256) * 256 + gap
            return starts[-1]

        self._buffers = [place(size, _GAP) for size in sizes]
        self.at = [self._buffers[each.buffer] + each.offset for each in self._places]
        """Offset of each array among the arguments."""
        for variable in cubin.variables:
            self.variables[variable.name] = place(len(variable.data), _SMALL_GAP)
        names = [name for _, _, name in kernel.system]
        self.heap = place(HEAP, _SMALL_GAP) if MALLOC in names else -1
        self.workspace = place(_WORKSPACE, _SMALL_GAP) if cooperative else -1
        """Offset of the barrier of a cooperative launch, where it is one."""
        self.mirror = place(_end_of_bank(kernel), _SMALL_GAP) if mirrors else -1
        """Offset of a copy of constant bank 0, where `mirrors` asks for one."""
        self.data = self.parameters.data([DEVICE + at for at in self.at])
        """The bytes of each parameter, as the kernel reads them."""
        self._contents = {self.variables[each.name]: each.data for each in cubin.variables}
        self._size = max(offset, 16)
        self.starts = np.array(starts or [0], dtype=np.int64) + DEVICE
        begin = DEVICE + self.heap
        heap = (begin, begin + HEAP) if self.heap >= 0 else (0, 0)
        self.system = System(tuple(dict.fromkeys(names)), heap)
        """What the kernel asks of the system."""
        self.ends = np.array(ends or [0], dtype=np.int64) + DEVICE

    @cached_property
    def arena(self) -> NDArray[np.uint8]:
        """All bytes, as they were given: they are copied when the first block begins."""
        arena = np.zeros(self._size, dtype=np.uint8)
        for at, contents in self._contents.items():
            data = np.frombuffer(contents, dtype=np.uint8)
            arena[at : at + len(data)] = data
        for number, array in enumerate(self.parameters.arrays):
            # Arrays of pointers have their addresses by now.
            self._view(arena, number)[...] = array
        return arena

    # ---- What bulk copies read and write. ------------------------------------------------------
    def read(self, addresses: Addresses, size: int) -> Bytes:
        """Return `size` bytes from each address, shape (rows, size).

        Raises MemoryAccessError for a row that is not wholly inside one array.
        """
        return gather(self.arena, self._offsets(addresses, size), size)

    def write(self, addresses: Addresses, rows: Bytes) -> None:
        """Store each row at its address. Raises what `read` raises."""
        scatter(self.arena, self._offsets(addresses, rows.shape[1]), rows)

    def _offsets(self, addresses: Addresses, size: int) -> Addresses:
        if size and addresses.size:
            which = np.searchsorted(self.starts, addresses, side="right") - 1
            wrong = (which < 0) | (addresses + size > self.ends[which])
            if wrong.any():
                first = int(addresses[int(np.argmax(wrong))])
                accepted = ", ".join(self.ranges()) or "nothing; no array holds a byte"
                raise MemoryAccessError(
                    f"{size} bytes at global address {first:#x} do not lie inside one array"
                    f" (accepted: {accepted})"
                )
        return addresses - DEVICE

    def ranges(self) -> list[str]:
        """Return the first and the last byte of each array that holds any, for messages."""
        return [
            f"{start:#x} to {end - 1:#x}"
            for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True)
            if end > start
        ]

    def near(self, address: int) -> str:
        """Return which array an address lies nearest to, and where, for messages; "": none."""
        kept = self.ends > self.starts
        beyond = np.maximum(self.starts - address, address - self.ends + 1)
        if not kept.any():
            return ""
        nearest = int(np.argmin(np.where(kept, beyond, np.iinfo(np.int64).max)))
        start, end = int(self.starts[nearest]), int(self.ends[nearest])
        if beyond[nearest] > _GAP:
            return ""
        name = self._names.get(start - DEVICE, "an array of the arguments")
        if address < start:
            return f"{start - address:,} bytes before {name}"
        return byte_of(name, address - start, end - start)

    @cached_property
    def _names(self) -> dict[int, str]:
        """What messages call what begins at an offset."""
        found = {at: f"the variable {name}" for name, at in self.variables.items()}
        for number, index in self.parameters.indices().items():
            found.setdefault(self.at[number], f"argument {index}")
        return found

    def outputs(self) -> list[Any]:
        """Return one entry per argument: arrays as the kernel left them, all else unchanged."""
        return self.parameters.outputs(lambda number: self._view(self.arena, number).copy())

    def _view(self, arena: NDArray[np.uint8], number: int) -> NDArray[Any]:
        place = self._places[number]
        buffer = arena[self._buffers[place.buffer] :]
        return view_of(buffer, place, self.parameters.arrays[number])


def _end_of_bank(kernel: CubinKernel) -> int:
    """Return the end of the parameters in constant bank 0."""
    return kernel.parameter_base + max((p.offset + p.size for p in kernel.parameters), default=0)


@dataclass(frozen=True)
class LaunchSizes:
    """The sizes of a launch."""

    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    cluster: tuple[int, int, int]
    local_bytes: int
    cooperative: bool = False
    """Whether all blocks run at once, with a barrier of the grid."""

    def put_cluster(self, bank: bytearray) -> None:
        """Write what sm_90 has of clusters: NVRTC 13.5 reads it there for %cluster_… registers.

        Whether there are any; their sizes, and 1 over them; how many; blocks of each.
        """
        x, y, z = self.cluster
        clusters = [blocks // size for blocks, size in zip(self.grid, self.cluster, strict=True)]
        words = np.array([int(self.cluster != (1, 1, 1)), x, y, z], np.uint32).tobytes()
        words += (1 / np.array(self.cluster, np.float32)).tobytes()
        words += np.array(clusters, np.uint32).tobytes()
        bank[0x140 : 0x140 + len(words)] = words
        bank[0x188:0x18C] = (x * y * z).to_bytes(4, "little")

    def put_blackwell_cluster(self, bank: bytearray) -> None:
        """Write the same where sm_100 and later read it: from 0x2A0 less 160 SR_CgaSize on.

        Raises UnsupportedError for clusters of more than four blocks: what the chip has in
        SR_CgaSize is not known, and the machine's own number leaves room for four.
        """
        x, y, z = self.cluster
        size = x * y * z
        if size > 4:
            raise UnsupportedError(
                f"a cluster of {size} blocks is not modelled for sm_100 and later (accepted: up to"
                " 4, or --arch sm_90)"
            )
        start = 0x2A0 - 160 * size
        clusters = [blocks // each for blocks, each in zip(self.grid, self.cluster, strict=True)]
        for at, words in ((0, self.cluster), (0x20, (*clusters, size))):
            place = start + at
            bank[place : place + 4 * len(words)] = np.array(words, np.uint32).tobytes()


class Banks:
    """The constant banks: sizes of the launch, parameters, addresses of variables."""

    def __init__(self, kernel: CubinKernel, memory: GlobalMemory, sizes: LaunchSizes) -> None:
        base, need = kernel.parameter_base, _end_of_bank(kernel)
        banks = {number: bytearray(data) for number, data in kernel.banks.items()}
        first = banks.setdefault(0, bytearray())
        first.extend(bytes(max(need - len(first), 0x218 - len(first), 0)))
        layout = bank_layout(base)
        for at, shape in ((layout.block, sizes.block), (layout.grid, sizes.grid)):
            first[at : at + 12] = np.array(shape, dtype=np.uint32).tobytes()
        if base >= BLACKWELL_BASE:
            sizes.put_blackwell_cluster(first)
        elif base > 0x18C:
            sizes.put_cluster(first)
        for at, window in ((layout.windows, SHARED_WINDOW), (layout.windows + 8, LOCAL_WINDOW)):
            first[at : at + 8] = (window << 32).to_bytes(8, "little")
        first[layout.stack : layout.stack + 4] = sizes.local_bytes.to_bytes(4, "little")
        if sizes.cooperative:
            place = DEVICE + memory.workspace
            for at, word in ((0, place >> 32), (4, place & 0xFFFFFFFF)):
                start = layout.workspace + at
                first[start : start + 4] = word.to_bytes(4, "little")
        if memory.mirror >= 0:
            first[layout.mirror : layout.mirror + 8] = (DEVICE + memory.mirror + base).to_bytes(
                8, "little"
            )
        for data, parameter in zip(memory.data, kernel.parameters, strict=True):
            first[base + parameter.offset : base + parameter.offset + parameter.size] = data
        for bank, offset, variable, inside in kernel.addresses:
            if bank in banks and variable in memory.variables and offset + 8 <= len(banks[bank]):
                address = DEVICE + memory.variables[variable] + inside
                banks[bank][offset : offset + 8] = address.to_bytes(8, "little")
        for bank, offset, name in kernel.system:
            if bank in banks and offset + 8 <= len(banks[bank]):
                place = memory.system.address(name)
                banks[bank][offset : offset + 8] = place.to_bytes(8, "little")
        if memory.mirror >= 0:
            copy = np.frombuffer(first[:need], np.uint8)
            memory.arena[memory.mirror : memory.mirror + need] = copy
        joined = bytearray()
        self.starts = np.zeros(33, dtype=np.int64)
        """Where each bank begins among the bytes."""
        for number in range(32):
            self.starts[number] = len(joined)
            joined += banks.get(number, b"")
            joined += bytes(-len(joined) % 16)
        self.starts[32] = len(joined)
        self.bytes = np.frombuffer(bytes(joined), dtype=np.uint8)
