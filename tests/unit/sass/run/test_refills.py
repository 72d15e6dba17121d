"""Notes about shared memory that is written while a copy to global memory may still read it."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import TensorMap
from tests.hopper_kernels import ran
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

REFILL = """
extern "C" __global__ void put(const __grid_constant__ TensorMap map, float *out, const float *a) {
    __shared__ alignas(128) float tile[2][32 * 4];
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) barrier_init(&barrier, 1);
    for (int turn = 0; turn < 3; ++turn) {
        if (threadIdx.x == 0 && turn >= 2) { WAIT }
        __syncthreads();
        FILL
        writes_are_visible();
        __syncthreads();
        if (threadIdx.x == 0) { STORE commit_copies(); }
    }
    if (threadIdx.x == 0) wait_for_copies();
}"""
STORES = "tile[turn % 2][threadIdx.x] = a[threadIdx.x];"
LOADS = """if (threadIdx.x == 0) {
    arrive_and_expect(&barrier, 512); load_bulk(tile[turn % 2], a, 512, &barrier); }
    wait(&barrier, turn % 2);"""
WAITS = 'asm volatile("cp.async.bulk.wait_group{} {};" ::: "memory");'


def _notes(wait: str, fill: str = STORES, store: str = "store_tile(&map, tile[turn % 2], 0, 0);"):  # type: ignore[no-untyped-def]
    source = REFILL.replace("WAIT", wait).replace("FILL", fill).replace("STORE", store)
    a, out = np.arange(128, dtype=np.float32), np.zeros((32, 4), np.float32)
    report = ran(source, [TensorMap(out, (32, 4)), np.zeros_like(a), a])
    return [note for note in report.notes if "may not hold" in note]


@pytest.mark.parametrize(
    ("wait", "fill", "writer"),
    [("", STORES, "STS"), (WAITS.format("", 2), STORES, "STS"), ("", LOADS, "UBLKCP")],
)
def test_a_buffer_that_is_filled_again_too_soon(wait: str, fill: str, writer: str) -> None:
    (note,) = _notes(wait, fill)
    assert f" {writer}" in note
    assert "may still be reading (next: cp.async.bulk.wait_group.read" in note
    assert "UTMASTG.2D" in note


@pytest.mark.parametrize(
    ("wait", "store"),
    [
        (WAITS.format(".read", 1), "store_tile(&map, tile[turn % 2], 0, 0);"),
        (WAITS.format("", 1), "store_bulk(out, tile[turn % 2], 512);"),
        (WAITS.format(".read", 0), "add_tile(&map, tile[turn % 2], 0, 0);"),
    ],
)
def test_a_wait_for_the_copies_that_read_it_is_enough(wait: str, store: str) -> None:
    assert not _notes(wait, store=store)
