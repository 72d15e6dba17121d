"""The keys of bankwise.toml: what each accepts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from layouts.shapes import is_integer, is_number

__all__ = ["ENTRIES", "TOP", "Key"]


class Key(NamedTuple):
    """What a key's value may be."""

    accepts: str
    """In words, for the message that it is something else."""
    fits: Callable[[Any], bool]
    required: bool = False


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _size(value: Any) -> bool:
    if isinstance(value, str):
        return re.fullmatch(r"\d{1,10}(x\d{1,10}){0,2}", value.strip()) is not None
    parts = value if isinstance(value, list) else [value]
    return 1 <= len(parts) <= 3 and all(is_integer(part) and part > 0 for part in parts)


def _count(value: Any) -> bool:
    return is_integer(value) and 0 <= value < 1 << 62


def _table(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def _scalar(value: Any) -> bool:
    return isinstance(value, str | int | float)  # of which a bool is one


def _place(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[^\0\n]+:[1-9]\d{0,8}", value) is not None


TEXT = Key("a text", _text)
_COUNT = Key("an integer of 0 or more", _count)
_SIZE = Key("256, '32x8' or [32, 8]", _size)

_NAME = Key("a text of up to 200 printable characters",
            lambda value: _text(value) and value.isprintable() and len(value) <= 200)  # fmt: skip
_COMMON = {
    "name": _NAME,
    "chip": TEXT,
    "rule": Key("'silicon' or 'documented'", lambda value: value in ("silicon", "documented")),
}
_ASKED = {
    "element": Key("bytes, 1 to 16", lambda value: is_integer(value) and 1 <= value <= 16),
    "block": _SIZE,
    "names": Key("a table of integers, such as {ld = 132}", _table(is_integer)),
    "active": TEXT,
    "at": Key("a file and a line, such as 'gemm.cu:20'", _place),
}
_LAUNCHED = {
    "grid": _SIZE,
    "args": Key("a list of texts, such as ['random:f32[32,32]', 'i32=32']", _texts),
    "buffers": Key("a table of texts, such as {a = 'zeros:f16[64]'}", _table(_text)),
    "blocks": Key("'sample' or 'all'", lambda value: value in ("sample", "all")),
    "arch": TEXT,
    "max_instructions": Key("an integer of 1 or more", lambda value: _count(value) and value > 0),
    "set": Key("a table of texts, such as {FACTOR = 'f32=2'}", _table(_text)),
    "time": Key("true or false", lambda value: isinstance(value, bool)),
}

ENTRIES: Mapping[str, Mapping[str, Key]] = {
    "access": {
        **_COMMON,
        "ask": Key(
            "a question in C, such as 'float s[32][33]; s[threadIdx.x][threadIdx.y]'", _text, True
        ),
        "op": TEXT,
        **_ASKED,
    },
    "layout": {
        **_COMMON,
        "layout": Key("CuTe's or Triton's text, or C of row and col", _text, True),
        "accesses": Key(
            "a list of OP: ROW, COLUMN, such as ['ldmatrix.x4: lane%16, lane/16*8']",
            lambda value: _texts(value) and bool(value),
            True,
        ),
        **_ASKED,
    },
    "kernel": {
        **_COMMON,
        "file": Key("a file: CUDA source, PTX, a cubin, an object", _text, True),
        "kernel": TEXT,
        **_LAUNCHED,
        "block": _SIZE,
        "cluster": _SIZE,
        "shared_bytes": _COUNT,
        "let": Key("a table of numbers, such as {n = 1024, 'p.size' = 32}", _table(is_number)),
        "include": Key("a list of folders", _texts),
        "define": Key("a table, such as {TILE = 32}", _table(_scalar)),
        "options": Key("a list of the compiler's options", _texts),
    },
    "triton": {
        **_COMMON,
        "kernel": Key("FILE.py:KERNEL or MODULE:KERNEL", _text, True),
        "signature": Key("types and constants, such as '*fp32,*fp32,i32,64'", _text),
        "constants": Key("a table of constexprs, such as {BLOCK = 64}", _table(_scalar)),
        "config": Key("what chooses of autotune's configurations: 'BLOCK_M=64'", _text),
        **{name: key for name, key in _LAUNCHED.items() if name != "set"},
        "warps": Key(
            "1, 2, 4, 8, 16 or 32",
            lambda value: is_integer(value) and value in (1, 2, 4, 8, 16, 32),
        ),
    },
}
"""By the kind of an entry, `[[kind]]` in the file."""

TOP = {
    "baseline": TEXT,
    "chip": TEXT,
    "rule": _COMMON["rule"],
}
"""At the top of the file, beside `limits` and the entries."""
