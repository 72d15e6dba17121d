"""How long sweeps over arrays in local memory take that L1, or the L2, does not hold.

Each thread has `arrays` arrays, `words` in all, and passes over them `sweeps` times: `around` from
first to last each time, `turns` there and back, as Thomas's algorithm does. A sweep reads all and
writes the first array (`both`), reads alone, or writes alone. `global`: the same in global memory,
where each thread that is resident has a place of its own. `waves`: blocks per place.

`cycles` is the median of three processes; `active` is that of the mean SM, `warp_cycles` the sum of
all warps'. `l1` and `l1_hits` are sectors that are loaded, `l2_read` and `l2_written` what SMs ask
of the L2, `dram_read` and `dram_write` bytes. All launches are second ones.
`python -m gpu_check.timing.local_sweeps` is the process that ncu watches.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from gpu_check.counters import metrics_of, run_ncu
from gpu_check.hopper.runner import compiled

__all__ = ["CASES", "Sweeps", "measure_local_sweeps", "sweeps_source"]


class Sweeps(NamedTuple):
    """A launch."""

    where: str
    way: str
    does: str
    arrays: int
    words: int
    threads: int
    waves: int = 1
    sweeps: int = 8

    @property
    def name(self) -> str:
        """The kernel's name."""
        return f"sweeps_{self.where}_{self.way}_{self.does}_{self.arrays}_{self.words}"


_DOES = ("both", "reads", "writes")
_FEW, _MANY = 256, 2048
_SOURCE = """
extern "C" __global__ void {name}(float* out, float* far, int sweeps, int places) {{
    {box}
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i;
    #pragma unroll 1
    for (int k = 0; k < {words}; ++k) {at} = sum * k;
    #pragma unroll 1
    for (int sweep = 0; sweep < sweeps; ++sweep) {{
        #pragma unroll 8
        for (int k = 0; k < {length}; ++k) {{ {body} }}
        {turn}
    }}
    out[i] = sum + {end};
}}
"""
_LOCAL = "float box[{words}];"
_GLOBAL = (
    "float* box = far + (size_t)(blockIdx.x % places * blockDim.x + threadIdx.x) / 32 * {words}"
    " * 32 + threadIdx.x % 32;"
)
_TIMES = ["sm__cycles_elapsed.max", "sm__cycles_active.avg", "sm__warps_active.sum"]
_BYTES = ["dram__bytes_read.sum", "dram__bytes_write.sum"]
_OF_L1 = [
    f"l1tex__t_sectors_pipe_lsu_mem_{where}_op_ld{end}.sum"
    for where in ("local", "global")
    for end in ("", "_lookup_hit")
]
_OF_L2 = "lts__t_sectors_srcunit_tex_op"
_PROCESSES = 3
_BLOCK = {_FEW: 64, _MANY: 256}


def sweeps_source(case: Sweeps) -> str:
    """Return CUDA source of a kernel."""
    length = case.words // case.arrays

    def at(index: str) -> str:
        return f"box[{index}]" if case.where == "local" else f"box[({index}) * 32]"

    def body(k: str) -> str:
        if case.does == "writes":
            return f"{at(k)} = sum; sum = sum * 0.5f + 1.0f;"
        read = " + ".join(at(f"{k} + {length * each}") for each in range(case.arrays))
        write = f"{at(k)} = sum;" if case.does == "both" else ""
        return f"sum = sum * 0.5f + ({read}); {write}"

    back = (
        f"if (++sweep < sweeps) {{\n        #pragma unroll 8\n        for (int k = {length - 1};"
        f" k >= 0; --k) {{ {body('k')} }} }}"
    )
    return _SOURCE.format(
        name=case.name, box=(_LOCAL if case.where == "local" else _GLOBAL).format(words=case.words),
        words=case.words, at=at("k"), length=length, body=body("k"),
        turn=back if case.way == "turns" else "", end=at(f"(i + sweeps) % {case.words}"),
    )  # fmt: skip


def _cases() -> list[Sweeps]:
    found = []
    for words in (64, 128, 192, 256, 320, 384, 448, 512, 1024, 2048):
        found += [Sweeps("local", "turns", does, 1, words, _FEW) for does in _DOES]
        found += [Sweeps("local", "around", does, 1, words, _FEW) for does in _DOES[:2]]
    for words in (192, 288, 384, 480, 1056):
        found.append(Sweeps("local", "turns", "both", 3, words, _FEW))
    for words in (16, 24, 32, 40, 48, 64, 128, 256):
        found += [Sweeps("local", "turns", does, 1, words, _MANY) for does in _DOES]
        found.append(Sweeps("local", "around", "both", 1, words, _MANY))
    for words in (16, 32, 40, 48, 64):
        for waves in (2, 4):
            found += [Sweeps("local", "turns", does, 1, words, _MANY, waves) for does in _DOES]
    for words in (256, 384, 512, 1024):
        for way in ("turns", "around"):
            found.append(Sweeps("global", way, "both", 1, words, _FEW))
    for sweeps in (2, 24):
        found += [
            Sweeps("local", "turns", "both", 1, words, _FEW, 1, sweeps) for words in (384, 512)
        ]
    return found


CASES = _cases()


def measure_local_sweeps(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per element of CASES.

    Raises CountersError as `count_on_gpu` does.
    """
    with TemporaryDirectory() as folder:
        sources = {case.name: sweeps_source(case) for case in CASES}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            images = pool.map(lambda source: compiled(source, Path(folder)), sources.values())
            for name, image in zip(sources, images, strict=True):
                Path(folder, f"{name}.cubin").write_bytes(image)
        command = [sys.executable, "-m", "gpu_check.timing.local_sweeps", folder, str(device)]

        def watched(metrics: list[str]) -> list[list[int]]:
            seen = run_ncu(command, metrics, "regex:^sweeps")[1::2]
            return [metrics_of(row, metrics) for row in seen]

        timed = [watched(_TIMES) for _ in range(_PROCESSES)]
        moved = watched(_BYTES)
        asked = watched([f"{_OF_L2}_{each}.sum" for each in ("read", "write")])
        found = watched(_OF_L1)
    rows = []
    for place, case in enumerate(CASES):
        elapsed = sorted(run[place][0] for run in timed)
        active, warps = (median(run[place][each] for run in timed) for each in (1, 2))
        l1, hits = found[place][:2] if case.where == "local" else found[place][2:]
        rows.append(
            {"where": case.where, "way": case.way, "does": case.does, "arrays": case.arrays,
             "words": case.words, "threads": case.threads, "waves": case.waves,
             "sweeps": case.sweeps, "cycles": median(elapsed), "least": elapsed[0],
             "most": elapsed[-1], "active": active, "warp_cycles": warps,
             "l1": l1, "l1_hits": hits, "l2_read": asked[place][0], "l2_written": asked[place][1],
             "dram_read": moved[place][0], "dram_write": moved[place][1]}
        )  # fmt: skip
    return rows


def _launch(folder: str, device: int) -> None:
    import cupy

    with cupy.cuda.Device(device) as chosen:
        sms = chosen.attributes["MultiProcessorCount"]
        out = cupy.zeros(sms * _MANY * 4, dtype=cupy.float32)
        far = cupy.zeros(sms * _FEW * 1024, dtype=cupy.float32)
        for case in CASES:
            module = cupy.RawModule(path=str(Path(folder, f"{case.name}.cubin")))
            kernel = module.get_function(case.name)
            block = _BLOCK[case.threads]
            places = sms * case.threads // block
            given = (out, far, cupy.int32(case.sweeps), cupy.int32(places))
            for _ in range(2):
                kernel((places * case.waves,), (block,), given)
            chosen.synchronize()


if __name__ == "__main__":
    _launch(sys.argv[1], int(sys.argv[2]))
