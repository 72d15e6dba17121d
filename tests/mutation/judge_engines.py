"""What is asked of a mutant of the law: the readable engine and NumPy's agree, without Numba.

Numba would compile anew for each mutant. Its loops are asked by `judge_compiled`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import count, count_affine, count_linear, lane_addresses
from simulator.law.accesses import ALL_LANES, NO_SOURCE, SHARED_BYTES
from simulator.law.counting import FIGURES
from simulator.law.instructions import INSTRUCTIONS, RULES, Instruction
from simulator.law.loops import LOOPS
from tests.property.test_engine import many, masks
from tests.strategies import learnt_instructions, own_instructions

COPIES = [name for name in INSTRUCTIONS if name.startswith("LDGSTS")]
seeds = st.integers(0, 2**32)


def equal(one: Any, other: Any) -> None:
    for name in FIGURES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


@given(own_instructions() | learnt_instructions(), st.sampled_from(RULES), seeds, st.booleans())
def test_instructions_of_ones_own(own: Instruction, rule: Any, seed: int, masked: bool) -> None:
    rng = np.random.default_rng(seed)
    byte = many(rng, own, 6, own.shared_bytes)
    mask = masks(rng, 6) if masked and not own.is_matrix else None
    pure = count(own, byte, mask, rule=rule, engine="python")
    equal(count(own, byte, mask, rule=rule, engine="numpy"), pure)


@pytest.mark.parametrize("rule", RULES)
def test_all_instructions(rule: Any) -> None:
    rng = np.random.default_rng(1)
    for known in INSTRUCTIONS.values():
        byte = np.concatenate([many(rng, known, 12), many(rng, known, 12, 512)])
        mask = None if known.is_matrix else masks(rng, 24)
        pure = count(known, byte, mask, rule=rule, engine="python")
        equal(count(known, byte, mask, rule=rule, engine="numpy"), pure)


def test_copies_from_anywhere() -> None:
    rng = np.random.default_rng(2)
    for name in COPIES:
        known = INSTRUCTIONS[name]
        to = np.concatenate([many(rng, known, 20), many(rng, known, 20, 2048)])
        sources = rng.integers(0, 1 << rng.integers(8, 25, (40, 1)), (40, 32)) // known.width
        sources = np.where(rng.random((40, 32)) < 0.05, NO_SOURCE, sources * known.width)
        mask = masks(rng, 40)
        pure = count(name, to, mask, sources=sources, engine="python")
        equal(count(name, to, mask, sources=sources, engine="numpy"), pure)


def test_loops_of_atomics() -> None:
    rng = np.random.default_rng(3)
    for name, known in LOOPS.items():
        units = rng.integers(0, rng.integers(1, 200, (40, 1)), (40, 32))
        mask = masks(rng, 40)
        pure = count(name, units * known.width, mask, engine="python")
        equal(count(name, units * known.width, mask, engine="numpy"), pure)


@given(own_instructions() | learnt_instructions(), st.sampled_from(RULES), seeds, st.booleans())
def test_closed_forms(own: Instruction, rule: Any, seed: int, affine: bool) -> None:
    unit = max(own.width, 4)
    columns = np.random.default_rng(seed).integers(0, 64, (5, 5)) * unit
    closed = count_affine if affine else count_linear
    expected = count(own, lane_addresses(columns, affine=affine), rule=rule, engine="python")
    equal(closed(own, columns, rule=rule, engine="numpy"), expected)


@pytest.mark.parametrize("engine", ["python", "numpy"])
def test_edges_of_shared_memory(engine: Any) -> None:
    for known in INSTRUCTIONS.values():
        last = np.full(32, SHARED_BYTES - known.width)
        assert count(known, last, engine=engine).wavefronts <= 64
        for bad in (SHARED_BYTES - known.width + 1, SHARED_BYTES, -known.width):
            with pytest.raises(ValueError, match="of lane 0"):
                count(known, np.full(32, bad), ALL_LANES, engine=engine)
