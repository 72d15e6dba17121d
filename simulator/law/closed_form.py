"""The law of the bits alone: what a regular layout costs, without looking at its 32 addresses.

Most layouts say where lane l goes by the bits of l. If every bit adds *its* bytes to the address,
then five numbers, one a bit, are the layout, and the figures follow from them.

**Linear layouts** add without carry: power-of-two strides, and XOR swizzles of them.

    address(lane) = base ^ XOR of columns[b] over the bits b that are set in lane

Let a phase be the lanes that differ in their lower g bits. Its words are a subspace, moved by a
constant, and so are its banks, the lower 5 bits of each word. Every bank that is hit has equally
many of the words, for the words of one bank differ from those of another by a constant:

    wavefronts of a phase = 2 ** (rank of g columns - rank of their bank bits)

What does not merge lanes counts lanes for words: 2 ** (g - rank of the bank bits). The constant
drops out, so `base` never matters, and all phases cost the same. Lanes i and i^1 agree throughout
where columns[0] = 0, and i, i^2 where columns[1] = 0: then phases fuse, and g is one more.

**Affine layouts** add with carry: padded tiles, odd strides.

    address(lane) = base + sum of strides[b] over the bits b that are set in lane

Banks then wrap around like the exponents of a polynomial modulo x**32 - 1: lanes on a bank are
its coefficient in the product of 1 + x**bank(strides[b]). Lanes are words where each stride is
more than all smaller ones together, as where rows do not overlap; strides of 0 (broadcasts) are
left out, unless lanes do not merge. Within this *piece* only the strides modulo 128 bytes
matter, so paddings repeat after 32 words.

No address is needed to count them, but only the ranks of linear layouts are found in less time
than addresses take: by the compiled engine, which counts many layouts. Few linear layouts, and
all affine ones, are expanded to their 32 addresses, and those are counted.

Both are exact for every instruction and rule, with all lanes active; for masks there is `count`.
The first is the idea of Triton's `bankConflicts` over its LinearLayout, with the pair condition,
the phases and the instructions that do not merge added.
"""

from __future__ import annotations

from functools import reduce
from operator import add, xor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.errors import AddressError
from simulator.law.accesses import SHARED_BYTES, Rows, first_bad, integers, refusal
from simulator.law.chips import ChipLike, instruction_on
from simulator.law.counting import (
    Counts,
    Engine,
    check_engine,
    check_rule,
    check_threads,
    count,
    engine_for,
)
from simulator.law.instructions import Instruction, Rule

__all__ = ["bit_columns", "count_affine", "count_linear", "lane_addresses"]

LANE_BITS = 5

_CHUNK = 1 << 14  # layouts expanded at a time


def count_linear(
    op: str | Instruction,
    columns: ArrayLike,
    *,
    rule: Rule = "silicon",
    engine: Engine = "auto",
    threads: int | None = None,
    chip: ChipLike | None = None,
) -> Counts:
    """Count accesses that are linear over GF(2), all lanes active.

    A constant that is XORed onto all lanes changes no figure, and is not asked for. The result has
    shape (...).

    Raises AddressError for columns that give a lane a misaligned address, or one outside shared
    memory; InstructionError and OptionError as `count`.

    Parameters
    ----------
    op
        The instruction, or its name in SASS or PTX.
    columns
        Integers of shape (..., 5), in bytes: entry b is what bit b of the lane XORs onto the
        address.
    rule, engine, threads, chip
        Those of `count`.

    Examples
    --------
    >>> int(count_linear("LDS", [128, 256, 512, 1024, 2048]).wavefronts)  # one bank
    32
    >>> from layouts import Layout, LinearMap
    >>> swizzled = LinearMap.of(Layout.parse("Sw<5,0,5> o 0 o 32:32"))  # its elements are floats
    >>> int(count_linear("LDS", [4 * column for column in swizzled.columns]).wavefronts)
    1
    """
    return _count(instruction_on(chip, op), columns, "columns", rule, engine, threads)


def count_affine(
    op: str | Instruction,
    strides: ArrayLike,
    *,
    rule: Rule = "silicon",
    engine: Engine = "auto",
    threads: int | None = None,
    chip: ChipLike | None = None,
) -> Counts:
    """Count accesses whose lane bits add a stride each, all lanes active.

    A multiple of the access width (and of 4) that is added to all lanes changes no figure. The
    result has shape (...).

    Raises as `count_linear`.

    Parameters
    ----------
    op
        The instruction, or its name in SASS or PTX.
    strides
        Integers of shape (..., 5), in bytes: entry b is what bit b of the lane adds to the address.
    rule, engine, threads, chip
        Those of `count`.

    Examples
    --------
    >>> padded = [4 * 33 << bit for bit in range(5)]  # a column of a float tile, 33 wide
    >>> int(count_affine("LDS", padded).wavefronts)
    1
    """
    return _count(instruction_on(chip, op), strides, "strides", rule, engine, threads)


def lane_addresses(columns: ArrayLike, *, affine: bool = False) -> NDArray[Any]:
    """Return the addresses of all lanes: (..., 5) → (..., 32), by XOR, or by sum if `affine`.

    >>> lane_addresses([4, 8, 16, 32, 64])[:5].tolist()
    [0, 4, 8, 12, 16]
    """
    what = "strides" if affine else "columns"
    given = _of_five(columns, what)
    if given.min() < 0 or given.max() >= SHARED_BYTES:
        raise AddressError(
            f"{what} reach from {given.min()} to {given.max()}"
            f" (accepted: 0 to {SHARED_BYTES - 1} bytes, shared memory)"
        )
    return _expanded(given.astype(np.int64, copy=False), affine=affine)


def bit_columns(addresses: ArrayLike) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the columns of accesses, and whether they are linear: (..., 32) → (..., 5), (...).

    >>> columns, linear = bit_columns([4 * lane for lane in range(32)])
    >>> columns.tolist(), bool(linear)
    ([4, 8, 16, 32, 64], True)
    >>> bool(bit_columns([12 * lane for lane in range(32)])[1])  # 12 + 24 is not 12 ^ 24
    False
    """
    given = integers(addresses, AddressError, "addresses")
    if given.ndim == 0 or given.shape[-1] != 1 << LANE_BITS:
        raise AddressError(
            f"addresses have shape {given.shape} (accepted: (..., 32), one byte address per lane)"
        )
    base = given[..., :1]
    columns = given[..., [1 << bit for bit in range(LANE_BITS)]] ^ base
    linear: NDArray[np.bool_] = (_expanded(columns) ^ base == given).all(axis=-1)
    return columns, linear


def _count(
    op: Instruction,
    columns: ArrayLike,
    what: str,
    rule: Rule,
    engine: Engine,
    threads: int | None,
) -> Counts:
    check_rule(rule)
    check_engine(engine)
    check_threads(threads)
    array = _of_five(columns, what)
    flat = array.reshape(-1, LANE_BITS)
    if engine == "auto":
        engine = engine_for(len(flat))
    # The ranks are those of regular phases; layouts of others are expanded.
    if engine == "numba" and (what == "strides" or op.is_regular):
        from simulator.law import linear_engine, numba_engine

        if what == "strides":
            figures, suspect = numba_engine.count_accesses(op, flat, None, rule, threads)
        else:
            figures, suspect = linear_engine.count_linear(op, flat, rule, threads)
        if suspect is not None:
            _addresses(op, flat, what, suspect)
    else:
        figures = np.empty((6, len(flat)), dtype=np.uint8)
        for start in range(0, len(flat), _CHUNK):
            addresses = _addresses(op, flat, what, start)
            counts = count(op, addresses, rule=rule, engine=engine)
            figures[:, start : start + _CHUNK] = counts.figures
    return Counts(figures.reshape(6, *array.shape[:-1]))


def _of_five(columns: ArrayLike, what: str) -> NDArray[Any]:
    array = integers(columns, AddressError, what)
    if array.ndim == 0 or array.shape[-1] != LANE_BITS:
        raise AddressError(
            f"{what} have shape {array.shape} (accepted: (..., 5), bytes for each bit of the lane)"
        )
    if array.dtype == object:
        raise AddressError(
            f"{what} hold {max(array.flat, key=abs)}, beyond 64 bits"
            f" (accepted: 0 to {SHARED_BYTES - 1} bytes, shared memory)"
        )
    return array


def _expanded(columns: NDArray[Any], *, affine: bool = False) -> NDArray[Any]:
    lanes = np.zeros((*columns.shape[:-1], 1), dtype=columns.dtype)
    for bit in range(LANE_BITS):
        column = columns[..., bit : bit + 1]
        lanes = np.concatenate([lanes, lanes + column if affine else lanes ^ column], axis=-1)
    return lanes


def _addresses(
    instruction: Instruction, flat: NDArray[Any], what: str, first: int
) -> NDArray[np.int32]:
    """Return the addresses of a chunk of layouts, or raise AddressError for the first bad one."""
    part = flat[first : first + _CHUNK].astype(np.int64, copy=False)
    # One byte past the end stands for all that is outside: sums of five such do not overflow.
    outside = (part < 0) | (part >= instruction.shared_bytes)
    used = np.where(outside, instruction.shared_bytes, part).astype(np.int32)
    used[:, instruction.lanes.bit_length() - 1 :] = 0
    affine = what == "strides"
    addresses: NDArray[np.int32] = _expanded(used, affine=affine)
    bad = first_bad(instruction, Rows(addresses), None)
    if bad is not None:
        layout, lane = first + bad[0], bad[1]
        row = flat[layout].tolist()
        chosen = [column for bit, column in enumerate(row) if lane >> bit & 1]
        address = reduce(add if affine else xor, chosen, 0)
        error = refusal(instruction, address, f"lane {lane}")
        raise AddressError(f"{what} {row} of layout {layout}: {error}")
    return addresses
