"""The closed forms against the law: every small layout, and drawn ones."""

from __future__ import annotations

import sys
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layouts import Swizzle
from simulator import (
    INSTRUCTIONS,
    AddressError,
    Counts,
    OptionError,
    bit_columns,
    count,
    count_affine,
    count_linear,
    lane_addresses,
)
from simulator.law import specification as law
from simulator.law.accesses import ALL_LANES, SHARED_BYTES
from simulator.law.counting import FIGURES
from simulator.law.instructions import RULES
from tests import naive
from tests.strategies import instructions, own_instructions

rules = st.sampled_from(RULES)
ENGINES = ("python", "numpy", "numba")


def equal(one: Counts, other: Counts) -> None:
    for name in FIGURES:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def by_law(known: Any, lanes: Any, rule: str) -> list[int]:
    return list(law.count_access(known, lanes, ALL_LANES, rule))


def figures(counts: Counts) -> list[int]:
    return [int(getattr(counts, name)) for name in FIGURES]


@st.composite
def columns(draw: st.DrawFn, known: Any) -> list[int]:
    """Columns whose banks, words and zeros meet: some are sums of others."""
    bits = [known.width, 64, 128, 256, 1024, 32, 512, 2048, 16384, 65536]
    chosen: list[int] = []
    for _ in range(5):
        kind = draw(st.sampled_from(["bits", "zero", "sum"]))
        some = draw(st.lists(st.sampled_from(bits if kind == "bits" else [0, *chosen]), max_size=4))
        chosen.append(int(np.bitwise_xor.reduce([0, *some])) // known.width * known.width)
    return chosen


@st.composite
def strides(draw: st.DrawFn, known: Any) -> list[int]:
    """Rows and columns of padded tiles in some order, and any strides."""
    width = known.width
    if draw(st.booleans()):
        row = draw(st.integers(0, 80))
        column = draw(st.integers(0, 8))
        split = draw(st.integers(0, 5))
        steps = [column << bit for bit in range(split)] + [row << bit for bit in range(5 - split)]
        if draw(st.booleans()):
            steps.reverse()
        return [step * width for step in steps]
    return [width * draw(st.integers(0, 40000 // width)) for _ in range(5)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("known", INSTRUCTIONS.values(), ids=INSTRUCTIONS)
def test_all_linear_layouts_of_three_bits_an_address(known: Any, rule: str) -> None:
    # Steps within the banks, at their end, and past it: 8 values in each of 5 columns.
    unit = max(known.width, 4)
    steps = [unit * low + 64 * bank + 128 * row for low, bank, row in product(range(2), repeat=3)]
    every = np.array(list(product(steps, repeat=5)), dtype=np.int16)
    expected = count(known, lane_addresses(every).astype(np.int32), rule=rule, engine="numba")
    equal(count_linear(known, every, rule=rule, engine="numba"), expected)
    some = slice(None, None, 37)
    for engine in ("python", "numpy"):
        equal(count_linear(known, every[some], rule=rule, engine=engine), expected[some])
    by_ranks = [naive.count_linear(known, row, rule) for row in every[some].tolist()]
    np.testing.assert_array_equal(np.transpose(by_ranks), expected.figures[:, some])


@given(st.data(), instructions | own_instructions(), rules)
def test_linear_equals_the_law(data: st.DataObject, known: Any, rule: str) -> None:
    given_columns = data.draw(columns(known))
    base = known.width * data.draw(st.integers(0, 1000))
    expected = by_law(known, [lane ^ base for lane in lane_addresses(given_columns).tolist()], rule)
    assert list(naive.count_linear(known, given_columns, rule)) == expected
    for engine in ENGINES:
        assert figures(count_linear(known, given_columns, rule=rule, engine=engine)) == expected


@given(st.data(), instructions | own_instructions(), rules)
def test_affine_equals_the_law(data: st.DataObject, known: Any, rule: str) -> None:
    given_strides = data.draw(strides(known).filter(lambda each: sum(each) < SHARED_BYTES - 16))
    unit = max(known.width, 4)
    room = SHARED_BYTES - known.width - sum(given_strides)
    base = unit * data.draw(st.integers(0, room // unit))
    lanes = lane_addresses(given_strides, affine=True) + base
    expected = by_law(known, lanes.tolist(), rule)
    assert list(naive.count_affine(known, given_strides, rule)) == expected
    for engine in ENGINES:
        assert figures(count_affine(known, given_strides, rule=rule, engine=engine)) == expected


@given(st.data(), instructions, rules, st.integers(1, 4))
def test_paddings_repeat_after_32_words(
    data: st.DataObject, known: Any, rule: str, times: int
) -> None:
    # Rows of at least their columns' length do not overlap, which is all it takes.
    unit = max(known.width, 4)
    wide = data.draw(st.integers(0, 4))
    pitch = unit * ((1 << wide) + data.draw(st.integers(0, 32)))

    def tile(pitch: int) -> list[int]:
        return [unit << bit for bit in range(wide)] + [pitch << bit for bit in range(5 - wide)]

    one = count_affine(known, tile(pitch), rule=rule)
    assert figures(one) == figures(count_affine(known, tile(pitch + 128 * times), rule=rule))


@given(st.lists(st.integers(0, 2**15), min_size=5, max_size=5), st.integers(0, 2**15))
def test_columns_come_back(given_columns: list[int], base: int) -> None:
    found, linear = bit_columns(lane_addresses(given_columns) ^ base)
    assert linear
    assert found.tolist() == given_columns


@given(st.integers(0, 3), st.integers(2, 7), st.integers(0, 4), st.integers(0, 5))
def test_xor_swizzles_of_rows_are_linear(bits: int, base: int, more: int, wide: int) -> None:
    swizzle = Swizzle(bits, base, bits + more)
    tile = [(lane >> wide) * 128 + (lane & (1 << wide) - 1) * 4 for lane in range(32)]
    swizzled = [swizzle(byte) for byte in tile]
    found, linear = bit_columns(swizzled)
    assert linear
    if bits <= base:  # else the swizzle may move words apart
        assert int(count_linear("LDS", found).wavefronts) == count("LDS", swizzled).wavefronts


def test_one_lane_off_is_not_linear() -> None:
    lanes = np.tile(4 * np.arange(32), (32, 1))
    lanes[np.arange(32), np.arange(32)] ^= 4096
    assert not bit_columns(lanes)[1].any()


def test_any_leading_shape_type_and_number_of_threads() -> None:
    given_columns = np.random.default_rng(0).integers(0, 2048, (3, 40_000, 5)) * 4
    expected = count_linear("LDS", given_columns, engine="numba", threads=1)
    assert expected.cycles.shape == (3, 40_000)
    for kind in ("i2", "u2", "i4", "u8"):
        equal(count_linear("LDS", given_columns.astype(kind), threads=2), expected)
    few = given_columns[:, ::997]
    equal(count_linear("LDS", few, engine="python"), expected[:, ::997])
    equal(count_linear("LDS", given_columns.astype(">u2")), expected)


@pytest.mark.parametrize("counted", [count_linear, count_affine])
@pytest.mark.parametrize("layouts", [1, 3, 40_000])
def test_few_layouts_need_no_compiler(
    counted: Any, layouts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_columns = np.random.default_rng(layouts).integers(0, 1024, (layouts, 5)) * 4
    compiled = counted("LDS", given_columns, engine="numba")
    monkeypatch.setitem(sys.modules, "simulator.law.numba_engine", None)
    equal(counted("LDS", given_columns), compiled)


def test_the_compiled_engine_answers_if_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def five(op: object, given_columns: Any, *_: object) -> tuple[Any, None]:
        """Answer with how many numbers a layout has: 5, or 32 addresses."""
        return np.full((6, 1), given_columns.shape[-1], np.uint8), None

    for place in ("linear_engine.count_linear", "numba_engine.count_accesses"):
        monkeypatch.setattr(f"simulator.law.{place}", five)
    for counted in (count_linear, count_affine):
        assert counted("LDS", [4] * 5, engine="numba").wavefronts == 5
        assert counted("LDS", [4] * 5, engine="numpy").wavefronts == 1


def test_a_bad_layout_among_many_is_named() -> None:
    many = np.full((40_000, 5), 4)
    many[30_000] = [4, 8, 16, 32, -4]
    many[39_000] = [2, 8, 16, 32, 64]
    for engine in ("numpy", "numba"):
        with pytest.raises(AddressError, match=r"\[4, 8, 16, 32, -4\] of layout 30000: address -4"):
            count_linear("LDS", many, engine=engine)


@pytest.mark.parametrize(
    ("counted", "given_bytes", "message"),
    [
        (count_linear, [4, 6, 16, 32, 64], "columns [4, 6, 16, 32, 64] of layout 1: address 6 of"
         " lane 2 is misaligned (accepted for LDS: multiples of 4 bytes"),
        (count_linear, [4, 8, 16, 32, 1 << 18], "address 262144 of lane 16 is outside shared mem"),
        (count_linear, [4, 8, 16, 4096, 229376], "address 233472 of lane 24 is outside"),
        (count_linear, [4, 8, 16, 32, -4], "columns [4, 8, 16, 32, -4] of layout 1: address -4 of"),
        (count_linear, [4, 8, 16, 32, 1 << 40], "address 1099511627776 of lane 16 is outside"),
        (count_affine, [4, 8, 16, 32, 232448], "strides [4, 8, 16, 32, 232448] of layout 1: address"
         " 232448 of lane 16 is outside shared memory"),
        (count_affine, [0, 0, 1 << 17, 1 << 16, 1 << 16], "address 262144 of lane 28 is outside"),
        (count_affine, [4, 8, 16, 33, 64], "address 33 of lane 8 is misaligned"),
        (count_affine, [4, 8, 16, 32, 2**62], "of lane 16 is outside shared memory"),
        (count_linear, [4, 8, 16, 32, 2**63], "hold 9223372036854775808, beyond 64 bits"),
        (count_linear, [4.0] * 5, "columns hold 4.0, which is not an integer"),
        (count_affine, [4] * 6, "strides have shape (2, 6) (accepted: (..., 5), bytes for each"),
    ],
)  # fmt: skip
def test_refusals(counted: Any, given_bytes: Any, message: str) -> None:
    good = [4, 8, 16, 32, 64, 128][: len(given_bytes)]
    for engine in ENGINES:
        with pytest.raises(AddressError) as caught:
            counted("LDS", [good, given_bytes], engine=engine)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("taken", "given_bytes", "message"),
    [
        (bit_columns, 128, "addresses have shape () (accepted: (..., 32), one byte address per"),
        (bit_columns, [4] * 31, "addresses have shape (31,) (accepted: (..., 32), one byte"),
        (bit_columns, [[4] * 5], "addresses have shape (1, 5) (accepted: (..., 32), one byte"),
        (lane_addresses, 128, "columns have shape () (accepted: (..., 5), bytes for each bit of"),
        (lane_addresses, [4] * 32, "columns have shape (32,) (accepted: (..., 5), bytes for each"),
        (lane_addresses, [4, 8, 16, 32, -4],
         "columns reach from -4 to 32 (accepted: 0 to 232447 bytes, shared memory)"),
        (lane_addresses, [4, 8, 16, 32, 232448], "columns reach from 4 to 232448 (accepted: 0 to"),
        (lane_addresses, [4, 8, 16, 32, 2**64],
         f"columns hold {2**64}, beyond 64 bits (accepted: 0 to 232447 bytes, shared memory)"),
        (partial(lane_addresses, affine=True), [-1] * 5, "strides reach from -1 to -1 (accepted:"),
    ],
)  # fmt: skip
def test_refusals_of_layouts_and_their_addresses(
    taken: Any, given_bytes: Any, message: str
) -> None:
    with pytest.raises(AddressError) as caught:
        taken(given_bytes)
    assert message in str(caught.value)


def test_whether_columns_are_strides_is_named() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        lane_addresses([4] * 5, True)  # type: ignore[misc]


def test_bits_that_cancel_are_inside() -> None:
    # 128 KiB and 128 KiB: together outside as a union of bits, inside as addresses.
    inside = [1 << 17, (1 << 17) | (1 << 16), 4, 8, 16]
    for engine in ENGINES:
        assert count_linear("LDS", inside, engine=engine).wavefronts == 4


def test_lanes_past_the_matrices_play_no_part() -> None:
    for engine in ENGINES:
        assert count_linear("ldmatrix.x1", [16, 32, 64, -1, 2**40], engine=engine).wavefronts == 1


def test_unknown_engines_and_threads() -> None:
    with pytest.raises(OptionError, match=r"unknown engine 'gpu': accepted: auto, python, numpy"):
        count_linear("LDS", [4] * 5, engine="gpu")
    for threads in (0, -1, 1.5, True):
        with pytest.raises(OptionError, match=r"threads .* \(accepted: a positive integer, or"):
            count_linear("LDS", [4] * 5, threads=threads)  # type: ignore[arg-type]
