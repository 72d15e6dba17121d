"""What a search refuses: questions, accesses, layouts."""

from __future__ import annotations

from typing import Any

import pytest

from layouts.errors import BankwiseError
from simulator.errors import SearchError
from simulator.search import Access, Term, TileLayout, optimize

COLUMN = Access("LDS", "lane, i", loops={"i": 32})
ROW = Access("STS", "i, lane", loops={"i": 32})


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "give exactly one of accesses, kernel and fragment"),
    ({"accesses": [ROW], "kernel": "leimao.v07"}, "give exactly one of"),
    ({"accesses": []}, "accepted: a list of Access"),
    ({"accesses": ["LDS"]}, "accepted: a list of Access"),
    ({"accesses": "LDS"}, "accepted: a list of Access, or of questions in C"),
    ({"accesses": ["float s[8]; s[0]", ROW]}, "some accesses are questions in C, some are not"),
    ({"accesses": [ROW], "tile": "32x32", "block": 64}, "block and loops are for questions in C"),
    ({"kernel": "leimao.v07", "block": 64}, "block 64 has no effect"),
    ({"accesses": ROW}, "accepted: a list of Access"),
    ({"accesses": [ROW], "tile": "32x32", "array": "As"}, "'As' has no effect"),
    ({"accesses": [ROW], "tile": "32x32", "space": ["pad"]}, r"is not a mapping \(accepted: "),
    ({"accesses": [ROW], "tile": "32x32", "names": ["ld"]}, r"is not a mapping \(accepted: "),
    ({"accesses": [Access("LDS", "lane*lane", weight=1 << 61)]}, "accepted: fewer than 2"),
    ({"accesses": [Access("LDS", "lane", weight=1 << 70)]}, "accepted: fewer than 2"),
    ({"accesses": [ROW]}, "no tile is given"),
    ({"accesses": [ROW], "tile": "16x32"}, r"reaches row 16 \(accepted: 0 to 15"),
    ({"accesses": [ROW], "tile": "32x16"}, r"reaches column 16 \(accepted: 0 to 15"),
    ({"accesses": [ROW], "tile": "32"}, "tile '32' is not RxC"),
    ({"accesses": [ROW], "tile": "32x32", "element": 3}, "accepted: 1, 2, 4, 8, 16 bytes"),
    ({"accesses": [ROW], "tile": "32x32", "element": 8}, "elements whose size divides it"),
    ({"accesses": [ROW], "tile": "32x32", "objective": "time"}, "accepted: cycles"),
    ({"accesses": [ROW], "tile": "32x32", "rule": "mine"}, "accepted: silicon"),
    ({"accesses": [ROW], "tile": "32x32", "limit": 0}, "accepted: 1, 2, 3"),
    ({"accesses": [ROW], "tile": "32x32", "space": {"pad": []}}, "accepted: a range or a list"),
    ({"accesses": [ROW], "tile": "32x32", "space": {"pad": [-1]}}, "accepted: a range or a list"),
    ({"accesses": [ROW], "tile": "32x32", "space": {"pad": "all"}}, "accepted: a range or a list"),
    ({"accesses": [ROW], "tile": "32x32", "space": {"padd": [1]}}, "did you mean pad"),
    ({"accesses": [ROW], "tile": "32x32", "space": {"swizzle": "xr"}}, "did you mean xor"),
    ({"accesses": [ROW], "tile": "32x32", "space": {"swizzle": []}}, "accepted: none, cute, xor"),
    ({"accesses": [ROW], "tile": "32x32", "space": {"swizzle": ["1,0,-1"]}}, "not searched"),
    ({"accesses": [ROW], "tile": "32x32", "space": {"swizzle": ["Sw<1>"]}}, "not three integers"),
    ({"accesses": [Access("LDS", "lane*ld")]}, "no value for ld"),
    ({"accesses": [Access("LDS", "lane*ld")], "space": {"ld": []}}, "'ld' has no values"),
    ({"accesses": [Access("LDS", "lane*ld")], "space": {"ld": "all"}}, "is not an integer"),
    (
        {"accesses": [Access("LDS", "lane")], "names": {"lane": 1}},
        "free in the space or has its own",
    ),
    ({"accesses": [Access("LDS", "lane")], "space": {"pad": [1]}}, "there is no tile"),
    ({"accesses": [Access("LDS", lambda lane: lane / 2)]}, "gives 0.0 for lane 0"),
    ({"accesses": [Access("LDS", lambda lane: -1)]}, "reaches element -1"),
    ({"accesses": [Access("LDS", 1 << 40)]}, r"accepted: \(..., 32\)"),
    ({"accesses": [Access("LDS", [1 << 40] * 32)]}, "reach 1099511627776"),
    ({"accesses": [Access("LDS", [0.5] * 32)]}, "which is not an integer"),
    ({"accesses": [Access("LDS.128", "lane")]}, "LDS.128 misaligned"),
    ({"accesses": [Access("LDS", "lane << 15")]}, "shared memory"),
    ({"accesses": [Access("LDS.128", "lane, 30")], "tile": "32x32"}, "past the end of a row"),
    ({"kernel": "leimao.v07"}, "no parameter of leimao.v07 is free"),
    ({"kernel": "leimao.v7", "space": {"pad_m": [0]}}, "did you mean"),
    ({"kernel": "leimao.v07", "space": {"pad": [0]}}, "no parameter 'pad'"),
    ({"kernel": "leimao.v07", "space": {"pad_m": [-1]}}, "no layout of this space can run"),
    ({"kernel": "leimao.v07", "space": {"pad_m": [0]}, "m": 0}, "not a matrix size"),
    ({"kernel": "leimao.v07", "array": "A_thread"}, "searched as a tile"),
    ({"kernel": "leimao.v07", "array": 5, "tile": "8x64"}, "searched as a tile"),
    ({"kernel": "leimao.v07", "array": "As[", "tile": "8x64"}, "searched as a tile"),
    ({"kernel": "leimao.v07", "names": {"X": 1}}, "has no effect"),
    ({"kernel": "leimao.v07", "element": 2}, "2 has no effect"),
    ({"kernel": "junstar92.vectorized", "array": "Cs", "tile": "8x64"}, "no shared-memory access"),
    ({"kernel": "junstar92.vectorized", "array": "As", "tile": "8x32"}, "a tile that holds it"),
    ({"kernel": "junstar92.naive", "space": {"block_x": [32]}}, "no shared-memory access"),
    ({"fragment": {"warp_shap": "4x8"}}, "did you mean warp_shape"),
    ({"fragment": {}, "space": {}}, "nothing is free"),
    ({"fragment": ["4x8"]}, r"is not a mapping \(accepted: "),
    ({"fragment": {}, "tile": "8x8"}, "'8x8' has no effect"),
    ({"fragment": {}, "space": {"warp_shape": "4x9"}}, "no layout of this space can run"),
    ({"accesses": [Access("LDS", "lane*ld")], "space": {"ld": range(2**99)}}, "below 2"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=[message for _, message in BAD])
def test_refusals(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BankwiseError, match=message):
        optimize(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"op": "LD", "index": "lane"}, "unknown instruction"),
        ({"op": "LDS", "index": "lane +"}, "ends too early"),
        ({"op": "LDS", "index": "1, 2, 3"}, "has 3 parts"),
        ({"op": "LDS", "index": "lane", "weight": 0}, "is not a count"),
        ({"op": "LDS", "index": "lane", "loops": {"i": 1 << 30}}, "warp accesses"),
        ({"op": "LDS", "index": "lane", "loops": {"lane": 2}}, "its own meaning"),
        ({"op": "LDS", "index": "lane", "loops": [2]}, "accepted: {name: trips}"),
        ({"op": "LDS", "index": "lane", "weight": 0, "loops": {"weight": 2}}, "weight 0 of"),
        ({"op": "LDS", "index": "lane", "active": 0xFF}, "active 255 of"),
        ({"op": "LDS", "index": "lane", "active": "lane < 8, 1"}, "has two parts"),
        ({"op": "LDS", "index": max}, "no signature"),
        ({"op": "LDS", "index": lambda lane, /: lane}, "given by position"),
    ],
)
def test_accesses_that_are_none(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BankwiseError, match=message):
        Access(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"rows": 0, "cols": 4},
        {"rows": 4, "cols": 4, "pad": -1},
        {"rows": 3, "cols": 3, "terms": (Term(2, 1),)},  # moves out of the tile
        {"rows": 4, "cols": 12, "pad": 1, "terms": (Term(4, 3),)},
        {"rows": 4, "cols": 4, "terms": (Term(0, 1),)},
        {"rows": 4, "cols": 4, "terms": (Term(1, 3),)},  # reads what it writes
    ],
)
def test_layouts_that_are_none(given: dict[str, Any]) -> None:
    with pytest.raises(SearchError):
        TileLayout(**given)


def test_an_access_says_the_way_out_to_who_gives_it_a_question() -> None:
    with pytest.raises(SearchError, match=r"is a question in C, .*accepted: optimize\(question\)"):
        Access("float s[32][32]; s[threadIdx.x][threadIdx.y]")
    with pytest.raises(SearchError, match=r"LDS has no index \(accepted: Access\('LDS', 'lane, 0'"):
        Access("LDS")
