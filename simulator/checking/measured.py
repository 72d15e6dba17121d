"""What was counted of an entry, line by line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from simulator.checking.allowing import Allowance
from simulator.checking.config import Entry
from simulator.checking.figures import Figures, TimeFigures, total

__all__ = ["LineCost", "Measured", "SourcePlace"]


@dataclass(frozen=True)
class SourcePlace:
    """Where in a file."""

    file: str
    line: int = 1

    @property
    def name(self) -> str:
        """The file without its folders, and the line."""
        return f"{Path(self.file).name}:{self.line}"


@dataclass(frozen=True)
class LineCost:
    """What a line of source costs in shared memory; of code without lines, an instruction."""

    place: SourcePlace | None
    """None: the code does not say where it comes from."""
    text: str
    """The line itself, without blanks around it; empty where it was not found."""
    figures: Figures
    opcodes: tuple[str, ...] = ()
    allowance: Allowance | None = None


@dataclass(frozen=True)
class Measured:
    """An access, or a launch of a kernel: what it costs, or why that is not known."""

    name: str
    entry: Entry
    place: SourcePlace
    """Where a reader looks for it: its source, else the entry."""
    lines: tuple[LineCost, ...] = ()
    """Of a kernel."""
    own: Figures | None = None
    """Of an access, which has no lines."""
    time: TimeFigures | None = None
    """Of a launch whose entry asks for it."""
    notes: tuple[str, ...] = ()
    sources: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The source files that were found, line by line."""
    cure: Callable[[SourcePlace | None], str] = field(default=lambda _: "", compare=False)
    """Says what would not conflict: of an access; of a kernel at a line of it."""
    faster: Callable[[], str] = field(default=lambda: "", compare=False)
    """Says what would make a kernel faster."""
    error: str = ""
    """Why nothing was counted."""

    @cached_property
    def figures(self) -> Figures:
        """What all of it costs."""
        return total(each.figures for each in self.lines) if self.own is None else self.own

    @cached_property
    def held(self) -> Figures:
        """What limits count: all but the lines that have an allowance."""
        if self.own is not None:
            return self.own
        return total(each.figures for each in self.lines if each.allowance is None)
