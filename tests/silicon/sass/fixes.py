"""Kernels with conflicts, and what their diffs compile to: `python -m tests.silicon.sass.fixes`.

Compiles each source by NVRTC for sm_90 as it is and as `--fix-diff` changes it, and writes
fixes.json. The committed cubins are what was measured: rebuild them only to measure anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from simulator import replay_compiled
from simulator.fixing.patch import patch_of
from simulator.sass.arguments import argument

HERE = Path(__file__).parent
GEMMS = HERE.parents[2] / "gpu_check" / "cuda"

KERNELS: list[dict[str, Any]] = [
    {"source": HERE / "cuda" / "turn.cu", "kernel": "turn", "grid": [4, 4, 1], "block": [32, 8, 1],
     "args": ["random:f32[128,128]", "zeros:f32[128,128]", "i32=128"]},
    {"source": GEMMS / "vectorized.cu", "kernel": "vectorized"},
    {"source": GEMMS / "warptile.cu", "kernel": "warptile"},
]  # fmt: skip
RECORDED = {"vectorized": "vectorized_64", "warptile": "warptile_4x8"}


def build() -> None:
    known = {case["name"]: case for case in json.loads((HERE / "cases.json").read_text())}
    cases = []
    for each in KERNELS:
        launch = {**known.get(RECORDED.get(each["kernel"], ""), {}), **each}
        report = replay_compiled(
            launch["source"], kernel=launch["kernel"], grid=tuple(launch["grid"]),
            block=tuple(launch["block"]), define=launch.get("defines", {}),
            args=[argument(text, place) for place, text in enumerate(launch["args"])],
        )  # fmt: skip
        patch = patch_of([report])
        for suffix, made in ("", report), (" fixed", patch.reports[0]):
            name = f"{launch['kernel']}{suffix}"
            file = f"fix_{name.replace(' ', '_')}.cubin"
            assert made.rerun is not None
            (HERE / "cubins" / file).write_bytes(made.rerun.given["cubin"].image)
            cases.append(
                {"name": name, "source": launch["source"].name, "cubin": file,
                 "kernel": launch["kernel"], "grid": launch["grid"], "block": launch["block"],
                 "shared": 0, "args": launch["args"], "diff": patch.diff if suffix else ""}
            )  # fmt: skip
    (HERE / "fixes.json").write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    build()
