"""Gains in words."""

from __future__ import annotations

import pytest

from simulator.timing.gains import gain_text


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        (1.0301, "×1.03"),
        (1.03, "×1.03, too close to tell"),
        (1.0051, "×1.01, too close to tell"),
        (1.005, "×1.00, not worth changing"),
        (1.0049, "×1.00, not worth changing"),
        (0.9951, "×1.00, not worth changing"),
        (0.9949, "×0.99, too close to tell"),
        (0.971, "×0.97, too close to tell"),
        (0.97, "×0.97, slower: not worth changing"),
    ],
)
def test_what_is_printed_says_whether_a_gain_is_worth_it(gain: float, said: str) -> None:
    """×1.00 stood alone at 1.005."""
    assert gain_text(gain) == said
