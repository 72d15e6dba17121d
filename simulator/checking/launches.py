"""Kernels of entries, replayed: what each line of their source costs."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.checking.allowing import Allowance, allowances
from simulator.checking.figures import Figures, TimeFigures, figures_of, total
from simulator.checking.measured import LineCost, Measured, SourcePlace
from simulator.errors import BankwiseError, CheckError, LaunchError
from simulator.results.tables import rows

if TYPE_CHECKING:
    from simulator.checking.measuring import Announce
    from simulator.fixing.fix import Fix
    from simulator.sass.code.launches import FoundLaunch
    from simulator.sass.report import CompiledReport

__all__ = ["Planned", "kernel", "line_costs", "planned", "triton"]

_OF_A_LAUNCH = ("grid", "block", "args", "shared_bytes", "cluster")
_PLAIN = ("blocks", "arch", "chip", "rule", "max_instructions")


Planned = tuple[Measured, Path, dict[str, Any]]
"""A launch before it runs: its name and place, the file, what `replay_compiled` takes."""


def kernel(folder: Path, here: Measured, announce: Announce) -> Iterator[Measured]:
    """Yield what a kernel's launches cost; one that cannot be replayed says why."""
    from simulator.sass.replay import replay_compiled

    ran: list[CompiledReport] = []
    for one, path, launch in planned(folder, here):
        if one.error:
            yield one
            continue
        announce(f"running {one.name}")
        try:
            ran.append(replay_compiled(path, **launch))
            yield _measured(one, ran[-1], ran)
        except BankwiseError as error:
            yield replace(one, error=str(error))


def planned(folder: Path, here: Measured) -> Iterator[Planned]:
    """Yield a kernel's launch as the entry gives it, or else each that its source makes.

    Raises CheckError and SassError for an entry without a launch.
    """
    from simulator.sass.found import is_source

    given = here.entry.given
    path = _file(folder, given["file"])
    options = {
        "include": [folder / each for each in given.get("include", ())],
        "define": given.get("define"),
        "options": given.get("options", ()),
        "symbols": _arguments(folder, given.get("set", {})),
        **{name: given[name] for name in _PLAIN if name in given},
    }
    if is_source(path) and not any(name in given for name in _OF_A_LAUNCH):
        yield from _of_the_file(here, path, options)
        return
    if "let" in given:
        raise CheckError(
            "the key let has no effect here: it gives values to the host code that launches in a"
            f" source (accepted: a source, and none of {', '.join(_OF_A_LAUNCH)})"
        )
    for name in ("grid", "block"):
        if name not in given:
            instead = (
                f"or none of {', '.join(_OF_A_LAUNCH)}, for the launches in the file"
                if is_source(path)
                else "a compiled file does not say how it is launched"
            )
            raise CheckError(
                f"the key {name} is missing (accepted: 256, '32x8' or [32, 8]; {instead})"
            )
    yield (
        replace(here, place=SourcePlace(str(path))),
        path,
        {**options, **_launch(folder, given)},
    )


def _of_the_file(here: Measured, path: Path, options: dict[str, Any]) -> Iterator[Planned]:
    """Yield each launch that stands in the source."""
    from simulator.law.chips import optional_chip
    from simulator.sass.code.device import device_for
    from simulator.sass.code.options import make_options
    from simulator.sass.found import launch_of, launches_in, wanted_launches

    only = here.entry.given.get("kernel")
    built = make_options(options["include"], options["define"] or {}, options["options"])
    device = device_for(optional_chip(options.get("chip")), options.get("arch"))
    try:
        found = launches_in(path, built, here.entry.given.get("let"), device)
    except LaunchError as error:
        raise CheckError(str(error).replace("--let", "the key let")) from error
    wanted, idle = wanted_launches(found, path.name, only)
    if not wanted:
        named = f"of {only} " if only else ""
        raise CheckError(
            f"no launch {named}is in {path.name} (accepted: the keys grid, block and args)"
        )
    notes = tuple(
        f"{name} is not checked: {path.name} has no launch of it"
        for name in (idle if not only else ())
    )
    for each, name in zip(wanted, _names(here.name, wanted), strict=True):
        one = replace(here, name=name, place=SourcePlace(str(path), each.line), notes=notes)
        notes = ()
        if each.unknown:
            problem = (
                f"{each.kernel} is launched with values that are not known: "
                f"{', '.join(each.unknown)} (accepted: the key let, such as let = {{n = 1024}}; or"
                " an entry with the keys kernel, grid, block and args)"
            )
            yield replace(one, error=problem), path, {}
            continue
        try:
            yield one, path, {**options, **launch_of(each, options.get("symbols"))}
        except LaunchError as error:
            yield replace(one, error=str(error)), path, {}


def _names(name: str, launches: Sequence[FoundLaunch]) -> list[str]:
    """Name launches: by the kernel, and where that is not enough by the grid and the block."""
    short = [each.kernel for each in launches]
    full = [each.full_name for each in launches]
    named: list[str] = []
    for one, longer in zip(short, full, strict=True):
        said = f"{name}: {longer if short.count(one) > 1 else one}"
        again = sum(1 for each in named if re.sub(r" #\d+$", "", each) == said)
        named.append(f"{said} #{again + 1}" if again else said)
    return named


def triton(folder: Path, here: Measured, announce: Announce) -> Iterator[Measured]:
    """Yield a Triton kernel's launch: one for each configuration that it is tuned over."""
    from simulator.sass.triton.files import find_kernels, launch_kernel

    given = here.entry.given
    place, colon, name = given["kernel"].rpartition(":")
    if not colon:
        raise CheckError(f"the key kernel: {name!r} (accepted: FILE.py:KERNEL or MODULE:KERNEL)")
    if place.endswith(".py"):
        file = os.fspath(_file(folder, place))
        place, here = file, replace(here, place=SourcePlace(file))
    elif origin := _origin(place):
        here = replace(here, place=SourcePlace(origin))
    if "grid" not in given:
        raise CheckError("the key grid is missing (accepted: 256, '8x8' or [8, 8])")
    announce(f"compiling {given['kernel']} by Triton")
    (found,) = find_kernels(place, name)
    options = {key: given[key] for key in (*_PLAIN, "config", "signature") if key in given}
    own = {"num_warps": given["warps"]} if "warps" in given else {}
    reports = launch_kernel(
        found,
        grid="x".join(map(str, _size(given["grid"]))),
        arguments=_launch(folder, given)["args"],
        constants={**given.get("constants", {}), **own},
        **options,
    )
    for number, report in enumerate(reports, 1):
        many = f" #{number}" if len(reports) > 1 else ""
        yield _measured(replace(here, name=f"{here.name}{many}"), report)


def _origin(module: str) -> str | None:
    """Return the file of a module, where it is one."""
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return found.origin if found is not None and found.has_location else None


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise CheckError(f"there is no file {name!r} in {folder}")
    return path


def _launch(folder: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the launch that the entry's keys give."""
    import numpy as np

    files = _files(folder, [*given.get("args", ()), *given.get("buffers", {}).values()])
    buffers = _arguments(folder, given.get("buffers", {}))
    for name, array in buffers.items():
        if not isinstance(array, np.ndarray):
            raise CheckError(
                f"key buffers.{name}: it is not an array (accepted: 'zeros:f16[64,64]', 'A.npy')"
            )
    named = {**files, **buffers}
    launch: dict[str, Any] = {
        "args": [_argument(each, i, named) for i, each in enumerate(given.get("args", ()))]
    }
    for name in ("grid", "block", "cluster"):
        if name in given:
            launch[name] = _size(given[name])
    for name in ("kernel", "shared_bytes"):
        if name in given:
            launch[name] = given[name]
    return launch


def _argument(given: Any, place: int, named: Mapping[str, Any]) -> Any:
    """Read an argument that is a text; others are what `replay_compiled` takes."""
    from simulator.sass.arguments import argument

    return argument(given, place, named) if isinstance(given, str) else given


def _files(folder: Path, given: Iterable[Any]) -> dict[str, Any]:
    """Read the .npy files that arguments name; their paths start from the folder of the entries."""
    from simulator.sass.arguments import argument

    texts = (each for each in given if isinstance(each, str))
    names = {name for text in texts for name in re.findall(r"[^\s{},:]+\.npy", text)}
    return {name: argument(os.fspath(folder / name)) for name in sorted(names)}


def _arguments(folder: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    files = _files(folder, given.values())
    return {name: _argument(each, i, files) for i, (name, each) in enumerate(given.items())}


def _size(given: Any) -> tuple[int, ...]:
    if isinstance(given, str):
        return tuple(map(int, given.split("x")))
    return tuple(given) if isinstance(given, list | tuple) else (given,)


def _measured(
    here: Measured, report: CompiledReport, ran: Sequence[CompiledReport] = ()
) -> Measured:
    cures = _Cures(report, ran)
    return replace(
        here,
        lines=line_costs(report, report.sources),
        time=_time(report) if here.entry.is_timed else None,
        notes=(*here.notes, *report.notes),
        sources=tuple(report.sources.items()),
        cure=cures.of_line,
        faster=cures.of_time,
    )


def _time(report: CompiledReport) -> TimeFigures:
    """Return what a launch takes. Raises CheckError where that is not known."""
    found = report.time()
    gain = found.speedup_without_conflicts
    if found.cycles is None or gain is None:
        why = next((each for each in found.notes if "not known" in each), "its time is not known")
        raise CheckError(f"{why} (accepted: no limit on its time)")
    return TimeFigures(found.chip, found.cycles, gain)


class _Cures:
    """Says which changes of arrays mend a launch; it runs with each, once that is asked.

    `ran`: the launches of its file, none of which may become worse.
    """

    def __init__(self, report: CompiledReport, ran: Sequence[CompiledReport]) -> None:
        self.report, self.ran = report, ran

    @cached_property
    def fixes(self) -> list[Fix]:
        try:
            found = self.report.fixes(self.ran)
        except BankwiseError:  # what cannot be mended by a layout is still a finding
            return []
        return [each for each in found if each.text]

    def of_line(self, place: SourcePlace | None) -> str:
        """Say which of them take bank conflicts from a line."""
        if place is None:
            return ""
        return " ".join(
            f"Write {each.written}: {each.before.bank_conflicts:,} -> {each.after.bank_conflicts:,}"
            " bank conflicts, equal outputs."
            for each in self.fixes
            if (place.file, place.line) in _places(each)
        )

    def of_time(self) -> str:
        """Say which of them make the launch faster."""
        if not self.report.bank_conflicts:
            return "It has no bank conflicts, which --fix removes."
        said = [f"Write {each.written}. {each.predicted}" for each in self.fixes if _helps(each)]
        return " ".join(said) or "No change that --fix knows makes it faster."


def _helps(fix: Fix) -> bool:
    return bool(fix.times) and fix.is_worth_it


def _places(fix: Fix) -> set[tuple[str, int]]:
    return set(zip(fix.by_line["file"], fix.by_line["line"], strict=True))


def line_costs(
    report: CompiledReport, sources: Mapping[str, Sequence[str]]
) -> tuple[LineCost, ...]:
    """Return what each line costs that touches shared memory, the costliest first.

    Raises CheckError for an instruction whose cost is not known, and for an allowance that cannot
    be read.
    """
    allowed = {file: allowances(file, lines) for file, lines in sources.items()}
    found: dict[tuple[str, int, int], list[tuple[str, Figures]]] = {}
    for row in rows(report.instructions):
        if row["space"] == "global" or row["executed"] == 0:
            continue
        file, line = row["file"] or "", row["line"] or 0
        allowance = allowed.get(file, {}).get(line)
        if row["bank_conflicts"] is None:
            if allowance is not None and allowance.figure is None:
                continue
            at = f"{Path(file).name}:{line}" if line else f"{row['address']:#06x}"
            raise CheckError(
                f"{at}: what {row['opcode']} costs was never measured, and no limit can"
                " be held to it (accepted on that line: // bankwise: allow any)"
            )
        # Without a line each instruction is for itself.
        place = (file, line, 0 if line else row["address"])
        figures = figures_of(
            row["wavefronts"], row["excessive"], row["bank_conflicts"], _passes(row["opcode"])
        )
        found.setdefault(place, []).append((row["opcode"], figures))
    costs = [
        _line_cost(file, line, parts, sources, allowed) for (file, line, _), parts in found.items()
    ]
    return tuple(sorted(costs, key=lambda one: (-one.figures.conflicts, -one.figures.wavefronts)))


def _line_cost(
    file: str,
    line: int,
    parts: Sequence[tuple[str, Figures]],
    sources: Mapping[str, Sequence[str]],
    allowed: Mapping[str, Mapping[int, Allowance]],
) -> LineCost:
    lines = sources.get(file, ())
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return LineCost(
        SourcePlace(file, line) if line else None,
        text,
        total(figures for _, figures in parts),
        tuple(dict.fromkeys(opcode for opcode, _ in parts)),
        allowed.get(file, {}).get(line),
    )


def _passes(opcode: str) -> int:
    """Return the wavefronts per word of an instruction."""
    from simulator.law.instructions import INSTRUCTIONS
    from simulator.sass.lift.sites import known_name

    name, *modifiers = opcode.split(".")
    known = INSTRUCTIONS.get(known_name(name, modifiers) or "")
    return 1 if known is None else known.passes
