"""What TMA takes per row of a tile, where one SM copies and where all do.

Blocks of one thread copy tiles of 256 rows of `inner` bytes, `pitch` bytes apart, which the L2
holds; four copies are on their way. `together`: so many blocks whose numbers follow one another
copy the same tiles. `cycles`: per row, of the mean SM.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from simulator.sass.run.map_argument import TensorMap

__all__ = ["measure_tile_rows", "tile_rows_source"]

_ROWS, _FLIGHT, _TURNS = 256, 4, 128
_HEIGHT = 4096
_SOURCE = """
struct __align__(64) Map {{ unsigned long long words[16]; }};
extern "C" __global__ void tiles(const __grid_constant__ Map map, int* when, int bytes, int inner,
                                 int together, int pitch) {{
    extern __shared__ __align__(1024) unsigned char s[];
    __shared__ __align__(8) unsigned long long bars[{flight}];
    const unsigned tile = (unsigned)__cvta_generic_to_shared(s);
    const unsigned bar = (unsigned)__cvta_generic_to_shared(bars);
    for (int k = 0; k < {flight}; ++k)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(bar + 8 * k) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    const int y = blockIdx.x / together * {rows} % ({height} - {rows});
    int start = 0, x = 0;
    for (int turn = 0; turn < {turns} + {flight}; ++turn) {{
        const int slot = turn % {flight};
        if (turn == 2 * {flight}) start = (int)clock();
        if (turn >= {flight}) {{
            const int parity = (turn / {flight} - 1) & 1;
            asm volatile(
                "{{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;"
                " @!p bra again; }}" :: "r"(bar + 8 * slot), "r"(parity) : "memory");
        }}
        if (turn < {turns}) {{
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                :: "r"(bar + 8 * slot), "r"(bytes) : "memory");
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                " [%0], [%1, {{%2, %3}}], [%4];"
                :: "r"(tile + slot * bytes), "l"(&map), "r"(x), "r"(y),
                   "r"(bar + 8 * slot) : "memory");
            x = x + inner < pitch ? x + inner : 0;
        }}
    }}
    when[blockIdx.x] = (int)clock() - start;
}}
"""


def tile_rows_source() -> str:
    """Return CUDA source of blocks that copy tiles, several at a time."""
    text = _SOURCE.replace("{{ .reg", "{{{{ .reg").replace("bra again; }}", "bra again; }}}}")
    return text.replace("again", "again%=").format(
        flight=_FLIGHT, rows=_ROWS, turns=_TURNS, height=_HEIGHT
    )


def measure_tile_rows(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per width of a tile, number of blocks and of those that copy the same."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        kernel = cupy.RawModule(code=tile_rows_source()).get_function("tiles")
        kernel.max_dynamic_shared_size_bytes = _FLIGHT * _ROWS * 128
        when = cupy.zeros(132, dtype=np.int32)
        for pitch, inner, (blocks, together) in product(
            (128, 512, 2048, 4096), (16, 32, 64, 128),
            ((1, 1), (132, 1), (132, 2), (132, 4), (132, 12)),
        ):  # fmt: skip
            if inner > pitch:
                continue
            host = np.zeros((_HEIGHT, pitch), np.uint8)
            data = cupy.asarray(host)
            held = TensorMap(host, (_ROWS, inner)).encode(data.data.ptr)
            given = np.frombuffer(held, dtype=[("words", "<u8", 16)])
            numbers = (np.int32(each) for each in (_ROWS * inner, inner, together, pitch))
            arguments = (given, when, *numbers)
            best = float("inf")
            for _ in range(4):
                kernel((blocks,), (1,), arguments, shared_mem=_FLIGHT * _ROWS * 128)
                best = min(best, float(when.get()[:blocks].mean()))
            rows.append(
                {"pitch": pitch, "inner": inner, "blocks": blocks, "together": together,
                 "cycles": round(best / ((_TURNS - _FLIGHT) * _ROWS), 4)}
            )  # fmt: skip
    return rows
