"""Variables of a module that a kernel reads, that nothing wrote, and that nobody set: zeros."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.sass.code.cubin import Cubin, CubinKernel, base_name
from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.code.symbols import Symbol, module_symbols

__all__ = ["never_set"]

_LOADS = ("LD", "LDG", "LDGSTS")
_STORES = ("ST", "STG", "RED", "REDG", "ATOM", "ATOMG")
_CALLS = ("CALL", "BRX", "JMX")
_REGISTER = re.compile(r"(?<![\w.])(U?R\d+)\b")
_ADDRESSES = re.compile(r"c\[0x4\]\[(0x[0-9a-f]+|U?R(?:Z|\d+))\]")
_NUMBER = re.compile(r"(U?R\d+),(?:R?Z,R?Z,)?(0x[0-9a-f]+)")


def never_set(
    cubin: Cubin, kernel: CubinKernel, instructions: Iterable[SassInstruction],
    given: Mapping[str, Any],
) -> list[tuple[str, str]]:  # fmt: skip
    """Return the variables that the code reads, that hold zeros, and that nobody set.

    Each by its kind, "constant" or "variable", and its name. A variable of global memory counts
    where the kernel takes its address only to read.
    """
    code = tuple(instructions)
    names = {each.rsplit("::", 1)[-1] for each in given}
    symbols = [
        each
        for each in module_symbols(cubin).values()
        if not {each.name, base_name(each.name)} & names
    ]
    found = [("constant", each) for each in _constants(kernel, code, symbols)]
    found += [("variable", each) for each in _variables(cubin, kernel, code, symbols)]
    return [(kind, base_name(each.name)) for kind, each in found]


def _constants(
    kernel: CubinKernel, code: Iterable[SassInstruction], symbols: Iterable[Symbol]
) -> Iterator[Symbol]:
    text = " ".join(each.operands for each in code)
    offsets = {int(each, 16) for each in re.findall(r"c\[0x3\]\[(?:\w+\+)?(0x[0-9a-f]+)\]", text)}
    if re.search(r"c\[0x3\]\[(?:U?R\d+)\]", text):
        offsets.add(0)
    for symbol in symbols:
        if symbol.bank is None:
            continue
        data = kernel.banks.get(symbol.bank, b"")
        read = any(symbol.offset <= each < symbol.offset + symbol.size for each in offsets)
        if read and not any(data[symbol.offset : symbol.offset + symbol.size]):
            yield symbol


# ---- Global memory. ------------------------------------------------------------------------------
def _variables(
    cubin: Cubin, kernel: CubinKernel, code: tuple[SassInstruction, ...], symbols: Iterable[Symbol]
) -> Iterator[Symbol]:
    zeros = {
        (each.section, each.offset + byte): each
        for each in symbols
        if each.bank is None and not any(_data(cubin, each))
        for byte in range(min(each.size, 1 << 16))
    }
    places = {
        offset: zeros[section, inside]
        for bank, offset, section, inside in kernel.addresses
        if bank == 4 and (section, inside) in zeros
    }
    if not places:
        return
    uses = _Uses(places)
    for _ in range(2):  # a loop's registers come round
        for each in code:
            uses.see(each)
    for symbol in dict.fromkeys(places.values()):
        if symbol in uses.read and symbol not in uses.written:
            yield symbol


def _data(cubin: Cubin, symbol: Symbol) -> bytes:
    data = next((each.data for each in cubin.variables if each.name == symbol.section), b"")
    return data[symbol.offset : symbol.offset + symbol.size]


@dataclass
class _Uses:
    """Which variables a kernel reads, and which it may write, by the registers of addresses."""

    places: Mapping[int, Symbol]
    """Variables by the offset in bank 4 that has their address."""
    read: set[Symbol] = field(default_factory=set)
    written: set[Symbol] = field(default_factory=set)
    """Also those whose address goes to memory or to a function."""
    held: dict[str, frozenset[Symbol]] = field(default_factory=dict)
    """By register: the variables whose address it may be a part of."""
    numbers: dict[str, int] = field(default_factory=dict)
    """By register: an offset in bank 4 that was moved to it."""

    def see(self, instruction: SassInstruction) -> None:
        """Take the next instruction in."""
        name = instruction.opcode.split(".")[0]
        text = re.sub(r"desc\[[^\]]*\]", "", instruction.operands)
        if name in (*_LOADS, *_STORES):
            brackets = re.findall(r"\[[^\]]*\]", text)
            there = self._of("".join(brackets[-1:]))
            (self.written if name in _STORES else self.read).update(there)
            self.written |= self._of(re.sub(r"\[[^\]]*\]", "", text)) if name in _STORES else set()
            if name not in _STORES:
                self._hold(instruction, text, frozenset())
            return
        if name in _CALLS:
            if ".ABS" not in instruction.opcode:  # the system's functions write none
                self.written.update(*self.held.values())
            return
        first, _, rest = text.partition(",")
        if name.startswith(("ST", "ATOM", "RED")) and not name.startswith("REDUX"):
            self.written |= self._of(text)
        else:
            self._hold(instruction, first, self._of(rest))

    def _of(self, text: str) -> frozenset[Symbol]:
        found = [self.held.get(each, frozenset()) for each in _REGISTER.findall(text)]
        taken = [self._at(each) for each in _ADDRESSES.findall(text)]
        return frozenset().union(*found, (each for each in taken if each is not None))

    def _at(self, where: str) -> Symbol | None:
        """Give the variable whose address bank 4 has at an offset, or at a register's."""
        if where.endswith("Z"):
            return self.places.get(0)
        if where.startswith("0x"):
            return self.places.get(int(where, 16))
        if where not in self.numbers:  # it may be any
            self.written.update(self.places.values())
        return self.places.get(self.numbers.get(where, -1))

    def _hold(self, instruction: SassInstruction, text: str, symbols: frozenset[Symbol]) -> None:
        target = _REGISTER.search(text.partition(",")[0])
        if target is None:
            return
        moved = _NUMBER.fullmatch(instruction.operands) if "MOV" in instruction.opcode else None
        self.numbers.pop(target[1], None)
        if moved and not instruction.guard:
            self.numbers[target[1]] = int(moved[2], 16)
        kind, number = re.fullmatch(r"(U?R)(\d+)", target[1]).groups()  # type: ignore[union-attr]
        wide = 2 if re.search(r"\.(?:64|WIDE)", instruction.opcode) else 1
        for register in (f"{kind}{int(number) + each}" for each in range(wide)):
            before = self.held.get(register, frozenset())
            self.held[register] = symbols | before if instruction.guard else symbols
