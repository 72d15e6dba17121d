"""A question with its block and instruction: where each thread of each warp goes.

    read("float s[32][33]; s[threadIdx.x][threadIdx.y]").accesses()

One reader for the command line, Python and pytest. What it had to assume, `assumed` says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layouts.expression import Expression, check_known, integer, nested
from layouts.shapes import is_integer
from layouts.tile import Tile, TileLike
from simulator.errors import AddressError, ExpressionError, OptionError
from simulator.inputs.functions import kind_of, remedy
from simulator.inputs.place import Array
from simulator.inputs.question import FLOAT, Question, read_question
from simulator.inputs.threads import THREAD_NAMES, ThreadBlock, assumed_block
from simulator.inputs.types import CType, atomic_of, op_of
from simulator.law.accesses import (
    ALL_LANES,
    SHARED_BYTES,
    Rows,
    active_lanes,
    check_mask,
    first_bad,
    refusal,
)
from simulator.law.chips import Chip, ChipLike, counted_on, optional_chip
from simulator.law.indices import RESERVED, Located, check_size, locate
from simulator.law.instructions import Instruction, Rule
from simulator.law.specification import least_wavefronts

__all__ = ["AskedAccess", "least_of", "read"]


@dataclass(frozen=True, eq=False)
class AskedAccess:
    """An access of every warp of a block."""

    question: Question
    instruction: Instruction
    block: ThreadBlock
    assumed: tuple[str, ...]
    """What nobody said, in words."""
    warps: tuple[int, ...]
    """Numbers of the warps that are asked about."""
    indices: NDArray[np.int64]
    """The subscripts, shape (warps, 32, dimensions); 0 for an inactive lane."""
    moved: NDArray[np.int64]
    """Bytes beyond the element that the subscripts name, shape (warps, 32)."""
    masks: NDArray[np.int64]
    """Active lanes of each warp."""
    located: Located | None = None
    """Where a layout puts the subscripts, if one was given."""
    chip: Chip | None = None

    @property
    def element(self) -> int:
        """Bytes of an element of the array."""
        return self.question.array.type.bytes

    @property
    def tile(self) -> Tile | None:
        """The layout that was given, where it is a tile."""
        return None if self.located is None else self.located.tile

    def places(self) -> NDArray[np.int64]:
        """Return the element that each lane's subscripts name, counted in C's order."""
        sizes = self.question.array.sizes
        place = np.zeros(self.indices.shape[:2], dtype=np.int64)
        for dimension, size in enumerate(sizes):
            place = place * (size or 1 if dimension else 1) + self.indices[:, :, dimension]
        return place

    def addresses(self) -> NDArray[np.int64]:
        """Return the byte address of each lane, shape (warps, 32); 0 for an inactive lane."""
        if self.located is None:
            return self.places() * self.element + self.moved
        found: NDArray[np.int64] = np.asarray(self.located.addresses, dtype=np.int64)
        return np.where(active_lanes(self.masks), found, 0)

    def check(self) -> None:
        """Raise for a lane beyond the array, and for one that the chip would trap on.

        ExpressionError where casts or moved pointers leave the array, else AddressError.
        """
        width, addresses = self.instruction.width, self.addresses()
        bad = active_lanes(self.masks) & self._beyond(addresses, width)
        bad[:, self.instruction.lanes :] = False
        if bad.any():
            row, lane = (int(each) for each in np.argwhere(bad)[0])
            raise ExpressionError(
                f"byte {addresses[row, lane]} of lane {lane} of warp {self.warps[row]} is outside"
                f" of {self.question.array.name} (accepted: 0 to {self._bytes() - width})",
                self.question.source,
                max(self.question.offsets[0][0].start - 1, 0),
            )
        masks = self.masks.astype(np.uint32)
        found = first_bad(self.instruction, Rows(addresses), masks)
        if found is not None:
            row, lane = found
            place = f"lane {lane} of access {self.warps[row]}"
            said = str(refusal(self.instruction, int(addresses[found]), place))
            if self.question.array.assumed and width > self.element:
                said += (
                    f"; the index counts elements of {self.element} bytes, so that a lane's"
                    f" {width} bytes are {width // self.element} of them (accepted: indices that"
                    f" are multiples of {width // self.element}, or elements of {width} bytes)"
                )
            raise AddressError(said)

    def _bytes(self) -> int:
        return math.prod(filter(None, self.question.array.sizes)) * self.element

    def _beyond(self, addresses: NDArray[np.int64], width: int) -> NDArray[np.bool_]:
        """Return where subscripts within their bounds lead out of the array all the same."""
        known = self.question.offsets and None not in self.question.array.sizes
        most = self._bytes() if known else 1 << 40
        beyond: NDArray[np.bool_] = addresses + width > most
        return beyond | (addresses < 0) if known else beyond

    @property
    def whole(self) -> bool:
        """Whether every lane of every warp is active."""
        return bool((self.masks == ALL_LANES).all())


def least_of(asked: AskedAccess, addresses: NDArray[np.int64], rule: Rule) -> NDArray[np.int64]:
    """Return the wavefronts that each warp takes in the best of all layouts, shape (warps,)."""
    rows = zip(addresses.tolist(), asked.masks.tolist(), strict=True)
    return np.array([least_wavefronts(asked.instruction, row, mask, rule) for row, mask in rows])


def read(
    text: str,
    op: str | Instruction | None = None,
    *,
    block: Any = None,
    element: int | None = None,
    names: Mapping[str, int] | None = None,
    active: str | None = None,
    mask: int = ALL_LANES,
    warps: Iterable[int] | None = None,
    tile: tuple[int, int] | None = None,
    layout: TileLike | None = None,
    chip: ChipLike | None = None,
) -> AskedAccess:
    """Return where each thread of a block goes, by a text in C (`simulator.inputs.question`).

    Raises ExpressionError, InstructionError, MaskError, ChipError and OptionError; with a layout
    LayoutError, and AddressError for an index outside of it.

    Parameters
    ----------
    text
        The question; with a `layout`, a row and a column of it.
    op
        The instruction; by default it follows from the type and the direction.
    block
        That of `ThreadBlock.of`.
    element
        Bytes of an element that no declaration names, by default those of a float, or what the
        layout says.
    names
        Values of names.
    active
        An expression: threads for which it is 0 are inactive. Their index is not evaluated.
    mask
        Lanes whose bit is 0 are inactive.
    warps
        Some warps of the block; without a block they stand in a row.
    tile
        Rows and columns of what a row and a column are of, where nothing is declared.
    layout
        A Tile, a Layout or a text of one.
    chip
        That of `count`.

    Examples
    --------
    >>> asked = read("float s[32][33]; s[threadIdx.x][threadIdx.y]")
    >>> asked.instruction.name, str(asked.block), asked.addresses()[1, :3].tolist()
    ('LDS', '32x32', [4, 136, 268])
    >>> asked.assumed
    ('block 32x32, because the question uses threadIdx.y',)
    >>> swizzled = "Sw<3,3,3> o 0 o (64,64):(64,1)"
    >>> read("lane%16, lane/16*8", "ldmatrix.x4", layout=swizzled, element=2).addresses()[0, :3]
    array([  0, 144, 288])
    """
    check_mask(mask)
    if element is not None:
        check_size(element)
    _check_names(names)
    constants = {name: value for name, value in (names or {}).items() if is_integer(value)}
    kind = _element(element)
    tiled = None if tile is None else Array("tile", kind or FLOAT, tile)
    chosen_chip = optional_chip(chip)
    most = SHARED_BYTES if chosen_chip is None else chosen_chip.shared_bytes
    question = read_question(text, kind, constants, tiled, laid=layout is not None, most=most)
    array = question.array
    if element is not None and not (array.assumed or array is tiled):
        raise OptionError(
            f"element {element}: the declaration of {array.name} says that an element is a"
            f" {array.type.name} (accepted: the declaration without --element)"
        )
    condition = None if active is None else Expression(active)
    known = (*THREAD_NAMES, *(names or {}))
    check_known(question, known)
    if condition is not None:
        check_known(condition, known)
    assumed = _called(question) if op is None else []
    if array.assumed and element is None and layout is None:
        assumed.append("4 bytes per element")
    known_op = counted_on(chosen_chip, _op(question) if op is None else op)
    if question.atomic == "COUNT" and op is None:
        assumed.append("the old value is not used")
    if question.loads:
        assumed.append("only the store is counted; ask about the load to the right of = separately")
    chosen = None if warps is None else tuple(warps)
    if block is not None:
        threads = ThreadBlock.of(block)
    elif chosen is not None:
        threads = ThreadBlock(32 * (max(chosen) + 1))
    else:
        used = {*question.names, *(condition.names if condition else ())} - set(names or ())
        threads, telling = assumed_block(used)
        why = f", because the question uses {telling}" if telling else ": one warp"
        assumed.append(f"block {threads}{why}")
    if chosen is None:
        chosen = tuple(range(threads.warps))
    elif max(chosen) >= threads.warps:
        raise OptionError(
            f"warp {max(chosen)}: a block of {threads} has {threads.warps} (accepted: 0 to"
            f" {threads.warps - 1})"
        )
    values = {
        name: integer(name, value, question)
        for name, value in (names or {}).items()
        if name in question.names
    }
    guessed = block is None and chosen == tuple(range(threads.warps))
    run = _Run(question, condition, {**(names or {}), **values}, mask, guessed)
    found = nested(text, lambda: [run.warp(threads, warp) for warp in chosen])
    asked = AskedAccess(
        question,
        known_op,
        threads,
        tuple(assumed),
        chosen,
        np.array([indices for indices, _, _ in found], dtype=np.int64),
        np.array([moved for _, moved, _ in found], dtype=np.int64),
        np.array([bits for _, _, bits in found], dtype=np.int64),
        chip=chosen_chip,
    )
    return asked if layout is None else _laid(asked, layout, element)


def _laid(asked: AskedAccess, layout: TileLike, element: int | None) -> AskedAccess:
    """Return the question with its subscripts laid out: a row and a column of the layout."""
    question = asked.question
    modes = tuple(np.moveaxis(asked.indices, -1, 0))
    found = locate(
        asked.instruction,
        modes if len(modes) > 1 else modes[0],
        layout,
        element,
        asked.masks,
        said=question.source,
    )
    sizes = question.array.sizes
    if found.tile is not None:
        sizes = (found.tile.rows, found.tile.cols)[-len(modes) :]
    array = replace(question.array, type=_element(found.element) or FLOAT, sizes=sizes)
    kind = ", b16" if asked.instruction.is_matrix else ""
    assumed = () if found.sized else (f"{found.element} bytes per element{kind}",)
    return replace(
        asked,
        question=replace(question, array=array, type=array.type),
        assumed=(*assumed, *asked.assumed),
        located=found,
    )


@dataclass(frozen=True)
class _Run:
    """Evaluates a question, thread by thread."""

    question: Question
    condition: Expression | None
    names: Mapping[str, int]
    mask: int
    guessed: bool
    """Whether the block was assumed."""

    def warp(self, block: ThreadBlock, number: int) -> tuple[list[list[int]], list[int], int]:
        """Return each lane's subscripts, the bytes added, and the active lanes."""
        sizes = self.question.array.sizes
        indices, moved, bits = [[0] * len(sizes)] * 32, [0] * 32, 0
        for lane, numbers in enumerate(block.warp(number)):
            if numbers is None or not self.mask >> lane & 1:
                continue
            values = {**numbers, **self.names}
            if self.condition is not None and not self.condition(values):
                continue
            bits |= 1 << lane
            indices[lane] = [self._subscript(k, values) for k in range(len(sizes))]
            moved[lane] = sum(
                index.evaluate(values) * unit for index, unit in self.question.offsets
            )
        return indices, moved, bits

    def _subscript(self, dimension: int, values: Mapping[str, int]) -> int:
        part, array = self.question.subscripts[dimension], self.question.array
        found, size = part.evaluate(values), array.sizes[dimension]
        if size is not None and not 0 <= found < size:
            source = self.question.source
            given = source[part.start : part.end]
            sizes = "".join(f"[{each or ''}]" for each in array.sizes)
            raise ExpressionError(
                f"{found} is outside of {array.name}{sizes} (accepted: 0 to {size - 1}), for"
                f" {_whose(values)}{self._block(values)}",
                source,
                part.start + len(given) - len(given.lstrip()),
            )
        return found

    def _block(self, values: Mapping[str, int]) -> str:
        sizes = [values[f"blockDim.{axis}"] for axis in "xyz"]
        text = "x".join(map(str, sizes[: 3 if sizes[2] > 1 else 2]))
        return f" (assumed: a block of {text}; to change it: --block XxY)" * self.guessed


def _whose(values: Mapping[str, int]) -> str:
    thread = f"({values['threadIdx.x']}, {values['threadIdx.y']}, {values['threadIdx.z']})"
    return f"thread {thread}, which is lane {values['lane']} of warp {values['warp']}"


def _element(size: int | None) -> CType | None:
    return None if size is None else CType(f"{size}-byte element", size)


_ELSEWHERE = "op in Python and in bankwise.toml"


def _op(question: Question) -> str:
    if question.array.assumed and not question.flat:
        name = question.array.name
        raise OptionError(
            f"{name} is not declared (accepted: a declaration before it, such as float"
            f" {name}[1024]; or an instruction of `bankwise ops`, such as --op LDS, {_ELSEWHERE})"
        )
    if question.array.assumed:
        raise OptionError(
            f"an expression needs --op (see `bankwise ops`), such as --op LDS ({_ELSEWHERE}), or a"
            " declaration, such as 'float s[32][32]; s[threadIdx.x][threadIdx.y]'"
        )
    if question.atomic:
        found = atomic_of(question.type, question.atomic)
        if found is None:
            raise OptionError(
                f"what {_atomic(question.atomic)} of {question.type.name} compiles to is not"
                f" known here (accepted: {_taken(question.atomic)}; or an instruction by --op, op=)"
            )
        return found
    found = op_of(question.type, store=question.store)
    if found is None:
        raise OptionError(
            f"no instruction moves the {question.type.bytes} bytes of a {question.type.name} at"
            " once (accepted: types of 1, 2, 4, 8 or 16 bytes, or an instruction by --op, op=)"
        )
    return found


def _atomic(kind: str) -> str:
    return "atomicCAS" if kind == "CAS" else f"atomic{kind.replace('COUNT', 'ADD').capitalize()}"


def _taken(kind: str) -> str:
    """Return the types of which is known what an atomic function compiles to."""
    types = ("int", "unsigned", "unsigned long long", "float", "half2")
    return ", ".join(each for each in types if atomic_of(_TYPES[each], kind) is not None)


_TYPES = {
    "int": CType("int", 4),
    "unsigned": CType("unsigned", 4),
    "unsigned long long": CType("unsigned long long", 8),
    "float": CType("float", 4),
    "half2": CType("half2", 4),
}


def _called(question: Question) -> list[str]:
    """Return what is assumed of the functions that are called on the element.

    Raises ExpressionError for one that may read more than its value.
    """
    kinds = {each.name: kind_of(each.name) for each in question.called}
    for name, column in question.called:
        if kinds[name] == "other" or (kinds[name] == "unknown" and question.store):
            raise ExpressionError(f"{remedy(name)} at column {column + 1}", question.source, column)
    return [
        f"{name}() reads one {question.type.name}"
        for name, kind in kinds.items()
        if kind == "unknown"
    ]


def _check_names(names: Any) -> None:
    if not (names is None or isinstance(names, Mapping)) or set(names or ()) & set(RESERVED):
        raise OptionError(
            f"names {names!r} cannot be set (accepted: a mapping of names to integers, without"
            f" {', '.join(RESERVED)}, which have their own meaning)"
        )
