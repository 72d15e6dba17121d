"""The shared memory that the driver reserves: barriers of cooperative groups' large tiles."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import replay_compiled
from simulator.errors import MemoryAccessError

pytest.importorskip("cuda.bindings.nvrtc")

KERNEL = """__global__ void k(unsigned *a) {
  extern __shared__ unsigned own[]; unsigned place; own[threadIdx.x] = 7;
  asm volatile("mov.u32 %0, PLACE;" : "=r"(place));
  asm volatile("st.shared.u32 [%0], %1;" :: "r"(place + 4 * threadIdx.x), "r"(threadIdx.x));
  __syncthreads(); unsigned v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(place + 4 * (31 - threadIdx.x)));
  a[threadIdx.x] = v + own[threadIdx.x]; }"""


def test_it_lies_below_the_kernels_own_and_is_reached_only_through_its_name() -> None:
    launch = {"grid": 1, "block": 32, "shared_bytes": 128, "args": [np.zeros(32, np.uint32)]}
    report = replay_compiled(KERNEL.replace("PLACE", "%reserved_smem_offset_1"), **launch)
    assert report.outputs[0].tolist() == [38 - lane for lane in range(32)]
    assert not report.notes
    with pytest.raises(MemoryAccessError, match="accepted: 0x400 to 0x47f"):
        replay_compiled(KERNEL.replace("PLACE", "0"), **launch)
