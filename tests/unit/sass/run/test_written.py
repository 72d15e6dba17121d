"""Kernels of Hopper's units as others write them, ten habits, all equal to NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import TensorMap, replay_compiled
from tests.hopper_kernels import SOURCES
from tests.sass_kernels import needs_compiler

ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = [needs_compiler, pytest.mark.slow]  # the compiler takes ten seconds, some kernels too

RNG = np.random.default_rng(5)


def ran(kernel: str, grid: Any, block: int, args: list[Any], **launch: Any) -> Any:
    """The report; every order is kept, so that nothing is said not to hold."""
    report = replay_compiled(
        Path(__file__).parent / "written.cu", kernel=kernel, arch="sm_90a", grid=grid, block=block,
        args=args, blocks="all", include=[SOURCES], **launch,
    )  # fmt: skip
    words = ("may not hold", "depends on timing")
    assert not [note for note in report.notes if any(word in note for word in words)]
    return report.outputs


def integers(*shape: int, most: int = 2, dtype: Any = np.float32) -> Any:
    return RNG.integers(-most, most + 1, shape).astype(dtype)


def test_three_stages_of_fp8_and_40_columns() -> None:
    a, b = (integers(rows, 512, dtype=ml_dtypes.float8_e4m3fn) for rows in (128, 80))
    maps = [
        TensorMap(each.view(np.uint8), (rows, 128), swizzle=128)
        for each, rows in ((a, 64), (b, 40))
    ]
    args = [*maps, np.zeros((128, 80), np.float32), np.int32(80), np.int32(4)]
    out = ran("fp8_stages", (2, 2), 160, args, shared_bytes=3 * 13312 + 1024)[2]
    assert (out == a.astype(np.float64) @ b.astype(np.float64).T).all()


def test_a_square_cluster_sends_both_operands() -> None:
    a, b = (integers(rows, 192, dtype=np.float16) for rows in (128, 256))
    maps = [TensorMap(each, (32, 64), swizzle=128) for each in (a, b)]
    args = [*maps, np.zeros((128, 256), np.float32), np.int32(256), np.int32(3)]
    out = ran("square_cluster", (4, 2), 160, args, shared_bytes=2 * 16384 + 1024)[2]
    assert (out == a.astype(np.float64) @ b.astype(np.float64).T).all()


def test_bins_that_lie_over_a_cluster() -> None:
    data = RNG.integers(0, 256, 4000).astype(np.uint32)
    out = ran("spread_bins", 8, 128, [data, np.zeros(256, np.uint32), np.int32(500)])[1]
    assert (out == np.bincount(data, minlength=256)).all()


def test_parts_go_around_a_ring_of_blocks() -> None:
    data = np.arange(512, dtype=np.uint32)
    out = ran("ring_gather", 8, 64, [data, np.zeros((8, 256), np.uint32)])[1]
    assert (out.reshape(2, 4, 256) == data.reshape(2, 1, 256)).all()


def test_rows_of_unequal_length_in_stages_of_unequal_size() -> None:
    lengths = 4 * RNG.integers(1, 16, 20)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    data = RNG.integers(0, 9, starts[-1]).astype(np.float32)
    out = ran("ragged_rows", 1, 64, [data, starts, np.zeros(20, np.float32), np.int32(20)])[2]
    assert (out == np.add.reduceat(data, starts[:-1])).all()


def test_blocks_add_their_tiles() -> None:
    parts = integers(5, 16, 32, most=3)
    args = [parts, TensorMap(np.ones((16, 96), np.float32), (16, 32))]
    out = ran("added_tiles", (3, 1, 5), 128, args)[1]
    whole = parts.sum(axis=0)
    assert (out == 1 + np.concatenate([whole, 2 * whole, 3 * whole], axis=1)).all()


def test_tfloat32_operands_put_into_core_matrices_by_hand() -> None:
    a, b = integers(40, 64, most=3), integers(24, 40, most=3)
    out = ran("by_hand", 1, 128, [a, b, np.zeros((64, 24), np.float32), np.int32(40)])[2]
    assert (out == a.T @ b.T).all()


def test_one_map_whose_address_and_rows_the_kernel_replaces() -> None:
    parts = [integers(rows, 32, most=3) for rows in (8, 20, 33)]
    model = TensorMap(np.zeros((8, 32), np.float32), (8, 32))
    rows = np.array([8, 20, 33], np.int32)
    args = [model, np.zeros((3, 16), np.uint64), parts, rows, np.zeros(3, np.float32)]
    out = ran("one_map", 3, 64, args)[4]
    assert out.tolist() == [float((part**2).sum()) for part in parts]


def test_a_convolution_whose_pixels_come_by_im2col() -> None:
    image, weights = integers(2, 8, 8, 64, dtype=np.float16), integers(9, 32, 64, dtype=np.float16)
    pixels = TensorMap.im2col(image, 64, 64, lower=(-1, -1), upper=(-1, -1), swizzle=128)
    args = [pixels, TensorMap(weights, (1, 32, 64), swizzle=128), np.zeros((128, 32), np.float32)]
    args += [np.int32(8), np.int32(8)]
    out = ran("convolution", 2, 128, args, shared_bytes=8192 + 4096 + 1024)[2]
    padded = np.pad(image.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    wanted = sum(
        padded[:, tap // 3 :][:, :8, tap % 3 :][:, :, :8] @ weights[tap].astype(np.float64).T
        for tap in range(9)
    )
    assert (out.reshape(2, 8, 8, 32) == wanted).all()


def test_the_librarys_barriers_and_copies() -> None:
    data = np.arange(320, dtype=np.int32)
    out = ran("library_stages", 1, 64, [data, np.zeros(64, np.int32), np.int32(5)])[1]
    assert (out == np.arange(1, 6) @ data.reshape(5, 64)[:, ::-1]).all()
