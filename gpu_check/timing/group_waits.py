"""What warps are said to wait for at a group of products, by the profiler's samples.

`python -m gpu_check.timing.group_waits CASES.json OUT.csv`, as `gpu_check.timing.yields`: a row for
each WARPGROUP.DEPBAR of the kernels, with the samples of warps that do not issue it, by reason.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from gpu_check.recordings import write_table
from gpu_check.timing.yields import Samples, sampled
from simulator.sass.code.nvdisasm import disassemble

__all__ = ["measure_group_waits", "waits_of"]

_WAIT = "WARPGROUP.DEPBAR"
_REASONS = ("barrier", "gmma", "not_selected", "wait")
_GOES_ON = "selected"


def measure_group_waits(path: str | Path, device: int = 0) -> list[dict[str, Any]]:
    """Return a row per instruction that waits for a group.

    Raises CountersError as `sampled` does.
    """
    rows = []
    for case, samples in sampled(path, device):
        code = disassemble(Path(case["cubin"]).read_bytes(), case["kernel"])
        places = [each.address for each in code if each.opcode.startswith(_WAIT)]
        rows += [{"case": case["name"], **each} for each in waits_of(places, samples)]
    return rows


def waits_of(places: list[int], samples: Samples) -> list[dict[str, Any]]:
    """Return a row per place in a kernel's code: samples of warps that do not go on, by reason.

    >>> waits_of([32], {32: {"barrier": 7, "selected": 2, "imc_miss": 1}})
    [{'address': 32, 'barrier': 7, 'gmma': 0, 'not_selected': 0, 'wait': 0, 'others': 1}]
    """
    rows = []
    for place in places:
        found = Counter(samples.get(place, {}))
        del found[_GOES_ON]
        known = {reason: found[reason] for reason in _REASONS}
        rest = sum(found.values()) - sum(known.values())
        rows.append({"address": place, **known, "others": rest})
    return rows


def main(path: str, out: str) -> None:
    """Write the table."""
    rows = measure_group_waits(path)
    write_table(out, rows)
    print(f"{out}: {len(rows)} rows", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
