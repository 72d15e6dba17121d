"""Shared memory of a neighbour: accesses that nothing orders are told, and no others."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.hopper_kernels import HEADER, SOURCES
from tests.sass_kernels import needs_compiler
from tests.variants import Variants

pytestmark = needs_compiler

KERNEL = """__global__ void __cluster_dims__(2, 1, 1) k(u32 *out) {
    __shared__ u32 mine[128];
    __shared__ alignas(8) u64 bar;
    u32 t = threadIdx.x, other = cluster_rank() ^ 1, v = 0;
    mine[t] = t;
    if (t == 0) { barrier_init(&bar, 1); barriers_are_visible(); }
    BODY
}"""
SYNC = "cluster_sync();\n"
ARRIVE = 'asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");\n'
WAIT = 'asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");\n'
LOAD = (
    'asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) :'
    ' "r"(address_at(mine + t, other)) : "memory");\n'
)
STORE = (
    'asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(address_at(mine + t, other)),'
    ' "r"(t + 1) : "memory");\n'
)
ADD = (
    'asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::'
    ' "r"(address_at(mine + t, other)), "r"(t) : "memory");\n'
)
EXPECT = "if (t == 0) arrive_and_expect(&bar, 512);\n"
SEND = (
    'asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::'
    ' "r"(address_at(mine + t, other)), "r"(t), "r"(address_at(&bar, other)) : "memory");\n'
)
SIGNAL = (
    'asm volatile("fence.acq_rel.cluster;" ::: "memory"); __syncthreads(); if (t == 0)'
    ' asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::'
    ' "r"(address_at(&bar, other)) : "memory"); wait(&bar, 0);\n'
)
OWN, GIVE, KEEP = "out[t] = mine[t];\n", "out[t] = v;\n", "mine[t] = 7;\n"

ORDERED = (
    SYNC + LOAD + SYNC + GIVE,
    SYNC + STORE + SYNC + OWN,
    SYNC + STORE + ARRIVE + WAIT + OWN,
    SYNC + LOAD + SYNC + GIVE + KEEP,
    SYNC + ADD + SYNC + OWN,
    EXPECT + SYNC + SEND + "wait(&bar, 0);\n" + OWN + SYNC,
    SYNC + STORE + SIGNAL + OWN,
)

UNORDERED = (
    # The neighbour may not have begun: what is read need not be there.
    (LOAD + SYNC + GIVE, r"\(0x\w+ STS\).* stores to what \S+ \(0x\w+ LD\.E\)"),
    # It reads what came without waiting for all to arrive; a barrier of its own is too little.
    (SYNC + STORE + OWN + SYNC, r"block 0 of the cluster, stores to what .*LDS.* loads"),
    (SYNC + STORE + "__syncthreads();\n" + OWN + SYNC, "no barrier between"),
    # A store behind the arrival comes too late for that barrier.
    (SYNC + ARRIVE + STORE + WAIT + OWN + SYNC, r"LDS\).* loads what .* stores to"),
    # What a neighbour still reads is written.
    (SYNC + LOAD + GIVE + KEEP + SYNC, r"loads what .* stores to"),
    (SYNC + ADD + "__syncthreads();\n" + OWN + SYNC, "adds to what"),
    # st.async is done when its mbarrier says so.
    (EXPECT + SYNC + SEND + OWN + SYNC + "wait(&bar, 0);\n",
     r"LDS .*in block \(0, 0, 0\) reads what .*STAS.* mbarrier"),
    # The neighbour ends, and its shared memory with it, while it is read.
    (SYNC + LOAD + GIVE, r"warp 0 of block 1 of the cluster, loads shared memory of block 0, which"
     r" may have ended by then \(next: cluster\.sync\(\)"),
)  # fmt: skip


def text(body: str) -> str:
    return KERNEL.replace("BODY", body)


VARIANTS = Variants(
    "k", map(text, (*ORDERED, *(body for body, _ in UNORDERED))), before=HEADER, include=[SOURCES]
)


def notes(body: str) -> list[str]:
    report = VARIANTS.ran(text(body), [np.zeros(128, np.uint32)], grid=2, blocks="all")
    words = ("depends on timing", "may not hold on the chip")
    return [each for each in report.notes if any(word in each for word in words)]


@pytest.mark.parametrize("body", ORDERED)
def test_what_barriers_of_a_cluster_order_is_not_told(body: str) -> None:
    assert notes(body) == []


@pytest.mark.parametrize(("body", "said"), UNORDERED)
def test_accesses_to_a_neighbour_without_an_order_are_told(body: str, said: str) -> None:
    found = notes(body)
    assert len(found) == 1
    assert re.search(said, found[0])


MADE = """
__global__ void __cluster_dims__(2, 1, 1) k(u32 *out) {
    __shared__ alignas(16) u32 got[32];
    __shared__ alignas(8) u64 bar;
    u32 rank = cluster_rank();
    BEFORE
    if (threadIdx.x == 0 && rank == OWNER) {
        barrier_init(&bar, 1);
        barriers_are_visible();
        EXPECT
    }
    BETWEEN
    if (rank == OWNER) {
        wait(&bar, 0);
    } else if (threadIdx.x == 0) {
        for (int i = 0; i < 100000; ++i) __nanosleep(1);
        REACH
    }
    cluster_sync();
    out[32 * rank + threadIdx.x] = 1;
}"""
REACHES = {
    "arrive": ("", "arrive_at(&bar, OWNER);"),
    "store": (
        "arrive_and_expect(&bar, 4);",
        'asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], 1, [%1];"'
        ' :: "r"(address_at(got, OWNER)), "r"(address_at(&bar, OWNER)) : "memory");',
    ),
}
SYNCS = {
    "none": ("", "__syncthreads();", 0),
    "too early": ("cluster_sync();", "__syncthreads();", 1),
    "between": ("", "cluster_sync();", None),
}


def made(reach: str, sync: str) -> str:
    expect, reaches = REACHES[reach]
    before, between, owner = SYNCS[sync]
    text = MADE.replace("BEFORE", before).replace("BETWEEN", between)
    text = text.replace("EXPECT", expect).replace("REACH", reaches)
    return text.replace("OWNER", str(owner or 0))


MAKERS = Variants(
    "k", [made(reach, sync) for reach in REACHES for sync in SYNCS], before=HEADER,
    include=[SOURCES],
)  # fmt: skip


@pytest.mark.parametrize("sync", SYNCS)
@pytest.mark.parametrize("reach", REACHES)
def test_an_mbarrier_that_another_block_makes(reach: str, sync: str) -> None:
    report = MAKERS.ran(made(reach, sync), [np.zeros(64, np.uint32)], grid=2, block=32)
    assert (report.outputs[0] == 1).all()
    notes = [note for note in report.notes if "may not hold" in note]
    owner = SYNCS[sync][2]
    assert len(notes) == (owner is not None)
    for note in notes:
        assert "uses an mbarrier that" in note
        assert "SYNCS.EXCH.64" in note
        assert f"in block ({1 - int(owner or 0)}, 0, 0)" in note
