"""wgmma: a warpgroup's matrix product, its operands in shared memory or in registers.

A descriptor says where a matrix lies (PTX ISA "Matrix descriptor"; CUTLASS `mma_sm90_desc.hpp`):
bits 0-13 start / 16; 16-29 leading byte offset / 16 (LBO); 32-45 stride byte offset / 16 (SBO);
49-51 base offset; 62-63 swizzle (0 none, 1 128 bytes, 2 64, 3 32). In units of 16 bytes, with W =
1, 2, 4, 8 for no, 32-, 64- and 128-byte swizzle, the canonical layouts are (CUTLASS
`mma_traits_sm90_gmma.hpp`)

    K-major, no swizzle    ((8,n),2):((1,SBO),LBO)       MN-major  ((1,n),(8,k)):((X,SBO),(1,LBO))
    K-major, swizzled      ((8,n),2):((W,SBO),1)         MN-major  ((W,n),(8,k)):((1,LBO),(W,SBO))

and the swizzle acts on the shared byte address, as TMA's does. A base offset is taken off the row
of 128 bytes that it draws on: an H100 read B so, K-major, for 768 descriptors, with all swizzles,
base offsets and rows to start in (`tests/silicon/data/h100_base_offsets.npz`).

How near results are to the chip's: integers and bits are exact. Products of f16, bf16, tf32 and fp8
are summed in float32, in an order of their own: within (k + 1) 2**-24 of the sum of magnitudes from
the exact result. The chip truncates where this rounds, and keeps fewer bits in sums of fp8 (about
13: DeepSeek-V3, section 3.3.2). Against it, allow 2**-20 of the sum of magnitudes, and 2**-12 for
fp8. A float16 accumulator is rounded once per instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.errors import MemoryAccessError, UnsupportedError
from simulator.sass.lift.gmma_form import Gmma
from simulator.sass.run.rows import Bytes

__all__ = [
    "Descriptor",
    "accumulators_of",
    "fragment_of",
    "matrix_of",
    "multiply",
    "operand",
    "pieces",
]

Registers = NDArray[np.uint32]
"""Registers of a warpgroup, shape (registers, 4 warps, 32 lanes)."""

_SWIZZLES = (None, 128, 64, 32)


@dataclass(frozen=True)
class Descriptor:
    """Where a matrix lies in shared memory, in bytes."""

    start: int
    leading: int
    stride: int
    swizzle: int | None
    base_offset: int = 0

    @classmethod
    def of(cls, word: int) -> Descriptor:
        """Read 64 bits.

        >>> Descriptor.of(0x4000004000010040)
        Descriptor(start=1024, leading=16, stride=1024, swizzle=128, base_offset=0)
        """
        return cls(
            (word & 0x3FFF) << 4, (word >> 16 & 0x3FFF) << 4, (word >> 32 & 0x3FFF) << 4,
            _SWIZZLES[word >> 62 & 3], word >> 49 & 7,
        )  # fmt: skip


def multiply(
    form: Gmma,
    shared: Bytes,
    a: int | Registers,
    b: int,
    accumulators: Registers | None = None,
) -> Registers:
    """Return D's registers: A B, plus the accumulators where there are any.

    `a` is a descriptor's 64 bits, or the four registers of A's fragment; `b` a descriptor's bits.
    `accumulators` None is scale-d 0. Raises MemoryAccessError for a matrix that is not wholly in
    shared memory, UnsupportedError for a sparse A, and for a base offset without a swizzle.
    """
    if form.sparse:
        raise UnsupportedError(
            f"a sparse wgmma (m64n{form.n}k{form.k}) is not modelled (accepted: dense ones)"
        )
    if isinstance(a, np.ndarray):
        left = _numbers(_rows_of(a), form.a_type)
    else:
        left = operand(shared, a, 64, form.a_type, form.transpose_a, "A")
    right = operand(shared, b, form.n, form.b_type, form.transpose_b, "B")
    with np.errstate(all="ignore"):
        product = np.matmul(left, right.T)  # of integers too: sums stay below 2**24
        if form.negate_a != form.negate_b:
            np.negative(product, out=product)
        return _added(form, product, accumulators)


def operand(
    shared: Bytes, word: int, rows: int, kind: str, transposed: bool = False, name: str = "A"
) -> NDArray[np.float32]:
    """Return the matrix that a descriptor names, shape (rows, k), as float32.

    Raises what `multiply` raises.

    Parameters
    ----------
    shared
        Shared memory of the block.
    word
        The matrix descriptor, 64 bits.
    rows
        64 of A, and n of B.
    kind
        The type of its elements.
    transposed
        Whether it is MN-major.
    name
        "A" or "B", for messages.
    """
    places = pieces(shared.size, word, rows, transposed, name)
    found = shared[: shared.size & ~15].view("V16").take(places)
    if not transposed:
        return _numbers(found.view(np.uint8).reshape(rows, 32), kind)
    return _numbers(found.view(np.uint8).reshape(16, 2 * rows), kind).T


@lru_cache(maxsize=1024)
def pieces(
    size: int, word: int, rows: int, transposed: bool = False, name: str = "A"
) -> NDArray[np.int64]:
    """Return the 16-byte pieces of `size` bytes that `operand` reads, in the matrix's order."""
    form = Descriptor.of(word)
    if form.base_offset and not form.swizzle:
        raise UnsupportedError(
            f"{name}'s matrix descriptor has a base offset of {form.base_offset} and no swizzle,"
            " which was not measured (accepted: 0, or a swizzle)"
        )
    first = form.start >> 4
    places, high = _places(
        rows, transposed, form.leading >> 4, form.stride >> 4, form.swizzle, first & 63,
        form.base_offset,
    )  # fmt: skip
    base = first & ~63
    if base + high >= size >> 4:
        raise MemoryAccessError(
            f"{name}'s matrix descriptor {word:#x} reaches shared address"
            f" {(base + high) * 16 + 15:#x}, beyond the block's {size} bytes"
        )
    found: NDArray[np.int64] = places + base
    found.flags.writeable = False
    return found


@lru_cache(maxsize=512)
def _places(
    rows: int, transposed: bool, leading: int, stride: int, swizzle: int | None, first: int,
    base_offset: int,
) -> tuple[NDArray[np.int64], int]:  # fmt: skip
    """Return the 16-byte pieces of a matrix, counted from its pattern's start, and the last one.

    They are in the order (row, 2 pieces of k), transposed in that of (16 k, rows / 8 pieces).
    """
    width = (swizzle or 16) // 16
    if not transposed:
        row, piece = np.arange(rows)[:, None], np.arange(2)
        places = row % 8 * width + row // 8 * stride + piece * (1 if swizzle else leading)
    else:
        k, piece = np.arange(16)[:, None], np.arange(rows // 8)
        if swizzle:
            places = piece % width + piece // width * leading + k % 8 * width + k // 8 * stride
        else:
            places = piece * stride + k % 8 + k // 8 * leading
    places = np.asarray(first + places).ravel()
    places ^= (places >> 3) - base_offset & width - 1
    return places, int(places.max())


def _numbers(data: Bytes, kind: str) -> NDArray[np.float32]:
    """Turn bytes into the float32 of each element, along the last axis."""
    if kind == "bf16":
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if kind == "f16":
        return data.view(np.float16).astype(np.float32)
    if kind == "tf32":
        return (data.view(np.uint32) & np.uint32(0xFFFF_E000)).view(np.float32)
    if kind == "b1":
        return np.unpackbits(data, axis=-1, bitorder="little").astype(np.float32)
    return _byte_values(kind).take(data)


@lru_cache
def _byte_values(kind: str) -> NDArray[np.float32]:
    """Return the number of each byte: s8, u8, e4m3 (no infinity; 0x7f is NaN), e5m2."""
    bytes_ = np.arange(256, dtype=np.uint8)
    if kind in ("s8", "u8"):
        return bytes_.view(np.int8 if kind == "s8" else np.uint8).astype(np.float32)
    if kind == "e5m2":  # a float16 without its lower byte
        return (bytes_.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
    sign = np.where(bytes_ & 0x80, -1.0, 1.0)
    exponent, fraction = (bytes_ >> 3 & 15).astype(np.int64), (bytes_ & 7) / 8
    values = np.where(exponent, (1 + fraction) * 2.0 ** (exponent - 7), fraction * 2.0**-6)
    values = np.where(bytes_ & 0x7F == 0x7F, np.nan, values)
    return (sign * values).astype(np.float32)


def _added(form: Gmma, product: NDArray[np.float32], accumulators: Registers | None) -> Registers:
    """Add a product to the accumulators in their registers."""
    if form.accumulator == "f16":
        pairs = np.moveaxis(fragment_of(product), 1, 3)
        if accumulators is not None:
            pairs = pairs + np.ascontiguousarray(accumulators)[..., None].view(np.float16)
        return np.ascontiguousarray(pairs, np.float16).view(np.uint32)[..., 0]
    added = fragment_of(product).reshape(form.n // 2, 4, 32)
    if form.accumulator == "f32":
        if accumulators is not None:
            added += accumulators.view(np.float32)
        return added.view(np.uint32)
    exact = added.astype(np.int64)
    if accumulators is not None:
        exact += accumulators.view(np.int32)
    if form.saturates:
        exact = exact.clip(-(1 << 31), (1 << 31) - 1)
    return exact.astype(np.uint32)


def fragment_of(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return a 64 x n matrix in the threads' order, shape (n / 4, 2, 4 warps, 32 lanes).

    Lane 4 g + q of warp w holds in pair 2 c + v two elements: of row 16 w + 8 v + g, and
    columns 8 c + 2 q and the next.
    Source: PTX ISA, "Register fragments for wgmma.mma_async", matrix D.
    """
    columns = matrix.shape[1] // 8
    split = matrix.reshape(4, 2, 8, columns, 4, 2)  # w v g c q e
    ordered = np.ascontiguousarray(split.transpose(3, 1, 5, 0, 2, 4))
    return ordered.reshape(2 * columns, 2, 4, 32)


def matrix_of(registers: Registers, accumulator: str = "f32") -> NDArray[Any]:
    """Return the 64 x n matrix that accumulator registers hold: float32, float16 or int32."""
    registers = np.ascontiguousarray(registers)
    split: NDArray[Any]
    if accumulator == "f16":
        halves = registers[..., None].view(np.float16)  # pairs, w, lanes, e
        split = halves.reshape(-1, 2, 4, 8, 4, 2).transpose(2, 1, 3, 0, 4, 5)
    else:
        words = registers.view(np.float32 if accumulator == "f32" else np.int32)
        split = words.reshape(-1, 2, 2, 4, 8, 4).transpose(3, 1, 4, 0, 5, 2)
    return np.ascontiguousarray(split).reshape(64, -1)


def accumulators_of(matrix: NDArray[Any]) -> Registers:
    """Return the registers that hold a 64 x n matrix of float32, float16 or int32."""
    ordered = fragment_of(matrix)
    if matrix.dtype == np.float16:
        return np.ascontiguousarray(np.moveaxis(ordered, 1, 3)).view(np.uint32)[..., 0]
    return ordered.reshape(-1, 4, 32).view(np.uint32)


def _rows_of(registers: Registers) -> Bytes:
    """Return A's 64 rows of 32 bytes from its four registers.

    Register 2 h + v of lane 4 g + q of warp w holds 4 bytes: row 16 w + 8 v + g, from byte
    16 h + 4 q on (PTX ISA, "Register fragments for wgmma.mma_async", matrix A, of every type).
    """
    split = np.ascontiguousarray(registers).reshape(2, 2, 4, 8, 4)  # h v w g q
    rows = np.ascontiguousarray(split.transpose(2, 1, 3, 0, 4))
    return rows.reshape(64, 8).view(np.uint8)
