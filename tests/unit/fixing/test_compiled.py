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
    alone = report.fixed([fix]).totals()["all"]
    assert alone == by_hand.totals()["all"]
    # With another array's fix, which is moved, in the code that was compiled anew.
    both = report.fixed(list(fixes.values()))
    assert both.totals()["all"]["bank_conflicts"] == 0
    was = report.totals()["all"]["bank_conflicts"]
    said = fixes_table(list(fixes.values())).text[-1]
    assert said.startswith(f"All {len(fixes)} together: {was:,} → 0 bank conflicts, ")
    assert [each.tobytes() for each in both.outputs] == [each.tobytes() for each in report.outputs]


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
