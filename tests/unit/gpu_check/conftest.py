"""Each test opens the GPU anew."""

from __future__ import annotations

import pytest

from gpu_check.device import open_gpu


@pytest.fixture(autouse=True)
def no_kept_chip() -> None:
    open_gpu.cache_clear()
