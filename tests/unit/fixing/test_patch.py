"""Fixes as a diff of the source, compiled and replayed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.fixing.patch import Patch, patch_of
from simulator.sass.report import CompiledReport
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

HEAD = "__global__ void k(const float *in, float *out) {\n"
BODY = """    __shared__ float t[32][32];
    const int x = threadIdx.x, y = threadIdx.y;
    t[y][x] = in[y * 32 + x];
    __syncthreads();
    out[y * 32 + x] = t[x][y];
}
"""


def replayed(source: str | Path) -> CompiledReport:
    return replay_compiled(
        source, grid=1, block=(32, 32),
        args=[np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)],
    )  # fmt: skip


def patched(body: str = BODY, alternative: bool = False) -> Patch:
    report = replayed(HEAD + body)
    fixes = report.fixes()
    if alternative:
        fixes = [each for fix in fixes for each in fix.alternatives]
    return patch_of([report], fixes)


def changed(patch: Patch) -> list[str]:
    return [line[1:].strip() for line in patch.diff.splitlines() if line.startswith("+    ")]


def test_a_padding_changes_the_declaration() -> None:
    patch = patched()
    assert changed(patch) == ["__shared__ float t[32][33];"]
    assert patch.diff.startswith("--- a/source.cu\n+++ b/source.cu\n")
    assert [each.totals()["all"]["bank_conflicts"] for each in patch.reports] == [0]
    assert [each.array for each in patch.fixes] == ["t"]


def test_a_swizzle_changes_every_subscript() -> None:
    patch = patched(alternative=True)
    assert changed(patch) == ["t[y][x ^ y] = in[y * 32 + x];", "out[y * 32 + x] = t[x][y ^ x];"]


def test_the_compiled_change_has_the_counts_that_were_predicted() -> None:
    report = replayed(HEAD + BODY)
    fixes = report.fixes()
    (made,) = patch_of([report], fixes).reports
    assert made.totals()["all"] == report.fixed(fixes).totals()["all"]


def test_a_file_keeps_its_name_and_its_headers(tmp_path: Path) -> None:
    (tmp_path / "sizes.cuh").write_text("constexpr int SIZE = 32;\n")
    source = '#include "sizes.cuh"\n' + HEAD + BODY.replace("[32][32]", "[SIZE][SIZE]")
    path = tmp_path / "turn.cu"
    path.write_text(source)
    patch = patch_of([replayed(path)])
    assert changed(patch) == ["__shared__ float t[SIZE][SIZE + 1];"]
    assert path.read_text() == source
    assert patch.file == str(path)


def test_a_pointer_to_the_rows_keeps_a_padding_from_compiling() -> None:
    # The function takes rows of 32: a padded tile does not go there, a swizzled one is not plain.
    body = BODY.replace("t[y][x] = in[y * 32 + x];", "put(t, in);")
    head = (
        "__device__ void put(float (*t)[32], const float *in) {\n"
        "    t[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];\n}\n"
    )
    report = replayed(head + HEAD + body)
    patch = patch_of([report])
    assert (patch.diff, patch.reports, patch.fixes) == ("", (), ())
    (fix,) = report.fixes()
    assert fix.notes[0].startswith("Not t[32][33]: the changed source does not run: ")
    assert "line 7 uses it without all its subscripts; write t[row][col ^ row]" in patch.left[0]


def test_a_subscript_that_does_more_than_name_a_place_is_left() -> None:
    body = BODY.replace("t[y][x] = in", "int i = x - 1; t[y][++i] = in")
    patch = patched(body, alternative=True)
    assert patch.diff == ""
    assert "a subscript of line 4 does more than name a place" in patch.left[0]


def test_machine_code_has_no_source_to_change() -> None:
    made = replayed(HEAD + BODY)
    assert made.rerun is not None
    report = replay_compiled(
        made.rerun.given["cubin"].image, grid=1, block=(32, 32),
        args=[np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)],
    )  # fmt: skip
    assert [each.array for each in report.fixes()] == ["t"]
    patch = patch_of([report])
    assert (patch.diff, patch.left[0].partition(" (")[0]) == (
        "",
        "no source was compiled: the machine code was given",
    )


def test_two_launches_of_a_kernel_are_changed_once() -> None:
    reports = [replayed(HEAD + BODY), replayed(HEAD + BODY)]
    patch = patch_of(reports)
    assert changed(patch) == ["__shared__ float t[32][33];"]
    assert len(patch.reports) == 2


@pytest.mark.parametrize("declared", ["float t[1024]", "float t[8][4][32]"])
def test_other_declarations_are_written_too(declared: str) -> None:
    flat = "[1024]" in declared
    first = "t[y * 32 + x]" if flat else "t[y / 4][y % 4][x]"
    second = "t[x * 32 + y]" if flat else "t[x / 4][x % 4][y]"
    body = BODY.replace("float t[32][32]", declared).replace("t[y][x]", first)
    patch = patched(body.replace("t[x][y]", second))
    assert [each.totals()["all"]["bank_conflicts"] for each in patch.reports] == [0]
    wanted = {
        True: ["t[(y * 32 + x) ^ ((y * 32 + x) >> 5)] = in[y * 32 + x];"],
        False: ["__shared__ float t[8][4][33];"],
    }[flat]
    assert changed(patch)[: len(wanted)] == wanted


FLAT = """    __shared__ float t[1000];
    const int x = threadIdx.x, y = threadIdx.y;
    if (y < 31) t[y * 32 + x] = in[y * 32 + x];
    __syncthreads();
    out[y * 32 + x] = t[y < 31 ? x % 31 * 32 + y : 0] + t[0];
}
"""


def test_a_flat_index_is_padded_or_mixed_but_for_the_first_element() -> None:
    report = replayed(HEAD + FLAT)
    (fix,) = report.fixes()
    both = {each.kind: each for each in (fix, *fix.alternatives)}
    size, _, last = changed(patch_of([report], [replace(both["pad"], alternatives=())]))
    assert size == "__shared__ float t[1056];"
    assert last.endswith("+ t[0];")
    size, _, last = changed(patch_of([report], [replace(both["swizzle"], alternatives=())]))
    assert size == "__shared__ float t[1024];"  # the mixed index fills its last row
    assert last.endswith("+ t[0];")


def test_what_was_written_instead_is_said() -> None:
    patch = patched("using Rows = float[32][32];\n" + BODY.replace("float t[32][32]", "Rows t"))
    assert patch.instead == (
        "t: wrote t[row][col ^ row] for each t[row][col], not t[32][33]: its sizes are those of the"
        " type Rows",
    )
    assert [each.totals()["all"]["bank_conflicts"] for each in patch.reports] == [0]
    assert patched().instead == ()


def test_an_array_of_a_kernel_that_was_not_run_is_left() -> None:
    above = "__shared__ float t[32][32];\n"
    other = "__global__ void other(float *out) { out[threadIdx.x] = t[0][threadIdx.x]; }\n"
    report = replay_compiled(
        above + other + HEAD + BODY.partition("\n")[2], kernel="k", grid=1, block=(32, 32),
        args=[np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)],
    )  # fmt: skip
    patch = patch_of([report])
    assert (patch.diff, patch.left) == (
        "", ("t: other uses it, too, and was not run; write t[32][33]",),
    )  # fmt: skip


def test_a_change_that_loses_little_of_what_was_predicted_is_left() -> None:
    report = replayed(HEAD + BODY)
    (fix,) = report.fixes()
    hoped = replace(fix, before=replace(fix.before, bank_conflicts=10_000), alternatives=())
    patch = patch_of([report], [hoped])
    assert patch.diff == ""
    assert patch.left == (
        "t[32][33]: once compiled, k goes from 992 to 0 bank conflicts; 10,000 fewer were"
        " predicted",
    )


def test_a_file_may_be_named_as_source_without_a_file_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "source.cu").write_text(HEAD + BODY)
    monkeypatch.chdir(tmp_path)
    assert changed(patch_of([replayed("source.cu")])) == ["__shared__ float t[32][33];"]


FLAT_WITHIN = ("s[1024]", "b[1024]", "b[x * 32] = (31 - x) * 32;", "s[x * 32]", "s[b[x * 32]]")
ROWS_WITHIN = ("s[32][32]", "b[32][32]", "b[x][0] = 31 - x;", "s[x][0]", "s[b[x][0]][0]")


def nested(parts: tuple[str, ...]) -> str:
    """A kernel that subscripts an array by another one's element."""
    s, b, first, element, read = parts
    return (
        f"{HEAD}    __shared__ float {s};\n    __shared__ int {b};\n    int x = threadIdx.x;\n"
        f"    {first}\n    {element} = in[x];\n    __syncthreads();\n    out[x] = {read};\n}}\n"
    )


def replayed_in_a_warp(source: str) -> CompiledReport:
    args = [np.arange(32, dtype=np.float32), np.zeros(32, np.float32)]
    return replay_compiled(source, grid=1, block=32, args=args)


def test_a_subscript_within_another_that_changed_is_left_for_a_second_run() -> None:
    """It was said to overlap, not what to do."""
    patch = patch_of([replayed_in_a_warp(nested(FLAT_WITHIN))])
    assert patch.left == (
        "s: its subscripts hold, or are within, one that is changed already (--write, and ask"
        " again); write s[index ^ (index >> 5)] for each s[index]",
    )
    again = patch_of([replayed_in_a_warp(patch.after.decode())])
    assert not again.left
    assert [each.bank_conflicts for each in again.reports] == [0]


def test_a_swizzle_does_not_repeat_a_subscript_that_is_changed() -> None:
    """It repeated the old one, and was said to leave other outputs."""
    patch = patch_of([replayed_in_a_warp(nested(ROWS_WITHIN))])
    assert patch.instead == (
        "s: wrote s[32][33], not s[row][col ^ row]: its subscripts hold, or are within, one that is"
        " changed already (--write, and ask again)",
    )
    assert [each.bank_conflicts for each in patch.reports] == [0]


def test_only_the_branch_that_is_compiled_has_the_array_that_is_padded() -> None:
    other, own = "#ifdef WIDE\n    __shared__ float t[32][64];\n#else\n", "\n#endif"
    body = BODY.replace(
        "    __shared__ float t[32][32];", f"{other}    __shared__ float t[32][32];{own}"
    )
    assert changed(patched(body)) == ["__shared__ float t[32][33];"]
    assert patched(body, alternative=True).left == (
        "t: line 3 declares another t; write t[row][col ^ row] for each t[row][col]",
    )


def test_a_struct_that_is_declared_in_place_says_what_its_index_counts() -> None:
    """It was not known, and its index had no unit."""
    body = BODY.replace("float t[32][32];", "struct { float t[32][32]; } t;").replace(
        " t[", " t.t["
    )
    body = body.replace("struct { float t.t[", "struct { float t[")
    (fix,) = replayed(HEAD + body).fixes()
    assert fix.text == "t[index + index / 32] (index counted in 4 bytes)"
    assert "Its index counts from its first byte: change the members that lie there." in fix.notes
    assert patched(body).left == (
        f"t: its sizes are those of the struct in line 2; write {fix.written}",
    )
