"""Footprints: the union over a grid equals what running every block would give."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simulator.timing.footprint import Dim3, footprint, own_bytes, probe_blocks
from simulator.timing.sharing import read_at_once
from simulator.timing.traces import SECTOR, AccessRows, BlockTrace, Steps
from tests.unit.timing.works import Line, work

grids = st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))


def numbers(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def trace(block: Dim3, line: int, lines: int) -> BlockTrace:
    """A block whose one warp reads whole lines side by side with its one instruction."""
    rows = AccessRows(
        numbers(0), np.array([False]), numbers(0), numbers(0), numbers(4 * lines),
        numbers(128 * lines), numbers(0, lines), np.arange(lines), np.full(lines, 15),
    )  # fmt: skip
    steps = Steps(numbers(0), numbers(1), numbers(32), numbers(0, 1), numbers(0))
    return BlockTrace(block, steps, rows, numbers(0, 1), numbers(0), numbers(0, 1), numbers(line))


@given(grids, st.tuples(*[st.integers(-40, 40)] * 3), st.integers(1, 6), st.booleans())
def test_an_affine_grid_touches_the_union_of_its_blocks(
    grid: Dim3, steps: Dim3, lines: int, stores: bool
) -> None:
    def first(block: tuple[int, ...]) -> int:
        return 10_000 + sum(at * step for at, step in zip(block, steps, strict=True))

    probes = [trace(block, first(block), lines) for block in probe_blocks(grid)]
    found = footprint(probes, [], grid, [0] if stores else [])
    every = {first(block) + line for block in product(*map(range, grid)) for line in range(lines)}
    assert (found.written if stores else found.read) == len(every) * 4 * SECTOR
    assert (found.read if stores else found.written) == 0
    assert found.covers_grid


@given(grids, st.lists(st.integers(0, 500), min_size=60, max_size=60))
def test_a_footprint_never_exceeds_the_grids(grid: Dim3, anywhere: list[int]) -> None:
    """Blocks that read wherever they like: what ran is in, and nothing that did not.

    Lines a constant apart in all blocks that ran are taken to be so in the others: none are here.
    """
    scattered = (each * 0x9E3779B1 % (1 << 22) for each in anywhere)
    places = dict(zip(product(*map(range, grid)), scattered, strict=False))
    probes = [trace(block, places[block], 2) for block in probe_blocks(grid)]
    found = footprint(probes, [], grid, [])
    executed = {places[each] + line for each in probe_blocks(grid) for line in (0, 1)}
    assert found.read >= len(executed) * 4 * SECTOR
    if not found.covers_grid:
        assert found.read == len(executed) * 4 * SECTOR


def test_an_edge_leaves_out_the_last_blocks() -> None:
    probes = [
        trace((0, 0, 0), 0, 2), trace((1, 0, 0), 2, 2), trace((6, 0, 0), 12, 2),
        trace((7, 0, 0), 14, 1),
    ]  # fmt: skip
    found = footprint(probes, [], (8, 1, 1), [])
    assert found.read == 15 * 128  # seven blocks' lines, and the one line that the last read


@given(
    st.integers(3, 300), st.integers(1, 300), st.integers(1, 300), st.integers(1, 5),
    st.integers(1, 3),
)  # fmt: skip
def test_blocks_that_come_round_again_or_do_nothing_are_not_counted_on(
    blocks: int, period: int, busy: int, step: int, lines: int
) -> None:
    """`in[blockIdx.x % period]`, and `if (blockIdx.x < busy)`."""
    grid = (blocks, 1, 1)

    def touched(block: int) -> tuple[int, int]:
        return block % period * step, lines if block < busy else 0

    probes = [trace(block, *touched(block[0])) for block in probe_blocks(grid)]
    found = footprint(probes, [], grid, [])
    every = {first + line for first, many in map(touched, range(blocks)) for line in range(many)}
    assert found.read <= len(every) * 4 * SECTOR


def test_a_block_amid_the_grid_that_does_something_else_is_seen() -> None:
    probes = [trace(block, block[0], 1) for block in probe_blocks((100, 1, 1))]
    inside = [trace((66, 0, 0), 5, 1)]
    assert footprint(probes, [], (100, 1, 1), []).read == 100 * 128
    assert footprint(probes, inside, (100, 1, 1), []).read == 5 * 128


def test_blocks_that_stride_over_the_grid_share_all_but_the_last_round() -> None:
    """`for (i = blockIdx.x; i < 1030; i += gridDim.x)`: 30 of 100 blocks go once more."""
    grid = (100, 1, 1)

    def ran(block: int) -> BlockTrace:
        lines = np.arange(block, 1030, 100)
        rows = AccessRows(
            numbers(0), np.array([False]), numbers(0), numbers(0), numbers(4 * len(lines)),
            numbers(128 * len(lines)), numbers(0, len(lines)), lines - block,
            np.full(len(lines), 15),
        )  # fmt: skip
        steps = Steps(numbers(0), numbers(1), numbers(32), numbers(0, 1), numbers(0))
        first = numbers(block)
        return BlockTrace(
            (block, 0, 0), steps, rows, numbers(0, 1), numbers(0), numbers(0, 1), first
        )

    probes = [ran(block) for block, *_ in probe_blocks(grid)]
    found = footprint(probes, [ran(66)], grid, [])
    assert 1000 * 128 <= found.read <= 1030 * 128
    assert not found.covers_grid


def test_nothing_that_ran_is_nothing() -> None:
    assert footprint([], [], (1, 1, 1), []).read == 0


def test_addresses_that_wrap_around_are_told_by_blocks_at_no_edge() -> None:
    """Each block reads the lines before its own; the first one reads the grid's last."""
    grid = (16, 1, 1)
    probes = [trace(each, (each[0] - 1) % 16 * 2, 2) for each in probe_blocks(grid)]
    others = [trace((at, 0, 0), 2 * (at - 1), 2) for at in (3, 6, 10)]
    found = footprint(probes, others, grid, [])
    # What the first block wraps to is taken to lie before all others.
    assert found.reads == (32 + 2) * 4 * SECTOR
    assert not found.covers_grid


def sectors_of(block: Dim3, sectors: np.ndarray, number: int = 0) -> BlockTrace:
    """A block whose one warp touches sectors with one instruction."""
    lines, masks = sectors // 4, 1 << sectors % 4
    rows = AccessRows(
        numbers(number), np.array([False]), numbers(0), numbers(0), numbers(len(sectors)),
        numbers(32 * len(sectors)), numbers(0, len(sectors)), lines - lines[0], masks,
    )  # fmt: skip
    steps = Steps(numbers(number), numbers(1), numbers(32), numbers(0, 1), numbers(0))
    first = numbers(int(lines[0]))
    return BlockTrace(block, steps, rows, numbers(0, 1), numbers(0), numbers(0, 1), first)


@given(st.integers(8, 40), st.integers(1, 400), st.integers(24, 400))
@example(9, 319, 311)
@example(10, 295, 263)
def test_rows_that_do_not_begin_with_sectors_are_likely_to_be_all_of_them(
    blocks: int, words: int, width: int
) -> None:
    """Each block reads `width` words, `words` further than the one before."""
    grid = (blocks, 1, 1)

    def touched(block: int) -> np.ndarray:
        begin = 4000 + block * words
        return np.arange(begin // 8, (begin + width - 1) // 8 + 1)

    probes = [sectors_of(each, touched(each[0])) for each in probe_blocks(grid)]
    others = [sectors_of((at, 0, 0), touched(at)) for at in range(2, blocks - 2, 2)]
    found = footprint(probes, others, grid, [])
    every = len(np.unique(np.concatenate([touched(block) for block in range(blocks)])))
    # Of a block's first and last sector each may be taken to be its neighbour's.
    assert abs(found.reads / SECTOR - every) <= 2 * blocks
    assert found.read <= every * SECTOR


def test_what_no_rule_tells_is_not_counted_where_others_read() -> None:
    """Each block reads four lines by a rule, and four of any other block's."""
    grid = (64, 1, 1)
    drawn = np.random.default_rng(0).permutation(64)

    def block(at: int) -> BlockTrace:
        rows = AccessRows(
            numbers(0, 1), np.array([False, False]), numbers(0, 0), numbers(0, 0),
            numbers(16, 16), numbers(512, 512), numbers(0, 4, 8), np.tile(np.arange(4), 2),
            np.full(8, 15),
        )  # fmt: skip
        steps = Steps(numbers(0), numbers(2), numbers(32), numbers(0, 2), numbers(0, 1))
        bases = numbers(4 * at, 4 * int(drawn[at]))
        return BlockTrace((at, 0, 0), steps, rows, numbers(0, 1), numbers(0), numbers(0, 2), bases)

    probes = [block(x) for x, *_ in probe_blocks(grid)]
    found = footprint(probes, [block(at) for at in range(2, 62, 6)], grid, [])
    assert found.reads == 64 * 4 * 128


def test_a_cluster_is_one_block() -> None:
    """Blocks of a pair read every other line; four pairs lie side by side."""
    probes = [
        trace((2 * x + rank, 0, 0), 2 * x + rank, 1)
        for x, *_ in probe_blocks((50, 1, 1)) for rank in (0, 1)
    ]  # fmt: skip
    found = footprint(probes, [], (100, 1, 1), [], (2, 1, 1))
    assert found.read == 100 * 128
    assert found.covers_grid


def test_clusters_that_touch_nothing_are_left_out() -> None:
    """Of 50 pairs the first ten read: what the others would is no part of a bound."""

    def block(number: int) -> BlockTrace:
        return sectors_of((number, 0, 0), np.arange(4 * number, 4 * number + 4))

    def idle(number: int) -> BlockTrace:
        return replace(block(number), step=numbers(), warp_begin=numbers(0, 0),
                       base=numbers(), base_begin=numbers(0, 0))  # fmt: skip

    pairs = [x for x, *_ in probe_blocks((50, 1, 1))]
    probes = [(block if x < 10 else idle)(2 * x + rank) for x in pairs for rank in (0, 1)]
    found = footprint(probes, [], (100, 1, 1), [], (2, 1, 1))
    assert found.read == 4 * 128  # of the pairs 0 and 1, which ran
    assert not found.covers_grid


def test_what_is_read_and_written_is_told() -> None:
    rows = AccessRows(
        numbers(0, 1), np.array([False, False]), numbers(0, 0), numbers(0, 0), numbers(4, 4),
        numbers(128, 128), numbers(0, 1, 2), numbers(0, 0), numbers(15, 15),
    )  # fmt: skip
    steps = Steps(numbers(0), numbers(2), numbers(32), numbers(0, 2), numbers(0, 1))
    probes = [
        BlockTrace(block, steps, rows, numbers(0, 1), numbers(0), numbers(0, 2),
                   numbers(block[0], block[0]))
        for block in probe_blocks((8, 1, 1))
    ]  # fmt: skip
    found = footprint(probes, [], (8, 1, 1), [1])
    assert found.read == found.written == found.both == 8 * 4 * SECTOR


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6)), min_size=1, max_size=12),
       st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6)), max_size=12))  # fmt: skip
def test_no_order_of_warps_reads_less_of_what_was_there_before(
    one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    """Two warps load and store lines, in any order: what they find there is at least so much."""
    steps = Steps(numbers(0, 1), numbers(1, 1), numbers(32, 32), numbers(0, 1, 2), numbers(0, 1))
    rows = AccessRows(
        numbers(0, 1), np.array([False, False]), numbers(0, 0), numbers(0, 0), numbers(4, 4),
        numbers(128, 128), numbers(0, 1, 2), numbers(0, 0), numbers(15, 15),
    )  # fmt: skip
    did, lines = (np.array(each, np.int64) for each in zip(*one, *other, strict=True))
    begins = numbers(0, len(one), len(one) + len(other))
    block = BlockTrace((0, 0, 0), steps, rows, begins, did, begins, lines)
    found = footprint((), [block], (1, 1, 1), [1])
    assert own_bytes(block, [1]) == (found.first_read, found.written)
    for sequence in ([*one, *other], [*other, *one]):
        made: set[int] = set()
        read: set[int] = set()
        for is_store, line in sequence:
            if is_store:
                made.add(line)
            elif line not in made:
                read.add(line)
        assert found.first_read <= 128 * len(read)
    assert found.first_read <= found.read
    if not {line for is_store, line in (*one, *other) if is_store}:
        assert found.first_read == found.read


def test_what_each_warp_reads_before_it_writes_was_there_before() -> None:
    rows = AccessRows(
        numbers(0, 1), np.array([False, False]), numbers(0, 0), numbers(0, 0), numbers(4, 4),
        numbers(128, 128), numbers(0, 1, 2), numbers(0, 0), numbers(15, 15),
    )  # fmt: skip

    def read(order: tuple[int, int]) -> int:
        steps = Steps(numbers(0), numbers(2), numbers(32), numbers(0, 2), numbers(*order))

        def block(at: tuple[int, int, int]) -> BlockTrace:
            lines = np.full(2, at[0], np.int64)
            return BlockTrace(at, steps, rows, numbers(0, 1), numbers(0), numbers(0, 2), lines)

        probes = [block(at) for at in probe_blocks((8, 1, 1))]
        return footprint(probes, [], (8, 1, 1), [1]).first_read

    assert read((0, 1)) == 8 * 128  # added to in place
    assert read((1, 0)) == 0


def test_blocks_that_touch_more_than_the_first_one_do_are_taken_at_their_mean() -> None:
    """Rows of a triangle: the first block's lines follow a rule, and are not all."""
    blocks = 1024
    each = {block: 1 + block % 256 // 8 for block in (0, 1, 100, 350, 600, 850, blocks - 1)}
    at = [trace((block, 0, 0), 64 * block, lines) for block, lines in each.items()]
    probes, traces = [*at[:2], at[-1]], at[2:-1]
    found = footprint(probes, traces, (blocks, 1, 1), [])
    mean = sum(1 + block % 256 // 8 for block in range(blocks)) / blocks
    assert found.reads == pytest.approx(blocks * mean * 4 * SECTOR, rel=0.3)
    assert not found.covers_grid


@pytest.mark.parametrize("group", [1, 4])
def test_blocks_that_read_the_same_at_once_are_told_by_their_distance(group: int) -> None:
    rng = np.random.default_rng(3)
    drawn = rng.permutation(4096)
    numbers_of_blocks = [*range(8), *range(100, 108), *range(300, 308), 400, 500]
    traces = tuple(trace((at, 0, 0), int(16 * drawn[at // group]), 16) for at in numbers_of_blocks)
    made = replace(work([Line("LDG.E", "R0,[R2.64]", lines=1)]), grid=(512, 1, 1), traces=traces)
    assert read_at_once(made, frozenset({0})) == pytest.approx(group, rel=0.25)
    few = replace(made, grid=(2, 1, 1), traces=tuple(trace((at, 0, 0), 0, 16) for at in (0, 1)))
    assert read_at_once(few, frozenset({0})) == 2


def test_of_what_several_instructions_read_in_turn_all_is_told() -> None:
    """Which of two reads a row depends on data: alone each reads some, together they read all."""
    rows = AccessRows(
        numbers(0, 1), np.array([False] * 2), numbers(0, 0), numbers(0, 0), numbers(4, 4),
        numbers(128, 128), numbers(0, 1, 2), numbers(0, 0), numbers(15, 15),
    )  # fmt: skip
    steps = Steps(numbers(0, 1), numbers(1, 1), numbers(32, 32), numbers(0, 1, 2), numbers(0, 1))

    def ran(block: Dim3) -> BlockTrace:
        step = np.random.default_rng(block[0]).integers(0, 2, 16)
        base = 1000 * np.arange(16) + block[0]
        return BlockTrace(block, steps, rows, numbers(0, 16), step, numbers(0, 16), base)

    grid = (800, 1, 1)
    found = footprint([*map(ran, probe_blocks(grid))], [ran((400, 0, 0))], grid, [])
    assert found.read == 800 * 16 * 128
