"""Where a page may be written; `simulator.saving` writes it, whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from simulator.saving import save
from viz.errors import ReportError

__all__ = ["check_target", "write_page"]


def check_target(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse, before any work is done, a file that could not be written.

    Raises ReportError for a missing folder, a place that is no file, an existing file without
    `force`, and a folder that cannot be written to.
    """
    target = Path(os.path.realpath(path))
    folder = target.parent
    if not folder.is_dir():
        raise ReportError(f"{str(path)!r}: there is no folder {str(folder)!r}")
    if target.exists() and not target.is_file():
        raise ReportError(f"{str(path)!r} is no file (accepted: the name of a file)")
    if target.exists() and not force:
        raise ReportError(
            f"{str(path)!r} exists already (accepted: another name, or --force / force=True)"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ReportError(f"{str(path)!r}: the folder {str(folder)!r} cannot be written to")


def write_page(path: str | os.PathLike[str], html: str, *, force: bool) -> None:
    """Write a page; raises ReportError, or OutputError for what the system refuses."""
    check_target(path, force=force)

    def write(file: Path) -> None:
        file.write_text(html, encoding="utf-8", newline="")

    save(path, write)
