"""How often lanes can be told where they meet: BSSY and BSYNC among additions and branches.

As in `banks`, a compiled loop gets other machine code. Letters name its instructions: S is a BSSY,
Y the BSYNC that it speaks of, B a branch to the next instruction, F an FFMA of RZ; "*4": so many. W
is a YIELD, by which lanes give way to others of their warp. All lanes go the same way. `warps_N`:
cycles of a sub-partition per pattern, with N warps, for each.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled
from gpu_check.timing.banks import COUNT, FFMA, ZERO, banks_source, control_of, issued, run_of
from gpu_check.timing.banks_beside import tokens

__all__ = ["PATTERNS", "measure_converging", "with_branches"]

PATTERNS = (
    *(f"S F*{count} Y" for count in (1, 2, 5, 6, 8, 12, 16)),
    *(f"S F Y F*{count}" for count in (4, 8, 16)),
    *(f"S F {'B ' * count}Y" for count in (1, 2)),
    "S F Y B", "S F Y B B", *(f"F*{count} B" for count in (1, 2, 3, 6, 8, 16)),
    *(f"F*{count} W" for count in (1, 4, 8, 16, 24, 32, 64)),
)  # fmt: skip

_BRANCHES = {"S": 0x7945, "Y": 0x7941, "B": 0x7947, "W": 0x7946}
"""The low 16 bits of BSSY and BSYNC of B0, of BRA, and of YIELD."""
_OF_BRANCHES = 0x3800000
_FIRST = 63 << 52
"""Wait for all scoreboards: what the loop was compiled with waits for does not stand there."""


def with_branches(image: bytes, pattern: str) -> tuple[bytes, int]:
    """Return a cubin whose FFMAs are what a pattern says, and how often its loop has it."""
    words, runs, registers = run_of(image)
    each = tokens(pattern)
    times = len(runs) // len(each)
    for place, k in enumerate(runs):
        letter = each[place % len(each)] if place < times * len(each) else "F"
        control = control_of(5 if letter in "YBW" else 1)
        if letter == "F":
            target = next(registers.targets)
            words[k] = FFMA | target << 16 | ZERO << 24 | ZERO << 32
            words[k + 1] = ZERO | control
            continue
        behind = 0
        if letter == "S":  # bytes to what stands behind its BSYNC
            meets = runs[place + each[place % len(each) :].index("Y")]
            behind = 8 * (meets - k)
        words[k] = _BRANCHES[letter] | behind << 32
        words[k + 1] = _OF_BRANCHES | control
    words[runs[0] + 1] |= _FIRST
    return words.tobytes() + image[len(words) * 8 :], times


def measure_converging(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per pattern: cycles of a sub-partition, with 1, 2 and 4 warps."""
    open_gpu(device)
    import cupy

    rows: list[dict[str, Any]] = []
    with cupy.cuda.Device(device):
        with TemporaryDirectory() as folder:
            image = compiled(banks_source(), Path(folder))
        for pattern in PATTERNS:
            other, times = with_branches(image, pattern)
            # What is left of the loop belongs to all alike.
            rows.append({"pattern": pattern, **issued(other, COUNT / times, 3)})
    return rows
