"""Kernels with a known remedy, and those that are refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.fixing import Fix
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

GEMM = """
#include <cuda_fp16.h>
#define A_AT(r, c) AS
#define B_AT(r, c) BS
__device__ __forceinline__ unsigned at(const void *p) {
    return (unsigned)__cvta_generic_to_shared(p);
}
extern "C" __global__ void gemm(const __half *A, const __half *B, float *C) {
    DECLARED
    const int n = 128, tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    const int row = warp / 2 * 32, col = warp % 2 * 32;
    float sums[2][4][4] = {};
    for (int from = 0; from < n; from += 64) {
        for (int i = tid; i < 64 * 8; i += 128) {
            const int r = i / 8, c = i % 8 * 8;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                ::"r"(at(&A_AT(r, c))), "l"(A + (blockIdx.y * 64 + r) * n + from + c));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                ::"r"(at(&B_AT(r, c))), "l"(B + (from + r) * n + blockIdx.x * 64 + c));
        }
        asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        for (int k = 0; k < 64; k += 16) {
            unsigned a[2][4], b[2][4];
            for (int i = 0; i < 2; i++)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                    : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
                    : "r"(at(&A_AT(row + 16 * i + lane % 16, k + lane / 16 * 8))));
            for (int j = 0; j < 2; j++)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                    : "=r"(b[j][0]), "=r"(b[j][1]), "=r"(b[j][2]), "=r"(b[j][3])
                    : "r"(at(&B_AT(k + lane % 16, col + 16 * j + lane / 16 * 8))));
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},"
                        " {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                        : "+f"(sums[i][j][0]), "+f"(sums[i][j][1]), "+f"(sums[i][j][2]),
                          "+f"(sums[i][j][3])
                        : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]),
                          "r"(b[j / 2][j % 2 * 2]), "r"(b[j / 2][j % 2 * 2 + 1]));
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int h = 0; h < 2; h++) {
                const int y = blockIdx.y * 64 + row + 16 * i + lane / 4 + 8 * h;
                const int x = blockIdx.x * 64 + col + 8 * j + lane % 4 * 2;
                C[y * n + x] = sums[i][j][2 * h], C[y * n + x + 1] = sums[i][j][2 * h + 1];
            }
}"""


def gemm(declared: str, a: str, b: str, shared_bytes: int = 0) -> list[Fix]:
    source = GEMM.replace("DECLARED", declared).replace(" AS\n", f" {a}\n")
    random = np.random.default_rng(0)
    x, y = (random.integers(-4, 4, (128, 128)).astype(np.float16) for _ in range(2))
    report = replay_compiled(
        source.replace(" BS\n", f" {b}\n"), grid=(2, 2), block=128, shared_bytes=shared_bytes,
        args=[x, y, np.zeros((128, 128), np.float32)],
    )  # fmt: skip
    assert (report.outputs[2] == x.astype(np.float32) @ y.astype(np.float32)).all()
    fixes = report.fixes()
    assert report.fixed(fixes).totals()["all"]["bank_conflicts"] == 0
    return fixes


def test_ldmatrix_and_cp_async_of_rows_of_64_halves_get_the_usual_swizzle() -> None:
    fixes = gemm("__shared__ __align__(128) __half a_s[64][64], b_s[64][64];", "a_s[r][c]",
                 "b_s[r][c]")  # fmt: skip
    assert [each.text for each in fixes] == [
        "a_s[row_][col_ ^ ((row_ & 7) << 3)]",
        "b_s[row_][col_ ^ ((row_ & 7) << 3)]",
    ]
    for each in fixes:
        assert each.notation == "Sw<3,3,3> o 0 o (64,64):(64,1)"
        assert each.proved
        assert (each.before.bank_conflicts, each.after.bank_conflicts) == (7168, 0)
        assert [other.text for other in each.alternatives] == [f"{each.array}[64][72]"]


def test_in_dynamic_memory_the_swizzle_is_said_of_the_flat_index() -> None:
    fixes = gemm(
        "extern __shared__ __align__(128) __half pool[]; __half *a_s = pool, *b_s = pool + 4096;",
        "a_s[(r) * 64 + (c)]", "b_s[(r) * 64 + (c)]", 16384,
    )  # fmt: skip
    assert [each.text for each in fixes] == ["pool[index ^ ((index >> 3) & 56)]"] * 2
    assert [each.notes for each in fixes] == [
        (f"Its index counts from byte {start} of the block's shared memory.",)
        for start in (0, 8192)
    ]


def square(body: str, kind: str = "float", **more: Any) -> list[Fix]:
    """The fixes of a block of 32x32 threads; `body` reads in[] and writes out[]."""
    source = (
        f"extern __shared__ float pool[];\n__global__ void k(const {kind} *in, {kind} *out) {{\n"
        f"const int x = threadIdx.x, y = threadIdx.y;\n{body}\n}}"
    )
    element = {"float": np.float32, "double": np.float64, "short": np.int16}[kind]
    report = replay_compiled(
        source, grid=1, block=(32, 32),
        args=[np.arange(1024).astype(element), np.zeros(1024, element)], **more,
    )  # fmt: skip
    return report.fixes()


@pytest.mark.parametrize(
    ("kind", "text"), [("float", "t[32][33]"), ("double", "t[32][33]"), ("short", "t[32][34]")]
)
def test_padding_keeps_a_column_in_all_banks(kind: str, text: str) -> None:
    (fix,) = square(
        f"__shared__ {kind} t[32][32];\nt[y][x] = in[y * 32 + x];\n__syncthreads();\n"
        "out[y * 32 + x] = t[x][y];",
        kind,
    )
    assert (fix.text, fix.after.bank_conflicts, fix.proved) == (text, 0, True)


def test_parts_of_dynamic_memory_are_told_apart() -> None:
    (fix,) = square(
        "float *a = pool, *b = pool + 1024;\na[y * 32 + x] = in[y * 32 + x];\n"
        "b[y * 32 + x] = 2 * in[y * 32 + x];\n__syncthreads();\n"
        "float sum = a[x * 32 + y];\nsum += b[y * 32 + x];\nout[y * 32 + x] = sum;",
        shared_bytes=8192,
    )
    assert (fix.array, fix.lines, fix.text) == ("a", (5, 8), "a[index + index / 32]")
    assert (fix.bytes_after, fix.operations) == (4224, 2)
    grown = "Give the launch 128 bytes more of dynamic shared memory"
    later = "and let what lies behind the array begin so much later"  # b
    assert f"{grown}, {later}." in fix.sentences


def test_conflicts_of_the_source_of_a_copy_are_apart() -> None:
    source = """
__global__ void k(const float *in, float *out) {
    __shared__ float t[128][STEP];
    const int i = threadIdx.x;
    const unsigned to = (unsigned)__cvta_generic_to_shared(&t[i][0]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + i * 32));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    out[i] = t[i ^ 1][0];
}"""
    args = [np.arange(4096, dtype=np.float32), np.zeros(128, np.float32)]
    report = replay_compiled(source, grid=1, block=128, args=args, define={"STEP": 32})
    (fix,) = report.fixes()
    assert (fix.before.bank_conflicts, fix.after.bank_conflicts, fix.unremovable) == (124, 0, 124)
    assert report.totals()["all"]["bank_conflicts"] == 248
    report = replay_compiled(source, grid=1, block=128, args=args, define={"STEP": 1})
    (fix,) = report.fixes()
    assert (fix.text, fix.proved, fix.after, fix.unremovable) == ("", True, fix.before, 124)
    assert report.fixed([fix]).totals()["all"]["bank_conflicts"] == 124


def test_what_depends_on_data_is_refused_by_name() -> None:
    (fix,) = square(
        "__shared__ float t[1024];\nt[y * 32 + x] = in[y * 32 + x];\n__syncthreads();\n"
        "out[y * 32 + x] = t[(int)in[x * 32 + y] & 1023];"
    )
    assert (fix.text, fix.proved, fix.after) == ("", False, fix.before)
    assert "its index depends on the data" in fix.why
    assert fix.before.bank_conflicts > 0


def test_33_words_that_all_meet_are_left_with_what_was_searched() -> None:
    # Row y reads all of 33 words but one: two of them share a bank in any layout.
    (fix,) = square(
        "__shared__ float t[33];\nif (y < 2) t[x + y] = in[x];\n__syncthreads();\n"
        "out[y * 32 + x] = t[x + (x >= y)];"
    )
    assert (fix.text, fix.after, fix.proved) == ("", fix.before, False)
    assert fix.why.startswith("These were tried, and have no fewer bank conflicts: ")
    assert "not a proof" in fix.why


def test_casts_of_raw_memory_are_counted_in_what_they_access() -> None:
    fixes = square(
        "float(*a)[32] = (float(*)[32])pool;\nfloat(*b)[32] = (float(*)[32])(pool + 1024);\n"
        "a[y][x] = in[y * 32 + x];\nb[y][x] = in[y * 32 + x] * 2;\n__syncthreads();\n"
        "float sum = a[x][y];\nsum += b[x][y];\nout[y * 32 + x] = sum;",
        shared_bytes=8192,
    )
    assert [each.text for each in fixes] == ["a[index + index / 32]", "b[index + index / 32]"]


def test_the_padding_of_a_flat_index_costs_operations_and_bytes() -> None:
    (fix,) = square(
        "__shared__ float t[1024];\nt[y * 32 + x] = in[y * 32 + x];\n__syncthreads();\n"
        "out[y * 32 + x] = t[x * 32 + y];"
    )
    padded = next(each for each in (fix, *fix.alternatives) if each.kind == "pad")
    assert (padded.text, padded.operations) == ("t[index + index / 32] in t[1056]", 2)
    assert "Declare t[1056], because the index reaches further." in " ".join(fix.sentences)
    swizzled = next(each for each in (fix, *fix.alternatives) if each.kind == "swizzle")
    assert (swizzled.operations, fix.kind) == (2, "swizzle")  # as dear, and takes no bytes


def test_an_array_that_is_used_for_two_things_is_said_to_be_one() -> None:
    (fix,) = square(
        "__shared__ float s[1024];\nfloat *a = s;\na[y * 32 + x] = in[y * 32 + x];\n"
        "__syncthreads();\nfloat v = a[x * 32 + y];\n__syncthreads();\nfloat *b = s;\n"
        "b[y * 32 + (x ^ 1)] = v;\n__syncthreads();\nout[y * 32 + x] = b[y * 32 + x];"
    )
    assert fix.after.bank_conflicts == 0
    assert fix.notes == (
        "Its lines call it a (lines 6, 8) and b (lines 11, 13): it is treated as one array,"
        " with one layout.",
    )


def test_a_loop_of_atomics_is_run_although_its_cost_is_not_known_beforehand() -> None:
    (fix,) = square(
        "__shared__ float c[32][32];\nc[y][x] = 0;\n__syncthreads();\n"
        "atomicAdd(&c[x][y], in[y * 32 + x]);\n__syncthreads();\nout[y * 32 + x] = c[y][x];"
    )
    assert (fix.text, fix.after.bank_conflicts, fix.proved) == ("c[32][33]", 0, True)


BULK = """
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void k(const float *in, float *out) {
    __shared__ alignas(128) float tile[32][32];
    __shared__ alignas(8) unsigned long long full;
    const int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at(&full)));
        asm volatile("fence.mbarrier_init.release.cluster;");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 4096;" ::"r"(at(&full)));
        for (int y = 0; y < 32; y++)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                " [%0], [%1], 128, [%2];" ::"r"(at(tile[y])), "l"(in + y * 32), "r"(at(&full)));
    }
    __syncthreads();
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], 0;"
        " @!p bra again; }" ::"r"(at(&full)) : "memory");
    for (int y = t / 32; y < 32; y += 4) out[y * 32 + t % 32] = tile[t % 32][y];
}"""


def test_bulk_copies_of_rows_leave_the_padding_of_whole_rows() -> None:
    given = np.arange(1024, dtype=np.float32)
    report = replay_compiled(BULK, grid=1, block=128, args=[given, np.zeros(1024, np.float32)])
    assert report.outputs[1].tolist() == given.reshape(32, 32).T.ravel().tolist()
    (fix,) = report.fixes()
    # Rows stay together, at multiples of 16 bytes: so a column meets each bank four times.
    assert (fix.text, fix.kind) == ("tile[32][36]", "pad")
    assert (fix.before.bank_conflicts, fix.after.bank_conflicts) == (992, 96)
