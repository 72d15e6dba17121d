"""Writing a function of LLVM IR: constants, calls, memory, and control that nests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from simulator.sass.lift.kinds import (
    I1,
    I8,
    I32,
    I64,
    LANES,
    POINTER,
    element_of,
    size_of,
    suffix,
    vector,
)
from simulator.sass.lift.values import Operand, Splat, Value

__all__ = ["Emitter", "StackSlot"]


class StackSlot:
    """A place on the stack, for what a loop changes."""

    def __init__(self, at: Emitter, start: Value) -> None:
        self.at = at
        with at.builder.goto_entry_block():
            self.place = at.builder.alloca(start.type)
        self.type = start.type
        self.set(start)

    @property
    def pointer(self) -> Value:
        """Where it lies."""
        builder = self.at.builder
        address = builder.ptrtoint(self.place, I64)
        return Value(self.at, builder.inttoptr(address, POINTER))

    def get(self) -> Value:
        """Read it."""
        return Value(self.at, self.at.builder.load(self.place, typ=self.type))

    def set(self, value: Operand) -> None:
        """Write it."""
        given = value if isinstance(value, Value) else self.at.constant(self.type, value)
        self.at.builder.store(given.ir, self.place)


class Emitter:
    """Writes one function."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.arguments = [Value(self, each) for each in function.args]

    # ---- Constants and operands. ---------------------------------------------------------------
    def constant(self, kind: Any, value: int | float) -> Value:
        """Return a number in a type."""
        element = element_of(kind)
        if isinstance(element, ir.IntType):
            number = int(value) & ((1 << element.width) - 1)
            if isinstance(kind, ir.VectorType):
                return Value(self, Splat(kind, number))
            return Value(self, ir.Constant(kind, number))
        if isinstance(kind, ir.VectorType):
            return Value(self, ir.Constant(kind, [float(value)] * kind.count))
        return Value(self, ir.Constant(kind, float(value)))

    def i32(self, value: int) -> Value:
        """Return a 32-bit integer."""
        return self.constant(I32, value)

    def i64(self, value: int) -> Value:
        """Return a 64-bit integer."""
        return self.constant(I64, value)

    def bit(self, value: bool) -> Value:
        """Return a bit."""
        return self.constant(I1, value)

    def each(self, values: Sequence[int]) -> Value:
        """Return a 32-bit integer for each lane."""
        return Value(self, ir.Constant(vector(I32), [value & 0xFFFFFFFF for value in values]))

    def alike(self, left: Value, other: Operand) -> tuple[Value, Value]:
        """Return both in one type."""
        if not isinstance(other, Value):
            return left, self.constant(left.type, other)
        if left.is_vector and not other.is_vector:
            return left, other.spread()
        if other.is_vector and not left.is_vector:
            return left.spread(), other
        return left, other

    # ---- Calls. --------------------------------------------------------------------------------
    def declared(self, name: str, result: Any, kinds: Sequence[Any]) -> Any:
        """Find or declare a function of the module."""
        known = self.function.module.globals.get(name)
        if known is None:
            signature = ir.FunctionType(result, kinds)
            known = ir.Function(self.function.module, signature, name)
        return known

    def called(self, place: Value, result: Any, *values: Value) -> Value:
        """Call the function at a pointer."""
        kind = ir.FunctionType(result, [value.type for value in values])
        target = self.builder.inttoptr(self.builder.ptrtoint(place.ir, I64), kind.as_pointer())
        return Value(self, self.builder.call(target, [value.ir for value in values]))

    def call(self, name: str, result: Any, *values: Value) -> Value:
        """Call a function by its name."""
        function = self.declared(name, result, [value.type for value in values])
        return Value(self, self.builder.call(function, [value.ir for value in values]))

    def intrinsic(self, name: str, result: Any, *values: Value) -> Value:
        """Call an intrinsic function of LLVM that is named by its first operand's type."""
        return self.call(f"llvm.{name}.{suffix(values[0].type)}", result, *values)

    # ---- Memory. -------------------------------------------------------------------------------
    def load(self, pointer: Value, kind: Any, offset: Operand = 0, align: int = 0) -> Value:
        """Load from `offset` bytes behind a pointer."""
        place = self.beside(pointer, offset)
        return Value(self, self.builder.load(place.ir, typ=kind, align=align or size_of(kind)))

    def store(self, value: Value, pointer: Value, offset: Operand = 0, align: int = 0) -> None:
        """Store to `offset` bytes behind a pointer."""
        place = self.beside(pointer, offset)
        self.builder.store(value.ir, place.ir, align=align or size_of(value.type))

    def beside(self, pointer: Value, offset: Operand) -> Value:
        """Return the pointer some bytes behind another; of a vector of offsets, one per lane."""
        if not isinstance(offset, Value):
            if offset == 0:
                return pointer
            offset = self.i64(int(offset))
        place = self.builder.gep(pointer.ir, [offset.ir], source_etype=I8)
        if offset.is_vector:
            place.type = vector(POINTER)
        return Value(self, place)

    def pointer(self, address: Value) -> Value:
        """Read an integer as a pointer."""
        return Value(self, self.builder.inttoptr(address.ir, POINTER))

    def gather(self, pointers: Value, mask: Value, otherwise: Value, align: int) -> Value:
        """Load one element for each lane of a mask; `otherwise` for the others."""
        kind = otherwise.type
        name = f"llvm.masked.gather.{suffix(kind)}.v{LANES}p0"
        return self.call(name, kind, pointers, self.i32(align), mask, otherwise)

    def scatter(self, value: Value, pointers: Value, mask: Value, align: int) -> None:
        """Store one element for each lane of a mask, in the lanes' order."""
        name = f"llvm.masked.scatter.{suffix(value.type)}.v{LANES}p0"
        self.call(name, ir.VoidType(), value, pointers, self.i32(align), mask)

    # ---- Control. ------------------------------------------------------------------------------
    @contextmanager
    def when(self, condition: Value, likely: bool | None = None) -> Iterator[None]:
        """Do what is inside where a bit is set."""
        with self.builder.if_then(condition.ir, likely=likely):
            yield

    @contextmanager
    def loop(self, count: Operand) -> Iterator[Value]:
        """Do what is inside `count` times, a number of 64 bits; gives the number of the turn."""
        builder = self.builder
        index = StackSlot(self, self.i64(0))
        head, body, end = (
            builder.append_basic_block(name) for name in ("loop", "body", "end")
        )  # fmt: skip
        builder.branch(head)
        builder.position_at_end(head)
        turn = index.get()
        builder.cbranch((turn < count).ir, body, end)
        builder.position_at_end(body)
        yield turn
        if not builder.block.is_terminated:
            index.set(turn + 1)
            builder.branch(head)
        builder.position_at_end(end)

    @contextmanager
    def bits_of(self, mask: Value) -> Iterator[Value]:
        """Do what is inside for each bit that is set, the lowest first; gives its place."""
        builder = self.builder
        left = StackSlot(self, mask)
        head, body, end = (builder.append_basic_block(name) for name in ("bits", "bit", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        now = left.get()
        builder.cbranch((now != 0).ir, body, end)
        builder.position_at_end(body)
        left.set(now & (now - 1))
        yield now.lowest
        if not builder.block.is_terminated:
            builder.branch(head)
        builder.position_at_end(end)

    @contextmanager
    def forever(self) -> Iterator[Callable[[], None]]:
        """Do what is inside again and again; gives the function that leaves the loop."""
        builder = self.builder
        body, end = builder.append_basic_block("again"), builder.append_basic_block("left")
        builder.branch(body)
        builder.position_at_end(body)

        left = False

        def leave() -> None:
            nonlocal left
            left = True
            builder.branch(end)

        yield leave
        if not builder.block.is_terminated:
            builder.branch(body)
        builder.position_at_end(end)
        if not left:
            builder.unreachable()

    def variable(self, start: Value) -> StackSlot:
        """Make a place for what a loop changes."""
        return StackSlot(self, start)

    def give(self, value: Value | None = None) -> None:
        """Return."""
        if value is None:
            self.builder.ret_void()
        else:
            self.builder.ret(value.ir)
