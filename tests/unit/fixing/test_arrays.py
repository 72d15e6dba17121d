"""Arrays that accesses cannot be told apart for, and names of those of a namespace."""

from __future__ import annotations

import numpy as np

from simulator import replay_compiled
from simulator.fixing.patch import patch_of
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

COMPUTED = """
namespace app { __shared__ float a[32][32], b[32][32]; }
__global__ void k(const float *in, float *out) {
    using namespace app;
    const int x = threadIdx.x, y = threadIdx.y;
    a[y][x] = in[y * 32 + x];
    b[y][x] = in[y * 32 + x] + 1;
    __syncthreads();
    const float *from = x % 2 ? &a[0][0] : &b[0][0];
    out[y * 32 + x] = from[x * 32 + y] + a[x][y];
}"""


def test_arrays_that_one_access_reaches_are_refused_by_name() -> None:
    given = np.arange(1024, dtype=np.float32)
    report = replay_compiled(
        COMPUTED, grid=1, block=(32, 32), args=[given, np.zeros(1024, np.float32)]
    )
    (fix,) = report.fixes()
    assert (fix.array, fix.text, fix.proved) == ("a and b", "", False)
    assert fix.why.startswith("Not searched: one access reaches several of them (line 10)")
    assert fix.before.bank_conflicts == report.totals()["all"]["bank_conflicts"]


HELPED = """template <int W> __device__ float sum(float (&t)[32][W], int r, int c) {
    const float s = t[r][c];
    return s * 2 + t[r][c ^ 1];
}
__global__ void one(const float *in, float *out) {
    __shared__ float t[32][32];
    t[threadIdx.y][threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.y] = sum(t, threadIdx.y, threadIdx.x);
}
__global__ void two(const float *in, float *out) {
    __shared__ float t[32][32];
    const int x = threadIdx.x, y = threadIdx.y;
    t[y][x] = in[y * 32 + x];
    __syncthreads();
    out[y * 32 + x] = sum(t, x, y);
}"""


def test_of_several_arrays_of_a_name_that_around_the_accesses_is_meant() -> None:
    # A helper above both reads it, too: the nearest declaration above its accesses is none.
    given = [np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)]
    report = replay_compiled(HELPED, kernel="two", grid=1, block=(32, 32), args=given)
    (fix,) = report.fixes()
    assert fix.target is not None
    assert fix.target.declared is not None
    assert (fix.text, fix.target.declared.line) == ("t[32][33]", 12)
    assert fix.compiled is not None


BEHIND = """extern __shared__ float a[];
__global__ void k(const float *in, float *out) {
    float *b = a + 1024;
    const int x = threadIdx.x, y = threadIdx.y;
    a[y * 32 + x] = in[y * 32 + x];
    b[x * 32 + y] = in[y * 32 + x];
    __syncthreads();
    out[y * 32 + x] = a[x * 32 + y] + b[y * 32 + x];
}"""


def test_what_lies_behind_an_array_that_grows_in_dynamic_memory_begins_later() -> None:
    given = [np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)]
    report = replay_compiled(BEHIND, grid=1, block=(32, 32), args=given, shared_bytes=8192)
    first, last = ([*fix.sentences] for fix in report.fixes())
    grown = "Give the launch 128 bytes more of dynamic shared memory"
    assert f"{grown}, and let what lies behind the array begin so much later." in first
    assert f"{grown}." in last
    left = patch_of([report]).left
    assert left[0].endswith("and launch with 128 bytes more, and let what lies behind the array"
                            " begin so much later")  # fmt: skip
    assert left[1].endswith("and launch with 128 bytes more")
