"""C index expressions over a thread's numbers and named integers: `(lane/8)*132 + (lane%8)*4`.

Values are C's `int`: 32 bits, division towards zero, `%` with the sign of the dividend, `>>` of
a negative number as CUDA does it. Overflow, division by zero and a shift by 32 or more are
errors at their place in the text. As in C, they are so only if they are evaluated:
`lane ? 64/lane : 0` is fine for lane 0. Suffixes (`33u`), comments and casts to integers are C's;
a cast of a negative number to `unsigned` is an error, for it wraps around. `threadIdx`,
`blockDim` and `33u` are unsigned, as in C: `/`, `%`, `>>` and comparisons with them wrap around
below 0.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from layouts.c_arithmetic import (
    BINARY,
    COMPARED,
    ORDERED,
    UNARY,
    ShiftError,
    integer_type,
    narrowed,
    unsigned,
)
from layouts.c_parser import Parser, Token, Tree, UnexpectedError
from layouts.errors import ExpressionError, accepted, short

__all__ = [
    "Compiler",
    "Evaluate",
    "Expression",
    "check_known",
    "integer",
    "nested",
    "parsed",
    "without_comments",
]

_ACCEPTED = (
    "accepted: decimal and 0x numbers, names, parentheses,"
    " * / % + - << >> < <= > >= == != & ^ | && || ?: ~ !"
)
_LONGEST = 4096
_INT = range(-(2**31), 2**31)

_Values = Mapping[str, int]
Evaluate = Callable[[_Values], int]
"""An expression, as a function of the values of its names."""


class Expression:
    """A parsed C index expression.

    >>> Expression("(lane/8)*132 + (lane%8)*4")({"lane": 9})
    136
    >>> Expression("-7/2")({}), Expression("-7%2")({})
    (-3, -1)

    Raises ExpressionError when it is malformed.
    """

    def __init__(self, source: str) -> None:
        if not isinstance(source, str):
            raise ExpressionError(
                f"expression of type {type(source).__name__} (accepted: text, such as 'lane*4')",
                short(source),
                0,
            )
        self.source = source
        tree = parsed(without_comments(source), source)
        compiler = Compiler(source)
        self._evaluate: Evaluate = nested(source, lambda: compiler.index(tree))
        self.names = compiler.names
        """The names it uses, with the column of their first use."""

    def __call__(self, values: _Values) -> int:
        """Evaluate with these values for its names: integers of any kind.

        Raises ExpressionError for a name without a value, one that is not an integer of 32 bits,
        and for what C leaves undefined.
        """
        self.check(values)
        given = {name: integer(name, values[name], self) for name in self.names}
        found: int = nested(self.source, lambda: self._evaluate(given))
        return found

    def check(self, known: Collection[str]) -> None:
        """Raise ExpressionError if it uses a name that is not one of `names`."""
        check_known(self, known)


class HasNames(Protocol):
    """A text that uses names."""

    @property
    def source(self) -> str:
        """The text."""

    @property
    def names(self) -> Mapping[str, int]:
        """The names that it uses, with the column of their first use."""


def integer(name: str, given: object, named: HasNames) -> int:
    """Return the value of a name as an int; raises ExpressionError if it is not one of 32 bits."""
    try:
        value: int = operator.index(given)  # type: ignore[arg-type]  # that is the question
    except TypeError:
        problem = f"{name} = {short(given)} is not an integer"
    else:
        if value in _INT:  # an `int` itself: for any other type `in` would walk the range
            return value
        problem = f"{name} = {short(value)} does not fit a 32-bit int"
    raise ExpressionError(problem, named.source, named.names[name])


def check_known(named: HasNames, names: Collection[str]) -> None:
    """Raise ExpressionError if a text uses a name that is not one of `names`."""
    unknown = next((name for name in named.names if name not in names), None)
    if unknown is not None:
        raise ExpressionError(
            f"unknown name {unknown!r}: {accepted(unknown, names)}, and -D NAME=VALUE",
            named.source,
            named.names[unknown],
        )


def parsed(text: str, source: str, parser: type[Parser] = Parser) -> Tree:
    """Return the tree of a text.

    `source` is what an error shows: the same text, with its comments. Raises ExpressionError.
    """
    if len(source) > _LONGEST:
        raise ExpressionError(
            f"expression of {len(source)} characters (accepted: up to {_LONGEST})", source, 0
        )
    try:
        tree: Tree = nested(source, lambda: parser(text).whole())
        return tree
    except UnexpectedError as error:
        column = len(text.rstrip()) if error.column is None else error.column
    ended = column == len(text.rstrip())
    problem = "expression ends too early" if ended else f"unexpected {source[column]!r}"
    if (step := text[column : column + 2]) in ("++", "--"):
        raise ExpressionError(
            f"{step} changes a variable, at column {column + 1} (accepted: {step[0]} 1; - -x for"
            " a sign twice)",
            source,
            column,
        )
    raise ExpressionError(f"{problem} at column {column + 1} ({_ACCEPTED})", source, column)


def nested(source: str, work: Callable[[], Any]) -> Any:
    """Do some work on a text; raise ExpressionError where the text is nested too deeply for it."""
    try:
        return work()
    except RecursionError:
        raise ExpressionError("expression is nested too deeply", source, 0) from None


_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def without_comments(source: str) -> str:
    """Return a text with blanks for its comments, so that columns stay.

    Raises ExpressionError for a comment without an end, and for Python's `lane//8`: C would take
    the rest of the line for a comment.
    """

    def blanks(found: re.Match[str]) -> str:
        divides = found[0].startswith("//") and re.search(r"\S$", source[: found.start()])
        if divides and divides[0] != ";" and re.match(r"//[\w(]", found[0]):
            raise ExpressionError(
                f"// begins a comment in C, at column {found.start() + 1} (accepted: / divides; a"
                " blank before a comment)",
                source,
                found.start(),
            )
        return re.sub(r"[^\n]", " ", found[0])

    text = _COMMENT.sub(blanks, source)
    if (column := text.find("/*")) >= 0:
        raise ExpressionError(
            f"a comment that does not end, at column {column + 1} (accepted: /* ... */)",
            source,
            column,
        )
    return text


class Compiler:
    """Turns parse trees of one text into nested functions of the names' values."""

    def __init__(self, source: str, locals_: Mapping[str, Evaluate] | None = None) -> None:
        self.source = source
        self.names: dict[str, int] = {}
        """The names used so far, with the column of their first use."""
        self.locals = locals_ or {}
        """Names that the text itself defines."""
        self.unsigned: Collection[str] = ()
        """Those of them whose type is unsigned."""

    def error(self, problem: str, token: Token) -> ExpressionError:
        """Return an error at the place of a token."""
        column = token.start
        return ExpressionError(f"{problem} at column {column + 1}", self.source, column)

    def _fit(self, value: int, token: Token) -> int:
        if value not in _INT:
            raise self.error(f"{short(value)} does not fit a 32-bit int", token)
        return value

    def index(self, tree: Tree) -> Evaluate:
        """Return the function that a tree of an index expression is. Raises ExpressionError."""
        parts = tree.parts
        if tree.kind == "number":
            constant = self._fit(int(parts[0].rstrip("uUlL"), 0), parts[0])
            return lambda values: constant
        if tree.kind == "name":
            return self._name(parts[0])
        if tree.kind == "unary":
            token, argument = parts[0], self.index(parts[1])
            function = UNARY[str(token)]
            return lambda values: self._fit(function(argument(values)), token)
        if tree.kind == "cast":
            return self._cast(parts[0], self.index(parts[1]))
        if tree.kind == "choose":
            condition, yes, no = map(self.index, parts)
            return lambda values: yes(values) if condition(values) else no(values)
        first, second = self.index(parts[0]), self.index(parts[2])
        if tree.kind == "either":
            return lambda values: int(first(values) != 0 or second(values) != 0)
        if tree.kind == "both":
            return lambda values: int(first(values) != 0 and second(values) != 0)
        return self.operation(parts, first, second)

    def operation(self, parts: list[Any], first: Evaluate, second: Evaluate) -> Evaluate:
        """Return the function of an operator, `parts[1]`, with two operands that were read."""
        token = parts[1]
        binary = BINARY[str(token)]
        if str(token) in ORDERED and self._wraps(parts):
            binary = unsigned(binary)

        def evaluate(values: _Values) -> int:
            try:
                return self._fit(binary(first(values), second(values)), token)
            except ZeroDivisionError:
                raise self.error("division by zero", token) from None
            except ShiftError as error:
                raise self.error(str(error), token) from None

        return evaluate

    def _name(self, token: Token) -> Evaluate:
        name = "".join(token.split())  # threadIdx . x
        if name in self.locals:
            return self.locals[name]
        self.names.setdefault(name, token.start)
        return lambda values: values[name]

    def _wraps(self, parts: list[Any]) -> bool:
        """Return whether a binary operation is one of unsigned numbers; a shift's left decides."""
        shifts = str(parts[1]) in ("<<", ">>")
        return self.is_unsigned(parts[0]) or (not shifts and self.is_unsigned(parts[2]))

    def is_unsigned(self, tree: Tree) -> bool:
        """Return whether C gives an expression the type `unsigned`."""
        parts = tree.parts
        match tree.kind:
            case "number":
                return "u" in parts[0].lower()
            case "name":
                name = "".join(parts[0].split())
                return name in self.unsigned or name.startswith(("threadIdx.", "blockDim."))
            case "unary":
                return str(parts[0]) != "!" and self.is_unsigned(parts[1])
            case "cast":
                bits, unsigned = integer_type(parts[0])
                return unsigned and bits >= 32
            case "choose":
                return any(map(self.is_unsigned, parts[1:]))
            case "binary":
                return str(parts[1]) not in COMPARED and self._wraps(parts)
        return False

    def _cast(self, token: Token, inner: Evaluate) -> Evaluate:
        if narrow := narrowed(token):
            return lambda values: narrow(inner(values))
        if not integer_type(token)[1]:
            return inner

        def evaluate(values: _Values) -> int:
            value = inner(values)
            if value < 0:
                raise self.error(f"{value} as unsigned wraps around", token)
            return value

        return evaluate
