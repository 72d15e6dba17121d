"""How long the tensor cores take for a warpgroup's product (wgmma).

`simulator/law/data/wgmma.csv` was measured on an H100 (sm_90, driver 580.159.04, CUDA 13.0,
2026-11-21): m64nNk16 of 16-bit types, eight in a group, then a wait, which adds about 7 cycles to
each. No layout, swizzle or transposition changed them by 0.1 cycle. Other types read as many bytes,
and have published peaks in that proportion; they were not measured.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from importlib.resources import files
from typing import Literal

from layouts.shapes import is_integer
from simulator.errors import QuantityError

__all__ = ["Operands", "wgmma_cycles"]

Operands = Literal["SS", "RS"]
"""Where A and B lie: both in shared memory, or A in registers."""


@lru_cache
def _table() -> dict[str, dict[int, float]]:
    """Return measured cycles, by operands and N."""
    text = files("simulator.law").joinpath("data", "wgmma.csv").read_text(encoding="utf-8")
    found: dict[str, dict[int, float]] = {}
    for row in csv.DictReader(text.splitlines()):
        found.setdefault(row["operands"], {})[int(row["n"])] = float(row["cycles"])
    return found


def wgmma_cycles(n: int, operands: Operands = "SS") -> float:
    """Return the cycles of one product of 64 rows and n columns, in a group of eight.

    Between measured columns it is the straight line.

    >>> wgmma_cycles(128), wgmma_cycles(128, "RS"), wgmma_cycles(160)
    (70.9, 73.7, 87.2)

    Raises QuantityError for an n that wgmma does not have, or other operands.
    """
    table = _table()
    if not is_integer(n) or n % 8 or not 8 <= n <= 256:
        raise QuantityError(f"n = {n!r} (accepted: multiples of 8 from 8 to 256)")
    if operands not in table:
        raise QuantityError(f"operands = {operands!r} (accepted: 'SS', 'RS')")
    known = table[operands]
    below, above = (max(m for m in known if m <= n), min(m for m in known if m >= n))
    if below == above:
        return known[n]
    part = (n - below) / (above - below)
    return round(known[below] + part * (known[above] - known[below]), 1)
