"""Fixes as changes of the source's text: a size of a declaration, subscripts with an XOR."""

from __future__ import annotations

import re
from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

from layouts.c_text import operand
from simulator.fixing.declared import Declared, brackets, named, scope_of
from simulator.fixing.fix import Fix
from simulator.fixing.layouts import Candidate
from simulator.fixing.leading import leading_dimensions
from simulator.fixing.said import flat_index, grown_size, keeps_rows, padded_size, subscripts
from simulator.sass.code.naming import encoding_of
from simulator.sass.code.preprocessor import Macro, directives, macros, plain

__all__ = ["Edit", "applied", "applied_to_file", "clash", "edits_of", "kernels_with"]

_CHANGES = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)|<<=|>>=")
_PURE = {"min", "max", "abs", "int", "unsigned", "size_t", "sizeof"}
_KERNEL = re.compile(
    r"\b__global__\b[^;{}]*?(\w+)\s*\((?:[^(){};]|\((?:[^(){};]|\([^(){};]*\))*\))*\)\s*\{"
)
_ATTRIBUTE = re.compile(r"\b(?:__\w+__|alignas)\s*\([^()]*\)")
_DECLARES = re.compile(
    r"\s*(?:(?!(?:return|else|do|case|throw|goto|delete|new|sizeof|and|or|xor|not)\b)"
    r"[A-Za-z_]\w*(?:::\w+)*\s+)+(?:\w[^()]*,\s*)?"
)
_ZERO = re.compile(r"0+[uUlL]*")


@dataclass(frozen=True, order=True)
class Edit:
    """Characters of a text, and what is written for them."""

    start: int
    end: int
    text: str
    made_of: tuple[int, int] = field(default=(0, 0), compare=False)
    """The characters that its text repeats: all subscripts, where the last one gets an XOR."""


def applied(text: str, edits: set[Edit]) -> str:
    """Return a text with edits, which do not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def applied_to_file(data: bytes, edits: set[Edit]) -> bytes:
    r"""Return a source file with edits of its text; its encoding and its line ends stay.

    >>> applied_to_file(b"\xef\xbb\xbfa\r\nb", {Edit(2, 3, "c\nd")})
    b'\xef\xbb\xbfa\r\nc\r\nd'
    """
    body = data.removeprefix(BOM_UTF8)
    encoding = encoding_of(body)
    text = body.decode(encoding)
    ends = [found.start() - number for number, found in enumerate(re.finditer("\r\n", text))]
    moved = set[Edit]()
    for edit in edits:
        start, end = (place + bisect_left(ends, place) for place in (edit.start, edit.end))
        moved.add(Edit(start, end, edit.text.replace("\n", "\r\n") if ends else edit.text))
    return data[: len(data) - len(body)] + applied(text, moved).encode(encoding)


def clash(some: set[Edit], others: set[Edit]) -> bool:
    """Whether an edit changes what one of the others does, or what the other's text repeats."""
    return any(
        _overlap({one}, {other, Edit(*other.made_of, "")})
        or _overlap({other}, {Edit(*one.made_of, "")})
        for one, other in product(some, others)
    )


def _overlap(some: set[Edit], others: set[Edit]) -> bool:
    """Whether an edit of the first changes what one of the others does."""
    return any(
        one.start < other.end and other.start < one.end for one, other in product(some, others)
    )


def edits_of(fix: Fix, text: str) -> tuple[Edit, ...] | str:
    """Return the changes that make a fix in its file's text, or why it is left to the reader."""
    array, candidate = fix.target, fix.candidate
    declared = None if array is None else array.declared
    if candidate is not None and candidate.mode is not None:
        return f"{fix.array}: its tensor map is made on the host; write {fix.written}"
    if array is None or candidate is None or declared is None:
        return f"{fix.array}: its declaration is not known; write {fix.written}"
    if declared.is_dynamic:
        more = max(candidate.bytes - array.bytes, 0)
        launch = f" and launch with {more:,} bytes more{fix.behind}" if more else ""
        return f"{fix.array}: its size is in the launch; write {fix.written}{launch}"
    if fix.by_hand:
        return f"{fix.array}: {fix.by_hand}; write {fix.written}"
    if not declared.dims:
        return f"{fix.array}: its sizes are those of {declared.owner}; write {fix.written}"
    if declared.element != candidate.element and (candidate.tile.xors or len(declared.dims) == 1):
        return f"{fix.array}: parts of its elements are accessed; write {fix.written}"
    found: list[Edit] = []
    is_flat = len(declared.dims) == 1
    if candidate.tile.pad and not is_flat:
        size = padded_size(array, candidate)
        if len(declared.places) < len(declared.dims):
            return f"{fix.array}: its sizes are those of {declared.owner}; write {fix.written}"
        if size is None or not keeps_rows(array, candidate):
            return f"{fix.array}: its rows are others; write {fix.written}"
        found.append(Edit(*declared.places[-1], size))
    passed = leading_dimensions(array, candidate, text)
    found += [Edit(each.start, each.end, each.text) for each in passed]
    if candidate.tile.xors or is_flat:
        changed = _moved(declared, fix, candidate, text)
        if isinstance(changed, str):
            return changed
        found += changed
        more = 0 if candidate.tile.pad and not is_flat else candidate.bytes - array.bytes
        if more > 0 and not (is_flat and declared.places):
            return f"{fix.array}: its last row must be whole; write {fix.written}"
        if more > 0:
            found.append(Edit(*declared.places[0], grown_size(declared, more)))
    return tuple(found)


def kernels_with(declared: Declared, text: str) -> tuple[str, ...]:
    """Return the kernels that have an array's name, of one that is declared outside of all."""
    bare = plain(text)
    start, _ = scope_of(bare, declared.start)
    if bare[start : start + 1] == "{" and not re.search(
        r"\b(?:namespace\b[\s\w:]*|extern\s*)$", bare[:start]
    ):
        return ()
    return tuple(
        each[1]
        for each in _KERNEL.finditer(bare)
        if any(named(bare[each.end() : scope_of(bare, each.end())[1]], declared.name))
    )


def _moved(declared: Declared, fix: Fix, candidate: Candidate, text: str) -> list[Edit] | str:
    """Change each subscript of an array, within the function that declares it."""
    own = declared.owner.removeprefix("the macro ")
    known = macros(directives(text))
    for macro in known.values():
        if declared.name in (macro.parameters or ()) or macro.name == own:
            continue
        if any(named(macro.body, declared.name)):
            return f"{fix.array}: the macro {macro.name} has its name; write {fix.written}"
    uses = _uses(declared, text, known)
    if isinstance(uses, str):
        return f"{fix.array}: {uses}; write {fix.written}"
    edits = set[Edit]()
    for parts in reversed(uses):  # one may stand in a subscript of another
        said = [_subscript(text, part, edits, known) for part in parts]
        if all(_ZERO.fullmatch(each) for each in said):  # the first element stays
            continue
        mixed = _mixed(declared, candidate, said)
        if mixed is None:
            return f"{fix.array}: its swizzle leaves the last subscript; write {fix.written}"
        whole = Edit(*parts[-1], mixed, (parts[0][0], parts[-1][1]))
        edits = {each for each in edits if not _overlap({each}, {whole})} | {whole}
    if uses:
        return sorted(edits)
    return f"{fix.array}: the function that declares it has no subscript of it"


def _uses(
    declared: Declared, text: str, known: Mapping[str, Macro]
) -> list[list[tuple[int, int]]] | str:
    """Return the places of an array's subscripts, use by use; or what is in the way of a change."""
    bare, pure, found = plain(text), _pure(known), []
    start, end = scope_of(bare, declared.start)
    for name in named(bare[start:end], declared.name):
        at = start + name.end()
        if start + name.start() == declared.start or _in_macro(bare, declared, at):
            continue
        line = bare.count("\n", 0, at) + 1
        if _is_declared(bare[: start + name.start()]):
            return f"line {line} declares another {declared.name}"
        parts = list(brackets(bare, at))
        if len(parts) != len(declared.dims):
            return f"line {line} uses it without all its subscripts"
        first = all(_ZERO.fullmatch(bare[a:b].strip()) for a, b in parts)
        before = bare[start : start + name.start()].rstrip()
        if first and before.endswith("&") and not before.endswith("&&"):
            return f"line {line} takes its address"
        if not all(_names_a_place(bare[a:b], known, pure) for a, b in parts):
            return f"a subscript of line {line} does more than name a place"
        if any("//" in text[a:b] for a, b in parts):
            return f"a subscript of line {line} has a comment"
        found.append(parts)
    return found


def _subscript(
    text: str, part: tuple[int, int], edits: set[Edit], known: Mapping[str, Macro]
) -> str:
    """Return a subscript with the edits within it, in parentheses where a macro stands for more."""
    start, end = part
    inside = {each for each in edits if _overlap({each}, {Edit(start, end, "")})}
    moved = {Edit(each.start - start, each.end - start, each.text) for each in inside}
    said = applied(text[start:end], moved).strip()
    is_more = said in known and operand(known[said].body) != known[said].body
    return f"({said})" if is_more else said


def _is_declared(before: str) -> bool:
    """Whether a name is declared: a type stands before it, and perhaps other names of that type."""
    head = before[max(map(before.rfind, ";{}")) + 1 :]
    return _DECLARES.fullmatch(_ATTRIBUTE.sub(" ", head).rpartition("(")[2]) is not None


def _pure(known: Mapping[str, Macro]) -> set[str]:
    """Return what may be called twice: macros that only name a place, and a few functions."""
    found = set(_PURE)
    for _ in range(2):  # a macro may use one that stands behind it
        found |= {each.name for each in known.values() if _names_a_place(each.body, known, found)}
    return found


def _names_a_place(said: str, known: Mapping[str, Macro], pure: set[str]) -> bool:
    """Whether a text changes nothing, and calls nothing that might."""
    called = set(re.findall(r"(\w+)\s*\(", said)) | (set(re.findall(r"\w+", said)) & known.keys())
    return _CHANGES.search(said) is None and called <= pure


def _in_macro(bare: str, declared: Declared, at: int) -> bool:
    """Whether a name stands in the call of the macro that declares it."""
    if not declared.owner.startswith("the macro"):
        return False
    return declared.start <= at <= bare.find(")", declared.start)


def _mixed(declared: Declared, candidate: Candidate, said: list[str]) -> str | None:
    if len(said) == 1:
        return None if candidate.kind == "both" else flat_index(candidate, said[0])
    mixed = subscripts(candidate.tile, declared.sizes, said)
    return None if mixed is None else mixed[-1]
