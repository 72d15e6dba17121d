"""Where the parts of a text in C begin and end: statements, declarators, elements of arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

__all__ = ["alone", "assignment", "closing", "parts", "statements"]

_SET = re.compile(r"(?P<by>[-+*/%&|^]|<<|>>)?(?<![=!<>])=(?!=)")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_TAIL = re.compile(r"\s*(?:\[|(?:\.|->)\s*[A-Za-z_]\w*)")
_POINTER = re.compile(r"[*&]\s*\)|[*&]\s*>")
_BEFORE = re.compile(r"(?:^|[-+/%(,?:|<>=]|[\w)\]]\s*\*|\(\s*[A-Za-z_][\w:\s]*\))\s*$")
_AFTER = re.compile(r"\s*(?!\+\+|--)(?:$|[-+*/%),?:|<>=&^])")

Span = tuple[int, int]


def statements(text: str) -> list[Span]:
    """Return where each statement that is not empty begins and ends.

    >>> [("a; struct {int b;} c;")[a:b] for a, b in statements("a; struct {int b;} c;")]
    ['a', ' struct {int b;} c']
    """
    return [(a, b) for a, b in _split(text, 0, len(text), ";", "{}") if text[a:b].strip()]


def parts(text: str, start: int, end: int) -> list[Span]:
    """Return where the parts between commas begin and end, those in brackets left alone."""
    return list(_split(text, start, end, ",", "()[]{}"))


def _split(text: str, start: int, end: int, sign: str, brackets: str) -> Iterator[Span]:
    depth, first = 0, start
    for place in range(start, end):
        char = text[place]
        if char in brackets:
            depth += 1 if brackets.index(char) % 2 == 0 else -1
        elif char == sign and depth <= 0:
            yield first, place
            first = place + 1
    yield first, end


def closing(text: str, start: int, end: int | None = None) -> int | None:
    """Return where the bracket that opens at `start` is closed; None where it is not."""
    pairs, open_ = {")": "(", "]": "[", "}": "{"}, []
    for place in range(start, len(text) if end is None else end):
        char = text[place]
        if char in "([{":
            open_.append(char)
        elif char in pairs:
            if not open_ or open_.pop() != pairs[char]:
                return None
            if not open_:
                return place
    return None


def assignment(statement: str) -> re.Match[str] | None:
    """Return the first `=`, `+=`, ... that no bracket encloses."""
    for found in _SET.finditer(statement):
        before = statement[: found.start()]
        if all(before.count(a) == before.count(b) for a, b in ("()", "[]", "{}")):
            return found
    return None


def alone(text: str, start: int, end: int, known: Callable[[str], bool]) -> list[Span]:
    """Return the elements of known arrays in an expression that calculates with their values.

    Empty where one is more than read, such as by a cast of its address.

    >>> text = "2.0f * s[lane] + f(x)"
    >>> [text[a:b] for a, b in alone(text, 0, len(text), "s".__eq__)]
    ['s[lane]']
    """
    if _POINTER.search(text, start, end):
        return []
    found: list[Span] = []
    at = start
    for name in _NAME.finditer(text, start, end):
        if name.start() < at or not known(name[0]):
            continue
        at = name.end()
        if not _TAIL.match(text, at, end):
            return []
        while tail := _TAIL.match(text, at, end):
            at = tail.end()
            if tail[0].endswith("["):
                close = closing(text, at - 1, end)
                if close is None:
                    return []
                at = close + 1
        if not (_BEFORE.search(text[start : name.start()]) and _AFTER.match(text[at:end])):
            return []
        found.append((name.start(), at))
    return found
