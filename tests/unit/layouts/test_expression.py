"""C index expressions: values, precedence, and errors with a caret."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import pytest

from layouts.expression import Expression
from simulator.errors import ExpressionError


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1+2*3", 7),
        ("(1+2)*3", 9),
        ("10-4-3", 3),
        ("100/7/2", 7),
        ("7/2", 3),
        ("-7/2", -3),
        ("7/-2", -3),
        ("-7%2", -1),
        ("7%-2", 1),
        ("-8>>1", -4),
        ("1<<2+1", 8),
        ("0x1F & ~3", 28),
        ("5|2^2&1", 7),
        ("1<2==1", 1),
        ("1&3==3", 1),
        ("3>=3", 1),
        ("2!=2", 0),
        ("!5+1", 1),
        ("- -3", 3),
        ("~5", -6),
        ("0?1:0?2:3", 3),
        ("1?0?4:5:6", 5),
        ("0||0||2", 1),
        ("1&&2", 1),
        ("(lane/8)*132 + (lane%8)*4", 4 + 132),
        ("tid-32*warp", 9),
        ("_x1", 11),
        ("2147483647", 2**31 - 1),
        ("-2147483647-1", -(2**31)),
        ("12u + 0x1FuL", 43),
        ("(int)lane*2 + (unsigned int)4", 22),
        ("static_cast<int>(lane) + int(2)", 11),
        ("lane /* of a warp */ * 2 // twice", 18),
        # As in C, what is not needed is not evaluated.
        ("0 ? 1/0 : 4", 4),
        ("0 && 1/0", 0),
        ("1 || 1/0", 1),
    ],
)
def test_values(source: str, value: int) -> None:
    names = {"lane": 9, "warp": 2, "tid": 73, "_x1": 11}
    assert Expression(source)(names) == value


@pytest.mark.parametrize(
    ("source", "problem", "column"),
    [
        ("", "expression ends too early at column 1 (accepted: decimal and 0x numbers", 0),
        ("lane*", "expression ends too early at column 6", 5),
        ("(lane", "expression ends too early at column 6", 5),
        ("lane)", "unexpected ')' at column 5", 4),
        ("lane lane", "unexpected 'l' at column 6", 5),
        ("lane $ 2", "unexpected '$' at column 6", 5),
        ("lane = 2", "unexpected '=' at column 6", 5),
        ("1.5*lane", "unexpected '.' at column 2", 1),
        ("012", "unexpected '0' at column 1", 0),
        ("12ux", "unexpected '1' at column 1", 0),
        ("f(lane)", "unexpected '(' at column 2", 1),
        ("__import__('os')", "unexpected '(' at column 11", 10),
        ("lane/(lane-3)", "division by zero at column 5", 4),
        ("8%0", "division by zero at column 2", 1),
        ("1<<32", "shift by 32 (accepted: 0 to 31) at column 2", 1),
        ("1>>-1", "shift by -1 (accepted: 0 to 31) at column 2", 1),
        ("65536*65536", "4294967296 does not fit a 32-bit int at column 6", 5),
        ("2147483648", "2147483648 does not fit a 32-bit int at column 1", 0),
        ("(unsigned)(lane-4)", "-1 as unsigned wraps around at column 1", 0),
        ("lane//2", "// begins a comment in C, at column 5 (accepted: / divides", 4),
        ("lane /* 2", "a comment that does not end, at column 6", 5),
        ("lane + lan", "unknown name 'lan': did you mean lane? (accepted: lane), and -D", 7),
    ],
)
def test_errors_show_the_place(source: str, problem: str, column: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression(source)({"lane": 3})
    message, shown, caret = str(caught.value).split("\n")
    assert message.startswith(problem)
    assert shown == f"  {source}"
    assert caret == f"  {' ' * column}^"


def test_names_are_ints_too() -> None:
    with pytest.raises(ExpressionError, match="x = 5000000000 does not fit a 32-bit int"):
        Expression("1 + x>>30")({"x": 5_000_000_000})


def test_long_and_deep_expressions_are_refused() -> None:
    with pytest.raises(ExpressionError, match="expression of 4097 characters"):
        Expression("1" * 4097)
    with pytest.raises(ExpressionError, match="nested too deeply"):
        Expression("~" * 4000 + "1")({})
    assert Expression("(" * 150 + "1" + ")" * 150)({}) == 1


def test_a_source_of_several_lines_keeps_its_caret() -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression("lane\n+\t$")
    assert str(caught.value).split("\n")[1:] == ["  lane + $", "         ^"]


class Four(IntEnum):
    VALUE = 4


@pytest.mark.parametrize(
    "value", [4, np.int8(4), np.int64(4), np.uint64(4), np.array(4), Four.VALUE]
)
def test_names_are_integers_of_any_kind(value: Any) -> None:
    result = Expression("lane*N")({"lane": np.int8(127), "N": value})
    assert result == 508
    assert type(result) is int


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (1.5, "N = 1.5 is not an integer"),
        (4.0, "N = 4.0 is not an integer"),
        (np.float32(4), r"N = (np\.float32\(4\.0\)|4\.0) is not an integer"),
        (float("nan"), "N = nan is not an integer"),
        (None, "N = None is not an integer"),
        ("4", "N = '4' is not an integer"),
        (np.array([4, 5]), r"N = array\(\[4, 5\]\) is not an integer"),
        (np.int64(2**31), "N = 2147483648 does not fit a 32-bit int"),
        (2**99999, r"N = \(int of thousands of digits\) does not fit a 32-bit int"),
    ],
    ids=range(9),
)
def test_other_values_are_refused_at_once(value: Any, problem: str) -> None:
    """Python walks a range to look for anything but an int: minutes, for one of 32 bits."""
    with pytest.raises(ExpressionError, match=problem):
        Expression("lane*N")({"lane": 3, "N": value})


@pytest.mark.parametrize("source", [None, 7, b"lane", ["lane"]])
def test_what_is_not_text_is_refused(source: Any) -> None:
    with pytest.raises(ExpressionError, match=r"expression of type \w+ \(accepted: text"):
        Expression(source)


def test_numbers_of_thousands_of_digits_do_not_fit() -> None:
    with pytest.raises(ExpressionError, match="does not fit a 32-bit int at column 1"):
        Expression("0x" + "f" * 4000)
    with pytest.raises(ExpressionError, match="does not fit a 32-bit int at column 1"):
        Expression("9" * 4000)


@pytest.mark.parametrize(("before", "after"), [(0, 300), (300, 300), (300, 0), (3, 4)])
def test_a_long_expression_is_cut_around_its_caret(before: int, after: int) -> None:
    with pytest.raises(ExpressionError) as refused:
        Expression("lane+" * before + "?" + "+lane" * after)
    _, shown, caret = str(refused.value).split("\n")
    assert shown[len(caret) - 1] == "?"
    assert len(shown) <= 210
    assert shown.startswith("  ...") == (before > 20)
    assert shown.endswith("...") == (after > 20)


def test_a_sum_that_is_too_deep_where_it_is_called_is_refused() -> None:
    """It is called from a deeper place than it was read at."""
    readable = [Expression("+".join(["1"] * terms)) for terms in range(500, 700, 20)]

    def called(expression: Expression, depth: int) -> int:
        return called(expression, depth - 1) if depth else expression({})

    for each in readable:
        assert each({}) == each.source.count("1")
    with pytest.raises(ExpressionError, match="nested too deeply"):
        called(readable[-1], 300)
