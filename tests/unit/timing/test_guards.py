"""What a guard turns off, in a compiled kernel's estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator import Chip, replay_compiled
from simulator.errors import OptionError
from simulator.sass.report import CompiledReport
from simulator.timing.kernel_time import KernelTime
from simulator.timing.local_memory import parted
from tests.sass_kernels import needs_tools

pytestmark = needs_tools

_SOURCE = """
extern "C" __global__ void meet(float *out, int n) {
    float v = threadIdx.x;
    #pragma unroll 1
    for (int turn = 0; turn < 32; ++turn) {
        asm volatile("{ .reg .pred p; setp.eq.u32 p, %0, 1; @p bar.sync 0; }" :: "r"(n) : "memory");
        for (int k = 0; k < 4 * (threadIdx.x / 32 + turn & 3); ++k) v = v * 1.5f + 1;
    }
    out[threadIdx.x] = v;
}"""


def _report(is_on: bool) -> CompiledReport:
    args = [np.zeros(128, np.float32), np.int32(is_on)]
    return replay_compiled(_SOURCE, grid=1, block=128, args=args)


def _time(is_on: bool) -> KernelTime:
    return _report(is_on).time("H100")


def test_nobody_waits_at_a_barrier_that_is_turned_off() -> None:
    on, off = _time(True), _time(False)
    assert on.reasons["barrier"] > 0.5
    assert off.reasons["barrier"] == 0
    # Each turn lasts as long as its longest warp where they meet; else each warp goes its way.
    assert off.active_cycles < 0.8 * on.active_cycles


_GROUPS = """
extern "C" __global__ void groups(float *out, int one, int count) {
    float v = threadIdx.x;
    int group = threadIdx.x / 64;
    #pragma unroll 1
    for (int turn = 0; turn < 32; ++turn) {
        SYNC
        for (int k = 0; k < (group ? 8 : 1) * (1 + (threadIdx.x / 32 + turn & 1)); ++k)
            v = v * 1.5f + 1;
        if (!group) for (int k = 0; k < 8 * (turn & 1); ++k) v = v * 0.5f + 1;
    }
    out[threadIdx.x] = v;
}"""


@pytest.mark.parametrize(
    "sync",
    [
        'asm volatile("bar.sync %0, %1;" :: "r"(one + group), "r"(count));',
        'asm volatile("bar.sync %0, 64;" :: "r"(one + group));',
        'if (group) asm volatile("bar.sync 2, %0;" :: "r"(count)); '
        'else asm volatile("bar.sync 1, %0;" :: "r"(count));',
    ],
    ids=["both", "number", "threads"],
)
def test_a_barrier_that_a_register_names_is_that_barrier(sync: str) -> None:
    def time(sync: str) -> KernelTime:
        args = [np.zeros(128, np.float32), np.int32(1), np.int32(64)]
        source = _GROUPS.replace("SYNC", sync)
        return replay_compiled(source, grid=1, block=128, args=args).time("H100")

    fixed = time(
        'if (group) asm volatile("bar.sync 2, 64;"); else asm volatile("bar.sync 1, 64;");'
    )
    named = time(sync)
    all_meet = time("__syncthreads();")
    # Behind the one a branch waits for it, behind the other sums go on.
    assert named.active_cycles == pytest.approx(fixed.active_cycles, rel=0.1)
    assert named.reasons["barrier"] < 0.7 * all_meet.reasons["barrier"]


_LOCAL = """
extern "C" __global__ void stores(float *out, int n) {
    int array[64];
    for (int k = 0; k < 64; ++k) array[k * 7 & 63] = k + n;
    unsigned long long at = __cvta_generic_to_local(array + n % 32);
    #pragma unroll 1
    for (int turn = 0; turn < 64; ++turn)
        #pragma unroll
        for (int k = 0; k < 8; ++k)
            asm volatile("{ .reg .pred p; setp.gt.u32 p, %0, 9; @p st.local.u32 [%1], %0; }"
                         :: "r"(n), "l"(at + 4 * k));
    out[threadIdx.x] = array[n & 63];
}"""


def test_a_store_to_local_memory_that_is_turned_off_stores_nothing() -> None:
    on, off = (
        replay_compiled(
            _LOCAL, grid=132, block=512, args=[np.zeros(512, np.float32), np.int32(n)]
        ).time("H100")
        for n in (10, 1)
    )  # fmt: skip
    assert on.active_cycles is not None
    assert off.active_cycles is not None
    assert off.active_cycles < 0.3 * on.active_cycles


_BYTES = """
extern "C" __global__ void bytes(int *out, int n) {
    unsigned char array[256];
    for (int k = 0; k < 256; ++k) array[k * 7 & 255] = k + n;
    int sum = 0;
    for (int turn = 0; turn < n; ++turn) sum += array[threadIdx.x + turn & 255];
    out[threadIdx.x] = sum;
}"""


def test_bytes_of_one_word_of_local_memory_are_one_place() -> None:
    report = replay_compiled(
        _BYTES, grid=1, block=32, chip="H100", args=[np.zeros(32, np.int32), np.int32(8)]
    )
    work = report.relaunch().work(Chip.of("H100"))
    numbers = [n for n, each in enumerate(work.instructions) if each.opcode.startswith("LDL.U8")]
    rows = work.traces[0].rows
    sectors, lines = parted(rows.sectors[np.isin(rows.number, numbers)])
    # Eight lanes read two words, or three where the first begins amid one.
    assert set(sectors.tolist()) <= {8, 9, 10, 11, 12}
    assert set(lines.tolist()) <= {8, 9}
    assert len(lines)


_STORES = """
extern "C" __global__ void stores(int *out, int n) {
    TYPE array[64];
    for (int k = 0; k < n; ++k) array[k * 7 & 63] = k + n;
    int sum = 0;
    for (int turn = 0; turn < n; ++turn) sum += array[turn & 63];
    if (threadIdx.x < LANES) { array[n & 63] = sum; sum += array[n + 1 & 63]; }
    out[threadIdx.x] = sum;
}"""


@pytest.mark.parametrize(("type_", "whole"), [("int", True), ("unsigned char", False)])
@pytest.mark.parametrize("lanes", [16, 20])
def test_sectors_of_local_memory_are_whole_where_lanes_fill_them(
    type_: str, whole: bool, lanes: int
) -> None:
    source = _STORES.replace("TYPE", type_).replace("LANES", str(lanes))
    report = replay_compiled(
        source, grid=1, block=32, chip="H100", args=[np.zeros(32, np.int32), np.int32(8)]
    )
    work = report.relaunch().work(Chip.of("H100"))
    stores = [n for n, each in enumerate(work.instructions) if each.opcode.startswith("STL")]
    rows = work.traces[0].rows
    noted = rows.sectors[np.isin(rows.number, stores)]
    found = {tuple(each) for each in np.stack(parted(noted), axis=1).tolist()}
    filled = whole << 6
    some = (-(-lanes // 8), 1 | (filled if lanes % 8 == 0 else 0))
    assert found == {(4, 1 | filled), some}


@pytest.mark.parametrize("clock", [[1500], "1500", True])
def test_a_report_refuses_a_clock_that_is_no_number(clock: Any) -> None:
    report = _report(is_on=True)
    assert report.time("H100", clock_mhz=1500).clock_mhz == 1500
    with pytest.raises(OptionError, match="accepted: MHz of the SM, above 0"):
        report.time("H100", clock_mhz=clock)
