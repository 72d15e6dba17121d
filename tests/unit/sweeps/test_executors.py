"""Executors: all give the same, and one that dies or refuses leaves what was counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from simulator import (
    ExecutorError,
    OptionError,
    replay,
    simulate,
    sweep,
)
from tests.sweep_targets import dies_while, even_only, strided

ORDERS = ["row-major", "col-major", "z-order"]
SMALL = {"lane_order": ORDERS, "fragment": ["contiguous", "split"], "pad": range(8)}


@contextmanager
def processes(workers: int = 1) -> Iterator[Executor]:
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
        yield executor


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
    with pytest.raises(OptionError, match=r"2 is not an executor \(accepted: a concurrent.futures"):
        sweep(strided, {"stride": range(9)}, executor=2)  # type: ignore[arg-type]


def test_an_executor_ends_behind_what_was_cancelled() -> None:
    # Pythons before 3.11.3 do not: 3 to 9 of 20 such executors waited for ever.
    for count in (9, 640) * 5:
        pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        with pytest.raises(ExecutorError, match="a target that can be pickled"):
            sweep(lambda stride: strided(stride), {"stride": range(count)}, executor=pool)
        end = Thread(target=pool.shutdown, daemon=True)
        end.start()
        end.join(60)
        ended = not end.is_alive()
        for process in (pool._processes or {}).values():
            process.kill()  # or this process would wait for them when it ends
        assert ended


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
        (lambda future: None, r"submit returned None .accepted: a concurrent.futures.Future"),
        (lambda future: future.result(), r"submit returned Chunk\(start="),
        (
            lambda future: done_with(None),
            "a future of the executor holds None .accepted: what",
        ),
        (
            lambda future: done_with([future.result()]),
            r"future of the executor holds \[Chunk\(start=",
        ),
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
    with pytest.raises(OptionError, match=r"progress .* \(accepted: True, False, or a"):
        sweep(even_only, {"stride": 1}, progress=progress)
