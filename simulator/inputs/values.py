"""Values as people type them, read alike by every command: numbers, ranges, lists, pairs.

| text | is |
|---|---|
| `4`, `-4`, `none`, `true`, `z-order` | one value |
| `0..16`, `0..64:8` | a range; both ends belong to it |
| `(1,2,3)` | one value of several numbers |
| `Sw<2,3,3>` | a swizzle |
| `A=4,B=0`; `(A=4,B=0)` within a list; `4;0` | a pair: one value for A, one for B |
| `0,4,8..16:4` | a list: what commas outside of brackets separate |
| `all` | every value that there is, where they can be listed |

What a value is otherwise, its parameter knows: a word stays as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from layouts.errors import short
from layouts.swizzle import Swizzle
from simulator.errors import OptionError

__all__ = ["expanded", "read_list", "read_pair", "read_swizzle", "read_value"]

_RANGE = re.compile(r"(\d{1,18})\s*\.\.\s*(\d{1,18})(?:\s*:\s*([1-9]\d{0,17}))?")
_INTEGER = re.compile(r"-?\d{1,18}")
_SEVERAL = re.compile(r"\(\s*-?\d{1,18}\s*(?:,\s*-?\d{1,18}\s*)*\)")
_PAIR = re.compile(r"A\s*=(.*?),\s*B\s*=(.*)", re.DOTALL)
_LIST = "accepted: 0,4,8 or 0..16 or 0..64:8, and A=0,B=4 for a pair"


def read_list(
    text: str, *, every: Sequence[Any] | None = None, like: object = None, swizzles: bool = False
) -> list[Any]:
    """Return the values of one parameter; ranges among them stay ranges (see `expanded`).

    `every` is what `all` means. `like` is a value of the parameter, whose type decides what is
    read where that is text or a truth value. `swizzles`: values are swizzles, and `1,2,3` is one.

    >>> read_list("0..16:8,(0,4),1")
    [range(0, 17, 8), (0, 4), 1]
    >>> read_list("A=0,B=4"), read_list("(A=0,B=4),none")
    ([(0, 4)], [(0, 4), None])
    >>> read_list("none,Sw<3,3,3>", swizzles=True)
    [None, 'Sw<3,3,3>']

    Raises OptionError.
    """
    if text.strip() == "all":
        if every is None:
            raise OptionError(
                f"'all' means every value of a list, but there is no list here ({_LIST})"
            )
        return [*every]
    if _PAIR.fullmatch(text.strip()) or (
        swizzles and re.fullmatch(r"\s*(\d+\s*,\s*){2}\d+\s*", text)
    ):
        return [read_value(text, like=like, swizzles=swizzles)]
    parts = [part.strip() for part in _split(text)]
    if not all(parts):
        raise OptionError(f"{short(text)} is not a list of values ({_LIST})")
    if every is not None and "all" in parts:
        raise OptionError(
            f"{short(text)} has 'all' together with other values (accepted: only all, or a list)"
        )
    return [_range_or_value(part, like, swizzles) for part in parts]


def expanded(values: Sequence[Any]) -> Iterable[Any]:
    """Return the values with those of ranges among them; a range alone stays one, however long.

    >>> list(expanded([range(0, 17, 8), 3])), expanded([range(5)])
    ([0, 8, 16, 3], range(0, 5))
    """
    if len(values) == 1 and isinstance(values[0], range):
        return values[0]
    if any(isinstance(value, range) for value in values):
        each = (value if isinstance(value, range) else (value,) for value in values)
        return chain.from_iterable(each)
    return values


def read_value(text: str, *, like: object = None, swizzles: bool = False) -> Any:
    """Return one value, read as `read_list` reads each of its own.

    >>> read_value("8"), read_value("(A=4,B=0)"), read_value("False", like=True)
    (8, (4, 0), False)
    """
    text = text.strip()
    inner = text[1:-1] if text.startswith("(A") and text.endswith(")") else text
    if isinstance(like, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    if isinstance(like, str):
        return text
    if (pair := read_pair(inner)) is not None:
        one = read_swizzle if swizzles else read_value
        return tuple(one(part) for part in pair)
    if _INTEGER.fullmatch(text):
        return int(text)
    if _SEVERAL.fullmatch(text):
        return tuple(int(number) for number in text[1:-1].split(","))
    return None if text == "none" else text


def read_pair(text: str) -> tuple[str, str] | None:
    """Return what is typed for A and for B, or None for a value that is not a pair.

    >>> read_pair("A=2,3,3, B=none"), read_pair("none;2,3,3"), read_pair("2,3,3")
    (('2,3,3', 'none'), ('none', '2,3,3'), None)

    Raises OptionError for more than two parts.
    """
    if found := _PAIR.fullmatch(text.strip()):
        return found[1].strip(), found[2].strip()
    parts = [part.strip() for part in text.split(";")]
    if len(parts) > 2:
        raise OptionError(f"{short(text)} has more than two parts (accepted: A=…,B=… for a pair)")
    return (parts[0], parts[1]) if len(parts) == 2 else None


def read_swizzle(text: str) -> Swizzle | None:
    """Return the swizzle in `B,M,S`, `(B,M,S)` or `Sw<B,M,S>`, or None for `none`.

    >>> read_swizzle("(2,3,3)"), read_swizzle("none")
    (Swizzle(bits=2, base=3, shift=3), None)

    Raises LayoutError.
    """
    text = text.strip()
    if re.fullmatch(r"\(.*\)", text):
        text = text[1:-1]
    return None if text == "none" else Swizzle.of(text)


def _split(text: str) -> list[str]:
    """Split at the commas that no bracket encloses.

    >>> _split("(4,8):(8,1),Sw<1,2,3>,4")
    ['(4,8):(8,1)', 'Sw<1,2,3>', '4']
    """
    parts, depth = [""], 0
    for character in text:
        depth = max(0, depth + (character in "(<") - (character in ")>"))
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _range_or_value(text: str, like: object, swizzles: bool) -> Any:
    if isinstance(like, str | bool):
        return read_value(text, like=like)
    if found := _RANGE.fullmatch(text):
        return range(int(found[1]), int(found[2]) + 1, int(found[3] or 1))
    if ".." in text:
        raise OptionError(f"{text!r} is not a range (accepted: 0..16, 0..64:8)")
    if swizzles and ";" in text and any(_INTEGER.fullmatch(part) for part in text.split(";")):
        raise OptionError(
            f"{text!r} can belong to the value before it or to the one after it (accepted:"
            " A=1,2,3,B=none, or Sw<1,2,3>;none)"
        )
    return read_value(text, swizzles=swizzles)
