"""What the command line says of a launch beside what the file says of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.cli.options import is_given
from simulator.cli.sources import shape

if TYPE_CHECKING:
    from simulator.sass.code.launches import FoundLaunch, Launches

__all__ = ["REPLACED", "launches_itself", "replaced", "typed"]

REPLACED = ("grid", "block", "shared_bytes", "cooperative")
"""Options that replace a part of the file's launches, where no arguments are given."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def launches_itself(options: dict[str, Any]) -> bool:
    """Whether launches are to be taken from the file: it is source, and no arguments are given."""
    from simulator.sass.found import is_source

    if options["triton"] or is_given("arguments") or is_given("cluster"):
        return False
    return is_source(Path(options["file"]))


def replaced(launches: Launches, options: dict[str, Any]) -> Launches:
    """Return the launches with the parts that the command line has instead.

    Raises BadParameter for a shape that cannot be read.
    """
    parts: dict[str, Any] = {}
    for name in filter(is_given, REPLACED):
        value = options[name]
        if name in ("grid", "block"):
            value = "x".join(map(str, shape(value, f"--{name}")))
        parts[name] = str(value) if name == "shared_bytes" else value
    return replace(launches, launches=tuple(_with(each, parts) for each in launches.launches))


def _with(launch: FoundLaunch, parts: dict[str, Any]) -> FoundLaunch:
    found = replace(launch, **parts)
    texts = (found.grid, found.block, found.shared_bytes, *found.texts())
    is_known = not any("<" in each for each in texts)  # placeholders stand in brackets
    known_kernel = not any(each in re.findall(r"\w+", found.kernel) for each in found.unknown)
    return replace(found, unknown=()) if parts and is_known and known_kernel else found


def typed(texts: Sequence[str], file: str, kernel: str | None) -> list[str]:
    """Return arguments with the type of their parameter where they are numbers alone.

    A number keeps its form where the source does not tell its type: it is refused later.
    """
    from simulator.sass.code.naming import source_text
    from simulator.sass.code.records import short_type
    from simulator.sass.code.signatures import aliases, signatures
    from simulator.sass.code.source import Source
    from simulator.sass.found import is_source

    if not any(map(_NUMBER.fullmatch, texts)) or not is_source(Path(file)):
        return list(texts)
    source = Source(source_text(Path(file)))
    named = aliases(source)
    plain = re.sub(r"<.*", "", kernel or "").rsplit("::", 1)[-1]
    listed = [
        each
        for name, known in signatures(source).items()
        for each in known
        if (not kernel or name == plain) and len(each.parameters) == len(texts)
    ]
    found = list(texts)
    for index, text in enumerate(texts):
        kinds = {short_type(each.parameters[index][0], named) for each in listed}
        kind = next(iter(kinds)) if len(kinds) == 1 else None
        if _NUMBER.fullmatch(text) and kind is not None and kind[1] == 1:
            found[index] = f"{kind[0]}={text}"
    return found
