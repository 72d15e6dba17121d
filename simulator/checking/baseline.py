"""What was recorded, and must not get worse: the file that `bankwise check --update` writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from layouts.errors import short
from simulator.checking.figures import LIMITS, TIME_LIMITS, Figures, TimeFigures, total
from simulator.checking.measured import LineCost, Measured
from simulator.errors import CheckError
from simulator.results.files import save
from simulator.timing.gains import is_faster, is_slower

__all__ = [
    "RATCHETED", "Recorded", "as_json", "from_json", "read_baseline", "record", "write_baseline",
]  # fmt: skip

VERSION = 1
RATCHETED = ("conflicts", "excessive", "wavefronts")
"""The figures that must not get worse."""


@dataclass(frozen=True)
class Recorded:
    """What an entry cost when it was recorded."""

    figures: Figures
    lines: Mapping[str, Figures] = field(default_factory=dict)
    """By the text of the line, for its number changes with every edit above it."""
    time: TimeFigures | None = None

    def worse(self, now: Figures) -> list[str]:
        """Return the figures that are higher now."""
        return [name for name in RATCHETED if getattr(now, name) > getattr(self.figures, name)]

    def slower(self, now: TimeFigures | None) -> bool:
        """Return whether it takes more cycles now, on the same chip."""
        return is_slower(self._gain(now))

    def better(self, now: Figures, time: TimeFigures | None = None) -> bool:
        """Return whether one figure is lower now, and none is higher."""
        lower = any(getattr(now, name) < getattr(self.figures, name) for name in RATCHETED)
        lower = lower or is_faster(self._gain(time))
        return lower and not self.worse(now) and not self.slower(time)

    def _gain(self, now: TimeFigures | None) -> float:
        """Return how many times as fast it is now; 1 where times cannot be compared."""
        if now is None or self.time is None or now.chip != self.time.chip:
            return 1.0
        return self.time.cycles / now.cycles


def record(measured: Measured) -> Recorded:
    """Return what an entry costs now, without the lines that have an allowance."""
    lines: dict[str, Figures] = {}
    for line in measured.lines:
        if line.allowance is None and line.text:
            lines[line.text] = _sum(lines.get(line.text, Figures()), line)
    return Recorded(measured.held, lines, measured.time)


def _sum(before: Figures, line: LineCost) -> Figures:
    return total([before, line.figures])


def read_baseline(path: Path) -> dict[str, Recorded]:
    """Read a baseline. Raises CheckError where it is missing, or is not one."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckError(
            f"the baseline {path} is missing (bankwise check --update writes it)"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or f"it is not JSON: {error}"
        raise CheckError(f"the baseline {path} cannot be read: {reason}") from error
    return from_json(path, data)


def from_json(path: Path, data: Any) -> dict[str, Recorded]:
    """Return what a baseline holds, by name. Raises CheckError, which names `path`."""
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise CheckError(
            f"{path} is not a baseline of version {VERSION} (bankwise check --update writes one)"
        )
    entries = data.get("entries")
    if not isinstance(entries, dict):
        raise CheckError(f"{path}, key entries: {short(entries)} (accepted: an object)")
    return {name: _recorded(path, name, each) for name, each in entries.items()}


def _recorded(path: Path, name: str, given: Any) -> Recorded:
    place = f"{path}, entry {name!r}"
    if not isinstance(given, dict) or not isinstance(given.get("lines", {}), dict):
        raise CheckError(f"{place}: {short(given)} (accepted: an object)")
    lines = {text: _figures(place, each) for text, each in given.get("lines", {}).items()}
    return Recorded(_figures(place, given), lines, _time(place, given.get("time")))


def _figures(place: str, given: Any) -> Figures:
    found: dict[str, Any] = {}
    for name, limit in LIMITS.items():
        value = given.get(name, 0) if isinstance(given, dict) else None
        if value != 0 and not limit.holds(value):
            raise CheckError(f"{place}, key {name}: {short(value)} (accepted: {limit.accepted()})")
        found[name] = value
    return Figures(**found)


def _time(place: str, given: Any) -> TimeFigures | None:
    if given is None:
        return None
    if not isinstance(given, dict) or not isinstance(given.get("chip"), str):
        raise CheckError(f"{place}, key time: {short(given)} (accepted: an object with chip)")
    for name, limit in TIME_LIMITS.items():
        if not limit.holds(given.get(name)):
            raise CheckError(
                f"{place}, key time.{name}: {short(given.get(name))} (accepted: {limit.accepted()})"
            )
    return TimeFigures(given["chip"], **{name: given[name] for name in TIME_LIMITS})


def write_baseline(path: Path, recorded: Mapping[str, Recorded]) -> None:
    """Write a baseline, whole or not at all; the same figures make the same file.

    Raises OutputError.
    """
    text = json.dumps(as_json(recorded), indent=2, ensure_ascii=True)
    save(path, lambda place: place.write_text(f"{text}\n", encoding="utf-8"))


def as_json(recorded: Mapping[str, Recorded]) -> dict[str, Any]:
    """Return a baseline as JSON holds it."""
    entries = {
        name: {
            **asdict(each.figures),
            **({"time": asdict(each.time)} if each.time else {}),
            **({"lines": _lines(each.lines.items())} if each.lines else {}),
        }
        for name, each in sorted(recorded.items())
    }
    return {"version": VERSION, "entries": entries}


def _lines(lines: Iterable[tuple[str, Figures]]) -> dict[str, dict[str, Any]]:
    return {text: asdict(figures) for text, figures in sorted(lines)}
