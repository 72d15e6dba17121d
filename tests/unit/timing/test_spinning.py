"""Loops that wait for another warp, and loops that only look like it: as NVRTC compiles them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.timing.launch_time import time_of
from simulator.timing.spinning import spins
from tests.unit.timing.works import Line, work

LOCK = [
    Line("MOV", "R6,RZ"),
    Line("MOV", "R7,0x1"),
    Line("ATOMG.E.CAS.STRONG.GPU", "PT,R7,[R2.64],R6,R7", lines=1),
    Line("ISETP.NE.AND", "P0,PT,R7,RZ,PT"),
    Line("BRA", "0x10", guard="@P0"),
]
EXCHANGE = [
    Line("ATOMG.E.EXCH.STRONG.GPU", "PT,R5,desc[UR4][R2.64],R9", lines=1),
    Line("ISETP.NE.AND", "P0,PT,R5,RZ,PT"),
    Line("BRA", "0x0", guard="@P0"),
]
FLAG = [
    Line("LDG.E.STRONG.SYS", "R0,[R2.64]", lines=1),
    Line("ISETP.NE.AND", "P0,PT,R0,RZ,PT"),
    Line("BRA", "0x0", guard="@!P0"),
]
# while (*flag != 1 && *flag != 2);
EITHER = [
    Line("LDG.E.STRONG.SYS", "R0,[R2.64]", lines=1),
    Line("ISETP.NE.AND", "P0,PT,R0,0x1,PT"),
    Line("ISETP.NE.AND", "P1,PT,R0,0x2,PT"),
    Line("PLOP3.LUT", "P0,PT,P0,P1,PT,0x80,0x0"),
    Line("BRA", "0x0", guard="@P0"),
]
# while (!__all_sync(-1, *flag));
ALL = [
    Line("LDG.E.STRONG.SYS", "R0,[R2.64]", lines=1),
    Line("ISETP.NE.AND", "P1,PT,R0,RZ,PT"),
    Line("VOTE.ALL", "P0,P1"),
    Line("BRA", "0x0", guard="@!P0"),
]
# float max: compares with what it read last.
MAX = [
    Line("FMNMX", "R9,R8,R5,!PT"),
    Line("ATOMG.E.CAS.STRONG.GPU", "PT,R9,[R2.64],R8,R9", lines=1),
    Line("ISETP.NE.AND", "P0,PT,R9,R8,PT"),
    Line("MOV", "R8,R9"),
    Line("BRA", "0x0", guard="@P0"),
]
# while (i < *n) a[i++] = 0;
COUNTED = [
    Line("LDG.E", "R0,[R2.64]", lines=1),
    Line("IADD3", "R4,R4,0x1,RZ"),
    Line("ISETP.GE.AND", "P0,PT,R4,R0,PT"),
    Line("BRA", "0x0", guard="@!P0"),
]
# do { ... __syncthreads(); } while (changed);
CONVERGES = [
    Line("STS", "[R1],RZ", cycles=1, floor=1),
    Line("BAR.SYNC.DEFER_BLOCKING", "0x0"),
    Line("LDS", "R0,[R1]", cycles=1, floor=1),
    Line("ISETP.NE.AND", "P0,PT,R0,RZ,PT"),
    Line("BRA", "0x0", guard="@P0"),
]
WALKS = [
    Line("LDG.E.64", "R2,[R2.64]", lines=1),
    Line("ISETP.NE.AND", "P0,PT,R2,RZ,PT"),
    Line("BRA", "0x0", guard="@P0"),
]
ONCE = [Line("ATOMG.E.CAS.STRONG.GPU", "PT,R7,[R2.64],R6,R7", lines=1), Line("BRA", "0x20")]
# A lock's address is the sum of a warp's numbers, which change from round to round.
SUMS = [
    Line("IADD3", "R8,R8,0x1,RZ"),
    Line("REDUX.SUM", "UR4,R8"),
    Line("ATOMG.E.EXCH.STRONG.GPU", "PT,R5,desc[UR6][R2.64+UR4],R9", lines=1),
    Line("ISETP.NE.AND", "P0,PT,R5,RZ,PT"),
    Line("BRA", "0x0", guard="@P0"),
]
# A table is looked up behind so many steps of a hash.
HASHES = [
    *[Line("IMAD", "R4,R4,R5,R6"), Line("LOP3.LUT", "R4,R4,R7,RZ,0x3c,!PT")] * 600,
    Line("LDG.E", "R0,[R4]", lines=1),
    Line("IADD3", "R8,R8,-0x1,RZ"),
    Line("ISETP.NE.AND", "P0,PT,R8,RZ,PT"),
    Line("BRA", "0x0", guard="@P0"),
]
UNUSED = [Line("ATOMG.E.EXCH.STRONG.GPU", "PT,RZ,[R2.64],R9", lines=1),
          Line("BRA", "0x0", guard="@P0")]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "place"), [(LOCK, 2), (EXCHANGE, 0), (FLAG, 0), (EITHER, 0), (ALL, 0)]
)
def test_a_lock_or_a_flag_has_no_time(body: list[Line], place: int) -> None:
    given = work(body)
    assert spins(given) is given.instructions[place]
    found = time_of(given, "H100")
    assert found.cycles is None
    assert found.bound_cycles > 0
    assert found.notes[-1] == (
        f"Its cycles are not known: k.cu:{place + 1} asks memory again until another warp has"
        " written."
    )


@pytest.mark.parametrize("body", [MAX, COUNTED, CONVERGES, WALKS, ONCE, SUMS, HASHES, UNUSED])
def test_a_loop_that_makes_progress_has_one(body: list[Line]) -> None:
    given = work(body)
    assert spins(given) is None
    assert time_of(given, "H100").cycles is not None


def test_what_no_warp_executed_is_no_lock() -> None:
    given = work([Line("FADD", "R0,R1,R2")])
    code = (*given.instructions, *work(FLAG).instructions)
    assert spins(replace(given, instructions=code)) is None
