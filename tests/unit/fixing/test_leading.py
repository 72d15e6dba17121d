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
from simulator.fixing.fix import Fix
from simulator.fixing.layouts import Candidate
from simulator.fixing.leading import calls_text, leading_dimensions, matrix_calls
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
    calls = matrix_calls(array, (), {"k.cu": tuple(text.split("\n"))}, ())
    return head.removesuffix(end), calls_text(array, candidate, calls)[0]


GROWN = {
    "wmma::load_matrix_sync(a, &s[i][j][0], LD);": "LD + 8",
    "load_matrix_sync(a, s[i][f(j, 1)] + k, BK);": "BK + 8",
    "load_matrix_sync(a, & s [0][0][0] + k * (1), OTHER );": "OTHER + 8",
    "load_matrix_sync(a, &s[i][j][0], 64);": "72",
    "load_matrix_sync(a, &s[i][j][0],\n    /* row */ LD // its length\n);": "LD + 8",
    "load_matrix_sync(a, &s[i][j][0], 4 * SMALL, layout);": "4 * SMALL + 8",
    "load_matrix_sync(a, &s[i][j][0], 2 * LD);": "2 * LD + 16",
    "nvcuda::wmma::store_matrix_sync(&s[0][0][k], c, LD, wmma::mem_row_major);": "LD + 8",
}


@pytest.mark.parametrize("use", GROWN)
def test_the_length_of_the_rows_grows_in_a_call(use: str) -> None:
    grown = GROWN[use]
    before = str(int(grown) - 8) if grown.isdigit() else grown.rpartition(" + ")[0]
    function = "store" if "store" in use else "load"
    line = 5 + use.count("\n", 0, use.index(before))
    assert passed(use) == (
        use.replace(before, grown), f"pass {grown} to {function}_matrix_sync in line {line}"
    )  # fmt: skip


LEFT = [
    "load_matrix_sync(a, &u[i][0], LD);",
    "load_matrix_sync(a, &s[i][j][0], SMALL);",
    "load_matrix_sync(a, &s[i][j][0]);",
    "store_matrix_sync(out, s[0][0], LD, wmma::mem_row_major);",
    "load(a, &s[i][j][0], LD);",
    "load_matrix_sync(a, in + k, 64);",
    "const half *p = in; load_matrix_sync(a, p + k, 64);",
    "half *q = &u[0][0]; load_matrix_sync(a, q + k, 64);",
    "load_matrix_sync(a, &s[i][j][0], sizeof(s[0][0]) / sizeof(s[0][0][0]));",
    "load_matrix_sync(a, &s[i][j][0], sizeof(s[0][0]) / sizeof(half));",
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


def replayed(source: str | Path, shared_bytes: int = 0) -> CompiledReport:
    rows = (np.arange(1024) % 37 - 18).astype(np.float16)
    args = [rows, np.zeros(256, np.float32), np.int32(64)]
    return replay_compiled(source, grid=1, block=32, args=args, shared_bytes=shared_bytes)


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


UNKNOWN = {
    "load_matrix_sync(a, &s[i][j][0], ld);": "the padded length of a row (72 elements)",
    "load_matrix_sync(a, &s[i][j][0], sizeof(s[0]) / sizeof(half));": (
        "the padded length of a row (72 elements)"
    ),
    "load_matrix_sync(a, &s[i][0], LD);": "LD + 8",
    "load_matrix_sync(a, (const half *)s[i] + k, LD);": "LD + 8",
    "load_matrix_sync(a, (const float *)s[i] + k, 32);": "36",
    "load_matrix_sync(a, in + s[0][0][0], LD);": "LD + 8",
    "load_matrix_sync(a, p->s[i][0], LD);": "the padded length of a row (144 bytes)",
    "half *p = &s[0][0][0]; load_matrix_sync(a, p + k, 64);": "72",
    "half *p; get(&p); load_matrix_sync(a, p + k, 64);": "72",
    "const half *p = in; p = i ? in : &s[0][0][0]; load_matrix_sync(a, p + k, 64);": "72",
}


@pytest.mark.parametrize("use", UNKNOWN)
def test_a_leading_dimension_that_is_not_known_is_left_to_the_reader(use: str) -> None:
    """A pointer was said to have one of so many bytes, though WMMA counts elements."""
    before = use.rpartition(", ")[2].removesuffix(");")
    length = f"{UNKNOWN[use]} instead of {before}"
    assert passed(use) == (use, f"pass {length} to load_matrix_sync in line 5")


NOT_RUN = {
    "": "(const half *)&s[0][16], 64",
    "half *p = &s[0][0];": "p + 16, 64",
}


@needs_compiler
@pytest.mark.parametrize("alias", NOT_RUN)
def test_a_call_that_did_not_run_is_left_to_the_reader(alias: str) -> None:
    """The diff left its leading dimension, which is wrong once the branch is taken."""
    branch = (
        f"{alias}\n    if (ld == 7) wmma::load_matrix_sync(a, {NOT_RUN[alias]});\n    for (int kk"
    )
    source = KERNEL.replace("for (int kk", branch)
    patch = patch_of([replayed(source)])
    assert not patch.reports
    assert patch.left == (
        "s: the pointer in line 14 is not an element of it by name; write s[16][LD + 8], and pass"
        " LD + 8 to load_matrix_sync in lines 16, 17 and 72 instead of 64 to load_matrix_sync in"
        " line 14",
    )


@needs_compiler
def test_a_load_from_a_parameter_on_the_same_line_stays() -> None:
    """The reader was told to change the leading dimension of a load from global memory."""
    source = KERNEL.replace("LD);\n        wmma::load_matrix_sync(b, s[0] + kk, LD)",
                            "LD); wmma::load_matrix_sync(b, in + kk, LD)")  # fmt: skip
    patch = patch_of([replayed(source)])
    assert patch.after.decode() == source.replace("[LD]", "[LD + 8]").replace(
        "s[0][kk], LD)", "s[0][kk], LD + 8)"
    )


def unwritten(source: str, shared_bytes: int = 0) -> Fix:
    """The one fix of a source with WMMA, which nobody has compiled."""
    (fix,) = replayed(source, shared_bytes).fixes()
    assert fix.compiled is None
    assert not any("^" in each.text for each in (fix, *fix.alternatives))
    return fix


@needs_compiler
@pytest.mark.parametrize(
    ("use", "at"),
    [("&s[0][kk], ld)", "15"), ("ahead(s[0], kk), LD)", "15"), ("\n s[0] + kk,\nld)", "17")],
)
def test_rows_are_padded_where_the_leading_dimension_is_not_known(use: str, at: str) -> None:
    """A swizzle was proposed for what load_matrix_sync reads."""
    ahead = "__device__ const half *ahead(const half *p, int k) { return p + k; }"
    source = KERNEL.replace("s[0] + kk, LD)", use).replace("__global__", f"{ahead} __global__")
    fix = unwritten(source)
    said = use.split(", ")[-1].rpartition("\n")[2].removesuffix(")")
    is_call = "ahead" in use
    length = "144 bytes" if is_call else "72 elements"
    why = (
        f"the pointer in line {at} is not an element of it by name"
        if is_call
        else f"the leading dimension in line {at} is not known"
    )
    assert fix.text == "s[16][LD + 8]"
    assert fix.calls == (
        f"pass LD + 8 to load_matrix_sync in line 14 and the padded length of a row ({length})"
        f" instead of {said} to load_matrix_sync in line {at}"
    )
    assert patch_of([replayed(source)]).left == (f"s: {why}; write {fix.written}",)


@needs_compiler
def test_a_swizzle_is_not_proposed_where_load_matrix_sync_reads() -> None:
    """It was the second proposal, "(not compiled)", and the first without room for padding."""
    (fix,) = replayed(KERNEL).fixes()
    assert not fix.alternatives
    assert fix.notes == (
        "Not s[row][col ^ ((row & 7) << 3)] for each s[row][col]: load_matrix_sync (lines 14, 15)"
        " takes a pointer and one leading dimension: a swizzle cannot be said.",
    )


@needs_compiler
@pytest.mark.parametrize(("declared", "size"), [("__shared__", 0), ("extern __shared__", 2048)])
def test_the_padding_of_an_array_without_rows_passes_its_leading_dimension(
    declared: str, size: int
) -> None:
    """Its index was padded, and the leading dimension stayed."""
    source = KERNEL.replace("[i / 64][i % 64]", "[i]").replace("s[16][LD]", "s[16 * LD]")
    source = source.replace("s[0] + kk", "s + kk").replace("s[0][kk]", "s[kk]")
    if size:
        source = source.replace("__shared__", declared).replace("s[16 * LD]", "s[]")
    fix = unwritten(source, size)
    assert fix.text.startswith("s[index + index / 64 * 8]")
    assert fix.calls == "pass LD + 8 to load_matrix_sync in lines 14, 15"


@needs_compiler
def test_the_leading_dimension_of_a_flat_array_is_written_with_its_index() -> None:
    source = KERNEL.replace("[i / 64][i % 64]", "[i]").replace("s[16][LD]", "s[1024]")
    source = source.replace("s[0] + kk", "&s[kk]").replace("s[0][kk]", "s[kk]")
    (fix,) = replayed(source).fixes()
    assert fix.compiled is not None
    assert fix.after.bank_conflicts == 0


@needs_compiler
@pytest.mark.parametrize(
    "declared", ["__shared__ __align__(32) half s[16]", "extern __shared__ half s[]"]
)
def test_rows_that_are_no_part_of_the_leading_dimension_are_not_padded(declared: str) -> None:
    source = KERNEL.replace(", LD)", ", 32)").replace(
        "__shared__ __align__(32) half s[16]", declared
    )
    (fix,) = replayed(source, 2048 * ("extern" in declared)).fixes()
    assert not fix.text
    assert not any(each.kind == "pad" for each in fix.alternatives)


@needs_compiler
def test_lines_of_wmma_are_not_accesses_that_a_compiler_joined() -> None:
    """A note said that the compiler might part them."""
    fix = unwritten(KERNEL.replace("s[0] + kk, LD)", "s[0] + kk, ld)"))
    assert not any("joined" in each for each in fix.sentences)
