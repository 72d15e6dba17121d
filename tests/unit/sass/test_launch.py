"""Where arguments lie, and which values are arguments."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.errors import (
    MemoryAccessError,
)
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
