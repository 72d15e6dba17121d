"""What blocks that did not run are likely to touch: draws, rows of their own, parts of lines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.timing.footprint import footprint, probe_blocks
from simulator.timing.population import population
from simulator.timing.traces import SECTOR, AccessRows, BlockTrace, Steps

COUNT = 4096
RAN = (300, 900, 1500, 2200, 2700, 3100, 3600)


def numbers(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def block(at: int, *touched: np.ndarray) -> BlockTrace:
    """A block whose one warp touches sectors with each of its instructions, in this order."""
    count = len(touched)
    lengths = np.array([len(each) for each in touched])
    sectors = np.concatenate(touched)
    first = np.repeat([int(each[0]) // 4 for each in touched], lengths)
    rows = AccessRows(
        np.arange(count), np.zeros(count, np.bool_), np.zeros(count, np.int64),
        np.zeros(count, np.int64), lengths, SECTOR * lengths,
        np.concatenate([[0], np.cumsum(lengths)]), sectors // 4 - first, 1 << sectors % 4,
    )  # fmt: skip
    steps = Steps(numbers(0), numbers(count), numbers(32), numbers(0, count), np.arange(count))
    bases = np.array([int(each[0]) // 4 for each in touched])
    return BlockTrace((at, 0, 0), steps, rows, numbers(0, 1), numbers(0), numbers(0, count), bases)


def of_grid(touched: dict[int, tuple[np.ndarray, ...]], stores: list[int]) -> object:
    grid = (COUNT, 1, 1)
    probes = [block(at, *touched[at]) for at, *_ in probe_blocks(grid)]
    return footprint(probes, [block(at, *touched[at]) for at in RAN], grid, stores)


ASKED = (*[at for at, *_ in probe_blocks((COUNT, 1, 1))], *RAN)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([1 << 12, 1 << 14, 1 << 16]))
def test_a_table_is_as_large_whatever_else_is_read(seed: int, sectors: int) -> None:
    """Draws from a table, beside a small one: how much blocks have in common is told by each."""
    random = np.random.default_rng(seed)
    drawn = {
        at: (np.unique(random.integers(0, sectors, 400)),
             np.unique(1 << 20 | random.integers(0, 64, 400)))
        for at in ASKED
    }  # fmt: skip
    found = of_grid(drawn, [])
    every = sectors * (1 - (1 - 1 / sectors) ** (400 * COUNT)) + 64
    assert found.reads / SECTOR == pytest.approx(every, rel=0.3)
    assert [each.numbers for each in found.drawn] == [frozenset({0})]  # all read all of the other


def test_instructions_that_read_the_same_memory_are_one() -> None:
    random = np.random.default_rng(0)
    drawn = {at: tuple(np.unique(random.integers(0, 8192, 100)) for _ in range(8)) for at in ASKED}
    found = of_grid(drawn, [])
    assert found.reads / SECTOR == pytest.approx(8192, rel=0.2)
    assert [each.numbers for each in found.drawn] == [frozenset(range(8))]


def test_rows_at_random_are_drawn_though_no_two_blocks_that_ran_share_one() -> None:
    """A row of 128 sectors for each block: of a grid that draws as many as there are."""
    random = np.random.default_rng(3)
    chosen = random.choice(COUNT, COUNT)
    drawn = {at: (chosen[at] * 128 + np.arange(128),) for at in ASKED}
    found = of_grid(drawn, [])
    assert found.reads / SECTOR == pytest.approx(128 * len(set(chosen.tolist())), rel=0.15)
    assert found.drawn
    assert found.drawn[0].lines == pytest.approx(found.drawn[0].sectors / 4, rel=0.01)


def test_what_is_written_and_not_read_is_each_blocks_own() -> None:
    chosen = np.random.default_rng(3).permutation(COUNT)
    drawn = {at: (chosen[at] * 128 + np.arange(128),) for at in ASKED}
    found = of_grid(drawn, [0])
    # No more than lies between the first and the last of those that ran.
    assert found.writes / SECTOR == pytest.approx(128 * COUNT, rel=0.1)


def test_what_a_block_changes_in_place_is_its_own() -> None:
    """Pieces that lie in no order, few enough that draws might not meet: each block has its own."""
    order = np.random.default_rng(5).permutation(COUNT)
    pieces = {at: numbers(*range(64 * order[at], 64 * order[at] + 8)) for at in ASKED}
    changed = {at: (piece, piece) for at, piece in pieces.items()}
    found = of_grid(changed, [1])
    assert found.writes / SECTOR == pytest.approx(8 * COUNT, rel=0.05)
    assert found.reads == found.both == found.writes
    # Where blocks read what others write, draws are likelier.
    following = dict(zip(ASKED, [*ASKED[1:], ASKED[0]], strict=True))
    crossed = {at: (pieces[following[at]], piece) for at, piece in pieces.items()}
    assert of_grid(crossed, [1]).writes != found.writes


def test_blocks_in_their_order_have_their_own_parts() -> None:
    """Each of eight blocks reads a part of a row of their own: no step is the same for all."""
    drawn = {at: (at // 8 * 4096 + at % 8 * 100 + np.arange(96),) for at in ASKED}
    found = of_grid(drawn, [])
    assert found.reads / SECTOR == pytest.approx(96 * COUNT, rel=0.01)
    assert not found.drawn


def test_what_neighbours_share_tells_nothing_of_others() -> None:
    """Sixteen blocks side by side touch the same page, of as many as there are."""
    pages = np.random.default_rng(1).permutation(COUNT // 16)
    drawn = {at: (pages[at // 16] * 64 + np.arange(64),) for at in ASKED}
    found = of_grid(drawn, [])
    assert 0.6 <= found.reads / SECTOR / (64 * COUNT // 16) <= 1


def test_what_is_drawn_and_written_is_counted_once() -> None:
    random = np.random.default_rng(0)
    drawn = {}
    for at in ASKED:
        own = np.unique(random.integers(0, 1 << 14, 200))
        drawn[at] = (own, own)
    found = of_grid(drawn, [1])
    size = found.reads + found.writes - found.both
    assert size / SECTOR == pytest.approx(1 << 14, rel=0.3)
    assert found.drawn[0].changed == 1


@pytest.mark.parametrize(("every", "spread", "fetched"), [(1, 1, 1), (2, 2, 2), (4, 4, 2)])
def test_parts_of_lines_take_whole_ones_and_come_as_pairs(
    every: int, spread: float, fetched: float
) -> None:
    rule = {at: (at * 512 + np.arange(0, 512, every),) for at in ASKED}
    found = of_grid(rule, [])
    assert found.spread == pytest.approx(spread, rel=0.01)
    assert found.fetched == pytest.approx(fetched, rel=0.01)


@given(
    st.lists(st.lists(st.integers(0, 99), max_size=9), min_size=1, max_size=6), st.integers(1, 9)
)
def test_a_population_holds_what_ran(blocks: list[list[int]], count: int) -> None:
    ran = [np.unique(np.array(each, np.int64)) for each in blocks]
    assert population(ran, count).size >= len(set().union(*blocks))


@settings(max_examples=20, deadline=None)
@given(st.integers(20, 120), st.integers(2, 6), st.integers(0, 1000))
def test_tiles_that_share_their_edges_are_not_draws(across: int, turns: int, seed: int) -> None:
    """Blocks take turns with tiles of rows that end amid a sector: neighbours share those.

    They were taken for draws of all the picture, which read a third of it twice or more often.
    """
    rows, count = 16, 3 * across + 1
    jobs = np.arange(count * turns - count // 2)  # some blocks have one less
    pitch = 4 * across  # sectors of a row, which ends in the one that the next row begins in

    def touched(at: int) -> np.ndarray:
        mine = jobs[at::count]
        x, y = mine % across, mine // across
        of_row = (y[:, None] * rows + np.arange(rows)) * pitch
        return np.unique(of_row[:, :, None] + x[:, None, None] * 4 + np.arange(5))

    ran = 2 * np.sort(np.random.default_rng(seed).choice(count // 2, 24, replace=False))
    every = len(np.unique(np.concatenate([touched(at) for at in range(count)])))
    found = population([touched(int(at)) for at in ran], count)
    assert not found.is_drawn
    assert found.size == pytest.approx(every, rel=0.3)
