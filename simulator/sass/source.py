"""The source files that a report's lines are of, found without opening what a cubin names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from simulator.sass.code.looking import project_around
from simulator.sass.code.naming import source_text

__all__ = ["beyond_the_end", "source_lines"]

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


def beyond_the_end(
    names: Iterable[str], lines: Iterable[int], sources: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Return a note for each source of which the code names a line behind its last.

    >>> beyond_the_end(["k.py", "k.py"], [1, 4], {"k.py": ["a", "b"]})[0][:46]
    'k.py has 2 lines, and the code names its line '
    """
    most: dict[str, int] = {}
    for name, line in zip(names, lines, strict=True):
        most[name] = max(line, most.get(name, 0))
    return tuple(
        f"{Path(name.replace(chr(92), '/')).name} has {len(text)} lines, and the code names its"
        f" line {most.get(name)}: lines near it are not sure (Triton 3.9 counts those of inline PTX"
        " from the statement on; else the file was changed after it was compiled)"
        for name, text in sources.items()
        if most.get(name, 0) > len(text)
    )


def _leaves(link: Path) -> bool:
    """Whether a link leads out of its folder and of the repository around that."""
    folder = link.parent.resolve()
    return not any(map(link.resolve().is_relative_to, [folder, *project_around(folder)]))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.removesuffix("\n").split("\n"))
