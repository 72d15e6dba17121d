"""Lifting a straight run of instructions to one LLVM function.

`i64 block(ptr warp, i32 mask)` gives the number of the instruction to go on at, or says that its
subwarp was filed elsewhere. Registers stay in SSA: each is loaded when it is first read, and what
was written is stored at the end, or before a helper reads it. Of a block there are two versions:
for all 32 lanes, and for a mask, in which what is written is chosen lane by lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from simulator.sass.lift.emitter import Emitter
from simulator.sass.lift.helpers import call
from simulator.sass.lift.kinds import I32, I64, POINTER, vector
from simulator.sass.lift.layout import (
    FAULTED,
    PREDICATES,
    REGISTERS,
    ROW,
    SCRATCH,
    SPECIAL,
    UNIFORM,
    UNIFORM_PREDICATES,
    ZERO,
    Fault,
)
from simulator.sass.lift.line import Bits, Condition, InBank, Named, SourceOperand, TargetOperand
from simulator.sass.lift.program import Program
from simulator.sass.lift.state import context, field, fill, pointer, record
from simulator.sass.lift.subwarps import barrier_row
from simulator.sass.lift.values import Value

__all__ = ["Block", "lift", "symbol"]

WORDS = vector(I32)
_OWN = ("register", "predicate", "uniform", "uniform predicate")
_SIGNS = {32: 0x8000_0000, 16: 0x8000_8000}


def symbol(start: int, is_masked: bool) -> str:
    """Name the function of a block."""
    return f"block.{start}.{'masked' if is_masked else 'whole'}"


def lift(program: Program, start: int, is_masked: bool) -> ir.Module:
    """Lift the straight run that begins at an instruction."""
    module = ir.Module(symbol(start, is_masked))
    kind = ir.FunctionType(I64, [POINTER, I32])
    function = ir.Function(module, kind, module.name)
    block = Block(Emitter(function), program, is_masked)
    for number in program.run_from(start):
        block.step(number)
        if block.at.builder.block.is_terminated:
            return module
    block.go(number + 1)
    return module


class Block:
    """A block of instructions while it is lifted: where opcodes read and write.

    `active`: the lanes that take part in the instruction, one bit each; None: all.
    """

    def __init__(self, at: Emitter, program: Program, is_masked: bool) -> None:
        self.at = at
        self.program = program
        self.warp, self.mask = at.arguments
        if not is_masked:
            self.mask = at.i32(-1)
        self.is_masked = is_masked
        self.lanes = self.mask.by_lane if is_masked else None
        self.active: Value | None = None
        self.number = 0
        self.steps = 0
        self._known: dict[tuple[str, int], Value] = {}
        self._changed: set[tuple[str, int]] = set()
        self.context = context(at, self.warp)

    # ---- Instructions. -------------------------------------------------------------------------
    def step(self, number: int) -> None:
        """Write one instruction."""
        self.number = number
        self.steps += 1
        step = self.program.steps[number]
        if step.uniform:
            self.active = None
            if not step.guard.is_always:
                self.active = self.condition(step.guard)
        else:
            self.active = self.lanes
            if not step.guard.is_always:
                guard = self.condition(step.guard).spread()
                self.active = guard if self.lanes is None else guard & self.lanes
        step.emit(self)

    @property
    def site(self) -> int:
        """The first number of what the instruction accesses, among all that is counted; or -1."""
        sites = self.program.steps[self.number].sites
        return sites.start if sites else -1

    @property
    def taken(self) -> Value:
        """The lanes that take part, as 32 bits."""
        if self.active is None:
            return self.mask
        return self.active.ballot

    # ---- State, cached in SSA. -----------------------------------------------------------------
    def _get(self, what: str, number: int) -> Value:
        key = (what, number)
        if key not in self._known:
            at = self.at
            offset = _offset(what, number)
            if what == "register":
                self._known[key] = at.load(self.warp, WORDS, offset)
            else:
                word = at.load(self.warp, I32, offset)
                if what == "predicate":
                    word = word.by_lane
                elif what == "uniform predicate":
                    word = word != 0
                self._known[key] = word
        return self._known[key]

    def _set(self, what: str, number: int, value: Value) -> None:
        key = (what, number)
        if self.active is not None:
            value = self.active.choose(value, self._get(what, number))
        if what in ("register", "predicate"):
            value = value.spread()
        self._known[key] = value
        self._changed.add(key)

    def flush(self) -> None:
        """Store what was written."""
        for key in sorted(self._changed):
            self._store(key)
        self._changed.clear()

    def _store(self, key: tuple[str, int]) -> None:
        value = self._known[key]
        if key[0] == "predicate":
            value = value.ballot
        elif key[0] == "uniform predicate":
            value = value.resized(32)
        self.at.store(value, self.warp, _offset(*key))

    def forget(self) -> None:
        """Read again what may have been written elsewhere; what was written must be stored."""
        self._known = {key: value for key, value in self._known.items() if key[0] not in _OWN}

    def stored(self, place: Named, words: int) -> Value:
        """Return the place of registers in the warp's memory, where they have been stored."""
        if place.number < 0:
            return self.at.i64(ZERO)
        if place.uniform:
            for word in range(words):
                value = self._get("uniform", place.number + word).spread()
                self.at.store(value, self.warp, SCRATCH + word * ROW)
            return self.at.i64(SCRATCH)
        for word in range(words):
            key = ("register", place.number + word)
            if key in self._changed:
                self._store(key)
                self._changed.discard(key)
        return self.at.i64(_offset("register", place.number))

    def landing(self, target: TargetOperand | None, words: int) -> Value:
        """Return the place of registers in the warp's memory that a helper will write.

        For lanes that take no part they keep what they hold.
        """
        if target is None:
            return self.at.i64(SCRATCH)
        if target.uniform:
            raise TypeError("a helper writes no uniform registers")
        place = self.stored(Named(target.number), words)
        for word in range(words):
            self._known.pop(("register", target.number + word), None)
        return place

    # ---- Reading. ------------------------------------------------------------------------------
    def read(self, source: SourceOperand) -> Value:
        """Read 32 bits."""
        return self._modified(source, self._word(source.place, 0))

    def floats(self, source: SourceOperand) -> Value:
        """Read a float32."""
        return self.read(source).as_float

    def pair(self, source: SourceOperand) -> Value:
        """Read 64 bits; of integers the low word is modified, of doubles the high one."""
        low, high = self._word(source.place, 0), self._word(source.place, 1)
        if source.kind in ("double", "float"):
            high = self._modified(source, high)
        else:
            low = self._modified(source, low)
        return join(low, high)

    def word(self, source: SourceOperand, which: int) -> Value:
        """Read one of several words, as it is."""
        return self._word(source.place, which)

    def _word(self, place: Named | Bits | InBank, which: int) -> Value:
        at = self.at
        if isinstance(place, Bits):
            return at.i32(place.value >> (32 * which) & 0xFFFFFFFF)
        if isinstance(place, InBank):
            return self.bank(place.bank, place.offset + 4 * which)
        if place.number < 0:
            return at.i32(0)
        what = "uniform" if place.uniform else "register"
        return self._get(what, place.number + which)

    def bank(self, bank: int, offset: int) -> Value:
        """Read a word of a constant bank."""
        key = (f"bank {bank}", offset)
        if key not in self._known:
            at = self.at
            start = at.load(pointer(at, self.context, "bank_at"), I64, 8 * bank)
            self._known[key] = at.load(pointer(at, self.context, "banks"), I32, start + offset)
        return self._known[key]

    def _modified(self, source: SourceOperand, word: Value) -> Value:
        if not source.changed:
            return word
        if source.half == "H0_NH1":  # the part for the high half is named first
            word = word << 16 | word >> 16 ^ 0x8000
        elif source.half:
            part = word >> 16 if source.half == "H1_H1" else word & 0xFFFF
            word = part | part << 16
        signs = _SIGNS[16 if source.kind == "half" else 32]
        if source.absolute:
            word = word & ~signs
        if source.kind == "int":
            return 0 - word if source.negative else ~word if source.inverted else word
        return word ^ signs if source.negative else word

    def condition(self, which: Condition) -> Value:
        """Read a predicate."""
        if which.number & 7 == 7:
            value = self.at.bit(True)
        elif which.number < 8:
            value = self._get("predicate", which.number)
        else:
            value = self._get("uniform predicate", which.number)
        return ~value if which.negated else value

    def special(self, row: int) -> Value:
        """Read one of the rows of special registers."""
        return self.at.load(self.warp, WORDS, SPECIAL + row * ROW)

    # ---- Writing. ------------------------------------------------------------------------------
    def write(self, target: TargetOperand | None, value: Value, word: int = 0) -> None:
        """Write 32 bits, or a float, for the lanes that take part."""
        if target is not None:
            what = "uniform" if target.uniform else "register"
            self._set(what, target.number + word, value.as_bits)

    def write_pair(self, target: TargetOperand | None, value: Value) -> None:
        """Write 64 bits to two registers."""
        bits = value.as_bits
        self.write(target, bits.resized(32))
        self.write(target, (bits >> 32).resized(32), 1)

    def write_first(self, target: TargetOperand | None, value: Value) -> None:
        """Write the value of the first lane that takes part for the whole warp."""
        first = self.taken.lowest & 31
        with self.once():
            self.write(target, value.lane(first))

    @contextmanager
    def once(self) -> Iterator[None]:
        """Write what is written inside for the whole warp, where a lane takes part."""
        active = self.active
        if active is not None:
            self.active = self.taken != 0
        yield
        self.active = active

    def write_condition(self, which: int | None, value: Value) -> None:
        """Write a predicate."""
        if which is not None:
            self._set("predicate" if which < 8 else "uniform predicate", which, value)

    def field(self, name: str) -> Value:
        """Read a field of the context."""
        return field(self.at, self.context, name)

    # ---- Where it goes on. ---------------------------------------------------------------------
    def go(self, number: int) -> None:
        """End the block: all its lanes go on at an instruction."""
        self.flush()
        self.at.give(self.at.i64(number))

    def give(self, value: Value | int) -> None:
        """End the block with what it returns; what was written must be stored."""
        self.at.give(value if isinstance(value, Value) else self.at.i64(value))

    def fault(self) -> None:
        """End the block after a fault that is noted."""
        fill(self.at, self.context, "pc", self.number)
        self.at.give(self.at.i64(FAULTED))

    def check(self, fine: Value) -> None:
        """End the block where a helper says that there was a fault."""
        with self.at.when(~fine, likely=False):
            self.fault()

    def trap(self, is_unknown: bool) -> None:
        """Refuse to go on, where a lane takes part."""
        at = self.at
        self.flush()
        with at.when(self.taken != 0):
            lane = self.taken.lowest.resized(64)
            thread = at.load(self.warp, I64, 8) * 32 + lane
            why = Fault.UNKNOWN if is_unknown else Fault.KILL
            record(at, self.context, why, thread, at.i64(0))
            self.fault()
        self.at.give(self.at.i64(self.number + 1))

    def help(self, name: str, *values: Value, options: tuple[int, ...] = ()) -> Value:
        """Call a helper with the warp and the lanes that take part."""
        return call(self.at, name, self.warp, self.taken, *values, options=options)

    def help_all(self, name: str, *values: Value, options: tuple[int, ...] = ()) -> Value:
        """Call a helper with the warp and all lanes of the block."""
        return call(self.at, name, self.warp, self.mask, *values, options=options)

    # ---- Convergence barriers, which lie in memory. --------------------------------------------
    def write_barrier(self, which: int, lanes: Value) -> None:
        """Set a convergence barrier of the lanes that take part."""
        self.store_row(barrier_row(which), lanes.spread())

    def store_row(self, place: int, value: Value) -> None:
        """Store a word of each lane that takes part, at a place in the warp's memory."""
        if self.active is not None:
            value = self.active.choose(value, self.at.load(self.warp, WORDS, place))
        self.at.store(value, self.warp, place)

    def leave_barrier(self, which: int, lanes: Value, clears: bool) -> None:
        """Take lanes out of a convergence barrier."""
        at, place = self.at, barrier_row(which)
        at.store(at.load(self.warp, WORDS, place) & ~lanes, self.warp, place)
        call(at, "reconverge", self.warp, options=(1,) if clears else ())
        if clears:
            call(at, "defer_others", self.warp, self.mask)


def join(low: Value, high: Value) -> Value:
    """Return two words as 64 bits."""
    low, high = low.at.alike(low, high)
    return high.resized(64) << 32 | low.resized(64)


def _offset(what: str, number: int) -> int:
    if what == "register":
        return REGISTERS + number * ROW
    if what == "predicate":
        return PREDICATES + 4 * number
    if what == "uniform":
        return UNIFORM + 4 * number
    return UNIFORM_PREDICATES + 4 * (number - 8)
