"""From printed instructions to the machine's rows of numbers.

Each mnemonic has a function, found by name in OPCODES, that reads the modifiers and operands
and fills in the fields which `simulator.sass.machine` lists. Operands become rows of the
register file: constants and immediates are given rows of their own, so that the machine's loops
see registers only. The functions are in `arithmetic`, `control` and `memory`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simulator.law.instructions import INSTRUCTIONS
from simulator.sass import machine as m
from simulator.sass.code.cubin import CubinKernel
from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.decode.operands import (
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

__all__ = ["OPCODES", "SPECIAL", "Lowered", "Opcode", "SharedInstruction", "known_name", "lowers"]

SPECIAL = (
    "SR_TID.X", "SR_TID.Y", "SR_TID.Z", "SR_CTAID.X", "SR_CTAID.Y", "SR_CTAID.Z", "SR_LANEID",
    "SR_EQMASK", "SR_LTMASK", "SR_LEMASK", "SR_GTMASK", "SR_GEMASK", "SR_SWINHI", "SR_LWINHI",
    "SR_CgaCtaId", "SR_CgaSize", "SR_VIRTUALSMID", "SR_TID", "SR_VIRTID",
)  # fmt: skip
"""Special registers, in the order of their rows."""

_MOST_CONSTANTS = 4096


@dataclass(frozen=True)
class SharedInstruction:
    """A shared-memory instruction: where it is and what the law calls it."""

    instruction: SassInstruction
    op: str | None
    """Its name in simulator.INSTRUCTIONS; None: one that was never measured."""
    is_store: bool


@dataclass(frozen=True)
class Opcode:
    """How one mnemonic is lowered, and a sentence about it."""

    name: str
    lower: Callable[[Line], None]
    says: str


OPCODES: dict[str, Opcode] = {}
"""Every mnemonic that is modelled."""


def lowers(*names: str, says: str) -> Callable[[Callable[[Line], None]], Callable[[Line], None]]:
    """Register a function for some mnemonics."""

    def register(function: Callable[[Line], None]) -> Callable[[Line], None]:
        for name in names:
            OPCODES[name] = Opcode(name, function, says)
        return function

    return register


@dataclass
class Lowered:
    """A program for the machine."""

    instructions: tuple[SassInstruction, ...]
    kernel: CubinKernel
    program: NDArray[np.int64] = field(init=False)
    sites: list[SharedInstruction] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)
    """Why the instruction of that number is UNKNOWN."""
    constants: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """Rows by (kind, bank or 0, bits or offset): what to fill in at a launch."""
    rows: int = m.FIRST_FREE + len(SPECIAL)
    registers: int = 0
    """Registers that the code names: the rest of the file stays unused."""

    def row(self, kind: str, bank: int, value: int, words: int = 1) -> int:
        """Row of a constant, with the rows of its further words behind it."""
        key = (kind + str(words), bank, value)
        if key not in self.constants:
            if self.rows > m.FIRST_FREE + _MOST_CONSTANTS:
                raise DecodeProblem("too many constants")
            self.constants[key] = self.rows
            self.rows += words
        return self.constants[key]

    def constant(self, bank: int, offset: int, words: int) -> int:
        """Row of a word in a constant bank."""
        if offset % 4 or offset + 4 * words > len(self.kernel.banks.get(bank, b"")):
            raise DecodeProblem(f"c[{bank:#x}][{offset:#x}], which is outside of the bank,")
        return self.row("bank", bank, offset, words)


@dataclass
class Line:
    """One instruction on its way: its text and the fields to fill."""

    lowered: Lowered
    number: int
    instruction: SassInstruction
    fields: NDArray[np.int64]
    operands: tuple[Operand, ...]
    modifiers: tuple[str, ...]
    next: int = 0
    """The operand to read next."""

    @property
    def name(self) -> str:
        """The mnemonic."""
        return self.instruction.opcode.split(".")[0]

    @property
    def uniform(self) -> bool:
        """Whether it belongs to the uniform datapath: once a warp, whatever its mask."""
        return self.name.startswith("U")

    def only(self, *accepted: str) -> None:
        """Refuse modifiers other than these."""
        strange = [each for each in self.modifiers if each not in accepted]
        if strange:
            raise DecodeProblem(f"modifier .{strange[0]} of {self.name}")

    def has(self, *names: str) -> bool:
        """Whether one of the modifiers is there."""
        return any(name in self.modifiers for name in names)

    def peek(self, kind: type) -> bool:
        """Whether the next operand is of this kind."""
        return self.next < len(self.operands) and isinstance(self.operands[self.next], kind)

    def take(self) -> Operand:
        """Read the next operand."""
        if self.next >= len(self.operands):
            raise DecodeProblem(f"too few operands of {self.name}")
        self.next += 1
        return self.operands[self.next - 1]

    def end(self) -> None:
        """Refuse operands that nothing has read."""
        if self.next < len(self.operands):
            raise DecodeProblem(f"operand {self.next + 1} of {self.name}")

    def set(self, op: int, **values: int) -> None:
        """Set the opcode and fields by name."""
        self.fields[m.OP] = op
        for name, value in values.items():
            self.fields[getattr(m, name.upper())] = value

    def destination(self, words: int = 1) -> None:
        """Read the destination register into D."""
        self.fields[m.D] = self.target(words)

    def target(self, words: int = 1) -> int:
        """Read the row of a register that is written; -1 for RZ."""
        register = self.take()
        if not isinstance(register, Register):
            raise DecodeProblem(f"destination of {self.name}")
        return -1 if register.is_zero else self.register_row(register, words)

    def register_row(self, register: Register, words: int = 1) -> int:
        """Row of a register that may be the first of several."""
        if register.is_zero:
            return m.ZERO
        if register.number + words > (63 if register.uniform else 255):
            raise DecodeProblem(f"register {register.number} of {self.name}")
        if register.uniform:
            return m.UNIFORM + register.number
        self.lowered.registers = max(self.lowered.registers, register.number + words)
        return register.number

    def predicate_targets(self) -> None:
        """Read up to two destination predicates into PD and QD."""
        for place in (m.PD, m.QD):
            if self.peek(Predicate):
                self.fields[place] = self.predicate_target()

    def predicate_target(self) -> int:
        """Read the number of a predicate that is written; -1 for PT."""
        predicate = self.take()
        if not isinstance(predicate, Predicate) or predicate.code >= 16:
            raise DecodeProblem(f"predicate of {self.name}")
        return -1 if predicate.code == m.TRUE else predicate.code

    def predicate(self, default: int = m.TRUE) -> int:
        """Read a source predicate, if there is one."""
        if not self.peek(Predicate):
            return default
        found = self.take()
        if not isinstance(found, Predicate):
            raise DecodeProblem(f"predicate of {self.name}")
        return found.code

    def source(self, place: int, kind: str = "int", words: int = 1) -> None:
        """Read a source into A, B or C and its modifier; kind: int, float, half or double."""
        row, modifier = self.value(kind, words)
        self.fields[place] = row
        self.fields[place + m.MA - m.A] = modifier

    def value(self, kind: str, words: int = 1) -> tuple[int, int]:
        """Read a source: its row and modifier."""
        operand = self.take()
        if isinstance(operand, Register):
            return self.register_row(operand, words), self.modifier(operand.signs, kind)
        if isinstance(operand, Constant) and operand.register is None:
            if kind == "half" and operand.signs.half:
                raise DecodeProblem(f"constant of {self.name}")
            row = self.lowered.constant(operand.bank, operand.offset, words)
            return row, self.modifier(operand.signs, kind)
        if isinstance(operand, Number):
            if kind == "half":
                return self.halves(operand), 0
            return self.lowered.row("bits", 0, _bits(operand.value, kind), words), 0
        raise DecodeProblem(f"operand {self.next} of {self.name}")

    def halves(self, first: Number) -> int:
        """Two immediates, the high half first; one alone is a word of bits."""
        if isinstance(first.value, int):
            return self.lowered.row("bits", 0, first.value & 0xFFFFFFFF)
        second = self.take()
        if not isinstance(second, Number):
            raise DecodeProblem(f"immediate of {self.name}")
        pair = 0
        for number in (first, second):
            if self.has("BF16_V2", "BF16"):
                bits = struct.unpack("<I", struct.pack("<f", number.value))[0] >> 16
            else:
                bits = int(np.float16(number.value).view(np.uint16))
            pair = pair << 16 | bits
        return self.lowered.row("bits", 0, pair)

    def modifier(self, signs: Signs, kind: str) -> int:
        """Give the machine's bits for -, ~, |…| and parts of registers."""
        is_int, is_half = kind == "int", kind == "half"
        bits = 0
        if signs.half:
            if not is_half or signs.half not in ("H0_H0", "H1_H1", "H1_H0"):
                raise DecodeProblem(f"part .{signs.half} of {self.name}")
            bits |= {"H0_H0": m.LOW_H, "H1_H1": m.HIGH_H, "H1_H0": 0}[signs.half]
        if signs.absolute:
            if is_int:
                raise DecodeProblem(f"|…| of {self.name}")
            bits |= m.ABS_H if is_half else m.ABS_F
        if signs.negative:
            bits |= m.NEG_I if is_int else (m.NEG_H if is_half else m.NEG_F)
        if signs.inverted:
            if not is_int:
                raise DecodeProblem(f"~ of {self.name}")
            bits |= m.INVERT
        return bits

    def immediate(self) -> int:
        """Read an operand that must be an integer in the instruction."""
        number = self.take()
        if not isinstance(number, Number) or not isinstance(number.value, int):
            raise DecodeProblem(f"immediate of {self.name}")
        return number.value

    def label(self) -> int:
        """Read a branch target: the number of an instruction."""
        operand = self.take()
        entries = self.lowered.kernel.entries
        if isinstance(operand, Word) and operand.text in entries:
            address = entries[operand.text]
        elif isinstance(operand, Number) and isinstance(operand.value, int):
            address = operand.value
        else:
            raise DecodeProblem(f"target of {self.name}")
        if address % 16 or not 0 <= address < 16 * len(self.lowered.instructions):
            raise DecodeProblem(f"target {address:#x} of {self.name}")
        return address // 16

    def take_part(self, part: str) -> None:
        """Take .ROW or .COL off the next register."""
        operand = self.operands[self.next] if self.next < len(self.operands) else None
        if isinstance(operand, Register) and operand.signs.half == part:
            plain = Register(operand.number, operand.uniform)
            self.operands = (
                *self.operands[: self.next], plain, *self.operands[self.next + 1 :],
            )  # fmt: skip

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


def known_name(name: str, modifiers: Sequence[str]) -> str | None:
    """Name an instruction as simulator.INSTRUCTIONS does; None: not among the measured.

    >>> known_name("LDS", ["U", "128"]), known_name("ATOMS", ["MAX", "S32"])
    ('LDS.128', 'ATOMS.MAX')
    >>> known_name("LDGSTS", ["E", "BYPASS", "LTC128B", "128"])
    'LDGSTS.E.BYPASS.128'
    """
    if name == "LDGSTS":
        kept = [each for each in ("BYPASS", "64", "128") if each in modifiers]
        full = ".".join([name, "E", *kept])
    elif name == "ATOMS":
        if "POPC" in modifiers:
            return "ATOMS.POPC.INC.32"
        full = ".".join([name, *modifiers[:1], *(["64"] if "64" in modifiers else [])])
    elif name in ("LDS", "STS"):
        full = ".".join([name, *(each for each in modifiers if each not in ("U", "32", "ZFILL"))])
        if name == "STS":
            full = full.replace(".S8", ".U8").replace(".S16", ".U16")
    else:
        full = ".".join([name, *modifiers])
    return full if full in INSTRUCTIONS else None
