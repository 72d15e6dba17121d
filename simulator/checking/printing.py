"""What all formats share: paths from the root of the repository, and text of one line.

Names of entries and lines of sources come from whoever wrote them, and a pull request may be
anybody's. Each format escapes what it gives a meaning to; here is what none may hold.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["printable", "relative", "root_of"]


def root_of(config: Path, workspace: str | None = None) -> Path:
    """Return the folder that paths start from: the workspace of a CI job, or the repository.

    `workspace` is that of GITHUB_WORKSPACE; it counts if the file of entries lies in it.
    """
    file = config.absolute()
    if workspace and Path(workspace).is_absolute() and file.is_relative_to(workspace):
        return Path(workspace)
    return next((each for each in file.parents if (each / ".git").exists()), file.parent)


def relative(file: str, root: Path) -> str:
    """Return a file's path from the root, with / on every system; as it is if it lies outside."""
    path = Path(os.path.normpath(Path(file).absolute()))
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def printable(text: str, *, lines: bool = False) -> str:
    r"""Return a text without what moves a terminal's cursor, and what XML cannot hold.

    >>> printable("a\x1b[2Kb\nc"), printable("a\nb", lines=True)
    ('a?[2Kb c', 'a\nb')
    """
    kept = "\n" if lines else ""
    return "".join(
        char if char.isprintable() or char in kept else " " if char.isspace() else "?"
        for char in text
    )
