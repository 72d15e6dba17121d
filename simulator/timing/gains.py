"""Predicted gains in words: how many times as fast, and whether that is worth a change."""

from __future__ import annotations

__all__ = ["NOT_WORTH", "SLACK", "gain_text", "is_faster", "is_felt", "is_slower"]

NOT_WORTH = "not worth changing"

SLACK = 1.03
"""Estimates of two launches must be further apart for one to be called the faster one.

Launches that differ in layout alone were estimated before they were measured. Where the estimates
were further apart, the one that was estimated to be faster was so for 694 pairs of 702, and slower
for 6. Where they were nearer, and not alike, it was faster for 50 of 79, and slower for 15
(`python -m gpu_check.timing.signs`).
"""


def is_felt(gain: float) -> bool:
    """Whether a gain is printed as more than ×1.00.

    >>> is_felt(1.005), is_felt(1.0051), is_felt(0.9)
    (False, True, False)
    """
    return _printed(gain) > 1


def is_faster(gain: float) -> bool:
    """Whether a launch can be said to get faster.

    >>> is_faster(1.03), is_faster(1.04)
    (False, True)
    """
    return gain > SLACK


def is_slower(gain: float) -> bool:
    """Whether a launch can be said to get slower.

    >>> is_slower(0.98), is_slower(0.96)
    (False, True)
    """
    return gain < 1 / SLACK


def gain_text(gain: float) -> str:
    """Say how many times as fast a launch gets, and what to think of it unless that is a gain.

    >>> gain_text(1.234), gain_text(1.02), gain_text(1.005)
    ('×1.23', '×1.02, too close to tell', '×1.00, not worth changing')
    >>> gain_text(0.98), gain_text(0.84)
    ('×0.98, too close to tell', '×0.84, slower: not worth changing')
    """
    said = f"×{gain:.2f}"
    if is_faster(gain):
        return said
    if is_slower(gain):
        return f"{said}, slower: {NOT_WORTH}"
    return f"{said}, {'too close to tell' if _printed(gain) != 1 else NOT_WORTH}"


def _printed(gain: float) -> float:
    return float(f"{gain:.2f}")
