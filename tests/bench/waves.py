"""How fast one SM is simulated: `python -m tests.bench.waves`.

The blocks that an SM gets of GEMM kernels at 1024^3, a wave, are simulated: a row for each, with
the processor time of the wave and of all of `time()`, which runs sampled blocks before, and the
instructions of warps that a core simulates per second. All code was compiled before.
"""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

from tabulate import tabulate

from gpu_check.timing.kernels import read_cases
from simulator.law.chips import Chip
from simulator.sass.arguments import argument
from simulator.sass.replay import replay_compiled
from simulator.timing.estimate import estimate
from simulator.timing.machine import machine_of

_CASES = Path(__file__).parents[1] / "silicon/timed/gemms.json"
_KERNELS = ("vectorized 1024", "double-buffered 1024", "half 1024")


def measured(case: dict[str, Any], chip: Chip) -> dict[str, Any]:
    """Return a row: kernel, instructions of the wave, seconds of it, per second, of `time()`."""
    machine = machine_of(chip)
    assert machine is not None
    report = replay_compiled(
        Path(case["cubin"]), kernel=case["kernel"], grid=tuple(case["grid"]),
        block=tuple(case["block"]), shared_bytes=case["shared"],
        args=[argument(text, place) for place, text in enumerate(case["args"])], chip=chip,
    )  # fmt: skip
    start = process_time()
    report.time()
    whole = process_time() - start
    work = report.relaunch().work(chip)
    start = process_time()
    found = estimate(work, chip, machine)
    wave = process_time() - start
    assert found is not None
    count = found.run.counts["instructions"]
    return {
        "kernel": case["name"], "instructions": f"{count:,}", "wave, s": f"{wave:.2f}",
        "millions per second": f"{count / wave / 1e6:.1f}", "time(), s": f"{whole:.1f}",
    }  # fmt: skip


def main() -> None:
    """Print the table, of a second run of each kernel."""
    chip = Chip.of("H100")
    cases = {case["name"]: case for case in read_cases(_CASES)}
    measured(cases[_KERNELS[0]], chip)
    rows = [measured(cases[name], chip) for name in _KERNELS]
    print(tabulate(rows, headers="keys", tablefmt="github"))


if __name__ == "__main__":
    main()
