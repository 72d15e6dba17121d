"""What every result can do with its columns: rows, data frames, a static HTML table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from simulator.errors import MissingPackageError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Columns", "Result", "rows"]

Columns = dict[str, list[Any]]
"""Equal-length lists by column name."""


def rows(columns: Columns) -> list[dict[str, Any]]:
    """Turn columns into one object a row.

    >>> rows({"op": ["LDS", "STS"], "wavefronts": [1, 2]})
    [{'op': 'LDS', 'wavefronts': 1}, {'op': 'STS', 'wavefronts': 2}]
    """
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


class Result(ABC):
    """A result that people look at: as columns, as a data frame, in a notebook."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Give `{name: {column: list}, "totals": {…}}` in plain Python numbers."""

    def columns(self) -> Columns:
        """Give the rows of `to_dict` alone, as columns."""
        columns: Columns = next(iter(self.to_dict().values()))
        return columns

    def rows(self) -> list[dict[str, Any]]:
        """Give the rows of `to_dict`, one object a row."""
        return rows(self.columns())

    def to_dataframe(self) -> pd.DataFrame:
        """Give the rows as a pandas data frame (needs the extra `pandas`).

        Raises MissingPackageError.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingPackageError(
                "data frames need pandas, which is not installed"
                " (accepted: pip install 'bankwise[pandas]')"
            ) from error
        return pd.DataFrame(self.columns())

    def _repr_html_(self) -> str:
        from tabulate import tabulate

        # The format "html" escapes its cells.
        return str(tabulate(self.columns(), headers="keys", tablefmt="html"))
