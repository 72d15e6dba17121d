"""One queue of a sub-partition for all that goes to memory, by what an H100 did."""

from collections import defaultdict

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from tests.unit.timing.test_sm import MACHINE, run
from tests.unit.timing.works import Line, work

ISSUED: dict[tuple[str, int, str, int], dict[int, float]] = defaultdict(dict)
for row in packaged_table("h100_full_queues"):
    of = str(row["first"]), int(row["count"]), str(row["behind"]), int(row["warps"])
    ISSUED[of][int(row["place"])] = float(row["issued"])
CROWDED = {
    (str(row["timed"]), str(row["beside"]), int(row["ways"]), int(row["warps"])): float(
        row["cycles"]
    )
    for row in packaged_table("h100_crowded")
}
LINES = {
    ("shared load", 32): Line("LDS", "R0,[R1]", stall=4, cycles=32, floor=1),
    ("shared store", 32): Line("STS", "[R1],R0", stall=4, cycles=32, floor=1),
    ("shared load", 1): Line("LDS", "R0,[R1]", stall=4, cycles=1, floor=1),
    ("shared store", 1): Line("STS", "[R1],R0", stall=4, cycles=1, floor=1),
    ("load in L1", 1): Line("LDG.E", "R4,[R2.64]", stall=4, lines=1, cycles=1, floor=1),
    ("load of the L2", 1): Line("LDG.E", "R4,[R2.64]", stall=4, lines=1, cycles=1, floor=1),
    ("store", 1): Line("STG.E", "[R2.64],R4", stall=4, lines=1, cycles=1, floor=1),
}


def issued(first: str, count: int, behind: str, warps: int) -> list[float]:
    """When the mean warp issues what is behind, by place."""
    body = [LINES[first, 32]] * count + [LINES[behind, 1]] * len(
        ISSUED[first, count, behind, warps]
    )
    stalls = run(work(body, warps=warps), request=MACHINE["request_alone"]).stalls
    return list(np.cumsum(stalls[: len(body)].sum(axis=1))[count:] / warps)


@pytest.mark.parametrize("of", [of for of in ISSUED if of[0] != "gather"], ids=str)
def test_all_that_goes_to_memory_waits_in_one_queue(of: tuple[str, int, str, int]) -> None:
    """Conflicts come first: loads and stores of global memory do not overtake them.

    Once the conflicts have left the queues, loads go earlier than on a chip.
    """
    first, count, behind, warps = of
    in_queues = count * warps - MACHINE["pool_room"]
    last = 32 * in_queues if behind.startswith("load") else 1e9
    pairs = [
        (own, ISSUED[of][place])
        for place, own in enumerate(issued(first, count, behind, warps))
        if ISSUED[of][place] < last
    ]
    assert len(pairs) >= 5
    for own, chip in pairs:
        assert own == pytest.approx(chip, rel=0.1, abs=110 if warps == 4 else 240)


def test_loads_and_shuffles_wait_where_shared_loads_wait() -> None:
    """Their data take the pipe in that order, or the L2 is asked so late."""
    for (timed, beside, ways, warps), cycles in CROWDED.items():
        alone = CROWDED[timed, beside, ways, 0]
        wait = CROWDED["shared load", beside, ways, warps]
        wait -= CROWDED["shared load", beside, ways, 0]
        assert cycles == pytest.approx(alone + wait, rel=0.17)
