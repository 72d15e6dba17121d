"""The command `explore`: a page that counts as one types."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.commands import chip_option, cli
from simulator.cli.completion import among, ops, rules

if TYPE_CHECKING:
    from simulator.law.chips import Chip

__all__ = ["explore"]


@cli.command()
@click.argument("file", required=False)
@click.argument("expression", required=False)
@click.option(
    "--serve",
    "port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve the page to this machine instead of writing it; 0 takes any free port.",
)
@click.option("--block", metavar="XxYxZ", help="Threads of the block.  [default: the page assumes]")
@click.option("--op", help="Instruction: see `bankwise ops`.", shell_complete=among(ops))
@click.option(
    "--rule", help="silicon or documented.  [default: silicon]", shell_complete=among(rules)
)
@chip_option
@click.option("--force", is_flag=True, help="Overwrite an existing page.")
def explore(
    *,
    file: str | None,
    expression: str | None,
    port: int | None,
    block: str | None,
    op: str | None,
    rule: str | None,
    chip: str | None,
    force: bool,
) -> int:
    """Write a page in which you edit an access and see its bank conflicts at once.

    FILE is a name that ends in .html. EXPRESSION is what the page shows first, in C:

        bankwise explore page.html 'float s[32][33]; s[threadIdx.x][threadIdx.y]'

    The page works offline: it counts by itself, and shows the padding and the swizzle that would
    be best.
    """
    if port is not None:
        if expression is not None:
            raise click.UsageError(f"{file!r}: --serve writes no file (accepted: FILE or --serve)")
        if force:
            raise click.UsageError("--force is for a FILE, and --serve writes none")
        file, expression = None, file
    elif file is None:
        raise click.UsageError(
            "where should the page be written? (accepted: bankwise explore FILE.html, or"
            " bankwise explore --serve PORT)"
        )
    elif Path(file).suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(
            f"{file!r} does not end in .html (accepted: bankwise explore FILE.html 'EXPRESSION')"
        )
    from simulator.law.chips import optional_chip

    law = optional_chip(chip)
    start: dict[str, Any] = {
        "block": _block(block), "op": _op(op, law), "rule": _rule(rule), "chip": law,
    }  # fmt: skip
    from viz import explore as pages

    if file is not None:
        pages.write(file, expression, force=force, **start)
        click.echo(f"Wrote {click.format_filename(file)}", err=True)
        return 0
    assert port is not None  # noqa: S101 (else there is a file)
    with pages.server(pages.page(expression, **start), port) as server:
        click.echo(f"Serving http://127.0.0.1:{server.server_port}/ (Ctrl-C ends)", err=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo(err=True)
    return 0


def _block(text: str | None) -> str | None:
    if text is not None:
        sizes = re.fullmatch(r"\s*(\d{1,4})(?:[x,](\d{1,4}))?(?:[x,](\d{1,2}))?\s*", text)
        threads = 1
        for size in sizes.groups("1") if sizes else "0":
            threads *= int(size)
        if sizes is None or not 1 <= threads <= 1024:
            raise click.BadParameter(
                f"{text!r} is not X, XxY or XxYxZ with 1 to 1024 threads", param_hint="--block"
            )
        text = "x".join(sizes.groups("1"))
    return text


def _op(text: str | None, chip: Chip | None) -> str | None:
    from simulator.law.chips import counted_on

    return None if text is None else counted_on(chip, text).name


def _rule(text: str | None) -> str | None:
    from simulator.law.counting import check_rule

    if text is not None:
        check_rule(text)
    return text
