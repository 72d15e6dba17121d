"""CuTe's layout algebra: coalesce, compose, complement, invert, divide, multiply.

A layout is a function of one integer, so two layouts compose: (A ∘ B)(i) = A(B(i)).
Read B as "which elements, in which order" and A as "where they lie". Everything else
is built from that:

    complement   B*      the layout of the places that B leaves free
    divide       A ⊘ B = A ∘ (B, B*)         tiles of B's elements, and the tiles
    product      A ⊗ B = (A, A* ∘ B)         copies of A, arranged as B says

A composition need not be a layout. Each mode of B must step evenly through A's modes (CuTe's two
divisibility conditions). B's modes together must not carry from one mode of A into the next, which
CuTe does not check: it returns the sum of the parts then. Here either R(i) = A(B(i)) holds for all
i, or LayoutError is raised. As in CuTe, A's last mode counts on past its end, so a tile that does
not divide A sticks out of it; mask what sticks out.

A layout may be given as text, "(8,4):(4,1)".

Swizzled layouts: only the plain part of A takes part, the swizzle stays outside.
Source: CUTLASS, media/docs/cpp/cute/02_layout_algebra.md
(https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/cute/02_layout_algebra.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from layouts.errors import LayoutError
from layouts.layout import Layout, make_layout
from layouts.nested import Nested
from layouts.shapes import is_integer
from layouts.swizzle import Swizzle

__all__ = [
    "Tiler",
    "coalesce",
    "complement",
    "composition",
    "is_injective",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "right_inverse",
    "tiled_divide",
    "zipped_divide",
]

Tiler: TypeAlias = "Layout | str | int | tuple[Tiler, ...] | None"
"""A layout, as text too; n for n:1; None to leave a mode alone; or a tuple, one for each mode."""


def coalesce(layout: Layout | str) -> Layout:
    """Return the same function of one integer with as few modes as possible.

    >>> str(coalesce(Layout((2, (1, 6)), (1, (6, 2)))))
    '12:1'
    """
    layout = Layout.of(layout)
    modes: list[tuple[int, int]] = []
    for digits, step in layout.digits:
        if digits == 1:
            continue
        if modes and modes[-1][0] * modes[-1][1] == step:
            modes[-1] = (modes[-1][0] * digits, modes[-1][1])
        else:
            modes.append((digits, step))
    return layout.around(_from_modes(modes))


def is_injective(layout: Layout | str) -> bool:
    """Whether no two coordinates have one offset.

    >>> is_injective("(8,4):(4,1)"), is_injective("(4,2):(1,2)"), is_injective("(4,2):(1,0)")
    (True, False, False)

    Raises LayoutError for interleaved modes of more elements than can be listed.
    """
    plain = Layout.of(layout).plain  # a swizzle is a bijection
    reach = 0
    for step, digits in sorted((step, digits) for digits, step in plain.digits if digits > 1):
        if step == 0:
            return False
        if step <= reach:  # it interleaves with the modes before, which may still be apart
            plain.check_listed()
            return _all_differ(plain)
        reach += step * (digits - 1)
    return True


def _all_differ(layout: Layout) -> bool:
    """Whether all offsets of a plain layout differ: of arrays, since there may be millions."""
    last = sum(step * (digits - 1) for digits, step in layout.digits)
    if last < layout.size - 1:  # fewer places than elements
        return False
    offsets = np.zeros(1, np.int64)
    for digits, step in layout.digits:
        offsets = np.add.outer(np.arange(digits) * step, offsets).ravel()
    if last <= 16 * layout.size:
        taken = np.zeros(last + 1, bool)
        taken[offsets] = True
        return int(np.count_nonzero(taken)) == layout.size
    offsets.sort()
    return bool((offsets[1:] != offsets[:-1]).all())


def composition(a: Layout | str | Swizzle, b: Tiler) -> Layout:
    """Return R with R(i) = a(b(i)), and b's shape; a tuple b composes mode by mode.

    >>> str(composition(Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))))
    '((2,2),3):((24,2),8)'
    >>> str(composition(Swizzle(3, 4, 3), Layout((8, 64), (64, 1))))
    'Sw<3,4,3> o 0 o (8,64):(64,1)'

    Raises LayoutError where a(b(i)) is not a layout, where b is swizzled, and for a
    tuple longer than a's rank.
    """
    if isinstance(a, Swizzle):
        return _one_tiler(b).swizzled(a)
    return _inside_swizzle(partial(_by_mode, _composition), a, b)


def _composition(a: Layout, right: Layout) -> Layout:
    modes = coalesce(a).digits
    reached = [0] * len(modes)  # the largest digit that b makes of each mode of a

    def through(shape: Nested, stride: Nested) -> tuple[Nested, Nested]:
        if isinstance(shape, tuple) and isinstance(stride, tuple):
            parts = [through(*part) for part in zip(shape, stride, strict=True)]
            return tuple(part[0] for part in parts), tuple(part[1] for part in parts)
        taken = _take(modes, shape, stride, reached)  # type: ignore[arg-type]  # integers
        if taken is None:
            raise LayoutError(
                f"{a} composed with {right} is not a layout: {shape}:{stride} does not step"
                f" evenly through {coalesce(a)} (accepted: steps and counts that divide the"
                " shapes that they cross)"
            )
        result = _from_modes(taken)
        return result.shape, result.stride

    result = Layout(*through(right.shape, right.stride))
    # If digits of two modes of b add up past the end of a mode of a, a carries and b's modes
    # no longer act independently: the sum of the parts is then not a(b(i)).
    for (digits, step), top in zip(modes[:-1], reached, strict=False):
        if top >= digits:
            raise LayoutError(
                f"{a} composed with {right} is not a layout: modes of {right} together step"
                f" past the end of {digits}:{step} (accepted: modes that do not overlap)"
            )
    return result


def _take(
    modes: tuple[tuple[int, int], ...], count: int, step: int, reached: list[int]
) -> list[tuple[int, int]] | None:
    """Return the modes of every `step`-th element of `modes`, `count` of them, or None."""
    if count == 1 or step == 0:
        return [(count, 0)]
    taken = []
    for mode, (digits, stride) in enumerate(modes):
        if mode == len(modes) - 1 or (count - 1) * step < digits:
            part = count
        elif step % digits == 0:
            step //= digits
            continue
        elif digits % step == 0 and count % (digits // step) == 0:
            part = digits // step
        else:
            return None
        reached[mode] += (part - 1) * step
        taken.append((part, step * stride))
        count //= part
        if count == 1:
            break
        step = 1
    return taken


def complement(layout: Layout | str, cotarget: int = 1) -> Layout:
    """Return a layout of places that `layout` leaves free, up to `cotarget`, in order.

    With the layout's own places they make up every place below, as long as each stride is a
    multiple of the modes below it; else some free places are in neither, as in CuTe.

    >>> str(complement(Layout(4, 2), 24))
    '(2,3):(1,8)'

    Raises LayoutError for a layout whose modes overlap or interleave, for a swizzled
    one, and for a cotarget that is not a positive integer.
    """
    if not is_integer(cotarget) or cotarget < 1:
        raise LayoutError(f"cotarget {cotarget!r} of a complement is not a positive integer")
    free, filled = [], 1
    for step, digits, _ in _ascending(Layout.of(layout), "complement"):
        if step:
            free.append((step // filled, filled))
            filled = digits * step
    free.append((-(-cotarget // filled), filled))
    return coalesce(_from_modes(free))


def right_inverse(layout: Layout | str) -> Layout:
    """Return R with layout(R(i)) = i, as long as the strides join up without a gap.

    >>> str(right_inverse(Layout((8, 4), (4, 1))))
    '(4,8):(8,1)'
    >>> right_inverse(Layout(4, 2))
    Layout(1, 0)

    Raises LayoutError for a swizzled layout.
    """
    modes, reached = [], 1
    for step, digits, place in sorted(_placed(Layout.of(layout), "right inverse")):
        if step == reached:
            modes.append((digits, place))
            reached = digits * step
        elif step:
            break
    return coalesce(_from_modes(modes))


def left_inverse(layout: Layout | str) -> Layout:
    """Return L with L(layout(i)) = i: which coordinate an offset belongs to.

    An offset that the layout leaves free gives a number past its size, or another's.

    >>> str(left_inverse(Layout.row_major("8x64", ld=68)))
    '(68,8):(8,1)'

    Raises LayoutError for a layout whose modes overlap or interleave, for strides of
    which one does not divide the next, and for a swizzled layout.
    """
    layout = Layout.of(layout)
    modes: list[tuple[int, int]] = []
    filled, before, spare = 1, 0, layout.size
    for step, digits, place in _ascending(layout, "left inverse"):
        if not step:
            raise LayoutError(f"layout {layout} has no left inverse: a stride of 0 repeats offsets")
        gap, rest = divmod(step, filled)
        if rest == 0 and gap > 1:
            modes.append((gap, spare))
            spare *= gap
        elif rest and before and step % before == 0:
            modes[-1] = (step // before, modes[-1][1])  # run over the padding
        elif rest:
            raise LayoutError(
                f"the left inverse of {layout} is not a layout: stride {step} is not a multiple of"
                f" {before or filled} (accepted: strides each of which divides the next)"
            )
        modes.append((digits, place))
        filled, before = digits * step, step
    return coalesce(_from_modes(modes))


def logical_divide(a: Layout | str, b: Tiler) -> Layout:
    """Split `a` into (tile, tiles): first b's elements, then where the tiles start.

    >>> str(logical_divide(Layout((4, 2, 3), (2, 1, 8)), Layout(4, 2)))
    '((2,2),(2,3)):((4,1),(2,8))'

    Raises LayoutError where the composition or the complement does.
    """
    return _inside_swizzle(partial(_by_mode, _logical_divide), a, b)


def _logical_divide(a: Layout, tile: Layout) -> Layout:
    return composition(a, make_layout(tile, complement(tile, a.size)))


def logical_product(a: Layout | str, b: Tiler) -> Layout:
    """Repeat `a` as `b` says: (a, copies).

    >>> str(logical_product(Layout((2, 2), (4, 1)), 6))
    '((2,2),(2,3)):((4,1),(2,8))'

    Raises LayoutError where the composition or the complement does.
    """
    return _inside_swizzle(partial(_by_mode, _logical_product), a, b)


def _logical_product(a: Layout, copies: Layout) -> Layout:
    return make_layout(a, composition(complement(a, a.size * copies.cosize), copies))


def zipped_divide(a: Layout | str, b: Tiler) -> Layout:
    """Divide, then gather: ((tile of each mode), (tiles of each mode)).

    >>> str(zipped_divide(Layout.row_major("8x64"), (2, 16)))
    '((2,16),(4,4)):((64,1),(128,16))'
    """
    return _inside_swizzle(_zipped_divide, a, b)


def _zipped_divide(a: Layout, b: Tiler) -> Layout:
    if b is None:
        return make_layout(Layout(1, 0), a)
    if not isinstance(b, tuple):
        return logical_divide(a, b)
    _check_rank(a, b)
    pairs = [_zipped_divide(mode, tiler).modes for mode, tiler in zip(a, b, strict=False)]
    tiles = [*(pair[1] for pair in pairs), *a.modes[len(b) :]]
    return make_layout(make_layout(*(pair[0] for pair in pairs)), make_layout(*tiles))


def tiled_divide(a: Layout | str, b: Tiler) -> Layout:
    """Divide, then gather the tile only: ((tile of each mode), tiles, tiles, ...).

    >>> str(tiled_divide(Layout.row_major("8x64"), (2, 16)))
    '((2,16),4,4):((64,1),128,16)'
    """
    return _inside_swizzle(_tiled_divide, a, b)


def _tiled_divide(a: Layout, b: Tiler) -> Layout:
    tile, tiles = _zipped_divide(a, b).modes
    return make_layout(tile, *tiles)


def _from_modes(modes: list[tuple[int, int]]) -> Layout:
    if len(modes) < 2:
        return Layout(*modes[0]) if modes else Layout(1, 0)
    return Layout(tuple(mode[0] for mode in modes), tuple(mode[1] for mode in modes))


def _placed(layout: Layout, what: str) -> list[tuple[int, int, int]]:
    """(stride, shape, its place in the index) of every mode that is longer than 1."""
    if layout.swizzle is not None:
        raise LayoutError(
            f"layout {layout} is swizzled and has no {what} that is a layout"
            " (accepted: .plain; LinearMap inverts a power-of-two layout with its swizzle)"
        )
    placed, place = [], 1
    for digits, step in layout.digits:
        if digits > 1:
            placed.append((step, digits, place))
        place *= digits
    return placed


def _ascending(layout: Layout, what: str) -> list[tuple[int, int, int]]:
    """Modes by stride, each beginning past the end of the one before."""
    ascending = sorted(_placed(layout, what))
    filled = 1
    for step, digits, _ in ascending:
        if 0 < step < filled:
            raise LayoutError(
                f"layout {layout} has no {what}: its modes overlap or interleave, {digits}:{step}"
                f" starts inside the {filled} elements before it"
            )
        filled = max(filled, digits * step)
    return ascending


def _one_tiler(tiler: Tiler) -> Layout:
    if isinstance(tiler, Layout | str):
        return Layout.of(tiler)
    if tiler is None or isinstance(tiler, tuple) or not is_integer(tiler):
        raise LayoutError(f"{tiler!r} is not a layout and not a positive integer")
    return Layout(tiler)


def _plain_tiler(tiler: Tiler) -> Layout:
    layout = _one_tiler(tiler)
    if layout.swizzle is not None:
        raise LayoutError(
            f"layout {layout} is swizzled and cannot be a tiler (accepted: without its"
            " swizzle, or as A)"
        )
    return layout


def _check_rank(a: Layout, tilers: tuple[Tiler, ...]) -> None:
    if not 0 < len(tilers) <= a.rank:
        raise LayoutError(
            f"{len(tilers)} tilers do not fit layout {a} (accepted: 1 to {a.rank}, one per mode)"
        )


def _inside_swizzle(
    operation: Callable[[Layout, Tiler], Layout], a: Layout | str, b: Tiler
) -> Layout:
    """Return what the operation makes of a's plain layout, behind a's swizzle."""
    a = Layout.of(a)
    return a.around(operation(a.plain, b))


def _by_mode(operation: Callable[[Layout, Layout], Layout], a: Layout, b: Tiler) -> Layout:
    """Return the operation's result, mode by mode where `b` is a tuple; `a` itself for None."""
    if isinstance(b, tuple):
        _check_rank(a, b)
        done = [_by_mode(operation, mode, tiler) for mode, tiler in zip(a, b, strict=False)]
        return make_layout(*done, *a.modes[len(b) :])
    return a if b is None else operation(a, _plain_tiler(b))
