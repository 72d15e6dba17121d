"""C index expressions over lane, tid, warp and named integers: `(lane/8)*132 + (lane%8)*4`.

Values are C's `int`: 32 bits, division towards zero, `%` with the sign of the dividend, `>>` of
a negative number as CUDA does it. Overflow, division by zero and a shift by 32 or more are
errors at their place in the text, and, as in C, only if they are evaluated:
`lane ? 64/lane : 0` is fine for lane 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from layouts.errors import ExpressionError, accepted, short

if TYPE_CHECKING:
    from lark import Lark, Token

__all__ = ["Expression"]

_GRAMMAR = r"""
    ?start: ternary
    ?ternary: or_ | or_ "?" ternary ":" ternary -> choose
    ?or_:   and_  | or_ OR and_        -> either
    ?and_:  bor   | and_ AND bor       -> both
    ?bor:   bxor  | bor BOR bxor       -> binary
    ?bxor:  band  | bxor XOR band      -> binary
    ?band:  eq    | band BAND eq       -> binary
    ?eq:    rel   | eq EQ rel          -> binary
    ?rel:   shift | rel REL shift      -> binary
    ?shift: sum   | shift SHIFT sum    -> binary
    ?sum:   term  | sum SIGN term      -> binary
    ?term:  unary | term MUL unary     -> binary
    ?unary: atom  | SIGN unary         -> unary
                  | NOT unary          -> unary
    ?atom:  NUMBER -> number | NAME -> name | "(" ternary ")"

    OR.2: "||"
    AND.2: "&&"
    BOR: "|"
    XOR: "^"
    BAND: "&"
    EQ.2: "==" | "!="
    SHIFT.2: "<<" | ">>"
    REL: /[<>]=?/
    SIGN: "+" | "-"
    MUL: "*" | "/" | "%"
    NOT: "~" | "!"
    NUMBER: /0[xX][0-9a-fA-F]+(?![0-9a-zA-Z_])|(0|[1-9][0-9]*)(?![0-9a-zA-Z_])/
    NAME: /[A-Za-z_][A-Za-z_0-9]*/
    %ignore /\s+/
"""

_ACCEPTED = (
    "accepted: decimal and 0x numbers, names, parentheses,"
    " * / % + - << >> < <= > >= == != & ^ | && || ?: ~ !"
)
_LONGEST = 4096
_INT = range(-(2**31), 2**31)

_Values = Mapping[str, int]
_Evaluate = Callable[[_Values], int]


class Expression:
    """A parsed C index expression.

    >>> Expression("(lane/8)*132 + (lane%8)*4")({"lane": 9})
    136
    >>> Expression("-7/2")({}), Expression("-7%2")({})
    (-3, -1)

    Raises ExpressionError when it is malformed.
    """

    def __init__(self, source: str) -> None:
        import lark

        if not isinstance(source, str):
            raise ExpressionError(
                f"expression of type {type(source).__name__} (accepted: text, such as 'lane*4')",
                short(source),
                0,
            )
        self.source = source
        self.names: dict[str, int] = {}
        """The names it uses, with the column of their first use."""
        if len(source) > _LONGEST:
            raise ExpressionError(
                f"expression of {len(source)} characters (accepted: up to {_LONGEST})",
                source[:60],
                0,
            )
        try:
            tree = _parser().parse(source)
            self._evaluate = self._compile(tree)
        except RecursionError:
            raise ExpressionError("expression is nested too deeply", source[:60], 0) from None
        except lark.UnexpectedInput as error:
            ended = isinstance(error, lark.UnexpectedToken) and error.token.type == "$END"
            column = len(source.rstrip()) if ended else int(error.pos_in_stream or 0)
            problem = "expression ends too early" if ended else f"unexpected {source[column]!r}"
            raise ExpressionError(
                f"{problem} at column {column + 1} ({_ACCEPTED})", source, column
            ) from None

    def __call__(self, values: _Values) -> int:
        """Evaluate with these values for its names: integers of any kind.

        Raises ExpressionError for a name without a value, one that is not an integer of 32 bits,
        and for what C leaves undefined.
        """
        self.check(values)
        return self._evaluate({name: self._value(name, values[name]) for name in self.names})

    def _value(self, name: str, given: object) -> int:
        try:
            value = operator.index(given)  # type: ignore[arg-type]  # that is the question
        except TypeError:
            problem = f"{name} = {short(given)} is not an integer"
        else:
            if value in _INT:  # an `int` itself: for any other type `in` would walk the range
                return value
            problem = f"{name} = {short(value)} does not fit a 32-bit int"
        raise ExpressionError(problem, self.source, self.names[name])

    def check(self, known: Collection[str]) -> None:
        """Raise ExpressionError if it uses a name that is not `known`."""
        unknown = next((name for name in self.names if name not in known), None)
        if unknown is not None:
            raise ExpressionError(
                f"unknown name {unknown!r}: {accepted(unknown, known)}, and -D NAME=VALUE",
                self.source,
                self.names[unknown],
            )

    def _error(self, problem: str, token: Token) -> ExpressionError:
        column = int(token.start_pos or 0)
        return ExpressionError(f"{problem} at column {column + 1}", self.source, column)

    def _fit(self, value: int, token: Token) -> int:
        if value not in _INT:
            raise self._error(f"{short(value)} does not fit a 32-bit int", token)
        return value

    def _compile(self, tree: Any) -> _Evaluate:
        """Turn a parse tree into nested functions of the names' values."""
        parts = tree.children
        if tree.data == "number":
            constant = self._fit(int(parts[0], 0), parts[0])
            return lambda values: constant
        if tree.data == "name":
            name = str(parts[0])
            self.names.setdefault(name, int(parts[0].start_pos))
            return lambda values: values[name]
        if tree.data == "unary":
            token, argument = parts[0], self._compile(parts[1])
            function = _UNARY[str(token)]
            return lambda values: self._fit(function(argument(values)), token)
        if tree.data == "choose":
            condition, yes, no = map(self._compile, parts)
            return lambda values: yes(values) if condition(values) else no(values)
        first, second = self._compile(parts[0]), self._compile(parts[2])
        if tree.data == "either":
            return lambda values: int(first(values) != 0 or second(values) != 0)
        if tree.data == "both":
            return lambda values: int(first(values) != 0 and second(values) != 0)
        token = parts[1]
        binary = _BINARY[str(token)]

        def evaluate(values: _Values) -> int:
            try:
                return self._fit(binary(first(values), second(values)), token)
            except ZeroDivisionError:
                raise self._error("division by zero", token) from None
            except _ShiftError as error:
                raise self._error(str(error), token) from None

        return evaluate


class _ShiftError(Exception):
    pass


def _divide(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: int, b: int) -> int:
    return a - b * _divide(a, b)


def _shift(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def shift(a: int, b: int) -> int:
        if not 0 <= b < 32:
            raise _ShiftError(f"shift by {b} (accepted: 0 to 31)")
        return function(a, b)

    return shift


_UNARY: dict[str, Callable[[int], int]] = {
    "+": operator.pos,
    "-": operator.neg,
    "~": operator.invert,
    "!": lambda a: int(a == 0),
}
_BINARY: dict[str, Callable[[int, int], int]] = {
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
    "+": operator.add,
    "-": operator.sub,
    "<<": _shift(operator.lshift),
    ">>": _shift(operator.rshift),
    "&": operator.and_,
    "^": operator.xor,
    "|": operator.or_,
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
}


@cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, parser="lalr")
