"""Fixes written into the source: compiled and replayed before anybody sees them."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.errors import SassError
from simulator.fixing.beside import OTHER_OUTPUTS, does_not_run, kernel_names, worse
from simulator.fixing.edits import Edit, applied, applied_to_file, clash, edits_of, kernels_with
from simulator.fixing.fix import Fix
from simulator.results.tables import equal
from simulator.sass.report import CompiledReport

__all__ = ["Patch", "patch_of"]

_WITHIN = "its subscripts hold, or are within, one that is changed already (--write, and ask again)"


@dataclass(frozen=True, eq=False)
class Patch:
    """A changed source, which was compiled and replayed."""

    file: str
    before: bytes
    after: bytes
    """The changed source."""
    reports: tuple[CompiledReport, ...]
    """The replays of the changed source; none where nothing was changed."""
    fixes: tuple[Fix, ...]
    """What it holds."""
    left: tuple[str, ...]
    """What is left to the reader, and why."""
    instead: tuple[str, ...] = ()
    """Where not the first choice was written but one of its alternatives, and why."""

    @property
    def diff(self) -> str:
        """The change as a unified diff; empty where there is none.

        Bytes that are not UTF-8 are surrogates in it, as in what `os.fsdecode` returns.
        """
        if self.before == self.after:
            return ""
        name = os.path.relpath(self.file)
        name = self.file if name.startswith("..") else name
        before, after = (name if name.startswith("/") else f"{side}/{name}" for side in "ab")
        pieces = difflib.unified_diff(_lines(self.before), _lines(self.after), before, after)
        end = "\n\\ No newline at end of file\n"
        return "".join(each if each.endswith("\n") else each + end for each in pieces)


def patch_of(reports: Sequence[CompiledReport], fixes: Sequence[Fix] | None = None) -> Patch:
    """Return the fixes that can be written into the source of some launches' reports.

    Each was compiled and replayed with those before it. It is kept where every launch leaves the
    same outputs and none has more wavefronts. Its own must lose at least half of the bank conflicts
    that were predicted. Of a fix and its alternatives the one is taken that has the fewest once
    compiled: a compiler may part accesses that an XOR keeps together. `fixes`: of the first
    report, those to write; None: those of every report that are not predicted to be slower.

    Raises LaunchError where a launch is no longer known.
    """
    again = reports[0].relaunch()
    name, text = again.source or "", again.text()
    if text is None:
        why = "no source was compiled: the machine code was given (accepted: CUDA source)"
        return Patch(name, b"", b"", (), (), (why,))
    work = _Writing(name, text, list(reports), slower=fixes is not None)
    for place, report in enumerate(reports[: 1 if fixes is not None else None]):
        for fix in report.fixes(reports) if fixes is None else fixes:
            work.take(fix, place)
    before, after = text.encode(), applied(text, work.edits).encode()
    if again.build.path is not None:
        before = Path(name).read_bytes()
        after = applied_to_file(before, work.edits)
    known = tuple(work.known) if work.edits else ()
    left, instead = (tuple(dict.fromkeys(each)) for each in (work.left, work.instead))
    return Patch(name, before, after, known, tuple(work.kept), left, instead)


class _Writing:
    """A source while fixes are written into it."""

    def __init__(
        self, name: str, text: str, reports: list[CompiledReport], *, slower: bool
    ) -> None:
        self.name, self.text, self.reports = name, text, reports
        self.slower = slower
        """Whether slower ones are written, too."""
        self.kernels = kernel_names(reports)
        self.known = reports
        self.edits: set[Edit] = set()
        self.kept: list[Fix] = []
        self.left: list[str] = []
        self.instead: list[str] = []

    def take(self, fix: Fix, place: int) -> None:
        """Write a fix of one report, or one of its alternatives; or say why it is left."""
        if not fix.text:
            of = f"{self.kernels[place]}, " if len(self.kernels) > 1 else ""
            self.left.append(f"{of}{fix.array}: {fix.why[:1].lower()}{fix.why[1:]}")
            return
        reasons, able = [], []
        for each in (fix, *fix.alternatives):
            found = self._written(each, place)
            if isinstance(found, str):
                reasons.append(found)
                continue
            able.append((each, *found))
            if found[0] == self.edits or _conflicts(found[1]) <= _conflicts(self.known) - fix.saved:
                break  # it is there, or there are as few as were predicted
        if not able:
            self.left += reasons[:1]
            return
        kept, edits, known = min(able, key=lambda each: _conflicts(each[2]))
        if kept is not fix:
            why = _cause(reasons[0], fix) if able[0][0] is not fix else _fewer(able[0][2], known)
            self.instead.append(f"{fix.array}: wrote {kept.written}, not {fix.text}: {why}")
        self.kept.append(kept)
        self.edits, self.known = edits, known

    def _written(
        self, fix: Fix, place: int
    ) -> tuple[set[Edit], list[CompiledReport]] | str:  # fmt: skip
        """Return all changes with those of a fix, and the reports then; or what is in its way."""
        found = edits_of(fix, self.text)
        declared = fix.target.declared if fix.target else None
        local = declared is not None and declared.file == self.name and not isinstance(found, str)
        if local and set(found) <= self.edits:  # another launch of the same kernel
            return self.edits, self.known
        if not self.slower and fix.is_slower:
            return f"{fix.array}: left as it is: with {fix.text} it is slower. {fix.predicted}"
        if declared is not None and declared.file != self.name:
            return f"{fix.array} is declared in {declared.file}; write {fix.written}"
        if isinstance(found, str) or declared is None:
            return str(found)
        ran = {each.title.partition("<")[0] for each in self.reports}
        others = [each for each in kernels_with(declared, self.text) if each not in ran]
        if others:
            return f"{fix.array}: {others[0]} uses it, too, and was not run; write {fix.written}"
        if clash(set(found), self.edits):
            return f"{fix.array}: {_WITHIN}; write {fix.written}"
        edits = self.edits | set(found)
        made = self._tried(edits, place, fix.saved)
        return f"{fix.text}: {made}" if isinstance(made, str) else (edits, made)

    def _tried(
        self, edits: set[Edit], place: int, predicted: int
    ) -> list[CompiledReport] | str:  # fmt: skip
        """Compile and replay the changed source; why it is not taken."""
        text, found = applied(self.text, edits), []
        for number, (first, known) in enumerate(zip(self.reports, self.known, strict=True)):
            try:
                made = first.relaunch().recompiled(text)
            except SassError as error:
                return does_not_run(error)
            if not equal(made.outputs, first.outputs):
                return OTHER_OUTPUTS
            saved = predicted if number == place else None
            why = worse(made, known, saved)
            if why:
                return f"once compiled, {self.kernels[number]} {why}"
            found.append(made)
        return found


def _lines(data: bytes) -> list[str]:
    """Return lines with their ends: a form feed, say, ends none."""
    return re.findall(r".*\n|.+", data.decode(errors="surrogateescape"))


def _conflicts(reports: Sequence[CompiledReport]) -> int:
    return sum(int(each.totals()["all"]["bank_conflicts"]) for each in reports)


def _cause(reason: str, fix: Fix) -> str:
    """Return why a fix is left, without what to write then."""
    said = reason.removeprefix(f"{fix.array}: ").removeprefix(f"{fix.text}: ")
    return said.removesuffix(f"; write {fix.written}")


def _fewer(first: Sequence[CompiledReport], reports: Sequence[CompiledReport]) -> str:
    return f"{_conflicts(reports):,} bank conflicts once compiled, not {_conflicts(first):,}"
