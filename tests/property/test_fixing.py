"""Random affine kernels: a fix is a bijection, keeps every bit, and is never worse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from random import Random

import numpy as np
import pytest

from simulator import replay_compiled
from tests.sass_kernels import needs_compiler

pytestmark = needs_compiler

EACH = 6
"""Kernels of one source, which is compiled once."""

TYPES = {
    "unsigned char": np.uint8, "short": np.int16, "float": np.float32, "double": np.float64,
}  # fmt: skip


@dataclass(frozen=True)
class Generated:
    """A kernel that stores n elements at one affine place each, and loads them from another.

    A place is factor·i + start, or, with the factor 0, that of the matrix turned.
    """

    name: str
    kind: str
    rows: int
    cols: int
    threads: int
    stored: tuple[int, int]
    loaded: tuple[int, int]
    flat: bool

    @property
    def count(self) -> int:
        return self.rows * self.cols

    def place(self, factor: tuple[int, int]) -> str:
        index = f"(unsigned)(i * {factor[0]} + {factor[1]}) % {self.count}"
        if not factor[0]:
            index = f"(i % {self.rows} * {self.cols} + i / {self.rows})"
        if self.flat:
            return f"s[{index}]"
        return f"s[{index} / {self.cols}][{index} % {self.cols}]"

    @property
    def source(self) -> str:
        sizes = f"[{self.count}]" if self.flat else f"[{self.rows}][{self.cols}]"
        return (
            f'extern "C" __global__ void {self.name}(const {self.kind} *in, {self.kind} *out) {{\n'
            f"  __shared__ {self.kind} s{sizes};\n"
            f"  for (int i = threadIdx.x; i < {self.count}; i += {self.threads})\n"
            f"    {self.place(self.stored)} = in[i];\n"
            "  __syncthreads();\n"
            f"  for (int i = threadIdx.x; i < {self.count}; i += {self.threads})\n"
            f"    out[i] = {self.place(self.loaded)};\n}}\n"
        )

    def expected(self, given: np.ndarray) -> np.ndarray:
        held = np.empty_like(given)
        held[self.places(self.stored)] = given
        return held[self.places(self.loaded)]

    def places(self, factor: tuple[int, int]) -> np.ndarray:
        index = np.arange(self.count)
        if not factor[0]:
            return index % self.rows * self.cols + index // self.rows
        return (index * factor[0] + factor[1]) % self.count


def generated(random: Random, name: str) -> Generated:
    rows, cols = random.choice([8, 16, 32, 64]), random.choice([16, 24, 32, 33, 48, 64])
    count = rows * cols

    def factor() -> tuple[int, int]:
        if random.random() < 0.3:
            return 0, 0
        likely = [1, cols, rows, 2 * cols, 3, 17, 31, 33, random.randrange(1, count)]
        chosen = random.choice(likely)
        while gcd(chosen, count) != 1:  # each element once
            chosen += 1
        return chosen, random.choice([0, 0, 1, random.randrange(count)])

    return Generated(
        name, random.choice(list(TYPES)), rows, cols, random.choice([32, 64, 128, 256]), factor(),
        factor(), random.random() < 0.3,
    )  # fmt: skip


@lru_cache(maxsize=1)
def batch(seed: int) -> tuple[tuple[Generated, ...], str]:
    random = Random(seed)  # noqa: S311 - kernels, not secrets
    kernels = tuple(generated(random, f"affine_{number}") for number in range(EACH))
    return kernels, "".join(each.source for each in kernels)


def check(number: int) -> None:
    kernels, source = batch(number // EACH)
    kernel = kernels[number % EACH]
    kind = TYPES[kernel.kind]
    given = (np.arange(kernel.count) * 7 % 251).astype(kind)
    report = replay_compiled(
        source, kernel=kernel.name, grid=1, block=kernel.threads,
        args=[given, np.zeros(kernel.count, kind)],
    )  # fmt: skip
    assert report.outputs[1].tobytes() == kernel.expected(given).tobytes()
    was = report.totals()["all"]
    fixes = report.fixes()
    assert bool(fixes) == bool(was["bank_conflicts"])
    for first in fixes:
        for fix in (first, *first.alternatives):
            assert fix.outputs_equal
            assert fix.after.bank_conflicts <= fix.before.bank_conflicts
            assert fix.after.wavefronts <= fix.before.wavefronts
            if not fix.text:
                assert fix.after == fix.before
                continue
            assert fix.candidate is not None
            table = fix.candidate.table
            assert len(np.unique(table)) == len(table) == fix.bytes_before
            assert 0 <= table.min() <= table.max() < fix.bytes_after
            made = report.fixed([fix])
            assert made.outputs[1].tobytes() == report.outputs[1].tobytes()
            assert made.totals()["all"]["bank_conflicts"] == fix.after.bank_conflicts


@pytest.mark.parametrize("number", range(12))
def test_a_fix_of_an_affine_kernel_is_a_bijection_and_no_worse(number: int) -> None:
    check(number)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(12, 212))
def test_fixes_of_200_affine_kernels_are_bijections_and_no_worse(number: int) -> None:
    check(number)
