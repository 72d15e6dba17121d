"""What a fix says is the layout that was run: texts and edits, read as C, give its places."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, replace
from math import prod

import numpy as np
import pytest

from layouts.expression import Expression
from layouts.swizzle import Swizzle
from layouts.term import Term
from layouts.tile import Tile
from simulator.errors import LaunchError
from simulator.fixing.arrays import SharedArray
from simulator.fixing.declared import Declared
from simulator.fixing.layouts import Candidate, Kind
from simulator.fixing.said import grown_size, operations_of, subscripts, wording_of
from simulator.fixing.wording import Wording
from simulator.sass.run.moves import Moves

NAMES = ("p", "q", "row", "col")


def array_of(sizes: tuple[int, ...], element: int, is_known: bool = True) -> SharedArray:
    dims = tuple(map(str, sizes))
    declared = Declared("k.cu", 1, "float", "t", dims, (), element, sizes)
    size = prod(sizes) * element
    rows = np.zeros(0, np.int64)
    return SharedArray("t", (0,), size, declared if is_known else None, True, rows, (), ())


def candidate_of(
    kind: Kind, tile: Tile, element: int, size: int, natural: bool = True
) -> Candidate:  # fmt: skip
    bytes_ = np.arange(size)
    table = tile.offset(bytes_ // element) * element + bytes_ % element
    return Candidate(kind, tile, element, table, tile.cols * element, natural)


def places(said: Wording, sizes: tuple[int, ...], element: int) -> list[int]:
    """The first byte of each element of an array, as a text says it."""
    found = re.findall(r"\[([^\]]*)\]", said.written)
    dims = [int(Expression(each)({})) for each in re.findall(r"\[([^\]]*)\]", said.declared)]
    given = []
    if not said.place:  # a declaration
        dims = [int(Expression(each)({})) for each in found]
        found = list(NAMES[-len(sizes) :])
    read = [Expression(each) for each in found]
    for flat in range(prod(sizes)):
        at = dict(zip(NAMES[-len(sizes) :], np.unravel_index(flat, sizes), strict=True))
        values = {name: int(value) for name, value in at.items()} | {"index": flat}
        moved = [each({name: values[name] for name in each.names}) for each in read]
        place = 0
        for size, each in zip(dims or (sizes if len(moved) > 1 else [0]), moved, strict=True):
            place = place * size + each
        given.append(place * element)
    return given


LAYOUTS: list[tuple[tuple[int, ...], Kind, int, tuple[Term, ...]]] = [
    ((8, 16), "pad", 1, ()),
    ((4, 2, 12), "pad", 3, ()),
    ((8, 16), "swizzle", 0, (Term(4, 7),)),
    ((16, 16), "swizzle", 0, (Term(3, 12), Term(5, 1))),
    ((4, 8, 8), "swizzle", 0, (Term(6, 3),)),  # of the first subscript
    ((4, 8, 8), "swizzle", 0, (Term(6, 1),)),
    ((4, 8, 8), "swizzle", 0, (Term(2, 1), Term(6, 2))),  # and of the last
    ((4, 8, 8), "swizzle", 0, (Term(3, 7),)),  # of the second
    ((4, 8, 8), "swizzle", 0, (Term(5, 7),)),  # of both
    ((2, 4, 8, 8), "swizzle", 0, (Term(6, 7),)),
    ((2, 3, 8, 8), "swizzle", 0, (Term(3, 6), Term(6, 1))),
    ((2, 6, 8), "swizzle", 0, (Term(3, 7),)),
    ((2, 6, 8), "swizzle", 0, (Term(4, 1),)),  # one bit of the second, which has 6 values
    ((8, 16), "both", 4, (Term(4, 4),)),
    ((8, 8), "swizzle", 0, (Term(2, 9),)),  # leaves its row
]


@pytest.mark.parametrize(("sizes", "kind", "pad", "terms"), LAYOUTS)
@pytest.mark.parametrize("is_known", [True, False])
def test_a_text_gives_the_places_of_its_layout(
    sizes: tuple[int, ...], kind: Kind, pad: int, terms: tuple[Term, ...], is_known: bool
) -> None:
    array = array_of(sizes, 4, is_known)
    tile = Tile(prod(sizes[:-1]), sizes[-1], pad, terms=terms)
    candidate = candidate_of(kind, tile, 4, array.size)
    said = wording_of(array, candidate)
    assert places(said, sizes, 4) == candidate.table[::4].tolist(), said


def test_padding_a_flat_index_costs_operations_and_names_the_array_that_grows() -> None:
    def said(sizes: tuple[int, ...], tile: Tile, kind: Kind = "pad") -> tuple[str, int]:
        array = array_of(sizes, 4)
        found = candidate_of(kind, tile, 4, array.size)
        return wording_of(array, found).text, operations_of(array, found)

    assert said((1024,), Tile(32, 32, 1)) == ("t[index + index / 32] in t[1056]", 2)
    assert said((1024,), Tile(32, 32, 4)) == ("t[index + index / 32 * 4] in t[1152]", 3)
    assert said((1200,), Tile(50, 24, 1)) == ("t[index + index / 24] in t[1250]", 3)  # not a shift
    assert said((8, 64), Tile(16, 32, 1)) == ("t[index + index / 32] in t[528]", 2)  # not its rows
    assert said((32, 32), Tile(32, 32, 1)) == ("t[32][33]", 0)
    assert said((8, 16), Tile(8, 16, 1)) == ("t[8][17]", 0)
    by_plane = Tile(32, 8, terms=(Term(3, 7),))
    assert said((4, 8, 8), by_plane, "swizzle")[0] == "t[q][row][col ^ row]"
    swizzle = Tile(32, 32, terms=(Term(5, 31),))
    assert said((1024,), swizzle, "swizzle") == ("t[index ^ (index >> 5)]", 2)


def test_a_text_has_no_name_of_the_source_and_says_what_it_stands_for() -> None:
    def said(sizes: tuple[int, ...], tile: Tile, kind: Kind, source: str) -> tuple[str, str]:
        array = array_of(sizes, 4)
        found = candidate_of(kind, tile, 4, array.size)
        wording = wording_of(array, found, source)
        return wording.text, wording.place

    swizzle, plain = Tile(32, 32, terms=(Term(5, 31),)), "int x, y; t[y][x]"
    assert said((32, 32), swizzle, "swizzle", plain) == ("t[row][col ^ row]", "t[row][col]")
    taken = "int row = blockIdx.x; t[row][0]"
    assert said((32, 32), swizzle, "swizzle", taken) == ("t[row_][col_ ^ row_]", "t[row_][col_]")
    flat = said((1024,), swizzle, "swizzle", "int index;")
    assert flat == ("t[index_ ^ (index_ >> 5)]", "t[index_]")
    assert said((32, 32), Tile(32, 32, 1), "pad", plain) == ("t[32][33]", "")


@pytest.mark.parametrize(
    ("name", "is_known", "said"), [("u", True, "u"), ("a b", True, "t"), ("a b", False, "s")]
)
def test_a_text_names_the_array_by_a_name_of_c(name: str, is_known: bool, said: str) -> None:
    array = replace(array_of((64,), 4, is_known), name=name)
    candidate = candidate_of("swizzle", Tile(8, 8, terms=(Term(3, 7),)), 4, array.size)
    assert wording_of(array, candidate).text.partition("[")[0] == said


def test_texts_name_as_few_subscripts_as_they_can() -> None:
    def said(sizes: tuple[int, ...], *terms: Term) -> list[str] | None:
        tile = Tile(prod(sizes[:-1]), sizes[-1], terms=terms)
        return subscripts(tile, sizes, NAMES[-len(sizes) :])

    assert said((4, 8, 8), Term(6, 3)) == ["q", "row", "col ^ q"]
    assert said((4, 8, 8), Term(3, 7)) == ["q", "row", "col ^ row"]
    assert said((4, 8, 8), Term(5, 7)) == ["q", "row", "col ^ ((q * 8 + row) >> 2)"]
    assert said((2, 4, 8, 8), Term(8, 1)) == ["p", "q", "row", "col ^ p"]
    assert said((8, 4, 48), Term(1, 8), Term(7, 1)) is None  # leaves its row


@pytest.mark.parametrize(
    ("sizes", "tile", "element", "text"),
    [
        (
            (8, 16),
            Tile(8, 8, terms=(Term(3, 7),)),
            8,
            "t[index ^ (index >> 3)] (index counted in 8 bytes)",
        ),
        ((2, 2, 2, 2, 8), Tile(16, 8, terms=(Term(3, 7),)), 4, "t[index ^ ((index >> 3) & 7)]"),
    ],
)
def test_wider_elements_and_many_subscripts_are_said_flat(
    sizes: tuple[int, ...], tile: Tile, element: int, text: str
) -> None:
    array = array_of(sizes, 4)
    assert wording_of(array, candidate_of("swizzle", tile, element, array.size)).text == text


@pytest.mark.parametrize(
    ("size", "grown"),
    [
        ("1 << 5", "(1 << 5) + 1"),
        ("WIDE ? 32 : 16", "(WIDE ? 32 : 16) + 1"),
        ("2 * Shape::N", "2 * Shape::N + 1"),
        ("32", "33"),
    ],
)
def test_a_size_grows_by_what_is_said(size: str, grown: str) -> None:
    declared = Declared("k.cu", 1, "float", "t", ("32", size), (), 4, (32, 32))
    assert grown_size(declared, 4) == grown


def test_rows_of_dynamic_memory_are_padded_in_its_declaration() -> None:
    array = array_of((32, 32), 4)
    assert array.declared is not None
    rows = replace(array.declared, dims=("", "32"), sizes=(None, 32), is_dynamic=True)
    candidate = candidate_of("pad", Tile(32, 32, 1), 4, array.size)
    own = replace(array, declared=rows, is_static=False)
    assert wording_of(own, candidate).text == "t[][33]"
    part = replace(own, name="p")
    assert wording_of(part, candidate).text == "p[index + index / 32]"


def test_an_index_of_a_structure_says_what_it_counts() -> None:
    array = array_of((1024,), 4)
    assert array.declared is not None
    record = replace(array.declared, type="Tiles", dims=(), sizes=(), element=None)
    array = replace(array, declared=record)
    candidate = candidate_of("pad", Tile(32, 32, 1), 4, array.size)
    said = "t[index + index / 32] (index counted in 4 bytes)"
    assert wording_of(array, candidate).text == said


def test_an_array_of_an_unknown_type_grows_by_as_many_elements_as_bytes() -> None:
    declared = Declared("k.cu", 1, "T", "t", ("8", "32"), (), None, (8, 32))
    assert grown_size(declared, 4) == "36"
    assert grown_size(replace(declared, element=2), 3) == "34"


@pytest.mark.parametrize(
    ("sizes", "given"),
    [
        ((8, 16), ["row + 1 & 7", "col ? col - 1 : 15"]),
        ((4, 8, 8), ["q ^ 1", "row + q & 7", "col | 1"]),
    ],
)
def test_subscripts_of_a_source_keep_their_values(sizes: tuple[int, ...], given: list[str]) -> None:
    tile = Tile(prod(sizes[:-1]), sizes[-1], terms=(Term(sizes[-1].bit_length() - 1, 7),))
    mixed = subscripts(tile, sizes, given)
    assert mixed is not None
    assert mixed[:-1] == given[:-1]
    for flat in range(prod(sizes)):
        at = zip(NAMES[-len(sizes) :], np.unravel_index(flat, sizes), strict=True)
        values = {name: int(value) for name, value in at}

        def value(text: str) -> int:
            read = Expression(text)
            return read({name: values[name] for name in read.names})  # noqa: B023

        *outer, last = map(value, given)
        row = 0
        for size, each in zip(sizes[:-1], outer, strict=True):
            row = row * size + each
        assert row * sizes[-1] + value(mixed[-1]) == tile(row, last)


# ---- Moves. --------------------------------------------------------------------------------------
def test_moves_keep_bytes_apart_and_know_what_stays_together() -> None:
    moves = Moves(np.array([4, 5, 6, 7, 0, 1, 3, 2], np.int32))
    assert (moves.bytes, moves.taken) == (8, 8)
    assert Moves(moves.table, 6).taken == 6
    wholes = (0, 4), (1, 3), (4, 2), (5, 2), (3, 2), (7, 1), (7, 2), (-1, 2), (0, 0)
    assert [moves.together(*each) for each in wholes] == [
        4, 5, 0, None, None, 2, None, None, None,
    ]  # fmt: skip
    assert len({moves, Moves(moves.table)}) == 2  # a trial knows its own
    assert Moves(np.zeros(0, np.int32)).bytes == 0
    with pytest.raises(FrozenInstanceError):
        moves.block_bytes = 3  # type: ignore[misc]
    for wrong in ([0, 0], [-1, 0]):
        with pytest.raises(LaunchError, match="two bytes of shared memory in one place"):
            Moves(np.array(wrong, np.int32))


@pytest.mark.parametrize(
    ("size", "mode", "said"),
    [
        (4, 0, Wording("CU_TENSOR_MAP_SWIZZLE_NONE, and t[index]")),
        (
            2,
            128,
            Wording(
                "CU_TENSOR_MAP_SWIZZLE_128B, and t[index ^ ((index >> 3) & 28)]",
                "t[index]",
                unit=", index counted in 4 bytes",
            ),
        ),
    ],
)
def test_a_mode_of_a_tensor_map_is_said_with_the_index_that_follows_it(
    size: int, mode: int, said: Wording
) -> None:
    array = array_of((4096 // size,), size)
    tile = Tile(32, 32, swizzle=Swizzle(3, 2, 3) if mode else None)
    candidate = replace(candidate_of("tma", tile, 4, array.size), mode=mode)
    assert wording_of(replace(array, name="a b"), candidate) == said
