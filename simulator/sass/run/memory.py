"""Global memory and constant banks of a launch: where its arguments lie.

Global memory is one arena at a made-up device address; each array has its own range in it, with
a gap behind, and an access must lie within one of them: so an index that is off by a row of up
to 1 MiB is an error, and does not read the next array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.errors import LaunchError
from simulator.sass.architectures import LOCAL_WINDOW, SHARED_WINDOW
from simulator.sass.code.cubin import Cubin, CubinKernel
from simulator.sass.parameters import Parameters

__all__ = ["DEVICE", "Banks", "GlobalMemory"]

DEVICE = 0x7F00_0000_0000
"""The address of the first byte."""

_GAP = 1 << 20  # behind an array; memory that nobody touches costs nothing
_SMALL_GAP = 1 << 16  # behind a variable of the module, of which there may be many
_MOST_MEMORY = 2 << 30


class GlobalMemory:
    """The arrays among a launch's arguments and the module's variables, in one arena.

    Raises LaunchError for arguments that cannot be given to the kernel.
    """

    def __init__(self, cubin: Cubin, kernel: CubinKernel, arguments: Sequence[Any]) -> None:
        self.parameters = Parameters(kernel.parameters, arguments, kernel.name)
        self.at: list[int] = []
        """Offset of each array among the arguments."""
        self.variables: dict[str, int] = {}
        total = sum(array.nbytes for array in self.parameters.arrays)
        if total > _MOST_MEMORY:
            raise LaunchError(
                f"the arguments take {total} bytes (accepted: up to {_MOST_MEMORY} together)"
            )
        pieces: list[NDArray[np.uint8]] = []
        starts, offset = [], 0

        def place(data: NDArray[np.uint8], gap: int) -> int:
            nonlocal offset
            pieces.append(data)
            starts.append(offset)
            here = offset
            offset += -(-len(data) // 256) * 256 + gap
            return here

        for array in self.parameters.arrays:
            self.at.append(place(_flat(array), _GAP))
        for variable in cubin.variables:
            data = np.frombuffer(variable.data, dtype=np.uint8)
            self.variables[variable.name] = place(data, _SMALL_GAP)
        self.data = self.parameters.data([DEVICE + at for at in self.at])
        """The bytes of each parameter, as the kernel reads them."""
        self.arena = np.zeros(max(offset, 16), dtype=np.uint8)
        for start, piece in zip(starts, pieces, strict=True):
            self.arena[start : start + len(piece)] = piece
        for at, array in zip(self.at, self.parameters.arrays, strict=True):
            flat = _flat(array)
            self.arena[at : at + len(flat)] = flat  # arrays of pointers have their addresses now
        self.starts = np.array(starts or [0], dtype=np.int64) + DEVICE
        self.ends = self.starts + np.array([len(each) for each in pieces] or [0], dtype=np.int64)

    def outputs(self) -> list[Any]:
        """Return one entry per argument: arrays as the kernel left them, all else unchanged."""

        def read(number: int) -> NDArray[Any]:
            array, at = self.parameters.arrays[number], self.at[number]
            return self.arena[at : at + array.nbytes].copy().view(array.dtype).reshape(array.shape)

        return self.parameters.outputs(read)


def _flat(array: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


class Banks:
    """The constant banks: launch geometry, parameters, addresses of variables."""

    def __init__(
        self, kernel: CubinKernel, memory: GlobalMemory, geometry: Sequence[int], local_bytes: int
    ) -> None:
        base = kernel.parameter_base
        need = base + max((p.offset + p.size for p in kernel.parameters), default=0)
        banks = {number: bytearray(data) for number, data in kernel.banks.items()}
        first = banks.setdefault(0, bytearray())
        first.extend(bytes(max(need - len(first), 0x218 - len(first), 0)))
        shape = np.array(geometry, dtype=np.uint32).tobytes()
        first[: len(shape)] = shape
        first[0x18:0x20] = (SHARED_WINDOW << 32).to_bytes(8, "little")
        first[0x20:0x28] = (LOCAL_WINDOW << 32).to_bytes(8, "little")
        first[0x28:0x2C] = local_bytes.to_bytes(4, "little")
        for data, parameter in zip(memory.data, kernel.parameters, strict=True):
            first[base + parameter.offset : base + parameter.offset + parameter.size] = data
        for bank, offset, variable, inside in kernel.addresses:
            if bank in banks and variable in memory.variables and offset + 8 <= len(banks[bank]):
                address = DEVICE + memory.variables[variable] + inside
                banks[bank][offset : offset + 8] = address.to_bytes(8, "little")
        joined = bytearray()
        self.starts = np.zeros(33, dtype=np.int64)
        """Where each bank begins among the bytes."""
        for number in range(32):
            self.starts[number] = len(joined)
            joined += banks.get(number, b"")
            joined += bytes(-len(joined) % 16)
        self.starts[32] = len(joined)
        self.bytes = np.frombuffer(bytes(joined), dtype=np.uint8)
