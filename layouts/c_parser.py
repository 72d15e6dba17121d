"""Trees of C index expressions: tokens by one pattern, operators by their precedence.

A parser's generator would take longer to start than all else that answers a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

__all__ = ["Parser", "Token", "Tree", "UnexpectedError"]

_WORDS = "(?:unsigned|signed|int|long|short|char)"
_INTEGER = (
    r"(?:(?:std::)?(?:size_t|ptrdiff_t|u?int(?:8|16|32|64)_t)|uint|ushort|uchar"
    rf"|{_WORDS}(?:\s+{_WORDS})*)(?!\w)"
)

_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"),
    ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
"""C's binary operators, from the loosest to the tightest; all bind to the left."""

_PRECEDENCE = {sign: level for level, signs in enumerate(_LEVELS) for sign in signs}
_KINDS = {"||": "either", "&&": "both"}


class Token(str):
    """A piece of a text, which knows where it stands."""

    __slots__ = ("end", "kind", "start")

    def __new__(cls, text: str, kind: str, start: int) -> Token:
        """Return the text that begins at `start`."""
        token = super().__new__(cls, text)
        token.kind, token.start, token.end = kind, start, start + len(text)
        return token

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Tree:
    """A part of an expression, such as a `binary` of an operand, a sign, and an operand."""

    kind: str
    parts: list[Any]
    """Trees and tokens, as its kind has them."""

    def tokens(self) -> Iterator[Token]:
        """Yield its tokens, from left to right."""
        for part in self.parts:
            if isinstance(part, Token):
                yield part
            else:
                yield from part.tokens()


class UnexpectedError(Exception):
    """A text that cannot be read on at a column; None where it ends too early."""

    def __init__(self, column: int | None) -> None:
        super().__init__(column)
        self.column = column


class Parser:
    """Reads one text as an index expression.

    >>> Parser("lane + 4*tid").whole().kind
    'binary'
    """

    TOKENS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("called", rf"{_INTEGER}(?=\s*\()|static_cast\s*<\s*{_INTEGER}\s*>"),
        ("cast", rf"\(\s*(?:const\s+)?{_INTEGER}\s*\)"),
        ("number", r"(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0|[1-9][0-9]*)[uUlL]{0,3}(?![0-9a-zA-Z_])"),
        ("name", r"(?:threadIdx|blockDim)\s*\.\s*[xyz](?![0-9a-zA-Z_])|[A-Za-z_][A-Za-z_0-9]*"),
        ("step", r"\+\+|--"),
        ("sign", r"==|!=|<<|>>|&&|\|\||[<>]=?|[-+*/%&|^~!?:()]"),
    )
    """Kinds of tokens with their patterns; the first that matches is taken."""

    @classmethod
    @cache
    def _pattern(cls) -> re.Pattern[str]:
        kinds = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in cls.TOKENS)
        return re.compile(rf"\s*(?:{kinds}|(?P<end>\Z))")

    def __init__(self, text: str) -> None:
        self._text = text
        self._match = self._pattern().match
        self.next = self._token(0)
        """The token that is read next; of the kind `end` after the last."""

    def whole(self) -> Tree:
        """Return the tree of the whole text. Raises UnexpectedError."""
        tree = self.expression()
        if self.next.kind != "end":
            raise self.unexpected()
        return tree

    def expression(self) -> Tree:
        """Read an expression, which may be a choice by `?:`."""
        condition = self._operators(0)
        if self.next != "?":
            return condition
        self.take()
        yes = self.expression()
        self.need(":")
        return Tree("choose", [condition, yes, self.expression()])

    def _operators(self, least: int) -> Tree:
        """Read operands and the operators between them, down to those of the level `least`."""
        tree = self.unary()
        while (level := _PRECEDENCE.get(self.next, -1)) >= least:
            sign = self.take()
            kind = _KINDS.get(sign, "binary")
            tree = Tree(kind, [tree, sign, self._operators(level + 1)])
        return tree

    def unary(self) -> Tree:
        """Read an operand, with what stands before it."""
        if self.next in ("+", "-", "~", "!"):
            return Tree("unary", [self.take(), self.unary()])
        if self.next.kind == "cast":
            return Tree("cast", [self.take(), self.unary()])
        return self.operand()

    def operand(self) -> Tree:
        """Read a number, a name, or what stands in parentheses."""
        if self.next.kind in ("number", "name"):
            return Tree(self.next.kind, [self.take()])
        if self.next.kind == "called":
            return Tree("cast", [self.take(), self.enclosed()])
        return self.enclosed()

    def enclosed(self) -> Tree:
        """Read an expression in parentheses."""
        self.need("(")
        tree = self.expression()
        self.need(")")
        return tree

    def need(self, sign: str) -> Token:
        """Read a sign that must come now."""
        if self.next != sign:
            raise self.unexpected()
        return self.take()

    def take(self) -> Token:
        """Return the next token, and go on to the one after it."""
        token = self.next
        self.next = self._token(token.end)
        return token

    def unexpected(self) -> UnexpectedError:
        """Return the error that the next token cannot stand here."""
        return UnexpectedError(None if self.next.kind == "end" else self.next.start)

    def _token(self, at: int) -> Token:
        found = self._match(self._text, at)
        if found is None:
            rest = self._text[at:]
            raise UnexpectedError(at + len(rest) - len(rest.lstrip()))
        kind = found.lastgroup or "end"
        return Token(found[kind], kind, found.start(kind))
