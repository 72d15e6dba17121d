"""PTX assembled in forks of a process that has the library loaded: ten times as fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests import forks

__all__ = ["as_ptx", "in_forks"]

_HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def as_ptx(text: str) -> str:
    """Return PTX of any text: what has no version would be read as CUDA source, which is slow."""
    from simulator.sass.code.ptx import is_ptx

    return f"{'' if is_ptx(text) else _HEAD}{text}\n"


@contextmanager
def in_forks() -> Iterator[None]:
    """Let a fork stand for the process that `compiling.child` starts, within the same limits."""
    with pytest.MonkeyPatch.context() as patch:
        forks.start(patch)
        yield
