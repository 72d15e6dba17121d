"""Notes about what may not hold on the chip: kernels that have it, and their correct twins."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from simulator import TensorMap, replay_compiled
from simulator.sass.code.images import load
from simulator.sass.code.options import make_options
from tests.hopper_kernels import HEADER, SOURCES
from tests.sass_kernels import needs_compiler
from tests.variants import Variants

pytestmark = needs_compiler

STORE = """
__global__ void put(const __grid_constant__ TensorMap map, const float *a) {
    __shared__ alignas(128) float tile[32 * 4];
    tile[threadIdx.x] = a[threadIdx.x];
    BEFORE
    __syncthreads();
    if (threadIdx.x == 0) {
        AFTER
        store_tile(&map, tile, 0, 0);
        commit_copies();
        wait_for_reads();
    }
}"""

LOAD = """
__global__ void get(const __grid_constant__ TensorMap map, float *out) {
    __shared__ alignas(128) float tile[32 * 4];
    __shared__ alignas(8) u64 barrier, passed_on;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        barrier_init(&passed_on, 1);
        barriers_are_visible();
        arrive_and_expect(&barrier, sizeof tile);
        load_tile(tile, &map, &barrier, 0, 0);
    }
    __syncthreads();
    WAIT
    out[threadIdx.x] = tile[threadIdx.x];
}"""

PRODUCT = """
__device__ __forceinline__ void multiply(float (&d)[4], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
                 " {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
__global__ void product(const __grid_constant__ TensorMap map, float *out) {
    __shared__ alignas(128) __half a[64 * 16], b[8 * 16];
    __shared__ alignas(8) u64 barrier;
    if (threadIdx.x == 0) {
        barrier_init(&barrier, 1);
        barriers_are_visible();
        arrive_and_expect(&barrier, sizeof a);
        load_tile(a, &map, &barrier, 0, 0);
    }
    b[threadIdx.x] = __int2half_rn(threadIdx.x % 7);
    FENCE
    __syncthreads();
    wait(&barrier, 0);
    float sums[4] = {};
    products_begin();
    multiply(sums, matrix(a, 1024, 128, 0), matrix(b, 128, 128, 0));
    products_end();
    EARLY
    products_wait<0>();
    LATE
    for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = sums[i];
}"""

RELOAD = """if (threadIdx.x == 0) {
    arrive_and_expect(&barrier, sizeof a);
    load_tile(a, &map, &barrier, 0, 0);
}"""
RELOAD_AND_WAIT = RELOAD + "\n    wait(&barrier, 1);"


def doubts(report: Any) -> list[str]:
    return [note for note in report.notes if "may not hold on the chip" in note]


VISIBLE = "writes_are_visible();"
PASSED = (
    "wait(&barrier, 0);",
    "if (threadIdx.x == 0) wait(&barrier, 0); __syncthreads();",
    "if (threadIdx.x < 32) { wait(&barrier, 0); __syncwarp();"
    " if (threadIdx.x == 0) arrive(&passed_on); }"
    " wait(&passed_on, 0);",
)
SOME_WAIT = "if (threadIdx.x < 32) wait(&barrier, 0);"
OTHER = "if (threadIdx.x == 0) arrive(&passed_on); wait(&passed_on, 0);"
REWRITE = "b[threadIdx.x] = __half(1);"
APART = (
    VISIBLE + "if (threadIdx.x < 64) products_wait<0>(); else { out[0] = 1; products_wait<0>(); }"
)


def with_store(before: str, after: str) -> str:
    return STORE.replace("BEFORE", before).replace("AFTER", after)


def with_product(fence: str, early: str, late: str) -> str:
    return PRODUCT.replace("FENCE", fence).replace("EARLY", early).replace("LATE", late)


AGAIN = VISIBLE + " tile[threadIdx.x] = a[threadIdx.x];"
APART_STORE = with_store(VISIBLE, "").replace("__syncthreads();", "")
UNORDERED_WAIT = LOAD.replace("__syncthreads();", "").replace("WAIT", PASSED[0])
TOGETHER = {
    "put": [
        *(with_store(*each) for each in (("", ""), (VISIBLE, ""), ("", VISIBLE), (AGAIN, ""))),
        APART_STORE,
    ],
    "get": [
        *(LOAD.replace("WAIT", wait) for wait in ("", *PASSED, SOME_WAIT, OTHER)),
        UNORDERED_WAIT,
    ],
    "product": [
        with_product(*each)
        for each in (
            (VISIBLE, "", ""), ("", "", ""), (VISIBLE, REWRITE, ""), (VISIBLE, "", REWRITE),
            (VISIBLE, RELOAD, ""), (VISIBLE, "", RELOAD),
            (VISIBLE, "", RELOAD_AND_WAIT), (APART, "", ""),
        )
    ],
}  # fmt: skip
VARIANTS = {
    kernel: Variants(kernel, texts, before=HEADER, include=[SOURCES])
    for kernel, texts in TOGETHER.items()
}


def put(before: str = "", after: str = "") -> list[str]:
    array = np.arange(128, dtype=np.float32)
    args = [TensorMap(np.zeros((4, 32), np.float32), box=(4, 32)), array]
    report = VARIANTS["put"].ran(with_store(before, after), args, blocks="all")
    assert (report.outputs[0].ravel() == array).all()
    return doubts(report)


def get(wait: str, text: str = LOAD) -> list[str]:
    array = np.arange(128, dtype=np.float32).reshape(4, 32)
    args = [TensorMap(array, box=(4, 32)), np.zeros_like(array)]
    report = VARIANTS["get"].ran(text.replace("WAIT", wait), args, blocks="all")
    assert (report.outputs[1] == array).all()
    return doubts(report)


def product(fence: str = VISIBLE, early: str = "", late: str = "") -> list[str]:
    args = [TensorMap(np.ones((64, 16), np.float16), box=(64, 16)), np.zeros(512, np.float32)]
    text = with_product(fence, early, late)
    return doubts(VARIANTS["product"].ran(text, args, blocks="all"))


# ---- A generic write that the asynchronous proxy reads. ----------------------------------------
def test_a_store_that_tma_reads_without_a_fence_names_both_lines_and_the_block() -> None:
    (note,) = put()
    assert re.fullmatch(
        r"may not hold on the chip: 0x\w+ UTMASTG\.2D .*\(.*hopper\.cuh:\d+\) in block \(0, 0, 0\)"
        r" reads shared memory that 0x\w+ STS .*\(\S*source\.cu:5\) wrote, with no fence.*",
        note,
    )


@pytest.mark.parametrize(("before", "after"), [(VISIBLE, ""), ("", VISIBLE)])
def test_a_fence_of_the_writers_or_of_the_issuing_thread_is_enough(before: str, after: str) -> None:
    assert not put(before, after)


def test_a_write_behind_the_fence_is_seen() -> None:
    assert put(AGAIN)


def test_a_store_that_tma_reads_in_another_warp_without_a_barrier() -> None:
    args = [TensorMap(np.zeros((4, 32), np.float32), box=(4, 32)), np.ones(128, np.float32)]
    (note,) = doubts(VARIANTS["put"].ran(APART_STORE, args, blocks="all"))
    assert re.search(
        r"UTMASTG\.2D .*hopper\.cuh:\d+\) in block \(0, 0, 0\) reads shared memory that 0x\w+ STS"
        r" .*\(\S*source\.cu:5\) wrote in another warp, with no barrier between", note,
    )  # fmt: skip


def test_an_mbarrier_that_another_warp_makes_without_a_barrier() -> None:
    (note,) = get("", UNORDERED_WAIT)
    assert re.search(
        r"SYNCS\.PHASECHK.* in block \(0, 0, 0\) uses an mbarrier that 0x\w+ SYNCS\.EXCH.* makes in"
        r" another warp, with no barrier between", note,
    )  # fmt: skip


def test_an_operand_written_without_a_fence() -> None:
    assert not product()
    (note,) = product(fence="")
    assert re.search(r"HGMMA.* in block \(0, 0, 0\) reads shared memory that 0x\w+ STS\.U16", note)


# ---- What TMA brings, read too soon. -----------------------------------------------------------
def test_a_tile_read_before_its_barrier_was_waited_for() -> None:
    (note,) = get("")
    assert re.search(
        r"0x\w+ LDS .*\(\S*source\.cu:\d+\) in block \(0, 0, 0\) reads what 0x\w+ .*UTMALDG\.2D .*"
        r"brings, and neither its warp", note,
    )  # fmt: skip


@pytest.mark.parametrize("wait", PASSED)
def test_waiting_or_synchronising_with_one_that_waited_is_enough(wait: str) -> None:
    assert not get(wait)


def test_a_wait_of_other_warps_is_not_enough() -> None:
    assert get(SOME_WAIT)


def test_a_wait_for_another_barrier_is_not_enough() -> None:
    assert get(OTHER)


# ---- Operands and registers of products in flight. ---------------------------------------------
def test_an_operand_stored_to_before_the_group_was_waited_for() -> None:
    (note,) = product(early=REWRITE)
    assert re.search(
        r"STS\.U16 .*\(\S*source\.cu:\d+\) in block .* writes an operand of .*HGMMA", note
    )
    assert not product(late=REWRITE)


def test_two_waits_for_the_warps_of_one_warpgroup() -> None:
    (note,) = product(fence=APART)
    assert re.search(
        r"WARPGROUP\.DEPBAR.* \(\S+:\d+\) in block \(0, 0, 0\) is executed by some warps of a"
        r" warpgroup where the others execute 0x\w+ WARPGROUP\.DEPBAR", note,
    )  # fmt: skip


def test_an_operand_loaded_anew_before_the_group_was_waited_for() -> None:
    (note,) = product(early=RELOAD)
    assert re.search(r"UTMALDG\.2D .* in block .* writes an operand of .*HGMMA", note)
    assert not product(late=RELOAD_AND_WAIT)


def test_a_block_ends_before_what_it_loads_is_there() -> None:
    (note,) = product(late=RELOAD)
    assert re.search(
        r"UTMALDG\.2D .* in block .* may still be writing shared memory when its", note
    )
    assert "since no warp waited for it" in note


def test_accumulators_read_before_the_group_was_waited_for() -> None:
    """ptxas waits by itself, so its wait is taken out of the machine code."""
    text = HEADER + with_product(VISIBLE, "", "").replace("__global__", 'extern "C" __global__')
    cubin, _ = load(text, "sm_90a", "product", make_options([SOURCES], {}, []))
    image = cubin.image
    section = ELFFile(io.BytesIO(image)).get_section_by_name(".text.product")
    start, code = section["sh_offset"], section.data()
    tile = TensorMap(np.ones((64, 16), np.float16), box=(64, 16))
    launch: Any = {"grid": 1, "block": 128, "args": [tile, np.zeros(512, np.float32)]}
    assert not doubts(replay_compiled(image, **launch))

    from simulator.sass.code.nvdisasm import disassemble

    nop = next(
        code[each.address : each.address + 16]
        for each in disassemble(image, "product")
        if each.opcode == "NOP"
    )
    patched = bytearray(image)
    for each in disassemble(image, "product"):
        if each.opcode.startswith("WARPGROUP.DEPBAR"):
            patched[start + each.address : start + each.address + 16] = nop
    notes = doubts(replay_compiled(bytes(patched), **launch))
    assert notes
    assert all(
        re.search(r"in block \(0, 0, 0\) reads or writes registers of .*HGMMA", note)
        for note in notes
    )
    assert any("STG" in note for note in notes)
