"""Which lines of a source access which array in shared memory, by the names that they hold.

Compiled code has lines and addresses, but no names of arrays. A line that names one array has all
of its cost; of a line that names several, or none, the share of each is not known. So an array's
cost lies between two bounds, and a limit is decided where both agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from layouts.errors import accepted
from simulator.checking.figures import Figures, total
from simulator.checking.measured import LineCost, Measured
from simulator.errors import CheckError
from simulator.sass.code.preprocessor import plain

__all__ = ["ArrayCost", "array_cost", "shared_arrays"]

_DECLARATION = re.compile(r"\b__shared__\b([^;{}]*)")
_NAME = re.compile(r"([A-Za-z_]\w*)\s*$")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|<[^<>]*>")

_CLASSES = ("struct", "class", "union")  # whose members stand between braces


class ArrayCost(NamedTuple):
    """What an array costs, at least and at most."""

    least: Figures
    most: Figures
    lines: tuple[LineCost, ...]
    """That name it alone."""
    shared: tuple[LineCost, ...]
    """That may access it, too."""


def shared_arrays(text: str) -> list[str]:
    """Return the names of the arrays that a source declares in shared memory.

    >>> shared_arrays("__shared__ float a[32][33], b[max(2, 4)]; extern __shared__ char raw[];")
    ['a', 'b', 'raw']
    """
    names = []
    for found in _DECLARATION.finditer(plain(text)):
        for part in _without_brackets(found[1]).split(","):
            name = _NAME.search(part.partition("=")[0])
            if name and name[1] not in _CLASSES:
                names.append(name[1])
    return list(dict.fromkeys(names))


def _without_brackets(text: str) -> str:
    while (less := _BRACKETS.sub("", text)) != text:
        text = less
    return text


def array_cost(measured: Measured, array: str) -> ArrayCost:
    """Return what an array costs; lines with an allowance do not count.

    Raises CheckError for an array that no source declares.
    """
    known = [name for _, lines in measured.sources for name in shared_arrays("\n".join(lines))]
    if array not in known:
        declared = accepted(array, known) if known else "no source declares one"
        raise CheckError(f"key arrays: {array!r} is not an array in shared memory: {declared}")
    alone, shared = [], []
    for line in measured.lines:
        if line.allowance is not None:
            continue
        named = _named(line, known)
        if named == [array]:
            alone.append(line)
        elif array in named or not named:
            shared.append(line)
    least = _total(alone)
    return ArrayCost(least, total([least, _total(shared)]), tuple(alone), tuple(shared))


def _named(line: LineCost, arrays: Sequence[str]) -> list[str]:
    words = set(re.findall(r"[A-Za-z_]\w*", plain(line.text)))
    return [name for name in dict.fromkeys(arrays) if name in words]


def _total(lines: Iterable[LineCost]) -> Figures:
    return total(line.figures for line in lines)
