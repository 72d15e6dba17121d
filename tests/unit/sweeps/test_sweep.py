"""`sweep`: what is swept, which combinations there are, and what the result can do."""

from __future__ import annotations

import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from layouts import Swizzle
from simulator import (
    BankwiseError,
    ExecutorError,
    GridError,
    Kernel,
    Launch,
    MissingPackageError,
    OptionError,
    OutputError,
    SharedSite,
    StoreError,
    TargetError,
    WarpAccess,
    count,
    kernels,
    replay,
    simulate,
    sweep,
)
from simulator.sweeps.targets import target_of
from tests.sweep_targets import even_only, strided

SHAPES = ["1x32", "2x16", "4x8", "8x4", "16x2", "32x1"]
ORDERS = ["row-major", "col-major", "z-order"]
LARGE = {
    "warp_shape": SHAPES,
    "lane_order": ORDERS,
    "lds": [32, 64, 128],
    "pad": range(33),
    "fragment": ["contiguous", "split"],
}
SMALL = {"lane_order": ORDERS, "fragment": ["contiguous", "split"], "pad": range(8)}


# What is swept


def test_the_tutorials_layout_is_found() -> None:
    """猛猿, 从啥也不会到CUDA GEMM优化, https://zhuanlan.zhihu.com/p/703256080.

    Its z-order lanes with fragments in two halves read A and B in 4 + 4 wavefronts; row-major
    lanes with contiguous fragments spend 4 + 16.
    """
    found = sweep(simulate, {"lane_order": ORDERS, "fragment": ["contiguous", "split"]})
    (best,) = found.best()
    assert (best["lane_order"], best["fragment"], best["cycles"]) == ("z-order", "split", 8)
    rows = {(row["lane_order"], row["fragment"]): row["wavefronts"] for row in found.rows()}
    assert rows["row-major", "contiguous"] == 20


def test_a_large_sweep_skips_what_is_misaligned() -> None:
    found = sweep(simulate, LARGE)  # timed in tests/bench/sweeps.py
    assert found.combinations == 6 * 3 * 3 * 33 * 2
    # An LDS.64 needs rows of an even number of floats, an LDS.128 a multiple of four.
    assert len(found) == 6 * 3 * 2 * (33 + 17 + 9)
    assert [*found.skipped.values()] == [6 * 3 * 2 * 24, 6 * 3 * 2 * 16]


def test_a_kernel_is_replayed() -> None:
    grid = {"m": 128, "n": 256, "k": 64, "padding": [0, 4], "form": ["compiled", "written"]}
    for target in ("junstar92.warptiling", kernels.get("junstar92.warptiling")):
        found = sweep(target, grid)
        for row in found.rows():
            chosen = {name: row[name] for name in grid}
            report = replay("junstar92.warptiling", **chosen)
            assert {name: row[name] for name in report.totals()["all"]} == report.totals()["all"]
            assert row["sectors"] == report.global_totals()["all"]["sectors"]
        assert len(found) == 4
        assert found.best()[0]["wavefronts"] == min(found.columns()["wavefronts"])


def test_a_kernel_of_ones_own() -> None:
    def launch(m: int, n: int, k: int, *, pad: int = 0) -> Launch:
        site = SharedSite("tile[tid][0]", "load", lambda tid: tid * (32 + pad))
        return Launch((1, 1), (32, 1), (site,))

    mine = Kernel("mine", "", "", launch)
    found = sweep(mine, {"m": 32, "n": 32, "k": 32, "pad": [0, 1, 2]})
    assert found.columns()["wavefronts"] == [32, 1, 2]
    assert found.target == "mine"


@pytest.mark.parametrize(
    "accesses",
    [
        lambda: WarpAccess("LDS", tuple(range(0, 4096, 128)), 0xFFFF),
        lambda: ("LDS", list(range(0, 4096, 128)), 0xFFFF),
        lambda: [("LDS", np.arange(32) * 128, 0xFFFF)],
        lambda: (("LDS", np.arange(32) * 128, 0xFFFF) for _ in range(1)),
    ],
)
def test_a_function_gives_accesses_in_several_forms(accesses: Any) -> None:
    def target(i: int) -> Any:
        return accesses()

    (row,) = sweep(target, {"i": 0}).rows()
    assert row == {"i": 0, **count("LDS", np.arange(32) * 128, 0xFFFF).totals()}


def test_many_accesses_are_summed() -> None:
    def both(pad: int) -> list[Any]:
        lanes = np.arange(32)
        return [
            ("STS", lanes * 4),
            ("LDS", lanes * 4 * (32 + pad)),
            ("LDS", np.zeros((5, 32), int)),
        ]

    found = sweep(both, {"pad": [0, 1]})
    assert found.columns()["requests"] == [7, 7]
    assert found.columns()["wavefronts"] == [1 + 32 + 5, 1 + 1 + 5]
    assert found.columns()["n_way"] == [38 / 7, 1.0]


def test_the_rule_is_an_argument_or_an_axis() -> None:
    by_rule = sweep(simulate, {"rule": ["silicon", "documented"], "lane_order": "col-major"})
    assert by_rule.columns()["wavefronts"] == [12, 16]
    assert sweep(simulate, {"lds": 128}, rule="documented").columns()["wavefronts"] == [16]

    def reads(stride: int) -> WarpAccess:
        return WarpAccess("LDS.128", tuple(16 * stride * (lane // 2) for lane in range(32)))

    assert sweep(reads, {"stride": 1, "rule": ["silicon", "documented"]}).columns()["cycles"] == [
        2,
        4,
    ]

    def knows(stride: int, rule: str) -> WarpAccess:
        assert rule == "documented"
        return reads(stride)

    assert sweep(knows, {"stride": 1}, rule="documented").columns()["cycles"] == [4]
    with pytest.raises(OptionError, match="unknown rule 'silikon': did you mean silicon"):
        sweep(simulate, {"lds": 128}, rule="silikon")


def test_combinations_that_do_not_exist_are_skipped_and_their_reasons_counted() -> None:
    found = sweep(even_only, {"stride": range(10)})
    assert found.columns()["stride"] == [0, 2, 4, 6, 8]
    assert found.skipped == {"stride 1 is odd": 5}  # alike but for the number
    assert found.to_dict()["totals"] == {"combinations": 10, "counted": 5, "skipped": 5}
    found = sweep(lambda i: [], {"i": range(3)})
    assert (len(found), found.skipped) == (0, {"no accesses": 3})
    assert found.best(3) == []
    found = sweep(simulate, {"warp_shape": ["4x8", "4x9"], "lds": [64, 48], "pad": [0, 1]})
    assert sum(found.skipped.values()) == 7
    assert [reason.split()[0] for reason in found.skipped] == ["lds", "warp", "LDS.64"]


def test_large_geometries_are_counted_in_parts() -> None:
    combinations = [
        {"block_tile": block_tile, "thread_tile": thread_tile, "pad": pad, "lds": 32}
        for block_tile in ("16x16x1500", "64x64x8")
        for thread_tile in ("2x2", "2x1")
        for pad in range(9)
    ]
    target = target_of(simulate)
    counted = 0
    for combination, figures in zip(
        combinations,
        target.measure([{"rule": "silicon", **each} for each in combinations]),
        strict=True,
    ):
        if isinstance(figures, str):
            with pytest.raises(BankwiseError) as refused:
                simulate(**combination)
            assert str(refused.value) == figures
            continue
        report = simulate(**combination)
        totals = report.to_dict()["totals"]
        assert figures == tuple(totals[name] for name in target.figures)
        counted += report.instructions * int(report.block_tile.split("x")[2]) * 32
    assert counted > 1 << 20  # more than are counted at a time


# Results


def test_columns_rows_and_totals_agree() -> None:
    found = sweep(
        simulate, {**SMALL, "swizzle": [None, Swizzle(2, 2, 3), (1, 2, 3)], "pad": [(0, 4)]}
    )
    columns = found.columns()
    assert list(columns) == [*found.parameters, *found.figures]
    assert {len(column) for column in columns.values()} == {len(found)}
    assert columns["pad"][0] == [0, 4]
    assert set(map(str, columns["swizzle"])) == {"None", "Sw<2,2,3>", "[1, 2, 3]"}
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    frame = found.to_dataframe()
    assert isinstance(frame, pd.DataFrame)
    assert frame["cycles"].tolist() == columns["cycles"]
    assert "<table>" in found._repr_html_()
    columns["pad"].clear()
    assert len(found.columns()["pad"]) == len(found)


def test_a_data_frame_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match=r"pip install '\.\[pandas\]'"):
        sweep(strided, {"stride": 1}).to_dataframe()


def test_best_is_sorted_and_ties_are_broken_by_conflicts() -> None:
    found = sweep(simulate, SMALL)
    for by in found.figures:
        best = found.best(len(found) + 5, by=by)
        keys = [(row[by], row["bank_conflicts"], row["instructions"]) for row in best]
        assert keys == sorted(keys)
        assert len(best) == len(found)
    assert found.best(2) == found.best(2, by="cycles")
    with pytest.raises(OptionError, match="unknown figure 'cycle': did you mean cycles"):
        found.best(by="cycle")
    with pytest.raises(OptionError, match="n 0 is not a number of rows"):
        found.best(0)


def test_csv(tmp_path: Path) -> None:
    found = sweep(simulate, {"lane_order": ["z-order", list(range(32))], "pad": [0, (0, 4)]})
    found.to_csv(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["pad"] for row in rows] == ["0", "0 4", "0", "0 4"]
    assert [int(row["cycles"]) for row in rows] == found.columns()["cycles"]
    assert rows[2]["lane_order"] == " ".join(map(str, range(32)))


def test_text_that_no_file_can_hold(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    found = sweep(lambda text: strided(1), {"text": "\ud800"})
    for write in (found.to_csv, found.to_parquet):
        with pytest.raises(OutputError, match="rows cannot be written: 'utf-8' codec can't"):
            write(tmp_path / "rows")
    assert os.listdir(tmp_path) == []


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    found = sweep(simulate, {"swizzle": [None, (2, 2, 3)], "pad": [0, (0, 4)], "lds": [64, 128]})
    found.to_parquet(tmp_path / "rows.parquet")
    table = parquet.read_table(tmp_path / "rows.parquet").to_pydict()
    assert table["cycles"] == found.columns()["cycles"]
    assert table["lds"] == found.columns()["lds"]
    assert set(table["pad"]) == {"0", "0 4"}
    assert set(table["swizzle"]) == {None, "2 2 3"}
    huge = sweep("leimao.v02", {"m": 2**20, "n": 2**30, "k": 2**30})
    huge.to_parquet(tmp_path / "rows.parquet")
    (requests,) = parquet.read_table(tmp_path / "rows.parquet").to_pydict()["requests"]
    assert int(requests) == huge.columns()["requests"][0] > 2**63


def test_files_appear_whole_or_not_at_all(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    found = sweep(even_only, {"stride": range(2000)})
    place = tmp_path / "rows.csv"
    place.write_text("before")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, before[1]))
    try:
        with pytest.raises(OutputError, match=r"rows.csv cannot be written: File too large"):
            found.to_csv(place)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert place.read_text() == "before"
    assert os.listdir(tmp_path) == ["rows.csv"]
    found.to_csv(place)
    assert len(place.read_text().splitlines()) == 1 + len(found)
    for bad in (tmp_path, tmp_path / "missing" / "rows.csv", ""):
        with pytest.raises(OutputError):
            found.to_csv(bad)


def test_errors_are_bankwise_errors() -> None:
    for error in (ExecutorError, GridError, OutputError, StoreError, TargetError):
        assert issubclass(error, BankwiseError)
