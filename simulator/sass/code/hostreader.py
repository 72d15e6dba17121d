"""Reading host code from `main` on, statement by statement, without running any of it.

Of a loop the first pass is read (the first 32 of one that launches), of a branch whose condition
is not known both ways. Ways that are not taken are read too where they launch, and change nothing:
`maybe` says so. Functions that `main` never calls are read last, with unknown parameters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simulator.sass.code.aligning import alignments
from simulator.sass.code.constructing import constructors
from simulator.sass.code.declaring import Declarer
from simulator.sass.code.deduction import deduced, parameter_name
from simulator.sass.code.evaluation import text_of
from simulator.sass.code.hostvalues import (
    Cell,
    Pack,
    Type,
    Unknown,
    plain_type,
)
from simulator.sass.code.loops import (
    LAUNCH,
    LAUNCHES,
    from_case,
    is_counted,
    launches_a_parameter,
    launching_macros,
    passes_of,
    refuses_arguments,
    stepped,
)
from simulator.sass.code.signatures import (
    aliases,
    declarations,
    field_types,
    function_name,
    functions,
    instances,
    parameters_of,
    walk,
)
from simulator.sass.code.source import Source, parser
from simulator.sass.code.ways import joined, left, merge, restore, taken

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["HostReader"]

_MOST_STEPS = 200_000
_DISPATCHED = "scalar_t"  # the type that PyTorch's AT_DISPATCH_… choose when they run
_DEEPEST_CALL = 12
_MOST_PASSES = 4000  # of all loops together that launch nothing
_DEEPEST_WAY = 3  # ways not taken, one inside the other
_WORDS = re.compile(r"[A-Za-z_]\w*")


class _ReturnError(Exception):
    """A return statement was reached."""


class HostReader(Declarer):
    """Reads host functions statement by statement; what they call is a subclass's to see."""

    def __init__(self, sources: list[Source]) -> None:
        named: dict[str, str] = {}
        macros = {**sources[0].macros, **sources[0].outside}  # outside: as they were last
        for each in reversed(sources):
            named |= aliases(each)
        super().__init__(macros, named)
        self.sources = sources
        self.functions: dict[str, tuple[Node, tuple[str, ...]]] = {}
        for each in sources:
            self.fields |= field_types(each)
            self.alignments |= alignments(each)
            self.constructors |= constructors(each)
        self.instances: dict[str, Node] = {}
        self.read_functions: set[str] = set()
        self.launching: set[str] = set()
        """Functions that launch, or call one that does."""
        self.launchers = launching_macros(macros)
        self.row: int | None = None
        """Row of such a macro's call while it is read."""
        self.maybe = 0
        """Ways not taken that are being read."""
        self.steps = self.passes = 0
        self.calls = 0
        self.result: Any = None
        self.results: list[Any] = []
        """What the function that is read returns on ways that it may take."""
        self.cause = ""
        """What decides whether it takes them."""
        self.program_arguments = {"argc", "argv"}
        """What host code calls how many arguments the program has, and them; also main's names."""

    def read(self) -> None:
        """Read globals, then main, then what main does not reach."""
        trees = [list(functions(each)) for each in self.sources]
        for source in self.sources:
            for node in declarations(source):
                self._statement(node)
        for listed in trees:
            for node, template, head in listed:
                if "__global__" not in head and ("__device__" not in head or "__host__" in head):
                    self.functions.setdefault(function_name(node), (node, template))
        for source in self.sources:
            for name, node in instances(source):
                self.instances.setdefault(name, node)
        self._find_launching()
        if "main" in self.functions:
            self._run("main", [])
        general = {name for name, (node, _) in self.functions.items() if launches_a_parameter(node)}
        for name, (node, _) in list(self.functions.items()):
            if name in self.read_functions or name in general:
                continue
            words = {*_WORDS.findall(text_of(node))}
            if words & (general | self.launchers) or any(
                each.type == "kernel_call_syntax" or text_of(each) in LAUNCH
                for each in walk(node)
                if each.type in ("kernel_call_syntax", "identifier")
            ):
                self._run(name, None, self._instantiated(name))

    def _instantiated(self, name: str) -> tuple[Any, ...]:
        """Return the template arguments of a function's first explicit instance, if it has one."""
        node, template = self.functions[name]
        instance = self.instances.get(name)
        if instance is None or not template:
            return ()
        given: list[Any] = []
        named = instance.child_by_field_name("declarator")
        for each in walk(named) if named is not None else ():
            if each.type == "template_argument_list":
                texts = [text_of(n) for n in each.named_children if n.type != "comment"]
                values = [self.from_text(text) for text in texts]
                given = [value if isinstance(value, int) else Type(plain_type(text))
                         for text, value in zip(texts, values, strict=True)]  # fmt: skip
                break
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = declarator.child_by_field_name("declarator")
        kinds = [kind for kind, _ in parameters_of(declarator)] if declarator is not None else []
        types = [kind for kind, _ in parameters_of(instance)]
        return deduced(template, kinds, given, types)

    def _find_launching(self) -> None:
        bodies = {name: text_of(node) for name, (node, _) in self.functions.items()}
        called = {name: set(_WORDS.findall(text)) - {name} for name, text in bodies.items()}
        self.launching = {
            name
            for name, text in bodies.items()
            if LAUNCHES.search(text) or called[name] & self.launchers
        }
        while (
            more := {name for name, words in called.items() if words & self.launching}
            - self.launching
        ):
            self.launching |= more

    def read_macro(self, name: str, node: Node) -> None:
        """Read the statements of a macro that launches, as if they stood where it is called."""
        texts = [text_of(each) for each in self.arguments(node)]
        tree = parser().parse(f"void f() {{ {self.macros[name].put(texts)}; }}".encode())
        outer = self.row
        self.row = node.start_point.row if outer is None else outer
        self.calls += 1
        try:
            for each in tree.root_node.named_children:
                if each.type == "function_definition" and self.calls < _DEEPEST_CALL:
                    self._statement(each.child_by_field_name("body"))
        finally:
            self.calls -= 1
            self.row = outer

    def _lambda_expression(self, node: Node) -> Any:
        """Read a lambda that launches where it stands: `DISPATCH(type, [&] { k<<<…>>>(…); });`."""
        result, results = self.result, [*self.results]
        if LAUNCHES.search(text_of(node)) and self.calls < _DEEPEST_CALL:
            self.calls += 1
            if self.find(_DISPATCHED) is None and _DISPATCHED not in self.aliases:
                self.declare(_DISPATCHED, Unknown(_DISPATCHED))
            try:
                self._statement(node.child_by_field_name("body"))
            except _ReturnError:
                pass
            finally:
                self.calls -= 1
                self.result, self.results = result, results
        return Unknown(text_of(node))

    def _read_too(self, node: Node | None) -> None:
        """Read a way that is not taken, where it launches; afterwards all is as before."""
        if node is None or self.maybe >= _DEEPEST_WAY:
            return
        text = text_of(node)
        if not LAUNCHES.search(text) and not self.launching.intersection(_WORDS.findall(text)):
            return
        before, result, results = taken(self.scopes), self.result, [*self.results]
        self.maybe += 1
        try:
            self._statement(node)
        except _ReturnError:
            pass
        finally:
            self.maybe -= 1
            self.result, self.results = result, results
            restore(before)

    # ---- Functions. --------------------------------------------------------------------------
    def _run(
        self, name: str, given: list[Any] | None, types: tuple[Any, ...] = (),
        kinds: Sequence[str | None] = (),
    ) -> Any:  # fmt: skip
        """Read a function's body; None for `given`: its parameters are not known.

        `types`: its template arguments; `kinds`: the types of what is given.
        """
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
            if name == "main":
                self.program_arguments.add(name_)
            if given is not None and each.type == "variadic_parameter_declaration":
                rest = [v.value if isinstance(v, Cell) else v for v in given[index:]]
                self.scopes[-1][name_] = Cell(Pack(tuple(rest), tuple(kinds[index:])))
                break
            if given is not None and index < len(given):
                value = given[index]
                if isinstance(value, Cell):  # a variable: by reference, or its value
                    if inner is not None and "&" in text_of(inner).split(name_)[0]:
                        self.scopes[-1][name_] = value
                        continue
                    value = value.value
                if isinstance(value, Unknown):
                    asked[name_] = value.name
                self.declare(name_, self._as_number(value, called), called)
            elif (usual := each.child_by_field_name("default_value")) is not None:
                self.declare(name_, self._as_number(self.value(usual), called), called)
            elif name == "main" and index == 0:
                self.declare(name_, 1, "int")
            else:
                self.declare(name_, Unknown(name_), called)
        self.calls += 1
        outer_results, self.result, self.results = self.results, None, []
        try:
            self._statement(node.child_by_field_name("body"))
        except _ReturnError:
            pass
        finally:
            self.calls -= 1
            self.result = joined(self.cause, [*self.results, self.result])
            self.results = outer_results
            kind, whole = (node.child_by_field_name(n) for n in ("type", "declarator"))
            if kind is not None and whole is not None and whole.type == "function_declarator":
                self.result = self._as_number(self.result, text_of(kind))
            self.scopes = outer
        result, self.result = self.result, None
        if isinstance(result, Unknown):
            return Unknown(asked.get(result.name, result.name))
        return Unknown(f"{name}(…)") if result is None else result

    def _as_number(self, value: Any, kind: str) -> Any:
        """Return a number as the type has it; anything else as it is."""
        return self.convert(value, kind) if isinstance(value, int | float) else value

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
                           "try_statement"):  # fmt: skip
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
        if condition and refuses_arguments(node, self.program_arguments):
            condition = False  # the program is called as it asks for
        if not isinstance(condition, Unknown):
            self._read_too(other if condition else then)
            self._statement(then if condition else other)
            return
        self._ways([[then], [other]], condition.name)

    def _ways(self, ways: Sequence[Sequence[Node | None]], cause: str) -> None:
        """Read each way that may be taken from the same beginning; know what all of them leave.

        `cause` is what decides between them.
        """
        before, states = taken(self.scopes), []
        for way in ways:
            try:
                for each in way:
                    self._statement(each)
                states.append(left(before))
            except _ReturnError:
                self.results.append(self.result)  # the other ways go on
                self.result, self.cause = None, cause
            finally:
                restore(before)
        if not states:
            self.result = self.results.pop()
            raise _ReturnError
        merge(self.scopes, before, states)

    def _on_for_statement(self, node: Node) -> None:
        self.scopes.append({})
        try:
            first = node.child_by_field_name("initializer")
            if first is not None:
                self._statement(first) if first.type == "declaration" else self.value(first)
            self._loop(node)
        finally:
            self.scopes.pop()

    def _loop(self, node: Node, is_known: bool = False) -> None:
        """Read a loop's passes; what it changes is not known if its end was not reached."""
        condition = node.child_by_field_name("condition")
        body, update = node.child_by_field_name("body"), node.child_by_field_name("update")
        before, ends = taken(self.scopes), False
        counted = body is not None and is_counted(body)
        try:
            for _ in range(passes_of(body, node.type) if body is not None else 1):
                known = self.value(condition) if condition is not None else Unknown("")
                ends = not isinstance(known, Unknown) and not known
                if ends or (is_known and isinstance(known, Unknown)):
                    break
                if condition is not None and isinstance(known, Unknown):
                    self._ways([[body], []], known.name)
                else:
                    self._statement(body)
                self.passes += counted
                self.value(update) if update is not None else None
                if isinstance(known, Unknown) or (counted and self.passes > _MOST_PASSES):
                    break
        finally:
            if not ends:
                merge(self.scopes, before, [before, left(before)], stepped(node))

    _on_for_range_loop = _on_while_statement = _loop

    def _on_do_statement(self, node: Node) -> None:
        before, body = taken(self.scopes), node.child_by_field_name("body")
        self._statement(body)
        if body is not None and passes_of(body, node.type) > 1:
            self._loop(node, is_known=True)
        else:
            merge(self.scopes, before, [before, left(before)], stepped(node))

    def _on_switch_statement(self, node: Node) -> None:
        chosen = self.value(node.child_by_field_name("condition"))
        body = node.child_by_field_name("body")
        cases = [n for n in (body.named_children if body is not None else ())
                 if n.type == "case_statement"]  # fmt: skip
        if isinstance(chosen, Unknown):
            ways = [from_case(cases, i) for i in range(len(cases)) if from_case(cases[: i + 1], i)]
            is_sure = any(each.child_by_field_name("value") is None for each in cases)
            self._ways(ways if is_sure else [*ways, []], chosen.name)
            return
        labels = [each.child_by_field_name("value") for each in cases]
        first = next(
            (i for i, label in enumerate(labels) if label and self.value(label) == chosen),
            labels.index(None) if None in labels else len(cases),
        )
        for each in cases[:first] + cases[first + 1 :]:
            self._read_too(each)
        for each in from_case(cases, first):
            self._statement(each)
