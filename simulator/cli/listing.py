"""`bankwise sass --list`: the kernels in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simulator.cli.output import Format, Table, show
from simulator.cli.sources import COMPILER

if TYPE_CHECKING:
    from simulator.sass.code.cubin import Cubin
    from simulator.sass.code.launches import Launches

__all__ = ["ask_for_arguments", "commands_of", "list_kernels"]


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
    if not text:
        text = ["\n".join(commands_of(cubin, options["file"]))]
    shown = text if output == "table" else []
    show(Table(rows, {"kernels": len(rows)}, sums=[], text=shown), output)


def commands_of(cubin: Cubin, file: str, kernel: str | None = None) -> list[str]:
    """Return a command to edit and run for each kernel of compiled code, or for one of them."""
    from simulator.sass.code.cubin import base_name
    from simulator.sass.code.demangling import demangled, parameter_types
    from simulator.sass.code.launches import FoundLaunch
    from simulator.sass.code.placeholders import placeholder
    from simulator.sass.code.records import Types
    from simulator.sass.code.signatures import Signature

    said = []
    names = [base_name(each) for each in cubin.kernels]
    for each in cubin.kernels.values():
        if kernel is not None and each.name != cubin.kernel(kernel).name:
            continue
        kinds = parameter_types(each.name)
        name = base_name(each.name)
        if len(kinds) == len(each.parameters):
            signature = Signature(name, tuple((kind, "") for kind in kinds))
            texts = placeholder(signature, Types({}, {}, lambda extents: None))
        else:
            sizes = enumerate(parameter.size for parameter in each.parameters)
            texts = tuple(f"<argument {index}: {size} bytes>" for index, size in sizes)
        short = name if names.count(name) == 1 else each.name
        launch = FoundLaunch(short, 0, "<grid>", "<block>", "0", texts, ())
        listed = f"({', '.join(kinds)})" if kinds else ""
        said += [f"{demangled(each.name)}{listed}", f"  {launch.command(file)}"]
    return said


def ask_for_arguments(given: Path, options: dict[str, Any], kernel: str | None) -> None:
    """Raise LaunchError, with a command to edit, for compiled code that takes arguments."""
    from layouts.errors import plural
    from simulator.errors import LaunchError
    from simulator.sass.code.demangling import demangled
    from simulator.sass.code.images import is_device_code, load

    if not is_device_code(given):
        return
    cubin, _ = load(given, options["arch"], kernel)
    chosen = cubin.kernel(kernel)
    if chosen.parameters:
        command = commands_of(cubin, options["file"], chosen.name)[1]
        takes = f"takes {plural(len(chosen.parameters), 'argument')}"
        raise LaunchError(
            f"{demangled(chosen.name)} {takes}, and no --arg was given (next: fill in):\n{command}"
        )


def _declared(launches: Launches) -> Table:
    """Return the kernels that a source declares, of which nothing was compiled."""
    unknown = dict.fromkeys(("instructions", "shared_bytes", "arch"))
    rows = [
        {"kernel": each.full_name, "symbol": None, "parameters": len(each.parameters), **unknown}
        for listed in launches.kernels.values()
        for each in dict.fromkeys(listed)
    ]
    return Table(rows, {"kernels": len(rows)})
