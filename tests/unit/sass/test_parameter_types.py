"""Arguments of another type than the parameter's are refused where the symbol tells it."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from bankwise import replay_compiled
from simulator.errors import LaunchError
from simulator.sass.arguments import argument, named_arrays
from simulator.sass.code.cubin import Parameter
from simulator.sass.parameter_types import declared_types
from simulator.sass.parameters import Parameters, Pointer
from tests.sass_kernels import needs_compiler, needs_tools

KERNEL = "_Z5scalePfif"  # scale(float*, int, float)
SIZES = (8, 4, 4)
FLOATS, DOUBLES = np.zeros(8, np.float32), np.zeros(8)


def given(symbol: str, sizes: tuple[int, ...], *values: Any) -> Parameters:
    places = np.cumsum([0, *sizes]).tolist()
    parameters = [Parameter(*each) for each in zip(places, sizes, strict=False)]
    return Parameters(parameters, values, symbol)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((DOUBLES, np.int32(1), np.float32(2)),
         r"argument 0 is an array of float64 for the parameter float\* of scale, counted from 0"
         r" \(accepted: random:f32\[…\], or a file of float32; array\.astype\(numpy\.float32\)"
         r" keeps the numbers, array\.view\(numpy\.float32\) the bits\)"),
        ((FLOATS.view(np.int32), np.int32(1), np.float32(2)), r"argument 0 is an array of int32"),
        ((Pointer(DOUBLES, 8), np.int32(1), np.float32(2)), r"argument 0 is an array of float64"),
        ((FLOATS, np.float32(1024), np.float32(2)),
         r"argument 1 is float32 1024\.0 for the parameter int of scale, counted from 0 \(accepted:"
         r" i32=1024, numpy\.int32\(1024\)\)"),
        ((FLOATS, np.float32("nan"), np.float32(2)), r"accepted: i32=…, numpy\.int32\(…\)"),
        ((FLOATS, np.int32(1), np.int32(2)), r"argument 2 is int32 2 for .*accepted: f32=2\.0,"),
        ((FLOATS, np.int32(1), ctypes.c_int(2)), r"argument 2 is int32 .*accepted: f32=2\.0,"),
        ((FLOATS, np.int64(1), np.float32(2)), r"has 8 bytes and the parameter 4"),
    ],
)  # fmt: skip
def test_another_type_is_refused_with_the_way_out(values: tuple[Any, ...], said: str) -> None:
    """Numbers were read bit by bit as another type, without a word."""
    with pytest.raises(LaunchError, match=said):
        given(KERNEL, SIZES, *values)


@pytest.mark.parametrize(
    ("symbol", "values"),
    [
        (KERNEL, (FLOATS, np.uint32(1), np.float32(2))),  # signed or not is no matter
        (KERNEL, (FLOATS, ctypes.c_int(1), ctypes.c_float(2))),
        (KERNEL, (None, np.int32(1), np.float32(2))),
        (KERNEL, (np.uint64(0), np.int32(1), np.float32(2))),  # an address
        (KERNEL, ([FLOATS], np.int32(1), np.float32(2))),
        ("scale", (DOUBLES, np.float32(1), np.int32(2))),  # C's symbols have no types
        ("_Z1kP6float4if", (FLOATS, np.int32(1), np.float32(2))),
        ("_Z1kP6float2if", (np.zeros(4, np.complex64), np.int32(1), np.float32(2))),
        ("_Z1kP5uint4if", (DOUBLES, np.int32(1), np.float32(2))),  # wide words are copied
        ("_Z1kPvif", (DOUBLES, np.int32(1), np.float32(2))),
        ("_Z1kPKhif", (DOUBLES, np.int32(1), np.float32(2))),
        ("_Z1kP4Nodeif", (DOUBLES, np.int32(1), np.float32(2))),
        ("_Z1kPN2my5floatEif", (DOUBLES, np.int32(1), np.float32(2))),
        ("_Z1kP13__nv_bfloat16if", (np.zeros(4, np.uint16), np.int32(1), np.float32(2))),
        ("_Z1kPPfif", (np.zeros(4, np.uint64), np.int32(1), np.float32(2))),
        ("_Z1k4Kindif", (np.int64(3), np.int32(1), np.float32(2))),  # an enumeration
        ("_Z1kIfLi4EEvPT_iS0_", (FLOATS, np.int32(1), np.float32(2))),
    ],
)
def test_what_has_the_type_or_may_have_it_is_accepted(symbol: str, values: tuple[Any, ...]) -> None:
    given(symbol, SIZES, *values)


@pytest.mark.parametrize(
    ("symbol", "array"),
    [
        ("_Z1kIfLi4EEvPT_iS0_", DOUBLES),
        ("_Z1kP6__halfif", np.zeros(4, np.uint16)),
        ("_Z1kP13__nv_bfloat16if", np.zeros(4, np.float16)),
        ("_Z1kP6float4if", DOUBLES),
        ("_Z1kPjif", FLOATS),
    ],
)
def test_elements_of_templates_and_small_floats_are_compared(symbol: str, array: Any) -> None:
    with pytest.raises(LaunchError, match="argument 0 is an array of"):
        given(symbol, SIZES, array, np.int32(1), np.float32(2))


def test_an_array_that_several_arguments_share_has_no_type_of_its_own() -> None:
    """Host code may cut one allocation into floats and counters."""
    arrays = named_arrays([("pool", "zeros:f32[64]")])
    made = [argument(text, place, arrays) for place, text in enumerate(("pool", "pool+32"))]
    given("_Z1kPfPi", (8, 8), *made)
    with pytest.raises(
        LaunchError, match="argument 1 is an array of float32 for the parameter int"
    ):
        given("_Z1kPfPi", (8, 8), made[0].copy(), made[1])


def test_source_declares_the_types_that_symbols_of_c_lack() -> None:
    one = 'extern "C" __global__ void k(const float* __restrict__ a, unsigned n, real x) {}\n'
    assert declared_types(one, "k") == ("float*", "unsigned", "real")
    assert declared_types(one, "m") == declared_types(one, "_Z1kPfji") == ()
    other = one.replace("float*", "double*")  # a macro chooses one of the two
    assert declared_types(f"#if A\n{one}#else\n{other}#endif\n", "k") == ()


@needs_tools
@needs_compiler
def test_arguments_are_compared_with_the_types_of_source_that_c_names() -> None:
    source = 'extern "C" __global__ void k(float* a, int n) { a[threadIdx.x] = n; }\n'
    with pytest.raises(
        LaunchError, match=r"argument 0 is an array of float64 for .* float\* of k,"
    ):
        replay_compiled(source, grid=1, block=8, args=[DOUBLES, np.int32(1)])
    report = replay_compiled(source, grid=1, block=8, args=[FLOATS, np.int32(1)])
    assert report.outputs[0].tolist() == [1.0] * 8
