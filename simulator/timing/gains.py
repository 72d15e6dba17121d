"""Predicted gains in words: how many times as fast, and whether that is worth a change."""

from __future__ import annotations

__all__ = ["NOT_WORTH", "gain_text", "is_felt", "is_slower"]

NOT_WORTH = "not worth changing"


def is_felt(gain: float) -> bool:
    """Whether a gain is worth a reader's time: it is not printed as ×1.00, or less.

    >>> is_felt(1.005), is_felt(1.0051), is_felt(0.9)
    (False, True, False)
    """
    return _printed(gain) > 1


def is_slower(gain: float) -> bool:
    """Whether a launch gets slower, by what is printed.

    >>> is_slower(0.99), is_slower(0.996)
    (True, False)
    """
    return _printed(gain) < 1


def gain_text(gain: float) -> str:
    """Say how many times as fast a launch gets, and where that is not worth changing anything.

    >>> gain_text(1.234), gain_text(1.005)
    ('×1.23', '×1.00, not worth changing')
    >>> gain_text(0.84)
    '×0.84, slower: not worth changing'
    """
    said = f"×{gain:.2f}"
    if is_felt(gain):
        return said
    return f"{said}, {'slower: ' if is_slower(gain) else ''}{NOT_WORTH}"


def _printed(gain: float) -> float:
    return float(f"{gain:.2f}")
