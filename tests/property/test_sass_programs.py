"""Random straight-line programs do what plain Python says, and what their instructions do alone.

In a program registers stay in values of LLVM, which compiles all of it together; between programs
of one instruction they lie in memory. `BANKWISE_PROGRAMS=10000 python -m pytest
tests/property/test_sass_programs.py` runs so many.
"""

from __future__ import annotations

import os
import re
from itertools import chain
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.sass.lift.coverage import groups
from tests.examples import examples
from tests.sass_plain import PLAIN, run_plain
from tests.sass_programs import TEMPLATES, instruction, random_program, random_values
from tests.sass_warp import KERNEL, Outcome, run_warp

EXAMPLES = int(os.environ.get("BANKWISE_PROGRAMS", examples(60)))
NAMES = (
    *(f"R{number}" for number in range(24)), *(f"P{number}" for number in range(7)),
    *(f"UR{number}" for number in range(10)), *(f"UP{number}" for number in range(7)),
)  # fmt: skip
seeds = st.integers(0, 2**64 - 1)


def state(outcome: Outcome, threads: int) -> dict[str, list[int]]:
    """Return what a warp holds in the lanes that exist; the others hold nothing that counts."""
    return {name: outcome.read(name)[:threads].tolist() for name in NAMES}


def stated(lines: list[str], values: dict[str, Any], threads: int) -> dict[str, list[int]]:
    """Return what plain Python says."""
    found = run_plain(lines, values, threads, NAMES, KERNEL.banks[0])
    return {name: found[name][:threads] for name in NAMES}


def different(one: dict[str, list[int]], other: dict[str, list[int]]) -> list[str]:
    return [name for name in NAMES if one[name] != other[name]]


@settings(max_examples=EXAMPLES)
@given(seeds)
def test_a_program_does_what_plain_python_says(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    values: dict[str, Any] = dict(random_values(random))
    steps, threads = random_program(random)
    lines = [*chain(*steps)]
    found = state(run_warp(lines, values, threads), threads)
    assert different(found, stated(lines, values, threads)) == [], (lines, threads)


@settings(max_examples=max(1, EXAMPLES // 60))
@given(seeds)
def test_every_template_does_what_plain_python_says(seed: int) -> None:
    """Each of them, one instruction at a time: no opcode is left to chance."""
    random = Random(seed)  # noqa: S311
    for template in chain(*TEMPLATES.values()):
        values: dict[str, Any] = dict(random_values(random))
        lines = instruction(template, random)
        found = state(run_warp(lines, values), 32)
        assert different(found, stated(lines, values, 32)) == [], lines


# Where random operands would be no law: the tests that hold these are named.
ELSEWHERE = {
    "S2R": "test_special_registers", "S2UR": "test_special_registers",
    "CS2R": "test_special_registers", "CS2UR": "test_special_registers",
    "CREDUX": "test_credux", "FADD2": "test_two_floats",
    "FMUL2": "test_two_floats", "FFMA2": "test_two_floats",
}  # fmt: skip


def test_every_opcode_without_memory_and_control_has_a_statement() -> None:
    rows = {
        each.name
        for title, opcodes in groups().items()
        if title not in ("Memory", "Control and barriers", "Hopper's own units")
        for each in opcodes
    }
    assert (rows - PLAIN.keys()) ^ ELSEWHERE.keys() == set(), (
        "write it lane by lane in a file of tests/sass_plain, by its name in `plain`"
    )
    choice = re.compile(r"\[([^\[\]]*)\]")
    drawn = {
        name
        for template in chain(*TEMPLATES.values())
        for name in (choice.match(template) or re.match(r"(\w+)", template))[1].split("|")  # type: ignore[index]
    }
    assert PLAIN.keys() - drawn == set(), "give it a template in tests/sass_programs.py"


@settings(max_examples=max(1, EXAMPLES // 2))
@given(seeds)
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
