"""A verdict, its price and its cures agree for every access."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import explain
from simulator.asking.answer import Answer
from simulator.asking.words import verdict
from simulator.law.counting import count
from tests.examples import examples

INDEX = st.sampled_from(
    ["lane & ~1", "lane / 2", "lane / 2 % 8 * 2", "lane / 4", "lane * 2 % 32", "lane % 4 * 8",
     "lane * 8 % 32", "lane / 2 * 2", "lane", "lane & 17", "lane & 28"]
)  # fmt: skip
TYPE = st.sampled_from(["int", "long long", "float4", "half", "double"])


def price(answer: Answer) -> tuple[int, int]:
    """Return the cycles now and without conflicts, as the answer says them."""
    line = next(each.text for each in answer.lines() if each.text.startswith("Price"))
    numbers = [int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*", line)]
    return numbers[0], numbers[-1]


@settings(max_examples=examples(30), deadline=None)
@given(TYPE, INDEX)
def test_a_conflict_costs_what_the_price_says(type_: str, index: str) -> None:
    """A price 'without conflicts' was below that of a conflict that was said to cost nothing."""
    answer = explain(f"{type_} s[32]; s[{index}]", warp=0)
    text, said = str(answer), verdict(answer)
    now, least = price(answer)
    best = min((cure.cycles for cure in answer.cures), default=now)
    assert ("without conflicts" in text) == (said.level == "conflict")
    assert ("with the cure" in text) == (said.level == "harmless" and best < now)
    if said.level == "conflict":
        assert least < now
        assert f"where {least} {'is' if least == 1 else 'are'} enough" in said.text
        assert best >= least
    else:
        assert not answer.excessive
        assert least == best


@settings(max_examples=examples(30), deadline=None)
@given(
    st.sampled_from(["ATOMS.ADD", "ATOMS.CAS", "ATOMS.EXCH.64", "add.f32", "add.u64"]),
    st.lists(st.integers(0, 7), min_size=32, max_size=32),
    st.randoms(use_true_random=False),
)
def test_no_layout_takes_less_than_the_verdict_on_atomics_says(op, words, random) -> None:  # type: ignore[no-untyped-def]
    """Lanes with one word have it in every layout, here in a random one."""
    width = 8 if "64" in op else 4
    answer = explain(op, [width * word for word in words])
    _, least = price(answer)
    places = random.sample(range(256), 8)
    other = count(op, np.array([[width * places[word] for word in words]]))
    assert int(other.cycles[0]) >= least


@pytest.mark.parametrize(
    ("text", "said", "leaves"),
    [
        ("int h[256]; atomicAdd(&h[lane / 4], lane)",
         "4 wavefronts: up to 4 lanes update one word, and no layout serves them at once", None),
        ("float h[256]; atomicAdd(&h[lane / 4], 1.0f)",
         "8 wavefronts: up to 4 lanes update one word, and no layout serves them at once", None),
        ("int h[256]; atomicAdd(&h[lane * 32 % 256], lane)",
         "32-way bank conflict: 32 wavefronts where 4 are enough", "no layout takes fewer"),
        ("int h[256]; atomicAdd(&h[lane * 32 % 256], 1)",
         "8-way bank conflict: 8 wavefronts where 1 is enough", "conflict-free"),
    ],
)  # fmt: skip
def test_atomics_on_one_word_are_no_matter_of_layouts(
    text: str, said: str, leaves: str | None
) -> None:
    """'Where 1 would do' was said, though lanes that add to one word wait in any layout."""
    answer = explain(text)
    assert answer.verdict == said
    if leaves is None:
        assert "without conflicts" not in str(answer)
        assert answer.uncured.startswith("no layout helps")
        assert "\nwavefronts  " in str(answer)
    else:
        assert answer.cures[0].leaves == leaves


def test_an_answer_says_the_command_that_weighs_both_accesses() -> None:
    answer = explain("float s[64][32]; s[threadIdx.x][0]", block=64)
    assert answer.weighing == (
        "bankwise optimize --access 'float s[64][32]; s[threadIdx.x][0]'"
        " --access 's[threadIdx.x / 32][threadIdx.x % 32] = 0' --block 64x1"
    )
    assert answer.weighing in str(answer)
    assert explain("float s[64]; s[lane * 2 + k] = 1", names={"k": 0}).weighing == ""
    assert explain("int h[64]; atomicAdd(&h[lane * 2], lane)").weighing == ""
