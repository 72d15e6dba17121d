"""Several fixes of a launch together: it runs again with all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.errors import OptionError
from simulator.fixing.compiled import compiled_with
from simulator.fixing.finding import Finder
from simulator.fixing.fix import Fix
from simulator.fixing.ranking import too_much
from simulator.fixing.runs import moves_of
from simulator.sass.report import CompiledReport

__all__ = ["rerun_with"]


def rerun_with(report: CompiledReport, fixes: Sequence[Fix]) -> CompiledReport:
    """Run a launch again with several fixes together.

    Raises OptionError for fixes of one array, or of another report, and what the run raises.
    """
    named: dict[tuple[int, ...] | str, Fix] = {}
    for each in fixes:
        if not isinstance(each, Fix):
            raise OptionError(f"{each!r} is not a Fix (accepted: what report.fixes() returns)")
        key = each.target.starts if each.target else each.array
        if key in named:
            raise OptionError(
                f"two fixes of {each.array} (accepted: one for each array; an alternative stands"
                " for its fix)"
            )
        if each.candidate is not None:
            named[key] = each
    parted = [each for each in named.values() if each.candidate and each.candidate.is_compiled]
    if parted:
        report = compiled_with(report, parted)
        rest = [each for each in named.values() if each not in parted]
        if not rest:
            return report
        named = {each.array: each for each in _found_again(report, rest)}
    again = report.relaunch()
    launch = again.launch()
    pairs = [(each.target, each.candidate) for each in named.values()]
    if any(array and max(array.starts) + array.size > launch.block_shared for array, _ in pairs):
        raise OptionError(
            "a fix belongs to another launch: the shared memory of this one is smaller"
            " (accepted: what this report's fixes() returns)"
        )
    changed = [(array, candidate) for array, candidate in pairs if array and candidate]
    why = too_much(launch, changed)
    if why:
        raise OptionError(f"these fixes do not fit together: {why}")
    moves = moves_of(launch, changed)
    made = again.replay(moves)
    return replace(made, rerun=replace(again, moves=moves))


def _found_again(report: CompiledReport, fixes: Sequence[Fix]) -> list[Fix]:
    """Return fixes for the same arrays of a source that was compiled anew."""
    arrays = {each.name: each for each in Finder(report).arrays}
    found = []
    for each in fixes:
        target = arrays.get(each.array)
        if target is None or target.bytes != each.bytes_before:
            raise OptionError(
                f"{each.array} is another array once the other fixes are compiled (accepted: it"
                " alone, or one of its alternatives)"
            )
        found.append(replace(each, target=target))
    return found
