"""What measurements have in common: a module, data for all SMs, and their times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["loaded"]

_OF_SM = 131072
"""Bytes of data."""


@contextmanager
def loaded(source: str, device: int) -> Iterator[tuple[Any, int, Any, Any]]:
    """Yield a module of CUDA source, the number of SMs, their data, and a time for each.

    Raises NoGpuError and DeviceError as `gpu_check.measure` does, CompileError and ToolError as
    `compiled` does.
    """
    chip = open_gpu(device)
    import cupy

    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        path = Path(folder, "module.cubin")
        path.write_bytes(compiled(source, Path(folder)))
        every = chip.multiprocessors
        data = cupy.zeros(every * _OF_SM, dtype=np.uint8)
        yield cupy.RawModule(path=str(path)), every, data, cupy.zeros(every, dtype=np.int64)
