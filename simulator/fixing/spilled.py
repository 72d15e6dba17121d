"""Which accesses to shared memory take their address from local memory.

A compiler that runs out of registers stores a base, or an index, in local memory and reads it back;
tables of pointers lie there, too. This walks the kernel's ways with the registers that hold such a
value, or one that was computed from it.
"""

from __future__ import annotations

import re

from simulator.sass.code.nvdisasm import SassInstruction
from simulator.sass.lift.program import Program
from simulator.sass.lift.unwaited import RegisterUse

__all__ = ["from_local_memory"]

_REGISTER = re.compile(r"\bU?R\d+\b")
_ADDRESS = re.compile(r"\[([^\]]*)\]")


def from_local_memory(program: Program) -> frozenset[int]:
    """Return the numbers of instructions whose first address was kept in local memory."""
    codes = program.instructions
    if not any(each.opcode.startswith("LDL") for each in codes):
        return frozenset()
    uses = [_used(*each) for each in zip(codes, program.touches, strict=True)]
    held: dict[int, frozenset[str]] = {0: frozenset()}
    found, todo = set[int](), [0]
    while todo:
        number = todo.pop()
        code, touch, before = codes[number], program.touches[number], held[number]
        reads, writes = uses[number]
        address = _ADDRESS.search(code.operands)
        if address and before & set(_REGISTER.findall(address[1])):
            found.add(number)
        is_kept = code.opcode.startswith("LDL") or (before & reads and not _loads(code))
        after = before | writes if is_kept else before if code.guard else before - writes
        for to in {number + 1, *touch.targets}:
            known = held.get(to)
            if to < len(codes) and (known is None or not after <= known):
                held[to] = after | (known or frozenset())
                todo.append(to)
    return frozenset(found)


def _used(code: SassInstruction, touch: RegisterUse) -> tuple[frozenset[str], frozenset[str]]:
    """Return the registers that an instruction reads, and those that it writes."""
    first, *rest = code.operands.split(",")
    named = _REGISTER.findall(first)
    written = {f"R{each}" for each in touch.written}
    written |= {each for each in named if each.startswith("U") and "[" not in first}
    read = {f"R{each}" for each in touch.registers - touch.written}
    read |= set(_REGISTER.findall(",".join(rest if written else code.operands.split(","))))
    return frozenset(read), frozenset(written)


def _loads(code: SassInstruction) -> bool:
    """Whether what it writes comes from memory: not from the registers that tell the place."""
    return code.opcode.split(".")[0] in (
        "LD",
        "LDG",
        "LDS",
        "LDSM",
        "LDC",
        "ATOM",
        "ATOMS",
        "ATOMG",
    )
