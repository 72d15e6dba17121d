"""Host code that may take a way or not: a launch has what all ways agree on."""

from __future__ import annotations

import pytest

from simulator.sass.code.launches import find_launches

pytest.importorskip("tree_sitter_cuda")

KERNEL = "__global__ void k(float *a, int n) { a[n] = 1; }\n"
MAIN = "int main(int argc, char **argv) { int u = atoi(argv[1]); float *a; cudaMalloc(&a, 4096); "


@pytest.mark.parametrize(
    ("body", "block"),
    [
        ("int t; if (u > 3) t = 64; else t = 32; k<<<1, t>>>(a, 1);", "<t>"),
        ("int t; if (u > 3) t = 64; else t = 64; k<<<1, t>>>(a, 1);", "64"),
        ("int t = u; if (u > 3) t = 64; k<<<1, t>>>(a, 1);", "<t>"),
        ("int t = 5; if (u > 3) t = 64; else k<<<1, t>>>(a, 1);", "5"),
        ("int t = 5; if (u > 3) { t = 64; return 1; } k<<<1, t>>>(a, 1);", "5"),
        ("int t = 5; if (u > 3) return 1; else t = 7; k<<<1, t>>>(a, 1);", "7"),
        ("int t; switch (u) { case 1: t = 32; break; case 2: t = 64; } k<<<1, t>>>(a, 1);", "<t>"),
        ("int t = 8; switch (u) { case 1: t = 9; return 1; } k<<<1, t>>>(a, 1);", "8"),
        ("int t = 1; switch (u) { case 1: t = 2; default: t = t * 4 / t; } k<<<1, t>>>(a, 1);",
         "4"),
        ("int t = 1; switch (2) { default: t = 5; break; case 2: t = 6; } k<<<1, t>>>(a, 1);", "6"),
        ("int t; while (u > 2) { t = 9; u--; } k<<<1, t>>>(a, 1);", "<t>"),
        ("int t = 9, c; while ((c = parse(argv)) != -1) { switch (c) {"
         " case 'h': return 0; default: break; } } k<<<1, t>>>(a, 1);", "9"),
        ("dim3 b; if (u) b = dim3(8, 32); else b = dim3(8, 64); k<<<1, b>>>(a, 1);", "8x<b.y>"),
    ],
)  # fmt: skip
def test_a_number_that_one_way_alone_has_is_not_taken(body: str, block: str) -> None:
    """The last way that was read gave its own number: 32 threads for the first of these."""
    (found,) = find_launches(f"{KERNEL}{MAIN}{body} }}").launches
    assert found.block == block
    assert bool(found.unknown) == ("<" in block)


@pytest.mark.parametrize(
    "body",
    [
        "if (n > 512) return 512; return 256;",
        "if (n > 512) return 512; else return 256;",
        "switch (n) { case 1: return 512; default: return 256; }",
        "switch (n) { case 1: return 512; case 2: return 7; } return 256;",
        "while (n > 3) { return 512; } return 256;",
        "int t = 256; if (n > 512) t = 512; return t;",
    ],
)
def test_what_a_function_returns_on_some_way_is_asked_for(body: str) -> None:
    """The last `return` gave the number, whatever decided it."""
    text = f"{KERNEL}int pick(int n) {{ {body} }}\n{MAIN} k<<<1, pick(u)>>>(a, 1); }}"
    (found,) = find_launches(text).launches
    assert found.block in ("<pick(u)>", "<t>")
    (known,) = find_launches(text, assumed={"u": 1024}).launches
    assert known.block == ("256" if "switch" in body else "512")
    assert not known.unknown


@pytest.mark.parametrize(
    ("body", "array"),
    [
        ("float *p; if (u) cudaMalloc(&p, 64); else cudaMallocManaged(&p, 64);", "random:f32[16]"),
        ("float *p; if (u) cudaMalloc(&p, 64); else cudaMalloc(&p, 128);",
         "random:f32[<elements_of_a>]"),
        ("float *p = NULL; if (u) cudaMalloc(&p, 64);", "random:f32[16]"),
    ],
)  # fmt: skip
def test_memory_has_the_size_that_all_ways_allocate(body: str, array: str) -> None:
    (found,) = find_launches(f"{KERNEL}{MAIN}{body} k<<<1, 32>>>(p, 1); }}").launches
    assert found.arguments == (array, "i32=1")


def test_a_macro_has_the_body_that_the_host_reads_it_with() -> None:
    """Of `#else`, which nothing takes, came the value: 3 threads for a launch of 96."""
    text = (
        "#ifndef __DEVICE_EMULATION__\n#define SIZE 5\n#else\n#define SIZE 0\n#endif\n"
        f"{KERNEL}{MAIN} k<<<1, 3 << SIZE>>>(a, 1); }}"
    )
    assert find_launches(text).launches[0].block == "96"
    other = text.replace("#ifndef", "#ifdef").replace("3 << SIZE", "4 << SIZE")
    assert find_launches(other).launches[0].block == "4"


def test_a_comment_in_a_type_is_no_part_of_it() -> None:
    """`double */*__restrict*/ p` was a type that nothing knew."""
    kernel = "__global__ void k(const double */*__restrict*/ p, // in\n int n) {}\n"
    text = f"{kernel}int main() {{ double *d; cudaMalloc(&d, 64); k<<<1, 32>>>(d, 8); }}"
    (found,) = find_launches(text).launches
    assert found.arguments == ("random:f64[8]", "i32=8")


@pytest.mark.parametrize(
    "body",
    [
        "int c, t = 64; while ((c = getopt(argc, argv, "
        '"t:")) != -1) if (c == 116) t = atoi(optarg);',
        'int t; if (checkCmdLineFlag(argc, (const char **)argv, "t"))'
        ' t = getCmdLineArgumentInt(argc, (const char **)argv, "t"); else t = 64;',
    ],
)
def test_a_program_is_called_without_arguments(body: str) -> None:
    """As argc says, too: so what reads a command line finds nothing there."""
    (found,) = find_launches(f"{KERNEL}{MAIN}{body} k<<<1, t>>>(a, 1); }}").launches
    assert found.block == "64"
    assert not found.unknown


def test_cores_of_the_vendors_samples_are_those_of_the_chip() -> None:
    """As in its transpose, whose size they scale."""
    look = "int _ConvertSMVer2Cores(int major, int minor) { return table[major].cores; }\n"
    body = "cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); int n = p.multiProcessorCount;"
    launch = "k<<<max(192.0f / (_ConvertSMVer2Cores(p.major, p.minor) * (float)n), 1.0f), 32>>>"
    (found,) = find_launches(f"{KERNEL}{look}{MAIN}{body} {launch}(a, 1); }}").launches
    assert (found.grid, found.unknown) == ("1", ())
