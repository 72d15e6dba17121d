"""Triton's texts against Triton: the bases that its own compiler gives for a layout.

Runs where Triton is installed (the extra `sass`, on Linux).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from layouts import Layout, LayoutError
from layouts.triton import read_triton

pytest.importorskip("triton", minversion="3.9")
gluon = pytest.importorskip("triton.experimental.gluon.language")


@pytest.fixture(scope="module")
def builder() -> Iterator[Any]:
    from triton._C.libtriton import gluon_ir, ir

    context = ir.context()
    ir.load_dialects(context)
    yield gluon_ir.GluonOpBuilder(context)  # noqa: PT022 - the context has to outlive it


def check(builder: Any, layout: Any, shape: list[int], bits: int = 16) -> None:
    """Compare the text that Triton prints for a tensor with the bases that it computes."""
    attribute = layout._to_ir(builder)
    element = {8: builder.get_int8_ty, 16: builder.get_half_ty, 32: builder.get_float_ty}[bits]()
    text = str(builder.get_shared_mem_desc_ty(element, shape, attribute, shape))
    read = read_triton(text)
    assert (read.shape, read.element) == (tuple(shape), bits // 8)
    if not isinstance(layout, gluon.PaddedSharedLayout):  # which has no such map
        wanted = builder.to_linear_layout(attribute, shape).offset_bases
        assert [list(base) for base in read.bases] == wanted
    try:
        found = Layout.parse(text)
    except LayoutError as error:
        assert "is not a layout behind one XOR swizzle" in str(error)  # noqa: PT017 - either is right
        return
    for row, col in product(range(0, shape[0], 37), range(0, shape[1], 29)):
        assert found(row, col) == read.offset(row, col)


@pytest.mark.parametrize("order", [[1, 0], [0, 1]])
@pytest.mark.parametrize("vec", [1, 4, 8, 16])
def test_swizzled_shared(builder: Any, vec: int, order: list[int]) -> None:
    for per_phase, phases in product([1, 2, 4], [1, 2, 4, 8]):
        for shape in ([64, 64], [16, 32], [8, 128], [128, 16]):
            check(builder, gluon.SwizzledSharedLayout(vec, per_phase, phases, order), shape)


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("width", [0, 32, 64, 128])
def test_nvmma_shared(builder: Any, width: int, bits: int) -> None:
    for shape, transposed in product(([64, 128], [512, 512], [256, 64]), (False, True)):
        if (shape[0] if transposed else shape[1]) * bits // 8 >= width:
            layout = gluon.NVMMASharedLayout(width, bits, transposed=transposed)
            check(builder, layout, shape, bits)


def test_padded_shared_and_shared_linear(builder: Any) -> None:
    for pairs, order in product(([[64, 8]], [[32, 4], [128, 8]], [[512, 2]]), ([1, 0], [0, 1])):
        check(builder, gluon.PaddedSharedLayout.with_identity_for(pairs, [64, 64], order), [64, 64])
    bases = [[0, 1], [0, 2], [2, 0], [1, 0]]
    check(builder, gluon.PaddedSharedLayout([[4, 1]], bases, [], [4, 4]), [4, 4])
    check(builder, gluon.SharedLinearLayout([[0, 1], [0, 2], [1, 0], [2, 2]]), [4, 4])
