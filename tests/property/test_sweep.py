"""Laws of sweeps: a grid is a product, a row its target's answer, interruptions leave no trace."""

from __future__ import annotations

import itertools
import math
import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import BankwiseError, StoreError, Sweep, simulate, sweep
from simulator.sweeps.grid import Grid
from tests.examples import examples
from tests.sweep_targets import even_only, strided

values = st.lists(st.integers(0, 99) | st.text(max_size=3), min_size=1, max_size=4)
grids = st.dictionaries(st.sampled_from("abcde"), values, min_size=1)


@given(grids, st.data())
def test_a_grid_is_the_product_of_its_axes(axes: dict[str, Any], data: st.DataObject) -> None:
    grid = Grid.of(axes, accepted_names=None)
    product = [dict(zip(axes, each, strict=True)) for each in itertools.product(*axes.values())]
    assert grid.size == len(product) == grid.limited(None)
    start = data.draw(st.integers(0, grid.size))
    stop = data.draw(st.integers(start, grid.size))
    assert grid.between(start, stop) == product[start:stop]


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=5), st.data())
def test_any_place_of_a_huge_grid_is_found(lengths: list[int], data: st.DataObject) -> None:
    axes = {str(axis): range(length) for axis, length in enumerate(lengths)}
    grid = Grid.of(axes, accepted_names=None)
    assert grid.size == math.prod(lengths)
    index = data.draw(st.integers(0, grid.size - 1))
    (found,) = grid.between(index, index + 1)
    place = 0
    for length, digit in zip(lengths, found.values(), strict=True):
        place = place * length + digit
    assert place == index


geometries = st.fixed_dictionaries(
    {
        "warp_shape": st.lists(st.sampled_from(["1x32", "4x8", (8, 4), "32x1", "4x9"]), min_size=1),
        "pad": st.lists(st.integers(-1, 8) | st.tuples(*[st.integers(0, 8)] * 2), min_size=1),
    },
    optional={
        "lane_order": st.lists(
            st.sampled_from(["row-major", "z-order", "(4,8):(8,1)"]) | st.permutations(range(32)),
            min_size=1,
        ),
        "lds": st.lists(st.sampled_from([32, 64, 128]), min_size=1),
        "thread_tile": st.lists(st.sampled_from(["8x8", "4x2", "1x1"]), min_size=1),
        "fragment": st.lists(st.sampled_from(["contiguous", "split"]), min_size=1),
        "a_layout": st.lists(st.sampled_from(["transposed", "row-major"]), min_size=1),
        "swizzle": st.lists(st.sampled_from([None, (3, 3, 3), "Sw<2,2,3>"]), min_size=1),
        "element": st.lists(st.sampled_from([1, 2, 4]), min_size=1),
        "rule": st.lists(st.sampled_from(["silicon", "documented"]), min_size=1),
    },
)


@settings(max_examples=examples(30))
@given(geometries)
def test_a_row_is_what_simulate_says(grid: dict[str, list[Any]]) -> None:
    swept = sweep(simulate, grid, limit=200)
    expected, refused = [], 0
    for each in itertools.islice(itertools.product(*grid.values()), 200):
        try:
            report = simulate(**dict(zip(grid, each, strict=True)))
        except BankwiseError:
            refused += 1
        else:
            expected.append(report.to_dict()["totals"])
    assert [{name: row[name] for name in swept.figures} for row in swept.rows()] == expected
    assert sum(swept.skipped.values()) == refused
    assert swept.complete


STRIDES = {"stride": range(1, 200)}


@cache
def finished() -> tuple[Sweep, bytes]:
    """A sweep, and the bytes of its store."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        return sweep(even_only, STRIDES, store=store), store.read_bytes()


def rows(store: Path) -> list[Any]:
    with closing(sqlite3.connect(store)) as database:
        return database.execute("SELECT * FROM chunks ORDER BY start").fetchall()


def refused_or_recounted(store: Path) -> None:
    """A store is either left as it is, or the whole sweep is there, each chunk once."""
    whole, _ = finished()
    before = store.read_bytes()
    try:
        again = sweep(even_only, STRIDES, store=store)
    except StoreError:
        assert store.read_bytes() == before
        return
    assert again.to_dict() == whole.to_dict()
    assert again.skipped == whole.skipped
    assert [start for start, _, _ in rows(store)] == list(range(0, 199, 3))


@settings(max_examples=examples(60))
@given(st.floats(0, 1))
def test_a_store_torn_anywhere_is_refused_or_recounted(part: float) -> None:
    _, written = finished()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        store.write_bytes(written[: int(part * len(written))])
        refused_or_recounted(store)


@settings(max_examples=examples(100))
@given(st.floats(0, 1, exclude_max=True), st.sampled_from(b"{x\0") | st.integers(0, 255))
def test_a_store_damaged_anywhere_is_refused_or_recounted(part: float, byte: int) -> None:
    _, written = finished()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        place = int(part * len(written))
        store.write_bytes(written[:place] + bytes([byte]) + written[place + 1 :])
        refused_or_recounted(store)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=64)),
                min_size=1, max_size=4))  # fmt: skip
def test_a_store_with_random_bytes_is_refused_or_recounted(
    damages: list[tuple[float, bytes]],
) -> None:
    _, written = finished()
    damaged = bytearray(written)
    for part, noise in damages:
        place = int(part * len(written))
        damaged[place : place + len(noise)] = noise
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        store.write_bytes(damaged[: len(written)])
        refused_or_recounted(store)


@settings(max_examples=examples(40))
@given(st.floats(0, 1))
def test_a_transaction_torn_anywhere_leaves_what_was_before(part: float) -> None:
    """A process that is killed in the middle of one leaves a journal, perhaps not all of it."""
    whole, written = finished()
    with tempfile.TemporaryDirectory() as folder:
        store, killed = Path(folder) / "store", Path(folder) / "killed"
        store.write_bytes(written)
        with closing(sqlite3.connect(store, isolation_level=None)) as database:
            database.execute("PRAGMA cache_size = 1")  # so that it writes before the end
            database.execute("BEGIN")
            database.execute("UPDATE chunks SET outcome = replace(outcome, '2', '3')")
            killed.write_bytes(store.read_bytes())
            journal = Path(f"{store}-journal").read_bytes()
        assert killed.read_bytes() != written
        Path(f"{killed}-journal").write_bytes(journal[: int(part * len(journal))])
        try:
            again = sweep(even_only, STRIDES, store=killed)
        except StoreError:
            assert part < 1
        else:
            assert again.to_dict() == whole.to_dict()


@given(st.integers(1, 99), st.integers(1, 99), st.sampled_from([4, 8, 16]))
@settings(max_examples=examples(20))
def test_a_swept_function_costs_what_count_says(first: int, last: int, width: int) -> None:
    from simulator import count

    swept = sweep(strided, {"stride": range(first, first + last), "width": width})
    for row in swept.rows():
        counts = count(*strided(row["stride"], width)).totals()
        assert {name: row[name] for name in swept.figures} == counts


def test_the_laws_above_notice_a_lost_chunk() -> None:
    whole, written = finished()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        store.write_bytes(written)
        with closing(sqlite3.connect(store)) as database, database:
            database.execute("DELETE FROM chunks WHERE start = 3")  # it is recounted
        told: list[int] = []
        again = sweep(even_only, STRIDES, store=store, progress=lambda done, _: told.append(done))
        assert (told[0], told[-1]) == (196, 199)
        assert again.columns() == whole.columns()
        with closing(sqlite3.connect(store)) as database:
            with pytest.raises(sqlite3.IntegrityError), database:  # none is there twice
                database.execute("INSERT INTO chunks SELECT * FROM chunks WHERE start = 3")
            with database:
                database.execute("UPDATE chunks SET outcome = '{}' WHERE start = 3")
        with pytest.raises(StoreError, match="is damaged in the chunk of combination 3 "):
            sweep(even_only, STRIDES, store=store)
