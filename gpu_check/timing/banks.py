"""How often an FFMA can be issued, by the registers that it reads: machine code with other numbers.

The assembler chooses registers so that they do not meet. Here the FFMAs of a compiled loop get
other source registers and reuse bits, of all residues modulo four, and stall counts; nothing else
is changed. Of several warps, all do the same: where one pauses, others go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled

__all__ = [
    "COUNT",
    "FFMA",
    "PATTERNS",
    "ZERO",
    "Registers",
    "banks_source",
    "control_of",
    "issued",
    "loop_of",
    "measure_banks",
    "rewritten",
    "run_of",
]

COUNT, _TURNS = 256, 32
"""FFMAs of the loop, and its turns."""
ZERO = 255
"""The register that is zero, and is not read."""
FFMA = 0x7223
"""The low 16 bits of an FFMA of three registers, without a guard."""

_SOURCE = """
extern "C" __global__ void __launch_bounds__(512) banks(long long* when, float* sink,
                                                       const float* zeros, int turns) {{
    float d[16], s[16];
    for (int k = 0; k < 16; ++k) {{ s[k] = zeros[k + threadIdx.x & 31]; d[k] = k; }}
    long long start = 0;
    #pragma unroll 1
    for (int turn = -1; turn < turns; ++turn) {{
        if (turn == 0) {{ __syncthreads(); start = clock64(); }}
        {body}
    }}
    const long long end = clock64();
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += d[k] + s[k];
    if (sum == 12345) *sink = sum;
    if ((threadIdx.x & 31) == 0) {{
        when[2 * (threadIdx.x / 32)] = start; when[2 * (threadIdx.x / 32) + 1] = end;
    }}
}}
"""

Read = tuple[tuple[int | None, int | None, int | None], int, int]
"""Residues modulo four of three sources (None: RZ), reuse bits, and the stall count."""

_EVEN: Read = ((1, 0, 2), 0, 1)
_ODD: Read = ((0, 1, 3), 0, 1)
_NONE: Read = ((None, None, None), 0, 1)


def _kept(stall: int) -> Read:
    return ((0, 2, 1), 0b101, stall)


PATTERNS: dict[str, list[Read]] = {
    "0 1 2": [((0, 1, 2), 0, 1)],
    "0 1 3": [((0, 1, 3), 0, 1)],
    "0 0 1": [((0, 0, 1), 0, 1)],
    "0 2 1": [((0, 2, 1), 0, 1)],
    "1 3 0": [((1, 3, 0), 0, 1)],
    "0 0 0": [((0, 0, 0), 0, 1)],
    "0 2 0": [((0, 2, 0), 0, 1)],
    "0 0 2": [((0, 0, 2), 0, 1)],
    "1 1 1": [((1, 1, 1), 0, 1)],
    "1 3 1": [((1, 3, 1), 0, 1)],
    "0 0 0, then 0 1 2": [((0, 0, 0), 0, 1), ((0, 1, 2), 0, 1)],
    "0 0 0, then 1 1 1": [((0, 0, 0), 0, 1), ((1, 1, 1), 0, 1)],
    "0 0 0, then 0 1 2 three times": [((0, 0, 0), 0, 1), *[((0, 1, 2), 0, 1)] * 3],
    "0 0 0, the first kept": [((0, 0, 0), 1, 1)],
    "0 0 0, the first two kept": [((0, 0, 0), 3, 1)],
    "0 1 0, the first two kept": [((0, 1, 0), 3, 1)],
    # Two of one bank, then two of the other: what is read beside what.
    "1 0 2, then 0 1 3": [_EVEN, _ODD],
    "1 0 2 twice, then 0 1 3 twice": [_EVEN] * 2 + [_ODD] * 2,
    "1 0 2 three times, then 0 1 3 three times": [_EVEN] * 3 + [_ODD] * 3,
    "1 0 2 five times, then 0 1 3 three times": [_EVEN] * 5 + [_ODD] * 3,
    "1 0 2 eight times, then 0 1 3 eight times": [_EVEN] * 8 + [_ODD] * 8,
    "1 0 2, then none": [_EVEN, _NONE],
    "1 0 2 twice, then none twice": [_EVEN] * 2 + [_NONE] * 2,
    "1 0 2 four times, then none four times": [_EVEN] * 4 + [_NONE] * 4,
    "0 0 0, then none": [((0, 0, 0), 0, 1), _NONE],
    "0 0 0, then none twice": [((0, 0, 0), 0, 1), _NONE, _NONE],
    # What is kept where other warps come between, and what a wait for a bank does to stall counts.
    **{
        f"0 2 1, the first and the third kept: {count} at once, then a stall count of {stall}": [
            *[_kept(1)] * (count - 1),
            _kept(stall),
        ]
        for count, stall in (
            (1, 1),
            (1, 2),
            (1, 3),
            (1, 4),
            (2, 2),
            (4, 2),
            (4, 4),
            (8, 2),
            (16, 4),
        )
    },
    **{
        f"1 0 2 twice, the second with a stall count of {stall}": [_EVEN, (*_EVEN[:2], stall)]
        for stall in (2, 3, 4, 5, 6)
    },
}
"""What successive FFMAs read."""


def banks_source() -> str:
    """Return CUDA source of a loop of FFMAs."""
    one = 'asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(d[{d}]) : "f"(s[{a}]), "f"(s[{b}]));'
    body = [one.format(d=k % 16, a=k * 3 % 16, b=(k * 3 + 1) % 16) for k in range(COUNT)]
    return _SOURCE.format(body="\n        ".join(body))


class Registers(NamedTuple):
    """Those that a loop uses. Half of them are read, in turn, the others written."""

    of: list[Iterator[int]]
    """By residue modulo four: the next one that is read."""
    fixed: dict[tuple[int, int], int]
    """By place and residue: the one that is read each time."""
    targets: Iterator[int]


def loop_of(image: bytes) -> tuple[NDArray[np.uint64], list[int]]:
    """Return a cubin's words, and where the FFMAs of its loop stand among them."""
    words = np.frombuffer(image[: len(image) // 8 * 8], dtype="<u8").copy()
    at = [k for k in range(len(words) - 1) if words[k] & 0xFFFF == FFMA]
    return words, [k for k in at if k + 2 in at or k - 2 in at]


def run_of(image: bytes) -> tuple[NDArray[np.uint64], list[int], Registers]:
    """Return a cubin's words, where its loop's FFMAs stand among them, and their registers."""
    words, runs = loop_of(image)
    every = sorted({int(words[k] >> shift & 0xFF) for k in runs for shift in (16, 24, 32)})
    parts = [[r for r in every if r % 4 == n] for n in range(4)]
    of: list[Iterator[int]] = [cycle(part[: len(part) // 2]) for part in parts]
    fixed = {(place, n): next(of[n]) for place in range(3) for n in range(4)}
    targets = cycle([r for part in parts for r in part[len(part) // 2 :]])
    return words, runs, Registers(of, fixed, targets)


def control_of(stall: int) -> int:
    """Return the control bits of an instruction with a stall count, no hint and no scoreboards."""
    return stall << 41 | 1 << 45 | 7 << 46 | 7 << 49


def rewritten(image: bytes, pattern: list[Read]) -> bytes:
    """Return a cubin whose FFMAs read registers of these residues, and have these stall counts.

    One that is kept is the same all the time.
    """
    words, runs, registers = run_of(image)
    for turn, k in enumerate(runs):
        residues, reuse, stall = pattern[turn % len(pattern)]
        a, b, c = (
            ZERO if n is None
            else registers.fixed[place, n] if reuse >> place & 1
            else next(registers.of[n])
            for place, n in enumerate(residues)
        )  # fmt: skip
        low, high = int(words[k]), int(words[k + 1])
        low = low & ~(0xFFFFFF << 16) | next(registers.targets) << 16 | a << 24 | b << 32
        high = high & ~0xFF & ~(0xF << 58) & ~(0xF << 41) | c | reuse << 58 | stall << 41
        words[k], words[k + 1] = low, high
    return words.tobytes() + image[len(words) * 8 :]


def measure_banks(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per pattern: cycles per FFMA of a sub-partition with 1, 2 and 4 warps of it."""
    open_gpu(device)
    import cupy

    with cupy.cuda.Device(device):
        with TemporaryDirectory() as folder:
            image = compiled(banks_source(), Path(folder))
        return [
            {"registers": name, **issued(rewritten(image, pattern), 1, 4)}
            for name, pattern in PATTERNS.items()
        ]


def issued(image: bytes, count: float, digits: int) -> dict[str, float]:
    """Return the cycles that `count` instructions of the loop take, by how many warps issue."""
    import cupy

    zeros, sink = cupy.zeros(32, dtype=np.float32), cupy.zeros(1, dtype=np.float32)
    when = cupy.zeros(64, dtype=np.int64)
    module = cupy.cuda.function.Module()
    module.load(image)
    kernel = module.get_function("banks")
    found = {}
    for warps in (4, 8, 16):
        least = float("inf")
        for _ in range(4):
            kernel((1,), (32 * warps,), (when, sink, zeros, np.int32(_TURNS)))
            times = when.get()[: 2 * warps]
            elapsed = int(times[1::2].max() - times[0::2].min())
            least = min(least, elapsed / (_TURNS * COUNT * (warps // 4)))
        found[f"warps_{warps // 4}"] = round(least * count, digits)
    return found
