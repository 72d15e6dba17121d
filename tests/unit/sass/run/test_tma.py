"""TMA copies against element-by-element definitions, and their bounds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import MemoryAccessError, TensorMapError
from simulator.sass.run.map_argument import TensorMap
from simulator.sass.run.map_fields import MapFields
from simulator.sass.run.reductions import reduction
from simulator.sass.run.rows import ArrayMemory
from simulator.sass.run.tma import (
    copy_bulk,
    load_bulk,
    load_tile,
    store_bulk,
    store_tile,
    swizzled,
)

BASE = 0x7F00_0000_0000
SHARED = 1 << 16


def place(array: np.ndarray[Any, Any], box: Any, **options: Any) -> tuple[MapFields, ArrayMemory]:
    made = TensorMap(array, box, **options)
    memory = ArrayMemory(BASE, array.reshape(-1).view(np.uint8))
    return replace(made.fields, address=BASE), memory


def swizzle_address(address: Any, swizzle: int | None) -> Any:
    """The documented permutation of a byte address, or of an array of them."""
    if swizzle == 32:
        return address ^ (address >> 7 & 1) << 4
    if swizzle == 64:
        return address ^ (address >> 7 & 3) << 4
    if swizzle == 128:
        return address ^ (address >> 7 & 7) << 4
    return address


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    dtype = draw(st.sampled_from([np.uint8, np.float16, np.float32, np.float64]))
    width = np.dtype(dtype).itemsize
    rank = draw(st.integers(1, 5))
    swizzle = draw(st.sampled_from([None, 32, 64, 128]))
    inner = draw(st.sampled_from([each for each in (16, 32, 64, 128) if each <= (swizzle or 128)]))
    shape = [*draw(st.lists(st.integers(1, 6), min_size=rank - 1, max_size=rank - 1))]
    columns = draw(st.integers(1, 8)) * 16 // width
    box = [*draw(st.lists(st.integers(1, 4), min_size=rank - 1, max_size=rank - 1)), inner // width]
    steps = [
        *draw(st.lists(st.sampled_from([1, 1, 2, 3]), min_size=rank - 1, max_size=rank - 1)),
        1,
    ]
    start = [draw(st.integers(-5, 8)) for _ in range(rank - 1)]
    start.append(draw(st.integers(-9, columns * width // 16 + 3)) * 16 // width)
    return {
        "dtype": dtype, "shape": (*shape, columns), "box": box, "swizzle": swizzle,
        "steps": steps, "start": start, "at": 128 * draw(st.integers(0, 9)),
        "fill": draw(st.sampled_from(["zero", "nan"])) if width > 1 else "zero",
    }  # fmt: skip


def elements(case: dict[str, Any]) -> list[tuple[int, tuple[int, ...], bool]]:
    """Of each element of the tile: its shared byte address, index, and whether it is inside."""
    counts = [-(-size // step) for size, step in zip(case["box"], case["steps"], strict=True)]
    width, found = np.dtype(case["dtype"]).itemsize, []
    row = counts[-1] * width
    span = max(row, case["swizzle"] or 0)  # a row begins at a multiple of the swizzle's span
    for number, index in enumerate(product(*map(range, counts))):
        at = tuple(
            start + each * step
            for start, each, step in zip(case["start"], index, case["steps"], strict=True)
        )
        inside = all(0 <= each < size for each, size in zip(at, case["shape"], strict=True))
        place = number * width // row * span + number * width % row
        address = swizzle_address(case["at"] + place, case["swizzle"])
        found.append((address, at, inside))
    return found


def described(case: dict[str, Any]) -> tuple[np.ndarray[Any, Any], MapFields, ArrayMemory]:
    total = int(np.prod(case["shape"]))
    array = np.arange(1, total + 1).astype(case["dtype"]).reshape(case["shape"])
    fields, memory = place(
        array, case["box"], swizzle=case["swizzle"], element_strides=case["steps"],
        fill=case["fill"],
    )  # fmt: skip
    return array, fields, memory


@settings(deadline=None)
@given(cases())
def test_a_loaded_tile_is_element_by_element_the_documented_one(case: dict[str, Any]) -> None:
    array, fields, memory = described(case)
    shared = np.full(SHARED, 0xEE, np.uint8)
    moved = load_tile(fields, case["start"][::-1], memory, [shared], case["at"])
    wanted = np.full(SHARED, 0xEE, np.uint8)
    width, filled = array.itemsize, b"\0\0" if case["fill"] == "zero" else b"\xf7\x7f"
    expected = elements(case)
    for address, at, inside in expected:
        element = array[at].tobytes() if inside else (filled * 4)[:width]
        wanted[address : address + width] = np.frombuffer(element, np.uint8)
    assert np.array_equal(shared, wanted)
    assert moved.bytes == len(expected) * width == fields.bytes


@settings(deadline=None)
@given(cases())
def test_a_stored_tile_writes_what_lies_inside_and_nothing_else(case: dict[str, Any]) -> None:
    array, fields, memory = described(case)
    shared = np.arange(SHARED).astype(np.uint8)
    before, wanted = array.copy(), array.copy()
    for address, at, inside in elements(case):
        if inside:
            wanted[at] = shared[address : address + array.itemsize].view(array.dtype)[0]
    store_tile(fields, case["start"][::-1], memory, shared, case["at"])
    assert array.tobytes() == wanted.tobytes()
    array[...] = before
    if array.dtype in (np.float16, np.float32):
        whole = np.ones(SHARED // array.itemsize, array.dtype).view(np.uint8)
        add = reduction("add", fields.element)
        store_tile(fields, case["start"][::-1], memory, whole, case["at"], add)
        touched = wanted.copy()
        touched[...] = before
        for _, at, inside in elements(case):
            if inside:
                touched[at] += 1
        assert np.array_equal(array, touched)


def test_a_swizzled_order_is_the_documented_one_from_any_piece() -> None:
    for first, swizzle in product((0, 3, 8, 61, 64, 200), (None, 32, 64, 128)):
        wanted = [swizzle_address(16 * piece, swizzle) // 16 for piece in range(first, first + 150)]
        assert swizzled(first, 150, swizzle).tolist() == wanted  # type: ignore[arg-type]


def test_a_multicast_load_reaches_every_block() -> None:
    array = np.arange(64 * 64, dtype=np.float16).reshape(64, 64)
    fields, memory = place(array, (8, 64), swizzle=128)
    blocks = [np.zeros(4096, np.uint8) for _ in range(3)]
    moved = load_tile(fields, (0, 8), memory, blocks, 1024)
    assert all(np.array_equal(each, blocks[0]) for each in blocks)
    assert (moved.bytes, moved.rows, moved.sectors) == (1024, 8, 32)


def test_a_row_of_16_bytes_costs_a_sector() -> None:
    fields, memory = place(np.zeros((32, 64), np.float16), (32, 8))
    shared = np.zeros(4096, np.uint8)
    moved = load_tile(fields, (0, 0), memory, [shared], 0)
    assert (moved.bytes, moved.rows, moved.sectors) == (512, 32, 32)
    assert load_tile(fields, (0, 100), memory, [shared], 0).sectors == 0
    assert load_tile(fields, (-104, 0), memory, [shared], 0).sectors == 0


def test_a_tile_that_begins_within_16_bytes_of_the_row_is_refused() -> None:
    """The chip raises an illegal instruction for it: `gpu_check/data/h100_tiles.npz`."""
    fields, memory = place(np.zeros((32, 64), np.float16), (8, 16))
    shared = np.zeros(4096, np.uint8)
    for x in (-5, 33, 4):
        for copy in (
            lambda x=x: load_tile(fields, (x, 0), memory, [shared], 0),
            lambda x=x: store_tile(fields, (x, 0), memory, shared, 0),
        ):
            with pytest.raises(MemoryAccessError, match=rf"begins {2 * x} bytes into a row"):
                copy()


def images(**corners: Any) -> tuple[np.ndarray[Any, Any], MapFields, ArrayMemory]:
    array = np.arange(1, 2 * 5 * 6 * 16 + 1, dtype=np.float32).reshape(2, 5, 6, 16)
    made = TensorMap.im2col(array, 8, 32, **corners)
    memory = ArrayMemory(BASE, array.reshape(-1).view(np.uint8))
    return array, replace(made.fields, address=BASE), memory


@pytest.mark.parametrize("tap", [(0, 0), (1, 2), (2, 0)])
@pytest.mark.parametrize("stride", [1, 2])
def test_im2col_loads_the_rows_of_a_convolution(tap: tuple[int, int], stride: int) -> None:
    """A 3x3 filter with a padding of 1: the bounding box starts at -1 and ends 1 before the end."""
    array, fields, memory = images(
        lower=(-1, -1), upper=(-1, -1), element_strides=(1, stride, stride, 1)
    )
    shared = np.zeros(4096, np.uint8)
    # From output pixel (image 0, row 0, column 2) on: W, H coordinates as CUTLASS gives them.
    moved = load_tile(fields, (4, 2 * stride - 1, -1, 0), memory, [shared], 0, tap[::-1])
    padded = np.pad(array, ((0, 0), (1, 1), (1, 1), (0, 0)))
    outputs = [
        padded[image, row * stride + tap[0], column * stride + tap[1], 4:12]
        for image in range(2)
        for row in range((5 - 1) // stride + 1)
        for column in range((6 - 1) // stride + 1)
    ]
    wanted = np.zeros((32, 8), np.float32)
    taken = outputs[2:34]
    wanted[: len(taken)] = taken
    assert np.array_equal(shared[:1024].view(np.float32).reshape(32, 8), wanted)
    assert moved.bytes == 1024


def test_channels_beyond_the_last_are_filled() -> None:
    array, fields, memory = images()
    shared = np.full(4096, 0xEE, np.uint8)
    load_tile(fields, (12, 0, 0, 0), memory, [shared], 0, (0, 0))
    pixels = shared[:1024].view(np.float32).reshape(32, 8)
    assert np.array_equal(pixels[:, :4], array.reshape(-1, 16)[:32, 12:])
    assert not pixels[:, 4:].any()


def test_bulk_copies_in_three_directions() -> None:
    data = np.arange(256, dtype=np.uint8)
    memory = ArrayMemory(BASE, data.copy())
    shared, other = np.zeros(512, np.uint8), np.zeros(512, np.uint8)
    assert load_bulk(memory, BASE + 16, 64, [shared], 32).bytes == 64
    assert np.array_equal(shared[32:96], data[16:80])
    copy_bulk(shared, 32, 64, other, 128)
    assert np.array_equal(other[128:192], data[16:80])
    assert store_bulk(memory, BASE + 192, 64, other, 128).sectors == 2
    assert np.array_equal(memory.data[192:], data[16:80])
    store_bulk(memory, BASE, 16, np.full(16, 1, np.uint8), 0, reduction("add", "uint32"))
    assert memory.data[:4].tolist() == [1, 2, 3, 4]
    copy_bulk(np.ones(16, np.uint8), 0, 16, other, 128, reduction("or", "uint32"))
    assert other[128] == 17


FIELDS, MEMORY = place(np.zeros((64, 64), np.float16), (8, 64))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda s: load_tile(FIELDS, (0, 0), MEMORY, [s], 64), MemoryAccessError, "misaligned"),
        (lambda s: load_tile(FIELDS, (0, 0), MEMORY, [s], 3584), MemoryAccessError, "outside"),
        (lambda s: load_tile(FIELDS, (0, 0), MEMORY, [s], -128), MemoryAccessError, "outside"),
        (lambda s: store_tile(FIELDS, (0, 0), MEMORY, s, 4096), MemoryAccessError, "outside"),
        (lambda s: load_tile(FIELDS, (0,), MEMORY, [s], 0), TensorMapError, "1 coordinates"),
        (lambda s: load_bulk(MEMORY, BASE + 8, 16, [s], 0), MemoryAccessError, "multiples of 16"),
        (lambda s: load_bulk(MEMORY, BASE, 24, [s], 0), MemoryAccessError, "multiples of 16"),
        (lambda s: load_bulk(MEMORY, BASE, 16, [s], 8), MemoryAccessError, "misaligned"),
        (lambda s: load_bulk(MEMORY, BASE + 8192, 16, [s], 0), MemoryAccessError, "outside"),
        (lambda s: store_bulk(MEMORY, BASE - 16, 16, s, 0), MemoryAccessError, "outside"),
        (lambda s: copy_bulk(s, 0, 16, s, 4096), MemoryAccessError, "outside"),
    ],
)
def test_a_copy_that_cannot_be_is_refused_and_writes_nothing(
    call: Any, error: type[Exception], says: str
) -> None:
    shared = np.full(4096, 7, np.uint8)
    with pytest.raises(error, match=says):
        call(shared)
    assert (shared == 7).all()
    assert not MEMORY.data.any()


def test_a_tile_outside_the_allocation_is_refused() -> None:
    short = ArrayMemory(BASE, MEMORY.data[:1000])
    with pytest.raises(MemoryAccessError, match="lie outside"):
        load_tile(FIELDS, (0, 4), short, [np.zeros(4096, np.uint8)], 0)


def test_an_interleaved_box_takes_one_place_of_the_axis_before_the_last() -> None:
    """As an H100 does whatever the box (gpu_check/data/h100_slices.npz)."""
    array = np.arange(4 * 32 * 64, dtype=np.float16).reshape(4, 32, 64)
    slices = array.reshape(4, 32, 8, 8)
    for box in (1, 8, 9, 16, 32):
        fields, memory = place(array[:, :, :8], (2, box, 8), interleave=16)
        memory = ArrayMemory(BASE, array.view(np.uint8).reshape(-1))
        shared = np.full(4096, 0xEE, np.uint8)
        moved = load_tile(fields, (0, 3, 1), memory, [shared], 0)
        assert moved.bytes == 2 * 8 * 16
        assert np.array_equal(shared[:256].view(np.float16).reshape(2, 8, 8), slices[1:3, 3])
        assert (shared[256:] == 0xEE).all()


def test_an_interleaved_im2col_map_copies_a_slice_of_each_pixel() -> None:
    """As an H100 does (gpu_check/data/h100_slices.npz): images N, C / 8, H, W of 8 channels."""
    images = np.arange(2 * 3 * 5 * 6 * 8, dtype=np.float16).reshape(2, 3, 5, 6, 8)
    rows = images.reshape(2, 3, 5, 48)[..., :6]  # the last axis is as long as there are slices
    made = TensorMap.im2col(
        rows, channels=8, pixels=40, interleave=16, lower=(-1, 0), upper=(0, -1)
    )
    fields = replace(made.fields, address=BASE)
    memory, shared = ArrayMemory(BASE, images.view(np.uint8).reshape(-1)), np.zeros(4096, np.uint8)
    load_tile(fields, (1, -1, 2, 0), memory, [shared], 0, (1, 0))
    visited = [(n, h, w) for n in range(2) for h in range(-1, 5) for w in range(5)][1:41]
    for (n, h, w), got in zip(visited, shared[:640].view(np.float16).reshape(40, 8), strict=True):
        assert np.array_equal(got, images[n, 2, h, w + 1] if h >= 0 else np.zeros(8)), (n, h, w)
    assert not shared[640:].any()


def test_an_interleaved_map_copies_slices_of_its_bytes() -> None:
    """As an H100 does (tests/silicon/test_hopper_maps.py): here N, C, W = 6 slices of 8 halves."""
    array = np.arange(2 * 4 * 6 * 8, dtype=np.float16).reshape(2, 4, 6 * 8)
    made = TensorMap(array[:, :, :6], (2, 8, 8), interleave=16)
    fields, memory = (
        replace(made.fields, address=BASE),
        ArrayMemory(BASE, array.view(np.uint8).reshape(-1)),
    )
    shared = np.full(4096, 0xEE, np.uint8)
    moved = load_tile(fields, (4, 1, 0), memory, [shared], 128)
    got = shared[128 : 128 + 2 * 8 * 16].view(np.float16).reshape(2, 8, 8)
    assert np.array_equal(got[:, :2], array.reshape(2, 4, 6, 8)[:, 1, 4:])
    assert not got[:, 2:].any()  # beyond the last slice
    assert (moved.bytes, (shared[384:] == 0xEE).all()) == (256, True)


def test_an_im2col_copy_that_the_chip_refuses_is_refused() -> None:
    _, fields, memory = images(lower=(-1, -1), upper=(-1, -1))
    shared = np.zeros(4096, np.uint8)
    with pytest.raises(
        MemoryAccessError, match=r"coordinate 1 of an im2col copy is 5 \(accepted: -1"
    ):
        load_tile(fields, (0, 5, 0, 0), memory, [shared], 0, (0, 0))
    with pytest.raises(MemoryAccessError, match="bounding box within the tensor"):
        store_tile(fields, (0, 0, 0, 0), memory, shared, 0)
    _, fields, memory = images()
    with pytest.raises(MemoryAccessError, match="no coordinate below 0"):
        store_tile(fields, (-4, 0, 0, 0), memory, shared, 0)
    store_tile(fields, (0, 0, 0, 0), memory, np.ones(4096, np.uint8), 0)
    assert (
        memory.data.reshape(60, 16, 4)[:32, :8].min()
        == memory.data.reshape(60, 64)[:32, :32].max()
        == 1
    )


def test_a_reduction_onto_rows_that_are_one_row_adds_each() -> None:
    row = np.zeros(16, np.float32)
    fields = MapFields("float32", BASE, (16, 4), (0,), (1, 1), (16, 4))
    memory = ArrayMemory(BASE, row.view(np.uint8))
    ones = np.ones(64, np.float32).view(np.uint8)
    store_tile(fields, (0, 0), memory, ones, 0, reduction("add", "float32"))
    assert (row == 4).all()
