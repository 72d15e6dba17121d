"""Reading an instruction's operands and modifiers, for the functions of `opcodes`.

What is read is typed: a `SourceOperand` is where a value comes from and what is done to it first, a
`TargetOperand` where one goes, a `Condition` a predicate. `block.Block` reads and writes them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from simulator.sass.code.cubin import CubinKernel
from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.lift.operands import (
    Constant,
    DecodeProblem,
    Memory,
    Number,
    Operand,
    Predicate,
    Register,
    Signs,
    Word,
)

if TYPE_CHECKING:
    from simulator.sass.lift.requests import Request
    from simulator.sass.lift.sites import MemorySite


__all__ = [
    "ALWAYS", "NEVER", "Bits", "Condition", "InBank", "Line", "Named", "SourceOperand",
    "TargetOperand",
]  # fmt: skip


@dataclass(frozen=True)
class Named:
    """A register, or the first of several; number -1: the zero register."""

    number: int
    uniform: bool = False


@dataclass(frozen=True)
class Bits:
    """An immediate: 32 or 64 bits."""

    value: int


@dataclass(frozen=True)
class InBank:
    """A word of a constant bank, or the first of several."""

    bank: int
    offset: int


@dataclass(frozen=True)
class SourceOperand:
    """A value that is read: where it is, and what is done to it first."""

    place: Named | Bits | InBank
    kind: str = "int"
    """int, float, half (two of 16 bits) or double."""
    negative: bool = False
    absolute: bool = False
    inverted: bool = False
    half: str = ""
    """H0_H0 or H1_H1: one half for both; H0_NH1: turned, and -H1 below."""

    @property
    def is_zero(self) -> bool:
        """Whether it is RZ, as it stands."""
        return isinstance(self.place, Named) and self.place.number < 0 and not self.changed

    @property
    def changed(self) -> bool:
        """Whether something is done to it."""
        return self.negative or self.absolute or self.inverted or bool(self.half)


@dataclass(frozen=True)
class TargetOperand:
    """A register that is written, or the first of several."""

    number: int
    uniform: bool = False


@dataclass(frozen=True)
class Condition:
    """A predicate that is read: 0 to 6, 7 for PT; 8 and more for uniform ones."""

    number: int
    negated: bool = False

    @property
    def is_always(self) -> bool:
        """Whether it is PT."""
        return self.number & 7 == 7 and not self.negated


ALWAYS, NEVER = Condition(7), Condition(7, negated=True)


_FOR_THE_WARP = ("R2UR", "S2UR", "CS2UR", "REDUX", "CREDUX", "VOTEU", "ELECT")
"""Mnemonics of lanes' instructions that write uniform registers."""


@dataclass
class Line:
    """One instruction on its way: its text, and the operand to read next."""

    number: int
    instruction: SassInstruction
    operands: tuple[Operand, ...]
    modifiers: tuple[str, ...]
    kernel: CubinKernel
    instructions: Sequence[SassInstruction]
    yields: bool = False
    """Whether the kernel has a YIELD or a NANOSLEEP."""
    next: int = 0
    most_register: int = 0
    """Registers that it names: one more than the highest."""
    # What the opcode's function may say about it:
    ends: bool = False
    """Whether the next instruction to run may be another than the one behind it."""
    targets: list[int] = field(default_factory=list)
    """Numbers of instructions that it may go to."""
    begins: bool = False
    """Whether a straight run begins at it."""
    sites: list[MemorySite] = field(default_factory=list)
    """What it accesses, where it is counted: one memory, or two."""
    request: Request | None = None
    """What a unit of Hopper's is asked to do."""
    touched: set[int] = field(default_factory=set)
    """Registers of lanes that it reads or writes."""
    written: set[int] = field(default_factory=set)
    """Those that it writes, as far as `target` read them."""

    @cached_property
    def name(self) -> str:
        """The mnemonic."""
        return self.instruction.opcode.split(".")[0]

    @property
    def uniform(self) -> bool:
        """Whether it belongs to the uniform datapath: once per warp, whatever its mask."""
        return self.name.startswith("U") or self.name == "LDCU"

    @property
    def writes_uniform(self) -> bool:
        """Whether its registers' result is the warp's: a uniform register."""
        return self.uniform or self.name in _FOR_THE_WARP

    # ---- Modifiers. ----------------------------------------------------------------------------
    def only(self, *accepted: str) -> None:
        """Refuse modifiers other than these."""
        strange = [each for each in self.modifiers if each not in accepted]
        if strange:
            raise DecodeProblem(f"modifier .{strange[0]} of {self.name}")

    def has(self, *names: str) -> bool:
        """Whether one of the modifiers is there."""
        return any(name in self.modifiers for name in names)

    # ---- Operands. -----------------------------------------------------------------------------
    def peek(self, kind: type) -> bool:
        """Whether the next operand is of this kind."""
        return self.next < len(self.operands) and isinstance(self.operands[self.next], kind)

    def take(self) -> Operand:
        """Read the next operand."""
        if self.next >= len(self.operands):
            raise DecodeProblem(f"too few operands of {self.name}")
        self.next += 1
        return self.operands[self.next - 1]

    def skip(self) -> None:
        """Pass over the operands that are left."""
        self.next = len(self.operands)

    def end(self) -> None:
        """Refuse operands that nothing has read."""
        if self.next < len(self.operands):
            raise DecodeProblem(f"operand {self.next + 1} of {self.name}")

    def target(self, words: int = 1) -> TargetOperand | None:
        """Read a register that is written; None for RZ."""
        register = self.take()
        if not isinstance(register, Register):
            raise DecodeProblem(f"destination of {self.name}")
        place = self.named(register, words)
        if place.number < 0:
            return None
        if place.uniform != self.writes_uniform:
            raise DecodeProblem(f"destination of {self.name}")
        if not place.uniform:
            self.written.update(range(place.number, place.number + words))
        return TargetOperand(place.number, place.uniform)

    def named(self, register: Register, words: int = 1) -> Named:
        """Check a register that may be the first of several."""
        if register.is_zero:
            return Named(-1)
        if register.number + words > (63 if register.uniform else 255):
            raise DecodeProblem(f"register {register.number} of {self.name}")
        if not register.uniform:
            self.most_register = max(self.most_register, register.number + words)
            self.touched.update(range(register.number, register.number + words))
        return Named(register.number, register.uniform)

    def plain(self, words: int = 1) -> Named:
        """Read a register to which nothing is done."""
        operand = self.take()
        if not isinstance(operand, Register) or operand.signs != Signs():
            raise DecodeProblem(f"data of {self.name}")
        return self.named(operand, words)

    def predicate_target(self) -> int | None:
        """Read the number of a predicate that is written; None for PT."""
        predicate = self.take()
        if not isinstance(predicate, Predicate) or predicate.code >= 16:
            raise DecodeProblem(f"predicate of {self.name}")
        return None if predicate.code & 7 == 7 else predicate.code

    def predicate_targets(self) -> tuple[int | None, int | None]:
        """Read up to two predicates that are written."""
        first = self.predicate_target() if self.peek(Predicate) else None
        second = self.predicate_target() if self.peek(Predicate) else None
        return first, second

    def condition(self, default: Condition = ALWAYS) -> Condition:
        """Read a predicate, if there is one."""
        if not self.peek(Predicate):
            return default
        found = self.take()
        if not isinstance(found, Predicate):
            raise DecodeProblem(f"predicate of {self.name}")
        return Condition(found.code & 15, found.code >= 16)

    def source(self, kind: str = "int", words: int = 1) -> SourceOperand:
        """Read a source; `kind`: int, float, half or double."""
        operand = self.take()
        if isinstance(operand, Register):
            place = self.named(operand, words)
            if self.uniform and not place.uniform and place.number >= 0:
                raise DecodeProblem(f"operand {self.next} of {self.name}")
            return self.changed(place, operand.signs, kind)
        if isinstance(operand, Constant) and operand.register is None:
            return self.changed(self.bank(operand.bank, operand.offset, words), operand.signs, kind)
        if isinstance(operand, Number):
            if kind == "half":
                return SourceOperand(Bits(self.halves(operand)), kind)
            return SourceOperand(Bits(_bits(operand.value, kind)), kind)
        raise DecodeProblem(f"operand {self.next} of {self.name}")

    def sources(self, kind: str, count: int) -> list[SourceOperand]:
        """Read several sources."""
        return [self.source(kind) for _ in range(count)]

    def bank(self, bank: int, offset: int, words: int) -> InBank:
        """Check a place in a constant bank."""
        size = -(-len(self.kernel.banks.get(bank, b"")) // 4) * 4  # a last half is read as a word
        if offset % 4 or offset + 4 * words > size:
            raise DecodeProblem(f"c[{bank:#x}][{offset:#x}], which is outside of the bank,")
        return InBank(bank, offset)

    def halves(self, first: Number) -> int:
        """Two immediates, the high half first; one alone is a word of bits."""
        if isinstance(first.value, int):
            return first.value & 0xFFFFFFFF
        second = self.take()
        if not isinstance(second, Number):
            raise DecodeProblem(f"immediate of {self.name}")
        pair = 0
        for number in (first, second):
            if self.has("BF16_V2", "BF16"):
                bits = struct.unpack("<I", struct.pack("<f", number.value))[0] >> 16
            else:
                with np.errstate(over="ignore"):
                    bits = int(np.float16(number.value).view(np.uint16))
            pair = pair << 16 | bits
        return pair

    def changed(self, place: Named | InBank, signs: Signs, kind: str) -> SourceOperand:
        """Check what is done to a source."""
        is_int, is_half = kind == "int", kind == "half"
        if signs.half and (not is_half or signs.half not in ("H0_H0", "H1_H1", "H1_H0", "H0_NH1")):
            raise DecodeProblem(f"part .{signs.half} of {self.name}")
        if signs.absolute and (is_int or signs.half == "H0_NH1"):
            raise DecodeProblem(f"|…| of {self.name}")
        if signs.inverted and not is_int:
            raise DecodeProblem(f"~ of {self.name}")
        half = signs.half if signs.half != "H1_H0" else ""
        return SourceOperand(place, kind, signs.negative, signs.absolute, signs.inverted, half)

    def immediate(self) -> int:
        """Read an operand that must be an integer in the instruction."""
        number = self.take()
        if not isinstance(number, Number) or not isinstance(number.value, int):
            raise DecodeProblem(f"immediate of {self.name}")
        return number.value

    def label(self) -> int:
        """Read a branch target: the number of an instruction."""
        operand = self.take()
        entries = self.kernel.entries
        if isinstance(operand, Word) and operand.text in entries:
            address = entries[operand.text]
        elif isinstance(operand, Number) and isinstance(operand.value, int):
            address = operand.value
        else:
            raise DecodeProblem(f"target of {self.name}")
        if address % 16 or not 0 <= address < 16 * len(self.instructions):
            raise DecodeProblem(f"target {address:#x} of {self.name}")
        self.targets.append(address // 16)
        return address // 16

    def take_part(self, *parts: str) -> str:
        """Take .ROW, .COL, .B1, … off the next register; which, or nothing."""
        operand = self.operands[self.next] if self.next < len(self.operands) else None
        if isinstance(operand, Register) and operand.signs.half in parts:
            if operand.signs != Signs(half=operand.signs.half):
                raise DecodeProblem(f"signs of a part of {self.name}")
            plain = Register(operand.number, operand.uniform)
            self.operands = (*self.operands[: self.next], plain, *self.operands[self.next + 1 :])
            return operand.signs.half
        return ""

    def address(self) -> Memory:
        """Read a memory operand."""
        operand = self.take()
        if not isinstance(operand, Memory):
            raise DecodeProblem(f"address of {self.name}")
        return operand


def _bits(value: int | float, kind: str) -> int:
    if kind == "double":
        if isinstance(value, int):
            return (value & 0xFFFFFFFF) << 32
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    if isinstance(value, int):
        return value & 0xFFFFFFFF
    if kind == "int":
        raise DecodeProblem(f"float {value} where an integer belongs")
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))
