"""mbarriers, tiles and bulk copies executed in kernels, and what keeps them from going on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import TensorMap, replay_compiled
from simulator.errors import BarrierError, DeadlockError, ExecutionError, MemoryAccessError
from tests.sass_kernels import HERE, needs_compiler

pytestmark = needs_compiler

HEADER = '#include "hopper.cuh"\n'
SOURCES = HERE / "cuda"


def ran(source: str | Path, args: list[Any], **launch: Any) -> Any:
    text = HEADER + source if isinstance(source, str) else source
    common = {"grid": 1, "block": 128, "blocks": "all", "include": [SOURCES], "arch": "sm_90a"}
    return replay_compiled(text, args=args, **{**common, **launch})


# ---- mbarriers. --------------------------------------------------------------------------------
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
        r"no warp of block \(0, 0, 0\) can go on: warps 2, 3 wait at 0x\w+ SYNCS", said
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


# ---- Tiles. ------------------------------------------------------------------------------------
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
    assert totals["gmma"] == {"executed": 0, "wavefronts": 0}
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
        load_tile(tile, &map, &barrier, -3, 5);
    }
    __syncthreads();
    wait(&barrier, 0);
    if (threadIdx.x < 64) out[threadIdx.x] = tile[threadIdx.x];
}"""
    given = np.arange(8 * 8, dtype=np.float32).reshape(8, 8) + 1
    report = ran(source, [TensorMap(given, (8, 8)), np.ones((8, 8), np.float32)])
    wanted = np.zeros((8, 8), np.float32)
    wanted[:3, 3:] = given[5:, :5]
    assert (report.outputs[1] == wanted).all()


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


@pytest.mark.parametrize(
    ("line", "error", "says"),
    [
        ("load_tile(tile + 1, &map, &barrier, 0, 0);", MemoryAccessError, "misaligned"),
        ("load_tile(tile + (1 << 16), &map, &barrier, 0, 0);", MemoryAccessError, "outside"),
        ("load_tile(tile, (TensorMap *)out, &barrier, 0, 0);", ExecutionError, "tensor map"),
        ("load_tile(tile, &map + 4096, &barrier, 0, 0);", MemoryAccessError, "not inside one"),
        ("load_tile((void *)((char *)tile + (5 << 24)), &map, &barrier, 0, 0);", MemoryAccessError,
         "block 5 of a cluster of 1"),
        ("load_tile_for(tile, &map, &barrier, 0, 0, 2);", MemoryAccessError, "mask 0x2"),
        ("load_block(tile, &map, &barrier, 0, 0, 0);", ExecutionError, "3 coordinates"),
    ],
)  # fmt: skip
def test_a_bad_copy_is_an_error_with_its_place(
    line: str, error: type[Exception], says: str
) -> None:
    source = f"""
extern "C" __global__ void bad(const __grid_constant__ TensorMap map, float *out) {{
    __shared__ alignas(128) float tile[64];
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) {{
        barrier_init(&barrier, 1);
        arrive_and_expect(&barrier, 256);
        {line}
    }}
}}"""
    args = [TensorMap(np.zeros((8, 8), np.float32), (8, 8)), np.zeros(64, np.float32)]
    with pytest.raises(error, match=says) as caught:
        ran(source, args)
    assert "hopper.cuh" in str(caught.value)
    assert caught.value.partial.totals()["tma"]["bytes"] == 0  # type: ignore[attr-defined]
