"""The least and the greatest float of a warp, as sm_100 finds them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.sass_kernels import needs_tools
from tests.sass_warp import run_warp

pytestmark = needs_tools

FLOAT = st.floats(width=32) | st.sampled_from([0.0, -0.0, float("nan"), float("inf")])


def test_of_sizes_and_of_integers() -> None:
    """As redux.sync.max.abs.f32 has it; and __reduce_min_sync, which sm_100 compiles to this."""
    random = np.random.default_rng(3)
    floats = random.normal(size=32).astype(np.float32)
    words = random.integers(0, 2**32, 32, dtype=np.uint32)
    lines = ["CREDUX.MAXABS.F32 UR4, R2", "CREDUX.MINABS.F32 UR5, R2", "CREDUX.MIN UR6, R3",
             "CREDUX.MAX.S32 UR7, R3"]  # fmt: skip
    read = run_warp(lines, {"R2": floats.view(np.uint32), "R3": words}).read
    found = np.array([read(f"UR{number}")[0] for number in (4, 5, 6, 7)], np.uint32)
    assert found[:2].view(np.float32).tolist() == [abs(floats).max(), abs(floats).min()]
    assert found[2:].tolist() == [words.min(), words.view(np.int32).max().astype(np.uint32)]


@given(st.lists(FLOAT, min_size=32, max_size=32), st.lists(st.booleans(), min_size=32, max_size=32))
@settings(max_examples=examples(25), deadline=None)
def test_the_least_and_greatest_float_of_a_warp(given_: list[float], taken: list[bool]) -> None:
    floats = np.array(given_, np.float32)
    lines = ["CREDUX.MAX.F32 UR4, R2", "CREDUX.MIN.F32 UR5, R2", "CREDUX.MAX.F32.NAN UR6, R2",
             "@P0 CREDUX.MIN.F32.NAN UR7, R2"]  # fmt: skip
    read = run_warp(lines, {"R2": floats.view(np.uint32), "P0": taken, "UR7": 5}).read

    def wanted(some: list[float], greatest: bool, nan: bool) -> int:
        numbers = [each for each in some if not np.isnan(each)]
        if not numbers or (nan and len(numbers) < len(some)):
            return 0x7FFFFFFF
        choose = max if greatest else min
        best = choose(numbers, key=lambda each: (each, not np.signbit(each)))
        return int(np.float32(best).view(np.uint32))

    every = floats.tolist()
    some = [each for each, yes in zip(every, taken, strict=True) if yes]
    found = [int(read(f"UR{number}")[0]) for number in (4, 5, 6, 7)]
    last = wanted(some, False, True) if some else 5
    both = wanted(every, True, False), wanted(every, False, False), wanted(every, True, True)
    assert found == [*both, last]
