"""Evaluating host expressions by their syntax tree: numbers, dim3, allocations; nothing is run.

What is not understood is `Unknown` with its text, and stays so in whatever is made of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simulator.sass.code.headers import CONSTANTS
from simulator.sass.code.hostvalues import (
    SHORT_TYPES,
    SIZES,
    Allocation,
    Cell,
    Dim3,
    Reference,
    Type,
    Unknown,
    arithmetic,
    balanced,
    cast,
    literal,
    plain_type,
    type_size,
    vector_element,
)
from simulator.sass.code.preprocessor import Macro
from simulator.sass.code.source import parser

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Evaluator", "operator_of", "text_of"]

_DEEPEST = 40
_MOST_VALUES = 1_000_000  # macros of macros double at each step
_MADE = ("unary_expression", "binary_expression", "conditional_expression", "call_expression")
# What is made of a value is not that value, where it is not known either.
_ACTS = re.compile(
    r"\b(?!sizeof\b)[A-Za-z_]\w*\s*\(|(?<!_cast)<[^<>]*>\s*\("
    r"|\+\+|--|(?<![=!<>])=(?!=)|<<=|>>="
)
# What may do something when it is evaluated: calls, assignments.
_DEEPEST_ALIAS = 8
_IN_WORDS = {"and": "&&", "or": "||", "not": "!", "not_eq": "!=", "bitand": "&", "bitor": "|",
             "xor": "^", "compl": "~"}  # fmt: skip
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)([uUlLzZ]*)")


def text_of(node: Node) -> str:
    """Return the source of a node, on one line."""
    return " ".join((node.text or b"").decode(errors="replace").split())


def operator_of(node: Node) -> str:
    """Return an operator by its sign: `not` is another way to write `!`."""
    text = text_of(node)
    return _IN_WORDS.get(text, text)


class Evaluator:
    """Evaluates expressions; `scopes` are variables, the innermost last."""

    def __init__(self, macros: dict[str, Macro], aliases: dict[str, str]) -> None:
        self.macros = macros
        self.aliases = aliases
        self.scopes: list[dict[str, Cell]] = [{}]
        self.fields: dict[str, list[tuple[str, str]]] = {}
        """Members of the source's structures, type and name."""
        self.assumed: Mapping[str, int | float] = {}
        """Values of names that nothing tells, and of variables in place of what is told."""
        self.device: Mapping[str, int] = {}
        """Members of cudaDeviceProp."""
        self.used: set[str] = set()
        """Names whose assumed values were used."""
        self.no_counts: dict[str, str] = {}
        """Pointers, by names whose assumed values are to count their elements, and cannot."""
        self.depth = self.evaluated = 0

    # ---- Variables. --------------------------------------------------------------------------
    def find(self, name: str) -> Cell | None:
        """Find a variable by name."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def declare(self, name: str, value: Any, kind: str = "") -> Cell:
        """Make a variable in the innermost scope."""
        told = value
        if isinstance(value, Unknown | int | float) and not kind.endswith("*"):
            value = self.let(name, value)
        cell = Cell(value, kind, isinstance(told, Unknown) and name in self.assumed)
        self.scopes[-1][name] = cell
        return cell

    def sized(self, name: str) -> int | None:
        """Return the bytes of a type, template parameters looked up."""
        plain = plain_type(name)
        cell = self.find(plain.rstrip("*&"))
        if cell is not None and isinstance(cell.value, Type) and not plain.endswith("*"):
            plain = cell.value.name
        return type_size(plain, self.aliases)

    def let(self, name: str, value: Any) -> Any:
        """Return what is assumed of a name, else its value."""
        self.used.add(name)
        return self.assumed.get(name, value)

    def assume(self, value: Any) -> Any:
        """Return what is assumed of a name whose value is not known."""
        return self.let(value.name, value) if isinstance(value, Unknown) else value

    # ---- Expressions. ------------------------------------------------------------------------
    def value(self, node: Node | None) -> Any:
        """Evaluate an expression."""
        if node is None:
            return Unknown("nothing")
        method = getattr(self, f"_{node.type}", None)
        self.evaluated += 1
        if method is None or self.depth > _DEEPEST or self.evaluated > _MOST_VALUES:
            return Unknown(text_of(node))
        self.depth += 1
        try:
            found = method(node)
            if isinstance(found, Unknown) and node.type in _MADE:
                return Unknown(found.name, text_of(node))
            return found
        except (ArithmeticError, TypeError, ValueError, RecursionError):
            return Unknown(text_of(node))
        finally:
            self.depth -= 1

    def from_text(self, text: str) -> Any:
        """Evaluate an expression in source form, such as a macro's body."""
        if len(text) > 2000:
            return Unknown(text[:40])
        tree = parser().parse(f"auto x = {text};".encode())
        for node in tree.root_node.named_children:
            for each in node.named_children:
                if each.type == "init_declarator" and not node.has_error:
                    return self.value(each.child_by_field_name("value"))
        return Unknown(text)

    def _number_literal(self, node: Node) -> Any:
        text = text_of(node).replace("'", "")
        if text[0] in "-+":  # the grammar has the sign of a literal in it
            value = self.from_text(text[1:])
            return arithmetic("-", 0, value) if text[0] == "-" else value
        if found := _INTEGER.fullmatch(text):
            digits = found[1]
            octal = len(digits) > 1 and digits[0] == "0" and digits.isdecimal()
            return literal(int(digits, 8 if octal else 0), found[2], digits.isdecimal())
        if text[:2] in ("0x", "0X"):
            return float.fromhex(text.rstrip("fFlL"))  # 0x1p-3
        return float(text.rstrip("fFlL"))

    def _char_literal(self, node: Node) -> Any:
        try:
            found = ast.literal_eval(text_of(node))
        except SyntaxError:  # L'a'
            return Unknown(text_of(node))
        return cast(ord(found), "char") if len(found) == 1 else Unknown(text_of(node))

    def _true(self, node: Node) -> Any:
        return True

    def _false(self, node: Node) -> Any:
        return False

    def _null(self, node: Node) -> Any:
        return 0

    _nullptr = _null

    def _string_literal(self, node: Node) -> Any:
        return text_of(node)

    def _identifier(self, node: Node) -> Any:
        name = text_of(node)
        cell = self.find(name)
        if cell is not None:
            return Unknown(name) if isinstance(cell.value, Unknown) else cell.value
        macro = self.macros.get(name)
        if macro is not None and macro.parameters is None and macro.body != name:
            found = self.from_text(macro.body)
            return Unknown(name) if isinstance(found, Unknown) else found
        if name in CONSTANTS and name not in self.assumed:
            return self.from_text(CONSTANTS[name])
        return self.assume(Unknown(name))

    def _qualified_identifier(self, node: Node) -> Any:
        name = node.child_by_field_name("name")
        return self.value(name) if name is not None else Unknown(text_of(node))

    def _parenthesized_expression(self, node: Node) -> Any:
        return self.value(node.named_children[0])

    def _condition_clause(self, node: Node) -> Any:
        return self.value(node.child_by_field_name("value"))

    def _comma_expression(self, node: Node) -> Any:
        self.value(node.child_by_field_name("left"))
        return self.value(node.child_by_field_name("right"))

    def _unary_expression(self, node: Node) -> Any:
        value = self.value(node.child_by_field_name("argument"))
        if isinstance(value, Unknown):
            return value
        operator = operator_of(node.children[0])
        if operator == "-":
            return arithmetic("-", 0, value)
        if operator == "~":
            return arithmetic("^", value, -1)
        return not value if operator == "!" else value

    def _binary_expression(self, node: Node) -> Any:
        left = self.value(node.child_by_field_name("left"))
        operator = operator_of(node.children[1])
        if isinstance(left, int | float) and operator == ("||" if left else "&&"):
            return bool(left)  # what stands on the right is not evaluated
        right = self.value(node.child_by_field_name("right"))
        if isinstance(right, Allocation) and operator == "+":
            left, right = right, left
        if isinstance(left, Allocation) and operator in "+-":
            return self._moved(left, operator, right)
        for each in (left, right):
            if isinstance(each, Unknown):
                return each
        return arithmetic(operator, left, right)

    def _conditional_expression(self, node: Node) -> Any:
        condition = self.value(node.child_by_field_name("condition"))
        if isinstance(condition, Unknown):
            return condition
        ways = [node.child_by_field_name(each) for each in ("consequence", "alternative")]
        taken, other = ways if condition else reversed(ways)
        value = self.value(taken)
        if other is None or not isinstance(value, int) or _ACTS.search(text_of(other)):
            return value
        return balanced(value, self.value(other))  # the other one has a part in its type

    def _cast_expression(self, node: Node) -> Any:
        value = self.value(node.child_by_field_name("value"))
        return self.convert(value, text_of(node.child_by_field_name("type")))  # type: ignore[arg-type]

    def convert(self, value: Any, kind: str) -> Any:
        """Return a value as a type has it."""
        plain = self.meant(kind)
        if plain.endswith("*"):
            return value.pointer_to(plain[:-1]) if isinstance(value, Allocation) else value
        return cast(value, plain)

    def meant(self, kind: str) -> str:
        """Return the type that a name stands for: of a template's argument, or of another type."""
        plain = plain_type(kind)
        cell = self.find(plain)
        if cell is not None and isinstance(cell.value, Type):
            plain = cell.value.name
        if plain.endswith("*"):
            return plain
        for _ in range(_DEEPEST_ALIAS):
            plain = plain_type(self.aliases.get(plain, plain))
        return plain

    def is_number(self, kind: str) -> bool:
        """Whether a name stands for a type of one number."""
        name = self.meant(kind)
        is_one = not name[-1:].isdigit() or "_fp8_" in name  # not int2
        return is_one and name != "void" and (name in SHORT_TYPES or name in SIZES)

    def _pointer_expression(self, node: Node) -> Any:
        argument = node.child_by_field_name("argument")
        if text_of(node.children[0]) == "&":
            cell = self.place(argument)
            if cell is None and argument is not None and argument.type == "subscript_expression":
                base = self.value(argument.child_by_field_name("argument"))
                if isinstance(base, Allocation):
                    return self._moved(base, "+", self._index(argument))  # &a[i]
            return Reference(cell) if cell is not None else self.value(argument)
        value = self.value(argument)
        if isinstance(value, Reference):
            return value.cell.value
        return self.assume(Unknown(text_of(node)))

    def _subscript_expression(self, node: Node) -> Any:
        base = self.value(node.child_by_field_name("argument"))
        index = self._index(node)
        if isinstance(base, list | tuple) and isinstance(index, int) and 0 <= index < len(base):
            return base[index]
        cell = self.place(node)
        return Unknown(text_of(node)) if cell is None else cell.value

    def _field_expression(self, node: Node) -> Any:
        base = self.value(node.child_by_field_name("argument"))
        name = text_of(node.child_by_field_name("field"))  # type: ignore[arg-type]
        if isinstance(base, Reference):
            base = base.cell.value
        if isinstance(base, Dim3) and name in ("x", "y", "z"):
            return getattr(base, name)
        if isinstance(base, dict) and text_of(node) not in self.assumed:
            found = base.get(name)
            return found.value if isinstance(found, Cell) else Unknown(text_of(node))
        owner = self.place(node.child_by_field_name("argument"))
        if owner is not None and owner.type == "cudaDeviceProp" and name in self.device:
            return self.device[name]
        return self.assume(Unknown(text_of(node)))

    def _initializer_list(self, node: Node) -> Any:
        return [self.value(each) for each in node.named_children if each.type != "comment"]

    def _compound_literal_expression(self, node: Node) -> Any:
        kind = node.child_by_field_name("type")
        value = self.value(node.child_by_field_name("value"))
        if kind is not None and plain_type(text_of(kind)) in ("dim3", "uint3"):
            return Dim3(*value)
        if kind is not None and self.is_number(text_of(kind)) and len(value) < 2:
            return self.convert(value[0] if value else 0, text_of(kind))  # T{1}
        return value

    def _update_expression(self, node: Node) -> Any:
        cell = self.place(node.child_by_field_name("argument"))
        if cell is None or not isinstance(cell.value, int | Allocation):
            return Unknown(text_of(node))
        before: Any = cell.value
        sign = "+" if "++" in text_of(node) else "-"
        is_pointer = isinstance(before, Allocation)
        after = self._moved(before, sign, 1) if is_pointer else arithmetic(sign, before, 1)
        cell.value = after if is_pointer or not cell.type else self.convert(after, cell.type)
        return before if text_of(node.children[0]) not in ("++", "--") else cell.value

    def _assignment_expression(self, node: Node) -> Any:
        value = self.value(node.child_by_field_name("right"))
        left = node.child_by_field_name("left")
        cell = self.place(left) or self._member(left)
        operator = text_of(node.children[1])
        if cell is None:
            return self._extent(left, operator, value)
        if cell.is_assumed and operator == "=":  # `int n; n = 1024;`: as if it were declared so
            cell.is_assumed = False
            return cell.value
        if operator != "=":
            if isinstance(cell.value, Allocation):
                value = self._moved(cell.value, operator[:-1], value)
            elif isinstance(value, Unknown) or isinstance(cell.value, Unknown):
                value = Unknown(text_of(node.child_by_field_name("left")))  # type: ignore[arg-type]
            else:
                value = arithmetic(operator[:-1], cell.value, value)
        if isinstance(value, Allocation) and vector_element(cell.type) is not None:
            value = value.copied()
        cell.value = self.convert(value, cell.type) if cell.type else value
        return cell.value

    def _extent(self, left: Node | None, operator: str, value: Any) -> Any:
        """Assign to one extent of a dim3, if `left` is one: grid.x = 4."""
        if left is None or left.type != "field_expression":
            return value
        owner = self.place(left.child_by_field_name("argument"))
        name = text_of(left.child_by_field_name("field"))  # type: ignore[arg-type]
        if owner is None or not isinstance(owner.value, Dim3) or name not in ("x", "y", "z"):
            return value
        if operator != "=":
            old = getattr(owner.value, name)
            known = not isinstance(value, Unknown) and not isinstance(old, Unknown)
            value = arithmetic(operator[:-1], old, value) if known else Unknown(text_of(left))
        owner.value = replace(owner.value, **{name: value})
        return value

    def place(self, node: Node | None) -> Cell | None:
        """Find the variable that an expression names."""
        if node is None:
            return None
        if node.type == "identifier":
            return self.find(text_of(node))
        if node.type == "parenthesized_expression":
            return self.place(node.named_children[0])
        if node.type == "pointer_expression" and text_of(node.children[0]) == "*":
            value = self.value(node.child_by_field_name("argument"))
            return value.cell if isinstance(value, Reference) else None
        if node.type == "subscript_expression":
            return self._pointer_in(node)
        if node.type == "field_expression":
            base = self.value(node.child_by_field_name("argument"))
            if isinstance(base, Reference):
                base = base.cell.value
            if isinstance(base, dict):
                name = text_of(node.child_by_field_name("field"))  # type: ignore[arg-type]
                member: Cell = base.setdefault(name, Cell(Unknown(text_of(node))))
                return member
        return None

    def _member(self, node: Node | None) -> Cell | None:
        """Find a member of a structure in another, of which nothing is known before: a.b.c = 1."""
        if node is None or node.type != "field_expression" or text_of(node.children[1]) != ".":
            return None
        owner = self.place(node.child_by_field_name("argument"))
        if owner is None or not isinstance(owner.value, Unknown):
            return None
        owner.value = {}
        return self.place(node)

    def _pointer_in(self, node: Node) -> Cell | None:
        """Find an element of an array of pointers."""
        array = node.child_by_field_name("argument")
        base, owner = self.value(array), self.place(array)
        if isinstance(base, Unknown) and owner is not None and "*[" in owner.type:
            owner.value = base = Allocation(None, owner.type.split("[")[0])
        if not isinstance(base, Allocation) or not (base.element or "").endswith("*"):
            return None
        index = self._index(node)
        if not isinstance(index, int):
            return None
        return base.pointers.setdefault(index, Cell(Unknown(text_of(node)), base.element or ""))

    def _index(self, node: Node) -> Any:
        indices = node.child_by_field_name("indices")
        return self.value(indices.named_children[0]) if indices and indices.named_children else 0

    def _moved(self, pointer: Allocation, operator: str, by: Any) -> Allocation:
        by = arithmetic(operator, 0, by) if isinstance(by, int) else by
        return pointer.moved(by, self.sized(pointer.element or ""))
