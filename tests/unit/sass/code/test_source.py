"""Telling device code from host code: what survives, what is hidden, and where lines stand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import ToolError
from simulator.sass.code.headers import PRELUDE
from simulator.sass.code.source import Source, parser
from simulator.sass.code.translation import translate

pytest.importorskip("tree_sitter_cuda")


def kept(text: str, folder: Path | None = None, **options: object) -> str:
    return translate(text, folder, **options).source  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("host", "device"),
    [
        ("int main() { f<<<1, 1>>>(); }", "__global__ void f() {}"),
        ("bool runTest(int argc);", "__global__ void f() {}"),
        ('extern "C" void g();', "__global__ void f() {}"),
        ("static int counter;", "__device__ int used;"),
        ("template <typename T> void run(T t) { puts(t); }", "__constant__ float w[32];"),
        ("template void run<float>(float);", "__global__ void f() {}"),
        ("class Timer { std::string name; void start() {} };", "__global__ void f() {}"),
        ('PYBIND11_MODULE(x, m) { m.def("f", &f); }', "__global__ void f() {}"),
        ("const char* name(int i) { return names[i]; }", "__global__ void f() {}"),
        ("std::vector<int> all{1, 2};", "__global__ void f() {}"),
    ],
)
def test_host_code_is_hidden_and_device_code_stays(host: str, device: str) -> None:
    for text in (f"{host}\n{device}", f"{device}\n{host}"):
        assert kept(text).strip() == device
        assert kept(text).count("\n") == 1


def test_defines_and_conditionals_before_a_host_function_survive() -> None:
    text = "#define N 32\n#if N > 3\n#include <cmath>\n#endif\nint main() {\n#define M 4\n}\n"
    assert kept(text + "__global__ void f(int *a) { a[N] = M; }") == (
        "#define N 32\n#if N > 3\n#include <cmath>\n#endif\n\n#define M 4\n\n"
        "__global__ void f(int *a) { a[N] = M; }"
    )


def test_functions_qualified_by_macros_are_the_devices() -> None:
    text = """#define HD __host__ __device__
#define HOST_DEVICE_INLINE HD inline
#define QUIET [[nodiscard]]
HOST_DEVICE_INLINE int div_ceil(int a, int b) { return a / b; }
QUIET int host() { return time(0); }
"""
    assert "div_ceil" in kept(text)
    assert "time" not in kept(text)


def test_both_halves_of_a_conditional_may_open_a_brace() -> None:
    text = """#ifdef WINDOWS
int main(int argc) {
#else
int main() {
#endif
  run();
}
__global__ void f() {}
"""
    assert kept(text).split() == ["#ifdef", "WINDOWS", "#else", "#endif", "__global__", "void",
                                  "f()", "{}"]  # fmt: skip


def test_types_and_constants_stay_where_the_device_names_them() -> None:
    text = """struct Used {
    float a; Used(std::string s) : a(0) {} __device__ float get() { return a; }
};
struct Unused { std::string s; };
const int LIMIT = 4;
const int OTHER = 5;
constexpr int twice(int x) { return 2 * x; }
using Alias = Used;
enum { FIRST, SECOND };
__global__ void f(Alias u, float *o) { o[twice(LIMIT)] = u.get() + SECOND; }
"""
    found = kept(text)
    for word in ("struct Used", "get()", "LIMIT = 4", "twice(int", "using Alias", "enum"):
        assert word in found
    for word in ("Unused", "OTHER", "std::string"):
        assert word not in found


def test_explicit_instances_stay_with_their_kernel() -> None:
    text = """template <typename T> __global__ void k(T *a) {}
template __global__ void k<float>(float *);
template void host<float>(float *);
"""
    assert "k<float>" in kept(text)
    assert "host" not in kept(text)


def test_comments_strings_and_raw_strings_open_nothing() -> None:
    text = """/* int main() { */ const char *s = "__global__ {"; // }
const char *r = R"(int x() { )";
__global__ void f() {}
"""
    assert kept(text).strip().endswith("__global__ void f() {}")


@given(st.text(alphabet="abc{}();#\"'/*\\\n<> ", max_size=200))
def test_no_text_breaks_the_reader_and_lines_keep_their_numbers(text: str) -> None:
    assert kept(text).count("\n") == text.count("\n")


@given(st.integers(0, 5), st.sampled_from(["int h() { return 1; }", "#define A 1", "struct S;"]))
def test_a_kernel_stays_wherever_it_stands(place: int, filler: str) -> None:
    kernel = "__global__ void k(int *a) { a[0] = 1; }"
    lines = [filler] * 5
    lines.insert(place, kernel)
    assert kept("\n".join(lines)).split("\n")[place] == kernel


def test_a_macro_that_makes_kernels_stays() -> None:
    text = """#define MAKE(T) __global__ void k_##T(T *a) { a[0] = 1; }
#define BIND(T) void run_##T(T *a) { k_##T<<<1, 1>>>(a); }
MAKE(float)
BIND(float)
"""
    assert "MAKE(float)" in kept(text)
    assert "\nBIND(float)" not in kept(text)


def test_a_macro_that_instantiates_stays_with_its_kernel() -> None:
    text = """template <typename T> __global__ void k(T *a) {}
template <typename T> void run(T *a) { k<<<1, 1>>>(a); }
#define KERNEL(T) template __global__ void k<T>(T *)
#define RUN(T) template void run<T>(T * a)
KERNEL(float);
RUN(float);
"""
    assert "\nKERNEL(float);" in kept(text)
    assert "\nRUN(float);" not in kept(text)


def test_a_macro_that_names_types_stays() -> None:
    text = """#define TYPES(name, T) template <int N> using name = vec<T, N>; \\
  using name##4 = name<4>;
template <typename T, int N> struct vec { T x[N]; };
TYPES(ivec, int)
__global__ void k(ivec4 *a) {}
"""
    assert kept(text).split() == text.split()


def test_macros_with_small_letters_and_no_semicolon_stay_with_their_kernel() -> None:
    types = {"half": 2, "float": 2, "b_bf": 24}
    rows = [f"MAKE_kernel({of}, {2**n}, 4, 0, N0)" for of, most in types.items()
            for n in range(most)]  # fmt: skip
    text = """template <typename T, int N, int M, int B, int K> __global__ void k(T *a) {}
#define MAKE_kernel(T, N, M, B, K) template __global__ void k<T, N, M, B, K>(T *);

""" + "\n".join(rows)
    text += "\n\ntemplate __global__ void k<int, 3, 1, 1, 1>(int *a);\n"
    assert kept(text).split() == text.split()


def test_headers_of_the_project_are_found_and_others_are_empty(tmp_path: Path) -> None:
    (tmp_path / "a.cuh").write_text('#include "sub/b.cuh"\nvoid host() {}\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.cuh").write_text("__device__ int b;\n")
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "c.h").write_text("#define C 3\n")
    unit = translate(
        '#include "a.cuh"\n#include <c.h>\n#include "gone.h"\n#include <vector>\n',
        tmp_path, [str(tmp_path / "inc")],
    )  # fmt: skip
    assert unit.missing == ("gone.h", "vector")
    assert "__device__ int b;" in unit.headers[str(tmp_path / "sub" / "b.cuh")]
    assert "host" not in unit.headers[str(tmp_path / "a.cuh")]
    assert f'#include "{tmp_path / "inc" / "c.h"}"' in unit.source
    assert unit.headers["gone.h"].strip() == "#pragma once"


def test_nothing_outside_the_folders_is_opened(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.h").write_text("secret\n")
    (inside / "link.h").symlink_to(tmp_path / "secret.h")
    (inside / "plain").write_text("fine\n")
    text = f'#include "../secret.h"\n#include "{tmp_path / "secret.h"}"\n#include "link.h"\n'
    unit = translate(text + '#include "/etc/passwd"\n', inside)
    assert len(unit.missing) == 4
    assert not any("secret\n" in each or "root:" in each for each in unit.headers.values())


def test_a_repositorys_own_header_is_found_as_its_build_would(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for place in ("src/kernels", "src/include", "other/include"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "src/include/utils.h").write_text("#define NEAR 1\n")
    (tmp_path / "other/include/utils.h").write_text("#define FAR 1\n")
    unit = translate('#include "utils.h"\n', tmp_path / "src" / "kernels")
    assert unit.missing == ()
    assert str(tmp_path / "src/include/utils.h") in unit.headers


def test_what_std_has_for_the_device_comes_from_the_cuda_library() -> None:
    pytest.importorskip("nvidia")
    text = "#include <algorithm>\n__global__ void f(int *a) { a[0] = std::max(a[0], a[1]); }"
    prelude = translate(text, None).headers["bankwise_prelude.h"]
    assert "cuda/std/__algorithm/max.h" in prelude
    assert (
        "cuda/std/" not in translate(text.replace("std::", ""), None).headers["bankwise_prelude.h"]
    )


def test_positions_are_those_of_the_text_given() -> None:
    source = Source("ä int x;\n__global__ void f() {}\n")
    kinds = {source.text[each.start : each.end]: each.kind for each in source.declarations}
    assert kinds["__global__ void f() {}"] == "device"


def test_macros_that_qualify_in_one_branch_only_still_qualify() -> None:
    text = (
        "#ifdef OLD\n#define constexpr\n#define SOMETIMES\n#else\n#define SOMETIMES constexpr\n"
        "#endif\n#ifdef OTHER\n#define SOMETIMES\n#endif\n"
        "SOMETIMES int twice(int a) { return 2 * a; }\nstatic constexpr bool is_used = true;\n"
        "__global__ void f(int *a) { if (is_used) a[0] = twice(a[1]); }"
    )
    source = kept(text)
    assert "twice(int a)" in source
    assert "is_used = true" in source


def test_macros_with_parameters_that_qualify_go_with_what_they_qualify() -> None:
    text = (
        "#define API extern\n#define NORETURN [[noreturn]]\n"
        "#define PRINTS(...) __attribute__((format(printf, __VA_ARGS__)))\n"
        'extern "C" {\n NORETURN PRINTS(1, 2)\n API void stop(const char *text, ...);\n'
        " struct Kept { int a; };\n}\n__global__ void f(Kept k) {}"
    )
    source = kept(text)
    hidden = [line for line in source.splitlines() if not line.startswith("#")]
    assert not any("PRINTS" in line or "stop" in line or "NORETURN" in line for line in hidden)
    assert "struct Kept" in source


def test_macros_that_stand_for_declarations_elsewhere_go_as_a_whole() -> None:
    text = (
        "#define CASE(a, b) template void f<a, b>(int x)\n"
        "extern CASE(1, 2);\nextern CASE(576,\n 4);\nextern CASE(2, 2);\n"
        "__global__ void k() {}\n"
    )
    assert kept(text).split() == [*text.splitlines()[0].split(), "__global__", "void", "k()", "{}"]


def test_waiting_for_the_grid_before_brings_the_device_runtime_along() -> None:
    text = "__global__ void k(int *a) { CALL(); a[0] = 1; }"
    names = ("cudaGridDependencySynchronize", "cudaGraphSetConditional")
    for called, wanted in ((names[0], True), (names[1], True), ("other", False)):
        found = translate(text.replace("CALL", called), None).headers[PRELUDE]
        assert ("<cuda_device_runtime_api.h>" in found) is wanted


def test_deprecated_declarations_do_not_take_what_follows_with_them() -> None:
    text = (
        "#define OLD_DEPRECATED(func, hint) func __attribute__((deprecated(hint)))\n"
        'extern "C" {\nOLD_DEPRECATED(API struct tensor * add(\n    struct tensor * a,\n'
        '    void (*f)(int)),\n  "use add_1 instead");\n'
        'enum pool { MAX, AVERAGE };\nOLD_DEPRECATED(API int two(int a), "no");\n}\n'
        "__global__ void k(const enum pool op) {}\n"
    )
    source = kept(text)
    assert "enum pool { MAX, AVERAGE };" in source
    assert "add(" not in source
    assert "two(" not in source


def test_the_hosts_mark_goes_from_what_is_evaluated_when_compiling() -> None:
    text = (
        "template <int N> __host__ consteval int most() { return N; }\n"
        "__host__ __device__ constexpr int two() { return 2; }\n"
        "__global__ __launch_bounds__(most<64>()) void k(int *a) { a[0] = two(); }\n"
    )
    assert kept(text) == text.replace("__host__ consteval", "         consteval")


def test_types_of_cufft_are_known_without_its_header() -> None:
    text = "#include <cufft.h>\n__global__ void k(cufftComplex *a) { a[0].x = 1; }"
    made = translate(text, None).headers[PRELUDE]
    assert "typedef cuComplex cufftComplex;" in made
    assert (
        "cufftComplex"
        not in translate(text.replace("cufftComplex", "float2"), None).headers[PRELUDE]
    )


@pytest.mark.parametrize("align", ["__CUDA_ALIGN__(32)", "MY_ALIGN(4 * 8)", "alignas(32)"])
def test_an_aligned_structure_is_one_declaration(align: str) -> None:
    text = (
        f"typedef struct {align} {{ float x[8]; }} eight;\nstruct {align} other {{ int y; }};\n"
        "__global__ void k(eight *a, other *b) { a[0].x[0] = b[0].y; }\n"
    )
    assert kept(text) == text


def test_annotations_of_lambdas_go() -> None:
    text = (
        "__global__ void k(int *a) {\n"
        "  auto f = [&] __device__ (int i) { a[i] = i; };\n"
        "  auto g = [=] __host__ __device__ { return a[0]; };\n  f(g());\n}\n"
    )
    assert kept(text) == text.replace("__device__ (", "           (").replace(
        "__host__ __device__ {", "                    {"
    )


def test_macros_that_open_a_table_stay_with_its_rows_and_end() -> None:
    text = (
        "#define TABLE(type, name, size) static const __device__ type name[size] = {\n"
        "#define END() };\nTABLE(int, powers, 4)\n 1, 2, 4, 8\nEND()\n"
        "__global__ void f(int *a) { a[0] = powers[a[1]]; }"
    )
    source = kept(text)
    for part in ("TABLE(int, powers, 4)", "1, 2, 4, 8", "END()"):
        assert part in source


def test_headers_in_angles_are_found_in_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "include" / "deep").mkdir(parents=True)
    (tmp_path / "include" / "deep" / "size.hpp").write_text("constexpr int SIZE = 8;\n")
    (tmp_path / "src").mkdir()
    text = "#include <deep/size.hpp>\n__global__ void f(int *a) { a[0] = SIZE; }"
    found = translate(text, tmp_path / "src")
    assert found.missing == ()
    assert any("SIZE = 8" in header for header in found.headers.values())


def test_all_of_cub_is_what_device_code_names_of_it() -> None:
    text = (
        "#include <cub/cub.cuh>\n__global__ void f(float *a) {\n"
        " using R = cub::BlockReduce<float, 64>;\n __shared__ R::TempStorage s;\n"
        " float all = R(s).Sum(a[threadIdx.x]); a[0] = all; }\n"
        "#if 0\n__device__ void g() { cub::DeviceReduce::Sum(0, 0); }\n#endif\n"
    )
    header = translate(text, None).headers.get("cub/cub.cuh", "")
    assert "#include <cub/block/block_reduce.cuh>" in header
    assert "block_scan" not in header
    assert "device_reduce" not in header  # NVRTC refuses what launches kernels


def test_a_macro_that_stands_for_a_type_hides_nothing_behind_it() -> None:
    text = """
template <typename T> struct Bits { static constexpr int of = 0; };
#define BITS(T, bits) \\
  template <> struct Bits<T> { static constexpr int of = bits; }
namespace one {
BITS(signed char, 8);
BITS(double, 64);
#undef BITS
namespace two {
class Table;
class Table { public: __device__ int get() const { return 1; } };
}  // namespace two
}  // namespace one
__global__ void k(int *a) { a[0] = one::two::Table().get() + Bits<double>::of; }
"""
    made = translate(text, None).source
    assert made.count("{") == made.count("}") == text.count("{")
    assert "BITS(double, 64);" in made


def test_a_missing_parser_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_cuda", None)
    with pytest.raises(ToolError, match=r"in a checkout of bankwise: pip install '.\[sass\]'"):
        parser.__wrapped__()
