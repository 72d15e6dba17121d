"""Reading host code from `main` on, statement by statement, without running any of it.

Of a loop the first pass is read (the first 32 of one that launches), of a branch whose condition
is not known both ways. Ways that are not taken are read too where they launch, and change nothing:
`maybe` says so. Functions that `main` never calls are read last, with unknown parameters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from simulator.sass.code.deduction import parameter_name
from simulator.sass.code.evaluation import Evaluator, text_of
from simulator.sass.code.hostvalues import (
    ENUMERATOR,
    Allocation,
    Cell,
    Dim3,
    Unknown,
    plain_type,
    vector_element,
)
from simulator.sass.code.preprocessor import Macro
from simulator.sass.code.records import BYTES, numbers_of
from simulator.sass.code.signatures import (
    aliases,
    declarations,
    field_types,
    function_name,
    functions,
    walk,
)
from simulator.sass.code.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["LAUNCH", "HostReader"]

LAUNCH = {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelEx"}
"""Functions that launch a kernel."""

_MOST_STEPS = 200_000
_DEEPEST_CALL = 12
_MOST_PASSES = 32  # of a loop that launches
_DEEPEST_WAY = 3  # ways not taken, one inside the other
_LAUNCHES = re.compile(r"<<<|\bcudaLaunch")
_WORDS = re.compile(r"[A-Za-z_]\w*")


class _ReturnError(Exception):
    """A return statement was reached."""


class HostReader(Evaluator):
    """Reads host functions statement by statement; what they call is a subclass's to see."""

    def __init__(self, sources: list[Source]) -> None:
        named: dict[str, str] = {}
        macros: dict[str, Macro] = {}
        for each in reversed(sources):
            named |= aliases(each)
            macros |= each.known
        super().__init__(macros, named)
        self.sources = sources
        self.fields: dict[str, list[tuple[str, str]]] = {}
        self.functions: dict[str, tuple[Node, tuple[str, ...]]] = {}
        for each in sources:
            self.fields |= field_types(each)
        self.read_functions: set[str] = set()
        self.launching: set[str] = set()
        """Functions that launch, or call one that does."""
        self.maybe = 0
        """Ways not taken that are being read."""
        self.steps = 0
        self.calls = 0
        self.result: Any = None

    def read(self) -> None:
        """Read globals, then main, then what main does not reach."""
        trees = [list(functions(each)) for each in self.sources]
        for source in self.sources:
            for node in declarations(source):
                self._statement(node)
        for listed in trees:
            for node, template, head in listed:
                if "__global__" not in head and "__device__" not in head.split("__host__")[0]:
                    self.functions.setdefault(function_name(node), (node, template))
        self._find_launching()
        if "main" in self.functions:
            self._run("main", [])
        for name, (node, _) in list(self.functions.items()):
            if name not in self.read_functions and any(
                each.type == "kernel_call_syntax" or text_of(each) in LAUNCH
                for each in walk(node)
                if each.type in ("kernel_call_syntax", "identifier")
            ):
                self._run(name, None)

    def _find_launching(self) -> None:
        bodies = {name: text_of(node) for name, (node, _) in self.functions.items()}
        called = {name: set(_WORDS.findall(text)) - {name} for name, text in bodies.items()}
        self.launching = {name for name, text in bodies.items() if _LAUNCHES.search(text)}
        while (
            more := {name for name, words in called.items() if words & self.launching}
            - self.launching
        ):
            self.launching |= more

    def _read_too(self, node: Node | None) -> None:
        """Read a way that is not taken, where it launches; afterwards all is as before."""
        if node is None or self.maybe >= _DEEPEST_WAY:
            return
        text = text_of(node)
        if not _LAUNCHES.search(text) and not self.launching.intersection(_WORDS.findall(text)):
            return
        before, result = self._snapshot(), self.result
        self.maybe += 1
        try:
            self._statement(node)
        except _ReturnError:
            pass
        finally:
            self.maybe -= 1
            self.result = result
            for cell, value in before:
                cell.value = value

    # ---- Types. ------------------------------------------------------------------------------
    def numbers(self, kind: str) -> tuple[str, int] | None:
        """Return the numbers of a value of a type: see `numbers_of`."""
        return numbers_of(kind, self.aliases, self.fields, self.elements)

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

    # ---- Functions. --------------------------------------------------------------------------
    def _run(self, name: str, given: list[Any] | None, types: tuple[Any, ...] = ()) -> Any:
        """Read a function's body; None for `given`: its parameters are not known."""
        node, template = self.functions[name]
        if self.calls >= _DEEPEST_CALL:
            return Unknown(f"{name}(…)")
        self.read_functions.add(name)
        outer = self.scopes
        self.scopes = [outer[0], {}]
        for index, text in enumerate(template):
            parameter = parameter_name(text)
            default = text.split("=")[1].strip() if "=" in text else None
            if index < len(types):
                self.declare(parameter, types[index])
            elif default is not None:
                self.declare(parameter, self.from_text(default))
            else:
                self.declare(parameter, Unknown(parameter))
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        listed = declarator.child_by_field_name("parameters") if declarator is not None else None
        asked: dict[str, str] = {}  # what the caller calls a value that it does not know
        for index, each in enumerate(listed.named_children if listed is not None else ()):
            names = [n for n in walk(each) if n.type == "identifier"]
            kind = each.child_by_field_name("type")
            if not names or kind is None:
                continue
            inner = each.child_by_field_name("declarator")
            stars = text_of(inner).count("*") if inner is not None else 0
            called = plain_type(text_of(kind) + "*" * stars)
            own = [n for n in walk(inner or each) if n.type == "identifier"]
            name_ = text_of(own[-1] if own else names[-1])
            if given is not None and index < len(given):
                value = given[index]
                if isinstance(value, Cell):  # a variable: by reference, or its value
                    if inner is not None and "&" in text_of(inner).split(name_)[0]:
                        self.scopes[-1][name_] = value
                        continue
                    value = value.value
                if isinstance(value, Unknown):
                    asked[name_] = value.name
                self.declare(name_, value, called)
            elif (usual := each.child_by_field_name("default_value")) is not None:
                self.declare(name_, self.value(usual), called)
            elif name == "main" and name_ == "argc":
                self.declare(name_, 1, "int")
            else:
                self.declare(name_, Unknown(name_), called)
        self.calls += 1
        self.result = None
        try:
            self._statement(node.child_by_field_name("body"))
        except _ReturnError:
            pass
        finally:
            self.calls -= 1
            self.scopes = outer
        result, self.result = self.result, None
        if isinstance(result, Unknown):
            return Unknown(asked.get(result.name, result.name))
        return Unknown(f"{name}(…)") if result is None else result

    # ---- Statements. -------------------------------------------------------------------------
    def _statement(self, node: Node | None) -> None:
        self.steps += 1
        if node is None or self.steps > _MOST_STEPS:
            return
        method = getattr(self, f"_on_{node.type}", None)
        if method is not None:
            method(node)
        elif node.type == "declaration":
            self._declaration(node)
        elif node.type in ("expression_statement", "ERROR", "labeled_statement", "case_statement",
                           "try_statement", "do_statement"):  # fmt: skip
            for each in node.named_children:
                if each.type.endswith(("statement", "declaration")):
                    self._statement(each)
                else:
                    self.value(each)

    def _on_compound_statement(self, node: Node) -> None:
        self.scopes.append({})
        try:
            for each in node.named_children:
                self._statement(each)
        finally:
            self.scopes.pop()

    def _on_return_statement(self, node: Node) -> None:
        self.result = self.value(node.named_children[0]) if node.named_children else None
        raise _ReturnError

    def _on_if_statement(self, node: Node) -> None:
        condition = self.value(node.child_by_field_name("condition"))
        then, other = (node.child_by_field_name(n) for n in ("consequence", "alternative"))
        if other is not None and other.type == "else_clause":
            other = other.named_children[0] if other.named_children else None
        if not isinstance(condition, Unknown):
            self._read_too(other if condition else then)
            self._statement(then if condition else other)
            return
        before = self._snapshot()
        for each in (then, other):
            try:
                self._statement(each)
            except _ReturnError:
                continue  # the other way goes on
        self._forget(before)

    def _on_for_statement(self, node: Node) -> None:
        self.scopes.append({})
        try:
            first = node.child_by_field_name("initializer")
            if first is not None:
                self._statement(first) if first.type == "declaration" else self.value(first)
            self._loop(node)
        finally:
            self.scopes.pop()

    def _loop(self, node: Node) -> None:
        """Read a loop's body once; what it assigned is not known afterwards."""
        condition = node.child_by_field_name("condition")
        body, update = node.child_by_field_name("body"), node.child_by_field_name("update")
        launches = body is not None and _LAUNCHES.search(text_of(body))
        before = self._snapshot()
        try:
            for _ in range(_MOST_PASSES if launches else 1):
                known = self.value(condition) if condition is not None else Unknown("")
                if not isinstance(known, Unknown) and not known:
                    break
                self._statement(body)
                if update is None or isinstance(known, Unknown):
                    break
                self.value(update)
        finally:
            self._forget(before)

    _on_for_range_loop = _on_while_statement = _loop

    def _on_switch_statement(self, node: Node) -> None:
        chosen = self.value(node.child_by_field_name("condition"))
        body = node.child_by_field_name("body")
        cases = [n for n in (body.named_children if body is not None else ())
                 if n.type == "case_statement"]  # fmt: skip
        taken = isinstance(chosen, Unknown)
        if not taken:
            for each in cases:
                label = each.child_by_field_name("value")
                if label is None or self.value(label) != chosen:
                    self._read_too(each)
        before = self._snapshot()
        for each in cases:
            label = each.child_by_field_name("value")
            taken = taken or label is None or self.value(label) == chosen
            if not taken:
                continue
            for inner in each.named_children:
                if inner.type.endswith(("statement", "declaration")):
                    self._statement(inner)
            if not isinstance(chosen, Unknown) and "break" in text_of(each):
                break
        if isinstance(chosen, Unknown):
            self._forget(before)

    def _snapshot(self) -> list[tuple[Cell, Any]]:
        return [(cell, cell.value) for scope in self.scopes for cell in scope.values()]

    def _forget(self, before: list[tuple[Cell, Any]]) -> None:
        names = {id(cell): name for scope in self.scopes for name, cell in scope.items()}
        for cell, value in before:
            name = names.get(id(cell), "a variable")
            if isinstance(value, int | float) and cell.value != value:
                cell.value = Unknown(name)
            elif isinstance(value, Dim3) and cell.value != value:
                both = [(axis, getattr(value, axis), getattr(cell.value, axis, None))
                        for axis in ("x", "y", "z")]  # fmt: skip
                cell.value = Dim3(*(a if a == b else Unknown(f"{name}.{n}") for n, a, b in both))

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
        kind_node = node.child_by_field_name("type")
        kind = plain_type(text_of(kind_node)) if kind_node is not None else ""
        for declarator in node.children_by_field_name("declarator"):
            value_node = declarator.child_by_field_name("value")
            stars = text_of(declarator).split("=")[0].split("(")[0].count("*")
            names = [n for n in walk(declarator.child_by_field_name("declarator") or declarator)
                     if n.type == "identifier"]  # fmt: skip
            if not names:
                continue
            name = text_of(names[0])
            value: Any = Unknown(name)
            element = vector_element(kind)
            if declarator.type == "function_declarator" and (element or self._is_value(kind)):
                # `dim3 block(size, size);` reads as a function's declaration.
                listed = declarator.child_by_field_name("parameters")
                texts = [text_of(n) for n in (listed.named_children if listed is not None else ())]
                values = [self.from_text(each) for each in texts]
                self.declare(name, self._made(kind, element, values), kind)
                continue
            if declarator.type in ("function_declarator", "parenthesized_declarator"):
                if "(*" in text_of(declarator).replace(" ", ""):  # a pointer to a kernel
                    self.declare(name, Unknown(name))
                continue
            array = next((n for n in walk(declarator) if n.type == "array_declarator"), None)
            if element is not None:
                value = self._vector_of(element, value_node)
            elif kind in ("dim3", "uint3"):
                value = self._dim3(value_node, name)
            elif value_node is not None and value_node.type == "argument_list":
                values = [self.value(each) for each in value_node.named_children]
                value = values[0] if len(values) == 1 else Unknown(name)
            elif value_node is not None:
                value = self.value(value_node)
            elif array is not None:
                count = self.value(array.child_by_field_name("size"))
                size = 8 if stars else self.sized(kind)
                value = Allocation(count * size if isinstance(count, int) and size else None, kind)
            if kind in self.fields and not stars:
                value = self._struct(kind, value)
            if isinstance(value, list) and len(value) == 1 and array is None and not stars:
                value = value[0]  # int n{32};
            if array is None and not stars and element is None:
                value = self._cast(value, kind) if not isinstance(value, Unknown) else Unknown(name)
            self.declare(name, value, kind + "*" * stars + ("[]" if array is not None else ""))

    def _struct(self, kind: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: Cell(cell.value, cell.type) for name, cell in value.items()}
        listed = value if isinstance(value, list) else []
        return {
            name: Cell(listed[i] if i < len(listed) else Unknown(f"{kind}::{name}"), member)
            for i, (member, name) in enumerate(self.fields[kind])
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
        return self._cast(values[0], kind) if values else Unknown(kind)

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
