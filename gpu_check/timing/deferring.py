"""Before which instructions warps wait behind BAR.SYNC, by the profiler's samples.

`python -m gpu_check.timing.deferring OUT.csv CASES.json...`, as `gpu_check.timing.yields`: a row
for each opcode that stands behind a barrier. `stopped`: how often most samples of warps that wait
for a barrier are at it; `passed`: how often it stands between the barrier and such a one.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpu_check.recordings import write_table
from gpu_check.timing.yields import Samples, sampled
from simulator.sass.code.nvdisasm import SassInstruction, disassemble

__all__ = ["measure_deferring", "stops"]

_BARRIER = "BAR.SYNC.DEFER_BLOCKING"
_FARTHEST = 30
"""Instructions behind a barrier."""
_LEAST = 25
"""Samples of warps that wait, below which a barrier says nothing."""


def measure_deferring(paths: Sequence[str | Path], device: int = 0) -> list[dict[str, Any]]:
    """Return a row per opcode, without its modifiers.

    Raises CountersError as `sampled` does.
    """
    passed, stopped = Counter[str](), Counter[str]()
    for path in paths:
        for case, samples in sampled(path, device):
            code = disassemble(Path(case["cubin"]).read_bytes(), case["kernel"])
            for before, at in stops(code, samples):
                passed.update(before)
                stopped[at] += 1
    return [
        {"opcode": name, "passed": passed[name], "stopped": stopped[name]}
        for name in sorted(passed.keys() | stopped.keys())
    ]


def stops(code: Sequence[SassInstruction], samples: Samples) -> list[tuple[list[str], str]]:
    """Return of each barrier the opcodes that warps pass, and the one that they wait before."""
    names = [each.opcode.partition(".")[0] for each in code]
    waits = [samples.get(each.address, {}).get("barrier", 0) for each in code]
    found = []
    for place, each in enumerate(code):
        if not each.opcode.startswith(_BARRIER):
            continue
        end = place + 1
        while end < min(len(code), place + 1 + _FARTHEST) and names[end] != "BAR":
            end += 1
        most = max(waits[place + 1 : end], default=0)
        if most >= _LEAST:
            at = waits.index(most, place + 1)
            found.append((names[place + 1 : at], names[at]))
    return found


def main(out: str, *paths: str) -> None:
    """Write the table."""
    rows = measure_deferring(paths)
    write_table(out, rows)
    print(f"{out}: {len(rows)} rows", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
