"""`check`: every entry of a file, counted and compared with its limits and the baseline."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from simulator.checking.baseline import read_baseline, record, write_baseline
from simulator.checking.config import find_config, read_config
from simulator.checking.judging import judge
from simulator.checking.measuring import measure
from simulator.checking.report import CheckReport
from simulator.errors import CheckError

__all__ = ["check"]


def check(
    config: str | os.PathLike[str] | None = None,
    *,
    baseline: str | os.PathLike[str] | None = None,
    update: bool = False,
    fix: bool = False,
    announce: Callable[[str], None] | None = None,
) -> CheckReport:
    """Check what a file names against its limits; the report's `code` is the command's.

    `config` is a bankwise.toml or a pyproject.toml with [tool.bankwise]; by default that of this
    folder, or of the nearest above. `baseline` takes the place of the file's own. With `update`
    the baseline is written from what is counted now; limits count all the same. With `fix`, a
    kernel's finding says which padding or swizzle mends it; the kernel runs again for that.
    `announce` is called with what is about to be waited for.

    Raises CheckError for a file or a baseline that cannot be read, and for an update where an
    entry could not be counted; OutputError for a baseline that cannot be written.
    """
    file = read_config(find_config(Path.cwd()) if config is None else Path(config))
    chosen = file.baseline if baseline is None else Path(baseline)
    if update and chosen is None:
        raise CheckError(
            f"{file.path}: --update has no baseline to write (accepted: baseline ="
            " 'bankwise-baseline.json' at the top of the file, or --baseline FILE)"
        )
    known = None if chosen is None or update else read_baseline(chosen)
    say = announce or (lambda _: None)
    found = [
        each if fix or not each.lines else replace(each, cure=lambda _: "", faster=lambda: "")
        for entry in file.entries
        for each in measure(file, entry, say)
    ]
    if update and chosen is not None:
        failed = [each for each in found if each.error]
        if failed:
            raise CheckError(
                f"{chosen} stays as it is, because {failed[0].name!r} could not be counted:"
                f" {failed[0].error}"
            )
        known = {each.name: record(each) for each in found}
        write_baseline(chosen, known)
    names = {each.name for each in found}
    stale = tuple(sorted(set(known or ()) - names)) if not any(one.error for one in found) else ()
    outcomes = tuple(judge(each, known) for each in found)
    return CheckReport(file.path, outcomes, chosen, stale)
