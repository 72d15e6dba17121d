"""The command `schema`: what --format json is, for what reads it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from simulator.cli.commands import cli
from simulator.cli.completion import among

__all__ = ["schema"]


def _commands() -> list[str]:
    from simulator.results.schema import PRINTED

    return list(PRINTED)


@cli.command()
@click.argument("command", required=False, shell_complete=among(_commands))
@click.option(
    "--write",
    metavar="FOLDER",
    type=click.Path(),
    help="Write one file per command into FOLDER instead.",
)
def schema(*, command: str | None, write: str | None) -> int:
    """Print the JSON Schema of a command's --format json.

    Every command prints an object with rows and totals. Later versions keep the names in them.
    """
    from layouts.errors import accepted
    from simulator.results.schema import PRINTED, write_schemas
    from simulator.results.schema import schema as of

    if (command is None) == (write is None):
        raise click.UsageError(
            f"give a COMMAND, or --write FOLDER (accepted: {', '.join(PRINTED)})"
        )
    if write is not None:
        for path in write_schemas(Path(write)):
            click.echo(f"Wrote {click.format_filename(str(path))}", err=True)
        return 0
    if command not in PRINTED:
        raise click.UsageError(f"no JSON of {command!r}: {accepted(command, PRINTED)}")
    click.echo(json.dumps(of(str(command)), indent=1))
    return 0
