"""Reading registers: what an instruction may be held up by, as an H100's loops were."""

from itertools import cycle

import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.banks_beside import THREE, tokens
from tests.unit.timing.test_sm import run
from tests.unit.timing.works import Line, work

OPCODES = {
    "F": "FFMA", "M": "IMAD", "L": "LOP3.LUT", "I": "IADD3", "A": "FADD", "P": "ISETP.GE.AND",
    "N": "FMNMX", "G": "HFMA2", "D": "HADD2", "U": "HMUL2", "W": "HFMA2.MMA",
}  # fmt: skip
MATRICES = {"H": "RZ,R4,R8,RZ", "J": "RZ,R4,R8,R12"}
BEHIND = {"L": ",0x96,!PT", "P": ",PT", "N": ",PT"}
COUNT = 256


def lines(pattern: str) -> list[Line]:
    """Return what the recorded loop had: all of it, in turn."""
    of = [cycle(range(32 + residue, 80, 4)) for residue in range(4)]
    written = cycle(range(80, 112))
    found, each = [], cycle(tokens(pattern))
    for _ in range(COUNT):
        one = next(each)
        letter, residues = one[0], one[1:]
        if letter in MATRICES:
            found.append(Line("HMMA.16816.F32", MATRICES[letter]))
            continue
        registers, reuse = [], 0
        for place, residue in enumerate(residues[: 3 if letter in THREE else 2]):
            if residue == "-":
                registers.append("RZ")
            elif residue == "=":
                registers.append(registers[0])
            elif residue.isdigit():
                registers.append(f"R{next(of[int(residue)])}")
            else:  # one of its own for each place
                registers.append(f"R{4 * place + 'abcd'.index(residue.lower())}")
                reuse |= residue.islower() << place
        target = "P5,PT" if letter == "P" else f"R{next(written)}"
        operands = f"{target},{','.join(registers)}{BEHIND.get(letter, '')}"
        found.append(Line(OPCODES[letter], operands, reuse=reuse))
    return found


# Results of matrices go nowhere: of seven beside, an H100 multiplies more often than it could.
ROWS = [row for row in packaged_table("h100_banks_beside") if not row["reads"].endswith("*7")]


HALVES = packaged_table("h200_banks_of_halves")
CROWDED = ("W--- G020", "W012 G012 D01-", "W012 G012 D02-", "U01- W012 D01- I01- W012 G012")
"""In these, products of halves read three registers beside others: they are up to 24 % too fast."""


def _held_to(row: dict[str, str], rel: float, warps: int, own: int) -> None:
    body = lines(row["reads"])
    less, more = (run(work(body, warps=4 * warps, times=times)).cycles for times in (1, 2))
    # A turn of the recorded loop ends with a branch, and has a few instructions of its own.
    each = ((more - less) / warps + own) / COUNT
    assert each == pytest.approx(float(row[f"warps_{warps}"]), rel=rel)


@pytest.mark.parametrize("row", ROWS, ids=[row["reads"] for row in ROWS])
def test_instructions_that_read_registers_take_what_they_took(row: dict[str, str]) -> None:
    for warps, own in ((1, 40), (4, 24)) if row in ROWS[::7] else ((1, 40),):
        _held_to(row, 0.06, warps, own)


@pytest.mark.parametrize("row", HALVES, ids=[row["reads"] for row in HALVES])
def test_halves_take_what_they_took(row: dict[str, str]) -> None:
    """Behind an HFMA2.MMA, the cycle after the next is for another one only."""
    rel = 0.25 if row["reads"] in CROWDED else 0.06
    for warps, own in ((1, 40), (4, 24)) if row in HALVES[::7] else ((1, 40),):
        _held_to(row, rel, warps, own)


def test_small_matrices_are_read_as_often_as_they_are_multiplied() -> None:
    """What is read of them ran ahead of the products: a sum behind them waited for all of it."""
    products = [Line("HMMA.1688.F32", "R0,R4,R8,R12")] * 256
    alone, more = (
        run(work(body, warps=4, times=1)).cycles
        for body in (products, [*products, Line("FFMA", "R16,R17,R18,R19")])
    )
    assert more - alone < 12


@pytest.mark.parametrize("count", [2, 3, 4, 6, 8])
def test_a_load_of_shared_memory_takes_a_part_of_a_cycle_of_dispatch(count: int) -> None:
    """Beside so many FFMAs, and an addition of what it loads."""
    rows = {
        (row["memory"], row["arithmetic"], row["count"]): float(row["warps_32"])
        for row in packaged_table("h100_ports")
    }
    load = Line("LDS", "R40,[R41]", cycles=1, floor=1, write=0)
    body = []
    for k in range(8):
        body += [load]
        for each in range(count):
            register = 2 + 2 * ((k + each) % 8)
            body += [Line("FFMA", f"R{register},R{register},R21,R22", reuse=6)]
        body += [Line("FADD", "R24,R24,R43")]
    cycles = run(work(body, warps=32, times=4)).cycles / (8 * 4 * 8)
    loop = rows["nothing", "FFMA", str(count)] - count  # what is the loop's
    assert cycles + loop == pytest.approx(rows["LDS", "FFMA", str(count)], rel=0.04)


def test_a_load_goes_to_its_queue_while_nothing_else_is_dispatched() -> None:
    """Of a warp alone, that waits for each: its port is free long before."""
    chain = work([Line("LDS", "R0,[R0]", stall=2, write=0, waits=1, cycles=1, floor=1)], times=200)
    assert run(chain, load_port=1.0).cycles == run(chain, load_port=0.0).cycles
