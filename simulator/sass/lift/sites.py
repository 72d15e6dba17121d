"""Memory instructions that are counted, and what the law calls them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from simulator.law.instructions import INSTRUCTIONS
from simulator.law.loops import LOOPS
from simulator.sass.code.nvdisasm import SassInstruction

__all__ = ["MemorySite", "Unit", "known_name"]

Unit = Literal["lsu", "gmma", "tma"]
"""What accesses memory: the load-store unit, the tensor cores of a warpgroup, or TMA."""


@dataclass(frozen=True)
class MemorySite:
    """One memory that an instruction accesses: copies have two, generic addresses three."""

    number: int
    instruction: SassInstruction
    space: str
    """shared or global; neighbour: shared memory of the cluster's other blocks."""
    op: str | None
    """Its name in simulator.INSTRUCTIONS; None: not in shared memory, or never measured."""
    is_store: bool
    width: int
    """Bytes that a lane accesses."""
    is_generic: bool = False
    """Whether an address tells the memory only when it is executed."""
    unit: Unit = "lsu"
    """What accesses it: the load-store unit, wgmma's operand reads, or TMA."""


def known_name(name: str, modifiers: Sequence[str]) -> str | None:
    """Name an instruction as simulator.INSTRUCTIONS does; None: not among the measured.

    >>> known_name("LDS", ["U", "128"]), known_name("ATOMS", ["MAX", "S32"])
    ('LDS.128', 'ATOMS.MAX')
    >>> known_name("LDGSTS", ["E", "BYPASS", "LTC128B", "128"])
    'LDGSTS.E.BYPASS.128'
    >>> known_name("ATOMS", ["CAST", "SPIN", "64"])
    'ATOMS.CAST.SPIN.64'
    """
    if name == "LDGSTS":
        kept = [each for each in ("BYPASS", "64", "128") if each in modifiers]
        full = ".".join([name, "E", *kept])
    elif name == "ATOMS":
        if "POPC" in modifiers:
            return "ATOMS.POPC.INC.32"
        how = ["CAST", "SPIN"] if list(modifiers[:2]) == ["CAST", "SPIN"] else modifiers[:1]
        full = ".".join([name, *how, *(["64"] if "64" in modifiers else [])])
    elif name in ("LDS", "STS"):
        full = ".".join([name, *(each for each in modifiers if each not in ("U", "32", "ZFILL"))])
        if name == "STS":
            full = full.replace(".S8", ".U8").replace(".S16", ".U16")
    else:
        full = ".".join([name, *modifiers])
    return full if full in INSTRUCTIONS or full.lower() in LOOPS else None
