"""A sweep's store: the chunks that are done, one a line, so that it can be continued.

The first line says what is swept. Each further line is one chunk of the grid: its first
combination, the figures of those that exist, and how many do not and why. Lines are only ever
appended. A process that is killed in the middle of one leaves a torn last line, which the next
run cuts off; nothing else is ever rewritten, and a chunk that two lines hold is read once.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Mapping
from itertools import zip_longest
from types import TracebackType
from typing import Any, NamedTuple

from simulator.errors import StoreError
from simulator.sweeps.targets import Figures

__all__ = ["Chunk", "Store"]

FORMAT = 1
"""Number of this format: a store of another one is refused."""


class Chunk(NamedTuple):
    """The outcome of neighbouring combinations, the first of which is number `start`."""

    start: int
    rows: list[tuple[int, Figures]]
    """(number of the combination, its figures)"""
    skipped: list[tuple[int, int, str]]
    """(number of the first such combination, how many, why)"""


class Store:
    """The file at `path`, made if need be, open for appending and locked against other runs.

    `described` says what is swept, in plain values; `size` is the chunks' size, `total` the
    number of combinations, `figures` the number of figures in a row.
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
        header = {"bankwise sweep": FORMAT, **described, "chunk": size, "combinations": total}
        first = _line(header)
        try:
            self._fd = os.open(
                os.fsdecode(path), os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666
            )
        except OSError as error:
            raise self._refused(error) from error
        except (TypeError, ValueError) as error:  # no path, or one with a NUL
            raise StoreError(f"store {path!r} is no path (accepted: a file's path)") from error
        try:
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):  # a device never ends
                raise StoreError(f"store {self._name!r} is no file (accepted: a file's path)")
            self._lock()
            self.chunks = self._read(header, first)
            """The chunks that are done, by their start."""
        except BaseException:
            os.close(self._fd)
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
            os.fsync(self._fd)
        except OSError as failed:
            if error is None:
                raise self._refused(failed) from failed
        finally:
            os.close(self._fd)

    def append(self, chunk: Chunk) -> None:
        """Keep a chunk. Raises StoreError if the disk is full; the chunks before it are kept."""
        self._write(_line(chunk._asdict()))

    def _lock(self) -> None:
        if sys.platform == "win32":
            return
        import fcntl

        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"store {self._name!r} is in use by another sweep (accepted: one at a time)"
            ) from None
        except OSError:  # a file system without locks
            return

    def _read(self, header: Mapping[str, Any], first: bytes) -> dict[int, Chunk]:
        try:
            text = b"".join(iter(lambda: os.read(self._fd, 1 << 20), b""))
        except OSError as error:
            raise self._refused(error) from error
        lines = text.split(b"\n")
        torn = lines.pop()  # empty, unless the last write was torn
        self._end = len(text) - len(torn)
        if not lines:
            if not first.startswith(torn):
                raise StoreError(f"{self._name!r} is no store of a sweep (accepted: another file)")
            self._write(first)
            return {}
        self._compare(_parsed(lines[0]), json.loads(first))
        chunks: dict[int, Chunk] = {}
        for number, line in enumerate(lines[1:], start=2):
            chunk = self._chunk(_parsed(line))
            if chunk is None:
                if number == len(lines):  # torn before its end reached the disk
                    self._end -= len(line) + 1
                    break
                raise StoreError(
                    f"store {self._name!r} is damaged in line {number} of {len(lines)}"
                    " (accepted: another file, or this one without that line)"
                )
            chunks[chunk.start] = chunk
        if self._end < len(text):
            self._truncate()
        return chunks

    def _compare(self, found: Any, header: Mapping[str, Any]) -> None:
        if not isinstance(found, dict) or "bankwise sweep" not in found:
            raise StoreError(f"{self._name!r} is no store of a sweep (accepted: another file)")
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

    def _chunk(self, found: Any) -> Chunk | None:
        """Give the chunk that a line holds, or None unless it accounts for its combinations."""
        try:
            chunk = Chunk(
                found["start"],
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
        except (KeyError, TypeError, ValueError):
            return None
        return chunk if fits else None

    def _write(self, line: bytes) -> None:
        if not os.fstat(self._fd).st_nlink:  # what was written now would be lost with it
            raise StoreError(
                f"store {self._name!r} was deleted during the sweep (accepted: a file that stays)"
            )
        try:
            os.lseek(self._fd, self._end, os.SEEK_SET)
            rest = line
            while rest:  # a disk that fills up takes a part
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            self._truncate()
            raise self._refused(error) from error
        self._end += len(line)

    def _truncate(self) -> None:
        try:
            os.ftruncate(self._fd, self._end)
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> StoreError:
        return StoreError(
            f"store {self._name!r} cannot be written: {error.strerror} (what it holds is kept;"
            " accepted: a file that can be written, on a disk with room)"
        )


def _said(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
