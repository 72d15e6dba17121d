"""What `bankwise sass` says of the lines with most bank conflicts: how many ways, and why."""

from __future__ import annotations

from collections import Counter
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from simulator.law.explaining import Explanation
    from simulator.sass.report import CompiledReport

__all__ = ["hottest", "show_hottest"]

_MOST_WORK = 500_000_000
"""Thread instructions that a second run may take for the causes: one or two seconds of a core."""
_WORK_OF_ACCESS = 500
"""Thread instructions that take as long as to look at one access of a warp."""
_HOTTEST = 10
_CALLS = 4


def hottest(report: CompiledReport, kernel: str) -> list[tuple[int, str]]:
    """Return the bank conflicts of each line that has some, and what is said of it."""
    rows = report.lines()
    lines = [
        (cost, name, line)
        for name, line, cost in zip(rows["file"], rows["line"], rows["bank_conflicts"], strict=True)
        if cost
    ]
    is_small = _work(report) <= _MOST_WORK
    why = _causes(report) if lines and is_small else {}
    unknown = (
        "cause not found among the accesses that were looked at"
        if is_small
        else "cause not looked for: a second run of this launch takes long (--html FILE looks)"
    )
    whole = report.extrapolated or report.blocks == prod(report.grid)
    part = "" if whole else f"  ({report.blocks} of {prod(report.grid)} blocks)"
    places = [f"{Path(name).name}:{line}  " if name else "" for _, name, line in lines]
    calls = _calls(report)
    return [
        (
            cost,
            f"{place}{kernel}{part}  {why.get((name, line), unknown)}{calls.get((name, line), '')}",
        )
        for place, (cost, name, line) in zip(places, lines, strict=True)
    ]


def _calls(report: CompiledReport) -> dict[tuple[str, int], str]:
    """Return of each line in a function that was inlined the calls with conflicts, most first."""
    found = report.instructions
    names = ("file", "line", "called_from", "bank_conflicts")
    costs: dict[tuple[str, int], Counter[str]] = {}
    for file, line, calls, cost in zip(*(found[name] for name in names), strict=True):
        if calls and cost:
            costs.setdefault((file, line), Counter())[calls] += cost
    return {
        place: f"; called from {', '.join(f'{at} ({n:,})' for at, n in each.most_common(_CALLS))}"
        for place, each in costs.items()
        if len(each) > 1
    }


def _work(report: CompiledReport) -> float:
    """Return how long a second run takes, in thread instructions: of the blocks that ran."""
    share = report.blocks / prod(report.grid) if report.extrapolated else 1
    accesses: float = report.totals()["all"]["requests"] * share
    return report.thread_instructions + _WORK_OF_ACCESS * accesses


def _causes(report: CompiledReport) -> dict[tuple[str, int], str]:
    """Return of each line its worst access: how many ways, of which instruction, and which lanes.

    For that the launch runs again.
    """
    from simulator.asking.kernel import worst_accesses

    found = report.instructions
    worst = worst_accesses(report)
    said: dict[tuple[str, int], tuple[int, str]] = {}
    for address, file, line in zip(found["address"], found["file"], found["line"], strict=True):
        one = worst.get(address)
        if one is None or not one.bank_conflicts:
            continue
        said[file, line] = max(said.get((file, line), (0, "")), (one.bank_conflicts, _cause(one)))
    return {place: text for place, (_, text) in said.items()}


def _cause(one: Explanation) -> str:
    """Return how many ways an access is, as Nsight counts them, how few it can be, and why."""
    from simulator.asking.words import cause, least_wavefronts, worst_phase

    least = least_wavefronts(one)
    beside = f" ({least}-way at best)" if 1 < least < one.wavefronts else ""
    beside = beside if one.excessive else " (which costs nothing)"
    if one.sources is None:
        first = cause(one).partition(". ")[0].rstrip(".")
    else:  # of a copy: which lanes go one after the other
        first = worst_phase(one).sentence.split(": ")[1]
    return f"{one.wavefronts}-way {one.op}{beside}: {first[0].lower()}{first[1:]}"


def show_hottest(found: list[tuple[int, str]]) -> None:
    """Print the lines with most bank conflicts of all launches."""
    if found:
        click.echo("\nMost bank conflicts:")
        for cost, place in sorted(found, reverse=True)[:_HOTTEST]:
            click.echo(f"{cost:>14,}  {place}")
