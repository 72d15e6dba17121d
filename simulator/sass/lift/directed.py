"""Sums and products of doubles, rounded down, up or toward zero: a helper, exact in 128 bits.

No float is wide enough for a·b + c, so it is taken apart: two whole numbers of at most 125 bits,
with the exponent of the greater. Of the lesser one's bits that have no place the last tells.
"""

from __future__ import annotations

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import helper
from simulator.sass.lift.kinds import I64, LANES, vector
from simulator.sass.lift.numbers import DOWN, UP, fused
from simulator.sass.lift.values import Value

__all__ = ["EXACT_FMA"]

EXACT_FMA = "fused_double"
"""The helper's name."""
_PAIRS = vector(I64)
_DIGITS, _LEAST = 52, -1074
_TOP, _NOTHING = 124, -20_000
"""Where the highest bit is put; an exponent below all others, for what is zero."""
_GREATEST, _ENDLESS = 0x7FEF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0000


@helper(_PAIRS, _PAIRS, _PAIRS, _PAIRS)
def fused_double(at: Emitter, how: int) -> None:
    """Give the bits of a·b + c, rounded once: DOWN, UP or TO_ZERO."""
    rows = [at.variable(each).pointer for each in at.arguments]
    with at.loop(LANES) as lane:
        a, b, c = (at.load(row, I64, lane * 8) for row in rows)
        plain = fused(a.as_float, b.as_float, c.as_float).as_bits
        finite = at.bit(True)
        for each in (a, b, c):
            finite = finite & ((each & _ENDLESS) != _ENDLESS)
        at.store(finite.choose(_rounded(a, b, c, how), plain), rows[0], lane * 8)
    at.give(at.load(rows[0], _PAIRS, align=8))


def _parts(bits: Value) -> tuple[Value, Value]:
    """Return a double's digits, in 128 bits, and the exponent of the last."""
    exponent = bits >> _DIGITS & 0x7FF
    is_normal = exponent != 0
    digits = bits & (1 << _DIGITS) - 1 | is_normal.resized(64) << _DIGITS
    return digits.resized(128), is_normal.choose(exponent, 1) - 1075


def _raised(digits: Value, exponent: Value) -> tuple[Value, Value]:
    """Move the highest bit to its place; of zero the exponent is below all others."""
    is_zero = digits == 0
    by = is_zero.choose(0, digits.leading - (127 - _TOP))
    return digits << by, is_zero.choose(_NOTHING, exponent - by.resized(64))


def _lowered(digits: Value, by: Value) -> Value:
    """Shift right; the last bit says whether anything was lost, too."""
    by = (by > 127).choose(127, by).resized(128)
    kept = digits >> by
    return kept | ((kept << by) != digits).resized(128)


def _rounded(a: Value, b: Value, c: Value, how: int) -> Value:
    """Return the bits of finite doubles' a·b + c."""
    at = a.at
    (one, one_at), (two, two_at), (three, three_at) = map(_parts, (a, b, c))
    product, product_at = _raised(one * two, one_at + two_at)
    added, added_at = _raised(three, three_at)
    minus_product, minus_added = ((each >> 63) != 0 for each in (a ^ b, c))
    lower = product_at.less_signed(added_at)
    least = lower.choose(added_at, product_at)
    product, added = _lowered(product, least - product_at), _lowered(added, least - added_at)
    total = minus_product.choose(0 - product, product) + minus_added.choose(0 - added, added)
    of_zero = (minus_product == minus_added).choose(minus_product, at.bit(how == DOWN))
    minus = (total == 0).choose(of_zero, total.less_signed(0))
    size = total.less_signed(0).choose(0 - total, total)
    # What is left of the digits: 53 from the highest, or fewer at the least exponent.
    last = least + (127 - _DIGITS) - size.leading.resized(64)
    last = last.less_signed(_LEAST).choose(_LEAST, last)
    by = last - least
    right = by.less_signed(0).choose(0, by)
    right = (right > 127).choose(127, right).resized(128)
    left = by.less_signed(0).choose(0 - by, 0) & 127
    kept = size >> right
    lost = (kept << right) != size
    kept = kept << left.resized(128)
    away = minus if how == DOWN else ~minus if how == UP else at.bit(False)
    found = kept.resized(64) + (lost & away).resized(64) + (last - _LEAST << _DIGITS)
    beyond = away.choose(_ENDLESS, at.i64(_GREATEST))
    found = (found >= _ENDLESS).choose(beyond, found)
    return (total == 0).choose(0, found) | minus.resized(64) << 63
