"""Three ways for a warp to read its part of B, in one page.

    python examples/warp_shapes.py [FOLDER]

A 2×16 warp whose lanes read 8 neighbouring floats conflicts with itself; a 4×8 warp does not, and
neither does the 2×16 warp once each thread's tile is split in four. The geometry is that of 猛猿,
从啥也不会到CUDA GEMM优化, https://zhuanlan.zhihu.com/p/703256080, chapter 5.2.
"""

import sys
from pathlib import Path

from bankwise import simulate
from viz import report

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
warps = [
    simulate("2x16", lane_order="row-major"),
    simulate("4x8"),
    simulate("2x16", lane_order="row-major", fragment="split"),
]
for warp in warps:
    print(f"{warp.title}: {warp['B'].wavefronts} wavefronts for B")
page = folder / "warp_shapes.html"
report(*warps, file=page, title="Which warp shape?", force=True)
print(f"Wrote {page}")
