"""One lane's view of an instruction, exact floats, and a program of such instructions.

`PLAIN` has a function for each opcode: it takes a `Lane`, reads operands and puts results.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

LANES = 32
WORD = 0xFFFFFFFF
NAN16, NAN32 = 0x7FFF, 0x7FFFFFFF

State = dict[str, list[int]]
"""Words by register: R…, P…, UR…, UP…; one for each lane."""
PLAIN: dict[str, Callable[[Lane], None]] = {}


def plain(*names: str) -> Callable[[Callable[[Lane], None]], Callable[[Lane], None]]:
    """Register the statement of some opcodes."""

    def register(function: Callable[[Lane], None]) -> Callable[[Lane], None]:
        PLAIN.update(dict.fromkeys(names, function))
        return function

    return register


# ---- Floats. -----------------------------------------------------------------------------------
FORMATS = {"F16": (11, -24, 16), "BF16": (8, -133, 128), "F32": (24, -149, 128),
           "F64": (53, -1074, 1024)}  # fmt: skip
"""Binary digits, the last place of the least number, and the exponent that is too large."""
ROUND = {"RN": "even", "RM": "down", "RP": "up", "RZ": "zero"}
WHOLE = {"even": round, "down": math.floor, "up": math.ceil, "zero": math.trunc}


def fit(exact: Fraction, how: str = "even", kind: str = "F32", minus: bool = False) -> float:
    """Round to a format; `minus`: the sign of a result that is zero before rounding."""
    digits, least, limit = FORMATS[kind]
    if not exact:
        return -0.0 if minus else 0.0
    size = abs(exact)
    highest = size.numerator.bit_length() - size.denominator.bit_length()
    highest -= size < Fraction(2) ** highest
    place = Fraction(2) ** max(highest + 1 - digits, least)
    found = WHOLE[how](exact / place) * place
    if abs(found) >= Fraction(2) ** limit:
        greatest = float((2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** (limit - 1))
        inward = how == "zero" or how == ("down" if exact > 0 else "up")
        found_float = greatest if inward else math.inf
        return found_float if exact > 0 else -found_float
    return math.copysign(float(found), 1 if exact > 0 else -1)


def total(a: float, b: float, c: float, how: str = "even", kind: str = "F32") -> float:
    """Return a·b + c, rounded once."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c if not (math.isfinite(a) and math.isfinite(b)) else c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    sign = math.copysign(1, a) * math.copysign(1, b)
    both = a * b == 0 == c and sign == math.copysign(1, c)
    return fit(exact, how, kind, sign < 0 if both else how == "down")


def product(a: float, b: float, how: str = "even", kind: str = "F32") -> float:
    """Return a·b, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b
    minus = math.copysign(1, a) * math.copysign(1, b) < 0
    return fit(Fraction(a) * Fraction(b), how, kind, minus)


def rounded(value: float, kind: str, how: str = "even") -> float:
    """Round a float to a narrower format."""
    if not math.isfinite(value):
        return value
    return fit(Fraction(value), how, kind, math.copysign(1, value) < 0)


def float_of(bits: int, kind: str = "F32") -> float:
    """Read a float."""
    if kind == "BF16":
        bits, kind = bits << 16, "F32"
    letters = {"F16": "<He", "F32": "<If", "F64": "<Qd"}[kind]
    return float(struct.unpack(f"<{letters[2]}", struct.pack(letters[:2], bits))[0])


def bits_of(value: float, kind: str = "F32") -> int:
    """Return the bits of a float that the format has."""
    if math.isnan(value):
        return {"F16": NAN16, "BF16": NAN16, "F32": NAN32, "F64": 0x7FF8 << 48}[kind]
    if kind == "BF16":
        return bits_of(value) >> 16
    letters = {"F16": "<He", "F32": "<If", "F64": "<Qd"}[kind]
    return int(struct.unpack(letters[:2], struct.pack(f"<{letters[2]}", value))[0])


def immediate(value: float, kind: str) -> int:
    """Return the bits of a number as the disassembler prints it; of bfloat16 those of a float32."""
    if kind == "BF16":
        return immediate(value, "F32") >> 16
    if math.isnan(value):
        return {"F16": 0x7E00, "F32": 0x7FC00000, "F64": 0x7FF8 << 48}[kind]
    return bits_of(value, kind)


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


# ---- Operands. ---------------------------------------------------------------------------------
SPLIT = re.compile(r",\s*(?![^\[]*\])")
FLOATS = {"INF": math.inf, "QNAN": math.nan}


class Lane:
    """One lane's view of an instruction: its operands in their order, and what it writes.

    `lanes`: those that take part; of a uniform opcode only lane 0 is asked.
    """

    def __init__(self, text: str, state: State, number: int, lanes: list[int], bank: bytes) -> None:
        opcode, _, operands = text.partition(" ")
        self.name, *self.modifiers = opcode.split(".")
        self.operands = SPLIT.split(operands) if operands else []
        self.state, self.number, self.lanes, self.bank = state, number, lanes, bank
        self.next = 0
        self.found: list[tuple[str, int]] = []
        self.uniform = self.name.startswith("U")

    def has(self, *names: str) -> bool:
        return any(name in self.modifiers for name in names)

    @property
    def least(self) -> Callable[..., int]:
        """`min` or `max`, by the predicate that follows."""
        return min if self.condition() else max

    @property
    def rounding(self) -> str:
        return next((how for name, how in ROUND.items() if self.has(name)), "even")

    @property
    def half(self) -> str:
        return "BF16" if self.has("BF16_V2", "BF16") else "F16"

    def number_of(self, value: int) -> int:
        """Read 32 bits as the instruction's type says."""
        return value if self.has("U32") else signed(value)

    def peek(self, start: str) -> bool:
        return self.next < len(self.operands) and bool(re.match(start, self.operands[self.next]))

    def take(self) -> str:
        self.next += 1
        return self.operands[self.next - 1]

    def of(self, other: int) -> Lane:
        """Return another lane's view, with the operands that are left."""
        lane = Lane("", self.state, other, self.lanes, self.bank)
        lane.operands, lane.next = self.operands, self.next
        return lane

    # ---- Reading. ------------------------------------------------------------------------------
    def place(self, text: str, word: int = 0) -> int:
        """Read a word of a register or a constant."""
        if text.endswith("RZ"):
            return 0
        if found := re.fullmatch(r"(U?R)(\d+)", text):
            return self.state[f"{found[1]}{int(found[2]) + word}"][self.number]
        found = re.fullmatch(r"c\[0x0\]\[(\w+)\]", text)
        assert found, text
        return int(struct.unpack_from("<I", self.bank, int(found[1], 16) + 4 * word)[0])

    def integer(self) -> int:
        """Read 32 bits, as their sign or inversion leaves them."""
        text = self.take()
        if re.fullmatch(r"-?0x[0-9a-f]+", text):
            return int(text, 16) & WORD
        value = self.place(text.lstrip("-~"))
        return -value & WORD if text[0] == "-" else ~value & WORD if text[0] == "~" else value

    def exact(self) -> int:
        """Read 32 bits for a sum whose carries count: -b is 2**32 - b, so -0 carries."""
        is_negative = self.peek(r"-(?!0x)")
        return self.integer() or (1 << 32 if is_negative else 0)

    def pair(self) -> int:
        """Read 64 bits of two registers."""
        text = self.take()
        return self.place(text) | self.place(text, 1) << 32

    def bits(self, kind: str = "F32") -> int:
        """Read a float's bits; a half from the part of the register that is named."""
        text = self.take()
        top = 1 << {"F32": 31, "F64": 63}.get(kind, 15)
        name = text.lstrip("-+")
        if name in FLOATS or re.fullmatch(r"[\d.e-]+", name):
            bits = immediate(FLOATS[name] if name in FLOATS else float(name), kind)
        else:
            body, _, part = name.strip("|").partition(".")
            bits = self.place(body) | (self.place(body, 1) << 32 if kind == "F64" else 0)
            bits = bits >> 16 if part in ("H1", "H1_H1") else bits
            bits &= 2 * top - 1
        if name.startswith("|"):
            bits &= ~top
        return bits ^ top if text.startswith("-") else bits

    def float(self, kind: str = "F32") -> float:
        return float_of(self.bits(kind), kind)

    def halves(self) -> tuple[float, float]:
        """Read two halves, the low one first; of immediates the high one is written first."""
        if self.peek(r"[-+]?[\dIQ]"):
            high, low = self.float(self.half), self.float(self.half)
            return low, high
        text = self.operands[self.next]
        if text.endswith(".H0_NH1"):  # the part for the high half first, and the low one negative
            minus, word = text[0] == "-", self.place(text.lstrip("-").partition(".")[0])
            self.next += 1
            low, high = (float_of(bits, self.half) for bits in (word >> 16, word & 0xFFFF))
            return low if minus else -low, -high if minus else high
        if ".H" in text or "RZ" in text:
            value = self.float(self.half)
            return value, value
        body = text.lstrip("-").strip("|")
        self.next += 1
        word = self.place(body)
        found = []
        for bits in (word & 0xFFFF, word >> 16):
            bits = bits & 0x7FFF if "|" in text else bits
            found.append(float_of(bits ^ 0x8000 if text[0] == "-" else bits, self.half))
        return found[0], found[1]

    def condition(self, default: bool = True) -> bool:
        """Read a predicate, if there is one."""
        if not self.peek(r"!?U?P[T\d]"):
            return default
        return self.holds(self.take())

    def holds(self, text: str) -> bool:
        name = text.lstrip("!")
        value = name.endswith("T") or bool(self.state[name][self.number])
        return value != text.startswith("!")

    # ---- Writing. ------------------------------------------------------------------------------
    def targets(self) -> list[str]:
        """Read the predicates that are written."""
        found = []
        while self.peek("U?P[T0-9]"):
            found.append(self.take())
        return found

    def put(self, target: str, value: int, words: int = 1) -> None:
        """Write a register, or a predicate."""
        if re.fullmatch(r"U?P\d", target):
            self.found.append((target, int(value)))
        elif not target.endswith(("RZ", "PT")):
            kind, number = re.fullmatch(r"(U?R)(\d+)", target).groups()  # type: ignore[union-attr]
            for word in range(words):
                self.found.append((f"{kind}{int(number) + word}", value >> 32 * word & WORD))

    def put_float(self, target: str, value: float, kind: str = "F32") -> None:
        self.put(target, bits_of(value, kind), 2 if kind == "F64" else 1)

    def put_halves(self, target: str, low: float, high: float) -> None:
        self.put(target, bits_of(low, self.half) | bits_of(high, self.half) << 16)


def run_plain(
    lines: list[str], values: dict[str, Any], threads: int, names: tuple[str, ...], bank: bytes
) -> State:
    """Run a straight-line program; what every register holds at the end."""
    state: State = {name: [0] * LANES for name in names}
    for name, given in values.items():
        state[name] = [int(x) for x in given] if hasattr(given, "__len__") else [int(given)] * LANES
    alive = [*range(threads)]
    for line in lines:
        guard, _, text = line.partition(" ") if line.startswith("@") else ("", "", line)
        lanes = [n for n in alive if not guard or Lane("", state, n, [], bank).holds(guard[1:])]
        if text == "EXIT":
            alive = [n for n in alive if n not in lanes]
            continue
        is_uniform = re.match(r"(U\w+|VOTEU|REDUX|R2UR)[. ]", text) is not None
        writes: list[tuple[int, str, int]] = []
        for n in lanes[:1] if is_uniform else lanes:
            lane = Lane(text, state, n, lanes, bank)
            PLAIN[lane.name](lane)
            writes += [(n, name, value) for name, value in lane.found]
        for n, name, value in writes:
            if name.startswith("U"):
                state[name] = [value] * LANES
            else:
                state[name][n] = value
    return state
