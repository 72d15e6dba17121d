"""Whom a scheduler takes after a pause: `python -m gpu_check.timing.yields CASES.json OUT.csv`.

The profiler samples whole kernels: what a warp does, by instruction. Those that wait for no
scoreboard are counted. Such a one comes `stall` cycles behind the one before it. That one lets the
scheduler prefer other warps (`yields` 1) or not. `selected`: samples in which it was issued.
`not_selected`: in which it could have been, and another warp's was. `waits`: their ratio, which is
cycles. CASES.json is read as `gpu_check.timing.kernels` reads it; second launches are sampled.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpu_check.counters import find_ncu
from gpu_check.errors import CountersError
from gpu_check.recordings import write_table
from gpu_check.timing.kernels import read_cases
from simulator.sass.code.cubin import read_cubin
from simulator.timing.control import control

__all__ = ["Samples", "counted", "measure_yields", "sampled"]

_REASON = "smsp__pcsamp_warps_issue_stalled_"
_CHOSEN = ("selected", "not_selected")
_BYTES = 16
"""Of an instruction."""
_LEAST = 100
"""Samples of issued instructions, below which a row says nothing."""

Samples = Mapping[int, Mapping[str, int]]
"""By the place of an instruction in a kernel's code: samples by reason."""


def measure_yields(path: str | Path, device: int = 0) -> list[dict[str, Any]]:
    """Return a row per stall count and hint.

    Raises CountersError where ncu, or its module for reports, is absent or fails.
    """
    found: Counter[tuple[int, int, str]] = Counter()
    for case, samples in sampled(path, device):
        kernel = read_cubin(Path(case["cubin"]).read_bytes()).kernel(case["kernel"])
        found.update(counted(kernel.code, samples))
    rows = []
    for stall, yields in sorted({(stall, yields) for stall, yields, _ in found}):
        selected, left = (found[stall, yields, each] for each in _CHOSEN)
        if selected >= _LEAST:
            rows.append(
                {"stall": stall, "yields": yields, "selected": selected, "not_selected": left,
                 "waits": round(left / selected, 3)}
            )  # fmt: skip
    return rows


def sampled(path: str | Path, device: int = 0) -> list[tuple[dict[str, Any], Samples]]:
    """Return the launches of a file, each with the samples of its second one.

    Raises CountersError where ncu, or its module for reports, is absent or fails.
    """
    with TemporaryDirectory() as folder:
        report = Path(folder, "samples")
        command = [
            find_ncu(), "--clock-control", "none", "--cache-control", "none",
            "--metrics", "group:smsp__pcsamp_warp_stall_reasons", "--warp-sampling-interval", "0",
            "-o", str(report), sys.executable, "-m", "gpu_check.timing.kernels", "--launch",
            str(path), str(device), folder,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise CountersError(f"ncu gave no samples: {done.stdout[-300:]} (next: try again)")
        found = _read(report.with_suffix(".ncu-rep"))[1::2]
    return list(zip(read_cases(path), found, strict=True))


def counted(code: bytes, samples: Samples) -> Counter[tuple[int, int, str]]:
    """Return samples by stall count, hint and reason, of those that wait for no scoreboard.

    >>> words = [1 << 105 | 1 << 109 | 7 << 110 | 7 << 113] * 2  # a stall of one cycle, no hint
    >>> code = b"".join(word.to_bytes(16, "little") for word in words)
    >>> counted(code, {16: {"selected": 3, "not_selected": 1}})
    Counter({(1, 0, 'selected'): 3, (1, 0, 'not_selected'): 1})
    """
    found: Counter[tuple[int, int, str]] = Counter()
    for at, reasons in samples.items():
        if at < _BYTES:
            continue
        before, own = (
            control(int.from_bytes(code[place : place + _BYTES], "little"))
            for place in (at - _BYTES, at)
        )
        if not own.waits:
            for reason in _CHOSEN:
                found[before.stall, int(before.yields), reason] += reasons.get(reason, 0)
    return found


def _read(report: Path) -> list[Samples]:
    """Return the samples of each launch in a report."""
    actions = _module().load_report(str(report)).range_by_idx(0)
    return [_samples(actions.action_by_idx(number)) for number in range(actions.num_actions())]


def _samples(action: Any) -> Samples:
    found: dict[int, dict[str, int]] = {}
    for name in action.metric_names():
        if not name.startswith(_REASON):
            continue
        metric = action.metric_by_name(name)
        places = metric.correlation_ids()
        for number in range(metric.num_instances()):
            reasons = found.setdefault(places.value(number), {})
            reasons[name.removeprefix(_REASON)] = int(metric.value(number))
    first = min(found, default=0)  # every warp is sampled at its first instruction at some time
    return {place - first: reasons for place, reasons in found.items()}


def _module() -> Any:
    """Return Nsight Compute's module for reports, which lies beside it."""
    folders: Iterable[Path] = Path("/opt/nvidia/nsight-compute").glob("*/extras/python")
    sys.path[:0] = [str(each) for each in sorted(folders, reverse=True)]
    try:
        return importlib.import_module("ncu_report")
    except ImportError as error:
        raise CountersError(
            "Nsight Compute's module ncu_report is not there (next: put its folder extras/python"
            " on PYTHONPATH)"
        ) from error


def main(path: str, out: str) -> None:
    """Write the table."""
    rows = measure_yields(path)
    write_table(out, rows)
    print(f"{out}: {len(rows)} rows", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
