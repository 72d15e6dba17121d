"""Compiling what people have: options, headers, refusals, templates, PTX, module variables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gpu_check.timing.products_beside import beside_source
from simulator import replay_compiled
from simulator.errors import CompileError, CubinError, LaunchError
from simulator.sass.code.compiling import child, compile_source
from simulator.sass.code.cubin import read_cubin
from simulator.sass.code.nvdisasm import disassemble
from simulator.sass.code.nvrtc import preload
from simulator.sass.code.options import CompilerOptions, parse_options
from simulator.sass.code.ptx import assemble
from simulator.sass.code.translation import translate
from tests.sass_kernels import needs_compiler, needs_tools

pytestmark = [needs_tools, needs_compiler]

ADD = 'extern "C" __global__ void k(float *a) { a[threadIdx.x] += VALUE; }'
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<3>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [p];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d2, %r1, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r1;
    ret;
}
"""


def compiled(source: str, *options: str, folder: Path | None = None) -> bytes:
    return compile_source(source, "sm_90", "k.cu", (), parse_options(options), folder).cubin


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void k(uint *a, ushort b, uchar c, size_t d, int64_t e) { a[0] = b + c + d; }",
        "#include <cuda_runtime.h>\n__global__ void k(cudaTextureObject_t t, float4 *a) {}",
        "#include <vector>\n#include <windows.h>\nint main() { std::vector<int> v; }\n"
        "__global__ void k() {}",
        "#include <algorithm>\n"
        "__global__ void k(int *a) { a[0] = std::min(std::max(a[1], 2), 3); }",
        "#include <limits>\n"
        "__global__ void k(float *a) { a[0] = std::numeric_limits<float>::max(); }",
        "using namespace std;\nusing namespace nowhere::deep;\n__global__ void k() {}",
        "#include <cublas_v2.h>\n__global__ void k(half *a, __nv_bfloat16 *b) {}",
        "__global__ void k(float *a) { a[0] = M_PI * FLT_MAX + INT_MAX; }",
        "const int LIMIT = 4;\nint helper(int);\n__global__ void k(int *a) { a[0] = LIMIT; }",
        "__global__ void k(__int128 *a) { a[0] *= 3; }",
        "inline constexpr int two() { return 2; }\n__global__ void k(int *a) { a[0] = two(); }",
        "#include <thrust/device_vector.h>\nvoid f() { thrust::device_vector<int> v; }\n"
        "__global__ void k() {}",
        "template <typename T> concept Small = sizeof(T) < 8;\n"
        "template <Small T> __global__ void k(T *a) {}\ntemplate __global__ void k(int *);",
        "struct __align__(8) P { float a, b; };\n__global__ void k(P *p) { p->a = p->b; }",
    ],
)  # fmt: skip
def test_what_nvcc_takes_is_taken(source: str) -> None:
    assert read_cubin(compiled(source)).kernels


@pytest.mark.usefixtures("afresh")
def test_options_reach_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "value.h").write_text("#pragma once\n#define VALUE (A + 2)\n")
    source = f"#include <value.h>\n{ADD}"
    options = {"include": [tmp_path / "inc"], "define": {"A": 1}, "options": ["--use_fast_math"]}
    a = np.zeros(32, np.float32)
    report = replay_compiled(source, grid=1, block=32, args=[a], **options)  # type: ignore[arg-type]
    assert (report.outputs[0] == 3).all()
    with pytest.raises(CompileError, match="no such folder"):
        compiled(source, "-I", str(tmp_path / "gone"))
    with pytest.raises(CompileError):
        compiled("__global__ void k() {}", "--no-such-option")


def test_a_builds_database_beside_the_file_is_used(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(ADD)
    entry = {"directory": str(tmp_path), "file": "k.cu", "arguments": ["nvcc", "-DVALUE=4", "k.cu"]}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    report = replay_compiled(path, grid=1, block=32, args=[np.zeros(32, np.float32)])
    assert (report.outputs[0] == 4).all()


@pytest.mark.usefixtures("afresh")
def test_a_missing_header_comes_first_with_the_way_out() -> None:
    with pytest.raises(CompileError) as caught:
        compiled('#include "mine.cuh"\n__global__ void k(Mine *m) { m->x = 1; }')
    lines = str(caught.value).split("\n")
    assert "Not found: mine.cuh" in lines[1]
    assert "-I FOLDER" in lines[1]
    with pytest.raises(CompileError, match="-D VALUE=VALUE"):
        compiled(ADD)


@pytest.mark.parametrize(
    "text",
    [
        '#include "{secret}"',
        '#define X "{secret}"\n#include X',
        '#include "../secret.h"',
        "#include <{secret}>",
        '#line 1 "{secret}"\nint main(; __device__ int broken = ;',
    ],
)
def test_no_file_from_elsewhere_is_in_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "secret.h").write_text("hidden_word another_word;\n")
    folder = tmp_path / "inside"
    folder.mkdir()
    source = text.replace("{secret}", str(tmp_path / "secret.h"))
    with pytest.raises(CompileError) as caught:
        compiled(f"{source}\n__global__ void k() {{ undefined_thing(); }}", folder=folder)
    assert "hidden_word" not in str(caught.value)
    assert "another_word" not in str(caught.value)


@pytest.mark.parametrize("named", ["{outside}", "../outside", "{inside}/link"])
@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("hidden_word another_word;", ""),
        ("__device__ int a = HIDDEN_WORD;", ""),
        ("#include <hidden_word.h>\n__device__ int a = gone;", ""),
        ("#embed <hidden_word>", ""),
        ("#if __has_include(<../hidden_word>)\n#endif", ""),
        ("#define LINE hidden_word", "__device__ int a = LINE;"),
        ('#define LINE "hidden_word"', "static_assert(sizeof(int) == 3, LINE);"),
        ("__device__ int hidden_word(int);", "__device__ int a = undefined_thing();"),
    ],
)
def test_no_header_that_only_a_database_finds_is_quoted(
    tmp_path: Path, named: str, header: str, text: str
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.h").write_text(f"{header}\n")
    (inside / "link").symlink_to(outside)
    source = inside / "k.cu"
    source.write_text(f"#include <secret.h>\n{text}\n__global__ void k() {{ undefined_thing(); }}")
    folder = named.format(inside=inside, outside=outside)
    entry = {"directory": str(inside), "file": "k.cu", "command": f"nvcc -I{folder} -c k.cu"}
    (inside / "compile_commands.json").write_text(json.dumps([entry]))
    with pytest.raises(CompileError) as caught:
        replay_compiled(source, kernel="k", grid=1, block=32, args=[])
    told = str(caught.value)
    assert "hidden_word" not in told.lower()
    assert "secret.h" in told or "undefined_thing" in told
    with pytest.raises(CompileError) as caught:
        replay_compiled(source, kernel="k", grid=1, block=32, args=[], include=[outside])
    assert "Only the lines" not in str(caught.value)  # the user names the folder: it is quoted


def test_templates_are_named_as_people_write_them() -> None:
    source = "template <int N, typename T> __global__ void k(T *a) { a[threadIdx.x] = N; }\n"
    a = np.zeros(32, np.float32)
    report = replay_compiled(source, kernel="k<4, float>", grid=1, block=32, args=[a])
    assert (report.outputs[0] == 4).all()
    with pytest.raises(CubinError) as caught:
        replay_compiled(source, grid=1, block=32, args=[a])
    assert "k<int N, typename T>(T* a)" in str(caught.value)
    assert "--kernel 'k<…, …>'" in str(caught.value)
    two = (
        source
        + "template __global__ void k<1, int>(int *);template __global__ void k<2, int>(int *);"
    )
    image = compiled(two)
    with pytest.raises(CubinError, match=r"accepted: k<1, int>, k<2, int>"):
        replay_compiled(image, kernel="k", grid=1, block=32, args=[a])
    with pytest.raises(CubinError, match=r"no kernel 'k<3, int>' \(accepted: k<1, int>, k<2, int>"):
        replay_compiled(image, kernel="k<3, int>", grid=1, block=32, args=[a])
    report = replay_compiled(image, kernel="k<2,int>", grid=1, block=32, args=[a.astype(np.int32)])
    assert (report.outputs[0] == 2).all()


def test_ptx_is_assembled() -> None:
    report = replay_compiled(PTX, grid=1, block=32, args=[np.zeros(32, np.int32)])
    assert report.outputs[0].tolist() == list(range(32))
    with pytest.raises(CompileError, match="it is for sm_80"):
        assemble(PTX.replace("mul.wide.u32", "mul.nonsense"), "sm_90", "k.ptx")
    with pytest.raises(CompileError):
        assemble(".version 8.0\n" + "x" * 100, "sm_90", "k.ptx")


def test_variables_of_the_module_are_set() -> None:
    source = """__constant__ float w[32]; __device__ int count;
    namespace n { __constant__ int bias; }
    __global__ void k(float *a) {
        a[threadIdx.x] = w[threadIdx.x] + n::bias + (threadIdx.x == 0 ? atomicAdd(&count, 1) : 0);
    }"""
    given = {"grid": 1, "block": 32, "args": [np.zeros(32, np.float32)]}
    symbols = {"w": np.arange(32, dtype=np.float32), "count": np.int32(100), "n::bias": np.int32(5)}
    report = replay_compiled(source, symbols=symbols, **given)  # type: ignore[arg-type]
    assert report.outputs[0].tolist() == [105.0, *(i + 5.0 for i in range(1, 32))]
    assert report.notes == ()
    unset = replay_compiled(source, symbols={"bias": np.int32(1)}, **given)  # type: ignore[arg-type]
    assert [note for note in unset.notes if "constant w is read and was never set" in note]
    assert not [note for note in unset.notes if "bias" in note]
    for symbols, words in (
        ({"v": np.int32(1)}, "accepted|did you mean"),
        ({"count": np.zeros(2, np.int64)}, "has 4 bytes and the value 16"),
        ({"count": 3}, "arrays of NumPy"),
    ):
        with pytest.raises(LaunchError, match=words):
            replay_compiled(source, symbols=symbols, **given)  # type: ignore[arg-type]


@pytest.mark.usefixtures("afresh")
def test_a_compiler_that_is_asked_too_much_is_ended() -> None:
    source = "template <int N> __device__ void f() { f<N + 1>(); f<N + 2>(); }\n"
    source += "__global__ void k(int *a) { constexpr auto g = [](int n) { long s = 0;"
    source += (
        " for (long i = 0; i < 1000000000000; ++i) s += i; return s; }; a[0] = g(3); f<0>(); }"
    )
    with pytest.raises(CompileError):  # it finds a loop without end, or is stopped
        compile_source(source, "sm_90", "slow.cu", (), CompilerOptions(seconds=2))


def test_a_compiler_that_takes_too_long_says_how_to_give_it_more() -> None:
    with pytest.raises(CompileError, match=r"did not finish in 0 s .--compile-timeout SECONDS"):
        child("nvrtc", "{}", "late.cu", 0.001)


def test_a_header_of_include_is_compiled_before_the_source(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("#define VALUE f()\n__device__ float f() { return 3; }\n")
    compiled(ADD, "-include", "cuda_fp16.h", "-include", "own.h", folder=tmp_path)
    with pytest.raises(CompileError, match="VALUE"):
        compiled(ADD, folder=tmp_path)


def test_a_library_that_is_not_there_is_left_to_the_one_who_asks() -> None:
    preload("no_such_library")


HOPPERS_OWN = 'extern "C" __global__ void k() { asm volatile("wgmma.fence.sync.aligned;"); }'


def test_what_only_hopper_has_compiles_for_the_default_architecture() -> None:
    code = disassemble(compile_source(HOPPERS_OWN, "sm_90", "own.cu").cubin, "k")
    assert any(each.opcode.startswith("WARPGROUP") for each in code)
    ptx = (
        ".version 8.0\n.target sm_90a\n.address_size 64\n"
        ".visible .entry k() { wgmma.fence.sync.aligned; ret; }\n"
    )
    code = disassemble(assemble(ptx, "sm_90", "own.ptx"), "k")
    assert any(each.opcode.startswith("WARPGROUP") for each in code)
    with pytest.raises(CompileError, match="not supported on"):
        compile_source(HOPPERS_OWN, "sm_80", "own.cu")


def test_what_only_nvcc_may_see_is_compiled() -> None:
    asked = (
        "#ifdef __NVCC__\n#define VALUE 1\n#endif\n#if !defined(__NVCC__) || 0\n#error\n#endif\n"
    )
    compiled(asked + ADD)


def test_a_type_of_the_library_that_is_only_declared_is_brought() -> None:
    """As in CUTLASS's conv3d_problem_size.h: g++'s headers bring tuple with others."""
    source = """
        #include <cuda/std/__fwd/tuple.h>
        #define STL cuda::std
        using Pair = STL::tuple<int, int>;
        struct Sum { __device__ Sum(Pair p) : x(STL::get<1>(p)) {} int x; };
        __global__ void add(int *out) { out[0] = Sum({1, out[1]}).x; }
    """
    assert compile_source(source, "sm_90", "sum.cu").cubin


def test_a_file_of_kernels_alone_compiles_though_its_macros_are_not_understood() -> None:
    """Macros that end statements hid where the kernel begins: it was taken for the host's."""
    source = beside_source(64, "f16 f32 SS", "sums")
    assert "products) {" not in translate(source, None).source
    assert compile_source(source, "sm_90a", "k.cu").cubin
