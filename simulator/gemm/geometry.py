"""The parameters of `simulate` as one value: a `Geometry`, checked and in one form.

`simulate`, a sweep, a search and the command line all read parameters here, each by its name.
Nothing is lowered and nothing is counted: that is `simulator.gemm.loads`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, get_args

from layouts import c_text
from layouts.errors import LayoutError, accepted, short
from layouts.fragment import FRAGMENTS, FragmentKind, check_fragment
from layouts.shapes import is_integer, listed, parse_shape, shape_text
from layouts.swizzle import Swizzle
from layouts.tile import Tile
from layouts.tile_text import is_c, split_shape
from layouts.triton import is_triton
from layouts.warp import LANE_ORDERS, LANES, LaneOrder, WarpLayout
from simulator.errors import OptionError
from simulator.law.chips import CHIPS, Chip, optional_chip
from simulator.law.counting import check_rule
from simulator.law.instructions import RULES, Rule

__all__ = [
    "A_LAYOUTS",
    "CHOICES",
    "ELEMENTS",
    "LDS_WIDTHS",
    "PARAMETERS",
    "ALayout",
    "Geometry",
    "check_value",
]

LDS_WIDTHS = (32, 64, 128)
"""Bits that a lane reads with one instruction."""

ELEMENTS = (4, 2, 1)
"""Bytes of an element."""

ALayout = Literal["transposed", "row-major"]
"""`transposed`: A lies as BK rows of BM elements. `row-major`: as BM rows of BK elements."""

A_LAYOUTS: tuple[ALayout, ...] = get_args(ALayout)

CHOICES: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "warp_shape": tuple(shape_text((1 << bit, LANES >> bit)) for bit in range(6)),
        "lds": LDS_WIDTHS,
        "lane_order": LANE_ORDERS,
        "fragment": FRAGMENTS,
        "a_layout": A_LAYOUTS,
        "element": ELEMENTS,
        "rule": RULES,
        "chip": CHIPS,
    }
)
"""What "all" stands for, for parameters whose values are a list."""


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """What `simulate` is asked: twelve parameters, each in the form that a report shows.

    >>> Geometry.of(warp_shape=(4, 8), pad=4)
    Geometry(warp_shape='4x8', lds=128, thread_tile='8x8', block_tile='128x128x8', \
lane_order='col-major', fragment='contiguous', a_layout='transposed', pad=(4, 4), \
swizzle=(None, None), layout=(None, None), element=4, rule='silicon', chip=None)

    Raises LayoutError or OptionError for a value that is wrong with any other values. Lowering
    them finds out whether the values fit each other.
    """

    warp_shape: str = "4x8"
    """Rows×columns of lanes."""
    lds: int = 128
    """Bits of a load."""
    thread_tile: str = "8x8"
    """M×N."""
    block_tile: str = "128x128x8"
    """M×N×K."""
    lane_order: str | tuple[int, ...] = "col-major"
    """A name, or row·columns + column of every lane."""
    fragment: FragmentKind = "contiguous"
    a_layout: ALayout = "transposed"
    pad: tuple[int, int] = (0, 0)
    """Elements after each row of A's tile and of B's."""
    swizzle: tuple[Swizzle | None, Swizzle | None] = (None, None)
    """Of A's tile and of B's, on element offsets, after padding."""
    layout: tuple[Tile | str | None, Tile | str | None] = (None, None)
    """Of A's tile and of B's, instead of a padding and a swizzle; text where it says no shape."""
    element: int = 4
    """Bytes."""
    rule: Rule = "silicon"
    chip: Chip | None = None
    """None: the H200's law."""

    def __post_init__(self) -> None:
        for name in _READERS:
            value = getattr(self, name)
            # A sweep reads the same few words thousands of times.
            again = type(value) is str and name != "chip"  # a chip's file may change
            read = _read_word(name, value) if again else _READERS[name](value)
            object.__setattr__(self, name, read)

    @classmethod
    def of(cls, **parameters: Any) -> Geometry:
        """Return the geometry of parameters in any form that `simulate` takes, others by default.

        Raises LayoutError or OptionError, as the constructor does.
        """
        return cls(**parameters)

    @property
    def title(self) -> str:
        """The geometry in a line."""
        order = self.lane_order if isinstance(self.lane_order, str) else "given lane order"
        parts = [
            f"{self.warp_shape} warp, {order}",
            f"{self.thread_tile} thread tile, {self.fragment}",
            f"{self.block_tile} block tile of {self.element}-byte elements",
            f"A {self.a_layout}",
        ]
        if any(self.pad):
            parts.append(f"padding {self.pad[0]} and {self.pad[1]}")
        if any(self.swizzle):
            parts.append(f"swizzle {self.swizzle[0]} and {self.swizzle[1]}")
        if self.chip is not None:
            parts.append(f"on {self.chip}")
        if any(self.layout):
            parts.append(f"layout {self.layout[0]} and {self.layout[1]}")
        return "; ".join(parts)


def check_value(name: str, value: Any) -> None:
    """Raise the error of `Geometry` for a value that is wrong with any other parameters.

    >>> check_value("pad", 3)
    >>> check_value("lds", 96)
    Traceback (most recent call last):
    simulator.errors.OptionError: lds 96 is not a load width in bits (accepted: 32, 64, 128)
    """
    _READERS[name](value)


@lru_cache(maxsize=1024)
def _read_word(name: str, word: str) -> object:
    return _READERS[name](word)


def _rule(rule: Any) -> str:
    check_rule(rule)
    return str(rule)


def _lds(lds: Any) -> int:
    if not is_integer(lds) or lds not in LDS_WIDTHS:
        raise OptionError(f"lds {lds!r} is not a load width in bits (accepted: 32, 64, 128)")
    return int(lds)


def _element(element: Any) -> int:
    if not is_integer(element) or element not in ELEMENTS:
        raise OptionError(f"element {element!r} is not a size in bytes (accepted: 4, 2, 1)")
    return int(element)


def _a_layout(a_layout: Any) -> ALayout:
    if not isinstance(a_layout, str) or a_layout not in A_LAYOUTS:
        raise OptionError(f"unknown a_layout {a_layout!r}: {accepted(a_layout, A_LAYOUTS)}")
    return A_LAYOUTS[A_LAYOUTS.index(a_layout)]


def _warp_shape(shape: Any) -> str:
    warp = WarpLayout.of(shape)
    return shape_text((warp.rows, warp.cols))


def _lane_order(order: LaneOrder) -> str | tuple[int, ...]:
    # Where lanes are said one by one, or by a layout, every shape has the same 32 places.
    positions = WarpLayout.of("4x8", order).positions
    return order if isinstance(order, str) else positions


def _fragment(kind: Any) -> FragmentKind:
    check_fragment(kind)
    fragment: FragmentKind = kind
    return fragment


def _pair_of_pads(pad: Any) -> tuple[int, int]:
    pad = listed(pad)
    pair = pad if isinstance(pad, Sequence) else (pad, pad)
    pads = [int(value) for value in pair if is_integer(value) and value >= 0]
    if len(pads) != 2 or len(pair) != 2:
        raise LayoutError(
            f"pad {pad!r} is not a number of elements (accepted: 0, 1, 2, ..., or a pair (A, B))"
        )
    return pads[0], pads[1]


def _pair_of_swizzles(swizzle: Any) -> tuple[Swizzle | None, Swizzle | None]:
    # A pair has two entries, a triple (B, M, S) three.
    given = listed(swizzle)
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        given = (given, given)
    elif any(map(is_integer, given)):
        raise LayoutError(
            f"swizzle {swizzle!r} is not three integers (B, M, S), and not a pair (A, B) of them"
        )
    first, second = (None if one is None else Swizzle.of(one) for one in given)
    return first, second


def _pair_of_layouts(layout: Any) -> tuple[Tile | str | None, Tile | str | None]:
    pair = layout if isinstance(layout, tuple | list) else (layout, layout)
    if len(pair) != 2:
        raise LayoutError(
            f"layout {short(layout)} is not one for both tiles or a pair (A, B) (accepted: None, a"
            " Tile, a Layout or a text of one, for each)"
        )
    first, second = (_layout(one) for one in pair)
    return first, second


def _layout(layout: Any) -> Tile | str | None:
    if not isinstance(layout, str):
        return None if layout is None else Tile.of(layout)
    text, shape = split_shape(layout)
    if shape is None and is_c(text):
        c_text.function(text, rows=1)  # its tile, of the geometry's shape, is made later
        return layout
    return layout if shape is None and is_triton(text) else Tile.parse(text, shape)


_READERS: Mapping[str, Callable[[Any], object]] = {
    "chip": optional_chip,
    "rule": _rule,
    "lds": _lds,
    "element": _element,
    "a_layout": _a_layout,
    "warp_shape": _warp_shape,
    "lane_order": _lane_order,
    "thread_tile": lambda tile: shape_text(parse_shape(tile, "MN", "thread tile")),
    "block_tile": lambda tile: shape_text(parse_shape(tile, "MNK", "block tile")),
    "pad": _pair_of_pads,
    "swizzle": _pair_of_swizzles,
    "layout": _pair_of_layouts,
    "fragment": _fragment,
}

PARAMETERS = tuple(field.name for field in fields(Geometry))
"""The names of `simulate`'s parameters."""
