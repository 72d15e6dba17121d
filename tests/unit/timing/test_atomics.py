"""Atomics that meet in few words: a grid of one block per SM takes what it took on an H100."""

from typing import Any

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.atomics import PATTERNS, SOURCE
from simulator import Chip, replay_compiled
from simulator.timing.atomics import hot_stores
from tests.sass_kernels import needs_compiler
from tests.unit.timing.test_sm import MACHINE

_FIRST, _LAST, _EACH = 4, 12, 8
_QUICK = {
    "red": ("one word", "a word a lane", "any of 4096 words", "eight words of a sector",
            "a warp a word of 32 sectors"),
    "red_float": ("any of 256 words", "one lane, one word"),
    "red_double": ("one word",),
}  # fmt: skip
"""Those that are not slow."""


def _marked(*case: Any) -> Any:
    is_quick = case[1] in _QUICK.get(case[0], ()) and case[2] == 132
    return pytest.param(*case, marks=() if is_quick else pytest.mark.slow)


@needs_compiler
@pytest.mark.parametrize(
    ("atomic", "words", "sms", "off"),
    [*(_marked("red", *each) for each in [
        ("one word", 1, 0.01), ("one word", 132, 0.01), ("a word a lane", 132, 0.23),
        ("a sector a lane", 132, 0.14), ("any of 256 words", 132, 0.04),
        ("any of 1024 words", 132, 0.04), ("any of 4096 words", 132, 0.02),
        ("any of 65536 words", 132, 0.05), ("any of 4194304 words", 132, 0.04),
        ("eight words of a sector", 132, 0.23), ("any of the words of a sector", 132, 0.05),
        ("a warp a word of 32 sectors", 132, 0.05), ("one lane, one word", 132, 0.03),
     ]),
     *(_marked("red_float", *each) for each in [
        ("one word", 132, 0.03), ("a word a lane", 132, 0.23),
        ("any of 256 words", 132, 0.04), ("eight words of a sector", 132, 0.06),
        ("any of the words of a sector", 132, 0.05), ("a warp a word of 32 sectors", 132, 0.05),
        ("one lane, one word", 132, 0.06),
     ]),
     *(_marked(f"red_{each}", "one word", 132, 0.03)
       for each in ("double", "halves", "brains", "least"))],
)  # fmt: skip
def test_a_block_on_each_sm_takes_what_atomics_took(
    atomic: str, words: str, sms: int, off: float
) -> None:
    how, count = next((how, count) for name, how, count in PATTERNS if name == words)
    warps = 8

    def cycles(turns: int) -> int:
        report = replay_compiled(
            SOURCE.replace("turn < 16", f"turn < {turns}").replace("clock64()", "0"),
            kernel=atomic, grid=sms, block=32 * warps, chip="H100",
            args=[np.zeros(2 * count + 64, np.uint32), np.int32(how), np.uint32(count),
                  np.zeros(sms, np.int64), np.zeros(1, np.uint32)],
        )  # fmt: skip
        return report.time(chip="H100").active_cycles or 0

    (measured,) = (
        float(row["warps_8"]) for row in packaged_table("h100_atomics")
        if (row["atomic"], row["words"], row["sms"]) == (atomic, words, str(sms))
    )  # fmt: skip
    each = (cycles(_LAST) - cycles(_FIRST)) / ((_LAST - _FIRST) * _EACH * warps)
    assert each == pytest.approx(measured, rel=off)


@needs_compiler
@pytest.mark.parametrize(("shared", "each"), [(True, 2.0), (False, 0.0)])
def test_parts_of_sectors_that_blocks_store_to_the_same_kilobyte_go_one_by_one(
    shared: bool, each: float
) -> None:
    """Of 64 blocks each stores 32 words, a sector apart: to a kilobyte of all, or of its own."""
    source = """
extern "C" __global__ void parts(unsigned* out, int apart) {
    out[8 * threadIdx.x + apart * blockIdx.x] = threadIdx.x;
}"""
    report = replay_compiled(
        source, kernel="parts", grid=64, block=32, chip="H100",
        args=[np.zeros(1 << 14, np.uint32), np.int32(0 if shared else 256)],
    )  # fmt: skip
    assert hot_stores(report.relaunch().work(Chip.of("H100")), MACHINE) == pytest.approx(64 * each)


_WORDS = """
extern "C" __global__ void words(unsigned* data, unsigned* other) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    for (int each = 0; each < 4; ++each) {
        unsigned word = t + each * 135168;
        word ^= word >> 16; word *= 0x7feb352d; word ^= word >> 15; word *= 0x846ca68b;
        word = (word ^ word >> 16) % 4096;
        asm volatile("st.global.u32 [%0], %1;" :: "l"(data + word), "r"(t) : "memory");
    }
    LAST
}"""


@needs_compiler
def test_what_is_stored_last_does_not_end_what_meets_in_few_words() -> None:
    """An H100 stores 7.6 to 8.2 of 4,096 words in a cycle (h100_hot_stores.csv)."""

    def cycles(last: str) -> float:
        args = [np.zeros(4096, np.uint32), np.zeros(132 * 256, np.uint32)]
        source = _WORDS.replace("LAST", last)
        report = replay_compiled(source, grid=132, block=256, args=args, chip="H100")
        return report.time("H100").active_cycles or 0

    alone = cycles("")
    assert alone == pytest.approx(132 * 256 * 4 / 7.7, rel=0.2)
    assert alone <= cycles("other[t] = t;") < 1.05 * alone


@needs_compiler
@pytest.mark.parametrize("width", [131, 132, 66])
def test_blocks_of_one_column_do_not_stand_for_the_grid(width: int) -> None:
    """Each column of the grid stores to a kilobyte of its own: 256 words, 512 cycles."""
    source = """
extern "C" __global__ void sums(float* out) {
    if (threadIdx.x % 32 == 0)
        out[(blockIdx.x * gridDim.y + blockIdx.y) * 4 + threadIdx.x / 32] = 1;
}"""
    report = replay_compiled(
        source, grid=(width, 64), block=128, chip="H100",
        args=[np.zeros(width * 256, np.float32)],
    )  # fmt: skip
    assert hot_stores(report.relaunch().work(Chip.of("H100")), MACHINE) <= 2 * 512
