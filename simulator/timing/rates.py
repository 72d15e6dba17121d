"""What instructions cost on a chip: pipe, published peak, measured interval and latency.

Three tables in `simulator/timing/data`, by compute capability. `pipes.csv`: the units of an SM, and
how many lanes each takes per cycle. `instructions.csv`: groups of opcodes, the pipes that execute
them, the results per cycle and SM that NVIDIA publishes, with the row's name there. `tensor.csv`:
multiply-adds per cycle and SM of matrix products; they follow from the white papers' dense TFLOPS,
boost clocks and SMs (A100: 312 at 1410 MHz, 108 SMs; H100: 989.4 at 1830 MHz, 132 SMs).

`interval` and `latency` were measured on an H100 (`gpu_check/data/h100_pipes.csv`, by
`python -m gpu_check.timing`); the column `measured` names the row. Bounds use peaks alone.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from types import MappingProxyType

import numpy as np

from simulator.errors import ChipError
from simulator.law.chips import Chip, ChipLike

__all__ = [
    "MATRIX_PRODUCTS",
    "Pipe",
    "Rate",
    "Rates",
    "between",
    "interpolated",
    "rates_of",
    "table",
]

WARP = 32
SUB_PARTITIONS = 4
"""Of an SM, each with a scheduler: since Volta."""

CAPABILITIES = (70, 75, 80, 86, 87, 89, 90)
"""Columns of the tables."""

MEASURED = 90
"""Intervals and latencies were measured on a chip of this capability."""


@dataclass(frozen=True)
class Pipe:
    """A unit of an SM."""

    name: str
    is_shared: bool
    """Whether the SM has one; otherwise each of its four sub-partitions has."""
    lanes: float
    """Lanes that it takes per cycle."""
    about: str

    @property
    def cycles(self) -> float:
        """Cycles for which an instruction of a warp holds it, at least."""
        return WARP / self.lanes


@dataclass(frozen=True)
class Rate:
    """What instructions of a group cost. Cycles are an SM's, per instruction of a warp.

    They are cycles of one sub-partition where the pipe is a sub-partition's.
    """

    group: str
    pipes: tuple[str, ...]
    """Names of the pipes that can execute it: one of them does."""
    peak: float | None
    """Least cycles, where all of the group's pipes work; None: not published."""
    held: float | None
    """Least cycles for which one of the pipes is held; None: not published."""
    interval: float | None
    """Cycles, measured; None: not measured for this chip."""
    latency: float | None
    """Cycles until its result can be read, measured without other load; None as above."""
    source: str
    """Where the peak is from."""


class Rates:
    """The tables for one chip.

    >>> h100 = rates_of("H100")
    >>> h100["FFMA"].pipes, h100["FFMA"].peak, h100["FFMA"].latency
    (('fmalite', 'fmaheavy'), 1.0, 4.0)
    >>> h100["IMAD.MOV.U32"].pipes, h100["MUFU.EX2"].peak, h100["LDS.128"].latency
    (('fmaheavy',), 8.0, 32.0)
    >>> h100["HMMA.16816.F32"].peak, h100["HMMA.16816.F32"].interval
    (4.0, 6.22)
    >>> h100["HGMMA.64x128x16.F32"].peak, rates_of("A100")["HMMA.16816.F32.BF16"].peak
    (64.0, 8.0)
    """

    def __init__(self, chip: Chip) -> None:
        if chip.capability not in CAPABILITIES:
            known = ", ".join(f"{each // 10}.{each % 10}" for each in CAPABILITIES)
            raise ChipError(
                f"{chip} has compute capability {chip.compute_capability}, whose pipes are not"
                f" known (accepted: a chip of one of {known})"
            )
        self.chip = chip
        self._column = str(chip.capability)

    @property
    def is_measured(self) -> bool:
        """Whether intervals and latencies are known, not peaks alone."""
        return self.chip.capability == MEASURED

    @cached_property
    def pipes(self) -> Mapping[str, Pipe]:
        """The pipes that the chip has, by name."""
        return MappingProxyType(
            {
                row["pipe"]: Pipe(
                    row["pipe"], row["scope"] == "SM", float(row[self._column]), row["what"]
                )
                for row in table("pipes")
                if float(row[self._column])
            }
        )

    @cached_property
    def _groups(self) -> dict[str, Rate]:
        """Rates by opcode, with modifiers where a row names them."""
        found = {}
        for row in table("instructions"):
            rate = self._rate(row)
            found.update(dict.fromkeys(row["opcodes"].split(), rate))
        return found

    def _rate(self, row: Mapping[str, str]) -> Rate:
        pipes = tuple(name for name in row["pipes"].split() if name in self.pipes)
        is_shared = not pipes or self.pipes[pipes[0]].is_shared
        results = _number(row[self._column])
        units = 1 if is_shared else SUB_PARTITIONS
        peak = None if results is None else WARP * units / results
        alone = len(pipes) < 2
        held = peak if alone or peak is None else max(self.pipes[name].cycles for name in pipes)
        return Rate(
            row["group"], pipes, peak, held,
            _number(row["interval"]) if self.is_measured else None,
            _number(row["latency"]) if self.is_measured else None,
            row["published"],
        )  # fmt: skip

    def __getitem__(self, opcode: str) -> Rate:
        """Return what a SASS opcode costs; one that is not known costs an issue slot."""
        product = _product(opcode)
        if product is not None:
            return self._tensor(opcode, *product)
        name, *modifiers = opcode.split(".")
        for modifier in (*modifiers[::-1], ""):
            found = self._groups.get(f"{name}.{modifier}" if modifier else name)
            if found is not None:
                return found
        return _OTHER

    def _tensor(self, opcode: str, type_: str, products: float) -> Rate:
        row = next(row for row in table("tensor") if row["type"] == type_)
        rate = _number(row[self._column])
        peak = None if rate is None else products / (rate / SUB_PARTITIONS)
        measured = next(
            (row for row in _TENSOR if opcode.startswith(row[0]) and self.is_measured), None
        )
        interval, latency = (peak, None) if measured is None else measured[1:]
        return Rate(
            f"matrix product, {type_}", ("tensor",), peak, peak,
            interval if self.is_measured else None, latency,
            "dense TFLOPS in NVIDIA's white papers, by SMs and boost clock",
        )  # fmt: skip


_OTHER = Rate("other", ("issue",), None, None, None, None, "")

_TENSOR = (
    ("HMMA.16816", 6.22, 24.15),
    ("HMMA.1688.F32.TF32", 6.22, 24.15),
    ("HMMA.1688", 4.21, 17.13),
    ("HMMA.1684", 4.21, 17.13),
    ("IMMA.16832", 6.22, 24.15),
    ("IMMA.16816", 4.2, 17.13),
    ("IMMA.8816", 4.14, 14.14),
    ("DMMA.8x8x4", 16.08, 26.12),
    ("DMMA.16x8x4", 16.11, 34.11),
    ("DMMA.16x8x8", 32.33, 50.14),
    ("DMMA.16x8x16", 64.3, 82.06),
)
"""Opcodes, cycles per instruction of a sub-partition, latency: h100_pipes.csv and, of IMMA of K 16
and DMMA, h100_matrices.csv."""


def rates_of(chip: ChipLike) -> Rates:
    """Return the tables for a chip.

    Raises ChipError for a chip that is not known, or whose pipes are not.
    """
    return _rates(Chip.of(chip))


@cache
def _rates(chip: Chip) -> Rates:
    return Rates(chip)


@cache
def table(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a table of `simulator/timing/data`."""
    text = files("simulator.timing").joinpath("data", f"{name}.csv").read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def between(
    rows: Sequence[Mapping[str, str]], level: str, at: float, along: str, to: float
) -> dict[str, float]:
    """Return a table's columns between its rows: first along one of them, then between levels.

    >>> between(table("local_near"), "passes", 8, "size", 0.288)
    {'held': 0.99}
    """
    levels = sorted({float(row[level]) for row in rows})
    each = [
        interpolated([row for row in rows if float(row[level]) == one], along, to) for one in levels
    ]
    return {
        column: float(np.interp(at, levels, [found[column] for found in each]))
        for column in each[0].keys() - {level}
    }


def interpolated(rows: Sequence[Mapping[str, str]], along: str, to: float) -> dict[str, float]:
    """Return the columns of a table's rows between them, by straight lines along one column.

    >>> interpolated(table("random_reads"), "share", 0.8)
    {'missed': 0.4, 'missed_sparse': 0.247}
    """
    xs = [float(row[along]) for row in rows]
    return {
        column: float(np.interp(to, xs, [float(row[column]) for row in rows]))
        for column in rows[0]
        if column not in (along, "chip", "source")
    }


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


@cache
def _product(opcode: str) -> tuple[str, float] | None:
    """Return the type and the multiply-adds, of one warp, of a matrix product; else None."""
    name, *modifiers = opcode.split(".")
    shapes = [each for each in modifiers if re.fullmatch(r"\d+x\d+x\d+|(8|16)8\d+", each)]
    if name not in MATRIX_PRODUCTS or not shapes:
        return None
    m, n, k = _shape(shapes[0])
    products = m * n * k / (4 if m == 64 else 1)  # a warpgroup's: four warps share it
    return _type(name, modifiers), products


MATRIX_PRODUCTS = ("HMMA", "IMMA", "BMMA", "DMMA", "HGMMA", "QGMMA", "IGMMA", "BGMMA")


def _shape(text: str) -> tuple[int, int, int]:
    """Read a shape.

    >>> _shape("16816"), _shape("884"), _shape("8x8x4"), _shape("64x256x16")
    ((16, 8, 16), (8, 8, 4), (8, 8, 4), (64, 256, 16))
    """
    if "x" in text:
        m, n, k = map(int, text.split("x"))
        return m, n, k
    wide = text.startswith("16")
    return (16 if wide else 8), 8, int(text[3:] if wide else text[2:])


def _type(name: str, modifiers: list[str]) -> str:
    if name in ("IMMA", "IGMMA"):
        is_small = any(each in ("S4", "U4") for each in modifiers)
        return "4-bit integers" if is_small else "8-bit integers"
    fixed = {"BMMA": "1-bit", "BGMMA": "1-bit", "DMMA": "f64", "QGMMA": "f8"}
    if name in fixed:
        return fixed[name]
    for each in ("BF16", "TF32"):
        if each in modifiers:
            return each.lower()
    return "f16"
