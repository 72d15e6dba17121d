"""`--html FILE` for any command: what it `keep`s becomes a report.

    @html_options
    def simulate(...):
        ...
        keep(report)

Results are kept in click's context, so that `bankwise report` can collect those of several
commands. Nothing of `viz` is imported unless a report is asked for.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from typing import Any

import click

__all__ = ["ARGUMENTS", "command_line", "html_options", "keep", "kept", "page_options"]

_KEPT = "bankwise.results"
ARGUMENTS = "bankwise.arguments"
"""Where the context holds the words that the command was called with."""

_Command = Callable[..., Any]


def keep(*results: object) -> None:
    """Remember results for a report that the user may have asked for."""
    kept().extend(results)


def kept() -> list[object]:
    """Give the results that the running command, or those before it in a report, kept."""
    results: list[object] = click.get_current_context().meta.setdefault(_KEPT, [])
    return results


def command_line() -> str:
    """Give the command as it was typed."""
    words = click.get_current_context().meta.get(ARGUMENTS, [])
    return shlex.join(["bankwise", *words])


def page_options(command: _Command) -> _Command:
    """Add the options that say how a page is written."""
    options = [
        click.option("--cdn", is_flag=True, help="A small page that loads Plotly from its server."),
        click.option("--force", is_flag=True, help="Overwrite an existing page."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def html_options(command: _Command) -> _Command:
    """Add --html, --cdn and --force, and write the page once the command has run."""

    @click.option("--html", metavar="FILE", help="Also write a page with interactive figures.")
    @page_options
    @functools.wraps(command)
    def wrapped(*, html: str | None, cdn: bool, force: bool, **options: Any) -> Any:
        if html is None:
            if cdn or force:
                raise click.UsageError("--cdn and --force are for --html FILE")
            return command(**options)
        from simulator.results.files import check_target
        from viz import report

        check_target(html, force=force, page=True)  # before the work, not after it
        code = command(**options)
        if not kept():  # such as a list of kernels
            raise click.UsageError("--html: there is no result to draw")
        report(*kept(), file=html, command=command_line(), cdn=cdn, force=force)
        click.echo(f"Wrote {click.format_filename(html)}", err=True)
        return code

    return wrapped
