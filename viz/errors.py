"""What can go wrong when drawing and when writing a report."""

from __future__ import annotations

from layouts.errors import BankwiseError
from simulator.errors import MissingPackageError, OutputError

__all__ = ["DrawError", "MissingPackageError", "ReportError"]


class DrawError(BankwiseError):
    """Something that a figure cannot be drawn of."""


class ReportError(OutputError):
    """A report that cannot be written where it was asked for."""
