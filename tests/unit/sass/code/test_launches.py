"""Launches read from host code: shapes, sizes, templates, and what is asked for by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import LaunchError
from simulator.sass.code.launches import find_launches

pytest.importorskip("tree_sitter_cuda")

KERNEL = "__global__ void k(float *a, int n) { a[n] = 1; }\n"


def only(body: str, kernel: str = KERNEL, before: str = ""):  # type: ignore[no-untyped-def]
    found = find_launches(f"{kernel}{before}int main(int argc, char **argv) {{ {body} }}").launches
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("body", "grid", "block", "shared"),
    [
        ("k<<<4, 256>>>(a, n);", "4", "256", "0"),
        ("int n = 1000; k<<<(n + 255) / 256, 256, 64 * sizeof(float)>>>(a, n);", "4", "256", "256"),
        ("dim3 g(2, 3), b = dim3(32, 8); k<<<g, b>>>(a, n);", "2x3", "32x8", "0"),
        ("dim3 g{2, 3, 4}; k<<<g, dim3(32)>>>(a, n);", "2x3x4", "32", "0"),
        ("const int t = 16; dim3 b(t, t); dim3 g(64 / b.x, 32 / b.y); k<<<g, b>>>(a, n);",
         "4x2", "16x16", "0"),
        ("int n = 100; if (argc > 1) n = atoi(argv[1]); k<<<n, 32>>>(a, n);", "100", "32", "0"),
        ("unsigned long n = 1u << 10; k<<<n >> 2, n % 1000 + 8>>>(a, n);", "256", "32", "0"),
        ("int b = ceil(1000 / 256.0); k<<<b, 256>>>(a, 1);", "4", "256", "0"),
        ("int x = -7 / 2; k<<<-x, 5 > 3 ? 64 : 32>>>(a, 1);", "3", "64", "0"),
        ("int n = 0; n += 3; n *= 2; ++n; k<<<n, 32>>>(a, 1);", "7", "32", "0"),
        ("dim3 b(32); b.y = 4; k<<<std::max(1, 2), 32>>>(a, 1);", "2", "32", "0"),
        ("for (int i = 3; i < 9; i++) k<<<3, 32>>>(a, 1);", "3", "32", "0"),
        ("int m = 2; switch (m) { case 1: m = 5; break; case 2: m = 7; break; }"
         " k<<<m, 32>>>(a, 1);",
         "7", "32", "0"),
    ],
)  # fmt: skip
def test_shapes_are_evaluated(body: str, grid: str, block: str, shared: str) -> None:
    launch = only(body)
    assert (launch.grid, launch.block, launch.shared_bytes) == (grid, block, shared)


@pytest.mark.parametrize(
    ("body", "argument"),
    [
        ("float *p; cudaMalloc(&p, 4096); k<<<1, 1>>>(p, 1);", "random:f32[1024]"),
        ("float *p; CHECK(cudaMalloc((void **)&p, 10 * sizeof(float))); k<<<1, 1>>>(p, 1);",
         "random:f32[10]"),
        ("float *p; cudaMallocManaged(&p, 40); cudaMemset(p, 0, 40); k<<<1, 1>>>(p, 1);",
         "zeros:f32[10]"),
        ("std::vector<float> v(12); float *p; cudaMalloc(&p, v.size() * sizeof(float));"
         " k<<<1, 1>>>(p, 1);", "random:f32[12]"),
        ("thrust::device_vector<float> v(12); k<<<1, 1>>>(thrust::raw_pointer_cast(v.data()), 1);",
         "random:f32[12]"),
        ("float *p = new float[9]; k<<<1, 1>>>(p, 1);", "random:f32[9]"),
        ("k<<<1, 1>>>(nullptr, 1);", "null"),
        ("float *p; make(p, 30); k<<<1, 1>>>(p, 1);", "random:f32[30]"),
        ("float *p; give(&p, 30); k<<<1, 1>>>(p, 1);", "random:f32[30]"),
    ],
)  # fmt: skip
def test_allocations_give_sizes(body: str, argument: str) -> None:
    before = """void make(float *&p, int n) { cudaMalloc(&p, n * sizeof(float)); }
void give(float **p, int n) { cudaMalloc(p, n * sizeof(*p[0])); }
"""
    before = before.replace("sizeof(*p[0])", "sizeof(float)")
    assert only(body, before=before).arguments[0] == argument


def test_macros_constants_and_helpers() -> None:
    before = """#define TILE 32
#define DIV(a, b) (((a) + (b) - 1) / (b))
constexpr int N = 1 << 7;
static int blocks(int n) { int each = TILE; return DIV(n, each); }
"""
    launch = only("k<<<blocks(N), TILE>>>(a, N);", before=before)
    assert (launch.grid, launch.block, launch.arguments[1]) == ("4", "32", "i32=128")


def test_templates_and_types() -> None:
    kernel = "template <typename T, int N> __global__ void k(const T *a, T s, unsigned n) {}\n"
    body = "half *p; cudaMalloc(&p, 64); k<half, 8 * 2><<<1, 1>>>(p, s0, 7);"
    launch = only(body, kernel, "const float s0 = 2;")
    assert launch.kernel == "k<half, 16>"
    assert launch.arguments == ("random:f16[32]", "f16=2.0", "u32=7")


def test_structures_are_described_member_by_member() -> None:
    kernel = "struct P { float *in; int n; float2 s; };\n__global__ void k(P p) {}\n"
    body = "float *d; cudaMalloc(&d, 16); P p; p.in = d; p.n = 3; p.s = {1, 2}; k<<<1, 1>>>(p);"
    wanted = "{random:f32[4], i32=3, u32=0, {f32=1.0, f32=2.0}}"  # float2 begins at a multiple of 8
    assert only(body, kernel).arguments == (wanted,)


def test_the_runtimes_calls_are_launches() -> None:
    body = """float *d; int n = 5; cudaMalloc(&d, 16); void *args[] = {&d, &n};
        cudaLaunchKernel((void *)k, dim3(2), dim3(32), args, 128, 0);"""
    launch = only(body)
    assert launch.arguments == ("random:f32[4]", "i32=5")
    assert (launch.grid, launch.block, launch.shared_bytes) == ("2", "32", "128")
    assert only(body.replace("LaunchKernel", "LaunchCooperativeKernel")).grid == "2"
    body = """float *d; cudaMalloc(&d, 16); cudaLaunchConfig_t c; c.gridDim = 2; c.blockDim = 32;
        c.dynamicSmemBytes = 64; cudaLaunchKernelEx(&c, k, d, 5);"""
    launch = only(body, before="struct cudaLaunchConfig_t { dim3 gridDim; dim3 blockDim; size_t"
                  " dynamicSmemBytes; };")  # fmt: skip
    assert (launch.grid, launch.shared_bytes, launch.arguments[1]) == ("2", "64", "i32=5")


def test_what_is_not_known_is_asked_for_by_name() -> None:
    launch = only("int n = atoi(argv[1]); float *d; cudaMalloc(&d, n * 4); k<<<n, 32>>>(d, n);")
    assert launch.unknown == ("elements of a", "n")
    assert launch.grid == "<n>"
    assert "--grid '<n>' --block 32" in launch.command("my.cu")


def test_what_is_made_of_an_unknown_value_is_asked_for_as_it_is_written() -> None:
    launch = only(
        "int n = atoi(argv[1]); dim3 grid((n + 31) / 32, -n, max(n, 2));\n"
        "k<<<grid, n / 1024, n * 4>>>(a, n % 3);"
    )
    assert (launch.grid, launch.block) == ("<(n+31)/32>x<-n>x<max(n,2)>", "<n/1024>")
    assert (launch.shared_bytes, launch.arguments[1]) == ("<n*4>", "i32=<n%3>")
    assert launch.unknown == ("elements of a", "n")


def test_a_function_behind_a_kernel_on_its_line_is_not_a_kernel() -> None:
    text = "__global__ void k(float *a); __global__ void k(float *a) {}  int main() {"
    found = find_launches(text + " float *a; cudaMalloc(&a, 128); k<<<1, 32>>>(a); }")
    assert [*found.kernels] == ["k"]
    assert found.launches[0].arguments == ("random:f32[32]",)


def test_functions_that_main_never_calls_are_read_with_unknown_parameters() -> None:
    found = find_launches(KERNEL + "void run(float *a, int n) { k<<<2, 32>>>(a, n); }").launches
    assert found[0].grid == "2"
    assert found[0].unknown == ("elements of a", "n")


def test_a_table_of_kernels_is_followed() -> None:
    text = """__global__ void one(int *a) {}
__global__ void two(int *a) {}
int main() {
  void (*kernel)(int *); int *d; cudaMalloc(&d, 8);
  for (int i = 0; i < 2; i++) {
    switch (i) { case 0: kernel = &one; break; case 1: kernel = &two; break; }
    kernel<<<1, 32>>>(d);
  }
}"""
    assert [each.kernel for each in find_launches(text).launches] == ["one", "two"]


def test_what_a_loop_or_a_branch_changed_is_not_known_afterwards() -> None:
    launch = only("int n = 1; while (more()) { n *= 2; } k<<<n, 32>>>(a, 1);")
    assert launch.grid == "<n>"
    launch = only("int n = 1; if (odd()) n = 2; k<<<n, 32>>>(a, 1);")
    assert launch.grid == "<n>"


def test_endless_recursion_ends() -> None:
    text = KERNEL + "int f(int n) { return f(n + 1); } int main() { k<<<f(1), 1>>>(0, f(2)); }"
    assert find_launches(text).launches[0].unknown


@given(st.text(alphabet='k<>(){};=*&,"ab1 \n', max_size=60))
def test_no_host_code_breaks_the_reader(body: str) -> None:
    find_launches(f"{KERNEL}int main() {{ {body} }}")


@given(st.integers(-1000, 1000), st.integers(1, 50), st.sampled_from("+-*/%"))
def test_integers_are_cs(a: int, b: int, operator: str) -> None:
    launch = only(f"int x = ({a}) {operator} {b}; k<<<1, 1>>>(p, x);")
    quotient = abs(a) // b * (1 if a >= 0 else -1)
    wanted = {"+": a + b, "-": a - b, "*": a * b, "/": quotient, "%": a - quotient * b}[operator]
    assert launch.arguments[1] == f"i32={wanted}"


KERNELS = "".join(f"__global__ void k{i}(float *a, int n) {{}}\n" for i in (1, 2, 3))


def test_ways_that_are_not_taken_show_the_launches_of_kernels_that_have_no_other() -> None:
    text = KERNELS + (
        "void f1(float *a, int n) { k1<<<n / 32, 32>>>(a, n); }\n"
        "void f2(float *a, int n, int b) { k2<<<n / b, b>>>(a + 1, n); }\n"
        "void run(int which, float *a, int n, int b) { switch (which) {\n"
        "  case 1: f1(a, n); break; case 2: f2(a, n, b); n = 7; break; default: exit(1); } }\n"
        "int main(int argc, char **argv) { constexpr int N{256U}; float *a;\n"
        "  cudaMalloc(&a, N * sizeof(float)); int which = 1; if (argc > 1) which = atoi(argv[1]);\n"
        "  run(which, a, N, 64);\n"
        "  if (which == 1) { f1(a, N); } else { k1<<<9, 9>>>(a, 9); k3<<<1, N>>>(&a[4], N); } }\n"
    )
    found = find_launches(text).launches
    assert [(each.kernel, each.grid, each.block) for each in found] == [
        ("k1", "8", "32"), ("k2", "4", "64"), ("k3", "1", "256")
    ]  # fmt: skip
    arrays = [("random:f32[256]", "i32=256"), ("a+1", "i32=256"), ("a+4", "i32=256")]
    assert [each.arguments for each in found] == arrays
    assert [dict(each.arrays) for each in found] == [{}, *[{"a": "random:f32[256]"}] * 2]


def test_what_host_code_does_not_tell_can_be_assumed() -> None:
    text = KERNELS + (
        "void f(float *x, float *y, size_t N) { cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);\n"
        "  int sms; cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);\n"
        "  k1<<<dim3(N / 2, sms), p.warpSize>>>(x, N); k2<<<1, N>>>(y, N); }\n"
    )
    assert [each.unknown for each in find_launches(text).launches] == [
        ("elements of a (x in host code)", "N"), ("elements of a (y in host code)", "N"),
    ]  # fmt: skip
    first, second = find_launches(text, assumed={"N": 64, "x": 100, "*": 200}).launches
    assert (first.grid, first.block, first.arguments) == (
        "32x132", "32", ("random:f32[100]", "i32=64")
    )  # fmt: skip
    assert (second.block, second.arguments) == ("64", ("random:f32[200]", "i32=64"))


def test_what_host_code_tells_can_be_replaced() -> None:
    text = KERNEL + (
        "int main() { int n = 1 << 20; const size_t bytes = n * sizeof(float); float *a;\n"
        "  cudaMalloc(&a, bytes); k<<<n / 256, 256>>>(a, n); }"
    )
    (found,) = find_launches(text, assumed={"n": 512}).launches
    assert (found.grid, found.arguments) == ("2", ("random:f32[512]", "i32=512"))


@pytest.mark.parametrize(
    ("said", "used", "name"),
    [
        ("int n = 1024;", "n", "n"),
        ("int n; n = 1024;", "n", "n"),
        ("int n; n = 256; n *= 1;", "n", "n"),
        ("Size p; p.n = 1024;", "p.n", "p.n"),
        ("Size p{1024};", "p.n", "p.n"),
    ],
)
def test_a_value_is_replaced_however_host_code_tells_it(said: str, used: str, name: str) -> None:
    text = (
        f"{KERNEL}struct Size {{ int n; }};int main() {{ float *a; {said}"
        f" cudaMalloc(&a, 4 * {used}); k<<<{used} / 32, 32>>>(a, {used}); }}"
    )
    (found,) = find_launches(text, assumed={name: 512}).launches
    assert (found.grid, found.arguments) == ("16", ("random:f32[512]", "i32=512"))


def test_a_value_that_nothing_uses_is_refused() -> None:
    text = (
        f"#define N 64\n{KERNEL}int main() {{ float *a; cudaMalloc(&a, 4); k<<<N, 32>>>(a, N); }}"
    )
    with pytest.raises(LaunchError, match=r"--let N=8: N is a macro, and not a variable"):
        find_launches(text, assumed={"N": 8})
    with pytest.raises(LaunchError, match="--let m=8: m is not a variable of host code"):
        find_launches(text, assumed={"m": 8})


def test_extents_of_a_shape_are_assigned_one_by_one() -> None:
    shapes = "dim3 g; dim3 b(2); b.x = 128; b.y = 4; g.x = 512 / b.x; g.y *= 3; "
    found = only("float *a; int n = 4; cudaMalloc(&a, 16); " + shapes + "k<<<g, b>>>(a, n);")
    assert (found.grid, found.block, found.unknown) == ("4x3", "128x4", ())


def test_an_extent_that_a_condition_may_change_is_not_known() -> None:
    for change in ("g.x = 4;", "g = dim3(4);"):
        found = only(f"float *a; cudaMalloc(&a, 16); dim3 g(2, 3); if (argv[1][0]) {{ {change} }}"
                     " k<<<g, 32>>>(a, 4);")  # fmt: skip
        assert "g.x" in found.unknown, found


def test_constants_of_an_enum_are_numbers_and_a_template_has_their_names() -> None:
    text = """enum Mode { plain, fast = 4, both };
template <Mode m> __global__ void k(float *a, int n) { a[n] = m; }
int main() { enum { SIZE = sizeof(float) * both }; float *a; cudaMalloc(&a, SIZE);
  k<both><<<1, both>>>(a, fast); }"""
    (found,) = find_launches(text).launches
    assert (found.kernel, found.block, found.arguments) == (
        "k<both>", "5", ("random:f32[5]", "i32=4")
    )  # fmt: skip


def test_a_way_that_is_not_taken_adds_no_instance_of_a_kernel_that_is_launched() -> None:
    text = """template <int N> __global__ void k(float *a) { a[N] = 1; }
int main() { float *a; cudaMalloc(&a, 4096); int n = 32;
  if (n == 16) { k<16><<<1, dim3(n, n)>>>(a); } else { k<32><<<1, dim3(n, n)>>>(a); } }"""
    assert [each.kernel for each in find_launches(text).launches] == ["k<32>"]


TEMPLATES = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cstdint>
using real = float;
typedef double wide;
enum Mode { ROW, COL };
enum class Kind { First, Second };
constexpr int kTile = 32;
template <typename T> struct Add {};
namespace outer { namespace inner { template <typename T> __global__ void nested(T *x) {} } }
template <typename T> __global__ void a(T *x) {}
template <Mode M, int N> __global__ void b(float *x) {}
template <Kind K> __global__ void c(float *x) {}
template <unsigned U, size_t S, bool B> __global__ void sized(float *x) {}
template <typename T = float, int N = 32> __global__ void usual(T *x) {}
template <int N, typename T> __global__ void mixed(T *x, T y, const T *z) {}
template <typename P> __global__ void pointer(P x) {}
template <template <typename> class Op, typename T> __global__ void taking(T *x) {}
"""
HOST = """
template <typename T> void host(T *p) { using own = T; a<own><<<1, 32>>>(p); a<<<1, 32>>>(p); }
"""


@pytest.mark.parametrize(
    ("launch", "kernel"),
    [
        ("a<real><<<1, 32>>>(f)", "a<real>"),
        ("a<uint32_t><<<1, 32>>>(u)", "a<uint32_t>"),
        ("a<<<1, 32>>>(h)", "a<half>"),
        ("using mine = float4; a<mine><<<1, 32>>>(v)", "a<float4>"),
        ("b<COL, 32><<<1, 32>>>(f)", "b<COL, 32>"),
        ("b<Mode::ROW, kTile><<<1, 32>>>(f)", "b<Mode::ROW, 32>"),
        ("c<Kind::Second><<<1, 32>>>(f)", "c<Kind::Second>"),
        ("sized<16u, sizeof(float), true><<<1, 32>>>(f)", "sized<16, 4, true>"),
        ("usual<><<<1, 32>>>(f)", "usual<float>"),
        ("usual<<<1, 32>>>(d)", "usual<wide>"),
        ("mixed<8><<<1, 32>>>(f, 2.0f, f)", "mixed<8, float>"),
        ("mixed<8><<<1, 32>>>(reinterpret_cast<real *>(v), 1, f)", "mixed<8, real>"),
        ("pointer<<<1, 32>>>(f + 8)", "pointer<float*>"),
        ("pointer<<<1, 32>>>(&s)", "pointer<int*>"),
        ("taking<Add><<<1, 32>>>(f)", "taking<Add, float>"),
        ("outer::inner::nested<<<1, 32>>>(q)", "outer::inner::nested<__nv_bfloat16>"),
        ("host(q)", "a<__nv_bfloat16>"),
        ("host<half>(h)", "a<half>"),
    ],
)
def test_templates_are_named_as_the_compiler_can_find_them(launch: str, kernel: str) -> None:
    declared = (
        "float *f; half *h; wide *d; uint32_t *u; __nv_bfloat16 *q; float4 *v; int s;"
        "cudaMalloc(&f, 512); cudaMalloc(&h, 512); cudaMalloc(&d, 512); cudaMalloc(&u, 512);"
        "cudaMalloc(&q, 512); cudaMalloc(&v, 512);"
    )
    before = TEMPLATES + (HOST if "host" in launch else "")
    found = find_launches(f"{before}int main() {{ {declared} {launch}; }}").launches
    assert {each.kernel for each in found} == {kernel}
    assert not any("T" in each.unknown for each in found)


def test_a_template_that_nothing_calls_is_named_by_its_parameter() -> None:
    (found,) = find_launches(
        "template <typename T> __global__ void a(T *x) {}"
        "template <typename T> void host(T *p) { a<T><<<1, 32>>>(p); }"
    ).launches
    assert (found.kernel, "T" in found.unknown) == ("a<T>", True)


def test_template_arguments_are_deduced_from_a_launchs_arguments() -> None:
    text = """template <typename A, typename B, typename C = B, int N = 4>
__global__ void k(A *a, const B *__restrict__ b, int n) { a[n] = b[n] + N; }
template <typename T> void run(T *a, double *b, int n) { k<<<1, n>>>(a, b + 1, n); }
int main() { float *a; double *b; cudaMalloc(&a, 16); cudaMalloc(&b, 64); run(a, b, 4); }"""
    (found,) = find_launches(text).launches
    assert (found.kernel, found.unknown) == ("k<float, double>", ())
    lost = find_launches(text.replace("float *a;", "auto *a = other();")).launches[0]
    assert "A" in lost.unknown


def test_a_parameter_of_a_helper_is_asked_for_by_its_callers_name() -> None:
    helper = "int div_ceil(int a, int b) { return a % b != 0 ? a / b + 1 : a / b; }\n"
    text = KERNEL + helper + "void run(float *p, int N) { k<<<div_ceil(N, 64), 64>>>(p, N); }"
    (found,) = find_launches(text).launches
    assert (found.grid, found.unknown) == (
        "<div_ceil(N,64)>", ("elements of a (p in host code)", "N"),
    )  # fmt: skip


def test_a_host_templates_default_counts_where_nothing_calls_it() -> None:
    kernel = "template <int P> __global__ void t(float *a) { a[P] = 1; }\n"
    text = kernel + "template <const int P = 8> void run(float *a) { t<P><<<1, 32>>>(a); }"
    assert [each.kernel for each in find_launches(text).launches] == ["t<8>"]


def test_macros_of_macros_and_shifts_end() -> None:
    macros = "".join(f"#define A{i} (A{i + 1} + A{i + 1})\n" for i in range(60))
    shifts = "(" * 30 + "1" + " << 63)" * 30
    for value in ("A0", shifts):
        body = f"int n = {value}; float *p; cudaMalloc(&p, 128); k<<<1, 32>>>(p, n);"
        (found,) = find_launches(f"{macros}{KERNEL}int main() {{ {body} }}").launches
        assert found.unknown == ("n",)


def test_a_program_is_read_as_it_asks_to_be_called() -> None:
    found = only(
        "if (argc != 3) { printf(USAGE); return 1; } int n = atoi(argv[1]);"
        " if (argc > 9) return 2; k<<<n, 32>>>(a, n);"
    )
    assert (found.grid, found.unknown) == ("<n>", ("elements of a", "n"))


def test_a_kernel_of_no_parameters_may_say_void() -> None:
    text = "__global__ void k(void) {}\nint main(void) { k<<<1, 32>>>(); }"
    (found,) = find_launches(text).launches
    assert (found.arguments, found.unknown) == ((), ())


def test_bytes_of_an_allocation_may_be_a_float() -> None:
    text = (
        "__global__ void k(float *a) {}\nint main() { float *a; float n = 100;"
        " cudaMalloc(&a, ceil(n / 32) * sizeof(float)); k<<<1, 32>>>(a); }"
    )
    (found,) = find_launches(text).launches
    assert found.arguments == ("random:f32[4]",)


def test_a_command_quotes_a_file_with_spaces() -> None:
    (found,) = find_launches(KERNEL + "int main() { k<<<1, 32>>>(0, 1); }").launches
    assert found.command("my file.cu").startswith("bankwise sass 'my file.cu' --kernel k ")
