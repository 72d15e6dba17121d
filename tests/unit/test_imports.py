"""What importing bankwise, and asking it small things, must not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numba", "cupy", "plotly", "pandas", "lark", "click", "tqdm", "pyarrow")

SMALL = """
from simulator import count, explain, simulate
count("LDS.128", [16 * lane for lane in range(32)])
explain("LDS.128", [16 * lane for lane in range(32)])
simulate("4x8", 128)
"""


def loaded(code: str) -> set[str]:
    """Names of HEAVY that running `code` in a fresh interpreter loads."""
    report = f"\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, check=True, text=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import layouts", "import simulator", SMALL])
def test_small_things_load_nothing_heavy(code: str) -> None:
    assert loaded(code) == set()


def test_the_test_above_can_fail() -> None:
    assert loaded("import numba") >= {"numba"}
    many = "import numpy, simulator\nsimulator.count('LDS', numpy.zeros((200_001, 32), int))"
    assert "numba" in loaded(many)
