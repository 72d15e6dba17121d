"""Whether arguments have the types of a kernel's parameters, where a symbol or source tells those.

Bytes of the right number that mean something else would be read bit by bit. What points to bytes
(char, void), to a structure or to wide words that are copied (uint4) takes any array. An array that
several arguments share has no type of its own.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from simulator.errors import LaunchError
from simulator.sass.code.demangling import demangled, parameter_types
from simulator.sass.code.hostvalues import plain_type
from simulator.sass.code.records import BYTES, short_type
from simulator.sass.code.signatures import signatures
from simulator.sass.code.source import Source

__all__ = ["check_types", "declared_types", "fits"]

_BYTES = ("char", "signed char", "unsigned char", "void")
_NAMES = {"i": "int", "u": "uint", "f": "float"}
_OF_ML_DTYPES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}


@runtime_checkable
class _Pointing(Protocol):
    """An argument that points into an array."""

    array: NDArray[Any]
    offset: int


def declared_types(text: str, kernel: str) -> tuple[str, ...]:
    """Return the types of a kernel's parameters by its source.

    Nothing where that does not tell them: it may declare the kernel in several ways.
    """
    heads = rf"__global__[^;{{}}]*?\b{re.escape(kernel)}\s*\("
    if len(re.findall(heads, text)) != 1:
        return ()
    listed = {
        tuple(kind for kind, _ in each.parameters)
        for each in signatures(Source(text)).get(kernel, ())
    }
    return listed.pop() if len(listed) == 1 else ()


def check_types(arguments: Sequence[Any], kernel: str, types: Sequence[str] = ()) -> None:
    """Compare arguments with the types of a kernel's parameters: those given, or by its symbol.

    >>> check_types([np.zeros(4, np.float32), np.int32(4)], "_Z1kPfi")
    >>> check_types([np.zeros(4, np.float32), np.float32(4)], "_Z1kPfi")
    Traceback (most recent call last):
    simulator.errors.LaunchError: argument 1 is float32 4.0 for the parameter int of k, counted \
from 0 (accepted: i32=4, numpy.int32(4))

    Raises LaunchError for an argument of another type.
    """
    types = types or parameter_types(kernel)
    if len(types) != len(arguments):
        return
    shared = Counter(id(array) for array in _arrays(arguments))
    for index, (value, declared) in enumerate(zip(arguments, types, strict=True)):
        array = _array(value)
        dtype = _dtype(value) if array is None else array.dtype
        wanted = _wanted(declared, is_array=array is not None)
        if wanted is None or dtype is None or fits(dtype, wanted, is_scalar=array is None):
            continue
        if array is None:
            said = f"{dtype} {value}"
        elif shared[id(array)] > 1:
            continue
        else:
            said = f"an array of {dtype}"
        raise LaunchError(
            f"argument {index} is {said} for the parameter {declared} of {demangled(kernel)},"
            f" counted from 0 (accepted: {_accepted(wanted, value if array is None else None)})"
        )


def _wanted(declared: str, *, is_array: bool) -> str | None:
    """Return the element type that a parameter takes; None: any, or it is not known.

    >>> _wanted("float4 const*", is_array=True), _wanted("unsigned int", is_array=False)
    ('f32', 'u32')
    """
    kind = plain_type(declared)
    element = kind.removesuffix("*")
    if is_array != (element != kind) or "*" in element or "::" in element:
        return None
    found = None if is_array and element in _BYTES else short_type(element, {})
    if found is None or (found[1] > 1 and (not is_array or found[0][0] in "iu")):
        return None
    return found[0]


def fits(dtype: np.dtype[Any], wanted: str, *, is_scalar: bool = False) -> bool:
    """Whether a number's type fits an element type; of a scalar's the bytes are compared later."""
    if dtype.kind == "c":  # two floats
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
    if dtype.itemsize != BYTES[wanted]:
        return is_scalar
    if wanted in _OF_ML_DTYPES:  # NumPy has none of these, so bits are given for them
        return dtype.kind in "iu" or dtype.name == _OF_ML_DTYPES[wanted]
    if wanted[0] == "f":
        return dtype.name == f"float{dtype.itemsize * 8}"
    return dtype.kind in "iub"


def _accepted(wanted: str, scalar: Any) -> str:
    """Return what to give instead."""
    bits = 8 * BYTES[wanted]
    name = f"{_NAMES[wanted[0]]}{bits}" if wanted not in _OF_ML_DTYPES else ""
    if scalar is not None:
        number = _number(getattr(scalar, "value", scalar), wanted)
        return f"{wanted}={number}" + (f", numpy.{name}({number})" if name else "")
    name = name or f"uint{bits}"
    return (
        f"random:{wanted}[…], or a file of {name}; array.astype(numpy.{name}) keeps the numbers,"
        f" array.view(numpy.{name}) the bits"
    )


def _number(given: Any, wanted: str) -> str:
    """Return a number as another type has it; dots where that cannot hold it."""
    if wanted[0] not in "iu":
        return str(float(given))
    return str(int(given)) if np.isfinite(given) and (wanted[0] == "i" or given >= 0) else "…"


def _array(value: Any) -> NDArray[Any] | None:
    """Return the array that an argument is or points into; None: it is another value."""
    if isinstance(value, np.ndarray):
        return value
    return value.array if isinstance(value, _Pointing) else None


def _arrays(values: Any) -> Iterator[NDArray[Any]]:
    """Yield all arrays of arguments, those inside structures too."""
    for value in values:
        if isinstance(value, tuple | list | dict):
            yield from _arrays(value.values() if isinstance(value, dict) else value)
        elif (array := _array(value)) is not None:
            yield array


def _dtype(value: Any) -> np.dtype[Any] | None:
    """Return the type of a number; None: it is something else."""
    if isinstance(value, ctypes._SimpleCData):
        return np.dtype(type(value))
    is_number = isinstance(value, np.generic) and value.dtype.kind in "iubf"
    return value.dtype if is_number else None
