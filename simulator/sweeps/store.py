"""A sweep's store: the chunks that are done, in an SQLite database, so that it can be continued.

The table `sweep` says what is swept, a row per key. The table `chunks` has a row per chunk of the
grid: its first combination, the figures of those that exist, how many do not and why, and a
checksum. A database does not notice a digit that its disk has changed.

SQLite locks the file against other sweeps and keeps a transaction whole or not at all. It puts a
file right that a killed process has left. A transaction waits for the disk twice, so there are a
few of them per second, and not one per chunk: a process that is killed loses the last moment's
work.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from zlib import crc32

from simulator.errors import StoreError
from simulator.sweeps.targets import Figures

__all__ = ["Chunk", "Store"]

FORMAT = 2
"""Number of this format: a store of another one is refused."""

_CHUNKS = "SELECT start, outcome, crc32 FROM chunks"  # by name: SQLite says which is missing
_APPLICATION = 0x62616E6B  # "bank": what SQLite keeps in a file to say whose it is
_SECONDS = 0.25  # between transactions
_OF_LINES = b'{"bankwise sweep":'  # how stores of format 1 begin
_ANOTHER = "(accepted: another file)"


class Chunk(NamedTuple):
    """The outcome of neighbouring combinations, the first of which is number `start`."""

    start: int
    rows: list[tuple[int, Figures]]
    """(number of the combination, its figures)"""
    skipped: list[tuple[int, int, str]]
    """(number of the first such combination, how many, why)"""


class Store:
    """The file at `path`, made if need be, and locked against other sweeps until it is left.

    `described` says what is swept, in plain values; `size` is the chunks' size, `total` the
    number of combinations, `figures` the number of figures in a row.

    Raises StoreError for a file of something else or of another sweep, one that is damaged or in
    use, and one that cannot be written. None of them is changed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        described: Mapping[str, Any],
        *,
        size: int,
        total: int,
        figures: int,
    ) -> None:
        self._name = str(path)
        self._size, self._total, self._figures = size, total, figures
        self._place = self._checked(path)
        self._due = 0.0  # when the next transaction ends
        header = {"bankwise sweep": FORMAT, **described, "chunk": size, "combinations": total}
        with self._refusing():
            # In autocommit mode, where nothing but BEGIN opens a transaction.
            self._database = sqlite3.connect(self._place, timeout=0, isolation_level=None)
        try:
            with self._refusing():
                self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._database.execute("BEGIN EXCLUSIVE")
            self.chunks = self._read(json.loads(json.dumps(header)))
            """The chunks that are done, by their start."""
            self._file = _identity(self._place)
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with self._refusing():
                self._commit()
        except StoreError:
            if error is None:
                raise
        finally:
            self._close()

    def append(self, chunk: Chunk) -> None:
        """Keep a chunk.

        Raises StoreError if the disk is full, or the file was deleted in the meantime; what an
        earlier transaction kept stays in it.
        """
        if _identity(self._place) != self._file:  # what is written now would be lost with it
            self._database.rollback()
            raise StoreError(
                f"store {self._name!r} was deleted during the sweep (next: run the sweep again,"
                " and keep the file)"
            )
        outcome = json.dumps({"rows": chunk.rows, "skipped": chunk.skipped}, separators=(",", ":"))
        row = chunk.start, outcome, _checksum(chunk.start, outcome)
        with self._refusing():
            if not self._database.in_transaction:
                self._database.execute("BEGIN")
            self._database.execute("INSERT OR REPLACE INTO chunks VALUES (?, ?, ?)", row)
            if time.monotonic() >= self._due:
                self._commit()

    def _commit(self) -> None:
        self._database.commit()
        self._due = time.monotonic() + _SECONDS

    def _close(self) -> None:
        with suppress(sqlite3.Error):
            self._database.rollback()
        self._database.close()

    def _checked(self, path: str | os.PathLike[str]) -> str:
        """Return where the file is, or is to be: SQLite has names of its own, such as ""."""
        try:
            place = os.fsdecode(path)
            if "\0" in place:
                raise ValueError("a path ends at a NUL")
        except (TypeError, ValueError) as error:
            raise StoreError(f"store {path!r} is not a path (accepted: a file's path)") from error
        place = os.path.abspath(place)
        with suppress(OSError):
            mode = os.stat(place).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a device never ends
                raise StoreError(f"store {self._name!r} is not a file (accepted: a file's path)")
        return place

    def _read(self, header: Mapping[str, Any]) -> dict[int, Chunk]:
        """Read what is done. Nothing is written but to an empty file."""
        with self._refusing():
            if os.stat(self._place).st_size == 0:
                self._begin(header)
                return {}
            if self._value("PRAGMA application_id") != _APPLICATION:
                raise StoreError(f"{self._name!r} is not a store of a sweep {_ANOTHER}")
        try:
            found = self._value("PRAGMA quick_check(1)")
            if found != "ok":
                raise sqlite3.DatabaseError(found)
            kept = dict(self._database.execute("SELECT key, value FROM sweep"))
            self._compare({key: _parsed(value) for key, value in kept.items()}, header)
            chunks: dict[int, Chunk] = {}
            for start, outcome, checksum in self._database.execute(_CHUNKS):
                chunk = self._chunk(start, outcome, checksum)
                if chunk is None:
                    raise StoreError(
                        f"store {self._name!r} is damaged in the chunk of combination {start}"
                        " (accepted: another file, or this one without that row of `chunks`)"
                    )
                chunks[chunk.start] = chunk
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            raise StoreError(f"store {self._name!r} is damaged: {error} {_ANOTHER}") from error
        return chunks

    def _begin(self, header: Mapping[str, Any]) -> None:
        run = self._database.execute
        run(f"PRAGMA application_id = {_APPLICATION}")
        run("CREATE TABLE sweep (key TEXT, value TEXT)")
        run("CREATE TABLE chunks (start INTEGER PRIMARY KEY, outcome TEXT, crc32 INTEGER)")
        for key, value in header.items():
            run("INSERT INTO sweep VALUES (?, ?)", (key, json.dumps(value)))
        self._database.commit()

    def _value(self, query: str) -> Any:
        (value,) = self._database.execute(query).fetchone()
        return value

    def _compare(self, found: Mapping[str, Any], header: Mapping[str, Any]) -> None:
        for key in {**header, **found}:
            mine, other = header.get(key), found.get(key)
            if mine == other:
                continue
            if key == "grid" and isinstance(other, list):
                axes = zip_longest(header[key], other)
                mine, other = next(pair for pair in axes if pair[0] != pair[1])
            raise StoreError(
                f"store {self._name!r} holds another sweep: {key} {_said(other)}, here"
                f" {_said(mine)} (accepted: the same sweep by the same version, or another file)"
            )

    def _chunk(self, start: Any, outcome: Any, checksum: Any) -> Chunk | None:
        """Return the chunk of a row, or None unless it is as it was written, and this sweep's."""
        try:
            if _checksum(start, outcome) != checksum:
                return None
            found = json.loads(outcome)
            chunk = Chunk(
                start,
                [(number, tuple(figures)) for number, figures in found["rows"]],
                [(number, many, str(reason)) for number, many, reason in found["skipped"]],
            )
            stop = min(chunk.start + self._size, self._total)
            places = [number for number, _ in chunk.rows]
            fits = (
                chunk.start in range(0, self._total, self._size)
                and len(places) + sum(many for _, many, _ in chunk.skipped) == stop - chunk.start
                and len(set(places)) == len(places)
                and all(chunk.start <= number < stop for number in places)
                and all(len(figures) == self._figures for _, figures in chunk.rows)
                and all(type(each) in (int, float) for _, row in chunk.rows for each in row)
            )
        except (KeyError, TypeError, ValueError, RecursionError):
            return None
        return chunk if fits else None

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Raise errors of SQLite and of the system as StoreErrors that say what to do."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self._refused(error) from error

    def _refused(self, error: sqlite3.Error | OSError) -> StoreError:
        code = getattr(error, "sqlite_errorcode", None)
        code = None if code is None else code & 0xFF  # the rest of it says more
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreError(
                f"store {self._name!r} is in use by another sweep"
                " (next: wait for it, or choose another store)"
            )
        why = getattr(error, "strerror", None) or str(error)
        if code == sqlite3.SQLITE_NOTADB:
            with suppress(OSError), Path(self._place).open("rb") as file:
                if file.read(len(_OF_LINES)) == _OF_LINES:
                    return StoreError(
                        f"store {self._name!r} has format 1, lines of text, which this version does"
                        " not read (accepted: another file; its combinations are counted again)"
                    )
            return StoreError(f"{self._name!r} is not a store of a sweep {_ANOTHER}")
        if code == sqlite3.SQLITE_CORRUPT:
            return StoreError(f"store {self._name!r} is damaged: {why} {_ANOTHER}")
        if code == sqlite3.SQLITE_CANTOPEN:
            try:  # the system knows why
                os.close(os.open(self._place, os.O_RDWR))
            except OSError as system:
                why = system.strerror or why
        return StoreError(
            f"store {self._name!r} cannot be written: {why} (what it holds is kept;"
            " accepted: a file that can be written, on a disk with room)"
        )


def _identity(place: str) -> tuple[int, int] | None:
    """Return what tells the file at a path from any other; None where there is none."""
    try:
        found = os.stat(place)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _checksum(start: int, outcome: str) -> int:
    return crc32(f"{start} {outcome}".encode())


def _said(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return text
