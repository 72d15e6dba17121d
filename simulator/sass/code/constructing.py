"""What constructors make of their arguments: the members that take one as it is given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from simulator.sass.code.evaluation import text_of
from simulator.sass.code.signatures import function_name, parameters_of, structures, walk
from simulator.sass.code.source import Source

__all__ = ["Constructor", "constructed", "constructors"]

Constructor = tuple[tuple[str, ...], dict[str, str]]
"""Its parameters, and of each member the text that it is initialized with."""


def constructors(source: Source) -> dict[str, list[Constructor]]:
    """Return the constructors that each structure defines inside of itself.

    >>> constructors(Source("struct P { int a; P(int x, int y) : a(y) {} };"))
    {'P': [(('x', 'y'), {'a': 'y'})]}
    """
    found = {}
    for name, _, body in structures(source.root):
        if own := list(_constructors(name, body)):
            found[name] = own
    return found


def _constructors(name: str, body: Any) -> Iterator[Constructor]:
    for node in walk(body):
        if node.type != "function_definition" or function_name(node) != name:
            continue
        declarator, statements = (node.child_by_field_name(n) for n in ("declarator", "body"))
        if declarator is None:
            continue
        changed = {*re.findall(r"\w+", text_of(statements))} if statements is not None else set()
        initialized = {}
        for each in walk(node):
            if each.type == "field_initializer" and len(each.named_children) == 2:
                member, given = each.named_children
                if text_of(member) not in changed:  # its body may give another value
                    initialized[text_of(member)] = text_of(given)[1:-1].strip()
        yield tuple(own for _, own in parameters_of(declarator)), initialized


def constructed(known: Sequence[Constructor], given: Sequence[Any], member: str) -> Any:
    """Return what a member takes of a constructor's arguments; None where that is not known."""
    fitting = [each for each in known if len(each[0]) == len(given)]
    if len(fitting) != 1:
        return None
    parameters, initialized = fitting[0]
    own = initialized.get(member)
    return given[parameters.index(own)] if own in parameters else None
