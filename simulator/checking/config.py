"""bankwise.toml, or `[tool.bankwise]` in pyproject.toml, read: entries and their limits.

[[access]]
ask = "float s[32][33]; s[threadIdx.x][threadIdx.y]"
conflicts = 0

A key that is not known is refused: a limit with a slip in it must not pass.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NoReturn

from layouts.errors import accepted, short
from simulator.checking.figures import LIMITS, TIME_LIMITS, Limit
from simulator.checking.keys import ENTRIES, TOP, Key
from simulator.errors import CheckError

__all__ = ["CONFIG", "CheckFile", "Entry", "EntryKind", "Limits", "find_config", "read_config"]

CONFIG = "bankwise.toml"
_PROJECT = "pyproject.toml"
_ALL_LIMITS = {**LIMITS, **TIME_LIMITS}
_OF_TIME = re.compile(r"second|time|duration|latency|^[mnu]s$|_[mnu]s$")

EntryKind = Literal["access", "layout", "kernel", "triton"]
Limits = Mapping[str, float]
"""The largest value of a figure, by its name."""


@dataclass(frozen=True)
class Entry:
    """What is checked, as the file has it."""

    kind: EntryKind
    name: str
    line: int
    """Where the file names it, from 1."""
    given: Mapping[str, Any]
    """Its keys but the limits, with the file's defaults."""
    limits: Limits = field(default_factory=dict)
    """Of the whole: of an access, a layout's access, or a launch."""
    per_line: Limits = field(default_factory=dict)
    """Of each line of the source."""
    arrays: Mapping[str, Limits] = field(default_factory=dict)
    """Of an array in shared memory, by its name."""

    @property
    def is_timed(self) -> bool:
        """Whether its time is to be estimated."""
        return bool(self.given.get("time")) or any(name in TIME_LIMITS for name in self.limits)


@dataclass(frozen=True)
class CheckFile:
    """A file of entries."""

    path: Path
    entries: tuple[Entry, ...]
    baseline: Path | None = None

    @property
    def folder(self) -> Path:
        """What paths in the file start from."""
        return self.path.parent


def find_config(start: Path) -> Path:
    """Return the bankwise.toml of a folder, or its pyproject.toml, or those of a folder above.

    The search ends at the root of the repository. Raises CheckError where there is none.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / CONFIG).is_file():
            return folder / CONFIG
        project = folder / _PROJECT
        if project.is_file() and re.search(r"(?m)^\s*\[+\s*tool\.bankwise\b", _read(project)):
            return project
        if (folder / ".git").exists():
            break
    raise CheckError(
        f"no {CONFIG} in {start} or in a folder above it (accepted: {CONFIG}, [tool.bankwise] in"
        f" {_PROJECT}, or bankwise check FILE)"
    )


def _example(path: Path) -> str:
    """Say what a file of entries has, for a path that is something else; "" for a TOML file."""
    if path.suffix == ".toml":
        return ""
    return (
        f" (accepted: a file such as {CONFIG}; next: write one of the lines [[kernel]], file ="
        f' "{path.name}" and conflicts = 0, and where {path.name} has no launch also kernel, grid,'
        " block and args)"
    )


def read_config(path: Path) -> CheckFile:
    """Read a file of entries.

    Raises CheckError, which names the file, the entry and the key.
    """
    text = _read(path)
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CheckError(
            f"{path} is not TOML: {error or 'nested too deep'}{_example(path)}"
        ) from error
    prefix = ""
    if path.name == _PROJECT:
        tool = data.get("tool")
        own = tool.get("bankwise") if isinstance(tool, dict) else None
        prefix = r"tool\s*\.\s*bankwise\s*\.\s*"
        if not isinstance(own, dict):
            raise CheckError(f"{path} has no table [tool.bankwise] (accepted: one, or {CONFIG})")
        data = own
    return _Reader(path, text, prefix).file(data)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CheckError(f"{path} cannot be read: {reason}") from error


class _Reader:
    """Reads one file, and names the place in it of whatever is wrong."""

    def __init__(self, path: Path, text: str, prefix: str) -> None:
        self.path = path
        self.heads = {
            kind: [
                number
                for number, line in enumerate(text.split("\n"), 1)
                if re.match(rf"\s*\[\[\s*{prefix}{kind}\s*\]\]", line)
            ]
            for kind in ENTRIES
        }

    def refuse(self, place: str, problem: str) -> NoReturn:
        raise CheckError(f"{self.path}{f', {place}' if place else ''}: {problem}")

    def file(self, data: Mapping[str, Any]) -> CheckFile:
        self._known(data, (*TOP, "limits", *ENTRIES), "")
        top = {key: self._value(TOP[key], key, data[key], "") for key in TOP if key in data}
        limits = self._table("", "limits", data.get("limits", {}), _ALL_LIMITS)
        entries: list[Entry] = []
        for kind in ENTRIES:
            listed = data.get(kind, [])
            if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
                self.refuse(f"key {kind}", f"{short(listed)} (accepted: tables, [[{kind}]])")
            for number, each in enumerate(listed):
                entries.append(self._entry(kind, number, each, top, limits))  # type: ignore[arg-type]
        if not entries:
            heads = ", ".join(f"[[{kind}]]" for kind in ENTRIES)
            self.refuse("", f"there is nothing to check (accepted: {heads})")
        names = [entry.name for entry in entries]
        for entry in entries:
            if names.count(entry.name) > 1:
                self.refuse(
                    f"{entry.kind} {entry.name!r}",
                    "two entries have this name (accepted: a name of its own for each, by name =)",
                )
        baseline = top.get("baseline")
        return CheckFile(
            self.path, tuple(entries), self.path.parent / baseline if baseline else None
        )

    def _entry(
        self, kind: EntryKind, number: int, given: Mapping[str, Any], top: Mapping[str, Any],
        limits: Limits,
    ) -> Entry:  # fmt: skip
        keys = ENTRIES[kind]
        name = given.get("name")
        place = f"{kind} {name!r}" if isinstance(name, str) else f"{kind} {number + 1}"
        launches = kind in ("kernel", "triton")
        parts = ("per_line", "arrays") if launches else ()
        known = _ALL_LIMITS if launches else LIMITS
        self._known(given, (*keys, *known, *parts), place)
        for key, what in keys.items():
            if what.required and key not in given:
                self.refuse(place, f"the key {key} is missing (accepted: {what.accepts})")
        values = {
            key: self._value(keys[key], key, given[key], place) for key in keys if key in given
        }
        own = {key: self._limit(key, given[key], place) for key in known if key in given}
        arrays = given.get("arrays", {})
        if not isinstance(arrays, dict):
            self.refuse(f"{place}, key arrays", f"{short(arrays)} (accepted: a table per array)")
        heads = self.heads[kind]
        defaults = {key: top[key] for key in ("chip", "rule") if key in top}
        return Entry(
            kind,
            values.get("name") or _called(kind, values),
            heads[number] if number < len(heads) else 1,
            {**defaults, **values},
            {**{key: most for key, most in limits.items() if key in known}, **own},
            self._table(place, "per_line", given.get("per_line", {})),
            {array: self._table(place, f"arrays.{array}", each) for array, each in arrays.items()},
        )

    def _known(self, given: Mapping[str, Any], keys: tuple[str, ...], place: str) -> None:
        for key in given:
            if key not in keys:
                is_time = "cycles" in keys and bool(_OF_TIME.search(key))
                hint = "a limit on time is cycles, of the SM; " if is_time else ""
                self.refuse(place, f"unknown key {short(key)}: {hint}{accepted(key, keys)}")

    def _value(self, what: Key, key: str, value: Any, place: str) -> Any:
        if not what.fits(value):
            where = f"{place}, key {key}" if place else f"key {key}"
            self.refuse(where, f"{short(value)} (accepted: {what.accepts})")
        return value

    def _table(
        self, place: str, key: str, given: Any, limits: Mapping[str, Limit] = LIMITS
    ) -> Limits:
        where = f"{place}, key {key}" if place else f"key {key}"
        if not isinstance(given, dict):
            self.refuse(where, f"{short(given)} (accepted: a table, such as {{conflicts = 0}})")
        self._known(given, tuple(limits), where)
        return {name: self._limit(name, value, where) for name, value in given.items()}

    def _limit(self, key: str, value: Any, place: str) -> float:
        if not _ALL_LIMITS[key].holds(value):
            where = f"{place}, key {key}" if place else f"key {key}"
            self.refuse(where, f"{short(value)} (accepted: {_ALL_LIMITS[key].accepted()})")
        limit: float = value
        return limit


def _called(kind: EntryKind, values: Mapping[str, Any]) -> str:
    """Name an entry that has no name."""
    said = {
        "access": values.get("ask"),
        "layout": values.get("layout"),
        "kernel": ":".join(filter(None, (values.get("file"), values.get("kernel")))),
        "triton": values.get("kernel"),
    }[kind]
    return " ".join("".join(c if c.isprintable() else " " for c in str(said)).split())[:200]
