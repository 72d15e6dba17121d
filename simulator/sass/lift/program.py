"""Decoding: a kernel's printed instructions to what each does, and where straight runs begin.

A mnemonic, modifier or operand that is not known does not stop it, for it may never be executed:
it becomes a trap that is refused when it is reached.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simulator.sass.code.cubin import CubinKernel
from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.lift.data_addresses import addressed_by_data
from simulator.sass.lift.line import ALWAYS, Condition, Line
from simulator.sass.lift.operands import DecodeProblem, Predicate, parse
from simulator.sass.lift.requests import Product, Request
from simulator.sass.lift.sites import MemorySite
from simulator.sass.lift.table import OPCODES, Emit
from simulator.sass.lift.unwaited import RegisterUse, early_touches, with_meetings
from simulator.sass.lift.watching import suspecting

if TYPE_CHECKING:
    from simulator.sass.lift.block import Block

__all__ = ["DecodedInstruction", "Program", "decode"]

LONGEST = 256
"""Instructions that are lifted together: registers stay in SSA for so long."""

_ENGINES = {
    "UTC": "tensor memory (tcgen05)", "LDTM": "tensor memory (tcgen05)",
    "STTM": "tensor memory (tcgen05)",
    "TEX": "textures", "TLD": "textures", "SULD": "surfaces", "SUST": "surfaces",
}  # fmt: skip
"""What opcodes that begin so belong to: hardware that is not modelled."""


@dataclass(frozen=True)
class DecodedInstruction:
    """One decoded instruction."""

    instruction: SassInstruction
    guard: Condition
    uniform: bool
    emit: Emit
    """Writes what it does into a block."""
    ends: bool
    """Whether a straight run ends behind it."""
    problem: str = ""
    """Why it is refused when it is reached."""
    sites: range = range(0)
    """The numbers of what it accesses, among all accesses that are counted."""


@dataclass
class Program:
    """A kernel's instructions."""

    kernel: CubinKernel
    instructions: tuple[SassInstruction, ...]
    steps: list[DecodedInstruction] = field(default_factory=list)
    sites: list[MemorySite] = field(default_factory=list)
    requests: dict[int, Request] = field(default_factory=dict)
    """What units of Hopper's are asked to do, by instruction."""
    early: dict[int, frozenset[int]] = field(default_factory=dict)
    """Instructions that may touch registers of products too soon, with those products."""
    leaders: set[int] = field(default_factory=set)
    """Instructions at which straight runs begin, as far as the code tells."""
    registers: int = 1
    """Registers that the code names."""
    touches: list[RegisterUse] = field(default_factory=list)
    """What each instruction reads, writes and goes to."""

    @property
    def problems(self) -> dict[int, str]:
        """Why an instruction of some number is refused when it is reached."""
        return {number: step.problem for number, step in enumerate(self.steps) if step.problem}

    @cached_property
    def addressed_by_data(self) -> list[int]:
        """The instructions that access shared memory at addresses made of loaded data."""
        return addressed_by_data(self.instructions, self.touches)

    def ends(self) -> NDArray[np.int64]:
        """Return, for each instruction, the end of the straight run that begins at it."""
        size = len(self.steps)
        ends = np.zeros(size, dtype=np.int64)
        end = size
        for start in range(size - 1, -1, -1):
            if self.steps[start].ends or start + 1 in self.leaders:
                end = start + 1
            ends[start] = min(end, start + LONGEST)
        return ends

    def run_from(self, start: int) -> range:
        """Return the instructions that are lifted together from one on."""
        end = start + 1
        while end < len(self.steps) and end - start < LONGEST:
            if self.steps[end - 1].ends or end in self.leaders:
                break
            end += 1
        return range(start, end)

    def digest(self) -> str:
        """Name what is lifted: the instructions, and what is known of the kernel beside them."""
        texts = [str(each) for each in self.instructions]
        banks = {number: len(data) for number, data in sorted(self.kernel.banks.items())}
        about = (texts, sorted(self.kernel.entries.items()), banks)
        return sha256(repr(about).encode()).hexdigest()


def decode(instructions: tuple[SassInstruction, ...], kernel: CubinKernel) -> Program:
    """Decode a kernel's instructions."""
    program = Program(kernel, instructions)
    touches = [RegisterUse()] * len(instructions)
    names = {each.opcode.partition(".")[0] for each in instructions}
    yields = not names.isdisjoint(("YIELD", "NANOSLEEP"))
    for number, instruction in enumerate(instructions):
        line = Line(number, instruction, (), (), kernel, instructions, yields)
        guard, uniform = ALWAYS, False
        try:
            guard = _guard(instruction)
            emit = _emit(line)
            uniform = line.uniform
            if uniform and guard.number < 7:
                raise DecodeProblem(f"guard {instruction.guard} of {line.name}")
        except DecodeProblem as problem:
            program.steps.append(
                DecodedInstruction(instruction, guard, uniform, _trap, True, str(problem))
            )
            program.leaders.add(number + 1)
            continue
        sites = range(len(program.sites), len(program.sites) + len(line.sites))
        program.sites += line.sites
        program.registers = max(program.registers, line.most_register)
        program.leaders.update(line.targets)
        if line.begins:
            program.leaders.add(number)
        if line.request is not None:
            program.requests[number] = line.request
        program.steps.append(
            DecodedInstruction(instruction, guard, uniform, emit, line.ends, "", sites)
        )
        touches[number] = RegisterUse(
            frozenset(line.touched), frozenset(line.written), tuple(line.targets)
        )
    program.touches = touches = with_meetings(instructions, touches)
    products = {
        number: request.form
        for number, request in program.requests.items()
        if isinstance(request, Product)
    }
    program.early = early_touches(instructions, products, touches)
    for number in program.early:
        step = program.steps[number]
        program.steps[number] = replace(step, emit=suspecting(step.emit))
    return program


def _guard(instruction: SassInstruction) -> Condition:
    if not instruction.guard:
        return ALWAYS
    guards = parse(instruction.guard.removeprefix("@"))
    if len(guards) != 1 or not isinstance(guards[0], Predicate):
        raise DecodeProblem(f"guard {instruction.guard}")
    return Condition(guards[0].code & 15, guards[0].code >= 16)


def _emit(line: Line) -> Emit:
    name, *modifiers = line.instruction.opcode.split(".")
    if name not in OPCODES:
        engine = next((what for start, what in _ENGINES.items() if name.startswith(start)), "")
        raise DecodeProblem(f"opcode {name}{f' of {engine}' if engine else ''}")
    line.operands, line.modifiers = parse(line.instruction.operands), tuple(modifiers)
    emit = OPCODES[name].lift(line)
    line.end()
    return emit


def _trap(block: Block) -> None:
    block.trap(is_unknown=True)
