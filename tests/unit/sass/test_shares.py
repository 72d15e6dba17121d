"""How much of shared memory's pipe each unit takes, in tables, on pages and in timelines."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from tests.sass_kernels import needs_tools
from tests.silicon.test_hopper import CASES, launched
from viz.page.sections import section

pytestmark = needs_tools

NAMES = ["gemm, A in registers", "epilogue, plain rows", "gemm, both in shared memory"]


def rows(columns: Any) -> list[dict[str, Any]]:
    return [dict(zip(columns, each, strict=True)) for each in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("name", CASES)
def test_shares_of_units_and_of_rows_add_up_to_the_pipe(name: str) -> None:
    report = launched(name)[1]
    by_unit = {row["unit"]: row for row in rows(report.shares())}
    totals = report.totals()
    wavefronts = {unit: row["wavefronts"] for unit, row in by_unit.items()}
    assert wavefronts.get("lsu", 0) == totals["all"]["wavefronts"]
    assert wavefronts.get("gmma", 0) == totals["gmma"]["wavefronts"]
    assert wavefronts.get("tma", 0) == 0
    if sum(wavefronts.values()):
        assert sum(row["share"] for row in by_unit.values()) == pytest.approx(100, abs=0.2)
        shares = [row["share"] for row in report.table().rows]
        assert sum(shares) == pytest.approx(100, abs=0.05 * len(shares))
    if len(by_unit) > 1:
        assert report.units()
        assert "share" not in report.table("line").hidden


def test_tensor_cycles_follow_from_the_shape() -> None:
    report = launched("gemm, both in shared memory")[1]
    for row in rows(report.instructions):
        found = re.match(r"HGMMA\.64x(\d+)x16", row["opcode"])
        products = row["executed"] // 4
        columns = int(found[1]) if found else 0  # A and B come at a wavefront per cycle
        wanted = products * max(columns // 2, 16 + columns // 4) if found else 0
        assert row["tensor_cycles"] == wanted
    assert report.totals()["gmma"]["tensor_cycles"] == sum(report.instructions["tensor_cycles"]) > 0


def test_a_report_says_what_nsight_counts_as_shared() -> None:
    report = launched("gemm, both in shared memory")[1]
    said = " ".join(report.units())
    assert "wgmma's operand reads (gmma) 7,680 (100 %), TMA (tma) none" in said
    assert "memory_l1_wavefronts_shared of metrics(), have its operand reads" in said
    assert report.metrics()["memory_l1_wavefronts_shared"] == 7680


def test_a_page_has_a_row_for_each_unit() -> None:
    report = launched("gemm, A in registers")[1]
    rows_of = section(report).rows
    found = {row["memory"]: row for row in rows_of if row["memory"].startswith("unit")}
    assert list(found) == ["unit lsu", "unit gmma", "unit tma"]
    assert sum(row["share"] for row in found.values()) == pytest.approx(100, abs=0.2)


@pytest.mark.parametrize("name", NAMES)
def test_timelines_have_products_and_copies(name: str) -> None:
    report = launched(name)[1]
    found: Counter[str] = Counter()
    timelines = report.timelines()
    for timeline in timelines.values():
        for warp in timeline.warps:
            for run in warp:
                for access in (each for at in run.steps for each in timeline.steps[at].accesses):
                    found[f"{access.unit} executed"] += run.times
                    found[f"{access.unit} cycles"] += run.times * (access.cycles or 0)
                    found[f"{access.unit} bytes"] += run.times * access.bytes
                    found[f"{access.unit} sectors"] += run.times * access.sectors
    times = report.grid[0] * report.grid[1] * report.grid[2] / len(timelines)
    totals = report.totals()
    assert times * found["gmma executed"] == totals["gmma"]["executed"]
    assert times * found["gmma cycles"] == totals["gmma"]["wavefronts"]
    assert times * found["tma executed"] == totals["tma"]["executed"]
    assert times * found["tma bytes"] == totals["tma"]["bytes"]
    assert times * found["tma sectors"] == totals["tma"]["sectors"]
