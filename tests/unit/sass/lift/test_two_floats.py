"""Sums and products of two floats in a pair of registers, as sm_100 has them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from simulator.sass.lift.program import decode
from tests.examples import examples
from tests.sass_kernels import needs_tools, program
from tests.sass_warp import KERNEL, run_warp

pytestmark = needs_tools

Floats = NDArray[np.float32]
FLOAT = st.integers(-(2**24), 2**24).map(lambda sixteenths: sixteenths / 16)
LANES = st.lists(FLOAT, min_size=64, max_size=64)


def fused(a: Floats, b: Floats, c: Floats) -> Floats:
    """Return a·b + c, rounded once: float64 holds such products, and their sums."""
    return (a.astype(float) * b + c).astype(np.float32)


FORMS: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "FADD2 R8, R2.F32x2.HI_LO, R4.F32x2.HI_LO": lambda a, b, c: a + b,
    "FADD2.FTZ R8, -R2.F32x2.HI_LO, |R4|.F32x2.LO_HI": lambda a, b, c: np.abs(b[::-1]) - a,
    "FADD2 R8, R2.F32x2.HI_LO, -R4.F32": lambda a, b, c: a - b[0],
    "FADD2 R8, R2.reuse.F32x2.HI_HI, 1": lambda a, b, c: a[[1, 1]] + np.float32(1),
    "FMUL2 R8, R2.F32x2.LO_LO, RZ.F32x2.HI_LO": lambda a, b, c: a[[0, 0]] * np.float32(0),
    "FMUL2 R8, R2.F32x2.HI_LO, UR4.F32x2.HI_LO": lambda a, b, c: a * np.float32([[3], [5]]),
    "FFMA2 R8, R2.F32x2.HI_LO, R4.F32x2.HI_LO, -R6.F32x2.HI_LO": lambda a, b, c: fused(a, b, -c),
}


@given(LANES, st.lists(st.integers(-99, 99), min_size=64, max_size=64), LANES)
@settings(max_examples=examples(10), deadline=None)
def test_each_of_two_floats_is_calculated_as_one(
    first: list[float], second: list[int], third: list[float]
) -> None:
    a, b, c = (np.array(each, np.float32).reshape(2, 32) for each in (first, second, third))
    bits = {
        f"R{2 * pair + word + 2}": values[word].view(np.uint32)
        for pair, values in enumerate((a, b, c))
        for word in range(2)
    }
    bits |= {f"UR{4 + word}": int(np.float32(3 + 2 * word).view(np.uint32)) for word in range(2)}
    for line, make in FORMS.items():
        read = run_warp([line], bits).read
        wanted = make(a, b, c).astype(np.float32)
        for word in range(2):
            found = read(f"R{8 + word}").astype(np.uint32).view(np.float32)
            assert (found == wanted[word]).all(), line


@given(LANES, LANES)
@settings(max_examples=examples(10), deadline=None)
def test_directed_roundings_of_two_floats_are_those_of_one(
    first: list[float], second: list[float]
) -> None:
    a, b = (np.array(each, np.float32).view(np.uint32) for each in (first, second))
    bits = {"R2": a[:32], "R3": a[32:], "R4": b[:32], "R5": b[32:]}
    for name in ("FADD", "FMUL"):
        for how in ("RM", "RP", "RZ"):
            both = f"{name}2.{how} R8, R2.F32x2.HI_LO, R4.F32x2.HI_LO"
            read = run_warp(
                [both, *(f"{name}.{how} R{6 + k}, R{2 + k}, R{4 + k}" for k in (0, 1))], bits
            ).read
            assert (read("R8") == read("R6")).all()
            assert (read("R9") == read("R7")).all()


@pytest.mark.parametrize("operand", ["R2", "R2.H0_H0", "R2.F32x2", "R2.F32x2.LO", "c[0x0][0x28]"])
def test_operands_that_were_never_seen_are_refused(operand: str) -> None:
    assert decode(program(f"FADD2 R8, {operand}, R4.F32x2.HI_LO"), KERNEL).problems
