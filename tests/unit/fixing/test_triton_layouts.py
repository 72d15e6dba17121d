"""What is said as a layout of Triton's is the layout: its text, read as Triton reads it."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from layouts.swizzle import Swizzle
from layouts.term import Term
from layouts.tile import Tile
from simulator.fixing.triton_layouts import triton_of


def offsets(text: str, rows: int, cols: int) -> list[int]:
    """Where each element lies, as Triton defines its attributes."""
    attribute = re.match(r"#ttg\.(\w+)<", text)
    assert attribute is not None
    numbers = {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)", text)}
    place = np.arange(rows * cols)
    row, col = np.divmod(place, cols)
    if attribute[1] == "swizzled_shared":
        phase = row // numbers["perPhase"] % numbers["maxPhase"]
        vec = numbers["vec"]
        found = row * cols + ((col // vec) ^ phase) * vec + col % vec
        return [int(each) for each in found]
    padding = re.search(r"<\[(\d+):\+(\d+)\]", text)
    if padding is not None:
        assert f"order = [1, 0], shape = [{rows}, {cols}]" in text
        return [int(each) for each in place + place // int(padding[1]) * int(padding[2])]
    bases = re.search(r"offset = (\[\[.*?\]\])", text)
    assert bases is not None
    # Each bit of an offset stands for a row and a column, and several for their XOR.
    at = np.zeros((rows * cols, 2), np.int64)
    for bit, basis in enumerate(json.loads(bases[1])):
        at ^= np.where((place >> bit & 1)[:, None] == 1, basis, 0)
    found = np.empty_like(place)
    found[at[:, 0] * cols + at[:, 1]] = place
    return [int(each) for each in found]


SAID = {
    Tile(32, 64, 8): "#ttg.padded_shared<[64:+8] {order = [1, 0], shape = [32, 64]}>",
    Tile(32, 64, terms=(Term(3, 56),)): (
        "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
    ),
    Tile(32, 32, terms=(Term(4, 28),)): (
        "#ttg.swizzled_shared<{vec = 4, perPhase = 2, maxPhase = 8, order = [1, 0]}>"
    ),
    Tile(64, 32, swizzle=Swizzle(3, 2, 4)): (
        "#ttg.swizzled_shared<{vec = 4, perPhase = 2, maxPhase = 8, order = [1, 0]}>"
    ),
    Tile(32, 8, terms=(Term(2, 6),)): (
        "#ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 4, order = [1, 0]}>"
    ),
    Tile(4, 8, terms=(Term(1, 2),)): (  # a bit of the column
        "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [0, 6], [1, 0], [2, 0]]}, alignment = 16>"
    ),
    Tile(4, 8, terms=(Term(3, 5),)): (  # two runs
        "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [0, 4], [1, 1], [2, 0]]}, alignment = 16>"
    ),
    Tile(8, 8, terms=(Term(1, 16),)): (  # a bit of the row
        "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [6, 0]]},"
        " alignment = 16>"
    ),
    Tile(1, 64, terms=(Term(4, 3), Term(3, 4))): (
        "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 17], [0, 38]]},"
        " alignment = 16>"
    ),
}  # fmt: skip


@pytest.mark.parametrize("tile", SAID, ids=str)
def test_texts_give_the_places_of_their_tiles(tile: Tile) -> None:
    text, why_not = triton_of(tile)
    assert why_not == ""
    places = np.arange(tile.rows * tile.cols)
    assert offsets(text, tile.rows, tile.cols) == tile.offset(places).tolist()
    assert text == SAID[tile]


@pytest.mark.parametrize(
    ("tile", "why"),
    [
        (Tile(32, 64, 3), "a padding of 3 elements is not a power of two"),
        (Tile(32, 64, 5), "a padding of 5 elements is not a power of two"),
        (Tile(32, 48, 4), "a number of 48 elements per row is not a power of two"),
        (Tile(32, 64, 8, terms=(Term(6, 7),)), "its paddings take no XOR"),
        (Tile(12, 64, terms=(Term(6, 7),)), "a number of 12 rows is not a power of two"),
    ],
)
def test_what_triton_cannot_say_is_refused_by_name(tile: Tile, why: str) -> None:
    assert triton_of(tile) == ("", why)
