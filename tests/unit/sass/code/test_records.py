"""Structures of host code: what their arrays and members are made of."""

from __future__ import annotations

import struct

import pytest

from simulator.sass.code.cubin import Parameter
from simulator.sass.code.hostreader import HostReader
from simulator.sass.code.launches import find_launches
from simulator.sass.code.records import Types, numbers_of, places_of
from simulator.sass.code.signatures import declarations, field_types
from simulator.sass.code.source import Source
from simulator.sass.found import launch_of
from simulator.sass.parameters import Parameters

pytest.importorskip("tree_sitter_cuda")


def test_elements_of_structures_are_counted_with_their_members() -> None:
    types = "struct P { float x, y; }; struct Q { float x; double d; }; struct R { P p[2]; };\n"
    kernel = "__global__ void k(float4 *f, P *p, Q *q, R *r) { f[0].x = p->x; }\n"
    text = f"{types}{kernel}void run(float4 *f, P *p, Q *q, R *r) {{ k<<<1, 32>>>(f, p, q, r); }}"
    (found,) = find_launches(text, assumed={"*": 16}).launches
    wanted = ("random:f32[64]", "random:f32[32]", "random:u8[256]", "random:f32[64]")
    assert found.arguments == wanted
    allocated = " ".join(
        f"{kind} *{name}; cudaMalloc(&{name}, 16 * sizeof({kind}));"
        for kind, name in (("float4", "f"), ("P", "p"), ("Q", "q"), ("R", "r"))
    )
    (found,) = find_launches(
        f"{types}{kernel}int main() {{ {allocated} k<<<1, 32>>>(f, p, q, r); }}"
    ).launches
    assert found.arguments == wanted


def test_arrays_inside_a_structure_are_described_element_by_element() -> None:
    text = (
        "#define TAPS 3\nstruct V { int n; float w[TAPS]; };\n"
        "__global__ void k(V v) {}\nvoid run(V v) { k<<<1, 32>>>(v); }"
    )
    (found,) = find_launches(text).launches
    assert found.arguments == ("{i32=<v.n>, {f32=<w[0]>, f32=<w[1]>, f32=<w[2]>}}",)


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("Mixed", ("u8", 16)),
        ("Outer", ("u8", 24)),  # Mixed begins at a multiple of 8
        ("Behind", ("u8", 24)),
        ("Vectors", ("f32", 8)),  # float4 begins at a multiple of 16
        ("Pair", ("u8", 16)),
        ("Halves", ("f16", 4)),
        ("Three", ("f32", 4)),
        ("Mixed[3]", ("u8", 48)),
    ],
)
def test_members_lie_where_cuda_puts_them(kind: str, numbers: tuple[str, int]) -> None:
    """As sizeof of nvcc says."""
    fields = {
        "Mixed": [("char", "c"), ("double", "d")],
        "Outer": [("int", "a"), ("Mixed", "m")],
        "Behind": [("Mixed", "m"), ("char", "x")],
        "Vectors": [("float", "a"), ("float4", "b")],
        "Pair": [("int", "a"), ("float2", "b")],
        "Halves": [("half", "h"), ("half2", "g")],
        "Three": [("float", "a"), ("float3", "b")],
    }
    assert numbers_of(kind, Types({}, fields, lambda extents: int(extents[0]))) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("struct K : B, Empty { int n; };", ("u8", 24)),  # B's 16 bytes first, and 8 in its steps
        ("struct K { static int n; float x; float *at(int i); void f(); };", ("f32", 1)),
        ("struct K { void (*f)(int); float *p, *q; };", ("u64", 3)),
        ("struct K { union { float f; double d; }; int n; };", None),
        ("struct K { int n : 3; };", None),
        ("struct K { virtual void f(); int n; };", None),
        ("struct K { U u; int n; };", None),
        ("union K { float f; double d; };", None),
        ("struct K : T<int> { int n; };", None),
    ],
)
def test_only_what_lies_as_its_members_do_is_counted(
    text: str, numbers: tuple[str, int] | None
) -> None:
    before = "struct Empty {}; struct B { double d; int i; }; union U { float f; double d; };\n"
    fields = field_types(Source(before + text))
    assert numbers_of("K", Types({}, fields, lambda extents: int(extents[0]))) == numbers


ALIGNED = """
#define AL(n) __align__(n)
constexpr int K = 16;
struct alignas(16) V { float x, y, z; };
struct In { char c; V v; int after; };
struct __align__(2 * K) Wide { V v[2]; char c; };
struct Member { char c; alignas(16) int i; short s __attribute__((aligned(8))); In in; };
typedef struct AL(32) { double d; } T;
struct Both { float f; T t; };
struct Base : In { int n; };
struct Behind { int i; } __attribute__((aligned(16)));
struct __attribute__((packed)) Packed { char c; int i; };
#pragma pack(push, 1)
struct Pushed { char c; int i; };
#pragma pack(pop)
struct Popped { char c; int i; };
"""


def types_of(text: str) -> Types:
    reader = HostReader([Source(text)])
    for node in declarations(reader.sources[0]):
        reader._statement(node)
    return reader.types


@pytest.mark.parametrize(
    ("kind", "starts", "size"),
    [
        ("V", (0, 4, 8), 16),
        ("In", (0, 16, 32), 48),
        ("Wide", (0, 32), 64),
        ("Member", (0, 16, 24, 32), 80),
        ("Both", (0, 32), 64),
        ("Popped", (0, 4), 8),
    ],
)
def test_members_lie_where_alignas_puts_them(kind: str, starts: tuple[int, ...], size: int) -> None:
    """As NVRTC 13.5 says by offsetof and sizeof; so did 5,320 members of 4,000 drawn structures."""
    places = places_of(kind, types_of(ALIGNED))
    assert places is not None
    assert tuple(start for start, _ in places) == (*starts, size)


@pytest.mark.parametrize("kind", ["Base", "Behind", "Packed", "Pushed"])
def test_a_layout_that_depends_on_the_compiler_is_not_known(kind: str) -> None:
    assert places_of(kind, types_of(ALIGNED)) is None


def test_an_aligned_structure_is_passed_with_what_pads_it() -> None:
    text = f"""{ALIGNED}
__global__ void k(In in) {{}}
int main() {{ In in; in.c = 7; in.v.x = 1; in.v.y = 2; in.v.z = 3; in.after = 9; k<<<1, 1>>>(in); }}
"""
    (launch,) = find_launches(text).launches
    parameters = Parameters([Parameter(0, 48)], launch_of(launch)["args"], "k")
    (data,) = parameters.data([])
    assert struct.unpack("<b15xfff4xi12x", data) == (7, 1, 2, 3, 9)
