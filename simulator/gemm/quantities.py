"""What an estimate takes: sizes, rates and shares, each checked where its parameter says so.

    @checked
    def gemm_flops(m: Size, n: Size, k: Size, epilogue: SizeOrZero = 0) -> int: ...

An annotation of this module is `int` or `float` to a type checker, and to `checked` the range
that the argument has to lie in.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from numbers import Real
from typing import Annotated, ParamSpec, TypeVar, get_type_hints

from layouts.shapes import is_integer
from simulator.errors import QuantityError

__all__ = [
    "Quantity",
    "Share",
    "Size",
    "SizeOrZero",
    "ceil_div",
    "checked",
    "exact_div",
    "size",
]

_CEILING = 2**63  # no size, rate or time of a GPU reaches it, and no product here overflows below

_P = ParamSpec("_P")
_R = TypeVar("_R")


def size(name: str, value: int, least: int = 1) -> int:
    """Return an integer of any kind as a Python one, which cannot overflow.

    Raises QuantityError, naming `name`, for anything else, and for one below `least`.
    """
    if not is_integer(value) or not least <= value < _CEILING:
        raise QuantityError(
            f"{name} {_shown(value)} is not a size (accepted: an integer from {least} to 2**63 - 1)"
        )
    return int(value)


def _quantity(name: str, value: float) -> float:
    if not _is_real(value) or not 1 / _CEILING <= value < _CEILING:
        raise QuantityError(
            f"{name} {_shown(value)} is not a positive quantity"
            " (accepted: a finite number from 2**-63 to 2**63)"
        )
    return float(value)


def _share(name: str, value: float) -> float:
    if not _is_real(value) or not 0 <= value <= 1:
        raise QuantityError(
            f"{name} {_shown(value)} is not a share (accepted: a number from 0 to 1)"
        )
    return float(value)


Size = Annotated[int, size]
"""An integer from 1."""

SizeOrZero = Annotated[int, partial(size, least=0)]
"""An integer from 0."""

Quantity = Annotated[float, _quantity]
"""A finite number above 0: an amount, a rate, a time."""

Share = Annotated[float, _share]
"""A number from 0 to 1."""


def checked(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return `function` with its arguments checked, and made plain, by their annotations.

    A call raises QuantityError, naming the parameter, for an argument out of range.
    """
    hints = get_type_hints(function, include_extras=True)
    checks = {
        name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")
    }
    signature = inspect.signature(function)

    @wraps(function)
    def wrapped(*args: _P.args, **named: _P.kwargs) -> _R:
        given = signature.bind(*args, **named)
        for name, value in given.arguments.items():
            if name in checks:
                given.arguments[name] = checks[name](name, value)
        return function(*given.args, **given.kwargs)

    return wrapped


def ceil_div(amount: int, part: int) -> int:
    """Count the parts that hold an amount, the last one perhaps not full.

    >>> ceil_div(1000, 64)
    16
    """
    return -(-amount // part)


def exact_div(what: str, amount: int, part: int) -> int:
    """Count the parts that make up an amount.

    >>> exact_div("m by m_tile", 1024, 64)
    16

    Raises QuantityError, naming `what`, unless they do so without a rest.
    """
    if amount % part:
        raise QuantityError(
            f"{what}: {amount} is not a multiple of {part}"
            f" (accepted: multiples, such as {ceil_div(amount, part) * part})"
        )
    return amount // part


def _shown(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # integers of thousands of digits have no repr
        return f"({type(value).__name__} of thousands of digits)"


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
