"""Functions and macros that a question in C calls on an element of an array.

    expf(s[threadIdx.x])                a value: the element is read
    f(s[threadIdx.x])                   the same, as far as one can know: the answer says so
    FETCH_FLOAT4(s[threadIdx.x])        a macro may read more, or take its address
    ldmatrix(s[threadIdx.x])            an instruction of another kind

The first are those of C's and CUDA's mathematics, conversions and exchanges between lanes.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from simulator.inputs.types import type_at

__all__ = ["Called", "called_on", "kind_of", "remedy"]

_MATH = frozenset(
    re.findall(
        r"\w+",
        "abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf"
        " erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim fdivide floor fma fmax fmin"
        " fmod hypot ilogb isfinite isinf isnan j0 j1 jn labs ldexp lgamma llabs llmax llmin"
        " llrint llround log log10 log1p log2 logb lrint lround max min nearbyint nextafter"
        " norm norm3d norm4d normcdf normcdfinv pow powi rcbrt remainder rhypot rint rnorm"
        " round rsqrt saturate scalbln scalbn signbit sin sincos sincospi sinh sinpi sqrt tan"
        " tanh tgamma trunc ullmax ullmin umax umin y0 y1 yn clamp lerp assert printf",
    )
)
"""C's and CUDA's functions of numbers; with an f at the end, those of floats."""

_HALF = frozenset(
    re.findall(
        r"\w+",
        "abs ceil cos exp exp10 exp2 floor log log10 log2 rcp rint rsqrt sin sqrt tanh trunc",
    )
)
"""Those of halves, hexp and h2exp."""

_MOVES = frozenset(
    re.findall(
        r"\w+",
        "address addr alignof async atom atomic bulk copy cp cpy cvta decltype fetch ld ldg"
        " ldgsts ldmatrix lds ldsm load loads matrix memcpy memset mma pointer prefetch ptr"
        " red reinterpret sizeof st stg stmatrix store sts stsm swap tma vec vector vectorize"
        " vectorized wgmma wmma",
    )
)
"""Words of a name that moves other bytes than one value, or takes the address."""

_VECTOR = re.compile(r"(?:float|double|half|u?int|u?short|u?char|bfloat16)_?[248]$", re.IGNORECASE)
_WORD = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*")

_CALL = re.compile(r"((?:[A-Za-z_]\w*\s*::\s*)*[A-Za-z_]\w*)\s*(?:<[^<>();]*>)?\s*$")


class Called(NamedTuple):
    """A function or a macro, as it is called on an element."""

    name: str
    column: int


def called_on(text: str, start: int, at: int) -> tuple[Called, ...]:
    """Return what is called on the element at `at`, of all that begins at `start`.

    >>> called_on("2 * f(x, (g<4>(s[lane])))", 0, 15)
    (Called(name='f', column=4), Called(name='g', column=10))
    """
    open_: list[int] = []
    for place in range(start, at):
        if text[place] in "([{":
            open_.append(place)
        elif text[place] in ")]}" and open_:
            open_.pop()
    found = (_CALL.search(text, start, place) for place in open_ if text[place] == "(")
    return tuple(Called(re.sub(r"\s", "", each[1]), each.start(1)) for each in found if each)


def kind_of(name: str) -> Literal["value", "other", "unknown"]:
    """Return whether a function reads the value of its argument, or what else is known of it.

    `other` is a macro that is not defined, or what moves other bytes than a value.

    >>> [kind_of(each) for each in ("expf", "__half2float", "f", "FETCH_FLOAT4", "ldmatrix")]
    ['value', 'value', 'unknown', 'other', 'other']
    """
    plain = name.rpartition("::")[2]
    words = {word.lower() for word in _WORD.findall(plain)}
    if plain == "static_cast" or plain.startswith("make_") or type_at(name) is not None:
        return "value"
    if plain == plain.upper() or words & _MOVES or _VECTOR.search(plain):
        return "other"
    halves = re.sub("^h2?", "", plain) in _HALF  # hexp, h2exp
    cuda = plain.startswith("__")  # a name that only the compiler may define
    known = cuda or halves or {plain, plain.removesuffix("f")} & _MATH
    return "value" if known else "unknown"


def remedy(name: str) -> str:
    """Return how to write what `name` does, for an error.

    >>> remedy("FETCH_FLOAT4").partition(" (acc")[0]
    'what FETCH_FLOAT4() reads is not known here'
    """
    upper = name == name.upper()
    define = f"its '#define {name}(...) ...' before the access" if upper else ""
    ways = [
        define,
        "a cast, such as *(float4*)&s[...]",
        "the place alone with --op (op in Python), such as --op LDS.128 or --op ldmatrix.x4",
    ]
    return f"what {name}() reads is not known here (accepted: {'; '.join(filter(None, ways))})"
