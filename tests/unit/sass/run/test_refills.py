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


HANDOVER = """
extern "C" __global__ void put(float *out, const float *a) {
    __shared__ alignas(128) float tile[64];
    if (threadIdx.x < 64) tile[threadIdx.x] = a[threadIdx.x];
    writes_are_visible();
    __syncthreads();
    if (threadIdx.x == 0) {
        store_bulk(out, tile, 256);
        AFTER
    }
    BETWEEN
    if (threadIdx.x >= WRITER && threadIdx.x < WRITER + 64) tile[threadIdx.x - WRITER] = 0;
    __syncthreads();
    out[64 + threadIdx.x] = tile[threadIdx.x % 64];
}"""
WAITED = "commit_copies(); wait_for_copies();"


def _handed(after: str, between: str, writer: int) -> list[str]:
    source = HANDOVER.replace("AFTER", after).replace("BETWEEN", between)
    a, out = np.arange(64, dtype=np.float32), np.zeros(192, np.float32)
    report = ran(source.replace("WRITER", str(writer)), [out, a])
    return [note for note in report.notes if "may not hold" in note]


@pytest.mark.parametrize(
    ("after", "between", "writer", "says"),
    [
        (WAITED, "__syncthreads();", 64, None),
        (WAITED, "__syncwarp();", 64, "no barrier orders it behind the wait for that copy"),
    ],
)
def test_another_warp_writes_behind_a_barrier(
    after: str, between: str, writer: int, says: str | None
) -> None:
    notes = _handed(after, between, writer)
    assert len(notes) == (says is not None)
    assert all(str(says) in note and "STS" in note and "UBLKCP" in note for note in notes)


@pytest.mark.parametrize("after", ["", "commit_copies();", "wait_for_copies();"])
def test_a_block_ends_before_its_copy_was_waited_for(after: str) -> None:
    source = HANDOVER.replace("AFTER", after).split("BETWEEN")[0] + "}"
    a, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    report = ran(source, [out, a], grid=2)
    assert (report.outputs[0] == a).all()
    (note,) = [each for each in report.notes if "may not hold" in each]
    assert "UBLKCP" in note
    assert "in block (0, 0, 0) may still be reading shared memory when its block ends" in note
    assert "cp.async.bulk.wait_group.read 0 in the thread that copies" in note
