"""Each engine counts what it is asked for; all figures are equal, so these tests watch who does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.law import numba_turns, numpy_turns, turns
from simulator.law.chips import counted_on

LOOP = counted_on(None, "ATOMS.CAST.SPIN")


@pytest.mark.parametrize("engine", ["python", "numpy", "numba"])
def test_the_engine_that_is_named_counts(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counting(name: str) -> Any:
        return lambda *_: asked.append(name)

    for name, module in (("numpy", numpy_turns), ("numba", numba_turns)):
        monkeypatch.setattr(module, "count_turns", counting(name))
    monkeypatch.setattr(turns, "count_loop", lambda *_: asked.append("python") or (0,) * 6)
    rows = np.zeros((1, 32), np.int64)
    turns.count_turns(LOOP, rows, None, None, engine)
    assert asked == [engine]


def test_no_access_gives_no_column() -> None:
    nothing = np.zeros((0, 32), np.int64)
    counted = turns.count_turns(LOOP, nothing, None, None, "python")
    assert counted.shape == (6, 0)
