"""Products of warpgroups: their kernels hold what is timed, and clocks are told from a barrier."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gpu_check.hopper.runner import compiled
from gpu_check.timing import products_traced as traced
from gpu_check.timing.product_kernels import STREAMS
from gpu_check.timing.products_beside import beside_source
from simulator.sass.code.nvdisasm import SassInstruction, disassemble
from tests.sass_kernels import needs_compiler, needs_tools

WORDS = {
    "products of 64 bits": ["IMAD.WIDE.U32"],
    "products of 64 bits alone": ["IMAD.WIDE.U32"],
    "products of 64 bits in parts": ["IMAD.WIDE.U32", "IADD3", "carry"],
    "products of integers": ["IMAD"],
    "maxima": ["FMNMX"],
    "none": [],
}
"""Opcodes of a step."""


@lru_cache
def kernel(source: str, name: str, folder: Path) -> tuple[SassInstruction, ...]:
    return tuple(disassemble(compiled(source, folder), name))


def clocks(found: tuple[SassInstruction, ...]) -> list[int]:
    return [k for k, each in enumerate(found) if "SR_CLOCKLO" in each.operands]


@needs_tools
@needs_compiler
@pytest.mark.parametrize("work", WORDS)
@pytest.mark.parametrize("form", ["f16 f32 SS", "f16 f16 SS"])
def test_nothing_but_an_instruction_is_between_two_clocks(
    work: str, form: str, tmp_path: Path
) -> None:
    found = kernel(traced.traced_source(128, form, 8, work), "traced", tmp_path)
    places = clocks(found)
    assert len(places) == 3 + traced.STEPS + 1
    begin, issued, *steps, _ = places
    for first, last in pairwise(steps):
        opcodes = [each.opcode for each in found[first + 1 : last]]
        shown = ["carry" if each in ("IMAD.X", "IADD3.X") else each for each in opcodes]
        assert shown == WORDS[work]
    products = [each.opcode.split(".")[0] for each in found[begin:issued]]
    assert Counter(products)["HGMMA"] == 8
    assert sum(each.opcode.startswith("BAR.SYNC") for each in found[begin - 5 : begin]) == 2


@needs_tools
@needs_compiler
@pytest.mark.parametrize(
    ("work", "adds"),
    [("products of 64 bits", True), ("products of 64 bits alone", False),
     ("products of 64 bits in parts", False)],
)  # fmt: skip
def test_a_product_of_64_bits_adds_where_its_name_says_so(
    work: str, adds: bool, tmp_path: Path
) -> None:
    """The compiler had taken products and their sums apart, and low words alone for products."""
    for source, name in (
        (traced.traced_source(128, "f16 f32 SS", 8, work), "traced"),
        (beside_source(128, "f16 f32 SS", work), "beside"),
    ):
        found = [each for each in kernel(source, name, tmp_path) if each.opcode == "IMAD.WIDE.U32"]
        assert len(found) == 32
        assert {not each.operands.endswith("RZ") for each in found} == {adds}
    assert work in STREAMS


@needs_tools
@needs_compiler
@pytest.mark.parametrize(
    ("n", "form", "count"),
    [(64, "f16 f32 SS", 1), (128, "f16 f32 RS", 6), (128, "f16 f16 SS", 8),
     pytest.param(256, "f16 f32 SS", 12, marks=pytest.mark.slow)],
)  # fmt: skip
def test_nothing_waits_between_products_that_are_issued(
    n: int, form: str, count: int, tmp_path: Path
) -> None:
    found = kernel(traced.issued_source(n, form, count), "issued", tmp_path)
    begin, issued, done = clocks(found)
    opcodes = [each.opcode for each in found]
    assert sum(each.startswith("HGMMA") for each in opcodes[begin:issued]) == count
    assert not any("DEPBAR" in each for each in opcodes[begin:issued])
    assert any("DEPBAR" in each for each in opcodes[issued:done])


def test_clocks_are_told_from_the_last_warp_though_they_begin_anew() -> None:
    told = np.array([[2.0**32 - 4, 10, 20], [2.0**32 - 10, 8, 18], [1, 9, 30]])
    assert traced._since(told).tolist() == [[-5, 9, 19], [-11, 7, 17], [0, 8, 29]]


def test_the_first_of_two_warpgroups_is_the_one_that_issues_sooner() -> None:
    run = np.zeros((8, 3 + traced.STEPS + 1))
    run[0, 1], run[4, 1] = 300, 200
    run[0, 3:], run[4, 3:] = 301, 201
    found = traced._steps("both", [run, run[[4, 1, 2, 3, 0, 5, 6, 7]]])
    assert {name: set(each.ravel()) for name, each in found.items()} == {
        "first of both": {201}, "last of both": {301},
    }  # fmt: skip
    assert set(traced._steps("own", [run])["own"].ravel()) == {301}
    assert set(traced._steps("other", [run])["other"].ravel()) == {201}
