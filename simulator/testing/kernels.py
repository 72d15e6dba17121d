"""Assertions on whole kernels: as compiled, replayed, line by line (needs the extra `sass`)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from layouts.errors import BankwiseError, accepted, short
from simulator.checking.baseline import (
    Recorded,
    as_json,
    from_json,
    read_baseline,
    record,
    write_baseline,
)
from simulator.checking.config import Entry, Limits
from simulator.checking.figures import LIMITS, TIME_LIMITS
from simulator.checking.judging import Finding, Outcome, judge
from simulator.checking.measured import Measured, SourcePlace
from simulator.errors import CheckError

__all__ = ["AssertKernelConflictFree", "KernelGuard", "assert_kernel_conflict_free"]

_MOST = 8  # lines of source in a failure


class AssertKernelConflictFree(Protocol):
    """The type of `assert_kernel_conflict_free`, for tests that take it as a fixture."""

    def __call__(
        self,
        source: str | os.PathLike[str],
        *,
        kernel: str | None = None,
        grid: int | tuple[int, ...] | None = None,
        block: int | tuple[int, ...] | None = None,
        args: Sequence[Any] | None = None,
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        """See `assert_kernel_conflict_free`."""


def assert_kernel_conflict_free(
    source: str | os.PathLike[str],
    *,
    kernel: str | None = None,
    grid: int | tuple[int, ...] | None = None,
    block: int | tuple[int, ...] | None = None,
    args: Sequence[Any] | None = None,
    limits: Limits | None = None,
    **options: Any,
) -> None:
    """Assert that no launch of a kernel has a bank conflict in shared memory.

    A failure names the lines, and the padding or swizzle that would mend them. A line with a
    comment such as `// bankwise: allow 2-way` is held to that instead.

    Raises AssertionError, which names the lines; CheckError and other BankwiseErrors for what
    cannot be replayed.

    Parameters
    ----------
    source
        A file: CUDA source, PTX, a cubin, an object.
    kernel
        Its name; without a `grid`, a `block` and `args`, every launch of it that stands in the
        source is replayed. None: every launch.
    grid, block
        Blocks and threads along x, y and z.
    args
        Those of `replay_compiled`, or texts as on the command line ("random:f32[32,32]").
    limits
        Take the place of `{"conflicts": 0}`: conflicts, excessive, wavefronts, ways, and of the
        estimated time cycles and speedup_without_conflicts.
    **options
        shared_bytes, cluster, symbols, blocks, arch, chip, rule, include, define, options and
        max_instructions, as in `replay_compiled`.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test
    launch = {"kernel": kernel, "grid": grid, "block": block, "args": args}
    _assert(source, limits, {**launch, **options}, None, "")


class KernelGuard:
    """The same assertion with a baseline: a kernel may be no worse than what was recorded."""

    def __init__(self, baseline: str | os.PathLike[str], *, update: bool = False) -> None:
        self.baseline = Path(baseline)
        self.update = update
        exists = self.baseline.exists()
        if not exists and not update:
            raise CheckError(
                f"the baseline {self.baseline} is missing (--bankwise-update writes it)"
            )
        self.known: dict[str, Recorded] = read_baseline(self.baseline) if exists else {}
        self.now: dict[str, Recorded] = {}
        """What was counted since, by name."""
        self._counts: Counter[str] = Counter()

    def check(
        self, test: str, source: str | os.PathLike[str], *, limits: Limits | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        """Assert for a test; what is recorded has the test's name before the launch's."""
        __tracebackhide__ = True
        _assert(source, limits, options, self, f"{test}: ")

    def name(self, said: str) -> str:
        """Return what a launch is recorded as: the second of a test by its number, too."""
        self._counts[said] += 1
        again = self._counts[said]
        return said if again == 1 else f"{said} #{again}"

    def given(self) -> dict[str, Any]:
        """Return what was counted, as JSON holds it, for another process."""
        return as_json(self.now)

    def take(self, given: Mapping[str, Any]) -> None:
        """Add what another process counted. Raises CheckError where it cannot be that."""
        self.now |= from_json(self.baseline, given)

    def write(self) -> None:
        """Write what was known with what was counted since. Raises OutputError."""
        write_baseline(self.baseline, {**self.known, **self.now})


def _assert(
    source: str | os.PathLike[str],
    limits: Limits | None,
    options: Mapping[str, Any],
    guard: KernelGuard | None,
    prefix: str,
) -> None:
    __tracebackhide__ = True
    try:
        failures = _failures(source, _limits(limits), options, guard, prefix)
    except BankwiseError as error:  # where in bankwise it was raised helps nobody
        raise error.with_traceback(None) from None
    if failures:
        raise AssertionError("\n".join(failures))


def _limits(given: Limits | None) -> Limits:
    chosen = {"conflicts": 0} if given is None else given
    known = {**LIMITS, **TIME_LIMITS}
    for name, most in chosen.items():
        if name not in known or not known[name].holds(most):
            raise CheckError(
                f"limits {short(dict(chosen))} (accepted: "
                + ", ".join(f"{key}: {limit.accepted()}" for key, limit in known.items())
                + ")"
            )
    return chosen


def _failures(
    source: str | os.PathLike[str],
    limits: Limits,
    options: Mapping[str, Any],
    guard: KernelGuard | None,
    prefix: str,
) -> list[str]:
    from simulator.checking.launches import kernel

    path = Path(source).absolute()
    given = {name: value for name, value in options.items() if value is not None}
    given |= {"file": path.name}
    if "symbols" in given:
        given["set"] = given.pop("symbols")
    known = {"kernel", "grid", "block", "args", "shared_bytes", "cluster", "blocks", "arch", "file",
             "chip", "rule", "include", "define", "options", "max_instructions", "set"}  # fmt: skip
    if odd := sorted(set(given) - known):
        raise TypeError(
            f"assert_kernel_conflict_free has no argument {odd[0]!r}:"
            f" {accepted(odd[0], sorted(known))}"
        )
    entry = Entry("kernel", path.name, 1, given, limits)
    here = Measured(path.name, entry, SourcePlace(str(path)))
    said = []
    for found in kernel(path.parent, here, lambda _: None):
        if found.error:
            raise CheckError(f"{found.name}: {found.error}")
        said += _said(_judged(found, guard, prefix), found)
    return said


def _judged(measured: Measured, guard: KernelGuard | None, prefix: str) -> Outcome:
    if guard is None:
        return judge(measured, None)
    name = guard.name(prefix + measured.name)
    guard.now[name] = record(measured)
    if guard.update:
        return Outcome(measured)
    if name not in guard.known:
        return judge(measured, None)
    entry = Entry(measured.entry.kind, measured.entry.name, 1, measured.entry.given)
    return judge(replace(measured, entry=entry), {measured.name: guard.known[name]})


def _said(outcome: Outcome, measured: Measured) -> list[str]:
    findings = outcome.findings
    lines = [f"{measured.name}: {_line(each, measured)}" for each in findings[:_MOST]]
    more = [f"... and {len(findings) - _MOST} more"] if len(findings) > _MOST else []
    return [*([outcome.error] if outcome.error else []), *lines, *more]


def _line(finding: Finding, measured: Measured) -> str:
    place = finding.place
    text = next((line.text for line in measured.lines if line.place == place), "")
    return f"{place.name}: {finding.message}" + (f"\n    {text}" if text else "")
