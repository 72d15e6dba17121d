"""Warp accesses, and what is refused before anything is counted.

A warp access is an instruction, 32 byte addresses (one per lane) and a mask of active lanes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layouts.errors import BankwiseError, short
from layouts.shapes import is_integer
from simulator.errors import AddressError, MaskError, OptionError
from simulator.law.instructions import SHARED_BYTES, Instruction

__all__ = [
    "ALL_LANES",
    "NO_SOURCE",
    "SHARED_BYTES",
    "Rows",
    "WarpAccess",
    "active_lanes",
    "check",
    "check_mask",
    "copy_sources",
    "first_bad",
    "integers",
    "refusal",
    "warp_accesses",
]

ALL_LANES = 0xFFFFFFFF

NO_SOURCE = -1
"""The source of a copying lane that reads nothing and writes zeros."""

_FARTHEST = 2**63 - 1  # no GPU has more global memory
_DEEPEST = 31  # dimensions: lists may be deeper where an array of NumPy 1 ends, at 32

_CHUNK = 1 << 14  # accesses checked at a time, so that their scratch arrays stay small


class WarpAccess(NamedTuple):
    """One warp-wide access; `count(*access)` and `explain(*access)` take it as it is."""

    op: str
    addresses: tuple[int, ...]
    """Byte address of each of the 32 lanes."""
    mask: int = ALL_LANES


class Rows:
    """The rows of an array (..., 32) in C order, some at a time: no more than those are copied."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._shape = array.shape[:-1]
        # To flatten an array that lies in another order would copy all of it.
        self._flat = array.ndim <= 2 or array.flags.c_contiguous
        self._array = array.reshape(-1, array.shape[-1]) if self._flat else array

    def __len__(self) -> int:
        return math.prod(self._shape)

    def __getitem__(self, part: slice) -> NDArray[Any]:
        if self._flat:
            return self._array[part]
        return self._array[np.unravel_index(np.arange(*part.indices(len(self))), self._shape)]


def integers(values: ArrayLike, error: Callable[[str], BankwiseError], what: str) -> NDArray[Any]:
    """Return integers of any width as an array (of objects where they exceed 64 bits).

    An array is returned as it is, whatever its byte order and its strides. Raises `error`, with
    `what` the values are, for anything else.
    """
    # By its mask: to name its class would import all of numpy.ma.
    if isinstance(values, np.ndarray) and hasattr(values, "mask"):
        raise error(f"{what} are a masked array (accepted: a plain one, and lanes in `mask`)")
    array = values if isinstance(values, np.ndarray) else _listed(values, error, what)
    if array.ndim > _DEEPEST:
        raise error(
            f"{what} {short(values)} have more than {_DEEPEST} dimensions"
            f" (accepted: at most {_DEEPEST})"
        )
    if array.size == 0:
        raise error(f"{what} are empty, shape {array.shape} (accepted: at least one access)")
    if array.dtype.kind not in "iu" and not (
        array.dtype == object and all(map(is_integer, array.flat))
    ):
        raise error(
            f"{what} {short(array)} have type {array.dtype}"
            " (accepted: integers; floats and booleans are not converted)"
        )
    return array


def _listed(values: ArrayLike, error: Callable[[str], BankwiseError], what: str) -> NDArray[Any]:
    """Return nested lists as an array of int64, or of objects where they exceed 64 bits."""
    try:
        array = np.array(values, dtype=object)
    except ValueError:  # NumPy's own message speaks of broadcasting
        raise _ragged(values, error, what) from None
    if array.ndim > _DEEPEST:  # some functions of NumPy would refuse it; `integers` does
        return array
    for value in array.flat:
        if isinstance(value, list | tuple | np.ndarray):
            raise _ragged(values, error, what)
        if not is_integer(value):
            ways = "; a function of the lane with element or layout" if callable(value) else ""
            raise error(
                f"{what} hold {short(value)}, which is not an integer (accepted: integers{ways})"
            )
    if array.size and min(array.flat) >= -(2**63) and max(array.flat) < 2**63:
        array = array.astype(np.int64)
    return array


def _ragged(values: ArrayLike, error: Callable[[str], BankwiseError], what: str) -> BankwiseError:
    return error(f"{what} {short(values)} are ragged (accepted: a regular array)")


def warp_accesses(
    instruction: Instruction, addresses: ArrayLike, mask: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[np.uint32] | None]:
    """Return addresses of shape (..., 32) and masks of shape (...); the values are unchecked.

    Masks are uint32, or None for all lanes of every access.
    """
    array = integers(addresses, AddressError, "addresses")
    if array.ndim == 0 or array.shape[-1] != 32:
        raise AddressError(
            f"addresses {short(addresses)} have shape {array.shape}"
            " (accepted: (..., 32), one byte address per lane)"
        )
    if mask is None:
        masks = None
    else:
        given = integers(mask, MaskError, "masks")
        for extreme in {int(given.min()), int(given.max())}:
            check_mask(extreme)
        if given.ndim and given.shape != array.shape[:-1]:
            raise MaskError(
                f"masks have shape {given.shape} for addresses of shape {array.shape}"
                f" (accepted: one integer, or shape {array.shape[:-1]})"
            )
        if instruction.is_matrix and (partial := given[given != ALL_LANES]).size:
            raise MaskError(
                f"mask {int(partial[0]):#010x} leaves lanes of {instruction.name} inactive"
                " (accepted: 0xffffffff; all lanes of a warp take part in a matrix access)"
            )
        masks = np.broadcast_to(given.astype(np.uint32, copy=False), array.shape[:-1])
    if array.dtype == object:
        # Beyond 64 bits: keep what fits; a lane that does not is refused if it is active.
        inside = (array >= 0) & (array < instruction.shared_bytes)
        array = np.where(inside, array, -1).astype(np.int64)
    return array, masks


def copy_sources(
    instruction: Instruction,
    sources: ArrayLike,
    addresses: NDArray[Any],
    masks: NDArray[np.uint32] | None,
) -> NDArray[np.int64]:
    """Return where the lanes of copies read, in the addresses' shape; active ones are checked.

    `addresses` and `masks` are those of `warp_accesses`. Raises OptionError for an instruction
    that is not a copy, and AddressError for sources that no copy can have.
    """
    if not instruction.is_copy:
        raise OptionError(
            f"sources given for {instruction.name} (accepted: for LDGSTS, whose lanes read global"
            " memory)"
        )
    given = integers(sources, AddressError, "sources")
    if given.shape not in (addresses.shape, (32,)):
        raise AddressError(
            f"sources have shape {given.shape} for addresses of shape {addresses.shape}"
            f" (accepted: (32,) for all accesses, or {addresses.shape})"
        )
    wrong = (given < NO_SOURCE) | (given > _FARTHEST) | (given & (instruction.width - 1) != 0)
    wrong = np.broadcast_to((wrong & (given != NO_SOURCE)).astype(bool), addresses.shape)
    if masks is not None:
        wrong = wrong & active_lanes(masks)
    if wrong.any():
        where = tuple(int(index) for index in np.argwhere(wrong)[0])
        place = f"lane {where[-1]}" + (f" of access {str(where[:-1])[1:-1]}" if where[:-1] else "")
        raise AddressError(
            f"source {np.broadcast_to(given, addresses.shape)[where]} of {place} is not one of a"
            f" copy (accepted for {instruction.name}: multiples of {instruction.width} bytes from 0"
            f" to 2^63 - 1; {NO_SOURCE} for a lane that writes zeros)"
        )
    fine = np.where((given >= NO_SOURCE) & (given <= _FARTHEST), given, 0).astype(np.int64)
    return np.broadcast_to(fine, addresses.shape)


def active_lanes(masks: ArrayLike) -> NDArray[np.bool_]:
    """Return for each lane whether it is active: masks (...) → (..., 32).

    >>> active_lanes([0b101, 0])[:, :4].tolist()
    [[True, False, True, False], [False, False, False, False]]
    """
    bits = np.asarray(masks, dtype=np.uint32)[..., None]
    active: NDArray[np.bool_] = (bits >> np.arange(32, dtype=np.uint32)) & 1 == 1
    return active


def check_mask(mask: int) -> None:
    """Raise MaskError unless `mask` is 32 bits."""
    if not 0 <= mask <= ALL_LANES:
        raise MaskError(
            f"mask {mask:#x} is not 32 bits (accepted: 0 to 0xffffffff, bit l for lane l)"
        )


def check(
    instruction: Instruction,
    addresses: NDArray[Any],
    masks: NDArray[np.uint32] | None,
    given: ArrayLike,
    first: int = 0,
) -> None:
    """Refuse active lanes whose address is misaligned or outside shared memory.

    Shapes are those of `warp_accesses`; `given` is what the caller gave, for the message; the
    accesses before `first`, in C order, are known to be good. Addresses of inactive lanes, and
    of lanes that the instruction leaves out, mean nothing.
    """
    flat_masks = None if masks is None else masks.reshape(-1)
    bad = first_bad(instruction, Rows(addresses), flat_masks, first)
    if bad is not None:
        access, lane = bad
        where = tuple(map(int, np.unravel_index(access, addresses.shape[:-1])))
        values = given if isinstance(given, np.ndarray) else np.array(given, dtype=object)
        place = f"lane {lane}" + (f" of access {', '.join(map(str, where))}" if where else "")
        raise refusal(instruction, int(values[(*where, lane)]), place)


def first_bad(
    instruction: Instruction, rows: Rows, masks: NDArray[np.uint32] | None, first: int = 0
) -> tuple[int, int] | None:
    """Return the first access, from `first` on, and its first lane that `check` refuses.

    Rows are (n, 32) addresses, and masks (n,) or None; None where all of them are good.
    """
    for start in range(first, len(rows), _CHUNK):
        part = slice(start, start + _CHUNK)
        bad = _invalid(instruction, rows[part])
        if masks is not None:
            bad &= active_lanes(masks[part])
        bad[:, instruction.lanes :] = False
        if bad.any():
            access, lane = (int(index) for index in np.argwhere(bad)[0])
            return start + access, lane
    return None


def refusal(instruction: Instruction, address: int, place: str) -> AddressError:
    """Return the error of a bad address at `place`, such as "lane 3"."""
    size = instruction.shared_bytes
    if address < 0 or address + instruction.width > size:
        most = f"{size // 1024} KiB" if size % 1024 == 0 else f"{size} bytes"
        return AddressError(
            f"address {address} of {place} is outside shared memory (accepted for"
            f" {instruction.name}: 0 to {size - instruction.width}; a block has at most {most})"
        )
    return AddressError(
        f"address {address} of {place} is misaligned (accepted for {instruction.name}:"
        f" multiples of {instruction.width} bytes; the chip traps on others)"
    )


def _invalid(instruction: Instruction, addresses: NDArray[Any]) -> NDArray[np.bool_]:
    # In the input's own type, so that 16- and 32-bit input is not widened; unsigned input is
    # never negative, and narrow types never reach the upper bound.
    bad: NDArray[np.bool_] = addresses & (instruction.width - 1) != 0
    if addresses.dtype.kind == "i":
        bad |= addresses < 0
    top = instruction.shared_bytes - instruction.width
    if np.iinfo(addresses.dtype).max > top:
        bad |= addresses > top
    return bad
