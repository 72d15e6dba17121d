"""The least padding and the simplest swizzle that would cost less, in the user's own names.

They are what `optimize` chooses, of paddings and of swizzles `Sw<B,M,S>`, and `count` counts them
again. An access that leaves its rows (by a cast or a moved pointer) has no padding; one to an array
of one dimension has no rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from layouts.c_text import column, operand, subscript_names
from layouts.errors import plural
from layouts.tile import Tile
from simulator.asking.words import waits
from simulator.errors import BankwiseError
from simulator.inputs.asked import AskedAccess, least_of
from simulator.law.counting import Counts, count
from simulator.law.explaining import Explanation, explain
from simulator.law.instructions import Rule
from simulator.law.specification import BANKS, WORD
from simulator.search.accesses import group
from simulator.search.swizzles import Swizzles, TileProblem, best_layout
from simulator.search.touching import access_of, tile_of

__all__ = ["MOST_PAD", "Cure", "cures", "explained"]

_LIMIT = 10_000_000  # accesses counted at most, as for `optimize`

MOST_PAD = 32
"""Columns of padding that are tried."""

_LONGEST = 44  # characters of an index that still reads well beside its figures


@dataclass(frozen=True)
class Cure:
    """A layout that costs less."""

    kind: Literal["pad", "swizzle", "layout"]
    text: str
    """The declaration with its padding, the access with its swizzle, or a whole layout."""
    notation: str
    """CuTe's notation of the layout; empty where it has none."""
    bytes: int | None
    """Bytes of the array; None where its size is not known."""
    more: int | None
    """Bytes more than as it was declared."""
    operations: int
    """Integer operations that the index takes more."""
    wavefronts: int
    """Those of all warps together, as the other figures."""
    bank_conflicts: int
    excessive: int
    cycles: int
    addresses: NDArray[np.int64] = field(repr=False, compare=False)
    """In bytes, shape (warps, 32); 0 for a lane that is not active."""
    least: bool = False
    """Whether no layout takes fewer wavefronts: lanes that update one word wait for one another."""
    everywhere: str = ""
    """How to write any access, where `text` does not show it; else empty.

    A swizzle of column 0 is the row alone: `s[row][0 ^ row]` reads `s[row][row]`; and one that
    leaves its row has an index of its own.
    """
    place: str = ""
    """That access as it was, `s[row][col]`, where `text` or `everywhere` has names of its own."""

    @property
    def size(self) -> str:
        """The bytes of the array in words, and how many they are more; empty if not known."""
        if self.bytes is None:
            return ""
        return f"{self.bytes:,} bytes{f' (+{self.more:,})' if self.more else ''}"

    @property
    def others(self) -> str:
        """How to write the other accesses, or what the names in `text` mean; often empty."""
        if not self.place:
            return ""
        return f"every {self.place}" + (f" as {self.everywhere}" if self.everywhere else "")

    @property
    def effort(self) -> str:
        """The operations in words."""
        if not self.operations:
            return "no operation"
        return f"{plural(self.operations, 'operation')} more"

    @property
    def leaves(self) -> str:
        """What is left of the conflicts of all warps, in words."""
        if not self.bank_conflicts:
            return "conflict-free"
        if self.least:
            return "no layout takes fewer"
        each = " per block" if len(self.addresses) > 1 else ""
        return f"leaves {plural(self.bank_conflicts, 'bank conflict')}{each}"


def cures(asked: AskedAccess, rule: Rule) -> tuple[list[Cure], str]:
    """Return what costs fewer cycles, and why there is nothing, which is empty otherwise."""
    if asked.instruction.phases == 0:
        return [], "nothing to do"
    before = count_asked(asked, asked.addresses(), rule)
    if not int(before.bank_conflicts.sum()):
        return [], "nothing to do"
    width = asked.instruction.width
    if width < asked.element and asked.located is None:
        return [], (
            "not searched: padding cannot help a member of a struct; an array per member can"
        )
    tile = tile_of([asked])
    if asked.located is not None and tile is None:
        return [], "not searched: the layout is not one of rows and columns"
    try:
        found = [_swizzled(asked, tile, rule)]
        if tile is not None:
            found.insert(0, _padded(asked, tile, rule))
    except BankwiseError as error:
        return [], f"not searched: {str(error).splitlines()[0]}"
    now = int(before.cycles.sum())
    better = [each for each in found if each is not None and each.cycles < now]
    if len({each.notation for each in better if asked.tile is not None}) == 1:
        better = better[:1]  # row by row, without padding, without a swizzle
    if better:
        return better, ""
    padding = f"no padding of up to {MOST_PAD} columns and " if tile else ""
    return [], f"{padding}no swizzle Sw<B,M,S> takes fewer cycles"


def explained(asked: AskedAccess, cure: Cure, rule: Rule) -> tuple[int, Explanation]:
    """Return the worst warp with a cure, and its explanation."""
    counts = count_asked(asked, cure.addresses, rule)
    worst = counts.worst()
    one = explain(asked.instruction, cure.addresses[worst], int(asked.masks[worst]), rule=rule)
    return asked.warps[worst], one


def count_asked(asked: AskedAccess, addresses: NDArray[np.int64], rule: Rule) -> Counts:
    """Return the figures of every warp at these addresses."""
    masks = None if asked.whole else asked.masks
    return count(asked.instruction, addresses, masks, rule=rule)


def _best(
    asked: AskedAccess, tile: Tile | None, rule: Rule, *, pads: Sequence[int], swizzles: Swizzles
) -> Tile | None:
    """Return the layout that `optimize` would choose; None where none takes fewer cycles."""
    shape = None if tile is None else (tile.rows, tile.cols)
    touched = group(access_of([asked], tile), {}, shape, asked.element, asked.chip)
    if shape is None:  # one row that holds all of it, in whole rows of banks
        reach = int(touched.places.max()) + asked.instruction.width // asked.element
        unit = BANKS * WORD // asked.element
        shape = (1, -(-reach // unit) * unit)
    question = TileProblem((touched,), shape, asked.element, pads, swizzles, "cycles", rule, _LIMIT)
    found = best_layout(question).layout
    declared = None if asked.tile is not None else Tile(*shape)
    return None if found in (None, declared) else found


def _padded(asked: AskedAccess, tile: Tile, rule: Rule) -> Cure | None:
    best = _best(asked, tile, rule, pads=range(MOST_PAD + 1), swizzles="none")
    if best is None:
        return None
    array = asked.question.array
    if asked.tile is not None:
        return _counted("pad" if best.pad else "layout", asked, tile, best.cute(), best, rule)
    sizes = [*array.sizes[:-1], tile.cols + best.pad]
    brackets = "".join(f"[{size or ''}]" for size in sizes)
    return _counted("pad", asked, tile, f"{array.type.name} {array.name}{brackets}", best, rule)


def _swizzled(asked: AskedAccess, tile: Tile | None, rule: Rule) -> Cure | None:
    best = _best(asked, tile, rule, pads=(0,), swizzles="cute")
    if best is None:
        return None
    found = _counted("swizzle", asked, tile, _written(asked, tile, best), best, rule)
    everywhere, place = _everywhere(asked, tile, best, found.text)
    return replace(found, everywhere=everywhere, place=place)


def _counted(
    kind: Literal["pad", "swizzle", "layout"],
    asked: AskedAccess,
    tile: Tile | None,
    text: str,
    layout: Tile,
    rule: Rule,
) -> Cure:
    """Count the access again at the addresses that the layout gives."""
    place = asked.places() + asked.moved // asked.element
    offsets: NDArray[np.int64] = layout.offset(place)
    addresses = offsets * asked.element + asked.moved % asked.element
    addresses[(asked.masks[:, None] >> np.arange(32) & 1) == 0] = 0
    counts = count_asked(asked, addresses, rule)
    known = None not in asked.question.array.sizes
    declared = math.prod(filter(None, asked.question.array.sizes))
    size = (declared if asked.tile is None else asked.tile.size) * asked.element
    bytes_ = (layout.elements * asked.element if tile else size) if known else None
    return Cure(
        kind,
        text,
        (layout.notation or "") if tile else " o ".join(map(str, layout.swizzles)),
        bytes_,
        None if bytes_ is None else bytes_ - size,
        layout.operations,
        int(counts.wavefronts.sum()),
        int(counts.bank_conflicts.sum()),
        int(counts.excessive.sum()),
        int(counts.cycles.sum()),
        addresses,
        waits(asked.instruction)
        and bool((least_of(asked, addresses, rule) == counts.wavefronts).all()),
    )


def _written(asked: AskedAccess, tile: Tile | None, layout: Tile) -> str:
    """Return the access with its swizzle, by the names that the text has."""
    question = asked.question
    if asked.tile is not None and tile is not None:
        return layout.cute()
    parts = [question.source[each.start : each.end].strip() for each in question.subscripts]
    swizzles = " o ".join(map(str, layout.swizzles))
    if question.offsets or not all(parts):
        return f"{swizzles} on the index of {question.array.name}"
    name = question.array.name
    if tile is None:
        if len(parts) != 1:
            return f"{swizzles} on the index of {name}"
        mixed = layout.c(col=parts[0])
        if len(name) + len(mixed) + 2 > _LONGEST:  # the index stands in it twice
            free = next(
                each for each in ("i", "at", "index") if each not in _words(question.source)
            )
            return f"int {free} = {parts[0]}; {name}[{layout.c(col=free)}]"
        return mixed if question.flat and question.array.assumed else f"{name}[{mixed}]"
    sizes = question.array.sizes
    text = _columns(name, parts, sizes, layout)
    if len(text) > _LONGEST:
        text = _columns(name, _names(asked), sizes, layout)
    if text:
        return text
    flat = Tile(1, layout.rows * layout.cols, swizzle=layout.swizzles)  # it leaves its rows
    return f"(&{name}{'[0]' * len(parts)})[{flat.c(col='i')}]"


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _everywhere(
    asked: AskedAccess, tile: Tile | None, layout: Tile, text: str
) -> tuple[str, str]:  # fmt: skip
    """Return any access with the swizzle, and without it; empty where the text says enough.

    The first alone is empty where the text is that access.
    """
    question = asked.question
    if tile is None or asked.tile is not None or question.offsets:
        return "", ""
    sizes, last, names = question.array.sizes, question.subscripts[-1], _names(asked)
    place = f"{question.array.name}{''.join(f'[{each}]' for each in names)}"
    if text.startswith("(&"):  # it leaves its rows
        return f"int i = {_flat(names, sizes)}; {text}", place
    found = _columns(question.array.name, names, sizes, layout)
    if found == text:
        return "", place
    is_first = question.source[last.start : last.end].strip() == "0"
    return (found, place) if is_first else ("", "")


def _names(asked: AskedAccess) -> list[str]:
    """Return names for the subscripts of any access."""
    return subscript_names(len(asked.question.array.sizes), asked.question.source)


def _flat(parts: Sequence[str], sizes: Sequence[int | None]) -> str:
    """Return the index of an element as if the array had one dimension.

    >>> _flat(["q", "row", "col"], [None, 4, 33])
    '(q*4 + row)*33 + col'
    """
    text = parts[0]
    for size, each in zip(sizes[1:], parts[1:], strict=True):
        text = f"{operand(text)}*{size} + {operand(each)}"
    return text


def _columns(name: str, parts: list[str], sizes: tuple[int | None, ...], layout: Tile) -> str:
    """Return the access with its last subscript mixed with its row; empty where it leaves it."""
    *before, last = parts
    mixed = column(layout, _flat(before, sizes[:-1]), last)
    return "" if mixed is None else f"{name}{''.join(f'[{each}]' for each in before)}[{mixed}]"
