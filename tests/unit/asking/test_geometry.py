"""The verdict on a geometry, and the least change that costs fewer cycles."""

from __future__ import annotations

import shlex

import pytest

from simulator import simulate
from simulator.asking.geometry import (
    command_of,
    geometry_pictures,
    geometry_verdict,
    remedy,
    worst_of,
)
from simulator.cli import main


@pytest.mark.parametrize("order", ["row-major", "col-major", "z-order"])
@pytest.mark.parametrize("shape", ["1x32", "2x16", "4x8", "8x4"])
@pytest.mark.parametrize("lds", [64, 128])
def test_a_remedy_costs_less_and_its_options_make_it(shape: str, order: str, lds: int) -> None:
    report = simulate(shape, lds, lane_order=order)
    found = remedy(report)
    if found is None:
        return
    assert found.cycles < report.cycles
    options = shlex.split(command_of(report.geometry, found.geometry))
    assert options
    given = dict(zip(options[::2], options[1::2], strict=True))
    pads = given.get("--pad", "A=0,B=0").replace("A=", "").replace("B=", "").split(",")
    again = simulate(
        shape, lds,
        lane_order=given.get("--lane-order", order),
        fragment=given.get("--fragment", "contiguous"),
        pad=(int(pads[0]), int(pads[1])),
    )  # fmt: skip
    assert again == found
    assert main(["simulate", "--warp-shape", shape, "--lds", str(lds), *options]) == 0


def test_verdicts_say_what_is_lost() -> None:
    lost = geometry_verdict(simulate("2x16", lane_order="row-major"))
    assert lost.level == "conflict"
    assert lost.text.startswith("B: 2-way bank conflict in each of its 4 phases")
    nothing = geometry_verdict(simulate("2x16"))
    assert (nothing.level, "cost nothing" in nothing.text) == ("harmless", True)
    assert geometry_verdict(simulate("4x8")).level == "free"
    assert remedy(simulate("4x8")) is None


def test_pictures_are_of_the_worst_instruction() -> None:
    report = simulate("2x16", lane_order="row-major")
    before, after = geometry_pictures(report, remedy(report))
    assert [one for _, one in before.parts] == [worst_of(part) for part in report.fragments]
    assert sum(one.bank_conflicts for _, one in after.parts) == 0
    assert after.code.startswith("--")
