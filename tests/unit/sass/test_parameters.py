"""Structures, arrays of pointers, null pointers and empty types as a kernel's parameters."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from simulator.errors import LaunchError
from simulator.sass.arguments import argument
from simulator.sass.code.cubin import Parameter
from simulator.sass.parameters import Parameters
from simulator.sass.run.map_argument import TensorMap

A, B = np.arange(4, dtype=np.float32), np.ones(3, dtype=np.int32)


def packed(value: object, size: int) -> tuple[bytes, Parameters]:
    made = Parameters([Parameter(0, size)], [value], "k")
    return made.data([0x1000 * (i + 1) for i in range(len(made.arrays))])[0], made


@pytest.mark.parametrize(
    ("value", "form", "wanted"),
    [
        ((A, B, np.int32(7)), "<QQi4x", (0x1000, 0x2000, 7)),
        ({"in": A, "n": np.int8(7), "d": np.float64(2)}, "<Qb7xd", (0x1000, 7, 2.0)),
        ((np.int8(1), (np.int16(2), np.int8(3)), np.int32(4)), "<bxhb3xi", (1, 2, 3, 4)),
        ((None, A), "<QQ", (0, 0x1000)),
        ((np.int32(3), (np.float32(1), np.float32(2))), "<iff", (3, 1.0, 2.0)),
    ],
)  # fmt: skip
def test_members_lie_where_c_puts_them(value: object, form: str, wanted: tuple[float, ...]) -> None:
    assert struct.unpack(form, packed(value, struct.calcsize(form))[0]) == wanted


def test_a_vector_is_aligned_to_its_size_where_the_parameter_says_so() -> None:
    value = (np.int32(1), tuple(np.float32(i) for i in range(4)))
    assert struct.unpack("<i12x4f", packed(value, 32)[0]) == (1, 0.0, 1.0, 2.0, 3.0)
    assert struct.unpack("<i4f", packed(value, 20)[0]) == (1, 0.0, 1.0, 2.0, 3.0)


def test_an_array_in_place_of_a_tensor_map_is_told_of_maps() -> None:
    with pytest.raises(LaunchError, match=r"TensorMap\(array, box\) in Python, --arg tma:…"):
        packed(A, 128)
    with pytest.raises(LaunchError, match=r"of a structure that holds one, all members"):
        packed(TensorMap(A, (4,)), 192)


def test_arrays_of_pointers() -> None:
    for value in ([A, None, B], (A, None, B)):
        data, made = packed(value, 8)
        assert int.from_bytes(data, "little") == 0x3000
        assert made.arrays[2].tolist() == [0x1000, 0, 0x2000]
    data, made = packed((np.int32(2), [A]), 16)
    assert struct.unpack("<i4xQ", data) == (2, 0x2000)


def test_records_and_ctypes() -> None:
    record = np.zeros((), dtype=np.dtype([("n", "i4"), ("x", "f8")], align=True))[()]
    record["n"] = 5
    assert struct.unpack("<i4xd", packed(record, 16)[0]) == (5, 0.0)
    with_array = np.zeros((), dtype=np.dtype([("p", object), ("n", "i4")], align=True))[()]
    with_array["p"], with_array["n"] = A, 3
    assert struct.unpack("<Qi4x", packed(with_array, 16)[0]) == (0x1000, 3)

    class Pair(ctypes.Structure):
        _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float * 2))

    assert struct.unpack("<iff", packed(Pair(1, (2, 3)), 12)[0]) == (1, 2.0, 3.0)


def test_an_empty_type_has_one_byte() -> None:
    assert packed((), 1)[0] == b"\0"
    assert argument("{}") == ()
    with pytest.raises(LaunchError, match="empty structure"):
        packed((), 8)


def test_what_does_not_fit_is_refused_with_what_was_understood() -> None:
    with pytest.raises(LaunchError) as caught:
        packed((A, np.int32(3)), 24)
    for word in ("16 bytes", "parameter of 24", "a pointer at 0", "int32 at 8"):
        assert word in str(caught.value)
    assert "where alignas pads, members such as i32=0" in str(caught.value)
    aligned = argument("{f32=2, i32=3, i64=0}")  # struct alignas(16) { float a; int n; }
    assert struct.unpack("<fi8x", packed(aligned, 16)[0]) == (2.0, 3)
    for value in (3, "x", object(), (A, 5), [3]):
        with pytest.raises(LaunchError, match="accepted"):
            packed(value, 8)
    deep: tuple[object, ...] = (A,)
    for _ in range(40):
        deep = (deep,)
    with pytest.raises(LaunchError, match="nested deeper"):
        packed(deep, 8)


def test_an_array_given_twice_is_two_copies_and_outputs_keep_the_form() -> None:
    made = Parameters([Parameter(0, 8), Parameter(8, 16)], [A, {"x": A, "y": [B, None]}], "k")
    assert len(made.arrays) == 4
    made.data([1, 2, 3, 4])
    first, second = made.outputs(lambda number: np.array([number]))
    assert first.tolist() == [0]
    assert second["x"].tolist() == [1]
    assert second["y"][0].tolist() == [2]
    assert second["y"][1] is None


def test_a_missing_argument_is_named_with_the_kernel_in_c() -> None:
    takes = [Parameter(0, 8), Parameter(8, 8), Parameter(16, 4)]
    with pytest.raises(LaunchError) as caught:
        Parameters(takes, [A, A], "_Z7pairsumPKfPfi")
    assert str(caught.value) == (
        "2 arguments for the 3 parameters of pairsum(float const*, float*, int); missing: argument"
        " 2 (int, 4 bytes), counted from 0"
    )
    with pytest.raises(LaunchError, match=r"of turn \(their bytes: 8, 8, 4\)$"):
        Parameters(takes, [A, A, np.int32(1), A], "turn")


@pytest.mark.parametrize("text", ["{", "{{}", "{i32=1}}", "{i32=1,,i32=2}", "{" * 40 + "}" * 40])
def test_braces_must_match(text: str) -> None:
    with pytest.raises(LaunchError):
        argument(text)
