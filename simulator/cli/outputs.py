"""What a replayed kernel left: saved to files, and compared with files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from simulator.sass.report import CompiledReport

__all__ = [
    "Check",
    "blocks_for",
    "check_arguments",
    "check_outputs",
    "check_saved",
    "read_checks",
    "save_outputs",
    "use_outputs",
]

_CHECK = re.compile(r"(\d{1,4})=(.+?\.npy)(?::([^:]*))?")
_OUTPUTS = (("--check", "checks"), ("--save-outputs", "save_outputs"))


@dataclass(frozen=True)
class Check:
    """A comparison of an argument with a file."""

    text: str
    argument: int
    file: str
    wanted: NDArray[Any]
    tolerance: float


def blocks_for(options: Mapping[str, Any]) -> str:
    """Return which blocks run: all of them where the kernel's outputs are looked at.

    Raises UsageError where a sample is asked for, whose outputs are only a part.
    """
    from simulator.cli.options import is_given

    blocks: str = options["blocks"]
    used = [flag for flag, name in _OUTPUTS if options[name]]
    if not used:
        return blocks
    if is_given("blocks") and blocks != "all":
        raise click.UsageError(
            f"--blocks {blocks} with {' and '.join(used)}: blocks that do not run store nothing"
            f" (accepted with {' and '.join(used)}: --blocks all, or no --blocks)"
        )
    return "all"


def check_saved(options: Mapping[str, Any], launches: int = 1) -> None:
    """Refuse, before the replay, what --save-outputs would write over.

    Raises OutputError for arrays that the folder has, without --force, and UsageError for several
    launches, whose arrays have the same names.
    """
    from simulator.errors import OutputError

    folder = options["save_outputs"]
    if not folder:
        return
    if launches > 1:
        raise click.UsageError(
            f"--save-outputs {folder} with {launches} launches, each of which would write over the"
            " last one's arrays (accepted: one launch; next: --kernel NAME, or the launch itself by"
            " --grid, --block and --arg)"
        )
    there = next(iter(sorted(Path(folder).glob("argument_*.npy"))), None)
    if there is not None and not click.get_current_context().params["force"]:
        raise OutputError(f"{str(there)!r} exists already (accepted: another folder, or --force)")


def save_outputs(folder: str, report: CompiledReport) -> None:
    """Write each array of a launch to FOLDER as `argument_0.npy`, a structure's as `…_0.npy`.

    Raises OutputError where the folder or a file cannot be written.
    """
    import numpy as np

    from simulator.errors import OutputError

    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, array in _arrays(report.outputs, "argument"):
            np.save(place / f"{name}.npy", array, allow_pickle=False)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror}") from error


def _arrays(values: Any, name: str) -> list[tuple[str, Any]]:
    import numpy as np

    found = []
    for index, value in enumerate(values.values() if isinstance(values, dict) else values):
        if isinstance(value, np.ndarray):
            found.append((f"{name}_{index}", value))
        elif isinstance(value, tuple | list | dict):
            found += _arrays(value, f"{name}_{index}")
    return found


def read_checks(texts: Sequence[str]) -> list[Check]:
    """Return the comparisons that --check asks for, `ARG=FILE.npy[:TOLERANCE]`.

    Raises BadParameter for a text that is not one, and LaunchError for a file that cannot be read.
    """
    from simulator.sass.arguments import argument

    found = []
    for text in texts:
        parts = _CHECK.fullmatch(text)
        if parts is None:
            raise click.BadParameter(
                f"{text!r} is not a comparison (accepted: ARG=FILE.npy or ARG=FILE.npy:TOLERANCE,"
                " ARG counted from 0, as 1=wanted.npy:1e-3)",
                param_hint="--check",
            )
        tolerance = _tolerance(parts[3], text)
        found.append(Check(text, int(parts[1]), parts[2], argument(parts[2]), tolerance))
    return found


def _tolerance(given: str | None, text: str) -> float:
    try:
        value = float(0 if given is None else given)
    except ValueError:
        value = -1.0
    if not (isfinite(value) and value >= 0):
        raise click.BadParameter(
            f"{text!r}: the tolerance {given!r} (accepted: a number from 0 on, such as 1e-3)",
            param_hint="--check",
        )
    return value


def check_arguments(checks: Sequence[Check], arguments: Sequence[Any]) -> None:
    """Refuse comparisons that a launch's arguments cannot have, before it is replayed.

    Raises LaunchError for an argument that is missing, is not an array, or has another size.
    """
    import numpy as np

    from simulator.errors import LaunchError
    from simulator.sass.parameters import Pointer

    for each in checks:
        if each.argument >= len(arguments):
            many = f"0 to {len(arguments) - 1}" if arguments else "none, the kernel has none"
            raise LaunchError(
                f"--check {each.text}: no argument {each.argument} (accepted: {many})"
            )
        given = arguments[each.argument]
        given = given.array if isinstance(given, Pointer) else getattr(given, "array", given)
        if not isinstance(given, np.ndarray):
            raise LaunchError(
                f"--check {each.text}: argument {each.argument} is not an array (accepted: the"
                " number of one; --save-outputs writes the arrays of a structure)"
            )
        if given.size != each.wanted.size:
            raise LaunchError(
                f"--check {each.text}: argument {each.argument} has {given.shape}, and {each.file}"
                f" {each.wanted.shape}"
            )


def check_outputs(checks: Sequence[Check], report: CompiledReport) -> list[str]:
    """Compare outputs with files; give a line for each.

    Raises LaunchError for a shape that differs, and for elements that differ by more than the
    tolerance (relative and absolute; 0 without one).
    """
    import numpy as np

    from simulator.errors import LaunchError

    check_arguments(checks, report.outputs)
    said = []
    for each in checks:
        left = report.outputs[each.argument].reshape(-1).astype(np.float64)
        right = each.wanted.reshape(-1).astype(np.float64)
        same = np.isclose(left, right, rtol=each.tolerance, atol=each.tolerance, equal_nan=True)
        if not same.all():
            at = int(np.flatnonzero(~same)[0])
            raise LaunchError(
                f"--check {each.text}: {int((~same).sum()):,} of {same.size:,} elements differ, the"
                f" first at {at}: {left[at]} instead of {right[at]}"
            )
        said.append(f"argument {each.argument} equals {each.file}, within {each.tolerance:g}")
    return said


def use_outputs(options: Mapping[str, Any], report: CompiledReport) -> None:
    """Save and check what a kernel left, as the options ask."""
    if options["save_outputs"]:
        save_outputs(options["save_outputs"], report)
    for line in check_outputs(options["checks"], report):
        click.echo(line)
