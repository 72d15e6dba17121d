"""What a warp takes whose lanes part and meet again, by how they part.

A loop holds eight of the same. `one`: so many `lanes` execute additions that depend on each other,
and the others jump over them. `both`: the others execute products instead. `leave`: lanes turn in
a loop, 32 times at most; `lanes` is the number of groups that leave it, one in each last turn.
`sync`: as `both`, but halfway all lanes wait for each other, wherever they are.
`cycles`: of the SM for each warp's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpu_check.device import open_gpu
from gpu_check.timing.branches import timed_loop
from gpu_check.timing.loop_ends import least_cycles

__all__ = ["measure_parted", "parted_source"]

_TURNS, _EACH, _ADDS = 32, 8, 16
_BEGIN = """\
    int lanes_of[8];  // all the same, which the compiler does not know
    for (int each = 0; each < 8; ++each) lanes_of[each] = lanes[each];
"""
_ONE = 'if (lane < lanes_of[{k}]) asm volatile("{adds}" : "+f"(v) : "f"(b));'
_BODIES = {
    "one": _ONE,
    "both": _ONE + ' else asm volatile("{products}" : "+f"(v) : "f"(b));',
    "leave": """{{
            const int last = 32 - lane % lanes_of[{k}];
            #pragma unroll 1
            for (int each = 0; each < last; ++each) asm volatile("{few}" : "+f"(v) : "f"(b));
        }}""",
    "sync": """if (lane < lanes_of[{k}]) {{
            asm volatile("{few}" : "+f"(v) : "f"(b)); __syncwarp();
            asm volatile("{few}" : "+f"(v) : "f"(b));
        }} else {{
            asm volatile("{others}" : "+f"(v) : "f"(b)); __syncwarp();
            asm volatile("{others}" : "+f"(v) : "f"(b));
        }}""",
}
_SOME = (0, 1, 16, 31, 32)
_PARTS = {"one": _SOME, "both": _SOME, "leave": (1, 2, 4, 8, 16, 32), "sync": _SOME}


def parted_source(how: str) -> str:
    """Return CUDA source of a loop of eight of the same."""
    add, multiply = (f"{each}.rn.f32 %0, %0, %1; " for each in ("add", "mul"))
    given = {
        "adds": add * _ADDS, "products": multiply * _ADDS, "few": add * (_ADDS // 4),
        "others": multiply * (_ADDS // 4),
    }  # fmt: skip
    body = [_BODIES[how].format(k=k, **given) for k in range(_EACH)]
    rest = "\n                                  const int* lanes, int turns"
    return timed_loop("parted", rest, _BEGIN, body)


def measure_parted(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per way to part, lanes or parts, and warps: cycles of the SM for each warp's."""
    open_gpu(device)
    import cupy

    rows = []
    with cupy.cuda.Device(device):
        zeros, sink = cupy.zeros(32, dtype=np.float32), cupy.zeros(1, dtype=np.float32)
        when = cupy.zeros(64, dtype=np.int64)
        for how, parts in _PARTS.items():
            kernel = cupy.RawModule(code=parted_source(how)).get_function("parted")
            for lanes in parts:
                each = cupy.full(8, lanes, np.int32)
                given = (when, sink, zeros, each, np.int32(_TURNS))
                for warps in (1, 4, 8, 16, 32):
                    least = least_cycles(kernel, given, when, warps)
                    rows.append(
                        {"how": how, "lanes": lanes, "warps": warps,
                         "cycles": round(least / (_TURNS * _EACH * warps), 3)}
                    )  # fmt: skip
    return rows
