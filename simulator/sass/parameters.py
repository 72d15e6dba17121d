"""A kernel's parameters as bytes: arrays as addresses, structures by C's rules of alignment.

A structure is a tuple or a dict of its members, a NumPy record, or a ctypes structure. Arrays may
stand inside: the member is then their address. A list of structures lies in memory, and the
parameter points to it. Where the bytes do not fit the parameter nothing
is guessed: the error shows what was understood.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import plural
from simulator.errors import LaunchError
from simulator.sass.code.cubin import Parameter
from simulator.sass.code.demangling import demangled, parameter_types
from simulator.sass.parameter_types import check_types
from simulator.sass.pieces import (
    MAP_BYTES,
    Map,
    MapOfArray,
    NumberedArray,
    Piece,
    Pointer,
    RecordArgument,
    Structures,
)

__all__ = ["Parameters", "Pointer"]

_ACCEPTED = (
    "NumPy arrays, tensor maps over them, NumPy scalars such as numpy.int32(1024), None for a null"
    " pointer, tuples and dicts of them for structures, lists of arrays for arrays of pointers,"
    " lists of structures for a pointer to those"
)
_DEEPEST = 16


def _wrong_number(given: int, parameters: Sequence[Parameter], kernel: str) -> str:
    """Say how many arguments a kernel takes, and which of them are missing."""
    types = parameter_types(kernel)
    known = len(types) == len(parameters)
    arguments = plural(given, "argument")
    said = f"{arguments} for the {plural(len(parameters), 'parameter')} of {demangled(kernel)}"
    if parameters:
        sizes = ", ".join(str(each.size) for each in parameters)
        said += f"({', '.join(types)})" if known else f" (their bytes: {sizes})"
    missing = [
        f"argument {place} ({f'{types[place]}, ' if known else ''}{parameters[place].size} bytes)"
        for place in range(given, len(parameters))
    ]
    return f"{said}; missing: {', '.join(missing)}, counted from 0" if missing else said


class Parameters:
    """The arguments of a launch, made fit for a kernel's parameters.

    `arrays` are to be placed in memory, in order; `data` gives each parameter's bytes once their
    addresses are known. Raises LaunchError for arguments that the parameters cannot hold.
    """

    def __init__(
        self, parameters: Sequence[Parameter], arguments: Sequence[Any], kernel: str
    ) -> None:
        if len(arguments) != len(parameters):
            raise LaunchError(_wrong_number(len(arguments), parameters, kernel))
        check_types(arguments, kernel)
        self.arrays: list[NDArray[Any]] = []
        """Every array that the kernel may reach, those inside structures too."""
        self.mapped: set[int] = set()
        """Numbers of the arrays that tensor maps describe, as they lie."""
        self._tables: dict[int, list[NumberedArray | None]] = {}  # arrays of pointers
        self._images: dict[int, list[Map]] = {}  # arrays of tensor maps
        self._structures: dict[int, tuple[Piece, ...]] = {}
        self._map_alignment = 64
        try:
            self._values = [self._registered(value, index) for index, value in enumerate(arguments)]
            self._pieces = [
                self._parameter(index, value, parameter.size)
                for index, (value, parameter) in enumerate(
                    zip(self._values, parameters, strict=True)
                )
            ]
        except LaunchError as error:
            raise LaunchError(f"{error}; arguments are counted from 0") from error
        self._sizes = [parameter.size for parameter in parameters]

    def data(self, addresses: Sequence[int]) -> list[bytes]:
        """Return each parameter's bytes; `addresses` are those of `arrays`."""
        for number, members in self._tables.items():
            table = [
                0 if each is None else addresses[each.number] + each.inside for each in members
            ]
            self.arrays[number][:] = np.array(table, dtype=np.uint64)
        for number, maps in self._images.items():
            image = b"".join(each.map.encode(addresses[each.number]) for each in maps)
            self.arrays[number][:] = np.frombuffer(image, np.uint8)
        for number, pieces in self._structures.items():
            image = _bytes_of(pieces, self.arrays[number].size, addresses)
            self.arrays[number][:] = np.frombuffer(image, np.uint8)
        return [
            _bytes_of(pieces, size, addresses)
            for size, pieces in zip(self._sizes, self._pieces, strict=True)
        ]

    def indices(self) -> dict[int, int]:
        """Return which argument an array is, by its number: those that are one by themselves."""
        return {
            value.number: index
            for index, value in enumerate(self._values)
            if isinstance(value, NumberedArray)
        }

    def outputs(self, read: Callable[[int], NDArray[Any]]) -> list[Any]:
        """Return the arguments as the kernel left them; `read` gives an array by its number."""
        return [self._output(value, read) for value in self._values]

    def _output(self, value: Any, read: Callable[[int], NDArray[Any]]) -> Any:
        if isinstance(value, Structures):
            data = read(value.number).tobytes()
            return list(self._read_back(value.members, iter(value.pieces), data, read))
        if isinstance(value, NumberedArray | Map):
            return read(value.number)
        if isinstance(value, RecordArgument):
            return {name: self._output(each, read) for name, each in value.members.items()}
        if isinstance(value, dict):
            return {name: self._output(each, read) for name, each in value.items()}
        if isinstance(value, tuple | list):
            return type(value)([self._output(each, read) for each in value])
        return value

    def _read_back(
        self, value: Any, pieces: Iterator[Piece], data: bytes, read: Callable[[int], NDArray[Any]]
    ) -> Any:
        """Return a value of a structure in memory as the kernel left it."""
        if isinstance(value, dict):
            return {n: self._read_back(each, pieces, data, read) for n, each in value.items()}
        if isinstance(value, tuple):
            return tuple(self._read_back(each, pieces, data, read) for each in value)
        piece = next(pieces)
        if isinstance(value, np.generic):
            return np.frombuffer(data, value.dtype, 1, piece.offset)[0]
        return self._output(value, read)

    # ---- Bytes. ------------------------------------------------------------------------------
    def _registered(self, value: Any, index: int) -> Any:
        """Return the value with its arrays numbered; each is an array of its own."""
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.isnative:
            raise LaunchError(
                f"argument {index} is {value.dtype.str}: its bytes are not in this machine's order"
                " (accepted: array.astype(array.dtype.newbyteorder('=')))"
            )
        if isinstance(value, np.ndarray):
            if value.dtype.hasobject:
                raise LaunchError(f"argument {index} holds {value.dtype} (accepted: {_ACCEPTED})")
            return self._numbered(value)
        if isinstance(value, Pointer):
            return replace(self._numbered(value.array), inside=value.offset)
        if isinstance(value, MapOfArray):
            number = self._numbered(value.array).number
            self.mapped.add(number)
            return Map(number, value)
        if isinstance(value, dict):
            return {name: self._registered(each, index) for name, each in value.items()}
        if isinstance(value, tuple | list):
            members = [self._registered(each, index) for each in value]
            if isinstance(value, tuple):
                return tuple(members)
            if members and all(isinstance(each, tuple | dict) and each for each in members):
                return self._in_memory(index, members)
            return members
        if isinstance(value, np.void) and value.dtype.hasobject and value.dtype.names:
            places = {name: int(value.dtype.fields[name][1]) for name in value.dtype.names}  # type: ignore[index]
            members_ = {name: self._registered(value[name], index) for name in places}
            return RecordArgument(members_, places, value.dtype.itemsize)
        return value

    def _numbered(self, array: NDArray[Any]) -> NumberedArray:
        self.arrays.append(array)
        return NumberedArray(len(self.arrays) - 1)

    def _in_memory(self, index: int, members: list[Any]) -> Structures:
        """Return structures that a pointer leads to, as C puts them one after the other."""
        ways = [self._layout(index, members, 0, vectors, 0)[:2] for vectors in (False, True)]
        if ways[0] != ways[1]:
            raise LaunchError(
                f"argument {index} is a list of structures with two or four numbers in braces, and"
                " nothing tells whether those are vectors such as float4 (accepted: an array of"
                " NumPy records, which has each member's place)"
            )
        pieces, size = tuple(ways[0][0]), ways[0][1]
        number = self._numbered(np.zeros(size, np.uint8)).number
        self._structures[number] = pieces
        return Structures(number, 0, tuple(members), pieces)

    def _parameter(self, index: int, value: Any, size: int) -> list[Piece]:
        if value is None or isinstance(value, NumberedArray):
            if size != 8:
                what = "a list of structures" if isinstance(value, Structures) else "an array"
                what = "a null pointer" if value is None else what
                maps = (
                    "; a tensor map over an array: TensorMap(array, box) in Python, --arg tma:…"
                    if size == MAP_BYTES
                    else ""
                )
                raise LaunchError(
                    f"argument {index} is {what} for a parameter of {size} bytes (accepted: a"
                    f" scalar of that size, or a structure: a tuple in Python, --arg '{{…}}'{maps})"
                )
            return [self._member(index, value, 0)]
        if isinstance(value, Map):
            return [self._map(index, value, size)]
        if isinstance(value, list) and size == 8:
            return [self._member(index, value, 0)]
        if isinstance(value, tuple | list | dict):
            return self._structure(index, value, size)
        if isinstance(value, RecordArgument):
            pieces = [
                self._member(index, value.members[name], place)
                for name, place in value.places.items()
            ]
            self._check(index, size, value.size, pieces)
            return pieces
        if isinstance(value, ctypes.Structure | ctypes.Array | ctypes._SimpleCData):
            data = bytes(value)
        elif isinstance(value, np.generic) and not value.dtype.hasobject:
            data = value.tobytes()
        else:
            raise LaunchError(
                f"argument {index} is {type(value).__name__} {str(value)[:40]!r}"
                f" (accepted: {_ACCEPTED})"
            )
        if len(data) != size:
            what = f"{value.dtype} {value!s}" if isinstance(value, np.generic) else "a structure"
            raise LaunchError(
                f"argument {index}, {what}, has {len(data)} bytes and the parameter {size}"
            )
        return [Piece(0, data, "bytes")]

    def _table(self, index: int, members: Sequence[Any]) -> int:
        """Make an array of pointers; its number."""
        if not all(each is None or isinstance(each, NumberedArray) for each in members):
            raise LaunchError(
                f"argument {index} is a list (accepted: a list of NumPy arrays or None, for an"
                " array of pointers)"
            )
        number = self._numbered(np.zeros(max(len(members), 1), dtype=np.uint64)).number
        self._tables[number] = list(members)
        return number

    def _map(self, index: int, value: Map, size: int) -> Piece:
        """Return a tensor map by value, or behind a pointer."""
        if size == 8:
            return Piece(0, self._image([value]), "a pointer to a tensor map")
        if size != MAP_BYTES:
            raise LaunchError(
                f"argument {index} is a tensor map for a parameter of {size} bytes (accepted for"
                f" it: a parameter of {MAP_BYTES} bytes, or a pointer; of a structure that holds"
                " one, all members: a tuple in Python, --arg '{…}')"
            )
        return self._member(index, value, 0)

    def _image(self, maps: list[Map]) -> int:
        """Make an array of tensor maps; its number."""
        number = self._numbered(np.zeros(MAP_BYTES * len(maps), np.uint8)).number
        self._images[number] = maps
        return number

    def _structure(self, index: int, value: Any, size: int) -> list[Piece]:
        members = list(value.values()) if isinstance(value, dict) else list(value)
        if not members:
            if size != 1:
                raise LaunchError(
                    f"argument {index} is an empty structure for a parameter of {size} bytes"
                    " (accepted: a structure with members)"
                )
            return []
        found: list[tuple[list[Piece], int]] = []
        # float4 is aligned to 16, a struct of four floats to 4; a map to 64, since CUDA 13 to 128.
        for vectors, self._map_alignment in product((False, True), (64, 128)):
            pieces, total, _ = self._layout(index, members, 0, vectors, 0)
            found.append((pieces, total))
            if total == size:
                return pieces
        if size == 8 and all(each is None or isinstance(each, NumberedArray) for each in members):
            return [Piece(0, self._table(index, members), "an array of pointers")]
        self._check(index, size, found[0][1], found[0][0])
        return found[0][0]

    def _layout(
        self, index: int, members: list[Any], base: int, vectors: bool, depth: int
    ) -> tuple[list[Piece], int, int]:
        """Place members one after the other; give pieces, bytes and alignment."""
        if depth > _DEEPEST:
            raise LaunchError(f"argument {index}: structures are nested deeper than {_DEEPEST}")
        pieces: list[Piece] = []
        offset, most = 0, 1
        for each in members:
            if isinstance(each, tuple | dict):
                inner = list(each.values()) if isinstance(each, dict) else list(each)
                _, total, alignment = self._layout(index, inner, 0, vectors, depth + 1)
                same = len({getattr(n, "dtype", None) for n in inner}) == 1
                if vectors and same and len(inner) in (2, 4) and total <= 16:
                    alignment = total
                offset = -(-offset // alignment) * alignment
                pieces += self._layout(index, inner, base + offset, vectors, depth + 1)[0]
            else:
                piece = self._member(index, each, 0)
                total = piece.size
                alignment = total if total in (1, 2, 4, 8) else self._alignment(each)
                offset = -(-offset // alignment) * alignment
                pieces.append(replace(piece, offset=base + offset))
            offset += total
            most = max(most, alignment)
        return pieces, -(-max(offset, 1) // most) * most, most

    def _member(self, index: int, value: Any, offset: int) -> Piece:
        if value is None:
            return Piece(offset, bytes(8), "a null pointer")
        if isinstance(value, NumberedArray):
            return Piece(offset, value.number, "a pointer", value.inside)
        if isinstance(value, Map):
            return Piece(offset, value, "a tensor map")
        if isinstance(value, list):
            if value and all(isinstance(each, Map) for each in value):
                return Piece(offset, self._image(value), "a pointer to tensor maps")
            return Piece(offset, self._table(index, value), "an array of pointers")
        if isinstance(value, np.generic) and not value.dtype.hasobject:
            return Piece(offset, value.tobytes(), str(value.dtype))
        if isinstance(value, ctypes.Structure | ctypes.Array | ctypes._SimpleCData):
            return Piece(offset, bytes(value), type(value).__name__)
        raise LaunchError(
            f"argument {index} holds {type(value).__name__} {str(value)[:40]!r}"
            f" (accepted: {_ACCEPTED})"
        )

    def _check(self, index: int, size: int, total: int, pieces: list[Piece]) -> None:
        if total == size:
            return
        shown = ", ".join(f"{piece.said} at {piece.offset}" for piece in pieces[:16])
        behind = "; for a pointer to a structure, a list of it: [{…}]" if size == 8 else ""
        raise LaunchError(
            f"argument {index} is a structure of {total} bytes for a parameter of {size}"
            f" (understood: {shown}{' …' if len(pieces) > 16 else ''}; a nested {{…}} or tuple is a"
            " structure of its own; where alignas pads, members such as i32=0 fill the bytes, and"
            f" numpy.void(bytes) gives them all{behind})"
        )

    def _alignment(self, value: Any) -> int:
        if isinstance(value, Map):
            return self._map_alignment
        return _alignment(value)


def _bytes_of(pieces: Sequence[Piece], size: int, addresses: Sequence[int]) -> bytes:
    data = bytearray(size)
    for piece in pieces:
        value = piece.data
        if isinstance(value, int):
            value = (addresses[value] + piece.inside).to_bytes(8, "little")
        elif isinstance(value, Map):
            value = value.map.encode(addresses[value.number])
        data[piece.offset : piece.offset + len(value)] = value
    return bytes(data)


def _alignment(value: Any) -> int:
    if isinstance(value, ctypes.Structure | ctypes.Array | ctypes._SimpleCData):
        return ctypes.alignment(value)
    return int(value.dtype.alignment) if isinstance(value, np.generic) else 8
