"""The places of static arrays, from the PTX in a cubin."""

from __future__ import annotations

import pytest

from simulator.sass.code.compiling import compile_source
from simulator.sass.code.cubin import read_cubin
from simulator.sass.code.shared import static_arrays
from tests.sass_kernels import HERE, cubin, needs_compiler, needs_tools

_MULTIPLES = {
    ("wgmma_gemm", 48): 1024,
    ("stranger", 8): 16,
    ("stranger", 520): 16,
    ("stranger", 21000): 16,
}
"""Kernels by the end of their arrays, whose static memory ends at a multiple of so many bytes."""

SOURCE = """
template <int N> __device__ void turn(float *p) {
    __shared__ double z[N];
    z[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = z[N - 1 - threadIdx.x];
}
__global__ void k(float *a, float *out) {
    __shared__ float small[3];
    __shared__ __align__(128) unsigned short halves[2][64];
    __shared__ float4 fours[10];
    __shared__ char bytes[5];
    __shared__ float tile[32][32];
    const int t = threadIdx.x;
    tile[t][0] = a[t];
    if (t < 3) small[t] = a[t];
    halves[0][t] = t;
    if (t < 10) fours[t] = make_float4(1, 2, 3, a[t]);
    if (t < 5) bytes[t] = t;
    __syncthreads();
    turn<64>(a);
    out[t] = tile[t ^ 1][0] + small[t % 3] + halves[0][t ^ 3] + fours[t % 10].w + bytes[t % 5];
}"""


@needs_compiler
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_arrays_lie_one_after_the_other_at_their_alignments(arch: str) -> None:
    code = read_cubin(compile_source(SOURCE, arch, "k.cu").cubin)
    found = static_arrays(code, code.kernel(None))
    assert [(each.name, each.start, each.size) for each in found] == [
        ("small", 0, 12), ("halves", 128, 256), ("fours", 384, 160), ("bytes", 544, 5),
        ("tile", 552, 4096), ("z", 4648, 512),
    ]  # fmt: skip


@needs_tools
@pytest.mark.parametrize("name", sorted(path.stem for path in (HERE / "cubins").glob("*.cubin")))
def test_the_arrays_of_every_recorded_kernel_fill_its_static_memory(name: str) -> None:
    code = read_cubin(cubin(name))
    for kernel in code.kernels.values():
        static = kernel.shared_bytes - code.architecture.reserved
        found = static_arrays(code, kernel)
        assert bool(found) == (static > 0)
        if found:
            end = found[-1].start + found[-1].size
            multiple = _MULTIPLES.get((name, end), 1)
            assert -(-end // multiple) * multiple == static
            assert all(each.name.isidentifier() for each in found)
