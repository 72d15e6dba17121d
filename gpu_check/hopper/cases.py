"""What is measured: a kernel, its launch, and how often one turn of its loop executes something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ARCH", "DATA_BYTES", "HEAD", "Trial", "fill"]

ARCH = "sm_90a"
DATA_BYTES = 4 << 20
"""Global memory that a case may read and write; all of it fits in the L2 cache."""

HEAD = """
typedef unsigned long long u64;
typedef unsigned char u8;

__device__ __forceinline__ unsigned at(const void* s) {
    return (unsigned)__cvta_generic_to_shared(s);
}
__device__ __forceinline__ void begin(unsigned barrier, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void wait(unsigned barrier, unsigned parity) {
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;"
                 " @!p bra again; }" :: "r"(barrier), "r"(parity) : "memory");
}
__device__ __forceinline__ void fence() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
"""
"""What all kernels share. Each is called with (long long* when, unsigned* out, const u8* given,
u8* data, int turns, int a, int b, int c): it leaves its cycles in when[0], results in out."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A kernel and how it is launched; its time and counters grow with `turns` alone."""

    names: dict[str, Any]
    """The columns that tell this case from others."""
    source: str
    function: str
    each: int
    """Executions per turn, of all warps that are measured."""
    turns: tuple[int, int]
    """Few and many: what lies between the two launches is what is measured."""
    threads: int = 32
    blocks: int = 1
    shared: int = 0
    """Bytes of dynamic shared memory."""
    numbers: tuple[int, int, int] = (0, 0, 0)
    given: Callable[[int], bytes] = field(default=lambda _: bytes(16))
    """Bytes that the kernel reads, such as a tensor map, from the address of the data."""
    is_right: Callable[[NDArray[np.uint32], NDArray[np.uint32], int], bool] = field(
        default=lambda _out, _data, _turns: True
    )
    """Whether out and data are what so many turns should leave there."""

    @property
    def executions(self) -> int:
        """How many lie between the two launches."""
        return self.each * (self.turns[1] - self.turns[0])

    @property
    def label(self) -> str:
        """The names in one line."""
        return " ".join(f"{name} {value}" for name, value in self.names.items())


def fill() -> NDArray[np.uint32]:
    """Return what the data hold before a launch."""
    return np.arange(DATA_BYTES // 4, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(12345)
