"""Structures of host code: what their arrays and members are made of."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from simulator import replay_compiled
from simulator.sass.arguments import argument
from simulator.sass.code.cubin import Parameter
from simulator.sass.code.hostreader import HostReader
from simulator.sass.code.launches import find_launches
from simulator.sass.code.placeholders import placeholder
from simulator.sass.code.records import Types, numbers_of, places_of
from simulator.sass.code.signatures import declarations, field_types
from simulator.sass.code.source import Source
from simulator.sass.found import launch_of, launches_in
from simulator.sass.parameters import Parameters
from tests.sass_kernels import needs_compiler, needs_tools

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


VECTORS = """
#include <cuda_fp16.h>
struct A { double d; float a; float2 b; };
struct B { int n; float4 f; short s; };
struct C { char c; B b; half2 h; double2 d; };
struct D { float a; int2 b[2]; float c; A last; };
__global__ void k(A a, B b, C c, D d, float *o) {
  o[0] = a.a; o[1] = a.b.x; o[2] = a.b.y; o[3] = b.n; o[4] = b.f.x; o[5] = b.f.w; o[6] = b.s;
  o[7] = c.c; o[8] = c.b.f.y; o[9] = c.b.s; o[10] = __half2float(c.h.y); o[11] = c.d.y;
  o[12] = d.a; o[13] = d.c; o[14] = d.last.b.y;
}
int main() {
  A a = {1, 2, make_float2(3, 4)};
  B b; b.n = 5; b.f = make_float4(6, 7, 8, 9); b.s = 10;
  C c; c.c = 11; c.b = b; c.h = {12, 13}; c.d = make_double2(14, 15);
  D d; d.a = 16; d.b[0] = make_int2(0, 0); d.b[1] = d.b[0]; d.c = 17; d.last = a;
  float *o; cudaMalloc(&o, 15 * sizeof(float));
  k<<<1, 1>>>(a, b, c, d, o);
}
"""


@needs_tools
@needs_compiler
def test_vectors_in_structures_lie_where_the_kernel_reads_them(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(VECTORS)
    (found,) = launches_in(tmp_path / "k.cu").launches
    given = [re.sub(r"<[^>]*>", "0", each) for each in found.arguments]
    args = [argument(each, i) for i, each in enumerate(given)]
    report = replay_compiled(VECTORS, grid=1, block=1, args=args)
    wanted = [2, 3, 4, 5, 6, 9, 10, 11, 7, 10, 13, 15, 16, 17, 4]
    assert report.outputs[4].tolist() == wanted


def test_a_vector_to_fill_in_has_all_its_numbers() -> None:
    found = find_launches("__global__ void k(int3 t, double2 d, float f) {}\n")
    (signature,) = found.kernels["k"]
    assert placeholder(signature, found.types) == (
        "{i32=<t.x>, i32=<t.y>, i32=<t.z>}", "{f64=<d.x>, f64=<d.y>}", "f32=<f>",
    )  # fmt: skip
