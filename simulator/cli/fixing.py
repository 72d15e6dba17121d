"""`bankwise sass … --fix`, `--fix-diff` and `--write`: what to change in a kernel's arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.output import Format, Table, show, show_tables
from simulator.cli.watching import waiting

if TYPE_CHECKING:
    from simulator.cli.failing import Costs
    from simulator.sass.report import CompiledReport

__all__ = ["fix_options", "kept_for_diff", "show_with_fixes"]

_REPORTS = "bankwise.fixing"
_TRYING = "trying changes, and timing them (the first time: up to a minute)"

_OPTIONS = [
    click.option("--fix", is_flag=True,
                 help="Show paddings or swizzles that remove bank conflicts; each is run."),
    click.option("--fix-diff", is_flag=True,
                 help="Print the change of the source as a diff; it is compiled and run first."
                 " Exit 1 if there are bank conflicts and no change helps."),
    click.option("--write", is_flag=True, help="With --fix-diff: change FILE."),
]  # fmt: skip


def fix_options(command: Callable[..., dict[str, Costs]]) -> Callable[..., dict[str, Costs]]:
    """Add --fix, --fix-diff and --write; both print once the command has run."""

    @functools.wraps(command)
    def wrapped(*, output: Format, **options: Any) -> dict[str, Costs]:
        _check(options, output)
        costs = command(output=output, **options)
        launches = click.get_current_context().meta.get(_REPORTS, [])
        if options["fix_diff"]:
            unfixed = _show_diff([next(iter(each.values())) for each in launches], options)
            return {rule: each._replace(unfixed=unfixed) for rule, each in costs.items()}
        if options["fix"]:
            _show_fixes(launches, output, options)
        return costs

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
        context.meta.setdefault(_REPORTS, []).append(reports)
    return bool(context.params.get("fix_diff"))


def show_with_fixes(table: Table, reports: dict[str, CompiledReport], output: Format) -> None:
    """Print a table of reports; with --fix keep them, or have the fixes in a JSON's totals."""
    context = click.get_current_context()
    if not context.params.get("fix"):
        show(table, output)
        return
    if output == "json":
        beside, missing = _beside([reports], context.params)
        _warn(missing)
        listed = {
            rule: [each.to_dict() for each in report.fixes(beside.get(rule, []))]
            for rule, report in reports.items()
        }
        fixes = next(iter(listed.values())) if len(listed) == 1 else listed
        show(replace(table, totals={**table.totals, "fixes": fixes}), output)
        return
    show(table, output)
    context.meta.setdefault(_REPORTS, []).append(reports)


def _beside(
    launches: Sequence[dict[str, CompiledReport]], options: dict[str, Any]
) -> tuple[dict[str, list[CompiledReport]], list[str]]:
    """Return the launches of each rule with those that the source makes beside them, and what not.

    Others are replayed only where there are bank conflicts.
    """
    from simulator.cli.sources import assumed
    from simulator.fixing.launched import launched_beside

    found: dict[str, list[CompiledReport]] = {}
    missing: list[str] = []
    for rule in launches[0] if launches else ():
        reports = found[rule] = [each[rule] for each in launches]
        if not options["triton"] and any(each.bank_conflicts for each in reports):
            more, missing = launched_beside(reports, assumed(options["lets"]))
            found[rule] = [*reports, *more]
    return found, missing


def _warn(missing: Sequence[str]) -> None:
    for said in missing:
        click.echo(f"bankwise: a change was not tried on all kernels: {said}", err=True)


def _show_fixes(
    launches: Sequence[dict[str, CompiledReport]], output: Format, options: dict[str, Any]
) -> None:
    """Print what to change in each launch: all ran before, and no fix makes one of them worse."""
    from simulator.fixing.beside import kernel_names
    from simulator.fixing.fix import fixes_table

    if output == "json":
        return
    beside, missing = _beside(launches, options)
    names = kernel_names([next(iter(each.values())) for each in launches])
    for name, reports in zip(names, launches, strict=True):
        for rule, report in reports.items():
            said = (rule if len(reports) > 1 else "", name if len(launches) > 1 else "")
            with waiting(_TRYING):
                table = fixes_table(report.fixes(beside[rule]), *said)
            click.echo()
            show_tables([table], output)
    _warn(missing)


def _show_diff(reports: Sequence[CompiledReport], options: dict[str, Any]) -> int:
    """Print the diff of all launches, and why some fixes are not in it; with --write, change it.

    Return the bank conflicts that are there and that no diff was found for.

    Raises OutputError where the file cannot be written.
    """
    from simulator.fixing.beside import kernel_names
    from simulator.fixing.fix import predicted_of
    from simulator.fixing.patch import patch_of
    from simulator.fixing.unreached import unreached
    from simulator.results.files import save
    from simulator.sass.code.naming import encoding_of

    if not reports:
        return 0
    beside, missing = _beside([{"": each} for each in reports], options)
    reports = beside[""]
    with waiting(_TRYING):
        patch = patch_of(reports)
        gains = list(map(predicted_of, reports, patch.reports))  # of none, if nothing was changed
    for reason in patch.left:
        is_advice = "; write " in reason
        click.echo(f"bankwise: {'left to you: ' if is_advice else ''}{reason}", err=True)
    for said in patch.instead:
        click.echo(f"bankwise: {said}", err=True)
    _warn(missing)
    raw = patch.diff.encode(errors="surrogateescape")
    click.echo(patch.diff if encoding_of(raw) == "utf-8" else raw, nl=False)
    if not patch.diff:
        conflicts = sum(each.bank_conflicts for each in reports)
        why = f", and {conflicts:,} bank conflicts are left" if conflicts else ""
        click.echo(f"bankwise: nothing was changed in the source{why}", err=True)
        return conflicts
    tried = zip(kernel_names(reports), reports, patch.reports, gains, strict=True)
    for name, was, now, predicted in tried:
        lines = unreached(was)
        unseen = f" (they do not tell about {lines}: no lane came by)" if lines else ""
        gained = f". {predicted}" if predicted else ""
        click.echo(
            f"bankwise: {name} compiled and replayed: {was.bank_conflicts:,} ->"
            f" {now.bank_conflicts:,} bank conflicts, equal outputs{unseen}{gained}",
            err=True,
        )
    if options["write"]:
        save(patch.file, lambda path: Path(path).write_bytes(patch.after))
        click.echo(f"Wrote {click.format_filename(patch.file)}", err=True)
    return 0
