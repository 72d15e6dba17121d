"""Parquet files of a sweep's rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from simulator.errors import MissingPackageError, install
from simulator.results.tables import Columns

__all__ = ["cell", "parquet_writer"]


def parquet_writer() -> Callable[[Columns, Path], None]:
    """Return what writes columns as Parquet, each of one type.

    Raises MissingPackageError without pyarrow.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingPackageError(
            f"Parquet files need pyarrow, which is not installed ({install('parquet')})"
        ) from error

    def write(columns: Columns, file: Path) -> None:
        uniform = {name: _uniform(column) for name, column in columns.items()}
        parquet.write_table(pyarrow.table(uniform), file)

    return write


def cell(value: Any) -> Any:
    """Return a value as one cell: the numbers of a list with spaces between them."""
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _uniform(column: list[Any]) -> list[Any]:
    kinds = {type(value) for value in column if value is not None}
    fits = all(-(2**63) <= value < 2**63 for value in column if isinstance(value, int))
    if len(kinds) <= 1 and list not in kinds and fits:
        return column
    return [None if value is None else str(cell(value)) for value in column]
