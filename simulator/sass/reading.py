"""A replay for people: its table without rows that say nothing, and what each unit did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from layouts.errors import plural
from simulator.results.tables import Columns, rows
from simulator.results.text import Table

__all__ = ["for_people", "unit_sentences"]

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


def unit_sentences(shares: Columns, pipe: int, moved: Mapping[str, Any]) -> list[str]:
    """Return what units other than the load-store unit did, a sentence for each that ran.

    `shares` are those of a report, `pipe` the wavefronts of all units, `moved` what TMA moved.
    """
    by_unit = {row["unit"]: row for row in rows(shares)}
    gmma, tma, said = by_unit.get("gmma"), by_unit.get("tma"), []
    if gmma or tma:
        lsu = by_unit.get("lsu", {"wavefronts": 0, "share": 0.0})
        parts = [f"loads, stores and atomics (lsu) {lsu['wavefronts']:,} ({lsu['share']:g} %)"]
        if gmma:
            reads = f"{gmma['wavefronts']:,} ({gmma['share']:g} %)"
            parts.append(f"wgmma's operand reads (gmma) {reads}")
        if tma:
            parts.append("TMA (tma) none")
        said.append(f"Of {pipe:,} wavefronts of shared memory: {', '.join(parts)}.")
    if gmma:
        said.append(
            f"wgmma takes {gmma['tensor_cycles']:,} cycles of tensor cores. Nsight Compute's"
            " source view, and memory_l1_wavefronts_shared of metrics(), have its operand"
            " reads among shared memory's wavefronts."
        )
    if tma:
        said.append(
            f"TMA moved {moved['bytes']:,} bytes in {moved['rows']:,} rows."
            f" Its instructions were executed {moved['executed']:,} times."
        )
    return said


def _is_idle(row: Mapping[str, Any]) -> bool:
    """Whether warps executed an instruction of the load-store unit, and no lane of them did."""
    return (
        row.get("unit") == "lsu"
        and bool(row["executed"])
        and all(row[name] == 0 for name in _COUNTED)
    )
