"""Running warp accesses on the chip: cuda/probe.cu, compiled for one instruction by CuPy.

Nothing here interprets a result: cycles come back as the chip's clock gave them, and bytes as
they were read (gpu_check.clocks, gpu_check.probe.verify).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import Gpu, open_gpu, source
from gpu_check.errors import DeviceError, NoGpuError
from gpu_check.probe.ops import probe_op, require_capability
from simulator.law.masks import active_table

__all__ = ["GLOBAL_BYTES", "Probe", "coalesced"]

GLOBAL_BYTES = 1 << 20
"""Global memory that cp.async copies from."""


def coalesced(op: str, n: int) -> NDArray[np.uint32]:
    """Return the sources of n copies whose lanes read global memory side by side."""
    return np.tile(probe_op(op).width * np.arange(32, dtype=np.uint32), (n, 1))


class Probe:
    """One instruction on one device.

    Raises NoGpuError and DeviceError as `open_gpu` does, DeviceError for a chip too old, and
    NoGpuError where the CUDA compiler that CuPy finds does not fit.
    """

    def __init__(self, op: str, device: int = 0) -> None:
        self.op = probe_op(op)
        self.chip: Gpu = open_gpu(device)
        require_capability(self.chip, self.op)
        import cupy

        self._cupy = cupy
        with cupy.cuda.Device(device):
            self._module = cupy.RawModule(
                code=source("probe.cu"), options=("-std=c++17", f"-DOP={self.op.struct}")
            )
            try:
                self._kernels = {
                    name: self._module.get_function(name) for name in ("probe", "once")
                }
            except cupy.cuda.compiler.CompileException as error:
                raise NoGpuError(
                    f"probe.cu does not compile for {self.chip.name}: {error} (next: install the"
                    " CuPy of this driver's CUDA, cupy-cuda12x or cupy-cuda13x)"
                ) from error
            # A block with all of an SM's shared memory has the SM to itself.
            self._shared = self.chip.shared_bytes
            for kernel in self._kernels.values():
                kernel.max_dynamic_shared_size_bytes = self._shared
            words = np.arange(GLOBAL_BYTES // 4, dtype=np.uint32)
            self.fill = words * np.uint32(2654435761) + np.uint32(12345)
            self._global = cupy.asarray(self.fill)
            self._sink = cupy.zeros(1, dtype=np.uint32)

    def use(self, memory: Any) -> None:
        """Let copies read this array of device memory instead of the probe's own."""
        self._global = memory

    def load(
        self,
        addresses: NDArray[Any],
        masks: NDArray[np.uint32],
        sources: NDArray[np.uint32] | None,
    ) -> tuple[Any, Any, Any]:
        """Copy accesses, (n, 32), to the device; addresses of idle lanes become 0."""
        used = np.where(active_table(masks), addresses, 0).astype(np.uint32)
        top = int(used.max(initial=0)) + 16
        if top > self._shared:
            raise DeviceError(
                f"addresses reach byte {top}, and a block of {self.chip.name} has {self._shared}"
                f" (accepted: addresses below {self._shared - 15})"
            )
        if sources is None:
            sources = coalesced(self.op.name, len(used))
        top, held = int(sources.max(initial=0)) + 16, self._global.nbytes
        if top > held:
            raise DeviceError(f"sources reach byte {top} (accepted: offsets below {held - 15})")
        asarray = self._cupy.asarray
        return asarray(used), asarray(masks.astype(np.uint32)), asarray(sources.astype(np.uint32))

    def launch(
        self,
        loaded: tuple[Any, Any, Any],
        *,
        first: int,
        blocks: int,
        warps: int,
        repeats: int,
        cycles: Any,
    ) -> None:
        """Run accesses first to first + blocks, each by one block of so many warps.

        Parameters
        ----------
        loaded
            The accesses on the GPU: addresses, masks and sources.
        first, blocks
            Which accesses: `first` to `first + blocks`.
        warps
            Warps of each block.
        repeats
            How often each access is executed, a multiple of `multiple`.
        cycles
            The array on the GPU that the cycles are written to.
        """
        addresses, masks, sources = loaded
        u32 = np.uint32
        arguments = (
            addresses, masks, sources, self._global,
            u32(first), u32(repeats), u32(0), cycles, self._sink,
        )  # fmt: skip
        self._kernels["probe"]((blocks,), (32 * warps,), arguments, shared_mem=self._shared)

    @property
    def multiple(self) -> int:
        """What repeat counts are multiples of: UNROLL of probe.cu."""
        return 64 if self.op.is_copy else 8

    def cycles(
        self, loaded: tuple[Any, Any, Any], *, warps: int, repeats: int
    ) -> NDArray[np.int64]:
        """Time every access: clock ticks of a block, (n,)."""
        n = len(loaded[0])
        out = self._cupy.zeros(n, dtype=np.uint32)
        self.launch(loaded, first=0, blocks=n, warps=warps, repeats=repeats, cycles=out)
        return self._fetch(out).astype(np.int64)

    def once(self, loaded: tuple[Any, Any, Any]) -> NDArray[np.uint32]:
        """Execute every access once: (n, 32, 3, 4) words.

        For each lane: its registers, then the 16 aligned bytes around its address in shared
        memory, before and after.
        """
        addresses, masks, sources = loaded
        seen = self._cupy.zeros((len(addresses), 32, 3, 4), dtype=np.uint32)
        arguments = (addresses, masks, sources, self._global, self._global, seen)
        self._kernels["once"]((len(addresses),), (32,), arguments, shared_mem=self._shared)
        return self._fetch(seen)

    def _fetch(self, array: Any) -> NDArray[Any]:
        runtime = self._cupy.cuda.runtime
        try:
            fetched: NDArray[Any] = array.get()
        except runtime.CUDARuntimeError as error:
            raise DeviceError(
                f"{self.op.name} failed on {self.chip.name}: {error} (next: start the"
                " process again; after a failed kernel it cannot use the device)"
            ) from error
        return fetched
