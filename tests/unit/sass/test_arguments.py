"""Kernel arguments as people type them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator.errors import LaunchError, MissingPackageError
from simulator.sass.arguments import TYPES, argument

IN_C = {  # CUDA on 64-bit Linux: sizeof and signedness
    "char": "int8", "signed char": "int8", "unsigned char": "uint8", "uchar": "uint8",
    "short": "int16", "unsigned short": "uint16", "ushort": "uint16",
    "int": "int32", "unsigned": "uint32", "unsigned int": "uint32", "uint": "uint32",
    "long": "int64", "unsigned long": "uint64", "size_t": "uint64", "long long": "int64",
    "unsigned long long": "uint64", "int8_t": "int8", "uint16_t": "uint16", "int32_t": "int32",
    "uint64_t": "uint64", "float": "float32", "double": "float64", "half": "float16",
    "__half": "float16", "bool": "bool",
}  # fmt: skip
SMALL_FLOATS = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}


def small(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(pytest.importorskip("ml_dtypes"), SMALL_FLOATS[name]))


@pytest.mark.parametrize("name", IN_C)
@pytest.mark.parametrize("how", ["zeros", "ones", "arange", "random"])
def test_names_of_c_mean_what_they_mean_in_c(name: str, how: str) -> None:
    assert argument(f"{how}:{name}[4]").dtype == np.dtype(IN_C[name])
    assert argument(f"{name}=1").dtype == np.dtype(IN_C[name])


@pytest.mark.parametrize(
    "name",
    ["uint8", "int8", "uint16", "int16", "float16", "uint32", "int32", "float32", "uint64",
     "int64", "float64"],
)  # fmt: skip
def test_names_of_numpy_mean_what_they_mean_in_numpy(name: str) -> None:
    assert argument(f"zeros:{name}[4]").dtype == np.dtype(name)
    short = name.replace("uint", "u").replace("int", "i").replace("float", "f")
    assert short in TYPES
    assert argument(f"zeros:{short}[4]").dtype == np.dtype(name)


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_small_floats_are_those_of_ml_dtypes(name: str) -> None:
    dtype = small(name)
    for text in (name, SMALL_FLOATS[name]):
        assert argument(f"zeros:{text}[2,3]").dtype == dtype
        assert argument(f"{text}=-1.5") == dtype.type(-1.5)
        assert argument(f"{text}=1").dtype == dtype
    assert argument(f"arange:{name}[4]").tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", [*(name for name in TYPES if name[0] == "f"), "bf16"])
def test_random_floats_are_exact_and_fill_their_range(name: str) -> None:
    """So few bits that every value is a multiple of one step, which the type holds exactly."""
    bits = {"f16": 10, "bf16": 8, "f8e4m3": 4, "f8e5m2": 3}.get(name, 24)
    values = argument(f"random:{name}[4096]").astype(np.float64)
    steps = values * 2 ** (bits - 1)
    assert (steps == np.round(steps)).all()
    assert (values >= -1).all()
    assert (values < 1).all()
    assert values.min() < -0.7
    assert values.max() > 0.7


def test_random_bools_are_of_both_kinds() -> None:
    values = argument("random:bool[1000]")
    assert values.dtype == np.dtype(bool)
    assert 400 < values.sum() < 600


@pytest.mark.parametrize("name", ["fp8", "f8", "float8"])
@pytest.mark.parametrize("form", ["zeros:{}[4]", "{}=1"])
def test_fp8_alone_is_refused_with_the_two_that_exist(name: str, form: str) -> None:
    with pytest.raises(LaunchError, match=r"accepted: f8e4m3, f8e5m2$") as caught:
        argument(form.format(name))
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("zeros:fp16[4]", "did you mean f16"),
        ("zeros:f[4]", "accepted: u8, i8"),  # a code of NumPy's, not a name
        ("zeros:i4[4]", "accepted: u8, i8"),  # four bits or four bytes?
        ("zeros:object[4]", "accepted: u8, i8"),
        ("zeros:complex64[4]", "accepted: u8, i8"),
        ("random:f32[1024KB]", "'KB' in the shape [1024KB] (accepted: positive integers"),
        ("zeros:f32[0]", "shape [0] (accepted: positive integers)"),
        ("zeros:f32[99999999999999]", "too large"),
        ("zeros:bf16[1000000,1000000]", "takes 2000000000000 bytes"),
        ("int=2147483648", "(accepted: -2147483648 to 2147483647)"),
        ("unsigned=-1", "(accepted: 0 to 4294967295)"),
        ("char=128", "(accepted: -128 to 127)"),
        ("bool=2", "(accepted: 0 to 1)"),
        ("int=1.5", "'1.5' is not a value of type int32"),
        ("float=x", "'x' is not a value of type float32"),
        ("half=65520", "(accepted: -65504 to 65504)"),
        ("float=1e39", "(accepted: -3.40282e+38 to 3.40282e+38)"),
        ("nil", "null for a pointer"),
        ("nonsense", "accepted: random:f32[1024,1024]"),
        ("nowhere.npy", "cannot be read"),
    ],
)
def test_what_is_not_an_argument_is_refused(text: str, words: str) -> None:
    with pytest.raises(LaunchError) as caught:
        argument(text)
    assert words in str(caught.value)
    assert text in str(caught.value)


def test_bf16_is_no_misspelling() -> None:
    with pytest.raises(LaunchError, match=r"did you mean .*bf16"):
        argument("zeros:bf17[4]")


def test_out_of_range_small_floats_are_refused() -> None:
    small("f8e4m3")
    with pytest.raises(LaunchError, match=r"'f8e4m3=1000' is out of range \(accepted: -448 to 448"):
        argument("f8e4m3=1000")
    assert np.isinf(argument("bf16=inf"))


@pytest.mark.parametrize("text", ["null", "nullptr", "NULL", "None"])
def test_a_null_pointer(text: str) -> None:
    assert argument(text) is None


@pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False), ("1", True)])
def test_truth_values(text: str, value: bool) -> None:
    assert argument(f"bool={text}") == np.bool_(value)


def test_a_file_keeps_its_type_and_shape(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.int16).reshape(2, 3))
    found = argument(str(tmp_path / "a.npy"))
    assert (found.dtype, found.shape) == (np.int16, (2, 3))


def test_without_ml_dtypes_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(MissingPackageError, match=r"bf16 needs ml_dtypes.*sass"):
        argument("zeros:bf16[4]")
    assert argument("half=2") == np.float16(2)
