"""The source files that a report's lines are of, found without opening what a cubin names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from layouts.errors import plural
from simulator.sass.code.looking import project_around
from simulator.sass.code.naming import source_text

__all__ = ["impossible_lines", "source_lines"]

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


def impossible_lines(
    names: Iterable[str], lines: Iterable[int], sources: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """Return a note for each source of which the code names a line that has no code.

    >>> for note in impossible_lines(["k.py", "l.py"], [4, 2], {"k.py": ["a"], "l.py": ["a", ""]}):
    ...     print(note[:58])
    k.py has 1 line, and the code names its line 4: lines near
    l.py has nothing in its line 2, which the code names: line
    """
    named: dict[str, set[int]] = {}
    for name, line in zip(names, lines, strict=True):
        named.setdefault(name, set()).add(line)
    return tuple(
        f"{Path(name.replace(chr(92), '/')).name} {said}: lines near it are not sure (Triton 3.9"
        " counts those of inline PTX from the statement on; else the file was changed after it was"
        " compiled)"
        for name, text in sources.items()
        if (said := _impossible(named.get(name, set()), text))
    )


def _impossible(lines: Iterable[int], text: Sequence[str]) -> str:
    """Say which of some lines a file does not have, or has without anything in it."""
    last = max(lines, default=0)
    if last > len(text):
        return f"has {plural(len(text), 'line')}, and the code names its line {last}"
    blank = min((line for line in lines if line > 0 and not text[line - 1].strip()), default=0)
    return f"has nothing in its line {blank}, which the code names" if blank else ""


def _leaves(link: Path) -> bool:
    """Whether a link leads out of its folder and of the repository around that."""
    folder = link.parent.resolve()
    return not any(map(link.resolve().is_relative_to, [folder, *project_around(folder)]))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.removesuffix("\n").split("\n"))
