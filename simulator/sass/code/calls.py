"""Calls in host code: vectors' members, allocations, casts, macros, functions of the library."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from simulator.sass.code.evaluation import Evaluator, text_of
from simulator.sass.code.hostvalues import (
    FUNCTIONS,
    SHORT_TYPES,
    Allocation,
    Dim3,
    Unknown,
    bytes_of,
    cast,
)

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Caller"]

_VECTOR = re.compile(
    r"make_(?:u?(?:char|short|int|long|longlong)|float|double)([1-4])(?:_(?:16|32)a)?"
)

_CONVERSION = re.compile(r"__(?:float|double|int)2(?:half|bfloat16)(?:_r[nzud])?")


class Caller(Evaluator):
    """Evaluates calls, too."""

    def arguments(self, node: Node) -> list[Node]:
        """Return the arguments of a call."""
        found = node.child_by_field_name("arguments")
        return [each for each in found.named_children if each.type != "comment"] if found else []

    def _call_expression(self, node: Node) -> Any:
        function = node.child_by_field_name("function")
        if function is None:
            return Unknown(text_of(node))
        given = self.arguments(node)
        if function.type == "field_expression":
            return self.method(function, given, node)
        if function.type == "primitive_type":  # int(x)
            return self.convert(self.value(given[0]), text_of(function)) if given else 0
        if function.type == "template_function" and text_of(function).startswith(
            ("static_cast", "reinterpret_cast", "const_cast")
        ):
            kind = text_of(function.child_by_field_name("arguments"))[1:-1]  # type: ignore[arg-type]
            return self.convert(self.value(given[0]), kind) if given else Unknown(text_of(node))
        name = re.split(r"<", text_of(function))[0].rsplit("::", 1)[-1]
        return self.call(name, function, given, node)

    def method(self, function: Node, given: list[Node], node: Node) -> Any:
        """Evaluate a call of a member: of a vector, or a dim3."""
        base = self.value(function.child_by_field_name("argument"))
        name = text_of(function.child_by_field_name("field"))  # type: ignore[arg-type]
        values = [self.value(each) for each in given]
        if isinstance(base, Allocation):
            size = self.sized(base.element or "")
            if name in ("data", "get", "begin", "end"):
                return base
            if name in ("push_back", "emplace_back"):
                base.bytes = None  # a loop's passes are not all read
                return None
            if name in ("resize", "assign", "reserve") and values:
                known = isinstance(values[0], int) and size
                base.bytes = values[0] * size if known and size else None
                return None
            if name == "size" and base.bytes is not None and size:
                return cast(base.bytes // size, "size_t")
        return Unknown(text_of(node))

    def call(self, name: str, function: Node, given: list[Node], node: Node) -> Any:
        """Evaluate a call by name."""
        if name in ("dim3", "make_uint3", "make_dim3"):
            return Dim3(*[self.value(each) for each in given])
        macro = self.macros.get(name)
        if macro is not None and macro.parameters is not None:
            texts = [text_of(each) for each in given]
            found = self.from_text(macro.put(texts))
            if not isinstance(found, Unknown):
                return found
            values = [self.value(each) for each in given]  # CHECK(cudaMalloc(…))
            return values[0] if len(values) == 1 else Unknown(text_of(node))
        values = [self.value(each) for each in given]
        if (made := _VECTOR.fullmatch(name)) and len(values) == int(made[1]):
            return values  # make_float4(…)
        if (name in SHORT_TYPES or _CONVERSION.fullmatch(name)) and len(values) == 1:
            value = values[0]  # half(2.0f), __float2bfloat16(x)
            return float(value) if isinstance(value, int | float) else value
        if len(values) == 1 and self.is_number(text_of(function)):  # T(0.5)
            return self.convert(values[0], text_of(function))
        if name in ("raw_pointer_cast", "move", "forward", "ref") and values:
            return values[0]
        if name in FUNCTIONS:
            for each in values:
                if isinstance(each, Unknown):
                    return each
            return FUNCTIONS[name](*values)
        if name in ("malloc", "aligned_alloc"):
            size = values[-1] if values else None
            return Allocation(bytes_of(size))
        if name == "calloc" and len(values) == 2:
            known = all(isinstance(each, int) for each in values)
            return Allocation(values[0] * values[1] if known else None, zero=True)
        return Unknown(text_of(node))
