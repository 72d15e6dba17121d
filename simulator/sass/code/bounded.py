"""Running NVIDIA's tools on files that may be anybody's: bounded in time, memory and output."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from simulator.errors import CubinError, ToolError
from simulator.sass.code.nvrtc import MEMORY

__all__ = ["bounded"]

_SECONDS = 60.0
_OUTPUT = 1 << 30
"""Bytes of a file that a tool may write, and of what it prints."""


def bounded(command: Sequence[str], name: str, folder: str | None = None) -> tuple[int, str, str]:
    """Run a tool; return its exit code, what it printed, and its complaints.

    Raises CubinError, which begins with `name`, where it does not end in time, and ToolError where
    it cannot be run. Past its memory it ends by itself, with an exit code other than 0.
    """
    program = Path(command[0]).name
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as said:
        try:
            with subprocess.Popen(  # noqa: S603  NVIDIA's tool, our own file and flags
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=printed, stderr=said
            ) as process:
                try:
                    _limit(process.pid)
                    code = process.wait(_SECONDS)
                except BaseException:
                    process.kill()
                    raise
        except subprocess.TimeoutExpired:
            raise CubinError(f"{name}: {program} did not answer in {_SECONDS:.0f} s") from None
        except OSError as error:
            raise ToolError(f"{program} cannot be run: {error}") from error
        printed.seek(0)
        said.seek(0)
        out, complaints = (each.read(_OUTPUT).decode(errors="replace") for each in (printed, said))
    return code, out, complaints


def _limit(process: int) -> None:
    """Bound what a process that has just begun may take, where the system can.

    From outside: a function that runs between fork and exec is not safe where there are threads.
    """
    if sys.platform != "linux":
        return  # the time limit is left
    import resource

    for what, most in (
        (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, _OUTPUT), (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        try:
            resource.prlimit(process, what, (most, most))
        except (ValueError, OSError):
            continue  # it has ended already, or less is allowed anyway
