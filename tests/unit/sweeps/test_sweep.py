"""`sweep`: targets, grids, executors, results; what it refuses and what it keeps."""

from __future__ import annotations

import csv
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
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
    KernelError,
    Launch,
    MissingPackageError,
    OptionError,
    OutputError,
    SharedSite,
    StoreError,
    Sweep,
    TargetError,
    WarpAccess,
    count,
    kernels,
    replay,
    simulate,
    sweep,
)
from simulator.sweeps.targets import target_of
from tests.sweep_targets import dies_while, even_only, strided

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


@contextmanager
def processes(workers: int = 1) -> Iterator[Executor]:
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
        yield executor


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


# Grids


def test_axes_may_be_any_iterables() -> None:
    plain = sweep(simulate, {"lds": [64, 128], "pad": [0, 4], "warp_shape": ["4x8"]})
    lazy = sweep(
        simulate,
        {
            "lds": (bits for bits in (64, 128)),
            "pad": np.array([0, 4], dtype=np.uint8),
            "warp_shape": "4x8",
        },
    )
    assert lazy.to_dict() == plain.to_dict()
    assert {type(value) for value in lazy.columns()["pad"]} == {int}


def test_a_limit_takes_the_first() -> None:
    whole = sweep(strided, {"stride": range(40), "width": [4, 8, 16]})
    found = sweep(strided, {"stride": range(10**15), "width": [4, 8, 16]}, limit=100)
    assert found.combinations == 100
    assert found.rows() == whole.rows()[:100]
    assert sweep(strided, {"stride": range(3)}, limit=9).combinations == 3


@pytest.mark.parametrize(
    ("target", "grid", "options", "message"),
    [
        (simulate, {}, {}, "grid {} is empty"),
        (simulate, {"pad": []}, {}, "'pad' has no values: [] (accepted: at least one)"),
        (simulate, {"pad": range(5, 5)}, {}, "'pad' has no values: range(5, 5)"),
        (simulate, [("pad", [1])], {}, "grid [('pad', [1])] is no mapping"),
        (simulate, {1: [1]}, {}, "1 is no parameter's name"),
        (simulate, {"warp_shap": ["4x8"]}, {}, "'warp_shap': did you mean warp_shape"),
        (simulate, {"warp-shape": ["4x8"]}, {}, "'warp-shape': did you mean warp_shape"),
        (simulate, {"lds": {32, 64}}, {}, "the values of 'lds' are a set, which has no order"),
        (simulate, {"pad": itertools.count()}, {}, "'pad' has more than 1,000,000 values"),
        (
            simulate,
            {"pad": range(10**9), "lds": range(10**6)},
            {},
            "1,000,000,000,000,000 combinations, 1,000,000,000 pad x 1,000,000 lds"
            " (accepted: up to 10,000,000, or limit=N for the first N)",
        ),
        (simulate, {"pad": range(10**30)}, {}, "combinations"),
        (simulate, {"pad": 0}, {"limit": 0}, "limit 0 is no number of combinations"),
        (simulate, {"pad": 0}, {"limit": True}, "limit True is no number of combinations"),
        (strided, {"width": [4]}, {}, "strided needs stride in the grid"),
        (strided, {"stride": 1, "stried": 1}, {}, "strided has no parameter 'stried'"),
        ("leimao.v02", {"m": 64, "n": 64}, {}, "leimao.v02 needs k in the grid"),
        (
            "leimao.v02",
            {"m": 64, "n": 64, "k": 64, "bm": 1},
            {},
            "leimao.v02 has no parameter 'bm'",
        ),
        (lambda cycles: [], {"cycles": 1}, {}, "has a parameter called 'cycles', as a figure is"),
    ],
)
def test_bad_grids(target: Any, grid: Any, options: Any, message: str) -> None:
    with pytest.raises(GridError) as refused:
        sweep(target, grid, **options)
    assert message in str(refused.value)


def test_bad_targets() -> None:
    with pytest.raises(KernelError, match=r"unknown kernel 'junstar92.3d': did you mean"):
        sweep("junstar92.3d", {"m": 1})
    with pytest.raises(TargetError, match="7 is nothing to sweep"):
        sweep(7, {"m": 1})
    with pytest.raises(TargetError, match="f gives 17"):
        sweep(_named("f", lambda i: 17), {"i": 1})
    with pytest.raises(TargetError, match=r"f gives \[\('LDS',\)\]"):
        sweep(_named("f", lambda i: [("LDS",)]), {"i": 1})


def _named(name: str, function: Any) -> Any:
    function.__qualname__ = name
    return function


def test_a_failing_target_keeps_what_was_counted() -> None:
    def target(i: int) -> WarpAccess:
        if i == 90:
            raise ZeroDivisionError("by hand")
        return strided(i)

    with ThreadPoolExecutor(1) as one, pytest.raises(TargetError) as failed:
        sweep(target, {"i": range(100)}, executor=one)
    assert "failed at rule='silicon', i=90: ZeroDivisionError('by hand')" in str(failed.value)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    partial = failed.value.partial
    assert isinstance(partial, Sweep)
    assert not partial.complete
    assert partial.columns()["i"][:90] == list(range(90))
    assert 90 not in partial.columns()["i"]


# Executors


def test_every_executor_gives_the_same() -> None:
    plain = sweep(simulate, SMALL).to_dict()
    with ThreadPoolExecutor(3) as threads:
        assert sweep(simulate, SMALL, executor=threads).to_dict() == plain
    with processes(2) as pool:
        assert sweep(simulate, SMALL, executor=pool).to_dict() == plain
        kernel = sweep("leimao.v02", {"m": [64, 128], "n": 64, "k": 64}, executor=pool)
        assert kernel.columns()["wavefronts"] == [
            replay("leimao.v02", m=m, n=64, k=64).totals()["all"]["wavefronts"] for m in (64, 128)
        ]
        function = sweep(strided, {"stride": range(40)}, executor=pool)
        assert function.to_dict() == sweep(strided, {"stride": range(40)}).to_dict()


def test_dask() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        found = sweep(simulate, SMALL, executor=executor)
        assert found.to_dict() == sweep(simulate, SMALL).to_dict()


def test_an_executor_that_dies_midway(tmp_path: Path) -> None:
    flag, store = tmp_path / "flag", tmp_path / "store"
    flag.touch()
    grid = {"stride": range(100), "present": str(flag)}
    with processes() as pool, pytest.raises(ExecutorError, match="BrokenProcessPool") as died:
        sweep(dies_while, grid, executor=pool, store=store)
    partial = died.value.partial
    assert 0 < len(partial) <= 60
    assert partial.rows() == sweep(dies_while, grid, limit=len(partial)).rows()
    flag.unlink()
    told: list[int] = []
    again = sweep(dies_while, grid, store=store, progress=lambda done, total: told.append(done))
    assert told[0] == len(partial)  # nothing is done twice
    assert again.to_dict() == sweep(dies_while, grid).to_dict()


def test_executors_that_refuse() -> None:
    over = ThreadPoolExecutor(1)
    over.shutdown()
    with pytest.raises(ExecutorError, match="cannot schedule new futures after shutdown"):
        sweep(strided, {"stride": range(9)}, executor=over)
    with processes() as pool, pytest.raises(ExecutorError, match="a target that can be pickled"):
        sweep(lambda stride: strided(stride), {"stride": range(9)}, executor=pool)
    with pytest.raises(OptionError, match=r"executor 2 is none \(accepted: a concurrent.futures"):
        sweep(strided, {"stride": range(9)}, executor=2)  # type: ignore[arg-type]


class Strange(ThreadPoolExecutor):
    """Its third submit gives something else, made from the future."""

    def __init__(self, instead: Callable[[Any], Any]) -> None:
        super().__init__(1)
        self.instead, self.submitted = instead, 0

    def submit(self, *args: Any, **keywords: Any) -> Any:
        future = super().submit(*args, **keywords)
        self.submitted += 1
        return self.instead(future) if self.submitted == 3 else future


def done_with(result: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(result)
    return future


@pytest.mark.parametrize(
    ("instead", "said"),
    [
        (lambda future: None, "submit gave None, no concurrent.futures.Future"),
        (lambda future: future.result(), r"submit gave Chunk\(start="),
        (lambda future: done_with(None), "a future gave None, not what the submitted function"),
        (lambda future: done_with([future.result()]), r"a future gave \[Chunk\(start="),
    ],
)
def test_executors_that_give_something_else(instead: Any, said: str) -> None:
    with Strange(instead) as odd, pytest.raises(ExecutorError, match=said) as failed:
        sweep(strided, {"stride": range(640)}, executor=odd)
    assert not failed.value.partial.complete
    assert "accepted: a running executor" in str(failed.value)


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    sweep(even_only, {"stride": range(200)}, progress=lambda *each: told.append(each))
    assert told[0] == (0, 200)
    assert told[-1] == (200, 200)
    assert told == sorted(told)
    assert len(told) > 50


@pytest.mark.parametrize("progress", [None, "yes", 0])
def test_progress_that_is_none(progress: Any) -> None:
    with pytest.raises(OptionError, match=r"is none \(accepted: True, False, or a function"):
        sweep(even_only, {"stride": 1}, progress=progress)


# Stores


@pytest.mark.parametrize(
    ("target", "grid", "options", "said"),
    [
        (strided, {"stride": range(8)}, {}, "target function tests.sweep_targets.even_only"),
        (even_only, {"stride": range(9)}, {}, "grid stride 8 values"),
        (even_only, {"stride": range(1, 9)}, {}, "grid stride 8 values"),
        (even_only, {"stride": range(8)}, {"rule": "documented"}, "rule silicon, here documented"),
        (even_only, {"stride": range(8)}, {"limit": 7}, "combinations 8, here 7"),
        (simulate, {"pad": range(8)}, {}, "target function"),
    ],
)
def test_a_store_of_another_sweep_is_refused(
    tmp_path: Path, target: Any, grid: Any, options: Any, said: str
) -> None:
    store = tmp_path / "store"
    sweep(even_only, {"stride": list(range(8))}, store=store)
    before = store.read_bytes()
    sweep(even_only, {"stride": range(8)}, store=store)  # the same values are the same grid
    with pytest.raises(StoreError, match="holds another sweep") as refused:
        sweep(target, grid, store=store, **options)
    assert said in str(refused.value)
    assert store.read_bytes() == before


def test_a_store_of_another_version_or_format_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "store"
    sweep(even_only, {"stride": range(8)}, store=store)
    header, *rest = store.read_text().splitlines(keepends=True)
    for key, value in (("version", "0.0.1"), ("bankwise sweep", 99), ("surprise", 1)):
        store.write_text(json.dumps({**json.loads(header), key: value}) + "\n" + "".join(rest))
        with pytest.raises(StoreError, match=f"holds another sweep: {key} {value}, here"):
            sweep(even_only, {"stride": range(8)}, store=store)


def test_an_edited_function_is_another_one(tmp_path: Path) -> None:
    first = _named("f", lambda i: strided(i))
    second = _named("f", lambda i: strided(i + 1))
    sweep(first, {"i": range(8)}, store=tmp_path / "store")
    with pytest.raises(StoreError, match="target function"):
        sweep(second, {"i": range(8)}, store=tmp_path / "store")


def test_files_that_are_no_stores(tmp_path: Path) -> None:
    grid = {"stride": range(8)}
    for text in ("notes\n", "notes", "{}\n", "[1]\n{}\n"):
        notes = tmp_path / "notes"
        notes.write_text(text)
        with pytest.raises(StoreError, match="is no store of a sweep"):
            sweep(strided, grid, store=notes)
        assert notes.read_text() == text
    for place in (tmp_path, tmp_path / "missing" / "store"):
        with pytest.raises(StoreError, match="cannot be written"):
            sweep(strided, grid, store=place)
    with pytest.raises(GridError, match="which another run cannot recognise"):
        sweep(strided, {"stride": [1], "width": object()}, store=tmp_path / "new")


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("/dev/full", "store '/dev/full' is no file"),  # and reading it never ends
        ("/dev/null", "store '/dev/null' is no file"),
        ("", "store '' cannot be written"),
        ("a\0b", r"store 'a\x00b' is no path"),
        (5, "store 5 is no path"),
    ],
)
def test_a_store_is_a_file(store: Any, said: str) -> None:
    with pytest.raises(StoreError) as refused:
        sweep(strided, {"stride": range(8)}, store=store)
    assert said in str(refused.value)


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_store_that_is_deleted_during_the_sweep(tmp_path: Path, how: str) -> None:
    store = tmp_path / "store"

    def progress(done: int, total: int) -> None:
        if done < 100 or (tmp_path / "gone").exists():
            return
        (tmp_path / "gone").touch()
        if how == "deleted":
            store.unlink()
        else:
            (tmp_path / "new").write_text("mine")
            (tmp_path / "new").replace(store)

    with pytest.raises(StoreError, match="was deleted during the sweep") as gone:
        sweep(strided, {"stride": range(0, 800, 4)}, store=store, progress=progress)
    partial = gone.value.partial
    assert not partial.complete
    counted = partial.columns()["stride"]
    assert len(set(counted)) == len(counted) >= 100  # what was counted is kept
    assert how == "deleted" or store.read_text() == "mine"


def test_a_store_is_one_sweeps_at_a_time(tmp_path: Path) -> None:
    store = tmp_path / "store"

    def target(i: int) -> WarpAccess:
        with pytest.raises(StoreError, match="is in use by another sweep"):
            sweep(strided, {"stride": [1]}, store=store)
        return strided(i)

    assert sweep(target, {"i": range(2)}, store=store).complete


def test_a_full_disk_keeps_what_was_written(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")  # a limit on file sizes stands for the disk's
    store = tmp_path / "store"
    grid = {"stride": range(300)}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, before[1]))
    try:
        with pytest.raises(StoreError, match=r"cannot be written: File too large") as full:
            sweep(even_only, grid, store=store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert 0 < store.stat().st_size <= 3000
    assert store.read_bytes().endswith(b"\n")  # no torn line stays
    assert len(full.value.partial) > 0
    kept = len(store.read_bytes().splitlines()) - 1
    told: list[int] = []
    again = sweep(even_only, grid, store=store, progress=lambda done, total: told.append(done))
    assert told[0] == 4 * kept > 0  # chunks of 300 // 64
    assert again.to_dict() == sweep(even_only, grid).to_dict()


def test_a_finished_sweep_is_read_from_its_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    whole = sweep(simulate, SMALL, store=store)
    dead = ThreadPoolExecutor(1)
    dead.shutdown()  # it is not needed any more
    assert sweep(simulate, SMALL, store=store, executor=dead).to_dict() == whole.to_dict()


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
    with pytest.raises(OptionError, match="n 0 is no number of rows"):
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
