"""`count`: wavefronts, conflicts and cycles of any number of warp accesses.

`count_stream` counts those that do not fit into memory: chunk after chunk, from a file or a
generator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layouts.errors import BankwiseError, accepted, short
from layouts.shapes import is_integer
from layouts.tile import TileLike
from simulator.errors import AddressError, MaskError, OptionError
from simulator.law import specification
from simulator.law.accesses import ALL_LANES, Rows, check, copy_sources, integers, warp_accesses
from simulator.law.chips import ChipLike, counted_on
from simulator.law.indices import Addresses, locate
from simulator.law.instructions import RULES, Instruction, Rule
from simulator.law.loops import is_loop
from simulator.law.turns import count_turns
from simulator.results.tables import Result
from simulator.results.text import MOST_ROWS, Table

__all__ = [
    "CHUNK",
    "ENGINES",
    "FIGURES",
    "Counts",
    "Engine",
    "check_engine",
    "check_rule",
    "check_threads",
    "count",
    "count_stream",
    "engine_for",
    "n_way",
    "totals",
]

Engine = Literal["auto", "python", "numpy", "numba"]

ENGINES: tuple[Engine, ...] = get_args(Engine)
"""`auto` chooses by the number of accesses; the other three give the same figures."""

# Up to here, in accesses, the slower engine wins: NumPy has its fixed cost of a dozen array
# operations, Numba its import and the loading of compiled code.
_PYTHON_UP_TO = 2
_NUMPY_UP_TO = 200_000

CHUNK = 1 << 18
"""Accesses taken at a time from an array: 32 MiB of int32, enough for some threads."""

FIGURES = ("phases", "wavefronts", "ideal", "excessive", "bank_conflicts", "cycles")
"""What `Counts` says of each access, in the order of its rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Counts(Result):
    """What each access costs: for each of FIGURES an int32 array of the accesses' shape.

    Of one access alone each is an int32. Names are the profiler's.
    """

    figures: NDArray[np.uint8]
    """All of them in a byte each, shape (6, ...).

    At most 64, two passes over 32 lanes, for the instructions that a chip has. An `Instruction` of
    one's own is bounded so that a byte holds them.
    """

    def __post_init__(self) -> None:
        """Keep the figures as they are."""
        self.figures.flags.writeable = False

    @cached_property
    def phases(self) -> NDArray[np.int32]:
        """Groups of lanes served one after the other, after fusing, empty ones too."""
        return self._figure("phases")

    @cached_property
    def wavefronts(self) -> NDArray[np.int32]:
        """Times that the banks are used."""
        return self._figure("wavefronts")

    @cached_property
    def ideal(self) -> NDArray[np.int32]:
        """Wavefronts that the bytes alone would need."""
        return self._figure("ideal")

    @cached_property
    def excessive(self) -> NDArray[np.int32]:
        """Wavefronts beyond the ideal."""
        return self._figure("excessive")

    @cached_property
    def bank_conflicts(self) -> NDArray[np.int32]:
        """Wavefronts of each phase beyond its first."""
        return self._figure("bank_conflicts")

    @cached_property
    def cycles(self) -> NDArray[np.int32]:
        """Cycles that the access occupies the pipe when many warps keep it busy."""
        return self._figure("cycles")

    def floor(self, instruction: Instruction) -> NDArray[np.int32]:
        """Return the cycles that remain of `cycles` when no phase has a bank conflict.

        An access has its ideal wavefronts then, and one at least for each phase with an active
        lane. `instruction` is what was counted.
        """
        without = self.wavefronts - instruction.passes * self.bank_conflicts
        least = np.maximum(self.ideal, without)
        floor = specification.cycles(instruction, least, self.phases, np.maximum)
        return np.minimum(np.asarray(floor, dtype=np.int32), self.cycles)

    def _figure(self, name: str) -> NDArray[np.int32]:
        # Widened when asked for: memory that nobody looks at would cost as much as the counting.
        wide = np.array(self.figures[FIGURES.index(name)], dtype=np.int32)
        wide.flags.writeable = False
        return wide[()]  # of one access, a number

    def __repr__(self) -> str:
        """Show every figure by its name, without keeping it: nobody may ask for them again."""
        return f"Counts({', '.join(f'{name}={self._figure(name)!r}' for name in FIGURES)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the figures alone, in their bytes; the copy is as read-only."""
        return Counts, (self.figures,)

    def __getitem__(self, index: Any) -> Counts:
        """Return some of the accesses, by any index that NumPy takes."""
        return Counts(np.stack([row[index] for row in self.figures]))

    def worst(self) -> int:
        """Return the place of the access with most bank conflicts, then most wavefronts.

        Of several it is the first; places are counted in C order.

        >>> rows, columns = ([step * lane for lane in range(32)] for step in (4, 128))
        >>> count("LDS", [rows, columns]).worst()
        1
        """
        keys = self.bank_conflicts.astype(np.int64) * 256 + self.wavefronts
        return int(np.argmax(keys))

    def totals(self) -> dict[str, int | float]:
        """Return sums over all accesses; requests are those with an active lane on this pipe."""
        requests = int(np.count_nonzero(self.figures[0]))
        rows = zip(FIGURES[1:], self.figures[1:], strict=True)
        sums = {name: int(row.sum(dtype=np.int64)) for name, row in rows}
        return {"requests": requests, **sums, "n_way": n_way(sums["wavefronts"], requests)}

    def to_dict(self) -> dict[str, Any]:
        """Return `{"accesses": {column: list}, "totals": {…}}`, flat, in C order."""
        rows = zip(FIGURES, self.figures, strict=True)
        columns = {name: row.ravel().tolist() for name, row in rows}
        return {"accesses": columns, "totals": self.totals()}

    def table(self, most: int | None = None) -> Table:
        """Return a row per access, of the first `most`, with its number and its n-way."""
        flat = self.figures.reshape(len(FIGURES), -1)
        rows = []
        for number, figures in enumerate(flat[:, :most].T.tolist()):
            row = dict(zip(FIGURES, figures, strict=True))
            ways = n_way(row["wavefronts"], int(row["phases"] > 0))
            rows.append({"access": number, **row, "n_way": ways})
        return Table(rows, self.totals(), more=flat.shape[1] - len(rows))

    def shown(self) -> list[Table]:
        """Return the first accesses alone: there may be millions."""
        return [self.table(MOST_ROWS)]


def count(
    op: str | Instruction,
    addresses: Addresses,
    mask: ArrayLike | None = None,
    *,
    layout: TileLike | None = None,
    element: int | None = None,
    sources: ArrayLike | None = None,
    rule: Rule = "silicon",
    engine: Engine = "auto",
    threads: int | None = None,
    chip: ChipLike | None = None,
) -> Counts:
    """Count warp accesses of the instruction `op`, or whole loops of an atomic add without one.

    The figures have the shape (...) of the addresses. Text of indices is for `simulator.count`.

    Raises InstructionError, AddressError, MaskError, OptionError or ChipError, and for a layout
    LayoutError or ExpressionError, all of them BankwiseError.

    Parameters
    ----------
    op
        The instruction, or its name; or a loop, of one warp alone: "add.f32", "add.f16x2",
        "add.bf16x2" or "add.u64", all rounds of ATOMS.CAST.SPIN until every active lane has won.
    addresses
        Integers of any width, shape (..., 32): bytes from the start of shared memory. With
        `element` they are indices of elements, and may be a function of the lane. With `layout`
        they are rows and columns of it: a pair of arrays, or a function.
    mask, layout, element, rule, engine, threads, chip
        Those of `simulator.count`.
    sources
        Those of `simulator.count`. The cycles of such a copy are those of its wavefronts alone
        (`simulator.law.copies`).

    Examples
    --------
    >>> int(count("LDS", [128 * lane for lane in range(32)]).wavefronts)
    32
    >>> int(count("LDS.128", [16 * (lane // 2) for lane in range(32)]).phases)  # pairs fuse
    2
    >>> int(count("LDS", lambda lane: (lane, 0), layout="(32,32):(33,1)").wavefronts)
    1
    >>> rows, columns = [4 * lane for lane in range(32)], [128 * lane for lane in range(32)]
    >>> int(count("cp.async.ca.4", rows, sources=columns).wavefronts)  # all read from one bank
    32
    >>> int(count("add.f32", [0, 0, *range(0, 120, 4)]).wavefronts)  # lanes 0, 1 and 2 share a bank
    6
    """
    op = counted_on(chip, op)
    check_rule(rule)
    check_engine(engine)
    check_threads(threads)
    given = locate(op, addresses, layout, element, mask).addresses
    array, masks = warp_accesses(op, given, mask)
    shape = array.shape[:-1]
    flat = Rows(array)
    flat_masks = None if masks is None else masks.reshape(-1)
    if engine == "auto":
        engine = engine_for(len(flat))
    if sources is not None or is_loop(op):
        check(op, array, masks, given)
        reads = None if sources is None else Rows(copy_sources(op, sources, array, masks))
        figures = count_turns(op, flat, reads, flat_masks, engine, threads)
    elif engine == "numba":
        from simulator.law import numba_engine

        # It reads the addresses once, and checks them on the way.
        figures, suspect = numba_engine.count_accesses(op, flat, flat_masks, rule, threads)
        if suspect is not None:
            check(op, array, masks, given, suspect)
    else:
        check(op, array, masks, given)
        if engine == "python":
            figures = _count_in_python(op, flat, flat_masks, rule)
        else:
            from simulator.law.numpy_engine import count_accesses

            figures = count_accesses(op, flat, flat_masks, rule)
    return Counts(figures.reshape(6, *shape))


def count_stream(
    op: str | Instruction,
    addresses: NDArray[Any] | Iterable[ArrayLike],
    mask: ArrayLike | Iterable[ArrayLike] | None = None,
    *,
    rule: Rule = "silicon",
    engine: Engine = "auto",
    threads: int | None = None,
    chunk: int = CHUNK,
    chip: ChipLike | None = None,
) -> Iterator[Counts]:
    """Count chunk after chunk, and yield the figures of each when they are asked for.

    Never more than one chunk is held.

    Raises as `count`, naming the chunk; what came before it has been given. MaskError, too, for
    masks that end before the chunks do.

    Parameters
    ----------
    op, rule, threads, chip
        Those of `count`.
    addresses
        Shape (n, 32), perhaps memory-mapped; or an iterable of chunks as `count` takes them.
    mask
        None, one integer for all, or shape (n,). Beside an iterable: one of a mask for each chunk.
    engine
        That of `count`; "auto" takes Numba for chunks of any size, for there may be many.
    chunk
        Accesses of an array that are taken at a time.

    Examples
    --------
    >>> chunks = ([[stride * lane for lane in range(32)]] for stride in (4, 8, 128))
    >>> [int(counts.wavefronts.sum()) for counts in count_stream("LDS", chunks)]
    [1, 2, 32]
    """
    op = counted_on(chip, op)
    if not (is_integer(chunk) and chunk > 0):
        raise OptionError(f"chunk {chunk!r} is not a size (accepted: a positive integer)")
    if engine == "auto":
        from simulator.jit import compiles

        engine = "numba" if compiles() else "numpy"
    for number, (some, some_mask) in enumerate(_chunks(addresses, mask, int(chunk))):
        try:
            counts = count(op, some, some_mask, rule=rule, engine=engine, threads=threads)
        except (AddressError, MaskError) as error:
            raise type(error)(f"chunk {number}: {error}") from None
        yield counts


def totals(counts: Iterable[Counts]) -> dict[str, int | float]:
    """Add up what `Counts.totals` gives for each of many, such as the chunks of a stream.

    >>> chunks = ([[stride * lane for lane in range(32)]] for stride in (4, 8, 128))
    >>> totals(count_stream("LDS", chunks))["wavefronts"]
    35
    """
    names = ("requests", *FIGURES[1:])
    sums: dict[str, int | float] = dict.fromkeys(names, 0)
    for each in counts:
        part = each.totals()
        for name in names:
            sums[name] += part[name]
    return {**sums, "n_way": n_way(int(sums["wavefronts"]), int(sums["requests"]))}


def check_rule(rule: str) -> None:
    """Raise OptionError unless `rule` is one of RULES."""
    if not isinstance(rule, str) or rule not in RULES:
        raise OptionError(f"unknown rule {rule!r}: {accepted(rule, RULES)}")


def check_engine(engine: str) -> None:
    """Raise OptionError unless `engine` is one of ENGINES."""
    if not isinstance(engine, str) or engine not in ENGINES:
        raise OptionError(f"unknown engine {engine!r}: {accepted(engine, ENGINES)}")


def check_threads(threads: int | None) -> None:
    """Raise OptionError unless `threads` is None or a positive integer."""
    if threads is not None and not (is_integer(threads) and threads > 0):
        raise OptionError(f"threads {threads!r} (accepted: a positive integer, or None for all)")


def n_way(wavefronts: int, requests: int) -> float:
    """Wavefronts a request, which Nsight Compute words as an "n-way bank conflict"."""
    return wavefronts / requests if requests else 0.0


def engine_for(accesses: int) -> Engine:
    """Return the fastest engine for so many accesses."""
    if accesses <= _PYTHON_UP_TO:
        return "python"
    if accesses <= _NUMPY_UP_TO:
        return "numpy"
    from simulator.jit import compiles

    return "numba" if compiles() else "numpy"


def _count_in_python(
    instruction: Instruction, addresses: Rows, masks: NDArray[np.uint32] | None, rule: Rule
) -> NDArray[np.uint8]:
    bits = [ALL_LANES] * len(addresses) if masks is None else masks.tolist()
    counted = [
        specification.count_access(instruction, row, mask, rule)
        for row, mask in zip(addresses[:].tolist(), bits, strict=True)
    ]
    return np.array(counted, dtype=np.uint8).reshape(-1, 6).T.copy()


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
