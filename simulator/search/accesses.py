"""How a person says who reads and writes a tile: an `Access` is an instruction and an index.

    Access("LDS", lambda lane, i: (lane, i), loops={"i": 32})     # a column each: (row, col)
    Access("STS.128", "lane/8, lane%8*4")                         # the same in C: row, col
    Access("LDS.128", "k*(128 + pad) + lane%8*4", loops={"k": 8}) # a flat index, with a free name
    Access("LDS", array)                                          # integers of shape (..., 32)

An index names what it depends on: `lane`, `tid` (32·warp + lane) and `warp`; its own loops (each
turn is an access of its own, `warp` may be one); and free names, whose values are searched. An
argument of a function that is none of these keeps its default. It counts elements, not bytes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from layouts.expression import Expression
from layouts.shapes import is_integer
from simulator.errors import AddressError, MaskError, SearchError
from simulator.inputs.question import is_question
from simulator.law.accesses import check_mask, integers
from simulator.law.chips import Chip, instruction_on
from simulator.law.indices import RESERVED
from simulator.law.instructions import Instruction, instruction
from simulator.law.masks import active_table

__all__ = ["Access", "Group", "group"]

_MOST = 1 << 20  # warp accesses of one Access
_OFTEN = 1 << 48  # runs, so that costs add up in 64 bits
_LARGEST = 1 << 24  # elements of a tile: far beyond 227 KiB, far below any overflow

Index = str | Callable[..., Any] | ArrayLike


@dataclass(frozen=True, eq=False)
class Access:
    """An instruction, where its lanes go, and how often it runs.

    Raises SearchError for a weight or loops that are not positive integers, InstructionError and
    ExpressionError for an unknown instruction or a malformed expression.
    """

    op: str
    index: Index = ""
    """(row, col) or a flat index: a function, a C expression (or two, "row, col"), or integers
    of shape (..., 32), or a pair of such arrays."""
    weight: int = 1
    """How often each of its warp accesses runs, for each time that the others do."""
    loops: Mapping[str, int] = field(default_factory=dict)
    """Trip counts: an access for each turn."""
    active: str | Callable[..., Any] | None = None
    """Lanes for which it is 0 are inactive; None: all are active."""
    name: str = ""
    """What tables call it; by default the index as it was given."""
    masks: ArrayLike | None = None
    """Active lanes of integers of shape (..., 32): bit l for lane l, shape (...); None: all."""

    def __post_init__(self) -> None:
        if isinstance(self.op, str) and is_question(self.op):
            raise SearchError(
                f"{self.op!r} is a question in C, not an instruction (accepted: optimize(question),"
                " or an instruction and an index: Access('LDS', 'lane, 0'))"
            )
        instruction(self.op)
        if isinstance(self.index, str) and not self.index.strip():
            raise SearchError(f"{self.op} has no index (accepted: Access({self.op!r}, 'lane, 0'))")
        if not isinstance(self.loops, Mapping):
            raise SearchError(
                f"loops {self.loops!r} of {self} are not trip counts (accepted: {{name: trips}})"
            )
        for what, value in [("weight", self.weight), *self.loops.items()]:
            if not is_integer(value) or value < 1:
                raise SearchError(
                    f"{what} {value!r} of {self} is not a count (accepted: positive integers)"
                )
        if prod(self.loops.values()) > _MOST:
            raise SearchError(
                f"{self} is {prod(self.loops.values())} warp accesses (accepted: up to {_MOST};"
                " turns that cost the same can be a weight)"
            )
        reserved = sorted({"lane", "tid"} & set(self.loops))
        if reserved:
            raise SearchError(
                f"{self} loops over {', '.join(reserved)}, which has its own meaning (accepted:"
                " other names)"
            )
        active = self.active
        if not (active is None or isinstance(active, str) or callable(active)):
            raise SearchError(
                f"active {active!r} of {self} is not a condition (accepted: a function, or"
                " an expression)"
            )
        if len(_parts(active)) > 1:
            raise SearchError(f"active {active!r} of {self} has two parts (accepted: one)")
        for part in (*_parts(self.index), *_parts(active)):
            _names(part)

    def __str__(self) -> str:
        if self.name:
            return f"{self.op} {self.name}"
        if isinstance(self.index, str):
            return f"{self.op} {self.index}"
        return f"{self.op} {getattr(self.index, '__name__', 'at given indices')}"

    @property
    def free(self) -> set[str]:
        """Names that it uses and does not itself define."""
        return self.names - set(self.loops) - set(RESERVED)

    @property
    def needed(self) -> set[str]:
        """Those of `free` without a default, as an argument of a function may have."""
        parts = (*_parts(self.index), *_parts(self.active))
        return self.free & {name for part in parts for name, default in _names(part) if not default}

    @property
    def names(self) -> set[str]:
        """All names that its index and `active` use."""
        parts = (*_parts(self.index), *_parts(self.active))
        return {name for part in parts for name, _ in _names(part)}


@dataclass(frozen=True, eq=False)
class Group:
    """The warp accesses of one Access as places in a tile, equal ones once."""

    name: str
    instruction: Instruction
    places: NDArray[np.int64]
    """(n, 32): row·cols + col, or the flat index; 0 for an inactive lane."""
    masks: NDArray[np.uint32]
    """(n,)."""
    weights: NDArray[np.int64]
    """(n,)."""

    @property
    def active(self) -> NDArray[np.bool_]:
        """Lanes whose place means something, (n, 32)."""
        lanes = active_table(self.masks)
        lanes[:, self.instruction.lanes :] = False
        return lanes


def group(
    access: Access,
    values: Mapping[str, Any],
    tile: tuple[int, int] | None,
    element: int,
    chip: Chip | None = None,
) -> Group:
    """Evaluate an access for these values of its free names, in a tile of rows × cols.

    Raises SearchError for an index that is not an integer or a pair, or outside of the tile.
    """
    known = instruction_on(chip, access.op)
    if known.width < element or known.width % element:
        raise SearchError(
            f"{known.name} moves {known.width} bytes per lane, elements have {element}"
            " (accepted: elements whose size divides it)"
        )
    if not (isinstance(access.index, str) or callable(access.index)):
        places, masks = _from_arrays(access, tile)
    elif access.masks is not None:
        raise SearchError(
            f"{access} has masks, which are for integers (accepted: active, for a function or an"
            " expression)"
        )
    else:
        places, masks = _evaluated(access, values, tile)
    lanes = active_table(masks)
    lanes[:, known.lanes :] = False
    if known.is_matrix and not lanes[:, : known.lanes].all():
        raise SearchError(
            f"{access} leaves lanes inactive (accepted for {known.name}: all lanes take part)"
        )
    places = np.where(lanes, places, 0)
    _check(access, places, lanes, tile, known.width // element)
    rows = np.column_stack([places, lanes @ (1 << np.arange(32, dtype=np.int64))])
    unique, often = np.unique(rows, axis=0, return_counts=True)
    if len(rows) * access.weight >= _OFTEN:
        raise SearchError(
            f"{access} runs {len(rows) * access.weight} times (accepted: fewer than 2^48)"
        )
    return Group(
        str(access),
        known,
        unique[:, :32],
        unique[:, 32].astype(np.uint32) if known.lanes == 32 else np.full(len(unique), _ALL),
        often.astype(np.int64) * access.weight,
    )


_ALL = np.uint32(0xFFFFFFFF)


def _check(
    access: Access,
    places: NDArray[np.int64],
    lanes: NDArray[np.bool_],
    tile: tuple[int, int] | None,
    elements: int,
) -> None:
    rows, cols = tile or (1, _LARGEST)
    crossing = lanes & (places % cols + elements > cols)
    if crossing.any():
        raise SearchError(
            f"{access} moves {elements} elements per lane from column"
            f" {int(places[crossing][0]) % cols}, past the end of a row of {cols} (accepted:"
            f" columns up to {cols - elements})"
        )
    outside = lanes & ((places < 0) | (places + elements > rows * cols))
    if outside.any():
        raise SearchError(
            f"{access} reaches element {int(places[outside][0])} (accepted: 0 to"
            f" {rows * cols - elements}" + (f", in a tile of {rows}x{cols})" if tile else ")")
        )


def _from_arrays(
    access: Access, tile: tuple[int, int] | None
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    if access.loops or access.active is not None:
        raise SearchError(
            f"{access} has loops or active lanes, which are for functions (accepted: a function or"
            " an expression as its index)"
        )
    pair = isinstance(access.index, tuple) and len(access.index) == 2
    given: Any = access.index if pair else (access.index,)
    arrays = [integers(part, AddressError, f"indices of {access}") for part in given]
    try:
        arrays = list(np.broadcast_arrays(*arrays))
    except ValueError:
        arrays = [np.zeros(0)]
    if arrays[0].shape[-1:] != (32,):
        raise SearchError(
            f"indices of {access} have shape {np.shape(given[0])} (accepted: (..., 32), or a"
            " tuple of rows and columns of that shape)"
        )
    wide = [array.reshape(-1, 32).astype(object) for array in arrays]
    places = _place(access, wide[0], wide[1], tile) if pair else wide[0]
    if places.min() < -_LARGEST or places.max() > _LARGEST:
        raise SearchError(f"indices of {access} reach {places.max()} (accepted: 0 to {_LARGEST})")
    return places.astype(np.int64), _masks(access, len(places))


def _masks(access: Access, many: int) -> NDArray[np.uint32]:
    if access.masks is None:
        return np.full(many, _ALL)
    masks = integers(access.masks, MaskError, f"masks of {access}").reshape(-1)
    if masks.shape != (many,):
        raise SearchError(f"{access} has {masks.size} masks (accepted: {many}, one per access)")
    for extreme in (int(masks.min()), int(masks.max())):
        check_mask(extreme)
    return masks.astype(np.uint32)


def _evaluated(
    access: Access, values: Mapping[str, Any], tile: tuple[int, int] | None
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    index, active = (
        [(part, [name for name, _ in _names(part)]) for part in _parts(given)]
        for given in (access.index, access.active)
    )
    for part, names in [*index, *active]:
        for name in names:
            if isinstance(part, Expression) and not is_integer(values.get(name, 0)):
                raise SearchError(
                    f"{name} = {values[name]!r} in {access} is not an integer (accepted: integers,"
                    " in an expression)"
                )
    turns = list(product(*map(range, access.loops.values())))
    places = np.zeros((len(turns), 32), dtype=np.int64)
    masks = np.zeros(len(turns), dtype=np.uint32)
    for number, turn in enumerate(turns):
        named = {"warp": 0, **values, **dict(zip(access.loops, turn, strict=True))}
        for lane in range(32):
            named["lane"], named["tid"] = lane, 32 * named["warp"] + lane
            if not all(_value(*part, named) for part in active):
                continue
            masks[number] |= np.uint32(1 << lane)
            found: Sequence[Any] = [_value(*part, named) for part in index]
            if len(found) == 1 and isinstance(found[0], tuple):
                found = found[0]
            if len(found) not in (1, 2) or not all(map(is_integer, found)):
                raise SearchError(
                    f"{access} gives {found[0] if len(found) == 1 else found!r} for lane {lane}"
                    " (accepted: an integer, or a pair (row, col) of integers)"
                )
            place = found[0] if len(found) == 1 else _place(access, found[0], found[1], tile)
            if abs(place) > _LARGEST:
                raise SearchError(f"{access} reaches element {place} (accepted: up to {_LARGEST})")
            places[number, lane] = place
    return places, masks


def _place(access: Access, row: Any, col: Any, tile: tuple[int, int] | None) -> Any:
    if tile is None:
        raise SearchError(
            f"{access} gives (row, col), but no tile is given (accepted: tile='64x64')"
        )
    rows, cols = tile
    for what, value, size in (("row", row, rows), ("column", col, cols)):
        low, high = int(np.min(value)), int(np.max(value))
        if low < 0 or high >= size:
            raise SearchError(
                f"{access} reaches {what} {low if low < 0 else high} (accepted: 0 to {size - 1},"
                f" in a tile of {rows}x{cols})"
            )
    return row * cols + col


_Part = Expression | Callable[..., Any]


def _parts(given: Any) -> list[_Part]:
    """Return a function, or one or two expressions (no comma of another kind exists in them)."""
    if given is None:
        return []
    if isinstance(given, str):
        parts = given.split(",")
        if len(parts) > 2:
            raise SearchError(
                f"index {given!r} has {len(parts)} parts (accepted: a flat index, or row, col)"
            )
        return [Expression(part.strip()) for part in parts]
    return [given] if callable(given) else []


def _names(part: _Part) -> list[tuple[str, bool]]:
    """List the names that it uses, and whether each has a default."""
    if isinstance(part, Expression):
        return [(name, False) for name in part.names]
    try:
        parameters = inspect.signature(part).parameters.values()
    except ValueError as error:
        raise SearchError(f"{error} (accepted: functions that name their arguments)") from None
    for parameter in parameters:
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise SearchError(
                f"{parameter} of {part!r} has to be given by position (accepted: by name)"
            )
    return [(each.name, each.default is not each.empty) for each in parameters]


def _value(part: _Part, names: Sequence[str], named: Mapping[str, Any]) -> Any:
    if isinstance(part, Expression):
        return part(named)
    return part(**{name: named[name] for name in names if name in named})
