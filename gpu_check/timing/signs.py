"""Count how often an estimate tells which of two launches is the faster one.

    python -m gpu_check.timing.signs [MODEL]

Compared are all launches of the recorded sets that differ in layout alone, two by two; MODEL is
that of `gpu_check.timing.errors sets`. A row is for gains between two estimates of like size:
`faster` and `slower` count the pairs whose measured cycles differ as the estimates do, and the
other way, by more than 0.5 %.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from math import inf
from typing import Any

from gpu_check.timing.errors import ALIKE, SETS, paired, set_rows
from simulator.timing.gains import SLACK

__all__ = ["both_gains", "sign_rows"]

_SIZES = (1.005, 1.01, 1.02, SLACK, 1.05, 1.1, 1.2, inf)
"""Rows are of gains up to these."""


def both_gains(rows: Iterable[Mapping[str, Any]]) -> list[tuple[float, float]]:
    """Return of each two launches of a pair the estimated gain, at least 1, and the measured one.

    `rows`: of one set, as `gpu_check.timing.errors.beside` returns them.
    """
    found = []
    for group in paired(row for row in rows if row["estimate"]).values():
        for one, other in combinations(group, 2):
            slow, fast = sorted((one, other), key=lambda row: -row["estimate"])
            found.append((slow["estimate"] / fast["estimate"], slow["measured"] / fast["measured"]))
    return found


def sign_rows(gains: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
    """Return a row per size of gain, then one of those that can be told, and one of the others.

    Columns: gain (estimated), pairs, faster, alike, slower.
    """
    sizes = [(0.0, _SIZES[0]), *pairwise(_SIZES), (SLACK, inf), (ALIKE, SLACK)]
    return [_row(gains, least, most) for least, most in sizes]


def _row(gains: Sequence[tuple[float, float]], least: float, most: float) -> dict[str, Any]:
    ends = [f"above ×{least}"] * (least > 0) + [f"up to ×{most}"] * (most < inf)
    measured = [gain for estimated, gain in gains if least < estimated <= most]
    faster = sum(gain > ALIKE for gain in measured)
    slower = sum(gain < 1 / ALIKE for gain in measured)
    alike = len(measured) - faster - slower
    return {
        "gain": " ".join(ends), "pairs": len(measured),
        "faster": faster, "alike": alike, "slower": slower,
    }  # fmt: skip


def main(model: str = "before") -> None:
    """Print the table."""
    from tabulate import tabulate

    gains = [both for name in SETS for both in both_gains(set_rows(name, model))]
    print(tabulate(sign_rows(gains), headers="keys", tablefmt="github"))


if __name__ == "__main__":
    main(*sys.argv[1:])
