"""`bankwise sass … --fix`, `--fix-diff` and `--write`: what to change in a kernel's arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.output import Format, show_tables

if TYPE_CHECKING:
    from simulator.sass.report import CompiledReport

__all__ = ["check_fix_options", "fix_options", "remember", "show_diff", "show_fixes"]

_REPORTS = "bankwise.fixing"


def fix_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --fix, --fix-diff and --write."""
    options = [
        click.option("--fix", is_flag=True,
                     help="Say which padding or swizzle removes bank conflicts; each is run."),
        click.option("--fix-diff", is_flag=True,
                     help="Print the source's change as a diff, once it was compiled and run."),
        click.option("--write", is_flag=True, help="With --fix-diff: change FILE."),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def check_fix_options(options: dict[str, Any], output: Format) -> None:
    """Refuse what would be ignored."""
    if options["write"] and not options["fix_diff"]:
        raise click.UsageError("--write is for --fix-diff, which finds what to write")
    if options["fix_diff"] and (output != "table" or options["fix"]):
        raise click.UsageError(
            "--fix-diff prints a diff alone (accepted: without --fix, --format, --json, --csv)"
        )
    if options["fix_diff"] and options["triton"]:
        raise click.UsageError("--fix-diff changes CUDA source (accepted with --triton: --fix)")
    if options["fix"] and output == "csv":
        raise click.UsageError("--fix has sentences (accepted: a table, Markdown or JSON)")


def show_fixes(reports: dict[str, CompiledReport], output: Format) -> dict[str, Any]:
    """Print the fixes of a launch below its table; for JSON return them instead."""
    from simulator.fixing.fix import fixes_table

    found = {rule: report.fixes() for rule, report in reports.items()}
    if output == "json":
        listed = {rule: [each.to_dict() for each in fixes] for rule, fixes in found.items()}
        return {"fixes": next(iter(listed.values())) if len(listed) == 1 else listed}
    for rule, fixes in found.items():
        table = fixes_table(fixes, rule if len(found) > 1 else "")
        click.echo()
        show_tables([table], output)
    return {}


def remember(reports: dict[str, CompiledReport]) -> None:
    """Keep the report of a launch for the diff."""
    click.get_current_context().meta.setdefault(_REPORTS, []).append(next(iter(reports.values())))


def show_diff(write: bool) -> None:
    """Print the diff of all launches, and why some fixes are not in it; with `write`, change it.

    Raises OutputError where the file cannot be written.
    """
    from simulator.fixing.patch import patch_of
    from simulator.results.files import save

    reports: Sequence[CompiledReport] = click.get_current_context().meta.get(_REPORTS, [])
    if not reports:
        return
    patch = patch_of(reports)
    for reason in patch.left:
        click.echo(f"bankwise: left to you: {reason}", err=True)
    click.echo(patch.diff, nl=False)
    if not patch.diff:
        click.echo("bankwise: nothing to change in the source", err=True)
        return
    was, now = (
        sum(each.totals()["all"]["bank_conflicts"] for each in group)
        for group in (reports, patch.reports)
    )
    click.echo(
        f"bankwise: compiled and replayed: {was:,} -> {now:,} bank conflicts, equal outputs",
        err=True,
    )
    if write:
        text = patch.after
        save(patch.file, lambda path: Path(path).write_text(text))
        click.echo(f"Wrote {click.format_filename(patch.file)}", err=True)
