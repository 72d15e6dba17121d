"""What is said below a report's rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from simulator.sass import rows


@pytest.mark.parametrize(
    ("many", "others"),
    [(1, ""), (2, " (so does 1 other instruction)"), (3, " (so do 2 other instructions)")],
)
def test_one_other_instruction_does_and_several_do(
    many: int, others: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "standing", lambda launch, number: f"instruction {number}")
    launch: Any = SimpleNamespace(program=SimpleNamespace(addressed_by_data=[*range(many)]))
    (note,) = rows._of_data(launch, SimpleNamespace(executed=[1] * many))  # type: ignore[arg-type]
    assert f"instruction 0 computes its address from data that the kernel loads{others}:" in note
