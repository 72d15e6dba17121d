"""What a kernel asks of the system: printf, malloc, free, and what a failed assert says.

The compiler calls them at addresses that the driver fills in (NVRTC and nvcc 13.5). Arguments are
in registers from R4 on, 64-bit ones in even pairs; the result comes back in R4. What printf is to
print lies in memory, each argument at its natural alignment, as C's default promotions leave it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from simulator.errors import ExecutionError, MemoryAccessError, UnsupportedError
from simulator.sass.architectures import LOCAL_WINDOW, SHARED_WINDOW
from simulator.sass.lift.requests import Reply, SystemCall
from simulator.sass.run.standing import Call
from simulator.sass.run.warps import lanes_of

if TYPE_CHECKING:
    from simulator.sass.run.units import Units

__all__ = ["HEAP", "MALLOC", "System", "formatted", "serve"]

FIRST, STEP = 0x7D00_0000_0000, 0x100
"""Made-up addresses of the system's functions."""

HEAP = 8 << 20
"""Bytes that malloc has to give: the driver's default."""

MALLOC = "malloc"
_ARGUMENTS = 4  # the first argument's register
_MOST_PIECES = 10_000
_LONGEST = 4096  # of a text that is printed
_ALIGNED = 16
_SPECIFIER = re.compile(
    r"%([-+ #0]*)(\*|\d{0,4})(?:\.(\*|\d{0,4}))?(hh|h|ll|l|L|z|j|t|q)?([diouxXeEfFgGaAcspn%])"
)
_LONG = ("ll", "l", "L", "z", "j", "t", "q")
_NARROW = {"hh": 8, "h": 16}


@dataclass
class System:
    """The system of one launch: its functions' addresses, what was printed, the heap."""

    names: Sequence[str]
    """The functions that the kernel calls."""
    heap: tuple[int, int] = (0, 0)
    """The first address that malloc may give, and the end."""
    pieces: list[str] = field(default_factory=list)
    left_out: int = 0
    """Calls of printf beyond the most that are kept."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    def address(self, name: str) -> int:
        """Return the address of a function."""
        return FIRST + STEP * self.names.index(name)

    def name(self, address: int) -> str:
        """Return the function at an address; "" where there is none."""
        number, inside = divmod(address - FIRST, STEP)
        return self.names[number] if not inside and 0 <= number < len(self.names) else ""

    def print(self, text: str) -> None:
        """Keep what printf prints."""
        with self._lock:
            if len(self.pieces) < _MOST_PIECES:
                self.pieces.append(text)
            else:
                self.left_out += 1

    def printed(self) -> tuple[str, ...]:
        """Return the lines that were printed, in order of execution."""
        return tuple("".join(self.pieces).splitlines())

    def allocate(self, size: int) -> int:
        """Return the address of so many bytes of the heap; 0 where it has no more."""
        with self._lock:
            start, end = self.heap
            taken = -(-max(size, 1) // _ALIGNED) * _ALIGNED
            if taken > end - start:
                return 0
            self.heap = (start + taken, end)
            return start


def serve(units: Units, call: Call, request: SystemCall) -> int:
    """Serve a call for the lanes that make it."""
    target = [] if request.name else _pair(units, call.warp, request.target)
    for lane in lanes_of(call.taken):
        name = request.name or units.memory.system.name(target[lane])
        if name not in _FUNCTIONS:
            known = ", ".join(sorted(_SAID.get(each, each) for each in _FUNCTIONS))
            raise UnsupportedError(
                f"a call of the system's function {name or f'{target[lane]:#x}'} is not modelled"
                f" (accepted: {known})"
            )
        _FUNCTIONS[name](units, call.warp, lane)
    return Reply.GO_ON


# ---- The functions. ------------------------------------------------------------------------------
def _printf(units: Units, warp: int, lane: int) -> None:
    pointer, place = (_pair(units, warp, _ARGUMENTS + each)[lane] for each in (0, 2))
    taken = 0

    def take(size: int) -> bytes:
        nonlocal place, taken
        place = -(-place // size) * size
        data = _read(units, warp, lane, place, size)
        place += size
        taken += 1
        return data

    form = _text(units, warp, lane, pointer)
    units.memory.system.print(formatted(form, take, lambda at: _text(units, warp, lane, at)))
    units.warps.row(warp, _ARGUMENTS)[lane] = taken


def _malloc(units: Units, warp: int, lane: int) -> None:
    size = _pair(units, warp, _ARGUMENTS)[lane]
    address = units.memory.system.allocate(size)
    for part in (0, 1):
        units.warps.row(warp, _ARGUMENTS + part)[lane] = address >> 32 * part & 0xFFFFFFFF


def _free(units: Units, warp: int, lane: int) -> None:
    """Do nothing: what was freed is not given again."""


def _failed(units: Units, warp: int, lane: int) -> None:
    said, file, function = (
        _text(units, warp, lane, _pair(units, warp, _ARGUMENTS + each)[lane]) for each in (0, 2, 6)
    )
    line = int(units.warps.row(warp, _ARGUMENTS + 4)[lane])
    raise ExecutionError(f"an assert failed: {said}, in {function} ({Path(file).name}:{line})")


_FUNCTIONS: dict[str, Callable[[Units, int, int], None]] = {
    "vprintf": _printf, MALLOC: _malloc, "free": _free, "__assertfail": _failed,
}  # fmt: skip
_SAID = {"vprintf": "printf", "__assertfail": "assert"}


# ---- printf. -------------------------------------------------------------------------------------
def formatted(text: str, take: Callable[[int], bytes], read: Callable[[int], str]) -> str:
    r"""Return what printf prints.

    `take` gives the next argument's bytes, by their number; `read` the text at an address.

    >>> data = iter([b"\x07\0\0\0", struct.pack("<d", 2.5)])
    >>> formatted("%03d is %.2f%%", lambda size: next(data), str)
    '007 is 2.50%'
    """

    def one(found: re.Match[str]) -> str:
        flags, width, precision, length, kind = found.groups()
        if kind == "%":
            return "%"
        if width == "*":
            width = str(struct.unpack("<i", take(4))[0])
        if precision == "*":
            given = struct.unpack("<i", take(4))[0]
            precision = None if given < 0 else str(given)
        form = f"%{flags}{width[:5]}" + (f".{precision[:5]}" if precision is not None else "")
        if kind in "eEfFgGaA":
            value = struct.unpack("<d", take(8))[0]
            return float(value).hex() if kind in "aA" else str(f"{form}{kind}" % value)
        if kind in "sp":
            address = int.from_bytes(take(8), "little")
            told = f"{form}s" % (read(address) if kind == "s" else f"{address:#x}")
            return str(told)
        if kind == "n":
            take(8)
            return ""
        if kind == "c":
            return str(f"%{flags.replace('0', '')}{width}c" % chr(take(4)[0]))
        bits = 64 if length in _LONG else 32
        data, narrow = take(bits // 8), _NARROW.get(length, bits)
        number = int.from_bytes(data, "little") & ((1 << narrow) - 1)
        if kind in "di" and number >> (narrow - 1):
            number -= 1 << narrow
        if kind == "o" and "#" in flags:
            return str(f"{form.replace('#', '')}s" % f"0{number:o}")
        return str(f"{form}{'d' if kind in 'diu' else kind}" % number)

    return _SPECIFIER.sub(one, text)


# ---- Registers and memory. -----------------------------------------------------------------------
def _pair(units: Units, warp: int, number: int) -> list[int]:
    """Return 64 bits of two registers, by lane."""
    low, high = (units.warps.row(warp, number + each).astype(np.uint64) for each in (0, 1))
    found: list[int] = (low | high << np.uint64(32)).tolist()
    return found


def _read(units: Units, warp: int, lane: int, address: int, size: int) -> bytes:
    """Return bytes at a generic address of a thread. Raises MemoryAccessError outside of memory."""
    window, place = address >> 32, address & 0xFFFFFFFF
    if window == LOCAL_WINDOW:
        own = units.local[32 * warp + lane]
        if place + size > len(own):
            raise MemoryAccessError(
                f"a call reads {size} bytes at local address {place:#x} (accepted: within the"
                f" thread's {len(own):#x} bytes)"
            )
        return bytes(own[place : place + size])
    if window == SHARED_WINDOW:
        block, inside = units.block_at(place)
        return bytes(block.shared[inside : inside + size])
    return bytes(units.memory.read(np.array([address], np.int64), size)[0])


def _text(units: Units, warp: int, lane: int, address: int) -> str:
    """Return the text at an address, up to its end or to the most that is read."""
    found = bytearray()
    while len(found) < _LONGEST:
        byte = _read(units, warp, lane, address + len(found), 1)
        if byte in (b"\0", b""):
            break
        found += byte
    return found.decode(errors="replace")
