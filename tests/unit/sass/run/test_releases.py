"""Notes about operands that are written anew in a warp that nothing orders behind their product."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simulator import TensorMap
from tests.hopper_kernels import HEADER, SOURCES
from tests.sass_kernels import needs_compiler
from tests.variants import Variants

pytestmark = needs_compiler

RING = """
__device__ __forceinline__ void multiply(float (&d)[4], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
                 " {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
__global__ void ring(const __grid_constant__ TensorMap map, float *out, int tiles) {
    __shared__ alignas(128) __half a[64 * 16], b[8 * 16];
    __shared__ alignas(8) u64 full, empty, passed;
    if (threadIdx.x == 0) {
        barrier_init(&full, 1);
        barrier_init(&empty, 1);
        barrier_init(&passed, 1);
        barriers_are_visible();
    }
    if (threadIdx.x < 128) b[threadIdx.x] = __half(1);
    writes_are_visible();
    __syncthreads();
    if (threadIdx.x >= 128) {
        for (int tile = 0; tile < tiles; ++tile) {
            if (threadIdx.x == 128 && tile) wait(&empty, tile - 1 & 1);
            BETWEEN
            if (threadIdx.x == 128) {
                arrive_and_expect(&full, sizeof a);
                load_tile(a, &map, &full, 0, 0);
            }
        }
        return;
    }
    float sums[4] = {};
    for (int tile = 0; tile < tiles; ++tile) {
        wait(&full, tile & 1);
        products_begin();
        multiply(sums, matrix(a, 1024, 128, 0), matrix(b, 128, 128, 0));
        products_end();
        EARLY
        products_wait<0>();
        LATE
    }
    for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = sums[i];
}"""
ARRIVE = "if (threadIdx.x == 0) arrive(&empty);"
HANDED = "if (threadIdx.x == 0) arrive(&passed);"
NAMED = 'asm volatile("bar.sync 1, 160;" ::: "memory");'
CASES = {
    "in order": ("", "", ARRIVE),
    "too early": ("", ARRIVE, ""),
    "too early, but a barrier of the block is between": (
        f"if (tile) {NAMED}", ARRIVE, f"if (tile + 1 < tiles) {NAMED}",
    ),
    "too early, but another mbarrier is between": (
        "if (threadIdx.x == 128 && tile) wait(&passed, tile - 1 & 1);", ARRIVE, HANDED,
    ),
}  # fmt: skip


def text(case: str) -> str:
    between, early, late = CASES[case]
    return RING.replace("BETWEEN", between).replace("EARLY", early).replace("LATE", late)


SHARED = """
__device__ __forceinline__ void multiply(float (&d)[4], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
                 " {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
__global__ void ring(float *out) {
    __shared__ alignas(128) __half a[64 * 16], b[8 * 16];
    __shared__ alignas(8) u64 done;
    if (threadIdx.x == 0) {
        barrier_init(&done, 128);
        barriers_are_visible();
    }
    for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) a[i] = __half(1);
    if (threadIdx.x < 128) b[threadIdx.x] = __half(1);
    writes_are_visible();
    __syncthreads();
    if (threadIdx.x < 128) {
        float sums[4] = {};
        products_begin();
        multiply(sums, matrix(a, 1024, 128, 0), matrix(b, 128, 128, 0));
        products_end();
        TELL_EARLY
        products_wait<0>();
        TELL
        for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = sums[i];
    } else {
        HEAR
        a[threadIdx.x] = __half(2);
    }
}"""
HANDED_ON = {
    "a barrier": ("", *('asm volatile("bar.sync 1, 256;" ::: "memory");',) * 2),
    "an mbarrier": ("", "arrive(&done);", "wait(&done, 0);"),
    "too early": ("arrive(&done);", "", "wait(&done, 0);"),
}


def shared(case: str) -> str:
    early, tell, hear = HANDED_ON[case]
    return SHARED.replace("TELL_EARLY", early).replace("TELL", tell).replace("HEAR", hear)


OTHERS = Variants("ring", map(shared, HANDED_ON), before=HEADER, include=[SOURCES])
TOGETHER = Variants("ring", map(text, CASES), before=HEADER, include=[SOURCES])


@pytest.mark.parametrize("case", CASES)
def test_an_arrival_before_the_wait_releases_nothing(case: str) -> None:
    tiles = TensorMap(np.ones((64, 16), np.float16), box=(64, 16))
    args = [tiles, np.zeros(512, np.float32), np.int32(3)]
    report = TOGETHER.ran(text(case), args, block=160, blocks="all")
    assert (report.outputs[1] == 48).all()
    notes = [note for note in report.notes if "may not hold" in note]
    if case != "too early":
        assert not notes
        return
    (note,) = notes
    assert re.search(
        r"UTMALDG\.2D .*\(\S+:\d+\) in block \(0, 0, 0\) writes an operand of 0x\w+ HGMMA.*"
        r"no barrier orders it behind the wait for that product", note,
    )  # fmt: skip


@pytest.mark.parametrize("case", HANDED_ON)
def test_another_warpgroup_stores_over_an_operand(case: str) -> None:
    report = OTHERS.ran(shared(case), [np.zeros(512, np.float32)], block=256)
    assert (report.outputs[0] == 16).all()
    notes = [note for note in report.notes if "may not hold" in note]
    if case != "too early":
        assert not notes
        return
    (note,) = notes
    assert re.search(
        r"STS.*in block \(0, 0, 0\) writes an operand of 0x\w+ HGMMA.*"
        r"no barrier orders it behind the wait for that product", note,
    )  # fmt: skip
