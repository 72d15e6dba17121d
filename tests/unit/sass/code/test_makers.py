"""Macros that make kernels: their kernels are known, and launched, by the names that they make."""

from __future__ import annotations

from pathlib import Path

from simulator.sass.code.launches import find_launches
from simulator.sass.code.makers import makings
from simulator.sass.code.preprocessor import Macro
from simulator.sass.code.translation import translate
from simulator.sass.replay_file import replay_file
from tests.sass_kernels import needs_compiler, needs_tools

TEXT = """
#define CHECK(call) if (call) { printf("%s", cudaGetErrorString(call)); }
#define DEFINE_BINARY(NAME, OP) __global__ void NAME##_kernel(const float *a, float *b, int n) { \\
  if (threadIdx.x < n) b[threadIdx.x] = a[threadIdx.x] OP 2; }
#define define_scale(T, F) __global__ void scale_##T(T *x) { x[threadIdx.x] *= F; }
#define BOTH(F) define_scale(float, F) \\
  define_scale(double, F)
#define KERNEL(name) __global__ void name
DEFINE_BINARY(add, +) DEFINE_BINARY(mul, *);
BOTH(2)
namespace q { define_scale(int, 3) }
KERNEL(plain)(float *a) { a[threadIdx.x] = 1; }
int main() {
  float *a, *b; double *d; int *i;
  CHECK(cudaMalloc(&a, 128)); CHECK(cudaMalloc(&b, 128));
  cudaMalloc(&d, 256); cudaMalloc(&i, 128);
  add_kernel<<<1, 32>>>(a, b, 32); mul_kernel<<<1, 32>>>(a, b, 16); scale_double<<<1, 32>>>(d);
  q::scale_int<<<1, 32>>>(i); plain<<<1, 32>>>(a); scale_float<<<1, 32>>>(b);
}
"""


def test_kernels_of_macros_are_launched() -> None:
    found = find_launches(TEXT)
    assert [each.arguments for each in found.launches] == [
        ("random:f32[32]", "random:f32[32]", "i32=32"),
        ("random:f32[32]", "random:f32[32]", "i32=16"),
        ("random:f64[32]",), ("random:i32[32]",), ("random:f32[32]",), ("random:f32[32]",),
    ]  # fmt: skip
    assert not any(each.unknown for each in found.launches)
    assert found.kernels["scale_double"][0].line == 10


def test_host_code_behind_a_use_without_a_semicolon_is_hidden() -> None:
    source = translate(TEXT, None).source
    assert "main" not in source
    assert source.count("DEFINE_BINARY") == 3


@needs_tools
@needs_compiler
def test_kernels_of_macros_are_replayed(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TEXT)
    assert len(replay_file(tmp_path / "k.cu")) == 6


def test_what_never_ends_is_left_alone() -> None:
    known = {
        "A": Macro("A", ("x",), "B(x) __global__ void k(float *x) { }"),
        "B": Macro("B", ("x",), "A(x) A(x)"),
    }
    assert len(makings("A(1) A(2", known)) == 1
    assert makings("A(1)", {"A": Macro("A", None, "__global__")}) == []
    assert makings("A(x)(int); A(y)(int) { ", {"A": Macro("A", ("x",), "__global__ void x")}) == []
