"""Where arrays lie while a layout is tried: apart from all others, and aligned as before."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from layouts.tile import Tile
from simulator.fixing.arrays import SharedArray
from simulator.fixing.layouts import Candidate
from simulator.fixing.runs import moves_of
from simulator.sass.run.moves import Moves


def array_at(starts: tuple[int, ...], size: int) -> SharedArray:
    return SharedArray("t", starts, size, None, True, np.zeros(0, np.int64), (), ())


def padded(rows: int, cols: int, pad: int) -> Candidate:
    tile, bytes_ = Tile(rows, cols, pad), np.arange(rows * cols * 4)
    return Candidate("pad", tile, 4, tile.offset(bytes_ // 4) * 4 + bytes_ % 4, cols * 4)


def launch(size: int, moves: Moves | None = None) -> Any:
    taken = size if moves is None else moves.taken
    reached = -(-size // 16) * 16
    held = {"block_shared": size, "reached_shared": reached, "taken_shared": taken}
    return cast("Any", SimpleNamespace(moves=moves, **held))


def test_an_array_goes_behind_all_others_and_keeps_its_place_within_1024_bytes() -> None:
    moves = moves_of(launch(1500), [(array_at((200,), 512), padded(8, 16, 1))])
    assert moves.table[:200].tolist() == list(range(200))
    assert moves.table[712:].tolist() == list(range(712, 1504))
    moved = moves.table[200:712]
    assert moved[0] == 2048 + 200
    assert moved[64] - moved[0] == 4 * 17
    assert moved[-1] - moved[0] == 4 * (7 * 17 + 15) + 3
    assert moves.taken == 1500 + 4 * 8
    assert len(np.unique(moves.table)) == 1504


def test_what_an_access_reaches_behind_the_last_array_goes_with_it() -> None:
    moves = moves_of(launch(1500), [(array_at((988,), 512), padded(8, 16, 1))])
    last = moves.table[1499]
    assert moves.table[1500:].tolist() == list(range(last + 1, last + 5))


def test_pieces_of_an_array_become_one() -> None:
    array = array_at((0, 768), 256)
    assert array.bytes == 512
    assert array.within(np.array([0, 255, 768, 1023])).tolist() == [0, 255, 256, 511]
    moves = moves_of(launch(1024), [(array, padded(8, 16, 1))])
    assert moves.table[768] - moves.table[0] == 4 * 4 * 17  # the second piece begins at row 4
    assert moves.table[256:768].tolist() == list(range(256, 768))


def test_several_arrays_lie_one_behind_the_other_also_a_launch_later() -> None:
    first, second = array_at((0,), 512), array_at((512,), 512)
    both = moves_of(launch(1024), [(first, padded(8, 16, 1)), (second, padded(8, 16, 2))])
    one = moves_of(launch(1024), [(first, padded(8, 16, 1))])
    later = moves_of(launch(1024, one), [(second, padded(8, 16, 2))])
    assert both.table.tolist() == later.table.tolist()
    assert both.taken == later.taken == 1024 + 4 * 8 + 8 * 8
    assert both.table[512] >= both.table[:512].max() + 1
