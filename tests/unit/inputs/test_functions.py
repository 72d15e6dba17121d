"""Functions and macros that are called on an element: which read its value, and which may not."""

import pytest

from simulator.errors import ExpressionError
from simulator.inputs.asked import read

FETCH = "FETCH_FLOAT4(s[threadIdx.x/8][threadIdx.x%8*4])"
DEFINED = "#define FETCH_FLOAT4(p) (reinterpret_cast<float4*>(&(p))[0])\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"float s[32][32]; {FETCH}", "FETCH_FLOAT4"),
        (f"float s[32][32]; {FETCH} = FETCH_FLOAT4(a[i]);", "FETCH_FLOAT4"),
        (f"float s[32][32]; float4 v = {FETCH};", "FETCH_FLOAT4"),
        ("half s[128][32]; ldmatrix(s[threadIdx.x][0])", "ldmatrix"),
        ("half s[128][32]; wmma::load_matrix_sync(f, s[threadIdx.x][0], 32)", "load_matrix_sync"),
        ("float s[128]; 2 * load_vector<4>(s[4 * threadIdx.x])", "load_vector"),
        ("float s[128]; as_float4(s[4 * threadIdx.x])", "as_float4"),
        ("float s[128]; f(s[threadIdx.x]) = x", "f"),
    ],
)
def test_what_may_read_more_than_a_value_is_refused_with_what_to_do(text: str, name: str) -> None:
    """They were counted as loads of one element, whatever they are."""
    with pytest.raises(ExpressionError, match=rf"{name}\(\) reads is not known here") as refused:
        read(text)
    said = str(refused.value)
    assert ("#define" in said) == (name == name.upper())
    assert "*(float4*)&s[...]" in said
    assert "--op LDS.128" in said
    assert read(text, "LDS").instruction.name == "LDS"  # the remedy is taken


def test_a_macro_that_is_defined_is_read_as_it_says() -> None:
    asked = read(f"{DEFINED}float s[32][32]; {FETCH}")
    assert asked.instruction.name == "LDS.128"


@pytest.mark.parametrize(
    "call",
    ["expf(*)", "fmaxf(x, *)", "__half2float(*)", "max(*, 0)", "__shfl_xor_sync(m, *, 1)",
     "float(*)", "static_cast<float>(*)", "(float)(*)", "std::sqrt(*)", "1.0f + h2exp((*))"],
)  # fmt: skip
def test_mathematics_and_conversions_read_a_value(call: str) -> None:
    asked = read(f"float s[32]; {call.replace('*', 's[threadIdx.x]')}")
    assert asked.assumed == ("block 32x1: one warp",)


def test_of_any_other_function_a_value_is_assumed_and_the_answer_says_so() -> None:
    asked = read("half s[32]; act::relu(g(x) + f(s[threadIdx.x]))")
    assert asked.assumed[:2] == ("act::relu() reads one half", "f() reads one half")
    assert read("float s[32]; f(x) + s[threadIdx.x]").assumed == ("block 32x1: one warp",)
