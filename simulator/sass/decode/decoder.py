"""The decoder: a kernel's printed instructions to a program for the machine.

A mnemonic, modifier or operand that is not known does not stop it, for it may never be executed:
it becomes an UNKNOWN that is refused when it is reached.
"""

from __future__ import annotations

import numpy as np

from simulator.sass import machine as m
from simulator.sass.code.cubin import CubinKernel
from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.decode import arithmetic, control, memory
from simulator.sass.decode.line import OPCODES, Line, Lowered, Opcode
from simulator.sass.decode.operands import DecodeProblem, Predicate, parse

__all__ = ["GROUPS", "OPCODES", "lower"]

GROUPS: dict[str, list[Opcode]] = {
    title: [each for each in OPCODES.values() if each.lower.__module__ == module.__name__]
    for title, module in (
        ("Arithmetic, moves, warps, tensor cores", arithmetic),
        ("Memory", memory),
        ("Control", control),
    )
}
"""The mnemonics that are modelled, as docs/sass.md lists them."""

_ENGINES = {
    "WARPGROUP": "wgmma", "HGMMA": "wgmma", "IGMMA": "wgmma", "QGMMA": "wgmma", "BGMMA": "wgmma",
    "UTMA": "TMA", "UBLK": "TMA", "SYNCS": "mbarriers", "ACQBULK": "TMA", "ARRIVES": "mbarriers",
    "UCGABAR": "clusters", "MAPA": "clusters", "CALL.ABS": "system calls", "LEPC": "system calls",
    "TEX": "textures", "TLD": "textures", "SULD": "surfaces", "SUST": "surfaces",
}  # fmt: skip
"""What opcodes that begin so belong to: hardware that is not modelled."""


def lower(instructions: tuple[SassInstruction, ...], kernel: CubinKernel) -> Lowered:
    """Lower a kernel's instructions."""
    lowered = Lowered(instructions, kernel)
    program = np.zeros((len(instructions), m.FIELDS), dtype=np.int64)
    program[:, [m.D, m.PD, m.QD, m.SITE, m.PA]] = -1
    program[:, [m.A, m.B, m.C]] = m.ZERO
    program[:, m.GUARD] = m.TRUE
    lowered.program = program
    for number, instruction in enumerate(instructions):
        try:
            _lower_one(lowered, number, instruction)
        except DecodeProblem as problem:
            lowered.problems[number] = str(problem)
            program[number, m.OP] = m.UNKNOWN
            program[number, m.SITE] = -1
    return lowered


def _lower_one(lowered: Lowered, number: int, instruction: SassInstruction) -> None:
    name, *modifiers = instruction.opcode.split(".")
    fields = lowered.program[number]
    if instruction.guard:
        guards = parse(instruction.guard.removeprefix("@"))
        if len(guards) != 1 or not isinstance(guards[0], Predicate):
            raise DecodeProblem(f"guard {instruction.guard}")
        fields[m.GUARD] = guards[0].code
    if name not in OPCODES:
        engine = next((what for start, what in _ENGINES.items() if name.startswith(start)), "")
        raise DecodeProblem(f"opcode {name}{f' of {engine}' if engine else ''}")
    line = Line(lowered, number, instruction, fields, parse(instruction.operands), tuple(modifiers))
    fields[m.UNI] = line.uniform
    OPCODES[name].lower(line)
    line.end()
