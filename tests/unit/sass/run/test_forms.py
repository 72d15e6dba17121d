"""Every reduction of TMA, in bulk and into a neighbour, and tiles of every rank, by PTX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simulator import TensorMap, replay_compiled
from tests.hopper_kernels import HEADER, SOURCES
from tests.sass_kernels import needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]

Words = Any

REDUCTIONS: dict[str, tuple[str, Callable[[Words, Words], Words]]] = {
    "add": ("u32", np.add), "min": ("u32", np.minimum), "max": ("u32", np.maximum),
    "and": ("b32", np.bitwise_and), "or": ("b32", np.bitwise_or), "xor": ("b32", np.bitwise_xor),
    "inc": ("u32", lambda old, new: np.where(old >= new, 0, old + 1)),
    "dec": ("u32", lambda old, new: np.where((old == 0) | (old > new), new, old - 1)),
}  # fmt: skip
SHAPES = ((64,), (4, 16), (2, 4, 8), (2, 2, 2, 8), (2, 1, 2, 2, 8))
DONE = 'asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");\n'


def drawn(*shape: int) -> Words:
    return np.random.default_rng(len(shape)).integers(0, 50, shape).astype(np.uint32)


def ran(source: str, args: list[Any], **launch: Any) -> Any:
    return replay_compiled(
        HEADER + source, arch="sm_90a", args=args, include=[SOURCES],
        **{"grid": 1, "block": 32, **launch},
    ).outputs  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=len)
def test_tiles_of_every_rank_are_loaded_stored_and_reduced(shape: tuple[int, ...]) -> None:
    rank, zeros = len(shape), ", ".join("0" for _ in shape)
    reduced = "".join(
        f'asm volatile("cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{name}.bulk_group'
        f' [%0, {{{zeros}}}], [%1];" :: "l"(&m{place}), "r"(shared_address(tile)) : "memory");\n'
        for place, name in enumerate(REDUCTIONS)
    )
    maps = ", ".join(f"const __grid_constant__ TensorMap m{place}" for place in range(8))
    source = f"""
extern "C" __global__ void tiles(const __grid_constant__ TensorMap from,
                                 const __grid_constant__ TensorMap to, {maps}) {{
    __shared__ alignas(128) u32 tile[64];
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x) return;
    barrier_init(&barrier, 1);
    barriers_are_visible();
    arrive_and_expect(&barrier, 256);
    asm volatile("prefetch.tensormap [%0];" :: "l"(&from) : "memory");
    asm volatile("cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile [%0, {{{zeros}}}];"
                 :: "l"(&from) : "memory");
    asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {{{zeros}}}], [%2];" :: "r"(shared_address(tile)), "l"(&from),
                 "r"(shared_address(&barrier)) : "memory");
    wait(&barrier, 0);
    asm volatile("cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [%0, {{{zeros}}}],"
                 " [%1];" :: "l"(&to), "r"(shared_address(tile)) : "memory");
    {reduced}{DONE}
}}"""
    given, before = drawn(*shape), drawn(8, *shape)
    arrays = [given, np.zeros_like(given), *before.copy()]
    left = ran(source, [TensorMap(np.ascontiguousarray(each), shape) for each in arrays])
    assert (left[1] == given).all()
    for place, (name, (_, reduce)) in enumerate(REDUCTIONS.items()):
        assert (left[2 + place] == reduce(before[place], given)).all(), name


def test_bytes_are_reduced_in_bulk() -> None:
    reduced = "".join(
        f'asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.{name}.{kind} [%0],'
        f' [%1], 128;" :: "l"(sums + 32 * {place}), "r"(shared_address(row)) : "memory");\n'
        for place, (name, (kind, _)) in enumerate(REDUCTIONS.items())
    )
    source = f"""
extern "C" __global__ void rows(const u32 *in, u32 *sums) {{
    __shared__ alignas(128) u32 row[32];
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], 128;" :: "l"(in) : "memory");
    row[threadIdx.x] = in[threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {{ {reduced}{DONE} }}
}}"""
    given, before = drawn(32), drawn(8, 32)
    (_, left) = ran(source, [given, before.copy()])
    for place, (name, (_, reduce)) in enumerate(REDUCTIONS.items()):
        assert (left[place] == reduce(before[place], given)).all(), name


def test_words_are_reduced_in_a_neighbour() -> None:
    reduced = "".join(
        'asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes'
        f'.{name}.{kind} [%0], %1, [%2];" :: "r"(address_at(&mine[{place}][lane], rank ^ 1)),'
        ' "r"(value), "r"(address_at(&barrier, rank ^ 1)) : "memory");\n'
        for place, (name, (kind, _)) in enumerate(REDUCTIONS.items())
    )
    source = f"""
extern "C" __global__ void __cluster_dims__(2, 1, 1) words(u32 *sums, const u32 *in) {{
    __shared__ u32 mine[8][32];
    __shared__ alignas(8) u64 barrier;
    u32 lane = threadIdx.x, rank = cluster_rank(), value = in[32 * rank + lane];
    for (int i = 0; i < 8; ++i) mine[i][lane] = sums[256 * rank + 32 * i + lane];
    if (lane == 0) {{
        barrier_init(&barrier, 1);
        barriers_are_visible();
        arrive_and_expect(&barrier, 1024);
    }}
    cluster_sync();
    {reduced}
    wait(&barrier, 0);
    for (int i = 0; i < 8; ++i) sums[256 * rank + 32 * i + lane] = mine[i][lane];
    cluster_sync();
}}"""
    given, before = drawn(2, 32), drawn(2, 8, 32)
    (left, _) = ran(source, [before.copy(), given], grid=2)
    for place, (name, (_, reduce)) in enumerate(REDUCTIONS.items()):
        assert (left[:, place] == reduce(before[:, place], given[::-1])).all(), name
