"""Laws of sweeps: a grid is a product, a row its target's answer, interruptions leave no trace."""

from __future__ import annotations

import itertools
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import BankwiseError, StoreError, simulate, sweep
from simulator.sweeps.grid import Grid
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


@settings(max_examples=30)
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


@settings(max_examples=40)
@given(st.floats(0, 1))
def test_a_store_torn_anywhere_is_continued(part: float) -> None:
    whole = sweep(even_only, STRIDES)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        sweep(even_only, STRIDES, store=store)
        written = store.read_bytes()
        store.write_bytes(written[: int(part * len(written))])
        again = sweep(even_only, STRIDES, store=store)
        assert again.to_dict() == whole.to_dict()
        assert again.skipped == whole.skipped
        # Nothing lost, nothing doubled: the file holds each chunk once, as it did before.
        assert sorted(store.read_bytes().splitlines()) == sorted(written.splitlines())


@settings(max_examples=40)
@given(st.floats(0, 1, exclude_max=True), st.sampled_from(b"{x\0"))
def test_a_store_damaged_anywhere_is_refused_or_recounted(part: float, byte: int) -> None:
    whole = sweep(even_only, STRIDES)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        sweep(even_only, STRIDES, store=store)
        written = bytearray(store.read_bytes())
        place = int(part * len(written))
        written[place] = byte
        store.write_bytes(written)
        try:
            again = sweep(even_only, STRIDES, store=store)
        except StoreError:
            assert bytes(written) == store.read_bytes()
        else:
            assert again.columns() == whole.columns()
            assert sum(again.skipped.values()) == sum(whole.skipped.values())


@given(st.integers(1, 99), st.integers(1, 99), st.sampled_from([4, 8, 16]))
@settings(max_examples=20)
def test_a_swept_function_costs_what_count_says(first: int, last: int, width: int) -> None:
    from simulator import count

    swept = sweep(strided, {"stride": range(first, first + last), "width": width})
    for row in swept.rows():
        counts = count(*strided(row["stride"], width)).totals()
        assert {name: row[name] for name in swept.figures} == counts


def test_the_laws_above_notice_a_lost_chunk() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        whole = sweep(even_only, STRIDES, store=store)
        lines = store.read_bytes().splitlines(keepends=True)
        store.write_bytes(b"".join(lines[:1] + lines[2:]))  # a chunk is missing: it is recounted
        assert sweep(even_only, STRIDES, store=store).columns() == whole.columns()
        store.write_bytes(b"".join(lines + lines[1:3]))  # and one that is there twice counts once
        assert sweep(even_only, STRIDES, store=store).columns() == whole.columns()
        store.write_bytes(b"".join([*lines[:2], b"{}\n", *lines[2:]]))
        with pytest.raises(StoreError, match="is damaged in line 3 of"):
            sweep(even_only, STRIDES, store=store)
