"""The table of opcodes: a function for each, and a sentence about it.

The function reads the operands of a `Line` and gives another, which writes what the instruction
does into a `Block`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from simulator.sass.lift.line import Line

if TYPE_CHECKING:
    from simulator.sass.lift.block import Block

__all__ = ["OPCODES", "Emit", "Opcode", "lifts"]

Emit: TypeAlias = "Callable[[Block], None]"


@dataclass(frozen=True)
class Opcode:
    """How one mnemonic is lifted, and a sentence about it."""

    name: str
    lift: Callable[[Line], Emit]
    says: str


OPCODES: dict[str, Opcode] = {}
"""Every mnemonic that is modelled."""


def lifts(*names: str, says: str) -> Callable[[Callable[[Line], Emit]], Callable[[Line], Emit]]:
    """Register a function for some mnemonics."""

    def register(function: Callable[[Line], Emit]) -> Callable[[Line], Emit]:
        for name in names:
            OPCODES[name] = Opcode(name, function, says)
        return function

    return register
