"""`replay_file`: the launches that stand in a CUDA source, replayed as `bankwise sass` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from layouts.errors import short
from layouts.shapes import is_integer, is_number
from simulator.errors import LaunchError
from simulator.law.chips import ChipLike, optional_chip
from simulator.law.instructions import Rule
from simulator.sass.architectures import Arch
from simulator.sass.code.device import device_for
from simulator.sass.code.options import make_options
from simulator.sass.found import is_source, launch_of, launches_in, wanted_launches
from simulator.sass.replay import Blocks, replay_compiled
from simulator.sass.report import CompiledReport

__all__ = ["replay_file"]


def replay_file(
    file: str | PathLike[str],
    *,
    kernel: str | None = None,
    let: Mapping[str, int | float] | None = None,
    blocks: Blocks = "sample",
    arch: Arch | None = None,
    chip: ChipLike | None = None,
    symbols: Mapping[str, Any] | None = None,
    include: Sequence[str | Path] = (),
    define: Mapping[str, object] | None = None,
    options: Sequence[str] = (),
    max_instructions: int | None = None,
    rule: Rule = "silicon",
) -> list[CompiledReport]:
    """Replay the launches that a CUDA source makes, in their order: a report for each.

    Its host code is read, not run. Arrays that it fills are random; where data decide an address,
    a note of the report says so.

    Raises LaunchError before anything runs: for a file without a launch, for a launch with values
    that are not known, and for a `let` or a `kernel` of another type. Else it raises what
    `replay_compiled` does.

    Parameters
    ----------
    file
        CUDA source.
    kernel
        Only launches of this one; None: all.
    let
        Values of variables that the host code does not tell; for a pointer its elements, and "*"
        for those of all other pointers.
    blocks, arch, chip, symbols, include, define, options, max_instructions, rule
        Those of `replay_compiled`, for each launch.

    Examples
    --------
    >>> (report,) = replay_file("examples/tutorial/transpose.cu")
    >>> report.grid, report.block, report.bank_conflicts
    ((32, 32, 1), (32, 32, 1), 1015808)
    """
    path, values = Path(file), _values(let)
    if not (kernel is None or isinstance(kernel, str)):
        raise LaunchError(f"kernel {short(kernel)} is not a name (accepted: text; None for all)")
    if not is_source(path):
        raise LaunchError(
            f"{path} is compiled code, which has no launch (accepted: CUDA source; replay_compiled"
            " with grid, block and args)"
        )
    compiler = make_options(include, define or {}, options)
    device = device_for(optional_chip(chip), arch)
    wanted, _ = wanted_launches(launches_in(path, compiler, values, device), path.name, kernel)
    if not wanted:
        raise LaunchError(
            f"no launch{f' of {kernel}' if kernel else ''} is in {path.name} (accepted:"
            " replay_compiled with kernel, grid, block and args)"
        )
    for each in wanted:
        if each.unknown:
            raise LaunchError(
                f"{path.name}:{each.line}: {each.kernel} is launched with values that are not"
                f" known: {', '.join(each.unknown)} (accepted: let={{'NAME': 1024}}, or"
                " replay_compiled with kernel, grid, block and args)"
            )
    launches = [launch_of(each, symbols) for each in wanted]
    return [
        replay_compiled(
            path, blocks=blocks, arch=arch, chip=chip, include=include,
            define=define, options=options, max_instructions=max_instructions, rule=rule, **launch,
        )
        for launch in launches
    ]  # fmt: skip


def _values(let: object) -> dict[str, int | float]:
    if not isinstance(let, Mapping | None):
        raise LaunchError(f"let {short(let)} is not a mapping (accepted: {{'NAME': 1024}})")
    found: dict[str, int | float] = {}
    for name, value in (let or {}).items():
        if not (isinstance(name, str) and is_number(value)):
            raise LaunchError(
                f"let {{{short(name)}: {short(value)}}} is not a name with a number (accepted:"
                " {'NAME': 1024})"
            )
        found[name] = int(value) if is_integer(value) else float(value)
    return found
