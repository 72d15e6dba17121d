"""Paddings that part what a compiler joined: they are compiled, and replayed as any source.

A compiler makes one access of several elements side by side, where their addresses allow it. Such
an access cannot be moved in parts; a padding of one word changes what the compiler makes of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from layouts.tile import Tile
from simulator.errors import OptionError
from simulator.fixing.arrays import SharedArray
from simulator.fixing.declared import is_subscripted, line_of
from simulator.fixing.edits import Edit, applied, clash, edits_of
from simulator.fixing.fix import Fix
from simulator.fixing.layouts import Candidate
from simulator.law.specification import BANKS, WORD
from simulator.sass.lift.sites import MemorySite
from simulator.sass.report import CompiledReport
from simulator.sass.sampling import Relaunch

__all__ = ["changed_text", "compiled_with", "joined_lines", "word_more"]

_ASKED = re.compile(
    r"\b(?:__)?(?:nv_)?u?(?:char|short|int|long|longlong|float|double|half|bfloat16)[234]\b"
    r"|_cast\b|\basm\b|_matrix_sync\b"
)
"""What a line has that asks for a wide access itself."""


def joined_lines(
    array: SharedArray, sites: Sequence[MemorySite], sources: Mapping[str, tuple[str, ...]]
) -> tuple[int, ...]:
    """Return the lines whose elements of an array the compiler accesses several at a time.

    `sites` are those of the array's accesses.
    """
    element = array.declared.element if array.declared else None
    found = set()
    for site in sites:
        is_plain = (site.op or "").startswith(("LDS", "STS")) and element is not None
        if is_plain and site.width > (element or 0):
            text = line_of(site.instruction, sources)
            if is_subscripted(text, array.name) and not _ASKED.search(text):
                found.add(site.instruction.line or 0)
    return tuple(sorted(found))


def word_more(array: SharedArray, again: Relaunch) -> Candidate | None:
    """Return the layout with one word more per row; None where no declaration takes it.

    A row of what is declared without rows is one of the banks.
    """
    declared = array.declared
    if declared is None or declared.is_dynamic or again.source != declared.file:
        return None
    sizes = [size for size in declared.sizes if size]
    element = declared.element
    if element is None or len(sizes) < max(len(declared.sizes), 1):
        return None
    count, cols = prod(sizes), sizes[-1] if len(sizes) > 1 else BANKS * WORD // element
    if array.units or array.size != count * element or not 0 < cols < count:
        return None
    tile = Tile(-(-count // cols), cols, max(WORD // element, 1))
    bytes_ = np.arange(array.bytes)
    table = tile.offset(bytes_ // element) * element + bytes_ % element
    return Candidate("pad", tile, element, table, cols * element, is_compiled=True)


def compiled_with(report: CompiledReport, fixes: Sequence[Fix]) -> CompiledReport:
    """Compile the source with some fixes written into it, and return the replay of it.

    Raises OptionError where one cannot be written, and what compiling and the run raise.
    """
    again = report.relaunch()
    return again.recompiled(changed_text(again, fixes))


def changed_text(again: Relaunch, fixes: Sequence[Fix]) -> str:
    """Return the source of a launch with some fixes written into it.

    Raises OptionError where one cannot be written.
    """
    text, edits = again.text(), set[Edit]()
    for each in fixes:
        declared = each.target.declared if each.target else None
        if text is None:
            found: tuple[Edit, ...] | str = "the source is gone"
        elif declared is not None and declared.file != again.source:
            found = f"{each.array} is declared in {declared.file}"
        else:
            found = edits_of(each, text)
        if isinstance(found, str):
            raise OptionError(f"{found} (accepted: the source that was compiled)")
        if clash(set(found), edits):
            raise OptionError(
                f"{each.array}: another fix changes the same subscript, or one within it (accepted:"
                " one of them, and then the other in the changed source)"
            )
        edits |= set(found)
    return applied(text or "", edits)
