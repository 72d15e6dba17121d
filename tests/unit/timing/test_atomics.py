"""Atomics that meet in few words: a grid of one block per SM takes what it took on an H200."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.addition_units import KINDS, addition_units_source, lanes_at
from gpu_check.timing.atomics import PATTERNS, SOURCE
from simulator import Chip, replay_compiled
from simulator.timing.atomics import hot_stores
from simulator.timing.machine import machine_of
from simulator.timing.ways import stand_behind
from tests.sass_kernels import needs_compiler
from tests.unit.timing.test_sm import MACHINE

H200 = machine_of(Chip.of("H200")) or {}
_FIRST, _LAST, _EACH, _WARPS = 4, 12, 8, 8
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


def _cycles_of_a_turn(
    source: Callable[[int], str], kernel: str, sms: int, args: list[Any]
) -> float:
    """Return what a turn takes a block of each SM; `source`: CUDA source of so many turns."""
    less, more = (
        replay_compiled(
            source(turns).replace("clock64()", "0"),
            kernel=kernel, grid=sms, block=32 * _WARPS, chip="H200", args=args,
        ).time(chip="H200").active_cycles or 0
        for turns in (_FIRST, _LAST)
    )  # fmt: skip
    return (more - less) / (_LAST - _FIRST)


@needs_compiler
@pytest.mark.parametrize(
    ("atomic", "words", "sms", "off"),
    [*(_marked("red", *each) for each in [
        ("one word", 1, 0.02), ("one word", 132, 0.01), ("a word a lane", 132, 0.16),
        ("a sector a lane", 132, 0.1), ("any of 256 words", 132, 0.02),
        ("any of 1024 words", 132, 0.03), ("any of 4096 words", 132, 0.03),
        ("any of 65536 words", 132, 0.05), ("any of 4194304 words", 132, 0.02),
        ("eight words of a sector", 132, 0.01), ("any of the words of a sector", 132, 0.02),
        ("a warp a word of 32 sectors", 132, 0.01), ("one lane, one word", 132, 0.01),
     ]),
     *(_marked("red_float", *each) for each in [
        ("one word", 132, 0.01), ("a word a lane", 132, 0.18),
        ("any of 256 words", 132, 0.02), ("eight words of a sector", 132, 0.01),
        ("any of the words of a sector", 132, 0.01), ("a warp a word of 32 sectors", 132, 0.03),
        ("one lane, one word", 132, 0.01),
     ]),
     *(_marked(f"red_{each}", "one word", 132, 0.01)
       for each in ("double", "halves", "brains", "least"))],
)  # fmt: skip
def test_a_block_on_each_sm_takes_what_atomics_took(
    atomic: str, words: str, sms: int, off: float
) -> None:
    how, count = next((how, count) for name, how, count in PATTERNS if name == words)
    args = [np.zeros(2 * count + 64, np.uint32), np.int32(how), np.uint32(count),
            np.zeros(sms, np.int64), np.zeros(1, np.uint32)]  # fmt: skip
    (measured,) = (
        float(row["warps_8"]) for row in packaged_table("h200_atomics")
        if (row["atomic"], row["words"], row["sms"]) == (atomic, words, str(sms))
    )  # fmt: skip
    cycles = _cycles_of_a_turn(
        lambda turns: SOURCE.replace("turn < 16", f"turn < {turns}"), atomic, sms, args
    )
    assert cycles / (_EACH * _WARPS) == pytest.approx(measured, rel=off)


_FEW = [
    ("red", 2, 64, 1, 1, 1, 0.06), ("red", 2, 256, 1, 1, 1, 0.03), ("red", 2, 512, 1, 1, 1, 0.07),
    ("red", 2, 1024, 1, 1, 1, 0.03), ("red", 8, 32, 1, 1, 32, 0.07), ("red", 8, 32, 1, 8, 32, 0.15),
    ("red", 32, 32, 1, 1, 1, 0.02), ("red", 2, 128, 4, 8, 32, 0.02),
    ("red", 4, 128, 4, 8, 32, 0.04), ("atom", 2, 256, 1, 1, 1, 0.03),
    ("atom", 8, 128, 4, 2, 32, 0.11), ("float", 1, 32, 1, 1, 4, 0.01),
    ("float", 1, 32, 1, 8, 32, 0.01),
    ("float", 8, 32, 1, 1, 32, 0.13),
]  # fmt: skip
"""Kinds, places, bytes between them, sectors, words and lanes, and how far each may be off."""


@needs_compiler
@pytest.mark.parametrize("case", [
    pytest.param(case, marks=() if place % 3 == 1 else pytest.mark.slow)
    for place, case in enumerate(_FEW)
])  # fmt: skip
def test_each_unit_of_the_l2_adds_at_its_own_rate(case: tuple[Any, ...]) -> None:
    """The first and third 256 bytes of a kilobyte are one's, the second and last another's."""
    kind, places, apart, sectors, words, lanes, off = case

    args = [np.zeros(1 << 13, np.uint32), lanes_at(sectors, words, lanes), np.uint32(places),
            np.uint32(apart // 4), np.zeros(132, np.int64), np.zeros(1, np.uint32)]  # fmt: skip
    shape = {"kind": kind, "places": str(places), "apart": str(apart), "sectors": str(sectors),
             "words": str(words), "lanes": str(lanes)}  # fmt: skip
    (measured,) = (
        float(row["cycles"]) for row in packaged_table("h200_addition_units")
        if shape.items() <= row.items()
    )  # fmt: skip
    cycles = _cycles_of_a_turn(addition_units_source, KINDS[kind], 132, args)
    assert cycles / (_EACH * _WARPS * 132) == pytest.approx(measured, rel=off)


def test_additions_elsewhere_stand_behind_those_that_meet_as_they_did() -> None:
    """Of rows of a table that blocks add to, a share is the first one."""
    rows = packaged_table("h200_skewed_rows")
    known = {(row["way"], row["rows"], float(row["share"])): float(row["cycles"]) for row in rows}
    for (way, count, share), cycles in known.items():
        hot, rest = share * known[way, count, 1.0], known[way, count, 0.0]
        power = H200["atom_power"] / max(1 - share, 1e-3)
        assert stand_behind(hot, rest, power) == pytest.approx(cycles, rel=0.16)


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
