"""WMMA's accesses: a pointer and one leading dimension, which grows with an array's rows.

They cannot say a swizzle, nor a padding of less than 16 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from simulator.fixing.arrays import SharedArray
from simulator.fixing.declared import (
    Declared,
    brackets,
    constants,
    declarations,
    named,
    scope_of,
)
from simulator.fixing.fix import Fix
from simulator.fixing.layouts import Candidate
from simulator.fixing.pointers import Pointers
from simulator.fixing.refusing import lines_text
from simulator.fixing.said import grown, keeps_rows
from simulator.inputs.statements import Span, closing, parts
from simulator.sass.code.preprocessor import plain
from simulator.sass.lift.sites import MemorySite

__all__ = [
    "LEADING_BYTES", "MatrixCall", "Passed", "calls_text", "leading_dimensions", "matrix_calls",
    "sayable",
]  # fmt: skip

_CALL = re.compile(r"\b(load_matrix_sync|store_matrix_sync)\s*(?=\()")
_POINTERS = {"load_matrix_sync": 1, "store_matrix_sync": 0}
_OPCODES = {"load_matrix_sync": "LD", "store_matrix_sync": "ST"}
_LEADING = 2
LEADING_BYTES = 16
"""A leading dimension of WMMA is a multiple of so many bytes."""
_FEWER_UNSAID = "Another layout has fewer, and cannot be written."


@dataclass(frozen=True)
class MatrixCall:
    """A call of WMMA that accesses an array."""

    function: str
    line: int
    start: int
    end: int
    """Where its leading dimension stands in its file."""
    said: str
    value: int | None
    """The leading dimension, where the file's constants tell it."""
    is_element: bool
    """Whether its pointer is that of an element: the leading dimension counts the array's."""
    element: int | None = None
    """Bytes of what its leading dimension counts; None: not known."""


@dataclass(frozen=True)
class Passed:
    """A leading dimension in a text, and what is written for it."""

    function: str
    line: int
    start: int
    end: int
    text: str
    is_constant: bool = True
    """Whether it can be written: else its value, or what its pointer counts, is not known."""
    is_element: bool = True


def matrix_calls(
    array: SharedArray, sites: Sequence[MemorySite], sources: Mapping[str, tuple[str, ...]],
    others: Iterable[str],
) -> tuple[MatrixCall, ...]:  # fmt: skip
    """Return WMMA's calls that may access an array, in an order of their own.

    In the file that declares it: all whose pointers are not known to point elsewhere, for a branch
    may not have run. In others: those that an access is of.

    `sites`: the array's accesses. `others`: names of other arrays, which a pointer may name.
    """
    declared, found = array.declared, dict[tuple[str, int], MatrixCall]()
    for file, lines in sources.items():
        text = "\n".join(lines)
        if "_matrix_sync" not in text:
            continue
        if declared is not None and declared.file == file:
            found |= {(file, each.start): each for each in _reaching(declared, text, others)}
            continue
        at = {
            (site.instruction.opcode[:2], site.instruction.line or 0)
            for site in sites
            if site.instruction.file == file
        }
        for each, pointer, span in _calls(plain(text), 0, len(text), text):
            is_other = any(any(named(pointer, name)) for name in others)
            accessed = any((_OPCODES[each.function], line) in at for line in span)
            if accessed and not is_other:
                found.setdefault((file, each.start), each)
    return tuple(found.values())


def leading_dimensions(array: SharedArray, candidate: Candidate, text: str) -> list[Passed]:
    """Return the leading dimensions that grow with an array's rows, in the text that declares it.

    Those of calls whose pointer is that of an element, where they are constants.
    """
    declared = array.declared
    if declared is None or not _is_padding(candidate):
        return []
    found = _grown(array, candidate, _naming(declared, text))
    return [each for each in found if each.is_constant]


def sayable(
    ranked: Sequence[Fix], array: SharedArray, calls: Sequence[MatrixCall]
) -> tuple[list[Fix], str]:
    """Return the fixes that WMMA's calls can follow, and why not one that stands before them.

    What has more bank conflicts than that one says so.
    """
    found, unsaid, least = list[Fix](), "", 0
    for each in ranked:
        against = _against(array, each.candidate, calls)
        if not against:
            more = unsaid and each.after.bank_conflicts > least
            found.append(replace(each, proved=False, why=_FEWER_UNSAID) if more else each)
        elif not found and not unsaid:
            least, unsaid = each.after.bank_conflicts, f"{each.written}: {against}"
    if found and unsaid:
        found[0] = replace(found[0], notes=(*found[0].notes, f"Not {unsaid}."))
    return found, unsaid


def _against(
    array: SharedArray, candidate: Candidate | None, calls: Sequence[MatrixCall]
) -> str:  # fmt: skip
    """Return why WMMA's calls cannot follow a layout; "" where they can, or there are none."""
    if candidate is None or not calls or candidate.mode is not None:
        return ""
    if candidate.tile.xors:
        name = " and ".join(sorted({each.function for each in calls}))
        at = lines_text(sorted({each.line for each in calls}))
        takes = "take" if " and " in name else "takes"
        return (
            f"{name} ({at}) {takes} a pointer and one leading dimension: a swizzle cannot be said"
        )
    for each in calls:
        if _times(array, candidate, each) == 0:
            return (
                f"{each.function} (line {each.line}) gets {each.said} as the leading dimension:"
                " that is not a multiple of the rows' length"
            )
    return ""


def calls_text(
    array: SharedArray, candidate: Candidate, calls: Sequence[MatrixCall]
) -> tuple[str, str]:
    """Return what to pass where, and why that is left to the reader; "" where it is not.

    `pass BK + 8 to load_matrix_sync in lines 29, 30`.
    """
    if not calls or not _is_padding(candidate):
        return "", ""
    lines: dict[str, list[int]] = {}
    found = list(_grown(array, candidate, calls))
    for each in found:
        at = lines.setdefault(f"{each.text} to {each.function}", [])
        if each.line not in at:
            at.append(each.line)
    said = " and ".join(f"{what} in {lines_text(at)}" for what, at in lines.items())
    left = list[str]()
    hidden = sorted({each.line for each in found if not each.is_element})
    if hidden:
        left.append(f"the pointer in {lines_text(hidden)} is not an element of it by name")
    unknown = sorted({each.line for each in found if each.is_element and not each.is_constant})
    if unknown:
        left.append(f"the leading dimension in {lines_text(unknown)} is not known")
    return (f"pass {said}" if said else ""), " and ".join(left)


def _is_padding(candidate: Candidate) -> bool:
    pad = candidate.tile.pad * candidate.element
    return candidate.mode is None and pad > 0 and pad % LEADING_BYTES == 0


def _grown(
    array: SharedArray, candidate: Candidate, calls: Iterable[MatrixCall]
) -> Iterator[Passed]:  # fmt: skip
    pad = candidate.tile.pad * candidate.element
    for each in calls:
        if keeps_rows(array, candidate) and array.declared and _is_size(array.declared, each.said):
            continue
        times = _times(array, candidate, each)
        element = (array.declared.element if array.declared else None) or 0
        row = candidate.pitch + pad
        if times and element:
            text = grown(each.said, times * pad // element)
        elif not each.element or row % each.element:
            text = f"the padded length of a row ({row} bytes) instead of {each.said}"
        elif each.value is not None and each.value * each.element == candidate.pitch:
            text = f"{grown(each.said, pad // each.element)} instead of {each.said}"
        else:
            count = row // each.element
            text = f"the padded length of a row ({count} elements) instead of {each.said}"
        if times != 0:
            yield Passed(
                each.function, each.line, each.start, each.end, text, times is not None,
                each.is_element,
            )  # fmt: skip


def _is_size(declared: Declared, said: str) -> bool:
    """Whether a text is the length of an array's rows in elements, which grows by itself."""
    name = re.escape(declared.name)
    row, one = (rf"{name}(?:\s*\[\w+\]){{{len(declared.dims) - less}}}" for less in (1, 0))
    return len(declared.dims) > 1 and bool(
        re.fullmatch(
            rf"sizeof\s*\(\s*{row}\s*\)\s*/\s*sizeof\s*\(\s*"
            rf"(?:{one}|{re.escape(declared.type)})\s*\)",
            said,
        )
    )


def _times(array: SharedArray, candidate: Candidate, call: MatrixCall) -> int | None:
    """Return how many rows a leading dimension is; 0: no whole ones, None: not known."""
    declared = array.declared
    if declared is None or not declared.element or not call.is_element:
        return None
    if (
        candidate.pitch % declared.element
        or candidate.tile.pad * candidate.element % declared.element
    ):
        return None
    if keeps_rows(array, candidate) and call.said == declared.dims[-1]:
        return 1
    if call.value is None:
        return None
    times, rest = divmod(call.value, candidate.pitch // declared.element)
    return 0 if rest else times


def _naming(declared: Declared, text: str) -> Iterator[MatrixCall]:
    """Yield the calls whose pointer is that of an array's element."""
    bare = plain(text)
    for each, _, _ in _calls(bare, *scope_of(bare, declared.start), text, declared):
        if each.is_element:
            yield each


def _reaching(declared: Declared, text: str, others: Iterable[str]) -> Iterator[MatrixCall]:
    """Yield the calls whose pointer may point into an array, those of its elements first."""
    bare = plain(text)
    names = {each.name for each in declarations({declared.file: tuple(text.split("\n"))})}
    pointers = Pointers(declared, bare, names.union(others))
    elements = {each.start: each for each in _naming(declared, text)}
    yield from elements.values()
    for each, pointer, _ in _calls(bare, 0, len(bare), text):
        if each.start in elements or pointers.reaches(pointer, each.start) is False:
            continue
        yield replace(each, element=pointers.element(pointer, each.start))


def _calls(
    bare: str, start: int, end: int, text: str, declared: Declared | None = None
) -> Iterator[tuple[MatrixCall, str, range]]:
    """Yield the calls of WMMA between two places that have a leading dimension.

    The pointer and the lines of each follow.
    """
    value_of = constants(text, bare)
    for call in _CALL.finditer(bare, start, end):
        last = closing(bare, call.end(), end)
        given = parts(bare, call.end() + 1, last) if last is not None else []
        if last is None or len(given) <= _LEADING:
            continue
        first, behind = given[_LEADING]
        said = bare[first:behind].strip()
        first += bare[first:behind].index(said)
        pointer = given[_POINTERS[call[1]]]
        line = bare.count("\n", 0, first) + 1
        lines = range(bare.count("\n", 0, call.start()) + 1, bare.count("\n", 0, last) + 2)
        is_element = declared is not None and _names(bare, pointer, declared)
        element = declared.element if declared and is_element else None
        found = MatrixCall(
            call[1], line, first, first + len(said), said, value_of(said), is_element, element
        )  # fmt: skip
        yield found, bare[slice(*pointer)], lines


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
