"""A few of the inputs of `python -m tests.fuzz`, which reads a million of each kind."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz.__main__ import one, read
from tests.fuzz.targets import TARGETS

FEW = {"store": 2, "command": 4, "source": 6, "cubin": 0, "ptx": 0, "archive": 2, "recording": 8}


@pytest.mark.parametrize("name", [name for name in TARGETS if FEW.get(name, 1)])
@pytest.mark.filterwarnings("ignore")
def test_whatever_is_read_is_answered_or_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = TARGETS[name]
    if target.needs and find_spec(target.needs) is None:
        pytest.skip(f"{target.needs} is not installed")
    monkeypatch.chdir(tmp_path)
    for number in range(FEW.get(name, 25)):
        assert read(target, one(name, 1, number)) in ("answered", "refused"), number
    assert list(tmp_path.iterdir()) == []


def test_what_goes_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail."""

    def ask(given: str | bytes) -> object:
        raise KeyError(given)

    target = TARGETS["expression"]
    monkeypatch.setitem(TARGETS, "expression", type(target)(target.make, ask))
    verdict = read(TARGETS["expression"], one("expression", 0, 0))
    assert verdict.startswith("KeyError at test_fuzz.py:")
