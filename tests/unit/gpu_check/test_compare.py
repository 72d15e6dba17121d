"""The model against measurements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpu_check import (
    DeviceError,
    compare,
    measure,
    packaged,
    simulated,
)
from gpu_check.gemm import run_gemm
from simulator import InstructionError
from tests.gpu_samples import LANES, MEASURED


class TestCompare:
    def test_equal_and_different_accesses(self) -> None:
        measured = MEASURED
        assert compare(simulated(measured), measured).equal
        wrong = replace(measured, wavefronts=np.array([2, 3]))
        comparison = compare(simulated(wrong), wrong)
        assert comparison.differing == (1,)
        assert comparison.wavefronts_equal == 1
        assert "access 1, mask 0x00000001: the chip says" in comparison.worst[0]
        assert "LDS.64, silicon rule: 1 wavefront" in comparison.worst[0]

    def test_cycles_too_far_off_differ(self) -> None:
        late = replace(MEASURED, cycles=np.array([2.01, 3.2]))
        assert compare(simulated(late), late).differing == (1,)

    def test_the_published_rule_differs_from_the_chip(self) -> None:
        loads = next(m for m in packaged("h200_accesses").measurements if m.op == "LDS.128")
        published = compare(simulated(loads, rule="documented"), loads)
        assert 0.6 < (published.wavefronts_equal or 0) / len(loads) < 0.95


def test_a_comparison_gives_its_points() -> None:
    """As viz.parity draws them, the bypassing copy's without clocks."""
    for measured in packaged("h200_accesses").measurements[:3]:
        comparison = compare(simulated(measured), measured)
        points = comparison.points()
        assert {len(column) for column in points.values()} == {len(measured)}
        assert points["wavefronts"] == points["measured_wavefronts"]
        off = np.array(points["measured_cycles"]) - np.array(points["cycles"])
        np.testing.assert_allclose(off, comparison.over)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InstructionError, match="'LDG' reads or writes global memory"):
        measure("LDG", [4 * LANES])
    with pytest.raises(DeviceError, match="unknown kernel 'smen': did you mean smem"):
        run_gemm("smen")


def test_loops_are_compared_as_accesses_are() -> None:
    for measured in packaged("h200_loops").measurements:
        comparison = compare(simulated(measured), measured)
        assert (comparison.wavefronts_equal, comparison.conflicts_equal) == (240, 240)
        assert comparison.equal


def test_copies_are_compared_with_their_sources() -> None:
    side_by_side = next(m for m in packaged("h200_accesses").measurements if m.op == "LDGSTS.E.128")
    fine = compare(simulated(side_by_side), side_by_side)
    assert fine.equal
    assert fine.over is not None
    assert np.abs(fine.over).max() < 0.11
    apart = replace(side_by_side, sources=np.tile(np.uint32(2048) * LANES, (len(side_by_side), 1)))
    wrong = compare(simulated(apart), apart)
    assert not wrong.equal
    assert "source bank" in wrong.worst[0]
