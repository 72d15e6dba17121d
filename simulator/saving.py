"""Writing files whole or not at all: under another name first, then renamed."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from layouts.errors import BankwiseError

__all__ = ["MissingPackageError", "OutputError", "save"]


class OutputError(BankwiseError):
    """A file that cannot be written; what was there before is still there."""


class MissingPackageError(BankwiseError, ImportError):
    """A package that is not installed; the message names the extra that brings it."""


def save(path: str | os.PathLike[str], write: Callable[[Path], object]) -> None:
    """Have `write` make a file beside `path`, then put it in its place.

    Raises OutputError for whatever the operating system refuses: a full disk, a missing folder,
    links that lead in a circle.
    """
    target = Path(path)
    if not target.name or target.is_dir():
        raise OutputError(f"{os.fspath(path)!r} is no file to write (accepted: a file's path)")
    try:
        target = target.resolve()  # a link stays, and what it points to is replaced
    except (OSError, RuntimeError):  # a circle is the latter before Python 3.13
        circle = True
    else:
        circle = target.is_symlink()  # from 3.13 on, a circle is what it resolves to
    if circle:
        raise OutputError(
            f"{os.fspath(path)!r} is a link that leads nowhere (accepted: a file's path)"
        )
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        write(temporary)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(target)
    except OSError as error:
        raise OutputError(
            f"{os.fspath(path)} cannot be written: {error.strerror or error}"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
