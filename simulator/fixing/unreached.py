"""Accesses to shared memory that no lane made: equal outputs do not tell about them."""

from __future__ import annotations

from simulator.fixing.refusing import lines_text
from simulator.sass.report import CompiledReport

__all__ = ["unreached"]

_ACCESSES = ("ATOMS", "LDGSTS", "LDS", "LDSM", "STS", "STSM")


def unreached(report: CompiledReport) -> str:
    """Return `line 9` or `lines 9, 12`, those of accesses that no lane made; "" for none."""
    found = report.instructions
    rows = zip(found["opcode"], found["line"], found["wavefronts"], strict=True)
    made: dict[int, bool] = {}
    for opcode, line, wavefronts in rows:
        if line and opcode.split(".")[0] in _ACCESSES:
            # A copy takes wavefronts for its conflicts alone.
            is_made = wavefronts != 0 or opcode.startswith("LDGSTS")
            made[line] = made.get(line, False) or is_made
    lines = sorted(line for line, is_any in made.items() if not is_any)
    return lines_text(lines) if lines else ""
