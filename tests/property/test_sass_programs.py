"""Random straight-line programs leave what their instructions leave one by one.

In a program registers stay in values of LLVM, which compiles all of it together; between programs
of one instruction they lie in memory. `BANKWISE_PROGRAMS=10000 python -m pytest
tests/property/test_sass_programs.py` runs so many.
"""

from __future__ import annotations

import os
from itertools import chain
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sass_programs import random_program, random_values
from tests.sass_warp import Outcome, run_warp

EXAMPLES = int(os.environ.get("BANKWISE_PROGRAMS", "60"))
NAMES = (
    *(f"R{number}" for number in range(24)), *(f"P{number}" for number in range(7)),
    *(f"UR{number}" for number in range(10)), *(f"UP{number}" for number in range(7)),
)  # fmt: skip


def state(outcome: Outcome, threads: int) -> dict[str, list[int]]:
    """Give what a warp holds in the lanes that exist; the others hold nothing that counts."""
    return {name: outcome.read(name)[:threads].tolist() for name in NAMES}


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**64 - 1))
def test_a_program_does_what_its_instructions_do(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    values: dict[str, Any] = dict(random_values(random))
    steps, threads = random_program(random)
    whole = state(run_warp([*chain(*steps)], values, threads), threads)
    # From the first EXIT on, lanes are missing: that goes together.
    leaves = next((n for n, lines in enumerate(steps) if "EXIT" in lines[0]), len(steps))
    pieces = [[line] for line in chain(*steps[:leaves])] + [[*chain(*steps[leaves:])]]
    for lines in pieces:
        outcome = run_warp(lines, values, threads)
        values = {
            name: outcome.read(name)[0] if name.startswith("U") else outcome.read(name)
            for name in NAMES
        }
    assert state(outcome, threads) == whole, steps
