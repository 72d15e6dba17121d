"""What a compute capability limits, whatever the product.

Source: CCCL's header cuda/__device/arch_traits.h, in https://github.com/NVIDIA/cccl and in the
wheel nvidia-cuda-cccl; a test compares every number with it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CAPABILITIES", "TRAITS", "Limits", "capability_text", "runs_on"]

TRAITS = "https://github.com/NVIDIA/cccl/blob/main/libcudacxx/include/cuda/__device/arch_traits.h"
"""Where each number of CAPABILITIES stands."""

_KIB = 1024


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a block, a multiprocessor (SM) and a thread can have; sizes in bytes."""

    shared_bytes: int
    """Shared memory of a block, opted into."""
    shared_bytes_per_sm: int
    shared_reserved: int
    """Taken from every block by the driver."""
    threads_per_block: int = 1024
    threads_per_sm: int
    warps_per_sm: int
    blocks_per_sm: int
    registers_per_thread: int = 255
    """Of 32 bits."""
    registers_per_block: int = 64 * _KIB
    registers_per_sm: int = 64 * _KIB


def _limits(capability: int, shared_kib: int, threads: int, blocks: int) -> Limits:
    reserved = _KIB if capability >= 80 else 0
    return Limits(
        shared_bytes=shared_kib * _KIB - reserved,
        shared_bytes_per_sm=shared_kib * _KIB,
        shared_reserved=reserved,
        threads_per_sm=threads,
        warps_per_sm=threads // 32,
        blocks_per_sm=blocks,
    )


CAPABILITIES = {
    capability: _limits(capability, *numbers)
    for capability, numbers in {
        # Shared memory of an SM in KiB, its threads, its blocks.
        70: (96, 2048, 32),
        75: (64, 1024, 16),
        80: (164, 2048, 32),
        86: (100, 1536, 16),
        87: (164, 1536, 16),
        88: (100, 1536, 16),
        89: (100, 1536, 24),
        90: (228, 2048, 32),
        100: (228, 2048, 32),
        103: (228, 2048, 32),
        110: (228, 1536, 24),
        120: (100, 1536, 24),
        121: (100, 1536, 24),
    }.items()
}
"""By compute capability, times ten."""

_TEGRA = {87, 110}
"""Jetson Orin and Thor: their code and that of cards do not run on each other.

Source: CUDA C++ Programming Guide, "Binary Compatibility".
"""


def capability_text(capability: int) -> str:
    """Return a capability as NVIDIA writes it.

    >>> capability_text(90), capability_text(120)
    ('9.0', '12.0')
    """
    return f"{capability // 10}.{capability % 10}"


def runs_on(code: int, chip: int) -> bool:
    """Whether machine code for one capability runs on a chip of another.

    It needs the same major number and no larger minor one; Tegra's needs the same.

    >>> runs_on(80, 86), runs_on(86, 80), runs_on(80, 90), runs_on(86, 87)
    (True, False, False, False)

    Source: CUDA C++ Programming Guide, "Binary Compatibility".
    """
    if _TEGRA & {code, chip}:
        return code == chip
    return code // 10 == chip // 10 and code <= chip
