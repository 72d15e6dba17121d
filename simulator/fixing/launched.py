"""Launches that a source makes of a template's other instantiations: a fix changes them, too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from simulator.errors import SassError
from simulator.sass.code.launches import FoundLaunch
from simulator.sass.found import launch_of, launches_in
from simulator.sass.report import CompiledReport
from simulator.sass.run.grid import GridRun, dim3
from simulator.sass.sampling import arguments_of, run_blocks

__all__ = ["launched_beside"]


def launched_beside(
    reports: Sequence[CompiledReport], assumed: Mapping[str, int | float] | None = None
) -> tuple[list[CompiledReport], list[str]]:
    """Replay the launches that a source makes of other instantiations of these reports' kernels.

    Also returned is why some could not be replayed. `assumed`: as `launches_in` has it.

    Raises LaunchError where a launch is no longer known.
    """
    again = reports[0].relaunch()
    if again.source is None or again.build.path is None:
        return [], []
    ran = {_plain(each.title) for each in reports}
    kernels = {each.partition("<")[0] for each in ran}
    symbols = {each.relaunch().program.kernel.name for each in reports}
    found, missing = list[CompiledReport](), list[str]()
    launches = launches_in(again.build.path, again.build.options, assumed).launches
    for launch in dict.fromkeys(launches):
        name = _plain(launch.kernel)
        if "<" not in name or name in ran or name.partition("<")[0] not in kernels:
            continue
        why = f"its values are not known: {', '.join(launch.unknown)}"
        if not launch.unknown:
            try:
                found += _replayed(reports[0], launch, symbols)
                continue
            except SassError as error:
                why = str(error).splitlines()[0]
        missing.append(f"{launch.kernel} has the same lines, and was not run: {why}")
    return found, missing


def _replayed(known: CompiledReport, found: FoundLaunch, ran: set[str]) -> list[CompiledReport]:
    """Replay a launch of the source of a report, as that was replayed; not if its kernel ran."""
    again, given = known.relaunch(), launch_of(found)
    symbols = {**given["symbols"], **again.build.symbols}
    build = replace(again.build, kernel=given["kernel"], symbols=symbols)
    cubin, source = build.load()
    built = build.built(cubin, source, lambda _: None)
    if built.program.kernel.name in ran:
        return []
    launch = GridRun(
        built.cubin, built.program, dim3(given["grid"], "grid"), dim3(given["block"], "block"),
        tuple(given["args"]), given["shared_bytes"], again.given["max_instructions"],
        again.given["rule"], chip=again.given["chip"],
        cluster=built.program.kernel.cluster or (1, 1, 1),
        cooperative=given["cooperative"],
    )  # fmt: skip
    report = run_blocks(launch, again.blocks, built.notes)
    rerun = replace(again, given=arguments_of(launch), notes=built.notes, build=build)
    return [replace(report, sources=again.sources, rerun=rerun)]


def _plain(kernel: str) -> str:
    """Return a kernel's name without its namespaces and blanks."""
    name, angle, rest = re.sub(r"\s", "", kernel).partition("<")
    return name.rpartition("::")[2] + angle + rest
