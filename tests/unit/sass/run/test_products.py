"""wgmma in kernels: what the four warps of a warpgroup do together, and what they must."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.errors import DeadlockError, MemoryAccessError, UnsupportedError
from tests.hopper_kernels import ran
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

KERNEL = """
__device__ __forceinline__ void multiply(u32 (&d)[2], u64 a, u64 b, int add) {
    asm volatile(
        "{\\n .reg .pred p;\\n setp.ne.b32 p, %4, 0;\\n"
        " wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, %2, %3, p, -1, 1, 0, 0;\\n}"
        : "+r"(d[0]), "+r"(d[1]) : "l"(a), "l"(b), "r"(add));
}
// A (64 x 16) and B (8 x 16) in core matrices of 8 rows x 16 bytes, one after the other.
extern "C" __global__ void product(const __half *a, const __half *b, u32 *d, int add) {
    __shared__ alignas(128) __half a_tile[64 * 16], b_tile[8 * 16];
    for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x)
        a_tile[i / 16 / 8 * 64 + i % 16 / 8 * 512 + i / 16 % 8 * 8 + i % 8] = a[i];
    for (int i = threadIdx.x; i < 8 * 16; i += blockDim.x)
        b_tile[i % 16 / 8 * 64 + i / 16 % 8 * 8 + i % 8] = b[i];
    writes_are_visible();
    __syncthreads();
    u32 sums[2] = {d[2 * threadIdx.x], d[2 * threadIdx.x + 1]};
    BEFORE
    products_begin();
    multiply(sums, matrix(a_tile, 1024, LEADING, 0), matrix(b_tile, 128, 128, 0), add);
    products_end();
    products_wait<0>();
    d[2 * threadIdx.x] = sums[0];
    d[2 * threadIdx.x + 1] = sums[1];
}
"""
RANDOM = np.random.default_rng(1)
A, B = (RANDOM.integers(-4, 5, (rows, 16)).astype(np.float16) for rows in (64, 8))


def product(before: str = "", leading: str = "128", add: int = 1, threads: int = 128) -> Any:
    """Sums (64 x 8) as threads hold them, two halves in a word, and those left."""
    sums = np.ones((128, 2, 2), np.float16)
    source = KERNEL.replace("BEFORE", before).replace("LEADING", leading)
    args = [A, B, sums.reshape(-1).view(np.uint32), np.int32(add)]
    report = ran(source, args, block=threads)
    return report, report.outputs[2].view(np.float16).reshape(4, 8, 4, 2, 2)


@pytest.mark.parametrize("add", [0, 1])
def test_halves_are_summed_negated_and_scale_d_is_a_predicate(add: int) -> None:
    report, left = product(add=add)
    wanted = add - A.astype(np.float64) @ B.astype(np.float64).T  # A is negated
    # Warp w, lane 4 g + q: rows 16 w + 8 v + g, columns 2 q and 2 q + 1.
    fragments = wanted.reshape(4, 2, 8, 4, 2).transpose(0, 2, 3, 1, 4)
    assert (left == fragments).all()
    wanted = {"executed": 4, "wavefronts": 16 + 8 // 4, "tensor_cycles": 16 + 8 // 4}
    assert report.totals()["gmma"] == wanted


def test_a_diverged_warpgroup_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match=r"inactive where all must take part.*WARPGROUP"):
        product(before="if (threadIdx.x % 32 == 5) return;")


def test_a_warp_that_never_comes_is_a_deadlock() -> None:
    with pytest.raises(DeadlockError, match=r"warps 0, 1, 2 wait at .*GMMA.*of its warpgroup"):
        product(before="if (threadIdx.x >= 96) return;")


def test_a_block_of_two_warps_has_no_warpgroup() -> None:
    with pytest.raises(UnsupportedError, match=r"the block has 2 warps .accepted: multiples of 4"):
        product(threads=64)


def test_a_descriptor_out_of_bounds_is_an_error_with_its_place() -> None:
    with pytest.raises(MemoryAccessError, match=r"A's matrix descriptor .* beyond.*GMMA") as caught:
        product(leading="200000")
    assert "hopper.cuh:" in str(caught.value)
    assert caught.value.partial.totals()["gmma"]["wavefronts"] == 0  # type: ignore[attr-defined]


BITS = """
// A (64 x 256 bits) and B (8 x 256 bits): rows of 32 bytes in core matrices of 8 rows x 16 bytes.
extern "C" __global__ void product(const u32 *a, const u32 *b, int *d) {
    __shared__ alignas(128) u32 a_tile[64 * 8], b_tile[8 * 8];
    for (int i = threadIdx.x; i < 64 * 8; i += blockDim.x)
        a_tile[i / 8 / 8 * 32 + i % 8 / 4 * 256 + i / 8 % 8 * 4 + i % 4] = a[i];
    for (int i = threadIdx.x; i < 8 * 8; i += blockDim.x)
        b_tile[i % 8 / 4 * 32 + i / 8 % 8 * 4 + i % 4] = b[i];
    writes_are_visible();
    __syncthreads();
    int s[4] = {1, 2, 3, 4};
    products_begin();
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc"
                 " {%0, %1, %2, %3}, %4, %5, 1;"
                 : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
                 : "l"(matrix(a_tile, 1024, 128, 0)), "l"(matrix(b_tile, 128, 128, 0)));
    products_end();
    products_wait<0>();
    for (int i = 0; i < 4; ++i) d[4 * threadIdx.x + i] = s[i];
}"""


def test_bits_are_anded_and_counted() -> None:
    a, b = (RANDOM.integers(0, 1 << 32, (rows, 8), dtype=np.uint32) for rows in (64, 8))
    report = ran(BITS, [a, b, np.zeros((4, 8, 4, 2, 2), np.int32)])
    opcodes = report.instructions["opcode"]
    assert any(opcode.startswith("BGMMA.64x8x256.AND.POPC") for opcode in opcodes)
    wanted = np.bitwise_count(a[:, None] & b[None]).sum(axis=-1, dtype=np.int32)
    # Warp w, lane 4 g + q: rows 16 w + 8 v + g, columns 2 q and 2 q + 1.
    fragments = wanted.reshape(4, 2, 8, 4, 2).transpose(0, 2, 3, 1, 4)
    before = np.array([[1, 2], [3, 4]], np.int32)
    assert (report.outputs[2] == fragments + before).all()
    assert report.totals()["gmma"]["wavefronts"] == 16 + 8 // 4
