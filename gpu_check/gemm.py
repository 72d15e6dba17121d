"""The GEMM kernels of the documents in our own CUDA, one file a family: checked, timed, counted.

Each belongs to a kernel of the catalogue (`simulator.kernels`): the same grid, block, tiles and
shared-memory accesses, so that `simulator.replay` predicts what its counters show. Global memory
is simpler here: C = A B, without reading C, and all sizes are multiples of the tiles.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.device import Gpu, open_gpu, source
from gpu_check.errors import CountersError, DeviceError
from gpu_check.probe.ops import probe_op, require_capability
from layouts.errors import accepted
from simulator.kernels import get
from simulator.kernels.replay import KernelReport, replay

__all__ = ["GEMMS", "SASS", "Gemm", "GemmRun", "count_gemms", "run_gemm"]

_ROUNDS = 7
_CHECKED = 512  # m = n = k of the comparison with CuPy


@dataclass(frozen=True)
class Gemm:
    """One of our kernels, and the catalogue's that it follows."""

    file: str
    """In gpu_check/cuda, without .cu."""
    kernel: str
    """Its name in simulator.kernels."""
    function: str = ""
    """Its name in the file, where it is another."""
    defines: Mapping[str, int] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Of the catalogue's kernel, where they are not the document's."""
    inputs: str = "float32"
    output: str = "float32"
    tolerance: float = 1e-5
    """Of |C - AB| / |AB|."""

    def replay(self, size: int) -> KernelReport:
        """Predict what it does to memory, for m = n = k = size."""
        return replay(self.kernel, m=size, n=size, k=size, **self.parameters)

    @property
    def entry(self) -> str:
        """Name of the function."""
        return self.function or self.file


GEMMS: dict[str, Gemm] = {
    "naive": Gemm("naive", "leimao.v00"),
    "coalesced": Gemm("coalesced", "leimao.v01"),
    "smem": Gemm("smem", "junstar92.smem"),
    "1d": Gemm("blocktile_1d", "junstar92.1d"),
    "2d": Gemm("blocktile_2d", "junstar92.2d"),
    "vectorized": Gemm("vectorized", "junstar92.vectorized"),
    "vectorized 128": Gemm("vectorized", "junstar92.vectorized_128", defines={"TILE": 128}),
    "warp 2x16": Gemm("warptile", "illustrated.layout_2x16", defines={"LANES_COLS": 16}),
    "warp 2x16 split": Gemm(
        "warptile", "illustrated.layout_2x16_split", defines={"LANES_COLS": 16, "SPLIT": 1}
    ),
    "warp 4x8": Gemm("warptile", "illustrated.layout_4x8", defines={"LANES_COLS": 8}),
    "z-order padded": Gemm("zorder", "junstar92.warptiling"),
    "z-order": Gemm(
        "zorder", "junstar92.warptiling", defines={"PADDING": 0}, parameters={"padding": 0}
    ),
    "double-buffered": Gemm("double_buffered", "cutlass-notes.sgemm_128x128"),
    "half": Gemm("half", "explore-gemm.half", function="half_tiles", inputs="float16"),
    "wmma padded": Gemm(
        "wmma", "leimao.v07", inputs="float16", output="float16", tolerance=1e-2
    ),
    "wmma": Gemm(
        "wmma", "leimao.v07_unskewed", defines={"PAD": 0}, inputs="float16", output="float16",
        tolerance=1e-2,
    ),
}  # fmt: skip
"""Our kernels, by name."""


@dataclass(frozen=True)
class GemmRun:
    """One kernel on the chip: m = n = k = size."""

    name: str
    size: int
    error: float
    """|C - AB| / |AB| at size 512, AB by CuPy in double precision."""
    milliseconds: float
    """Median of CUDA-event times."""
    spread: float
    """Most less least of them."""
    cycles: float
    """The same time in ticks of the SM's clock64."""


def run_gemm(
    name: str, size: int = 4096, *, device: int = 0, rounds: int = _ROUNDS, check: bool = True
) -> GemmRun:
    """Check a kernel's result against CuPy's, then time it.

    Raises NoGpuError and DeviceError as `measure` does; DeviceError if the result is wrong, with
    the error found.
    """
    if name not in GEMMS:
        raise DeviceError(f"unknown kernel {name!r}: {accepted(name, GEMMS)}")
    gemm, chip = GEMMS[name], open_gpu(device)
    _require(gemm, chip)
    import cupy

    with cupy.cuda.Device(device):
        function = _function(gemm)
        error = _check(gemm, function, cupy) if check else float("nan")
        arguments = _matrices(gemm, size, cupy)
        _launch(gemm, function, size, arguments)
        times = []
        for _ in range(rounds):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            _launch(gemm, function, size, arguments)
            end.record()
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(start, end))
        ticks = _ticks_per_millisecond(cupy) if rounds else 0.0
    middle = median(times) if times else float("nan")
    spread = max(times) - min(times) if times else float("nan")
    return GemmRun(name, size, error, middle, spread, middle * ticks)


def _require(gemm: Gemm, chip: Gpu) -> None:
    if gemm.file == "wmma":  # its fragments are read by LDSM
        require_capability(chip, probe_op("LDSM.16.MT88.4"))


def _function(gemm: Gemm) -> Any:
    import cupy

    options = ("-std=c++17", *(f"-D{name}={value}" for name, value in gemm.defines.items()))
    return cupy.RawModule(code=source(f"{gemm.file}.cu"), options=options).get_function(gemm.entry)


def _matrices(gemm: Gemm, size: int, cupy: Any) -> tuple[Any, Any, Any]:
    """Make A and B at random, within -1 and 1; C of NaN, so that what is not written shows."""
    rng = cupy.random.default_rng(size)
    a, b = (
        (2 * rng.random((size, size), dtype=cupy.float32) - 1).astype(gemm.inputs) for _ in "ab"
    )
    return a, b, cupy.full((size, size), cupy.nan, dtype=gemm.output)


def _launch(gemm: Gemm, function: Any, size: int, arguments: tuple[Any, Any, Any]) -> None:
    launch = get(gemm.kernel).launch(
        size, size, size, **{**get(gemm.kernel).defaults, **gemm.parameters}
    )
    function(launch.grid, launch.block, (*arguments, *[_int(size)] * 3))


def _int(value: int) -> Any:
    import numpy as np

    return np.int32(value)


def _check(gemm: Gemm, function: Any, cupy: Any) -> float:
    a, b, c = _matrices(gemm, _CHECKED, cupy)
    _launch(gemm, function, _CHECKED, (a, b, c))
    exact = cupy.matmul(a.astype(cupy.float64), b.astype(cupy.float64))
    norm = cupy.linalg.norm
    error = float(norm(c.astype(cupy.float64) - exact) / norm(exact))
    if not error <= gemm.tolerance:  # NaN is wrong too
        raise DeviceError(
            f"kernel {gemm.file} is off by {error} (accepted: up to {gemm.tolerance}; next:"
            " please report it, with the chip and CUDA version)"
        )
    return error


_PIPE = "l1tex__data_pipe_lsu_wavefronts"
_CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"

SASS = ("ld", "ldsm", "st")
"""Kinds of instruction whose wavefronts are counted one by one (`smsp__sass_...`)."""

_COUNTERS = {
    **{
        f"sass_{kind}": f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{kind}.sum"
        for kind in SASS
    },
    "counter_ld": f"{_PIPE}_mem_shared_op_ld.sum",
    "counter_st": f"{_PIPE}_mem_shared_op_st.sum",
    "conflicts_ld": f"{_CONFLICTS}_op_ld.sum",
    "conflicts_st": f"{_CONFLICTS}_op_st.sum",
    "counter_all": f"{_PIPE}.sum",
    "elapsed_cycles": "sm__cycles_elapsed.max",
}


def count_gemms(names: list[str], size: int, *, device: int = 0) -> dict[str, dict[str, int]]:
    """Read the counters of one launch of each kernel.

    `sass_*` are counted per executed instruction; `counter_*` and `conflicts_*` are the
    hardware's, which other traffic of the SM adds to.

    Raises CountersError as `count_on_gpu` does.
    """
    metrics = list(_COUNTERS.values())
    entries = "|".join(sorted({GEMMS[name].entry for name in names}))
    command = [sys.executable, "-m", "gpu_check.gemm", str(device), str(size), *names]
    rows = run_ncu(command, metrics, f"regex:^({entries})$")
    if len(rows) != len(names):
        raise CountersError(
            f"ncu saw {len(rows)} launches of {len(names)} kernels (next: try again)"
        )
    counted = (metrics_of(row, metrics) for row in rows)
    return {
        name: dict(zip(_COUNTERS, values, strict=True))
        for name, values in zip(names, counted, strict=True)
    }


_SPIN = """
extern "C" __global__ void spin(long long ticks) {
    const long long start = clock64();
    while (clock64() - start < ticks) {}
}
"""


def _ticks_per_millisecond(cupy: Any) -> float:
    """How fast clock64 runs just now: a kernel that waits for it, timed by events."""
    spin = cupy.RawModule(code=_SPIN).get_function("spin")
    times = []
    for ticks in (2_000_000, 12_000_000):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        spin((1,), (1,), (cupy.int64(ticks),))
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end))
    return float(10_000_000 / (times[1] - times[0]))


if __name__ == "__main__":  # what count_gemms has ncu watch: one launch of each kernel
    for _name in sys.argv[3:]:
        run_gemm(_name, int(sys.argv[2]), device=int(sys.argv[1]), rounds=0, check=False)
