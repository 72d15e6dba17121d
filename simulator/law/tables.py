"""Learnt tables: how lanes form phases on a chip, as `bankwise gpu-check --phases` writes it.

A table is a mapping with the fields of `gpu_check.PhaseTable`; `learnt` makes an `Instruction`
of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from layouts.errors import accepted, short
from layouts.shapes import is_integer
from simulator.errors import ChipError, InstructionError
from simulator.law.instructions import Instruction, instruction

__all__ = ["FIELDS", "learnt"]

FIELDS = (
    "op",
    "phases",
    "fused",
    "partners",
    "whole_warp",
    "idle_partners_agree",
    "merges",
    "passes",
)
"""The names of a table's fields; all of them are needed."""


def learnt(table: Any) -> Instruction:
    """Return the instruction that a table describes.

    Width, names and the profiler's ideal are those of the built-in instruction of that name: they
    are the instruction's own, whatever the chip.

    Raises ChipError for a table that is incomplete, contradicts itself, or describes a law that
    is not of this kind.
    """
    if not isinstance(table, Mapping):
        raise ChipError(f"instruction {short(table)} is not a table (accepted: an object)")
    op = table.get("op")
    if not isinstance(op, str):
        raise ChipError(
            f"op {short(op)} is not a name (accepted: an instruction's, such as LDS.64)"
        )
    _check_fields(op, table)
    try:
        known = instruction(op)
    except InstructionError as error:
        raise ChipError(str(error)) from None
    phases, fused = _groups(op, "phases", table), _groups(op, "fused", table)
    partners = _numbers(op, "partners", table["partners"])
    flags = {name: _flag(op, name, table) for name in ("whole_warp", "idle_partners_agree")}
    fuses = bool(fused)
    if bool(partners) != fuses:
        raise ChipError(
            f"{op} has partners {list(partners)} and fused {short(table['fused'])} (accepted: both,"
            " or neither)"
        )
    wrong = [name for name, value in flags.items() if value is not fuses]
    if wrong:
        raise ChipError(
            f"{op} has {wrong[0]} {flags[wrong[0]]} (accepted: {fuses}; phases that fuse by a part"
            " of the warp, or idle lanes that keep them apart, are not modelled)"
        )
    passes = table["passes"]
    if not is_integer(passes):
        raise ChipError(f"{op} has passes {short(passes)} (accepted: an integer)")
    try:
        made = replace(
            known,
            phases=len(phases),
            groups=phases,
            fuses=fuses,
            fused_groups=fused,
            partners=partners or (1, 2),
            merges=_flag(op, "merges", table),
            passes=int(passes),
            phase_cycles=int(passes) if known.phase_cycles == known.passes else known.phase_cycles,
        )
    except InstructionError as error:
        raise ChipError(str(error)) from None
    # Residues were measured on the built-in table.
    return made if made == known else replace(made, residues=())


def _check_fields(op: str, table: Mapping[str, Any]) -> None:
    missing = [name for name in FIELDS if name not in table]
    if missing:
        raise ChipError(f"{op} has no {', '.join(missing)} (accepted: {', '.join(FIELDS)})")
    strange = [name for name in table if name not in FIELDS]
    if strange:
        raise ChipError(f"{op} has {short(strange[0])}: {accepted(strange[0], FIELDS)}")


def _groups(op: str, name: str, table: Mapping[str, Any]) -> tuple[tuple[int, ...], ...]:
    given = table[name]
    if not isinstance(given, list | tuple) or len(given) > 32:
        raise ChipError(f"{op} has {name} {short(given)} (accepted: a list of lists of lanes)")
    groups = tuple(_numbers(op, name, group) for group in given)
    if not all(groups):
        raise ChipError(f"{op} has a group without lanes in {name} (accepted: lanes 0 to 31)")
    listed = sorted(lane for group in groups for lane in group)
    outside = [lane for lane in listed if not 0 <= lane < 32]
    if outside:
        raise ChipError(f"{op} has lane {outside[0]} in {name} (accepted: 0 to 31)")
    twice = [lane for lane, after in pairwise(listed) if lane == after]
    if twice:
        raise ChipError(f"{op} has lane {twice[0]} twice in {name} (accepted: each lane once)")
    return tuple(sorted(tuple(sorted(group)) for group in groups))


def _numbers(op: str, name: str, given: Any) -> tuple[int, ...]:
    fine = isinstance(given, list | tuple) and len(given) <= 32 and all(map(is_integer, given))
    if not fine:
        raise ChipError(f"{op} has {short(given)} in {name} (accepted: up to 32 integers)")
    return tuple(int(number) for number in given)


def _flag(op: str, name: str, table: Mapping[str, Any]) -> bool:
    value = table[name]
    if not isinstance(value, bool):
        raise ChipError(f"{op} has {name} {short(value)} (accepted: true, false)")
    return value
