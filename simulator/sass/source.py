"""The source files that a report's lines are of, found without opening what a cubin names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from simulator.sass.code.looking import project_around
from simulator.sass.code.naming import source_text

__all__ = ["source_lines"]

_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".py", ".inl")
_LARGEST = 1 << 22


def source_lines(
    names: Iterable[str], given: Path | None, texts: Mapping[str, str] | None = None
) -> dict[str, tuple[str, ...]]:
    """Return the lines of the source files called `names`, where they can be found.

    Looked for: the file given, if it is the one, a file of that name beside it, and `texts`, the
    sources that are not files. Device code may name any file of this machine: none is opened for
    that, and no link beside the file that leads out of its folder and its repository.
    """
    found = {}
    for name in dict.fromkeys(filter(None, names)):
        if texts and name in texts:
            found[name] = _lines(texts[name])
            continue
        if given is None:
            continue
        plain = Path(name.replace("\\", "/")).name
        place = given if given.name == plain else given.parent / plain
        if place.suffix not in _SUFFIXES:
            continue
        try:
            if place != given and place.is_symlink() and _leaves(place):
                continue
            if place.is_file() and place.stat().st_size <= _LARGEST:
                found[name] = _lines(source_text(place))
        except OSError:
            continue
    return found


def _leaves(link: Path) -> bool:
    """Whether a link leads out of its folder and of the repository around that."""
    folder = link.parent.resolve()
    return not any(map(link.resolve().is_relative_to, [folder, *project_around(folder)]))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.removesuffix("\n").split("\n"))
