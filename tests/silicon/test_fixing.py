"""Kernels that conflict, and what their authors wrote instead: a fix is no worse than that.

The cubins and their launches: tests/silicon/sass/README.md.
"""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulator import replay_compiled
from simulator.sass.arguments import argument
from simulator.sass.report import CompiledReport
from tests.sass_kernels import HERE, needs_tools
from tests.silicon.recorded import DATA

pytestmark = needs_tools

CASES = {
    case["name"]: case
    for name in ("cases", "hopper")
    for case in json.loads((HERE / f"{name}.json").read_text())
}

# What conflicts, and the same kernel with its author's padding or swizzle; "": there is none, and
# the fix has to leave no conflict.
REMEDIES = {
    "transpose on naive": "transpose on padded",
    "zorder": "zorder_padded",
    "double_buffered": "double_buffered_padded",
    "wmma": "wmma_padded",
    "warptile_2x16": "warptile_2x16_split",
    "tile, swizzle none": "tile, swizzle 128",
    "epilogue, plain rows": "epilogue, swizzled rows",
    "blocktile_2d": "",
    "vectorized_64": "",
    "vectorized_128": "",
    "warptile_4x8": "",
    "half_tiles": "",
    "guarded on 33x50x17": "",
    "exchange": "",
    "a ring of mbarriers": "",
}


def replayed(name: str) -> CompiledReport:
    case: dict[str, Any] = CASES[name]
    report = replay_compiled(
        HERE / "cubins" / case["cubin"], kernel=case["kernel"], grid=tuple(case["grid"]),
        block=tuple(case["block"]), shared_bytes=case["shared"],
        args=[argument(text, place) for place, text in enumerate(case["args"])],
    )  # fmt: skip
    source = HERE / "cuda" / f"{Path(case['cubin']).stem}.cu"
    if not source.exists() or report.rerun is None:
        return report
    lines = {source.name: tuple(source.read_text().removesuffix("\n").split("\n"))}
    return replace(report, sources=lines, rerun=replace(report.rerun, sources=lines))


def conflicts(report: CompiledReport) -> int:
    return int(report.totals()["all"]["bank_conflicts"])


@pytest.mark.parametrize("name", REMEDIES)
def test_a_fix_has_no_more_conflicts_than_its_author_left(name: str) -> None:
    report = replayed(name)
    fixes = report.fixes()
    assert sum(each.before.bank_conflicts for each in fixes) == conflicts(report)
    assert all(each.outputs_equal for each in fixes)
    for each in fixes:
        assert each.after.wavefronts <= each.before.wavefronts
        assert (each.after == each.before) == (each.text == "")
    fixed = report.fixed(fixes)
    remedy = REMEDIES[name]
    assert conflicts(fixed) <= (conflicts(replayed(remedy)) if remedy else 0)
    assert conflicts(fixed) < conflicts(report)
    assert conflicts(fixed) == sum(each.after.bank_conflicts for each in fixes)
    assert [each.tobytes() for each in fixed.outputs if hasattr(each, "tobytes")] == [
        each.tobytes() for each in report.outputs if hasattr(each, "tobytes")
    ]


def test_tma_is_told_the_mode_that_spreads_a_column() -> None:
    (fix,) = replayed("tile, swizzle none").fixes()
    assert (fix.array, fix.kind, fix.proved) == ("tile", "tma", True)
    assert fix.text.startswith("CU_TENSOR_MAP_SWIZZLE_128B, and tile[index ^ ((index >> 3) & 28)]")
    assert "none 11,904, 128 bytes 1,152" in fix.why


def test_the_best_mode_stays() -> None:
    (fix,) = replayed("tile, swizzle 128").fixes()
    assert (fix.text, fix.proved, fix.after) == ("", True, fix.before)


def test_histograms_are_left_alone() -> None:
    for fix in replayed("histogram on weights").fixes():
        assert (fix.text, fix.proved, fix.after) == ("", False, fix.before)
        assert "its index depends on the data" in fix.why


@pytest.mark.parametrize("name", ["tensor_gemm", "transpose on swizzled", "scan on shared"])
def test_what_has_no_conflicts_has_no_fixes(name: str) -> None:
    assert replayed(name).fixes() == []


# ---- Diffs that were compiled and measured. ------------------------------------------------------
MEASURED = {case["name"]: case for case in json.loads((HERE / "fixes.json").read_text())}


def counted(name: str) -> CompiledReport:
    case = MEASURED[name]
    return replay_compiled(
        HERE / "cubins" / case["cubin"], kernel=case["kernel"], grid=tuple(case["grid"]),
        block=tuple(case["block"]), blocks="all",
        args=[argument(text, place) for place, text in enumerate(case["args"])],
    )  # fmt: skip


def measured(name: str) -> dict[str, str]:
    with (DATA / "h100_fixes_kernels.csv").open(newline="") as file:
        return next(row for row in csv.DictReader(file) if row["case"] == name)


@pytest.mark.parametrize("name", MEASURED)
def test_the_chip_counts_what_the_replay_of_a_diff_counts(name: str) -> None:
    row, found = measured(name), counted(name).metrics()
    compared = [each for each in row if each in found]
    assert len(compared) == 6  # requests, wavefronts and bank conflicts, of loads and of stores
    assert {each: int(row[each]) for each in compared} == {each: found[each] for each in compared}


@pytest.mark.parametrize("name", ["turn", "vectorized", "warptile"])
def test_the_chip_counts_for_a_diff_what_the_fix_predicted(name: str) -> None:
    report = counted(name)
    fixes = report.fixes()
    predicted = report.fixed(fixes).totals()["all"]
    row = measured(f"{name} fixed")
    conflicts_of, waves = "l1tex__data_bank_conflicts_pipe", "smsp__sass_l1tex_data_pipe"
    on_chip = {
        "bank_conflicts": sum(int(row[f"{conflicts_of}_lsu_mem_shared_op_{op}.sum"])
                              for op in ("ld", "st")),
        "wavefronts": sum(int(row[f"{waves}_lsu_wavefronts_mem_shared_op_{op}.sum"])
                          for op in ("ld", "st")),
    }  # fmt: skip
    assert on_chip == {each: predicted[each] for each in on_chip}
    assert (
        sum(each.before.bank_conflicts for each in fixes)
        == report.totals()["all"]["bank_conflicts"]
    )
    assert MEASURED[f"{name} fixed"]["diff"]
