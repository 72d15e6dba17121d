"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from viz.errors import ReportError

__all__ = ["check_target", "write_whole"]


def check_target(path: str | os.PathLike[str], *, force: bool) -> Path:
    """Refuse, before any work is done, a file that could not be written; give its real place.

    Raises ReportError for a missing folder, a place that is no file, an existing file without
    `force`, and a folder that cannot be written to.
    """
    target = Path(os.path.realpath(path))  # a link stays a link: what it points to is replaced
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
    return target


def write_whole(path: str | os.PathLike[str], text: str, *, force: bool) -> None:
    """Write next to the place first, then move: readers see the old file, or the whole new one."""
    target = check_target(path, force=force)
    name = ""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=target.parent, prefix=".bankwise-", delete=False
        ) as file:
            name = file.name
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())  # temporary files are private; a report is a file
        os.replace(name, target)
    except OSError as error:
        raise ReportError(f"{str(path)!r} cannot be written: {error.strerror}") from error
    finally:
        if name and os.path.exists(name):
            os.unlink(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
