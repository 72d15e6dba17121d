"""Products that FMUL scales by a power of two: .D2, .D4, .D8, .M2, .M4 and .M8."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from simulator.sass.lift.program import decode
from simulator.sass.replay import replay_compiled
from tests.examples import examples
from tests.sass_kernels import needs_compiler, needs_tools, program
from tests.sass_warp import KERNEL, run_warp

SCALES = {"D8": 1 / 8, "D4": 1 / 4, "D2": 1 / 2, "M2": 2, "M4": 4, "M8": 8}
# Any bits; and those whose products are subnormal, or just too large for a float32.
WORDS = st.one_of(
    st.integers(0, 2**32 - 1),
    st.integers(0x1F000000, 0x20800000),
    st.integers(0x5EC00000, 0x60400000),
)
LANES = st.lists(WORDS, min_size=32, max_size=32)

Floats = NDArray[np.float32]


def scaled(a: Floats, b: Floats, scale: float) -> Floats:
    """Return the product, rounded once: float64 holds it, whatever the scale."""
    with np.errstate(all="ignore"):
        return (a.astype(np.float64) * b * scale).astype(np.float32)


def same(found: Floats, wanted: Floats) -> bool:
    """Whether both are equal, zeros with their signs."""
    numbers = ~np.isnan(wanted)
    return bool(
        np.array_equal(found, wanted, equal_nan=True)
        and (np.signbit(found) == np.signbit(wanted))[numbers].all()
    )


@needs_tools
@given(LANES, LANES)
@settings(max_examples=examples(25), deadline=None)
def test_a_scaled_product_is_rounded_once(first: list[int], second: list[int]) -> None:
    a, b = (np.array(each, np.uint32) for each in (first, second))
    lines = [f"FMUL.{name} R{8 + n}, R2, -R3" for n, name in enumerate(SCALES)]
    lines += [f"FMUL.{name}.SAT R{14 + n}, R2, R3" for n, name in enumerate(SCALES)]
    lines += [f"UFMUL.{name} UR{8 + n}, UR2, UR3" for n, name in enumerate(SCALES)]
    read = run_warp(lines, {"R2": a, "R3": b, "UR2": first[0], "UR3": second[0]}).read
    x, y = a.view(np.float32), b.view(np.float32)
    for n, scale in enumerate(SCALES.values()):
        assert same(read(f"R{8 + n}").astype(np.uint32).view(np.float32), scaled(x, -y, scale))
        clipped = np.nan_to_num(scaled(x, y, scale), nan=0.0).clip(0, 1)
        assert (read(f"R{14 + n}").astype(np.uint32).view(np.float32) == clipped).all()
        uniform = read(f"UR{8 + n}").astype(np.uint32).view(np.float32)
        assert same(uniform[:1], scaled(x[:1], y[:1], scale))


@needs_tools
def test_two_roundings_would_differ() -> None:
    tiny = 2.0**-149
    a = np.float32([2.625 * 2.0**-75, 0.75 * 2.0**-75, 2.0**64, 3.0, -0.0, np.inf])
    b = np.float32([2.0**-74, 2.0**-74, 2.0**64, 5.0, 7.0, -1.0])
    bits = {name: np.resize(each, 32).view(np.uint32) for name, each in (("R2", a), ("R3", b))}
    read = run_warp(["FMUL.D2 R4, R2, R3", "FMUL.M8 R5, R2, R3"], bits).read
    half, eightfold = (read(name).astype(np.uint32).view(np.float32)[:6] for name in ("R4", "R5"))
    # 2.625 would become 3, and its half 2; 0.75 would become 1, and its eightfold 8.
    assert half.tolist() == [tiny, 0, 2.0**127, 7.5, 0, -np.inf]
    assert eightfold.tolist() == [21 * tiny, 6 * tiny, np.inf, 120, 0, -np.inf]
    assert np.signbit(half[4])
    assert np.signbit(eightfold[4])


@pytest.mark.parametrize(
    "line",
    ["FADD.D2 R4, R2, R3", "FFMA.M2 R4, R2, R3, R5", "FMUL.D16 R4, R2, R3", "FMUL.D2.M2 R4, R2, R3",
     "FMUL.INVALID0 R4, R2, R3"],
)  # fmt: skip
def test_no_other_scale_is_accepted(line: str) -> None:
    assert decode(program(line), KERNEL).problems


SOURCE = """
__global__ void scaled(const float *a, const float *b, float *out) {
    int i = threadIdx.x;
    float product = a[i] * b[i];
    out[i] = 0.5f * product;
    out[i + 32] = 4 * (a[i] * b[i]);
    out[i + 64] = a[i] * b[i] / 8;
    out[i + 96] = __saturatef(0.25f * (a[i] * 0.7f));
}
"""


@needs_compiler
def test_products_that_a_compiler_scales() -> None:
    random = np.random.default_rng(7)
    a, b = (random.normal(size=32).astype(np.float32) for _ in range(2))
    out = np.zeros(128, np.float32)
    report = replay_compiled(SOURCE, grid=1, block=32, args=[a, b, out])
    wanted = [
        scaled(a, b, 0.5), scaled(a, b, 4), scaled(a, b, 0.125),
        scaled(a, np.full(32, 0.7, np.float32), 0.25).clip(0, 1),
    ]  # fmt: skip
    assert np.array_equal(report.outputs[2], np.concatenate(wanted))
