"""What all blocks touch: L1 and the L2 have it for those that come later."""

from dataclasses import replace

from simulator.timing.work import Work
from tests.unit.timing.test_sm import run
from tests.unit.timing.works import Line, work

READS = Line("LDG.E", "R4,[R2.64]", write=0, lines=8, cycles=1, floor=1)
USE = Line("FADD", "R4,R4,R4", waits=1)


def of_much(launch: Work) -> Work:
    """Return the launch as one of a grid that reads a hundred times what its blocks do."""
    every = launch.footprint
    vars(launch)["footprint"] = replace(every, read=100 * every.read)
    return launch


def made(apart: int, blocks: int = 16) -> Work:
    """Return a launch of blocks that read eight lines, so many lines apart."""
    return of_much(work([READS, USE], times=4, blocks=blocks, resident=4, apart=apart))


def test_what_blocks_share_is_what_each_of_them_touches() -> None:
    shared = made(apart=0)
    assert shared.common.tolist() == shared.traces[0].sectors_of(shared.traces[0].touched).tolist()
    assert len(made(apart=1 << 20).common) == 0
    half = made(apart=64 * 2)  # of four turns the last two are the next block's first
    assert len(half.common) == 0
    two = of_much(replace(half, traces=half.traces[:2]))
    assert len(two.common) == len(shared.common) / 2


def test_what_is_most_of_what_a_grid_reads_may_not_stay_in_the_l2() -> None:
    assert len(work([READS, USE], times=4, blocks=16, resident=4, apart=0).common) == 0


def test_of_one_block_nothing_is_known_to_be_shared() -> None:
    alone = made(apart=0)
    assert len(replace(alone, traces=alone.traces[:1]).common) == 0


def test_blocks_that_come_later_find_it_in_l1() -> None:
    """A block that stands for another one has memory of its own, but for what all share."""
    shared, own = (run(made(apart), count=16).counts for apart in (0, 1 << 20))
    each = 4 * 8  # turns, sectors
    assert shared["sent_sectors"] == each
    assert own["sent_sectors"] == 16 * each
    assert shared["load_sectors"] == own["load_sectors"] == 16 * each


def test_what_a_cluster_shares_is_not_what_all_blocks_share() -> None:
    pair = of_much(replace(made(apart=0), cluster=(2, 1, 1)))
    assert len(of_much(replace(pair, traces=pair.traces[:2])).common) == 0
    assert len(pair.common) > 0


def test_an_access_is_shared_if_all_that_it_touches_is() -> None:
    (trace, *_) = made(apart=0).traces
    touched = trace.sectors_of(trace.touched)
    assert trace.lies_in(touched).all()
    assert trace.lies_in(touched[:-1]).sum() == len(trace.base) - 1
    assert not trace.lies_in(touched[:0]).any()
