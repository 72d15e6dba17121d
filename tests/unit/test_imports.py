"""What importing bankwise, and asking it small things, must not load."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "numba", "cupy", "plotly", "pandas", "lark", "click", "tqdm", "pyarrow", "optuna", "hypothesis",
)  # fmt: skip

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


@pytest.mark.parametrize(
    "code",
    [
        "import layouts",
        "import simulator",
        "import simulator.search",
        "import simulator.testing",
        SMALL,
    ],
)
def test_small_things_load_nothing_heavy(code: str) -> None:
    assert loaded(code) == set()


def test_the_pytest_plugin_costs_nothing() -> None:
    """Every pytest run of every project that has bankwise installed imports it."""
    code = "import pytest_bankwise, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    names = {name.partition(".")[0] for name in done.stdout.split()}
    assert "pytest_bankwise" in names
    assert not names & {*HEAVY, "numpy", "simulator", "layouts", "tabulate"}


def test_the_test_above_can_fail() -> None:
    assert loaded("import numba") >= {"numba"}
    many = "import numpy, simulator\nsimulator.count('LDS', numpy.zeros((200_001, 32), int))"
    assert "numba" in loaded(many)


def test_the_command_loads_gpu_check_only_when_it_is_asked() -> None:
    code = """
import sys
from simulator.cli import main
main(["simulate"])
print("gpu_check" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split()[-1] == "False"
