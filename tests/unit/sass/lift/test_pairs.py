"""Integers of 64 bits in two registers, against Python's; the register of the return address."""

from __future__ import annotations

from operator import eq, ge, gt, le, lt, ne

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.sass.lift.program import decode
from tests.examples import examples
from tests.sass_kernels import needs_tools, program
from tests.sass_warp import KERNEL, run_warp

pytestmark = needs_tools

EDGES = (0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 63, (1 << 64) - 1)
PAIR = st.sampled_from(EDGES) | st.integers(0, (1 << 64) - 1)
IMMEDIATE = st.integers(-(1 << 31), (1 << 31) - 1)
COMPARE = {"LT": lt, "LE": le, "GT": gt, "GE": ge, "EQ": eq, "NE": ne}


def signed(value: int) -> int:
    value %= 1 << 64
    return value - (1 << 64) if value >> 63 else value


def values(a: int, b: int) -> dict[str, int]:
    words = {"R4": a, "R5": a >> 32, "R6": b, "R7": b >> 32}
    return {name: word & 0xFFFFFFFF for name, word in words.items()}


def wide(read: object, number: int) -> int:
    low, high = (int(read(f"R{number + word}")[0]) for word in range(2))  # type: ignore[operator]
    return low | high << 32


@given(PAIR, PAIR)
@settings(max_examples=examples(20), deadline=None)
def test_pairs_are_compared_as_64_bits(a: int, b: int) -> None:
    kinds = [(how, kind) for how in COMPARE for kind in ("U64", "S64")]
    for first in range(0, len(kinds), 3):
        some = kinds[first : first + 3]
        lines = [f"ISETP.{how}.{kind}.AND P{2 * i}, P{2 * i + 1}, R4, R6, PT"
                 for i, (how, kind) in enumerate(some)]  # fmt: skip
        outcome = run_warp(lines, values(a, b))
        for i, (how, kind) in enumerate(some):
            x, y = (signed(each) if kind == "S64" else each for each in (a, b))
            found = outcome.predicate(2 * i)[0], outcome.predicate(2 * i + 1)[0]
            assert found == (COMPARE[how](x, y), not COMPARE[how](x, y))


@given(PAIR, PAIR, IMMEDIATE, st.booleans())
@settings(max_examples=examples(20), deadline=None)
def test_pairs_are_added_chosen_copied(a: int, b: int, more: int, yes: bool) -> None:
    number = f"{'-' * (more < 0)}{abs(more):#x}"
    lines = [
        "IADD.64 R8, R4, -R6", f"IADD.64 R10, R4, {number}", f"SEL.64 R12, R4, {number}, P0",
        f"ISETP.GT.U64.AND P1, PT, R4, {number}, PT", "IMNMX.S64 PT, PT, R14, R4, R6, PT, !PT",
        "IMNMX.U64 PT, PT, R16, R4, R6, !PT, !PT", "SEL.64 R18, R4, 0xf0000000, !P0",
        "MOV.64 R20, R6",
    ]  # fmt: skip
    outcome = run_warp(lines, {**values(a, b), "P0": [yes] * 32})
    all_ = (1 << 64) - 1
    wanted = [a - b, a + more, a if yes else more, min(signed(a), signed(b)), max(a, b),
              0xF0000000 if yes else a, b]  # fmt: skip
    found = [wide(outcome.read, number) for number in (8, 10, 12, 14, 16, 18, 20)]
    assert found == [each & all_ for each in wanted]
    assert outcome.predicate(1)[0] == (a > more & all_)


def test_the_register_of_the_return_address_keeps_words_by_lane() -> None:
    lines = ["RPCMOV.32 Rpc.LO, R4", "@P0 RPCMOV.32 Rpc.HI, R4", "@P0 RPCMOV.32 Rpc.LO, R6",
             "RPCMOV.32 R8, Rpc.LO", "RPCMOV.32 R9, Rpc.HI"]  # fmt: skip
    lanes = list(range(1, 33))
    taken = [lane % 3 == 0 for lane in lanes]
    outcome = run_warp(lines, {"R4": lanes, "R6": [77] * 32, "P0": taken})
    assert outcome.register(8) == [77 if t else lane for lane, t in zip(lanes, taken, strict=True)]
    assert outcome.register(9) == [lane if t else 0 for lane, t in zip(lanes, taken, strict=True)]


@given(PAIR, PAIR, st.booleans())
@settings(max_examples=examples(20), deadline=None)
def test_two_words_are_added_with_a_carry(a: int, b: int, minus: bool) -> None:
    one, other = ("-", "~") if minus else ("", "")
    lines = [f"IADD R8, P0, R4, {one}R6", f"IADD.X R9, P1, R5, {other}R7, P0", "IADD R10, R4, R6"]
    outcome = run_warp(lines, values(a, b))
    exact = a + ((1 << 64) - b if minus else b)
    assert wide(outcome.read, 8) == exact & (1 << 64) - 1
    assert outcome.predicate(1)[0] == exact >> 64
    assert outcome.register(10)[0] == (a + b) & 0xFFFFFFFF


@given(PAIR, PAIR)
@settings(max_examples=examples(20), deadline=None)
def test_a_pair_is_taken_from_a_product(a: int, b: int) -> None:
    lines = ["IMAD.WIDE.U32 R8, R4, 0x800, -R6", "IMAD.WIDE R10, R4, R5, -R6"]
    outcome = run_warp(lines, values(a, b))
    low, high = a & 0xFFFFFFFF, a >> 32
    assert wide(outcome.read, 8) == (low * 0x800 - b) % (1 << 64)
    product = signed(low << 32) * signed(high << 32) >> 64
    assert wide(outcome.read, 10) == (product - b) % (1 << 64)


@pytest.mark.parametrize("line", ["IMAD.WIDE.U32 R8, P0, R4, R5, -R6", "IMAD.WIDE R8, -R4, R5, R6",
                                  "RPCMOV.64 Rpc, R4", "RPCMOV.32 Rpc.MID, R4",
                                  "IMNMX.S64 P0, PT, R14, R4, R6, PT, !PT"])  # fmt: skip
def test_forms_that_were_not_seen_are_refused(line: str) -> None:
    assert decode(program(line), KERNEL).problems
