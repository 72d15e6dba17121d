"""C expressions against a C compiler's rules, restated with exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import trunc

from hypothesis import given
from hypothesis import strategies as st

from layouts.expression import Expression
from simulator.errors import ExpressionError

ints = st.integers(-(2**31) + 1, 2**31 - 1)


@given(ints, ints.filter(bool))
def test_division_truncates_and_remainder_restores(a: int, b: int) -> None:
    names = {"a": a, "b": b}
    quotient = Expression("a/b")(names)
    assert quotient == trunc(Fraction(a, b))
    assert quotient * b + Expression("a%b")(names) == a


@given(ints, st.integers(0, 31))
def test_shifts(a: int, b: int) -> None:
    assert Expression("a>>b")({"a": a, "b": b}) == a // 2**b


@given(st.integers(0, 5), st.recursive(
    st.sampled_from(["a", "7", "0x3", "b"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "|", "&", "^", "<", "=="]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        inner.map(lambda part: f"~{part}"),
    ),
))  # fmt: skip
def test_python_agrees_where_python_and_c_agree(a: int, source: str) -> None:
    names = {"a": a, "b": 9}
    of_ints = source.replace("~", "~+")  # Python 3.16 inverts no bool; + makes it an int
    expected = eval(of_ints, {"__builtins__": {}}, names)  # noqa: S307  # the test's own text
    assert Expression(source)(names) == int(expected)


@given(st.text(max_size=40))
def test_any_text_is_a_value_or_a_typed_error(source: str) -> None:
    try:
        assert isinstance(Expression(source)({"lane": 1}), int)
    except ExpressionError as error:
        lines = str(error).split("\n")
        assert len(lines) == 3
        assert lines[2].strip() == "^"
