"""`bankwise sass … --fix`, `--fix-diff` and `--write`: what to change in a kernel's arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.output import Format, Table, show, show_tables

if TYPE_CHECKING:
    from simulator.sass.report import CompiledReport

__all__ = ["fix_options", "kept_for_diff", "show_with_fixes"]

_REPORTS = "bankwise.fixing"

_OPTIONS = [
    click.option("--fix", is_flag=True,
                 help="Show paddings or swizzles that remove bank conflicts; each is run."),
    click.option("--fix-diff", is_flag=True,
                 help="Print the change of the source as a diff; it is compiled and run first."),
    click.option("--write", is_flag=True, help="With --fix-diff: change FILE."),
]  # fmt: skip


def fix_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --fix, --fix-diff and --write; the diff is printed once the command has run."""

    @functools.wraps(command)
    def wrapped(*, output: Format, **options: Any) -> Any:
        _check(options, output)
        code = command(output=output, **options)
        if options["fix_diff"]:
            _show_diff(options["write"])
        return code

    found: Callable[..., Any] = wrapped
    for option in reversed(_OPTIONS):
        found = option(found)
    return found


def _check(options: dict[str, Any], output: Format) -> None:
    """Refuse what would be ignored."""
    if options["write"] and not options["fix_diff"]:
        raise click.UsageError(
            "--write needs --fix-diff, which finds the change (accepted: --fix-diff --write)"
        )
    if options["fix_diff"] and (output != "table" or options["fix"]):
        raise click.UsageError(
            "--fix-diff prints a diff alone (accepted: without --fix and --format)"
        )
    if options["fix_diff"] and options["triton"]:
        raise click.UsageError("--fix-diff changes CUDA source (accepted with --triton: --fix)")
    if options["fix"] and output == "csv":
        raise click.UsageError("--fix has sentences (accepted: a table, Markdown or JSON)")
    if options["fix"] and output == "json" and not options["arguments"]:
        raise click.UsageError(
            "--fix of all launches of a file is text (accepted: a table or Markdown; for JSON one"
            " launch, by --kernel, --grid, --block and --arg)"
        )


def kept_for_diff(reports: dict[str, CompiledReport]) -> bool:
    """Whether a diff is printed, not tables: it is of these reports, and others."""
    context = click.get_current_context()
    if context.params.get("fix_diff"):
        context.meta.setdefault(_REPORTS, []).append(next(iter(reports.values())))
    return bool(context.params.get("fix_diff"))


def show_with_fixes(table: Table, reports: dict[str, CompiledReport], output: Format) -> None:
    """Print a table of reports, and, with --fix, what to change: below it, or in its totals."""
    if not click.get_current_context().params.get("fix"):
        show(table, output)
        return
    from simulator.fixing.fix import fixes_table

    if output == "json":
        listed = {
            rule: [each.to_dict() for each in report.fixes()] for rule, report in reports.items()
        }
        fixes = next(iter(listed.values())) if len(listed) == 1 else listed
        show(replace(table, totals={**table.totals, "fixes": fixes}), output)
        return
    show(table, output)
    for rule, report in reports.items():
        click.echo()
        show_tables([fixes_table(report.fixes(), rule if len(reports) > 1 else "")], output)


def _show_diff(write: bool) -> None:
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
        is_advice = "; write " in reason
        click.echo(f"bankwise: {'left to you: ' if is_advice else ''}{reason}", err=True)
    for said in patch.instead:
        click.echo(f"bankwise: {said}", err=True)
    click.echo(patch.diff, nl=False)
    if not patch.diff:
        click.echo("bankwise: nothing was changed in the source", err=True)
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
