"""What host code knows behind a branch or a loop that it may take: where all ways agree, that.

A way is read from what was known before it, and what it changes is laid beside what the others
leave. What they do not agree on is not known, and is asked for by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from simulator.sass.code.hostvalues import Allocation, Cell, Dim3, Reference, Unknown

__all__ = ["State", "joined", "left", "merge", "restore", "taken"]

State = list[tuple[Cell, Any]]
"""Variables, members of structures too, with their values at one place."""
_NONE: frozenset[str] = frozenset()


def taken(scopes: Sequence[Mapping[str, Cell]]) -> State:
    """Return what all variables hold now."""
    todo = [cell for scope in scopes for cell in scope.values()]
    found: dict[int, Cell] = {}
    while todo:
        cell = todo.pop()
        if id(cell) in found:
            continue
        found[id(cell)] = cell
        if isinstance(cell.value, dict):
            todo += [each for each in cell.value.values() if isinstance(each, Cell)]
        elif isinstance(cell.value, Reference):
            todo.append(cell.value.cell)
    return [(cell, cell.value) for cell in found.values()]


def restore(before: State) -> None:
    """Let the variables hold what they held."""
    for cell, value in before:
        cell.value = value


def left(before: State) -> State:
    """Return what the same variables hold now: what a way leaves."""
    return [(cell, cell.value) for cell, _ in before]


def merge(
    scopes: Sequence[Mapping[str, Cell]], before: State, ways: Sequence[State],
    also: AbstractSet[str] = _NONE,
) -> None:  # fmt: skip
    """Let the variables hold what all ways leave; numbers named in `also` are not known."""
    names: dict[int, str] = {}
    for scope in scopes:
        for name, cell in scope.items():
            names[id(cell)] = name
            if isinstance(cell.value, dict):
                names |= {id(each): f"{name}.{own}" for own, each in cell.value.items()}
    for index, (cell, value) in enumerate(before):
        name = names.get(id(cell), "a variable")
        if isinstance(value, int | float) and name in also:
            cell.value = Unknown(name)
        else:
            cell.value = joined(name, [way[index][1] for way in ways])


def joined(name: str, values: Sequence[Any]) -> Any:
    """Return the value that all ways have for a variable, else what is still known of it.

    Memory that only some of the ways allocate is taken, because the others have none to pass.

    >>> joined("n", [4, 4]), joined("n", [4, 5]), joined("b", [Dim3(4, 2), Dim3(4, 1)]).x
    (4, Unknown(name='n', expression=''), 4)
    """
    first, last = values[0], values[-1]
    if all(each is first or _same(each, first) for each in values):
        return last
    if all(isinstance(each, Dim3) for each in values):
        return Dim3(*(joined(f"{name}.{axis}", [getattr(each, axis) for each in values])
                      for axis in ("x", "y", "z")))  # fmt: skip
    memory = [each for each in values if isinstance(each, Allocation)]
    if memory and all(isinstance(each, Allocation | Unknown) or each == 0 for each in values):
        return _memory(memory)
    if all(isinstance(each, dict) and each.keys() == first.keys() for each in values):
        return {own: Cell(joined(f"{name}.{own}", [each[own].value for each in values]), cell.type)
                for own, cell in first.items()}  # fmt: skip
    return Unknown(name)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Reference) and isinstance(other, Reference):
        return one.cell is other.cell
    return type(one) is type(other) and not isinstance(one, Allocation) and bool(one == other)


def _memory(ways: list[Allocation]) -> Allocation:
    """Return memory that several ways made, or the memory that they point into."""
    last = ways[-1]
    if all(each.whole is last.whole for each in ways):
        same = all(each.offset == last.offset for each in ways)
        return last if same else last.moved(Unknown(""), None)
    if any(each.bytes != last.bytes for each in ways):
        return replace(last, bytes=None)
    return replace(last, zero=all(each.zero for each in ways))
