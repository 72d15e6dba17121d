"""Arrays whose accesses do not say which array they reach are refused by name.

`bases.cubin` is `bases.cu`, compiled for sm_90a with -lineinfo; there `spilled` runs out of
registers, and the address of its last load is read back from local memory.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.fixing import Fix
from simulator.fixing.declared import declarations
from simulator.fixing.reading import reads_data
from simulator.fixing.runs import Runs
from simulator.fixing.spilled import from_local_memory
from simulator.sass.code.options import CompilerOptions
from simulator.sass.found import macros_of
from simulator.sass.report import CompiledReport
from simulator.sass.sampling import Relaunch
from tests.sass_kernels import needs_tools

pytestmark = needs_tools

HERE = Path(__file__).parent
TEXT = (HERE / "bases.cu").read_text()
LINES = tuple(TEXT.split("\n"))


@lru_cache
def replayed(kernel: str, values: int = 97) -> CompiledReport:
    """A kernel's report, as if its source had been compiled."""
    report = replay_compiled(
        HERE / "bases.cubin", kernel=kernel, grid=1, block=(32, 32),
        args=[np.arange(1056, dtype=np.float32) % values, np.zeros(1024, np.float32)],
        shared_bytes=4096 if kernel == "views" else 0,
    )  # fmt: skip
    assert report.rerun is not None
    files = {each.file for each in report.rerun.program.instructions if each.file}
    sources = dict.fromkeys(files, LINES)
    return replace(report, sources=sources, rerun=replace(report.rerun, sources=sources))


def line(text: str, after: str) -> int:
    """The number of the first line with a text behind another one."""
    start = next(number for number, each in enumerate(LINES) if after in each)
    return next(number for number, each in enumerate(LINES[start:], start + 1) if text in each)


def refused(kernel: str, values: int = 97) -> list[Fix]:
    report = replayed(kernel, values)
    fixes = report.fixes()
    for each in fixes:
        assert (each.text, each.proved, each.after) == ("", False, each.before)
        assert each.notes[-1].startswith("Understood so far: ")
    before = sum(each.before.bank_conflicts for each in fixes)
    assert before == report.totals()["all"]["bank_conflicts"] > 0
    return fixes


@pytest.mark.parametrize(("kernel", "text"), [("spilled", "*column + sum"), ("table", "ld.shared")])
def test_an_address_that_was_kept_in_local_memory_is_refused(kernel: str, text: str) -> None:
    (fix,) = refused(kernel)
    at = line(text, f"{kernel}(")
    assert fix.why.startswith(
        f"Not proposed: its address is read back from local memory (line {at}): a base or an index"
        " was spilled, or is in a table."
    )
    stored = line("t[y][x] = ", f"{kernel}(")
    assert fix.notes == (
        f"Understood so far: t[32][32], 4,096 bytes from byte 0 on, accessed in lines {stored},"
        f" {at}.",
    )
    # What was understood was run, and is said as that.
    assert [(each.text, each.after.bank_conflicts) for each in fix.alternatives] == [
        ("t[32][33]", 0),
        ("t[row][col ^ row]", 0),
    ]
    assert any(each.startswith("It ran with t[32][33]: 0 bank") for each in fix.sentences)


def test_only_the_load_whose_address_was_spilled_is_named() -> None:
    again = replayed("spilled").relaunch()
    codes = again.program.instructions
    kept = [codes[number] for number in from_local_memory(again.program)]
    assert [each.opcode for each in kept] == ["LDS"]
    assert sum(each.opcode.startswith("LDL") for each in codes) > 1
    assert not from_local_memory(replayed("chosen").relaunch().program)


def test_a_pointer_that_warps_choose_reaches_both_arrays() -> None:
    at = line("from[x * 32 + y]", "chosen(")
    for fix, other in zip(refused("chosen"), "ba", strict=True):
        assert fix.why == (
            f"Not proposed: an access to it reaches {other} at other times (line {at}): where it"
            " begins is computed. They would have to change together."
        )
        assert [each.after.bank_conflicts for each in fix.alternatives] == [0, 0]


def test_a_pointer_that_lanes_choose_makes_one_of_both_arrays() -> None:
    (fix,) = refused("by_lane")
    at = line("from[x * 32 + y]", "by_lane(")
    assert fix.array == "a and b"
    assert f"one access reaches several of them (line {at})" in fix.why


def test_generic_pointers_are_refused() -> None:
    (fix,) = refused("generic")
    at = line("from[x * 32 + y]", "generic(")
    assert fix.why == f"Not searched: generic pointers reach it (line {at})."


@pytest.mark.parametrize(("kernel", "name"), [("aliased", "u"), ("inside", "held")])
def test_unions_are_refused_by_a_name_of_their_type_and_inside_of_structures(
    kernel: str, name: str
) -> None:
    (fix,) = refused(kernel)
    assert fix.array == name
    assert fix.why.startswith(f"Not searched: {name} is a union, or holds one")


def test_two_views_of_dynamic_memory_are_one_array_which_is_said() -> None:
    (fix,) = replayed("views").fixes()
    assert fix.after.bank_conflicts == 0
    assert fix.notes[-1].startswith("Its lines call it f (lines ")
    assert fix.notes[-1].endswith("it is treated as one array, with one layout.")


@pytest.mark.parametrize("values", [1, 97])
def test_a_gather_depends_on_data_although_all_are_equal(values: int) -> None:
    (fix,) = refused("gathered", values)
    at = line("(int)in", "gathered(")
    assert fix.why.startswith(f"No change proposed: its index depends on the data (line {at})")


def test_a_run_with_other_data_may_take_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    report = replayed("chosen")
    first = Runs(report)
    limits: list[int] = []
    monkeypatch.setattr(
        Relaunch, "replay", lambda again, **_: limits.append(again.given["max_instructions"])
    )
    assert not reads_data(first.again, first.touched, (), report.thread_instructions)
    assert len(limits) == 1
    assert report.thread_instructions / 32 < limits[0] < 1 << 23


UNIONS = (
    "__shared__ union { float f[32]; int i[32]; } u;",
    "union U { float f[32]; int i[32]; };\n__shared__ U u[2];",
    "union alignas(16) U { float f[32]; int i[32]; };\n__shared__ __align__(16) U u;",
    "typedef union { float f[32]; int i[32]; } U, *Pointer;\n__shared__ U u;",
    "using U = union { float f[32]; int i[32]; };\n__shared__ volatile U u;",
    "union V { int i; };\nstruct U : Base { V v[32]; };\n__shared__ struct U u;",
    "union V { int i; };\nusing U = V;\n__shared__ U u;",
    "template <typename T> union U { T f[32]; int i[32]; };\n__shared__ U<float> u;",
    "struct Sum { union Storage { int i; }; };\n__shared__ typename Sum::Storage u;",
    "__shared__ struct { int n; union { float f[32]; int i[32]; }; } u;",
)
OTHERS = (
    "extern __shared__ char u[];\nunion V { int i; }; float *v = (float *)u; V w;",
    "union V { int i; };\nstruct U { float v[32]; };\n__shared__ U u;",
    "struct { union V { int i; }; } s;\n__shared__ float u[32][32];",
    "__shared__ struct { float f[32]; } u;",
    "__shared__ float u[union_size];",
)


@pytest.mark.parametrize("text", [*UNIONS, *OTHERS])
def test_unions_are_known_by_every_way_to_declare_them(text: str) -> None:
    found = declarations({"k.cu": tuple(text.split("\n"))})
    assert [(each.name, each.line) for each in found if each.in_union] == (
        [("u", 1 + text.count("\n"))] if text in UNIONS else []
    )


@pytest.mark.parametrize(
    "use", ["V &v = *reinterpret_cast<V *>(u);", "V *v = (V *)(u + 128);", "auto *v = (S *)u;"]
)
def test_raw_memory_that_is_cast_to_a_union_is_one(use: str) -> None:
    text = "union V { int i; }; struct S { V v; };", "extern __shared__ char u[];", use
    (found,) = declarations({"k.cu": text})
    assert (found.name, found.is_dynamic, found.in_union) == ("u", True, True)


@pytest.mark.parametrize("has_own", [False, True])
def test_sizes_may_be_macros_of_a_header_or_of_the_command_line(
    has_own: bool, tmp_path: Path
) -> None:
    """Sizes that are spelled unlike, as WIDTH and LD, were not known: one dimension was said."""
    (tmp_path / "sizes.h").write_text("#define LD WIDTH\n")
    own = ["#ifndef WIDTH", "#define WIDTH 16", "#endif"] if has_own else []
    lines = ['#include "sizes.h"', *own, "__global__ void k() { __shared__ float s[WIDTH][LD]; }"]
    (tmp_path / "k.cu").write_text("\n".join(lines))
    given = macros_of(tmp_path / "k.cu", CompilerOptions(define=("WIDTH=32",)))
    (found,) = declarations({"k.cu": tuple(lines)}, given)
    assert (found.dims, found.sizes, found.bytes) == (("WIDTH", "LD"), (32, 32), 4096)
