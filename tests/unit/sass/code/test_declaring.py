"""Host code around a launch: launchers, instances of templates, types and helpers."""

from __future__ import annotations

import pytest

from simulator.errors import LaunchError
from simulator.sass.code.launches import find_launches

pytest.importorskip("tree_sitter_cuda")

KERNEL = "__global__ void k(float *a, int n) { a[n] = 1; }\n"


@pytest.mark.parametrize(
    "instance", ["template void host<float>(float *p, const float *f);",
                 "template void host(float *, float const *);"],
)  # fmt: skip
def test_an_explicit_instance_tells_a_templates_arguments(instance: str) -> None:
    text = (
        "template <typename T> __global__ void a(T *x, T f) {}"
        "template <typename T> void host(T *p, const T *f) { a<T><<<1, 32>>>(p, *f); }"
    )
    (found,) = find_launches(text + instance).launches
    assert (found.kernel, found.unknown) == ("a<float>", ("elements of x (p in host code)", "*f"))
    (found,) = find_launches(text + instance, assumed={"*f": 2, "*": 64}).launches
    assert (found.arguments, found.unknown) == (("random:f32[64]", "f32=2.0"), ())


@pytest.mark.parametrize(
    "made", ["Sizes s = Sizes(2, 64, 0);", "Sizes s(2, 64, 0);", "Sizes s{2, 64, 0};"]
)
def test_what_a_variadic_launcher_is_given_is_launched(made: str) -> None:
    text = """struct Sizes { dim3 blocks; dim3 threads; size_t bytes; };
template <typename T> __global__ void k(T *a, int n) { a[n] = 1; }
template <typename Kernel, typename... Args>
void launch(Kernel kernel, const Sizes &s, Args&&... args) {
  kernel<<<s.blocks, s.threads, s.bytes>>>(std::forward<Args>(args)...); }
void run(float *a, int n) { MADE launch(k<float>, s, a, n); }"""
    (found,) = find_launches(text.replace("MADE", made)).launches
    assert (found.kernel, found.grid, found.block) == ("k<float>", "2", "64")
    assert found.arguments == ("random:f32[<elements_of_a>]", "i32=<n>")


@pytest.mark.parametrize(("defined", "kind"), [("#define HALF\n", "f16"), ("", "f32")])
def test_types_behind_macros_are_those_of_the_build(defined: str, kind: str) -> None:
    types = "#if defined(HALF)\ntypedef half real;\n#else\ntypedef float real;\n#endif\n"
    host = "int main() { real *p; cudaMalloc(&p, 64 * sizeof(real)); k<<<1, 32>>>(p); }"
    text = f"{defined}{types}__global__ void k(real *a) {{ a[0] = 1; }}\n{host}"
    assert find_launches(text).launches[0].arguments == (f"random:{kind}[64]",)


def test_a_product_in_braces_is_no_pointer() -> None:
    (found,) = find_launches(
        "__global__ void k() {}\nint main() { constexpr unsigned N{4U}; unsigned M{N * N};"
        " k<<<M, 32>>>(); }"
    ).launches
    assert found.grid == "16"


def test_a_function_of_both_sides_is_read_whatever_the_order_of_its_marks() -> None:
    helper = "inline __device__ __host__ int half(int n) { return n / 2; }\n"
    (found,) = find_launches(
        f"{KERNEL}{helper}int main() {{ k<<<half(64), 32>>>(0, 1); }}"
    ).launches
    assert found.grid == "32"


def test_host_code_that_is_nested_too_deeply_is_refused() -> None:
    body = "{" * 3000 + "k<<<1, 32>>>(0, 1);" + "}" * 3000
    with pytest.raises(LaunchError, match="nested too deeply"):
        find_launches(f"{KERNEL}int main() {{ {body} }}")


@pytest.mark.parametrize(
    ("size", "elements"),
    [("n * sizeof *a", 64), ("n * sizeof(*a)", 64), ("sizeof(a[0]) * n", 64), ("sizeof(m)", 5),
     ("sizeof(m[0]) * 3", 3), ("n * sizeof(*p.v) / sizeof(float)", 16), ("sizeof(*q->v)", 1),
     ("sizeof(q->n) * 4", 4), ("sizeof(*e[1])", 2), ("sizeof(float[2][8])", 16),
     ("sizeof((n)) * n", 64), ("sizeof(P)", 4), ("sizeof(*q)", 4)],
)  # fmt: skip
def test_sizeof_takes_expressions(size: str, elements: int) -> None:
    text = (
        "struct P { float *v; int n; };\n__global__ void k(float *a) {}\nint main() {"
        " const int n = 64; float *a; int m[5]; P p; P *q = &p; double *e[2];"
        f" cudaMalloc(&a, {size}); k<<<1, 32>>>(a); }}"
    )
    (found,) = find_launches(text).launches
    assert found.arguments == (f"random:f32[{elements}]",)


@pytest.mark.parametrize(
    "made", ["cudaLaunchConfig_t c = {0}; c.gridDim = dim3(4); c.blockDim = 64;",
             "cudaLaunchConfig_t c{}; c.gridDim = 4; c.blockDim = dim3(64);",
             "cudaLaunchConfig_t c = {dim3(4), dim3(64), 0, 0};"],
)  # fmt: skip
def test_a_configuration_with_an_initializer(made: str) -> None:
    text = f"__global__ void k(float2 a) {{}}\nint main() {{ {made}"
    text += " float2 v = make_float2(1.0f, 2); cudaLaunchKernelEx(&c, k, v); }"
    (found,) = find_launches(text).launches
    assert (found.grid, found.block, found.arguments) == ("4", "64", ("{f32=1.0, f32=2.0}",))


def test_a_vectors_elements_tell_a_template_argument() -> None:
    text = (
        "template <typename T> __global__ void k(T *a) {}\n"
        "template <class T> void run(const std::vector<T> &v) {"
        " T *a; cudaMalloc(&a, v.size() * sizeof(T)); k<T><<<1, 32>>>(a); }\n"
        "int main() { std::vector<double> v(32); run(v); thrust::device_vector<int> w(8); }"
    )
    (found,) = find_launches(text).launches
    assert (found.kernel, found.arguments) == ("k<double>", ("random:f64[32]",))


def test_a_lambda_is_asked_for_with_the_way_out() -> None:
    text = (
        "template <class F> __global__ void k(F f) { f(1); }\n"
        "int main() { float *x; k<<<1, 32>>>([=] __device__(int i) { x[i] = i; }); }"
    )
    (found,) = find_launches(text).launches
    assert found.arguments == ("<f:F>",)
    assert "--compiler nvcc and --extended-lambda after --" in found.unknown[0]


@pytest.mark.parametrize(
    ("constructor", "made", "argument"),
    [
        ("P(int x, int y) : a(y), b(x) {}", "P p(32, 64);", "{i32=64, i32=32}"),
        ("P(int x, int y) : a(y), b(x) {}", "P p{32, 64};", "{i32=64, i32=32}"),
        ("P(int x, int y) : a(y), b(x) {}", "P p = P(32, 64);", "{i32=64, i32=32}"),
        ("P(int x) : a(x), b{x} {}", "P p(32);", "{i32=32, i32=32}"),
        ("P(int x, int y) { b = x; a = y; }", "P p(32, 64);", "{i32=<P::a>, i32=<P::b>}"),
        ("P(int x, int y) : a(x), b(y) { a = 5; }", "P p(32, 64);", "{i32=<P::a>, i32=64}"),
        ("P(int x, int y) : a(x * y), b(y) {}", "P p(32, 64);", "{i32=<P::a>, i32=64}"),
        ("", "P p{32, 64};", "{i32=32, i32=64}"),
    ],
)
def test_a_constructor_says_which_member_takes_an_argument(
    constructor: str, made: str, argument: str
) -> None:
    """The arguments were taken for the members in order: silently the wrong ones."""
    text = (
        f"struct P {{ int a, b; {constructor} }};\n__global__ void k(P p) {{}}\n"
        f"int main() {{ {made} k<<<1, 32>>>(p); }}"
    )
    assert find_launches(text).launches[0].arguments == (argument,)
