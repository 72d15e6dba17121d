"""Grids: axes of any kind, limits, and what is refused before anything is counted."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from simulator import (
    GridError,
    KernelError,
    Sweep,
    TargetError,
    WarpAccess,
    simulate,
    sweep,
)
from tests.sweep_targets import named, strided


def test_axes_may_be_any_iterables() -> None:
    plain = sweep(simulate, {"lds": [64, 128], "pad": [0, 4], "warp_shape": ["4x8"]})
    lazy = sweep(
        simulate,
        {
            "lds": (bits for bits in (64, 128)),
            "pad": np.array([0, 4], dtype=np.uint8),
            "warp_shape": "4x8",
        },
    )
    assert lazy.to_dict() == plain.to_dict()
    assert {type(value) for value in lazy.columns()["pad"]} == {int}


def test_a_limit_takes_the_first() -> None:
    whole = sweep(strided, {"stride": range(40), "width": [4, 8, 16]})
    found = sweep(strided, {"stride": range(10**15), "width": [4, 8, 16]}, limit=100)
    assert found.combinations == 100
    assert found.rows() == whole.rows()[:100]
    assert sweep(strided, {"stride": range(3)}, limit=9).combinations == 3


@pytest.mark.parametrize(
    ("target", "grid", "options", "message"),
    [
        (simulate, {}, {}, "grid {} is empty"),
        (simulate, {"pad": []}, {}, "'pad' has no values: [] (accepted: at least one)"),
        (simulate, {"pad": range(5, 5)}, {}, "'pad' has no values: range(5, 5)"),
        (simulate, [("pad", [1])], {}, "grid [('pad', [1])] is not a mapping"),
        (simulate, {1: [1]}, {}, "1 is not a parameter's name"),
        (simulate, {"warp_shap": ["4x8"]}, {}, "'warp_shap': did you mean warp_shape"),
        (simulate, {"warp-shape": ["4x8"]}, {}, "'warp-shape': did you mean warp_shape"),
        (simulate, {"lds": {32, 64}}, {}, "the values of 'lds' are a set, which has no order"),
        (simulate, {"pad": itertools.count()}, {}, "'pad' has more than 1,000,000 values"),
        (
            simulate,
            {"pad": range(10**9), "lds": range(10**6)},
            {},
            "1,000,000,000,000,000 combinations, 1,000,000,000 pad x 1,000,000 lds"
            " (accepted: up to 10,000,000, or limit=N for the first N)",
        ),
        (simulate, {"pad": range(10**30)}, {}, "combinations"),
        (simulate, {"pad": 0}, {"limit": 0}, "limit 0 is not a number of combinations"),
        (simulate, {"pad": 0}, {"limit": True}, "limit True is not a number of combinations"),
        (strided, {"width": [4]}, {}, "strided needs stride in the grid"),
        (strided, {"stride": 1, "stried": 1}, {}, "strided has no parameter 'stried'"),
        ("leimao.v02", {"m": 64, "n": 64}, {}, "leimao.v02 needs k in the grid"),
        (
            "leimao.v02",
            {"m": 64, "n": 64, "k": 64, "bm": 1},
            {},
            "leimao.v02 has no parameter 'bm'",
        ),
        (
            lambda cycles: [],
            {"cycles": 1},
            {},
            "has a parameter called 'cycles', which is the name of a figure",
        ),
    ],
)
def test_bad_grids(target: Any, grid: Any, options: Any, message: str) -> None:
    with pytest.raises(GridError) as refused:
        sweep(target, grid, **options)
    assert message in str(refused.value)


def test_bad_targets() -> None:
    with pytest.raises(KernelError, match=r"unknown kernel 'junstar92.3d': did you mean"):
        sweep("junstar92.3d", {"m": 1})
    with pytest.raises(TargetError, match="7 cannot be swept"):
        sweep(7, {"m": 1})
    with pytest.raises(TargetError, match="f returns 17"):
        sweep(named("f", lambda i: 17), {"i": 1})
    with pytest.raises(TargetError, match=r"f returns \[\('LDS',\)\]"):
        sweep(named("f", lambda i: [("LDS",)]), {"i": 1})


def test_a_failing_target_keeps_what_was_counted() -> None:
    def target(i: int) -> WarpAccess:
        if i == 90:
            raise ZeroDivisionError("by hand")
        return strided(i)

    with ThreadPoolExecutor(1) as one, pytest.raises(TargetError) as failed:
        sweep(target, {"i": range(100)}, executor=one)
    assert "failed at rule='silicon', i=90: ZeroDivisionError('by hand')" in str(failed.value)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    partial = failed.value.partial
    assert isinstance(partial, Sweep)
    assert not partial.complete
    assert partial.columns()["i"][:90] == list(range(90))
    assert 90 not in partial.columns()["i"]
