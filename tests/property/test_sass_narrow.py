"""Floats of 16 and 8 bits as machine code makes them, against ml_dtypes and NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.examples import examples
from tests.property.test_sass_table import run, seeds, words
from tests.sass_warp import LANES


@settings(max_examples=examples(10))
@given(seeds)
def test_functions_of_sixteen_bits(seed: int) -> None:
    rows = words(seed, 1)
    lines = [
        "MUFU.EX2.F16 R10, R0", "MUFU.TANH.F16 R11, R0.H1", "MUFU.EX2.BF16 R12, R0.H1",
        "MUFU.TANH.BF16 R13, -R0",
    ]  # fmt: skip
    outcome = run(lines, rows)
    pairs = rows[0].view(np.uint16).reshape(LANES, 2)
    for number, (kind, law, bits) in enumerate([
        (np.float16, np.exp2, pairs[:, 0]), (np.float16, np.tanh, pairs[:, 1]),
        (ml_dtypes.bfloat16, np.exp2, pairs[:, 1]),
        (ml_dtypes.bfloat16, np.tanh, pairs[:, 0] ^ 0x8000),
    ]):  # fmt: skip
        with np.errstate(all="ignore"):
            exact = law(bits.view(kind).astype(np.float64)).astype(np.float32).astype(kind)
        found = np.array(outcome.register(10 + number), np.uint32).astype(np.uint16).view(kind)
        assert np.array_equal(found.astype(np.float32), exact.astype(np.float32), equal_nan=True)


EIGHT = {"E4M3": ml_dtypes.float8_e4m3fn, "E5M2": ml_dtypes.float8_e5m2}


@pytest.mark.parametrize("kind", EIGHT)
def test_floats_of_eight_bits(kind: str) -> None:
    """Every number of 8 bits, those half-way between two, and beyond the greatest."""
    every = np.arange(256, dtype=np.uint8).view(EIGHT[kind]).astype(np.float32)
    finite = np.unique(every[np.isfinite(every)])
    ways = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, finite * np.float32(1.001)])
    values = np.concatenate([ways, [np.nan, np.inf, -np.inf, 1e9, -1e9, 1e-9]]).astype(np.float32)
    values = np.resize(values, -(-len(values) // LANES) * LANES).reshape(-1, LANES)
    greatest = np.float32(finite.max())
    lines = [
        f"F2FP.SATFINITE.{kind}.F32.PACK_AB_MERGE_C R10, R0, R1, R2",
        f"F2FP.SATFINITE.RELU.{kind}.F32.PACK_AB_MERGE_C R11, R0, RZ, RZ",
        f"F2FP.F16.{kind}.UNPACK_B R12, R10",
        f"F2FP.SATFINITE.{kind}.F16.UNPACK_B_MERGE_C R13, R12, R2",
    ]

    def bits(numbers: NDArray[np.float32]) -> NDArray[np.uint8]:
        fitted = numbers.clip(-greatest, greatest).astype(EIGHT[kind]).view(np.uint8)
        return np.where(np.isnan(numbers), 0x7F, fitted)

    for row in values:
        other = row[::-1].copy()
        outcome = run(lines, np.stack([row, other, np.full_like(row, 1 / 3)]).view(np.uint32))
        wanted = bits(row).astype(int) << 8 | bits(other)
        above = np.float32(1 / 3).view(np.uint32) & 0xFFFF
        assert [int(each) for each in outcome.register(10)] == (wanted | int(above) << 16).tolist()
        limited = np.where(row <= 0, np.float32(0), row)
        assert outcome.register(11) == (bits(limited).astype(int) << 8).tolist()
        halves = np.array(outcome.register(12), np.uint32).view(np.float16).reshape(LANES, 2)
        back = np.stack([bits(other), bits(row)], axis=1).view(EIGHT[kind]).astype(np.float16)
        assert np.array_equal(halves, back, equal_nan=True)
        assert outcome.register(13) == outcome.register(10)


@settings(max_examples=examples(10))
@given(seeds)
def test_tf32_to_nearest_even_and_cut_off(seed: int) -> None:
    rows = words(seed, 1)
    outcome = run(["F2FP.TF32.F32.PACK_B R10, R0", "F2FP.RELU.TF32.F32.PACK_B.RZ R11, R0"], rows)
    for lane, word in enumerate(rows[0].tolist()):
        if word & 0x7FFFFFFF > 0x7F800000:
            continue  # not a number
        low, odd = word & 0x1FFF, word >> 13 & 1
        up = low > 0x1000 or (low == 0x1000 and odd)
        assert outcome.register(10)[lane] == (word & ~0x1FFF) + (up << 13)
        assert outcome.register(11)[lane] == (0 if word >> 31 else word & ~0x1FFF)
