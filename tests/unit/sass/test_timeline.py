"""What each warp did, in order: it adds up to the figures, and leaves them as they are."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_check import PhaseTable
from simulator import Chip, replay_compiled
from simulator.errors import LaunchError
from simulator.law.chip_files import parse
from simulator.sass.arguments import argument
from simulator.sass.code.cubin import read_cubin
from simulator.sass.code.nvdisasm import disassemble
from simulator.sass.lift.program import decode
from simulator.sass.run.grid import GridRun
from simulator.sass.run.tally import FIGURES
from simulator.sass.run.timeline import _coded
from simulator.sass.run.worker import BLOCK_LIMIT
from tests.sass_kernels import HERE, needs_tools
from tests.unit.law.test_chips import content

pytestmark = needs_tools

CASES = {case["name"]: case for case in json.loads((HERE / "cases.json").read_text())}


def launch(name: str) -> GridRun:
    case = CASES[name]
    cubin = read_cubin((HERE / "cubins" / case["cubin"]).read_bytes())
    kernel = cubin.kernel(case["kernel"])
    args = [argument(text, place) for place, text in enumerate(case["args"])]
    grid, block = ((*case[each], 1, 1)[:3] for each in ("grid", "block"))
    program = decode(disassemble(cubin.image, kernel.name), kernel)
    return GridRun(cubin, program, grid, block, args, case["shared"])


@pytest.mark.parametrize("name", ["transpose on naive", "divergent", "scan on reduce", "smem"])
def test_a_timeline_adds_up_to_the_figures(name: str) -> None:
    run = launch(name)
    (tally,) = run.run_each([(0, 0, 0)])
    outputs = run.outputs()
    (timeline,) = run.timelines([(0, 0, 0)])
    assert all(np.array_equal(*pair) for pair in zip(outputs, run.outputs(), strict=True))
    size = len(run.program.steps)
    executed, threads = np.zeros(size, np.int64), 0
    requests, sectors = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for runs in timeline.warps:
        assert runs
        for step, times in (
            (timeline.steps[each], run.times) for run in runs for each in run.steps
        ):
            executed[step.start : step.start + step.length] += times
            threads += times * step.length * step.lanes
            for access in step.accesses:
                requests[access.number] += times
                sectors[access.number] += times * access.sectors
                assert 0 < access.lanes <= step.lanes
                assert (access.cycles == 0) == (access.space == "global")
    assert (executed == tally.executed).all()
    assert threads == tally.threads
    wanted, wanted_sectors = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for site, figures in zip(run.program.sites, tally.figures, strict=True):
        wanted[site.number] += figures[FIGURES.index("requests")]
        wanted_sectors[site.number] += figures[FIGURES.index("sectors")]
    assert (requests == wanted).all()
    assert (sectors == wanted_sectors).all()
    assert run.spent < BLOCK_LIMIT


def test_cycles_are_by_the_law_of_the_chip() -> None:
    run = launch("vectorized_128")

    def spent(run: GridRun) -> tuple[list[int | None], list[int]]:
        (timeline,) = run.timelines([(0, 0, 0)])
        accesses = [each for step in timeline.steps for each in step.accesses]
        return [each.cycles for each in accesses], [each.sectors for each in accesses]

    tables = [{**asdict(PhaseTable.of("LDS.128")), "fused": [], "partners": [],
               "whole_warp": False, "idle_partners_agree": False}]  # fmt: skip
    chip = Chip._made(parse(content(instructions=tables)))
    cycles, sectors = spent(run)
    theirs, their_sectors = spent(replace(run, chip=chip))
    assert sectors == their_sectors
    assert sum(filter(None, theirs)) > sum(filter(None, cycles))
    assert spent(replace(run, chip=Chip.of("H100"))) == (cycles, sectors)


def test_loops_are_coded_in_a_few_runs() -> None:
    (timeline,) = launch("smem").timelines([(0, 0, 0)])
    ran = sum(len(run.steps) * run.times for runs in timeline.warps for run in runs)
    assert max(len(runs) for runs in timeline.warps) <= 8
    assert max(run.times for runs in timeline.warps for run in runs) >= 3
    assert len(timeline.steps) < ran / 10


def test_a_report_tells_what_its_sampled_blocks_did() -> None:
    case = CASES["transpose on naive"]
    args = [argument(text, place) for place, text in enumerate(case["args"])]
    report = replay_compiled(
        HERE / "cubins" / case["cubin"],
        kernel=case["kernel"], grid=tuple(case["grid"]), block=tuple(case["block"]), args=args,
    )  # fmt: skip
    before = [np.asarray(each).tobytes() for each in report.outputs]
    timelines = report.timelines()
    assert len(timelines) == report.blocks
    executed = [
        sum(
            run.times * step.length * step.lanes
            for runs in timeline.warps
            for run in runs
            for step in (timeline.steps[each] for each in run.steps)
        )
        for timeline in timelines.values()
    ]
    assert sum(executed) == report.thread_instructions
    assert [np.asarray(each).tobytes() for each in report.outputs] == before
    again = pickle.loads(pickle.dumps(report))  # noqa: S301 (our own)
    assert again == report
    with pytest.raises(LaunchError, match="no longer known"):
        again.timelines()


@given(st.lists(st.integers(0, 2), max_size=60), st.integers(1, 5))
def test_runs_are_the_steps_in_order(steps: list[int], times: int) -> None:
    wanted = steps * times
    runs = _coded(np.array(wanted, dtype=np.int64))
    assert [each for run in runs for _ in range(run.times) for each in run.steps] == wanted
    if steps and times > 1 and len(steps) <= 16:
        assert len(runs) <= len(steps) + 1
