"""What indexed arrays in local memory cost: loads and stores by how the lanes' indices differ.

Each thread has an array of 32 or 128 words. A word of all lanes of a warp is a line of L1. With
the same index for all (`uniform`) lanes touch one line, with their own (`lanes`) up to 32. In
`halves` and `fours` 16 and four lanes side by side have the same; in `two`, `four` and `eight`
lanes take turns with so many. `chain`: loads whose result is the next index. `cycles` are those of
the median SM, `most` those of the last one.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = ["DOES", "HOWS", "local_source", "measure_local_memory"]

_TURNS, _EACH = 8, 16
HOWS = {
    "uniform": "0", "halves": "lane / 16 * 5", "fours": "lane / 4 * 5", "two": "lane % 2 * 5",
    "four": "lane % 4 * 5", "eight": "lane % 8 * 5", "lanes": "lane * 5",
}  # fmt: skip
DOES = ("chain", "loads", "stores", "both")
_BODIES = {
    "chain": "at = box[at & {last}];",
    "loads": "sum += box[(at + {k}) & {last}];",
    "stores": "box[(at + {k}) & {last}] = turn;",
    "both": "sum += box[(at + {k}) & {last}]; box[(at + {k} * 3 + 1) & {last}] = turn;",
}
_SOURCE = """
extern "C" __global__ void {name}(long long* when, int* sink, const int* zeros, int turns) {{
    int box[{words}];
    const int lane = threadIdx.x & 31;
    #pragma unroll 1
    for (int k = 0; k < {words}; ++k) box[k] = k + 1 + zeros[k & 31];
    int at = zeros[lane] + ({how}), sum = 0;
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {{
        if (turn == 0) {{ __syncthreads(); start = clock64(); }}
        {body}
        at += zeros[0] + {step};
    }}
    for (int k = 0; k < {words}; ++k) sum += box[(k + at) & {last}];
    __syncthreads();
    if (threadIdx.x == 0) when[blockIdx.x] = clock64() - start;
    if (sum == 12345) *sink = sum + at;
}}
"""


def local_source(does: str, how: str, words: int) -> str:
    """Return CUDA source of a loop over an array of so many words per thread."""
    body = "\n        ".join(_BODIES[does].format(k=k, last=words - 1) for k in range(_EACH))
    return _SOURCE.format(
        name=f"local_{does}_{how}_{words}", words=words, last=words - 1, how=HOWS[how], body=body,
        step=0 if does == "chain" else 1,
    )  # fmt: skip


def measure_local_memory(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per loop, SMs and warps: cycles of an SM per access of a warp."""
    chip = open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        zeros, sink = cupy.zeros(32, dtype=np.int32), cupy.zeros(1, dtype=np.int32)
        for words in (32, 128):
            for does in DOES:
                for how in HOWS:
                    source = local_source(does, how, words)
                    path = Path(folder, f"{does}_{how}_{words}.cubin")
                    path.write_bytes(compiled(source, Path(folder)))
                    kernel = cupy.RawModule(path=str(path)).get_function(
                        f"local_{does}_{how}_{words}"
                    )
                    for sms in (1, chip.multiprocessors):
                        for warps in (1, 8, 32):
                            when = cupy.zeros(sms, dtype=np.int64)
                            runs = []
                            for _ in range(3):
                                kernel((sms,), (32 * warps,), (when, sink, zeros, np.int32(_TURNS)))
                                each = when.get() / (_TURNS * _EACH * warps)
                                runs.append((float(np.median(each)), float(each.max())))
                            cycles, most = min(runs)
                            rows.append(
                                {"does": does, "index": how, "words": words, "sms": sms,
                                 "warps": warps, "cycles": round(cycles, 3),
                                 "most": round(most, 3)}
                            )  # fmt: skip
    return rows
