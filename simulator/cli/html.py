"""`--html FILE` and `--svg FILE` for any command: what it `keep`s becomes a page or a picture.

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
from collections.abc import Callable, Sequence
from typing import Any

import click

__all__ = [
    "ARGUMENTS",
    "are_compared",
    "command_line",
    "html_options",
    "is_drawn",
    "keep",
    "kept",
    "page_options",
]

_KEPT = "bankwise.results"
ARGUMENTS = "bankwise.arguments"
"""Where the context holds the words that the command was called with."""

_Command = Callable[..., Any]


def keep(*results: object) -> None:
    """Remember results for a report that the user may have asked for."""
    kept().extend(results)


def kept() -> list[object]:
    """Return the results that the running command, or those before it in a report, kept."""
    results: list[object] = click.get_current_context().meta.setdefault(_KEPT, [])
    return results


def are_compared(results: Sequence[object], inputs: int = 1) -> bool:
    """Return whether two results are to be compared: not different kernels of one input.

    A file's launches follow one another; one does not take the place of the other.
    """
    kernels = {name for each in results if isinstance(name := getattr(each, "kernel", None), str)}
    return inputs == len(results) or len(kernels) <= 1


def is_drawn() -> bool:
    """Return whether the running command's results will be drawn: by itself, or by another."""
    context = click.get_current_context()
    own = any(context.params.get(name) is not None for name in ("html", "svg"))
    return own or (context.parent is not None and context.parent.info_name in ("report", "compare"))


def command_line() -> str:
    """Return the command as it was typed."""
    words = click.get_current_context().meta.get(ARGUMENTS, [])
    return shlex.join(["bankwise", *words])


def page_options(command: _Command) -> _Command:
    """Add the options that say how a page is written."""
    options = [
        click.option(
            "--cdn", is_flag=True, help="Write a small page, which loads Plotly from the network."
        ),
        click.option("--force", is_flag=True, help="Overwrite what exists."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def html_options(command: _Command) -> _Command:
    """Add --html, --svg, --cdn and --force, and write the files once the command has run."""

    @click.option("--html", metavar="FILE", help="Also write a page: verdict, pictures, cure.")
    @click.option("--svg", metavar="FILE", help="Also write the pictures, before and after.")
    @page_options
    @functools.wraps(command)
    def wrapped(
        *, html: str | None, svg: str | None, cdn: bool, force: bool, **options: Any
    ) -> Any:
        if html is None and svg is None:
            saves = options.get("save_outputs")  # of `sass`, which looks at --force itself
            if cdn or (force and not saves):
                raise click.UsageError("--cdn and --force are for --html FILE or --svg FILE")
            return command(**options)
        from simulator.results.files import check_target
        from viz import report
        from viz import svg as picture
        from viz.page.svg import check_svg

        if html is not None:
            check_target(html, force=force, page=True)  # before the work, not after it
        if svg is not None:
            check_svg(svg, force=force)
        code = command(**options)
        if not kept():  # such as a list of kernels
            raise click.UsageError(f"--{'html' if html else 'svg'}: there is no result to draw")
        if svg is not None:
            picture(*kept(), file=svg, force=force)
        if html is not None:
            report(
                *kept(), file=html, command=command_line(), cdn=cdn, force=force,
                compare=are_compared(kept()),
            )  # fmt: skip
        for written in filter(None, (html, svg)):
            click.echo(f"Wrote {click.format_filename(written)}", err=True)
        return code

    return wrapped
