"""Layouts in the words of a source: declarations with padding, accesses with a swizzle."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from operator import or_

from layouts.c_text import column, operand, subscript_names
from layouts.term import Term
from layouts.tile import Tile
from simulator.fixing.arrays import SharedArray
from simulator.fixing.declared import Declared
from simulator.fixing.layouts import Candidate
from simulator.fixing.modes import mode_wording
from simulator.fixing.wording import Wording

__all__ = [
    "flat_index",
    "grown",
    "grown_size",
    "keeps_rows",
    "operations_of",
    "padded_size",
    "subscripts",
    "wording_of",
]

_MOST_NAMES = 4
"""Subscripts of an array that are named one by one; one with more has a flat index."""


def wording_of(array: SharedArray, candidate: Candidate, source: str = "") -> Wording:
    """Return what to write: `tile[32][33]`, `tile[row][col ^ row]` or `s[index + index / 32]`.

    And for which access, if it is one. No name of a subscript is in `source`, the text that the
    array is accessed in.
    """
    declared = array.declared
    if candidate.mode is not None:
        return mode_wording(array, candidate, source)
    by_rows = _by_rows(array, candidate, source)
    if by_rows is not None:
        return by_rows
    name = array.called
    unit = _unit(array, candidate)
    known = declared is not None and declared.element is not None
    is_record = array.is_static and declared is not None and not declared.dims
    plain = unit == candidate.element if known else candidate.natural and not is_record
    (index,) = subscript_names(1, source)
    grown = ""
    if candidate.bytes > array.bytes and array.is_static and known:
        grown = f"{name}[{-(-candidate.bytes // unit)}]"
    return Wording(
        f"{name}[{flat_index(candidate, index)}]", f"{name}[{index}]", grown,
        "" if plain else f" ({index} counted in {candidate.element} bytes)",
    )  # fmt: skip


def operations_of(array: SharedArray, candidate: Candidate) -> int:
    """Return how many integer operations an index takes more.

    The padding of an array's rows takes none, for the declaration has it; that of a flat index
    takes a division and an addition. A division that is not a shift counts as two.
    """
    if candidate.mode is not None or _by_rows(array, candidate) is not None:
        return candidate.tile.operations
    index = flat_index(candidate)
    divisors = [int(each) for each in re.findall(r"[/%]\s*(\d+)", index)]
    return len(re.findall(r"<<|>>|[-+*/%&|^]", index)) + sum(
        each & (each - 1) != 0 for each in divisors
    )


def keeps_rows(array: SharedArray, candidate: Candidate) -> bool:
    """Whether the rows of a layout are those that the source declares: their lengths are known."""
    declared = array.declared
    if declared is None or (declared.is_dynamic and declared.name != array.name):
        return False  # an index of dynamic memory is flat
    return declared.has_rows and declared.pitch == candidate.pitch


def _by_rows(array: SharedArray, candidate: Candidate, source: str = "") -> Wording | None:
    """Return a layout as the array's own rows say it; None where only a flat index does."""
    tile, declared = candidate.tile, array.declared
    if declared is None or not keeps_rows(array, candidate):
        return None
    size = padded_size(array, candidate)
    grown = declared.said((*declared.dims[:-1], size or declared.dims[-1]))
    if candidate.kind == "pad" and size:
        return Wording(grown)
    names = subscript_names(len(declared.sizes), source)
    same = candidate.element == declared.element and len(names) <= _MOST_NAMES
    mixed = subscripts(tile, declared.sizes, names) if same else None
    if mixed is None:
        return None
    place = f"{array.called}{''.join(f'[{each}]' for each in names)}"
    access = f"{array.called}{''.join(f'[{each}]' for each in mixed)}"
    return Wording(access, place, grown if candidate.kind == "both" else "")


def flat_index(candidate: Candidate, said: str = "index") -> str:
    """Return the moved place of an element as C; `said` is its index."""
    tile = candidate.tile
    if candidate.kind == "pad":
        each = f" * {tile.pad}" if tile.pad > 1 else ""
        return f"{operand(said)} + {operand(said)} / {tile.cols}{each}"
    if candidate.kind == "swizzle":
        return Tile(1, tile.elements, swizzle=tile.swizzle, terms=tile.terms).c(col=said)
    return tile.c(f"({operand(said)} / {tile.cols})", f"{operand(said)} % {tile.cols}")


def subscripts(tile: Tile, sizes: Sequence[int | None], said: Sequence[str]) -> list[str] | None:
    """Return an array's subscripts with the last one swizzled; None where it leaves its row.

    `sizes` are the array's, `said` its subscripts as they are.
    """
    *outer, inner, last = said
    below = sizes[-2] or 1
    if not outer:
        mixed = column(tile, inner, last)
        return None if mixed is None else [inner, mixed]
    bits, shift = (tile.cols - 1).bit_length(), (below - 1).bit_length()
    terms = tile.as_terms().xors
    read = reduce(or_, (each.mask << each.shift >> bits for each in terms), 0)
    own = reduce(or_, (each.mask << each.shift & tile.cols - 1 for each in terms), 0)
    mixed = None
    if below == 1 << shift and read < below:  # bits of the second last subscript alone
        mixed = column(Tile(below, tile.cols, terms=terms), inner, last)
    elif below == 1 << shift and not read & below - 1 and not own:  # or of those before it
        moved = tuple(Term(each.shift - shift, each.mask) for each in terms)
        above = Tile(-(-tile.rows // below), tile.cols, terms=moved)
        found = subscripts(above, (*sizes[:-2], sizes[-1]), (*outer, last))
        mixed = None if found is None else found[-1]
    if mixed is None:
        row = f"{operand(_flat_place(sizes[:-2], outer))} * {below} + {operand(inner)}"
        mixed = column(tile, row, last)
    return None if mixed is None else [*said[:-1], mixed]


def _flat_place(sizes: Sequence[int | None], said: Sequence[str]) -> str:
    """Return several subscripts as one."""
    place = said[0] if said else ""
    for size, each in zip(sizes[1:], said[1:], strict=True):
        place = f"{operand(place)} * {size} + {operand(each)}"
    return place


def _unit(array: SharedArray, candidate: Candidate) -> int:
    declared = array.declared
    return (declared.element if declared and declared.element else None) or candidate.element


def padded_size(array: SharedArray, candidate: Candidate) -> str | None:
    """Return the last size with its padding, in the source's words; None where it has none."""
    declared, pad = array.declared, _padding(array, candidate)
    return grown(declared.dims[-1], pad) if declared and declared.dims and pad else None


def _padding(array: SharedArray, candidate: Candidate) -> int:
    """Return how many elements more a row has; 0 where they are not whole ones."""
    element = (array.declared.element if array.declared else None) or 0
    pad = candidate.tile.pad * candidate.element
    return 0 if not element or pad % element else pad // element


def grown_size(declared: Declared, more: int) -> str:
    """Return an array's last size in the source's words, with so many bytes more."""
    return grown(declared.dims[-1], -(-more // (declared.element or 1)))


def grown(text: str, elements: int) -> str:
    """Return a size in the source's words with so many elements more: `N + 1`, or 33 for 32."""
    if re.fullmatch(r"\d+", text):
        return str(int(text) + elements)
    binds = re.fullmatch(r"[\w\s:.()+*/%-]+", text)  # no operator that + goes before
    return f"{text if binds else f'({text})'} + {elements}"
