"""Spaces too large to enumerate: what the limit counts, and what is sampled."""

from __future__ import annotations

from typing import Any

import pytest

from simulator import MissingPackageError
from simulator.search import Access, optimize

COLUMN = Access("LDS", "lane, i", loops={"i": 32})
ROW = Access("STS", "i, lane", loops={"i": 32})


def test_large_spaces_are_sampled_and_not_proved() -> None:
    accesses = [Access("LDS", "lane*a + (lane/8)*b")]
    space = {"a": range(1, 1000), "b": range(1, 1000)}
    found = optimize(accesses, space=space, limit=1000, trials=40)
    assert not found.proved
    assert found.certificate.kind == "sampled"
    assert "Not proved" in str(found)
    again = optimize(accesses, space=space, limit=1000, trials=40)
    assert again.values == found.values  # seeded
    small = optimize(accesses, space={"a": range(1, 9), "b": range(1, 9)}, limit=1000)
    assert small.proved


@pytest.mark.parametrize("swizzle", ["xor", "cute", [None, "Sw<3,3,3>", "Sw<2,3,3>"]])
def test_the_limit_counts_the_layouts_of_every_choice(swizzle: Any) -> None:
    accesses = [Access("LDS", "lane*a + (lane/8)*b")]
    space = {"a": range(60), "b": range(60), "swizzle": swizzle}
    large = optimize(accesses, space=space, limit=4000, trials=40)  # 3,600 choices, one access each
    assert large.certificate.kind == "sampled"
    small = optimize(accesses, space={**space, "a": [1, 2], "b": [1, 32]}, limit=4000)
    assert small.proved


def test_the_limit_counts_the_paddings_of_every_choice() -> None:
    """Scattered lanes, which no padding up to 63 frees of conflicts: all paddings are counted."""
    mixed = [Access("LDS", "i*7 % 31 + lane*lane % 7, n % 2 + lane % 5", loops={"i": 2})]
    space = {"pad": range(64), "n": range(100)}
    large = optimize(mixed, tile="64x64", space=space, limit=1000, trials=5)
    assert large.certificate.kind == "sampled"
    assert optimize(mixed, tile="64x64", space={**space, "n": [0, 1]}, limit=1000).proved


def test_the_limit_without_free_values_leaves_nothing_of_them_out() -> None:
    found = optimize([COLUMN, ROW], tile="32x32", space={"pad": range(2)}, limit=1)
    assert "free values" not in found.certificate.text
    assert found.proved


def test_what_is_not_linear_is_sampled_too() -> None:
    """Lanes out of line: no rank bounds several terms."""
    mixed = [7 * lane * lane % 1024 for lane in range(32)]
    other = [lane * 32 for lane in range(32)]
    accesses = [Access("LDS", mixed), Access("LDS", other, weight=2)]
    found = optimize(accesses, tile="32x32", space={"swizzle": "xor"}, trials=30)
    assert found.cost < (found.before or 0)
    assert found.proved == (found.cost == found.certificate.floor)
    few = optimize(accesses, tile="32x32", space={"swizzle": "xor"}, trials=30, limit=10)
    assert few.cost <= (few.before or 0)
    if few.cost > few.certificate.floor:
        assert "one XOR term" in few.certificate.text


def test_without_optuna(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulator.search.run._optuna_is_installed", lambda: False)
    with pytest.raises(MissingPackageError, match=r"pip install '\.\[search\]'"):
        optimize([Access("LDS", "lane*a")], space={"a": range(10**15)})
