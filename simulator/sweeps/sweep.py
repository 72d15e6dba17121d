"""`sweep`: what every combination of some parameters costs.

The grid is cut into chunks of neighbouring combinations. Workers of any executor measure them
(`measuring`); their outcomes are put in order, and into the store, if there is one, as they arrive.
"""

from __future__ import annotations

import csv
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import (
    Executor,
    ThreadPoolExecutor,
)
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from heapq import nsmallest
from pathlib import Path
from typing import Any

from layouts.errors import accepted, plural, short
from layouts.shapes import is_integer
from simulator.errors import (
    ExecutorError,
    GridError,
    OptionError,
    StoreError,
    TargetError,
)
from simulator.law.chips import Chip, ChipLike, optional_chip
from simulator.law.counting import check_rule
from simulator.law.instructions import Rule
from simulator.results.files import save
from simulator.results.tables import Columns, Result
from simulator.results.text import Table
from simulator.sweeps.grid import Grid
from simulator.sweeps.measuring import kind, measured
from simulator.sweeps.parquet import cell, parquet_writer
from simulator.sweeps.store import Chunk, Store
from simulator.sweeps.targets import Combination, Figure, Target, target_of

__all__ = ["Sweep", "sweep"]

_REASONS = 5  # of those that combinations were skipped for, in text

Progress = bool | Callable[[int, int], None]
"""Whether to show a bar (on a terminal only), or what to tell the number done and the total."""


@dataclass(frozen=True, eq=False)
class Sweep(Result):
    """A row for each combination that exists, in the grid's order: parameters, then figures.

    A row's figures are those of the target: `simulate`'s totals, the totals of a kernel's
    shared-memory sites (and its sectors in global memory), or the sums over a function's accesses.
    """

    target: str
    parameters: tuple[str, ...]
    figures: tuple[Figure, ...]
    combinations: int
    """How many were to be measured: those of the grid, or the limit."""
    skipped: Mapping[str, int]
    """How many combinations do not exist, by reason, the most frequent first. Reasons that differ
    in numbers only are one; the first such combination's words stand for all."""
    _columns: Columns = field(repr=False)

    def __len__(self) -> int:
        return len(self._columns[self.figures[0]])

    @property
    def complete(self) -> bool:
        """Whether every combination was measured or skipped."""
        return len(self) + sum(self.skipped.values()) == self.combinations

    def columns(self) -> Columns:
        """Return the columns, equally long: parameters by name, then figures."""
        return {name: list(column) for name, column in self._columns.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return `{"combinations": {column: list}, "totals": {…}}`; totals count combinations."""
        skipped = sum(self.skipped.values())
        totals = {"combinations": self.combinations, "counted": len(self), "skipped": skipped}
        return {"combinations": self.columns(), "totals": totals}

    def best(self, n: int = 1, *, by: Figure | None = None) -> list[dict[str, Any]]:
        """Return the n rows with the least of the figure `by`: cycles, or else wavefronts.

        Ties are broken by bank conflicts, then by instructions, then by the grid's order.
        Raises OptionError for an unknown figure or an n that is not a positive integer.
        """
        if not is_integer(n) or n < 1:
            raise OptionError(f"n {n!r} is not a number of rows (accepted: 1, 2, ...)")
        if by is None:
            by = "cycles" if "cycles" in self.figures else "wavefronts"
        if by not in self.figures:
            raise OptionError(f"unknown figure {by!r}: {accepted(by, self.figures)}")
        ties = ("bank_conflicts", "instructions", "requests")
        keys = [self._columns[name] for name in (by, *ties) if name in self.figures]
        chosen = nsmallest(int(n), range(len(self)), key=lambda row: [key[row] for key in keys])
        return [{name: column[row] for name, column in self._columns.items()} for row in chosen]

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write all rows as CSV; the numbers of a tuple are one cell, apart by spaces.

        The file appears whole or not at all. Raises OutputError.
        """

        def write(file: Path) -> None:
            with file.open("w", newline="", encoding="utf-8") as opened:
                writer = csv.writer(opened, lineterminator="\n")
                writer.writerow(self._columns)
                cells = ([*map(cell, column)] for column in self._columns.values())
                writer.writerows(zip(*cells, strict=True))

        save(path, write)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write all rows as Parquet (needs the extra `parquet`), whole or not at all.

        A column of mixed types, of tuples, or of integers beyond 64 bits is one of text.
        Raises OutputError, or MissingPackageError.
        """
        write = parquet_writer()
        save(path, lambda file: write(self._columns, file))

    def table(self, n: int = 10, *, by: Figure | None = None) -> Table:
        """Return the rows of `best`, the parameters that never vary, and why some are skipped."""
        best = self.best(n, by=by)
        constant = [
            name
            for name in self.parameters
            if all(value == self._columns[name][0] for value in self._columns[name])
        ]
        fixed = ", ".join(f"{name} {self._columns[name][0]}" for name in constant if len(self))
        reasons = [f"{many:,} skipped: {reason}" for reason, many in self.skipped.items()]
        if len(reasons) > _REASONS:
            more = sum([*self.skipped.values()][_REASONS:])
            reasons[_REASONS:] = [f"{more:,} skipped for {len(reasons) - _REASONS} other reasons."]
        totals = self.to_dict()["totals"]
        return Table(
            best,
            {**totals, "reasons": dict(self.skipped)},
            sums=[],
            title=f"{self.target}{f', {fixed}' if fixed else ''}\n"
            f"{plural(self.combinations, 'combination')}, {totals['counted']:,} counted"
            + (f"; the best {len(best)}" if best else ""),
            text=reasons,
            hidden=constant,
            columns=[*self.parameters, *self.figures],
        )


def sweep(
    target: Any,
    grid: Mapping[str, Any],
    *,
    rule: Rule = "silicon",
    chip: ChipLike | None = None,
    executor: Executor | None = None,
    progress: Progress = True,
    store: str | os.PathLike[str] | None = None,
    limit: int | None = None,
) -> Sweep:
    """Measure `target` at every combination of the grid's parameters.

    Combinations that raise a BankwiseError do not exist: they are skipped, and their reasons
    counted.

    Raises GridError, StoreError, ExecutorError, TargetError or OptionError, all of them
    BankwiseError; where something was counted before, `error.partial` is the Sweep of it.

    Parameters
    ----------
    target
        `simulate`; a kernel for `replay`, or its name, with m, n and k in the grid. Or a function
        from parameters to a WarpAccess, (op, addresses), (op, addresses, mask), or a list of them.
    grid
        Parameters and their values, any iterables; a single value is one too. `rule` and `chip` may
        be among them.
    rule, chip
        Those of `count`, for all combinations.
    executor
        Any `concurrent.futures.Executor`, by default a thread for each processor.
    progress
        Whether to show a bar on a terminal, or a function that is told how many are done and their
        number.
    store
        A file: the same call continues where an earlier one was interrupted.
    limit
        The first so many combinations, of which the last parameter moves fastest.

    Examples
    --------
    >>> from bankwise import simulate
    >>> found = sweep(simulate, {"lane_order": ["row-major", "z-order"], "pad": range(4)})
    >>> len(found), found.complete, list(found.skipped.values())
    (2, True, [6])
    >>> [row["cycles"] for row in found.best(2)]
    [12, 20]
    """
    check_rule(rule)
    if chip is not None and isinstance(grid, Mapping) and "chip" in grid:
        raise GridError(
            "chip is given twice, as an argument and in the grid (accepted: only one of them)"
        )
    law = {"rule": rule} if chip is None else {"rule": rule, "chip": Chip.of(chip)}
    if executor is not None and not isinstance(executor, Executor):
        raise OptionError(
            f"{executor!r} is not an executor (accepted: a concurrent.futures.Executor, such as"
            " ProcessPoolExecutor() or a Dask client's get_executor())"
        )
    if not isinstance(progress, bool) and not callable(progress):
        raise OptionError(
            f"progress {short(progress)} cannot be called (accepted: True, False, or a"
            " function of the number done and the total)"
        )
    chosen = target_of(target)
    axes = Grid.of(
        grid,
        accepted_names=chosen.accepted_names,
        required=chosen.required,
        target=chosen.name,
    )
    if chosen.takes_chip and chip is not None:
        raise GridError(
            f"{chosen.name} has a parameter chip of its own (accepted: its values in the grid,"
            " without the argument chip)"
        )
    if "chip" in axes.axes and not chosen.takes_chip:
        chips = tuple(map(optional_chip, axes.axes["chip"]))  # read once, and refused at once
        axes = Grid({**axes.axes, "chip": chips})
    clash = [name for name in grid if name in chosen.figures]
    if clash:
        raise GridError(
            f"{chosen.name} has a parameter called {clash[0]!r}, which is the name of a figure"
            f" (accepted: other names than {', '.join(chosen.figures)})"
        )
    total = axes.limited(limit)
    size = max(1, min(chosen.chunk, total // 64))
    found = _Found(chosen, axes, total)
    try:
        with ExitStack() as stack:
            kept = None
            if store is not None:
                described = _described(chosen, axes, law)
                kept = Store(store, described, size=size, total=total, figures=len(chosen.figures))
                stack.enter_context(kept)
                for chunk in kept.chunks.values():
                    found.add(chunk)
            tell = stack.enter_context(_telling(progress, chosen.name, found.done, total))
            if executor is None:
                executor = ThreadPoolExecutor(os.cpu_count() or 1)
                stack.callback(executor.shutdown, cancel_futures=True)
            todo = (
                (start, axes.between(start, min(start + size, total)))
                for start in range(0, total, size)
                if start not in found.chunks
            )
            chunks = stack.enter_context(closing(measured(executor, chosen, law, todo)))
            for chunk in chunks:
                found.add(chunk)
                if kept is not None:
                    kept.append(chunk)
                tell(found.done)
    except (ExecutorError, TargetError, StoreError) as error:
        error.partial = found.sweep()
        raise
    return found.sweep()


class _Found:
    """The chunks so far."""

    def __init__(self, target: Target, grid: Grid, total: int) -> None:
        self._target, self._grid, self._total = target, grid, total
        self.chunks: dict[int, Chunk] = {}
        self.done = 0

    def add(self, chunk: Chunk) -> None:
        self.chunks[chunk.start] = chunk
        self.done += len(chunk.rows) + sum(many for _, many, _ in chunk.skipped)

    def sweep(self) -> Sweep:
        """Put the chunks in order."""
        names, figures = tuple(self._grid.axes), self._target.figures
        columns: Columns = {name: [] for name in (*names, *figures)}
        reasons: dict[str, str] = {}
        skipped: Counter[str] = Counter()
        for _, chunk in sorted(self.chunks.items()):
            for number, row in chunk.rows:
                (combination,) = self._grid.between(number, number + 1)
                for name in names:
                    columns[name].append(_plain(combination[name]))
                for name, figure in zip(figures, row, strict=True):
                    columns[name].append(figure)
            for _, many, reason in chunk.skipped:
                skipped[reasons.setdefault(kind(reason), reason)] += many
        return Sweep(
            self._target.name, names, figures, self._total, dict(skipped.most_common()), columns
        )


@cache
def _own_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("bankwise")
    except PackageNotFoundError:  # run from its source, not installed
        return "not installed"


def _described(target: Target, grid: Grid, law: Combination) -> dict[str, Any]:
    return {
        "version": _own_version(),
        "target": target.identity,
        **{name: value if isinstance(value, str) else repr(value) for name, value in law.items()},
        "figures": list(target.figures),
        "grid": grid.described(),
    }


@contextmanager
def _telling(
    progress: Progress, label: str, done: int, total: int
) -> Iterator[Callable[[int], None]]:
    """Return what is to be told how many combinations are done."""
    if not isinstance(progress, bool):
        progress(done, total)
        yield lambda now: progress(now, total)
    elif progress and sys.stderr is not None and sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, initial=done, desc=label, unit=" combinations") as bar:

            def update(now: int) -> None:
                bar.update(now - bar.n)

            yield update
    else:
        yield lambda now: None


def _plain(value: Any) -> Any:
    """Return a parameter's value as a column holds it: plain, or its text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else str(value)
