"""`report.fixes()`: what is found in kernels whose remedy is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator import OptionError, replay_compiled
from simulator.sass.report import CompiledReport
from tests.sass_kernels import needs_tools

pytestmark = needs_tools

SIZE = 32 * 32
TURN = """
__global__ void turn(const float *in, float *out) {
    __shared__ float tile[32][PITCH];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}"""


def turned(pitch: int = 32) -> CompiledReport:
    return replay_compiled(
        TURN, grid=1, block=(32, 32), define={"PITCH": pitch},
        args=[np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)],
    )  # fmt: skip


def test_a_transpose_is_padded_or_swizzled() -> None:
    report = turned()
    (fix,) = report.fixes()
    assert (fix.array, fix.lines) == ("tile", (4, 6))
    assert fix.text == "tile[32][PITCH + 1]"
    assert fix.proved
    assert fix.outputs_equal
    assert (fix.before.wavefronts, fix.before.bank_conflicts) == (1056, 992)
    assert (fix.after.wavefronts, fix.after.bank_conflicts) == (64, 0)
    assert (fix.bytes_before, fix.bytes_after) == (4096, 4224)
    assert [each.text for each in fix.alternatives] == ["tile[row][col ^ row]"]
    assert fix.alternatives[0].after == fix.after


def test_the_fixed_replay_is_that_of_the_padded_source() -> None:
    report = turned()
    fixed, padded = report.fixed(report.fixes()), turned(33)
    assert fixed.totals()["all"] == padded.totals()["all"]
    assert fixed.outputs[1].tobytes() == report.outputs[1].tobytes()
    assert fixed.fixes() == []


def test_a_kernel_without_conflicts_has_nothing_to_fix() -> None:
    assert turned(33).fixes() == []


def test_one_array_has_one_fix() -> None:
    report = turned()
    fixes = report.fixes()
    with pytest.raises(OptionError, match="two fixes of tile"):
        report.fixed([*fixes, *fixes])
    with pytest.raises(OptionError, match="is not a Fix"):
        report.fixed(["tile[32][33]"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("cycles", "instructions", "shared", "said"),
    [
        (0.99, 1.0, 1.0, ""), (0.5, 0.8, 1.0, ": 20% fewer instructions are executed, too."),
        (0.5, 1.0, 0.5, ": accesses take fewer wavefronts than the least at their old places."),
        (0.5, 1.0, 1.0, "."),
    ],
)  # fmt: skip
def test_it_is_said_why_a_change_gains_more_than_without_conflicts(
    cycles: float, instructions: float, shared: float, said: str
) -> None:
    """A padding stood beside a smaller gain without bank conflicts, and nothing told why."""
    (fix,) = turned().fixes()
    assert fix.times is not None
    before, after = fix.times
    least = before.without_conflicts
    pipes = {**after.bound.pipes, "shared": shared * least.bound.pipes["shared"]}
    after = replace(
        after, cycles=round(cycles * (least.cycles or 1)), bound=replace(after.bound, pipes=pipes),
        counts={**before.counts, "instructions": round(instructions * 1000)},
    )  # fmt: skip
    before = replace(before, counts={**before.counts, "instructions": 1000})
    fix.__dict__["times"] = (before, after)
    told = [each for each in fix.sentences if "more than without bank conflicts" in each]
    gain = f"×{before.speedup_without_conflicts:.2f}"
    assert told == ([f"That is more than without bank conflicts ({gain}){said}"] if said else [])
