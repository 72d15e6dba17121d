"""Trees of C expressions: what binds tighter, and where a text cannot be read on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layouts.c_parser import Parser, Token, Tree, UnexpectedError


def shape(part: Tree | Token) -> str:
    """Return a tree with brackets around each of its parts."""
    if isinstance(part, Token):
        return str(part)
    inner = " ".join(map(shape, part.parts))
    return inner if len(part.parts) == 1 else f"({inner})"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a - b - c", "((a - b) - c)"),
        ("a || b && c | d ^ e & f", "(a || (b && (c | (d ^ (e & f)))))"),
        ("a == b < c << d + e * f", "(a == (b < (c << (d + (e * f)))))"),
        ("a * b % c / d", "(((a * b) % c) / d)"),
        ("a ? b : c ? d : e", "(a b (c d e))"),
        ("-a * !b", "((- a) * (! b))"),
        ("(int)a * b", "(((int) a) * b)"),
        ("a<=b>>c!=d", "((a <= (b >> c)) != d)"),
        ("int(a + b) * c", "((int (a + b)) * c)"),
    ],
)
def test_operators_bind_as_in_c(text: str, expected: str) -> None:
    assert shape(Parser(text).whole()) == expected


@pytest.mark.parametrize(
    ("text", "column"),
    [("a +", None), ("(a", None), ("a b", 2), ("a ? b", None), ("a $", 2), ("  ]", 2), ("a ,b", 2)],
)
def test_what_cannot_be_read_on_is_told_by_its_column(text: str, column: int | None) -> None:
    with pytest.raises(UnexpectedError) as caught:
        Parser(text).whole()
    assert caught.value.column == column


@given(st.text("ab1+-*<>=!&|^?:() \t", max_size=12))
def test_tokens_stand_where_they_say(text: str) -> None:
    """All that a text holds beside blanks, parentheses and `?:` is in its tree, in its order."""
    try:
        tokens = list(Parser(text).whole().tokens())
    except UnexpectedError:
        return
    assert all(text[token.start : token.end] == token for token in tokens)
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)
    assert "".join(tokens) == text.translate({ord(each): None for each in "?:() \t"})
