"""Names of kernels as people write them, from the symbols of a cubin."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["demangled", "same_name"]

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
    if not symbol.startswith("_Z") or len(symbol) > _LONGEST:
        return symbol
    try:
        import itanium_demangler

        node = itanium_demangler.parse(symbol)
        if node is None:
            return symbol
        name = str(getattr(node, "name", None) or node)
    except (ImportError, NotImplementedError, RecursionError, ValueError, TypeError,
            AttributeError, IndexError, KeyError):  # fmt: skip
        return symbol
    return _tidy(name)


def _tidy(name: str) -> str:
    name = re.sub(r"\(bool\)(\d)", lambda found: "true" if found[1] == "1" else "false", name)
    name = re.sub(r"\((?:unsigned |signed )?(?:int|long|char|short|long long)\)(?=-?\d)", "", name)
    return name.replace("(anonymous namespace)::", "").replace("> >", ">>")


def same_name(one: str, other: str) -> bool:
    """Whether two names mean one kernel: spaces, casts and suffixes of numbers apart.

    >>> same_name("tk<float,4u>", "tk<float, 4>"), same_name("tk<float>", "tk<double>")
    (True, False)
    """
    return _plain(one) == _plain(other)


def _plain(name: str) -> str:
    name = re.sub(r"\s+", "", _tidy(name.removeprefix("::")))
    return re.sub(r"(?<=\d)(?:[uU]?[lL]{0,2}|[lL]{1,2}[uU]?)(?=[,>])", "", name)
