"""A layout: a function from coordinates to element offsets, written `shape:stride`.

`(8,4):(4,1)` is 8 rows of 4 elements, row by row. The shape says which coordinates
there are, the stride how far one step along each mode moves:

    (8,4):(4,1) at (2, 3)  =  2·4 + 3·1  =  11

A mode may itself be a tuple of modes, and a coordinate may be given at any level: as (2, 3), or as
one number that counts through the modes from the left, the leftmost fastest. So 2 + 3·8 = 26 is (2,
3) again. That is the whole trick of CuTe: because every layout is also a function of one integer,
layouts compose (`layouts.algebra`).

A layout may be followed by an XOR swizzle: `Sw<3,4,3> o 0 o (8,64):(64,1)` first
computes the offset, adds 0, then swizzles.

Offsets count elements. Sizes are Python integers and cannot overflow; a layout that
reaches past 2**63 - 1 is refused, so NumPy's int64 holds every offset.
Source: CUTLASS, media/docs/cpp/cute/01_layout.md
(https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/cute/01_layout.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from layouts.errors import LayoutError, short
from layouts.nested import (
    Nested,
    compact,
    congruent,
    depth,
    flat,
    nested,
    nested_text,
    product,
    span,
)
from layouts.notation import read_layout
from layouts.shapes import Shape, interleaving, is_integer, leading_dimension, parse_shape
from layouts.swizzle import Swizzle, SwizzleLike
from layouts.triton import is_triton, read_triton

__all__ = ["LARGEST", "MOST_LISTED", "Coordinate", "Layout", "make_layout"]

LARGEST = 2**63 - 1
"""No layout has more elements, or reaches further."""

MOST_LISTED = 2**24
"""No layout with more elements is written out element by element."""

Coordinate: TypeAlias = "int | tuple[Coordinate, ...] | list[Coordinate]"
"""One integer for all modes below it, or one coordinate for each mode."""


@dataclass(frozen=True, init=False, repr=False)
class Layout:
    """`shape:stride`, perhaps behind a swizzle: call it with a coordinate.

    >>> layout = Layout((8, 4), (4, 1))
    >>> layout(2, 3), layout((2, 3)), layout(26)
    (11, 11, 11)
    >>> layout.size, layout.cosize, layout.rank, layout.depth
    (32, 32, 2, 1)
    >>> str(layout), layout
    ('(8,4):(4,1)', Layout((8, 4), (4, 1)))

    Without a stride the layout is compact, the leftmost mode fastest:

    >>> str(Layout(((2, 4), 8)))
    '((2,4),8):((1,2),8)'

    Raises LayoutError for a shape that is not made of positive integers; a stride below 0 or with
    other parentheses than the shape; an offset without a swizzle; a layout past 2**63 - 1.
    """

    shape: Nested
    stride: Nested
    swizzle: Swizzle | None
    offset: int

    def __init__(
        self,
        shape: Nested,
        stride: Nested | None = None,
        swizzle: SwizzleLike | None = None,
        offset: int = 0,
    ) -> None:
        shape = nested(shape, 1, "shape")
        stride = compact(shape) if stride is None else nested(stride, 0, "stride")
        if not congruent(shape, stride):
            raise LayoutError(
                f"shape {nested_text(shape)} and stride {nested_text(stride)} do not have the same"
                " parentheses (accepted: one stride for each number of the shape,"
                " such as (8,4):(4,1))"
            )
        swizzle = None if swizzle is None else Swizzle.of(swizzle)
        if not is_integer(offset) or offset < 0 or (offset and swizzle is None):
            raise LayoutError(
                f"offset {offset!r} of layout {nested_text(shape)}:{nested_text(stride)}"
                " is not accepted (accepted: 0, or before a swizzle a positive integer)"
            )
        if max(product(shape), offset + span(shape, stride)) > LARGEST:
            raise LayoutError(
                f"layout {nested_text(shape)}:{nested_text(stride)} has {product(shape)} elements"
                f" and reaches {offset + span(shape, stride)} (accepted: up to 2**63 - 1)"
            )
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "stride", stride)
        object.__setattr__(self, "swizzle", swizzle)
        object.__setattr__(self, "offset", int(offset))

    @classmethod
    def parse(cls, text: str, shape: Shape | None = None) -> Layout:
        """Read the notation of CuTe, which `str` writes, or of Triton's shared memory.

        >>> Layout.parse("Sw<3,4,3> o 0 o (8,64):(64,1)")
        Layout((8, 64), (64, 1), swizzle=Swizzle(bits=3, base=4, shift=3))
        >>> str(Layout.parse("Sw<3,4,3>_smem_ptr[16b](0x7f0000000000) o (_128,_64):(_64,_1)"))
        'Sw<3,3,3> o 0 o (128,64):(64,1)'

        Before a pointer a swizzle acts on bytes. Some texts of Triton leave `shape` to the tensor.

        >>> swizzled = "#ttg.swizzled_shared<{vec=8, perPhase=1, maxPhase=8, order=[1, 0]}>"
        >>> str(Layout.parse(swizzled, shape="64x64"))
        'Sw<3,3,3> o 0 o (64,64):(64,1)'

        Raises LayoutError, with a caret under the fault where a text of CuTe is malformed.
        """
        if not isinstance(text, str):
            raise LayoutError(f"layout {short(text)} is not a text such as '(8,4):(4,1)'")
        read = read_triton(text, shape).notation() if is_triton(text) else read_layout(text)
        if len(read.swizzles) > 1:
            raise LayoutError(
                f"layout {short(text)} has {len(read.swizzles)} swizzles (accepted: one;"
                " Tile.parse takes several)"
            )
        swizzle = read.swizzles[0] if read.swizzles else None
        layout = cls(read.shape, read.stride, swizzle, read.offset)
        sizes = tuple(mode.size for mode in layout.plain.modes)
        if shape is not None and parse_shape(shape, "RCDEFGH"[: layout.rank], "shape") != sizes:
            raise LayoutError(f"layout {layout} has modes of {sizes}, not of shape {shape!r}")
        return layout

    @classmethod
    def of(cls, layout: Layout | str) -> Layout:
        """Take a layout as it is, or read its notation.

        Raises LayoutError for anything else.
        """
        if isinstance(layout, Layout):
            return layout
        if isinstance(layout, str):
            return cls.parse(layout)
        raise LayoutError(
            f"{short(layout)} is not a layout (accepted: a Layout, or text as '(8,4):(4,1)')"
        )

    @classmethod
    def row_major(cls, shape: Shape, ld: int | None = None) -> Layout:
        """Rows one after another; from row to row `ld` elements (default: no padding).

        >>> str(Layout.row_major("8x64", ld=68))
        '(8,64):(68,1)'
        """
        rows, cols = parse_shape(shape, "RC", "shape")
        return cls((rows, cols), (leading_dimension(ld, cols, "row"), 1))

    @classmethod
    def col_major(cls, shape: Shape, ld: int | None = None) -> Layout:
        """Columns one after another; from column to column `ld` elements.

        >>> str(Layout.col_major("8x64"))
        '(8,64):(1,8)'
        """
        rows, cols = parse_shape(shape, "RC", "shape")
        return cls((rows, cols), (1, leading_dimension(ld, rows, "column")))

    @classmethod
    def col_major_interleaved(cls, shape: Shape, interleave: int, ld: int | None = None) -> Layout:
        """CUTLASS's ColumnMajorInterleaved: strips of `interleave` columns, each row-major.

        `ld` elements from strip to strip (default rows·interleave). A last strip that is
        not full is kept whole: its padding belongs to the layout.

        >>> str(Layout.col_major_interleaved("2x3", 2))
        '(2,(2,2)):(2,(1,4))'

        Source: CUTLASS, include/cutlass/layout/matrix.h, `ColumnMajorInterleaved`.
        """
        rows, cols = parse_shape(shape, "RC", "shape")
        strips = -(-cols // interleaving(interleave))
        step = leading_dimension(ld, rows * interleave, "strip")
        return cls((rows, (interleave, strips)), (interleave, (1, step)))

    @classmethod
    def row_major_interleaved(cls, shape: Shape, interleave: int, ld: int | None = None) -> Layout:
        """CUTLASS's RowMajorInterleaved: strips of `interleave` rows, each column-major.

        >>> str(Layout.row_major_interleaved("4x3", 2))
        '((2,2),3):((1,6),2)'
        """
        rows, cols = parse_shape(shape, "RC", "shape")
        return cls.col_major_interleaved((cols, rows), interleave, ld).transposed

    @property
    def transposed(self) -> Layout:
        """The same memory with rows and columns exchanged.

        >>> Layout.row_major("8x64").transposed == Layout.col_major("64x8")
        True

        Raises LayoutError unless there are two modes.
        """
        if self.rank != 2:
            raise LayoutError(f"layout {self} has {self.rank} modes, not two to exchange")
        first, second = self.plain.modes
        return self.around(make_layout(second, first))

    def swizzled(self, swizzle: SwizzleLike) -> Layout:
        """Put a swizzle behind the layout.

        >>> str(Layout.row_major("8x64").swizzled("3,4,3"))
        'Sw<3,4,3> o 0 o (8,64):(64,1)'

        Raises LayoutError for a layout that has one already.
        """
        if self.swizzle is not None:
            raise LayoutError(f"layout {self} has a swizzle already (accepted: one)")
        return Layout(self.shape, self.stride, swizzle)

    @property
    def plain(self) -> Layout:
        """The layout without its swizzle and offset."""
        return Layout(self.shape, self.stride)

    def around(self, plain: Layout) -> Layout:
        """Put this layout's swizzle and offset behind another layout."""
        return Layout(plain.shape, plain.stride, self.swizzle, self.offset)

    @property
    def modes(self) -> tuple[Layout, ...]:
        """The modes at the top, each a layout of its own.

        Raises LayoutError for a swizzled layout: its offset is not a sum over modes.
        """
        if self.swizzle is not None:
            raise LayoutError(f"layout {self} is swizzled; its modes are those of .plain")
        if isinstance(self.shape, tuple) and isinstance(self.stride, tuple):
            return tuple(map(Layout, self.shape, self.stride))
        return (self,)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return product(self.shape)

    @property
    def cosize(self) -> int:
        """One more than the largest offset: the elements of memory that it needs.

        A swizzled layout is written out for it; LayoutError past MOST_LISTED elements.
        """
        if self.swizzle is not None:
            return max(self.offsets()) + 1
        return span(self.shape, self.stride)

    @property
    def rank(self) -> int:
        """Number of modes at the top."""
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    @property
    def depth(self) -> int:
        """Parentheses inside one another."""
        return depth(self.shape)

    @property
    def digits(self) -> tuple[tuple[int, int], ...]:
        """(shape, stride) of every innermost mode, from left to right.

        >>> Layout.parse("((2,4),8):((1,16),2)").digits
        ((2, 1), (4, 16), (8, 2))
        """
        return tuple(zip(flat(self.shape), flat(self.stride), strict=True))

    @overload
    def __call__(self, first: Coordinate, /, *rest: Coordinate) -> int: ...
    @overload
    def __call__(self, first: NDArray[Any], /, *rest: NDArray[Any]) -> NDArray[np.int64]: ...
    def __call__(self, *coordinate: Any) -> Any:
        """Offset of a coordinate: one integer, or one for each mode, or arrays of these.

        >>> Layout.row_major("8x64", ld=68)(np.arange(4), np.array([0, 1, 2, 3]))
        array([  0,  69, 138, 207])

        Raises LayoutError for a coordinate that does not fit the shape.
        """
        given = coordinate[0] if len(coordinate) == 1 else coordinate
        offset = self.offset + self._sum(given, self.shape, self.stride, given)
        return self.swizzle(offset) if self.swizzle else offset

    def _sum(self, coordinate: Any, shape: Nested, stride: Nested, given: object) -> Any:
        size = product(shape)
        if isinstance(coordinate, np.ndarray) and coordinate.dtype.kind in "iu":
            fits = not coordinate.size or (coordinate.min() >= 0 and coordinate.max() < size)
            coordinate = coordinate.astype(np.int64)
        elif isinstance(coordinate, tuple | list):
            fits = isinstance(shape, tuple) and len(coordinate) == len(shape)
            if fits and isinstance(shape, tuple) and isinstance(stride, tuple):
                parts = zip(coordinate, shape, stride, strict=True)
                return sum(self._sum(*part, given) for part in parts)
        else:
            fits = is_integer(coordinate) and 0 <= coordinate < size
            coordinate = int(coordinate) if fits else 0
        if not fits:
            raise LayoutError(
                f"coordinate {given!r} does not fit layout {self} (accepted: integers in"
                f" 0..{self.size - 1}, or coordinates in the shape {nested_text(self.shape)},"
                " each below its number)"
            )
        offset = 0
        for digits, step in zip(flat(shape), flat(stride), strict=True):
            coordinate, digit = divmod(coordinate, digits)
            offset += digit * step
        return offset

    def coordinate(self, index: int) -> Nested:
        """Write the `index`-th coordinate, counted from the left mode, in the layout's shape.

        >>> Layout((8, 4), (4, 1)).coordinate(26)
        (2, 3)
        """
        if not is_integer(index) or not 0 <= index < self.size:
            raise LayoutError(f"index {index!r} of layout {self} is not in 0..{self.size - 1}")

        def split(rest: int, shape: Nested) -> Nested:
            if not isinstance(shape, tuple):
                return rest
            parts = []
            for part in shape:
                rest, low = divmod(rest, product(part))
                parts.append(split(low, part))
            return tuple(parts)

        return split(int(index), self.shape)

    def check_listed(self) -> None:
        """Raise LayoutError past MOST_LISTED elements, which nothing goes through one by one."""
        if self.size > MOST_LISTED:
            raise LayoutError(
                f"layout {self} has {self.size} elements, too many to list"
                f" (accepted: up to {MOST_LISTED})"
            )

    def offsets(self) -> list[int]:
        """Offsets of all coordinates, counted from the left mode.

        >>> Layout((2, 3), (3, 1)).offsets()
        [0, 3, 1, 4, 2, 5]

        Raises LayoutError past MOST_LISTED elements.
        """
        self.check_listed()
        offsets = [self.offset]
        for digits, step in self.digits:
            offsets = [digit * step + low for digit in range(digits) for low in offsets]
        return [self.swizzle(offset) for offset in offsets] if self.swizzle else offsets

    def __getitem__(self, mode: int) -> Layout:
        return self.modes[mode]

    def __iter__(self) -> Iterator[Layout]:
        return iter(self.modes)

    def __str__(self) -> str:
        text = f"{nested_text(self.shape)}:{nested_text(self.stride)}"
        return f"{self.swizzle} o {self.offset} o {text}" if self.swizzle else text

    def __repr__(self) -> str:
        text = f"{self.shape!r}, {self.stride!r}"
        text += f", swizzle={self.swizzle!r}" if self.swizzle else ""
        text += f", offset={self.offset}" if self.offset else ""
        return f"Layout({text})"


def make_layout(*modes: Layout | str) -> Layout:
    """Put layouts side by side, each a mode of the result, as CuTe's `make_layout` does.

    >>> str(make_layout(Layout(4, 2), Layout((2, 3), (1, 8))))
    '(4,(2,3)):(2,(1,8))'

    Raises LayoutError for none, and for a swizzled one.
    """
    parts = [Layout.of(mode) for mode in modes]
    for part in parts:
        if part.swizzle is not None:
            raise LayoutError(f"layout {part} is swizzled and cannot be a mode (accepted: .plain)")
    return Layout(tuple(part.shape for part in parts), tuple(part.stride for part in parts))
