"""Names of kernels as people write them, from the symbols of a cubin."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["demangled", "has_more", "parameter_types", "same_name"]

_LONGEST = 4096


@lru_cache(maxsize=4096)
def demangled(symbol: str) -> str:
    """Return a symbol's name with namespaces and template arguments, without parameters.

    >>> demangled("_ZN2my5sgemmILi128EfLb1EEEvPKfS2_Pfiii")
    'my::sgemm<128, float, true>'
    >>> demangled("softmax")
    'softmax'

    A symbol that cannot be read is given as it is.
    """
    read = _read(symbol)
    return symbol if read is None else _tidy(read[0])


def parameter_types(symbol: str) -> tuple[str, ...]:
    """Return the types of a kernel's parameters, as far as its symbol has them.

    >>> parameter_types("_Z7pairsumPKfPfi"), parameter_types("softmax")
    (('float const*', 'float*', 'int'), ())
    """
    read = _read(symbol)
    return () if read is None else tuple(map(_tidy, read[1]))


def _read(symbol: str) -> tuple[str, list[str]] | None:
    """Read a symbol's name and its parameters' types; None where it cannot be read."""
    if not symbol.startswith("_Z") or len(symbol) > _LONGEST:
        return None
    try:
        import itanium_demangler

        node = itanium_demangler.parse(symbol)
        if node is None:
            return None
        types = [str(each) for each in getattr(node, "arg_tys", None) or ()]
        return str(getattr(node, "name", None) or node), types
    except (ImportError, NotImplementedError, RecursionError, ValueError, TypeError,
            AttributeError, IndexError, KeyError):  # fmt: skip
        return None


def _tidy(name: str) -> str:
    name = re.sub(r"\(bool\)(\d)", lambda found: "true" if found[1] == "1" else "false", name)
    name = re.sub(r"\((?:unsigned |signed )?(?:int|long|char|short|long long)\)(?=-?\d)", "", name)
    return name.replace("(anonymous namespace)::", "").replace("> >", ">>")


def same_name(one: str, other: str) -> bool:
    """Whether two names mean one kernel: spaces, casts, suffixes of numbers, names of types apart.

    >>> same_name("tk<float,4u>", "tk<float, 4>"), same_name("tk<float>", "tk<double>")
    (True, False)
    >>> same_name("tk<half2, uint32_t>", "tk<__half2, unsigned int>")
    True
    """
    return _plain(one) == _plain(other)


_TYPES = {
    "half": "__half", "half2": "__half2", "nv_bfloat16": "__nv_bfloat16",
    "nv_bfloat162": "__nv_bfloat162", "unsigned": "unsigned int", "uint": "unsigned int",
    "signed": "int", "int8_t": "signed char", "uint8_t": "unsigned char", "uchar": "unsigned char",
    "int16_t": "short", "uint16_t": "unsigned short", "ushort": "unsigned short", "int32_t": "int",
    "uint32_t": "unsigned int", "int64_t": "long", "uint64_t": "unsigned long",
    "size_t": "unsigned long", "ptrdiff_t": "long",
}  # fmt: skip
"""Other names of types, on 64-bit Linux, with what a symbol has for them."""
_TYPE = re.compile(r"(?<![\w:])(?:std::)?([a-z]\w*)(?!\w)(?!\s+(?:int|char|short|long)\b)(?!::)")


def has_more(full: str, name: str) -> bool:
    """Whether a kernel's name has the template arguments of another, and defaults behind them.

    >>> has_more("tk<__half, 4, false>", "tk<half, 4>"), has_more("tk<float, 4>", "tk<float, 4>")
    (True, False)
    """
    return name.rstrip().endswith(">") and _plain(full).startswith(f"{_plain(name)[:-1]},")


def _plain(name: str) -> str:
    head, bracket, rest = name.partition("<")
    name = head + bracket + _TYPE.sub(lambda word: _TYPES.get(word[1], word[1]), rest)
    name = re.sub(r"\s+", "", _tidy(name.removeprefix("::")))
    return re.sub(r"(?<=\d)(?:[uU]?[lL]{0,2}|[lL]{1,2}[uU]?)(?=[,>])", "", name)
