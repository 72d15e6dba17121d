"""Second launches of kernels, under a profiler that repeats none of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.hopper.runner import compiled

__all__ = ["SecondLaunches", "cycles_of", "second_launches"]

_PROCESSES = 3
_TIMES = ("sm__cycles_elapsed.max", "sm__cycles_active.avg")
_BYTES = ("dram__bytes_read.sum", "dram__bytes_write.sum")


@dataclass(frozen=True)
class SecondLaunches:
    """What a process launches, each kernel twice."""

    cubin: Path
    command: tuple[str, ...]
    kernels: str
    """Those to watch, as `run_ncu` takes them."""

    def counted(self, metrics: Sequence[str]) -> list[list[int]]:
        """Return so few metrics of each second launch that the profiler repeats none.

        Raises CountersError as `run_ncu` does.
        """
        rows = run_ncu([*self.command], [*metrics], self.kernels)
        return [metrics_of(row, [*metrics]) for row in rows[1::2]]

    def timed(self, metrics: Sequence[str]) -> list[list[list[int]]]:
        """Return the same of three processes."""
        return [self.counted(metrics) for _ in range(_PROCESSES)]

    def passed(self, cases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return cases, each with its cycles, those of the mean SM, and bytes of DRAM.

        Raises CountersError as `run_ncu` does.
        """
        timed, moved = self.timed(_TIMES), self.counted(_BYTES)
        return [
            {**case, **cycles_of(timed, place), "active": median(run[place][1] for run in timed),
             "dram_read": moved[place][0], "dram_write": moved[place][1]}
            for place, case in enumerate(cases)
        ]  # fmt: skip


@contextmanager
def second_launches(
    module: str, source: str, kernels: str, *given: object
) -> Iterator[SecondLaunches]:
    """Yield what `python -m MODULE CUBIN GIVEN...` launches, while the cubin of a source is there.

    Raises CompileError and ToolError as `compiled` does.
    """
    with TemporaryDirectory() as folder:
        cubin = Path(folder, "kernels.cubin")
        cubin.write_bytes(compiled(source, Path(folder)))
        command = (sys.executable, "-m", module, str(cubin), *map(str, given))
        yield SecondLaunches(cubin, command, kernels)


def cycles_of(runs: Sequence[Sequence[Sequence[int]]], place: int) -> dict[str, float]:
    """Return the median, least and most of a launch's first metric, of some processes.

    >>> cycles_of([[[7, 0]], [[5, 0]], [[6, 0]]], 0)
    {'cycles': 6, 'least': 5, 'most': 7}
    """
    each = [run[place][0] for run in runs]
    return {"cycles": median(each), "least": min(each), "most": max(each)}
