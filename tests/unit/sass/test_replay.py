"""`replay_compiled`: results, counts, and every way it refuses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from simulator import SiteTable, replay_compiled
from simulator.errors import (
    CompileError,
    CubinError,
    DeadlockError,
    ExecutionError,
    LaunchError,
    LimitError,
    MemoryAccessError,
    SassError,
)
from simulator.sass.architectures import Arch, architecture
from simulator.sass.report import CompiledReport
from tests.sass_kernels import TURN, cubin, needs_compiler, needs_tools

pytestmark = needs_tools


def run(body: str, *args: object, parameters: str = "int *a", **options: object):  # type: ignore[no-untyped-def]
    source = f'extern "C" __global__ void k({parameters}) {{ {body} }}'
    given = {"grid": 1, "block": 32, "args": args or [np.zeros(64, np.int32)], **options}
    return replay_compiled(source, **given)


@pytest.mark.parametrize("arch", get_args(Arch))
def test_every_architecture_that_is_typed_is_known(arch: Arch) -> None:
    assert architecture(arch).name == arch.removesuffix("a")


@needs_compiler
@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90"])
def test_source_with_host_code_runs_on_every_architecture(arch: str) -> None:
    a = np.arange(1024, dtype=np.float32).reshape(32, 32)
    report = replay_compiled(
        TURN, kernel="turn", grid=1, block=(32, 32), args=[a, np.zeros_like(a), np.int32(32)],
        shared_bytes=4096, arch=arch,
    )  # fmt: skip
    assert isinstance(report, CompiledReport)
    assert isinstance(report, SiteTable)
    assert (report.outputs[1] == a.T).all()
    assert (report.outputs[0] == a).all()
    assert report.outputs[2] == 32
    rows = report.instructions
    assert list(rows) == [
        "address", "opcode", "space", "unit", "file", "line", "called_from", "executed",
        "wavefronts", "ideal", "excessive", "bank_conflicts", "sectors", "ideal_sectors", "bytes",
        "rows", "tensor_cycles", "packets", "neighbour_cycles",
    ]  # fmt: skip
    assert rows["opcode"] == ["LDG.E", "STS", "LDS", "STG.E"]
    assert rows["space"] == ["global", "shared", "shared", "global"]
    assert rows["unit"] == ["lsu"] * 4
    assert rows["line"] == [5, 5, 7, 7]
    assert rows["executed"] == [32] * 4
    assert rows["wavefronts"] == [0, 1024, 32, 0]
    assert rows["bank_conflicts"] == [0, 992, 0, 0]
    assert rows["sectors"] == rows["ideal_sectors"] == [128, 0, 0, 128]
    assert report.lines()["bank_conflicts"] == [992, 0]
    assert report.lines()["sectors"] == [128, 128]
    assert report.totals()["all"]["wavefronts"] == 1056
    assert report.totals()["global"] == {
        "requests": 64, "sectors": 256, "ideal_sectors": 256, "lines": 64,
    }  # fmt: skip
    assert report.metrics()["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"] == 992
    assert report.to_dict()["sites"]["op"] == ["LDG.E", "STS", "LDS", "STG.E"]
    assert a[0, 1] == 1  # arguments are copied


def test_files_and_bytes_are_told_by_content(tmp_path: Path) -> None:
    options = {
        "kernel": "transpose_naive", "grid": (4, 4), "block": (32, 8),
        "args": [np.ones((128, 128), np.float32), np.zeros((128, 128), np.float32), np.int32(128)],
    }  # fmt: skip
    image = cubin("transpose")
    path = tmp_path / "anything.txt"
    path.write_bytes(image)
    totals = [replay_compiled(given, **options).totals() for given in (image, path, str(path))]
    assert totals[0]["load"]["bank_conflicts"] == 15872
    assert totals[0] == totals[1] == totals[2]


def test_a_sample_that_agrees_stands_for_the_grid() -> None:
    a = np.ones((128, 128), np.float32)
    options = {
        "kernel": "transpose_naive", "grid": (4, 4), "block": (32, 8),
        "args": [a, np.zeros_like(a), np.int32(128)],
    }  # fmt: skip
    sample = replay_compiled(cubin("transpose"), **options)
    every = replay_compiled(cubin("transpose"), blocks="all", **options)
    assert sample.extrapolated
    assert not every.extrapolated
    assert (sample.blocks, every.blocks) == (9, 16)
    assert sample.instructions == every.instructions
    assert "9 of 16 blocks were run; their counts are equal" in sample.notes[0]


def test_a_sample_that_does_not_agree_says_so() -> None:
    n = 600  # the last of three blocks of 256 has 88 threads to do
    args = [np.arange(n, dtype=np.int32), np.zeros(n, np.int32), np.int32(n)]
    report = replay_compiled(cubin("divergent"), grid=5, block=256, args=args)
    assert not report.extrapolated
    assert report.blocks == 3
    assert "did not agree" in report.notes[0]


def test_the_documented_rule_is_another_count() -> None:
    a = np.ones((128, 128), np.float32)
    options = {
        "grid": (1, 1), "block": (64, 1),
        "args": [a, a, a, np.int32(64), np.int32(64), np.int32(64)],
    }  # fmt: skip
    silicon = replay_compiled(cubin("vectorized_64"), **options)
    documented = replay_compiled(cubin("vectorized_64"), rule="documented", **options)
    assert documented.totals()["load"]["wavefronts"] > silicon.totals()["load"]["wavefronts"]


@needs_compiler
def test_executions_without_active_lanes_cost_nothing() -> None:
    report = run("__shared__ int s[32]; s[threadIdx.x] = a[threadIdx.x]; __syncwarp();"
                 "if (threadIdx.x > 40) s[threadIdx.x ^ 1] = 3; __syncwarp();"
                 "a[threadIdx.x] = s[31 - threadIdx.x];")  # fmt: skip
    rows = report.instructions
    idle = [i for i, cost in enumerate(rows["wavefronts"]) if cost == 0]
    assert any(rows["space"][i] == "shared" for i in idle)
    assert all(rows["ideal"][i] == rows["bank_conflicts"][i] == 0 for i in idle)
    assert sum(rows["wavefronts"]) == 2


@needs_compiler
@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        ("__shared__ int s[32]; s[threadIdx.x + a[0] + 1] = 1; __syncwarp(); a[0] = s[3];",
         MemoryAccessError, ["0x480 out of bounds", "STS", "shared memory", "thread (31, 0, 0)"]),
        ("a[threadIdx.x + 33] = 1;", MemoryAccessError,
         ["out of bounds", "STG", "arrays in global"]),
        ("*(int *)((char *)a + 2 * threadIdx.x) = 1;", MemoryAccessError, ["misaligned", "STG"]),
        ("__shared__ char s[99]; *(int *)(s + threadIdx.x + a[1]) = 1; a[0] = s[5];",
         MemoryAccessError, ["misaligned", "STS"]),
        ("((int *)8)[0] = 1;", MemoryAccessError, ["0x8 out of bounds"]),
        ("if (threadIdx.x < 7) __syncthreads(); else while (((volatile int *)a)[0] == 0) {}",
         LimitError, ["max_instructions"]),
        ("while (((volatile int *)a)[threadIdx.x] == 0) {}", LimitError,
         ["100000 warp instructions"]),
        ('asm volatile("bar.sync 1, 96;"); a[0] = 1;', DeadlockError, ["can continue", "BAR"]),
        ("__trap();", ExecutionError, ["trapped"]),
    ],
)  # fmt: skip
def test_what_cannot_go_on_is_refused(body: str, error: type, words: list[str]) -> None:
    with pytest.raises(error) as caught:
        run(body, max_instructions=100_000)
    for word in words:
        assert word in str(caught.value)
    assert isinstance(caught.value.partial, CompiledReport)  # type: ignore[attr-defined]


@needs_compiler
def test_a_wide_load_may_end_behind_shared_memory() -> None:
    """A chip gives a block a multiple of 128 bytes; nvcc loads four words where one is used."""
    last = "__shared__ int s[33]; s[threadIdx.x] = a[threadIdx.x]; s[32] = 7;"
    load = (
        'asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(w), "=r"(x),'
        ' "=r"(y) : "r"((unsigned)__cvta_generic_to_shared(s + 32)));'
    )
    store = "a[threadIdx.x] = v; a[threadIdx.x + 32] = w + x + y;"
    report = run(f"{last} int v, w, x, y; __syncwarp(); {load} {store}")
    assert set(report.outputs[0][:32]) == {7}
    with pytest.raises(MemoryAccessError, match=r"0x484 out of bounds.*0x400 to 0x483"):
        run(f"{last} __syncwarp(); a[0] = s[33 + a[1] * 0 + threadIdx.x % 2];")


@needs_compiler
def test_an_error_names_the_source_line() -> None:
    source = "__global__ void k(int *a) {\n  a[threadIdx.x] = 1;\n  a[1000 + threadIdx.x] = 2;\n}"
    with pytest.raises(MemoryAccessError, match=r"source\.cu:3\)"):
        replay_compiled(source, grid=1, block=32, args=[np.zeros(32, np.int32)])


@needs_compiler
def test_compile_errors_show_the_line_and_a_caret() -> None:
    with pytest.raises(CompileError) as caught:
        run("a[0] = nothing;")
    assert 'identifier "nothing" is undefined' in str(caught.value)
    assert "^" in str(caught.value)
    with pytest.raises(CompileError, match=r"source\.cu\(2\)"):
        replay_compiled(
            "__global__ void k(int *a) {}\n__device__ int f() { return q; }",
            grid=1,
            block=1,
            args=[],
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"block": (2048, 1)}, "block 2048x1x1 has 2048 threads (accepted: up to 1024)"),
        ({"block": 0}, "block 0 (accepted: one to three integers, each from 1 to 2147483647"),
        ({"grid": (1, 70000)}, "grid 1x70000x1 (accepted: up to 2147483647x65535x65535)"),
        ({"grid": (1, 1, 1, 1)}, "one to three"),
        ({"grid": "8"}, "one to three"),
        ({"shared_bytes": 10**10}, "shared_bytes=10000000000"),
        ({"shared_bytes": -1}, "shared_bytes=-1"),
        ({"max_instructions": 0}, "max_instructions"),
        ({"args": []}, "0 arguments for the 3 parameters of transpose_naive"),
        ({"args": [np.zeros(9), np.zeros(9), 5]}, "accepted: NumPy arrays"),
        ({"args": [np.zeros(9), np.zeros(9), np.int64(5)]},
         "has 8 bytes and the parameter 4; arguments are counted from 0"),
        ({"args": [np.zeros(9), np.zeros(9), np.zeros(9)]}, "an array for a parameter of 4 bytes"),
        ({"args": [np.zeros(9), np.zeros(9), None]}, "a null pointer for a parameter of 4 bytes"),
        ({"args": [np.array([object()]), np.zeros(9), np.int32(1)]}, "holds object"),
        ({"args": [np.broadcast_to(np.float32(0), (10**5, 10**5)), np.zeros(9), np.int32(1)]},
         "take 40000000072 bytes"),
        ({"arch": "sm_20"}, "unknown architecture"),
    ],
)  # fmt: skip
def test_what_cannot_be_launched_is_refused(change: dict[str, object], words: str) -> None:
    options = {
        "kernel": "transpose_naive", "grid": (1, 1), "block": (32, 8),
        "args": [np.zeros(1024, np.float32), np.zeros(1024, np.float32), np.int32(32)], **change,
    }  # fmt: skip
    with pytest.raises(LaunchError) as caught:
        replay_compiled(cubin("transpose"), **options)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b"", "first bytes: none"),
        (b"no device code", "no cubin"),
        (b"\x7fELF" + bytes(60), ""),
        ("nowhere.cu", "no file 'nowhere.cu'"),
        (Path("nowhere.cu"), "cannot be read"),
        (cubin("scan")[:3000], ""),
    ],
)
def test_what_is_no_device_code_is_refused(given: bytes | str | Path, words: str) -> None:
    with pytest.raises(CubinError) as caught:
        replay_compiled(given, grid=1, block=1, args=[])
    assert words in str(caught.value)


def test_kernels_are_found_by_name_or_the_nearest_are_told() -> None:
    options = {"grid": 1, "block": 32, "args": []}
    with pytest.raises(CubinError, match="which kernel"):
        replay_compiled(cubin("scan"), **options)
    with pytest.raises(CubinError, match="did you mean scan_shared"):
        replay_compiled(cubin("scan"), kernel="scan_share", **options)
    with pytest.raises(SassError, match="0 arguments"):
        replay_compiled(cubin("scan"), kernel="scan_shared", **options)


@needs_compiler
def test_numbers_survive_the_trip_through_every_width() -> None:
    body = """
        int i = threadIdx.x;
        d[i] = sqrt(d[i]) / (d[i] + 3.0) + sin(d[i]) / 3.7;
        long long y = q[i];
        q[i] = y * y / (y % 7 + 8) - (y >> 3);
        f[i] = expf(f[i]) / (1.0f + f[i] * f[i]) + (float)(i % 5);
    """
    rng = np.random.default_rng(3)
    d, f = rng.random(32) * 10, rng.random(32).astype(np.float32)
    q = rng.integers(-(10**12), 10**12, 32)
    found = run(body, d, q, f, parameters="double *d, long long *q, float *f").outputs
    np.testing.assert_allclose(found[0], np.sqrt(d) / (d + 3) + np.sin(d) / 3.7, rtol=1e-14)
    wanted = []
    for y in map(int, q):
        square = (y * y + 2**63) % 2**64 - 2**63
        rest = y - math.trunc(y / 7) * 7
        quotient = abs(square) // (rest + 8)
        wanted.append((quotient if square >= 0 else -quotient) - (y >> 3))
    assert found[1].tolist() == wanted
    i = np.arange(32)
    np.testing.assert_allclose(found[2], np.exp(f) / (1 + f * f) + i % 5, rtol=1e-6)


@needs_compiler
def test_functions_tables_and_global_variables() -> None:
    source = """
        __constant__ int table[8] = {1, 2, 4, 8, 16, 32, 64, 128};
        __device__ int start[2] = {100, 200};
        __device__ __noinline__ int sum(const int *p, int n) {
            return n == 0 ? table[n & 7] : p[n] * table[n & 7] + sum(p, n - 1);
        }
        __global__ void k(int *a) {
            __shared__ int s[32];
            s[threadIdx.x] = threadIdx.x;
            __syncthreads();
            int n = threadIdx.x % 4;
            a[threadIdx.x] = sum(threadIdx.x & 8 ? s : a + 32, n) + start[n & 1];
        }"""
    a = np.arange(64, dtype=np.int32)
    found = replay_compiled(source, grid=1, block=32, args=[a]).outputs[0]
    for i in range(32):
        p = list(range(32)) if i & 8 else a[32:].tolist()
        wanted = 1 + sum(p[j] << j for j in range(1, i % 4 + 1)) + (200 if i % 4 & 1 else 100)
        assert found[i] == wanted


@needs_compiler
def test_what_is_never_executed_may_be_unknown() -> None:
    report = run('if (a[0] > 5) printf("no"); a[threadIdx.x] = 2;')
    assert report.outputs[0][:32].tolist() == [2] * 32


@needs_compiler
@pytest.mark.parametrize("arch", [pytest.param("sm_80", marks=pytest.mark.slow), "sm_90"])
def test_the_librarys_sort_and_scan(arch: str) -> None:
    source = """
        #include <cub/block/block_radix_sort.cuh>
        #include <cooperative_groups.h>
        #include <cooperative_groups/scan.h>
        extern "C" __global__ void k(const unsigned *a, unsigned *b, int *c) {
            using Sort = cub::BlockRadixSort<unsigned, 128, 4>;
            __shared__ typename Sort::TempStorage space;
            unsigned keys[4];
            for (int i = 0; i < 4; ++i) keys[i] = a[threadIdx.x * 4 + i];
            Sort(space).Sort(keys);
            for (int i = 0; i < 4; ++i) b[threadIdx.x * 4 + i] = keys[i];
            namespace cg = cooperative_groups;
            auto warp = cg::tiled_partition<32>(cg::this_thread_block());
            c[threadIdx.x] = cg::inclusive_scan(warp, (int)threadIdx.x);
        }"""
    keys = np.random.default_rng(5).integers(0, 2**32, 512, dtype=np.uint32)
    report = replay_compiled(
        source, grid=1, block=128, args=[keys, np.zeros(512, np.uint32), np.zeros(128, np.int32)],
        arch=arch,
    )  # fmt: skip
    assert (report.outputs[1] == np.sort(keys)).all()
    wanted = np.arange(128).reshape(4, 32).cumsum(axis=1)
    assert (report.outputs[2].reshape(4, 32) == wanted).all()


@needs_compiler
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_lanes_of_a_branch_add_together(arch: str) -> None:
    """The compiler gathers the adds of a branch: VOTEU counts the lanes that are in it alone."""
    source = """__global__ void tally(const int *a, int *out) {
    if (a[threadIdx.x] % 3 == 0) { atomicAdd(out, 1); out[4] = 1; }
    else if (a[threadIdx.x] % 3 == 1) { atomicAdd(out + 1, 5); out[5] = 1; }
    else { atomicAdd(out + 2, -1); out[6] = 1; }
}"""
    a = np.random.default_rng(1).integers(0, 99, 48, dtype=np.int32)
    out = np.zeros(8, dtype=np.int32)
    report = replay_compiled(source, grid=1, block=48, args=[a, out], arch=arch)
    counts = [int((a % 3 == rest).sum()) for rest in range(3)]
    assert report.outputs[1].tolist() == [counts[0], 5 * counts[1], -counts[2], 0, 1, 1, 1, 0]


@needs_tools
def test_a_report_says_what_a_block_takes_of_an_sm() -> None:
    report = replay_compiled(
        cubin("transpose"), kernel="transpose_padded", grid=(4, 4), block=(32, 8),
        args=[np.zeros((128, 128), np.float32), np.zeros((128, 128), np.float32), np.int32(128)],
    )  # fmt: skip
    assert (report.registers, report.shared_bytes) == (28, 32 * 33 * 4)
    found = report.occupancy()
    assert found is not None
    assert (found.blocks, found.warps, found.limited_by) == (8, 64, ("warps", "registers"))
    said = (
        "28 registers per thread, 4,224 bytes of shared memory per block:"
        " an SM of H200 holds 8 blocks, 64 warps (100%)"
    )
    assert any(line.startswith(said) for line in report.table().text)


GROUPS = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"


@needs_compiler
@pytest.mark.parametrize(
    ("source", "way_out"),
    [
        (GROUPS + "__global__ void k(float *o) { cg::this_grid().sync(); o[0] = 1; }",
         "needs a cooperative launch"),
        ("__global__ void k(float *o) { extern __shared__ float s[]; s[threadIdx.x] = 1;"
         " __syncthreads(); o[0] = s[31]; }", "the block has no shared memory; give dynamic"),
        ("__global__ void k(float *o) { __shared__ float a[4]; extern __shared__ float s[];"
         " a[threadIdx.x % 4] = 1; s[threadIdx.x] = 1; __syncthreads(); o[0] = s[31] + a[3]; }",
         "that is byte 16 of a, which has 16 bytes; accepted: 0x400 to 0x40f, shared memory; an"
         " index leaves its array of static shared memory, or the kernel has an extern __shared__"
         " array: then give dynamic shared memory with --shared-bytes N"),
    ],
)  # fmt: skip
def test_what_a_launch_lacks_is_refused_with_the_way_out(source: str, way_out: str) -> None:
    with pytest.raises(ExecutionError, match=way_out):
        replay_compiled(source, grid=2, block=32, args=[np.zeros(32, np.float32)])
