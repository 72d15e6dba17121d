"""What host code is told when it asks about the device: members of cudaDeviceProp, attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from simulator.law.chips import CHIPS, Chip

__all__ = ["attribute", "cores", "device_for", "properties"]

_ALWAYS = {
    "warpSize": 32, "sharedMemPerBlock": 48 << 10, "cooperativeLaunch": 1, "managedMemory": 1,
    "concurrentKernels": 1, "concurrentManagedAccess": 1, "unifiedAddressing": 1,
    "canMapHostMemory": 1, "integrated": 0,
}  # fmt: skip
# The same on every chip (CUDA C++ Programming Guide).

_ATTRIBUTES = {
    "MaxSharedMemoryPerBlock": "sharedMemPerBlock",
    "MaxSharedMemoryPerBlockOptin": "sharedMemPerBlockOptin",
    "MaxSharedMemoryPerMultiprocessor": "sharedMemPerMultiprocessor",
    "ReservedSharedMemoryPerBlock": "reservedSharedMemPerBlock",
    "ComputeCapabilityMajor": "major",
    "ComputeCapabilityMinor": "minor",
    "MaxRegistersPerBlock": "regsPerBlock",
    "MaxRegistersPerMultiprocessor": "regsPerMultiprocessor",
    "MultiProcessorCount": "multiProcessorCount",
}  # the others are the member's name with a capital: WarpSize


def properties(chip: Chip) -> dict[str, int]:
    """Return the members of cudaDeviceProp that are known of a chip.

    >>> told = properties(Chip.of("A100"))
    >>> told["multiProcessorCount"], told["major"], told["sharedMemPerBlockOptin"]
    (108, 8, 166912)
    """
    major, minor = divmod(chip.capability, 10)
    told = {
        **_ALWAYS, "major": major, "minor": minor,
        "multiProcessorCount": chip.multiprocessors, "l2CacheSize": chip.l2_bytes,
        "maxThreadsPerBlock": chip.threads_per_block, "sharedMemPerBlockOptin": chip.shared_bytes,
        "sharedMemPerMultiprocessor": chip.shared_bytes_per_sm,
        "reservedSharedMemPerBlock": chip.shared_reserved,
        "maxThreadsPerMultiProcessor": chip.threads_per_sm,
        "maxBlocksPerMultiProcessor": chip.blocks_per_sm,
        "regsPerBlock": chip.registers_per_block, "regsPerMultiprocessor": chip.registers_per_sm,
    }  # fmt: skip
    return {name: value for name, value in told.items() if value is not None}


def cores(major: int, minor: int) -> int:
    """Return an SM's additions of floats per cycle, as `_ConvertSMVer2Cores` of the samples does.

    CUDA C++ Programming Guide, throughput of native arithmetic instructions.

    >>> cores(8, 0), cores(9, 0)
    (64, 128)
    """
    return 64 if (major, minor) in ((6, 0), (7, 0), (7, 2), (7, 5), (8, 0)) else 128


def attribute(name: str, told: Mapping[str, int]) -> int | None:
    """Return an attribute as cudaDeviceGetAttribute names it; None where it is not known.

    >>> attribute("cudaDevAttrMultiProcessorCount", properties(Chip.of("H100")))
    132
    """
    short = re.sub(r"^(?:\w+::)*cudaDevAttr", "", name)
    return told.get(_ATTRIBUTES.get(short, short[:1].lower() + short[1:]))


def device_for(chip: Chip | None, arch: str | None = None) -> Chip:
    """Return the chip that host code runs beside: that given, else one that runs the architecture.

    >>> [device_for(None, arch).name for arch in (None, "sm_80", "sm_90a", "sm_88")]
    ['H200', 'A100', 'H200', 'H200']
    """
    if chip is not None:
        return chip
    capability = int(re.sub(r"\D", "", arch or "90"))
    known = [each for each in map(Chip.of, CHIPS) if each.capability == capability]
    return known[-1] if known else Chip.of("H200")
