"""The command `report`: several results in one page."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from simulator.cli.commands import cli
from simulator.cli.html import are_compared, command_line, keep, kept, page_options

__all__ = ["report", "run_input"]


@cli.command()
@click.argument("file")
@click.argument("inputs", nargs=-1, required=True)
@click.option("--title", help="Headline of the page.")
@click.option("--fail-on-conflict", is_flag=True, help="Exit 1 if an input has bank conflicts.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "md"]),
    help="md: at most 60 lines of Markdown, for a pull request.  [default: by FILE's ending]",
)
@page_options
def report(
    *,
    file: str,
    inputs: Sequence[str],
    title: str | None,
    fail_on_conflict: bool,
    form: str | None,
    cdn: bool,
    force: bool,
) -> int:
    """Write one page, FILE.html, or Markdown, FILE.md, about several results.

    Each of INPUTS is a command in quotes, such as 'simulate --warp-shape 2x16' (without
    "bankwise"), a question in C, or a NAME.csv: the columns of a sweep, or of a comparison with a
    GPU. The page begins with a table of the results. Two results of one kind are also drawn side by
    side.
    """
    from simulator.results.files import check_target
    from viz import markdown
    from viz import report as write

    also = "" if form else ".md"
    form = form or ("md" if file.lower().endswith(".md") else "html")
    check_target(file, force=force, page=form == "html", also=also)
    if form == "md" and cdn:
        raise click.UsageError("--cdn is for a page, not for Markdown")
    flags = ["--fail-on-conflict"] * fail_on_conflict
    codes = [run_input(given, flags) for given in inputs]
    if form == "md":
        markdown(*kept(), file=file, title=title, command=command_line(), force=force)
    else:
        write(
            *kept(), file=file, title=title, command=command_line(), cdn=cdn, force=force,
            compare=are_compared(kept(), len(inputs)),
        )  # fmt: skip
    click.echo(f"Wrote {click.format_filename(file)}", err=True)
    return max(codes)


def run_input(given: str, flags: Sequence[str] = ()) -> int:
    """Run one input for its results; what it would print is not wanted here.

    `flags` are added for a command that has them.
    """
    if given.lower().endswith(".csv"):
        keep(_columns(given))
        return 0
    context = click.get_current_context()
    try:
        name, *words = shlex.split(given) or [""]
    except ValueError as error:  # a quotation that does not end
        raise click.UsageError(f"input {given!r} is not a command: {error}") from None
    known = {
        name: command
        for name, command in _commands(context)
        if any(option.name == "html" for option in command.params)
    }
    if name not in known and re.search(r"[\[(;]", given):  # a question in C
        name, words = "explain", ["--", given]
    if name not in known:
        raise click.UsageError(
            f"input {given!r} is not a command with a report (accepted: {', '.join(sorted(known))},"
            " each with its options in one pair of quotes, or a .csv file)"
        )
    own = {text for option in known[name].params for text in option.opts}
    words = [*(flag for flag in flags if flag in own), *words]
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            known[name].make_context(name, words, parent=context) as inner,
        ):
            if any(inner.params.get(name) is not None for name in ("html", "svg", "plot")):
                raise click.UsageError(
                    f"input {given!r}: --html and --svg are not for an input of report"
                )
            before = len(kept())
            code = int(known[name].invoke(inner) or 0)
            if len(kept()) == before:
                raise click.UsageError(f"input {given!r} has no result to draw")
            return code
    except click.exceptions.Exit:  # it ended without a result, which only --help makes it do
        raise click.UsageError(f"input {given!r}: --help is not for an input of report") from None


def _commands(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None:
            yield name, command


def _columns(path: str) -> dict[str, list[Any]]:
    from simulator.errors import InputError

    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"{path} cannot be read: {reason}") from error
    head, *rows = list(csv.reader(io.StringIO(text))) or [[]]
    uneven = next((number for number, row in enumerate(rows, 2) if len(row) != len(head)), None)
    if not head or len(set(head)) != len(head) or uneven:
        where = f"line {uneven}" if uneven else "line 1"
        raise InputError(
            f"{path}, {where}: not a table (accepted: a line of different names, then lines with"
            " a value for each)"
        )
    return {name: [_value(row[place]) for row in rows] for place, name in enumerate(head)}


def _value(text: str) -> Any:
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
