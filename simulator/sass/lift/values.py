"""Values of LLVM IR with Python's operators: one number, or one for each of a warp's 32 lanes.

A `Value` knows the function that it is being emitted into, so `a * b + c` writes a multiplication
and an addition there. A scalar beside a vector is spread over its lanes; a Python integer takes
the other operand's type. Integers are unsigned, unless a method says otherwise; comparisons of
floats are false where one is not a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from llvmlite import ir

from simulator.sass.lift.kinds import (
    F32,
    F64,
    FLOAT_BITS,
    I1,
    I32,
    element_of,
    like,
    vector,
)

if TYPE_CHECKING:
    from simulator.sass.lift.emitter import Emitter

__all__ = ["Operand", "Splat", "Value"]


class Splat(ir.Constant):  # type: ignore[misc]
    """A vector of equal integers, as LLVM prints it: a list of 32 takes long to read."""

    def __init__(self, kind: Any, number: int) -> None:
        super().__init__(kind, None)
        self.number = number

    def _get_reference(self) -> str:
        return f"splat ({ir.Constant(self.type.element, self.number)})"


@dataclass(frozen=True, eq=False)
class Value:
    """A value in the function that `at` emits."""

    at: Emitter
    ir: Any

    @property
    def type(self) -> Any:
        """Its LLVM type."""
        return self.ir.type

    @property
    def is_vector(self) -> bool:
        """Whether it has an element for each lane."""
        return isinstance(self.ir.type, ir.VectorType)

    @property
    def is_float(self) -> bool:
        """Whether its elements are floats."""
        return isinstance(element_of(self.ir.type), ir.FloatType | ir.DoubleType | ir.HalfType)

    @property
    def bits(self) -> int:
        """Bits of an element."""
        element = element_of(self.ir.type)
        return int(element.width) if isinstance(element, ir.IntType) else FLOAT_BITS[element]

    # ---- Arithmetic. ---------------------------------------------------------------------------
    def _do(self, integer: str, floating: str, other: Operand, swap: bool = False) -> Value:
        left, right = self.at.alike(self, other)
        if swap:
            left, right = right, left
        build = getattr(self.at.builder, floating if left.is_float else integer)
        return Value(self.at, build(left.ir, right.ir))

    def __add__(self, other: Operand) -> Value:
        return self._do("add", "fadd", other)

    def __sub__(self, other: Operand) -> Value:
        return self._do("sub", "fsub", other)

    def __rsub__(self, other: Operand) -> Value:
        return self._do("sub", "fsub", other, swap=True)

    def __mul__(self, other: Operand) -> Value:
        return self._do("mul", "fmul", other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self._do("udiv", "fdiv", other, swap=True)

    def __mod__(self, other: Operand) -> Value:
        return self._do("urem", "frem", other)

    def __and__(self, other: Operand) -> Value:
        return self._do("and_", "", other)

    def __or__(self, other: Operand) -> Value:
        return self._do("or_", "", other)

    def __xor__(self, other: Operand) -> Value:
        return self._do("xor", "", other)

    def __lshift__(self, other: Operand) -> Value:
        return self._do("shl", "", other)

    def __rshift__(self, other: Operand) -> Value:
        return self._do("lshr", "", other)

    def shift_signed(self, other: Operand) -> Value:
        """Shift right, copies of the sign coming in; by less than the width."""
        return self._do("ashr", "", other)

    def __invert__(self) -> Value:
        return self ^ -1

    def __neg__(self) -> Value:
        return Value(self.at, self.at.builder.fneg(self.ir)) if self.is_float else 0 - self

    # ---- Comparisons. --------------------------------------------------------------------------
    def compare(self, how: str, other: Operand, signed: bool = False) -> Value:
        """Compare: <, <=, >, >=, == or !=."""
        left, right = self.at.alike(self, other)
        builder = self.at.builder
        if left.is_float:
            build = builder.fcmp_unordered if how == "!=" else builder.fcmp_ordered
        else:
            build = builder.icmp_signed if signed else builder.icmp_unsigned
        return Value(self.at, build(how, left.ir, right.ir))

    def __eq__(self, other: Operand) -> Value:  # type: ignore[override]
        return self.compare("==", other)

    def __ne__(self, other: Operand) -> Value:  # type: ignore[override]
        return self.compare("!=", other)

    def __lt__(self, other: Operand) -> Value:
        return self.compare("<", other)

    def __le__(self, other: Operand) -> Value:
        return self.compare("<=", other)

    def __gt__(self, other: Operand) -> Value:
        return self.compare(">", other)

    def __ge__(self, other: Operand) -> Value:
        return self.compare(">=", other)

    def less_signed(self, other: Operand) -> Value:
        """Whether it is less, both read as signed integers."""
        return self.compare("<", other, signed=True)

    @property
    def is_nan(self) -> Value:
        """Whether it is not a number."""
        return Value(self.at, self.at.builder.fcmp_unordered("uno", self.ir, self.ir))

    # ---- Choices and conversions. --------------------------------------------------------------
    def choose(self, yes: Operand, no: Operand) -> Value:
        """Return `yes` where this bit is set, else `no`."""
        if not isinstance(yes, Value):
            if not isinstance(no, Value):
                raise TypeError("one of the two must be a value")
            yes = self.at.constant(no.type, yes)
        yes, no = self.at.alike(yes, no)
        condition = self
        if self.is_vector and not yes.is_vector:
            yes, no = yes.spread(), no.spread()
        return Value(self.at, self.at.builder.select(condition.ir, yes.ir, no.ir))

    def spread(self) -> Value:
        """Return a vector: of a scalar, which each lane gets, or as it is."""
        if self.is_vector:
            return self
        kind = vector(self.type)
        builder = self.at.builder
        if isinstance(self.ir, ir.Constant) and isinstance(self.type, ir.IntType):
            return Value(self.at, Splat(kind, self.ir.constant))
        one = builder.insert_element(ir.Constant(kind, None), self.ir, ir.Constant(I32, 0))
        zeros = ir.Constant(vector(I32), None)
        return Value(self.at, builder.shuffle_vector(one, one, zeros))

    def _to(self, how: str, element: Any) -> Value:
        kind = like(self.type, element)
        if kind == self.type:
            return self
        return Value(self.at, getattr(self.at.builder, how)(self.ir, kind))

    def resized(self, bits: int, signed: bool = False) -> Value:
        """Return the integer in another width."""
        if bits <= self.bits:
            return self._to("trunc", ir.IntType(bits))
        return self._to("sext" if signed else "zext", ir.IntType(bits))

    @property
    def as_float(self) -> Value:
        """The same 32 or 64 bits as a float."""
        return self._to("bitcast", F32 if self.bits == 32 else F64)

    @property
    def as_bits(self) -> Value:
        """The same bits as an integer."""
        return self._to("bitcast", ir.IntType(self.bits))

    @property
    def single(self) -> Value:
        """The float rounded to 32 bits, or widened to them."""
        return self._to("fptrunc" if self.bits > 32 else "fpext", F32)

    @property
    def double(self) -> Value:
        """The float with 64 bits."""
        return self._to("fpext", F64)

    def to_float(self, element: Any, signed: bool) -> Value:
        """Return the integer's value as a float, rounded to nearest."""
        return self._to("sitofp" if signed else "uitofp", element)

    def to_integer(self, bits: int, signed: bool) -> Value:
        """Return the float's value, whole and within the range, as an integer."""
        return self._to("fptosi" if signed else "fptoui", ir.IntType(bits))

    # ---- Lanes. --------------------------------------------------------------------------------
    @property
    def ballot(self) -> Value:
        """A bit for each lane, as 32 bits; of a scalar all or none."""
        if not self.is_vector:
            return self.resized(32, signed=True)
        return Value(self.at, self.at.builder.bitcast(self.ir, I32))

    @property
    def by_lane(self) -> Value:
        """A mask of 32 bits as one bit for each lane."""
        return Value(self.at, self.at.builder.bitcast(self.ir, vector(I1)))

    def lane(self, index: Operand) -> Value:
        """Return the element of one lane; of a scalar itself."""
        if not self.is_vector:
            return self
        place = index.ir if isinstance(index, Value) else ir.Constant(I32, index)
        return Value(self.at, self.at.builder.extract_element(self.ir, place))

    def from_lanes(self, lanes: Sequence[int]) -> Value:
        """Return the elements of other lanes, which are known; a scalar as it is."""
        if not self.is_vector:
            return self
        places = ir.Constant(vector(I32), list(lanes))
        return Value(self.at, self.at.builder.shuffle_vector(self.ir, self.ir, places))

    def reduced(self, how: str) -> Value:
        """Combine all lanes: add, and, or, umin, umax, smin, smax."""
        return self.at.intrinsic(f"vector.reduce.{how}", element_of(self.type), self)

    @property
    def lowest(self) -> Value:
        """The place of the lowest bit that is set; the width for 0."""
        return self.at.intrinsic("cttz", self.type, self, Value(self.at, ir.Constant(I1, 0)))

    @property
    def leading(self) -> Value:
        """How many bits above the highest that is set are not; the width for 0."""
        return self.at.intrinsic("ctlz", self.type, self, Value(self.at, ir.Constant(I1, 0)))

    @property
    def ones(self) -> Value:
        """How many bits are set."""
        return self.at.intrinsic("ctpop", self.type, self)

    __hash__ = object.__hash__


Operand: TypeAlias = Value | int | float
