"""Template arguments that a call leaves to its compiler, from the types of its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simulator.sass.code.evaluation import Evaluator, text_of
from simulator.sass.code.hostvalues import ENUMERATOR, Allocation, Type, Unknown, plain_type

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["declared_type", "deduced", "parameter_name", "spelled", "type_of"]

_CASTS = ("static_cast", "reinterpret_cast", "const_cast")
_RANKS = ("int", "unsigned int", "long", "unsigned long", "size_t", "float", "double")
"""Types of arithmetic, the one that a result has last."""


def deduced(
    template: Sequence[str], kinds: Sequence[str], given: Sequence[Any], types: Sequence[str | None]
) -> tuple[Any, ...]:
    """Return a template's arguments; Unknown where one is not deduced and has no default.

    >>> deduced(["typename T", "int N = 32"], ["T*", "int"], [], ["float*", "int"])
    (Type(name='float'),)

    Defaults at the end are left out: the compiler knows them.

    Parameters
    ----------
    template
        The template's parameters, as they are written.
    kinds
        Types of the function's parameters.
    given
        Template arguments that the call has.
    types
        Types of the call's arguments; None: not known.
    """
    if any("..." in each for each in template):
        return tuple(given)
    names = [parameter_name(each) for each in template]
    found = dict(zip(names, given, strict=False))
    for kind, own in zip(kinds, types, strict=False):
        if own is None:
            continue
        if held := re.fullmatch(r"(?:\w+::)*(\w+)<(\w+)>&{0,2}", kind):  # a vector of T
            inside = re.fullmatch(rf"(?:\w+::)*{held[1]}<([\w\s]+)>", own)
            if inside and held[2] in names:
                found.setdefault(held[2], Type(inside[1]))
        shape = re.fullmatch(r"(\w+)(\**)&{0,2}", kind)
        if shape is None or shape[1] not in names:
            continue
        if own.endswith(shape[2]):
            found.setdefault(shape[1], Type(own.removesuffix(shape[2])))
    for name, text in zip(names, template, strict=True):
        if "=" not in text:
            found.setdefault(name, Unknown(name))
    last = max((i for i, name in enumerate(names) if name in found), default=-1)
    usual = [text.partition("=")[2].strip() for text in template]
    return tuple(found.get(names[i], Type(usual[i])) for i in range(last + 1))


def parameter_name(text: str) -> str:
    """Return the name of a template parameter.

    >>> parameter_name("typename... Ts"), parameter_name("int N = 32")
    ('Ts', 'N')
    """
    return re.split(r"[\s.]+", text.split("=")[0].strip())[-1]


def spelled(text: str, reader: Evaluator) -> str | None:
    """Return a type or constant as the whole file can say it; None where it cannot.

    Names of the function that is read (its variables, its template's parameters) become their
    values.
    """
    unknown = False
    local: Mapping[str, Any] = {
        name: cell.value for scope in reader.scopes[1:] for name, cell in scope.items()
    }

    def said(word: re.Match[str]) -> str:
        nonlocal unknown
        value = local.get(word[0], word[0])
        if isinstance(value, Type):
            return value.name
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str | int):
            return str(value)
        unknown = True
        return word[0]

    found = re.sub(r"(?<![\w:.])[A-Za-z_]\w*", said, text)
    return None if unknown else found


def type_of(node: Node, value: Any, reader: Evaluator) -> str | None:
    """Return the type of an expression of host code; None where it is not known.

    `value`: what the expression was evaluated to.
    """
    found = declared_type(node, reader)
    if found is None and isinstance(value, Allocation) and value.element not in (None, "auto"):
        found = f"{value.element}*"
    return None if found is None else spelled(plain_type(found), reader)


def declared_type(node: Node, reader: Evaluator) -> str | None:
    """Return the type of an expression as its variables are declared; None where not known."""
    kind, text = node.type, text_of(node)
    if kind == "number_literal":
        return _of_number(text.lower())
    if kind in ("true", "false"):
        return "bool"
    if kind == "sizeof_expression":
        return "size_t"
    if kind == "identifier":
        cell = reader.find(text)
        if cell is None or cell.type in ("", "auto", ENUMERATOR) or "auto" in cell.type:
            return None
        return cell.type.replace("[]", "*")
    if kind == "parenthesized_expression":
        return declared_type(node.named_children[0], reader)
    if kind == "pointer_expression":
        argument = node.child_by_field_name("argument")
        inner = declared_type(argument, reader) if argument is not None else None
        if inner is None:
            return None
        return f"{inner}*" if text.startswith("&") else inner.removesuffix("*")
    if kind == "subscript_expression":
        argument = node.child_by_field_name("argument")
        inner = declared_type(argument, reader) if argument is not None else None
        return inner.removesuffix("*") if inner and inner.endswith("*") else None
    if kind == "field_expression":
        owner = reader.place(node)
        if owner is not None and owner.type:
            return owner.type
        argument, field = (node.child_by_field_name(each) for each in ("argument", "field"))
        base = declared_type(argument, reader) if argument is not None else None
        for member, name in reader.fields.get(plain_type(base or "").rstrip("*"), ()):
            if field is not None and name == text_of(field):
                return member
        return None
    if kind == "cast_expression":
        return text_of(named) if (named := node.child_by_field_name("type")) else None
    if kind == "call_expression":
        return _called(node, reader)
    if kind == "unary_expression":
        return declared_type(node.named_children[-1], reader)
    if kind == "binary_expression":
        return _arithmetic([declared_type(each, reader) for each in node.named_children])
    return None


def _called(node: Node, reader: Evaluator) -> str | None:
    function = node.child_by_field_name("function")
    name = text_of(function) if function is not None else ""
    if cast := re.fullmatch(rf"(?:{'|'.join(_CASTS)})\s*<(.*)>", name):
        return cast[1]
    cell = reader.find(name)
    is_type = cell is not None and isinstance(cell.value, Type)
    return name if is_type or reader.sized(name) is not None else None  # half(1.0f)


def _arithmetic(types: list[str | None]) -> str | None:
    for each in types:
        if each is not None and each.endswith("*"):
            return each
    ranks = [_RANKS.index(each) if each in _RANKS else -1 for each in types]
    return _RANKS[max(ranks)] if ranks and min(ranks) >= 0 else None


def _of_number(text: str) -> str:
    is_hex = text.startswith("0x")
    if not is_hex and re.search(r"[.e]|\df$", text):
        return "float" if text.endswith("f") else "double"
    suffix = re.sub(r"^(0x[0-9a-f']+|[\d']+)", "", text)
    return ("unsigned " if "u" in suffix else "") + ("long" if "l" in suffix else "int")
