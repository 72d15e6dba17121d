"""What products of 64 bits, loads and local memory cost, as an H100 did in loops of them."""

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from simulator.timing.estimate import _unlike
from simulator.timing.local_memory import frame_words, is_indexed
from tests.unit.timing.test_sm import run
from tests.unit.timing.works import Line, work

DATA = Path(__file__).parents[3] / "gpu_check/data"
DISPATCH = {
    row["instructions"]: row
    for row in csv.DictReader((DATA / "h100_dispatch.csv").read_text().splitlines())
}
LOCAL = {
    (row["does"], row["index"]): float(row["cycles"])
    for row in csv.DictReader((DATA / "h100_local_memory.csv").read_text().splitlines())
    if (row["words"], row["sms"], row["warps"]) == ("32", "132", "32")
}
LINES = {
    "FFMA": Line("FFMA", "R20,R14,R3,R14"),
    "IMAD": Line("IMAD", "R20,R14,R3,R14"),
    "LOP3": Line("LOP3.LUT", "R18,R8,R11,RZ,0x78,!PT"),
    "DFMA": Line("DFMA", "R22,R6,R8,R10"),
    "IMAD.WIDE": Line("IMAD.WIDE", "R16,R2,R5,R6"),
    "IMAD.WIDE RZ": Line("IMAD.WIDE", "R16,R2,R5,RZ"),
    "IMAD.HI": Line("IMAD.HI.U32", "R16,R2,R5,RZ"),
}


@pytest.mark.parametrize("other", ["LOP3", "IMAD", "FFMA"])
@pytest.mark.parametrize("first", ["IMAD.WIDE", "IMAD.WIDE RZ", "IMAD.HI", "DFMA"])
def test_instructions_beside_a_wide_one_take_what_they_took_on_an_h100(
    first: str, other: str
) -> None:
    for count in (2, 4, 6):
        pattern = [LINES[first], *[LINES[other]] * count]
        copies, times = 252 // len(pattern), 4
        cycles = run(work(pattern * copies, warps=16, times=times)).cycles
        each = cycles / (copies * times * 4)
        # The measured loop has some twenty cycles of its own in 256 instructions. Beside doubles
        # an even number of FFMAs takes a cycle more than the model knows.
        tolerance = 0.16 if (first, other) == ("DFMA", "FFMA") else 0.13
        measured = float(DISPATCH[f"{first} + {count} {other}"]["warps_4"])
        assert each == pytest.approx(measured, rel=tolerance)


@pytest.mark.parametrize(
    ("index", "place", "tolerance"), [("lanes", "[R10]", 0.12), ("uniform", "[R1+0x4]", 0.16)]
)
def test_a_store_to_local_memory_takes_what_it_took_on_an_h100(
    index: str, place: str, tolerance: float
) -> None:
    frame = Line("IADD3", "R1,R1,-0x80,RZ")
    times = 4
    body = [frame, *[Line("STL", f"{place},R7")] * 16]
    cycles = run(work(body, warps=32, times=times)).cycles
    assert cycles / (16 * 32 * times) == pytest.approx(LOCAL["stores", index], rel=tolerance)


def test_a_frame_is_what_the_stack_gives_and_spills_have_no_index() -> None:
    frame, spill, array = work(
        [Line("VIADD", "R1,R1,0xffffff80"), Line("LDL", "R0,[R1+0x8]"), Line("LDL", "R0,[R4]")]
    ).instructions[:3]
    assert frame_words([frame, spill]) == 32
    assert frame_words([spill]) == 0
    assert [is_indexed(each) for each in (frame, spill, array)] == [False, False, True]


def test_the_sm_that_drew_most_is_the_last_where_all_blocks_begin_at_once() -> None:
    def unlike(executed: list[int], *, blocks: int, resident: int) -> float:
        traces = [SimpleNamespace(instructions=count) for count in executed]
        given = SimpleNamespace(traces=traces, resident=resident, blocks=132 * blocks)
        return _unlike(cast(Any, given), blocks, 132)

    assert unlike([90, 100, 110], blocks=4, resident=4) == pytest.approx(
        1 + 2.6 * 0.0816 / 2, rel=1e-2
    )
    assert unlike([90, 100, 110], blocks=5, resident=4) == 1  # who ends first gets the next
    assert unlike([100, 100, 100], blocks=4, resident=4) == 1
    assert unlike([90, 110], blocks=4, resident=4) == 1  # two tell too little
