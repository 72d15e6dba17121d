"""Doubles as machine code makes them: roundings in a direction, the least and the greatest."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.examples import examples
from tests.property.test_sass_table import DIGITS, ROUNDS, nearest, run, seeds
from tests.sass_warp import LANES


def _doubles(outcome: Any, first: int) -> NDArray[np.float64]:
    low, high = (outcome.read(f"R{first + part}").astype(np.uint64) for part in range(2))
    found: NDArray[np.float64] = (low | high << np.uint64(32)).view(np.float64)
    return found


@pytest.mark.parametrize("how", list(ROUNDS)[1:])
@settings(max_examples=examples(20))
@given(seeds)
def test_doubles_are_rounded_in_a_direction(how: str, seed: int) -> None:
    """As `__dadd_rd` and the slow paths of divisions and roots ask for."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(3, LANES)) * 2.0 ** random.choice([-1040, -530, -40, 0, 40], (3, LANES))
    x[2, ::4] = -(x[0] * x[1])[::4]  # what is left is the rounding's error
    rows = x.view(np.uint32).reshape(3, LANES, 2).transpose(0, 2, 1).reshape(6, LANES)
    lines = [f"DFMA{how} R10, R0, R2, R4", f"DADD{how} R12, R0, R4", f"DMUL{how} R14, R0, R2"]
    outcome = run(lines, rows)
    for lane, (a, b, c) in enumerate(x.T.tolist()):
        p, q, r = map(Fraction, (a, b, c))
        for n, exact in enumerate((p * q + r, p + r, p * q)):
            wanted = nearest(exact, ROUNDS[how], *DIGITS[np.float64])
            assert Fraction(float(_doubles(outcome, 10 + 2 * n)[lane])) == wanted, (n, a, b, c)


@pytest.mark.parametrize("how", ["MIN", "MAX"])
@settings(max_examples=examples(20))
@given(seeds)
def test_the_least_and_the_greatest_of_doubles(how: str, seed: int) -> None:
    """What compilers make of fmin and fmax: the second, a quiet NaN, where both are NaNs."""
    random = np.random.default_rng(seed)
    x = random.choice([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-310], (2, LANES))
    rows = x.view(np.uint32).reshape(2, LANES, 2).transpose(0, 2, 1).reshape(4, LANES)
    lines = [
        f"DSETP.{how}.AND P0, P1, R0, R2, PT", "SEL R10, R0, R2, P0", "FSEL R11, R1, R3, P0",
        "@P1 LOP3.LUT R11, R3, 0x80000, RZ, 0xfc, !PT",
    ]  # fmt: skip
    outcome = run(lines, rows)
    wanted = (np.fmin if how == "MIN" else np.fmax)(x[0], x[1])
    sign = np.signbit(x).any(axis=0) if how == "MIN" else np.signbit(x).all(axis=0)
    wanted = np.where((x == 0).all(axis=0), np.where(sign, -0.0, 0.0), wanted)
    found = _doubles(outcome, 10)
    assert np.array_equal(found, wanted, equal_nan=True)
    numbers = ~np.isnan(wanted)
    assert np.array_equal(np.signbit(found)[numbers], np.signbit(wanted)[numbers])
