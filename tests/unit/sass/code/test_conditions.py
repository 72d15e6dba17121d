"""Branches of `#if` in host code: those that its macros choose, as for the compiler."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from simulator.errors import CompileError, LaunchError
from simulator.sass.code.conditions import answered, chosen
from simulator.sass.code.launches import find_launches
from simulator.sass.code.options import parse_options
from simulator.sass.code.predefined import predefined
from simulator.sass.code.preprocessor import Directive, Macro
from simulator.sass.code.source import Source
from simulator.sass.found import launches_in, wanted_launches

KNOWN = {
    "F": Macro("F", ("x",), "(x * 2)"), "A": Macro("A", None, "2"), "B": Macro("B", None, ""),
    "C": Macro("C", None, "A + B Q"), "E": Macro("E", None, "(1+1)"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "answer"),
    [("A > 1", True), ("B + 1 == 0x1", True), ("F(2) > D", True), ("F(1) > E", False),
     ("(E << 1) & 4", True), ("2 - 2", False), ("!(A > 1) && defined(B)", False),
     ("defined Q || (A < 3)", True), ("!defined Q", True), ("E == 2", True), ("true", True),
     ("UNKNOWN", False), ("UNKNOWN == 0", True), ("__CUDA_ARCH__ >= 800", False),
     ("!defined(__CUDA_ARCH__)", True), ("__CUDA_ARCH_FEAT_SM90_ALL", False),
     ("CUDART_VERSION >= 11000 && CUDART_VERSION < 100000", True), ("CUDA_VERSION < 11000", False),
     ("__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10 == CUDART_VERSION", True),
     ("__cplusplus == 201703L", True), ("defined(_MSC_VER) || defined(_WIN32)", False),
     ("__linux__ && defined(__x86_64__)", True), ("__GNUC__ >= 9", True), ("!NDEBUG", True),
     ("defined(_OPENMP)", None), ("CUDNN_VERSION > 8000", None),
     ("defined(_OPENMP) || defined(A)", True), ("defined(__clang__) && Q", False),
     ("defined(_WIN32)", False), ("defined(__CUDACC__)", True),
     ("defined(__HIP_PLATFORM_AMD__)", False), ("__has_include(<a.h>)", None), ("1 +", None)],
)  # fmt: skip
def test_a_condition_is_answered_by_the_macros_that_are_known(
    condition: str, answer: bool | None
) -> None:
    assert answered(Directive(0, 0, "if", condition), predefined() | KNOWN) is answer


def left(text: str, *given: str) -> list[str]:
    macros = {name: Macro(name, None, "1") for name in given}
    (found,) = chosen(Source(text), macros, [])
    assert len(found.text) in range(len(text), len(text) + 9)
    assert found.text.count("\n") == text.count("\n")
    return re.findall(r"\bv\d+", found.text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [("#define A\n#ifdef A\nv1\n#else\nv2\n#endif\nv3", "v1 v3"),
     ("#ifdef A\nv1\n#else\nv2\n#endif\n#define A\n#ifdef A\nv3\n#endif", "v2 v3"),
     ("#ifndef N\n#define N 4\n#endif\n#if N == 4\nv1\n#elif N == 5\nv2\n#endif", "v1"),
     ("#define A 1\n#undef A\n#if A\nv1\n#endif\nv2", "v2"),
     ("#if 0\n#if X\nv1\n#else\nv2\n#endif\n#elif GIVEN\nv3\n#else\nv4\n#endif", "v3"),
     ("#if 0\nv1\n#define A 1\n#endif\n#if A\nv2\n#endif", ""),
     ("#if _OPENMP > 1\nv1\n#elif 0\nv2\n#else\nv3\n#endif", "v1 v3"),
     ("#if 0\nv1\n#elif _OPENMP > 1\nv2\n#elif 1\nv3\n#else\nv4\n#endif", "v2 v3"),
     ("#endif\nv1\n#else\nv2\n#if 1\nv3", "v1 v2 v3")],
)  # fmt: skip
def test_branches_that_are_not_taken_are_left_out(text: str, kept: str) -> None:
    """As `g++ -E` does, which agreed on 3,200 drawn texts as well."""
    assert " ".join(left(text, "GIVEN")) == kept


def test_where_the_compiler_chooses_the_first_branch_is_read() -> None:
    text = "#if 0\nint v1;\n#elif _OPENMP > 1\nint v2;\n#else\nint v3;\n#endif"
    (found,) = chosen(Source(text), {}, [])
    assert re.findall(r"v\d", found.readable()) == ["v2"]
    assert re.findall(r"v\d", found.readable(last=True)) == ["v3"]


SOURCE = """
#ifndef SMALL
#define LARGE
#endif
#include "own.h"
__global__ void one(float *a) {}
__global__ void two(floatX *a) {}
void run(int which, floatX *a, int n) {
    switch (which) {
#if !defined(LARGE)
    case 1: one<<<n, 32>>>(a); break;
#endif
    case 2: two<<<n, SIZE>>>(a); break;
    }
}
int main(int argc, char **argv) {
    floatX *a; cudaMalloc(&a, 64 * sizeof(floatX));
    run(atoi(argv[1]), a, 8);
}
"""
HEADER = """#pragma once
#ifdef LARGE
#define SIZE 256
typedef double floatX;
#else
#define SIZE 64
typedef float floatX;
#endif
"""


def test_host_code_is_read_with_the_macros_that_device_code_has(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(SOURCE)
    (tmp_path / "own.h").write_text(HEADER)
    found = launches_in(tmp_path / "k.cu")
    (two,) = found.launches
    assert (two.kernel, two.block, two.arguments) == ("two", "256", ("random:f64[64]",))
    assert wanted_launches(found, "k.cu", None)[1] == ["one"]  # it is asked for
    found = launches_in(tmp_path / "k.cu", parse_options(["-DSMALL"]))
    assert [each.kernel for each in found.launches] == ["one", "two"]
    assert found.launches[1].block == "64"


def test_a_kernel_that_is_not_compiled_is_no_kernel() -> None:
    text = "#ifdef GONE\n__global__ void k(float *a) {}\n#endif\n__global__ void m(float *a) {}\n"
    found = find_launches(text)
    assert list(found.kernels) == ["m"]
    with pytest.raises(LaunchError, match="has no kernel 'k'"):
        wanted_launches(found, "k.cu", "k")


def test_a_header_that_includes_itself_ends() -> None:
    source = Source('#include "a.h"\nint a;\n')
    source.included[0] = source
    assert chosen(source, {}, [])[0].text == source.text


VERSIONS = """
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define TILE 64
#else
#define TILE 32
#endif
#ifdef _MSC_VER
#define GRID 1
#elif __cplusplus >= 202002L
#define GRID 3
#else
#define GRID 2
#endif
__global__ void k(float *a) {}
#if __CUDA_ARCH__ >= 700
__global__ void fast(float *a) {}
#endif
int main() {
    float *a; cudaMalloc(&a, 4 * TILE);
#if CUDART_VERSION >= 9000
    k<<<GRID, TILE>>>(a);
#else
    k<<<GRID, 1>>>(a);
#endif
}
"""


def test_host_code_is_read_as_nvcc_reads_it_on_linux(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(VERSIONS)
    found = launches_in(tmp_path / "k.cu")
    (launch,) = found.launches
    assert (launch.grid, launch.block, launch.arguments) == ("2", "32", ("random:f32[32]",))
    assert list(found.kernels) == ["k", "fast"]  # device code has it
    for options in (["-std=c++20"], ["-std", "c++17", "--std=c++20"]):
        (launch,) = launches_in(tmp_path / "k.cu", parse_options(options)).launches
        assert launch.grid == "3"


def test_a_header_of_include_is_read_before_the_source(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "config.h").write_text(HEADER.replace("#pragma once", "#define LARGE"))
    host = "int main() { floatX *a; cudaMalloc(&a, SIZE); k<<<1, SIZE>>>(a); }"
    (tmp_path / "k.cu").write_text("__global__ void k(floatX *a) {}\n" + host)
    own = str(tmp_path / "own")
    for options in (["-include", "own/config.h"], ["-I", own, "-include", "config.h"],
                    ["-include", f"{own}/config.h"]):  # fmt: skip
        (launch,) = launches_in(tmp_path / "k.cu", parse_options(options)).launches
        assert (launch.block, launch.arguments) == ("256", ("random:f64[32]",))
    with pytest.raises(CompileError, match=r"-include none\.h: there is no such file"):
        launches_in(tmp_path / "k.cu", parse_options(["-include", "none.h"]))
