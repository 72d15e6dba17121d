"""What a driver fills into a kernel's instructions when it loads them: relocations of code.

Where asserts stand in a large kernel, ptxas writes the address of a text as two halves, each an
immediate. The call is a name. Here the halves are read from a constant bank of our own, whose
addresses are filled in as those of other banks are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simulator.sass.code.nvdisasm import SassInstruction

__all__ = ["BANK", "SYSTEM", "CodeLink", "linked", "read_links"]

BANK = 31
"""The constant bank that holds the addresses; no kernel has so many."""

SYSTEM = ("vprintf", "malloc", "free", "__assertfail")
"""Functions that the system has."""

_HALF = re.compile(r"32@(lo|hi)\(.*\)$")


@dataclass(frozen=True)
class CodeLink:
    """An instruction that names something: its address, and what it names."""

    at: int
    section: str
    """The section of a variable; "" for a place in the code, or a function of the system's."""
    inside: int = 0
    """Where in the section."""
    offset: int = -1
    """Where in the bank its address lies; -1: nowhere."""


def read_links(elf: Any, relocations: Iterable[Any], symbols: Sequence[Any]) -> list[CodeLink]:
    """Return what instructions name that a driver can fill in; [] where a linker has to."""
    found: list[CodeLink] = []
    offsets: dict[tuple[str, int], int] = {}
    for each in relocations:
        symbol = symbols[each["r_info_sym"]]
        if symbol["st_shndx"] == "SHN_UNDEF":
            if symbol.name not in SYSTEM:
                return []
            found.append(CodeLink(each["r_offset"], ""))
            continue
        if elf.header.e_type != "ET_EXEC" or not isinstance(symbol["st_shndx"], int):
            return []
        section = elf.get_section(symbol["st_shndx"]).name
        if section.startswith(".text."):
            found.append(CodeLink(each["r_offset"], ""))
        elif section in (".nv.global", ".nv.global.init"):
            inside = symbol["st_value"] + (each["r_addend"] if each.is_RELA() else 0)
            offset = offsets.setdefault((section, inside), 8 * len(offsets))
            found.append(CodeLink(each["r_offset"], section, inside, offset))
        else:
            return []
    return found


def linked(
    instructions: tuple[SassInstruction, ...], links: Sequence[CodeLink]
) -> tuple[SassInstruction, ...]:
    """Return the instructions with halves of addresses read from the bank.

    The place behind a call of the system, which nobody goes back to, is zero.
    """
    at = {link.at: link for link in links}

    def one(instruction: SassInstruction) -> SassInstruction:
        found, link = _HALF.search(instruction.operands), at.get(instruction.address)
        if found is None or link is None:
            return instruction
        place = f"c[{BANK:#x}][{link.offset + 4 * (found[1] == 'hi'):#x}]"
        text = instruction.operands[: found.start()] + (place if link.offset >= 0 else "0x0")
        return replace(instruction, operands=text)

    return tuple(map(one, instructions)) if links else instructions
