"""`--time`: the time of launches that were replayed, in place of their conflicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from layouts.errors import plural
from simulator.cli.watching import waiting
from simulator.results.columns import STALLS, heading, law_columns
from simulator.results.text import Listing, Table
from simulator.timing.gains import is_felt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from simulator.sass.report import By, CompiledReport
    from simulator.timing.kernel_time import KernelTime

__all__ = ["check_rules", "is_timed", "shown_of", "table_of", "time_option"]

_WARP_CYCLES = (
    "Warp cycles are those of all warps that one SM runs, by what keeps each from issuing; in"
    " `selected` it issues. --format json and csv have the cycles of every reason."
)
_TO_FIX = "--fix finds paddings and swizzles that remove bank conflicts, and says what each gains."
_SHARE = "warp cycles %"
_LEAST = 1.0
"""Per cent of all warp cycles: rows that are less are not shown."""
_WIDTH = 100
_SHORTEST = 24  # characters of a source line


def time_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--time`, of which `is_timed` tells."""
    return click.option(
        "--time", is_flag=True,
        help="Show the time on --chip and where warps wait, instead of conflicts. By"
        " default an H100, or where that does not run the code, a chip that does.",
    )(command)  # fmt: skip


def is_timed() -> bool:
    """Return whether the running command was asked for the time."""
    return bool(click.get_current_context().params.get("time"))


def check_rules(rules: Sequence[str]) -> None:
    """Refuse --time by another rule than the chip's, which the time would not follow."""
    if is_timed() and "documented" in rules:
        raise click.UsageError(
            "--time is that of the chip, by the rule silicon, and was asked for by the rule"
            " documented (accepted: --time without --rule documented and without --both-rules)"
        )


def table_of(report: CompiledReport, by: By) -> Table:
    """Return a report's table, or with `--time` that of its time, with all figures."""
    if not is_timed():
        return report.table(by=by)
    table = _time_of(report).table(by)
    law = law_columns(report.rule, report.chip)
    return replace(
        table,
        rows=[{**row, **law} for row in table.rows],
        columns=[*table.columns, *law],
    )


def shown_of(report: CompiledReport, by: By) -> Table:
    """Return a report's table for people, or with `--time` that of its time."""
    if not is_timed():
        from simulator.sass.reading import for_people

        return for_people(report.table(by=by))
    found = _time_of(report)
    table = found.table(by)
    whole = sum(row["warp_cycles"] for row in table.rows) or 1
    rows = [_shown(row, whole, by) for row in table.rows]
    kept = [row for row in rows if row[_SHARE] >= _LEAST]
    more = len(rows) - len(kept)
    text = [
        f"{plural(more, 'more row')}, each below 1 % of warp cycles: --format csv or json has all."
    ] * bool(more)
    gain = found.speedup_without_conflicts
    if gain is not None and is_felt(gain) and not click.get_current_context().params.get("fix"):
        text.append(_TO_FIX)
    text += [_WARP_CYCLES if rows else f"No table: where warps wait is not known on {found.chip}."]
    kept = _with_source(kept, table.rows, report.sources) if by == "line" else kept
    grid, block = ("x".join(map(str, size)) for size in (report.grid, report.block))
    return Table(
        kept, table.totals, sums=[], answer=table.answer,
        title=f"{report.title} on {found.chip}: grid {grid}, block {block}",
        text=[*text, *(report.rerun.notes if report.rerun is not None else ())],
    )  # fmt: skip


def _time_of(report: CompiledReport) -> KernelTime:
    with waiting("estimating the time (the first time it compiles itself, for up to a minute)"):
        return report.time()


def _shown(row: Mapping[str, Any], whole: int, by: By) -> dict[str, Any]:
    """Return a row with its place, its share of warp cycles and its two main reasons."""
    file = Listing(row["file"], (), {}).name
    place = f"{file}:{row['line']}" if row["line"] else file or "no line"
    waits = sorted((name for name in STALLS if name in row), key=lambda name: -row[name])[:2]
    shares = ((heading(name), round(100 * row[name] / (row["warp_cycles"] or 1))) for name in waits)
    return {
        **({name: row[name] for name in ("address", "opcode")} if by == "instruction" else {}),
        "place": place,
        _SHARE: round(100 * row["warp_cycles"] / whole, 1),
        "mostly": ", ".join(f"{name} {share} %" for name, share in shares if share),
    }


def _with_source(
    shown: list[dict[str, Any]], rows: Sequence[Mapping[str, Any]],
    sources: Mapping[str, Sequence[str]],
) -> list[dict[str, Any]]:  # fmt: skip
    """Return rows of lines with the text of each, as far as it fits, where that is known."""
    texts = []
    for row in rows[: len(shown)]:
        lines = sources.get(row["file"], ())
        texts.append(lines[row["line"] - 1].strip() if 0 < row["line"] <= len(lines) else "")
    if not any(texts):
        return shown
    taken = max(len(row["place"]) + len(row["mostly"]) for row in shown) + len(_SHARE) + 6
    most = max(_SHORTEST, _WIDTH - taken)
    cut = (text if len(text) <= most else f"{text[: most - 1]}…" for text in texts)
    return [{**row, "source": text} for row, text in zip(shown, cut, strict=True)]
