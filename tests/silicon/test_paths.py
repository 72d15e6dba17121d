"""Warps whose lanes part, against an H100: tests/silicon/sass/paths.py has the launches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.law.chips import Chip
from simulator.sass.arguments import argument

SILICON = Path(__file__).parent
CASES = {each["name"]: each for each in json.loads((SILICON / "sass/paths.json").read_text())}
CHIP = json.loads((SILICON / "data/h100_paths.json").read_text())["cases"]
JOINED = {
    "probes 5 16 2": 0.0, "probes 1 8 2": 0.001, "probes 7 40 3": 0.001, "probes 1 2 2": 0.001,
    "probes of 8 warps": 0.01, "sparse square": 0.03, "search 1 4": 0.022,
}  # fmt: skip
"""Where groups join behind a YIELD: how far the machine is from the chip's own counter. ncu's
counts by instruction are higher: of patched code, it seems, in which they join less often."""


def executed(name: str) -> tuple[list[str], list[int], int]:
    """Opcodes, executions of each instruction by warps, and all by threads."""
    case = CASES[name]
    report = replay_compiled(
        SILICON / "sass" / "cubins" / case["cubin"], kernel=case["kernel"], blocks="all",
        grid=tuple(case["grid"]), block=tuple(case["block"]), chip="H100",
        args=[argument(text, place) for place, text in enumerate(case["args"])],
    )  # fmt: skip
    work = report.relaunch().work(Chip.of("H100"))
    counts = [trace.executed(len(work.instructions)) for trace in work.traces]
    total: Any = np.sum(counts, axis=0) * work.blocks // len(counts)
    return [each.opcode for each in work.instructions], total.tolist(), report.thread_instructions


@pytest.mark.parametrize("name", sorted(set(CASES) - set(JOINED)))
def test_each_instruction_is_executed_as_often_as_on_the_chip(name: str) -> None:
    _, counts, threads = executed(name)
    size = len(CHIP[name]["warps"])
    assert counts[:size] == CHIP[name]["warps"]
    assert threads == sum(CHIP[name]["threads"])


@pytest.mark.parametrize("name", JOINED)
def test_groups_that_join_behind_a_yield_execute_as_many_instructions(name: str) -> None:
    opcodes, counts, _ = executed(name)
    # The chip counts a YIELD again when its lanes go on.
    again = sum(counts[at + 1] for at, opcode in enumerate(opcodes) if opcode == "YIELD")
    assert sum(counts) + again == pytest.approx(CHIP[name]["counter"], rel=JOINED[name] or 1e-9)
