"""wgmma against plain NumPy: layouts of descriptors and fragments, types, options, bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import MemoryAccessError, UnsupportedError
from simulator.sass.lift.gmma_form import Gmma
from simulator.sass.run.tma import load_tile
from simulator.sass.run.wgmma import (
    Descriptor,
    accumulators_of,
    fragment_of,
    matrix_of,
    multiply,
    operand,
)
from tests.examples import examples
from tests.silicon.recorded import DATA
from tests.unit.sass.run.test_tma import place, swizzle_address

NUMPY: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "s8": np.int8, "u8": np.uint8,
}  # fmt: skip
CODES = {None: 0, 128: 1, 64: 2, 32: 3}


def word(start: int, leading: int, stride: int, swizzle: int | None) -> int:
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | CODES[swizzle] << 62


def stored(shared: np.ndarray[Any, Any], data: np.ndarray[Any, Any], layout: dict[str, Any]) -> int:
    """Write rows of 32 bytes (transposed: of two-byte elements) where the layout says; the word."""
    swizzle, leading, stride = layout["swizzle"], layout["leading"], layout["stride"]
    start, width = layout["start"], (swizzle or 16) // 16
    row, byte = np.indices((len(data), 32))
    if not layout["transposed"]:  # ((8,n),2):((1,SBO),LBO) or ((8,n),2):((W,SBO),1)
        address = 16 * width * (row % 8) + stride * (row // 8)
        address += byte // 16 * (16 if swizzle else leading) + byte % 16
    else:  # ((1,n),(8,k)):((X,SBO),(1,LBO)) or ((W,n),(8,k)):((1,LBO),(W,SBO))
        k, piece = byte // 2, row // 8
        if swizzle:
            address = 16 * (piece % width) + leading * (piece // width)
            address += 16 * width * (k % 8) + stride * (k // 8)
        else:
            address = stride * piece + 16 * (k % 8) + leading * (k // 8)
        address += 2 * (row % 8) + byte % 2
    places = swizzle_address(start + address, swizzle)
    assert len(np.unique(places)) == places.size
    shared[places] = data.view(np.uint8).reshape(len(data), 32)
    return word(start, leading, stride, swizzle)


@st.composite
def layouts(draw: st.DrawFn, rows: int, start: int, transposed: bool) -> dict[str, Any]:
    """A layout without overlap, within 32 KiB from `start` on."""
    swizzle = draw(st.sampled_from([None, 32, 64, 128]))
    atom = 8 * (swizzle or 16)
    gap = atom * draw(st.integers(0, 1))
    across = -(-rows // (8 if not transposed else (swizzle or 16) // 2))
    if draw(st.booleans()):
        first, second = atom + gap, across * (atom + gap)  # rows first, then k
    else:
        first, second = 2 * (atom + gap), atom + gap
    leading, stride = (second, first)
    if swizzle and transposed:
        leading, stride = first, second
    step = 0
    if swizzle and not transposed:  # start within the swizzle's span, as a later k
        leading = 16 * draw(st.integers(0, 5))  # ignored
        step = 32 * draw(st.integers(0, swizzle // 32 - 1))
    return {
        "swizzle": swizzle, "leading": leading, "stride": stride, "transposed": transposed,
        "start": start + step + atom * draw(st.integers(0, 2)) * (8 if swizzle is None else 1),
    }  # fmt: skip


def drawn_matrix(kind: str, rows: int, seed: int) -> tuple[np.ndarray[Any, Any], Any]:
    """The bytes of a matrix of rows x 32 bytes, and its numbers in float64."""
    rng = np.random.default_rng(seed)
    if kind == "b1":
        data = rng.integers(0, 256, (rows, 32), dtype=np.uint8)
        return data, np.unpackbits(data, axis=1, bitorder="little").astype(float)
    dtype = np.dtype(NUMPY[kind])
    size = (rows, 32 // dtype.itemsize)
    if kind in ("s8", "u8"):
        info = np.iinfo(NUMPY[kind])
        data = rng.integers(info.min, info.max + 1, size).astype(dtype)
    else:
        data = rng.standard_normal(size).astype(dtype)
    numbers = data.astype(float)
    if kind == "tf32":
        numbers = (data.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(float)
    return data, numbers


TYPES = [
    *[(acc, kind, kind) for acc, kind in [("f32", "f16"), ("f16", "f16"), ("f32", "bf16"),
                                          ("f32", "tf32"), ("s32", "b1")]],
    *[(acc, a, b) for acc in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")],
    *[("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8")],
]  # fmt: skip


def form_of(n: int, types: tuple[str, str, str], **options: Any) -> Gmma:
    bits = {"f16": 16, "bf16": 16, "tf32": 32, "b1": 1}.get(types[1], 8)
    return Gmma(
        n=n, k=256 // bits, accumulator=types[0], a_type=types[1], b_type=types[2],  # type: ignore[arg-type]
        destination=24, source=24, a_register=None, descriptors=4, **options,
    )  # fmt: skip


@settings(deadline=None, max_examples=examples(60))
@given(st.data())
def test_a_product_is_numpys_of_the_documented_layout(data: st.DataObject) -> None:
    types = data.draw(st.sampled_from(TYPES))
    n = 8 * data.draw(st.integers(1, 32))
    halves = types[1] in ("f16", "bf16")
    in_registers = data.draw(st.booleans())
    turn_a = halves and not in_registers and data.draw(st.booleans())
    turn_b = halves and data.draw(st.booleans())
    negate = [types[0] != "s32" and data.draw(st.booleans()) for _ in range(2)]
    form = form_of(n, types, transpose_a=turn_a, transpose_b=turn_b, negate_a=negate[0],
                   negate_b=negate[1])  # fmt: skip
    seed = data.draw(st.integers(0, 1 << 30))
    left, a = drawn_matrix(types[1], 64, seed)
    right, b = drawn_matrix(types[2], n, seed + 1)
    shared = np.full(227 << 10, 0xEE, np.uint8)
    at_b = stored(shared, right, data.draw(layouts(n, 65536, turn_b)))
    if in_registers:
        first: Any = a_fragment(left.view(np.uint8).reshape(64, 32))
    else:
        first = stored(shared, left, data.draw(layouts(64, 1024, turn_a)))
    rng = np.random.default_rng(seed + 2)
    old: Any = rng.standard_normal((64, n)).astype({"f32": np.float32, "f16": np.float16}.get(
        types[0], np.float32))  # fmt: skip
    if types[0] == "s32":
        old = rng.integers(-(1 << 31), 1 << 31, (64, n)).astype(np.int32)
    scale = data.draw(st.booleans())
    got = matrix_of(
        multiply(form, shared, first, at_b, accumulators_of(old) if scale else None), types[0]
    )
    sign = -1 if negate[0] != negate[1] else 1
    exact = sign * (a @ b.T) + (old.astype(float) if scale else 0)
    if types[0] == "s32":
        assert np.array_equal(got, exact.astype(np.int64).astype(np.int32))
        return
    magnitudes = np.abs(a) @ np.abs(b).T + np.abs(old.astype(float))
    allowed = (form.k + 1) * 2.0**-24 * magnitudes
    if types[0] == "f16":
        allowed = allowed + 2.0**-11 * np.abs(exact) + 2.0**-24
    assert (np.abs(got - exact) <= allowed).all()


def a_fragment(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A's registers by PTX's formula for 16-bit elements: a0,a1 … a6,a7 of each lane."""
    halves = rows.reshape(64, 32).copy().view(np.uint16)
    registers = np.zeros((4, 4, 32, 2), np.uint16)
    for warp in range(4):
        for lane in range(32):
            for i in range(8):
                row = lane // 4 + (8 if i % 4 >= 2 else 0) + 16 * warp
                column = lane % 4 * 2 + (i & 1) + (8 if i >= 4 else 0)
                registers[i // 2, warp, lane, i % 2] = halves[row, column]
    return registers.view(np.uint32)[..., 0]


@pytest.mark.parametrize("n", [8, 64, 256])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float16])
def test_accumulator_registers_are_ptxs(n: int, dtype: Any) -> None:
    """Matrix D by PTX's formula for element i of a thread."""
    matrix = np.arange(64 * n).reshape(64, n).astype(dtype)
    registers = accumulators_of(matrix)
    words = registers.view(dtype).reshape(*registers.shape, -1)
    per = words.shape[-1]
    for warp in range(4):
        for lane in range(32):
            for i in range(n // 2):
                row = lane // 4 + 8 * (i // 2 % 2) + 16 * warp
                column = 8 * (i // 4) + lane % 4 * 2 + i % 2
                assert words[i // per, warp, lane, i % per] == matrix[row, column]
    kind = {np.float32: "f32", np.int32: "s32", np.float16: "f16"}[dtype]
    assert np.array_equal(matrix_of(registers, kind), matrix)
    assert fragment_of(matrix).shape == (n // 4, 2, 4, 32)


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_what_tma_loads_with_a_swizzle_a_descriptor_reads(swizzle: Any) -> None:
    """K-major: rows of the swizzle's span, k advanced inside it; MN-major: k by rows."""
    matrix = np.arange(128 * 256).reshape(128, 256).astype(ml_dtypes.bfloat16)
    wide = swizzle // 2
    fields, memory = place(matrix, (128, wide), swizzle=swizzle)
    shared = np.zeros(64 << 10, np.uint8)
    load_tile(fields, (wide, 0), memory, [shared], 2048)
    for k in range(0, wide, 16):
        at = word(2048 + 2 * k, 16, 8 * swizzle, swizzle)
        assert np.array_equal(operand(shared, at, 128, "bf16"), matrix[:, wide + k :][:, :16])
    fields, memory = place(matrix, (64, wide), swizzle=swizzle)
    for column in range(3):  # n of three tiles; each has 64 rows of k
        load_tile(fields, (column * wide, 32), memory, [shared], 2048 + column * 64 * swizzle)
    for k in range(0, 64, 16):
        at = word(2048 + k * swizzle, 64 * swizzle, 8 * swizzle, swizzle)
        found = operand(shared, at, 3 * wide, "bf16", transposed=True)
        assert np.array_equal(found, matrix[32 + k : 48 + k, : 3 * wide].T)


def test_what_tma_loads_without_a_swizzle_a_descriptor_reads() -> None:
    """Boxes of 16 bytes make core matrices: rows 16 bytes apart, k the next box."""
    matrix = np.arange(64 * 64).reshape(64, 64).astype(np.float16)
    fields, memory = place(matrix, (64, 8))
    shared = np.zeros(16 << 10, np.uint8)
    for box in range(8):
        load_tile(fields, (8 * box, 0), memory, [shared], 1024 * box)
    at = word(2048, 1024, 128, None)
    assert np.array_equal(operand(shared, at, 64, "f16"), matrix[:, 16:32])
    at = word(0, 128, 1024, None)  # the same boxes as k x n: k by rows of 16 bytes
    assert np.array_equal(operand(shared, at, 64, "f16", transposed=True), matrix[:16].T)


def test_all_fp8_values() -> None:
    data = np.arange(256, dtype=np.uint8)
    shared = np.zeros(4096, np.uint8)
    shared[:256] = data  # one core matrix after the other
    for kind in ("e4m3", "e5m2"):
        rows = operand(shared, word(0, 128, 256, None), 8, kind)
        wanted = data.view(NUMPY[kind]).astype(np.float32).reshape(2, 8, 16)
        assert np.array_equal(rows, np.concatenate(wanted, 1), equal_nan=True)


def test_integers_wrap_or_saturate() -> None:
    shared = np.full(4096, 127, np.uint8)
    at = word(0, 128, 256, None)
    old = accumulators_of(np.full((64, 8), (1 << 31) - 1, np.int32))
    form = form_of(8, ("s32", "s8", "s8"))
    wrapped = matrix_of(multiply(form, shared, at, at, old), "s32")
    assert (wrapped == 32 * 127 * 127 - 1 - (1 << 31)).all()
    held = matrix_of(multiply(replace(form, saturates=True), shared, at, at, old), "s32")
    assert (held == (1 << 31) - 1).all()


def test_tf32_ignores_the_bits_below_it() -> None:
    shared = np.full(4096, 1 + 2.0**-10 + 2.0**-11, np.float32).view(np.uint8)
    assert (operand(shared, word(0, 128, 256, None), 64, "tf32") == 1 + 2.0**-10).all()


def test_a_descriptors_bits() -> None:
    assert Descriptor.of(word(0x3FFF0, 0x100, 0x400, 64)) == Descriptor(0x3FFF0, 0x100, 0x400, 64)
    assert Descriptor.of(5 << 49).base_offset == 5


def test_base_offsets_are_read_as_an_h100_reads_them() -> None:
    """B of 8 rows, from each row of 128 bytes and each step of k on, in all swizzles."""
    recorded = np.load(DATA / "h100_base_offsets.npz")["elements"]
    assert recorded.shape == (3, 4, 8, 8, 16, 8)  # swizzle, step, row, base offset, k, n
    shared = np.arange(2048, dtype=np.float16).view(np.uint8)
    for (which, step, row, offset), elements in zip(
        np.ndindex(3, 4, 8, 8), recorded.reshape(-1, 16, 8), strict=True
    ):
        place = word(128 * row + 32 * step, 16, 1024, (128, 64, 32)[which]) | offset << 49
        assert (elements == operand(shared, place, 8, "f16", name="B").T).all()


def test_what_cannot_be_read_is_refused() -> None:
    shared = np.zeros(4096, np.uint8)
    form = form_of(8, ("f32", "f16", "f16"))
    good = word(0, 128, 256, None)
    for a, b, name in [(word(2048 + 16, 128, 256, None), good, "A"),
                       (good, word(4096, 128, 256, None), "B"),
                       (good, word(3968, 256, 128, None), "B")]:  # fmt: skip
        with pytest.raises(MemoryAccessError, match=f"{name}'s matrix descriptor .* 4096 bytes"):
            multiply(form, shared, a, b)
    multiply(form, shared, word(2048, 128, 256, None), word(3840, 128, 256, None))
    with pytest.raises(UnsupportedError, match="base offset of 1 and no swizzle"):
        multiply(form, shared, good, good | 1 << 49)
    with pytest.raises(UnsupportedError, match="sparse wgmma"):
        multiply(replace(form, sparse=True), shared, good, good)
