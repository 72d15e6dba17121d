"""`replay_file`: the launches that stand in a CUDA source, replayed as `bankwise sass` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from simulator.errors import LaunchError
from simulator.law.chips import ChipLike
from simulator.law.instructions import Rule
from simulator.sass.architectures import Arch
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

    Raises LaunchError before anything runs: for a file without a launch, and for a launch with
    values that are not known. Else it raises what `replay_compiled` does.

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
    path = Path(file)
    if not is_source(path):
        raise LaunchError(
            f"{path} is compiled code, which has no launch (accepted: CUDA source; replay_compiled"
            " with grid, block and args)"
        )
    compiler = make_options(include, define or {}, options)
    wanted, _ = wanted_launches(launches_in(path, compiler, let), path.name, kernel)
    if not wanted:
        raise LaunchError(
            f"no launch{f' of {kernel}' if kernel else ''} stands in {path.name} (accepted:"
            " replay_compiled with kernel, grid, block and args)"
        )
    for each in wanted:
        if each.unknown:
            raise LaunchError(
                f"{path.name}:{each.line}: {each.kernel} is launched with values that are not"
                f" known: {', '.join(each.unknown)} (accepted: let={{'NAME': 1024}}, or"
                " replay_compiled with kernel, grid, block and args)"
            )
    launches = [launch_of(each) for each in wanted]
    return [
        replay_compiled(
            path, blocks=blocks, arch=arch, chip=chip, symbols=symbols, include=include,
            define=define, options=options, max_instructions=max_instructions, rule=rule, **launch,
        )
        for launch in launches
    ]  # fmt: skip
