"""Arrays that are left alone, and why: what reaches them cannot be told, or cannot follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from simulator.fixing.arrays import SharedArray
from simulator.fixing.declared import is_subscripted, line_of
from simulator.fixing.spilled import from_local_memory
from simulator.sass.lift.program import Program
from simulator.sass.lift.sites import MemorySite
from simulator.sass.run.witness import Touched

__all__ = ["hidden_base", "lines_text", "reads_data_text", "understood", "what_reaches"]

_UNITS = {
    "matrix": "wgmma reads it, by a descriptor that says its swizzle",
    "store": "stores from other blocks of the cluster reach it",
    "mbarrier": "it holds mbarriers",
}


def what_reaches(array: SharedArray, touched: Touched, sites: Sequence[MemorySite]) -> str:
    """Return why an array's accesses are not known, or may not be moved; "" where they are."""
    if not touched.whole:
        return (
            "Not searched: it has more different accesses than are kept; they may depend on data."
        )
    generic = [number for number in _numbers(array, touched) if sites[number].is_generic]
    if generic:
        return f"Not searched: generic pointers reach it ({_at(generic, sites)})."
    if array.joined:
        return (
            f"Not searched: one access reaches several of them ({lines_text(array.joined)}): where"
            " it begins is computed, so they were taken as one."
        )
    if array.declared is not None and array.declared.in_union:
        return (
            f"Not searched: {array.declared.name} is a union, or holds one: one memory for several"
            " arrays."
        )
    pinned = sorted({each.kind for each in array.units} - {"tile", "bulk"})
    if pinned:
        return f"Not searched: {' and '.join(_UNITS[each] for each in pinned)}."
    return ""


def reads_data_text(
    array: SharedArray, touched: Touched, sites: Sequence[MemorySite], by_data: Iterable[int]
) -> str:
    """Return why an array is left that some of these sites access; "" for another.

    `by_data`: sites whose addresses depend on data.
    """
    found = sorted({*_numbers(array, touched)} & {*by_data})
    if not found:
        return ""
    return (
        f"No change proposed: its index depends on the data ({_at(found, sites)}), as a histogram's"
        " or a gather's does. What another layout costs would hold for this data only."
    )


def hidden_base(
    array: SharedArray, arrays: Sequence[SharedArray], touched: Touched, program: Program,
    sources: Mapping[str, tuple[str, ...]],
) -> str:  # fmt: skip
    """Return why no layout is proposed although some were run: where its accesses begin is hidden.

    An address was kept in local memory; or an access reaches other arrays at other times, by a
    pointer: its line does not subscript the array.
    """
    sites, numbers = program.sites, _numbers(array, touched)
    kept = from_local_memory(program)
    spilled = [number for number in numbers if sites[number].number in kept]
    if spilled:
        return (
            f"Not proposed: its address is read back from local memory ({_at(spilled, sites)}): a"
            " base or an index was spilled, or is in a table. Only the bytes that it touched"
            " tell which array it is."
        )
    others = {
        number: each.name
        for each in arrays
        if each is not array
        for number in _numbers(each, touched)
    }
    shared = [
        number
        for number in numbers
        if number in others
        and not is_subscripted(line_of(sites[number].instruction, sources), array.name)
    ]
    if not shared:
        return ""
    names = " and ".join(sorted({others[number] for number in shared}))
    return (
        f"Not proposed: an access to it reaches {names} at other times ({_at(shared, sites)}):"
        " where it begins is computed. They would have to change together."
    )


def understood(array: SharedArray) -> str:
    """Say what is known of an array for which no layout was searched."""
    declared = array.declared
    name = declared.said() if declared is not None and declared.dims else array.name
    where = f"{array.bytes:,} bytes from byte {', '.join(map(str, array.starts))} on"
    at = f", accessed in {lines_text(array.lines)}" if array.lines else ""
    return f"Understood so far: {name}, {where}{at}."


def lines_text(lines: Sequence[int]) -> str:
    """Return `line 4` or `lines 4, 6`."""
    return f"line{'s'[: len(lines) != 1]} {', '.join(map(str, lines))}"


def _numbers(array: SharedArray, touched: Touched) -> list[int]:
    """Return the sites that access an array."""
    found: list[int] = np.unique(touched.sites[array.rows]).tolist()
    return found


def _at(numbers: Sequence[int], sites: Sequence[MemorySite]) -> str:
    return lines_text(sorted({sites[number].instruction.line or 0 for number in numbers}))
