"""`replay_compiled`: copies with real sources, and loops of atomics with the chip's winners."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import count, replay_compiled
from simulator.law.loops import LOOPS, play
from tests.sass_kernels import needs_compiler, needs_tools

pytestmark = needs_tools


@needs_compiler
@pytest.mark.parametrize(("kind", "add"), [("float", "add.f32"), ("unsigned long long", "add.u64")])
@pytest.mark.parametrize("shift", [0, 1, 3])
def test_loops_of_atomics_run_with_the_chips_winners(kind: str, add: str, shift: int) -> None:
    source = f"""__global__ void k(const int *at, {kind} *a) {{
        __shared__ {kind} s[1024];
        for (int i = threadIdx.x; i < 1024; i += 32) s[i] = 0;
        __syncthreads();
        atomicAdd(&s[at[threadIdx.x]], a[threadIdx.x]);
        __syncthreads();
        for (int i = threadIdx.x; i < 1024; i += 32) a[i] = s[i]; }}"""
    rng = np.random.default_rng(shift)
    width = 4 if kind == "float" else 8
    # Words of few banks, some of them wanted by several lanes.
    at = (rng.integers(0, 8, 32) * (128 // width >> shift) + rng.integers(0, 3, 32)).astype("i4")
    a = np.arange(1, 1025).astype("f4" if kind == "float" else "u8")
    report = replay_compiled(source, grid=1, block=32, args=[at, a])
    expected = np.zeros_like(a)
    np.add.at(expected, at, a[:32])
    assert report.outputs[1].tolist() == expected.tolist()
    rows = dict(zip(report.instructions["opcode"], range(99), strict=False))
    (spin,) = (row for op, row in rows.items() if "CAST" in op)
    law = count(add, width * at)
    assert report.instructions["wavefronts"][spin] == law.wavefronts
    assert report.instructions["bank_conflicts"][spin] == 0
    assert report.instructions["executed"][spin] == len(play(LOOPS[add], width * at, 0xFFFFFFFF))
    (note,) = report.notes
    assert "computes its address from data" in note


@needs_compiler
@pytest.mark.parametrize("width", [4, 8, 16])
def test_copies_of_fewer_bytes_fill_the_rest_with_zeros(width: int) -> None:
    """Compilers say how many in the low bits of the source's address (LDGSTS.ZFILL)."""
    way = "cg" if width == 16 else "ca"
    source = f"""extern "C" __global__ void k(const int *size, const int4 *a, int4 *b) {{
        __shared__ int4 s[32];
        unsigned to = __cvta_generic_to_shared(s + threadIdx.x);
        s[threadIdx.x] = make_int4(-1, -1, -1, -1);
        asm volatile("cp.async.{way}.shared.global [%0], [%1], {width}, %2;"
                     :: "r"(to), "l"(a + threadIdx.x), "r"(size[threadIdx.x]) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
        b[threadIdx.x] = s[threadIdx.x]; }}"""
    size = np.arange(32, dtype="i4") % (width + 1)
    a = np.random.default_rng(width).integers(1, 256, (32, 16)).astype("u1")
    args = [size, a.view("i4"), np.zeros((32, 4), "i4")]
    report = replay_compiled(source, grid=1, block=32, args=args)
    wanted = np.full((32, 16), 255, "u1")
    wanted[:, :width] = np.where(np.arange(width) < size[:, None], a[:, :width], 0)
    assert np.array_equal(report.outputs[2].view("u1"), wanted)


@needs_compiler
def test_copies_that_write_zeros_are_counted_and_noted() -> None:
    source = """extern "C" __global__ void k(const int *size, const int *a, int *b) {
        __shared__ int s[32];
        unsigned to = __cvta_generic_to_shared(s + threadIdx.x);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                     :: "r"(to), "l"(a + 32 * threadIdx.x), "r"(size[threadIdx.x]) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
        b[threadIdx.x] = s[threadIdx.x]; }"""
    size = np.where(np.arange(32) < 5, 4, 0).astype("i4")
    a = np.arange(1, 1025, dtype="i4")
    report = replay_compiled(source, grid=1, block=32, args=[size, a, np.zeros(32, "i4")])
    assert report.outputs[2].tolist() == [*range(1, 160, 32), *[0] * 27]
    (copied,) = (i for i, op in enumerate(report.instructions["opcode"]) if "LDGSTS" in op)
    assert report.instructions["wavefronts"][copied] == 5  # that read one bank; zeros read none
    (note,) = report.notes
    assert "lanes wrote zeros in 1 execution" in note


@needs_compiler
def test_a_timeline_has_the_lookups_of_copies() -> None:
    source = """extern "C" __global__ void k(const int *a, int *b) {
        __shared__ int s[32];
        unsigned to = __cvta_generic_to_shared(s + threadIdx.x);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                     :: "r"(to), "l"(a + 33 * threadIdx.x) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
        b[threadIdx.x] = s[threadIdx.x]; }"""
    args = [np.arange(2048, dtype="i4"), np.zeros(32, "i4")]
    report = replay_compiled(source, grid=1, block=32, args=args)
    (copied,) = (i for i, op in enumerate(report.instructions["opcode"]) if "LDGSTS" in op)
    assert report.instructions["wavefronts"][copied] == 1
    steps = report.timelines()[0, 0, 0].steps
    accesses = [access for step in steps for access in step.accesses if access.space == "shared"]
    # 32 lines in four tag banks, and a piece; the load behind it takes a cycle.
    assert sorted(access.cycles or 0 for access in accesses)[0] == 1
    assert sorted(access.cycles or 0 for access in accesses)[-1] >= 9


@needs_compiler
@pytest.mark.parametrize("width", [4, 8, 16])
def test_copies_are_counted_with_their_sources(width: int) -> None:
    source = """extern "C" __global__ void k(const int *from, const int *to,
                                     const unsigned char *a, int *b) {
        __shared__ __align__(16) char s[8192];
        unsigned start = __cvta_generic_to_shared(s);
        for (int turn = 0; turn < 3; ++turn) {
            int i = 32 * turn + threadIdx.x;
            asm volatile("cp.async.ca.shared.global [%0], [%1], WIDTH;"
                         :: "r"(start + to[i]), "l"(a + from[i]) : "memory");
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        for (int i = threadIdx.x; i < 2048; i += 32) b[i] = ((int *)s)[i]; }"""
    source = source.replace("WIDTH", str(width))
    rng = np.random.default_rng(width)
    from_ = (rng.integers(0, 512, 96) * width).astype("i4")
    to = (rng.permutation(8192 // width)[:96] * width).astype("i4")
    a = rng.integers(0, 256, 512 * width).astype("u1")
    b = np.zeros(2048, dtype="i4")
    report = replay_compiled(source, grid=1, block=32, args=[from_, to, a, b])
    placed = np.zeros(8192, dtype="u1")
    for one, other in zip(from_, to, strict=True):
        placed[other : other + width] = a[one : one + width]
    assert report.outputs[3].tolist() == placed.view("i4").tolist()
    op = {4: "LDGSTS.E", 8: "LDGSTS.E.64", 16: "LDGSTS.E.128"}[width]
    law = count(op, to.reshape(3, 32), sources=from_.reshape(3, 32)).totals()
    found = report.instructions
    rows = [row for row, name in enumerate(found["opcode"]) if name.startswith("LDGSTS")]
    for name in ("wavefronts", "bank_conflicts", "ideal"):
        assert sum(found[name][row] for row in rows) == law[name]
    assert None not in found["wavefronts"]
    assert not report.notes
