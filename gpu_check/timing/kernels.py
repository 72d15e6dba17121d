"""Time whole kernels under the profiler: `python -m gpu_check.timing.kernels CASES.json OUT.csv`.

CASES.json is a list of launches: name, cubin (a path from the file's folder), kernel, grid, block;
shared (bytes of dynamic shared memory), args (as `bankwise sass --arg` takes them); and pair (cases
of a pair differ in layout alone). Every case is launched twice, and the second launch is read, with
clocks and caches as they are. Cycles come from processes in which the profiler counts nothing else,
so that no launch is repeated; pipes and stalls from one in which it repeats them. So are bytes of
DRAM: between repetitions the profiler leaves less in the L2 than a first launch does.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.errors import CountersError
from gpu_check.recordings import write_table
from gpu_check.timing.stalls import METRICS, number
from simulator.sass.arguments import argument
from simulator.sass.run.map_argument import TensorMap

__all__ = ["measure_kernels", "on_device", "read_cases", "second_launches"]

_TIMES = ["sm__cycles_elapsed.max", "gpu__time_duration.sum"]
_PROCESSES = 3


def read_cases(path: str | Path) -> list[dict[str, Any]]:
    """Return the launches of a file, each with the path of its cubin."""
    file = Path(path)
    cases: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return [{**each, "cubin": str((file.parent / each["cubin"]).resolve())} for each in cases]


def measure_kernels(path: str | Path, device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case: cycles of several processes, and the columns of METRICS.

    `cycles` is the median of `_PROCESSES` processes, `least` and `most` are the others; the
    nanoseconds are those of the median.

    Raises CountersError as `count_on_gpu` does.
    """
    with TemporaryDirectory() as folder:
        return _measured(path, device, folder)


def second_launches(
    path: str | Path, metrics: list[str], device: int, folder: str
) -> list[dict[str, str]]:
    """Return what the profiler says of each case's second launch, in order.

    `folder`: where arrays are kept from one process to the next.

    Raises CountersError as `count_on_gpu` does.
    """
    cases = read_cases(path)
    command = [
        sys.executable, "-m", "gpu_check.timing.kernels", "--launch", str(path), str(device),
        folder,
    ]  # fmt: skip
    rows = run_ncu(command, metrics, "regex:.")[1::2]
    if len(rows) != len(cases):
        raise CountersError(
            f"ncu saw {len(rows)} second launches of {len(cases)} kernels (next: try again)"
        )
    return rows


def _measured(path: str | Path, device: int, folder: str) -> list[dict[str, Any]]:
    cases = read_cases(path)

    def watched(metrics: list[str]) -> list[dict[str, str]]:
        return second_launches(path, metrics, device, folder)

    timed = [[metrics_of(row, _TIMES) for row in watched(_TIMES)] for _ in range(_PROCESSES)]
    found = []
    for place, (case, row) in enumerate(zip(cases, watched([*METRICS.values()]), strict=True)):
        runs = sorted((run[place] for run in timed), key=lambda each: each[0])
        cycles, nanoseconds = runs[_PROCESSES // 2]
        counted = {column: number(row.get(metric)) for column, metric in METRICS.items()}
        # Those are of launches that the profiler repeats.
        own = {"profiled_cycles": counted.pop("cycles"), "profiled_ns": counted.pop("nanoseconds")}
        found.append(
            {"case": case["name"], "kernel": case["kernel"], "pair": case["pair"],
             "cycles": cycles, "least": runs[0][0], "most": runs[-1][0],
             "nanoseconds": nanoseconds, **own, **counted}
        )  # fmt: skip
    return found


def _given(text: str, place: int, folder: str) -> Any:
    """Return an argument; arrays come from a file that the first process leaves."""
    file = Path(folder, sha256(f"{place} {text}".encode()).hexdigest()).with_suffix(".npy")
    if file.exists():
        return np.load(file)
    value = argument(text, place)
    if isinstance(value, np.ndarray):
        np.save(file, value)
    return value


def on_device(value: Any, held: list[Any]) -> Any:
    """Return an argument as the device takes it; arrays of tensor maps stay in `held`.

    CuPy has no floats of eight bits: they go as bytes.
    """
    import cupy

    def moved(array: np.ndarray[Any, Any]) -> Any:
        return cupy.asarray(array.view(np.uint8) if "float8" in array.dtype.name else array)

    if isinstance(value, TensorMap):
        held.append(moved(value.array))
        # A structure, by value.
        return np.frombuffer(value.encode(held[-1].data.ptr), dtype=[("words", "<u8", 16)])
    return moved(value) if isinstance(value, np.ndarray) else value


def _launch(path: str, device: int, folder: str) -> None:
    import cupy

    with cupy.cuda.Device(device):
        for case in read_cases(path):
            function = cupy.RawModule(path=case["cubin"]).get_function(case["kernel"])
            function.max_dynamic_shared_size_bytes = case["shared"]
            given = [_given(text, place, folder) for place, text in enumerate(case["args"])]
            held: list[Any] = []  # what tensor maps point to
            given = [on_device(each, held) for each in given]
            for _ in range(2):
                function(
                    tuple(case["grid"]), tuple(case["block"]), tuple(given),
                    shared_mem=case["shared"],
                )  # fmt: skip
            cupy.cuda.Device(device).synchronize()
            del given, held
            cupy.get_default_memory_pool().free_all_blocks()


def main(path: str, out: str) -> None:
    """Write the table."""
    rows = measure_kernels(path)
    write_table(out, rows)
    print(f"{out}: {len(rows)} rows", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--launch":
        _launch(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        main(*sys.argv[1:])
