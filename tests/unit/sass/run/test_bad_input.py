"""What Hopper's units are given wrong: errors with the instruction, its source line and the block.

Block 1 of 2 does it, so that the error has to name it. Nothing is counted as if it had worked.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from simulator import TensorMap
from simulator.errors import (
    BarrierError,
    DeadlockError,
    ExecutionError,
    MemoryAccessError,
    TensorMapError,
    UnsupportedError,
)
from tests.hopper_kernels import HEADER, SOURCES
from tests.sass_kernels import needs_compiler
from tests.variants import Variants

pytestmark = needs_compiler

KERNEL = """
__device__ __forceinline__ void multiply(u32 (&d)[2], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16"
                 " {%0, %1}, %2, %3, 1, 1, 1, 0, 0;"
                 : "+r"(d[0]), "+r"(d[1]) : "l"(a), "l"(b));
}
__device__ __forceinline__ void multiply_sparse(u32 (&d)[2], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sp.sync.aligned.m64n8k32.f16.f16.f16"
                 " {%0, %1}, %2, %3, %4, 0, 1, 1, 1, 0, 0;"
                 : "+r"(d[0]), "+r"(d[1]) : "l"(a), "l"(b), "r"(0x44444444));
}
__device__ __forceinline__ void store_pixels(const TensorMap *map, const void *from) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group"
                 " [%0, {%2, %2, %2, %2}], [%1];" ::"l"(map), "r"(shared_address(from)), "r"(0)
                 : "memory");
}
__global__ void bad(const __grid_constant__ TensorMap map, TensorMap *made, u32 *out) {
    __shared__ alignas(1024) __half tile[64 * 16];
    __shared__ alignas(8) u64 barrier, other;
    if (threadIdx.x == 0) barrier_init(&barrier, 1);
    tile[threadIdx.x] = 0;
    writes_are_visible();
    __syncthreads();
    u32 d[2] = {};
    bool first = threadIdx.x == 0;
    if (blockIdx.x == 1) {
        BODY
    }
    out[threadIdx.x] = d[0];
}"""

PRODUCT = (
    "products_begin(); multiply(d, matrix(tile, {leading}, 128, 0), matrix(tile, 128, 128, 0));"
    " products_end(); {before} products_wait<0>();"
)
PLAIN = TensorMap(np.zeros((8, 8), np.float32), (8, 8))
PIXELS = TensorMap.im2col(np.zeros((1, 4, 4, 8), np.float32), 8, 16, lower=(-1, -1))


def load(to: str = "tile", of: str = "&map", barrier: str = "&barrier", x: str = "0") -> str:
    return f"if (first) load_tile({to}, {of}, {barrier}, {x}, 0);"


BAD: dict[str, tuple[str, type[Exception], str, Any]] = {
    "a descriptor out of bounds": (
        PRODUCT.format(leading=200000, before=""), MemoryAccessError,
        r"A's matrix descriptor 0x\w+ reaches shared address", PLAIN,
    ),
    "a misaligned destination of TMA": (
        load(to="tile + 8"), MemoryAccessError, r"misaligned \(accepted: multiples of 128\)", PLAIN,
    ),
    "a misaligned bulk copy": (
        "if (first) load_bulk(tile + 4, out, 64, &barrier);", MemoryAccessError,
        r"misaligned \(accepted: multiples of 16\)", PLAIN,
    ),
    "a destination beyond shared memory": (
        load(to="tile + 65536"), MemoryAccessError, r"lies outside the block's \d+ bytes", PLAIN,
    ),
    "a coordinate that is garbage": (
        load(x="0x7f3a5510"), MemoryAccessError,
        r"coordinate 0 is 2134529296, .* outside of the tensor's 8", PLAIN,
    ),
    "a negative coordinate that is garbage": (
        load(x="(int)0x80000001"), MemoryAccessError, r"coordinate 0 is -2147483647", PLAIN,
    ),
    "an mbarrier that was never initialised": (
        load(barrier="&other"), BarrierError, r"the mbarrier at 0x\w+ was never initialised", PLAIN,
    ),
    "a wait for an mbarrier that was never initialised": (
        "wait(&other, 0);", BarrierError, r"the mbarrier at 0x\w+ was never initialised", PLAIN,
    ),
    "a multicast outside of the cluster": (
        "if (first) load_tile_for(tile, &map, &barrier, 0, 0, 6);", MemoryAccessError,
        r"the blocks of mask 0x6 in a cluster of 1 \(accepted: 0x1 to 0x1\)", PLAIN,
    ),
    "a block outside of the cluster": (
        load(to="(void *)((char *)tile + (3 << 24))"), MemoryAccessError,
        "names block 3 of a cluster of 1", PLAIN,
    ),
    "a wait in a divergent warpgroup": (
        PRODUCT.format(leading=1024, before="if (threadIdx.x % 32 == 5) return;"),
        UnsupportedError, r"some lanes are inactive where all must take part: 0x\w+ WARPGROUP\.D",
        PLAIN,
    ),
    "a wait that a warp leaves out, nothing in flight": (
        "if (threadIdx.x < 96) products_wait<0>();", ExecutionError,
        r"warps 0, 1, 2 execute wgmma.wait_group more often than warp 3 of the same warpgroup"
        r" \(accepted: all four warps alike.*0x\w+ WARPGROUP\.DEPBAR", PLAIN,
    ),
    "a wait that one warp executes, then a product": (
        "if (threadIdx.x >= 96) products_wait<0>(); __syncthreads();"
        + PRODUCT.format(leading=1024, before=""), ExecutionError,
        r"warp 3 executes wgmma.wait_group more often than warps 0, 1, 2 .*WARPGROUP\.DEPBAR",
        PLAIN,
    ),
    "a fence that a warp leaves out": (
        "if (threadIdx.x < 96) products_begin(); __syncthreads();"
        + PRODUCT.format(leading=1024, before=""), ExecutionError,
        r"warps 0, 1, 2 execute wgmma.fence more often than warp 3 .*: an H100 hangs at the next"
        r" product\): 0x\w+ WARPGROUP\.ARRIVE", PLAIN,
    ),
    "bytes that are no tensor map": (
        load(of="made"), ExecutionError,
        r"tensor map, bytes: the 128 bytes at global address 0x\w+ are all 0 \(next: give a",
        PLAIN,
    ),
    "sparse products": (
        "products_begin();"
        "multiply_sparse(d, matrix(tile, 1024, 128, 0), matrix(tile, 128, 128, 0));"
        "products_end(); products_wait<0>();", UnsupportedError,
        r"a sparse wgmma \(m64n8k32\) is not modelled \(accepted: dense ones\)", PLAIN,
    ),
    "a store of pixels from below 0": (
        "if (first) store_pixels(&map, tile);", MemoryAccessError,
        r"lower=\(-1, -1\) and upper=\(0, 0\) \(accepted: a bounding box within the tensor", PIXELS,
    ),
}  # fmt: skip


WIDE = """
    __shared__ alignas(128) TensorMap mine;
    if (threadIdx.x < 16) mine.words[threadIdx.x] = map.words[threadIdx.x];
    __syncthreads();
    if (first) {
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(
            shared_address(&mine)), "r"(128) : "memory");
        *made = mine;
        load_tile(tile, made, &barrier, 0, 0);
    }"""
"""The kernel makes its inner box 128 elements wide: 512 bytes under a swizzle of 128."""

ENDLESS = "wait(&barrier, 0);"
OUTSIDE = """
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(d[0]) : "r"(address_at(tile, 5)));"""
CROSSED = """
    if (threadIdx.x < 32) wait(&barrier, 0);
    else { asm volatile("bar.sync 1, 128;"); if (threadIdx.x == 32) arrive(&barrier); }"""
UNENDED = "if (threadIdx.x < 96) products_end();"

TOGETHER = Variants(
    "bad",
    (
        KERNEL.replace("BODY", body)
        for body in (*(body for body, *_ in BAD.values()), ENDLESS, CROSSED, UNENDED, OUTSIDE, WIDE)
    ),
    before=HEADER,
    include=[SOURCES],
)


def ran(body: str, tiles: TensorMap, cluster: tuple[int, int] | None = None) -> Any:
    args = [tiles, np.zeros(32, np.uint32), np.zeros(128, np.uint32)]
    return TOGETHER.ran(KERNEL.replace("BODY", body), args, grid=2, blocks="all", cluster=cluster)


@pytest.mark.parametrize("what", BAD)
def test_an_error_names_instruction_line_and_block(what: str) -> None:
    body, error, says, tiles = BAD[what]
    with pytest.raises(error, match=says) as caught:
        ran(body, tiles)
    place = r"0x[0-9a-f]{4} (@!?U?P\d )?[A-Z]+\S*( \S+)? \(\S+:\d+\), thread \(\d+, 0, 0\) of block"
    assert re.search(place + r" \(1, 0, 0\); \d+ thread instructions", str(caught.value))
    totals = caught.value.partial.totals()  # type: ignore[attr-defined]
    # Of these, only the divergent wait has a product behind it that did work.
    assert totals["gmma"]["wavefronts"] == (18 if "divergent" in what else 0)
    assert totals["tma"]["bytes"] == 0


def test_a_wait_that_nothing_ends_names_them_too() -> None:
    with pytest.raises(DeadlockError) as caught:
        ran(ENDLESS, PLAIN)
    assert re.search(
        r"no warp of block \(1, 0, 0\) can continue: warps 0, 1, 2, 3 wait"
        r" at 0x\w+ SYNCS\.PHASECHK.*"
        r"\(\S+:\d+\) for the end of phase parity 0 of the mbarrier at 0x\w+: phase parity 0,"
        r" 1 of 1 arrivals pending, 0 bytes outstanding",
        str(caught.value),
    )


def test_warps_at_a_barrier_are_named_beside_those_that_wait_for_an_mbarrier() -> None:
    with pytest.raises(DeadlockError) as caught:
        ran(CROSSED, PLAIN)
    assert re.search(
        r"warp 0 waits at 0x\w+ SYNCS.* of the mbarrier .*1 of 1 arrivals pending, 0 bytes"
        r" outstanding; warps 1, 2, 3 wait at 0x\w+ BAR\.SYNC\S* 0x1,\s?0x80 \(\S+:\d+\) for"
        r" threads that never arrive; \d+ thread instructions",
        str(caught.value),
    )


def test_a_load_from_a_block_that_the_cluster_does_not_have_says_so() -> None:
    says = r"address 0x5\w{6} out of bounds: .*it names block 5 of a cluster of 2\)"
    with pytest.raises(MemoryAccessError, match=says):
        ran(OUTSIDE, PLAIN, (2, 1))


def test_a_group_that_a_warp_does_not_end_names_them_too() -> None:
    with pytest.raises(DeadlockError) as caught:
        ran(UNENDED, PLAIN)
    assert re.search(
        r"no warp of block \(1, 0, 0\) can continue: warps 0, 1, 2 wait at 0x\w+ HGMMA\S+ RZ.*"
        r"\(\S+:\d+\) for the other warps of its warpgroup",
        str(caught.value),
    )


@pytest.mark.parametrize(
    ("box", "swizzle", "says"),
    [
        ((8, 512), None, r"box size 512 \(accepted: 1 to 256\)"),
        ((8, 64), 128, r"swizzle span: 256 bytes .* up to 128 bytes"),
        ((8, 6), None, r"multiples? of 16"),
    ],
)
def test_a_box_beyond_its_rules_is_refused_before_the_launch(
    box: tuple[int, int], swizzle: Any, says: str
) -> None:
    with pytest.raises(TensorMapError, match=says):
        TensorMap(np.zeros((64, 1024), np.float32), box, swizzle=swizzle)


def test_a_box_beyond_its_rules_in_a_map_that_the_kernel_makes() -> None:
    tiles = TensorMap(np.zeros((8, 256), np.float32), (8, 32), swizzle=128)
    says = (
        r"tensor map, swizzle span: 512 bytes .* up to 128 bytes\); the map is at global address"
        r" 0x\w+: .*UTMALDG.*of block \(1, 0, 0\)"
    )
    with pytest.raises(ExecutionError, match=says):
        ran(WIDE, tiles)
