"""Moves, integers and bits."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.sass_plain.comparing import comparison, integer_of, join, limits, put_outcome
from tests.sass_plain.lane import WORD, Lane, plain, signed


# ---- Moves. ------------------------------------------------------------------------------------
@plain("MOV", "UMOV")
def _mov(x: Lane) -> None:
    x.put(x.take(), x.integer())


@plain("SEL", "USEL")
def _sel(x: Lane) -> None:
    target, a, b = x.take(), x.integer(), x.integer()
    x.put(target, a if x.condition() else b)


@plain("FSEL", "UFSEL")
def _fsel(x: Lane) -> None:
    target, a, b = x.take(), x.bits(), x.bits()
    x.put(target, a if x.condition() else b)


@plain("R2UR")
def _r2ur(x: Lane) -> None:
    x.put(x.take(), x.integer())


def nibbles(*places: int) -> int:
    return sum(place << 4 * byte for byte, place in enumerate(places))


# The bytes that each mode of PTX's prmt names, the lowest first.
FORWARD: dict[str, Callable[[int], int]] = {
    "F4E": lambda n: nibbles(*(n + byte for byte in range(4))),
    "B4E": lambda n: nibbles(*((n - byte) % 8 for byte in range(4))),
    "RC8": lambda n: nibbles(n, n, n, n),
    "ECL": lambda n: nibbles(*(max(n, byte) for byte in range(4))),
    "ECR": lambda n: nibbles(*(min(n, byte) for byte in range(4))),
    "RC16": lambda n: nibbles(*(2 * (n % 2) + byte % 2 for byte in range(4))),
}


@plain("UR2UP")
def _ur2up(x: Lane) -> None:
    x.take()
    name, _, part = x.take().partition(".")
    word = x.place(name) >> 8 * int(part[1:] or 0)
    for number in range(7):
        x.put(f"UP{number}", word >> number & 1)


@plain("PRMT", "UPRMT")
def _prmt(x: Lane) -> None:
    target, a, chosen, c = x.take(), x.integer(), x.integer(), x.integer()
    if x.modifiers:
        chosen = FORWARD[x.modifiers[0]](chosen & 3)
    data, found = (c << 32 | a).to_bytes(8, "little"), 0
    for byte in range(4):
        nibble = chosen >> 4 * byte & 15
        value = data[nibble & 7]
        found |= (value if nibble < 8 else 255 * (value >> 7)) << 8 * byte
    x.put(target, found)


@plain("R2P")
def _r2p(x: Lane) -> None:
    x.take()
    name, _, part = x.take().partition(".")
    word, mask = x.place(name) >> 8 * int(part[1:] or 0), x.integer()
    for number in range(7):
        if mask >> number & 1:
            x.put(f"P{number}", word >> number & 1)


@plain("P2R", "UP2UR")
def _p2r(x: Lane) -> None:
    first = 8 * next((int(each[1]) for each in x.modifiers), 0)
    target, file = x.take(), x.take().removesuffix("R")
    word, mask = x.integer(), x.integer()
    held = sum(x.holds(f"{file}{number}") << number for number in range(7))
    x.put(target, word & ~(mask << first) | (held & mask) << first)


# ---- Integers. ---------------------------------------------------------------------------------
@plain("IADD3", "UIADD3")
def _iadd3(x: Lane) -> None:
    target, carries = x.take(), x.targets()
    found = sum(x.exact() for _ in range(3))
    found += sum(x.condition(default=False) for _ in range(2))
    x.put(target, found)
    for number, carry in enumerate(carries, 1):
        x.put(carry, found >> 32 >= number)


@plain("VIADD", "UVIADD", "IADD", "UIADD")
def _viadd(x: Lane) -> None:
    target = x.take()
    if x.has("16x2", "U8x4"):
        a, b = (parts_of(x, 16 if x.has("16x2") else 8) for _ in range(2))
        x.put(target, packed([f + g for f, g in zip(a, b, strict=True)]))
    elif x.has("ISAT"):
        found = sum(-signed(x.place(text.strip("-"))) if text[0] == "-" else
                    signed(int(text, 16) if "x" in text else x.place(text))
                    for text in x.operands[1:])  # fmt: skip
        x.put(target, max(-(2**31), min(found, 2**31 - 1)))
    elif x.has("64"):
        carries = x.targets()
        total = 0
        for text in (x.take(), x.take()):
            value = x.place(text.lstrip("-")) | x.place(text.lstrip("-"), 1) << 32
            total += 2**64 - value if text[0] == "-" else value  # -0 carries
        total += x.condition(default=False)
        x.put(target, total, 2)
        for carry in carries:
            x.put(carry, total >> 64 > 0)
    else:
        x.put(target, x.integer() + x.integer())


def parts_of(x: Lane, bits: int) -> list[int]:
    """Read a word's halves or bytes, each negated by itself; an immediate as it stands."""
    text = x.take()
    word = int(text, 16) if "x" in text else x.place(text.lstrip("-"))
    sign = -1 if text[0] == "-" and "x" not in text else 1
    return [sign * (word >> shift & (1 << bits) - 1) for shift in range(0, 32, bits)]


def elements(word: int, bits: int, is_signed: bool) -> list[int]:
    """Return the elements of a word, the lowest first."""
    parts = [word >> shift & (1 << bits) - 1 for shift in range(0, 32, bits)]
    return [signed(part, bits) for part in parts] if is_signed else parts


def packed(parts: list[int]) -> int:
    bits = 32 // len(parts)
    return sum((part & (1 << bits) - 1) << bits * place for place, part in enumerate(parts))


@plain("IMAD", "UIMAD")
def _imad(x: Lane) -> None:
    target, carries = x.take(), x.targets()
    if not x.has("WIDE", "HI"):
        a, b, c = (x.integer() for _ in range(3))
        found = a * b % 2**32 + c + x.condition(default=False)
        x.put(target, found)
    else:
        a, b = (x.number_of(x.integer()) for _ in range(2))
        found = a * b % 2**64 + x.pair()
        x.put(target, found if x.has("WIDE") else found >> 32, 2 if x.has("WIDE") else 1)
    for carry in carries:
        x.put(carry, found >> (64 if x.has("WIDE", "HI") else 32))


@plain("LEA", "ULEA")
def _lea(x: Lane) -> None:
    target, a, b = x.take(), x.integer(), x.integer()
    if x.has("SX32"):
        a = signed(a)
    elif x.has("HI"):
        a |= x.integer() << 32
    moved = a << x.integer()
    x.put(target, (moved >> 32 if x.has("HI") else moved) + b + x.condition(default=False))


def _logic(table: int, values: tuple[int, ...]) -> int:
    found = 0
    for bit in range(32):
        place = 4 * (values[0] >> bit & 1) + 2 * (values[1] >> bit & 1) + (values[2] >> bit & 1)
        found |= (table >> place & 1) << bit
    return found


@plain("LOP3", "ULOP3")
def _lop3(x: Lane) -> None:
    some, target = x.targets(), x.take()
    values = x.integer(), x.integer(), x.integer()
    found = _logic(x.integer(), values)
    x.put(target, found)
    for predicate in some:
        x.put(predicate, found != 0 or x.condition())


@plain("PLOP3", "UPLOP3")
def _plop3(x: Lane) -> None:
    targets = x.take(), x.take()
    values = tuple(
        x.place(x.take().removesuffix(".SIGN")) >> 31 if x.peek(r"\w+\.SIGN") else x.condition()
        for _ in range(3)
    )
    for target in targets:
        x.put(target, _logic(x.integer(), values) & 1)


@plain("SHF", "USHF")
def _shf(x: Lane) -> None:
    target, low, by, high = x.take(), x.integer(), x.integer(), x.integer()
    width = 64 if x.has("U64", "S64") else 32
    by = by % width if x.has("W") else min(by, width)
    pair = high << 32 | low
    if x.has("S32", "S64") and x.has("R"):
        pair = signed(pair, 64)
    moved = pair >> by if x.has("R") else pair << by
    x.put(target, moved >> 32 if x.has("HI") else moved)


@plain("ISETP", "UISETP")
def _isetp(x: Lane) -> None:
    targets = x.take(), x.take()
    a, b = (x.number_of(x.integer()) for _ in range(2))
    found = comparison(x)(a, b)
    if not x.has("EX"):
        put_outcome(x, [*targets], found)
        return
    other, low = x.condition(), x.condition()
    found = low if a == b else found
    x.put(targets[0], join(x, found, other))
    x.put(targets[1], join(x, not found, other))


@plain("IMNMX", "VIMNMX", "UIMNMX", "UVIMNMX", "VIADDMNMX", "VIMNMX3")
def _least(x: Lane) -> None:
    target, kind = x.take(), next((each for each in x.modifiers if "x" in each), "")
    if kind.endswith("8x4"):
        words = [elements(x.integer(), 8, kind[0] == "S") for _ in range(2)]
        x.put(target, packed(list(map(x.least, *words))))
        return
    values = [x.integer() for _ in range(3 if x.name in ("VIADDMNMX", "VIMNMX3") else 2)]
    if x.name == "VIADDMNMX":
        values = [values[0] + values[1] & WORD, values[2]]
    x.put(target, x.least(x.number_of(value) for value in values))


@plain("VABSDIFF")
def _vabsdiff(x: Lane) -> None:
    target, a, b = x.take(), x.number_of(x.integer()), x.number_of(x.integer())
    x.put(target, abs(a - b) + x.integer())


@plain("IDP")
def _idp(x: Lane) -> None:
    target = x.take()
    first, second = (kind for kind in x.modifiers if kind[0] in "SU")
    a, b = (elements(x.integer(), int(kind[1:]), kind[0] == "S") for kind in (first, second))
    if x.has("2A"):
        b = b[2:] if x.has("HI") else b[:2]
    x.put(target, sum(map(int.__mul__, a, b)) + x.integer())


@plain("VABSDIFF4")
def _vabsdiff4(x: Lane) -> None:
    target = x.take()
    a, b = (x.integer().to_bytes(4, "little") for _ in range(2))
    apart = bytes(abs(f - g) for f, g in zip(a, b, strict=True))
    more = x.integer()
    summed = "ACC" in x.modifiers
    x.put(target, sum(apart) + more if summed else int.from_bytes(apart, "little") | more)


@plain("IABS")
def _iabs(x: Lane) -> None:
    x.put(x.take(), abs(signed(x.integer())))


@plain("POPC", "UPOPC")
def _popc(x: Lane) -> None:
    x.put(x.take(), x.integer().bit_count())


@plain("BREV", "UBREV")
def _brev(x: Lane) -> None:
    x.put(x.take(), int(f"{x.integer():032b}"[::-1], 2))


@plain("FLO", "UFLO")
def _flo(x: Lane) -> None:
    target, a = x.take(), x.number_of(x.integer())
    place = (a if a >= 0 else ~a).bit_length() - 1
    x.put(target, (31 - place if place >= 0 else -1) if x.has("SH") else place)


@plain("BMSK", "UBMSK")
def _bmsk(x: Lane) -> None:
    target, start, count = x.take(), x.integer(), x.integer()
    if x.has("W"):
        start, count = start % 32, count % 32
    x.put(target, (1 << min(count, 32)) - 1 << min(start, 32))


@plain("SGXT", "USGXT")
def _sgxt(x: Lane) -> None:
    target, a, width = x.take(), x.integer(), x.integer()
    width = width % 32 if x.has("W") else min(width, 32)
    kept = a & (1 << width) - 1
    x.put(target, signed(kept, width) if width and not x.has("U32") else kept)


@plain("I2I")
def _i2i(x: Lane) -> None:
    target = x.take()
    least, most = limits(x.modifiers[0])
    x.put(target, max(least, min(integer_of(x, x.modifiers[1]), most)))


@plain("I2IP")
def _i2ip(x: Lane) -> None:
    target, kind = x.take(), x.modifiers[0]
    bits = int(kind[1:])
    least, most = (
        (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "S" else (0, (1 << bits) - 1)
    )
    a, b = (max(least, min(signed(x.integer()), most)) % (1 << bits) for _ in range(2))
    x.operands[x.next] = re.sub(r"\.\d+$", "", x.operands[x.next])
    x.put(target, x.integer() << 2 * bits | a << bits | b)
