"""What `bankwise sass` says of the lines with most bank conflicts: how many ways, and why."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from simulator.sass.report import CompiledReport

__all__ = ["hottest", "show_hottest"]

_MOST_THREAD_INSTRUCTIONS = (
    20_000_000  # a launch that executed more is not run again for its causes
)
_HOTTEST = 10


def hottest(report: CompiledReport, kernel: str) -> list[tuple[int, str]]:
    """Return the bank conflicts of each line that has some, and what is said of it."""
    rows = report.lines()
    lines = [
        (cost, name, line)
        for name, line, cost in zip(rows["file"], rows["line"], rows["bank_conflicts"], strict=True)
        if cost
    ]
    why = _causes(report) if lines else {}
    whole = report.extrapolated or report.blocks == prod(report.grid)
    part = "" if whole else f"  ({report.blocks} of {prod(report.grid)} blocks)"
    places = [f"{Path(name).name}:{line}  " if name else "" for _, name, line in lines]
    return [
        (cost, f"{place}{kernel}{part}{why.get((name, line), '')}")
        for place, (cost, name, line) in zip(places, lines, strict=True)
    ]


def _causes(report: CompiledReport) -> dict[tuple[str, int], str]:
    """Return of each line its worst access: how many ways, of which instruction, and which lanes.

    For that the launch runs again, unless it is large.
    """
    from simulator.asking.kernel import worst_accesses
    from simulator.asking.words import cause

    if report.thread_instructions > _MOST_THREAD_INSTRUCTIONS:
        return {}
    found = report.instructions
    worst = worst_accesses(report)
    said: dict[tuple[str, int], tuple[int, str]] = {}
    for address, file, line in zip(found["address"], found["file"], found["line"], strict=True):
        one = worst.get(address)
        if one is None or not one.bank_conflicts:
            continue
        least = one.wavefronts - one.instruction.passes * one.bank_conflicts
        first = cause(one).partition(". ")[0].rstrip(".")
        text = f"  {one.wavefronts / least:.3g}-way {one.op}: {first[0].lower()}{first[1:]}"
        said[file, line] = max(said.get((file, line), (0, "")), (one.bank_conflicts, text))
    return {place: text for place, (_, text) in said.items()}


def show_hottest(found: list[tuple[int, str]]) -> None:
    """Print the lines with most bank conflicts of all launches."""
    if found:
        click.echo("\nMost bank conflicts:")
        for cost, place in sorted(found, reverse=True)[:_HOTTEST]:
            click.echo(f"{cost:>14,}  {place}")
