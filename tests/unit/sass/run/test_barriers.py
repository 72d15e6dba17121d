"""mbarriers in kernels: arrivals, waits, and what keeps a wait from ending."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simulator.errors import BarrierError, DeadlockError, ExecutionError, MemoryAccessError
from tests.hopper_kernels import ran
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

RING = """
constexpr int STAGES = 3;
extern "C" __global__ void ring(const int *in, int *out, int steps) {
    __shared__ int stage[STAGES][32];
    __shared__ alignas(8) u64 full[STAGES], empty[STAGES];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0)
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(&full[i], 32);
            barrier_init(&empty[i], 96);
        }
    __syncthreads();
    if (warp == 0) {
        for (int i = 0; i < steps; ++i) {
            wait(&empty[i % STAGES], i / STAGES + 1 & 1);
            stage[i % STAGES][lane] = in[32 * i + lane];
            arrive(&full[i % STAGES]);
        }
        return;
    }
    int sum = 0;
    for (int i = 0; i < steps; ++i) {
        wait(&full[i % STAGES], i / STAGES & 1);
        sum += stage[i % STAGES][(lane + i) % 32];
        arrive(&empty[i % STAGES]);
    }
    out[threadIdx.x - 32] = sum;
}
"""


def test_a_ring_of_mbarriers_passes_every_stage_on() -> None:
    steps = 11
    given = np.arange(32 * steps, dtype=np.int32).reshape(steps, 32) ** 2
    report = ran(RING, [given, np.zeros((3, 32), np.int32), np.int32(steps)])
    wanted = sum(np.roll(row, -i) for i, row in enumerate(given))
    assert (report.outputs[1] == wanted).all()
    assert report.totals()["all"]["wavefronts"] == report.totals()["all"]["ideal"] == 4 * steps


def test_a_wait_that_nothing_ends_names_barrier_counts_warps_and_line() -> None:
    source = """
extern "C" __global__ void stuck() {
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 2);
        arrive_and_expect(&barrier, 512);
    }
    __syncthreads();
    if (threadIdx.x >= 64) wait(&barrier, 0);
}"""
    with pytest.raises(DeadlockError) as caught:
        ran(source, [])
    said = str(caught.value)
    assert re.search(
        r"no warp of block \(0, 0, 0\) can continue: warps 2, 3 wait at 0x\w+ SYNCS", said
    )
    assert re.search(r"SYNCS\.PHASECHK.*\(\S*hopper\.cuh:\d+\) for the end of phase parity 0", said)
    assert re.search(
        r"mbarrier at 0x\w+: phase parity 0, 1 of 2 arrivals pending, 512 bytes outstanding", said
    )
    assert caught.value.partial is not None


def test_polls_of_one_warp_let_the_others_run() -> None:
    """test_wait in a loop, before the warp that arrives at a later instruction."""
    source = """
extern "C" __global__ void poll(int *out) {
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) barrier_init(&barrier, 1);
    __syncthreads();
    if (threadIdx.x < 32) {
        u32 done = 0;
        while (!done)
            asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;"
                         " selp.u32 %0, 1, 0, p;}"
                         : "=r"(done) : "r"(shared_address(&barrier)) : "memory");
        out[threadIdx.x] = 7;
    } else if (threadIdx.x == 64) {
        for (int i = 0; i < 100; ++i) out[64 + i] = i;
        arrive(&barrier);
    }
}"""
    report = ran(source, [np.zeros(256, np.int32)])
    assert (report.outputs[0][:32] == 7).all()


def test_a_try_runs_out_where_nobody_can_go_on() -> None:
    """A warp that tries once and then arrives itself is not stuck."""
    source = """
extern "C" __global__ void peek(int *out) {
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) barrier_init(&barrier, 128);
    __syncthreads();
    u32 done;
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
                 " selp.u32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(shared_address(&barrier)) : "memory");
    out[threadIdx.x] = done;
    arrive(&barrier);
    wait(&barrier, 0);
}"""
    assert (ran(source, [np.ones(128, np.int32)]).outputs[0] == 0).all()


def test_lanes_wait_for_mbarriers_of_their_own() -> None:
    source = """
extern "C" __global__ void own(int *out) {
    __shared__ alignas(8) u64 barriers[32];
    if (threadIdx.x < 32) barrier_init(&barriers[threadIdx.x], 1);
    __syncthreads();
    if (threadIdx.x < 32) {
        wait(&barriers[threadIdx.x], 0);
        out[threadIdx.x] = threadIdx.x;
    } else if (threadIdx.x < 64) {
        arrive(&barriers[63 - threadIdx.x]);
    }
}"""
    assert (ran(source, [np.zeros(32, np.int32)]).outputs[0] == np.arange(32)).all()


def test_the_state_before_an_arrival_counts_and_waits() -> None:
    source = """
extern "C" __global__ void states(u32 *out) {
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) barrier_init(&barrier, 64);
    __syncthreads();
    u64 state; u32 pending;
    if (threadIdx.x < 64) {
        asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];"
                     : "=l"(state) : "r"(shared_address(&barrier)) : "memory");
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
        out[threadIdx.x] = pending;
    }
}"""
    assert (ran(source, [np.zeros(64, np.uint32)]).outputs[0] == 64 - np.arange(64)).all()


def test_lanes_that_arrive_without_completing_have_a_state_each() -> None:
    """Odd and even lanes at a barrier each; the first two warps with other counts."""
    source = """
extern "C" __global__ void states(u32 *out) {
    __shared__ alignas(8) u64 barriers[2];
    if (threadIdx.x < 2) barrier_init(&barriers[threadIdx.x], 100);
    __syncthreads();
    u64 state; u32 pending, warp = threadIdx.x / 32;
    if (threadIdx.x < 64 && threadIdx.x % 32 >= 10) {
        asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;"
                     : "=l"(state) : "r"(shared_address(&barriers[threadIdx.x % 2])), "r"(warp + 1)
                     : "memory");
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
        out[threadIdx.x] = pending;
    }
}"""
    lanes = np.arange(10, 32)
    first = 100 - (lanes - 10) // 2
    found = ran(source, [np.zeros(64, np.uint32)]).outputs[0].reshape(2, 32)
    assert not found[:, :10].any()
    assert (found[0, 10:] == first).all()
    assert (found[1, 10:] == 89 - 2 * ((lanes - 10) // 2)).all()


def test_copies_of_threads_arrive_at_an_mbarrier() -> None:
    source = """
extern "C" __global__ void copies(const int *in, int *out) {
    __shared__ alignas(16) int tile[128];
    __shared__ alignas(8) u64 barrier, other;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 128);
        barrier_init(&other, 128);
    }
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
        shared_address(&tile[threadIdx.x])), "l"(in + threadIdx.x));
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(
        shared_address(&barrier)));
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(shared_address(&other)));
    arrive(&other);
    wait(&barrier, 0);
    wait(&other, 0);
    out[threadIdx.x] = tile[127 - threadIdx.x];
}"""
    given = np.arange(128, dtype=np.int32)
    assert (ran(source, [given, np.zeros(128, np.int32)]).outputs[1] == given[::-1]).all()


@pytest.mark.parametrize(
    ("body", "error", "says"),
    [
        ("wait(&barrier, 0);", BarrierError, "was never initialised.*SYNCS.*thread \\(0, 0, 0\\)"),
        ("barrier_init(&barrier, 1); barrier_invalidate(&barrier); arrive(&barrier);",
         BarrierError, "was invalidated"),
        ("barrier_init(&barrier, 1); arrive_and_expect(&barrier, 1 << 20);", BarrierError,
         "accepted: 0 to 1048575"),
        ("arrive((u64 *)((char *)&barrier + 4));", MemoryAccessError, "multiples of 8"),
    ],
)  # fmt: skip
def test_misuse_is_an_error_with_its_place(body: str, error: type[Exception], says: str) -> None:
    source = (
        'extern "C" __global__ void bad() {\n'
        "    __shared__ alignas(8) u64 barrier;\n"
        f"    if (threadIdx.x == 0) {{ {body} }}\n}}"
    )
    with pytest.raises(error, match=says) as caught:
        ran(source, [])
    assert "hopper.cuh" in str(caught.value)
    assert isinstance(caught.value, ExecutionError)
    assert caught.value.partial is not None
