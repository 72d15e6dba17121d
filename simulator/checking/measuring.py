"""Counting what an entry names: accesses, layouts with accesses, kernels, Triton kernels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from layouts.errors import short
from simulator.checking.config import CheckFile, Entry
from simulator.checking.figures import figures_of, total
from simulator.checking.measured import Measured, SourcePlace
from simulator.errors import BankwiseError, CheckError

if TYPE_CHECKING:
    from simulator.asking.answer import Answer

__all__ = ["Announce", "measure"]

Announce = Callable[[str], None]
"""Called with what is about to be waited for, a few words."""


def measure(config: CheckFile, entry: Entry, announce: Announce) -> Iterator[Measured]:
    """Yield what an entry's accesses or launches cost; what cannot be counted says why."""
    here = Measured(entry.name, entry, SourcePlace(str(config.path), entry.line))
    try:
        if entry.kind == "access":
            yield _access(config, here, entry.given["ask"], entry.given.get("op"))
        elif entry.kind == "layout":
            yield from _layout(config, here)
        else:
            from simulator.checking.launches import kernel, triton

            run = kernel if entry.kind == "kernel" else triton
            yield from run(config.folder, here, announce)
    except BankwiseError as error:
        yield replace(here, error=str(error))


def _layout(config: CheckFile, here: Measured) -> Iterator[Measured]:
    for text in here.entry.given["accesses"]:
        named = replace(here, name=f"{here.name}: {text}")
        found = re.fullmatch(r"\s*([A-Za-z][\w.]*(?:::\w[\w.]*)*)\s*:(?!:)(.*)", text, re.DOTALL)
        try:
            if not found:
                raise CheckError(
                    f"key accesses: {short(text)} (accepted: OP: ROW, COLUMN, such as"
                    " 'ldmatrix.x4: lane%16, lane/16*8')"
                )
            yield _access(config, named, found[2].strip(), found[1])
        except BankwiseError as error:
            yield replace(named, error=str(error))


def _access(config: CheckFile, here: Measured, text: str, op: str | None) -> Measured:
    from simulator.asking.ask import answer
    from simulator.asking.reading import asked_of

    given = here.entry.given
    block = given.get("block")
    asked = asked_of(
        text if op is None else op,
        None if op is None else text,
        layout=given.get("layout"),
        element=given.get("element"),
        names=given.get("names"),
        active=given.get("active"),
        chip=given.get("chip"),
        block=tuple(block) if isinstance(block, list) else block,
    )
    found = answer(asked, given.get("rule", "silicon"))
    warps, passes = found.warps, found.instruction.passes
    own = total(
        figures_of(int(wavefronts), int(excessive), int(conflicts), passes)
        for wavefronts, excessive, conflicts in zip(
            warps.wavefronts, warps.excessive, warps.bank_conflicts, strict=True
        )
    )
    notes = tuple(f"assumed {each}" for each in found.assumed)
    place = _at(config, given) or here.place
    return replace(here, own=own, notes=notes, place=place, cure=lambda _: _cure(found))


def _at(config: CheckFile, given: Mapping[str, Any]) -> SourcePlace | None:
    if "at" not in given:
        return None
    file, _, line = given["at"].rpartition(":")
    path = config.folder / file
    if not path.is_file():
        raise CheckError(f"key at: there is no file {file!r} in {config.folder}")
    return SourcePlace(str(path), int(line))


def _cure(found: Answer) -> str:
    """Say what an access does, and the layouts that cost less, in a line."""
    kinds = {"pad": "pad to", "swizzle": "swizzle", "layout": "lay as"}
    cures = [f"{kinds[each.kind]} {each.text}" for each in found.cures]
    said = f"{found.verdict}. {found.cause}"
    return f"{said} Cure: {', or '.join(cures)}." if cures else said
