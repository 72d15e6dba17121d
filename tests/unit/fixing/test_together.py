"""Fixes of a recorded transpose: their predicted time, what a block takes then, several at once."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from simulator import OptionError, replay_compiled
from simulator.sass.report import CompiledReport
from tests.sass_kernels import HERE, needs_tools

pytestmark = needs_tools


def turned(kernel: str = "transpose_naive") -> CompiledReport:
    given = np.arange(1024, dtype=np.float32).reshape(32, 32)
    return replay_compiled(
        HERE / "cubins" / "transpose.cubin", kernel=kernel, grid=1, block=(32, 8),
        args=[given, np.zeros((32, 32), np.float32), np.int32(32)],
    )  # fmt: skip


def test_a_fix_has_its_predicted_speedup() -> None:
    report = turned()
    (fix,) = report.fixes()
    before, after = report.time().cycles, report.fixed([fix]).time().cycles
    assert report.time("H100") is report.time()  # it is kept, for each chip and clock
    assert report.time(clock_mhz=1000.0) is not report.time()
    assert before is not None
    assert after is not None
    assert before > after
    assert fix.speedup == pytest.approx(before / after)
    assert fix.summary()["speedup"] == round(before / after, 3)
    assert f"Predicted on H100: {before:,} → {after:,} cycles" in " ".join(fix.sentences)
    said = " ".join(fix.sentences)
    assert fix.operations == 2
    assert f"×{before / after:.2f}. That is the time of the same instructions at other" in said
    assert "without the added operations of the index: the changed source was not compiled" in said
    json.dumps(fix.to_dict())


def test_a_fix_that_gains_no_time_says_so() -> None:
    (fix,) = turned().fixes()
    assert fix.times is not None
    fix.__dict__["times"] = (fix.times[0], fix.times[0])
    said = " ".join(fix.sentences)
    assert "cycles, ×1.00, not worth changing (the launch itself takes most of it" in said
    assert ": a larger grid may gain more). That is" in said
    assert fix.sentences[0].startswith(f"{fix.array}: leave it. To write ")
    left = "would leave no bank conflicts, but the launch would be about as fast"
    assert left in fix.sentences[0]


def test_a_fix_that_was_pickled_has_no_speedup() -> None:
    (fix,) = turned().fixes()
    kept = pickle.loads(pickle.dumps(fix))  # noqa: S301 - it was pickled here
    assert (kept.text, kept.speedup) == (fix.text, None)
    assert "Predicted" not in " ".join(kept.sentences)


def test_a_block_takes_what_the_padding_takes() -> None:
    report = turned()
    fixed = report.fixed(report.fixes())
    assert (report.shared_bytes, fixed.shared_bytes) == (4096, 4224)


def test_a_kernel_without_conflicts_has_no_fixes_and_runs_nothing() -> None:
    assert replace(turned("transpose_padded"), rerun=None).fixes() == []


def test_a_fix_of_a_fixed_launch_keeps_the_first() -> None:
    report = turned()
    (fix,) = report.fixes()
    fixed = report.fixed([fix])
    assert fixed.fixed([]).totals() == fixed.totals()
    assert fixed.fixed([]).shared_bytes == 4224


def test_fixes_that_do_not_fit_together_are_refused() -> None:
    report = turned()
    (fix,) = report.fixes()
    assert fix.candidate is not None
    table = fix.candidate.table + 48 * 1024
    large = replace(fix, candidate=replace(fix.candidate, table=table))
    with pytest.raises(OptionError, match="do not fit together: static shared memory would take"):
        report.fixed([large])
