"""What a store of 8 or 16 bits costs, by what its value comes from (needs a GPU and CuPy):
`python -m tests.silicon.narrow_stores`.

The earlier recording (data/h200_timing.npz) has two cycles for such a store of one wavefront,
gpu_check has one: the earlier loop reads its value anew from a constant bank before each store.
Here loops of 256 stores per warp, timed as it was (all warps of a block on one pattern, last end
minus first start, the loop's cost included), differ in nothing but the value they store.
"""

from __future__ import annotations

import click
import numpy as np
from tabulate import tabulate

SOURCE = """
typedef TYPE Value;
extern "C" __global__ void stores(long long *times, const unsigned *byte, const Value *values) {
    extern __shared__ unsigned char shared[];
    volatile Value *to = reinterpret_cast<Value *>(shared + byte[threadIdx.x % 32]);
    const Value held = values[threadIdx.x];
    __syncthreads();
    const long long start = clock64();
#pragma unroll 16
    for (int i = 0; i < 256; ++i) *to = VALUE;
    __syncthreads();
    times[threadIdx.x] = start;
    times[blockDim.x + threadIdx.x] = clock64();
}
"""

TYPES = {"STS.U8": "unsigned char", "STS.U16": "unsigned short", "STS": "unsigned"}
VALUES = {
    "a register": "held",
    "the loop's counter": "(Value)i",
    "a sum": "(Value)(held + i)",
    "a float, converted": "(Value)(float)i",
}
PATTERNS = {"1 wavefront": 1, "2 wavefronts": 2, "3 wavefronts": 3}


def main() -> None:
    """Print cycles a store, least of five launches, with 16 and with 32 warps."""
    import cupy

    rows = []
    for what, value in VALUES.items():
        for op, kind in TYPES.items():
            code = SOURCE.replace("TYPE", kind).replace("VALUE", value)
            kernel = cupy.RawModule(code=code).get_function("stores")
            row = [what, op]
            for ways in PATTERNS.values():
                lane = np.arange(32)
                byte = cupy.asarray((lane // ways * 4 + lane % ways * 128).astype(np.uint32))
                for warps in (16, 32):
                    values = cupy.arange(1024, dtype=np.uint32)
                    spent = []
                    for _ in range(5):
                        times = cupy.zeros((2, 32 * warps), dtype=np.int64)
                        kernel((1,), (32 * warps,), (times, byte, values), shared_mem=1024)
                        start, end = times.get()
                        spent.append((end.max() - start.min()) / (256 * warps))
                    row.append(min(spent))
            rows.append(row)
    heads = ["value", "op", *(f"{name}, {warps} warps" for name in PATTERNS for warps in (16, 32))]
    floats = ("", "", *[".3f"] * (len(heads) - 2))
    click.echo(tabulate(rows, heads, tablefmt="github", floatfmt=floats))


if __name__ == "__main__":
    main()
