"""One SM: what a recorded chip needs for loops of an instruction, and what must hold of any."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_check.recordings import packaged_table
from simulator import Chip
from simulator.timing.estimate import SmRun, run_sm
from simulator.timing.machine import machine_of
from simulator.timing.state import STALLS
from simulator.timing.work import Work
from tests.examples import examples
from tests.unit.timing.works import Line, work

PIPES = {row["op"]: row for row in packaged_table("h100_pipes")}
H100 = Chip.of("H100")
MACHINE = {
    **(machine_of(H100) or {}),
    "course": 0.0,
    "dram_share": 0.0,
    "dram_fetched": 1.0,
    "kept_sector": 0.0,
    "dram_stored": 0.0,
    "crossed": 0.0,
    "constants": 0.0,
    "atom_hot": 0.0,
    "local_missed": 0.0,
    "local_far": 0.0,
    "local_stored": 0.0,
    "dram_wait_written": 0.0,
    "tma_l2_rate": 102.0,
    "tma_request": 1.0,
    "l2_own": 48.1,
    "hot_rate": 48.1,
    "local_last": 1.0,
    "dram_atom": 0.0,
    "dram_stored_taken": 1.0,
    "dram_atom_taken": 1.0,
    "store_hot": 0.0,
}
"""What loops need that have run before: constants are there."""

PROGRAM = st.lists(
    st.one_of(
        st.builds(Line, st.sampled_from(["FFMA", "IADD3", "IMAD", "MUFU.EX2"]),
                  stall=st.integers(1, 6)),
        st.builds(Line, st.just("LDS"), st.just("R0,[R2]"), write=st.integers(0, 5),
                  cycles=st.integers(1, 32), floor=st.just(1)),
        st.builds(Line, st.just("LDG.E"), st.just("R4,[R6.64]"), write=st.integers(0, 5),
                  lines=st.integers(1, 32)),
        st.builds(Line, st.just("FADD"), st.just("R0,R1,R2"), waits=st.integers(0, 63)),
    ),
    min_size=1, max_size=12,
)  # fmt: skip


def run(given_work: Work, *, without: bool = False, count: int = 1, **numbers: float) -> SmRun:
    plan = np.arange(count, dtype=np.int64) % len(given_work.traces)
    return run_sm(given_work, H100, {**MACHINE, **numbers}, plan, without=without)


@pytest.mark.parametrize(
    ("op", "line", "tolerance"),
    [
        ("FFMA", Line("FFMA", "R0,R1,R2,c[0x0][0x0]"), 0.12),
        ("IMAD", Line("IMAD", "R0,R1,R2,c[0x0][0x0]"), 0.08),
        ("LOP3", Line("LOP3.LUT", "R0,R1,R2,R3,0x96,!PT"), 0.10),
        ("DADD", Line("DADD", "R0,R2,R4"), 0.08),
        ("MUFU.EX2", Line("MUFU.EX2", "R0,R1", write=0), 0.08),
        ("LDS", Line("LDS", "R0,[R2]", write=0, cycles=1, floor=1), 0.08),
        ("LDS.128", Line("LDS.128", "R0,[R4]", write=0, cycles=4, floor=4), 0.08),
        ("STS", Line("STS", "[R0],R1", cycles=1, floor=1), 0.08),
        ("SHFL", Line("SHFL.BFLY", "PT,R0,R1,0x1,0x1f", write=0), 0.08),
    ],
)
@pytest.mark.parametrize("warps", [1, 4, 8, 32])
def test_a_loop_of_an_instruction_takes_what_it_took_on_an_h100(
    op: str, line: Line, tolerance: float, warps: int
) -> None:
    copies, times = 64, 16
    cycles = run(work([line] * copies, warps=warps, times=times)).cycles
    each = cycles / (copies * times * warps)
    measured = float(PIPES[op][f"warps_{warps}"])
    # The measured loop has some instructions of its own, one or two to 64.
    assert (1 - tolerance) * measured - 0.04 <= each <= (1 + tolerance) * measured


def test_what_a_block_left_in_a_queue_is_nothing_to_the_next_one_in_its_place() -> None:
    """Loads that nobody waits for, of the scoreboard by which the next block waits for another."""

    def waits(scoreboard: int) -> int:
        load = Line("LDG.E", "R4,[R6.64]", write=0, lines=1)
        left = Line("LDS", "R8,[R2]", write=scoreboard, cycles=32, floor=1)
        body = [load, Line("FADD", "R0,R4,R4", waits=1), *[left] * 20]
        stalls = run(work(body, blocks=2, resident=1), count=2).stalls
        return int(stalls[1, STALLS.index("long_scoreboard")])

    assert waits(0) == waits(5)


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16, 32])
def test_a_barrier_takes_what_it_took_on_an_h100(warps: int) -> None:
    times = 64
    cycles = run(work([Line("BAR.SYNC", "0x0")], warps=warps, times=times)).cycles
    measured = float(PIPES["BAR"][f"warps_{warps}"]) * warps
    assert cycles / times == pytest.approx(measured, rel=0.08)


@settings(max_examples=examples(60), deadline=None)
@given(PROGRAM, st.integers(1, 8), st.integers(1, 4))
def test_a_run_is_the_same_again_and_accounts_for_every_cycle_of_every_warp(
    body: list[Line], warps: int, times: int
) -> None:
    given_work = work(body, warps=warps, times=times)
    first, second = run(given_work), run(given_work)
    assert first.cycles == second.cycles
    assert np.array_equal(first.stalls, second.stalls)
    assert first.counts["instructions"] == (len(body) * times + 1) * warps
    assert first.stalls[:, 0].sum() == first.counts["instructions"]
    assert (first.stalls >= 0).all()
    # Each warp is somewhere from its beginning to its end, and none is longer there than the run.
    assert first.stalls.sum() <= first.cycles * warps


@settings(max_examples=examples(60), deadline=None)
@given(PROGRAM, st.integers(1, 4))
def test_one_warp_is_never_slower_without_conflicts_or_with_less_latency(
    body: list[Line], times: int
) -> None:
    given_work = work(body, times=times)
    # A place that was asked for less lately answers sooner: without that, latency is all.
    cycles = run(given_work, l2_wait=0).cycles
    # What a load brings sooner is written before the warp ends, not behind its end.
    written = sum(each.opcode == "LDS" for each in body) * times
    assert run(given_work, without=True, l2_wait=0).cycles <= cycles + written
    with_room = run(given_work, l2_wait=0, load_port=0.0).cycles
    assert run(given_work, without=True, l2_wait=0, load_port=0.0).cycles <= with_room
    assert run(given_work, l2_latency=400, l2_wait=0).cycles >= cycles
    assert run(given_work, l1_latency=60, l2_latency=300, l2_wait=0).cycles >= cycles


@settings(max_examples=examples(30), deadline=None)
@given(PROGRAM, st.integers(1, 8), st.integers(1, 3))
def test_no_pipe_does_more_than_its_peak(body: list[Line], warps: int, resident: int) -> None:
    given_work = work(body, warps=warps, times=3, blocks=resident, resident=resident)
    found = run(given_work, count=resident)
    assert found.cycles >= found.counts["instructions"] / 4
    # Nobody waits for what is begun last: two accesses of up to 32 wavefronts, side by side.
    assert found.cycles + 64 >= found.counts["data_cycles"]


def test_a_stall_count_a_scoreboard_and_a_queue_make_warps_wait() -> None:
    waits = run(work([Line("FADD", "R0,R1,R2", stall=4)] * 8))
    assert waits.stalls[1:8, 1].tolist() == [3] * 7
    load = Line("LDS", "R0,[R1]", write=0, cycles=1, floor=1)
    short = run(work([load, Line("FADD", "R2,R0,R0", waits=1)]))
    assert 18 <= short.stalls[1, 2] <= 24
    far = run(
        work([Line("LDG.E", "R0,[R2.64]", write=1, lines=1), Line("FADD", "R2,R0,R0", waits=2)]),
        l2_spread=0,  # a line may lie nearer than the mean one
    )
    assert far.stalls[1, 3] >= MACHINE["l2_latency"] - 10
    full = run(work([Line("STS", "[R0],R1", cycles=32, floor=1)] * 32, warps=4))
    assert full.stalls[:, 5].sum() > 0
    assert full.stalls[:, 6].sum() == 0


def test_l1_holds_what_was_loaded_and_a_block_after_it_has_memory_of_its_own() -> None:
    twice = [Line("LDG.E", "R0,[R2.64]", write=1, lines=4)]
    one = work(twice, times=1)
    again = work(twice, times=1, blocks=4, resident=1)
    assert run(one).counts["l1_hits"] == 0
    assert run(again, count=4).counts["l1_hits"] == 0
    assert run(again, count=4).counts["l2_sectors"] == 16


def test_a_register_that_stands_twice_in_an_instruction_is_read_once() -> None:
    # gpu_check/data/h100_banks.csv: three of one bank take three cycles; one thrice takes one.
    one, three = (
        run(work([Line("FFMA", operands)] * 64, warps=4)).cycles
        for operands in ("R8,R0,R0,R0", "R8,R0,R2,R4")
    )
    assert one < 64 + 16
    assert three > 3 * 64 - 16


def test_machine_code_that_no_cache_holds_is_fetched_slowly() -> None:
    # gpu_check/data/h100_fetch.csv, 132 SMs, a warp per sub-partition: 1.0, 2.4 and 5.9 cycles.
    def cycles(length: int) -> float:
        body = [Line("FADD", "R0,R1,c[0x0][0x0]")] * length
        long, short = (run(work(body, warps=4, times=times)).cycles for times in (3, 2))
        return (long - short) / length

    assert cycles(512) == pytest.approx(1.02, abs=0.1)
    assert cycles(4096) == pytest.approx(2.43, rel=0.1)
    assert cycles(12288) == pytest.approx(5.86, rel=0.12)


def test_the_first_constants_take_their_time_and_later_ones_do_not() -> None:
    body = [Line("FADD", "R0,R1,c[0x0][0x0]", stall=4)] * 8
    first, none = (run(work(body), constants=cycles).cycles for cycles in (290, 0))
    assert 285 <= first - none <= 295


@pytest.mark.parametrize(
    ("kept", "line"),
    [(32, lambda place: Line("FADD", f"R0,R1,c[0x3][{64 * place:#x}]", stall=4)),
     (4, lambda place: Line("ULDC", "UR4,c[0x3][UR6]", stall=4, table=place + 1))],
    ids=["named", "at a uniform register"],
)  # fmt: skip
def test_tables_of_more_lines_than_are_kept_miss_each_line_each_time(
    kept: int, line: Callable[[int], Line]
) -> None:
    def cycles(lines: int) -> float:
        body = [line(place) for place in range(lines)]
        long, short = (run(work(body, times=times)).cycles for times in (5, 3))
        return (long - short) / (2 * lines) - 4

    assert cycles(kept) < 4
    # gpu_check/data/h100_constant_operands.csv: one warp, named and uniform.
    assert 55 <= cycles(kept + 1) <= 66
    stalls = run(work([line(place) for place in range(kept + 1)], times=5)).stalls
    assert STALLS[int(stalls[0].argmax())] == "imc_miss"


def test_lines_of_a_table_come_first_from_the_l2_four_at_once() -> None:
    def cycles(first: float) -> int:
        body = [Line("ULDC", "UR4,c[0x3][UR6]", stall=4, table=line) for line in range(1, 9)]
        return run(work(body), constants=first).cycles

    # Before them come the first constants of all.
    assert cycles(290) - cycles(62) == pytest.approx(3 * (290 - 62), abs=10)


def test_a_fence_of_the_chip_takes_what_it_took_on_an_h100_and_is_told_apart() -> None:
    # gpu_check/data/h100_fences.csv, gpu and cta, no stores, one warp, less the empty loop.
    def cycles(opcode: str) -> int:
        return run(work([Line(opcode)] * 4)).cycles

    assert (cycles("MEMBAR.SC.GPU") - cycles("NOP")) / 4 == pytest.approx(683.8 - 37.9, rel=0.02)
    assert (cycles("MEMBAR.ALL.SYS") - cycles("NOP")) / 4 == pytest.approx(1586.6 - 37.9, rel=0.02)
    assert cycles("MEMBAR.ALL.CTA") - cycles("NOP") <= 4 * 8
    stalls = run(work([Line("MEMBAR.SC.GPU"), Line("FADD", "R0,R1,R2")])).stalls
    assert STALLS[int(stalls[1].argmax())] == "membar"


def test_l1_forgets_what_it_holds_behind_a_fence_and_strong_loads_do_not_ask_it() -> None:
    def hits(load: str, *between: Line) -> int:
        line = Line(load, "R0,[R2.64]", write=1, lines=4)
        given_work = work([line, Line("FADD", "R2,R0,R0", waits=2), *between], times=2)
        given_work.traces[0].base[:] = 0  # the same lines again
        return run(given_work).counts["l1_hits"]

    assert hits("LDG.E") == 4
    assert hits("LDG.E", Line("CCTL.IVALL")) == 0
    assert hits("LDG.E.STRONG.GPU") == 0


def test_scoreboards_of_memory_and_of_other_units_are_waited_for_as_memory() -> None:
    body = [
        Line("LDG.E", "R0,[R2.64]", write=2, lines=1), Line("FADD", "R5,R6,R7", stall=15),
        Line("MUFU.COS", "R4,R5", write=2), Line("FADD", "R2,R0,R4", waits=4),
    ]  # fmt: skip
    stalls = run(work(body)).stalls
    assert STALLS[int(stalls[3].argmax())] == "long_scoreboard"


def test_a_warp_ends_when_its_stores_are_on_their_way() -> None:
    stalls = run(work([Line("STG.E", "[R2.64],R0", lines=32, cycles=32)] * 4)).stalls
    assert stalls[4, STALLS.index("drain")] > 0


def test_who_waits_for_a_busy_pipe_might_be_chosen_when_it_takes_another() -> None:
    # ALU takes one every other cycle (h100_timed_kernels.csv, hashes: not selected comes first).
    stalls = run(work([Line("LOP3.LUT", "R0,R1,R2,R3,0x96,!PT")] * 64, warps=32)).stalls
    by = dict(zip(STALLS, stalls.sum(axis=0).tolist(), strict=True))
    assert by["not_selected"] == pytest.approx(by["math_pipe_throttle"], rel=0.3)
