"""Where a pointer in the source points to: into an array, or elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simulator.fixing.declared import Declared, named, scope_of
from simulator.inputs.statements import closing, parts
from simulator.inputs.types import type_at

__all__ = ["Pointers"]

_FUNCTION = re.compile(r"\b(?!(?:if|for|while|switch)\b)\w+\s*\(([^;{}]*)\)\s*\{")
_CAST = re.compile(r"\(\s*(?:const\s+)?([\w:\s]+?)\s*\*\s*\)|_cast\s*<([^<>]*?)\*\s*>\s*(?=\()")
_ROOT = re.compile(r"[\s(&]*([A-Za-z_]\w*)\s*(?=$|[-+\[)])")
_MOST = 4
"""Aliases of aliases that are followed."""


class Pointers:
    """The pointers of a text: it has no comments."""

    def __init__(self, declared: Declared, bare: str, others: Iterable[str]) -> None:
        self.declared, self.bare, self.others = declared, bare, set(others) - {declared.name}
        self.scope = scope_of(bare, declared.start)
        self.functions = list[tuple[int, int, str, bool]]()
        for found in _FUNCTION.finditer(bare):
            end = closing(bare, found.end() - 1)
            if end is None or any(start < found.start() < to for start, to, *_ in self.functions):
                continue
            before = max(bare.rfind(mark, 0, found.start()) for mark in ";{}") + 1
            is_kernel = "__global__" in bare[before : found.end()]
            self.functions.append((found.end() - 1, end, found[1], is_kernel))

    def reaches(self, said: str, at: int) -> bool | None:
        """Whether what stands at a place points into the array; None: it may."""
        own = self._function(self.declared.start)
        start, end, given, is_kernel = self._function(at) or (*self.scope, "", False)
        if not self.scope[0] <= at < self.scope[1]:
            return False if own and (is_kernel or not given.strip()) else None
        known = is_kernel or own is not None
        return self._reaches(said, self.bare[start:end], given if known else "", 0)

    def element(self, said: str, at: int) -> int | None:
        """Return the bytes of what a pointer counts; None: not known."""
        cast = _CAST.search(said)
        if cast is not None:
            return _bytes(cast[1] or cast[2])
        root = _ROOT.match(said)
        if root is None:
            return None
        if root[1] == self.declared.name:
            return self.declared.element
        start, end, given, _ = self._function(at) or (*self.scope, "", False)
        text = f"{given};{self.bare[start:end]}"
        kinds = {
            _bytes(each[1]) for each in re.finditer(rf"([\w:]+)\s*\*[\s\w]*\b{root[1]}\b", text)
        } - {None}
        return kinds.pop() if len(kinds) == 1 else None

    def _function(self, at: int) -> tuple[int, int, str, bool] | None:
        return next((each for each in self.functions if each[0] <= at < each[1]), None)

    def _reaches(self, said: str, body: str, given: str, depth: int) -> bool | None:
        if any(named(said, self.declared.name)):
            return True
        root = _ROOT.match(_CAST.sub(" ", said))
        if root is None or depth > _MOST or "?" in said:
            return None
        name = root[1]
        if re.search(rf"(?<!&)&\s*{name}\b(?!\s*\[)", body):  # may be set by its address
            return None
        sets = list(re.finditer(rf"(?<![\w.>]){name}\s*=(?!=)", body))
        if not sets:
            is_given = re.search(rf"[*&][\s\w]*\b{name}\b|\b{name}\s*\[", given) is not None
            return False if is_given or name in self.others else None
        found = set[bool | None]()
        for each in sets:
            end = body.find(";", each.end())
            first, last = parts(body, each.end(), end)[0]
            found.add(self._reaches(body[first:last], body, given, depth + 1))
        return True if True in found else None if None in found else False


def _bytes(kind: str) -> int | None:
    found = type_at(re.sub(r"\bconst\b", "", kind).strip() + " ")
    return found[0].bytes if found else None
