"""What every result can do: rows, a data frame, text, a table in a notebook, and equality."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.errors import MissingPackageError, install
from simulator.results.text import Table, as_html, as_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Columns", "Result", "equal", "rows"]

Columns = dict[str, list[Any]]
"""Equal-length lists by column name."""


def rows(columns: Columns) -> list[dict[str, Any]]:
    """Turn columns into one object a row.

    >>> rows({"op": ["LDS", "STS"], "wavefronts": [1, 2]})
    [{'op': 'LDS', 'wavefronts': 1}, {'op': 'STS', 'wavefronts': 2}]
    """
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def equal(first: Any, second: Any) -> bool:
    """Return whether two values are the same, also within arrays, lists and mappings.

    Arrays are the same if shape, type and elements are. Two NaN are the same.

    >>> equal({"a": [np.arange(2), float("nan")]}, {"a": [np.arange(2), float("nan")]})
    True
    >>> equal(np.arange(2), [0, 1])
    False
    """
    if first is second:
        return True
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return (
            isinstance(first, np.ndarray)
            and isinstance(second, np.ndarray)
            and (first.dtype, first.shape) == (second.dtype, second.shape)
            # Bytes tell a NaN from a number, which == does not; == knows that -0 is 0.
            and bool(np.array_equal(first, second) or first.tobytes() == second.tobytes())
        )
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(
            equal(value, second[key]) for key, value in first.items()
        )
    if isinstance(first, list | tuple) and type(first) is type(second):
        return len(first) == len(second) and all(map(equal, first, second))
    return bool(first == second or (first != first and second != second))


class Result(ABC):
    """A result that people look at: as columns, as a data frame, in a notebook.

    Two results are equal if they are of one type and all their fields are. Like a list, a result
    has no hash.
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return `{name: {column: list}, "totals": {…}}` in plain Python numbers."""

    def columns(self) -> Columns:
        """Return the rows of `to_dict` alone, as columns."""
        columns: Columns = next(iter(self.to_dict().values()))
        return columns

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of `to_dict`, one object a row."""
        return rows(self.columns())

    def table(self) -> Table:
        """Return the rows, their totals and the words around them."""
        return Table(self.rows(), self.to_dict()["totals"])

    def shown(self) -> Sequence[Table]:
        """Return what `str` prints: `table`, unless people read it better in several."""
        return [self.table()]

    def to_dataframe(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame (needs the extra `pandas`).

        Raises MissingPackageError.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingPackageError(
                f"data frames need pandas, which is not installed ({install('pandas')})"
            ) from error
        return pd.DataFrame(self.columns())

    def __str__(self) -> str:
        return "\n\n".join(map(as_text, self.shown()))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [each.name for each in fields(self) if each.compare]  # type: ignore[arg-type]
        return all(equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("..." if cycle else str(self))  # IPython on a terminal

    def to_html(self) -> str:
        """Return what a notebook shows, to be put into a page; `viz.report` makes a whole one."""
        return self._repr_html_()

    def _repr_html_(self) -> str:
        return "".join(map(as_html, self.shown()))
