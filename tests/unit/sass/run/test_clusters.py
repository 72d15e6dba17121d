"""Blocks of a cluster: run together, with each other's shared memory."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.errors import DeadlockError, LaunchError, MemoryAccessError
from tests.hopper_kernels import ran
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

PLACES = """
extern "C" __global__ void places(u32 *out) {
    __shared__ u32 mine[4];
    u32 x, y, rank, size, clusters, which;
    asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
    asm volatile("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(y));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(clusters));
    asm volatile("mov.u32 %0, %%clusterid.y;" : "=r"(which));
    rank = cluster_rank();
    if (threadIdx.x == 0) mine[0] = 100 + rank;
    cluster_sync();
    u32 next;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(next)
                 : "r"(address_at(mine, (rank + 1) % size)));
    if (threadIdx.x == 0) {
        u32 *at = out + 8 * (blockIdx.y * gridDim.x + blockIdx.x);
        at[0] = x; at[1] = y; at[2] = rank; at[3] = size; at[4] = clusters; at[5] = which;
        at[6] = next;
    }
    cluster_sync();
}
"""


@pytest.mark.parametrize("cluster", [(1, 1), (2, 1), (2, 3), (4, 1)])
def test_blocks_know_their_place_and_read_their_neighbours(cluster: tuple[int, int]) -> None:
    across, down = cluster
    grid = (8, 3 * down)
    out = np.zeros((grid[1], grid[0], 8), np.uint32)
    report = ran(PLACES, [out], grid=grid, block=32, cluster=cluster)
    y, x = np.indices((grid[1], grid[0]))
    rank = y % down * across + x % across
    wanted = [x % across, y % down, rank, 0 * x + across * down, 0 * x + 8 // across, y // down,
              100 + (rank + 1) % (across * down)]  # fmt: skip
    assert (report.outputs[0][..., :7] == np.stack(wanted, axis=-1)).all()
    assert any("other blocks of their clusters" in note for note in report.notes) == (
        cluster != (1, 1)
    )


def test_a_sample_is_of_whole_clusters_and_stands_for_the_grid() -> None:
    out = np.zeros((2, 64, 8), np.uint32)
    report = ran(PLACES, [out], grid=(64, 2), block=32, cluster=(2, 1), blocks="sample")
    whole = ran(PLACES, [out], grid=(64, 2), block=32, cluster=(2, 1))
    assert report.blocks == 2 * 6
    assert report.extrapolated
    assert report.totals()["all"] == whole.totals()["all"]


def test_atomics_and_stores_reach_a_neighbour() -> None:
    source = """
extern "C" __global__ void __cluster_dims__(2, 1, 1) add(u32 *out) {
    __shared__ u32 counter, inbox[64];
    if (threadIdx.x == 0) counter = 0;
    cluster_sync();
    u32 other = cluster_rank() ^ 1;
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;"
                 ::"r"(address_at(&counter, other)), "r"(threadIdx.x) : "memory");
    asm volatile("st.shared::cluster.u32 [%0], %1;"
                 ::"r"(address_at(&inbox[63 - threadIdx.x], other)), "r"(threadIdx.x + blockIdx.x)
                 : "memory");
    cluster_sync();
    out[blockIdx.x * 65 + threadIdx.x] = inbox[threadIdx.x];
    if (threadIdx.x == 0) out[blockIdx.x * 65 + 64] = counter;
}"""
    report = ran(source, [np.zeros((2, 65), np.uint32)], grid=2, block=64)
    left = report.outputs[0]
    assert (left[:, 64] == 64 * 63 // 2).all()
    assert (left[0, :64] == 64 - np.arange(64)).all()
    assert (left[1, :64] == 63 - np.arange(64)).all()


def test_a_cluster_that_does_not_fit_is_refused() -> None:
    out = np.zeros(64, np.uint32)
    with pytest.raises(LaunchError, match="grid 3x1x1 in clusters of 2x1x1"):
        ran(PLACES, [out], grid=3, cluster=2)
    with pytest.raises(LaunchError, match=r"17 blocks .accepted: up to 16"):
        ran(PLACES, [out], grid=17, cluster=17)
    needs = PLACES.replace("void places", "void __cluster_dims__(2, 1, 1) places")
    with pytest.raises(LaunchError, match=r"cluster 4x1x1 .accepted: 2x1x1, which it requires"):
        ran(needs, [out], grid=4, cluster=4)


def test_a_neighbour_that_is_not_there_is_an_error() -> None:
    source = PLACES.replace("(rank + 1) % size", "7")
    with pytest.raises(MemoryAccessError, match="out of bounds"):
        ran(source, [np.zeros((2, 8), np.uint32)], grid=2, block=32, cluster=2)


def test_a_block_that_never_arrives_at_the_clusters_barrier_is_a_deadlock() -> None:
    source = """
extern "C" __global__ void __cluster_dims__(2, 1, 1) stuck() {
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) barrier_init(&barrier, 1);
    __syncthreads();
    if (blockIdx.x == 1) wait(&barrier, 0);
    cluster_sync();
}"""
    # Of two that stand, the one is named that the other waits for at the cluster's barrier.
    with pytest.raises(
        DeadlockError, match=r"block .1, 0, 0.*warp 0 waits at .*the end of phase parity 0 of the"
    ):
        ran(source, [], grid=2, block=32)


def test_warps_that_have_exited_are_not_waited_for() -> None:
    source = """
extern "C" __global__ void __cluster_dims__(2, 1, 1) leave(u32 *out) {
    if (threadIdx.x >= 32 && blockIdx.x == 1) return;
    cluster_sync();
    out[blockIdx.x * 64 + threadIdx.x] = 1;
}"""
    left = ran(source, [np.zeros((2, 64), np.uint32)], grid=2, block=64).outputs[0]
    assert left.sum() == 96


PRICED = """
extern "C" __global__ void __cluster_dims__(2, 1, 1) price(u32 *out) {
    __shared__ alignas(128) u32 tile[32 * 33];
    u32 other = cluster_rank() ^ 1, at = address_at(tile, other), found = 0, bytes;
    for (int i = threadIdx.x; i < 32 * 33; i += 32) tile[i] = i;
    cluster_sync();
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(found) : "r"(at + 4 * 32 * threadIdx.x));
    out[threadIdx.x] += found;
    asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %1, %1, %1};"
                 ::"r"(at + 16 * threadIdx.x), "r"(found) : "memory");
    asm volatile("ld.shared::cluster.u8 %0, [%1];" : "=r"(bytes) : "r"(at + threadIdx.x));
    out[threadIdx.x] += bytes;
    cluster_sync();
}"""


def test_accesses_to_a_neighbour_are_priced_in_their_rows() -> None:
    """A column of words is 32 sectors; 512 bytes side by side are stored in 16 whole sectors."""
    report = ran(PRICED, [np.zeros(32, np.uint32)], grid=2, block=32)
    found = {
        opcode: (packets, cycles)
        for opcode, packets, cycles in zip(
            *(report.instructions[name] for name in ("opcode", "packets", "neighbour_cycles")),
            strict=True,
        )
        if packets != 0
    }
    assert found == {"LD.E": (64, 96.0), "ST.E.128": (32, 48.0), "LD.E.U8": (2, 4.0)}
    assert report.totals()["neighbour"] == {"packets": 98, "neighbour_cycles": 148.0}
    assert report.totals()["all"]["requests"] == 33 * 2
    assert not any("not known of" in note for note in report.notes)
    row = next(row for row in report.table().rows if row["opcode"] == "LD.E")
    assert (row["space"], row["wavefronts"]) == ("both", 0)


def test_an_asynchronous_store_is_priced_as_a_store() -> None:
    source = """
extern "C" __global__ void __cluster_dims__(2, 1, 1) send(u32 *out) {
    __shared__ alignas(8) u32 inbox[32];
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) { barrier_init(&barrier, 1); arrive_and_expect(&barrier, 128); }
    cluster_sync();
    u32 other = cluster_rank() ^ 1;
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 ::"r"(address_at(inbox + threadIdx.x, other)), "r"(threadIdx.x),
                   "r"(address_at(&barrier, other)) : "memory");
    wait(&barrier, 0);
    out[32 * blockIdx.x + threadIdx.x] = inbox[threadIdx.x];
}"""
    report = ran(source, [np.zeros((2, 32), np.uint32)], grid=2, block=32)
    assert (report.outputs[0] == np.arange(32)).all()
    row = report.instructions["opcode"].index("STAS")
    found = [report.instructions[name][row] for name in ("executed", "packets", "neighbour_cycles")]
    assert found == [2, 2 * 4, 2 * 6.0]  # four whole sectors each
    assert not any("not known of" in note for note in report.notes)


def test_sums_at_a_neighbour_are_priced() -> None:
    """red.async by its law; what a warp adds itself at least, and a note says so."""
    source = """
extern "C" __global__ void __cluster_dims__(2, 1, 1) add(u32 *out) {
    __shared__ alignas(128) u32 inbox[32];
    __shared__ alignas(8) u64 barrier;
    inbox[threadIdx.x] = 0;
    if (threadIdx.x == 0) { barrier_init(&barrier, 1); arrive_and_expect(&barrier, 128); }
    cluster_sync();
    u32 other = address_at(inbox + threadIdx.x, cluster_rank() ^ 1);
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32"
                 " [%0], %1, [%2];" ::"r"(other), "r"(threadIdx.x),
                   "r"(address_at(&barrier, cluster_rank() ^ 1)) : "memory");
    wait(&barrier, 0);
    cluster_sync();
    asm volatile("red.shared::cluster.add.u32 [%0], 1;" ::"r"(other) : "memory");
    cluster_sync();
    out[32 * blockIdx.x + threadIdx.x] = inbox[threadIdx.x];
}"""
    report = ran(source, [np.zeros((2, 32), np.uint32)], grid=2, block=32)
    assert (report.outputs[0] == np.arange(1, 33)).all()
    found = {
        opcode.split(".")[0]: (packets, cycles)
        for opcode, packets, cycles in zip(
            *(report.instructions[name] for name in ("opcode", "packets", "neighbour_cycles")),
            strict=True,
        )
        if packets
    }
    assert found == {"REDAS": (10, 15.0), "ATOM": (10, 15.0)}  # a line and four sectors each
    assert any("the least that atomics take in other blocks, of" in x for x in report.notes)
    assert not any("not known of" in note for note in report.notes)
