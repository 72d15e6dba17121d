"""Host code that fills arrays of pointers, makes textures, and counts in unsigned numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from simulator.errors import LaunchError
from simulator.sass.code.launches import find_launches
from simulator.sass.found import launch_of

POINTERS = """
struct Args { float *p[3]; int n; };
__global__ void add(float **p, float *out, int n) {}
__global__ void own(Args a) {}
int main() {
    const int n = 1000; float *p[4]; float **d, *out; std::vector<float *> h(2);
    for (int i = 0; i < 4; ++i) cudaMalloc(&p[i], (n + i) * sizeof(float));
    for (int i = 0; i < 2; i++) { cudaMalloc((void **)&h[i], 64 * sizeof(float)); }
    cudaMalloc(&d, 4 * sizeof(float *)); cudaMalloc(&out, n * sizeof(float));
    cudaMemcpy(d, p, 4 * sizeof(float *), cudaMemcpyHostToDevice);
    add<<<(n + 255u) / 256u, 256>>>(d, p[3], n);
    float **e; cudaMalloc(&e, sizeof(float *) * h.size());
    cudaMemcpy(e, h.data(), 2 * sizeof(float *), cudaMemcpyHostToDevice);
    add<<<1, 64>>>(e, nullptr, 64);
    add<<<1, 64>>>(&out, h[1], 64);
    Args a; a.n = 8;
    for (int i = 0; i < 3; ++i) cudaMalloc(&a.p[i], 8 * sizeof(float));
    own<<<1, 8>>>(a);
}
"""


def test_arrays_of_pointers_hold_what_host_code_allocates() -> None:
    four, two, odd, own = find_launches(POINTERS).launches
    sizes = ", ".join(f"random:f32[{n}]" for n in (1000, 1001, 1002))
    assert (four.grid, four.arguments) == ("4", (f"[{sizes}, p_3]", "p_3", "i32=1000"))
    assert four.arrays == (("p_3", "random:f32[1003]"),)
    assert two.arguments == ("[random:f32[64], random:f32[64]]", "null", "i32=64")
    assert odd.unknown == ("p: an array of pointers, [random:f32[…], …]",)
    assert odd.arguments[1] == "random:f32[64]"
    each = "random:f32[8]"
    assert own.arguments == (f"{{{{{each}, {each}, {each}}}, i32=8}}",)


def test_a_texture_is_refused_by_name() -> None:
    text = "__global__ void k(cudaTextureObject_t t) {}\nint main() { k<<<1, 1>>>(0); }"
    (launch,) = find_launches(text).launches
    assert launch.unknown == ("t: a texture, which is not replayed",)


@pytest.mark.parametrize(
    ("expression", "value"),
    [("(7u - 8u) / 0x40000000u", 3), ("-1 < 0u", 0), ("(-1 > 0u) + 2", 3), ("~0u >> 28", 15),
     ("sizeof(int) - 8 > 0", 1), ("(int)(3u - 5u) + 4", 2), ("4294967295u + 1 + 5", 5),
     ("4294967295u + 1l - 4294967290l", 6), ("-7 / 2 + 5", 2), ("0xffffffff + 3", 2),
     ("(long)-1 + 0u + 9", 8), ("(unsigned char)255 + 1", 256), ("1 << 31 >> 31", -1),
     ("(1 << 31) / 65536", -32768), ("1 << 31u >> 30", -2), ("0x7fffffff << 1 >> 1", -1),
     ("(-9007199254740995 % 10) * 1", -5), ("-7 % 3 + -7 / 3", -3), ("(1 ? -1 : 0u) > 0", 1),
     ("(0 ? 2.5f : 5) / 2 * 10", 25), ("(true ? (char)200 : 'a') + 0", -56),
     ("(long unsigned int)5 - 6 > 5", 1), ("(short int)40000", -25536), ("'\\xff' + 0", -1),
     ("sizeof(short unsigned)", 2), ("0 && n", 0), ("2 || n", 1), ("(int)round(2.5)", 3),
     ("4294967290u + 6ul > 4294967295u", 1), ("(true & true) + (true ^ false)", 2),
     ("3000000000u", -1294967296), ("~0ull", -1), ("-5l", -5)],
)  # fmt: skip
def test_unsigned_arithmetic_wraps_as_in_c(expression: str, value: int) -> None:
    text = f"__global__ void k(int n) {{}}\nint main() {{ k<<<1, 1>>>({expression}); }}"
    (launch,) = find_launches(text).launches
    assert launch.arguments == (f"i32={value}",)


@pytest.mark.parametrize(
    ("before", "expression", "value"),
    [("unsigned char c = 255; c++;", "c", 0), ("int8_t c = -128; --c;", "c", 127),
     ("short c = 32767; c += 1;", "c + 0", -32768), ("a_t c = 70000;", "c + 1", 4465),
     ("int c = 1; c <<= 31;", "c >> 30", -2), ("bool c = 7;", "c + c", 2),
     ("size_t c = 3; int d = -1;", "d < c", 0), ("int64_t c = 1;", "(c << 40) >> 38", 4),
     ("", "small(300)", 44), ("", "big(2, 3) - 7 > 0", 1), ("", "cut(7)", 3),
     ("", "of<int>(2.9) + of<float>(0.5f) * 2", 3)],
)  # fmt: skip
def test_numbers_have_the_types_of_variables_parameters_and_results(
    before: str, expression: str, value: int
) -> None:
    text = (
        "typedef unsigned short b_t; typedef b_t a_t; template <typename T> T of(T x) { return x; }"
        "int small(unsigned char x) { return x; } size_t big(int a, int b) { return a * b; }"
        "int cut(float x) { return x / 2; }"
        f"__global__ void k(int n) {{}}\nint main() {{ {before} k<<<1, 1>>>({expression}); }}"
    )
    (launch,) = find_launches(text).launches
    assert launch.arguments == (f"i32={value}",)


def test_what_c_does_not_define_is_asked_for() -> None:
    text = "__global__ void k(int n) {}\nint main() { k<<<1, 1>>>(1 << 40); }"
    (launch,) = find_launches(text).launches
    assert launch.unknown
    text = "__global__ void k(int n) {}\nint main() { k<<<1, 1>>>(L'a'); }"
    (launch,) = find_launches(text).launches
    assert launch.unknown


def test_variables_of_the_device_are_set_as_host_code_does() -> None:
    text = """
__constant__ float mask[7]; __device__ int count; __constant__ float unused[3];
__global__ void k(float *a) { a[threadIdx.x] = mask[threadIdx.x % 7] + count; }
int main() {
    float *a, *h = new float[7]; int n = 5; cudaMalloc(&a, 32 * sizeof(float));
    cudaMemcpyToSymbol(mask, h, 7 * sizeof(float)); cudaMemcpyToSymbol(unused, h, 12);
    cudaMemcpyToSymbol(count, &n, sizeof(int));
    k<<<1, 32>>>(a);
}
"""
    (launch,) = find_launches(text).launches
    assert dict(launch.symbols) == {
        "mask": "random:f32[7]", "unused": "random:f32[3]", "count": "i32=5"
    }  # fmt: skip
    assert "--set mask=random:f32[7]" in launch.command("a.cu").replace("'", "")
    given = launch_of(launch, {"count": np.int32(9)})
    assert given["symbols"]["count"] == 9
    assert given["symbols"]["mask"].value.shape == (7,)


MACROS = """
#define CHECK(call) do { cudaError_t e = call; if (e) exit(1); } while (0)
#define LAUNCH(kernel, blocks, threads, shared, stream, ...) \\
  do { if ((blocks) > 0) { (kernel)<<<(blocks), (threads), (shared), (stream)>>>(__VA_ARGS__); } \\
    CHECK(cudaGetLastError()); } while (0)
#define RUN(n) LAUNCH(scale, (n + 31) / 32, 32, 0, 0, out, n)
template <typename T, int N> __global__ void many(T *a, int n) {}
__global__ void scale(float *a, int n) {}
void other(float *out) { LAUNCH((many<float, 8>), 2, 64, 128, nullptr, out, 7); }
int main() {
    int n = 100; float *out; CHECK(cudaMalloc(&out, n * sizeof(float)));
    RUN(n);
    other(out);
}
"""


def test_a_launch_in_a_macro_is_one_where_the_macro_is_called() -> None:
    scale, many = find_launches(MACROS).launches
    assert (scale.kernel, scale.line, scale.grid, scale.block) == ("scale", 12, "4", "32")
    assert scale.arguments == ("random:f32[100]", "i32=100")
    assert (many.kernel, many.line, many.grid, many.block) == ("many<float, 8>", 9, "2", "64")
    assert (many.shared_bytes, many.arguments) == ("128", ("random:f32[100]", "i32=7"))


def test_an_aligned_structure_has_the_bytes_behind_its_members() -> None:
    text = """
struct alignas(16) Point { float x, y, z; };
struct __align__(8) Small { int a; };
__global__ void k(Point *p, Small *s) {}
int main() {
    Point *p; Small *s; cudaMalloc(&p, 10 * sizeof(Point)); cudaMalloc(&s, 10 * sizeof(Small));
    k<<<1, sizeof(Point)>>>(p, s);
}
"""
    (launch,) = find_launches(text).launches
    assert launch.arguments == ("random:f32[40]", "random:i32[20]")
    assert launch.block == "16"


@pytest.mark.parametrize("said", ["T(0.5)", "T{0.5}", "(T)0.5", "static_cast<T>(0.5)", "Mine(0.5)"])
def test_a_number_may_be_made_of_a_templates_type(said: str) -> None:
    """T(0.5) was asked for by --let, which takes no such name."""
    (found,) = find_launches(
        "using Mine = double;\ntemplate <typename T> __global__ void k(T *a, T by) {}\n"
        f"template <typename T> void run(T *a) {{ k<T><<<1, 32>>>(a, {said}); }}\n"
        "int main() { double *a; cudaMalloc(&a, 256); run<double>(a); }"
    ).launches
    assert found.arguments == ("random:f64[32]", "f64=0.5")


def test_what_braces_make_of_two_numbers_is_no_number() -> None:
    source = "__global__ void k(int2 a) {}\nint main() { k<<<1, 32>>>(int2{1, 2}); }"
    (launch,) = find_launches(source).launches
    assert (launch.arguments, launch.unknown) == (("{i32=1, i32=2}",), ())


@pytest.mark.parametrize("many", [0, -5, 1.5])
@pytest.mark.parametrize("name", ["a", "*"])
def test_a_pointers_elements_are_a_number_above_zero(many: float, name: str) -> None:
    """0 and -5 were taken to be one, and 1.5 too."""
    text = """
        __global__ void k(float *in) {}
        void run(float *a) { k<<<1, 32>>>(a); }
    """
    with pytest.raises(LaunchError, match=re.escape(f"--let {name}={many}: in is a pointer")):
        find_launches(text, assumed={name: many})
    (found,) = find_launches(text, assumed={name: 64}).launches
    assert found.arguments == ("random:f32[64]",)
