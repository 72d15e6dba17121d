"""Accesses that wait for shared memory: how many, in which order, and what they did on an H100."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_check.recordings import packaged_table
from simulator.timing.state import Stall
from tests.examples import examples
from tests.unit.timing.test_data_pipe import LOADS, STORES, apart, pause
from tests.unit.timing.test_sm import MACHINE, run
from tests.unit.timing.works import Line

ACCESS = 64
"""Cycles of an access of 32 wavefronts, which is served at half the rate."""
NOT_KNOWN = {("SSLLHHHH", 4), ("LHHHH", 2), ("LHHHH", 4)}
"""Sequences and warps that fall into another pattern than the model's: see time.md."""
STORE = Line("STS", "[R1],R0", cycles=32, floor=1, stall=4)


def issued(access: str, warps: int) -> list[float]:
    """When warps issued the first, the second and so on of the accesses, mean of the warps."""
    rows = (row for row in packaged_table("h100_pool") if row["access"] == access)
    return [float(row["issued"]) for row in rows if row["warps"] == str(warps)]


@pytest.mark.parametrize("warps", [1, 2, 4])
def test_so_many_stores_are_taken_before_a_warp_waits(warps: int) -> None:
    first = run(apart([[STORE]] * warps)).cycles
    for count in (8, 12, 16, 20, 24, 28, 31, 32, 34):
        took = run(apart([[STORE] * count] * warps)).cycles - first
        # The last warp's, beside the mean one's: an access of each warp lies between.
        mean = issued("store of 4 bytes", warps)[count - 1]
        assert took == pytest.approx(mean, abs=warps * ACCESS)


@pytest.mark.parametrize("warps", [1, 2, 4])
@pytest.mark.parametrize(("size", "words"), [(8, 2), (16, 4)])
def test_the_pool_has_room_for_32_words_of_each_lane(size: int, words: int, warps: int) -> None:
    """What a store stores is read when it comes to the pool; each time it is made anew."""
    body = [
        Line(f"STS.{8 * size}", "[R1],R4", cycles=32, floor=1, stall=2, read=0),
        Line("IADD3", "R4,R2,R3,RZ", waits=1, stall=5),
    ]
    took = [run(apart([body * count] * warps)).cycles for count in (20, 30)]
    measured = issued(f"store of {size} bytes", warps)
    assert took[1] - took[0] == pytest.approx(measured[29] - measured[19], rel=0.03)
    # A warp that waits has as many in the pool as there is room for, and one is being served.
    if warps == 1:
        waits = next(k for k in range(35) if measured[k + 1] - measured[k] == ACCESS)
        begun = 1 + (measured[waits] - measured[1]) // ACCESS
        assert waits - begun == pytest.approx(MACHINE["pool_words"] / words, abs=1)


@pytest.mark.parametrize("warps", [1, 2, 3])
def test_a_late_load_waits_for_the_pool_and_no_longer(warps: int) -> None:
    rows = [
        row for row in packaged_table("h100_late_loads")
        if (row["access"], row["warps"]) == ("load of 4 bytes", str(warps))
        # One warp's loop was compiled so that it waits for its first results.
        and (warps > 1 or int(row["count"]) <= 14)
    ]  # fmt: skip
    found = []
    for row in rows:
        late, count = int(row["issued"]), int(row["count"])
        load = [Line("LDS", "R2,[R3]", write=0, cycles=1, floor=1), Line("FADD", "R2", waits=1)]
        made = apart([*[[LOADS] * count] * warps, [*pause(late), *load]])
        at = warps * count + len(pause(late)) + 1
        found.append(int(run(made).stalls[at, Stall.SHORT_SCOREBOARD]))
    # The measured loop's begin and end take 64 cycles more than the model's where nothing waits.
    measured = [int(row["back"]) - int(row["issued"]) for row in rows]
    assert found == pytest.approx(measured, abs=ACCESS + 16)
    if warps > 1:
        assert found[-1] == pytest.approx(found[-3], abs=2)
        assert measured[-1] == pytest.approx(measured[-3], abs=2)


def turn(sequence: str, ways: int) -> list[Line]:
    """Return a turn of the measured loop: a warp goes on when its last result is there."""
    made = {
        "L": Line("LDS", "R10,[R1]", cycles=ways, floor=1, stall=4, write=0),
        "S": Line("STS", "[R1],R5", cycles=ways, floor=1, stall=4),
        "H": Line("SHFL.IDX", "PT,R11,R3,0x3,0x1f", stall=4, write=0),
    }
    sums = [Line("FADD", "R5,R5,R6", waits=1, stall=5)]
    end = [Line("LOP3.LUT", "R7,R5,R8,RZ", stall=5), Line("IADD3", "R1,R2,R7,RZ", stall=9)]
    return [*(made[letter] for letter in sequence), *sums, *end]


@pytest.mark.parametrize(
    "sequence", ["L", "LL", "SSLL", "LH", "LHHHH", "LLHHHH", "SLH", "SSLLH", "SSLLHH", "SSLLHHHH"]
)
@pytest.mark.parametrize("ways", [32, 4])
def test_a_sequence_takes_what_it_took(sequence: str, ways: int) -> None:
    """A shuffle stands behind its warp's accesses: 4 may fill what the pipe looks at."""
    body = turn(sequence, ways)
    for row in packaged_table("h100_in_order"):
        warps, skew = int(row["warps"]), int(row["skew"])
        # Of warps that go in step the first cycle decides: see time.md.
        in_step = warps > 2 and skew == 0
        if (row["sequence"], row["ways"]) != (sequence, str(ways)) or in_step:
            continue
        if (sequence, warps) in NOT_KNOWN:
            continue
        whole = [
            run(apart([pause(24 * skew * warp) + body * times for warp in range(warps)])).cycles
            for times in (12, 24)
        ]
        cycles = float(row["cycles"])
        assert (whole[1] - whole[0]) / 12 == pytest.approx(cycles, rel=0.025, abs=14)


def test_a_shuffle_comes_behind_a_load_of_its_warp() -> None:
    """Else the result of a load is taken for there: only the shuffle releases a scoreboard."""
    load = Line("LDS", "R10,[R1]", cycles=32, floor=1, stall=4)
    shuffle = Line("SHFL.IDX", "PT,R11,R3,0x3,0x1f", stall=4, write=0)
    waits = Line("FADD", "R5,R10,R11", waits=1)
    behind, alone = run(apart([[load, shuffle, waits]])), run(apart([[shuffle, waits]]))
    assert behind.cycles >= alone.cycles + ACCESS


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.lists(st.sampled_from("LSH"), min_size=1, max_size=8), min_size=1, max_size=4))
def test_no_order_serves_more_than_the_pipe_can(bodies: Sequence[Sequence[str]]) -> None:
    last = [Line("LDS", "R9,[R8]", write=0, cycles=1, floor=1), Line("FADD", "R9", waits=1)]
    found = run(apart([[turn(letter, 32)[0] for letter in each] + last for each in bodies]))
    slow = [sum(letter != "H" for letter in each) for each in bodies]
    shuffles = sum(map(len, bodies)) - sum(slow)
    # Some cycles are for turning from shared memory to others and back.
    more = found.counts["data_cycles"] - (32 * sum(slow) + shuffles + len(bodies))
    assert 0 <= more <= shuffles
    assert found.cycles >= max(32 * sum(slow), ACCESS * max(slow))


@pytest.mark.parametrize("line", [LOADS, STORES])
def test_more_room_in_the_pool_lets_warps_go_on(line: Line) -> None:
    whole = {
        room: run(apart([[line] * 40] * 2), pool_room=room).cycles for room in (4.0, 19.0, 24.0)
    }
    assert whole[4.0] > whole[19.0] > whole[24.0]
