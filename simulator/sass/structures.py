"""Structures among the arguments of a launch, against the members that the source declares."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from layouts.errors import plural
from simulator.errors import LaunchError
from simulator.sass.code.records import Types, extents_of, places_of, short_type, unpadded
from simulator.sass.parameter_types import fits

__all__ = ["as_declared", "has_structures"]

_DEEPEST = 16


def has_structures(arguments: Sequence[Any]) -> bool:
    """Whether an argument is a structure, or a list of them."""
    return any(
        isinstance(each, tuple | dict)
        or (isinstance(each, list) and any(isinstance(one, tuple | dict) for one in each))
        for each in arguments
    )


def as_declared(arguments: Sequence[Any], kinds: Sequence[str], types: Types) -> list[Any]:
    """Return arguments with the members of each dict in the order of their declaration.

    `kinds` are the types of the kernel's parameters, `types` what the source says of them.

    >>> pair = Types({}, {"Pair": [("int", "a"), ("float", "b")]}, lambda extents: None)
    >>> as_declared([{"b": np.float32(1), "a": np.int32(2)}], ["Pair"], pair)
    [{'a': np.int32(2), 'b': np.float32(1.0)}]
    >>> as_declared([(np.float32(1), np.int32(2))], ["Pair"], pair)
    Traceback (most recent call last):
    simulator.errors.LaunchError: argument 0, counted from 0, member a of Pair: float32 for int \
(accepted: {int a, float b}, in this order)

    Raises LaunchError for a structure that lacks a member, or has one of another name or type. What
    the source does not tell of a structure is not compared.
    """
    if len(kinds) != len(arguments):
        return list(arguments)
    return [
        _Checker(f"argument {index}, counted from 0", types).checked(value, kind)
        for index, (value, kind) in enumerate(zip(arguments, kinds, strict=True))
    ]


@dataclass(frozen=True)
class _Checker:
    """Compares one argument with its type."""

    where: str
    types: Types

    def checked(self, value: Any, kind: str, depth: int = 0) -> Any:
        """Return a value of a type, its dicts in order."""
        name = self.types.plain(kind)
        if depth > _DEEPEST:
            return value
        if isinstance(value, list) and name.endswith("*"):
            return [
                self.checked(each, name[:-1], depth + 1) if isinstance(each, tuple | dict) else each
                for each in value
            ]
        if not isinstance(value, tuple | dict):
            return value
        element, extents = extents_of(name)
        if extents:
            return self._array(value, element, extents, depth)
        is_template = "<" in name and name not in self.types.fields
        members = self.types.fields.get(name.split("<")[0] if is_template else name, ())
        if not members or any(not _is_plain(*each) for each in members):
            return value
        return self._structure(value, name, members, depth, is_template=is_template)

    def _array(self, value: Any, element: str, extents: list[str], depth: int) -> Any:
        """Return the elements of an array that a structure holds."""
        count = self.types.elements(extents)
        if isinstance(value, dict) or (count is not None and count != len(value)):
            raise LaunchError(
                f"{self.where}: {plural(len(value), 'value')} for {element}[{']['.join(extents)}]"
                f" (accepted: {'…' if count is None else count} in braces, a tuple in Python)"
            )
        return tuple(self.checked(each, element, depth + 1) for each in value)

    def _structure(
        self, value: Any, name: str, members: Sequence[tuple[str, str]], depth: int, *,
        is_template: bool,
    ) -> Any:  # fmt: skip
        """Return a structure's members, in order; those of a template have types of their own."""
        names = [own for _, own in members]
        declared = ", ".join(f"{kind} {own}" for kind, own in members)
        accepted = f"(accepted: {{{declared}}}, in this order)"
        is_padded = is_template or self._may_be_padded(name)
        if isinstance(value, dict):
            self._check_names(list(value), names, name, accepted, is_padded=is_padded)
            if not is_padded:
                value = {own: value[own] for own in names}
        elif len(value) < len(names) or (len(value) > len(names) and not is_padded):
            raise LaunchError(
                f"{self.where}: {plural(len(value), 'value')} for the {len(names)} members of"
                f" {name} {accepted}"
            )
        found = value if isinstance(value, dict) else dict(enumerate(value))
        by_key = dict(zip(names if isinstance(value, dict) else found, members, strict=False))
        if is_template or (len(value) > len(names) and not isinstance(value, dict)):
            by_key = {}  # padding stands between the members
        done = {}
        for key, each in found.items():
            kind, own = by_key.get(key, ("", ""))
            if kind and (wrong := self._wrong(each, kind)):
                raise LaunchError(
                    f"{self.where}, member {own} of {name}: {wrong} for {kind} {accepted}"
                )
            within = replace(self, where=f"{self.where}, member {own} of {name}")
            done[key] = within.checked(each, kind, depth + 1) if kind else each
        return done if isinstance(value, dict) else tuple(done.values())

    def _check_names(
        self, given: list[Any], names: list[str], kind: str, accepted: str, *, is_padded: bool
    ) -> None:
        """Raise LaunchError where a dict does not have a structure's members."""
        missing = [each for each in names if each not in given]
        others = [each for each in given if each not in names]
        if missing:
            also = f", and has {', '.join(map(repr, others))}" if others else ""
            lacks = f"lacks {', '.join(missing)} of {kind}{also}"
            raise LaunchError(f"{self.where}, {lacks} {accepted}")
        if others and not is_padded:
            unknown = ", ".join(map(repr, others))
            raise LaunchError(f"{self.where}, has {unknown}, which {kind} does not {accepted}")
        if is_padded and [each for each in given if each in names] != names:
            raise LaunchError(
                f"{self.where}, has the members of {kind} in another order, and bytes may stand"
                f" between them {accepted}"
            )

    def _may_be_padded(self, name: str) -> bool:
        """Whether members may stand between those declared, to fill what alignment leaves."""
        places = places_of(name, self.types)
        return places is None or places != unpadded(name, self.types)

    def _wrong(self, value: Any, kind: str) -> str:
        """Say what a member is that cannot have its type; "" where it may."""
        is_number = isinstance(value, np.generic | ctypes._SimpleCData)
        if kind.endswith("*"):
            dtype = _dtype(value) if is_number else None
            if isinstance(value, tuple | dict):
                return "a structure"
            return (
                "" if dtype is None or (dtype.itemsize == 8 and dtype.kind in "iu") else f"{dtype}"
            )
        found = short_type(kind, self.types.aliases)
        if found is None or found[1] != 1:
            return ""
        if value is None or isinstance(value, np.ndarray | list):
            return {type(None): "a null pointer", list: "a list"}.get(type(value), "an array")
        dtype = _dtype(value) if is_number else None
        return "" if dtype is None or fits(dtype, found[0]) else f"{dtype}"


def _is_plain(kind: str, name: str) -> bool:
    """Whether a member is neither a base class, a bit field nor one without a name."""
    return kind not in (name, "bit field", "virtual table", "unnamed")


def _dtype(value: Any) -> np.dtype[Any]:
    return np.dtype(type(value)) if isinstance(value, ctypes._SimpleCData) else value.dtype
