"""Kernels as their source declares them: parameters by type and name, template parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simulator.sass.code.evaluation import text_of
from simulator.sass.code.hostvalues import plain_type
from simulator.sass.code.makers import makings
from simulator.sass.code.preprocessor import left_out, plain
from simulator.sass.code.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = [
    "Signature",
    "aliases",
    "declarations",
    "field_types",
    "function_name",
    "functions",
    "instances",
    "parameters_of",
    "signatures",
    "structures",
    "walk",
]

_CLASSES = ("struct_specifier", "class_specifier", "union_specifier")


@dataclass(frozen=True)
class Signature:
    """A kernel's declaration."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    """Type and name of each."""
    template: tuple[str, ...] = ()
    """Its template parameters, as they are written; empty: it is not a template."""
    line: int = 0
    scope: tuple[str, ...] = ()
    """Namespaces around it."""

    @property
    def full_name(self) -> str:
        """With its namespaces."""
        return "::".join((*self.scope, self.name))

    def __str__(self) -> str:
        listed = ", ".join(f"{kind} {name}".strip() for kind, name in self.parameters)
        shown = f"<{', '.join(self.template)}>" if self.template else ""
        return f"{self.full_name}{shown}({listed})"


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it."""
    todo = [node]
    while todo:
        each = todo.pop()
        yield each
        todo.extend(reversed(each.named_children))


def functions(source: Source) -> Iterator[tuple[Node, tuple[str, ...], str]]:
    """Yield each function definition, its template parameters, and its head as it is written."""
    for node in walk(source.root):
        if node.type != "function_definition":
            continue
        template: tuple[str, ...] = ()
        start = node.start_byte
        if node.parent is not None and node.parent.type == "template_declaration":
            start = node.parent.start_byte
            listed = node.parent.child_by_field_name("parameters")
            if listed is not None:
                template = tuple(
                    text_of(each) for each in listed.named_children if each.type != "comment"
                )
        body = node.child_by_field_name("body")
        # The parser may not see macros before it: they belong to the head, not what ends before.
        before = source.text.rfind("\n", 0, start) + 1
        line = plain(source.text[before:start])
        before += max(line.rfind(";"), line.rfind("}")) + 1
        head = source.text[before : body.start_byte if body else node.end_byte]
        yield node, template, plain(head)


def signatures(source: Source, depth: int = 0) -> dict[str, list[Signature]]:
    """Return the kernels that a source defines, by name; those that macros make at depth 0."""
    found: dict[str, list[Signature]] = {}
    for node, template, head in functions(source):
        marked = " ".join([head, *(said for mark, said in source.marks.items() if mark in head)])
        if "__global__" not in marked:
            continue
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        if declarator is None:
            continue
        name = text_of(declarator.child_by_field_name("declarator") or declarator)
        each = Signature(
            name.rsplit("::", 1)[-1], tuple(parameters_of(declarator)), template,
            node.start_point.row + 1, _scope(node),
        )  # fmt: skip
        found.setdefault(each.name.split("<")[0], []).append(each)
    for each in _made(source) if depth == 0 else ():
        found.setdefault(each.name.split("<")[0], []).append(each)
    return found


def _made(source: Source) -> Iterator[Signature]:
    """Yield the kernels that macros make."""
    bare = plain(left_out(source.text, source.lines, source.known))
    for each in makings(bare, source.known):
        row = bare.count("\n", 0, each.start) + 1
        for listed in signatures(Source(each.text, source.known), depth=1).values():
            yield from (replace(kernel, line=row) for kernel in listed)


def _scope(node: Node) -> tuple[str, ...]:
    names: list[str] = []
    up = node.parent
    while up is not None:
        if up.type == "namespace_definition" and (name := up.child_by_field_name("name")):
            names[:0] = text_of(name).split("::")
        up = up.parent
    return tuple(names)


def declarations(source: Source) -> Iterator[Node]:
    """Yield the declarations outside functions."""
    todo = [source.root]
    while todo:
        node = todo.pop(0)
        for each in node.named_children:
            if each.type in ("declaration", "enum_specifier"):
                yield each
            elif each.type == "type_definition":
                yield from (n for n in each.named_children if n.type == "enum_specifier")
            elif each.type in ("namespace_definition", "declaration_list", "ERROR"):
                todo.append(each)


def instances(source: Source) -> Iterator[tuple[str, Node]]:
    """Yield each function template that is instantiated: `template void f<float>(float *);`.

    It is its name, and what declares the instance.
    """
    for node in walk(source.root):
        if node.type != "template_instantiation":
            continue
        declarator = node.child_by_field_name("declarator") or next(
            (each for each in node.named_children if each.type.endswith("declarator")), None
        )
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        named = declarator.child_by_field_name("declarator") if declarator is not None else None
        if declarator is not None and named is not None:
            yield text_of(named).split("<")[0].rsplit("::", 1)[-1].strip(), declarator


def function_name(node: Node) -> str:
    """Return the name of a function definition, without its scope."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    inner = declarator.child_by_field_name("declarator") if declarator is not None else None
    return text_of(inner).rsplit("::", 1)[-1] if inner is not None else ""


def parameters_of(declarator: Node) -> Iterator[tuple[str, str]]:
    """Yield the type and the name of each parameter of a function."""
    listed = declarator.child_by_field_name("parameters")
    for each in listed.named_children if listed is not None else ():
        if each.type not in ("parameter_declaration", "optional_parameter_declaration"):
            continue
        inner = each.child_by_field_name("declarator")
        text = " ".join(plain((each.text or b"").decode(errors="replace")).split())
        if text == "void":
            continue
        text = text.split("=")[0] if each.type.startswith("opt") else text
        name = ""
        if inner is not None:
            found = [n for n in walk(inner) if n.type == "identifier"]
            name = text_of(found[-1]) if found else ""
        kind = re.sub(rf"\b{re.escape(name)}\b\s*(\[[^\]]*\])?\s*$", r"*\1", text) if name else text
        array = kind.rstrip().endswith("]")
        if array:
            kind = re.sub(r"\*?\[[^\]]*\]\s*$", "*", kind)
        elif name:
            kind = kind.removesuffix("*")
        yield plain_type(kind), name


def aliases(source: Source) -> dict[str, str]:
    """Return the types that a source names by `using` and `typedef`."""
    text = plain(left_out(source.text, source.lines, source.known))
    found = {
        name: plain_type(kind)
        for name, kind in re.findall(r"\busing\s+(\w+)\s*=\s*([\w:<>,\s*]+);", text)
    }
    found |= {
        name: plain_type(kind)
        for kind, name in re.findall(r"\btypedef\s+([\w:<>,\s*]+?)[\s]+(\**\w+)\s*;", text)
        if not name.startswith("*")
    }
    for name, macro in source.macros.items():
        if macro.parameters is None and re.fullmatch(r"[\w\s*]+", macro.body):
            found.setdefault(name, plain_type(macro.body))
    return found


def structures(root: Node) -> Iterator[tuple[str, Node, Node]]:
    """Yield each structure, class and union that is defined: its name, and its body's node too."""
    for node in walk(root):
        body = node.child_by_field_name("body")
        if node.type not in _CLASSES or body is None:
            continue
        name, up = node.child_by_field_name("name"), node.parent
        known = text_of(name) if name is not None else ""
        if up is not None and up.type == "type_definition":  # typedef struct { … } Name;
            declared = up.child_by_field_name("declarator")
            known = text_of(declared) if declared is not None else known
        if known:
            yield known, node, body


def field_types(source: Source) -> dict[str, list[tuple[str, str]]]:
    """Return the members of each struct, type and name, in order; base classes come first.

    A union has none. What a reader of members could not lay out, such as a bit field, is a member
    of a type that nothing knows.
    """
    found = {
        name: [*_bases(node), *_members(body)]
        for name, node, body in structures(source.root)
        if node.type != "union_specifier"
    }
    empty = {name for name, members in found.items() if not members}
    return {  # an empty base class takes no byte
        name: [each for each in members if each[0] not in empty or each[0] != each[1]]
        for name, members in found.items()
    }


def _bases(node: Node) -> list[tuple[str, str]]:
    clauses = [each for each in node.named_children if each.type == "base_class_clause"]
    named = [each for clause in clauses for each in clause.named_children]
    kinds = [plain_type(text_of(each)) for each in named if each.type != "access_specifier"]
    return [(each, each) for each in kinds]


def _members(body: Node) -> list[tuple[str, str]]:
    members = []
    if any(text_of(each).startswith("virtual ") for each in body.named_children):
        members.append(("virtual table", ""))
    for each in body.named_children:
        kind, declarators = (
            each.child_by_field_name("type"),
            each.children_by_field_name("declarator"),
        )
        if each.type != "field_declaration" or kind is None or text_of(each).startswith("static "):
            continue
        if not declarators and kind.type in _CLASSES and kind.child_by_field_name("name") is None:
            members.append(("unnamed", ""))
        bits = any(part.type == "bitfield_clause" for part in each.named_children)
        for declared in declarators:
            names = [n for n in walk(declared) if n.type == "field_identifier"]
            stars = text_of(declared).count("*")
            call = next((n for n in walk(declared) if n.type == "function_declarator"), None)
            if not names or (call is not None and "(*" not in text_of(call)):
                continue  # a function
            extents = "".join(re.findall(r"\[[^\]]*\]", text_of(declared)))
            own = "void*" if call else plain_type(text_of(kind) + "*" * stars) + extents
            members.append(("bit field" if bits else own, text_of(names[0])))
    return members
