"""Tests that need a GPU; without one they are skipped, and say why."""

from __future__ import annotations

import pytest

from gpu_check.device import open_gpu
from gpu_check.errors import NoGpuError


@pytest.fixture(autouse=True)
def gpu() -> None:
    try:
        open_gpu()
    except NoGpuError as error:
        pytest.skip(str(error))
