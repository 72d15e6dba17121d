"""The one error of the search."""

from __future__ import annotations

from layouts.errors import BankwiseError

__all__ = ["SearchError"]


class SearchError(BankwiseError):
    """Accesses, a tile or a space of layouts that cannot be searched."""
