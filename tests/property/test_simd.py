"""The vectors of the compiled engine against `sorted` and NumPy."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.law import simd

SERVE = {8: simd.serve_8, 16: simd.serve_16, 32: simd.serve_32}


@given(st.sampled_from([8, 16, 32]), st.integers(0, 2**32))
def test_the_network_sorts(size: int, seed: int) -> None:
    # Zeros and ones are enough: a network that sorts all of them sorts everything.
    bits = np.random.default_rng(seed).integers(0, 2, (size, 4096), dtype=np.uint8)
    if size == 8:
        bits = (np.arange(256) >> np.arange(8)[:, None] & 1).astype(np.uint8)  # all there are
    rows = list(bits)
    for low, high in simd.network(size):
        assert 0 <= low < high < size
        pair = rows[low], rows[high]
        rows[low], rows[high] = np.minimum(*pair), np.maximum(*pair)
    np.testing.assert_array_equal(rows, np.sort(bits, axis=0))


def compiled(lanes: int) -> Any:
    serve = SERVE[lanes]

    @numba.njit  # type: ignore[untyped-decorator]
    def served(keys: Any, sums: Any, column: int) -> None:
        serve(
            keys.ctypes.data + 2 * column, keys.strides[0],
            sums.ctypes.data + 2 * column, sums.strides[0],
        )  # fmt: skip

    return served


COMPILED = {lanes: compiled(lanes) for lanes in SERVE}


def queue(keys: list[int]) -> int:
    """Different keys of the bank that has most of them: what `serve` adds to its sums."""
    active = sorted({key for key in keys if key != simd.IDLE})
    banks = groupby(active, key=lambda key: key & simd.BANK)
    return max((len(list(bank)) for _, bank in banks), default=0)


@given(st.sampled_from(list(SERVE)), st.integers(0, 2**32), st.integers(1, 200), st.integers(0, 2))
def test_a_phase_costs_the_longest_queue(lanes: int, seed: int, words: int, idle: int) -> None:
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, simd.IDLE, words, dtype=np.uint16)
    keys = pool[rng.integers(0, words, (lanes, 2 * simd.WIDTH))]
    keys[rng.random(keys.shape) < idle / 2] = simd.IDLE
    keys[:, 3] = simd.IDLE
    sums = np.arange(4 * simd.WIDTH, dtype=np.uint16).reshape(2, -1)
    expected = sums.copy()
    for column in range(simd.WIDTH, 2 * simd.WIDTH):
        longest = queue(keys[:, column].tolist())
        expected[:, column] += np.array([longest, longest > 0], dtype=np.uint16)
    COMPILED[lanes](keys, sums, simd.WIDTH)
    np.testing.assert_array_equal(sums, expected)


@numba.njit  # type: ignore[untyped-decorator]
def transposed(source: Any, target: Any, first: int, lane: int) -> None:
    at = source.ctypes.data + first * source.strides[0] + 2 * lane
    to = target.ctypes.data + lane * target.strides[0] + 2 * first
    simd.transpose(at, source.strides[0], to, target.strides[0])


@pytest.mark.parametrize("first", [0, 16])
@pytest.mark.parametrize("lane", [0, 8, 24])
def test_transposing(first: int, lane: int) -> None:
    source = np.random.default_rng(1).integers(0, 1 << 16, (48, 32), dtype=np.uint16)
    target = np.zeros((32, 48), dtype=np.uint16)
    transposed(source, target, first, lane)
    part = slice(lane, lane + 8), slice(first, first + simd.WIDTH)
    expected = np.zeros_like(target)
    expected[part] = source.T[part]
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("kind", ["u2", "u4", "u8"])
def test_what_does_not_exist_may_be_asked_for(kind: str) -> None:
    @numba.njit  # type: ignore[untyped-decorator]
    def fetched(like: Any, address: int) -> None:
        simd.prefetch(like, address)

    array = np.zeros(4, dtype=kind)
    for address in (array.ctypes.data, array.ctypes.data + (1 << 40), 0, -4096):
        fetched(array, address)
    assert not array.any()
