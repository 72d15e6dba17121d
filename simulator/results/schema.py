"""What `--format json` of each command is, as a JSON Schema.

Every command prints `{"rows": […], "totals": {…}}`. The names below are kept: a later version may
add some, and takes none away. docs/schema/ holds what `bankwise schema --write` makes of this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from simulator.results.columns import COLUMNS, STALLS
from simulator.results.files import save

__all__ = ["PRINTED", "Printed", "schema", "write_schemas"]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"

_TEXT, _FLAG = {"type": "string"}, {"type": "boolean"}
_INTEGER, _NUMBER = {"type": "integer"}, {"type": "number"}
_MAYBE_INTEGER = {"type": ["integer", "null"]}
_MAYBE_NUMBER = {"type": ["number", "null"]}
_MAYBE_TEXT = {"type": ["string", "null"]}
_SCALAR = {"type": ["string", "number", "boolean", "null"]}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _map(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _object(**members: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(members)}


_ELAPSED = {**_MAYBE_INTEGER, "description": "estimated, from the launch to the last block's end"}
"""Cycles of a kernel; those of an access are the pipe's."""
_CURE = _object(
    kind={"enum": ["pad", "swizzle", "layout"]}, text=_TEXT, notation=_TEXT, bytes=_MAYBE_INTEGER,
    everywhere=_TEXT, more=_MAYBE_INTEGER, operations=_INTEGER, wavefronts=_INTEGER,
    bank_conflicts=_INTEGER, excessive=_INTEGER, cycles=_INTEGER,
)  # fmt: skip
_FIX = _object(
    lines=_map({"type": "array"}),
    totals=_object(
        array=_TEXT, text=_TEXT, place=_TEXT, calls=_TEXT, kind=_TEXT,
        wavefronts_before=_INTEGER, wavefronts=_INTEGER,
        bank_conflicts_before=_INTEGER, bank_conflicts=_INTEGER, unremovable=_INTEGER, proved=_FLAG,
        outputs_equal=_FLAG, compiled=_FLAG, array_bytes_before=_INTEGER, array_bytes=_INTEGER,
        blocks_per_sm_before=_MAYBE_INTEGER, blocks_per_sm=_MAYBE_INTEGER, operations=_INTEGER,
        speedup=_MAYBE_NUMBER, notation=_TEXT, triton=_TEXT, why=_TEXT,
    ),
)  # fmt: skip
_FINDING = _object(
    scope={"enum": ["entry", "line", "array", "allowance", "baseline"]},
    limit=_TEXT, message=_TEXT, file=_TEXT, line=_INTEGER,
)  # fmt: skip
_SITE = _object(
    requests=_INTEGER, wavefronts=_INTEGER, ideal=_INTEGER, excessive=_INTEGER,
    bank_conflicts=_INTEGER,
)  # fmt: skip

_TYPES: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(
        (
            "aliases", "block", "called_from", "capability", "cause", "certificate", "chip",
            "differs", "document", "does", "entry", "estimate", "error", "evidence", "file",
            "form", "fragment", "fused",
            "gives", "grid", "ideal_of", "input", "kernel", "kind", "law", "memory", "objective",
            "opcode", "op",
            "parameters_of", "partners", "rule", "source", "space", "status", "symbol", "unit",
            "arch", "takes", "verdict",
        ),
        _TEXT,
    ),
    **dict.fromkeys(("extrapolated", "fuses", "merges", "proved", "worse"), _FLAG),
    **dict.fromkeys(
        ("correlation", "over_5", "over_50", "over_95", "over_least", "over_most", "dram_gb_per_s"),
        _MAYBE_NUMBER,
    ),
    **dict.fromkeys(("n_way", "share"), _NUMBER),
    **dict.fromkeys(("speedup", "speedup_without_conflicts", "seconds"), _MAYBE_NUMBER),
    **dict.fromkeys(("clock_mhz", "leading_dimension"), _MAYBE_INTEGER),
    **dict.fromkeys(("expression", "notation"), _MAYBE_TEXT),
    "lanes": _list(_INTEGER),
    "notes": _list(_TEXT),
    "findings": _list(_FINDING),
    "sources": _map(_TEXT),
    "reasons": _map(_INTEGER),
    "fixes": {"anyOf": [_list(_FIX), _map(_list(_FIX))]},
    "answer": _object(
        verdict=_TEXT,
        level={"enum": ["free", "harmless", "conflict", "nothing"]},
        cause=_TEXT,
        warp=_INTEGER,
        block={"type": ["string", "null"]},
        assumed=_list(_TEXT),
        cures=_list(_CURE),
        no_cure=_TEXT,
    ),
    "optimum": _object(
        objective=_TEXT, rule=_TEXT, values=_map(_SCALAR), before=_MAYBE_INTEGER, cost=_INTEGER,
        floor=_MAYBE_INTEGER, proved=_FLAG, certificate=_TEXT, expression=_MAYBE_TEXT,
        notation=_MAYBE_TEXT, leading_dimension=_MAYBE_INTEGER, operations=_MAYBE_INTEGER,
        bytes_before=_MAYBE_INTEGER, bytes=_MAYBE_INTEGER, blocks_per_sm=_MAYBE_INTEGER,
        padding=_MAYBE_TEXT, padding_cost=_MAYBE_INTEGER, padding_bytes=_MAYBE_INTEGER,
        skipped=_map(_INTEGER),
    ),
    **dict.fromkeys(("load", "store", "all"), _SITE),
}  # fmt: skip
"""Values by name; all other values are integers."""


@dataclass(frozen=True)
class Printed:
    """One kind of table that a command prints."""

    rows: str
    """Names that every row has."""
    totals: str
    """Names that the totals have; with --compare, those of each rule."""
    more: str = ""
    """Names that a row may have."""
    totals_more: str = ""
    """Names that the totals may have."""
    types: Mapping[str, Mapping[str, Any]] = ()  # type: ignore[assignment]
    """Where a name means something else than elsewhere."""
    parameters: bool = False
    """Whether rows have further columns, which the command line names."""


_COSTS = "wavefronts ideal excessive bank_conflicts"
_MOVED = "sectors ideal_sectors bytes rows tensor_cycles packets neighbour_cycles share"
_BEFORE = (
    "requests cycles_before cycles wavefronts_before wavefronts bank_conflicts_before"
    " bank_conflicts"
)
_UNKNOWN = {
    **dict.fromkeys((*_COSTS.split(), *_MOVED.split(), "executed"), _MAYBE_INTEGER),
    "share": _MAYBE_NUMBER,
    "neighbour_cycles": _MAYBE_NUMBER,
}

_TIME = (
    "kernel chip cycles active_cycles bound_cycles seconds range limiter cycles_without_conflicts"
    " bound_cycles_without_conflicts speedup_without_conflicts pipes reasons notes"
)
_TIME_TYPES: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("cycles", "cycles_without_conflicts"), _ELAPSED),
    "active_cycles": _MAYBE_INTEGER, "bound_cycles": _INTEGER,
    "bound_cycles_without_conflicts": _INTEGER,
    "seconds": _MAYBE_NUMBER, "speedup_without_conflicts": _MAYBE_NUMBER,
    "range": {"type": ["array", "null"], "items": _INTEGER},
    "limiter": _TEXT, "pipes": _map(_NUMBER), "reasons": _map(_NUMBER), "notes": _list(_TEXT),
}  # fmt: skip
_STALLED = " ".join(("address", "opcode", "chip", *STALLS))

PRINTED: Mapping[str, tuple[Printed, ...]] = {
    "explain": (
        Printed(
            "phase wavefront bank word byte lanes rule",
            f"requests {_COSTS} cycles n_way phases answer",
            "chip",
        ),
    ),
    "count": (
        Printed(f"access op phases {_COSTS} cycles n_way rule",
                f"requests {_COSTS} cycles n_way", "chip", "notes"),
    ),
    "compare": (
        Printed(f"input {_COSTS} wavefronts_change bank_conflicts_change", "worse",
                "cycles cycles_change array_bytes operations elapsed_cycles elapsed_cycles_change"
                " speedup",
                types=dict.fromkeys(("elapsed_cycles", "elapsed_cycles_change"), _MAYBE_INTEGER)),
    ),
    "optimize": (Printed(f"access op {_BEFORE}", f"{_BEFORE} optimum", types={"access": _TEXT}),),
    "sass": (
        Printed(f"file line executed {_COSTS} {_MOVED} rule",
                f"executed {_COSTS} {_MOVED} requests blocks extrapolated notes",
                "address opcode space unit called_from instructions chip", "fixes", types=_UNKNOWN),
        Printed(f"kernel grid block file line executed {_COSTS} {_MOVED} rule", "bank_conflicts",
                "address opcode space unit called_from instructions chip", "notes fixes",
                types=_UNKNOWN),
        Printed("file line warp_cycles selected rule", _TIME, _STALLED,
                types=_TIME_TYPES),
        Printed("kernel grid block file line warp_cycles selected rule", "launches",
                _STALLED,
                types={"launches": _list(_object(grid=_TEXT, block=_TEXT, **{
                    name: _TIME_TYPES.get(name, _TEXT) for name in _TIME.split()}))}),
        Printed("kernel symbol parameters instructions shared_bytes arch", "kernels",
                types={"instructions": _MAYBE_INTEGER, "shared_bytes": _MAYBE_INTEGER,
                       "arch": _MAYBE_TEXT, "symbol": _MAYBE_TEXT}),
        Printed("kernel parameters constants configurations", "kernels"),
    ),
    "simulate": (
        Printed(f"fragment op instructions {_COSTS} n_way cycles rule",
                f"instructions {_COSTS} n_way cycles", "chip", "notes"),
    ),
    "replay": (
        Printed(f"source memory kind op instructions requests {_COSTS} sectors lines evidence rule",
                "load store all", "chip", "notes"),
    ),
    "kernels": (Printed("kernel does parameters document", "kernels",
                        types={"parameters": _TEXT}),),
    "estimate": (
        Printed("estimate value part gives", "estimates", types={"part": _TEXT, "value": _NUMBER}),
        Printed("estimate takes gives", "estimates"),
    ),
    "sweep": (Printed("", "combinations counted skipped reasons", parameters=True),),
    "check": (
        Printed("entry kind status file line conflicts excessive wavefronts ways cycles"
                " speedup_without_conflicts findings error notes", "holds broken error code",
                types={"ways": _MAYBE_NUMBER, "totals.error": _INTEGER, "conflicts": _MAYBE_INTEGER,
                       "excessive": _MAYBE_INTEGER, "wavefronts": _MAYBE_INTEGER,
                       "cycles": _ELAPSED}),
    ),
    "ops": (
        Printed("op aliases width phases fuses partners merges passes ideal phase_cycles"
                " least_cycles", "instructions", types={"ideal": _TEXT, "least_cycles": _TEXT}),
    ),
    "chips": (
        Printed("chip capability law measured instructions multiprocessors clock_mhz shared_bytes"
                " shared_bytes_per_sm warps_per_sm blocks_per_sm registers_per_sm l2_bytes"
                " dram_gb_per_s evidence sources", "chips measured"),
    ),
    "gpu-check": (
        Printed("op accesses differing wavefronts_equal conflicts_equal over_least over_5 over_50"
                " over_95 over_most correlation",
                "accesses differing wavefronts_equal conflicts_equal",
                types={"wavefronts_equal": _MAYBE_INTEGER, "conflicts_equal": _MAYBE_INTEGER}),
        Printed("op phases fused partners merges passes differs", "differing",
                types={"phases": _TEXT}),
        Printed("", "differing", parameters=True),
    ),
}  # fmt: skip
"""What each command prints, by its options."""


def schema(command: str, *, strict: bool = False) -> dict[str, Any]:
    """Return the JSON Schema of what `bankwise COMMAND --format json` prints.

    `strict` also refuses names that are not listed: to find those that somebody forgot to list.
    """
    kinds = [_kind(each, strict=strict) for each in PRINTED[command]]
    return {
        "$schema": _DRAFT,
        "title": f"bankwise {command} --format json",
        **(kinds[0] if len(kinds) == 1 else {"anyOf": kinds}),
    }


def _kind(printed: Printed, *, strict: bool) -> dict[str, Any]:
    types = {**_TYPES, **dict(printed.types or {})}
    row = _members(printed.rows, printed.more, types, "rows")
    totals = _members(printed.totals, printed.totals_more, types, "totals")
    if strict:
        totals["additionalProperties"] = False
        row["additionalProperties"] = _SCALAR if printed.parameters else False
    by_rule = {
        "type": "object",
        "properties": {
            "silicon": totals,
            "documented": totals,
            **{name: types[name] for name in printed.totals_more.split()},
        },
        "required": ["silicon", "documented"],
        "additionalProperties": False,
    }
    top = _object(rows=_list(row), totals={"anyOf": [totals, by_rule]})
    return {**top, "additionalProperties": False} if strict else top


def _members(
    required: str, more: str, types: Mapping[str, Mapping[str, Any]], where: str
) -> dict[str, Any]:
    names = required.split()
    kinds = {
        name: types.get(f"{where}.{name}", types.get(name, _INTEGER))
        for name in [*names, *more.split()]
    }
    return {
        "type": "object",
        "properties": {
            name: {**kind, **_described(name), **kind}  # a description of its own goes first
            for name, kind in kinds.items()
        },
        "required": names,
    }


def _described(name: str) -> dict[str, str]:
    """Return what a column is called by people, and what it counts."""
    column = COLUMNS.get(name)
    if column is None:
        return {}
    parts = [column.heading, column.unit, column.nsight and f"Nsight Compute: {column.nsight}"]
    return {"description": "; ".join(filter(None, parts))}


def write_schemas(folder: Path) -> list[Path]:
    """Write a file per command, and return them. Raises OutputError."""
    written = []
    for command in PRINTED:
        path = folder / f"{command}.json"
        text = json.dumps(schema(command), indent=1) + "\n"
        save(path, partial(Path.write_text, data=text, encoding="utf-8"))
        written.append(path)
    return written
