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
    merged, as for atomics, it is the wavefronts; a dot is a bank that rests, and
    -- the number of the bank to the left.

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
        # Beside each other, numbers of two digits would run together.
        cells = "".join(
            "--" if depth > 9 and bank and depths[bank - 1] == depth else f"{depth or '.':<2}"
            for bank, depth in enumerate(depths)
        )
        lines.append(f"{label:<{LABEL}}{cells}".rstrip())
    return lines
