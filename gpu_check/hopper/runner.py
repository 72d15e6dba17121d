"""Running cases on a GPU: compiled for sm_90a, timed by clock64, counted by Nsight Compute.

Times and counters are differences between two launches, of few and of many turns: what a launch
costs beside its turns drops out. A time is the median of several, its spread their middle half.
`python -m gpu_check.hopper.runner TABLE FOLDER FEW` is the process that ncu watches.
"""

from __future__ import annotations

import base64
import ctypes
import hashlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.counters import run_ncu
from gpu_check.device import open_gpu
from gpu_check.errors import DeviceError
from gpu_check.hopper.cases import ARCH, Trial, fill
from simulator.errors import CompileError, ToolError
from simulator.sass.code.compiling import child

__all__ = ["Runner", "compile_all", "compiled", "count_cases", "time_cases"]

_ROUNDS = 5
_OUT_WORDS = 64
_COMMON = (ctypes.c_void_p,) * 4 + (ctypes.c_int,) * 4


def compiled(source: str, folder: Path) -> bytes:
    """Return a cubin of CUDA source, kept in a folder by the source's digest.

    Raises CompileError with the compiler's messages, ToolError without a compiler.
    """
    kept = folder / f"{hashlib.sha256(source.encode()).hexdigest()[:24]}.cubin"
    if kept.exists():
        return kept.read_bytes()
    request = {
        "source": source, "name": "case.cu", "headers": {}, "expressions": [],
        "options": [f"--gpu-architecture={ARCH}", "--std=c++17"],
    }  # fmt: skip
    answer = json.loads(child("nvrtc", json.dumps(request), "case.cu"))
    if "missing" in answer:
        raise ToolError(answer["missing"])
    if "log" in answer:
        raise CompileError(answer["log"])
    cubin = base64.b64decode(answer["cubin"])
    kept.write_bytes(cubin)
    return cubin


def compile_all(cases: Iterable[Trial], folder: Path) -> None:
    """Compile the sources of cases, as many at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda source: compiled(source, folder), {case.source for case in cases}))


class Runner:
    """Launches cases on one device.

    Raises NoGpuError and DeviceError as `open_gpu` does, DeviceError for a chip before Hopper.
    """

    def __init__(self, folder: Path, device: int = 0) -> None:
        chip = open_gpu(device)
        if chip.capability != 90:
            raise DeviceError(
                f"device {device} ({chip.name}) is sm_{chip.capability} (accepted: sm_90, whose"
                " own instructions are measured)"
            )
        import cupy
        from cuda.bindings import driver

        self._cupy, self._driver, self._folder = cupy, driver, folder
        self._functions: dict[tuple[str, str], Any] = {}
        self._modules: dict[str, Any] = {}
        cupy.cuda.Device(device).use()
        self._fill = cupy.asarray(fill())
        self.data = self._fill.copy()
        self.out = cupy.zeros(_OUT_WORDS, dtype=np.uint32)

    def _done(self, answer: tuple[Any, ...]) -> Any:
        """Unpack a driver's answer. Raises DeviceError for any but success."""
        status, *rest = answer
        if int(status):
            raise DeviceError(f"the driver says {status.name} (next: see the case before)")
        return rest[0] if rest else None

    def _function(self, case: Trial) -> Any:
        key = (case.source, case.function)
        if key not in self._functions:
            if case.source not in self._modules:
                cubin = compiled(case.source, self._folder)
                self._modules[case.source] = self._done(self._driver.cuModuleLoadData(cubin))
            name = case.function.encode()
            found = self._done(self._driver.cuModuleGetFunction(self._modules[case.source], name))
            most = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._done(self._driver.cuFuncSetAttribute(found, most, case.shared))
            self._functions[key] = (found, case.shared)
        found, shared = self._functions[key]
        if shared < case.shared:
            raise DeviceError(f"{case.label}: the first case of a kernel must have most memory")
        return found

    def give(self, case: Trial) -> Any:
        """Copy what a case reads to the device."""
        given = np.frombuffer(case.given(self.data.data.ptr), dtype=np.uint8)
        return self._cupy.asarray(given)

    def launch(self, case: Trial, turns: int, given: Any, when: int) -> None:
        """Trial a case once; its cycles go to the address `when`."""
        a, b, c = case.numbers
        values = (when, self.out.data.ptr, given.data.ptr, self.data.data.ptr, turns, a, b, c)
        self._done(
            self._driver.cuLaunchKernel(
                self._function(case), case.blocks, 1, 1, case.threads, 1, 1, case.shared, 0,
                (values, _COMMON), 0,
            )
        )  # fmt: skip

    def after(self, case: Trial) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Trial few turns on fresh data: what they leave in `out` and in the data."""
        self.data[:] = self._fill
        self.out[:] = 0
        when = self._cupy.zeros(4, dtype=np.int64)
        self.launch(case, case.turns[0], self.give(case), when.data.ptr)
        return self.out.get(), self.data.get()

    def check(self, case: Trial) -> None:
        """Trial few turns and look at what they leave. Raises DeviceError if it is wrong."""
        out, data = self.after(case)
        if not case.is_right(out, data, case.turns[0]):
            raise DeviceError(f"{case.label}: wrong results {out[:4].tolist()}")

    def ticks(self, case: Trial) -> NDArray[np.int64]:
        """Return cycles between few turns and many, of several rounds."""
        given = self.give(case)
        when = self._cupy.zeros((_ROUNDS, 2), dtype=np.int64)
        for turn in range(2 * _ROUNDS):
            self.launch(case, case.turns[turn % 2], given, when.data.ptr + 8 * turn)
        found: NDArray[np.int64] = np.diff(when.get(), axis=1)[:, 0]
        return found


def time_cases(cases: Sequence[Trial], folder: Path, device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case: its names, `cycles` per execution and their `spread`.

    Raises DeviceError for a case whose results are wrong.
    """
    runner, rows = Runner(folder, device), []
    for case in cases:
        runner.check(case)
        each = runner.ticks(case) / case.executions
        spread = float(np.subtract(*np.quantile(each, [0.75, 0.25])))
        cycles = float(np.median(each))
        rows.append({**case.names, "cycles": round(cycles, 3), "spread": round(spread, 3)})
    return rows


def count_cases(
    table: str, cases: Sequence[Trial], metrics: dict[str, str], folder: Path, few: int = 0,
    device: int = 0,
) -> list[dict[str, float | None]]:  # fmt: skip
    """Return a row per case: of each counter, by its column, what one execution adds.

    A counter that the profiler does not know is None. Raises CountersError as `count_on_gpu` does.

    Parameters
    ----------
    table
        The module that makes these cases.
    cases
        What is executed, each for itself.
    metrics
        The profiler's name of each counter, by its column.
    folder
        Where the profiler's reports are written.
    few
        At most so many instructions; 0: all.
    device
        The GPU's number.
    """
    command = [sys.executable, "-m", "gpu_check.hopper.runner", table, str(folder), str(few)]
    seen = run_ncu([*command, str(device)], list(metrics.values()), "regex:^case_")
    rows = []
    for case, low, high in zip(cases, seen[::2], seen[1::2], strict=True):
        row: dict[str, float | None] = {}
        for column, metric in metrics.items():
            before, after = (_number(each.get(metric)) for each in (low, high))
            if before is None or after is None:
                row[column] = None
            else:
                row[column] = round((after - before) / case.executions, 4)
        rows.append(row)
    return rows


def _number(cell: str | None) -> float | None:
    try:
        return float((cell or "").replace(",", ""))
    except ValueError:
        return None


def _launch_all(table: str, folder: str, few: str, device: str) -> None:
    """Trial every counted case of a table twice, with few turns and with many."""
    runner = Runner(Path(folder), int(device))
    cases: list[Trial] = import_module(f"gpu_check.hopper.{table}").counted(int(few))
    import cupy

    when = cupy.zeros(4, dtype=np.int64)
    for case in cases:
        given = runner.give(case)
        for turns in case.turns:
            runner.launch(case, turns, given, when.data.ptr)
    cupy.cuda.Device(int(device)).synchronize()


if __name__ == "__main__":
    _launch_all(*sys.argv[1:])
