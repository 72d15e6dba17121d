"""Structures as arguments: their members by name, by type, and behind a pointer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bankwise import replay_compiled
from simulator.errors import LaunchError
from simulator.sass.arguments import argument
from simulator.sass.code.launches import find_launches
from simulator.sass.code.placeholders import placeholder
from simulator.sass.structures import as_declared
from tests.sass_kernels import needs_compiler, needs_tools

SOURCE = """
struct Params { const float *in; float *out; int n; float scale; };
struct alignas(16) Wide { float a; int n; };
struct Base { int x; }; struct Derived : Base { float y; };
struct Nested { float w[2]; Wide wide; };
template <class T> struct Any { T *in; T scale; };
__global__ void byval(Params p) { p.out[threadIdx.x] = p.scale * p.in[threadIdx.x]; }
__global__ void byptr(Params *p) {
    p->out[threadIdx.x] = p->scale * p->in[threadIdx.x];
    if (threadIdx.x == 0) p->n = 7;
}
"""
TYPES = find_launches(SOURCE).types
IN = np.arange(32, dtype=np.float32)
OUT = np.zeros(32, np.float32)
N, SCALE = np.int32(32), np.float32(2)


def run(kernel: str, value: Any) -> Any:
    report = replay_compiled(SOURCE, kernel=kernel, grid=1, block=32, args=[value])
    return report.outputs[0]


@needs_tools
@needs_compiler
def test_the_names_of_a_dict_count_and_not_its_order() -> None:
    """Its values were passed in the order in which they stood, whatever their names were."""
    left = run("byval", {"scale": SCALE, "out": OUT, "n": N, "in": IN})
    assert left["out"].tolist() == (2 * IN).tolist()


@needs_tools
@needs_compiler
def test_a_pointer_leads_to_a_list_of_structures_which_is_read_back() -> None:
    for value in ((IN, OUT, N, SCALE), {"in": IN, "n": N, "scale": SCALE, "out": OUT}):
        (left,) = run("byptr", [value])
        out, n = (left["out"], left["n"]) if isinstance(left, dict) else (left[1], left[2])
        assert out.tolist() == (2 * IN).tolist()
        assert n == 7


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        ({"in": IN, "ot": OUT, "n": N, "scale": SCALE}, "Params",
         r"^argument 0, counted from 0, lacks out of Params, and has 'ot' \(accepted: \{float\* in,"
         r" float\* out, int n, float scale\}, in this order\)$"),
        ({"in": IN, "out": OUT, "n": N}, "Params", "lacks scale of Params"),
        ({"in": IN, "out": OUT, "n": N, "scale": SCALE, "x": N}, "Params",
         "has 'x', which Params does not"),
        ((IN, OUT, N), "Params", "3 values for the 4 members of Params"),
        ((IN, OUT, SCALE, N), "Params", "member n of Params: float32 for int"),
        ((IN, N, OUT, SCALE), "Params", r"member out of Params: int32 for float\*"),
        ((IN, OUT, IN, SCALE), "Params", "member n of Params: an array for int"),
        ((IN, OUT, None, SCALE), "Params", "member n of Params: a null pointer for int"),
        ((IN, OUT, np.int64(1), SCALE), "Params", "member n of Params: int64 for int"),
        ([(IN, OUT, N)], "Params*", "3 values for the 4 members of Params"),
        ({"n": N, "a": SCALE}, "Wide", "has the members of Wide in another order"),
        ((SCALE,), "Wide", "1 value for the 2 members of Wide"),
        (((SCALE,), (SCALE, N)), "Nested", r"member w of Nested: 1 value for float\[2\]"),
        ({"in": IN, "scal": SCALE}, "Any<float>", "lacks scale of Any<float>, and has 'scal'"),
    ],
)  # fmt: skip
def test_what_a_structure_does_not_have_is_refused(value: Any, kind: str, said: str) -> None:
    """A last member that was left out was taken as padding, and others as bytes."""
    with pytest.raises(LaunchError, match=said):
        as_declared([value], [kind], TYPES)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ((IN, None, N, SCALE), "Params"),
        (([IN], OUT, np.uint32(3), SCALE), "Params"),
        ((SCALE, N, np.int64(0)), "Wide"),  # what alignas pads
        ({"a": SCALE, "n": N, "pad": np.int64(0)}, "Wide"),
        (((N,), SCALE), "Derived"),
        ((N, SCALE), "Derived"),
        (((SCALE, SCALE), (SCALE, N, np.int64(0))), "Nested"),
        ((IN, np.int64(3)), "Any<long>"),
        ((IN, N, N), "Unknown"),
        ([IN, None], "float**"),
    ],
)
def test_what_fits_or_cannot_be_compared_is_accepted(value: Any, kind: str) -> None:
    (made,) = as_declared([value], [kind], TYPES)
    assert repr(made) == repr(value)


def test_structures_to_fill_in_have_their_members() -> None:
    found = find_launches(SOURCE)
    inside = "random:f32[<elements of p.in>], random:f32[<elements of p.out>], i32=<p.n>"
    for kernel, wanted in (("byval", "{%s, f32=<p.scale>}"), ("byptr", "[{%s, f32=<p.scale>}]")):
        (signature,) = found.kernels[kernel]
        assert placeholder(signature, found.types) == (wanted % inside,)
    (signature,) = find_launches("struct V { float w[2]; }; __global__ void k(V v) {}").kernels["k"]
    assert placeholder(signature, TYPES) == ("{<v: V>}",)


def test_a_launch_with_a_pointer_to_pointers_asks_for_the_structure() -> None:
    """Random bytes were read as addresses: "misaligned address", and no next step."""
    host = "int main() { Params *p; cudaMalloc(&p, sizeof(Params)); byptr<<<1, 32>>>(p); }"
    (launch,) = find_launches(f"{SOURCE}\n{host}").launches
    (text,) = launch.arguments
    assert text.startswith("[{random:f32[<elements_of_in")
    assert launch.unknown
    given = {"p.in": 32, "p.out": 32, "p.n": 32, "p.scale": 2.0}
    (launch,) = find_launches(f"{SOURCE}\n{host}", assumed=given).launches
    assert launch.arguments == ("[{random:f32[32], random:f32[32], i32=32, f32=2.0}]",)


def test_a_list_whose_alignment_nothing_tells_is_refused() -> None:
    one = argument("[{i32=1, {f32=1, f32=2, f32=3, f32=4}}]")
    with pytest.raises(LaunchError, match="vectors such as float4"):
        replay_compiled("__global__ void k(void *p) {}", grid=1, block=1, args=[one])
