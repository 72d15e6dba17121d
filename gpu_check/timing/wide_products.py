"""How long products of 64 bits hold up their warp: machine code of other instructions.

The FFMAs of a compiled loop become a pattern, over and over: an instruction (`before`, with a stall
count of `gap`), a product (`stall`), and SHF with 5. `reads`: what the product takes of the one
before it: a `factor`, what it adds (`addend`), or nothing. Without one before, the product and SHF
alone. Cycles of a sub-partition per pattern and warp, with 1, 2 and 4 warps.
"""

from __future__ import annotations

from itertools import cycle, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpu_check.device import open_gpu
from gpu_check.hopper.runner import compiled
from gpu_check.timing.banks import ZERO, banks_source, issued
from gpu_check.timing.dispatching import (
    Instruction,
    kinds,
    placed,
    register_pairs,
    templates_source,
)

__all__ = ["measure_wide_products"]

_WIDE = ("IMAD.WIDE", "IMAD.HI")
_CASES: list[tuple[str, int, str, str, int]] = [
    *(("", 0, "", name, stall) for name in _WIDE for stall in (1, 2, 3, 4, 5, 6, 8, 10)),
    *product(("IMAD", "FFMA", "IADD3"), (4, 5, 6, 7, 8), ("", "factor"), ("IMAD.WIDE",), (5,)),
    *product(("IMAD",), (4, 6, 8), ("factor",), ("IMAD.HI",), (5,)),
    *product(("IMAD",), (4, 6, 8), ("addend",), ("IMAD.WIDE",), (5,)),
    *product(("IMAD.WIDE",), (4, 6, 8, 10), ("factor",), ("IMAD.WIDE",), (5,)),
]
"""before, gap, reads, the product, and its stall count."""


def _pattern(case: tuple[str, int, str, str, int], pairs: list[int]) -> list[Instruction]:
    """Return the instructions of a case; `pairs`: even registers whose next one is free, too."""
    before, gap, reads, name, stall = case
    made, other, first, second, third, shifted, last, sum_ = pairs[:8]
    found: list[Instruction] = []
    if before:
        found.append((before, made, first, second + 1, third, gap))
    factor = made if reads == "factor" else other
    if reads == "factor" and before == "IMAD.WIDE":
        factor += 1
    addend = made if reads == "addend" else ZERO
    found.append((name, sum_, factor, second + 1, addend, stall))
    return [*found, ("SHF", last, shifted, third + 1, ZERO, 5)]


def _repeated(
    image: bytes, forms: dict[str, tuple[int, int]], case: tuple[str, int, str, str, int]
) -> tuple[bytes, int]:
    """Return a cubin whose loop repeats a case, and how many instructions that has."""
    pattern = _pattern(case, register_pairs(image))
    return placed(image, forms, cycle(pattern)), len(pattern)


def measure_wide_products(device: int = 0) -> list[dict[str, Any]]:
    """Return a row per case."""
    open_gpu(device)
    import cupy

    with cupy.cuda.Device(device), TemporaryDirectory() as folder:
        image = compiled(banks_source(), Path(folder))
        forms = kinds(compiled(templates_source(), Path(folder)))
        names = ("before", "gap", "reads", "product", "stall")
        return [
            {**dict(zip(names, case, strict=True)), **issued(*_repeated(image, forms, case), 2)}
            for case in _CASES
        ]
