"""Kernel arguments as people type them: `random:f32[1024,1024]`, `A.npy`, `int=1024`, `null`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from layouts.errors import accepted
from simulator.errors import LaunchError, MissingPackageError, install

if TYPE_CHECKING:
    from simulator.sass.parameters import Pointer

__all__ = ["NAMED_FROM", "TYPES", "argument", "named_arrays"]

_SMALL_FLOATS = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
_NUMPY = {
    "u8": "uint8", "i8": "int8", "u16": "uint16", "i16": "int16", "u32": "uint32", "i32": "int32",
    "u64": "uint64", "i64": "int64", "f16": "float16", "f32": "float32", "f64": "float64",
    "bool": "bool", **_SMALL_FLOATS,
}  # fmt: skip
TYPES = tuple(_NUMPY)
"""Element types, by the names that messages list."""

# Where CUDA's compiler runs, char has a sign and long has 64 bits (the platform's LP64).
_C = {
    "char": "i8", "signed char": "i8", "unsigned char": "u8", "uchar": "u8",
    "short": "i16", "unsigned short": "u16", "ushort": "u16",
    "int": "i32", "unsigned": "u32", "unsigned int": "u32", "uint": "u32",
    "long": "i64", "unsigned long": "u64", "ulong": "u64", "size_t": "u64",
    "long long": "i64", "unsigned long long": "u64", "longlong": "i64", "ulonglong": "u64",
    "half": "f16", "__half": "f16", "float": "f32", "double": "f64",
    "__nv_bfloat16": "bf16", "__nv_fp8_e4m3": "f8e4m3", "__nv_fp8_e5m2": "f8e5m2",
    "int8_t": "i8", "int16_t": "i16", "int32_t": "i32", "int64_t": "i64",
    "uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64",
}  # fmt: skip
_OTHERS = {**_C, **{name: short for short, name in _NUMPY.items()}}
_FP8 = ("f8", "fp8", "float8")

_NULL = ("null", "nullptr", "NULL", "None")
_EXAMPLES = (
    "accepted: random:f32[1024,1024], zeros:…, ones:…, arange:…, FILE.npy, a scalar such as"
    " i32=1024, a structure such as {random:f32[64], i32=8}, null for a pointer, or a tensor map"
    " such as tma:random:f16[64,64]:box=64x64:swizzle=128"
)
# Bits of random floats, so few that every element type holds each value exactly.
_RANDOM_BITS = {"f16": 10, "bf16": 8, "f8e4m3": 4, "f8e5m2": 3}

_MOST_BYTES = 2 << 30
_DEEPEST = 16
NAMED_FROM = 2000
"""First position of arrays with names: no argument has the same random elements."""
_INTO = re.compile(r"([^\W\d]\w*)\+(\d{1,13})")


def argument(text: str, position: int = 0, arrays: Mapping[str, NDArray[Any]] | None = None) -> Any:
    """Return one argument: an array, a NumPy scalar, or None for a null pointer.

    Types are those of `TYPES`; C's names mean what they mean in C (int and float have 32 bits),
    and NumPy's full names (float32, int64, …) are accepted too. The types bf16, f8e4m3 and f8e5m2
    are those of the package ml_dtypes.

    Random elements come from a formula of their index and the argument's position, so that they
    are the same everywhere: floats in [-1, 1), bytes of all values, other integers below 1000
    (and all bits for u32 and u64).

    `arrays` are those that a name alone stands for; a+16 is what begins at element 16 of a. A
    tensor map begins with "tma:", then what stands for its array, then its options:
    tma:a:box=128x64:swizzle=128, and fill=nan, strides=1x2, interleave=16, element=tfloat32.

    A structure is its members in braces, an empty one is {}; an array of pointers is what they
    point to in brackets, [random:f32[64], null], a list:

    >>> argument("{zeros:f32[4], i32=7, {f32=1, f32=2}}")
    (array([0., 0., 0., 0.], dtype=float32), np.int32(7), (np.float32(1.0), np.float32(2.0)))

    >>> argument("zeros:f32[2,3]").shape, argument("int=-7")
    ((2, 3), np.int32(-7))
    >>> argument("random:float[2]", position=1).tolist()
    [0.2930945158004761, 0.8076039552688599]

    Raises LaunchError for text that is none of these, and for arrays over 2 GiB;
    MissingPackageError for a type of ml_dtypes without that package.
    """
    text = text.strip()
    if text in _NULL:
        return None
    if text.startswith("{"):
        return _members(text, "}", position, arrays)
    if text.startswith("["):
        return list(_members(text, "]", position, arrays))
    if arrays and text in arrays:
        return arrays[text]
    if arrays and (found := _INTO.fullmatch(text)) and found[1] in arrays:
        return _part(arrays[found[1]], int(found[2]), text)
    if text.startswith("tma:"):
        from simulator.sass.map_text import tensor_map

        return tensor_map(text, lambda name: argument(name, position, arrays))
    if found := re.fullmatch(r"(random|zeros|ones|arange):([\w ]+)\[([^][]*)\]", text):
        name = _type_name(found[2], text)
        return _array(found[1], name, _shape(found[3], text), position, text)
    if found := re.fullmatch(r"([\w ]+)=(.+)", text):
        return _scalar(_dtype(_type_name(found[1], text)), found[2], text)
    if text.endswith(".npy"):
        return _file(text)
    named = f"; named arrays: {', '.join(arrays)}" if arrays else ""
    raise LaunchError(f"argument {text!r} is not known ({_EXAMPLES}{named})")


def named_arrays(texts: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return what names stand for in `argument`, of names and texts.

    >>> a = named_arrays([("a", "zeros:f32[4]")])
    >>> argument("a", 0, a) is argument("a", 1, a), argument("a+3", 2, a).offset
    (True, 12)
    """
    return {name: argument(text, NAMED_FROM + i) for i, (name, text) in enumerate(texts)}


def _part(array: NDArray[Any], first: int, text: str) -> Pointer | NDArray[Any]:
    """Return a pointer to element `first`, at most to the end; all of the array is in memory."""
    from simulator.sass.parameters import Pointer

    if first > array.size:
        raise LaunchError(
            f"argument {text!r} begins past the array (accepted: up to +{array.size})"
        )
    return Pointer(array, first * array.itemsize) if first else array


def _members(
    text: str, end: str, position: int, arrays: Mapping[str, NDArray[Any]] | None
) -> tuple[Any, ...]:
    """Read the members of a structure, or of an array of pointers; one may be a structure."""
    if not text.endswith(end):
        raise LaunchError(
            f"argument {text!r}: a closing brace is missing (accepted: {text[0]}MEMBER, MEMBER,"
            f" …{end})"
        )
    members: list[str] = [""]
    depth = 0
    for character in text[1:-1]:
        depth += (character in "{[") - (character in "}]")
        if depth < 0 or depth > _DEEPEST:
            raise LaunchError(f"argument {text!r}: braces do not match, or nest too deep")
        if character == "," and depth == 0:
            members.append("")
        else:
            members[-1] += character
    if members == [""] or not "".join(members).strip():
        return ()
    return tuple(argument(each, position + 97 * i, arrays) for i, each in enumerate(members))


def _type_name(given: str, text: str) -> str:
    """Return the name of `TYPES` for any name of a type."""
    name = _OTHERS.get(" ".join(given.split()), given)
    if name in TYPES:
        return name
    advice = "accepted: f8e4m3, f8e5m2" if name in _FP8 else accepted(name, TYPES)
    raise LaunchError(f"argument {text!r}: unknown type {given!r}: {advice}")


def _dtype(name: str) -> np.dtype[Any]:
    if name not in _SMALL_FLOATS:
        return np.dtype(_NUMPY[name])
    try:
        import ml_dtypes
    except ImportError as error:
        raise MissingPackageError(
            f"{name} needs ml_dtypes, which is not installed ({install('sass')})"
        ) from error
    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _SMALL_FLOATS[name]))
    return dtype


def _shape(text: str, whole: str) -> tuple[int, ...]:
    if odd := re.search(r"[^\d,\s]+", text):
        raise LaunchError(
            f"argument {whole!r}: {odd[0]!r} in the shape [{text}] (accepted: positive integers,"
            " numbers of elements)"
        )
    sizes = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 0 < int(part) < 2**40 for part in sizes if len(part) < 14):
        raise LaunchError(f"argument {whole!r}: shape [{text}] (accepted: positive integers)")
    if any(len(part) >= 14 for part in sizes):
        raise LaunchError(f"argument {whole!r} is too large (accepted: up to {_MOST_BYTES} bytes)")
    return tuple(map(int, sizes))


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind not in "iub"  # NumPy calls some types of ml_dtypes "void"


def _array(how: str, name: str, shape: tuple[int, ...], position: int, text: str) -> NDArray[Any]:
    dtype = _dtype(name)
    count = 1
    for size in shape:
        count *= size
    if count * dtype.itemsize > _MOST_BYTES:
        raise LaunchError(
            f"argument {text!r} takes {count * dtype.itemsize} bytes (accepted: up to"
            f" {_MOST_BYTES})"
        )
    if how == "zeros":
        return np.zeros(shape, dtype)
    if how == "ones":
        return np.ones(shape, dtype)
    if how == "arange":
        with np.errstate(over="ignore"):  # infinite beyond the largest float16
            return np.arange(count).astype(dtype).reshape(shape)
    bits = (np.arange(1, count + 1, dtype=np.uint64) * 2654435761 + position * 40503) & 0xFFFFFFFF
    bits ^= bits >> 15
    bits = bits * 2246822519 & 0xFFFFFFFF
    bits ^= bits >> 13
    values: NDArray[Any]
    if _is_float(dtype):
        kept = _RANDOM_BITS.get(name, 24)
        values = (bits >> (32 - kept)) / 2 ** (kept - 1) - 1
    elif dtype.kind == "b":
        values = bits >> 31
    elif dtype.itemsize == 1 or dtype in (np.uint32, np.uint64):
        values = bits
    else:
        values = bits % 1000
    return values.astype(dtype).reshape(shape)


def _scalar(dtype: np.dtype[Any], text: str, whole: str) -> Any:
    try:
        if _is_float(dtype):
            return _float(dtype, float(text), whole)
        if dtype.kind == "b":
            value, least, most = int({"false": "0", "true": "1"}.get(text, text), 0), 0, 1
        else:
            value = int(text, 0)
            least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    except (ValueError, OverflowError) as error:
        if isinstance(error, LaunchError):
            raise
        raise LaunchError(f"argument {whole!r}: {text!r} is not a value of type {dtype}") from None
    if not least <= value <= most:
        raise LaunchError(f"argument {whole!r} is out of range (accepted: {least} to {most})")
    return dtype.type(value)


def _float(dtype: np.dtype[Any], value: float, whole: str) -> Any:
    with np.errstate(over="ignore"):
        rounded = dtype.type(value)
    if np.isfinite(value) and not np.isfinite(rounded):
        most = _largest(dtype)
        raise LaunchError(f"argument {whole!r} is out of range (accepted: {-most:g} to {most:g})")
    return rounded


def _largest(dtype: np.dtype[Any]) -> float:
    if dtype.isbuiltin == 1:
        return float(np.finfo(dtype).max)
    from ml_dtypes import finfo

    return float(finfo(dtype).max)  # type: ignore[no-untyped-call]


def _file(path: str) -> NDArray[Any]:
    try:
        found = np.load(Path(path), allow_pickle=False, mmap_mode="r")
        if found.nbytes > _MOST_BYTES:
            raise LaunchError(f"{path} has {found.nbytes} bytes (accepted: up to {_MOST_BYTES})")
        return np.array(found)
    except (OSError, ValueError, EOFError) as error:
        if isinstance(error, LaunchError):
            raise
        why = getattr(error, "strerror", None) or error
        raise LaunchError(f"{path} cannot be read: {why}") from error
