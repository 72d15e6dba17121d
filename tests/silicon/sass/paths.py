"""Warps whose lanes part: `python -m tests.silicon.sass.paths`.

Compiles cuda/paths.cu by NVRTC for sm_90, and writes paths.json: launches of a warp or a few, by
lanes that go one way, and by numbers of which each lane's turns follow. Two kernels of the timed
sets that execute YIELD are among them, with smaller grids. The committed cubin is what was
measured: rebuild it only to measure anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from simulator import replay_compiled
from simulator.sass.arguments import argument

HERE = Path(__file__).parent
SOURCE = HERE / "cuda" / "paths.cu"
LOG = "zeros:u32[32768]"
FAR = "zeros:u32[4096]"
MASKS = {"one": 1, "last": -(1 << 31), "low": 0xFFFF, "high": -(1 << 16), "even": 0x55555555,
         "few": 0x7, "most": -2}  # fmt: skip


def case(name: str, kernel: str, *args: str, warps: int = 1) -> dict[str, Any]:
    return {
        "name": name, "source": SOURCE.name, "cubin": "paths.cubin", "kernel": kernel,
        "grid": [1, 1, 1], "block": [32 * warps, 1, 1], "shared": 0, "args": [LOG, *args],
    }  # fmt: skip


def numbers(times: int, modulus: int) -> tuple[str, str]:
    return f"i32={times}", f"i32={modulus}"


def timed(name: str, kernel: str, cubin: str, grid: int, args: list[str]) -> dict[str, Any]:
    return {
        "name": name, "source": "", "cubin": f"../../timed/cubins/{cubin}.cubin",
        "kernel": kernel, "grid": [grid, 1, 1], "block": [256, 1, 1], "shared": 0, "args": args,
    }  # fmt: skip


CASES = [
    *(case(f"sides {name}", "sides", f"i32={mask}") for name, mask in MASKS.items()),
    *(case(f"loads {name}", "loads", f"i32={mask}", FAR) for name, mask in MASKS.items()),
    *(case(f"trips {a} {b}", "trips", *numbers(a, b)) for a, b in ((1, 32), (5, 7))),
    *(case(f"probes {a} {b} {rounds}", "probes", *numbers(a, b), f"i32={rounds}")
      for a, b, rounds in ((5, 16, 1), (5, 16, 2), (1, 8, 2), (7, 40, 3), (1, 2, 2), (37, 128, 2))),
    case("probes of 8 warps", "probes", *numbers(7, 24), "i32=3", warps=8),
    *(case(f"search {a} {b}", "search_only", *numbers(a, b))
      for a, b in ((5, 16), (1, 4), (7, 24))),
    *(case(f"locks {b}", "locks", f"i32={b}") for b in (1, 4, 11)),
    *(case(f"held {b}", "held", f"i32={b}") for b in (4, 11, 1)),
    *(case(f"flags {name}", "flags", f"i32={MASKS[name]}") for name in ("one", "high", "most")),
    *(case(f"leaves {a} {b}", "leaves", *numbers(a, b)) for a, b in ((1, 7), (5, 19), (3, 32))),
    *(case(f"ends {a} {b}", "ends", *numbers(a, b)) for a, b in ((1, 8), (5, 7))),
    *(case(f"ways {a} {b}", "ways", *numbers(a, b)) for a, b in ((1, 8), (5, 11), (3, 4))),
    *(case(f"calls {name} {depth}", "calls", f"i32={MASKS[name]}", f"i32={depth}")
      for name, depth in (("even", 1), ("low", 2), ("few", 4))),
    timed("sparse square", "sparse_square", "sixteenth_bodies", 32,
          ["random:u32[8192]", "random:f32[8192]", "zeros:i32[65536]", "zeros:f32[65536]",
           "zeros:i32[1024]", "i32=1024"]),
    timed("routed", "routed", "twelfth_elements", 2,
          ["random:f32[32768]", "zeros:f32[1024]", "zeros:i32[1024]", "zeros:u32[256]", "i32=512"]),
]  # fmt: skip


def build() -> None:
    report = replay_compiled(
        SOURCE, kernel="sides", grid=1, block=32, arch="sm_90",
        args=[argument(LOG, 0), argument("i32=1", 1)],
    )  # fmt: skip
    assert report.rerun is not None
    (HERE / "cubins" / "paths.cubin").write_bytes(report.rerun.given["cubin"].image)
    (HERE / "paths.json").write_text(json.dumps(CASES, indent=1) + "\n")


if __name__ == "__main__":
    build()
