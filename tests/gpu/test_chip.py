"""The model against the GPU of this machine, measured anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from gpu_check import (
    DeviceError,
    PhaseTable,
    compare,
    count_on_gpu,
    infer_phases,
    measure,
    run_gemm,
    simulated,
)
from gpu_check.campaign import all_ops, quick_plan, run
from gpu_check.device import open_gpu
from gpu_check.probe.ops import LOOPS, probe_op
from gpu_check.probe.patterns import draw
from gpu_check.probe.probe import Probe
from gpu_check.probe.verify import wrong_accesses
from simulator.law.instructions import instruction

counters = pytest.mark.skipif(shutil.which("ncu") is None, reason="ncu is not on the PATH")

LANES = np.arange(32)


def runnable() -> list[str]:
    return all_ops(open_gpu().capability)


def test_every_instruction_moves_the_right_bytes() -> None:
    for op in [*runnable(), *LOOPS]:
        known = instruction("ATOMS.EXCH.64" if probe_op(op).width == 8 else "ATOMS.EXCH")
        drawn = draw(known if op in LOOPS else instruction(op), 48, seed=3)
        assert wrong_accesses(Probe(op), drawn.addresses, drawn.masks) == [], op


def test_moved_bytes_can_be_wrong() -> None:
    probe = Probe("LDS")
    probe.fill = probe.fill + np.uint32(1)  # expect other bytes than are there
    drawn = draw(instruction("LDS"), 8, seed=3)
    assert wrong_accesses(probe, drawn.addresses, drawn.masks) == list(range(8))


def test_cycles_are_those_of_the_model(tmp_path: Path) -> None:
    plan = quick_plan(runnable(), counters=False, seed=5)
    for measured in run(plan, folder=tmp_path):
        comparison = compare(simulated(measured), measured)
        assert comparison.equal, comparison.worst
    again = run(plan, folder=tmp_path)  # from what was kept
    assert sum(map(len, again)) == sum(plan.timed.values())


@counters
@pytest.mark.parametrize("op", ["LDS.128", "STS.64", "ATOMS.CAS", "cp.async.ca.16"])
def test_counters_are_those_of_the_model(op: str) -> None:
    drawn = draw(instruction(op), 48, seed=6)
    measured = count_on_gpu(op, drawn.addresses, drawn.masks)
    comparison = compare(simulated(measured), measured)
    assert comparison.wavefronts_equal == comparison.conflicts_equal == 48


@counters
@pytest.mark.parametrize("op", ["cp.async.ca.4", "cp.async.ca.8", "cp.async.ca.16"])
def test_copies_from_anywhere_are_those_of_the_model(op: str) -> None:
    drawn, rng = draw(instruction(op), 48, seed=7), np.random.default_rng(7)
    sources = (rng.integers(0, 4096, (48, 32)) * 16).astype(np.uint32)
    assert wrong_accesses(Probe(op), drawn.addresses, drawn.masks, sources) == []
    for ask in (measure, count_on_gpu):
        measured = ask(op, drawn.addresses, drawn.masks, sources=sources)
        comparison = compare(simulated(measured), measured)
        assert comparison.equal, comparison.worst


@counters
@pytest.mark.parametrize("op", LOOPS)
def test_loops_are_those_of_the_model(op: str) -> None:
    drawn = draw(instruction("ATOMS.EXCH.64" if LOOPS[op] == 8 else "ATOMS.EXCH"), 48, seed=8)
    measured = count_on_gpu(op, drawn.addresses, drawn.masks)
    assert compare(simulated(measured), measured).equal


@pytest.mark.parametrize("op", ["LDS", "LDS.64", "LDS.128", "STS.128", "ATOMS.ADD"])
def test_phases_are_inferred_from_the_clock(op: str) -> None:
    assert infer_phases(op).differences(PhaseTable.of(op)) == []


def test_a_kernel_is_right_and_timed() -> None:
    result = run_gemm("warp 4x8", 1024)
    assert result.error < 1e-5
    assert 0 < result.milliseconds < 100


def test_what_the_device_cannot_do_is_refused() -> None:
    with pytest.raises(DeviceError, match=r"no device 99 \(accepted: 0 to "):
        measure("LDS", 4 * LANES, device=99)
