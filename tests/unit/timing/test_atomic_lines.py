"""What atomics take by the lines, sectors and words that they change, as an H100 did."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_check.recordings import packaged_table
from gpu_check.timing.atomic_lines import PATTERNS, atomic_lines_source
from simulator.timing.atomics import near_share
from simulator.timing.state import Stall
from tests.unit.timing.test_sm import MACHINE, run
from tests.unit.timing.works import Line, with_rows, work

_OPS = {
    "red": Line("RED.E.ADD.STRONG.GPU", "[R2.64],R0"),
    "red_double": Line("RED.E.ADD.F64.RN.STRONG.GPU", "[R2.64],R4"),
    "atom": Line("ATOMG.E.ADD.STRONG.GPU", "R4,[R2.64],R0", write=0),
    "atom_swap": Line("ATOMG.E.CAS.STRONG.GPU", "R4,[R2.64],R0,R1", write=0),
}
_ALONE = {
    f"atom_{name}": MACHINE[f"atom_{name}_alone"] for name in ("packet", "asked", "more", "given")
}


def _made(atomic: str, lines: int, sectors: int, words: int, times: int, **others: Line):  # type: ignore[no-untyped-def]
    body = [replace(_OPS[atomic], lines=lines)] * 8
    made = work([*body, *others.values()], warps=32, times=times)
    rows = made.traces[0].rows
    size = 8 if atomic == "red_double" else 4
    return with_rows(
        made,
        mask=np.where(np.arange(len(rows.mask)) < 8 * lines, (1 << sectors) - 1, rows.mask),
        sectors=np.where(rows.number < 8, lines * sectors, rows.sectors),
        bytes=np.where(rows.number < 8, lines * sectors * words * size, rows.bytes),
    )


@pytest.mark.parametrize("atomic", list(_OPS))
def test_atomics_take_what_they_took_by_lines_and_sectors(atomic: str) -> None:
    """Of all SMs at work, whose words are all over: within 10 %, and 3 % on average."""
    recorded = {
        (int(row["lines"]), int(row["sectors"]), int(row["words"])): float(row["warps_32"])
        for row in packaged_table("h100_atomic_lines")
        if (row["atomic"], row["span"], row["sms"]) == (atomic, str(1 << 22), "132")
    }
    off = []
    for lines, sectors, words in PATTERNS:
        # With fewer lanes the loop or the latency of the recorded kernel is what counts.
        if (lines, sectors, words) not in recorded or lines * sectors * words < 16:
            continue
        each = (
            run(_made(atomic, lines, sectors, words, 8)).cycles
            - run(_made(atomic, lines, sectors, words, 4)).cycles
        ) / (4 * 8 * 32)
        off.append(each / recorded[lines, sectors, words] - 1)
    assert len(off) >= 9
    assert np.abs(off).max() < 0.1
    assert np.abs(off).mean() < 0.03


def test_one_sm_alone_sends_a_packet_per_cycle() -> None:
    def each(lines: int, sectors: int, words: int) -> float:
        long, short = (
            run(_made("red", lines, sectors, words, times), **_ALONE).cycles for times in (8, 4)
        )
        return (long - short) / (4 * 8 * 32)

    recorded = {
        (int(row["lines"]), int(row["sectors"]), int(row["words"])): float(row["warps_32"])
        for row in packaged_table("h100_atomic_lines")
        if (row["atomic"], row["span"], row["sms"]) == ("red", str(1 << 22), "1")
    }
    for pattern in ((32, 1, 1), (16, 1, 2), (8, 2, 2), (8, 4, 1)):
        assert each(*pattern) == pytest.approx(recorded[pattern], rel=0.1)


@pytest.mark.parametrize(
    ("lines", "sectors", "words"), [(16, 1, 2), (4, 1, 8), (8, 2, 2), (1, 4, 8)]
)
@pytest.mark.parametrize("beside", ["load of a line", "load of words", "store of a line"])
def test_atomics_share_the_way_of_stores_and_what_looks_lines_up(
    lines: int, sectors: int, words: int, beside: str
) -> None:
    (recorded,) = (
        float(row["warps_32"])
        for row in packaged_table("h100_atomics_beside")
        if (row["atomic"], row["sms"], row["beside"]) == ("red", "132", beside)
        and (row["lines"], row["sectors"], row["words"]) == (str(lines), str(sectors), str(words))
    )
    count = 32 if "words" in beside else 1
    other = (
        Line("STG.E", "[R6.64],R0", lines=1) if "store" in beside
        else Line("LDG.E.STRONG.GPU", "R8,[R6.64]", write=1, lines=count)
    )  # fmt: skip
    turns = {}
    for times in (8, 4):
        body = {f"other{n}": other for n in range(8)}
        made = _made("red", lines, sectors, words, times, **body)
        rows = made.traces[0].rows
        if count == 1:  # a whole line
            after = np.arange(len(rows.mask)) >= 8 * lines
            made = with_rows(
                made, mask=np.where(after, 15, rows.mask),
                sectors=np.where(rows.number >= 8, 4, rows.sectors),
            )  # fmt: skip
        turns[times] = run(made).cycles
    assert (turns[8] - turns[4]) / (4 * 8 * 32) == pytest.approx(recorded, rel=0.12)


def test_warps_wait_while_too_many_atomics_are_on_their_way() -> None:
    """A shuffle behind them waits, too: their queue lets no other pass."""
    made = _made("red", 32, 1, 1, 1, shuffle=Line("SHFL.BFLY", "PT,R0,R1,0x1,0x1f", write=0))
    free, held = (run(made, backlog=most) for most in (510, 64))
    assert held.stalls[:8, Stall.LG_THROTTLE].sum() > free.stalls[:8, Stall.LG_THROTTLE].sum()
    assert held.cycles == pytest.approx(free.cycles, rel=0.02)


def test_words_near_each_other_take_longer() -> None:
    def at(words: int) -> float:
        made = work([replace(_OPS["red"], lines=1)], warps=1, times=2)
        (trace,) = made.traces
        base = np.array([0, words // 32 - 1])
        return near_share(replace(made, traces=(replace(trace, base=base),)), MACHINE, 132)

    assert [at(1 << place) for place in (12, 16, 18, 22)] == pytest.approx([1, 1, 0, 0], abs=1e-3)
    assert at(1 << 17) == pytest.approx(0.5, abs=0.01)
    rows = {
        int(row["span"]): float(row["warps_32"])
        for row in packaged_table("h100_atomic_lines")
        if (row["atomic"], row["sms"], row["lines"], row["sectors"], row["words"])
        == ("red", "132", "8", "4", "1")
    }
    for place in (16, 17, 18, 20, 22):
        more = 1 + at(1 << place) * (MACHINE["atom_near"] - 1)
        assert more == pytest.approx(rows[1 << place] / rows[1 << 22], rel=0.04)


def test_lanes_far_apart_are_not_near() -> None:
    made = work([replace(_OPS["red"], lines=32)], warps=1, times=1)
    spread = with_rows(made, line=made.traces[0].rows.line * (1 << 14))
    assert (near_share(made, MACHINE, 132), near_share(spread, MACHINE, 132)) == (1, 0)


def test_all_atomics_are_measured() -> None:
    source = atomic_lines_source()
    assert source.count("__global__") == 30
    assert {row["atomic"] for row in packaged_table("h100_atomic_lines")} >= set(_OPS)
