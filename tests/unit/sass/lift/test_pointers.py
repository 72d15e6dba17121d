"""Pointers to functions, and virtual functions: calls whose target is in a register."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import replay_compiled
from tests.sass_kernels import needs_compiler, needs_tools

pytestmark = [needs_tools, needs_compiler]

SOURCE = """
typedef float (*Operation)(float);
__device__ float square(float x) { return x * x; }
__device__ float negative(float x) { return -x; }
__device__ float next(float x) {
  __shared__ float s[32];
  s[threadIdx.x] = x + 1; __syncwarp(__activemask()); return s[threadIdx.x];
}
__device__ Operation table[3] = {square, negative, next};
__device__ Operation last = next;
struct Base {
  __device__ virtual float f(float x) = 0;
  __device__ virtual ~Base() {}
};
struct Next : Base { __device__ float f(float x) override { return x + 1; } };
struct Times : Base { __device__ float f(float x) override { return x * 10; } };
__global__ void call(float *x) { x[threadIdx.x] = last(table[threadIdx.x % 3](x[threadIdx.x])); }
__global__ void virtuals(float *x, int n) {
  Base *b = (threadIdx.x & n) ? (Base *)new Next : (Base *)new Times;
  x[threadIdx.x] = b->f(x[threadIdx.x]);
  delete b;
}
"""
X = np.arange(32, dtype=np.float32)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_each_lane_goes_where_its_pointer_says(arch: str) -> None:
    report = replay_compiled(SOURCE, kernel="call", grid=1, block=32, args=[X], arch=arch)
    assert (report.outputs[0] == np.choose(np.arange(32) % 3, [X * X, -X, X + 1]) + 1).all()


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_virtual_functions_are_called(arch: str) -> None:
    args = [X, np.int32(1)]
    report = replay_compiled(SOURCE, kernel="virtuals", grid=1, block=32, args=args, arch=arch)
    assert (report.outputs[0] == np.where(np.arange(32) % 2 == 1, X + 1, X * 10)).all()
