"""Grids: every combination of some parameters' values, enumerated lazily.

Combination number i is found by counting, as with the digits of a number: the last axis
moves fastest. So nothing is built but the axes themselves, and any stretch of the grid can be
worked on by itself, now or after an interruption.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from layouts.errors import accepted, short
from layouts.shapes import is_integer
from simulator.errors import GridError

__all__ = ["MOST", "Grid"]

MOST = 10_000_000
"""Combinations that a sweep takes on without being told a limit."""

_MOST_VALUES = 1_000_000  # of an axis that is not a range: they are all held


@dataclass(frozen=True)
class Grid:
    """The axes, by parameter name.

    >>> grid = Grid.of({"pad": range(3), "lds": [32, 64]}, accepted_names=["lds", "pad"])
    >>> grid.size, grid.between(1, 3)
    (6, [{'pad': 0, 'lds': 64}, {'pad': 1, 'lds': 32}])
    """

    axes: Mapping[str, Sequence[Any]]

    @classmethod
    def of(
        cls,
        grid: Mapping[str, Any],
        *,
        accepted_names: Collection[str] | None,
        required: Collection[str] = (),
        target: str = "the target",
    ) -> Grid:
        """Read `{parameter: values}`; `accepted_names` None accepts every name.

        Values are any iterable (a generator is run once); a range stays a range. A string, or
        anything that cannot be iterated, is a single value. Raises GridError.
        """
        if not isinstance(grid, Mapping):
            raise GridError(
                f"grid {short(grid)} is not a mapping (accepted: {{parameter: values, ...}})"
            )
        if not grid:
            raise GridError(
                "no parameter to sweep: grid {} is empty (accepted: at least one, with values)"
            )
        for name in grid:
            if not isinstance(name, str):
                raise GridError(f"{name!r} is not a parameter's name (accepted: strings)")
            if accepted_names is not None and name not in accepted_names:
                raise GridError(f"{target} has no parameter {name!r}: "
                                f"{accepted(name, accepted_names)}")  # fmt: skip
        missing = [name for name in required if name not in grid]
        if missing:
            raise GridError(
                f"{target} needs {', '.join(missing)} in the grid (accepted: values, or one value)"
            )
        return cls({name: _axis(name, values) for name, values in grid.items()})

    @property
    def size(self) -> int:
        """The number of combinations."""
        return math.prod(map(_length, self.axes.values()))

    def limited(self, limit: int | None) -> int:
        """How many combinations to work on: all, or the first `limit`.

        Raises GridError for a limit that is not a positive integer, and for more than MOST
        combinations without one.
        """
        if limit is None:
            if self.size > MOST:
                axes = " x ".join(f"{_length(axis):,} {name}" for name, axis in self.axes.items())
                raise GridError(
                    f"the grid has {self.size:,} combinations, {axes} (accepted: up to {MOST:,},"
                    " or limit=N for the first N)"
                )
            return self.size
        if not is_integer(limit) or limit < 1:
            raise GridError(
                f"limit {limit!r} is not a number of combinations (accepted: 1, 2, ...)"
            )
        return min(int(limit), self.size)

    def between(self, start: int, stop: int) -> list[dict[str, Any]]:
        """Return the combinations start, …, stop - 1."""
        return [self._at(index) for index in range(start, stop)]

    def described(self) -> list[list[str]]:
        """Return each axis's name and a digest of its values, to recognise the grid by.

        Raises GridError for values that do not look the same in the next process.
        """
        return [[name, _described(name, axis)] for name, axis in self.axes.items()]

    def _at(self, index: int) -> dict[str, Any]:
        values: list[Any] = []
        for axis in reversed([*self.axes.values()]):
            index, place = divmod(index, _length(axis))
            values.append(axis[place])
        return dict(zip(self.axes, reversed(values), strict=True))


def _axis(name: str, values: Any) -> Sequence[Any]:
    if isinstance(values, range):
        axis: Sequence[Any] = values
    elif isinstance(values, str | bytes) or not isinstance(values, Iterable):
        axis = (_plain(values),)
    elif isinstance(values, Set | Mapping):
        raise GridError(
            f"the values of {name!r} are a {type(values).__name__}, which has no order"
            " (accepted: a list, a tuple, a range, a generator)"
        )
    else:
        axis = tuple(map(_plain, islice(values, _MOST_VALUES + 1)))
        if len(axis) > _MOST_VALUES:
            raise GridError(
                f"{name!r} has more than {_MOST_VALUES:,} values (accepted: fewer, or a range)"
            )
    if not _length(axis):
        more = "; a range goes up, such as 0..4" if isinstance(axis, range) else ""
        raise GridError(f"{name!r} has no values: {short(values)} (accepted: at least one{more})")
    return axis


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's, which every target takes and every file keeps."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _described(name: str, axis: Sequence[Any]) -> str:
    length = _length(axis)
    values = axis if length > _MOST_VALUES else list(axis)
    for value in values:
        if type(value).__repr__ in (object.__repr__, type(_described).__repr__):
            raise GridError(
                f"{name!r} holds {value!r}, which a later run cannot compare with its own"
                " (accepted in a sweep"
                " with a store: numbers, strings, tuples, objects whose repr says their value)"
            )
        if length > _MOST_VALUES:
            break  # integers all
    import hashlib  # for a store alone

    digest = hashlib.sha256(repr(values).encode()).hexdigest()
    return f"{length} values, {digest[:16]}"


def _length(axis: Sequence[Any]) -> int:
    if isinstance(axis, range):  # len() refuses what exceeds 63 bits
        return max(0, -((axis.start - axis.stop) // axis.step))
    return len(axis)
