"""Inside a kernel: the worst access of each instruction, and the launch with a cure."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.asking import kernel as module
from simulator.asking.kernel import look_inside
from simulator.sass.report import CompiledReport
from tests.sass_kernels import HERE, needs_tools

pytestmark = needs_tools

NAIVE = "transpose_naive"


def run(kernel: str = NAIVE) -> CompiledReport:
    zeros = np.zeros((128, 128), np.float32)
    return replay_compiled(
        HERE / "cubins" / "transpose.cubin",
        kernel=kernel, grid=(4, 4), block=(32, 8), args=[zeros, zeros, np.int32(128)],
    )  # fmt: skip


def test_each_instruction_has_its_worst_access_and_the_cure_removes_it() -> None:
    report = run()
    view = look_inside(report)
    assert view is not None
    found = report.instructions
    for address, space, waves, executed in zip(
        found["address"], found["space"], found["wavefronts"], found["executed"], strict=True
    ):
        if space == "shared":
            # All accesses of these instructions are alike.
            assert view.worst[address].wavefronts * executed == waves
        else:
            assert address not in view.worst
    assert len(view.instructions) > len(found["address"])
    hot = found["address"][found["wavefronts"].index(max(found["wavefronts"]))]
    cure = view.cure(hot)
    assert cure is not None
    assert cure.worst[hot].bank_conflicts == 0
    assert cure.fix.after.bank_conflicts == 0
    store = found["address"][found["opcode"].index("STS")]
    assert view.cure(store) is None  # it has no conflict to cure


def test_without_conflicts_nothing_is_cured() -> None:
    view = look_inside(run("transpose_padded"))
    assert view is not None
    assert (view.cures, view.fixes, view.why) == ((), (), "")


def test_a_launch_that_is_not_known_is_not_looked_into() -> None:
    copy = pickle.loads(pickle.dumps(run()))  # noqa: S301 (our own)
    assert look_inside(copy) is None


def test_a_large_launch_is_not_run_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    report = run()
    most = report.thread_instructions - 1
    monkeypatch.setattr(module, "MOST_THREAD_INSTRUCTIONS", most)
    view = look_inside(report)
    assert view is not None
    assert view.worst
    assert view.cures == ()
    assert "bankwise sass --fix" in view.why
