"""What can go wrong between a program and a chip. Every message ends with the next step."""

from __future__ import annotations

from layouts.errors import BankwiseError

__all__ = ["CountersError", "DeviceError", "DiscoveryError", "NoGpuError", "RecordingError"]


class NoGpuError(BankwiseError):
    """No GPU to measure on: no CuPy, no driver, no device, or CuPy built for another CUDA."""


class DeviceError(BankwiseError):
    """A device that does not exist, is too old for an instruction, or that failed."""


class CountersError(BankwiseError):
    """Hardware counters that are absent or forbidden; clocks can still be measured."""


class RecordingError(BankwiseError):
    """A recording that is damaged, or of another format."""


class DiscoveryError(BankwiseError):
    """Costs that fit no table of phases."""
