"""Where a page may be written; `simulator.results.files` writes it, whole or not at all."""

from __future__ import annotations

import os

from simulator.errors import OutputError
from simulator.results import files
from viz.errors import ReportError

__all__ = ["check_page", "write_page"]


def check_page(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse, before any work is done, a file that a page cannot be written to.

    Raises ReportError: for what `check_target` refuses, such as an existing file without `force`
    or a name that does not end in .html.
    """
    try:
        files.check_target(path, force=force, page=True)
    except OutputError as error:
        raise ReportError(str(error)) from error


def write_page(path: str | os.PathLike[str], html: str, *, force: bool) -> None:
    """Write a page; raises ReportError, or OutputError for what the system refuses."""
    check_page(path, force=force)
    files.save(path, lambda place: place.write_text(html, encoding="utf-8", newline=""))
