"""Whether what was measured keeps its limits: the limits of its entry, and what was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from layouts.errors import plural
from simulator.checking.arrays import array_cost
from simulator.checking.baseline import Recorded
from simulator.checking.config import Limits
from simulator.checking.figures import LIMITS, TIME_LIMITS, Figures, TimeFigures
from simulator.checking.measured import LineCost, Measured, SourcePlace
from simulator.errors import CheckError

__all__ = ["Finding", "Outcome", "judge"]

Scope = Literal["entry", "line", "array", "allowance", "baseline"]
"""Whose limit it is."""


@dataclass(frozen=True)
class Finding:
    """A limit that is broken, at the place where a reader should look."""

    scope: Scope
    limit: str
    """The figure."""
    message: str
    place: SourcePlace


@dataclass(frozen=True)
class Outcome:
    """An access or a launch, and the limits that it breaks."""

    measured: Measured
    findings: tuple[Finding, ...] = ()
    recorded: Recorded | None = None
    error: str = ""
    """Why it could not be checked."""

    @property
    def status(self) -> Literal["holds", "broken", "error"]:
        """Whether all limits hold."""
        if self.error:
            return "error"
        return "broken" if self.findings else "holds"

    @property
    def better(self) -> bool:
        """Whether it costs less than the baseline says."""
        if self.recorded is None or self.error:
            return False
        return self.recorded.better(self.measured.held, self.measured.time)


def judge(measured: Measured, baseline: Mapping[str, Recorded] | None) -> Outcome:
    """Compare an access or a launch with its limits, and with a baseline where there is one."""
    if measured.error:
        return Outcome(measured, error=measured.error)
    recorded = None if baseline is None else baseline.get(measured.name)
    entry = measured.entry
    limited = entry.limits or entry.per_line or entry.arrays
    if not limited and baseline is None:
        keys = ", ".join(f"{name} = …" for name in LIMITS)
        return Outcome(measured, error=f"it has no limit (accepted: {keys}, or a baseline)")
    findings = [
        *_entry(measured, {name: most for name, most in entry.limits.items() if name in LIMITS}),
        *_time(measured),
        *_per_line(measured, entry.per_line),
        *_allowances(measured),
    ]
    problem = ""
    try:
        findings += _arrays(measured)
    except CheckError as error:
        problem = str(error)
    if recorded is not None:
        findings += _baseline(measured, recorded)
    elif baseline is not None and not limited:
        message = "it is not in the baseline (bankwise check --update records it)"
        findings.append(Finding("baseline", "baseline", message, measured.place))
    return Outcome(measured, tuple(findings), recorded, problem)


def _entry(measured: Measured, limits: Limits) -> Iterator[Finding]:
    held = [line for line in measured.lines if line.allowance is None]
    for name, most in limits.items():
        value = getattr(measured.held, name)
        if value > most:
            whole = _Whole(_kernel(measured), value, _accepted(name, most))
            yield from _spread(measured, "entry", name, whole, held, most)


def _time(measured: Measured) -> Iterator[Finding]:
    """Yield the limits on time that are broken; what conflicts cost, at the line with most."""
    found = measured.time
    limits = {name: most for name, most in measured.entry.limits.items() if name in TIME_LIMITS}
    if found is None:
        return
    for name, most in limits.items():
        value = getattr(found, name)
        if value <= most:
            continue
        if name == "cycles":
            said = f"about {_cycles(found)} (accepted: at most {int(most):,})"
            yield Finding("entry", name, _cured(said, measured.faster()), measured.place)
            continue
        said = f"a speedup of about ×{value:.3g} without conflicts (accepted: at most ×{most:g})"
        held = (line for line in measured.lines if line.place and line.figures.conflicts)
        worst = next(held, None)
        place = measured.place if worst is None or worst.place is None else worst.place
        yield Finding("entry", name, _cured(said, measured.cure(place)), place)


def _cured(said: str, cure: str) -> str:
    return f"{said}. {cure}" if cure else said


def _cycles(figures: TimeFigures) -> str:
    return f"{figures.cycles:,} cycles on {figures.chip}"


class _Whole(NamedTuple):
    """A figure of a kernel, or of an array, that is too high."""

    noun: str
    value: float
    against: str
    """What it should be: a limit, or the baseline's."""
    before: Mapping[str, Figures] = {}
    """The baseline's figures of lines, by their text."""


def _kernel(measured: Measured) -> str:
    is_allowed = any(line.allowance is not None for line in measured.lines)
    return f"the kernel{' without its allowed lines' if is_allowed else ''}"


def _spread(
    measured: Measured, scope: Scope, name: str, whole: _Whole, lines: Sequence[LineCost],
    most: float,
) -> Iterator[Finding]:  # fmt: skip
    """Yield a finding at each line that has a part in it, or else at the whole."""
    guilty = [line for line in lines if _takes_part(line, name, most) and line.place is not None]
    said = _quantity(name, whole.value)
    if not guilty:
        message = _cured(f"{said}{whole.against}", measured.cure(None))
        yield Finding(scope, name, message, measured.place)
    for line in guilty:
        assert line.place is not None  # noqa: S101 (so were they chosen)
        value = getattr(line.figures, name)
        here = said
        if value != whole.value:
            was = getattr(whole.before.get(line.text), name, 0)
            here = f"{_quantity(name, value)} here{f' instead of {was:,}' if was else ''}"
            here += f"; {whole.noun} has {said}"
        message = f"{here}{whole.against}{_about(line)}"
        yield Finding(scope, name, _cured(message, measured.cure(line.place)), line.place)


def _takes_part(line: LineCost, name: str, most: float) -> bool:
    """Return whether a line is to blame: it conflicts, or where nothing does, it costs."""
    value: float = getattr(line.figures, name)
    return value > most if name == "ways" else value > 0


def _about(line: LineCost) -> str:
    figures = line.figures
    return f" ({', '.join(line.opcodes)}: {figures.ways:.4g}-way)" if figures.conflicts else ""


def _quantity(name: str, value: float) -> str:
    return f"{value:.4g}-way" if name == "ways" else plural(int(value), LIMITS[name].noun)


def _accepted(name: str, most: float) -> str:
    limit = f"{most:.4g}" if name == "ways" else f"{int(most):,}"
    return f" (accepted: {'at most ' if most else ''}{limit})"


def _per_line(measured: Measured, limits: Limits) -> Iterator[Finding]:
    for line in measured.lines:
        if line.allowance is not None:
            continue
        for name, most in limits.items():
            value = getattr(line.figures, name)
            if value > most:
                message = f"{_quantity(name, value)}{_accepted(name, most)} per line{_about(line)}"
                yield Finding("line", name, message, line.place or measured.place)


def _allowances(measured: Measured) -> Iterator[Finding]:
    for line in measured.lines:
        allowed = line.allowance
        if allowed is not None and allowed.exceeded(line.figures):
            name = allowed.figure or "conflicts"
            message = (
                f"{_quantity(name, getattr(line.figures, name))}, and the line's comment allows"
                f" {allowed.said}{_about(line)}"
            )
            yield Finding("allowance", name, message, line.place or measured.place)


def _arrays(measured: Measured) -> Iterator[Finding]:
    for array, limits in measured.entry.arrays.items():
        cost = array_cost(measured, array)
        for name, most in limits.items():
            least, upper = getattr(cost.least, name), getattr(cost.most, name)
            if least > most:
                whole = _Whole("the array", least, _accepted(name, most))
                for each in _spread(measured, "array", name, whole, cost.lines, most):
                    yield replace(each, message=f"array {array}: {each.message}")
            elif upper > most:
                places = ", ".join(
                    line.place.name if line.place else "code without a line"
                    for line in cost.shared
                    if getattr(line.figures, name)
                )
                raise CheckError(
                    f"array {array}: {name} lie between {_number(least)} and {_number(upper)}, and"
                    f" {_number(most)} is the limit: {places} may access it, or another array"
                    " (accepted: one array per line)"
                )


def _number(value: float) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"


def _baseline(measured: Measured, recorded: Recorded) -> Iterator[Finding]:
    yield from _baseline_time(measured, recorded)
    for name in recorded.worse(measured.held):
        before, now = getattr(recorded.figures, name), getattr(measured.held, name)
        against = f" instead of the baseline's {before:,}"
        whole = _Whole(_kernel(measured), now, against, recorded.lines)
        worse = [
            line
            for line in measured.lines
            if line.allowance is None and _grew(line, recorded, name)
        ]
        yield from _spread(measured, "baseline", name, whole, worse, 0)


def _baseline_time(measured: Measured, recorded: Recorded) -> Iterator[Finding]:
    now, before = measured.time, recorded.time
    if now is None:
        return
    if before is None:
        if any(name in TIME_LIMITS for name in measured.entry.limits):
            return
        said = "its time is not in the baseline (bankwise check --update records it)"
    elif before.chip != now.chip:
        said = (
            f"about {_cycles(now)}, and the baseline is of {before.chip} (bankwise check --update"
            " records it)"
        )
    elif not recorded.slower(now):
        return
    else:
        said = f"about {_cycles(now)} instead of the baseline's {before.cycles:,}"
        said = _cured(said, measured.faster())
    yield Finding("baseline", "cycles", said, measured.place)


def _grew(line: LineCost, recorded: Recorded, name: str) -> bool:
    before: Figures = recorded.lines.get(line.text, Figures())
    return bool(getattr(line.figures, name) > getattr(before, name))
