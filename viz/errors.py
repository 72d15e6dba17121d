"""What can go wrong when drawing and when writing a report."""

from __future__ import annotations

from layouts.errors import BankwiseError

__all__ = ["DrawError", "MissingPlotlyError", "ReportError"]


class MissingPlotlyError(BankwiseError, ImportError):
    """Plotly is not installed; the message names the extra that brings it."""


class DrawError(BankwiseError):
    """Something that a figure cannot be drawn of."""


class ReportError(BankwiseError):
    """A report that cannot be written where it was asked for."""
