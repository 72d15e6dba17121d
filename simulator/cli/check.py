"""The command `check`: limits kept by CI."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simulator.cli.commands import cli, format_option
from simulator.cli.html import html_options, keep
from simulator.cli.output import Format, show_results

if TYPE_CHECKING:
    from simulator.checking.report import CheckReport

__all__ = ["check"]


@cli.command()
@click.argument("config", required=False, type=click.Path())
@click.option("--update", is_flag=True, help="Write the baseline from what is counted now.")
@click.option(
    "--baseline",
    metavar="FILE",
    type=click.Path(),
    help="Fail if a figure is worse than in FILE.  [default: the file's own]",
)
@click.option("--junit", metavar="FILE", type=click.Path(), help="Also write JUnit's XML.")
@click.option("--sarif", metavar="FILE", type=click.Path(), help="Also write SARIF 2.1.0.")
@click.option("--fix", is_flag=True, help="Show what to change in a kernel; each fix is run.")
@format_option
@html_options
def check(
    *,
    config: str | None,
    update: bool,
    baseline: str | None,
    junit: str | None,
    sarif: str | None,
    fix: bool,
    output: Format,
) -> int:
    """Check a project's accesses and kernels against their limits, for CI.

    CONFIG is a bankwise.toml, or a pyproject.toml with [tool.bankwise]. The default is the one in
    this folder, or in the nearest folder above it. The exit code is 0 if all limits hold, 1 if one
    is broken, and 2 if something cannot be checked. On GitHub Actions, each broken limit is shown
    at its line, and the job gets a summary. docs/how-to/ci.md says what the file may contain.
    """
    from layouts.errors import BankwiseError
    from simulator.checking import check as run
    from simulator.checking import github
    from simulator.checking.junit import as_junit
    from simulator.checking.printing import root_of
    from simulator.checking.sarif import as_sarif
    from simulator.results.files import check_target

    for target in filter(None, (junit, sarif)):
        check_target(target)  # before the work, not after it
    try:
        report = run(config, baseline=baseline, update=update, fix=fix, announce=_announce())
    except BankwiseError as error:
        if _on_github():
            click.echo(github.problem(str(error)), err=True)
        raise
    finally:
        _clear()
    keep(report)
    root = root_of(report.config, os.environ.get("GITHUB_WORKSPACE"))
    if junit:
        _write(junit, as_junit(report, root))
    if sarif:
        _write(sarif, as_sarif(report, root))
    if _on_github():
        _tell_github(report, output, root)
    else:
        _show(report, output, root)
    if update:
        click.echo(f"Wrote {click.format_filename(str(report.baseline))}", err=True)
    return report.code


def _show(report: CheckReport, output: Format, root: Path) -> None:
    if output == "md":
        from simulator.checking.markdown import as_markdown

        click.echo(as_markdown(report, root), nl=False)
    else:
        show_results({"": report}, output)


def _on_github() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _tell_github(report: CheckReport, output: Format, root: Path) -> None:
    """Print with annotations, and add to the job's summary."""
    from simulator.checking import github
    from simulator.checking.markdown import as_markdown

    data = output in ("json", "csv")  # which must stay what they are
    token = secrets.token_hex(16)
    if not data:
        click.echo(f"::stop-commands::{token}")
    _show(report, output, root)
    if not data:
        click.echo(f"::{token}::")
    for line in github.workflow_commands(report, root):
        click.echo(line, err=data)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with open(summary, "a", encoding="utf-8") as file:
            file.write(as_markdown(report, root))


def _write(path: str, text: str) -> None:
    from simulator.results.files import save

    save(path, lambda place: place.write_text(text, encoding="utf-8"))


_WIDE = 70


def _announce() -> Callable[[str], None] | None:
    """Say on a terminal what is waited for, on one line."""
    if not sys.stderr.isatty():
        return None
    return lambda text: click.echo(f"\r{text[:_WIDE].ljust(_WIDE)}", nl=False, err=True)


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo("\r" + " " * _WIDE + "\r", nl=False, err=True)
