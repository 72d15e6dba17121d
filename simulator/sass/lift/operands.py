"""Reading operands as nvdisasm prints them: `-R6.reuse`, `c[0x0][R5+0x20]`, `[R2.64+0x10]`.

The grammar is small and every form is a frozen object; what fits no form is a DecodeProblem,
which makes the instruction unknown: it is refused if execution reaches it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

__all__ = [
    "Constant",
    "ConvergenceBarrier",
    "DecodeProblem",
    "Memory",
    "Number",
    "Operand",
    "Predicate",
    "Register",
    "Signs",
    "Word",
    "parse",
]


class DecodeProblem(Exception):  # noqa: N818  never leaves the decoder
    """An operand or modifier that the decoder does not know; its message is the reason."""


@dataclass(frozen=True)
class Signs:
    """What may be done to a source before it is used."""

    negative: bool = False
    absolute: bool = False
    inverted: bool = False
    half: str = ""
    """H0_H0, H1_H1, H0_NH1, B1, …: a part of the register; F32x2.HI_LO, …: both words of a pair."""


@dataclass(frozen=True)
class Register:
    """R5 or UR5; 255 (63 in the text for uniform ones) is the zero register."""

    number: int
    uniform: bool = False
    signs: Signs = Signs()

    @property
    def is_zero(self) -> bool:
        """Whether it is RZ or URZ."""
        return self.number < 0


@dataclass(frozen=True)
class Predicate:
    """P0 … P6, PT, UP0 … UP6, UPT, as the machine numbers them: 7 is true, + 16 negated."""

    code: int


@dataclass(frozen=True)
class Number:
    """An immediate: an integer in hexadecimal, or a float in decimal."""

    value: int | float
    signs: Signs = Signs()


@dataclass(frozen=True)
class Constant:
    """c[bank][register + offset]."""

    bank: int
    offset: int
    register: Register | None = None
    signs: Signs = Signs()


@dataclass(frozen=True)
class Memory:
    """[register + uniform register + offset]."""

    register: Register | None
    wide: bool
    """The register is a pair: a 64-bit address."""
    shift: int
    uniform: Register | None
    uniform_wide: bool
    offset: int


@dataclass(frozen=True)
class ConvergenceBarrier:
    """A convergence barrier, B0 … B15."""

    number: int


@dataclass(frozen=True)
class Word:
    """Anything else that is one word: a special register, a label, PR."""

    text: str


Operand = Register | Predicate | Number | Constant | Memory | ConvergenceBarrier | Word

_REGISTER = re.compile(r"(U?R)(Z|\d+)((?:\.\w+)*)")
_SPLIT = re.compile(r",(?![^\[]*\])(?![^{]*\})")
_FLOATS = {"INF": float("inf"), "QNAN": float("nan"), "SNAN": float("nan"), "NAN": float("nan")}


def parse(text: str) -> tuple[Operand, ...]:
    """Parse the operands of an instruction.

    >>> parse("R5,desc[UR6][R2.64+0x10]")[1]  # doctest: +ELLIPSIS
    Memory(register=Register(number=2,...), wide=True, ..., offset=16)

    Raises DecodeProblem for a form that is not known.
    """
    found: list[Operand] = []
    for part in _SPLIT.split(text) if text else []:
        part = part.strip()
        # `[R9][R2.64]`: two addresses; `desc[UR6][R2.64]`: one.
        for each in re.split(r"(?<=\])(?=\[|desc)", part) if part.startswith("[") else [part]:
            found.append(_operand(each))  # noqa: PERF401  two loops read better
    return tuple(found)


@lru_cache(maxsize=1 << 14)  # a kernel names few, and often
def _operand(text: str) -> Operand:
    if re.fullmatch(r"!?U?P(T|\d)", text):
        negated = 16 if text.startswith("!") else 0
        name = text.lstrip("!")
        number = 7 if name.endswith("T") else int(name[-1]) + (8 if name[0] == "U" else 0)
        return Predicate(number + negated)
    body, signs = _signs(text)
    if found := _REGISTER.fullmatch(body):
        parts = [part for part in found[3].split(".") if part and part != "reuse"]
        if len(parts) > 1 and parts[0] != "F32x2":
            raise DecodeProblem(f"operand {text}")
        part = ".".join(parts)
        number = -1 if found[2] == "Z" else int(found[2])
        half = Signs(signs.negative, signs.absolute, signs.inverted, part)
        return Register(number, found[1] == "UR", half)
    if re.fullmatch(r"-?0x[0-9a-f]+", text):
        return Number(int(text, 16))
    if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text):
        return Number(float(text))
    if (found := re.fullmatch(r"([-+]?)(\w+)", text)) and found[2] in _FLOATS:
        return Number(-_FLOATS[found[2]] if found[1] == "-" else _FLOATS[found[2]])
    if found := re.fullmatch(r"c\[0x([0-9a-f]+)\]\[(.*)\](?:\.(H[01]_N?H[01]))?", body):
        place = _memory(found[2], text)
        index = place.register or place.uniform
        both = place.register is not None and place.uniform is not None
        if both or place.wide or place.uniform_wide or place.shift or int(found[1], 16) > 31:
            raise DecodeProblem(f"operand {text}")
        if not 0 <= place.offset < 1 << 16:
            raise DecodeProblem(f"operand {text}")
        if found[3]:
            signs = replace(signs, half=found[3])
        return Constant(int(found[1], 16), place.offset, index, signs)
    if found := re.fullmatch(r"(?:desc\[UR\d+\])?\[(.*)\]", text):
        return _memory(found[1], text)
    if found := re.fullmatch(r"B(\d+)", text):
        return ConvergenceBarrier(int(found[1]))
    # A matrix descriptor, a cache policy, a set of scoreboards.
    if re.fullmatch(r"[\w.$]+|gdesc\[UR(\d+|Z)\](\.\w+)*|desc\[UR\d+\]|\{[\d,]+\}", text):
        return Word(text)
    raise DecodeProblem(f"operand {text}")


def _signs(text: str) -> tuple[str, Signs]:
    """Take -, ~ and |…| off a source; `|R4|.reuse` and `-|R4|` too."""
    negative = text.startswith("-")
    inverted = text.startswith("~")
    body = text[1:] if negative or inverted else text
    absolute = body.startswith("|")
    if absolute:
        inside, _, after = body[1:].partition("|")
        body = inside + after
    return body, Signs(negative, absolute, inverted)


def _memory(text: str, whole: str) -> Memory:
    register, uniform, offset = None, None, 0
    wide = uniform_wide = False
    shift = 0
    for sign, term in re.findall(r"([-+]?)([^-+]+)", text):
        if found := _REGISTER.fullmatch(term):
            kinds = [kind for kind in found[3].split(".") if kind and kind != "reuse"]
            one = Register(-1 if found[2] == "Z" else int(found[2]), found[1] == "UR")
            if sign == "-" or not set(kinds) <= {"64", "X4", "X8", "X16", "U32"}:
                raise DecodeProblem(f"address {whole}")
            if one.uniform:
                uniform, uniform_wide = one, uniform_wide or "64" in kinds
            else:
                register, wide = one, "64" in kinds
                shift = {"X4": 2, "X8": 3, "X16": 4}.get(kinds[0] if kinds else "", 0)
                # A 32-bit register beside a 64-bit uniform base.
                uniform_wide = uniform_wide or "U32" in kinds
        elif re.fullmatch(r"0x[0-9a-f]+", term):
            offset += int(f"{sign}{term}", 16)
        else:
            raise DecodeProblem(f"address {whole}")
    return Memory(register, wide, shift, uniform, uniform_wide, offset)
