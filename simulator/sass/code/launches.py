"""Launches that stand in a source: `kernel<<<grid, block>>>(…)`, with what its host code says.

Host code is read from `main` on, statement by statement, as far as it can be evaluated: numbers,
dim3, sizes of allocations. Nothing of it is run. Of a loop the first pass is read (the first 32
of one that launches), of a branch whose condition is not known both ways. Functions that `main` never calls are read afterwards,
with parameters that are not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulator.sass.code.describing import Described, describe
from simulator.sass.code.evaluation import Evaluator, text_of
from simulator.sass.code.hostvalues import (
    Allocation,
    Cell,
    Dim3,
    Reference,
    Type,
    Unknown,
    plain_type,
)
from simulator.sass.code.preprocessor import Macro
from simulator.sass.code.signatures import (
    Signature,
    aliases,
    field_types,
    functions,
    signatures,
    walk,
)
from simulator.sass.code.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["FoundLaunch", "Launches", "find_launches"]

_ALLOCATE = {"cudaMalloc", "cudaMallocManaged", "cudaMallocHost", "cudaMallocAsync", "cuMemAlloc",
             "cudaHostAlloc", "hipMalloc"}  # fmt: skip
_LAUNCH = {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelExC"}
_MOST_STEPS = 200_000
_DEEPEST_CALL = 12
_MOST_PASSES = 32  # of a loop that launches


@dataclass(frozen=True)
class FoundLaunch:
    """A launch as the source has it; texts with a name in them where a value is not known."""

    kernel: str
    """With its template arguments."""
    line: int = field(compare=False)
    grid: str
    block: str
    shared_bytes: str
    arguments: tuple[str, ...]
    unknown: tuple[str, ...]
    """Names in the source whose values are asked for."""
    signature: Signature | None = field(default=None, compare=False)

    def command(self, file: str) -> str:
        """Give the command that replays it."""
        parts = ["bankwise sass", file, "--kernel", _quoted(self.kernel), "--grid", self.grid,
                 "--block", self.block]  # fmt: skip
        if self.shared_bytes != "0":
            parts += ["--shared-bytes", self.shared_bytes]
        for each in self.arguments:
            parts += ["--arg", _quoted(each)]
        return " ".join(parts)


@dataclass(frozen=True)
class Launches:
    """What a source says of its kernels."""

    kernels: dict[str, list[Signature]]
    launches: tuple[FoundLaunch, ...]

    def instances(self) -> tuple[str, ...]:
        """Give the templates' instances that are launched."""
        return tuple(dict.fromkeys(each.kernel for each in self.launches if "<" in each.kernel))


def _quoted(text: str) -> str:
    return f"'{text}'" if re.search(r"[^\w.:=/,+-]", text) else text


def find_launches(
    text: str, outside: dict[str, Macro] | None = None, others: Iterable[Source] = ()
) -> Launches:
    """Find the launches in a source, in the order in which its host code reaches them.

    `outside`: macros from elsewhere. `others`: headers of the project, whose kernels, types and
    functions count.
    """
    source = Source(text, outside or {})
    reader = _Reader([source, *others])
    reader.read()
    return Launches(reader.kernels, tuple(dict.fromkeys(reader.found)))


class _Return(Exception):
    """A return statement was reached."""


class _Reader(Evaluator):
    """Reads host functions, and takes note of launches."""

    def __init__(self, sources: list[Source]) -> None:
        named: dict[str, str] = {}
        macros: dict[str, Macro] = {}
        for each in reversed(sources):
            named |= aliases(each)
            macros |= each.known
        super().__init__(macros, named)
        self.sources = sources
        self.kernels: dict[str, list[Signature]] = {}
        self.fields: dict[str, list[tuple[str, str]]] = {}
        self.functions: dict[str, tuple[Node, tuple[str, ...]]] = {}
        for each in sources:
            for name, found in signatures(each).items():
                self.kernels.setdefault(name, []).extend(found)
            self.fields |= field_types(each)
        self.found: list[FoundLaunch] = []
        self.read_functions: set[str] = set()
        self.steps = 0
        self.calls = 0
        self.result: Any = None

    def read(self) -> None:
        """Read globals, then main, then what main does not reach."""
        trees = [list(functions(each)) for each in self.sources]
        for source in self.sources:
            for node in _globals(source):
                self._declaration(node)
        for listed in trees:
            for node, template, head in listed:
                if "__global__" not in head and "__device__" not in head.split("__host__")[0]:
                    self.functions.setdefault(_name(node), (node, template))
        if "main" in self.functions:
            self._run("main", [])
        for name, (node, _) in list(self.functions.items()):
            if name not in self.read_functions and any(
                each.type == "kernel_call_syntax" or text_of(each) in _LAUNCH
                for each in walk(node)
                if each.type in ("kernel_call_syntax", "identifier")
            ):
                self._run(name, None)

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
            parameter = re.split(r"[=\s.]+", text.split("=")[0].strip())[-1]
            default = text.split("=")[1].strip() if "=" in text else None
            if index < len(types):
                self.declare(parameter, types[index])
            elif default is not None and given is not None:
                self.declare(parameter, self.from_text(default))
            else:
                self.declare(parameter, Unknown(parameter))
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        listed = declarator.child_by_field_name("parameters") if declarator is not None else None
        for index, each in enumerate(listed.named_children if listed is not None else ()):
            names = [n for n in walk(each) if n.type == "identifier"]
            kind = each.child_by_field_name("type")
            if not names or kind is None:
                continue
            inner = each.child_by_field_name("declarator")
            stars = text_of(inner).count("*") if inner is not None else 0
            called = plain_type(text_of(kind) + "*" * stars)
            name_ = text_of(names[-1] if each.child_by_field_name("default_value") is None
                            else [n for n in walk(inner or each) if n.type == "identifier"][-1])  # fmt: skip
            if given is not None and index < len(given):
                value = given[index]
                if isinstance(value, Reference) and inner is not None and "&" in text_of(inner):
                    self.scopes[-1][name_] = value.cell
                    continue
                value = value.cell.value if isinstance(value, Reference) and not stars else value
                self.declare(name_, value, called if stars == 0 else "")
            elif (default := each.child_by_field_name("default_value")) is not None:
                self.declare(name_, self.value(default), called)
            elif name == "main" and name_ == "argc":
                self.declare(name_, 1, "int")
            elif stars and name != "main":
                self.declare(name_, Unknown(name_), called)
            else:
                self.declare(name_, Unknown(name_), called)
        self.calls += 1
        self.result = None
        try:
            self._statement(node.child_by_field_name("body"))
        except _Return:
            pass
        finally:
            self.calls -= 1
            self.scopes = outer
        result, self.result = self.result, None
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
        raise _Return

    def _on_if_statement(self, node: Node) -> None:
        condition = self.value(node.child_by_field_name("condition"))
        then, other = (node.child_by_field_name(n) for n in ("consequence", "alternative"))
        if other is not None and other.type == "else_clause":
            other = other.named_children[0] if other.named_children else None
        if not isinstance(condition, Unknown):
            self._statement(then if condition else other)
            return
        before = self._snapshot()
        for each in (then, other):
            try:
                self._statement(each)
            except _Return:
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

    def _on_for_range_loop(self, node: Node) -> None:
        self._loop(node)

    def _on_while_statement(self, node: Node) -> None:
        self._loop(node)

    def _loop(self, node: Node) -> None:
        """Read a loop's body once; what it assigned is not known afterwards."""
        condition = node.child_by_field_name("condition")
        body, update = node.child_by_field_name("body"), node.child_by_field_name("update")
        launches = body is not None and re.search(r"<<<|\bcudaLaunch", text_of(body))
        before = self._snapshot()
        try:
            for _ in range(_MOST_PASSES if launches else 1):
                known = self.value(condition) if condition is not None else Unknown("")
                if known is False or known == 0 and not isinstance(known, Unknown):
                    break
                self._statement(body)
                if update is None or isinstance(known, Unknown):
                    break
                self.value(update)
        finally:
            self._forget(before)

    def _on_switch_statement(self, node: Node) -> None:
        chosen = self.value(node.child_by_field_name("condition"))
        body = node.child_by_field_name("body")
        cases = [n for n in (body.named_children if body is not None else ())
                 if n.type == "case_statement"]  # fmt: skip
        taken = isinstance(chosen, Unknown)
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
            if isinstance(value, int | float) and cell.value != value:
                cell.value = Unknown(names.get(id(cell), "a variable"))

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
            element = _vector(kind)
            if declarator.type == "function_declarator" and (element or self._is_value(kind)):
                # `dim3 block(size, size);` reads as a function's declaration.
                listed = declarator.child_by_field_name("parameters")
                texts = [text_of(n) for n in (listed.named_children if listed is not None else ())]
                values = [self.from_text(each) for each in texts]
                self.declare(name, self._made(kind, element, values), kind)
                continue
            if declarator.type in ("function_declarator", "parenthesized_declarator"):
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

    # ---- Calls and launches. -----------------------------------------------------------------
    def _call_expression(self, node: Node) -> Any:
        syntax = next((n for n in node.named_children if n.type == "kernel_call_syntax"), None)
        if syntax is not None:
            configuration = [n for n in syntax.named_children if n.type != "comment"]
            function = node.child_by_field_name("function")
            if function is not None and len(configuration) >= 2:
                values = [self.value(each) for each in configuration]
                self._launch(function, values, [self.value(n) for n in self.arguments(node)], node)
            return Unknown("a launch")
        return super()._call_expression(node)

    def call(self, name: str, function: Node, given: list[Node], node: Node) -> Any:
        """Evaluate a call: allocations, launches and functions of the source count."""
        if name in _ALLOCATE and len(given) >= 2:
            cell = self.value(given[0])
            size = self.value(given[1])
            if isinstance(cell, Reference):
                kind = cell.cell.type
                element = plain_type(kind)[:-1] if plain_type(kind).endswith("*") else None
                cell.cell.value = Allocation(size if isinstance(size, int) else None, element)
            return 0
        if name.startswith("cudaMemset") and len(given) >= 3:
            target = self.value(given[0])
            if isinstance(target, Allocation):
                target.zero = self.value(given[1]) == 0
            return 0
        if name in _LAUNCH and len(given) >= 4 and name != "cudaLaunchKernelExC":
            listed = self.value(given[3])
            shared = self.value(given[4]) if len(given) > 4 else 0
            values = [each.cell.value if isinstance(each, Reference) else each
                      for each in (listed if isinstance(listed, list) else [])]  # fmt: skip
            kernel = given[0]
            while kernel.type in ("cast_expression", "pointer_expression"):
                kernel = kernel.child_by_field_name("value") or kernel.named_children[-1]
            grid = [self.value(given[1]), self.value(given[2]), shared]
            self._launch(kernel, grid, values, node)
            return 0
        if name == "cudaLaunchKernelEx" and len(given) >= 2:
            config = self.value(given[0])
            config = config.cell.value if isinstance(config, Reference) else config
            if isinstance(config, dict):
                parts = [config[n].value if n in config else Unknown(n)
                         for n in ("gridDim", "blockDim", "dynamicSmemBytes")]  # fmt: skip
                self._launch(given[1], parts, [self.value(n) for n in given[2:]], node)
            return 0
        if name in self.functions and name != "main":
            types = self._template_arguments(function)
            values = []
            for each in given:
                cell = self.place(each)
                values.append(Reference(cell) if cell is not None else self.value(each))
            return self._run(name, values, types)
        return super().call(name, function, given, node)

    def _template_arguments(self, function: Node) -> tuple[Any, ...]:
        listed = next((n for n in walk(function) if n.type == "template_argument_list"), None)
        found: list[Any] = []
        for each in listed.named_children if listed is not None else ():
            if each.type == "type_descriptor":
                cell = self.find(text_of(each))
                known = cell is not None and not isinstance(cell.value, Unknown)
                if known:
                    found.append(cell.value)  # type: ignore[union-attr]
                else:
                    number = self.from_text(text_of(each))
                    found.append(number if not isinstance(number, Unknown) else
                                 Unknown(text_of(each)) if cell else Type(text_of(each)))  # fmt: skip
            else:
                found.append(self.value(each))
        return tuple(found)

    def _launch(
        self, function: Node, configuration: list[Any], values: list[Any], node: Node
    ) -> None:
        name = text_of(function)
        cell = self.find(name)
        if cell is not None and isinstance(cell.value, Unknown) and cell.value.name != name:
            name = cell.value.name  # auto kernel = gemm<64>; kernel<<<…>>>
        plain_name = name.split("<")[0].rsplit("::", 1)[-1].strip()
        candidates = self.kernels.get(plain_name, [])
        signature = next((s for s in candidates if len(s.parameters) == len(values)),
                         candidates[0] if candidates else None)  # fmt: skip
        types = self._template_arguments(function)
        table = {}
        if signature is not None and signature.template:
            for text, value in zip(signature.template, types, strict=False):
                table[re.split(r"[\s.]+", text.split("=")[0].strip())[-1]] = value
        described = Described()
        arguments = describe(values, signature, table, self, described)
        shown = [described.text(each) for each in types]
        full = (signature.full_name if signature else plain_name) + (
            f"<{', '.join(shown)}>" if shown else ""
        )
        shared = configuration[2] if len(configuration) > 2 else 0
        self.found.append(
            FoundLaunch(
                full, node.start_point.row + 1, described.shape(configuration[0]),
                described.shape(configuration[1]), described.text(shared), arguments,
                tuple(dict.fromkeys(described.unknown)), signature,
            )
        )  # fmt: skip


def _vector(kind: str) -> str | None:
    """Give the element type of a vector."""
    found = re.fullmatch(
        r"(?:\w+::)*(?:vector|device_vector|host_vector|array|unique_ptr)<(.+?)(?:\[\])?(?:,.*)?>",
        kind,
    )
    return found[1] if found else None


def _name(node: Node) -> str:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    inner = declarator.child_by_field_name("declarator") if declarator is not None else None
    return text_of(inner).rsplit("::", 1)[-1] if inner is not None else ""


def _globals(source: Source) -> Iterable[Node]:
    """Give the declarations outside functions."""
    from simulator.sass.code.source import parser

    todo = [parser().parse(source.readable().encode()).root_node]
    while todo:
        node = todo.pop(0)
        for each in node.named_children:
            if each.type == "declaration":
                yield each
            elif each.type in ("namespace_definition", "declaration_list", "ERROR"):
                todo.append(each)
