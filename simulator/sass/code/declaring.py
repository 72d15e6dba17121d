"""Declarations of host code: variables with their values, structures, vectors, enums."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from simulator.sass.code.calls import Caller
from simulator.sass.code.constructing import Constructor, constructed
from simulator.sass.code.deduction import declared_type
from simulator.sass.code.evaluation import text_of
from simulator.sass.code.hostvalues import (
    ENUMERATOR,
    LAMBDA,
    Allocation,
    Cell,
    Dim3,
    Type,
    Unknown,
    cast,
    plain_type,
    vector_element,
)
from simulator.sass.code.preprocessor import Macro
from simulator.sass.code.records import BYTES, Types, extents_of, numbers_of
from simulator.sass.code.signatures import walk

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Declarer"]


_CONFIGURATIONS = ("cudaLaunchConfig_t", "cudaLaunchConfig_st", "CUlaunchConfig")
_CONFIGURATION = ("gridDim", "blockDim", "dynamicSmemBytes")


class Declarer(Caller):
    """Evaluates declarations, too."""

    def __init__(self, macros: dict[str, Macro], aliases: dict[str, str]) -> None:
        super().__init__(macros, aliases)
        self.constructors: dict[str, list[Constructor]] = {}
        """Of the structures that have some."""
        self.alignments: dict[str, tuple[str, ...]] = {}
        """What `alignas` and `__align__` say of structures and members: see `alignments`."""

    # ---- Types. ------------------------------------------------------------------------------
    @property
    def types(self) -> Types:
        """What is known of the source's types."""
        return Types(self.aliases, self.fields, self.elements, self._alignment)

    def numbers(self, kind: str) -> tuple[str, int] | None:
        """Return the numbers of a value of a type: see `numbers_of`."""
        return numbers_of(kind, self.types)

    def _alignment(self, name: str) -> int | None:
        """Return the bytes that a structure or a member is aligned to; 1: nothing says it."""
        values = [self.from_text(each) for each in self.alignments.get(name, ())]
        return max(values, default=1) if all(isinstance(each, int) for each in values) else None

    def elements(self, extents: Sequence[str]) -> int | None:
        """Count an array's elements; None where an extent is not known."""
        values = [self.from_text(each) for each in extents]
        return prod(values) if all(isinstance(each, int) for each in values) else None

    def sized(self, name: str) -> int | None:
        """Return the bytes of a type, structures of the source too."""
        known = super().sized(name)
        if known is not None or plain_type(name) not in self.fields:
            return known
        found = self.numbers(name)
        return None if found is None else BYTES[found[0]] * found[1]

    def _sizeof_expression(self, node: Node) -> Any:
        inner = node.child_by_field_name("type") or node.child_by_field_name("value")
        text = text_of(inner).strip("()") if inner is not None else ""
        cell = self.find(text)
        if cell is not None and not isinstance(cell.value, Type):
            if isinstance(cell.value, Allocation) and cell.type.endswith("]"):
                return cell.value.bytes if cell.value.bytes is not None else Unknown(text)
            kind = cell.type
        elif inner is not None and inner.type.endswith("expression"):  # *p, p[0]; or (T)
            kind = declared_type(inner, self) or text
        else:
            kind = text
        element, extents = extents_of(kind)
        size, count = self.sized(element), self.elements(extents)
        if size is None or count is None:
            return Unknown(f"sizeof({text})")
        return cast(size * count, "size_t")

    # ---- Declarations. ------------------------------------------------------------------------
    def _on_enum_specifier(self, node: Node) -> None:
        """Declare the constants of an enum."""
        body, value = node.child_by_field_name("body"), -1
        for each in body.named_children if body is not None else ():
            name, given = (each.child_by_field_name(n) for n in ("name", "value"))
            if each.type == "enumerator" and name is not None:
                after = value + 1 if isinstance(value, int) else Unknown(text_of(name))
                value = self.value(given) if given is not None else after
                self.declare(text_of(name), value, ENUMERATOR)

    def _declaration(self, node: Node) -> None:
        """Declare each variable of a declaration."""
        kind_node = node.child_by_field_name("type")
        kind = plain_type(text_of(kind_node)) if kind_node is not None else ""
        for declarator in node.children_by_field_name("declarator"):
            name = _declared_name(declarator)
            if name is None:
                continue
            if declarator.type in ("function_declarator", "parenthesized_declarator"):
                self._declare_like_function(declarator, kind, name)
            else:
                self._declare_variable(declarator, kind, name)

    def _declare_like_function(self, declarator: Node, kind: str, name: str) -> None:
        """Declare what is written as a function is: a value, or a pointer to a kernel."""
        element = vector_element(kind)
        if declarator.type == "function_declarator" and (element or self._is_value(kind)):
            # `dim3 block(size, size);` reads as a function's declaration.
            listed = declarator.child_by_field_name("parameters")
            texts = [text_of(n) for n in (listed.named_children if listed is not None else ())]
            values = [self.from_text(each) for each in texts]
            self.declare(name, self._made(kind, element, values), kind)
        elif "(*" in text_of(declarator).replace(" ", ""):  # a pointer to a kernel
            self.declare(name, Unknown(name))

    def _declare_variable(self, declarator: Node, kind: str, name: str) -> None:
        """Declare a variable with its initial value: a number, a structure, a pointer, an array."""
        stars = re.split(r"[={(]", text_of(declarator))[0].count("*")
        array = next((n for n in walk(declarator) if n.type == "array_declarator"), None)
        pointed = kind + "*" * stars
        value = self._initial(declarator.child_by_field_name("value"), array, kind, pointed, name)
        if kind in _CONFIGURATIONS and not stars and isinstance(value, list):
            told = [each for each in value if each != 0 or len(value) > 1]  # = {0}
            value = {own: Cell(each) for own, each in zip(_CONFIGURATION, told, strict=False)}
        if kind in self.fields and not stars:
            value = self._struct(kind, value)
        if array is None and not stars and kind not in _CONFIGURATIONS:
            value = self._single(value, kind, name)
        given = declarator.child_by_field_name("value")
        if given is not None and given.type == "lambda_expression":
            pointed = LAMBDA
        self.declare(name, value, pointed + ("[]" if array is not None else ""))

    def _initial(
        self, node: Node | None, array: Node | None, kind: str, pointed: str, name: str
    ) -> Any:
        """Return the value of an initializer, or what a variable holds without one.

        `kind` is the type, `pointed` the type with the declarator's stars.
        """
        if (element := vector_element(kind)) is not None:
            return self._vector_of(element, node)
        if kind in ("dim3", "uint3"):
            return self._dim3(node, name)
        if node is None:
            return Unknown(name) if array is None else self._array_of(pointed, array)
        if node.type == "argument_list":  # T x(1, 2);
            values = [self.value(each) for each in node.named_children]
            if len(values) == 1:
                return values[0]
            return values if values and kind in self.fields else Unknown(name)
        if _constructs(node, kind):
            return [self.value(each) for each in self.arguments(node)]
        return self.value(node)

    def _array_of(self, kind: str, array: Node) -> Allocation:
        """Return the memory of an array without an initializer; `kind` is that of an element."""
        count = self.value(array.child_by_field_name("size"))
        size = 8 if kind.endswith("*") else self.sized(kind)
        known = isinstance(count, int) and size
        return Allocation(count * size if known else None, kind)

    def _single(self, value: Any, kind: str, name: str) -> Any:
        """Return the value of a variable that is not an array or a pointer, in its type."""
        if isinstance(value, list) and len(value) == 1:
            value = value[0]  # int n{32};
        if vector_element(kind) is not None:
            return value
        return Unknown(name) if isinstance(value, Unknown) else self.convert(value, kind)

    def _struct(self, kind: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: Cell(cell.value, cell.type) for name, cell in value.items()}
        single = [] if isinstance(value, Unknown) else [value]
        listed = value if isinstance(value, list) else single if kind in self.constructors else []
        own = self.constructors.get(kind)
        members = []
        for i, (_, name) in enumerate(self.fields[kind]):
            told = listed[i] if i < len(listed) else None
            told = constructed(own, listed, name) if own else told
            members.append(Unknown(f"{kind}::{name}") if told is None else told)
        return {
            name: Cell(
                Dim3(given) if member == "dim3" and isinstance(given, int) else given, member
            )
            for given, (member, name) in zip(members, self.fields[kind], strict=True)
        }

    def _dim3(self, node: Node | None, name: str) -> Any:
        if node is None:
            return Dim3()
        if node.type in ("argument_list", "initializer_list"):
            values = [self.value(each) for each in node.named_children if each.type != "comment"]
            if len(values) == 1 and isinstance(values[0], Dim3):
                return values[0]
            return Dim3(*values[:3])
        value = self.value(node)
        return Dim3(value) if isinstance(value, int) else value

    def _new_expression(self, node: Node) -> Any:
        kind = text_of(node.child_by_field_name("type"))  # type: ignore[arg-type]
        declarator = node.child_by_field_name("declarator")
        count: Any = 1
        if declarator is not None:
            count = self.value(declarator.child_by_field_name("length"))
        size = self.sized(kind)
        known = isinstance(count, int) and size is not None
        return Allocation(int(count) * size if known and size else None, plain_type(kind))

    def _is_value(self, kind: str) -> bool:
        return kind in ("dim3", "uint3", "int", "unsigned", "unsigned int", "size_t", "float")

    def _made(self, kind: str, element: str | None, values: list[Any]) -> Any:
        """Construct a vector, a dim3 or a number from a constructor's arguments."""
        if element is not None:
            size = self.sized(element)
            known = values and isinstance(values[0], int) and size
            return Allocation(values[0] * size if known and size else None, element)
        if kind in ("dim3", "uint3"):
            return Dim3(*values[:3])
        return self.convert(values[0], kind) if values else Unknown(kind)

    def _vector_of(self, element: str, node: Node | None) -> Any:
        size = self.sized(element)
        if node is None:
            return Allocation(0, element)
        values = [self.value(each) for each in node.named_children if each.type != "comment"]
        if node.type == "initializer_list":
            return Allocation(len(values) * size if size else None, element)
        if values and isinstance(values[0], Allocation):
            return Allocation(values[0].bytes, element)
        known = values and isinstance(values[0], int) and size
        return Allocation(values[0] * size if known and size else None, element)


def _declared_name(declarator: Node) -> str | None:
    """Return the name that a declarator declares; None where it has none."""
    inner = declarator.child_by_field_name("declarator") or declarator
    return next((text_of(n) for n in walk(inner) if n.type == "identifier"), None)


def _constructs(node: Node, kind: str) -> bool:
    """Whether an expression makes a structure of members: `Pair(1, 2)` for a Pair."""
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    return function is not None and text_of(function).rsplit("::", 1)[-1] == kind
