"""A replay's table for people: without rows that say nothing, and with what zeros mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from layouts.errors import plural
from simulator.results.text import Table

__all__ = ["for_people"]

_COUNTED = ("wavefronts", "sectors", "packets")
_BYPASS = (
    "LDGSTS.E.BYPASS (cp.async.cg) does not pass through the shared-memory pipe: it has no"
    " wavefronts and no bank conflicts there."
)


def for_people(table: Table) -> Table:
    """Return a replay's table without instructions that no lane executed; a sentence counts them.

    >>> row = {"unit": "lsu", "executed": 4, "wavefronts": 0, "sectors": 0, "packets": 0}
    >>> rows = [{"opcode": "LDS", **row}, {"opcode": "STS", **row, "wavefronts": 4}]
    >>> shown = for_people(Table(rows, {}))
    >>> [row["opcode"] for row in shown.rows], shown.text[0][:38]
    (['STS'], 'Left out: 1 instruction that no lane e')
    """
    kept = [row for row in table.rows if not _is_idle(row)]
    idle = len(table.rows) - len(kept)
    said = []
    if idle:
        said.append(
            f"Left out: {plural(idle, 'instruction')} that no lane executed, such as the LDS that"
            " the compiler puts before LDGSTS (--format csv and json have all)."
        )
    if any(row.get("opcode", "").startswith("LDGSTS.E.BYPASS") for row in kept):
        said.append(_BYPASS)
    return replace(table, rows=kept, text=[*said, *table.text])


def _is_idle(row: Mapping[str, Any]) -> bool:
    """Whether warps executed an instruction of the load-store unit, and no lane of them did."""
    return (
        row.get("unit") == "lsu"
        and bool(row["executed"])
        and all(row[name] == 0 for name in _COUNTED)
    )
