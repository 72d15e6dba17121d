"""Leading dimensions that WMMA is passed as constants: they grow with the rows of an array."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from layouts.tile import Tile
from simulator import replay_compiled
from simulator.fixing.arrays import SharedArray
from simulator.fixing.declared import Declared, declarations
from simulator.fixing.edits import Edit, applied
from simulator.fixing.layouts import Candidate
from simulator.fixing.leading import calls_text, leading_dimensions
from simulator.fixing.patch import patch_of
from simulator.sass.report import CompiledReport
from tests.sass_kernels import needs_compiler

HEAD = """#define BK 64
constexpr int LD = 64, OTHER = 32 * 2, SMALL = 16;
__global__ void k(const half *in, float *out, int ld) {
    __shared__ half s[2][16][LD], u[16][64];
"""


def declared_in(text: str) -> Declared:
    (found,) = (
        each for each in declarations({"k.cu": tuple(text.split("\n"))}) if each.name == "s"
    )
    return found


def passed(use: str, pad: int = 8) -> tuple[str, str]:
    """Return the changed use, and what is said of it."""
    text = f"{HEAD}{use}\n}}\n__device__ void f() {{ load_matrix_sync(a, s[0][0], LD); }}\n"
    array = SharedArray(
        "s", (0,), 4096, declared_in(text), True, np.zeros(0, np.int64), (), ()
    )  # fmt: skip
    candidate = Candidate("pad", Tile(32, 64, pad), 2, np.arange(4096), 128)
    found = leading_dimensions(array, candidate, text)
    changed = applied(text, {Edit(each.start, each.end, each.text) for each in found})
    head, end = changed.removeprefix(HEAD), text.removeprefix(HEAD + use)
    assert head.endswith(end)
    return head.removesuffix(end), calls_text(found)


GROWN = {
    "wmma::load_matrix_sync(a, &s[i][j][0], LD);": "LD + 8",
    "load_matrix_sync(a, s[i][f(j, 1)] + k, BK);": "BK + 8",
    "load_matrix_sync(a, & s [0][0][0] + k * (1), OTHER );": "OTHER + 8",
    "load_matrix_sync(a, &s[i][j][0], 64);": "72",
    "load_matrix_sync(a, &s[i][j][0],\n    /* row */ LD // its length\n);": "LD + 8",
    "load_matrix_sync(a, &s[i][j][0], 4 * SMALL, layout);": "4 * SMALL + 8",
    "nvcuda::wmma::store_matrix_sync(&s[0][0][k], c, LD, wmma::mem_row_major);": "LD + 8",
}


@pytest.mark.parametrize("use", GROWN)
def test_the_length_of_the_rows_grows_in_a_call(use: str) -> None:
    grown = GROWN[use]
    before = str(int(grown) - 8) if grown.isdigit() else grown.removesuffix(" + 8")
    function = "store" if "store" in use else "load"
    line = 5 + use.count("\n", 0, use.index(before))
    assert passed(use) == (
        use.replace(before, grown), f"pass {grown} to {function}_matrix_sync in line {line}"
    )  # fmt: skip


LEFT = [
    "load_matrix_sync(a, &u[i][0], LD);",
    "load_matrix_sync(a, p->s[i][0], LD);",
    "load_matrix_sync(a, in + s[0][0][0], LD);",
    "load_matrix_sync(a, &s[i][j][0], ld);",
    "load_matrix_sync(a, &s[i][j][0], SMALL);",
    "load_matrix_sync(a, &s[i][j][0], sizeof(s[0][0]) / sizeof(s[0][0][0]));",
    "load_matrix_sync(a, &s[i][0], LD);",
    "load_matrix_sync(a, (const half *)s[i] + k, LD);",
    "load_matrix_sync(a, &s[i][j][0]);",
    "load_matrix_sync(a, &s[i][j][0]",
    "store_matrix_sync(out, s[0][0], LD, wmma::mem_row_major);",
    "load(a, &s[i][j][0], LD);",
    "// load_matrix_sync(a, &s[i][j][0], LD);",
]


@pytest.mark.parametrize("use", LEFT)
def test_what_is_not_known_to_be_the_length_of_the_rows_stays(use: str) -> None:
    assert passed(use) == (use, "")


def test_a_leading_dimension_stays_a_multiple_of_16_bytes() -> None:
    use = "load_matrix_sync(a, &s[i][j][0], LD);"
    assert passed(use, 2) == (use, "")


def test_calls_of_one_leading_dimension_are_said_together() -> None:
    load, store = "load_matrix_sync(a, s[0][0], LD);", "store_matrix_sync(s[0][0], c, 64, row);"
    assert passed(f"{load} {load}\n{load}\n{store}")[1] == (
        "pass LD + 8 to load_matrix_sync in lines 5, 6 and 72 to store_matrix_sync in line 7"
    )


KERNEL = """#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
constexpr int LD = 64, OTHER = 64;
__global__ void k(const half *in, float *out, int ld) {
    __shared__ __align__(32) half s[16][LD];
    for (int i = threadIdx.x; i < 1024; i += 32) s[i / 64][i % 64] = in[i];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.f);
    for (int kk = 0; kk < 64; kk += 16) {
        wmma::load_matrix_sync(a, &s[0][kk], LD);
        wmma::load_matrix_sync(b, s[0] + kk, LD);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
}
"""


def replayed(source: str | Path) -> CompiledReport:
    rows = (np.arange(1024) % 37 - 18).astype(np.float16)
    args = [rows, np.zeros(256, np.float32), np.int32(64)]
    return replay_compiled(source, grid=1, block=32, args=args)


@needs_compiler
def test_rows_of_wmma_are_padded_with_their_leading_dimension(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(KERNEL)
    report = replayed(path)
    (fix,) = report.fixes()
    assert report.bank_conflicts > 0
    assert (fix.text, fix.after.bank_conflicts) == ("s[16][LD + 8]", 0)
    assert fix.calls == "pass LD + 8 to load_matrix_sync in lines 14, 15"
    assert fix.sentences[0].startswith(f"s: write s[16][LD + 8], and {fix.calls}. ")
    assert fix.summary()["calls"] == fix.calls
    patch = patch_of([report])
    assert patch.after.decode() == KERNEL.replace("[LD]", "[LD + 8]").replace(" LD);", " LD + 8);")
    path.write_bytes(patch.after)
    made = replayed(path)
    assert made.bank_conflicts == 0
    assert (made.outputs[1] == report.outputs[1]).all()


@needs_compiler
def test_an_equal_constant_changes_only_where_the_pointer_names_the_array() -> None:
    other = "wmma::load_matrix_sync(b, in + kk, OTHER);"
    source = KERNEL.replace("wmma::load_matrix_sync(b, s[0] + kk, LD);", other)
    source = source.replace("(a, &s[0][kk], LD)", "(a, &s[0][kk], OTHER)")
    patch = patch_of([replayed(source)])
    assert [each.bank_conflicts for each in patch.reports] == [0]
    assert patch.after.decode() == source.replace("[LD]", "[LD + 8]").replace(
        "kk], OTHER)", "kk], OTHER + 8)"
    )


@needs_compiler
def test_a_leading_dimension_that_is_not_known_is_refused_by_the_run() -> None:
    (fix,) = replayed(KERNEL.replace("s[0] + kk, LD)", "&s[0][kk], ld)")).fixes()
    assert fix.text == ""
    assert "the changed source leaves other outputs" in fix.why
