"""What the profiler says that the units of a chip can do: `.peak_sustained` of their counters.

`python -m gpu_check.timing.peaks` is the process that ncu watches. A counter that the chip or the
profiler does not have gives no row.
"""

from __future__ import annotations

import sys
from typing import Any

from gpu_check.counters import run_ncu

__all__ = ["measure_peaks"]

_PIPES = (
    "alu", "fma", "fmaheavy", "fmalite", "fp16", "fp64", "xu", "lsu", "adu", "cbu", "uniform",
    "tensor_op_hmma", "tensor_op_gmma", "tensor_op_dmma", "tensor_op_imma", "tex", "tma",
)  # fmt: skip
_UNITS = (
    "smsp__inst_issued", "smsp__inst_executed", "smsp__issue_active", "sm__warps_active",
    "l1tex__data_pipe_lsu_wavefronts", "l1tex__data_bank_reads", "l1tex__data_bank_writes",
    "l1tex__lsuin_requests", "l1tex__t_sectors", "l1tex__t_requests", "l1tex__f_wavefronts",
    "l1tex__lsu_writeback_active", "l1tex__m_xbar2l1tex_read_bytes",
    "l1tex__m_xbar2l1tex_read_sectors", "l1tex__m_l1tex2xbar_write_bytes",
    "l1tex__m_l1tex2xbar_write_sectors", "l1tex__m_l1tex2xbar_req_cycles_active",
    "lts__t_sectors", "lts__t_requests", "lts__t_bytes", "lts__d_sectors", "lts__t_tag_requests",
    "lts__lts2xbar_cycles_active", "lts__xbar2lts_cycles_active", "dram__bytes", "dram__sectors",
    "dram__bytes_read", "dram__bytes_write", "dram__cycles_active", "sm__mio_inst_issued",
    "sm__mio_pq_read_cycles_active", "sm__mio2rf_writeback_active",
    "idc__requests", "sm__memory_throughput", "smsp__inst_executed_pipe_lsu",
)  # fmt: skip
_CLOCKS = ("sm__cycles_elapsed", "l1tex__cycles_elapsed", "lts__cycles_elapsed",
           "dram__cycles_elapsed", "gpc__cycles_elapsed")  # fmt: skip


def measure_peaks(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per counter: the most of it, of the whole chip, per cycle of its unit.

    Clocks follow, in cycles per second, as they were in a kernel of some milliseconds.
    """
    peaks = [f"{unit}.sum.peak_sustained" for unit in _UNITS]
    peaks += [f"sm__inst_executed_pipe_{pipe}.sum.peak_sustained" for pipe in _PIPES]
    clocks = [f"{clock}.avg.per_second" for clock in _CLOCKS]
    command = [sys.executable, "-m", "gpu_check.timing.peaks", str(device)]
    (row,) = run_ncu(command, [*peaks, *clocks, "gpu__time_duration.sum"], "regex:^busy$")
    return [
        {"counter": name, "value": value}
        for name in [*peaks, *clocks, "gpu__time_duration.sum"]
        if (value := (row.get(name) or "").replace(",", "")) not in ("", "n/a")
    ]


_BUSY = """
extern "C" __global__ void busy(float* a, int turns) {
    float x = a[threadIdx.x];
    for (int i = 0; i < turns; ++i) x = fmaf(x, 1.0001f, 0.5f);
    a[threadIdx.x] = x;
}
"""


def _launch(device: int) -> None:
    import cupy
    import numpy as np

    with cupy.cuda.Device(device):
        kernel = cupy.RawModule(code=_BUSY).get_function("busy")
        kernel((264,), (1024,), (cupy.zeros(1024, dtype=np.float32), np.int32(400_000)))
        cupy.cuda.Device(device).synchronize()


if __name__ == "__main__":
    _launch(int(sys.argv[1]))
