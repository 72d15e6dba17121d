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
matter, so paddings repeat after 32 words. Other strides are counted lane by lane; and so are
many of either kind, because the compiled engine makes and counts addresses in less time than
the product takes.

Both are exact for every instruction and rule, with all lanes active; for masks there is `count`.
The first is the idea of Triton's `bankConflicts` over its LinearLayout, with the pair condition,
the phases and the instructions that do not merge added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layouts.errors import accepted
from simulator.errors import AddressError, OptionError
from simulator.law.accesses import ALL_LANES, SHARED_BYTES, check, integers
from simulator.law.counting import Counts, check_rule, check_threads
from simulator.law.instructions import Instruction, instruction
from simulator.law.specification import BANKS, WORD, Figures, count_access, cycles

__all__ = ["ENGINES", "bit_columns", "count_affine", "count_linear", "lane_addresses"]

ENGINES = ("auto", "python", "numba")
"""`auto` chooses by the number of layouts; the other two give the same figures."""

LANE_BITS = 5

_PYTHON_UP_TO = 10_000  # layouts: about as long as Numba takes to be imported


def count_linear(
    op: str | Instruction,
    columns: ArrayLike,
    *,
    rule: str = "silicon",
    engine: str = "auto",
    threads: int | None = None,
) -> Counts:
    """Count accesses that are linear over GF(2), all lanes active.

    `columns` are integers of shape (..., 5), in bytes: entry b is what bit b of the lane XORs
    onto the address. A constant that is XORed onto all lanes changes no figure, and is not asked
    for. The result has shape (...).

    >>> int(count_linear("LDS", [128, 256, 512, 1024, 2048]).wavefronts)  # one bank
    32
    >>> from layouts import Layout, LinearMap
    >>> swizzled = LinearMap.of(Layout.parse("Sw<5,0,5> o 0 o 32:32"))  # its elements are floats
    >>> int(count_linear("LDS", [4 * column for column in swizzled.columns]).wavefronts)
    1

    Raises AddressError for columns that give a lane a misaligned address, or one outside shared
    memory; InstructionError and OptionError as `count`.
    """
    return _count(op, columns, "columns", rule, engine, threads)


def count_affine(
    op: str | Instruction,
    strides: ArrayLike,
    *,
    rule: str = "silicon",
    engine: str = "auto",
    threads: int | None = None,
) -> Counts:
    """Count accesses whose lane bits add a stride each, all lanes active.

    `strides` are integers of shape (..., 5), in bytes: entry b is what bit b of the lane adds to
    the address. A multiple of the access width (and of 4) that is added to all lanes changes no
    figure. The result has shape (...).

    >>> padded = [4 * 33 << bit for bit in range(5)]  # a column of a float tile, 33 wide
    >>> int(count_affine("LDS", padded).wavefronts)
    1

    Raises as `count_linear`.
    """
    return _count(op, strides, "strides", rule, engine, threads)


def lane_addresses(columns: ArrayLike, *, affine: bool = False) -> NDArray[Any]:
    """Give the addresses of all lanes: (..., 5) → (..., 32), by XOR, or by sum if `affine`.

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
    """Give the columns of accesses, and whether they are linear: (..., 32) → (..., 5), (...).

    >>> columns, linear = bit_columns([4 * lane for lane in range(32)])
    >>> columns.tolist(), bool(linear)
    ([4, 8, 16, 32, 64], True)
    >>> bool(bit_columns([12 * lane for lane in range(32)])[1])  # 12 + 24 is not 12 ^ 24
    False
    """
    given = integers(addresses, AddressError, "addresses")
    if given.ndim == 0 or given.shape[-1] != 1 << LANE_BITS:
        raise AddressError(
            f"addresses have shape {given.shape} (accepted: (..., 32), one byte address a lane)"
        )
    base = given[..., :1]
    columns = given[..., [1 << bit for bit in range(LANE_BITS)]] ^ base
    linear: NDArray[np.bool_] = (_expanded(columns) ^ base == given).all(axis=-1)
    return columns, linear


def _count(
    op: str | Instruction,
    columns: ArrayLike,
    what: str,
    rule: str,
    engine: str,
    threads: int | None,
) -> Counts:
    known = instruction(op)
    check_rule(rule)
    check_threads(threads)
    if engine not in ENGINES:
        raise OptionError(f"unknown engine {engine!r}: {accepted(engine, ENGINES)}")
    array = _of_five(columns, what)
    flat = array.reshape(-1, LANE_BITS)
    affine = what == "strides"
    if engine == "auto":
        engine = "python" if len(flat) <= _PYTHON_UP_TO else "numba"
    if engine == "python":
        for layout, row in enumerate(flat.tolist()):
            _check(known, row, what, layout)
        in_closed_form = _affine if affine else _linear
        rows = [in_closed_form(known, row, rule) for row in flat.tolist()]
        figures = np.array(rows, dtype=np.uint8).reshape(-1, 6).T.copy()
    else:
        from simulator.law import numba_engine

        if affine:
            figures, suspect = numba_engine.count_accesses(known, flat, None, rule, threads)
        else:
            figures, suspect = numba_engine.count_linear(known, flat, rule, threads)
        for layout in range(len(flat) if suspect is None else suspect, len(flat)):
            _check(known, flat[layout].tolist(), what, layout)
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


def _check(known: Instruction, row: list[int], what: str, layout: int) -> None:
    lanes = _lanes(known, row, affine=what == "strides")
    inside = [lane if 0 <= lane < SHARED_BYTES else -1 for lane in lanes]
    try:
        check(known, np.array(inside), None, lanes)
    except AddressError as error:
        raise AddressError(f"{what} {row} of layout {layout}: {error}") from None


def _lanes(known: Instruction, columns: list[int], *, affine: bool) -> list[int]:
    """Give one layout's 32 addresses in integers that do not wrap; 0 where the lane is unused."""
    lanes = [0]
    for column in columns[: known.lanes.bit_length() - 1]:
        lanes += [lane + column if affine else lane ^ column for lane in lanes]
    return lanes + [0] * ((1 << LANE_BITS) - len(lanes))


def _linear(known: Instruction, columns: list[int], rule: str) -> Figures:
    """Count one linear layout: the specification of `numba_engine`'s."""

    def wavefronts(bits: int) -> int:
        words = [column // WORD for column in columns[:bits]]
        excess = 0
        for place, word in enumerate(words):
            # Eliminate by the lowest bit, so that a bank bit comes first where there is one.
            lowest = word & -word
            words[place + 1 :] = [
                other ^ word if other & lowest else other for other in words[place + 1 :]
            ]
            excess += word % BANKS == 0 and (word != 0 or not known.merges)
        return 1 << excess

    return _of_equal_phases(known, columns, rule, wavefronts)


def _affine(known: Instruction, strides: list[int], rule: str) -> Figures:
    """Count one affine layout: by its polynomial, or outside that piece by its addresses."""
    unit = max(known.width, WORD)
    own = strides[: known.lanes.bit_length() - 1]
    rising = sorted(filter(None, own))
    distinct = all(stride > sum(rising[:place]) for place, stride in enumerate(rising))
    if any(stride % unit for stride in own) or (known.merges and not distinct):
        return count_access(known, _lanes(known, strides, affine=True), ALL_LANES, rule)
    slots = BANKS * WORD // unit

    def wavefronts(bits: int) -> int:
        lanes = [1] + [0] * (slots - 1)  # on each slot
        for stride in own[:bits]:
            if stride or not known.merges:
                shift = stride // unit
                lanes = [lanes[at] + lanes[(at - shift) % slots] for at in range(slots)]
        return max(lanes)

    return _of_equal_phases(known, strides, rule, wavefronts)


def _of_equal_phases(
    known: Instruction, columns: list[int], rule: str, wavefronts: Callable[[int], int]
) -> Figures:
    """Give the figures where every phase costs the wavefronts of its number of lane bits."""
    if known.phases == 0:
        return 0, 0, 0, 0, 0, 0
    fuses = known.fuses and rule == "silicon" and 0 in columns[:2]
    phases = known.phases // 2 if fuses else known.phases
    served = phases * wavefronts((known.lanes // phases).bit_length() - 1)
    total = known.passes * served
    ideal = known.fixed_ideal
    if ideal is None:
        ideal = min(total, -(-known.lanes * known.width // (BANKS * WORD)))
    return (
        phases,
        total,
        ideal,
        total - ideal,
        served - phases,
        cycles(known, total, phases),
    )
