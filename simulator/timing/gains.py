"""Predicted gains in words: how many times as fast, and whether that is worth a change."""

from __future__ import annotations

__all__ = ["FELT", "NOT_WORTH", "gain_text"]

FELT = 1.005
"""A speedup below this is not worth a reader's time."""
NOT_WORTH = "not worth changing"


def gain_text(gain: float) -> str:
    """Say how many times as fast a launch gets, and where that is not worth changing anything.

    >>> gain_text(1.234), gain_text(1.004)
    ('×1.23', '×1.00, not worth changing')
    >>> gain_text(0.84)
    '×0.84, slower: not worth changing'
    """
    said = f"×{gain:.2f}"
    if gain >= FELT:
        return said
    return f"{said}, {'slower: ' if gain < 1 / FELT else ''}{NOT_WORTH}"
