"""Where a header of a project lies: beside its source, in its folders, in its repository."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from simulator.sass.code import headers as host_headers

__all__ = ["find_header", "in_repository", "is_compilers", "not_quoted", "project_around"]

_MOST_WALKED = 200_000
_HEADERS = {".h", ".hpp", ".hh", ".hxx", ".cuh", ".cu", ".inl", ".inc", ".ipp", ".tpp", ".impl",
            ".c", ".cc", ".cpp", ".cxx", ".def", ".td", ".txx", ".icc", ""}  # fmt: skip


def project_around(folder: Path) -> list[Path]:
    """Return the repository around a folder: `#include "../common.h"` reaches into it."""
    for each in (folder, *folder.parents):
        if (each / ".git").exists():
            return [each]
    return []


def is_compilers(wanted: str) -> bool:
    """Whether the compiler's own folders have a header; it may not point out of them."""
    path = Path(wanted)
    if path.is_absolute() or ".." in path.parts or "\0" in wanted:
        return False
    return any((each / path).is_file() for each in host_headers.headers_folders())


def not_quoted(
    names: Iterable[str], folder: Path | None, include: Sequence[Path], unquoted: Collection[str]
) -> frozenset[str]:
    """Return the headers whose text no message may have, by their full paths.

    They lie in `unquoted`, and neither in the source's folder, its repository nor another of -I.
    """
    if not unquoted:
        return frozenset()
    own = [folder.resolve(), *project_around(folder.resolve())] if folder is not None else []
    named = [each for each in (each.resolve() for each in include) if str(each) not in unquoted]
    return frozenset(
        each
        for each in names
        if not any(Path(each).is_relative_to(place) for place in [*own, *named])
    )


def find_header(
    wanted: str, here: Path | None, folders: list[Path], roots: list[Path]
) -> Path | None:
    """Find a header; nothing outside the source's folder, its repository and -I is opened."""
    if "\0" in wanted or len(wanted) > 1000:
        return None
    if here is None and is_compilers(wanted):
        return None  # the compiler's own comes first
    for each in [*([here] if here else []), *folders]:
        place = (each / wanted).resolve()
        allowed = any(place.is_relative_to(root) for root in roots)
        if allowed and place.suffix.lower() in _HEADERS and place.is_file():
            return place
    return None if here is None else in_repository(wanted, here, roots)


def in_repository(wanted: str, here: Path, roots: list[Path]) -> Path | None:
    """Find a header in the repository around the source, if it stands in one."""
    for root in roots[-1:]:
        if (root / ".git").exists():
            return _of_repository(root, wanted, here)
    return None


def _of_repository(root: Path, wanted: str, here: Path) -> Path | None:
    """Find a header anywhere in the repository, as the -I of its build would: the nearest one."""
    if host_headers.is_standard(wanted) or ".." in Path(wanted).parts:
        return None
    parts = Path(wanted).parts
    fitting = [
        place
        for place in _repository(root).get(parts[-1], ())
        if place.parts[-len(parts) :] == parts
    ]
    return max(
        fitting, key=lambda place: (len(os.path.commonpath([place, here])), -len(place.parts)),
        default=None,
    )  # fmt: skip


@lru_cache(maxsize=4)
def _repository(root: Path) -> dict[str, list[Path]]:
    """Return the headers of a repository by their file names."""
    found: dict[str, list[Path]] = {}
    count = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in names:
            count += 1
            if Path(name).suffix.lower() in _HEADERS - {""}:
                place = (Path(folder) / name).resolve()
                if place.is_relative_to(root):
                    found.setdefault(name, []).append(place)
        if count > _MOST_WALKED:
            break
    return found
