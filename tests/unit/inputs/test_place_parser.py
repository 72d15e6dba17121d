"""Trees of accesses in C: subscripts, members, casts, and the commas between indices."""

from __future__ import annotations

import pytest

from layouts.c_parser import Token, Tree, UnexpectedError
from simulator.inputs.place_parser import PlaceParser


def kinds(part: Tree | Token) -> str:
    """Return the kinds of a tree and its parts; a token as it is written."""
    if isinstance(part, Token):
        return str(part)
    return f"{part.kind}({' '.join(map(kinds, part.parts))})"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s[a][1]", "subscript(subscript(name(s) [ name(a) ]) [ number(1) ])"),
        (
            "*(float4*)&s[a]",
            "follow(* retype((float4*) address(& subscript(name(s) [ name(a) ]))))",
        ),
        ("*s[a]", "follow(* subscript(name(s) [ name(a) ]))"),
        ("v[a].x + b", "binary(member(subscript(name(v) [ name(a) ]) .x) + name(b))"),
        ("p->q", "member(name(p) ->q)"),
        ("a & b", "binary(name(a) & name(b))"),
        ("min(a, b)", "least(min name(a) , name(b))"),
        ("sizeof(float)", "sizeof(sizeof(float))"),
        (
            "reinterpret_cast<float4&>(s[a])",
            "retype(reinterpret_cast<float4&> subscript(name(s) [ name(a) ]))",
        ),
    ],
)
def test_what_leads_to_an_element(text: str, expected: str) -> None:
    tree = PlaceParser(text).whole()
    assert kinds(tree) == f"indices({expected})"


def test_indices_stand_between_commas() -> None:
    tree = PlaceParser("a, b + 1").whole()
    assert kinds(tree) == "indices(name(a) , binary(name(b) + number(1)))"


@pytest.mark.parametrize(
    ("text", "column"), [("s[a", None), ("s[a, b]", 3), ("min(a)", 5), ("a]", 1)]
)
def test_what_cannot_be_read_on_is_told_by_its_column(text: str, column: int | None) -> None:
    with pytest.raises(UnexpectedError) as caught:
        PlaceParser(text).whole()
    assert caught.value.column == column
