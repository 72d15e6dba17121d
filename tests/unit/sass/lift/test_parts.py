"""Parts of operands that whole kernels use: the upper half of a register, a uniform index."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from simulator.sass.replay import replay_compiled
from tests.sass_warp import run_warp

CUBIN = Path(__file__).parents[3] / "silicon/timed/cubins/third_elements.cubin"


def test_the_upper_half_of_a_register_is_converted_to_a_float() -> None:
    # I2F.U16 R5, R6.H1: points of a circle, their coordinates 16 bits each of a random word.
    turns, x = 8, np.arange(1, 33, dtype=np.uint32)
    inside = np.zeros(32, np.uint32)
    for _ in range(turns):
        for shift, left in ((13, True), (17, False), (5, True)):
            x ^= x << np.uint32(shift) if left else x >> np.uint32(shift)
        low, high = ((part / 65536) ** 2 for part in (x & 0xFFFF, x >> 16))
        inside += low + high < 1
    out = np.zeros(32, np.uint32)
    report = replay_compiled(
        CUBIN, kernel="pi", grid=(1, 1, 1), block=(32, 1, 1), args=[out, np.int32(turns)]
    )
    assert np.array_equal(report.outputs[0], inside)


def test_a_constant_bank_is_indexed_by_a_uniform_register() -> None:
    # ULDC.64 UR8, c[0x3][UR4]
    table = np.zeros(1024, np.float32)
    table[:16] = np.arange(16)
    report = replay_compiled(
        CUBIN, kernel="filters", grid=(1, 1, 1), block=(32, 1, 1), symbols={"table": table},
        args=[np.ones(64, np.float32), np.zeros(32, np.float32), np.int32(16)],
    )  # fmt: skip
    assert (report.outputs[1] == 120).all()


def test_lanes_whose_guard_and_predicate_hold_leave_a_convergence_barrier() -> None:
    p, q = (np.random.default_rng(1).integers(0, 2, (2, 32)) == 1).tolist()
    lines = ["BSSY B0, 0x30", "@P1 BREAK P0, B0", "BMOV.32 R4, B0", "BSYNC B0"]
    outcome = run_warp(lines, {"P0": p, "P1": q})
    left = [not (here and there) for here, there in zip(p, q, strict=True)]
    mask = sum(1 << lane for lane, stays in enumerate(left) if stays)
    stays = [found for found, yes in zip(outcome.register(4), left, strict=True) if yes]
    assert set(stays) == {mask}
