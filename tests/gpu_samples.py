"""A chip and measurements, made up, for tests of gpu_check without a GPU."""

from __future__ import annotations

import numpy as np

from gpu_check import (
    Measurements,
)
from gpu_check.device import Gpu

LANES = np.arange(32)
CHIP = Gpu(0, "Test chip", 80, 108, 166_912, "1.2", "12.0")
MEASURED = Measurements(
    "LDS.64",
    np.stack([8 * LANES, 0 * LANES]).astype(np.uint32),
    np.array([0xFFFFFFFF, 1], dtype=np.uint32),
    cycles=np.array([2.01, 1.08]),
    spread=np.zeros(2),
    wavefronts=np.array([2, 1]),
    bank_conflicts=np.array([0, 0]),
)


def to_record(name: str) -> str:
    """Say what to do about an instruction that a chip's recordings lack, or have alone."""
    return (
        f"in one of gpu_check/data/{name.lower()}_* and the table of instructions alone: on that"
        f" GPU, python -m gpu_check.make_data gpu_check/data {name.lower()}; without one, a draft"
        " that says so (CONTRIBUTING.md, Add an instruction)"
    )
