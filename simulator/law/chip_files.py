"""Chip files: JSON that describes one chip, read strictly.

    {"name": "RTX 3080", "compute_capability": "8.6", "law": "assumed", "evidence": "…",
     "facts": {"multiprocessors": {"value": 68, "source": "https://…"}, …},
     "instructions": [{"op": "LDS.64", "phases": [[0, …], …], …}, …]}

Limits follow from the compute capability, unless `facts` has them; each fact names its source.
`instructions` are tables that `bankwise gpu-check --phases --save FILE.json` learnt. Others follow
the built-in table, and count as assumed. `provenance` may say how the file was made.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from layouts.errors import accepted, short
from layouts.shapes import is_integer
from simulator.errors import ChipError
from simulator.law.capabilities import CAPABILITIES, Limits, capability_text
from simulator.law.instructions import Instruction
from simulator.law.specification import BANKS, WORD
from simulator.law.tables import learnt

__all__ = ["LAWS", "LIMITS", "PRODUCT", "ChipFile", "parse", "plain_name", "read"]

LAWS = ("measured", "assumed")
"""Whether accesses of this chip were compared with the law."""

LIMITS = tuple(field.name for field in fields(Limits))
PRODUCT = ("multiprocessors", "clock_mhz", "l2_bytes", "dram_gb_per_s")
"""Facts of a product: SMs, the boost clock of an SM, the size of L2, 10^9 bytes per second."""

_NEEDED = ("name", "compute_capability", "law", "evidence")
_KNOWN = (*_NEEDED, "facts", "instructions", "banks", "bank_bytes", "provenance")
_LARGEST_FILE = 1 << 20
_LARGEST = 1 << 40  # of any fact
_LEAST = {"shared_bytes": 32 * 16, "shared_reserved": 0}  # a warp of the widest accesses has room
_LONGEST = 1000  # characters of an evidence or a source
_LONGEST_NAME = 100


@dataclass(frozen=True)
class ChipFile:
    """What a file says, checked."""

    name: str
    capability: int
    """Times ten."""
    law: str
    evidence: str
    facts: Mapping[str, tuple[int | float, str]]
    """Value and source, by name."""
    instructions: tuple[Instruction, ...]


def read(path: str | os.PathLike[str]) -> ChipFile:
    """Read a chip file. Raises ChipError, which names the file."""
    if not isinstance(path, str | os.PathLike):
        raise ChipError(f"chip file {short(path)} is not a path (accepted: text, or a Path)")
    shown = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ChipError(f"chip file {shown} cannot be read: {why}") from error
    try:
        if len(content) > _LARGEST_FILE:
            raise ChipError(f"it has more than {_LARGEST_FILE} bytes (accepted: up to that)")
        return parse(_decoded(content))
    except ChipError as error:
        raise ChipError(f"chip file {shown}: {error}") from error.__cause__


def parse(given: Any) -> ChipFile:
    """Check what a file holds. Raises ChipError by the name of what is wrong."""
    if not isinstance(given, Mapping):
        raise ChipError(f"{short(given)} is not a chip (accepted: an object with {_listed()})")
    missing = [name for name in _NEEDED if name not in given]
    if missing:
        raise ChipError(f"{', '.join(missing)} missing (accepted: an object with {_listed()})")
    strange = [name for name in given if name not in _KNOWN]
    if strange:
        raise ChipError(f"unknown {short(strange[0])}: {accepted(strange[0], _KNOWN)}")
    for name, value in (("banks", BANKS), ("bank_bytes", WORD)):
        if given.get(name, value) != value:
            raise ChipError(
                f"{name} {short(given[name])} (accepted: {value}; the law has no other)"
            )
    law = given["law"]
    if law not in LAWS:
        raise ChipError(f"law {short(law)}: {accepted(law, LAWS)}")
    capability = _capability(given["compute_capability"])
    facts = _facts(given.get("facts", {}))
    if capability not in CAPABILITIES:
        left = [name for name in LIMITS if name not in facts]
        if left:
            raise ChipError(
                f"the limits of compute capability {capability_text(capability)} are not known"
                f" (next: give {', '.join(left)} as facts)"
            )
    return ChipFile(
        _name(given["name"]), capability, str(law),
        _text("evidence", given["evidence"]), facts, _instructions(given.get("instructions", [])),
    )  # fmt: skip


def _decoded(content: bytes) -> Any:
    try:
        return json.loads(
            content.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_once
        )
    except RecursionError:
        raise ChipError("it is nested too deeply (accepted: what --save writes)") from None
    except ValueError as error:  # bytes that are not UTF-8, JSON that is broken, endless digits
        if isinstance(error, ChipError):
            raise
        raise ChipError(f"it is not JSON: {error}") from None


def _no_constant(name: str) -> Any:
    raise ChipError(f"it holds {name} (accepted: finite numbers)")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ChipError(f"it has {short(twice)} twice in one object (accepted: once)")
    return made


def _capability(given: Any) -> int:
    found = re.fullmatch(r"([1-9][0-9]?)\.([0-9])", given) if isinstance(given, str) else None
    if not found or int(found[1]) < 7:
        raise ChipError(
            f"compute_capability {short(given)} (accepted: text such as '8.6', from '7.0' on)"
        )
    return 10 * int(found[1]) + int(found[2])


def _facts(given: Any) -> dict[str, tuple[int | float, str]]:
    if not isinstance(given, Mapping):
        raise ChipError(f"facts {short(given)} (accepted: an object of names)")
    facts: dict[str, tuple[int | float, str]] = {}
    for name, fact in given.items():
        if name not in (*LIMITS, *PRODUCT):
            raise ChipError(f"unknown fact {short(name)}: {accepted(name, (*LIMITS, *PRODUCT))}")
        if not isinstance(fact, Mapping) or set(fact) != {"value", "source"}:
            raise ChipError(f"{name} is {short(fact)} (accepted: an object with value and source)")
        value = fact["value"]
        whole = is_integer(value)
        least = _LEAST.get(name, 1)
        fine = whole or (isinstance(value, float) and name in ("clock_mhz", "dram_gb_per_s"))
        if not fine or not math.isfinite(value) or not least <= value <= _LARGEST:
            kind = "a number" if name in ("clock_mhz", "dram_gb_per_s") else "an integer"
            raise ChipError(f"{name} {short(value)} (accepted: {kind}, {least} to {_LARGEST})")
        facts[name] = (int(value) if whole else float(value)), _text("source", fact["source"])
    return facts


def _instructions(given: Any) -> tuple[Instruction, ...]:
    if not isinstance(given, list):
        raise ChipError(f"instructions {short(given)} (accepted: a list of tables)")
    made = [learnt(table) for table in given]
    names = [each.name for each in made]
    for name in names:
        if names.count(name) > 1:
            raise ChipError(f"instruction {name} is there twice (accepted: once)")
    return tuple(made)


def _text(what: str, given: Any) -> str:
    if not isinstance(given, str) or not given.strip() or len(given) > _LONGEST:
        raise ChipError(f"{what} {short(given)} (accepted: text, 1 to {_LONGEST} characters)")
    if not given.isprintable():
        raise ChipError(f"{what} {short(given)} (accepted: text of one line, without controls)")
    return given


def plain_name(text: str) -> str:
    """Return a name that a chip file can have, for what a driver calls a chip.

    >>> plain_name("Somebody's GPU")
    'Somebody-s GPU'
    """
    return re.sub(r"^[\W_]+", "", re.sub(r"[^\w .,()+&-]+", "-", text))[:_LONGEST_NAME] or "GPU"


def _name(given: Any) -> str:
    """Return a name that can stand in a title, a page or a file's name."""
    fine = isinstance(given, str) and len(given) <= _LONGEST_NAME
    if not fine or not re.fullmatch(r"[^\W_][\w .,()+&-]*", given):
        raise ChipError(
            f"name {short(given)} (accepted: text of up to {_LONGEST_NAME} letters, digits, spaces"
            " and any of .,()+&-_, which begins with a letter or a digit)"
        )
    return str(given)


def _listed() -> str:
    return ", ".join(_NEEDED)
