"""Counting accesses that do not fit into memory: chunk after chunk, from a file or a generator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layouts.errors import BankwiseError, short
from layouts.shapes import is_integer
from simulator.errors import AddressError, MaskError, OptionError
from simulator.law.accesses import integers
from simulator.law.chips import ChipLike, instruction_on
from simulator.law.counting import Counts, count, n_way
from simulator.law.instructions import Instruction

__all__ = ["CHUNK", "count_stream", "totals"]

CHUNK = 1 << 18
"""Accesses taken at a time from an array: 32 MiB of int32, enough for some threads."""


def count_stream(
    op: str | Instruction,
    addresses: NDArray[Any] | Iterable[ArrayLike],
    mask: ArrayLike | Iterable[ArrayLike] | None = None,
    *,
    rule: str = "silicon",
    engine: str = "auto",
    threads: int | None = None,
    chunk: int = CHUNK,
    chip: ChipLike | None = None,
) -> Iterator[Counts]:
    """Count chunk after chunk, and give each one's figures when they are asked for.

    `addresses` is an array of shape (n, 32), which may be memory-mapped and is taken `chunk`
    accesses at a time, or an iterable of chunks as `count` takes them. `mask` is None, one
    integer for all, an array of shape (n,) for an array, or, beside an iterable, one with a mask
    (an integer, an array, None) for each chunk. Never more than one chunk is held. `engine="auto"`
    takes Numba for chunks of any size, for there may be many. `chip` is that of `count`.

    >>> chunks = ([[stride * lane for lane in range(32)]] for stride in (4, 8, 128))
    >>> [int(counts.wavefronts.sum()) for counts in count_stream("LDS", chunks)]
    [1, 2, 32]

    Raises as `count`, naming the chunk; what came before it has been given. MaskError, too, for
    masks that end before the chunks do.
    """
    known = instruction_on(chip, op)
    if not (is_integer(chunk) and chunk > 0):
        raise OptionError(f"chunk {chunk!r} (accepted: a positive number of accesses)")
    if engine == "auto":
        from simulator.jit import compiles

        engine = "numba" if compiles() else "numpy"
    for number, (some, some_mask) in enumerate(_chunks(addresses, mask, int(chunk))):
        try:
            counts = count(known, some, some_mask, rule=rule, engine=engine, threads=threads)
        except (AddressError, MaskError) as error:
            raise type(error)(f"chunk {number}: {error}") from None
        yield counts


def totals(counts: Iterable[Counts]) -> dict[str, int | float]:
    """Add up what `Counts.totals` gives for each of many, such as the chunks of a stream.

    >>> chunks = ([[stride * lane for lane in range(32)]] for stride in (4, 8, 128))
    >>> totals(count_stream("LDS", chunks))["wavefronts"]
    35
    """
    names = ("requests", "wavefronts", "ideal", "excessive", "bank_conflicts", "cycles")
    sums: dict[str, int | float] = dict.fromkeys(names, 0)
    for each in counts:
        part = each.totals()
        for name in names:
            sums[name] += part[name]
    return {**sums, "n_way": n_way(int(sums["wavefronts"]), int(sums["requests"]))}


def _chunks(addresses: Any, mask: Any, chunk: int) -> Iterator[tuple[Any, Any]]:
    if isinstance(addresses, np.ndarray):
        if addresses.ndim != 2:
            raise AddressError(
                f"addresses have shape {addresses.shape} (accepted: an array (n, 32), or an"
                " iterable of chunks)"
            )
        given = None if mask is None else integers(mask, MaskError, "masks")
        each = given is not None and given.ndim > 0
        if given is not None and each and given.shape != addresses.shape[:1]:
            raise MaskError(
                f"masks have shape {given.shape} for addresses of shape {addresses.shape}"
                f" (accepted: one integer, or shape {addresses.shape[:1]})"
            )
        for start in range(0, len(addresses), chunk):
            part = slice(start, start + chunk)
            yield addresses[part], given[part] if given is not None and each else mask
        return
    chunks = _iterator(addresses, AddressError, "addresses")
    if mask is None or is_integer(mask) or (isinstance(mask, np.ndarray) and mask.ndim == 0):
        for some in chunks:
            yield some, mask
    else:
        masks, none_left = _iterator(mask, MaskError, "masks"), object()
        for number, some in enumerate(chunks):
            some_mask = next(masks, none_left)
            if some_mask is none_left:
                raise MaskError(
                    f"masks end before chunk {number} of addresses (accepted: a mask for each)"
                )
            yield some, some_mask


def _iterator(values: Any, error: Callable[[str], BankwiseError], what: str) -> Iterator[Any]:
    try:
        return iter(values)
    except TypeError:
        other = "an array (n, 32)" if what == "addresses" else "None, one integer"
        raise error(
            f"{what} {short(values)} cannot be iterated over"
            f" (accepted: {other}, or an iterable of chunks' {what})"
        ) from None
