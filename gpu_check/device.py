"""Opening a GPU, and saying plainly why there is none."""

from __future__ import annotations

import subprocess
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from gpu_check.errors import DeviceError, NoGpuError
from simulator.errors import install

__all__ = ["Gpu", "limits", "open_gpu", "source"]

_RECORDED = "`bankwise gpu-check --recorded` compares recorded measurements without a GPU"


@dataclass(frozen=True)
class Gpu:
    """The device that is measured, and what it was measured with."""

    index: int
    name: str
    capability: int
    """Compute capability times ten: 90 for sm_90."""
    multiprocessors: int
    shared_bytes: int
    """Shared memory that one block can have."""
    driver: str
    cuda: str
    """Of the driver's API."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, for provenance."""
        return asdict(self)


@cache
def open_gpu(index: int = 0) -> Gpu:
    """Find device `index`, make it current, and describe it.

    Raises NoGpuError without CuPy, driver or device; DeviceError for an index out of range.
    """
    try:
        import cupy
    except ImportError as error:
        raise NoGpuError(
            f"CuPy cannot be imported: {error} (next, for CUDA 12, {install('gpu')};"
            f" for CUDA 13 the extra gpu-cu13; {_RECORDED})"
        ) from error
    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        raise NoGpuError(f"no CUDA device: {error} (next: {_next(str(error))})") from error
    if not count:
        raise NoGpuError(f"no CUDA device: CuPy finds none (next: {_next('')})")
    if not 0 <= index < count:
        raise DeviceError(f"no device {index} (accepted: 0 to {count - 1})")
    try:
        device = cupy.cuda.Device(index)
        device.use()
        attributes = device.attributes
        version = runtime.driverGetVersion()
        name = runtime.getDeviceProperties(index)["name"].decode()
    except runtime.CUDARuntimeError as error:
        raise NoGpuError(
            f"device {index} cannot be used: {error} (next: {_next(str(error))})"
        ) from error
    return Gpu(
        index=index,
        name=name,
        capability=int(device.compute_capability),
        multiprocessors=int(attributes["MultiProcessorCount"]),
        shared_bytes=int(attributes["MaxSharedMemoryPerBlockOptin"]),
        driver=_driver(),
        cuda=f"{version // 1000}.{version % 1000 // 10}",
    )


_LIMITS = {
    "shared_bytes_per_sm": "MaxSharedMemoryPerMultiprocessor",
    "shared_reserved": "ReservedSharedMemoryPerBlock",
    "threads_per_block": "MaxThreadsPerBlock",
    "threads_per_sm": "MaxThreadsPerMultiProcessor",
    "blocks_per_sm": "MaxBlocksPerMultiprocessor",
    "registers_per_block": "MaxRegistersPerBlock",
    "registers_per_sm": "MaxRegistersPerMultiprocessor",
    "l2_bytes": "L2CacheSize",
}
"""CUDA's device attributes, by the names that `simulator.Chip` has for them."""


def limits(index: int = 0) -> dict[str, int | float]:
    """Return what the driver says of the device's limits, by the names of `simulator.Chip`.

    Raises what `open_gpu` raises.
    """
    open_gpu(index)
    import cupy

    attributes = cupy.cuda.Device(index).attributes
    found: dict[str, int | float] = {
        name: int(attributes[said]) for name, said in _LIMITS.items() if said in attributes
    }
    if "threads_per_sm" in found:
        found["warps_per_sm"] = int(found["threads_per_sm"]) // 32
    if attributes.get("ClockRate"):  # kHz
        found["clock_mhz"] = attributes["ClockRate"] / 1000
    return found


def _next(problem: str) -> str:
    if "InsufficientDriver" in problem:
        return (
            "install the CuPy of the driver's CUDA, see the first line of nvidia-smi:"
            f" cupy-cuda12x or cupy-cuda13x; {_RECORDED}"
        )
    return f"check nvidia-smi; {_RECORDED}"


def _driver() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=30)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.split("\n")[0].strip()


def source(name: str) -> str:
    """Read a CUDA source of this package."""
    from importlib.resources import files

    return files("gpu_check").joinpath("cuda", name).read_text(encoding="utf-8")
