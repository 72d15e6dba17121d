"""Constants of a whole file that device code has: another value of one is another kernel."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from simulator.sass.code.evaluation import text_of
from simulator.sass.code.signatures import declarations, functions, walk
from simulator.sass.code.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["compiled_in"]

_WORDS = re.compile(r"[A-Za-z_]\w*")


def compiled_in(sources: Iterable[Source]) -> dict[str, str]:
    """Return the variables and constants outside functions that device code has, as they are said.

    It has those that it names, and those behind them: in macros, in other constants, in functions
    that it calls.
    """
    said: dict[str, str] = {}  # what a name of a file stands for
    declared: dict[str, str] = {}
    todo: set[str] = set()
    for source in sources:
        for name, macro in source.known.items():
            said[name] = macro.body
        for node in declarations(source):
            text = text_of(node)
            for name in _named(node):
                said[name] = declared[name] = text
        for node, _, head in functions(source):
            marked = " ".join(
                [head, *(text for mark, text in source.marks.items() if mark in head)]
            )
            body = text_of(node)
            if "__global__" in marked or "__device__" in marked:
                todo |= {*_WORDS.findall(head), *_WORDS.findall(body)}
            elif found := re.search(r"(\w+)\s*\(", body):
                said[found[1]] = f"{said.get(found[1], '')} {body}"
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        seen.add(name)
        todo |= set(_WORDS.findall(said.get(name, ""))) - seen
    return {name: text for name, text in declared.items() if name in seen}


def _named(node: Node) -> Iterable[str]:
    """Yield the names that a declaration makes."""
    if node.type == "enum_specifier":
        for each in walk(node):
            if each.type == "enumerator" and (name := each.child_by_field_name("name")):
                yield text_of(name)
        return
    for declarator in node.children_by_field_name("declarator"):
        inner: Node | None = declarator
        while inner is not None and inner.type != "identifier":
            if inner.type == "function_declarator":
                break
            inner = inner.child_by_field_name("declarator")
        if inner is not None and inner.type == "identifier":
            yield text_of(inner)
