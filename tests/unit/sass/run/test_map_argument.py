"""TensorMap over NumPy arrays: what it encodes, and every rule that it names."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from simulator.errors import BankwiseError, LaunchError, TensorMapError
from simulator.sass.run.map_argument import TensorMap
from simulator.sass.run.map_fields import MapFields
from simulator.sass.run.tensor_map import decode
from tests.unit.sass.run.test_tensor_map import accepted_rows, fields_of

NUMPY = {"bfloat16": ml_dtypes.bfloat16, "float32_ftz": np.float32, "tfloat32": np.float32,
         "tfloat32_ftz": np.float32}  # fmt: skip


def array_of(fields: MapFields) -> np.ndarray[Any, Any]:
    """An array of the recorded sizes and strides; one element of memory, never touched."""
    one = np.zeros(1, NUMPY.get(fields.element, fields.element))
    return as_strided(
        one, fields.sizes[::-1], (*fields.strides[::-1], fields.itemsize), writeable=False
    )


def test_the_bytes_equal_the_drivers_for_every_recorded_array() -> None:
    seen = 0
    for row in accepted_rows():
        fields = fields_of(row)
        try:
            array = array_of(fields)
        except ValueError:  # larger than NumPy's address space
            continue
        options: dict[str, Any] = {
            name: getattr(fields, name)
            for name in ("swizzle", "interleave", "fill", "l2_promotion", "element")
        }
        options["element_strides"] = fields.element_strides[::-1]
        if fields.kind == "tiled":
            made = TensorMap(array, fields.box[::-1], **options)
        else:
            made = TensorMap.im2col(
                array, fields.channels, fields.pixels, lower=fields.lower[::-1],
                upper=fields.upper[::-1], **options,
            )  # fmt: skip
        assert made.encode(fields.address).hex() == row["bytes"], row
        seen += 1
    assert seen > 1200


@pytest.mark.parametrize(
    ("dtype", "element"),
    [
        (np.float16, "float16"), (ml_dtypes.bfloat16, "bfloat16"), (np.float32, "float32"),
        (np.int8, "uint8"), (np.bool_, "uint8"), (ml_dtypes.float8_e4m3fn, "uint8"),
        (ml_dtypes.float8_e5m2, "uint8"), (np.int16, "uint16"), (np.uint64, "uint64"),
        (np.float64, "float64"), (np.int32, "int32"),
    ],
)  # fmt: skip
def test_the_element_type_comes_from_the_array(dtype: Any, element: str) -> None:
    assert TensorMap(np.zeros((16, 32), dtype), (8, 16)).fields.element == element


def test_another_type_of_the_same_size_may_be_named() -> None:
    array = np.zeros((16, 32), np.float32)
    assert TensorMap(array, (8, 16), element="tfloat32").fields.element == "tfloat32"
    assert decode(TensorMap(array, (8, 16), element="tfloat32").encode(0)).element == "tfloat32"


HALF = np.zeros((64, 64), np.float16)


@pytest.mark.parametrize(
    ("rule", "array", "box", "options"),
    [
        ("box size", HALF, (257, 8), {}), ("box size", HALF, (0, 8), {}),
        ("box row", HALF, (8, 4), {}), ("swizzle span", HALF, (8, 64), {"swizzle": 64}),
        ("swizzle", HALF, (8, 8), {"swizzle": 16}), ("swizzle", HALF, (8, 8), {"swizzle": 0}),
        ("fill", np.zeros((8, 16), np.int32), (8, 4), {"fill": "nan"}),
        ("fill", HALF, (8, 8), {"fill": "one"}),
        ("interleave", HALF, (8, 8), {"interleave": 8}),
        ("rank", HALF, (8, 8), {"interleave": 16}),
        ("stride alignment", np.zeros((64, 63), np.float16), (8, 8), {}),
        ("stride alignment", np.zeros((4, 4, 24), np.float16), (1, 1, 8), {"interleave": 32}),
        ("stride", HALF[::-1], (8, 8), {}),
        ("contiguous axis", HALF[:, ::2], (8, 8), {}), ("contiguous axis", HALF.T, (8, 8), {}),
        ("size", np.zeros((0, 64), np.float16), (8, 8), {}),
        ("element stride", HALF, (8, 8), {"element_strides": (9, 1)}),
        ("element_strides", HALF, (8, 8), {"element_strides": (1,)}),
        ("box", HALF, (8, 8, 8), {}), ("box", HALF, 8, {}), ("box", HALF, (8, 8.5), {}),
        ("box", HALF, "88", {}), ("box bytes", np.zeros((9, 256, 64)), (9, 256, 16), {}),
        ("rank", np.zeros((2,) * 6, np.float16), (2,) * 6, {}),
        ("rank", np.zeros((), np.float16), (), {}), ("array", [[1, 2]], (1, 2), {}),
        ("element", np.zeros((8, 8), np.complex64), (8, 8), {}),
        ("element", HALF, (8, 8), {"element": "float32"}),
        ("element", np.zeros((8, 8), object), (8, 8), {"element": "uint64"}),
        ("l2_promotion", HALF, (8, 8), {"l2_promotion": 32}),
    ],
)  # fmt: skip
def test_a_rule_that_is_broken_is_named(
    rule: str, array: Any, box: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(
        TensorMapError, match=rf"tensor map, {re.escape(rule)}: .*accepted"
    ) as caught:
        TensorMap(array, box, **options)
    assert caught.value.rule == rule
    assert isinstance(caught.value, LaunchError)
    assert isinstance(caught.value, BankwiseError)


def test_an_address_off_its_alignment_is_refused() -> None:
    with pytest.raises(TensorMapError, match="address alignment"):
        TensorMap(HALF, (8, 8)).encode(0x1008)


@pytest.mark.parametrize("shape", [(8, 16), (2, 2, 4, 4, 4, 16)])
def test_im2col_takes_three_to_five_axes(shape: tuple[int, ...]) -> None:
    with pytest.raises(TensorMapError, match=r"im2col rank.*accepted: 3 to 5"):
        TensorMap.im2col(np.zeros(shape, np.float16), 16, 4)
    for rank in (3, 4, 5):
        made = TensorMap.im2col(np.zeros((4,) * (rank - 1) + (16,), np.float16), 16, 4)
        assert made.fields.lower == (0,) * (rank - 2)
        assert decode(made.encode(0)) == made.fields


def test_im2col_takes_corners_in_the_arrays_order() -> None:
    made = TensorMap.im2col(
        np.zeros((2, 16, 32, 64), np.float16), 64, 32, lower=(-1, -2), upper=(1, 2), swizzle=128
    )
    assert (made.fields.sizes, made.fields.lower) == ((64, 32, 16, 2), (-2, -1))
    assert "lower=(-1, -2), upper=(1, 2), swizzle=128" in repr(made)
    assert decode(made.encode(0)) == made.fields
