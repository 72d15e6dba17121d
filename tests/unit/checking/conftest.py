"""A folder with a file of entries, and what checking it says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from simulator.checking import CheckReport, check

Write = Callable[..., Path]
Check = Callable[..., CheckReport]

CONFLICT = 'ask = "float s[32][32]; s[threadIdx.x][threadIdx.y]"'
FREE = 'ask = "float s[32][33]; s[threadIdx.x][threadIdx.y]"'


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of the folder."""

    def write(text: str, name: str = "bankwise.toml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def checked(write: Write) -> Check:
    """Check a text of entries."""

    def checked(text: str, **options: object) -> CheckReport:
        return check(write(text), **options)  # type: ignore[arg-type]

    return checked
