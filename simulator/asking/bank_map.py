"""The 32 banks of an access in 80 columns: how many wavefronts each needs, phase by phase."""

from __future__ import annotations

from simulator.law.explaining import Explanation, ranges
from simulator.law.specification import BANKS

__all__ = ["LABEL", "bank_map"]

LABEL = 12
"""Characters before the first bank."""


def bank_map(one: Explanation) -> list[str]:
    r"""Return a line of bank numbers and a line per phase; phases that are alike share a line.

    A bank's number is the words that it serves, one per wavefront. Where lanes of one word are not
    merged, as for atomics, it is the wavefronts. A dot is a bank that rests, or nothing where it
    would touch a number of two digits; -- is the number of the bank to the left.

    >>> from simulator.law.explaining import explain
    >>> print("\n".join(bank_map(explain("LDS", [8 * lane for lane in range(32)]))))
    bank        0       4       8       12      16      20      24      28
    words       2 . 2 . 2 . 2 . 2 . 2 . 2 . 2 . 2 . 2 . 2 . 2 . 2 . 2 . 2 . 2 .
    """
    rows: dict[tuple[int, ...], list[int]] = {}
    for phase in one.phases:
        depths = tuple(len(phase.banks.get(bank, ())) for bank in range(BANKS))
        rows.setdefault(depths, []).append(phase.index)
    if not rows:
        return []
    unit = "words" if one.instruction.merges else "wavefronts"
    header = "".join(f"{bank:<8}" for bank in range(0, BANKS, 4))
    lines = [f"{'bank':<{LABEL}}{header}".rstrip()]
    for depths, indices in rows.items():
        several = len(one.phases) > 1
        label = f"phase {ranges(indices).replace(' ', '')}" if several else unit
        before = (0, *depths)
        cells = "".join(map(_cell, before, depths))
        lines.append(f"{label:<{LABEL}}{cells}".rstrip())
    return lines


def _cell(before: int, depth: int) -> str:
    """Return the two characters of a bank; beside each other, two digits would run together."""
    if before > 9 and depth in (0, before):
        return "--" if depth else "  "
    return f"{depth or '.':<2}"
