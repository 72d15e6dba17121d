"""Kernels with a known remedy: the fix, and what is written of it, are no worse than the remedy."""

from __future__ import annotations

import pytest

from simulator import replay_compiled
from simulator.fixing.patch import patch_of
from simulator.sass.report import CompiledReport
from tests.sass_kernels import needs_compiler
from tests.unit.fixing.known import KERNELS

pytestmark = [needs_compiler, pytest.mark.slow]

LEFT = ("bitonic",)
"""What has no fix: the compiler parts what it had joined, and little is won. Nor by the remedy."""


def conflicts(report: CompiledReport) -> int:
    return int(report.totals()["all"]["bank_conflicts"])


@pytest.mark.parametrize("name", KERNELS)
def test_a_fix_and_its_diff_are_no_worse_than_the_remedy(name: str) -> None:
    known = KERNELS[name]
    report = replay_compiled(known.source, **known.launch)
    remedy = replay_compiled(known.remedy, **known.launch)
    assert known.remedy != known.source
    fixes = report.fixes()
    if name in LEFT:
        assert not any(each.text for each in fixes)
        assert conflicts(remedy) == conflicts(report)
        return
    assert all(each.text and each.outputs_equal for each in fixes)
    fixed = report.fixed(fixes)
    assert conflicts(fixed) <= conflicts(remedy)
    assert conflicts(fixed) < conflicts(report)
    assert [each.tobytes() for each in fixed.outputs if hasattr(each, "tobytes")] == [
        each.tobytes() for each in report.outputs if hasattr(each, "tobytes")
    ]
    patch = patch_of([report], fixes)
    assert patch.diff
    for made in patch.reports:
        assert conflicts(made) <= conflicts(remedy)
