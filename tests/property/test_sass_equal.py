"""Random straight-line programs: both machines leave the same registers and predicates.

`BANKWISE_PROGRAMS=100000 python -m pytest tests/property/test_sass_equal.py` runs so many.
"""

from __future__ import annotations

import os
from itertools import chain
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sass_machines import Values, interpret, lift
from tests.sass_programs import random_program, random_values

EXAMPLES = int(os.environ.get("BANKWISE_PROGRAMS", "300"))
NAMES = (
    *(f"R{number}" for number in range(24)), *(f"P{number}" for number in range(7)),
    *(f"UR{number}" for number in range(10)), *(f"UP{number}" for number in range(7)),
)  # fmt: skip


def difference(lines: list[str], values: Values, threads: int) -> str:
    """Say what both machines leave different, or nothing."""
    new, old = lift(lines, values, threads), interpret(lines, values, threads)
    if new.executed != old.executed:
        return f"executions {new.executed} and {old.executed}"
    for name in NAMES:
        lifted, interpreted = new.read(name), old.read(name)
        if name.startswith("U"):
            interpreted = interpreted[:1].repeat(32)
        lanes = (lifted != interpreted).nonzero()[0].tolist()
        lanes = [lane for lane in lanes if lane < threads]
        if lanes:
            pair = f"{lifted[lanes[0]]:#x} and {interpreted[lanes[0]]:#x}"
            return f"{name} of lanes {lanes}: {pair} in the first"
    return ""


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**64 - 1))
def test_both_machines_do_the_same(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    values = random_values(random)
    steps, threads = random_program(random)
    if difference([*chain(*steps)], values, threads):
        raise AssertionError(first_difference(steps, values, threads))


def first_difference(steps: list[list[str]], values: Values, threads: int) -> str:
    """Say what is different after the shortest beginning of a program that shows it."""
    for end in range(1, len(steps) + 1):
        lines = [*chain(*steps[:end])]
        if found := difference(lines, values, threads):
            return f"{found}, after {steps[end - 1][0]}, the last of {lines} ({threads} threads)"
    raise AssertionError("a program behaves in two ways")
