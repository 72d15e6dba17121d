"""Tiles and bulk copies in kernels, and tensor maps as their arguments."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from simulator import TensorMap
from simulator.errors import ExecutionError, MemoryAccessError
from tests.hopper_kernels import HEADER, SOURCES, ran
from tests.sass_kernels import needs_compiler
from tests.variants import Variants

pytestmark = needs_compiler


@pytest.mark.parametrize(
    ("span", "row"), [(None, 128), (32, 32), (64, 64), (128, 128)]
)  # fmt: skip
def test_a_tile_is_where_its_swizzle_puts_it(span: int | None, row: int) -> None:
    width = row // 4
    given = np.arange(128 * width * 3, dtype=np.float32).reshape(128, 3 * width)
    columns, rows = np.zeros((2, 3, width, 64)), np.zeros((2, 3, 64, width))
    report = ran(
        SOURCES / "tma_tiles.cu",
        [TensorMap(given, (64, width), swizzle=span), *(x.astype("f4") for x in (columns, rows))],
        kernel=f"turn_{span or 'none'}", grid=(3, 2),
    )  # fmt: skip
    tiles = given.reshape(2, 64, 3, width).transpose(0, 2, 1, 3)
    assert (report.outputs[2] == tiles).all()
    assert (report.outputs[1] == tiles.transpose(0, 1, 3, 2)).all()
    assert (report.outputs[0] == given).all()
    totals = report.totals()
    assert totals["tma"] == {
        "executed": 6, "bytes": given.nbytes, "rows": 6 * 64, "sectors": given.nbytes // 32,
    }  # fmt: skip
    assert totals["gmma"] == {"executed": 0, "wavefronts": 0, "tensor_cycles": 0}
    # The other accesses of global memory are the stores: the copies are not among their sectors.
    assert totals["global"]["sectors"] == 2 * given.nbytes // 32
    units = dict(zip(report.instructions["opcode"], report.instructions["unit"], strict=True))
    assert units["UTMALDG.2D"] == "tma"
    assert units["LDS"] == "lsu"
    assert "UTMALDG.2D" in str(report)


def test_tiles_beyond_the_edge_are_filled_and_still_counted_whole() -> None:
    source = """
extern "C" __global__ void edge(const __grid_constant__ TensorMap map, float *out) {
    __shared__ alignas(128) float tile[8 * 8];
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        arrive_and_expect(&barrier, 256);
        load_tile(tile, &map, &barrier, -4, 5);
    }
    __syncthreads();
    wait(&barrier, 0);
    if (threadIdx.x < 64) out[threadIdx.x] = tile[threadIdx.x];
}"""
    given = np.arange(8 * 8, dtype=np.float32).reshape(8, 8) + 1
    report = ran(source, [TensorMap(given, (8, 8)), np.ones((8, 8), np.float32)])
    wanted = np.zeros((8, 8), np.float32)
    wanted[:3, 4:] = given[5:, :4]
    assert (report.outputs[1] == wanted).all()


def test_im2col_loads_the_pixels_that_a_filters_tap_sees() -> None:
    source = """
extern "C" __global__ void pixels(const __grid_constant__ TensorMap map, float *out, int x, int y,
                                  int n, int dx, int dy) {
    __shared__ alignas(128) float tile[16 * 8];
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        arrive_and_expect(&barrier, sizeof tile);
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col"
                     ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
                     ::"r"(shared_address(tile)), "l"(&map), "r"(shared_address(&barrier)), "r"(0),
                     "r"(x), "r"(y), "r"(n), "h"((unsigned short)dx), "h"((unsigned short)dy)
                     : "memory");
    }
    __syncthreads();
    wait(&barrier, 0);
    out[threadIdx.x] = tile[threadIdx.x];
}"""
    images = np.arange(2 * 6 * 7 * 8, dtype=np.float32).reshape(2, 6, 7, 8) + 1
    tiles = TensorMap.im2col(images, 8, 16, lower=(-1, -1), upper=(-1, -1))
    dx, dy = 2, 1
    args = [tiles, np.zeros((16, 8), np.float32), *map(np.int32, (-1, -1, 0, dx, dy))]
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    visited = [(n, i, j) for n in range(2) for i in range(6) for j in range(7)][:16]
    wanted = np.array([padded[n, i + dy, j + dx] for n, i, j in visited])
    assert (ran(source, args).outputs[1] == wanted).all()


LOAD = """
extern "C" __global__ void load(PARAMETER, float *out) {
    __shared__ alignas(128) float tile[2][64];
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        arrive_and_expect(&barrier, 512);
        load_tile(tile[0], FIRST, &barrier, 0, 0);
        load_tile(tile[1], SECOND, &barrier, 8, 0);
    }
    __syncthreads();
    wait(&barrier, 0);
    out[threadIdx.x] = tile[threadIdx.x / 64][threadIdx.x % 64];
}"""
A = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)


@pytest.mark.parametrize(
    ("parameter", "first", "second", "value"),
    [
        ("const __grid_constant__ TensorMap map", "&map", "&map", TensorMap(A, (8, 8))),
        ("const TensorMap *map", "map", "map", TensorMap(A, (8, 8))),
        ("const TensorMap *maps", "maps", "maps + 1", [TensorMap(A, (8, 8)), TensorMap(A, (8, 8))]),
        ("const __grid_constant__ Both both", "&both.a", "&both.b",
         (np.int32(3), TensorMap(A, (8, 8)), TensorMap(A, (8, 8)), A)),
    ],
)  # fmt: skip
def test_a_map_is_an_argument_by_value_behind_a_pointer_and_in_a_structure(
    parameter: str, first: str, second: str, value: Any
) -> None:
    source = "struct Both { int n; TensorMap a, b; float *plain; };\n" + LOAD.replace(
        "PARAMETER", parameter
    ).replace("FIRST", first).replace("SECOND", second)
    report = ran(source, [value, np.zeros((2, 8, 8), np.float32)])
    assert (report.outputs[1] == A.reshape(8, 2, 8).swapaxes(0, 1)).all()
    given = report.outputs[0]
    for each in given if isinstance(given, list | tuple) else [given]:
        assert np.ndim(each) == 0 or (each == A).all()


def test_arguments_that_share_memory_are_one_buffer() -> None:
    source = """
extern "C" __global__ void both(const __grid_constant__ TensorMap map, float *a, float *b) {
    __shared__ alignas(128) float tile[64];
    if (threadIdx.x < 64) tile[threadIdx.x] = threadIdx.x + a[64];
    writes_are_visible();
    __syncthreads();
    if (threadIdx.x == 0) {
        store_tile(&map, tile, 0, 1);
        commit_copies();
        wait_for_copies();
        b[0] = a[8];
    }
}"""
    whole = np.full((16, 8), 5, np.float32)
    report = ran(source, [TensorMap(whole, (8, 8)), whole, whole[4:]])
    wanted = whole.copy()
    wanted[1:9] = 5 + np.arange(64).reshape(8, 8)
    wanted[4, 0] = wanted[1, 0]
    assert (report.outputs[0] == wanted).all()
    assert (report.outputs[1] == wanted).all()
    assert (report.outputs[2] == wanted[4:]).all()
    assert (whole == 5).all()


def test_lanes_that_ask_for_different_tiles_take_their_turns() -> None:
    """The compiler loops over the lanes' places: two words of them differ (R2UR, R2UR.OR)."""
    source = """
extern "C" __global__ void stores(const __grid_constant__ TensorMap map) {
    __shared__ alignas(128) float tiles[8][64];
    for (int i = 0; i < 8; ++i) if (threadIdx.x < 64) tiles[i][threadIdx.x] = 64 * i + threadIdx.x;
    writes_are_visible();
    __syncthreads();
    if (threadIdx.x < 8) {
        store_tile(&map, tiles[threadIdx.x], threadIdx.x % 4 * 8, threadIdx.x / 4 * 8);
        commit_copies();
        wait_for_copies();
    }
}"""
    report = ran(source, [TensorMap(np.zeros((16, 32), np.float32), (8, 8))])
    wanted = np.arange(512, dtype=np.float32).reshape(2, 4, 8, 8).swapaxes(1, 2).reshape(16, 32)
    assert (report.outputs[0] == wanted).all()
    assert report.totals()["tma"]["executed"] == 8


def test_a_map_over_columns_of_an_array_leaves_the_others_alone() -> None:
    source = """
extern "C" __global__ void add(const __grid_constant__ TensorMap map, float *out) {
    __shared__ alignas(128) float tile[64];
    if (threadIdx.x < 64) tile[threadIdx.x] = 1;
    writes_are_visible();
    __syncthreads();
    if (threadIdx.x == 0) {
        add_tile(&map, tile, 0, 0);
        commit_copies();
        wait_for_copies();
    }
}"""
    whole = np.arange(8 * 24, dtype=np.float32).reshape(8, 24)
    report = ran(source, [TensorMap(whole[:, 8:16], (8, 8)), whole])
    wanted = whole.copy()
    wanted[:, 8:16] += 1
    assert (report.outputs[1] == wanted).all()
    assert (report.outputs[0] == wanted[:, 8:16]).all()


def test_a_map_that_the_kernel_makes_itself_is_read_as_the_chip_reads_it() -> None:
    source = """
extern "C" __global__ void remade(const __grid_constant__ TensorMap map, const float *other,
                                  TensorMap *scratch, float *out) {
    __shared__ alignas(128) TensorMap made;
    __shared__ alignas(128) float tile[64];
    __shared__ alignas(8) u64 barrier;
    u32 at = shared_address(&made);
    if (threadIdx.x < 32) ((u32 *)&made)[threadIdx.x] = ((const u32 *)&map)[threadIdx.x];
    __syncwarp();
    if (threadIdx.x == 0) {
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;"
                     ::"r"(at), "l"(other) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;"
                     ::"r"(at), "r"(4) : "memory");
    }
    __syncwarp();
    if (threadIdx.x < 32)
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu"
                     ".sync.aligned [%0], [%1], 128;" ::"l"(scratch), "r"(at) : "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(scratch) : "memory");
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        arrive_and_expect(&barrier, 256);
        load_tile(tile, scratch, &barrier, 0, 0);
    }
    __syncthreads();
    wait(&barrier, 0);
    if (threadIdx.x < 64) out[threadIdx.x] = tile[threadIdx.x];
}"""
    other = np.arange(1, 65, dtype=np.float32).reshape(8, 8)
    made = TensorMap(np.zeros((8, 8), np.float32), (8, 8))
    args = [made, other, np.zeros(128, np.uint8), np.zeros((8, 8), np.float32)]
    report = ran(source, args)
    assert (report.outputs[3][:4] == other[:4]).all()
    assert (report.outputs[3][4:] == 0).all()


@pytest.mark.slow
def test_the_guides_example_of_barriers_and_tensor_copies_runs() -> None:
    """cuda::barrier and cuda::device::experimental, as the CUDA guide has them."""
    source = """
#include <cuda.h>
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;
__global__ void guide(const __grid_constant__ CUtensorMap map, int x, int y) {
    __shared__ alignas(128) int tile[16][32];
    #pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, x, y, bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
    } else {
        token = bar.arrive();
    }
    bar.wait(std::move(token));
    tile[0][threadIdx.x] += threadIdx.x;
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_shared_to_global(&map, x, y, &tile);
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
    }
}"""
    given = np.arange(64 * 64, dtype=np.int32).reshape(64, 64)
    report = ran(source, [TensorMap(given, (16, 32)), np.int32(32), np.int32(16)], block=32)
    wanted = given.copy()
    wanted[16, 32:64] += np.arange(32, dtype=np.int32)
    assert (report.outputs[0] == wanted).all()


BAD = (
    ("load_tile(tile + 1, &map, &barrier, 0, 0);", MemoryAccessError, "misaligned"),
    ("load_tile(tile + (1 << 16), &map, &barrier, 0, 0);", MemoryAccessError, "outside"),
    ("load_tile(tile, (TensorMap *)out, &barrier, 0, 0);", ExecutionError, "tensor map"),
    ("load_tile(tile, &map + 4096, &barrier, 0, 0);", MemoryAccessError,
     "do not lie inside one array"),
    ("load_tile((void *)((char *)tile + (5 << 24)), &map, &barrier, 0, 0);", MemoryAccessError,
     "block 5 of a cluster of 1"),
    ("load_tile_for(tile, &map, &barrier, 0, 0, 2);", MemoryAccessError, "mask 0x2"),
    ("load_block(tile, &map, &barrier, 0, 0, 0);", ExecutionError, "3 coordinates"),
)  # fmt: skip

COPY = """
__global__ void bad(const __grid_constant__ TensorMap map, float *out) {
    __shared__ alignas(128) float tile[64];
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        arrive_and_expect(&barrier, 256);
        LINE
    }
}"""

TOGETHER = Variants(
    "bad", (COPY.replace("LINE", line) for line, _, _ in BAD), before=HEADER, include=[SOURCES]
)


@pytest.mark.parametrize(("line", "error", "says"), BAD)
def test_a_bad_copy_is_an_error_with_its_place(
    line: str, error: type[Exception], says: str
) -> None:
    args = [TensorMap(np.zeros((8, 8), np.float32), (8, 8)), np.zeros(64, np.float32)]
    with pytest.raises(error, match=says) as caught:
        TOGETHER.ran(COPY.replace("LINE", line), args)
    assert "hopper.cuh" in str(caught.value)
    assert caught.value.partial.totals()["tma"]["bytes"] == 0  # type: ignore[attr-defined]


def test_a_bad_copy_is_told_of_no_array_without_a_byte() -> None:
    line = BAD[3][0]
    args = [TensorMap(np.zeros((8, 8), np.float32), (8, 8)), np.zeros(0, np.float32)]
    with pytest.raises(MemoryAccessError, match="do not lie inside one array") as caught:
        TOGETHER.ran(COPY.replace("LINE", line), args)
    first, *others = re.findall(r"(0x[0-9a-f]+) to (0x[0-9a-f]+)", str(caught.value))
    assert all(int(low, 16) <= int(high, 16) for low, high in (first, *others))
