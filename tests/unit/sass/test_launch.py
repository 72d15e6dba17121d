"""Where arguments lie, and which values are arguments."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.errors import CubinError, LaunchError, MemoryAccessError
from simulator.sass.arguments import argument
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler


@pytest.mark.parametrize(
    ("small", "index"),
    [
        ("random:f32[10,10]", "y * 1024 + x"),  # the kernel reads 1024 x 1024
        ("random:f32[64,1024]", "(y + 64) * 1024 + x"),  # a row too far
        ("random:f32[64,1024]", "(y - 1) * 1024 + x"),
        ("random:f32[4,131072]", "(y + 4) * 131072 + x"),  # rows of 512 KiB
    ],
)
def test_an_index_beyond_an_array_does_not_reach_the_next(small: str, index: str) -> None:
    source = (
        "__global__ void k(float *a, const float *b, float *c) {\n"
        "  int x = threadIdx.x, y = threadIdx.y;\n"
        f"  a[y * 1024 + x] = c[y * 1024 + x] + b[{index}];\n}}"
    )
    large = np.zeros((1024, 1024), np.float32)
    options = {"grid": 1, "block": (32, 4), "args": [large, argument(small), large]}
    with pytest.raises(MemoryAccessError, match=r"address 0x7f[0-9a-f]+ out of bounds") as caught:
        replay_compiled(source, **options)
    assert "accepted: 0x7f" in str(caught.value)
    said = r"that is (byte [\d,]+ of argument 1, which has [\d,]+ bytes|.* before argument 1); "
    assert re.search(said, str(caught.value))
    assert "source.cu:3" in str(caught.value)


def test_a_null_pointer_is_an_argument() -> None:
    source = "__global__ void k(int *a, const int *b) { a[threadIdx.x] = b ? b[threadIdx.x] : 7; }"
    zeros, ones = np.zeros(32, np.int32), np.ones(32, np.int32)
    null = replay_compiled(source, grid=1, block=32, args=[zeros, None])
    assert null.outputs[0].tolist() == [7] * 32
    assert null.outputs[1] is None
    given = replay_compiled(source, grid=1, block=32, args=[zeros, ones])
    assert given.outputs[0].tolist() == [1] * 32
    unguarded = "__global__ void k(int *a, const int *b) { a[threadIdx.x] = b[threadIdx.x]; }"
    with pytest.raises(MemoryAccessError, match="address 0x0 out of bounds"):
        replay_compiled(unguarded, grid=1, block=32, args=[zeros, None])


@pytest.mark.parametrize(
    ("name", "c_type", "header"),
    [
        ("bfloat16", "__nv_bfloat16", "cuda_bf16.h"),
        ("float8_e4m3fn", "__nv_fp8_e4m3", "cuda_fp8.h"),
        ("float8_e5m2", "__nv_fp8_e5m2", "cuda_fp8.h"),
    ],
)
def test_types_of_ml_dtypes_are_arguments(name: str, c_type: str, header: str) -> None:
    kind = getattr(pytest.importorskip("ml_dtypes"), name)
    source = (
        f"#include <{header}>\n"
        f"__global__ void k({c_type} *a, {c_type} *b, {c_type} scalar) {{\n"
        "  b[threadIdx.x] = a[threadIdx.x];\n"
        "  a[threadIdx.x] = scalar; }"
    )
    values = (np.arange(32) / 4).astype(kind)
    args = [values, np.zeros(32, kind), kind(1.5)]
    outputs = replay_compiled(source, grid=1, block=32, args=args).outputs
    assert outputs[0].dtype == outputs[1].dtype == kind
    assert (outputs[0] == kind(1.5)).all()
    assert (outputs[1] == values).all()
    assert outputs[2] == kind(1.5)


DOUBLE = "__global__ void k(float *a) { a[threadIdx.x] = 2 * a[threadIdx.x]; }"


def test_an_array_in_the_other_byte_order_is_refused() -> None:
    swapped = np.arange(32, dtype=np.dtype(np.float32).newbyteorder())
    why = "argument 0 is >f4: its bytes are not in this machine's order"
    for given in (swapped, [swapped], (swapped, np.int32(1))):
        with pytest.raises(LaunchError, match=why):
            replay_compiled(DOUBLE, grid=1, block=32, args=[given])
    source = f"__constant__ float factor[32];\n{DOUBLE.replace('2 *', 'factor[threadIdx.x] *')}"
    given = [np.ones(32, np.float32)]
    with pytest.raises(
        LaunchError, match="symbol factor is >f4: its bytes are not in this machine's order"
    ):
        replay_compiled(source, grid=1, block=32, args=given, symbols={"factor": swapped})


def test_the_accepted_addresses_name_no_empty_array() -> None:
    with pytest.raises(MemoryAccessError, match="accepted: nothing; no array") as caught:
        replay_compiled(DOUBLE, grid=1, block=32, args=[np.zeros(0, np.float32)])
    assert "address 0x7f" in str(caught.value)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"block": (1, 1, 65)}, r"block 1x1x65 \(accepted: up to 1024x1024x64\)"),
        ({"block": (32, 64)}, r"block 32x64x1 has 2048 threads \(accepted: up to 1024\)"),
        ({"max_instructions": 1.5}, r"max_instructions = 1\.5 \(accepted: an integer, 1 or more\)"),
        ({"max_instructions": 0}, r"max_instructions = 0 \(accepted: an integer, 1 or more\)"),
        ({"shared_bytes": float("nan")}, r"shared_bytes = nan \(accepted: an integer\)"),
        ({"shared_bytes": "8"}, r"shared_bytes = '8' \(accepted: an integer\)"),
        ({"args": None}, "args None .accepted: a list with one value per parameter"),
        ({"args": "abc"}, "args 'abc' .accepted: a list with one value per parameter"),
        ({"symbols": 3}, "symbols 3 .accepted: a dict"),
    ],
)
def test_a_launch_that_cannot_be_is_refused(option: dict[str, object], message: str) -> None:
    launch = {"grid": 1, "block": 32, "args": [np.zeros(32, np.float32)]} | option
    with pytest.raises(LaunchError, match=message):
        replay_compiled(DOUBLE, **launch)


def test_a_template_without_arguments_is_named() -> None:
    text = "template <int N> __global__ void t(float *a) { a[0] = N; }\n__global__ void k() {}"
    with pytest.raises(CubinError, match=r"t is a template of int N \(accepted: with its arg"):
        replay_compiled(text, kernel="t", grid=1, block=32, args=[np.zeros(32, np.float32)])
