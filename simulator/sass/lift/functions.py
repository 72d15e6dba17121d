"""Functions of MUFU: helpers that calculate them lane by lane in float64, and round once.

They call the mathematical library of the process, whose errors a rounding to float32 hides but
for one value in some hundred millions.
"""

from __future__ import annotations

import math

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import helper
from simulator.sass.lift.kinds import F64, I32, LANES, vector
from simulator.sass.lift.values import Value

__all__ = ["FUNCTIONS"]

FUNCTIONS = ("RCP", "RSQ", "SQRT", "EX2", "LG2", "SIN", "COS", "TANH")

_WORDS = vector(I32)


@helper(_WORDS, _WORDS)
def function(at: Emitter, which: int) -> None:
    """MUFU of a float32."""
    (words,) = at.arguments
    if FUNCTIONS[which] in ("RCP", "RSQ", "SQRT"):
        at.give(_calculated(words.as_float.double, which).single.as_bits)
        return
    rows = at.variable(words).pointer
    with at.loop(LANES) as lane:
        word = at.load(rows, I32, lane * 4)
        at.store(_calculated(word.as_float.double, which).single.as_bits, rows, lane * 4)
    at.give(at.load(rows, _WORDS, align=4))


@helper(_WORDS, _WORDS)
def high_word(at: Emitter, which: int) -> None:
    """MUFU of the high word of a float64: that of its reciprocal, or of 1 / its root."""
    (words,) = at.arguments
    value = (words.resized(64) << 32).as_float
    at.give((_calculated(value, which).as_bits >> 32).resized(32))


def _calculated(x: Value, which: int) -> Value:
    """Calculate a function of a float64."""
    at, name = x.at, FUNCTIONS[which]
    if name == "RCP":
        return 1.0 / x
    if name in ("RSQ", "SQRT"):
        root = at.intrinsic("sqrt", x.type, x)
        return (x >= 0.0).choose(1.0 / root if name == "RSQ" else root, math.nan)
    if name == "EX2":
        return at.call("pow", F64, at.constant(F64, 2.0), x)
    if name == "LG2":
        found = (x > 0.0).choose(at.call("log2", F64, x), math.nan)
        return (x == 0.0).choose(-math.inf, found)
    if name == "TANH":
        return at.call("tanh", F64, x)
    return at.call(name.lower(), F64, x * (2 * math.pi))
