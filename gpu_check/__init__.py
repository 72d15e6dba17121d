"""The same accesses on a real GPU: what the chip says, and whether the model says the same.

    from gpu_check import measure, count_on_gpu, compare, infer_phases

Nothing here needs a GPU to be imported. docs/explanation/validation.md says how
it measures, and what it saw.
"""

from gpu_check.clocks import Measurements, measure
from gpu_check.compare import Comparison, compare, simulated
from gpu_check.counters import count_on_gpu
from gpu_check.discovery import PhaseTable, infer_phases
from gpu_check.errors import (
    CountersError,
    DeviceError,
    DiscoveryError,
    NoGpuError,
    RecordingError,
)
from gpu_check.gemm import GEMMS, run_gemm
from gpu_check.recordings import Recording, load, packaged

__all__ = [
    "GEMMS",
    "Comparison",
    "CountersError",
    "DeviceError",
    "DiscoveryError",
    "Measurements",
    "NoGpuError",
    "PhaseTable",
    "Recording",
    "RecordingError",
    "compare",
    "count_on_gpu",
    "infer_phases",
    "load",
    "measure",
    "packaged",
    "run_gemm",
    "simulated",
]
