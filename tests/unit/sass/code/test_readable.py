"""Macros that stand for bodies and members, which the parser's grammar does not know."""

from __future__ import annotations

import pytest

from simulator.sass.code.launches import find_launches
from simulator.sass.code.source import Source

pytest.importorskip("tree_sitter_cuda")


@pytest.mark.parametrize(
    ("macro", "kernel"),
    [
        ("#define BODY(p) p[threadIdx.x] = 1;", "__global__ void k(float *a) { BODY(a) }"),
        ("#define BODY a[threadIdx.x] = 1;", "__global__ void k(float *a) { BODY }"),
        ("#define BODY(p) { p[threadIdx.x] = 1; }", "__global__ void k(float *a)\nBODY(a)"),
        ("#define BODY { a[threadIdx.x] = 1; }", "__global__ void k(float *a) BODY"),
    ],
)
def test_a_body_that_is_a_macro_is_a_kernels(macro: str, kernel: str) -> None:
    host = "int main() { float *p; cudaMalloc(&p, 128); k<<<1, 32>>>(p); }"
    text = f"{macro}\n{kernel}\n{host}\n"
    (found,) = find_launches(text).launches
    assert found.arguments == ("random:f32[32]",)
    kinds = [each.kind for each in Source(text).declarations]
    assert kinds == ["device", "host"]


def test_members_that_are_a_macro_do_not_hide_the_next_one() -> None:
    text = (
        "#define MEMBERS \\\n __device__ int size() const { return N; } \\\n int extra;\n"
        "template <typename T> struct V {\n static constexpr int N = 2;\n MEMBERS\n"
        " union { T x, r; };\n union { T y, g; };\n};\n"
    )
    (found,) = Source(text).declarations
    assert (found.kind, found.hidden) == ("neutral", ())
