"""Leading dimensions that a source passes to WMMA: constants, which grow with an array's rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simulator.fixing.arrays import SharedArray
from simulator.fixing.declared import Declared, brackets, constants, named, scope_of
from simulator.fixing.layouts import Candidate
from simulator.fixing.refusing import lines_text
from simulator.fixing.said import grown, keeps_rows, padding_of
from simulator.inputs.statements import Span, closing, parts
from simulator.sass.code.preprocessor import plain

__all__ = ["Passed", "calls_text", "leading_dimensions"]

_CALL = re.compile(r"\b(load_matrix_sync|store_matrix_sync)\s*(?=\()")
_POINTERS = {"load_matrix_sync": 1, "store_matrix_sync": 0}
_LEADING = 2
_BYTES = 16
"""A leading dimension of WMMA is a multiple of so many bytes."""


@dataclass(frozen=True)
class Passed:
    """A leading dimension in a text, and what is written for it."""

    function: str
    line: int
    start: int
    end: int
    text: str


def leading_dimensions(array: SharedArray, candidate: Candidate, text: str) -> list[Passed]:
    """Return the leading dimensions that grow with an array's rows, in the text that declares it.

    Those of calls whose pointer names the array, where they are the length of its rows.
    """
    declared, pad = array.declared, padding_of(array, candidate)
    if declared is None or not pad or candidate.mode is not None:
        return []
    grows_to = declared.pitch + pad * (declared.element or 0)
    if not keeps_rows(array, candidate) or grows_to % _BYTES:
        return []
    bare, found = plain(text), list[Passed]()
    value_of = constants(text, bare)
    for function, given in _calls(bare, *scope_of(bare, declared.start)):
        start, end = given[_LEADING]
        said = bare[start:end].strip()
        is_row = said == declared.dims[-1] or value_of(said) == declared.sizes[-1]
        if is_row and _names(bare, given[_POINTERS[function]], declared):
            start += bare[start:end].index(said)
            line = bare.count("\n", 0, start) + 1
            found.append(Passed(function, line, start, start + len(said), grown(said, pad)))
    return found


def calls_text(found: Sequence[Passed]) -> str:
    """Return what to pass where: `pass BK + 8 to load_matrix_sync in lines 29, 30`; or ""."""
    lines: dict[str, list[int]] = {}
    for each in found:
        at = lines.setdefault(f"{each.text} to {each.function}", [])
        if each.line not in at:
            at.append(each.line)
    said = " and ".join(f"{what} in {lines_text(at)}" for what, at in lines.items())
    return f"pass {said}" if said else ""


def _calls(bare: str, start: int, end: int) -> Iterator[tuple[str, list[Span]]]:
    """Yield the calls of WMMA between two places that have a leading dimension: its arguments."""
    for call in _CALL.finditer(bare, start, end):
        last = closing(bare, call.end(), end)
        given = parts(bare, call.end() + 1, last) if last is not None else []
        if len(given) > _LEADING:
            yield call[1], given


def _names(bare: str, pointer: Span, declared: Declared) -> bool:
    """Whether a pointer is that of an array's element: `&s[i][0]`, `s[i]`, or these and more."""
    start, end = pointer
    found = next(named(bare[start:end], declared.name), None)
    if found is None:
        return False
    before, at = bare[start : start + found.start()].strip(), start + found.end()
    places = list(brackets(bare, at))
    rest = bare[places[-1][1] + 1 if places else at : end].strip()
    is_element = before in ("", "&") and len(places) == len(declared.dims) - (before == "")
    return is_element and rest[:1] in ("", "+", "-")
