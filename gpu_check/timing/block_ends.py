"""When blocks of timed kernels end, by their places on an SM.

`python -m gpu_check.timing.block_ends SET.json CASE... OUT.csv`. The kernels' sources are compiled
anew (`tests/silicon/timed/SET/`), with notes: thread 0 of a block writes down its SM, its place and
when it begins, and each warp when it ends. Kernels are those of one line, which call a function.
Each is launched four times, and the last launch is read.

A row per case and place: of the blocks that begin first, one in each place of each SM. `ends`: the
mean SM's cycles from its first block's begin until that block ends; `apart`: their standard
deviation over the SMs, a part of that. `fewest` and `most`: blocks of an SM in all.
"""

from __future__ import annotations

import re
import sys
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu
from gpu_check.recordings import write_table
from gpu_check.timing.kernels import on_device, read_cases
from simulator.sass.arguments import argument
from simulator.sass.code.images import load

__all__ = ["measure_block_ends", "noted"]

_BLOCKS = 1 << 15
_NOTES = f"""
__device__ unsigned long long noted[{4 * _BLOCKS}];
static __device__ unsigned long long* notes() {{
    return noted + 4 * (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
}}
static __device__ void note_begin() {{
    if (threadIdx.x + threadIdx.y == 0) {{
        unsigned sm, place;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        asm volatile("mov.u32 %0, %%warpid;" : "=r"(place));
        notes()[0] = sm, notes()[1] = place, notes()[2] = clock64();
    }}
    asm volatile("" ::: "memory");
}}
static __device__ void note_end() {{
    asm volatile("" ::: "memory");
    if (threadIdx.x % 32 == 0) atomicMax(notes() + 3, (unsigned long long)clock64());
}}
"""
_KERNEL = re.compile(r"^(KERNEL\(\d+\) \w+\([^\n{]*\)) \{ ([^\n]*) \}$", re.MULTILINE)


def noted(source: str) -> str:
    """Return CUDA source whose kernels of one line note when their blocks begin and end.

    >>> noted("KERNEL(64) sum(int *a) { total<4>(a); }").splitlines()[-1]
    'KERNEL(64) sum(int *a) { note_begin(); total<4>(a); note_end(); }'
    """
    return _NOTES + _KERNEL.sub(r"\1 { note_begin(); \2 note_end(); }", source)


def _rows(notes: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return a row per place; `notes`: of each block its SM, place, begin and end."""
    sms, counts = np.unique(notes[:, 0], return_counts=True)
    places = []
    for sm in sms:
        mine = notes[notes[:, 0] == sm]
        first = mine[np.argsort(mine[:, 2], kind="stable")][: counts.min()]
        ends = first[:, 3] - first[:, 2].min()
        places.append(ends[np.argsort(first[:, 1])])
    ends = np.array(places, dtype=np.float64)
    return [
        {"place": place, "ends": round(mean), "apart": round(spread / mean, 4),
         "fewest": int(counts.min()), "most": int(counts.max())}
        for place, (mean, spread) in enumerate(
            zip(ends.mean(axis=0).tolist(), ends.std(axis=0).tolist(), strict=True)
        )
    ]  # fmt: skip


def measure_block_ends(path: str | Path, names: list[str], device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case of a file that is named, and place of an SM."""
    open_gpu(device)
    import cupy

    found = []
    folder = Path(path).with_suffix("")
    with cupy.cuda.Device(device), TemporaryDirectory() as out:
        for case in read_cases(path):
            if case["name"] not in names:
                continue
            source = next(
                text for each in sorted(folder.glob("*.cu"))
                if re.search(rf"\b{case['kernel']}\(", text := each.read_text("utf-8"))
            )  # fmt: skip
            image = Path(out, f"{case['kernel']}.cubin")
            image.write_bytes(load(noted(source), "sm_90", None)[0].image)
            module = cupy.RawModule(path=str(image))
            function = module.get_function(case["kernel"])
            function.max_dynamic_shared_size_bytes = case["shared"]
            notes = cupy.ndarray((_BLOCKS, 4), np.uint64, module.get_global("noted"))
            held: list[Any] = []
            given = [on_device(argument(text, at), held) for at, text in enumerate(case["args"])]
            for _ in range(4):
                notes.fill(0)
                function(
                    tuple(case["grid"]), tuple(case["block"]), tuple(given),
                    shared_mem=case["shared"],
                )  # fmt: skip
            blocks = notes.get()[: prod(case["grid"])].astype(np.int64)
            found += [{"set": folder.name, "case": case["name"]} | row for row in _rows(blocks)]
            del given, held
    return found


def main(path: str, *given: str) -> None:
    """Write the table."""
    *names, out = given
    rows = measure_block_ends(path, names)
    write_table(out, rows)
    print(f"{out}: {len(rows)} rows", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
