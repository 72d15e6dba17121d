"""`bankwise sass --list`: the kernels in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.output import Format, Table, show
from simulator.cli.sources import COMPILER

if TYPE_CHECKING:
    from simulator.sass.code.launches import Launches

__all__ = ["list_kernels"]


def list_kernels(given: Any, options: dict[str, Any], kernel: str | None, output: Format) -> None:
    """Show the kernels in a file; of source also a command for each, to edit and run.

    Raises SassError.
    """
    from simulator.cli.sources import commands
    from simulator.errors import CompileError, CubinError
    from simulator.sass.code.demangling import demangled
    from simulator.sass.code.device import device_for
    from simulator.sass.code.images import load
    from simulator.sass.code.options import parse_options
    from simulator.sass.found import is_source, launches_in

    built = parse_options(click.get_current_context().meta[COMPILER])
    text: list[str] = []
    if isinstance(given, Path) and is_source(given):
        found = launches_in(given, built, chip=device_for(options["chip"], options["arch"]))
        text = ["\n".join(commands(found, options["file"]))] if found.kernels else []
    try:
        cubin, _ = load(given, options["arch"], kernel, built)
    except (CompileError, CubinError) as error:
        if not text:
            raise
        if output in ("json", "csv"):
            show(_declared(found), output)
        else:
            click.echo(text[0])  # its kernels are known although it does not compile
        if isinstance(error, CompileError):
            raise
        return
    rows = [
        {
            "kernel": demangled(each.name),
            "symbol": each.name,
            "parameters": len(each.parameters),
            "instructions": each.code_bytes // 16,
            "shared_bytes": max(each.shared_bytes - cubin.architecture.reserved, 0),
            "arch": cubin.architecture.name,
        }
        for each in cubin.kernels.values()
    ]
    shown = text if output == "table" else []
    show(Table(rows, {"kernels": len(rows)}, sums=[], text=shown), output)


def _declared(launches: Launches) -> Table:
    """Return the kernels that a source declares, of which nothing was compiled."""
    unknown = dict.fromkeys(("instructions", "shared_bytes", "arch"))
    rows = [
        {"kernel": each.full_name, "symbol": None, "parameters": len(each.parameters), **unknown}
        for listed in launches.kernels.values()
        for each in dict.fromkeys(listed)
    ]
    return Table(rows, {"kernels": len(rows)})
