"""Values as people type them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import BankwiseError, OptionError
from simulator.inputs.values import expanded, read_list, read_pair, read_value

NUMBERS = st.integers(-(10**17), 10**17)
ITEMS = st.one_of(
    NUMBERS.map(lambda number: (str(number), [number])),
    st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(1, 9)).map(
        lambda r: (f"{r[0]}..{r[1]}:{r[2]}", [*range(r[0], r[1] + 1, r[2])])
    ),
    st.lists(NUMBERS, min_size=1, max_size=3).map(
        lambda numbers: (f"({','.join(map(str, numbers))})", [tuple(numbers)])
    ),
    st.tuples(NUMBERS, NUMBERS).map(lambda pair: (f"(A={pair[0]}, B={pair[1]})", [pair])),
    st.tuples(NUMBERS, NUMBERS).map(lambda pair: (f"{pair[0]};{pair[1]}", [pair])),
    st.sampled_from(
        [("none", [None]), ("z-order", ["z-order"]), ("(4,8):(8,1)", ["(4,8):(8,1)"]),
         ("((2,2),8):((1,2),4)", ["((2,2),8):((1,2),4)"])]
    ),
)  # fmt: skip


@given(st.lists(ITEMS, min_size=1, max_size=5), st.sampled_from([",", " , ", ", "]))
def test_a_list_is_what_its_parts_are(items: list[tuple[str, list[Any]]], comma: str) -> None:
    text = comma.join(text for text, _ in items)
    values = [value for _, some in items for value in some]
    assert list(expanded(read_list(text))) == values


@given(st.text("0123456789.,;:()<>AB=none -S", max_size=20), st.booleans())
def test_any_text_is_values_or_a_typed_error(text: str, swizzles: bool) -> None:
    for read in (
        lambda: read_list(text, swizzles=swizzles),
        lambda: read_value(text, swizzles=swizzles),
        lambda: read_pair(text),
    ):
        try:
            read()
        except BankwiseError:
            continue


def test_a_range_alone_is_not_spelled_out() -> None:
    assert expanded(read_list("0..999999999999999999")) == range(10**18)


@pytest.mark.parametrize(
    ("text", "like", "value"),
    [
        ("8", "name", "8"),
        ("none", "name", "none"),
        ("True", True, True),
        ("false", True, False),
        ("1", True, "1"),
        (" 8 ", 3, 8),
        ("x", 3, "x"),
    ],
)
def test_a_default_says_what_a_value_is(text: str, like: object, value: object) -> None:
    assert read_value(text, like=like) == value
    assert read_list(text, like=like) == [value]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is not a list of values (accepted: 0,4,8 or 0..16 or 0..64:8, and A=0,B=4"),
        ("1,,2", "'1,,2' is not a list of values"),
        ("0..4:0", "'0..4:0' is not a range (accepted: 0..16, 0..64:8)"),
        ("0..99999999999999999999", "is not a range"),
        ("1;2;3", "'1;2;3' has more than two parts (accepted: A=…,B=… for a pair)"),
        ("all", "'all' means every value of a list, but there is no list here"),
    ],
)
def test_what_is_no_list_is_refused(text: str, said: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_list(text)
    assert said in str(caught.value)


def test_all_is_every_value_there_is() -> None:
    assert read_list("all", every=("a", "b")) == ["a", "b"]
    with pytest.raises(
        OptionError, match=r"'all,a' has 'all' together with other values \(accepted"
    ):
        read_list("all,a", every=("a", "b"))
