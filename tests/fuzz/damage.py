"""Inputs that nobody meant: good ones with some edits, and tokens in any order."""

from __future__ import annotations

import random
from collections.abc import Sequence

__all__ = ["damaged_bytes", "damaged_text", "soup"]

_ODD = ("\0", "\x1b[2J", "\ud800", "\u202e", "é", "𝟙", "\n", "\t", '"', "\\", "9" * 30, "-", "0x",
        "[" * 50, "(" * 50, "1e999", "nan", "{}", "%s", "../../x", "`id`", "$(id)")  # fmt: skip
_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, (1 << 63) - 1)


def damaged_text(rng: random.Random, seeds: Sequence[str], tokens: Sequence[str]) -> str:
    """Return a good text after one to six edits."""
    text = rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.choice((0, 1, 1, 2, 5, 20)))
        kind = rng.randrange(7)
        if kind == 0:
            new = ""
        elif kind == 1:
            new = rng.choice(tokens)
        elif kind == 2:
            new = text[start:end] * rng.choice((2, 3, 20))
        elif kind == 3:
            new = chr(rng.randrange(32, 127))
        elif kind == 4:
            other = rng.choice(seeds)
            cut = rng.randint(0, len(other))
            new = other[cut : cut + rng.randint(0, 20)]
        elif kind == 5:
            new = str(rng.choice(_NUMBERS))
        else:
            new = rng.choice(_ODD)
        text = text[:start] + new + text[end:]
    return text[:4000]


def soup(rng: random.Random, tokens: Sequence[str]) -> str:
    """Return up to thirty tokens in any order."""
    return rng.choice(("", " ", ",")).join(rng.choices(tokens, k=rng.randint(0, 30)))


def damaged_bytes(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return good bytes with bits flipped, numbers overwritten, pieces moved, cut or repeated."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 2, 4, 12))):
        place = rng.randrange(max(len(data), 1))
        kind = rng.randrange(7)
        if kind <= 1 and data:
            data[min(place, len(data) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 2:
            size = rng.choice((1, 2, 4, 8))
            value = rng.choice(_NUMBERS) & (1 << 8 * size) - 1
            data[place : place + size] = value.to_bytes(size, "little")
        elif kind == 3:
            data[place : place + rng.choice((1, 4, 64))] = b""
        elif kind == 4:
            data[place:place] = rng.randbytes(rng.choice((1, 4, 16)))
        elif kind == 5:
            other = rng.choice(seeds)
            cut = rng.randrange(max(len(other), 1))
            piece = other[cut : cut + rng.choice((4, 16, 64, 256))]
            data[place : place + len(piece)] = piece
        else:
            data = data[: place if rng.random() < 0.3 else len(data)]
    return bytes(data)
