"""Reductions of bulk copies, type by type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simulator.errors import UnsupportedError
from simulator.sass.run.reductions import OPERATIONS, reduction

SCALARS: dict[str, Any] = {
    "add": lambda old, new, bits: (old + new) & bits,
    "and": lambda old, new, bits: old & new,
    "or": lambda old, new, bits: old | new,
    "xor": lambda old, new, bits: old ^ new,
    "inc": lambda old, new, bits: 0 if old >= new else old + 1,
    "dec": lambda old, new, bits: new if old == 0 or old > new else old - 1,
    "min": lambda old, new, bits: min(old, new),
    "max": lambda old, new, bits: max(old, new),
}


def apply(operation: str, element: str, old: Any, new: Any, dtype: Any = None) -> Any:
    dtype = dtype or np.dtype(element)
    rows = [np.array([each], dtype).view(np.uint8)[None] for each in (old, new)]
    return reduction(operation, element)(*rows).view(dtype)[0, 0]


@given(st.data())
def test_integers_are_what_python_makes_of_them(data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from(sorted(OPERATIONS)))
    integers = [each for each in OPERATIONS[operation] if "int" in each]
    element = data.draw(st.sampled_from(integers))
    info = np.iinfo(element)
    old, new = (data.draw(st.integers(int(info.min), int(info.max))) for _ in range(2))
    got = int(apply(operation, element, old, new))
    wanted = SCALARS[operation](old, new, (1 << info.bits) - 1)
    assert got == (wanted - (1 << info.bits) if wanted > info.max else wanted)


@given(st.floats(width=16), st.floats(width=16))
def test_halves_are_rounded_once(old: float, new: float) -> None:
    with np.errstate(all="ignore"):
        wanted = np.float16(old) + np.float16(new)
    got = apply("add", "float16", old, new)
    assert got == wanted or (np.isnan(got) and np.isnan(wanted) and got.view(np.uint16) == 0x7FFF)


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF))
@example(0, 0x7F81)  # a signalling NaN
def test_bfloat16_sums_equal_those_of_ml_dtypes(old: int, new: int) -> None:
    dtype = ml_dtypes.bfloat16
    one, other = (np.array([each], np.uint16).view(dtype) for each in (old, new))
    with np.errstate(all="ignore"):
        wanted = (one + other)[0]
    got = apply("add", "bfloat16", one[0], other[0], dtype)
    assert got == wanted or (np.isnan(got) and np.isnan(wanted))


def test_the_smaller_of_a_number_and_nan_is_the_number_and_minus_zero_is_below_zero() -> None:
    assert apply("min", "float16", np.nan, 3) == 3
    assert apply("max", "float16", 3, np.nan) == 3
    assert np.isnan(apply("max", "float16", np.nan, np.nan))
    assert np.signbit(apply("min", "float16", 0.0, -0.0))
    assert not np.signbit(apply("max", "float16", -0.0, 0.0))


def test_float32_sums_flush_subnormals() -> None:
    tiny = np.float32(1e-40)
    assert apply("add", "float32", tiny, tiny) == 0
    assert apply("add", "float32", -1.5e-38, 1.2e-38) == 0
    assert apply("add", "float64", 1e-310, 1e-310) == 2e-310


@pytest.mark.parametrize(
    ("operation", "element", "says"),
    [
        ("inc", "int32", "accepted: uint32"), ("and", "float16", "accepted: uint32, int32"),
        ("mul", "uint32", "accepted: add, min"), ("add", "tfloat32", "'add' of tfloat32"),
        ("min", "float32", "'min' of float32"),
    ],
)  # fmt: skip
def test_other_reductions_are_refused(operation: str, element: str, says: str) -> None:
    with pytest.raises(UnsupportedError, match=says):
        reduction(operation, element)
