"""Accesses that the compiler joins: a padding of one word parts them, once it is compiled."""

from __future__ import annotations

import numpy as np

from simulator import replay_compiled
from simulator.fixing.fix import fixes_table
from simulator.sass.report import CompiledReport
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

SOURCE = """
__global__ void k(const float4 *in, float *out) {
    __shared__ float s[32][SIZE], t[32][32];
    const int row = threadIdx.x / 8, col = threadIdx.x % 8 * 4;
    const float4 v = in[threadIdx.x];
    s[row][col] = v.x, s[row][col + 1] = v.y, s[row][col + 2] = v.z, s[row][col + 3] = v.w;
    t[threadIdx.x % 32][threadIdx.x / 32] = v.x;
    __syncthreads();
    for (int y = threadIdx.x / 32; y < 32; y += 8)
        out[y * 32 + threadIdx.x % 32] = s[threadIdx.x % 32][y];
    if (threadIdx.x < 32) out[threadIdx.x] += t[threadIdx.x][0];
}"""


def replayed(size: int = 32) -> CompiledReport:
    return replay_compiled(
        SOURCE, grid=1, block=256, define={"SIZE": size},
        args=[np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)],
    )  # fmt: skip


def test_a_padding_of_one_word_is_compiled_and_parts_the_accesses() -> None:
    report, by_hand = replayed(), replayed(33)
    fixes = {each.array: each for each in report.fixes()}
    fix = fixes["s"]
    assert (fix.text, fix.after.bank_conflicts) == ("s[32][SIZE + 1]", 0)
    assert fix.outputs_equal
    assert fix.notes == (
        "It was compiled: the accesses that the compiler joined (line 6) are others.",
    )
    assert min(each.after.bank_conflicts for each in fix.alternatives) > 0
    # What is said of it stands before what else could be written.
    told = fix.sentences
    first = next(place for place, each in enumerate(told) if each.startswith(("Or", "Nor")))
    assert told.index(fix.notes[0]) < first
    assert any("the changed source was not compiled." in each for each in told[first:]) is any(
        each.compiled is None and bool(each.predicted) and not fix.is_worth_it
        for each in fix.alternatives
    )
    alone = report.fixed([fix]).totals()["all"]
    assert alone == by_hand.totals()["all"]
    # With another array's fix, which is moved, in the code that was compiled anew.
    both = report.fixed(list(fixes.values()))
    assert both.totals()["all"]["bank_conflicts"] == 0
    was = report.totals()["all"]["bank_conflicts"]
    said = fixes_table(list(fixes.values())).text[-1]
    assert said.startswith(f"All {len(fixes)} together: {was:,} → 0 bank conflicts, ")
    assert [each.tobytes() for each in both.outputs] == [each.tobytes() for each in report.outputs]


GEMM = """
__global__ void k(const float *a, const float *b, float *c) {
    __shared__ float as[16][64];
    __shared__ float bs[16][64];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16, r = t / 4, q = t % 4 * 4;
    const float4 v = *(const float4 *)&a[r * 16 + q];
    as[q][r] = v.x, as[q + 1][r] = v.y, as[q + 2][r] = v.z, as[q + 3][r] = v.w;
    *(float4 *)&bs[t / 16][t % 16 * 4] = *(const float4 *)&b[t * 4];
    __syncthreads();
    float sums[4][4] = {};
    for (int i = 0; i < 16; i++) {
        float x[4], y[4];
        for (int j = 0; j < 4; j++) x[j] = as[i][ty * 4 + j];
        for (int j = 0; j < 4; j++) y[j] = bs[i][tx * 4 + j];
        for (int j = 0; j < 4; j++)
            for (int l = 0; l < 4; l++) sums[j][l] += x[j] * y[l];
    }
    for (int j = 0; j < 4; j++)
        for (int l = 0; l < 4; l++) c[(ty * 4 + j) * 64 + tx * 4 + l] = sums[j][l];
}"""


def test_a_swizzle_that_parts_what_the_compiler_joined_is_not_proposed() -> None:
    report = replay_compiled(
        GEMM, grid=1, block=256,
        args=[np.arange(1024, dtype=np.float32) % 7 for _ in range(2)]
        + [np.zeros(4096, np.float32)],
    )  # fmt: skip
    (fix,) = report.fixes()
    assert (fix.text, fix.kind, fix.proved) == ("as[16][68]", "pad", False)
    assert fix.compiled is not None
    made = fix.compiled
    assert report.bank_conflicts - made.bank_conflicts == fix.saved > 0
    assert report.wavefronts - made.wavefronts == fix.before.wavefronts - fix.after.wavefronts
    assert fix.times is not None
    assert fix.times[1].cycles == made.time().cycles
    said = " ".join(fix.sentences)
    assert "The changed source was compiled and ran, and left the same outputs." in said
    (note,) = fix.notes
    assert note.startswith("Not as[row][col ^ ((row & 12) << 1)] for each as[row][col]: once compi")
    assert note.endswith(" wavefronts (the compiler had joined accesses of line 13).")
    assert all(each.kind != "swizzle" for each in fix.alternatives)


def test_machine_code_has_a_time_that_says_what_it_is_of() -> None:
    source = replayed()
    assert source.rerun is not None
    report = replay_compiled(
        source.rerun.given["cubin"].image, grid=1, block=256,
        args=[np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)],
    )  # fmt: skip
    fix = next(each for each in report.fixes() if each.text)
    assert fix.compiled is None
    assert "the changed source was not compiled." in " ".join(fix.sentences)


def test_paddings_that_fit_one_by_one_but_not_together_are_told() -> None:
    source = """
__global__ void k(float *out) {
    __shared__ float a[66][64], b[124][64];
    const int x = threadIdx.x;
    for (int r = threadIdx.y; r < 64; r += 8)
        a[r][x] = out[r * 64 + x], b[r][x] = out[r * 64 + x] + 1;
    __syncthreads();
    for (int r = threadIdx.y; r < 64; r += 8) out[r * 64 + x] = a[x][r] + b[x][r];
}"""
    report = replay_compiled(source, grid=1, block=(32, 8), args=[np.zeros(4096, np.float32)])
    fixes = report.fixes()
    assert [each.text for each in fixes] == ["a[66][65]", "b[124][65]"]
    said = fixes_table(fixes).text
    assert len(said) == 3
    assert said[-1].startswith("Not all 2 at once: these fixes do not fit together: static shared")
