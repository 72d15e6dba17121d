"""Where a page may be written; `simulator.results.files` writes it, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from simulator.errors import OutputError
from simulator.results import files
from viz.errors import ReportError

__all__ = ["check_target", "write_page"]


def check_target(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse, before any work is done, a file that could not be written.

    Raises ReportError for that, and for an existing file without `force`.
    """
    try:
        target = files.check_target(path)
    except OutputError as error:
        raise ReportError(str(error)) from error
    if target.exists() and not force:
        raise ReportError(
            f"{str(path)!r} exists already (accepted: another name, or --force / force=True)"
        )


def write_page(path: str | os.PathLike[str], html: str, *, force: bool) -> None:
    """Write a page; raises ReportError, or OutputError for what the system refuses."""
    check_target(path, force=force)

    def write(file: Path) -> None:
        file.write_text(html, encoding="utf-8", newline="")

    files.save(path, write)
