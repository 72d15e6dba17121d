"""Instructions of doubles: what a sub-partition takes for them, as an H100 did in loops of them."""

from dataclasses import replace

import pytest

from gpu_check.recordings import packaged_table
from simulator.timing.state import STALLS
from tests.unit.timing.test_sm import run
from tests.unit.timing.works import Line, work

DOUBLES = {(row["form"], row["instructions"]): row for row in packaged_table("h100_doubles")}
ALONE = {
    "DADD": ("R2,R{k}", 1), "DMUL": ("R{k},R2", 2), "DFMA": ("R2,R{k},R4", 5),
    "DADD, one register": ("R{k},R{k}", 0),
}  # fmt: skip
"""What a loop's instructions read, with the register of one of eight chains, and what they keep."""
OTHERS = {
    "FFMA": ("FFMA", "R4,R{k},R5", 5), "LOP3": ("LOP3.LUT", "R{k},R4,R5,0x96,!PT", 6),
    "IMAD": ("IMAD", "R{k},R4,R5", 6),
}  # fmt: skip


def double(name: str, k: int, stall: int = 1) -> Line:
    """Return one of a chain's instructions."""
    operands, reuse = ALONE[name]
    register = 8 + 2 * (k % 8)
    given = f"R{register},{operands.format(k=register)}"
    return Line(name.split(",")[0], given, stall=stall, reuse=reuse)


def other(name: str, k: int) -> Line:
    opcode, operands, reuse = OTHERS[name]
    register = 32 + k % 8
    return Line(opcode, f"R{register},{operands.format(k=register)}", reuse=reuse)


def taken(body: list[Line], warps: int, patterns: int) -> float:
    """Return the cycles of a sub-partition per pattern of a warp."""
    times = 8
    return run(work(body, warps=warps, times=times)).cycles / (patterns * times * warps / 4)


@pytest.mark.parametrize("warps", [4, 8, 16, 32])
@pytest.mark.parametrize("name", [*ALONE])
def test_doubles_alone_take_two_cycles(name: str, warps: int) -> None:
    """Their warp goes on, and keeps what it reads again."""
    each = taken([double(name, k) for k in range(48)], warps, 48)
    assert each == pytest.approx(float(DOUBLES["alone", name][f"warps_{warps}"]), rel=0.1)


@pytest.mark.parametrize("warps", [4, 16, 24, 32])
@pytest.mark.parametrize("name", ["DADD", "DMUL", "DFMA"])
def test_doubles_in_a_chain_read_each_register(name: str, warps: int) -> None:
    """Other warps are between them, so nothing is kept: a DFMA takes three cycles."""
    lines = [replace(double(name, 0, stall=8), reuse=0) for _ in range(24)]
    found = run(work(lines, warps=warps, times=8))
    each = found.cycles / (24 * 8 * warps / 4)
    assert each == pytest.approx(float(DOUBLES["chain", name][f"warps_{warps}"]), rel=0.06)
    # Who waits, waits for the pipe.
    throttled = found.stalls[:, STALLS.index("math_pipe_throttle")].sum()
    assert found.stalls[:, STALLS.index("dispatch_stall")].sum() <= throttled


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("beside", [*OTHERS])
@pytest.mark.parametrize("name", ["DADD", "DFMA", "DADD, one register"])
def test_doubles_let_others_be_dispatched_beside_them(name: str, beside: str, count: int) -> None:
    """A sub-partition issues an FFMA beside each in the same two cycles: both keep operands."""
    patterns = 48 // (1 + count)
    body = [
        line
        for k in range(patterns)
        for line in [double(name, k), *[other(beside, k * count + n) for n in range(count)]]
    ]
    measured = float(DOUBLES["beside", f"{name} + {count} {beside}"]["warps_16"])
    # With one beside each an H100 takes 0.2 to 0.3 cycles more than both banks and pipes need.
    rel = 0.125 if count == 1 else 0.1
    assert taken(body, 16, patterns) == pytest.approx(measured, rel=rel)


MIXES = [row for row in packaged_table("h100_double_matrices") if "0" not in row.values()]


@pytest.mark.parametrize("warps", [1, 2, 4])
@pytest.mark.parametrize("row", MIXES, ids=lambda row: f"{row['matrices']} {row['products']}")
def test_matrices_of_doubles_take_the_pipe_of_doubles(row: dict[str, str], warps: int) -> None:
    turn = []
    for k in range(8):
        turn += [
            Line("DMMA.8x8x4", f"R{32 + 4 * ((k + i) % 8)},R4,R6,R{32 + 4 * ((k + i) % 8)}")
            for i in range(int(row["matrices"]))
        ]
        turn += [double("DMUL", k + i) for i in range(int(row["products"]))]
    each = taken(turn, 4 * warps, 8)
    # The recorded loop has a dozen cycles of its own in eight turns.
    assert each == pytest.approx(float(row[f"warps_{warps}"]), rel=0.12)
