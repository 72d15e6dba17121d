"""Stores: whose they are, who may use them, and what survives."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from simulator import (
    GridError,
    StoreError,
    WarpAccess,
    simulate,
    sweep,
)
from tests.sweep_targets import even_only, named, strided

ORDERS = ["row-major", "col-major", "z-order"]
STRIDES = {"stride": range(1, 200)}
SMALL = {"lane_order": ORDERS, "fragment": ["contiguous", "split"], "pad": range(8)}


@contextmanager
def opened(store: Path) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(store)
    try:
        with database:
            yield database
    finally:
        database.close()


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
    for key, value in (("version", "0.0.1"), ("bankwise sweep", 99), ("surprise", 1)):
        other = tmp_path / key
        other.write_bytes(store.read_bytes())
        with opened(other) as database:
            database.execute("DELETE FROM sweep WHERE key = ?", (key,))
            database.execute("INSERT INTO sweep VALUES (?, ?)", (key, json.dumps(value)))
        with pytest.raises(StoreError, match=f"holds another sweep: {key} {value}, here"):
            sweep(even_only, {"stride": range(8)}, store=other)


def test_a_store_of_format_1_is_refused_by_name(tmp_path: Path) -> None:
    """Before SQLite a store was lines of JSON, a chunk each."""
    store = tmp_path / "store"
    text = '{"bankwise sweep":1,"version":"0.1.0","target":"simulate","chunk":1}\n{"start":0}\n'
    store.write_text(text)
    with pytest.raises(StoreError) as refused:
        sweep(even_only, {"stride": range(8)}, store=store)
    assert "has format 1, lines of text, which this version does not read" in str(refused.value)
    assert "accepted: another file; its combinations are counted again" in str(refused.value)
    assert store.read_text() == text
    assert os.listdir(tmp_path) == ["store"]


def test_an_edited_function_is_another_one(tmp_path: Path) -> None:
    first = named("f", lambda i: strided(i))
    second = named("f", lambda i: strided(i + 1))
    sweep(first, {"i": range(8)}, store=tmp_path / "store")
    with pytest.raises(StoreError, match="target function"):
        sweep(second, {"i": range(8)}, store=tmp_path / "store")


def test_files_that_are_no_stores(tmp_path: Path) -> None:
    grid = {"stride": range(8)}
    for text in ("notes\n", "notes", "{}\n", "[1]\n{}\n"):
        notes = tmp_path / "notes"
        notes.write_text(text)
        with pytest.raises(StoreError, match="is not a store of a sweep"):
            sweep(strided, grid, store=notes)
        assert notes.read_text() == text
    with opened(tmp_path / "other") as other:  # a database of something else
        other.execute("CREATE TABLE sweep (key, value)")
    before = (tmp_path / "other").read_bytes()
    with pytest.raises(StoreError, match="is not a store of a sweep"):
        sweep(strided, grid, store=tmp_path / "other")
    assert (tmp_path / "other").read_bytes() == before
    for place, why in (
        (tmp_path, "Is a directory"),
        (tmp_path / "missing" / "store", "No such file or directory"),
    ):
        with pytest.raises(StoreError, match=f"cannot be written: {why}"):
            sweep(strided, grid, store=place)
    with pytest.raises(GridError, match="which a later run cannot compare"):
        sweep(strided, {"stride": [1], "width": object()}, store=tmp_path / "new")


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("/dev/full", "store '/dev/full' is not a file"),  # and reading it never ends
        ("/dev/null", "store '/dev/null' is not a file"),
        ("", "store '' cannot be written"),
        ("a\0b", r"store 'a\x00b' is not a path"),
        (5, "store 5 is not a path"),
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


def test_two_processes_do_not_share_a_store(tmp_path: Path) -> None:
    """A second one is refused while the first runs, and goes on from there after it."""
    store = tmp_path / "store"
    code = "import sys; from tests.sweep_targets import sweep_strides; sweep_strides(sys.argv[1])"
    other = [sys.executable, "-c", code, str(store)]
    tried: list[str] = []

    def progress(done: int, total: int) -> None:
        if done and not tried:
            refused = subprocess.run(other, capture_output=True, text=True, check=False)
            tried.append(refused.stderr)

    whole = sweep(even_only, STRIDES, store=store, progress=progress)
    assert "is in use by another sweep (next: wait for it, or choose another store)" in tried[0]
    done = subprocess.run(other, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == whole.to_dict()


@pytest.mark.parametrize("moment", [0.0, 0.03, 0.1])
def test_a_sweep_killed_at_any_moment_is_continued(tmp_path: Path, moment: float) -> None:
    store = tmp_path / "store"
    code = (
        "import sys; from tests.sweep_targets import sweep_strides;"
        " sweep_strides(sys.argv[1], every_chunk=True, tell=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(store)], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.read(1)  # it has begun
        time.sleep(moment)
        run.kill()
    told: list[int] = []
    again = sweep(even_only, STRIDES, store=store, progress=lambda done, _: told.append(done))
    assert again.to_dict() == sweep(even_only, STRIDES).to_dict()
    assert told[0] > 0  # not from the beginning
    # SQLite removes a journal that was only begun when it writes next: not where all was kept.
    left = {"store-journal"} if len(set(told)) == 1 else set()
    assert {*os.listdir(tmp_path)} - left == {"store"}


def test_a_full_disk_keeps_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")  # a limit on file sizes stands for the disk's
    monkeypatch.setattr("simulator.sweeps.store._SECONDS", 0)
    store = tmp_path / "store"
    grid = {"stride": range(3200)}  # chunks of 32
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, before[1]))
    try:
        with pytest.raises(StoreError, match=r"cannot be written: .*on a disk with room") as full:
            sweep(even_only, grid, store=store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert 0 < store.stat().st_size <= 30_000
    assert len(full.value.partial) > 0
    with opened(store) as database:
        ((kept,),) = database.execute("SELECT count(*) FROM chunks")
    told: list[int] = []
    again = sweep(even_only, grid, store=store, progress=lambda done, total: told.append(done))
    assert told[0] == 32 * kept > 0
    assert again.to_dict() == sweep(even_only, grid).to_dict()


@pytest.mark.parametrize(
    ("column", "damage"),
    [
        ("outcome", "replace(outcome, '2', '3')"),  # digits, and the JSON is as good as before
        ("outcome", "'{}'"),
        ("outcome", "NULL"),
        ("outcome", "7"),
        ("outcome", "x'ff'"),
        ("crc32", "crc32 + 1"),
        ("crc32", "'crc'"),
        ("start", "start + 1"),
        ("start", "start + 3000"),
    ],
)
def test_a_damaged_row_is_never_used(tmp_path: Path, column: str, damage: str) -> None:
    store = tmp_path / "store"
    whole = sweep(even_only, STRIDES, store=store)
    with opened(store) as database:
        database.execute(f"UPDATE chunks SET {column} = {damage} WHERE start = 3")  # noqa: S608
    before = store.read_bytes()
    with pytest.raises(StoreError, match="is damaged") as refused:
        sweep(even_only, STRIDES, store=store)
    assert store.read_bytes() == before
    if column != "start":
        assert "in the chunk of combination 3 (accepted: another file" in str(refused.value)
        with opened(store) as database:
            database.execute("DELETE FROM chunks WHERE start = 3")  # as the message says
        assert sweep(even_only, STRIDES, store=store).to_dict() == whole.to_dict()


def test_chunks_without_a_column_are_refused(tmp_path: Path) -> None:
    store = tmp_path / "store"
    sweep(strided, {"stride": range(8)}, store=store)
    with opened(store) as database:
        database.execute("ALTER TABLE chunks DROP COLUMN crc32")
    with pytest.raises(StoreError, match="is damaged: no such column: crc32"):
        sweep(strided, {"stride": range(8)}, store=store)


def test_a_finished_sweep_is_read_from_its_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    whole = sweep(simulate, SMALL, store=store)
    dead = ThreadPoolExecutor(1)
    dead.shutdown()  # it is not needed any more
    assert sweep(simulate, SMALL, store=store, executor=dead).to_dict() == whole.to_dict()
